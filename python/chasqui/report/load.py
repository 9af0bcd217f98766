"""How busy NIs, links and queues were, over the time of the run.

From the stages of all messages: between `ready` and `accept` a message waits before its sender's
NI, from `accept` to `inject` it occupies that NI, and so on. The mean number of messages in a place
during an interval is the time that messages spent there, divided by the interval: nothing is
sampled. Links are in no record; what the timeline keeps of their packets is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from chasqui.messages import ABSENT
from chasqui.report import palette
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, join, note, table
from chasqui.text import number, simulated_time
from chasqui.timeline import label

if TYPE_CHECKING:
    from numpy.typing import NDArray

PS_PER_US = 10**6
INTERVALS = 240
RANKS_SHOWN = 24  # each by itself
TRACKS_SHOWN = 64  # the busiest
NETWORK = "network"

# Where a message is: from which stage to which, and at whose rank that counts.
PLACES = {
    "in the sending call": ("send_software", "source"),
    "queued before the NI": ("ni_queueing", "source"),
    "in the sender's NI": ("ni_send", "source"),
    "in the network": ("network", "source"),
    "arriving": ("landing", "destination"),
    "landed, not matched": ("landed_unmatched", "destination"),
    "being copied": ("delivery", "destination"),
    "delivered, call not returned": ("completion", "destination"),
}


def add(page: Page, run: Run) -> None:
    parts: list[Raw] = []
    if len(run.messages):
        parts += [
            note(
                "The mean number of messages in each place during an interval, from the stages of "
                f"all messages: {INTERVALS} intervals of "
                f"{simulated_time(run.summary['time_ps'] / INTERVALS)}."
            ),
            _places(page, run),
            _peaks(run),
        ]
    else:
        parts.append(note("The run had no messages, so that queues and NIs were empty."))
    parts += _units(page, run)
    parts.append(folded("Counters of NIs and network", _counters(run.stats, of_ni=True)))
    parts.append(folded("Counters of processors and memory", _counters(run.stats, of_ni=False)))
    page.section("load", "Queues, links and NIs over time", *parts)


def occupancy(starts: NDArray[Any], ends: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Mean number of things that are there in each interval between `edges`, each from its start to
    its end. (What had been there up to a time is the sum over what has started, of the time since,
    less the same of what has ended.)"""
    import numpy

    def until(times: NDArray[Any]) -> NDArray[Any]:
        ordered = numpy.sort(times).astype(float)
        sums = numpy.concatenate([[0.0], numpy.cumsum(ordered)])
        count = numpy.searchsorted(ordered, edges, side="right")
        spent: NDArray[Any] = count * edges.astype(float) - sums[count]
        return spent

    spent = until(starts) - until(ends)
    means: NDArray[Any] = numpy.maximum(numpy.diff(spent) / numpy.diff(edges), 0.0)
    return means


def edges_of(run: Run) -> NDArray[Any]:
    import numpy

    return numpy.linspace(0, max(run.summary["time_ps"], INTERVALS), INTERVALS + 1)


