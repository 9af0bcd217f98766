"""What neighbours cost: the rows of the tables in machines/voyager/README.md.

Use this when hold.c, the NES's turns, or the network change. A sweep has all rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, command
from test_isolation import ENDING, HOMES, NEIGHBOUR, time_beside
from test_jobs import TRAFFIC

pytestmark = pytest.mark.core

MACHINES = ("voyager", "voyager-modern")
HEAD = "| what its ranks do | ranks | a node | jobs | queues | `voyager` | `voyager-modern` |"
SHORT_HEAD = "| its ranks | rounds | others do | ranks | a node | `voyager` | `voyager-modern` |"
BEYOND_HEAD = "| beyond: " + SHORT_HEAD.removeprefix("| ")
SERVED_HEAD = "| served: others do | ranks | `voyager` | `voyager-modern` |"
WORDS = (ROOT / "tests" / "jobs" / "words.c").read_text()
WORDS_US = 6000
# Rows are of these very programs: how they lie in memory moves most by some 5 %.
MARGIN = 0.07


class Row(NamedTuple):
    how: str
    ranks: int
    per_node: int
    jobs: int
    queues: str
    said: dict[str, float]
    # Of the job itself; rounds by machine: none, as usual.
    own_ranks: int = 2
    rounds: Mapping[str, int] = MappingProxyType({})


def table(head: str) -> Iterator[list[str]]:
    """The cells of each of its rows."""
    lines = (ROOT / "machines" / "voyager" / "README.md").read_text().splitlines()
    for line in lines[lines.index(head) + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip("`") for cell in line.strip("| ").split(" | ")]


def figures(said: list[str]) -> dict[str, float]:
    return dict(zip(MACHINES, map(float, said), strict=True))


def counts(said: str) -> dict[str, int]:
    return dict(zip(MACHINES, map(int, said.split(", ")), strict=True))


def short_jobs(head: str) -> list[Row]:
    return [
        Row(how, int(ranks), int(per_node), 1, "resident", figures(said), int(own), counts(rounds))
        for own, rounds, how, ranks, per_node, *said in table(head)
    ]


FOUR_OWN = [
    Row(how, int(ranks), 4, 1, "served", figures(said), own_ranks=4)
    for how, ranks, *said in table(SERVED_HEAD)
]
# Those of which something is promised.
ROWS = [
    Row(how, int(ranks), int(per_node), int(jobs), queues, figures(said))
    for how, ranks, per_node, jobs, queues, *said in table(HEAD)
] + short_jobs(SHORT_HEAD)
CASES = [
    (machine, row) for row in ROWS + short_jobs(BEYOND_HEAD) + FOUR_OWN for machine in MACHINES
]
# Of a node, with slots for their queues.
PROCESSES_RESIDENT = 4
# On a node of its own each, be they few or many; four on a node.
QUICK = [
    ("voyager-modern", "flood", 4, 1),
    ("voyager-modern", "flood", 24, 1),  # 1.54 without a share of the TxU
    ("voyager", "short", 8, 4),
    ("voyager", "flood", 16, 2),  # beside a single round; 1.5 if all are let go on at once
]
# 1.51 or more where the firmware looks at queues of a job that is held up after each event.
QUICK_SERVED = ("voyager", "full", 6, 4)


def is_quick(machine: str, row: Row) -> bool:
    if (row.jobs, row.own_ranks) != (1, 2):
        return False
    place = (machine, *row[:3])
    return place in QUICK if row.queues == "resident" else place == QUICK_SERVED


def name_of(value: str | Row) -> str:
    return value if isinstance(value, str) else "-".join(map(str, (*value[:5], value.own_ranks)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("neighbours")


@pytest.mark.parametrize(
    ("machine", "row"), [case for case in CASES if SWEEP or is_quick(*case)], ids=name_of
)
def test_a_neighbour_costs_what_is_said(
    compile_c: Compiler, folder: Path, machine: str, row: Row
) -> None:
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    harts = ["--set", f"node.harts={row.per_node * (1 + row.jobs)}"]
    placed = ["--ranks-per-node", str(row.per_node), *harts, *HOMES[row.queues]]
    options = ("--machine", machine, *placed)
    place = "-".join(map(str, (machine, *row[1:5], row.own_ranks, row.rounds.get(machine))))
    reference, time = (
        time_beside(
            programs,
            folder / f"{place}-{how}",
            options,
            how,
            0 if row.how in ENDING else 10**6,
            ranks=row.ranks,
            jobs=row.jobs,
            rounds=row.rounds.get(machine),
            own_ranks=row.own_ranks,
            until=20_000 if row in FOUR_OWN and machine == "voyager" else 0,
        )
        for how in (ENDING.get(row.how, "compute"), row.how)
    )
    if row.how not in ENDING:  # It is to be there all the time.
        out = folder / f"{place}-{row.how}"
        ends = [
            json.loads((out / job / "summary.json").read_text())["time_ps"]
            for job in ("job0", "job1")
        ]
        assert ends[0] < ends[1]
    print(f"{machine} beside {row}: {time / reference:.2f}")
    assert abs(time / reference / row.said[machine] - 1) <= MARGIN


def test_one_job_costs_at_most_half_the_time_again_as_far_as_is_said() -> None:
    text = (ROOT / "machines" / "voyager" / "README.md").read_text()
    said = re.search(r"Beside \*one\* other job on up to (\d+) nodes, of up to (\d+) ranks", text)
    assert said is not None
    nodes, ranks = map(int, said.groups())
    one = [row for row in ROWS if row.jobs == 1 and row.queues == "resident"]
    resident = [row for row in one if row.per_node * (1 + row.jobs) <= PROCESSES_RESIDENT]
    within = [row for row in resident if row.ranks <= min(ranks, nodes * row.per_node)]
    assert max(row.ranks for row in within) == ranks
    assert max(max(row.said.values()) for row in within) <= 1.5
    served = [row for row in ROWS if row.jobs == 1 and row.queues == "served"]
    sends = [row for row in served if row.how != "streams"]
    assert max(row.per_node for row in sends) == PROCESSES_RESIDENT
    assert max(max(row.said.values()) for row in sends) * (1 + MARGIN) <= 1.5


def test_four_own_ranks_cost_what_is_said_where_the_sp_serves_them() -> None:
    text = (ROOT / "machines" / "voyager" / "README.md").read_text()
    said = re.search(r"four a node, it is ([\d.]+) to ([\d.]+) where queues are served", text)
    assert said is not None
    found = [figure for row in FOUR_OWN for figure in row.said.values()]
    assert [min(found), max(found)] == [float(figure) for figure in said.groups()]


def words_and_gap(programs: tuple[Path, Path], out: Path, *options: str) -> tuple[float, float]:
    """Words that a job gets of 31 nodes, and the longest time between two of a node [us]."""
    words, neighbour = programs
    job = ["--job", f"-np 2 {neighbour} compute {WORDS_US + 500} {10**6}"]
    line = ["-np", 32, *options, "--set", "node.harts=2", *job, "--", words, WORDS_US]
    done = command("run", "-q", "--out", str(out), *map(str, line), directory=out.parent)
    assert (done.returncode, done.stderr) == (0, "")
    count, gap = map(float, done.stdout.split())
    return count, gap


@pytest.mark.parametrize("machine", MACHINES if SWEEP else MACHINES[:1])
def test_who_is_held_up_pays_what_is_said(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    programs = compile_c("words", WORDS), compile_c("neighbour", NEIGHBOUR)
    held, gap = words_and_gap(programs, tmp_path / "held", "-m", machine)
    free, free_gap = words_and_gap(
        programs, tmp_path / "free", "-m", machine, "--set", "voyager.sp.hold=0"
    )
    text = (ROOT / "machines" / "voyager" / "README.md").read_text()
    found = re.search(
        rf"`{machine}` ([\d.]+) times as many come.*?up to ([\d.]+) us apart \(without, ([\d.]+)\)",
        text,
    )
    assert found is not None
    print(f"{machine}: {held / free:.3f}, {gap:.0f} us, without {free_gap:.0f} us")
    for said, measured in zip(found.groups(), (held / free, gap, free_gap), strict=True):
        assert abs(measured / float(said) - 1) <= 0.1
