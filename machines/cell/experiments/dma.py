"""cell/dma: one transfer at a time, by its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a DMA transfer take, by who enters it and where it goes? Issue, first byte and \
delivery by the 12.5 ns timers of both sides, as the dissertation measured it (8.3, 8.4.1): \
blocking, the least of many."""

SIZES = tuple(2**n for n in range(4, 15))
SIZES_QUICK = (16, 1024)
TRIES = 8
# Initiator, direction, peer.
WAYS = (
    ("spe", "get", "memory"), ("spe", "put", "memory"), ("spe", "get", "spe"),
    ("spe", "put", "spe"), ("ppe", "get", "memory"), ("ppe", "put", "memory"),
)  # fmt: skip


class Row(NamedTuple):
    """The columns of results.csv. Between SPEs, and for the host's gets, nobody watches for the
    first byte: it and the delivery are not told apart."""

    initiator: str
    direction: str
    peer: str
    bytes: int
    issue_ns: Fraction
    first_byte_ns: Fraction | None
    delivery_ns: Fraction | None
    total_ns: Fraction


def name_of(way: Sequence[str], size: int) -> str:
    return f"{'-'.join(way)}, {size} bytes"


def runs(quick: bool) -> list[Run]:
    return [
        Run(name_of(way, size), "cell", 1, "dma", arguments=[*way, str(size), str(TRIES)])
        for way in WAYS
        for size in (SIZES_QUICK if quick else SIZES)
    ]


def is_watched(way: Sequence[str]) -> bool:
    initiator, direction, peer = way
    return peer == "memory" and (initiator == "spe" or direction == "put")


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for way in WAYS:
        for size in SIZES:
            if (name := name_of(way, size)) not in outputs:
                continue
            issue, first, total = _cell.times_ns(outputs[name])
            watched = is_watched(way)
            found.append(
                Row(
                    *way,
                    size,
                    issue,
                    first if watched else None,
                    max(total - first, Fraction(0)) if watched else None,
                    total,
                )
            )
    return found


def findings(found: Sequence[Row]) -> list[str]:
    total = {(row.initiator, row.direction, row.peer, row.bytes): row.total_ns for row in found}
    sizes = sorted({row.bytes for row in found})
    least, most = sizes[0], sizes[-1]
    by = {who: total[who, "get", "memory", least] for who in ("spe", "ppe")}
    rate = _cell.bytes_per_ns(most, total["spe", "get", "memory", most])
    return [
        f"A get of {least} bytes from main memory takes {float(by['spe']):g} ns where the SPE "
        f"enters it and {float(by['ppe']):g} ns where the PPE does.",
        f"An SPE's get of {most:,} bytes moves {float(rate):.1f} bytes a nanosecond.",
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(
        Row._fields, found, findings(found), draw, left=(0, 1, 2), size_inches=(7.0, 4.0)
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """The whole time, over the length."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    _cell.curves(
        axes,
        {
            " ".join(way): [(row.bytes, row.total_ns) for row in found if row[:3] == way]
            for way in WAYS
        },
    )
    drawing.scale_bytes(axes, min(row.bytes for row in found), max(row.bytes for row in found))
    drawing.scale_decades(axes)
    axes.set(xlabel="transfer [bytes]", title="a transfer, with waiting for it [ns]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
