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
queues of Express and then at Basic's, by a loop over a load each in turn, or by one load of a \
phantom queue: when all are empty, when one of them has a message (each as often), and from the \
sender's call until the receiver knows of the message. OnePoll looks at three queues of a process: \
two of Express, the first of Basic."""

METHODS = ("in-turn", "onepoll")
TRIPS = 60  # the same number for each of up to six queues
TRIPS_QUICK = 24


class Row(NamedTuple):
    """The columns of results.csv."""

    method: str
    queues: int
    empty_ns: Fraction
    found_ns: Fraction
    latency_ns: Fraction


def runs(quick: bool) -> list[Run]:
    trips = TRIPS_QUICK if quick else TRIPS
    return [Run("flush", "voyager/flush", 2, "onepoll", arguments=[str(trips)])]


def rows(output: Output) -> list[Row]:
    timing = Timing(output)
    return [
        Row(
            method, queues,
            timing.spent(1, f"{method}/empty", queues),
            timing.mean_spent(1, f"{method}/found", queues),
            timing.mean_flight(method, queues, ways=[(0, 1)]),
        )
        for method in METHODS
        for queues in timing.keys(f"{method}/left")
    ]  # fmt: skip


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs["flush"])
    results = Table("results", Row._fields, found)
    times = {(row.method, row.queues): row.empty_ns for row in found}
    most = max(queues for _, queues in times)
    each = (times["in-turn", most] - times["in-turn", 1]) / (most - 1)
    better = [n for n in range(1, most + 1) if times["onepoll", n] < times["in-turn", n]]
    start = f"from {better[0]} queue{'s' * (better[0] > 1)} on" if better else "nowhere"
    return Report(
        tables=[results],
        text=results.text(left=(0,)),
        findings=[
            f"A look at {most} empty queues takes {_ns(times['onepoll', most])} ns by OnePoll and "
            f"{_ns(times['in-turn', most])} ns in turn, {_ns(each)} ns for each further queue.",
            f"OnePoll is better {start} (up to {most} queues were compared).",
        ],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 3.2),
    )


def _ns(time: Fraction) -> str:
    return number(float(time), 4)


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    titles = ("look, all empty [ns]", "look that finds [ns]", "one way, until known [ns]")
    columns = ("empty_ns", "found_ns", "latency_ns")
    for axes, column, title in zip(figure.subplots(1, 3), columns, titles, strict=True):
        for method, color in zip(METHODS, (drawing.ORANGE, drawing.BLUE), strict=True):
            points = [
                (row.queues, float(getattr(row, column))) for row in found if row.method == method
            ]
            axes.plot(*zip(*points, strict=True), "o-", color=color, label=method)
        axes.set(xlabel="queues", title=title, xticks=sorted({row.queues for row in found}))
        axes.set_ylim(bottom=0)
        drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
