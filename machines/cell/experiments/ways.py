"""cell/ways: messages between ranks on SPEs by mailbox, by get, and through main memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a message between ranks on two SPEs take by each way that the device knows: a word by \
mailbox against a slot (cell.mpi.mailbox), and for those too long for a slot a put by the sender, \
a get by the receiver, or a buffer in main memory (cell.mpi.long)? Measured as in cell/mpi: half \
of a round trip, the least of many; and messages one after the other with an answer behind the \
last. The mechanism is what most messages of the run took, by its record."""

TRIES = 4
SHORT = (0, 2)
LONG = (465, 1024, 4096, 16384, 32768)
# By way: what is set, and lengths. The default is measured beside the others.
WAYS: dict[str, tuple[list[str], tuple[int, ...]]] = {
    "default": ([], (*SHORT, *LONG)),
    "mailbox": (["cell.mpi.mailbox=true"], SHORT),
    "get": (["cell.mpi.long=get"], LONG),
    "memory": (["cell.mpi.long=memory"], LONG),
}
QUICK = (2, 4096)


class Row(NamedTuple):
    """The columns of results.csv."""

    way: str
    bytes: int
    mechanism: str
    latency_ns: Fraction
    bandwidth_bytes_per_ns: Fraction


def name_of(way: str, size: int) -> str:
    return f"{way}, {size} bytes"


def runs(quick: bool) -> list[Run]:
    return [
        Run(name_of(way, size), "cell", 2, "mpi", arguments=[str(size), str(TRIES)], sets=sets)
        for way, (sets, sizes) in WAYS.items()
        for size in sizes
        if not quick or size in QUICK
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for way, (_, sizes) in WAYS.items():
        for size in sizes:
            if output := outputs.get(name_of(way, size)):
                measured = _cell.messages(output, size)
                found.append(Row(way, size, output.mechanism, *measured))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    beside = {row.bytes: row for row in found if row.way == "default"}
    return [
        f"{row.bytes} bytes by {row.mechanism}: {float(row.latency_ns):.0f} ns, by "
        f"{beside[row.bytes].mechanism} {float(beside[row.bytes].latency_ns):.0f} ns."
        for row in found
        if row.way != "default" and row.bytes in beside
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw, left=(0, 2))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Half of a round trip over the length."""
    names = dict.fromkeys(row.way for row in found)
    _cell.draw_latencies(
        figure,
        {name: [(row.bytes, row.latency_ns) for row in found if row.way == name] for name in names},
    )


EXPERIMENT = Experiment(QUESTION, runs, report)
