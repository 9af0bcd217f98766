"""Handlers of interrupts at user level, from C: `chasqui/handlers.h`.

Use this when the header, or how a process gets at the interrupt controller, changes. No machine of
the catalogue has lines that such handlers serve: crates/node/tests/interrupts.rs has some.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Compiler
from simulated import command

pytestmark = pytest.mark.core

SOURCE = """\
#include <chasqui/handlers.h>
#include <stdio.h>
static struct handlers controller;
static volatile int entered;
static void __attribute__((used)) work(void)
{
    uint32_t source = handlers_claim(&controller);
    handlers_nest(&controller, 3);
    entered++;
    handlers_unnest(&controller, 0);
    handlers_complete(&controller, source);
}
CHASQUI_HANDLER(entry, work, 4096)
int main(void)
{
    uint64_t vector, status;
    if (!handlers_open(&controller))
        return puts("no controller"), 0;
    handlers_begin(&controller, entry);
    handlers_enable(&controller, 1, 5);
    __asm__ volatile("csrr %0, 0x005" : "=r"(vector));
    __asm__ volatile("csrr %0, 0x000" : "=r"(status));
    printf("priority %u, enabled %x, supervisor %x, pending %x, claim %u\\n",
           *handlers_register(&controller, 4), *handlers_register(&controller, 0x2080),
           *handlers_register(&controller, 0x2000), *handlers_register(&controller, 0x1000),
           handlers_claim(&controller));
    printf("%d %d %d\\n", vector == (uint64_t)entry, (int)status, entered);
    return 0;
}
"""


def test_a_program_has_the_controllers_registers(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("handlers", SOURCE)
    for kernel in ("false", "true"):
        for contexts, expected in (
            (1, "priority 5, enabled 2, supervisor 0, pending 0, claim 0\n1 1 0\n"),
            (0, "no controller\n"),
        ):
            sets = [f"node.core.handler_contexts={contexts}", f"node.software.kernel={kernel}"]
            options = [word for each in sets for word in ("--set", each)]
            words = ["run", "--out", f"{kernel}{contexts}", "--machine", "voyager", *options]
            done = command(*words, "--", program, directory=tmp_path)
            assert (done.returncode, done.stdout) == (0, expected), done.stderr
