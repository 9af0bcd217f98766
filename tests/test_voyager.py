"""The NES of voyager without MPI: a program over nes.h, in every variant, and what ends a process.

Use this when the NES, its registers or nes.h change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import machines
from test_determinism import THREADS, VARIATIONS, check

pytestmark = pytest.mark.core

VARIANTS = [machine for machine in machines() if machine.startswith("voyager")]
COUNTER = (ROOT / "tests" / "voyager" / "counter.c").read_text()

# `protocol` of a message's record.
BASIC, DMA = 1, 2

PROGRAM = """\
#include <chasqui/nes.h>
int main(void)
{
    static struct nes nes;
    if (!nes_open(&nes))
        return 2;
    if (nes.rank == 0)
        ACTION;
    return 0;
}
"""
# name: what rank 0 of 2 does, what the run says. Nothing of it reaches rank 1.
FAULTS = {
    "stranger": (
        "nes_express_store(&nes, nes.express, 0, 2, 0, 0)",
        "protection: transmit queue 0 has no destination 2 in the NES's table",
    ),
    "stranger_tagged": (
        "nes_express_store(&nes, nes.tag, 0, 31, 0, 0)",
        "protection: transmit queue 0 has no destination 31 in the NES's table",
    ),
    "forged_address": (
        "*(volatile uint32_t *)(nes.express - (1 << 28)) = 0",
        "nothing is mapped there",
    ),
    "overflow": (
        "for (int i = 0; i < 1000; i++) nes_express_store(&nes, nes.express, 0, 1, 0, i)",
        "a store into Express transmit queue 0, which is full",
    ),
    "silence": (
        "while (nes_one_poll(&nes, 7) == NES_EMPTY) nes_pause()",
        "deadlock",
    ),
}


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("ranks", [2, 5])
def test_the_counter_has_the_same_bits(
    compile_c: Compiler, tmp_path: Path, machine: str, ranks: int
) -> None:
    """Additions arrive once and in order; also with the coherence checker."""
    program = compile_c("counter", COUNTER)
    names = ("loops executed", "checker on", *THREADS)
    run = ["-np", str(ranks), "--machine", machine, "--", str(program)]
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
    assert (tmp_path / "reference" / "stdout.0").read_text() == "counter: PASSED\n"


@pytest.mark.parametrize("machine", VARIANTS)
def test_full_queues_hold_messages_up_and_lose_none(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    program = compile_c("counter", COUNTER)
    sets = ["--set", "voyager.express.slots=2", "--set", "voyager.express.tags=2"]
    sets += ["--set", "check.coherence=true"]
    done = chasqui("run", "-q", "-np", "4", "--machine", machine, *sets, "--", program, "300")
    assert (done.returncode, done.stdout) == (0, "counter: PASSED\n"), done.stderr


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_was_wrong(compile_c: Compiler, chasqui: Run, name: str) -> None:
    action, text = FAULTS[name]
    program = compile_c(f"nes_{name}", PROGRAM.replace("ACTION", action))
    done = chasqui("run", "-np", "2", "--machine", "voyager", "--", program)
    assert done.returncode == (125 if name == "silence" else 139), done.stderr
    assert text in done.stderr
    assert "rank 0" in done.stderr


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("eager", [48, 1024])
def test_a_record_says_by_what_its_message_went(
    chasqui: Run, examples: Path, tmp_path: Path, machine: str, eager: int
) -> None:
    import pyarrow.parquet

    sets = ["--set", f"voyager.mpi.eager={eager} B"]
    program = [examples / "pingpong", "-n", "1", "-m", "4096"]
    done = chasqui("run", "--out", "run", "-np", "2", "--machine", machine, *sets, "--", *program)
    assert done.returncode == 0, done.stderr
    rows = pyarrow.parquet.read_table(tmp_path / "run" / "messages.parquet").to_pylist()
    # Packets of the library's own have sequence 0.
    found = {(row["bytes"] <= eager, row["protocol"]) for row in rows if row["sequence"] > 0}
    assert found == {(True, BASIC), (False, DMA)}


def test_there_is_no_nes_on_another_machine(compile_c: Compiler, chasqui: Run) -> None:
    done = chasqui("run", "-np", "2", "--", compile_c("counter", COUNTER))
    assert done.returncode != 0
    assert "counter: there is no NES here" in done.stderr


def test_a_ring_that_is_not_a_power_of_two_is_refused(chasqui: Run) -> None:
    sets = ["--set", "voyager.express.tags=3"]
    done = chasqui("run", "--machine", "voyager", *sets, "--", "nosuch")
    assert done.returncode == 2
    assert "voyager.express.tags: 3 is not a power of two" in done.stderr
