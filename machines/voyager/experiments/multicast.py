"""voyager/multicast: the same data to many, by Tag-On and by Basic."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number, table

from ._timing import Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does it cost to send the same data to 1 to 32 destinations? By Tag-On the data cross the sender's bus \
once, and each further destination is one uncached store; by Basic they are composed for each. The time \
that the sender's processor spends, and until the last receiver has the data in memory of its own."""

COLUMNS = (
    "mechanism", "variant", "size_bytes", "destinations", "sender_ns", "first_ns", "last_ns",
)  # fmt: skip
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

Row = tuple[str, str, int, int, Fraction, Fraction, Fraction]


def runs(quick: bool) -> list[Run]:
    counts = DESTINATIONS_QUICK if quick else DESTINATIONS
    arguments = ["12", *map(str, counts)]
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
                flights = [
                    timing.flight(name, count, ways=[(0, to)]) for to in range(1, count + 1)
                ]
                spent = timing.spent(0, f"{name}/spent", count)
                found.append((mechanism, machine, size, count, spent, min(flights), max(flights)))
    return found


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    cases = sorted({row[:3] for row in found}, key=lambda case: (case[2], case[1], case[0]))
    by_case = {row[:4]: row for row in found}
    counts = sorted({row[3] for row in found})
    shown, findings = [], []
    for case in cases:
        one, most = by_case[(*case, counts[0])], by_case[(*case, counts[-1])]
        each = [(most[i] - one[i]) / (counts[-1] - counts[0]) for i in (4, 6)]
        times = [f"{float(time):,.0f}" for time in (one[4], one[6], most[4], most[6], *each)]
        shown.append([case[0], case[1], str(case[2]), *times])
    header = ["mechanism", "variant", "bytes", "sender 1", "last 1", f"sender {counts[-1]}",
              f"last {counts[-1]}", "sender, each further", "last, each further"]  # fmt: skip
    for variant in MACHINES:
        for tag, basic, size in (("tag-on-48", "basic", 52), ("tag-on-80", "basic", 84)):
            better = [
                n for n in counts
                if by_case[tag, variant, size, n][6] < by_case[basic, variant, size, n][6]
            ]  # fmt: skip
            last = [by_case[each, variant, size, counts[-1]][6] for each in (basic, tag)]
            start = f"from {better[0]} destinations on" if better else "nowhere"
            findings.append(
                f"{size} bytes, {variant}: Tag-On reaches the last receiver earlier {start}; with "
                f"{counts[-1]} Basic takes {number(float(last[0] / last[1]), 3)} times as long."
            )
    return Report(
        tables=[Table("results", COLUMNS, found)],
        text="Times in ns\n" + table(header, shown, left=(0, 1)),
        findings=findings,
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 4.0),
    )


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    colors = {"basic": drawing.RED, "tag-on-48": drawing.GREEN, "tag-on-80": drawing.ORANGE}
    titles = ("the sender's processor [us]", "until the last receiver has it [us]")
    for axes, column, title in zip(figure.subplots(1, 2), (4, 6), titles, strict=True):
        for case in sorted({row[:3] for row in found}):
            mechanism, variant, size = case
            if size == 84:
                points = [(row[3], float(row[column]) / 1000) for row in found if row[:3] == case]
                axes.plot(*zip(*points, strict=True), "-" if variant == "flush" else "--",
                          color=colors[mechanism], label=f"{mechanism} {variant}")  # fmt: skip
        axes.set(xlabel="destinations, 84 bytes each", title=title, xticks=(1, 8, 16, 24, 32))
        axes.set_ylim(bottom=0)
        drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