def _interval(run: Run, part: str, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """When these messages came to a place and left it; those that did not do both are left out."""
    before, after, _ = palette.PARTS[part]
    starts, ends = run.messages.milestones[before][rows], run.messages.milestones[after][rows]
    there = (starts != ABSENT) & (ends != ABSENT) & (ends > starts)
    return starts[there], ends[there]


def _places(page: Page, run: Run) -> Raw:
    import numpy

    edges = edges_of(run)
    middles = [round(float(each), 2) for each in (edges[1:] + edges[:-1]) / 2 / PS_PER_US]
    every = numpy.arange(len(run.messages))
    figures: dict[str, Any] = {"all ranks": (_areas(run, {}, edges, middles, every), _layout())}
    for rank in range(run.ranks if run.ranks <= RANKS_SHOWN else 0):
        of = {side: run.messages.columns[side] == rank for side in ("source", "destination")}
        figures[f"rank {rank}"] = (_areas(run, of, edges, middles, every), _layout())
    return page.choice("places", "Messages of", figures, "Areas: messages by place, over time")


def _areas(
    run: Run,
    of: Mapping[str, NDArray[Any]],
    edges: NDArray[Any],
    middles: list[float],
    every: NDArray[Any],
) -> list[dict[str, Any]]:
    traces = []
    for place, (part, side) in PLACES.items():
        rows = every[of[side]] if of else every
        counts = occupancy(*_interval(run, part, rows), edges)
        if counts.any():
            traces.append(
                {
                    "type": "scatter", "mode": "lines", "stackgroup": "all", "name": place,
                    "x": middles, "y": [_short(each) for each in counts],
                    "line": {"width": 0, "shape": "hvh"}, "fillcolor": palette.PARTS[part][2],
                    "hovertemplate": "%{y:.3~g} " + place + "<extra></extra>",
                }
            )  # fmt: skip
    return traces


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _layout() -> dict[str, Any]:
    return {
        "height": 380,
        "xaxis": {"title": {"text": "time [us]"}},
        "yaxis": {"title": {"text": "messages (mean)"}, "rangemode": "tozero"},
        "hovermode": "x unified",
        "legend": "below",
    }


def _peaks(run: Run) -> Raw:
    """The same in figures: mean over the run, greatest interval, most at a time."""
    import numpy

    edges = edges_of(run)
    every = numpy.arange(len(run.messages))
    rows = []
    for place, (part, _) in PLACES.items():
        starts, ends = _interval(run, part, every)
        counts = occupancy(starts, ends, edges)
        mean, peak = f"{counts.mean():.3g}", f"{counts.max():.3g}"
        when = simulated_time(float(edges[counts.argmax()])) if counts.any() else "-"
        rows.append([place, mean, peak, when, number(most_at_a_time(starts, ends))])
    header = ["place", "mean", "most in an interval", "which begins at", "most at a time"]
    return folded("Figures", table(header, rows))


def most_at_a_time(starts: NDArray[Any], ends: NDArray[Any]) -> int:
    import numpy

    times = numpy.concatenate([starts, ends])
    steps = numpy.concatenate([numpy.ones(len(starts), int), -numpy.ones(len(ends), int)])
    order = numpy.lexsort((steps, times))  # who leaves at a time makes room for who comes then
    return int(numpy.cumsum(steps[order]).max(initial=0))


def _units(page: Page, run: Run) -> list[Raw]:
    """Links and NIs of the timeline: a row each, by the share of time that they were busy."""
    import numpy

    if run.timeline is None:
        return [note("Links and NI units: `chasqui run --timeline CALLS` keeps their packets.")]
    edges = edges_of(run)
    found: dict[str, NDArray[Any]] = {}
    for track in run.timeline.tracks.values():
        if track.name == "MPI calls" or not track.slices:
            continue
        starts = numpy.array([each.start_ps for each in track.slices], numpy.int64)
        ends = numpy.array([each.end_ps for each in track.slices], numpy.int64)
        name = label(track)
        found[name] = numpy.minimum(occupancy(starts, ends, edges), 1.0)
    if not found:
        return [note("The timeline has no packets on links and in NIs.")]
    busiest = set(sorted(found, key=lambda name: -found[name].sum())[:TRACKS_SHOWN])
    shown = {name: each for name, each in found.items() if name in busiest}
    return [
        note(
            "Links and NIs: the share of each interval in which they carried or handled a packet, "
            "as far as the timeline goes (`--timeline` says how many packets of each are kept)."
        ),
        _heatmap(page, shown, edges),
        folded(
            "Figures",
            table(
                ["link or NI", "busy [% of the run]", "most in an interval [%]"],
                [
                    [name, f"{100 * each.mean():.1f}", f"{100 * each.max():.0f}"]
                    for name, each in shown.items()
                ],
                sortable=True,
            ),
        ),
    ]


def _heatmap(page: Page, shown: Mapping[str, NDArray[Any]], edges: NDArray[Any]) -> Raw:
    trace = {
        "type": "heatmap", "colorscale": "theme", "zmin": 0, "zmax": 100,
        "x": [round(float(each), 2) for each in edges / PS_PER_US], "y": list(shown),
        "z": [[round(float(value) * 100, 1) or None for value in each] for each in shown.values()],
        "hoverongaps": False,
        "hovertemplate": "%{y} at %{x} us: busy %{z} %<extra></extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0,
                     "title": {"text": "busy [%]", "side": "right"}},
    }  # fmt: skip
    layout = {
        "height": 140 + 16 * len(shown),
        "xaxis": {"title": {"text": "time [us]"}, "showgrid": False},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category",
                  "showgrid": False, "dtick": 1, "tickfont": {"size": 10}},
    }  # fmt: skip
    return page.chart("units", [trace], layout, "Matrix: links and NIs by time, how busy")


def _counters(stats: Mapping[str, Any], *, of_ni: bool) -> Raw:
    """Sums over the nodes, and the node with the most."""
    sums: dict[str, list[Any]] = {}
    for place, groups in sorted(stats.items()):
        for name, counter in _leaves(groups, NETWORK if place == NETWORK else ""):
            if (name.startswith(("ni.", NETWORK))) != of_ni:
                continue
            entry = sums.setdefault(name, [0, 0, place, counter])
            entry[0] += counter["value"]
            if counter["value"] > entry[1]:
                entry[1:3] = counter["value"], place
    rows = [
        [name, number(total), number(most), place, counter.get("unit", ""), counter.get("doc", "")]
        for name, (total, most, place, counter) in sums.items()
        if total
    ]
    header = ["counter", "all nodes", "most of a node", "which", "unit", "what it is"]
    found = table(header, rows, left=(0, 3, 4, 5), sortable=True)
    return join([note("Counters that are 0 everywhere are left out."), found])


def _leaves(group: Any, name: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if not isinstance(group, dict):
        return
    if isinstance(group.get("value"), int):
        yield name, group
        return
    for key, each in group.items():
        yield from _leaves(each, f"{name}.{key}" if name else key)
