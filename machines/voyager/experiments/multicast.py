"""voyager/multicast: the same data to many, by Tag-On and by Basic."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number, table

from ._timing import TRIPS_FEW, Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does it cost to send the same data to 1 to 32 destinations? By Tag-On the data cross the \
sender's bus once, and each further destination is one uncached store; by Basic they are composed \
for each. Measured are the time that the sender's processor spends, and the time until the last \
receiver has the data in its own memory."""

MACHINES = ("flush", "reclaim")
DESTINATIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
DESTINATIONS_QUICK = (1, 4, 32)
# What multicast.c calls it: mechanism, bytes.
CASES = {
    "basic-52": ("basic", 52),
    "basic-84": ("basic", 84),
    "tag-48": ("tag-on-48", 52),
    "tag-80": ("tag-on-80", 84),
}


class Row(NamedTuple):
    """The columns of results.csv. `first`, `last`: from the call until a receiver has the data."""

    mechanism: str
    variant: str
    size_bytes: int
    destinations: int
    sender_ns: Fraction
    first_ns: Fraction
    last_ns: Fraction


def runs(quick: bool) -> list[Run]:
    counts = DESTINATIONS_QUICK if quick else DESTINATIONS
    arguments = [str(TRIPS_FEW), *map(str, counts)]
    ranks = counts[-1] + 1
    return [
        Run(machine, f"voyager/{machine}", ranks, "multicast", arguments=arguments)
        for machine in MACHINES
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found: list[Row] = []
    for machine in MACHINES:
        timing = Timing(outputs[machine])
        for name, (mechanism, size) in CASES.items():
            for count in timing.keys(f"{name}/left"):
                flights = [timing.flight(name, count, ways=[(0, to)]) for to in range(1, count + 1)]
                spent = timing.spent(0, f"{name}/spent", count)
                found.append(
                    Row(mechanism, machine, size, count, spent, min(flights), max(flights))
                )
    return found


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    counts = sorted({row.destinations for row in found})
    text = f"Times [ns] to 1 and to {counts[-1]} destinations, and for each further one\n"
    return Report(
        tables=[Table("results", Row._fields, found)],
        text=text + summary(found, counts),
        findings=findings(found, counts),
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 4.0),
    )


def summary(found: Sequence[Row], counts: Sequence[int]) -> str:
    shown = []
    for one in found:
        if one.destinations == counts[0]:
            most = next(r for r in found if r[:3] == one[:3] and r.destinations == counts[-1])
            more = counts[-1] - counts[0]
            times = [
                *(one.sender_ns, most.sender_ns, (most.sender_ns - one.sender_ns) / more),
                *(one.last_ns, most.last_ns, (most.last_ns - one.last_ns) / more),
            ]
            cells = [f"{float(time):,.0f}" for time in times]
            shown.append([one.mechanism, one.variant, str(one.size_bytes), *cells])
    header = [f"{what} {n}" for what in ("sender", "last") for n in (1, counts[-1], "each")]
    return table(["mechanism", "variant", "bytes", *header], shown, left=(0, 1))


def findings(found: Sequence[Row], counts: Sequence[int]) -> list[str]:
    result = []
    for variant, (tag, size) in itertools.product(MACHINES, (("tag-on-48", 52), ("tag-on-80", 84))):
        last = {
            (row.mechanism, row.destinations): row.last_ns
            for row in found
            if row.variant == variant and row.size_bytes == size
        }
        better = [n for n in counts if last[tag, n] < last["basic", n]]
        start = f"from {better[0]} on" if better else "with no number"
        ratio = number(float(last["basic", counts[-1]] / last[tag, counts[-1]]), 3)
        result.append(
            f"{size} bytes, {variant}: Tag-On reaches the last destination earlier than Basic "
            f"{start}; with {counts[-1]} Basic takes {ratio} times as long."
        )
    return result


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    colors = {"basic": drawing.RED, "tag-on-48": drawing.GREEN, "tag-on-80": drawing.ORANGE}
    titles = ("the sender's processor [us]", "until the last receiver has it [us]")
    columns = ("sender_ns", "last_ns")
    panels = figure.subplots(1, 2)
    for axes, column, title in zip(panels, columns, titles, strict=True):
        for case in sorted({row[:3] for row in found}):
            mechanism, variant, size = case
            if size == 84:
                points = [
                    (row.destinations, float(getattr(row, column)) / 1000)
                    for row in found
                    if row[:3] == case
                ]
                axes.plot(*zip(*points, strict=True), "-" if variant == "flush" else "--",
                          color=colors[mechanism], label=f"{mechanism} {variant}")  # fmt: skip
        axes.set(xlabel="destinations, 84 bytes each", title=title, xticks=(1, 8, 16, 24, 32))
        axes.set_ylim(bottom=0)
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
