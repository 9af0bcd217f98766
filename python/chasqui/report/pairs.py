"""Who sends to whom, and who waits for whom: matrices of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chasqui import shares
from chasqui.messages import ABSENT
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, note, table, tag
from chasqui.text import number, simulated_time

PS_PER_US = 10**6
SIDE_MAX = 128  # of a matrix; with more ranks some come together
PAIRS_SHOWN = 100


@dataclass
class Pair:
    """What one rank sent to another, and how long it waited for it."""

    messages: int = 0
    bytes: int = 0
    wait_ps: int = 0


def add(page: Page, run: Run) -> None:
    pairs = _pairs_of(run)
    if not pairs:
        page.section("pairs", "Rank by rank", note("No rank sent to another or waited for one."))
        return
    step = -(-run.ranks // SIDE_MAX)
    charts = tag(
        "div",
        _matrix(
            page, "bytes", _blocks(run, step, {each: pair.bytes for each, pair in pairs.items()}),
            step, "bytes sent", "from rank", "to rank",
        ),
        _matrix(
            page, "waits",
            _blocks(run, step, {each: pair.wait_ps for each, pair in pairs.items()}, PS_PER_US),
            step, "waiting [us]", "rank", "waits for rank",
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
        folded(f"Figures: the {PAIRS_SHOWN} pairs with the most", _table(pairs)),
    )


def _pairs_of(run: Run) -> dict[tuple[int, int], Pair]:
    """Those of which the first sent to the second, or waited for it. They are few of all that
    there could be, of many ranks."""
    import numpy

    found: dict[tuple[int, int], Pair] = {}
    columns = run.messages.columns
    source, destination = columns["source"], columns["destination"]
    there = (destination >= 0) & (destination < run.ranks) & (source < run.ranks)
    there &= columns["bytes"] != ABSENT
    keys, where, counts = numpy.unique(
        source[there] * run.ranks + destination[there], return_inverse=True, return_counts=True
    )
    sizes = numpy.zeros(len(keys), numpy.int64)
    numpy.add.at(sizes, where, columns["bytes"][there])
    for key, count, size in zip(keys.tolist(), counts.tolist(), sizes.tolist(), strict=True):
        found[divmod(key, run.ranks)] = Pair(count, size)
    for rank in run.summary["ranks"]:
        for wait in rank["waits"]:
            time_ps = sum(wait[part] for part in shares.WAITS)
            if time_ps and wait["peer"] < run.ranks:
                found.setdefault((rank["rank"], wait["peer"]), Pair()).wait_ps += time_ps
    return found


def _blocks(
    run: Run, step: int, values: Mapping[tuple[int, int], int], unit: int = 1
) -> list[list[int]]:
    """Sums over so many rows and columns as one: no matrix is larger than it is shown."""
    side = -(-run.ranks // step)
    found = [[0] * side for _ in range(side)]
    for (first, second), value in values.items():
        found[first // step][second // step] += value
    return [[each // unit for each in line] for line in found]


def _matrix(
    page: Page, name: str, matrix: list[list[int]], step: int, what: str, row: str, column: str
) -> Raw:
    if not any(map(any, matrix)):
        return note(f"No {what.partition(' [')[0]}.")
    ranks = list(range(0, len(matrix) * step, step))
    trace = {
        "type": "heatmap", "x": ranks, "y": ranks, "colorscale": "theme", "zmin": 0,
        "zmax": max(map(max, matrix)),
        "z": [[each or None for each in line] for line in matrix],
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


def _table(pairs: Mapping[tuple[int, int], Pair]) -> Raw:
    """Those that sent, or waited for one another, the most first."""

    def order(item: tuple[tuple[int, int], Pair]) -> tuple[int, int, tuple[int, int]]:
        return -item[1].bytes, -item[1].wait_ps, item[0]

    nothing = Pair()
    rows = [
        [
            f"{source} to {destination}",
            number(pair.messages),
            number(pair.bytes),
            simulated_time(pair.wait_ps),
            simulated_time(pairs.get((destination, source), nothing).wait_ps),
        ]
        for (source, destination), pair in sorted(pairs.items(), key=order)[:PAIRS_SHOWN]
    ]
    header = ["ranks", "messages", "bytes", "the first waited for the second",
              "the second waited for the first"]  # fmt: skip
    return table(header, rows, sortable=True)
