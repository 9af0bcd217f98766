"""cell/overlap: double-buffered DMA against computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much of a transfer does computation hide? An SPE uses each word of blocks of main memory so \
many times, one block after the other, or with the next one on its way."""

BYTES = 4096
BLOCKS, BLOCKS_QUICK = 16, 4
WORKS = (1, 2, 4, 8)
WORKS_QUICK = (1, 4)


class Row(NamedTuple):
    """The columns of results.csv. Hidden: of the time of the transfers, one after the other, what
    double buffering saves."""

    work: int
    single_ns: Fraction
    double_ns: Fraction
    saved_ns: Fraction


def name_of(kind: str, work: int) -> str:
    return f"{kind}, {work}"


def runs(quick: bool) -> list[Run]:
    blocks = BLOCKS_QUICK if quick else BLOCKS
    return [
        Run(
            name_of(kind, work),
            "cell",
            1,
            "overlap",
            arguments=[kind, str(BYTES), str(blocks), str(work)],
        )
        for work in (WORKS_QUICK if quick else WORKS)
        for kind in ("single", "double")
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for work in WORKS:
        if name_of("single", work) in outputs:
            times = [
                _cell.times_ns(outputs[name_of(kind, work)])[0] for kind in ("single", "double")
            ]
            blocks = int(outputs[name_of("single", work)].run.arguments[2])
            single, double = (time / blocks for time in times)
            found.append(Row(work, single, double, single - double))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    first = found[0]
    share = float(first.saved_ns / first.single_ns)
    return [
        f"With each word used {first.work} time, double buffering saves {share:.0%} of the "
        f"time of a block."
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw, left=())


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Both, over the work."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    _cell.curves(
        axes,
        {
            "one after the other": [(row.work, row.single_ns) for row in found],
            "double-buffered": [(row.work, row.double_ns) for row in found],
        },
    )
    axes.set(xlabel="uses of each word", title="a block of 4 KiB [ns]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
