"""flash/ocean: multigrid on squarish sub-grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import LOAD_STORE, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What do borders cost a multigrid solver? Between sweeps of every level each processor loads what \
lies beside its sub-grid, and all meet. By processors and length of a line: a border that is a \
column has each cell in another line."""

PROCESSORS = (1, 4, 16, 64)
SIZES = (66, 130, 258)  # the document has the latter two; the other is quick
OTHER_LINES = ((130, 4), (130, 16))
QUICK_PROCESSORS = (4,)


def points(quick: bool) -> list[_flash.Point]:
    small = [_flash.Point("ocean", LOAD_STORE, SIZES[0], each) for each in QUICK_PROCESSORS]
    if quick:
        return small
    return small + [
        _flash.Point("ocean", LOAD_STORE, size, processors, line)
        for size in SIZES[1:]
        for processors in PROCESSORS
        for line in (_flash.LINES if (size, processors) in OTHER_LINES else (_flash.LINE,))
    ]


def runs(quick: bool) -> list[Run]:
    return _flash.runs(points(quick))


def findings(found: Sequence[Row]) -> list[str]:
    sentences = []
    for size in sorted({row.size for row in found}):
        mine = [row for row in found if row.size == size and row.line_bytes == _flash.LINE]
        first = min(mine, key=lambda row: row.processors)
        last = max(mine, key=lambda row: row.processors)
        sentences.append(
            f"{size} x {size}: {last.processors} processors are "
            f"{first.run_time_ns / last.run_time_ns:.1f} times as fast as {first.processors}; they "
            f"wait for {_flash.percent(last.communication_share)} of their time at borders, for "
            f"{_flash.percent(last.memory_share)} for their own cells, for "
            f"{_flash.percent(last.synchronization_share + last.idle_share)} in barriers."
        )
    return sentences


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row for _, row in _flash.rows(points(False), outputs)]
    return _flash.report(Row._fields, found, findings(found), lambda figure: draw(figure, found))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Speed-up, and shares of the time, by size."""
    from chasqui.experiment import drawing

    panels = figure.subplots(1, 2)
    sizes = sorted({row.size for row in found})
    mine = [row for row in found if row.line_bytes == _flash.LINE]
    alone = {row.size: row.run_time_ns for row in mine if row.processors == 1}
    speeds = {
        f"{size}": [
            (row.processors, alone[size] / row.run_time_ns)
            for row in mine
            if row.size == size and size in alone
        ]
        for size in sizes
    }
    shares = {
        f"{size}, {name}": [
            (row.processors, float(getattr(row, f"{name}_share")))
            for row in mine
            if row.size == size and size in alone
        ]
        for size in sizes
        for name in ("communication", "memory", "idle")
    }
    shares = {name: points for name, points in shares.items() if points}
    _flash.over_processors(panels[0], speeds, "speed-up, by size")
    _flash.over_processors(panels[1], shares, "shares of the time, by size")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
