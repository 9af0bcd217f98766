"""What neighbours cost: the rows of the table in machines/voyager/README.md.

Use this when hold.c, the NES's turns, or the network change. A sweep has all rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP
from test_isolation import HOMES, NEIGHBOUR, time_beside
from test_jobs import TRAFFIC

pytestmark = pytest.mark.core

MACHINES = ("voyager", "voyager-modern")
HEAD = "| what its ranks do | ranks | a node | jobs | queues | `voyager` | `voyager-modern` |"
# How programs lie in memory moves times of 8 bytes by some 5 %.
MARGIN = 0.07


class Row(NamedTuple):
    how: str
    ranks: int
    per_node: int
    jobs: int
    queues: str
    said: dict[str, float]


def rows() -> list[Row]:
    """All of the table."""
    lines = (ROOT / "machines" / "voyager" / "README.md").read_text().splitlines()
    found = []
    for line in lines[lines.index(HEAD) + 2 :]:
        if not line.startswith("|"):
            break
        how, ranks, per_node, jobs, queues, *said = line.strip("| ").split(" | ")
        figures = dict(zip(MACHINES, map(float, said), strict=True))
        found.append(Row(how.strip("`"), int(ranks), int(per_node), int(jobs), queues, figures))
    return found


ROWS = rows()
CASES = [(machine, row) for row in ROWS for machine in MACHINES]
# On a node of its own each; four on a node.
QUICK = [("voyager-modern", "flood", 4, 1), ("voyager", "short", 8, 4)]


def is_quick(machine: str, row: Row) -> bool:
    return (machine, *row[:3]) in QUICK and row.jobs == 1 and row.queues == "resident"


def name_of(value: str | Row) -> str:
    return value if isinstance(value, str) else "-".join(map(str, value[:-1]))


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
    place = "-".join(map(str, (machine, *row[1:-1])))
    reference, time = (
        time_beside(
            programs,
            folder / f"{place}-{how}",
            options,
            how,
            10**6,
            ranks=row.ranks,
            jobs=row.jobs,
        )
        for how in ("compute", row.how)
    )
    print(f"{machine} beside {row}: {time / reference:.2f}")
    assert abs(time / reference / row.said[machine] - 1) <= MARGIN


def test_one_job_of_up_to_16_sites_costs_at_most_half_the_time_again() -> None:
    """As the text above the table says."""
    one = [row for row in ROWS if row.jobs == 1 and row.queues == "resident"]
    least = [row for row in one if row.ranks <= 16 * row.per_node]
    assert len(least) > 10
    assert max(max(row.said.values()) for row in least) <= 1.5
