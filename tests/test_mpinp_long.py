"""Long messages over mpinp's thin firmware: the card's DMA moves them between pinned pages.

Use this when machines/mpinp/long.h, firmware/bip or the kernel's agent change.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, command, in_turn
from test_determinism import check_same
from test_mpinp_mcp import PLACE, shared

pytestmark = pytest.mark.core


def carry_out(out: Path, program: Path, machine: str, *words: str, sets: list[str]) -> str:
    """What it prints; `out` is its run. Ranks, ranks of a node, and the program's arguments."""
    options = [word for each in ["check.coherence=true", *sets] for word in ("--set", each)]
    ranks, per_node, *arguments = words
    place_ranks = shared(int(per_node)) if int(per_node) > 1 else []
    run = [
        "run",
        "-q",
        "--out",
        str(out),
        "-np",
        ranks,
        "--machine",
        machine,
        *place_ranks,
        *options,
    ]
    done = command(*run, "--", str(program), *arguments, directory=out.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Settings, ranks, ranks of a node. Tables of 32 entries reach 15 of four pages, or of one.
PLACES = {
    "apart": ([], "3", "1"),
    "pairs": (["mpinp.shared.entry_pages=2"], "4", "2"),
    "together": (["mpinp.shared.pages=512"], "4", "4"),
    "stretches": (["mpinp.shared.pages=32", "mpinp.shared.entry_pages=1"], "3", "1"),
    "tight": (["mpinp.shared.window=8 KiB", "mpinp.shared.host=16 KiB"], "3", "1"),
    "fragments": (["mpinp.control.fragment=512 B"], "2", "1"),
    "stored": (["mpinp.control.dma=false"], "2", "1"),
    "alone": (["node.software.kernel=false"], "2", "1"),
}
MACHINES = ["mpinp/bip", "mpinp-modern/host", "mpinp-modern/tags"]
WHAT = {"sizes": ["70000"], "many": ["18", "5000"]}
# What keeps the host longest, and is like the others.
LONG = ("together", "pairs")


@pytest.mark.parametrize(
    ("machine", "where", "what"),
    [each for each in in_turn(MACHINES, PLACES, WHAT) if SWEEP or each[1] not in LONG],
)
def test_data_come_where_they_are_wanted(
    compile_c: Compiler, tmp_path: Path, machine: str, where: str, what: str
) -> None:
    """Of lengths round borders of slots, fragments, pages and entries; 18 at a time to each rank,
    in the opposite order."""
    sets, ranks, per_node = PLACES[where]
    program = compile_c("long", (PLACE / "long.c").read_text())
    words = [ranks, per_node, what, *WHAT[what]]
    assert "long: PASSED" in carry_out(tmp_path / "out", program, machine, *words, sets=sets)


@pytest.mark.parametrize("machine", MACHINES)
def test_receives_may_have_room_for_less(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    """For none of a message, too: before, the buffer was taken for the library's own."""
    program = compile_c("long", (PLACE / "long.c").read_text())
    words = ["3", "1", "short", "9000"]
    assert "long: PASSED" in carry_out(tmp_path / "out", program, machine, *words, sets=[])


# Ranks, of which all but two announce and stay away; lengths of what they announce, and of the
# message beside it; settings. 16 receives can be posted, or half of 32 entries.
LATE = {
    "names": ("18", "1500", "1500", []),
    "entries": ("3", "58000", "5000", ["mpinp.shared.pages=32", "mpinp.shared.entry_pages=1"]),
    "stretches": ("3", "150000", "150000", ["mpinp.shared.pages=32", "mpinp.shared.entry_pages=1"]),
}


@pytest.mark.parametrize(("machine", "lacking"), in_turn(MACHINES, LATE))
def test_a_sender_that_is_late_stops_no_other_pair(
    compile_c: Compiler, tmp_path: Path, machine: str, lacking: str
) -> None:
    """Before, the receives of those that stayed away had all names, or entries, and the others
    waited until they came back: a deadlock if that waits for the others."""
    program = compile_c("late", (PLACE / "late.c").read_text())
    ranks, bytes_, last, sets = LATE[lacking]
    found = carry_out(tmp_path / "out", program, machine, ranks, "1", bytes_, last, sets=sets)
    assert "late: PASSED" in found


def test_what_leaves_has_its_turn_beside_what_comes(compile_c: Compiler, tmp_path: Path) -> None:
    """Before, a card that received long messages from many sent none until all had come."""
    program = compile_c("busy", (PLACE / "busy.c").read_text())
    words = ["8", "1", "come", "2", "100000", "5000"]
    found = carry_out(tmp_path / "out", program, "mpinp/bip", *words, sets=[])
    [come] = re.findall(r"sent when (\d+) of 12 had come", found)
    assert int(come) < 8


def test_a_process_hears_soon_that_its_message_has_left(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Before, it did when nothing moved any more: fragments that left and came went first."""
    program = compile_c("busy", (PLACE / "busy.c").read_text())
    words = ["4", "2", "leave", "300000", "50000"]
    found = carry_out(tmp_path / "out", program, "mpinp/bip", *words, sets=[])
    [(after, rest)] = re.findall(r"told (-?\d+) us after .* had (\d+) us left", found)
    assert int(after) < int(rest)


def test_entries_that_are_lacking_are_asked_for_once(compile_c: Compiler, tmp_path: Path) -> None:
    """Of three times as many stretches that come in slots the kernel hears when fewer entries are
    asked for. Before, what had found too few looked as if entries had come back."""
    program = compile_c("late", (PLACE / "late.c").read_text())
    executed = {}
    for last in ("20000", "60000"):
        run = ["run", "-q", "--profile", "--out", last, "-np", "3", "-m", "mpinp/bip"]
        run += ["--set", "mpinp.shared.pages=32", "--set", "mpinp.shared.entry_pages=1"]
        run += ["--set", "mpinp.shared.host=16 KiB"]
        done = command(*run, "--", str(program), "58000", last, directory=tmp_path)
        assert "late: PASSED" in done.stdout, done.stderr
        functions = json.loads((tmp_path / last / "profile.json").read_text())["functions"]
        [calls] = [each for each in functions if each["name"] == "chq_platform_control"]
        executed[last] = calls["instructions"]
    assert executed["60000"] < 2 * executed["20000"]


# Ranks, and the ring on the host: credit of one, and of two. The list of tags has a slot, too.
LITTLE = {1: ("4", "16 KiB"), 2: ("2", "12 KiB")}
LITTLE_BESIDE_TAGS = {1: ("4", "20 KiB"), 2: ("2", "12 KiB")}
BESIDE = {"send": "5000", "grant": "200000"}


@pytest.mark.parametrize(("machine", "credit", "what"), in_turn(MACHINES, LITTLE, BESIDE))
def test_short_messages_leave_credit_to_a_long_one(
    compile_c: Compiler, tmp_path: Path, machine: str, credit: int, what: str
) -> None:
    """Before, they had all of it, without end: the device asked for it before it came."""
    program = compile_c("turns", (PLACE / "turns.c").read_text())
    ranks, host = (LITTLE_BESIDE_TAGS if machine.endswith("tags") else LITTLE)[credit]
    sets = [f"mpinp.shared.host={host}", "mpinp.shared.pages=32", "mpinp.shared.entry_pages=1"]
    words = [ranks, "1", what, BESIDE[what]]
    assert "turns: PASSED" in carry_out(tmp_path / "out", program, machine, *words, sets=sets)


# A window of four slots, credit of one, 32 entries of a page each, the shortest fragments.
SCARCE = ["mpinp.shared.window=8 KiB", "mpinp.shared.host=24 KiB", "mpinp.shared.pages=64"]
SCARCE += ["mpinp.shared.entry_pages=1", "mpinp.control.fragment=512 B"]


@pytest.mark.parametrize("seed", range(1, 9) if SWEEP else [1])
def test_random_schedules_end(compile_c: Compiler, tmp_path: Path, seed: int) -> None:
    program = compile_c("random", (PLACE / "random.c").read_text())
    words = ["6", "2", str(seed), "6", "60000"]
    found = carry_out(tmp_path / "out", program, "mpinp/bip", *words, sets=SCARCE)
    assert f"random: seed {seed}: PASSED" in found


def test_who_waited_first_has_the_turn(compile_c: Compiler, tmp_path: Path) -> None:
    """Before, the device kept its turn at a process when it no longer waited there: it and the
    library waited for each other for ever, one with the process's turn, one with the window's."""
    program = compile_c("turn", (PLACE / "turn.c").read_text(), f"-I{ROOT}")
    done = command("run", "-q", "--out", "out", "--", str(program), directory=tmp_path)
    assert "turn: PASSED" in done.stdout, done.stdout + done.stderr


# Ranks, ranks of a node, bytes, settings, and when they waited for each other for ever [ms]. With
# 32 entries a process has one receive of so many pages at a time: fewer ranks lack something.
MANY = {
    "entries": ("20", 2, "30000", "mpinp.shared.pages=64", 33),
    "names": ("48", 4, "1000", "mpinp.shared.pages=4096", 0),
}


@pytest.mark.long
@pytest.mark.parametrize("lacking", MANY)
def test_no_two_wait_for_names_or_entries_of_each_other(
    compile_c: Compiler, tmp_path: Path, lacking: str
) -> None:
    """Before, sends whose receives had none had all names of a process, and those that came last
    were served first. A sweep goes on to the end, which takes the host minutes."""
    program = compile_c("long", (PLACE / "long.c").read_text())
    ranks, per_node, bytes_, pages, at_ms = MANY[lacking]
    run = ["run", "-q", "--out", "out", "-np", ranks, *shared(per_node), "-m", "mpinp/bip"]
    run += ["--set", pages, "--set", "mpinp.shared.host=256 KiB"]
    run += ["--set", "mpinp.shared.entry_pages=1"]
    run += [] if SWEEP else ["--limit-time", f"{at_ms} ms"]
    done = command(*run, "--", str(program), "ring", bytes_, directory=tmp_path)
    assert "deadlock" not in done.stderr
    assert ("long: PASSED" in done.stdout) if SWEEP else ("by --limit-time" in done.stderr)


def test_processes_that_share_a_hart_have_their_own_pages(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("long", (PLACE / "long.c").read_text())
    run = ["run", "-q", "--out", "out", "-np", "4", "--ranks-per-node", "4"]
    words = ["--machine", "mpinp/bip", "--", str(program), "many", "5", "5000"]
    done = command(*run, *words, directory=tmp_path)
    assert "long: PASSED" in done.stdout, done.stderr


def test_the_host_stores_no_data_of_long_messages(compile_c: Compiler, tmp_path: Path) -> None:
    """It stores some hundred bytes for each, where it stored all of them."""
    program = compile_c("long", (PLACE / "long.c").read_text())
    stored = {}
    for dma in ("true", "false"):
        words = ["2", "1", "many", "2", "60000"]
        sets = [f"mpinp.control.dma={dma}"]
        carry_out(tmp_path / dma, program, "mpinp/bip", *words, sets=sets)
        statistics = json.loads((tmp_path / dma / "stats.json").read_text())
        stored[dma] = 4 * statistics["node00000"]["ni"]["io_bus"]["bridge"]["words"]["value"]
    assert stored["false"] - stored["true"] > 2 * 60000
    assert stored["true"] < 4000


@pytest.mark.parametrize(
    ("where", "bytes_"),
    [*in_turn(["constant", "code"], ["5000", "60000"]), ("middle", "60000"), ("gone", "60000")],
)
def test_what_is_not_to_be_written_is_not(
    compile_c: Compiler, tmp_path: Path, where: str, bytes_: str
) -> None:
    """The process has a fault, as if it had written itself."""
    program = compile_c("unwritable", (PLACE / "unwritable.c").read_text())
    run = ["run", "--out", "out", "-np", "2", "--machine", "mpinp/bip"]
    done = command(*run, "--", str(program), where, bytes_, directory=tmp_path)
    assert done.returncode in (128 + 7, 128 + 11), done.stdout + done.stderr
    assert "fault: rank 1 " in done.stderr
    assert "received" not in done.stdout


@pytest.mark.turn(0)
def test_results_do_not_depend_on_how_it_is_simulated(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("long", (PLACE / "long.c").read_text())
    common = ["-np", "4", "--machine", "mpinp/bip", *shared(2)]
    common += ["--set", "mpinp.shared.pages=256", "--set", "mpinp.shared.entry_pages=1"]
    check_same(tmp_path, common, [program, "many", "2", "9000"])


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ("mpinp.control.fragment=768 B", "mpinp.control.fragment = 768 B: powers of two"),
        ("mpinp.shared.pages=127", "each has 31 entries of the page table; from 32 to"),
    ],
)
def test_what_does_not_fit_is_refused(examples: Path, tmp_path: Path, sets: str, said: str) -> None:
    words = ["run", "-np", "2", "--machine", "mpinp/bip", "--set", sets]
    done = command(*words, "--", str(examples / "ring"), directory=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
