"""A thread of the kernel that makes progress: mpinp/progress-thread.

Use this when machines/mpinp/kernel/thread or firmware/mcp/thread change. Seeds are the programs'
arguments; SEED adds to them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Compiler
from simulated import SWEEP, command
from test_determinism import check_same
from test_mpinp_kept import counters
from test_mpinp_mcp import INCLUDE, PLACE, SEED, shared

pytestmark = pytest.mark.core

MACHINE = ["--machine", "mpinp/progress-thread"]


def of_pages(count: int, in_entry: int = 4) -> list[str]:
    """A page table of so many pages."""
    sets = (f"mpinp.shared.pages={count}", f"mpinp.shared.entry_pages={in_entry}")
    return [word for each in sets for word in ("--set", each)]


def carry_out(
    place: Path, program: Path, *arguments: str, sets: list[str], out: str = "out"
) -> str:
    """What it prints."""
    run = ["run", "-q", "--out", out, *MACHINE, "--set", "check.coherence=true", *sets]
    # A minute or so for each second of the machine's.
    done = command(*run, "--", str(program), *arguments, directory=place, limit_s=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# A message that the page table reaches for, and one that it does not, beyond half of 60 MB.
LENGTHS = {"short": ["200000", "1500000"]}
if SWEEP:
    LENGTHS["paper"] = ["70000000", "250000000"]


@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_beyond_reach_goes_on_while_its_process_computes(
    compile_c: Compiler, tmp_path: Path, length: str
) -> None:
    """Where progress is the user's it comes afterwards (test_mpinp_pages.py). What the thread takes
    from the program is the kernel's code, and what crosses the I/O bus."""
    program = compile_c("alone", (PLACE / "alone.c").read_text())
    tables = {"short": (512, 32), "paper": (65000, 15400)}[length]
    took = []
    for pages in tables:
        words = ["-np", "2", *of_pages(pages, 1 if length == "short" else 4)]
        found = carry_out(tmp_path, program, *LENGTHS[length], sets=words, out=f"{pages}")
        assert "it came meanwhile" in found
        (text,) = re.findall(r"computed for ([\d.]+) us", found)
        took.append(float(text))
    counts = [counters(tmp_path / f"{pages}", 0, "interrupt")["interrupts"] for pages in tables]
    assert counts[0] == 0
    assert counts[1] > 0
    each_us = (took[1] - took[0]) / counts[1]
    print(f"{counts[1]} interrupts took {each_us:.1f} us each")
    if length == "short":
        # A trap, two switches of threads, three accesses across the bus, a dozen pages in tables.
        assert 5 < each_us < 60


# Ranks, ranks of a node and of a hart, page tables.
PLACES = {
    "apart": (["-np", "3"], 32, 1),
    "harts": (["-np", "4", *shared(2)], 64, 1),
    "hart": (["-np", "4", "--ranks-per-node", "2"], 64, 1),
    "four": (["-np", "4", *shared(4)], 128, 1),
}


@pytest.mark.long
@pytest.mark.parametrize("where", PLACES)
def test_data_lie_in_pages_in_any_way(compile_c: Compiler, tmp_path: Path, where: str) -> None:
    program = compile_c("pages", (PLACE / "pages.c").read_text())
    words, pages, in_entry = PLACES[where]
    sets = [*words, *of_pages(pages, in_entry)]
    assert "pages: PASSED" in carry_out(tmp_path, program, "210000", sets=sets)
    assert counters(tmp_path / "out", 0, "interrupt")["interrupts"] > 0


@pytest.mark.parametrize("number", [1, 2] if SWEEP else [1])
@pytest.mark.parametrize("where", PLACES if SWEEP else ["hart", "harts"])
def test_messages_in_any_order(
    compile_c: Compiler, tmp_path: Path, where: str, number: int
) -> None:
    """Those that are under way at a time have few entries each. Names are used again, also by
    transfers that were cancelled or truncated while pages of theirs were asked for."""
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    words, pages, in_entry = PLACES[where]
    seed = SEED + 70 + number
    arguments = [str(seed), "60" if SWEEP else "40", "50000"]
    found = carry_out(tmp_path, program, *arguments, sets=[*words, *of_pages(pages, in_entry)])
    assert f"schedule, seed {seed}: PASSED" in found
    assert counters(tmp_path / "out", 0, "interrupt")["interrupts"] > 0


@pytest.mark.parametrize(("bytes_", "ends_well"), [("60000", True), ("163840", False)])
def test_what_is_not_to_be_written_is_its_process_s_fault(
    compile_c: Compiler, tmp_path: Path, bytes_: str, ends_well: bool
) -> None:
    """The thread can't name the page: the process is asked, if data come so far."""
    program = compile_c("unwritable", (PLACE / "unwritable.c").read_text())
    words = ["-np", "2", *MACHINE, *of_pages(32, 1), "--", str(program), "end", bytes_]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert ("fault: rank 1 " in done.stderr) != ends_well, done.stdout + done.stderr
    assert ("received" in done.stdout) == ends_well


@pytest.mark.parametrize("what", ["foreign", "free", "long", "reuse", "entry"])
def test_a_forged_request_harms_its_own_process_alone(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    program = compile_c("forged", (PLACE / "forged.c").read_text(), *INCLUDE)
    words = ["-np", "3", *MACHINE, *shared(3), "--set", "node.software.fault_ends_job=false"]
    words += ["--limit-time", "20 ms", "--", str(program), what]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert "fault: rank 1 " in done.stderr
    for rank in (0, 2):
        assert f"rank {rank}: PASSED" in (tmp_path / "out" / f"stdout.{rank}").read_text()


@pytest.mark.turn(4)
def test_results_do_not_depend_on_how_it_is_simulated(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("alone", (PLACE / "alone.c").read_text())
    common = ["-np", "2", *MACHINE, *of_pages(32, 1)]
    variations = {
        "two": ["--threads", "2"],
    }
    if SWEEP:
        variations["windows"] = ["--set", "check.window=1 us"]
        variations["spinning"] = ["--set", "check.spin_skip=false"]
    check_same(tmp_path, common, [program, "120000", "200000"], variations)


def test_what_can_not_be_is_refused(tmp_path: Path, examples: Path) -> None:
    for setting, text in {
        "mpinp.shared.wait=interrupt": "mpinp.shared.progress = thread: where processes wait by",
        "mpinp.control.image=bip": 'the firmware "bip" asks no thread',
    }.items():
        words = ["run", "-np", "2", *MACHINE, "--set", setting, "--", str(examples / "ring")]
        done = command(*words, directory=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
