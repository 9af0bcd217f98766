"""The machine cell and what is wrong: parameters out of their range or against each other, requests
of processes to the driver. All is refused in words, and what is right goes on.

Use this when machines/cell/kernel/spe.c, or parameters of machines/cell, change.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command

from chasqui import compiler

pytestmark = pytest.mark.core

# What is set, and what is said of it: the parameter, and what is allowed or needed.
WRONG = {
    "cell.chip.spes=0": r"cell\.chip\.spes: 0 is out of range; allowed: 1 to 8",
    "cell.chip.spes=9": r"cell\.chip\.spes: 9 is out of range; allowed: 1 to 8",
    "cell.chip.register=1 s": r'register: "1 s" is out of range; allowed: "0 ns" to "10 us"',
    "cell.element.store=8 KiB": r"cell\.element\.store: .* allowed: \"16 KiB\" to \"64 MiB\"",
    "cell.element.store=100000 B": r"cell\.element\.store: 100000 B is not in whole pages",
    "cell.element.mfc.tlb_ways=3": r"256 entries of 3 ways do not make a power of two of sets",
    "cell.element.mfc.core_queue=0": r"core_queue: 0 is out of range; allowed: 1 to 256",
    "cell.eib.beats=2": r"a train carries 32 B, and DMA moves lines of 128 B",
    "cell.spe.timebase=100 MHz": r"100 MHz and 80 MHz, .* which count the same ticks",
    "cell.mpi.long=slot": r'cell\.mpi\.long: "slot" is not allowed here; allowed: put, get, memory',
    "cell.mpi.mailbox=2": r"cell\.mpi\.mailbox: 2 is neither true nor false",
    "cell.mpi.words=1": r"cell\.mpi\.words is not a parameter",
    "node.harts=3": r"node\.harts: the PPE has two threads at most",
    "node.software.kernel=false": r"node\.software\.kernel: .* true is needed",
    "node.l2.line=512 B": r"node\.l2\.line: 512 B; a train of the bus carries 128 B",
}
# At an end of their range they are right, however slow.
RIGHT = [
    "cell.element.mfc.core_queue=1",
    "cell.element.mfc.transfers=1",
    "cell.element.inbound=1",
    "cell.chip.channel=1 us",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("cell-bad") / "hostile"
    words = ["-O2", f"-I{ROOT / 'machines' / 'cell'}", str(ROOT / "tests" / "cell" / "hostile.c")]
    assert compiler.run(compiler.plan("cc", [*words, "-o", str(found)])) == 0
    return found


def run(
    directory: Path, program: Path, *arguments: str, ranks: int, sets: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Exit status, what it prints, and messages."""
    words = ["run", "-q", "--out", str(directory / "out"), "-m", "cell", "-np", str(ranks)]
    words += [word for each in sets for word in ("--set", each)]
    done = command(*words, "--", program, *arguments, directory=directory)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("setting", sorted(WRONG))
def test_wrong_parameters_are_refused_in_words(program: Path, tmp_path: Path, setting: str) -> None:
    status, _, said = run(tmp_path, program, ranks=1, sets=(setting,))
    assert status == 2
    assert re.search(WRONG[setting], said), said
    assert not (tmp_path / "out").exists()


def test_a_mailbox_too_small_for_words_is_refused(program: Path, tmp_path: Path) -> None:
    """A word too many would replace another."""
    sets = ("cell.mpi.mailbox=true", "cell.element.inbound=3")
    status, _, said = run(tmp_path, program, ranks=2, sets=sets)
    assert status == 2
    assert "4 peers have a word each on its way to a mailbox of 3 entries" in said


@pytest.mark.parametrize("setting", RIGHT)
def test_parameters_may_be_at_the_end_of_their_range(
    program: Path, tmp_path: Path, setting: str
) -> None:
    status, said, errors = run(tmp_path, program, "mpi", ranks=2, sets=(setting,))
    assert status == 0, errors
    assert said.count("a message 7\n") == 2


def test_wrong_requests_of_a_process_are_refused(program: Path, tmp_path: Path) -> None:
    """SPEs that it has not, memory that is not its own, requests that there are not."""
    status, said, errors = run(tmp_path, program, ranks=1)
    assert status == 0, errors
    assert re.fullmatch(r"1\d\d requests, 0 wrong\n", said), said


def test_wrong_requests_of_a_rank_are_refused_and_its_messages_come(
    program: Path, tmp_path: Path
) -> None:
    status, said, errors = run(tmp_path, program, "mpi", ranks=2)
    assert status == 0, errors
    assert len(re.findall(r"^1\d\d requests, 0 wrong$", said, re.MULTILINE)) == 2, said
    assert said.count("a message 7\n") == 2
