"""What is mpinp's own: processes are protected from each other; sizes that don't fit are refused.

Use this when the thin firmware, device.c or the card's registers change.
"""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

import pages
import pytest
from conftest import ROOT, Compiler, Run
from simulated import SWEEP, command, in_turn
from test_determinism import check_same

from chasqui.experiment import running

pytestmark = pytest.mark.core

HOSTILE = (ROOT / "tests" / "mpinp" / "hostile.c").read_text()
SHARED = ["--ranks-per-node", "2", "--set", "node.harts=2"]

NO_MESSAGE = "a slot that its doorbell counts has no message that can be sent"
GIVEN = "it gives back credit that it has not got, or too little of it alone"
REQUEST = "a request names what is not its process's, or more than that may have"
ENTRY = "a request leads to an entry of the page table that is not its process's"
# What rank 1 does, and what is said of it.
WRONG = {
    "credit": "it sends more messages than it has credit for",
    "doorbell": "its doorbell counts more slots than its window has",
    "node": NO_MESSAGE,
    "process": NO_MESSAGE,
    "bytes": NO_MESSAGE,
    "counts": NO_MESSAGE,
    "both": NO_MESSAGE,
    "given": GIVEN,
    "back": GIVEN,
    "alone": GIVEN,
    "wide": "the card takes no 64-byte stores",
    # Of data of long messages.
    "free": ENTRY,
    "foreign": ENTRY,
    "far": ENTRY,
    "outside": REQUEST,
    "name": REQUEST,
    "page": REQUEST,
    "fragment": REQUEST,
    "fragments": REQUEST,
    "small": REQUEST,
    "twice": REQUEST,
    "again": REQUEST,
    "read": REQUEST,
    "receive": REQUEST,
}


