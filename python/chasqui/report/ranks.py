"""Where each rank's time went, and in which MPI calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

from chasqui import shares
from chasqui.report import palette
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, join, note, table
from chasqui.text import number, simulated_time

ROW = 22  # pixels
HEIGHT_MAX = 900
PS_PER_US = 10**6


def add(page: Page, run: Run) -> None:
    ranks = run.summary["ranks"]
    height = min(HEIGHT_MAX, 170 + ROW * len(ranks))
    page.section(
        "ranks",
        "Time by rank",
        note(
            "Each rank's time from its start to its end, in parts that add up to it. Click on a "
            "name of the legend to hide that part."
        ),
        page.chart("ranks", _bars(run), _layout(height), "Stacked bars: the parts of each rank's "
                   "time; the same figures are in the table"),
        folded("Figures", _shares(run)),
        folded("MPI calls, of all ranks", _calls(run)),
    )  # fmt: skip


def _bars(run: Run) -> list[dict[str, Any]]:
    ranks = run.summary["ranks"]
    names = [rank["rank"] for rank in ranks]
    return [
        {
            "type": "bar",
            "orientation": "h",
            "name": shares.name_of(key),
            "y": names,
            "x": [round(rank["shares"].get(key, 0) / PS_PER_US, 3) for rank in ranks],
            "marker": {"color": palette.SHARES.get(key, palette.GREY), "line": {"width": 0}},
            "hovertemplate": f"rank %{{y}}, {shares.name_of(key)}: %{{x:,.4~g}} us<extra></extra>",
        }
        for key in _keys(run)
    ]


def _keys(run: Run) -> list[str]:
    """The parts that any rank has."""
    found: Counter[str] = Counter()
    for rank in run.summary["ranks"]:
        found.update(rank["shares"])
    return [key for key in found if found[key] > 0]


def _layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "barmode": "stack",
        "bargap": 0.15,
        "xaxis": {"title": {"text": "time [us]"}},
        "yaxis": {"title": {"text": "rank"}, "autorange": "reversed", "tickformat": "d",
                  "dtick": 1 if height < HEIGHT_MAX else None},
        "legend": "below",
    }  # fmt: skip


def _shares(run: Run) -> Raw:
    keys = _keys(run)
    ranks = run.summary["ranks"]
    rows = [
        [rank["rank"], rank["node"], simulated_time(rank["time_ps"])]
        + [_percent(rank["shares"].get(key, 0), rank["time_ps"]) for key in keys]
        for rank in ranks
    ]
    header = ["rank", "node", "time", *(f"{shares.name_of(key)} [%]" for key in keys)]
    return table(header, rows, sortable=True)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole and part else "-"


def _calls(run: Run) -> Raw:
    """What all ranks together took and waited in each."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    for rank in run.summary["ranks"]:
        for call in rank["calls"]:
            counts[call["name"]] += call["count"]
            times[call["name"]] += call["time_ps"]
            waits[call["name"]] += call["waiting_ps"]
    rows = [
        [
            name,
            number(counts[name]),
            simulated_time(times[name]),
            simulated_time(waits[name]),
            _percent(waits[name], times[name]),
        ]
        for name, _ in times.most_common()
    ]
    header = ["call", "times", "time in it", "of it waiting", "waiting [%]"]
    return join([table(header, rows, sortable=True)])
