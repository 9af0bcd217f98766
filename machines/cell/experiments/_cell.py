"""What the experiments on cell share: ticks, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.experiment import Output

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Time base and decrementer, at 80 MHz (node.core.timebase, cell.element.timebase).
TICK_NS = Fraction(25, 2)


def times_ns(output: Output) -> list[Fraction]:
    """The only line of the run."""
    (ticks,) = output.samples(0).values()
    return [each * TICK_NS for each in ticks]


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
