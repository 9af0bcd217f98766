"""flash: nodes that share one coherent memory. What a miss takes, against the formula; locks; where
pages are; limits; MPI by memory that ranks share.

The programs are in `tests/flash`. Use this when the machine, `crates/directory` or the placing of
pages (`crates/linux/src/space/banks.rs`) change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import command
from test_determinism import check

pytestmark = pytest.mark.core

SOURCES = ROOT / "tests" / "flash"

# As the machine's file has it, in cycles.
QUEUE, LOOKUP, CONSTRUCT, CACHED, MEMORY, HOP = 8, 15, 10, 5, 25, 5
HEADER, BYTES_A_CYCLE = 32, 4
LOAD = 1

Compiled = Callable[..., Path]


@pytest.fixture(scope="session")
def program(compile_c: Compiler) -> Compiled:
    """A program of `tests/flash`, compiled."""

    def compiled(name: str) -> Path:
        return compile_c(f"flash-{name}", (SOURCES / f"{name}.c").read_text(), "-O2", "-pthread")

    return compiled


def hops(a: int, b: int, columns: int) -> int:
    return abs(a // columns - b // columns) + abs(a % columns - b % columns)


def way(a: int, b: int, columns: int, data: int) -> float:
    """From controller to controller."""
    if a == b:
        return 0
    wire = (HEADER + data) / BYTES_A_CYCLE
    return QUEUE + HOP * hops(a, b, columns) + wire + QUEUE


def clean(node: int, home: int, columns: int, line: int) -> float:
    construct = 0 if node == home else CONSTRUCT
    there = QUEUE + construct + way(node, home, columns, 0)
    return there + max(LOOKUP, MEMORY) + way(home, node, columns, line) + QUEUE


def dirty(node: int, home: int, owner: int, columns: int, line: int) -> float:
    made = (0 if node == home else CONSTRUCT) + (0 if home == owner else CONSTRUCT)
    there = QUEUE + way(node, home, columns, 0) + LOOKUP + way(home, owner, columns, 0)
    return made + there + CACHED + way(owner, node, columns, line) + QUEUE


def measured(text: str) -> dict[int, float]:
    return {int(node): float(cycles) for node, cycles in re.findall(r"node (\d+) (\S+)", text)}


def run(chasqui: Run, nodes: int, path: Path, *words: str, sets: tuple[str, ...] = ()) -> str:
    options = [word for each in (f"flash.nodes={nodes}", *sets) for word in ("--set", each)]
    done = chasqui("run", "-np", "1", "--machine", "flash", *options, "--", path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("line", [32, 64, 128])
def test_a_clean_miss_takes_what_the_formula_says(
    chasqui: Run, program: Compiled, line: int
) -> None:
    sets = (f"node.l1d.line={line} B",)
    found = measured(run(chasqui, 16, program("misses"), "clean", "16", sets=sets))
    for home in range(16):
        expected = clean(0, home, 4, line) + LOAD
        print(f"lines of {line} B, home {home}: {found[home]} cycles, {expected} by the formula")
        assert found[home] == pytest.approx(expected, abs=0.01)
    if line == 64:
        assert (found[0] - LOAD, found[1] - LOAD) == (41, 125), "about 40 and 120 in the document"


def test_a_line_that_another_has_modified_takes_what_the_formula_says(
    chasqui: Run, program: Compiled
) -> None:
    for owner in (1, 3):
        found = measured(run(chasqui, 4, program("misses"), "dirty", "4", str(owner)))
        for home in range(4):
            expected = dirty(0, home, owner, 2, 64) + LOAD
            print(f"home {home}, owner {owner}: {found[home]} cycles, {expected} by the formula")
            assert found[home] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("threads", [2, 3, 4, 8])
@pytest.mark.parametrize("kind", ["tas", "ticket", "cas", "lrsc"])
def test_locks_end_and_leave_nobody_out(
    chasqui: Run, program: Compiled, kind: str, threads: int
) -> None:
    sets = ("flash.controller.buffer=1",) if threads == 3 else ()
    said = run(chasqui, threads, program("locks"), kind, str(threads), "400", sets=sets)
    print(said)
    total, least, most = map(int, said.split()[2:])
    assert total == 400
    if kind == "ticket":
        assert most - least <= threads, "tickets are served in their order"
    assert least > 0


# How a run may be carried out, which changes none of its files.
WAYS = {
    "loops executed": ["--set", "check.spin_skip=false"],
    "by the reference": ["--set", "check.executor=reference"],
    "checker on": ["--set", "check.coherence=true"],
    "two host threads": ["--threads", "2"],
}


def test_threads_over_nodes_have_the_same_bits(tmp_path: Path, program: Compiled) -> None:
    # Two processes of six threads each.
    sets = ["--machine", "flash", "--set", "flash.nodes=12"]
    check(tmp_path, ["-np", "2", *sets, "--", str(program("barriers")), "6", "5"], WAYS, 0)


@pytest.mark.parametrize("placing", ["first-touch", "round-robin"])
def test_pages_are_placed(chasqui: Run, program: Compiled, placing: str) -> None:
    said = run(chasqui, 4, program("places"), sets=(f"flash.placing={placing}",))
    found = {name: [int(node) for node in nodes.split()] for name, nodes in
             re.findall(r"^(\w+):((?: \d+)+)$", said, re.MULTILINE)}  # fmt: skip
    print(said)
    if placing == "first-touch":
        assert found["touched"] == [0, 1, 2, 3, 0, 1, 2, 3]
    else:
        turn = found["touched"][0]
        assert found["touched"] == [(turn + page) % 4 for page in range(8)]
    assert found["bound"] == [3] * 8
    assert sorted(found["interleaved"]) == [0, 0, 0, 0, 2, 2, 2, 2]
    assert found["set"] == [1] * 8


def test_statistics_are_each_nodes(tmp_path: Path, program: Compiled) -> None:
    out = tmp_path / "run"
    words = ["run", "-q", "--out", str(out), "-np", "1", "--machine", "flash"]
    words += ["--set", "flash.nodes=4", "--", str(program("misses")), "clean", "4"]
    done = command(*words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    statistics = json.loads((out / "stats.json").read_text())
    text = json.dumps(statistics)
    for counter in ("reads_remote", "requests", "memory_reads", "controller_busy_ps"):
        assert counter in text
    assert all(f"node0000{node}" in text for node in range(4))


REFUSED = {
    "flash.nodes=65": "flash.nodes",
    "flash.nodes=0": "flash.nodes",
    "flash.mesh.columns=5": "5 columns make no mesh of 16 nodes; 0 or a divisor is allowed "
    "(1, 2, 4, 8, 16)",
    "node.harts=4": "flash.nodes, which is 16, says how many processors there are",
    "node.dram.size=8 GiB": "16 nodes (flash.nodes) have 64 GiB together at most: up to 4 GiB each",
    "node.l2.present=true": "one level of cache",
    "node.software.kernel=true": "node.software.kernel",
    "mpi.local.channel=ni": "mpi.local.channel",
    "flash.placing=somewhere": "first-touch",
    "flash.engine=handlers": "flash.engine",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_does_not_fit_is_refused(
    chasqui: Run, program: Compiled, setting: str, tmp_path: Path
) -> None:
    words = ["run", "--out", str(tmp_path / "run"), "-np", "1", "--machine", "flash"]
    done = chasqui(*words, "--set", setting, "--", program("misses"), "clean", "1")
    assert done.returncode == 2
    assert REFUSED[setting] in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


def test_more_ranks_than_processors_are_refused(chasqui: Run, program: Compiled) -> None:
    words = ["run", "-np", "5", "--machine", "flash", "--set", "flash.nodes=4", "--"]
    done = chasqui(*words, program("misses"), "clean", "1")
    assert done.returncode == 2
    print(done.stderr)
    assert "4" in done.stderr


def test_more_threads_than_processors_are_refused(chasqui: Run, program: Compiled) -> None:
    words = ["run", "-np", "1", "--machine", "flash", "--set", "flash.nodes=4", "--"]
    done = chasqui(*words, program("barriers"), "5", "1")
    assert done.returncode == 1
    assert "no hart is left for a thread: it has 4 (flash.nodes, shared out" in done.stderr


def test_a_fast_forward_is_refused(chasqui: Run, program: Compiled) -> None:
    words = ["run", "--fast-forward", "-np", "1", "--machine", "flash", "--"]
    done = chasqui(*words, program("misses"), "clean", "1")
    assert done.returncode == 2
    assert "--fast-forward: processors of flash wait for each other" in done.stderr
