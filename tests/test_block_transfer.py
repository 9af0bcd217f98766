"""flash: block transfers by its directory controllers. What they take, what they move beside a
reference while processors load and store nearby, what is refused.

The program is `tests/flash/transfers.c`. The engine's own tests, at random and by formula, are
`crates/directory/tests/transfers.rs`. Use this when these, `chasqui/block_transfer.h` or the
registers change.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import SWEEP, command
from test_determinism import check

pytestmark = pytest.mark.core

SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="session")
def transfers(compile_c: Compiler) -> Path:
    source = (ROOT / "tests" / "flash" / "transfers.c").read_text()
    return compile_c("flash-transfers", source, "-O2", "-pthread")


def flash(nodes: int, *sets: str) -> list[str]:
    options = [word for each in (f"flash.nodes={nodes}", *sets) for word in ("--set", each)]
    return ["-np", "1", "--machine", "flash", *options]


def run(chasqui: Run, program: Path, words: list[str], *arguments: str) -> tuple[int, str]:
    done = chasqui("run", *words, "--", program, *arguments)
    print(done.stdout + done.stderr)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("line", [32, 64, 128] if SWEEP else [64])
def test_a_line_more_takes_a_stage_more(chasqui: Run, transfers: Path, line: int) -> None:
    found = {}
    for lines in (8, 40):
        words = flash(2, f"node.l1d.line={line} B")
        status, said = run(chasqui, transfers, words, "time", str(lines * line))
        assert status == 0
        found[lines] = {name: int(cycles) for name, cycles in re.findall(r"(\w+) (\d+)", said)}
    stage = max(25, (line + 32) / 4)
    wire = (line + 32) / 4
    for name, extra in (("send", 0), ("receive", 10 + 8 + 5 + 8 + 8)):
        least = extra + 100 + 25 + 7 * stage + (8 + 5 + wire + 8) + 15 + 25
        more = found[40][name] - found[8][name]
        print(f"{name}: {found[8][name]} cycles for 8 lines, at least {least}; 32 more: {more}")
        # A turn of the loop that looks at the flag is a few cycles.
        assert more == pytest.approx(32 * stage, abs=8)
        # What is left: the flag's way, and its line's to who polls it.
        assert least < found[8][name] < least + 250


def seeds() -> list[tuple[int, int, bool]]:
    """Seed, bytes of a line, whether third nodes' copies are fetched."""
    if not SWEEP:
        return [(SEED, 64, False)]
    each = [(32, True), (64, False), (128, True), (128, False)]
    return [(SEED + i, line, coherent) for i in range(5) for line, coherent in each]


@pytest.mark.parametrize(("seed", "line", "coherent"), seeds())
def test_random_transfers_move_what_the_reference_says(
    chasqui: Run, transfers: Path, seed: int, line: int, coherent: bool
) -> None:
    sets = [f"node.l1d.line={line} B", f"flash.transfer.coherent={str(coherent).lower()}"]
    words = flash(4, *sets, f"flash.controller.buffer={1 + seed % 3}")
    print(f"seed {seed}")
    status, said = run(chasqui, transfers, words, "random", "4", str(seed), "2")
    assert status == 0
    assert "PASSED" in said


# How a run may be carried out, which changes none of its files.
WAYS = {
    "loops executed": ["--set", "check.spin_skip=false"],
    "by the reference": ["--set", "check.executor=reference"],
    "checker on": ["--set", "check.coherence=true"],
}


def test_transfers_have_the_same_bits(tmp_path: Path, transfers: Path) -> None:
    # Two processes of three threads.
    words = ["-np", "2", *flash(6)[2:], "--", str(transfers), "random", "3", str(SEED), "1"]
    check(tmp_path, words, WAYS, 0)


def test_each_broadcasts_to_its_row_and_column(chasqui: Run, transfers: Path) -> None:
    words = flash(9, "flash.controller.buffer=1")
    status, said = run(chasqui, transfers, words, "cast", "9")
    assert status == 0
    assert "PASSED" in said


REFUSED = {
    "absent": "there is no page at {source} that the process may read",
    "constant": "there is no page at {destination} that the process may write",
    "null": "there is no page at 0x0 that the process may write",
    "itself": "{destination} is in memory of node 0, as the other end is: a transfer goes",
    "elsewhere": "{source} is in memory of node 1: what node 0 sends has to be in its own",
    "received": "{source} is in memory of node 0, as the other end is: a transfer goes",
    "nothing": "0 bytes at 1 stride points are nothing to move",
    "flag": "is not aligned to 8",
    "register": "an access of 4 bytes at 0x0 of the controller's registers",
}


@pytest.mark.parametrize("what", REFUSED if SWEEP else ["absent", "constant", "itself", "register"])
def test_what_can_not_be_is_a_fault_that_names_the_address(
    chasqui: Run, transfers: Path, what: str
) -> None:
    status, said = run(chasqui, transfers, flash(3), "bad", what)
    found = re.search(r"source (\S+) destination (\S+)", said)
    ends = {"source": found[1], "destination": found[2]} if found else {}
    assert status == 128 + 11
    assert REFUSED[what].format(**ends) in said, REFUSED[what]
    assert "rank 0" in said


THIRD = [("store", "source"), ("load", "source"), ("load", "destination"), ("store", "destination")]


