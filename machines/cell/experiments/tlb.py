"""cell/tlb: misses and replacements of an MFC's TLB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does it take when an MFC's TLB lacks a page, and when it has lost it to another of its set? \
A line is fetched once and again (8.3.3); then pages of one set, one more than its ways, in \
turn. By the walk in hardware, and with a kernel that gives every translation."""

ENTRIES = 256
WAYS = (1, 4, 16)
SEARCHES = ("hardware", "kernel")
PAGES, PAGES_QUICK = 16, 4


class Row(NamedTuple):
    """The columns of results.csv."""

    translation: str
    ways: int
    hit_ns: Fraction
    miss_penalty_ns: Fraction
    replacement_penalty_ns: Fraction


def name_of(search: str, ways: int) -> str:
    return f"{search}, {ways} ways"


def runs(quick: bool) -> list[Run]:
    pages = PAGES_QUICK if quick else PAGES
    return [
        Run(
            name_of(search, ways),
            "cell",
            1,
            "tlb",
            arguments=[str(ENTRIES), str(ways), str(pages)],
            sets=[
                f"cell.element.mfc.translation={search}",
                f"cell.element.mfc.tlb_ways={ways}",
            ],
        )
        for search in SEARCHES
        for ways in (WAYS[1:2] if quick else WAYS)
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for search in SEARCHES:
        for ways in WAYS:
            if output := outputs.get(name_of(search, ways)):
                cold, warm, replaced = _cell.times_ns(output)
                found.append(Row(search, ways, warm, cold - warm, replaced - warm))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    return [
        f"With translation by {search} a miss takes {float(row.miss_penalty_ns):g} ns, and a "
        f"replacement {float(row.replacement_penalty_ns):g} ns ({row.ways} ways)."
        for search in SEARCHES
        for row in [next(each for each in found if each.translation == search)]
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _cell.report(Row._fields, found, findings(found), draw, size_inches=(6.0, 3.0))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Penalties, by ways."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    for place, row in enumerate(found):
        label = "miss" if place == 0 else None
        axes.bar(place, float(row.miss_penalty_ns), 0.4, color=drawing.BLUE, label=label)
        label = "replacement" if place == 0 else None
        height = float(row.replacement_penalty_ns)
        axes.bar(place + 0.4, height, 0.4, color=drawing.ORANGE, label=label)
    names = [f"{row.translation}, {row.ways}" for row in found]
    axes.set_xticks([n + 0.2 for n in range(len(found))], names)
    drawing.scale_decades(axes)
    axes.set(title="penalty [ns], by translation and ways")
    axes.legend()


EXPERIMENT = Experiment(QUESTION, runs, report)
