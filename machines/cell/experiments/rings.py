"""cell/rings: pairs of SPEs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much moves over the four rings when several SPEs get from each other at once? Half of them \
from the other half, or each from the next all the way round, 16 KB a command, four under way."""

SPES = 8
BYTES = 16384
COUNT, COUNT_QUICK = 32, 8
PATTERNS = {"pairs": (2, 4, 6, 8), "circle": (2, 4, 6, 8)}


class Row(NamedTuple):
    """The columns of results.csv."""

    pattern: str
    spes: int
    takers: int
    aggregate_bytes_per_ns: Fraction
    slowest_bytes_per_ns: Fraction


def name_of(pattern: str, spes: int) -> str:
    return f"{pattern}, {spes} SPEs"


def runs(quick: bool) -> list[Run]:
    count = COUNT_QUICK if quick else COUNT
    return [
        Run(
            name_of(pattern, spes),
            "cell",
            1,
            "rings",
            arguments=[pattern, str(spes), str(count)],
            sets=[f"cell.chip.spes={SPES}"],
        )
        for pattern, every in PATTERNS.items()
        for spes in (every[-1:] if quick else every)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for pattern, every in PATTERNS.items():
        for spes in every:
            if output := outputs.get(name_of(pattern, spes)):
                times = _cell.times_ns(output)
                moved = int(output.run.arguments[2]) * BYTES
                rates = [_cell.bytes_per_ns(moved, time) for time in times]
                found.append(
                    Row(pattern, spes, len(times), len(times) * moved / max(times), min(rates))
                )
    return found


def findings(found: Sequence[Row]) -> list[str]:
    return [
        f"{row.spes} SPEs, {row.pattern}: {float(row.aggregate_bytes_per_ns):.1f} bytes a "
        f"nanosecond together, {float(row.slowest_bytes_per_ns):.1f} for the slowest "
        f"of {row.takers}."
        for pattern in PATTERNS
        for row in [max((each for each in found if each.pattern == pattern), key=lambda r: r.spes)]
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw)


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """All together, over the SPEs that take part."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    _cell.curves(
        axes,
        {
            pattern: [
                (row.spes, row.aggregate_bytes_per_ns) for row in found if row.pattern == pattern
            ]
            for pattern in PATTERNS
        },
    )
    axes.set(xlabel="SPEs", title="all together [bytes/ns]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
