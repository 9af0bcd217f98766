"""voyager/onepoll: one load that looks at several queues, against a load each."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number

from ._timing import Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does OnePoll save a process that waits for messages in several queues? It looks at the first \
1 to 64 of its queues, two of Express, then Basic's, by a loop over a load each in turn, or by one \
load of a phantom queue: when all are empty, when one of them has a message (each as often), and \
from the sender's call until the receiver has found the message. The hardware has slots for eight \
Basic queues, the firmware serves the others; beside it, hardware that had slots for all."""

METHODS = ("in-turn", "onepoll")
BASIC = 62  # queues, with Express 64
FLAGS = ["-DPHASES=8192"]  # a look at 64 queues that are served takes some 7,000 cycles
# Basic queues that the hardware has slots for, and what runs are called.
SLOTS = {8: "served", BASIC: "resident"}


class Row(NamedTuple):
    """The columns of results.csv."""

    basic_slots: int
    method: str
    queues: int
    empty_ns: Fraction
    found_ns: Fraction
    latency_ns: Fraction


def runs(quick: bool) -> list[Run]:
    sets = ["voyager.sp.system=true", f"voyager.queues.basic={BASIC}"]
    return [
        Run(
            name,
            "voyager/flush",
            2,
            "onepoll",
            FLAGS,
            sets=[*sets, f"voyager.queues.resident_basic={n}"],
        )
        for n, name in SLOTS.items()
    ]


def rows(slots: int, output: Output) -> list[Row]:
    timing = Timing(output)
    return [
        Row(
            slots, method, queues,
            timing.spent(1, f"{method}/empty", queues),
            timing.spent(1, f"{method}/found", queues),
            timing.flight(method, queues, ways=[(0, 1)]),
        )
        for method in METHODS
        for queues in timing.keys(f"{method}/left")
    ]  # fmt: skip


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row for slots, name in SLOTS.items() for row in rows(slots, outputs[name])]
    results = Table("results", Row._fields, found)
    return Report(
        tables=[results],
        text=results.text(left=(1,)),
        findings=[text for slots in SLOTS for text in findings(slots, found)],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 5.6),
    )


def findings(slots: int, found: list[Row]) -> list[str]:
    times = {(row.method, row.queues): row for row in found if row.basic_slots == slots}
    counts = sorted({queues for _, queues in times})
    most = counts[-1]

    def better(column: str) -> str:
        is_better = [
            n for n in counts
            if getattr(times["onepoll", n], column) < getattr(times["in-turn", n], column)
        ]  # fmt: skip
        return ", ".join(map(str, is_better)) or "none"

    return [
        f"{slots} Basic slots: a look at {most} empty queues takes "
        f"{_us(times['onepoll', most].empty_ns)} us by OnePoll and "
        f"{_us(times['in-turn', most].empty_ns)} us in turn; at one queue "
        f"{_us(times['onepoll', 1].empty_ns)} and {_us(times['in-turn', 1].empty_ns)} us.",
        f"{slots} Basic slots: OnePoll is the sooner to look at empty queues with these numbers of "
        f"them: {better('empty_ns')}; to know of a message: {better('latency_ns')}.",
    ]


def _us(time: Fraction) -> str:
    return number(float(time) / 1000, 3)


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    titles = ("look, all empty [us]", "look that finds [us]", "one way, until known [us]")
    columns = ("empty_ns", "found_ns", "latency_ns")
    grid = figure.subplots(len(SLOTS), 3)
    for slots, line in zip(SLOTS, grid, strict=True):
        for axes, column, title in zip(line, columns, titles, strict=True):
            for method, color in zip(METHODS, (drawing.ORANGE, drawing.BLUE), strict=True):
                points = [
                    (row.queues, float(getattr(row, column)) / 1000)
                    for row in found
                    if (row.basic_slots, row.method) == (slots, method)
                ]
                axes.plot(*zip(*points, strict=True), "o-", color=color, label=method)
            axes.set(xlabel=f"queues ({slots} Basic slots)", title=title)
            axes.set_xscale("log", base=2)
            drawing.scale_decades(axes)
            axes.set_xticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
    drawing.label_ends(*grid.flat)


EXPERIMENT = Experiment(QUESTION, runs, report)
