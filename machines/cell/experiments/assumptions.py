"""cell/assumptions: how much rests on what no source gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui import core
from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity

from . import _cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Most times of cell are assumptions. How much do the results of the other experiments move when \
each is halved and doubled, or taken from the least to the greatest that is plausible? A figure \
moves by ticks of 12.5 ns."""

TRIES = 8
SHOWN = 12  # in the picture
# What is measured: a program's arguments, and what its numbers are called; the others are left.
BASES: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "get by SPE": ("dma", ["spe", "get", "memory", "16", str(TRIES)], ("", "", "16 B")),
    "long get by SPE": ("dma", ["spe", "get", "memory", "16384", str(TRIES)], ("", "", "16 KiB")),
    "get by PPE": ("dma", ["ppe", "get", "memory", "16", str(TRIES)], ("", "", "16 B")),
    "within a store": ("local", ["1024"], ("DMA", "copy")),
    "mailbox, direct": ("mailbox", ["direct", str(TRIES)], ("", "", "round trip")),
    "mailbox, library": ("mailbox", ["library", str(TRIES)], ("", "", "round trip")),
    "TLB": ("tlb", ["256", "4", "4"], ("miss", "hit", "")),
    "rings": ("rings", ["pairs", "6", "8"], ("slowest",)),
}
# The columns of results.csv.
COLUMNS = (
    "parameter",
    "value",
    *(
        f"{name}: {label} [ns]"
        for name, (_, _, labels) in BASES.items()
        for label in labels
        if label
    ),
)
QUICK = ("get by SPE", "mailbox, direct")
VARIED_QUICK = ("cell.eib.snoop", "node.dram.first_chunk")
# No experiment uses it: floating point; what the kernel replaces, and the interconnect; what only
# other machines have.
UNUSED = re.compile(
    r"\.fp_|\.store_64$|node\.(bus|software|network_cache|scheduler|order\.flush)\b"
)


def assumed() -> list[str]:
    """Times of the machine that are assumptions."""
    return [
        each["name"]
        for each in core.parameters("cell")
        if each["source"].startswith("assumption")
        and each["type"].startswith(("duration", "cycles"))
        and not UNUSED.search(each["name"])
    ]


def base(name: str) -> Run:
    program, arguments, _ = BASES[name]
    return Run(name, "cell", 1, program, arguments=arguments)


def runs(quick: bool) -> list[Run]:
    varied = sensitivity.assumptions("cell", VARIED_QUICK if quick else assumed())
    return [
        run for name in (QUICK if quick else BASES) for run in sensitivity.runs(base(name), varied)
    ]


def figures(output: Output) -> dict[str, Fraction]:
    """Of several values under one name, the greatest."""
    name, _, _ = output.run.name.partition("/")
    labels = BASES[name][2]
    times = _cell.times_ns(output)
    if len(labels) == 1:
        times = [max(times)]
    return {
        f"{name}: {label} [ns]": time for label, time in zip(labels, times, strict=True) if label
    }


def report(outputs: Mapping[str, Output]) -> Report:
    bases = [name for name in BASES if f"{name}/as-assumed" in outputs]
    varied = sensitivity.assumptions("cell", assumed())
    table, text, sentence = sensitivity.report(bases, varied, outputs, figures)
    results = Table("results", table.columns, table.rows)
    return Report(
        tables=[results],
        text=text,
        findings=[sentence],
        draw=lambda figure: draw(figure, results),
        size_inches=(7.0, 4.0),
    )


def draw(figure: Figure, results: Table) -> None:
    """What moves a figure most, and how far."""
    from chasqui.experiment import drawing

    reference = results.rows[0][2:]
    most: dict[str, float] = {}
    for name, _, *values in results.rows[1:]:
        pairs = zip(values, reference, strict=True)
        changes = (abs(Fraction(str(v)) / Fraction(str(r)) - 1) for v, r in pairs)
        most[str(name)] = max(most.get(str(name), 0.0), *map(float, changes))
    shown = sorted(most.items(), key=lambda item: item[1])[-SHOWN:]
    axes = figure.subplots()
    axes.barh([name for name, _ in shown], [100 * by for _, by in shown], color=drawing.BLUE)
    axes.set(title="the figure that moves most, by how much [%]")


EXPERIMENT = Experiment(QUESTION, runs, report)
