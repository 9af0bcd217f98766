"""Who sends to whom, and who waits for whom: matrices of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasqui import shares
from chasqui.messages import ABSENT
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, note, table, tag
from chasqui.text import number, simulated_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

PS_PER_US = 10**6
SIDE_MAX = 128  # of a matrix; with more ranks some come together
PAIRS_SHOWN = 100


def add(page: Page, run: Run) -> None:
    counts, sizes = _traffic(run)
    waits = _waits(run)
    if not counts.any() and not waits.any():
        page.section("pairs", "Rank by rank", note("No rank sent to another or waited for one."))
        return
    step = -(-run.ranks // SIDE_MAX)
    charts = tag(
        "div",
        _matrix(page, "bytes", _joined(sizes, step), step, "bytes sent", "from rank", "to rank"),
        _matrix(
            page, "waits", _joined(waits // PS_PER_US, step), step, "waiting [us]", "rank",
            "waits for rank",
        ),
        class_="pair",
    )  # fmt: skip
    page.section(
        "pairs",
        "Rank by rank",
        note(
            "Left: the data that each rank sent to each other, headers not counted. Right: the "
            "time for which it waited in MPI for each other, of the eight for which it waited "
            "longest."
        ),
        note(f"A field stands for {step} by {step} ranks.") if step > 1 else "",
        charts,
        folded(f"Figures: the {PAIRS_SHOWN} pairs with the most", _pairs(counts, sizes, waits)),
    )


def _traffic(run: Run) -> tuple[NDArray[Any], NDArray[Any]]:
    """Messages and their bytes, by source and destination."""
    import numpy

    counts = numpy.zeros((run.ranks, run.ranks), numpy.int64)
    sizes = counts.copy()
    columns = run.messages.columns
    source, destination = columns["source"], columns["destination"]
    there = (destination >= 0) & (destination < run.ranks) & (source < run.ranks)
    there &= columns["bytes"] != ABSENT
    where = (source[there], destination[there])
    numpy.add.at(counts, where, 1)
    numpy.add.at(sizes, where, columns["bytes"][there])
    return counts, sizes


def _waits(run: Run) -> NDArray[Any]:
    """Time for which a rank waited for another [ps]."""
    import numpy

    found = numpy.zeros((run.ranks, run.ranks), numpy.int64)
    for rank in run.summary["ranks"]:
        for wait in rank["waits"]:
            if rank["rank"] < run.ranks and wait["peer"] < run.ranks:
                found[rank["rank"], wait["peer"]] += sum(wait.get(part, 0) for part in shares.WAITS)
    return found


def _joined(matrix: NDArray[Any], step: int) -> NDArray[Any]:
    """So many rows, and columns, as one: their sum."""
    import numpy

    if step == 1:
        return matrix
    edges = range(0, len(matrix), step)
    return numpy.add.reduceat(numpy.add.reduceat(matrix, edges, axis=0), edges, axis=1)


def _matrix(
    page: Page, name: str, matrix: NDArray[Any], step: int, what: str, row: str, column: str
) -> Raw:
    if not matrix.any():
        return note(f"No {what.partition(' [')[0]}.")
    ranks = list(range(0, len(matrix) * step, step))
    trace = {
        "type": "heatmap", "x": ranks, "y": ranks, "colorscale": "theme", "zmin": 0,
        "zmax": int(matrix.max()),
        "z": [[int(each) or None for each in line] for line in matrix],
        "hovertemplate": f"{row} %{{y}}, {column} %{{x}}: %{{z:,}}<extra></extra>",
        "hoverongaps": False,
        "colorbar": {"thickness": 10, "len": 0.9, "outlinewidth": 0},
    }  # fmt: skip
    layout: dict[str, Any] = {
        "height": 380, "title": {"text": what},
        "xaxis": {"title": {"text": column}, "constrain": "domain", "showgrid": False,
                  "zeroline": False, "tickformat": "d"},
        "yaxis": {"title": {"text": row}, "autorange": "reversed", "scaleanchor": "x",
                  "constrain": "domain", "showgrid": False, "zeroline": False, "tickformat": "d"},
    }  # fmt: skip
    if len(ranks) <= 16:
        layout["xaxis"] |= {"dtick": step}
        layout["yaxis"] |= {"dtick": step}
    return page.chart(name, [trace], layout, f"Matrix of ranks: {what}")


def _pairs(counts: NDArray[Any], sizes: NDArray[Any], waits: NDArray[Any]) -> Raw:
    """Those that sent, or waited for one another, the most first."""
    import numpy

    pairs = [tuple(map(int, each)) for each in numpy.argwhere((counts > 0) | (waits > 0))]
    pairs.sort(key=lambda each: (-sizes[each], -waits[each], each))
    rows = [
        [
            f"{source} to {destination}",
            number(int(counts[source, destination])),
            number(int(sizes[source, destination])),
            simulated_time(int(waits[source, destination])),
            simulated_time(int(waits[destination, source])),
        ]
        for source, destination in pairs[:PAIRS_SHOWN]
    ]
    header = ["ranks", "messages", "bytes", "the first waited for the second",
              "the second waited for the first"]  # fmt: skip
    return table(header, rows, sortable=True)
