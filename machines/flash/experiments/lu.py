"""flash/lu: blocked dense LU, and how much of others' blocks is copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Does a blocked dense LU factorization gain by copies of others' blocks in one's own memory? None \
are copied and the cache keeps what it can; one, which is used again; or all that a step needs."""

PROCESSORS = (1, 4, 16, 64)
OTHER_LINES = (4, 16)  # processors, of the larger size
SIZES = (128, 256)  # the document has 256; the other shows what a smaller one does
QUICK_SIZE, QUICK_PROCESSORS = 128, (4,)


def points(quick: bool) -> list[_flash.Point]:
    return [
        _flash.Point("lu", variant, size, processors, line)
        for size in (SIZES if not quick else (QUICK_SIZE,))
        for processors in (PROCESSORS if not quick else QUICK_PROCESSORS)
        for line in (
            _flash.LINES if size == SIZES[-1] and processors in OTHER_LINES else (_flash.LINE,)
        )
        for variant in _flash.VARIANTS["lu"]
        if processors > 1 or variant == _flash.LOAD_STORE  # one has all blocks
    ]


def runs(quick: bool) -> list[Run]:
    return _flash.runs(points(quick))


def findings(found: Sequence[Row]) -> list[str]:
    size = max(row.size for row in found)
    mine = [row for row in found if row.size == size and row.line_bytes == _flash.LINE]
    most = max(row.processors for row in mine)
    base, *others = (row for row in mine if row.processors == most)
    first = min(mine, key=lambda row: row.processors)
    sentences = [
        f"{size} x {size}, {most} processors: {first.run_time_ns / base.run_time_ns:.1f} times as "
        f"fast as {first.processors}; they are idle for {_flash.percent(base.idle_share)} of their "
        f"time, and wait for {_flash.percent(base.communication_share)} of it at blocks of others."
    ]
    for row in others:
        best = min(
            (other for other in found if (other.size, other.variant) == (size, row.variant)),
            key=lambda other: other.relative_to_load_store,
        )
        sentences.append(
            f"{row.variant}: {float(row.relative_to_load_store):.2f} of the time of load-store "
            f"with {most} processors; at best {float(best.relative_to_load_store):.2f}, with "
            f"{best.processors} and lines of {best.line_bytes} B."
        )
    return sentences


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row for _, row in _flash.rows(points(False), outputs)]
    return _flash.report(Row._fields, found, findings(found), lambda figure: draw(figure, found))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """The kinds of copies beside none, of the larger size."""
    from chasqui.experiment import drawing

    base, *variants = _flash.VARIANTS["lu"]
    size = max(row.size for row in found)
    panels = figure.subplots(1, len(variants))
    for axes, variant in zip(panels, variants, strict=True):
        mine = [row for row in found if (row.size, row.variant) == (size, variant)]
        _flash.relative(axes, mine, f"{variant} / {base}")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