@pytest.mark.parametrize("what", WRONG)
def test_who_does_wrong_is_stopped_and_nobody_else_harmed(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    """Before, a process that the firmware had refused sent on, and sources, lengths and credit were
    what the sender said; a 64-byte store was a fault of rank 0."""
    program = compile_c("hostile", HOSTILE, f"-I{ROOT}")
    words = ["-np", "4", "--machine", "mpinp/bip", *SHARED, "--set", "mpinp.shared.host=32 KiB"]
    done = command("run", "-q", "--out", "run", *words, "--", program, what, directory=tmp_path)
    assert done.returncode in (128 + 7, 128 + 11), done.stderr
    assert "fault: rank 1 at" in done.stderr
    assert WRONG[what] in done.stderr
    if what == "credit":
        assert (tmp_path / "run" / "stdout.0").read_text() == "right\n"


# Rank 0 sends to rank 2 when rank 1 has done its wrong, as a fault does not end the job.
GOES_ON = ["--set", "node.software.fault_ends_job=false", "--limit-time", "10 ms"]


@pytest.mark.parametrize("what", ["far", "twice", "again", "credit", "fragment"])
def test_others_go_on_beside_one_that_was_stopped(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    """Before, a fragment that was leaving when its process was stopped (`far`) was taken for the
    block of a slot, and a receive could be posted twice."""
    program = compile_c("hostile", HOSTILE, f"-I{ROOT}")
    words = ["-np", "4", "--machine", "mpinp/bip", *SHARED, "--set", "mpinp.shared.host=32 KiB"]
    run = ["run", "-q", "--out", "run", *words, *GOES_ON]
    done = command(*run, "--", program, what, "on", directory=tmp_path)
    assert "fault: rank 1 at" in done.stderr
    assert WRONG[what] in done.stderr
    assert (tmp_path / "run" / "stdout.2").read_text() == "right\n"


def test_what_the_card_writes_is_no_page_table(compile_c: Compiler, tmp_path: Path) -> None:
    """Before, the page of a posted receive became one when its process had given it up."""
    program = compile_c("hostile", HOSTILE, f"-I{ROOT}")
    words = ["run", "-q", "--out", "run", "-np", "4", "--machine", "mpinp/bip", *SHARED]
    done = command(*words, "--", program, "table", directory=tmp_path)
    assert done.returncode == 0, done.stderr


def test_nothing_is_pinned_for_a_card_that_fetches_nothing(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Before, the kernel stored where pages are into the card's firmware."""
    program = compile_c("hostile", HOSTILE, f"-I{ROOT}")
    words = ["-np", "4", "--machine", "mpinp/bip", *SHARED, "--set", "mpinp.control.dma=false"]
    run = ["run", "-q", "--out", "run", *words, *GOES_ON]
    done = command(*run, "--", program, "pin", "on", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "stdout.2").read_text() == "right\n"


@pytest.mark.parametrize(
    ("machine", "without", "what"),
    in_turn(
        ["mpinp/bip", "mpinp-modern/host", "mpinp-modern/tags"],
        ["mpinp.control.dma=false", "node.software.kernel=false"],
        ["part", "posts", "puts"],
    ),
)
def test_without_entries_there_are_no_long_messages(
    compile_c: Compiler, tmp_path: Path, machine: str, without: str, what: str
) -> None:
    """Before, the library of the process to which it went followed a null pointer (`part`)."""
    program = compile_c("hostile", HOSTILE, f"-I{ROOT}")
    words = ["-np", "4", "--machine", machine, *SHARED, "--set", "mpinp.shared.host=32 KiB"]
    run = ["run", "-q", "--out", "run", *words, "--set", without]
    done = command(*run, "--", program, what, directory=tmp_path)
    assert "fault: rank 1 at" in done.stderr
    assert NO_MESSAGE in done.stderr


# A setting, and what is said of it: what is wrong, where, and what is allowed.
REFUSED = {
    "mpinp.card.width=12 B": "mpinp.card.width = 12 B: powers of two are allowed",
    "mpinp.pci.width=5 B": "mpinp.pci.width = 5 B: powers of two are allowed",
    "mpinp.card.sram=1000000 B": "mpinp.card.sram = 1000000 B: whole pages of 4 KiB are allowed",
    "mpinp.shared.window=9000 B": "mpinp.shared.window = 9000 B: whole pages of 4 KiB are allowed",
    "mpinp.shared.host=9000 B": "mpinp.shared.host = 9000 B: whole pages of 4 KiB are allowed",
    "mpinp.shared.host=8 KiB": "a ring of 4 slots is too short for 2 ranks; at least 12 KiB",
    "mpinp.shared.window=1 MiB": "at least 1585152 B are needed",
    "mpinp.np.instruction_cache=24 B": "mpinp.np.instruction_cache: 24 bytes of 2 ways",
    "mpinp.pci.target_wait=20": "mpinp.pci.initial_latency = 16",
    "network.packet_max=16 B": "network.packet_max: at least 21 B are needed",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_does_not_fit_is_refused(
    chasqui: Run, examples: Path, tmp_path: Path, setting: str
) -> None:
    """Before, the simulator panicked."""
    words = ["run", "-np", "2", "--machine", "mpinp/bip", "--set", setting]
    done = chasqui(*words, "--", str(examples / "ring"))
    assert (done.returncode, done.stdout) == (2, "")
    assert REFUSED[setting] in done.stderr
    assert not list(tmp_path.glob("runs/*"))


def test_firmware_has_no_more_than_its_memory(chasqui: Run, examples: Path) -> None:
    """Before, tables would have been in the first process's window."""
    sets = ["--set", "mpinp.shared.firmware=64 KiB", "--set", "mpinp.shared.host=16 MiB"]
    sets += ["--set", "node.harts=16"]
    run = ["run", "-np", "256", "--ranks-per-node", "16", "--machine", "mpinp/bip"]
    done = chasqui(*run, *sets, "--", str(examples / "ring"))
    assert done.returncode == 2
    assert 'mpinp.shared.firmware = 64 KiB: the firmware "bip" and its tables' in done.stderr


@pytest.mark.parametrize("sets", ["", "mpinp.pci.width=8 B", "mpinp.card.width=8 B"])
@pytest.mark.parametrize("window", ["8 KiB", "12 KiB", "32 KiB"])
def test_windows_of_any_length_turn(chasqui: Run, examples: Path, window: str, sets: str) -> None:
    """Of 28 slots, before, the number of a slot jumped at 2^32."""
    words = ["run", "-q", "-np", "3", "--machine", "mpinp/bip"]
    for each in (f"mpinp.shared.window={window}", "mpinp.shared.host=16 KiB", sets):
        words += ["--set", each] if each else []
    assert chasqui(*words, "--", str(examples / "ring"), "-l", "2").returncode == 0


@pytest.mark.turn(0)
def test_results_do_not_depend_on_how_it_is_simulated(compile_c: Compiler, tmp_path: Path) -> None:
    """As of other machines, among which `make sweep` has this one."""
    program = compile_c("schedule", (ROOT / "tests" / "mpinp" / "schedule.c").read_text())
    options = ["-np", "4", "--machine", "mpinp/bip", *SHARED]
    check_same(tmp_path, options, [program, "21", "30", "20000"])


WHOLE = ("mpinp/latency", "mpinp/life")  # they take seconds
# Together these take a twentieth of CI. What they run is in others, too, but for long messages that
# programs compute beside, and the modern cards, whose golden times are tested.
LONG = () if SWEEP else ("mpinp/bandwidth", "mpinp/modern", "mpinp/offload")
QUICK = sorted(set(running.choose(["mpinp"])) - {*WHOLE, *LONG})


@pytest.mark.parametrize("name", QUICK)
def test_quick_experiments_on_mpinp(tmp_path: Path, name: str) -> None:
    """The points of the quick form are those in docs, to the byte; controls show nothing."""
    running.carry_out(name, tmp_path, quick=True, jobs=1, progress=lambda _done, _of: None)
    for path in pages.tables_of(name):
        found_now = tmp_path / f"{pages.table_of(name, path)}.csv"
        if pages.table_of(name, path) != "sensitivity":
            assert set(found_now.read_text().splitlines()) <= set(path.read_text().splitlines())
    with (tmp_path / "results.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert found
    if name == "mpinp/np-slowdown":
        blocked = [row["slowdown"] for row in found if row["engines_busy"] == "send, blocked"]
        assert blocked == ["1"] * 5


def test_no_program_with_mpi_runs_with_firmware_that_measures(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    words = ["run", "-np", "2", "--machine", "mpinp/bip", "--set", "mpinp.control.image=slowdown"]
    done = chasqui(*words, "--", str(examples / "ring"))
    assert done.returncode != 0
    assert "device" in done.stderr


@pytest.mark.parametrize("name", WHOLE)
def test_experiments_on_mpinp(tmp_path: Path, name: str) -> None:
    """Whole, for they take seconds: the tables in docs are what they find today, and what is
    measured apart agrees."""
    running.carry_out(name, tmp_path, quick=False, jobs=1, progress=lambda _done, _of: None)
    tables = pages.tables_of(name)
    assert tables
    for path in tables:
        found_now = tmp_path / f"{pages.table_of(name, path)}.csv"
        assert path.read_bytes() == found_now.read_bytes(), path.name
    with (tmp_path / "results.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    if name == "mpinp/latency":
        halves = {row["variant"]: float(row["half_round_trip_ns"]) for row in found}
        assert set(halves) == {"mcp", "bip", "pin-cache", "nic-tlb"}
        for row in found:
            share = float(row["np_ns"]) / float(row["half_round_trip_ns"])
            assert float(row["np_share"]) == pytest.approx(share, abs=2e-3)
            # At least the link and the switch (network.link_latency, routing_delay).
            assert float(row["wire_ns"]) > 350
        return
    for before, after in pairwise(found):
        if before["variant"] == after["variant"] and before["card"] == after["card"]:
            end = float(before["begins_ns"]) + float(before["takes_ns"])
            assert before["until"] == after["stage"]
            assert end == pytest.approx(float(after["begins_ns"]), abs=0.01)
    # An idle card takes no longer.
    accepted = {
        (row["variant"], row["card"]): float(row["takes_ns"])
        for row in found
        if row["stage"] == "ready"
    }
    for variant in ("mcp", "bip"):
        assert accepted[variant, "idle"] <= 1.01 * accepted[variant, "busy"]


def test_a_message_left_on_the_wire_resets_the_card(examples: Path, tmp_path: Path) -> None:
    """The firmware that matches takes one within microseconds: never as late as a card stands. (The
    thin one has a place ready for the next; that of mpinp/np-slowdown takes none.)"""
    ring = [str(examples / "ring"), "-l", "1"]
    words = ["run", "-np", "2", "-m", "mpinp", "--set"]
    said = {}
    for longest in ("100 ns", "0 ns", "50 ms"):
        wait = f"mpinp.card.unserviced={longest}"
        done = command(*words, wait, "--out", longest, "--", *ring, directory=tmp_path)
        said[longest] = (done.returncode, done.stderr if done.returncode else done.stdout)
    status, why = said["100 ns"]
    assert status == 128 + 7, why
    assert re.search(
        r"network processor: the card has reset itself, for a message was left on the wire "
        r"for 100 ns .* at pc 0x\w+ \(\w+\+0x",
        why,
    ), why
    assert said["0 ns"] == said["50 ms"]
    assert "ring: PASSED" in said["50 ms"][1]
