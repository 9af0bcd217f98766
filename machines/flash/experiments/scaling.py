"""flash/scaling: larger machines, and problems that grow with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import LOAD_STORE, Point, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How well are more processors used, by how the problem grows with them? It keeps its size; its \
data grow as the memory (memory-constrained); or its operations grow as the processors \
(time-constrained). Efficiency is of operations: those a second of each processor, against those \
of one processor alone. The FFT's sizes are powers of 4, so its time-constrained ones would be \
the memory-constrained ones, and are left out; so are the sort's, whose operations grow as its \
data."""

COLUMNS = ("scaling", *Row._fields, "efficiency")
PROCESSORS = (1, 4, 16, 64)
QUICK_PROCESSORS = (1, 4)
CONSTANT, MEMORY, TIME = "constant", "memory-constrained", "time-constrained"
SORT = f"{LOAD_STORE}, radix 128"
# By scaling and program: variant, and the size by processors.
SIZES: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    (CONSTANT, "fft"): (LOAD_STORE, (16384,) * 4),
    (CONSTANT, "lu"): (LOAD_STORE, (256,) * 4),
    (CONSTANT, "radix"): (SORT, (_flash.KEYS,) * 4),
    (MEMORY, "fft"): (LOAD_STORE, (1024, 4096, 16384, 65536)),
    (MEMORY, "lu"): (LOAD_STORE, (32, 64, 128, 256)),
    (MEMORY, "radix"): (SORT, (1024, 4096, 16384, 65536)),
    (TIME, "lu"): (LOAD_STORE, (64, 96, 160, 256)),  # 64 cbrt P, in blocks
}
QUICK = ((MEMORY, "fft"), (TIME, "lu"))
OPERATIONS: dict[str, Callable[[int], Fraction]] = {
    "fft": lambda n: Fraction(n * round(log2(n))),
    "lu": lambda n: Fraction(n**3),
    "radix": Fraction,
}


def points(quick: bool) -> list[tuple[str, Point]]:
    return [
        (scaling, Point(program, variant, size, processors))
        for (scaling, program), (variant, sizes) in SIZES.items()
        for processors, size in zip(PROCESSORS, sizes, strict=True)
        if not quick or ((scaling, program) in QUICK and processors in QUICK_PROCESSORS)
    ]


def runs(quick: bool) -> list[Run]:
    return _flash.runs(point for _, point in points(quick))


def rows(outputs: Mapping[str, Output]) -> list[tuple[str, Row, Fraction]]:
    every = points(False)
    by_point = dict(_flash.rows(dict.fromkeys(point for _, point in every), outputs))

    def speed(row: Row) -> Fraction:
        """Of a processor."""
        return OPERATIONS[row.program](row.size) / row.run_time_ns / row.processors

    found = []
    for scaling, point in every:
        if point in by_point:
            sizes = SIZES[scaling, point.program][1]
            alone = by_point[point._replace(processors=1, size=sizes[0])]
            row = by_point[point]
            found.append((scaling, row, speed(row) / speed(alone)))
    return found


def findings(found: Sequence[tuple[str, Row, Fraction]]) -> list[str]:
    most = max(row.processors for _, row, _ in found)
    return [
        f"{row.program}, {scaling}: {most} processors are used at {_flash.percent(efficiency)} "
        f"(size {row.size})."
        for scaling, row, efficiency in found
        if row.processors == most
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    flat = [(scaling, *row, efficiency) for scaling, row, efficiency in found]
    return _flash.report(
        COLUMNS, flat, findings(found), lambda figure: draw(figure, found), left=(0, 1, 2)
    )


def draw(figure: Figure, found: Sequence[tuple[str, Row, Fraction]]) -> None:
    """A panel a scaling, a curve a program."""
    from chasqui.experiment import drawing

    scalings = (CONSTANT, MEMORY, TIME)
    panels = figure.subplots(1, len(scalings), sharey=True)
    for axes, scaling in zip(panels, scalings, strict=True):
        curves = {
            program: [
                (row.processors, float(efficiency))
                for which, row, efficiency in found
                if (which, row.program) == (scaling, program)
            ]
            for program in OPERATIONS
        }
        _flash.over_processors(axes, curves, f"{scaling}: efficiency")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
