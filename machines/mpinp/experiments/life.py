"""mpinp/life: stage by stage, the life of a small message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity

from ._records import (
    TRIPS,
    TRIPS_QUICK,
    VARIANTS,
    assumed,
    exchanged,
    interval_ns,
    name_of,
    none_of,
    run,
    run_none,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Where is a small message, and for how long? The stages of its life where the network processor \
matches and where the host does, when its card is busy with the message before and when it is \
idle, and what the firmware's functions take."""

SIZE = 4
IDLE = 20000  # turns of the program's loop before it sends
CARDS = {"busy": 0, "idle": IDLE}
# `match` is where the message meets its receive: on the card, or, behind `land`, on the host.
STAGES = {
    "mcp": ("call", "ready", "accept", "inject", "arrive", "match", "land", "deliver", "done"),
    "bip": ("call", "ready", "accept", "inject", "arrive", "land", "match", "deliver", "done"),
}
# Parts of it whose times assumptions move: until it is on the wire, and from there.
PARTS = {"sent": ("call", "inject"), "received": ("arrive", "done")}
LEAST_SHARE = Fraction(1, 100)  # of the network processors' time: functions with less are left out


class Row(NamedTuple):
    """The columns of results.csv: from a stage to the next."""

    variant: str
    card: str
    stage: str
    until: str
    begins_ns: Fraction
    takes_ns: Fraction


class Function(NamedTuple):
    """The columns of functions.csv: a function of the firmware, without those that it calls; for a
    message and what follows from it, on both nodes."""

    variant: str
    function: str
    np_ns: Fraction


def runs(quick: bool) -> list[Run]:
    trips = TRIPS_QUICK if quick else TRIPS
    found = []
    for variant in VARIANTS:
        found.append(run_none(variant, profile=True))
        found += [run(variant, SIZE, trips, pause=pause, profile=True) for pause in CARDS.values()]
        if not quick:
            found += sensitivity.runs(run(variant, SIZE, trips, pause=IDLE), assumed(variant))
    return found


def rows(variant: str, card: str, output: Output) -> list[Row]:
    records = exchanged(output)
    stages = STAGES[variant]
    return [
        Row(
            variant, card, begin, end,
            interval_ns(records, stages[0], begin), interval_ns(records, begin, end),
        )
        for begin, end in pairwise(stages)
    ]  # fmt: skip


def cycles(output: Output) -> dict[str, int]:
    """The network processors' cycles by function."""
    found: dict[str, int] = defaultdict(int)
    for line in (output.directory / "profile.folded").read_text().splitlines():
        path, _, count = line.rpartition(" ")
        who, *names = path.split(";")
        if who.startswith("network processor") and names[-1] != "[uncached]":
            found[[name for name in names if name[0] != "["][-1]] += int(count)
    return found


def functions(variant: str, output: Output, none: Output) -> list[Function]:
    before, after = cycles(none), cycles(output)
    each = output.clock_ns("mpinp.card") / (2 * int(output.run.arguments[0]))
    more = {name: (count - before.get(name, 0)) * each for name, count in after.items()}
    least = LEAST_SHARE * sum(more.values())
    ordered = sorted(more.items(), key=lambda item: (-item[1], item[0]))
    return [Function(variant, name, ns) for name, ns in ordered if ns >= least]


def figures(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    variant, records = output.run.name.partition(",")[0], exchanged(output)
    return {f"{variant}, {part}": interval_ns(records, *stages) for part, stages in PARTS.items()}


def finding(found: Sequence[Row], variant: str, card: str) -> str:
    mine = [row for row in found if (row.variant, row.card) == (variant, card)]
    longest = max(mine, key=lambda row: row.takes_ns)
    whole = mine[-1].begins_ns + mine[-1].takes_ns
    return (
        f"{variant}, card {card}: of {float(whole) / 1000:.1f} us the longest stage, from "
        f"{longest.stage} to {longest.until}, takes {float(longest.takes_ns) / 1000:.1f}."
    )


def report(outputs: Mapping[str, Output]) -> Report:
    found: list[Row] = []
    spent: list[Function] = []
    for variant in VARIANTS:
        for card, pause in CARDS.items():
            found += rows(variant, card, outputs[name_of(variant, SIZE, pause)])
        output = outputs[name_of(variant, SIZE)]
        spent += functions(variant, output, outputs[none_of(variant)])
    results = Table("results", Row._fields, found)
    by_function = Table("functions", Function._fields, spent)
    tables, more = [results, by_function], []
    text = results.text(left=(0, 1, 2, 3)) + "\n\n" + by_function.text(left=(0, 1))
    bases = [name_of(variant, SIZE, IDLE) for variant in VARIANTS]
    if f"{bases[0]}/as-assumed" in outputs:
        table, changes, sentence = sensitivity.report(bases, assumed("mcp"), outputs, figures)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[*(finding(found, each, card) for each in VARIANTS for card in CARDS), *more],
        draw=lambda figure: draw(figure, found),
        size_inches=(7.5, 3.0),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """A bar for each variant, of its stages."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    hues = (
        drawing.GREEN, drawing.SKY, drawing.BLUE, drawing.BLACK,
        drawing.RED, drawing.ORANGE, drawing.PURPLE, "#bbbbbb",
    )  # fmt: skip
    colors = dict(zip(STAGES["mcp"], hues, strict=False))
    names = [(variant, card) for variant in VARIANTS for card in CARDS]
    for at, name in enumerate(names):
        mine = [row for row in found if (row.variant, row.card) == name]
        for row in mine:
            left, width = float(row.begins_ns) / 1000, float(row.takes_ns) / 1000
            label = f"from {row.stage}" if at == 0 else None
            axes.barh(at, width, left=left, color=colors[row.stage], label=label)
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    axes.set(
        yticks=range(len(names)), yticklabels=[f"{v}, card {c}" for v, c in names], xlabel="[us]"
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


EXPERIMENT = Experiment(QUESTION, runs, report)
