"""cell/batch: several commands before the program waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How far apart do the messages of a batch come, and when is it known that they have? An SPE \
enters 2 to 16 commands before it waits; between main memory and its local store."""

SIZES = (128, 1024, 4096)
COUNTS = (1, 2, 4, 8, 16)
COUNTS_QUICK = (1, 8)
TRIES = 8


class Row(NamedTuple):
    """The columns of results.csv. Of a batch of one there is no gap."""

    direction: str
    bytes: int
    batch: int
    issue_ns: Fraction
    gap_ns: Fraction | None
    acknowledgement_ns: Fraction
    per_message_ns: Fraction


def name_of(direction: str, size: int, count: int) -> str:
    return f"{direction}, {size} bytes, {count}"


def runs(quick: bool) -> list[Run]:
    return [
        Run(
            name_of(direction, size, count),
            "cell",
            1,
            "batch",
            arguments=[direction, str(count), str(size), str(TRIES)],
        )
        for direction in ("get", "put")
        for size in (SIZES[:1] if quick else SIZES)
        for count in (COUNTS_QUICK if quick else COUNTS)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for direction in ("get", "put"):
        for size in SIZES:
            for count in COUNTS:
                if (name := name_of(direction, size, count)) not in outputs:
                    continue
                issue, first, last, known = _cell.times_ns(outputs[name])
                gap = (last - first) / (count - 1) if count > 1 else None
                found.append(Row(direction, size, count, issue, gap, known, (last + known) / count))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    sizes, counts = sorted({row.bytes for row in found}), sorted({row.batch for row in found})
    each = {(row.direction, row.bytes, row.batch): row.per_message_ns for row in found}
    return [
        f"To {direction} {size:,} bytes takes {float(each[direction, size, counts[0]]):g} ns alone "
        f"and {float(each[direction, size, counts[-1]]):.1f} ns of a batch of {counts[-1]}."
        for direction in ("get", "put")
        for size in dict.fromkeys((sizes[0], sizes[-1]))
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw)


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Time of a message, over the batch."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    kinds = dict.fromkeys((row.direction, row.bytes) for row in found)
    _cell.curves(
        axes,
        {
            f"{direction}, {size} bytes": [
                (row.batch, row.per_message_ns)
                for row in found
                if (row.direction, row.bytes) == (direction, size)
            ]
            for direction, size in kinds
        },
    )
    drawing.scale_decades(axes)
    axes.set(xlabel="messages of a batch", title="a message [ns]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
