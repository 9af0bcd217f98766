"""flash/block-transfer: MPI whose long messages the directory controllers move, from buffer to
buffer; and by the window where that can't be.

Use this when `machines/flash/transfer/device.c`, rights to other processes' memory
(`crates/directory/src/protocol/transfer/grant.rs`) or the channel in memory (`guest/local`) change.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import EXAMPLES, SWEEP, command
from test_determinism import check

pytestmark = pytest.mark.core

SOURCES = ROOT / "tests" / "flash"
MACHINE = "flash/block-transfer"
TRANSFER, MEMORY = "block-transfer", "shared memory"
EAGER_MAX = 1024  # [bytes], of the device


@pytest.fixture(scope="session")
def program(compile_c: Compiler) -> Path:
    return compile_c("flash-messages", (SOURCES / "messages.c").read_text(), "-O2")


def moved(place: Path) -> dict[tuple[int, int], set[str]]:
    """By source and destination: by what messages that wait for their receive went."""
    import pyarrow.parquet

    found: dict[tuple[int, int], set[str]] = {}
    for row in pyarrow.parquet.read_table(place / "messages.parquet").to_pylist():
        if row["bytes"] > EAGER_MAX:
            key = row["source"], row["destination"]
            found.setdefault(key, set()).add(row["mechanism"])
        else:
            assert row["mechanism"] == MEMORY
    return found


def run(program: Path, place: Path, ranks: int, *words: object, sets: tuple[str, ...] = ()) -> str:
    options = [word for each in sets for word in ("--set", each)]
    arguments = ["run", "--out", str(place), "-np", str(ranks), "--machine", MACHINE, *options]
    done = command(*arguments, "--", program, *map(str, words), directory=place.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Bytes, and where they begin in a page: whole lines, parts of lines at both ends, one page or many.
PLACES = [(4096, 0), (1025, 63), (9999, 4090), *[(65536, 0), (1100, 2048), (5000, 1)] * SWEEP]


@pytest.mark.parametrize(("length", "offset"), PLACES)
def test_long_messages_go_from_buffer_to_buffer(
    program: Path, tmp_path: Path, length: int, offset: int
) -> None:
    sets = ("flash.nodes=4", "check.coherence=true")
    run(program, tmp_path / "run", 3, "here", length, offset, 2, sets=sets)
    found = moved(tmp_path / "run")
    assert found == {key: {TRANSFER} for key in [(0, 1), (0, 2), (1, 0), (2, 0)]}


# Who sends to whom by what, of two ranks in two rounds.
BY_WINDOW: Mapping[str, dict[tuple[int, int], set[str]]] = {
    # The first message, by which its pages come, goes by the window.
    "absent": {(0, 1): {MEMORY, TRANSFER}, (1, 0): {TRANSFER}},
    "strewn": {(0, 1): {MEMORY}, (1, 0): {MEMORY}},
    # To copy them into the window brings them in.
    "sent": {(0, 1): {MEMORY, TRANSFER}, (1, 0): {TRANSFER}},
}


@pytest.mark.parametrize("how", BY_WINDOW)
def test_what_can_not_be_moved_goes_by_the_window(program: Path, tmp_path: Path, how: str) -> None:
    run(program, tmp_path / "run", 2, how, 20000, 100, 2, sets=("flash.nodes=4",))
    assert moved(tmp_path / "run") == BY_WINDOW[how]


def test_short_messages_go_as_on_the_other_device(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path / "run", 2, "here", EAGER_MAX, 0, 2)
    assert moved(tmp_path / "run") == {}


WAYS = {
    "loops executed": ["--set", "check.spin_skip=false"],
    "by the reference": ["--set", "check.executor=reference"],
    "checker on": ["--set", "check.coherence=true"],
}


def test_transfers_of_messages_have_the_same_bits(tmp_path: Path, program: Path) -> None:
    words = ["--machine", MACHINE, "--set", "flash.nodes=4", "-np", "4"]
    check(tmp_path, [*words, "--", str(program), "here", "3000", "40", "1"], WAYS, 0)


def test_more_messages_than_there_is_room_for(compile_c: Compiler, tmp_path: Path) -> None:
    many = compile_c("flash-many", (SOURCES / "many.c").read_text(), "-O2")
    run(many, tmp_path / "run", 2, sets=("flash.nodes=2",))
    found = moved(tmp_path / "run")
    print(found)
    assert all(TRANSFER in each for each in found.values())


@pytest.mark.parametrize("name", EXAMPLES if SWEEP else ["heat", "sort"])
def test_examples_on_half_of_the_processors(examples: Path, tmp_path: Path, name: str) -> None:
    """Ranks of two processors each, of which the second is idle."""
    ranks, arguments = EXAMPLES[name]
    words = ["-n", "4096"] if name == "sort" else arguments
    sets = (f"flash.nodes={2 * ranks}", "check.coherence=true")
    assert "PASSED" in run(examples / name, tmp_path / "run", ranks, *words, sets=sets)


def test_both_devices_are_compared(chasqui: Run, examples: Path) -> None:
    words = ["--", examples / "pingpong", "-n", "1", "-m", "8192"]
    done = chasqui("compare", "flash", MACHINE, "-np", "2", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    names = [line[0] for line in lines if line and line[0] in ("flash", MACHINE)]
    assert set(names) == {"flash", MACHINE}


def test_without_coherent_transfers_it_is_refused(chasqui: Run, program: Path) -> None:
    words = ["-np", "2", "--machine", MACHINE, "--set", "flash.transfer.coherent=false"]
    done = chasqui("run", *words, "--", program, "here", "8", "0", "1")
    assert done.returncode == 2
    assert "flash.transfer.coherent is false" in done.stderr
    assert "true is allowed" in done.stderr
