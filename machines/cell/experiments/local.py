"""cell/local: DMA inside one local store, against a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
From which length on does DMA inside a local store take less than a copy by the program? The \
copy is of 64 bits at a time: 128-bit loads and stores, which the SPE has, are not there, so \
theirs would take half of it at least."""

SIZES = tuple(2**n for n in range(4, 15))
SIZES_QUICK = (16, 2048)


class Row(NamedTuple):
    """The columns of results.csv."""

    bytes: int
    dma_ns: Fraction
    copy_ns: Fraction


def runs(quick: bool) -> list[Run]:
    return [
        Run(f"{size} bytes", "cell", 1, "local", arguments=[str(size)])
        for size in (SIZES_QUICK if quick else SIZES)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = ((size, outputs.get(f"{size} bytes")) for size in SIZES)
    return [Row(size, *_cell.times_ns(output)) for size, output in found if output]


def finding(found: Sequence[Row]) -> str:
    sooner = [row.bytes for row in found if row.dma_ns < row.copy_ns]
    if not sooner:
        return "The copy takes less at every length."
    return f"DMA takes less than the copy from {sooner[0]:,} bytes on."


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, [finding(found)], draw, left=())


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Both, over the length."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    _cell.curves(
        axes,
        {
            "DMA": [(row.bytes, row.dma_ns) for row in found],
            "copy": [(row.bytes, row.copy_ns) for row in found],
        },
    )
    drawing.scale_bytes(axes, found[0].bytes, found[-1].bytes)
    drawing.scale_decades(axes)
    axes.set(xlabel="bytes", title="within a local store [ns]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