@pytest.mark.parametrize(("does", "where"), THIRD if SWEEP else [THIRD[0], THIRD[2]])
def test_what_a_third_node_has_is_refused_or_made_right(
    chasqui: Run, transfers: Path, does: str, where: str
) -> None:
    status, said = run(chasqui, transfers, flash(3), "third", does, where)
    if (does, where) == ("load", "source"):
        assert status == 0, "a copy that is as memory has it does no harm"
    else:
        assert status == 128 + 11
        verb = "modified" if where == "source" else "a copy of"
        assert re.search(rf"node 2 has {verb} the line at 0x[0-9a-f]+, which it", said)
    status, said = run(
        chasqui, transfers, flash(3, "flash.transfer.coherent=true"), "third", does, where
    )
    # What node 2 had stored at the destination before is overwritten.
    assert status == 0
    assert "PASSED" in said


def test_transfers_are_counted(tmp_path: Path, transfers: Path) -> None:
    out = tmp_path / "run"
    words = ["run", "-q", "--out", str(out), *flash(2), "--", str(transfers), "time", "1024"]
    done = command(*words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    text = json.dumps(json.loads((out / "stats.json").read_text()))
    for counter in ("transfers", "packets", "sent_bytes", "lines_read", "suspended_ps"):
        assert f"transfer.{counter}" in text or f'"{counter}"' in text


ALONE = r"""
#include <stdlib.h>
#include "chasqui/block_transfer.h"
#include <sys/syscall.h>
static char from[65536] __attribute__((aligned(4096))), to[65536] __attribute__((aligned(4096)));
static uint64_t flags[512] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
    unsigned long mask = 2;
    const long bytes = atol(argv[argc - 1]);
    if (!chasqui_transfer_open() || syscall(SYS_mbind, to, sizeof to, 2, &mask, 65, 0))
        return 2;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7), to[i] = 1;
    *(volatile uint64_t *)flags = 0;
    /* Misses, some of them still under way when the registers are set. */
    for (int at = 0; at < 512; at += 64)
        *(volatile char *)(from + at) = (char)(at * 7);
    chasqui_transfer_send(to, from, (size_t)bytes, flags);
    chasqui_transfer_wait(flags, 1);
    for (long i = 0; i < bytes; i++)
        if (to[i] != from[i])
            return 3;
    return 0;
}
"""


@pytest.mark.parametrize(
    "options", [[], ["--set", "check.spin_skip=false"], ["--set", "check.coherence=true"]], ids=str
)
def test_one_thread_alone_sees_its_flag(
    chasqui: Run, compile_c: Compiler, options: list[str]
) -> None:
    """Before, a processor that no other was beside slept through it: a deadlock. The coherence
    checker asks for a fence before the command alone: registers may be set while data that were
    stored before are still on their way to memory."""
    program = compile_c("alone", ALONE, "-O2")
    for size in ("64", "16384"):
        status, said = run(chasqui, program, [*flash(2), *options, "--out", size], size)
        assert status == 0, said


def test_a_command_without_its_fence_is_found(chasqui: Run, compile_c: Compiler) -> None:
    include = '#include "../../../machines/flash/commands.h"\n'
    header = (ROOT / "guest" / "include" / "chasqui" / "block_transfer.h").read_text()
    commands = (ROOT / "machines" / "flash" / "commands.h").read_text()
    fence = '    __asm__ volatile("fence rw, o" ::: "memory");\n'
    assert header.count(include) == commands.count(fence) == 1
    commands = commands.replace(fence, fence.replace("fence rw, o", ""))
    commands = commands.replace('"registers.h"', f'"{ROOT}/machines/flash/registers.h"')
    source = ALONE.replace('#include "chasqui/block_transfer.h"', header.replace(include, commands))
    program = compile_c("unfenced", source, "-O2")
    words = [*flash(2), "--set", "check.coherence=true"]
    status, said = run(chasqui, program, words, "64")
    assert status == 128 + 7
    assert "fence" in said


AGAIN = r"""
#include <pthread.h>
#include "chasqui/block_transfer.h"
#include <sys/syscall.h>
static char data[2][4096] __attribute__((aligned(4096)));
static pthread_barrier_t ready;
static void *joins(void *unused)
{
    chasqui_transfer_join(&(struct chasqui_transfer){.destination = data[1], .bytes = 4096});
    pthread_barrier_wait(&ready);
    for (;;)
        ;
    return unused;
}
int main(void)
{
    unsigned long mask = 2;
    pthread_t other;
    if (!chasqui_transfer_open() || syscall(SYS_mbind, data[1], 4096, 2, &mask, 65, 0))
        return 2;
    data[0][0] = data[1][0] = 1;
    pthread_barrier_init(&ready, 0, 2);
    pthread_create(&other, 0, joins, 0);
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 2; i++)
        chasqui_transfer_start(&(struct chasqui_transfer){
            .source = data[0], .bytes = 4096, .broadcast = CHASQUI_TRANSFER_TO_ROW});
    for (;;)
        ;
}
"""


def test_a_broadcast_that_is_started_again_too_soon_is_a_fault(
    chasqui: Run, compile_c: Compiler
) -> None:
    """Before, its packets went to the one before: a panic."""
    program = compile_c("again", AGAIN, "-O1", "-pthread")
    status, said = run(chasqui, program, flash(2, "flash.mesh.columns=2"))
    assert status == 128 + 11, said
    text = "broadcast 0 has been started again before node 1 has all of the one before"
    assert f"block transfer: {text}" in said
