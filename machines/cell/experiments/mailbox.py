"""cell/mailbox: by the library and by problem state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a word by mailbox cost the PPE, by the library, which goes through the kernel, and by \
direct access to problem state? The least of many: to write one, to read one that is there, and \
one that goes to an SPE and back."""

WAYS = ("library", "direct")
TRIES = 8


class Row(NamedTuple):
    """The columns of results.csv."""

    way: str
    write_ns: Fraction
    read_ns: Fraction
    round_trip_ns: Fraction


def runs(quick: bool) -> list[Run]:
    tries = TRIES if quick else 4 * TRIES
    return [Run(way, "cell", 1, "mailbox", arguments=[way, str(tries)]) for way in WAYS]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    return [Row(way, *_cell.times_ns(outputs[way])) for way in WAYS]


def findings(found: Sequence[Row]) -> list[str]:
    library, direct = found
    ratio = library.round_trip_ns / direct.round_trip_ns
    return [
        f"A word there and back takes {float(direct.round_trip_ns):g} ns by problem state, and "
        f"{float(ratio):.1f} times that by the library."
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw, size_inches=(6.0, 3.0))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """A bar for each."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    names = ("write", "read", "round trip")
    for place, (row, hue) in enumerate(zip(found, (drawing.BLUE, drawing.ORANGE), strict=True)):
        axes.bar(
            [n + 0.4 * place for n in range(len(names))],
            [float(value) for value in row[1:]],
            0.4,
            color=hue,
            label=row.way,
        )
    axes.set_xticks([n + 0.2 for n in range(len(names))], names)
    axes.set(title="a word by mailbox [ns]")
    axes.legend()


EXPERIMENT = Experiment(QUESTION, runs, report)
