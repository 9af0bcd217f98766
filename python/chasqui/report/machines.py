"""Several runs side by side, as `chasqui compare` lays them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from chasqui import comparison, shares, simulation
from chasqui.report import data, lives, overview, palette, parameters, problems
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, join, note, table, tag
from chasqui.text import factor, number, simulated_time

PS_PER_US = 10**6
SHARE_SHOWN = 0.0005  # of the ranks' time


def add(page: Page, runs: Sequence[Run]) -> None:
    names = titles(runs)
    rows = [
        comparison.Row(name, simulation.Result(run.directory, run.summary), _reason(run))
        for name, run in zip(names, runs, strict=True)
    ]
    programs = dict.fromkeys(str(run.summary["program"]) for run in runs)
    # Runs of one `chasqui compare` have one.
    commands = dict.fromkeys(shlex.join(run.command) for run in runs)
    others = problems.differing(runs)
    page.header = join(
        [
            tag("p", "Chasqui: a comparison", class_="kind"),
            tag("h1", f"{', '.join(programs)} on {', '.join(names)}"),
            *(tag("p", tag("code", each), class_="command") for each in commands),
            *(overview.warnings(run) for run, row in zip(runs, rows, strict=True) if row.reason),
            tag("div", problems.warning(others), class_="warning", role="note") if others else "",
        ]
    )
    page.section(
        "machines",
        "Side by side",
        *_times(page, rows, [problems.are_alike(runs[0], run) for run in runs]),
    )
    page.section("shares", "Where the ranks' time went", *_shares(page, rows))
    page.section("stages", "Where the messages' lives went", *_stages(page, rows))
    page.section("spread", "End to end, by size", _boxes(page, names, runs))
    page.section(
        "differences",
        "In what they differ",
        problems.shown(names, others),
        parameters.differing(names, runs),
    )


def titles(runs: Sequence[Run]) -> list[str]:
    return data.titles([run.machine for run in runs], [run.directory for run in runs])


def _reason(run: Run) -> str | None:
    if run.summary["outcome"] != "finished":
        return simulation.ending(run.summary)
    status = run.summary["exit_status"]
    return f"exit status {status}" if status else None


def _times(page: Page, rows: Sequence[comparison.Row], comparable: Sequence[bool]) -> list[Raw]:
    """A speed-up only of what is `comparable` with the first of them."""
    entries = comparison.as_json(rows)

    def time(ps: int | None) -> str:
        return simulated_time(ps) if ps is not None else "-"

    cells = [
        [
            each["machine"],
            time(each["init_to_finalize_ps"]),
            factor(each["speed_up"]) if each["speed_up"] is not None and is_one else "-",
            f"{each['mpi_share']:.1%}" if each["mpi_share"] is not None else "-",
            time(each["time_ps"]),
            number(each["messages"]),
            number(each["latency_ns"], 4),
            (each["reason"] or "").partition("\n")[0],
        ]
        for each, is_one in zip(entries, comparable, strict=True)
    ]
    header = ["machine", "Init to Finalize", "speed-up", "in MPI", "whole run", "messages",
              "latency [ns]", "reason" if any(row.reason for row in rows) else ""]  # fmt: skip
    known = [
        (at, each) for at, each in enumerate(entries) if each["init_to_finalize_ps"] is not None
    ]
    trace = {
        "type": "bar", "orientation": "h", "y": [each["machine"] for _, each in known],
        "x": [each["init_to_finalize_ps"] / PS_PER_US for _, each in known],
        "marker": {"color": [_colour(at) for at, _ in known]},
        "hovertemplate": "%{y}: %{x:,.4~g} us<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 130 + 34 * len(known), "bargap": 0.3,
        "xaxis": {"title": {"text": "MPI_Init to MPI_Finalize [us]"}},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
    }  # fmt: skip
    found = [table(header, cells, left=(0, 7)), _mechanisms(rows)]
    return [page.chart("times", [trace], layout, "Bars: times"), *found] if known else found


def _colour(at: int) -> str:
    """Of the run of that number."""
    return palette.SEVERAL[at % len(palette.SEVERAL)]


def _shares(page: Page, rows: Sequence[comparison.Row]) -> list[Raw]:
    machines = [row.machine for row in rows]
    whole = [row.shares() for row in rows]
    names = dict.fromkeys(name for each in whole for name in each)
    shown = [n for n in names if max(e.get(n, 0.0) for e in whole) >= SHARE_SHOWN]
    if not shown:
        return [note("No rank took any time.")]
    traces = [
        {
            "type": "bar", "orientation": "h", "name": name, "y": machines,
            "x": [round(100 * each.get(name, 0.0), 2) for each in whole],
            "marker": {"color": palette.SHARES_BY_NAME.get(name, palette.GREY),
                       "line": {"width": 0}},
            "hovertemplate": f"%{{y}}: {name} %{{x:.1f}} %<extra></extra>",
        }
        for name in shown
    ]  # fmt: skip
    layout = {
        "height": 190 + 34 * len(whole), "barmode": "stack", "bargap": 0.25, "legend": "below",
        "xaxis": {"title": {"text": "share of the ranks' time [%]"}, "range": [0, 100]},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
    }  # fmt: skip
    chart = page.chart("shares", traces, layout, "Stacked bars: shares of the ranks' time")
    calls = [row.call_shares() for row in rows]
    cells = []
    for name in shown:
        cells.append([name, *(f"{each.get(name, 0.0):.1%}" for each in whole)])
        if name == shares.SOFTWARE:
            of_calls = dict.fromkeys(name for each in calls for name in each)
            cells += [
                [f"of it {call}", *(f"{each.get(call, 0.0):.1%}" for each in calls)]
                for call in of_calls
                if max(each.get(call, 0.0) for each in calls) >= SHARE_SHOWN
            ]
    return [chart, folded("Figures", table(["share", *machines], cells))]


def _stages(page: Page, rows: Sequence[comparison.Row]) -> list[Raw]:
    names = comparison.stage_names(rows)
    numbered = [(at, row) for at, row in enumerate(rows) if row.stages()]
    ran = [row for _, row in numbered]
    if not names or not ran:
        return [note("None of them had messages.")]
    traces = [
        {
            "type": "bar", "name": row.machine,
            "x": [name.replace("_", " ") for name in names],
            "y": [row.mean_ns(name) for name in names],
            "marker": {"color": _colour(at)},
            "hovertemplate": "%{x}: %{y:,.4~g} ns<extra>" + row.machine + "</extra>",
        }
        for at, row in numbered
    ]  # fmt: skip
    layout = {
        "height": 420, "barmode": "group", "legend": "below",
        "xaxis": {"tickangle": -40, "automargin": True, "type": "category"},
        "yaxis": {"title": {"text": "mean [ns]"}},
    }  # fmt: skip
    cells = [
        [name.replace("_", " "), formula, *(number(row.mean_ns(name), 4) for row in ran)]
        for name, formula in names.items()
    ]
    header = ["part", "from its stages", *(f"{row.machine} [ns]" for row in ran)]
    return [
        page.chart("stages", traces, layout, "Bars: mean times of messages' parts"),
        folded("Figures", table(header, cells, left=(0, 1))),
        *(note(each) for each in comparison.negative_stages(rows)),
    ]


def _mechanisms(rows: Sequence[comparison.Row]) -> Raw:
    if not any(len(row.mechanisms()) > 1 for row in rows):
        return Raw("")
    header = ["machine", "mechanism", "messages", "data [bytes]", "end to end [mean ns]"]
    cells = comparison.mechanism_cells(rows)
    return table(header, cells, left=(0, 1), caption="By mechanism")


def _boxes(page: Page, names: Sequence[str], runs: Sequence[Run]) -> Raw:
    """Quartiles of messages' lives by size, a box a machine."""
    import numpy

    traces = []
    sizes: set[int] = set()
    for number_, (name, run) in enumerate(zip(names, runs, strict=True)):
        values = lives.evaluate("done - call", run.messages.columns)
        by_size: dict[int, list[Any]] = {}
        for group in lives.groups(run.messages):
            by_size.setdefault(group.most, []).append(group.rows)
        boxes = []
        for most, parts in sorted(by_size.items()):
            rows = numpy.concatenate(parts)
            spread = lives.quartiles(values[rows]) if values is not None else []
            if spread:
                boxes.append((lives.Group(name, most, rows), spread))
        if boxes:
            sizes |= {group.most for group, _ in boxes}
            traces.append(lives.box(name, boxes, _colour(number_)))
    if not traces:
        return note("None of them had messages.")
    return page.chart(
        "spread",
        traces,
        lives.box_layout(sorted(sizes), "end to end", traces),
        "Boxes: quartiles by size",
    )
