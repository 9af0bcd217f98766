"""mpinp's card in a node of today, in its columns: every example and random schedules of messages.

Use this when the link to the host (crates/ni, io_bus/pcie.rs) or mpinp-modern's values change.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import EXAMPLES, SHORTER, SWEEP, command
from test_determinism import differences

pytestmark = pytest.mark.core

COLUMNS = ("host", "dpu", "tags")
SHARED = ["--ranks-per-node", "2", "--set", "node.harts=2"]
SCHEDULE = (ROOT / "tests" / "mpinp" / "schedule.c").read_text()
SEEDS = range(1, 41) if SWEEP else (1, 2)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_on_shared_nodes(
    chasqui: Run, examples: Path, column: str, name: str
) -> None:
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


@pytest.mark.parametrize("column", COLUMNS)
def test_results_do_not_depend_on_how_it_is_simulated(
    compile_c: Compiler, tmp_path: Path, column: str
) -> None:
    program = compile_c("schedule", SCHEDULE)
    variations = {
        "one": ["--threads", "1"],
        "two": ["--threads", "2"],
        "windows": ["--set", "check.window=1 us"],
        "spinning": ["--set", "check.spin_skip=false"],
    }
    for name, options in variations.items():
        words = ["-np", "4", "-m", f"mpinp-modern/{column}", *SHARED, *options, "--", str(program)]
        done = command("run", "-q", "--out", name, *words, "21", "20", "20000", directory=tmp_path)
        assert done.returncode == 0, done.stderr
    for name, options in variations.items():
        found = differences(tmp_path / "one", tmp_path / name, [*options, "--threads"])
        assert found in ([], ["resolved.toml"]), name


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
