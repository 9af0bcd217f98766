"""mpinp/np-slowdown: code of the network processor while engines are busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, mean, sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much slower is code of the network processor while DMA engines use the card's memory? \
Instructions of which up to all load a word, with engines busy all the while, against a formula \
from the arbiter's rules; a sender whose worm nobody takes must cost nothing."""

MACHINE = "mpinp/bip"
# A card whose program leaves a worm on the wire must not reset itself here.
SETS = (
    "mpinp.control.image=slowdown",
    "mpinp.shared.host=256 KiB",
    "mpinp.card.unserviced=0 ns",
)
NONE, BLOCKED = "none", "send, blocked"
# Sums of SLOWDOWN_ of slowdown.h.
ENGINES = {
    NONE: 0,
    BLOCKED: 16,
    "to host": 1,
    "from host": 8,
    "send": 2,
    "receive": 4,
    "send + receive": 6,
    "to host + send": 3,
    "to host + receive": 5,
    "from host + receive": 12,
    "to host + send + receive": 7,
    "from host + send + receive": 14,
}
QUICK = (NONE, BLOCKED, "to host", "from host", "receive", "to host + receive")
PIECES = 4  # instructions of which some load
HALF = 2  # of these load
BLOCK_WORDS = 131072 // 4  # SLOWDOWN_BLOCK_BYTES
HOST, SENDER, RECEIVER = range(3)  # SLOWDOWN_ENGINES
SENSITIVE = (NONE, "receive", "to host + receive")
ASSUMED = (
    "mpinp.card.lead", "mpinp.card.flit", "mpinp.pci.latency_timer", "mpinp.pci.write_buffer",
    "mpinp.np.branch_taken",
)  # fmt: skip


class Row(NamedTuple):
    """The columns of results.csv. No slowdown: the processor stops."""

    engines_busy: str
    memory_share: Fraction
    slowdown: Fraction | None


class Expected(NamedTuple):
    """The columns of formula.csv: shares of both accesses of a clock that engines have, the
    formula, and the least and the greatest slowdown of those that were measured."""

    engines_busy: str
    memory_share: Fraction
    first_share: Fraction
    second_share: Fraction
    expected: Fraction | None
    least: Fraction | None
    greatest: Fraction | None


def run(engines: str) -> Run:
    return Run(engines, MACHINE, 2, "slowdown", arguments=[str(ENGINES[engines])], sets=SETS)


def runs(quick: bool) -> list[Run]:
    found = [run(engines) for engines in (QUICK if quick else ENGINES)]
    varied = [] if quick else sensitivity.assumptions(MACHINE, ASSUMED)
    return found + [
        each for engines in SENSITIVE if varied for each in sensitivity.runs(run(engines), varied)
    ]


def is_stopped(output: Output) -> bool:
    """An engine was done before the code was: the processor had no access before."""
    return any(output.samples(0)["idle", 0])


def shares(output: Output) -> tuple[Fraction, Fraction]:
    """Of the first access of a clock, the host's DMA's, and of the second, which both engines of
    the link have. Of two the one that goes first is as fast as alone, and so is the other while it
    is: by the sooner end."""
    ends = output.samples(0)["ends", 0]
    wire = [end for end in (ends[SENDER], ends[RECEIVER]) if end]
    first = Fraction(BLOCK_WORDS, ends[HOST]) if ends[HOST] else Fraction(0)
    second = Fraction(len(wire) * BLOCK_WORDS, min(wire)) if wire else Fraction(0)
    return min(Fraction(1), first), min(Fraction(1), second)


def formula(memory: Fraction, first: Fraction, second: Fraction) -> Fraction | None:
    """Full speed where both accesses of a clock are free, 1/(1 + m) where one is."""
    both, none = (1 - first) * (1 - second), first * second
    rate = both + (1 - both - none) / (1 + memory)
    return 1 / rate if rate else None


def rows_of(engines: str, output: Output, none: Output) -> list[tuple[Row, Expected]]:
    found = []
    for loads in range(PIECES + 1):
        memory = Fraction(loads, PIECES)
        plain = mean(none.samples(0)["clocks", loads])
        slower = [Fraction(each) / plain for each in output.samples(0)["clocks", loads]]
        usual = sum(slower, Fraction(0)) / len(slower)
        stops = is_stopped(output)
        expected = Expected(
            engines,
            memory,
            *shares(output),
            formula(memory, *shares(output)),
            None if stops else min(slower),
            None if stops else max(slower),
        )
        found.append((Row(engines, memory, None if stops else usual), expected))
    return found


def clocks(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move: code of which half loads."""
    engines = output.run.name.partition("/")[0]
    return {f"{engines}, half loads": mean(output.samples(0)["clocks", HALF])}


def findings(found: Sequence[Row], expected: Sequence[Expected]) -> list[str]:
    half = Fraction(HALF, PIECES)
    slower = {row.engines_busy: row.slowdown for row in found if row.memory_share == half}
    texts = [
        f"Code of which half loads, engines busy: {engines}: "
        + (f"{float(slowdown):.2f} times as slow." if slowdown else "it stops.")
        for engines, slowdown in slower.items()
    ]
    off = max(
        (
            (abs(row.slowdown / each.expected - 1), row)
            for row, each in zip(found, expected, strict=True)
            if row.slowdown and each.expected
        ),
        key=lambda pair: pair[0],
    )
    return [
        *texts,
        f"The formula is off by {100 * float(off[0]):.0f} % at most: engines busy "
        f"{off[1].engines_busy}, {100 * float(off[1].memory_share):.0f} % loads.",
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    pairs = [
        pair
        for engines in ENGINES
        if engines in outputs
        for pair in rows_of(engines, outputs[engines], outputs[NONE])
    ]
    found, expected = [row for row, _ in pairs], [each for _, each in pairs]
    tables = [Table("results", Row._fields, found), Table("formula", Expected._fields, expected)]
    text, more = "\n\n".join(table.text(left=(0,)) for table in tables), []
    if f"{NONE}/as-assumed" in outputs:
        varied = sensitivity.assumptions(MACHINE, ASSUMED)
        table, changes, sentence = sensitivity.report(SENSITIVE, varied, outputs, clocks)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[*findings(found, expected), *more],
        draw=lambda figure: draw(figure, pairs),
        size_inches=(7.5, 4.0),
    )


def draw(figure: Figure, pairs: Sequence[tuple[Row, Expected]]) -> None:
    """What was measured, over the share of loads; dashed, the formula."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    hues = (
        drawing.BLUE, drawing.ORANGE, drawing.GREEN, drawing.RED, drawing.SKY, drawing.PURPLE,
        drawing.BLACK, "#777777", "#8b5a00", "#00465e", "#5a2d5a",
    )  # fmt: skip
    names = list(dict.fromkeys(row.engines_busy for row, _ in pairs if row.slowdown))
    for name, color in zip(names, hues, strict=False):
        mine = [pair for pair in pairs if pair[0].engines_busy == name]
        share = [float(row.memory_share) for row, _ in mine]
        slower = [float(row.slowdown or 0) for row, _ in mine]
        formulas = [float(each.expected or 0) for _, each in mine]
        axes.plot(share, slower, "-", marker="o", color=color, label=name)
        axes.plot(share, formulas, "--", color=color, linewidth=0.8, label="_formula")
    drawing.scale_decades(axes)
    axes.set(xlabel="share of loads", title="slowdown, and by the formula (dashed)")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
