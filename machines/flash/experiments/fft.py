"""flash/fft: the six-step FFT, and its transposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does communication cost a radix-sqrt(n) FFT? All of it is in three transposes: each processor \
loads blocks from the rows of others (receiver-initiated), stores blocks to them \
(sender-initiated), or has the controllers send them: a column of a patch at a time, patches that \
they transpose, patches that the receivers transpose, or parts of patches while the others are \
computed. By processors and length of a line."""

PROCESSORS = (1, 4, 16, 64)
OTHER_LINES = (16, 64)  # processors, of the larger size
SIZES = (16384, 65536)
QUICK_SIZE, QUICK_PROCESSORS = 16384, (4,)


def lines(size: int, processors: int, quick: bool) -> tuple[int, ...]:
    is_left_out = size == SIZES[-1] and processors not in OTHER_LINES
    return (_flash.LINE,) if quick or is_left_out else _flash.LINES


def points(quick: bool) -> list[_flash.Point]:
    return [
        _flash.Point("fft", variant, size, processors, line)
        for size in (SIZES if not quick else (QUICK_SIZE,))
        for processors in (PROCESSORS if not quick else QUICK_PROCESSORS)
        for line in lines(size, processors, quick)
        for variant in _flash.VARIANTS["fft"]
        if processors > 1 or variant == _flash.LOAD_STORE  # one does not communicate
    ]


def runs(quick: bool) -> list[Run]:
    return _flash.runs(points(quick))


def findings(found: Sequence[Row]) -> list[str]:
    sentences = []
    for size in sorted({row.size for row in found}):
        mine = [row for row in found if row.size == size and row.line_bytes == _flash.LINE]
        most = max(row.processors for row in mine)
        base, *others = (row for row in mine if row.processors == most)
        first = min(mine, key=lambda row: row.processors)
        sentences.append(
            f"{size} points, {most} processors: {first.run_time_ns / base.run_time_ns:.1f} times "
            f"as fast as {first.processors}; they wait for "
            f"{_flash.percent(base.communication_share)} of their time for data of others, for "
            f"{_flash.percent(base.memory_share)} for their own."
        )
        for row in others:
            sentences.append(
                f"{size} points, {most} processors, {row.variant}: "
                f"{float(row.relative_to_load_store):.2f} of the time of load-store."
            )
    return sentences


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row for _, row in _flash.rows(points(False), outputs)]
    return _flash.report(
        Row._fields, found, findings(found), lambda figure: draw(figure, found),
        size_inches=(18.0, 5.6),
    )  # fmt: skip


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """By size: speed-up; the variants beside load-store."""
    from chasqui.experiment import drawing

    panels = figure.subplots(len(SIZES), len(_flash.VARIANTS["fft"]), squeeze=False)
    for size, (first, *others) in zip(SIZES, panels, strict=True):
        base, *variants = _flash.VARIANTS["fft"]
        alone = {row.line_bytes: row.run_time_ns for row in found
                 if (row.size, row.processors, row.variant) == (size, 1, base)}  # fmt: skip
        curves = {
            f"{line} B": [
                (row.processors, alone[line] / row.run_time_ns)
                for row in found
                if (row.size, row.line_bytes, row.variant) == (size, line, base) and line in alone
            ]
            for line in _flash.LINES
        }
        _flash.over_processors(first, curves, f"{size} points: speed-up, {base}")
        for variant, axes in zip(variants, others, strict=True):
            mine = [row for row in found if (row.size, row.variant) == (size, variant)]
            _flash.relative(axes, mine, f"{size} points:\n{variant}")
    drawing.label_ends(*panels.flat)


EXPERIMENT = Experiment(QUESTION, runs, report)
