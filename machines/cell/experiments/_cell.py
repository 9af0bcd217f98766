"""What the experiments on cell share: ticks, reports, curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from chasqui.experiment import Output, Report, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Time base and decrementer, at 80 MHz (node.core.timebase, cell.element.timebase; a test compares).
TICK_NS = Fraction(25, 2)

# Of mpi.c: round trips, and messages of a stream.
TRIPS, STREAM = 8, 16

Row = TypeVar("Row", bound=tuple[Any, ...])


class Messages(NamedTuple):
    """What mpi.c measures: half of a round trip, and a stream."""

    latency_ns: Fraction
    bandwidth_bytes_per_ns: Fraction


def times_ns(output: Output) -> list[Fraction]:
    """The only line of the run."""
    (ticks,) = output.samples(0).values()
    return [each * TICK_NS for each in ticks]


def messages(output: Output, size: int) -> Messages:
    """Of a run of mpi.c with messages of this size [bytes]."""
    trips, stream = times_ns(output)
    return Messages(trips / (2 * TRIPS), bytes_per_ns(STREAM * size, stream))


def report(
    columns: Sequence[str],
    found: Sequence[Row],
    findings: Sequence[str],
    draw: Callable[[Figure, Sequence[Row]], None],
    *,
    left: Sequence[int] = (0,),
    size_inches: tuple[float, float] = (6.0, 4.0),
) -> Report:
    """Of rows: their table, and a picture of them. `left` are the columns of words."""
    results = Table("results", columns, found)
    return Report(
        tables=[results],
        text=results.text(left=left),
        findings=findings,
        draw=lambda figure: draw(figure, found),
        size_inches=size_inches,
    )


def bytes_per_ns(size: int, time_ns: Fraction) -> Fraction:
    return size / time_ns if time_ns else Fraction(0)


def curves(axes: Axes, of: Mapping[str, Sequence[tuple[int, Fraction]]]) -> None:
    """Lines by name."""
    from chasqui.experiment import drawing

    hues = (drawing.BLUE, drawing.ORANGE, drawing.SKY, drawing.GREEN)
    for place, (name, points) in enumerate(of.items()):
        style = "o-" if place < len(hues) else "o--"
        numbers = [(key, float(value)) for key, value in points]
        axes.plot(*zip(*numbers, strict=True), style, color=hues[place % len(hues)], label=name)


def draw_latencies(figure: Figure, of: Mapping[str, Sequence[tuple[int, Fraction]]]) -> None:
    """Half of a round trip [ns] over the length [bytes], by name. Of nothing it is where one byte
    would be: the scale is logarithmic."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    drawn = {name: [(max(size, 1), ns) for size, ns in points] for name, points in of.items()}
    curves(axes, drawn)
    axes.set(xscale="log", yscale="log", xlabel="bytes", title="half of a round trip [ns]")
    drawing.label_ends(axes)
