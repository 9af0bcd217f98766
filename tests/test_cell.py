"""The machine cell: programs on its SPEs by library, runtime and kernel; what is wrong with them,
in words; the same bits however it is executed; its experiments.

Use this when machines/cell, crates/element, or how SPE programs are compiled changes.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command

from chasqui import compiler, core, local_store
from chasqui.errors import InputError
from chasqui.experiment import running

pytestmark = pytest.mark.core

PROGRAMS = ROOT / "tests" / "cell"
NAMES = ("hello", "together", "wrong", "faults", "odd")
# What must change no bit: skipping, the checker, the reference, windows, host threads.
SAME = [
    ["--set", "check.spin_skip=false"],
    ["--set", "check.coherence=true"],
    ["--set", "check.executor=reference"],
    ["--set", "check.window=1 us", "--threads", "2"],
    ["--threads", "4"],
]
EXPERIMENTS = [name for name in running.names() if name.startswith("cell/")]


def build(directory: Path, name: str) -> Path:
    """A program of the PPE, with that of the SPEs in it."""
    program = directory / name
    source = PROGRAMS / f"{name}.c"
    words = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{local_store.LIBRARY}"]
    words += local_store.flags_of_host(source)
    files = [str(source), str(local_store.LIBRARY / "spe.c")]
    assert compiler.run(compiler.plan("cc", [*words, *files, "-o", str(program)])) == 0
    return program


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("cell")
    return {name: build(directory, name) for name in NAMES}


def run(directory: Path, program: Path, *arguments: str, options: list[str] | None = None) -> str:
    """What it prints; it ends well."""
    words = ["run", "-q", "--out", str(directory / "out"), "--machine", "cell", "-np", "1"]
    done = command(*words, *(options or []), "--", program, *arguments, directory=directory)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_a_program_of_an_spe_gets_computes_puts_and_prints(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    said = run(tmp_path, programs["hello"]).splitlines()
    assert said[0].startswith("hello from spe 0, argument ")
    # The squares of 0 to 15; the status of its exit.
    assert said[1:] == ["sum 1240", "0: reason 1 code 42, sum 1240"]


@pytest.mark.parametrize(
    "options", [[], ["node.harts=2"], ["cell.chip.spes=8"], ["cell.chip.spes=1"]]
)
def test_spes_work_together(programs: dict[str, Path], tmp_path: Path, options: list[str]) -> None:
    """Atomics with the PPE, DMA each way, between local stores, signals in a ring, mailboxes by
    kernel and problem state, an interrupt mailbox, a decrementer."""
    sets = [word for each in options for word in ("--set", each)]
    said = run(tmp_path, programs["together"], options=sets)
    spes = {"cell.chip.spes=8": 8, "cell.chip.spes=1": 1}.get(" ".join(options), 6)
    turns, rounds = 5, 3
    token = rounds * sum(range(1, spes + 1))
    codes = sum(range(spes))
    count = (spes + 1) * turns
    end = f"counter {count} of {count}, token {token}, codes {codes}, wrong 0"
    assert said.splitlines()[-1] == end
    inboxes = sorted(line for line in said.splitlines() if line.startswith("spe "))
    assert inboxes == [f"spe {n} of {spes}: inbox 2" for n in range(spes)]


def test_however_it_is_executed_the_bits_are_the_same(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    def files(name: str, options: list[str]) -> dict[str, bytes]:
        directory = tmp_path / name
        directory.mkdir()
        said = run(directory, programs["together"], options=options)
        out = directory / "out"
        summary = json.loads((out / "summary.json").read_text())
        statistics = (out / "stats.json").read_bytes()
        return {
            "stdout": said.encode(),
            "stats": statistics,
            "time": str(summary["time_ps"]).encode(),
        }

    reference = files("reference", [])
    for number, options in enumerate(SAME):
        assert files(str(number), options) == reference, options


def test_the_kernel_serves_what_the_mfc_misses(programs: dict[str, Path], tmp_path: Path) -> None:
    pages = 4
    every = {}
    for search in ("hardware", "kernel"):
        directory = tmp_path / search
        directory.mkdir()
        options = ["--set", f"cell.element.mfc.translation={search}"]
        said = run(directory, programs["faults"], str(pages), options=options)
        total = sum(range(1, pages + 1))
        assert said.splitlines() == [f"turn {turn}: sum {total}, wrong 0" for turn in (0, 1)]
        statistics = json.loads((directory / "out" / "stats.json").read_text())
        mfc = statistics["node00000"]["ni"]["spe0"]["mfc"]
        every[search] = {
            name: mfc[name]["value"] for name in ("faults", "tlb_misses", "walk_reads")
        }
    # Of each page the first touch is a fault, in each turn: what the process gave up is another.
    assert every["hardware"]["faults"] == 2 * pages
    assert every["hardware"]["walk_reads"] > 0
    assert every["kernel"]["walk_reads"] == 0
    assert every["kernel"]["faults"] == every["kernel"]["tlb_misses"]


# By the number of wrong.spe.c's mistakes: what is said, and the function where its program is.
MISTAKES = {
    0: "addresses are naturally aligned and have the same low four bits",
    1: "a transfer has 1, 2, 4, 8 or 16 bytes, or a multiple of 16 up to 16384",
    2: "the local store ends before",
    3: "the address has no translation",
    6: "the queue has no such command",
    7: "the page does not allow it",
}
PROGRAM_MISTAKES = {4: "spe0: ", 5: "among its channels", 8: "illegal instruction"}


def failure(place: Path, program: Path, number: int) -> str:
    """What is said of a run that the error of this number ends."""
    words = ["run", "-q", "--machine", "cell", "-np", "1", "--"]
    done = command(*words, program, str(number), directory=place)
    assert done.returncode != 0
    assert "spe0: " in done.stderr
    return done.stderr


@pytest.mark.parametrize("number", sorted(MISTAKES | PROGRAM_MISTAKES))
def test_mistakes_are_said_with_spe_pc_and_command(
    programs: dict[str, Path], tmp_path: Path, number: int
) -> None:
    said = failure(tmp_path, programs["wrong"], number)
    assert (MISTAKES | PROGRAM_MISTAKES)[number] in said
    # The line of a channel's access is that of the header's function.
    assert "(main+" in said
    assert "wrong.spe.c:" in said or ".h:" in said
    if number in MISTAKES:
        assert "DMA command" in said
        assert "its program is at pc 0x8000" in said


@pytest.mark.parametrize(("number", "reason"), [(1, 4), (3, 4), (8, 3)])
def test_a_program_may_hear_of_its_spes_mistakes(
    programs: dict[str, Path], tmp_path: Path, number: int, reason: int
) -> None:
    said = run(tmp_path, programs["wrong"], str(number), "keep")
    assert said.startswith(f"reason {reason}, ")


def test_a_full_queue_of_commands_is_waited_for(programs: dict[str, Path], tmp_path: Path) -> None:
    assert run(tmp_path, programs["wrong"], "9") == "reason 1, code 0\n"


# By the number of odd.spe.c's errors: what is said. The program is run ahead, and the PPE sleeps.
ODD_ERRORS = {0: "no access to 0x80040800", 1: "no access to 0x10 ", 2: "among its channels"}


@pytest.mark.parametrize("number", sorted(ODD_ERRORS))
def test_a_programs_own_errors_are_heard_whenever_they_come(
    programs: dict[str, Path], tmp_path: Path, number: int
) -> None:
    assert ODD_ERRORS[number] in failure(tmp_path, programs["odd"], number)


# What odd.c does, and prints.
ODD = {
    "again": "ends: 0, reason 1, code 0\nmailboxes 400, status 0, signal 0\n",
    "mail": "heard: 1, 9\nwrote 5\nends: 0, reason 1, code 25\n",
    "given": "waited: -1, errno 22\n",
    "stuck": "entered 0, waited -1, errno 5\nentered 0, waited 0, status 2\nentered -1, errno 22\n",
    "images": "image 0: 0, right\n"
    + "".join(f"image {n}: -1, Exec format error\n" for n in range(1, 6)),
    "purged": "purged\n",
    "overlays": "ends: 0, reason 1, code 52\n",
    "stops": "stopped with 11, ended 0 with 7\n",
    "lines": "ends: 0, reason 1, code 1\nthe line is taken\n",
    "lists": "ends: 0, reason 1, code 0\n",
}


@pytest.mark.parametrize("what", sorted(ODD))
def test_what_is_rare_comes_out_well(programs: dict[str, Path], tmp_path: Path, what: str) -> None:
    """Contexts one after the other; several threads that wait; a wrong command, and what is sent
    after it; images that are none; faults of what is purged; code that comes by DMA."""
    options = ["--set", "node.harts=2", "--set", "check.coherence=true"]
    assert run(tmp_path, programs["odd"], what, options=options) == ODD[what]


def test_profiles_name_the_functions_of_each_spe(programs: dict[str, Path], tmp_path: Path) -> None:
    run(tmp_path, programs["together"], options=["--profile"])
    folded = (tmp_path / "out" / "profile.folded").read_text()
    for spe in range(6):
        assert any(f"spe{spe}" in line and "main" in line for line in folded.splitlines())


def test_a_program_that_does_not_fit_is_refused_with_its_sizes(tmp_path: Path) -> None:
    source = tmp_path / "large.spe.c"
    source.write_text(
        "static volatile char data[300000];\n"
        "int main(unsigned long long a, unsigned long long b, unsigned long long c)\n"
        "{ return data[a + b + c]; }\n"
    )
    with pytest.raises(InputError) as refused:
        local_store.link([source], tmp_path / "large.elf")
    text = str(refused.value)
    assert text.startswith("large.elf does not fit into a local store of 262,144 bytes: ")
    assert "zeroed data 300,0" in text
    assert text.endswith("which leaves 0 for the stack; at least 4,096 are needed")
    assert not (tmp_path / "large.elf").exists()


def test_what_is_written_twice_is_the_same() -> None:
    """The compiler's numbers and the experiments' are the machine's."""
    machine = {each["name"]: each["value"] for each in core.parameters("cell")}
    store_bytes, unit = machine["cell.element.store"].split()
    assert (int(store_bytes) << 10, unit) == (local_store.STORE_BYTES, "KiB")
    header = (local_store.FOLDER / "registers.h").read_text()
    assert f"CELL_STORE_ADDRESS {local_store.ADDRESS:#x}ull" in header
    script = (local_store.RUNTIME / "spu.ld").read_text()
    assert f"    . = {local_store.ADDRESS + 128:#x};" in script
    spec = (local_store.FOLDER / "experiments" / "_cell.py").read_text()
    (tick,) = re.findall(r"TICK_NS = Fraction\((\d+), (\d+)\)", spec)
    for name in ("node.core.timebase", "cell.spe.timebase", "cell.element.timebase"):
        frequency, unit = machine[name].split()
        assert unit == "MHz"
        assert Fraction(int(tick[0]), int(tick[1])) == Fraction(1000, int(frequency)), name


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_experiments(name: str, tmp_path: Path) -> None:
    done = running.carry_out(
        name, tmp_path / "results", quick=True, jobs=1, progress=lambda *_: None
    )
    results = done.report.tables[0]
    numbers = [value for row in results.rows for value in row if not isinstance(value, str)]
    assert numbers
    assert all(value is None or value >= 0 for value in numbers)
    assert done.report.findings
