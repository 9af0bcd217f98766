"""cell/modern: messages between ranks on scratchpad cores of today, beside Cell's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How long does a message take between ranks on two scratchpad cores of a chip of today \
(cell-modern), and how much moves in a stream, beside Cell? Measured as in cell/mpi: half of a \
round trip, the least of many; and messages one after the other with an answer behind the last."""

MACHINES = ("cell", "cell-modern")
SIZES = (0, 8, 464, 465, 4096, 32768)
SIZES_QUICK = (8, 4096)
TRIES = 4


class Row(NamedTuple):
    """The columns of results.csv."""

    machine: str
    bytes: int
    latency_ns: Fraction
    bandwidth_bytes_per_ns: Fraction


def name_of(machine: str, size: int) -> str:
    return f"{machine}, {size} bytes"


def runs(quick: bool) -> list[Run]:
    return [
        Run(name_of(machine, size), machine, 2, "mpi", arguments=[str(size), str(TRIES)])
        for machine in MACHINES
        for size in (SIZES_QUICK if quick else SIZES)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for machine in MACHINES:
        for size in SIZES:
            if output := outputs.get(name_of(machine, size)):
                found.append(Row(machine, size, *_cell.messages(output, size)))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    beside = {row.bytes: row for row in found if row.machine == "cell"}
    return [
        f"{row.bytes} bytes: {float(row.latency_ns):.0f} ns, on Cell "
        f"{float(beside[row.bytes].latency_ns):.0f} ns."
        for row in found
        if row.machine != "cell" and row.bytes in beside
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw)


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Half of a round trip over the length."""
    names = dict.fromkeys(row.machine for row in found)
    _cell.draw_latencies(
        figure,
        {
            name: [(row.bytes, row.latency_ns) for row in found if row.machine == name]
            for name in names
        },
    )


EXPERIMENT = Experiment(QUESTION, runs, report)
