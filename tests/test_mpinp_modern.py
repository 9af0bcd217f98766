"""mpinp's card in a node of today, in its columns: every example and random schedules of messages;
the card's list of tags.

Use this when the link to the host (crates/ni, io_bus/pcie), the list of tags (mpinp's tags/,
firmware/tags, board/tags.rs) or mpinp-modern's values change.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import EXAMPLES, SHORTER, SWEEP, command
from test_determinism import check_same

pytestmark = pytest.mark.core

COLUMNS = ("host", "dpu", "tags")
SHARED = ["--ranks-per-node", "2", "--set", "node.harts=2"]
SCHEDULE = (ROOT / "tests" / "mpinp" / "schedule.c").read_text()
SEEDS = range(1, 41) if SWEEP else (1, 2)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_on_shared_nodes(chasqui: Run, examples: Path, column: str, name: str) -> None:
    """One rank a node is in test_machines.py."""
    ranks, arguments = EXAMPLES[name]
    words = ["run", "-np", str(max(ranks, 4)), "-m", f"mpinp-modern/{column}", *SHARED]
    if not SWEEP:
        arguments = SHORTER.get(name, arguments)
    done = chasqui(*words, "--", examples / name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{name}: PASSED\n")


# What a link may be, far from what it is: packets of a line, one read at a time, no room.
LINKS: dict[str, list[str]] = {
    "as assumed": [],
    "narrow": [
        "mpinp.pcie.lanes=1", "mpinp.pcie.payload=128 B", "mpinp.pcie.completion=64 B",
        "mpinp.pcie.reads=1", "mpinp.pcie.posted=8 B", "mpinp.pcie.credit=4 KiB",
        "mpinp.pcie.host_credit=4 KiB", "mpinp.pcie.latency=3 us", "mpinp.pcie.ahead=1",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("column", "link"), list(itertools.product(COLUMNS, LINKS)))
def test_schedules(compile_c: Compiler, tmp_path: Path, column: str, link: str) -> None:
    program = compile_c("schedule", SCHEDULE)
    sets = [word for each in LINKS[link] for word in ("--set", each)]
    for seed in SEEDS:
        words = ["-np", "4", "-m", f"mpinp-modern/{column}", *SHARED, *sets, "--", str(program)]
        done = command("run", "-q", "--out", f"{seed}", *words, f"{seed}", "40", directory=tmp_path)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"


# Loops that are not skipped take the host longest; what the other columns have others have, too.
@pytest.mark.parametrize("column", COLUMNS if SWEEP else ["tags"])
@pytest.mark.turn(2)
def test_results_do_not_depend_on_how_it_is_simulated(
    compile_c: Compiler, tmp_path: Path, column: str
) -> None:
    program = compile_c("schedule", SCHEDULE)
    options = ["-np", "4", "-m", f"mpinp-modern/{column}", *SHARED]
    check_same(tmp_path, options, [program, "21", "20", "20000"])


MIXED = (ROOT / "tests" / "mpinp" / "mixed.c").read_text()
# Lists of two entries, slow ones, and long ways: what is appended crosses what has come.
LISTS = ["", "mpinp.tags.entries=2", "mpinp.pcie.latency=2 us", "mpinp.tags.lookup=3 us"]


def counted(directory: Path, name: str) -> int:
    """A counter of the lists of tags, of all nodes."""
    stats = json.loads((directory / "stats.json").read_text())
    nodes = [stats[key] for key in stats if key.startswith("node")]
    return sum(int(node["ni"]["tags"][name]["value"]) for node in nodes)


def test_each_message_meets_its_receive(compile_c: Compiler, tmp_path: Path) -> None:
    """With and without wildcards, in any order: what the list matches, what the library does, and
    what has crossed. All of that happens here."""
    program = compile_c("mixed", MIXED)
    names = ("appended", "refused", "removed", "matched", "unexpected")
    seen = dict.fromkeys(names, 0)
    for seed, setting in itertools.product(SEEDS, LISTS):
        out, sets = f"{seed}-{LISTS.index(setting)}", ["--set", setting] if setting else []
        words = ["-np", "2", "-m", "mpinp-modern/tags", *sets, "--", str(program)]
        done = command("run", "-q", "--out", out, *words, f"{seed}", "60", directory=tmp_path)
        assert done.returncode == 0, f"seed {seed}, {setting}: {done.stdout}{done.stderr}"
        for name in names:
            seen[name] += counted(tmp_path / out, name)
    assert all(seen.values()), seen


@pytest.mark.parametrize("column", ["host", "dpu"])
def test_each_message_meets_its_receive_without_a_list(
    compile_c: Compiler, tmp_path: Path, column: str
) -> None:
    program = compile_c("mixed", MIXED)
    for seed in SEEDS:
        words = ["-np", "2", "-m", f"mpinp-modern/{column}", "--", str(program), f"{seed}", "60"]
        done = command("run", "-q", "--out", f"{seed}", *words, directory=tmp_path)
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"


REQUEST = "a request names what is not its process's, or more than that may have"
BUFFER = "a receive's buffer is not to be written"
# What rank 1 does, and what is said of it.
WRONG = {
    "entry": REQUEST,
    "kind": REQUEST,
    "count": REQUEST,
    "buffer": BUFFER,
    "readable": BUFFER,
}


@pytest.mark.parametrize("what", WRONG)
def test_who_does_wrong_is_stopped(compile_c: Compiler, tmp_path: Path, what: str) -> None:
    program = compile_c("tagged", (ROOT / "tests" / "mpinp" / "tagged.c").read_text(), f"-I{ROOT}")
    words = ["-np", "4", "-m", "mpinp-modern/tags", *SHARED, "--", str(program), what]
    done = command("run", "-q", "--out", "run", *words, directory=tmp_path)
    assert done.returncode in (128 + 7, 128 + 11), done.stderr
    assert "fault: rank 1 at" in done.stderr
    assert WRONG[what] in done.stderr


# A setting, and what is said of it.
REFUSED = {
    "mpinp.pcie.payload=300 B": "mpinp.pcie.payload = 300 B: powers of two are allowed",
    "mpinp.pcie.reads=0": "mpinp.pcie.reads",
    "mpinp.io.way=isa": "mpinp.io.way",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_does_not_fit_is_refused(chasqui: Run, examples: Path, setting: str) -> None:
    words = ["run", "-np", "2", "-m", "mpinp-modern", "--set", setting]
    done = chasqui(*words, "--", str(examples / "ring"))
    assert (done.returncode, done.stdout) == (2, "")
    assert REFUSED[setting] in done.stderr
