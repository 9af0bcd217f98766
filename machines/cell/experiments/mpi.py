"""cell/mpi: messages between ranks on SPEs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How long does a message between ranks on two SPEs take, and how much moves in a stream of them, by \
length? Up to 464 bytes it is put into a slot of the receiver's local store, above that to where \
the receive wants it, after a rendezvous. Half of a round trip, the least of many; and messages \
one after the other with an answer behind the last."""

SIZES = (0, 8, 64, 128, 464, 465, 1024, 4096, 16384, 32768)
SIZES_QUICK = (8, 464, 4096)
TRIES = 4


class Row(NamedTuple):
    """The columns of results.csv."""

    bytes: int
    mechanism: str
    latency_ns: Fraction
    bandwidth_bytes_per_ns: Fraction


def name_of(size: int) -> str:
    return f"{size} bytes"


def runs(quick: bool) -> list[Run]:
    return [
        Run(name_of(size), "cell", 2, "mpi", arguments=[str(size), str(TRIES)])
        for size in (SIZES_QUICK if quick else SIZES)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for size in SIZES:
        if output := outputs.get(name_of(size)):
            found.append(Row(size, output.mechanism, *_cell.messages(output, size)))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    return [
        f"By {mechanism}: {float(rows[0].latency_ns):.0f} ns of {rows[0].bytes} bytes, "
        f"{float(rows[-1].latency_ns):.0f} ns and {float(rows[-1].bandwidth_bytes_per_ns):.2f} "
        f"bytes/ns of {rows[-1].bytes}."
        for mechanism in ("slot", "put")
        if (rows := [row for row in found if row.mechanism == mechanism])
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw, left=(1,))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Half of a round trip over the length."""
    names = dict.fromkeys(row.mechanism for row in found)
    _cell.draw_latencies(
        figure,
        {
            name: [(row.bytes, row.latency_ns) for row in found if row.mechanism == name]
            for name in names
        },
    )


EXPERIMENT = Experiment(QUESTION, runs, report)
