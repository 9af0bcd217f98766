"""mpinp/offload: from which clock of the network processor on it should do the matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import core
from chasqui.experiment import Experiment, Output, Report, Run, Table, mean, sensitivity, steady

from ._records import TRIPS, VARIANTS, exchanged, interval_ns
from .overhead import of_both_ns, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How fast must a network processor be before it pays to have it match? Its clock, and that of its \
memory, from 33 to 800 MHz, and a faster one with a cache on the same memory, against thin \
firmware on the same card: latency, what a message costs the host, and how much of it is hidden \
behind computation."""

CLOCKS = ("33.333333", "66.666667", "133.333333", "266.666667", "533.333333", "800")
CLOCKS_QUICK = ("33.333333", "800")
CACHED = "cached"  # on the slowest memory: the processor of mpinp/cached
CACHED_PROCESSOR = ("mpinp.np.clock_factor", "mpinp.np.instruction_cache")
LATENCY_BYTES, OVERHEAD_BYTES = 4, (8, 4096)
OVERLAP_BYTES, LONG_BYTES = 65536, 40 << 20  # two of these are more than the page table reaches
OVERHEAD_TRIPS, OVERLAP_TRIPS = 8, 4
ASSUMED = (
    "mpinp.card.lead", "mpinp.card.flit", "mpinp.np.branch_taken", "mpinp.np.int_mul",
    "mpinp.np.int_div", "mpinp.pci.posted", "node.dram.first_chunk",
)  # fmt: skip
SENSITIVE = "133.333333"


class Row(NamedTuple):
    """The columns of results.csv. The clock is the processor's. A message costs its hosts what they
    execute in calls to send and to receive it. Hidden is the part of a message each way, alone,
    that a computation as long doesn't wait for."""

    variant: str
    processor: str
    clock_mhz: Fraction
    latency_ns: Fraction
    overhead_8_ns: Fraction
    overhead_4096_ns: Fraction
    hidden: Fraction


class Overlap(NamedTuple):
    """The columns of overlap.csv: a message each way alone, the computation, and both at once."""

    variant: str
    processor: str
    clock_mhz: Fraction
    bytes: int
    alone_ns: Fraction
    computing_ns: Fraction
    both_ns: Fraction
    hidden: Fraction


def sets_of(processor: str) -> Sequence[str]:
    if processor != CACHED:
        return (f"mpinp.card.clock={processor} MHz",)
    every = {each["name"]: each["value"] for each in core.parameters("mpinp/cached")}
    return [f"{name}={every[name]}" for name in CACHED_PROCESSOR]


def kind_of(processor: str) -> str:
    return "cached" if processor == CACHED else "plain"


def mhz_of(processor: str) -> Fraction:
    return Fraction(400, 3) if processor == CACHED else round(Fraction(processor) * 3) / Fraction(3)


def run(variant: str, processor: str, program: str, trips: int, size: int) -> Run:
    name = f"{variant}, {processor}, {program}, {size} bytes"
    arguments = [str(trips), str(size)]
    sets = list(sets_of(processor))
    return Run(name, VARIANTS[variant], 2, program, arguments=arguments, sets=sets)


def latency(variant: str, processor: str) -> Run:
    return run(variant, processor, "pingpong", TRIPS, LATENCY_BYTES)


def overhead(variant: str, processor: str, size: int) -> Run:
    arguments = words(OVERHEAD_TRIPS, size, is_thin=variant == "bip")
    return replace(run(variant, processor, "overhead", OVERHEAD_TRIPS, size), arguments=arguments)


def overlap(variant: str, processor: str, size: int = OVERLAP_BYTES) -> Run:
    return run(variant, processor, "overlap", OVERLAP_TRIPS if size < LONG_BYTES else 1, size)


def runs(quick: bool) -> list[Run]:
    found = []
    for variant in VARIANTS:
        for processor in CLOCKS_QUICK if quick else (*CLOCKS, CACHED):
            found.append(latency(variant, processor))
            found += [overhead(variant, processor, size) for size in OVERHEAD_BYTES]
            found.append(overlap(variant, processor))
        if not quick:
            found.append(overlap(variant, CLOCKS[0], LONG_BYTES))
            varied = sensitivity.assumptions("mpinp", ASSUMED)
            found += sensitivity.runs(latency(variant, SENSITIVE), varied)
    return found


def overlapped(variant: str, processor: str, output: Output) -> Overlap:
    def time_ns(what: str) -> Fraction:
        cycles = steady(output.samples(0)[what, size])
        return mean(cycles) * output.clock_ns("node.core")

    size = int(output.run.arguments[1])
    alone, computing, both = (time_ns(what) for what in ("alone", "compute", "both"))
    hidden = (alone + computing - both) / alone
    return Overlap(
        variant, kind_of(processor), mhz_of(processor), size, alone, computing, both, hidden
    )


def row_of(outputs: Mapping[str, Output], variant: str, processor: str) -> Row:
    def overhead_ns(size: int) -> Fraction:
        return of_both_ns(outputs[overhead(variant, processor, size).name])

    return Row(
        variant,
        kind_of(processor),
        mhz_of(processor),
        latency_ns(outputs[latency(variant, processor).name]),
        overhead_ns(8),
        overhead_ns(4096),
        overlapped(variant, processor, outputs[overlap(variant, processor).name]).hidden,
    )


def latency_ns(output: Output) -> Fraction:
    return interval_ns(exchanged(output), "call", "done")


# What is compared: its name, its column, and whether more is better.
COMPARED = (
    ("latency", "latency_ns", False),
    ("the cost to the hosts of 8 bytes", "overhead_8_ns", False),
    ("the cost to the hosts of 4 KiB", "overhead_4096_ns", False),
    ("what is hidden", "hidden", True),
)


def finding(found: Sequence[Row], name: str, column: str, is_more_better: bool) -> str:
    """From which clock on the card that matches is better than thin firmware at the same clock."""

    def plain(variant: str) -> dict[Fraction, Fraction]:
        mine = [row for row in found if (row.variant, row.processor) == (variant, "plain")]
        return {row.clock_mhz: getattr(row, column) for row in mine}

    ours, theirs = plain("mcp"), plain("bip")
    better = [clock for clock in ours if (ours[clock] > theirs[clock]) == is_more_better]
    if not better:
        return f"In {name} the card that matches is worse than thin firmware at every clock."
    if len(better) == len(ours):
        return f"In {name} the card that matches is better than thin firmware at every clock."
    return (
        f"In {name} the card that matches is better than thin firmware from "
        f"{float(min(better)):.0f} MHz on."
    )


def against_slowest(found: Sequence[Row]) -> str:
    """The same against thin firmware on the slowest card."""
    plain = [row for row in found if row.processor == "plain"]
    thin = next(row for row in plain if row.variant == "bip")
    sooner = [row for row in plain if row.variant == "mcp" and row.latency_ns < thin.latency_ns]
    when = f"from {float(sooner[0].clock_mhz):.0f} MHz on" if sooner else "at no clock"
    return (
        f"Latency below that of thin firmware at {float(thin.clock_mhz):.0f} MHz, "
        f"{float(thin.latency_ns) / 1000:.1f} us, the card that matches has {when}."
    )


def report(outputs: Mapping[str, Output]) -> Report:
    there = [
        (variant, processor)
        for variant in VARIANTS
        for processor in (*CLOCKS, CACHED)
        if overlap(variant, processor).name in outputs
    ]
    found = [row_of(outputs, *each) for each in there]
    long_ones = [(variant, CLOCKS[0], LONG_BYTES) for variant in VARIANTS]
    hidden = [
        overlapped(variant, processor, outputs[overlap(variant, processor, size).name])
        for variant, processor, size in (*((*each, OVERLAP_BYTES) for each in there), *long_ones)
        if overlap(variant, processor, size).name in outputs
    ]
    tables = [Table("results", Row._fields, found), Table("overlap", Overlap._fields, hidden)]
    findings = [*(finding(found, *each) for each in COMPARED), against_slowest(found)]
    text = tables[0].text(left=(0, 1)) + "\n\n" + tables[1].text(left=(0, 1))
    bases = [latency(variant, SENSITIVE).name for variant in VARIANTS]
    if f"{bases[0]}/as-assumed" in outputs:
        varied = sensitivity.assumptions("mpinp", ASSUMED)
        table, changes, sentence = sensitivity.report(bases, varied, outputs, moved)
        tables.append(table)
        text, findings = f"{text}\n\n{changes}", [*findings, sentence]
    return Report(
        tables=tables,
        text=text,
        findings=findings,
        draw=lambda figure: draw(figure, found),
        size_inches=(8.5, 3.4),
    )


def moved(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    return {output.run.name.partition(",")[0]: latency_ns(output)}


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Latency, overhead and overlap over the clock; with a cache as a mark."""
    from chasqui.experiment import drawing

    hues = {"mcp": drawing.BLUE, "bip": drawing.ORANGE}
    columns = {"latency_ns": 1000, "overhead_8_ns": 1000, "overhead_4096_ns": 1000, "hidden": 0.01}
    titles = ("latency, 4 B [us]", "hosts, 8 B [us]", "hosts, 4 KiB [us]", "hidden, 64 KiB [%]")
    panels = figure.subplots(1, len(columns))
    for axes, title, (column, unit) in zip(panels, titles, columns.items(), strict=True):
        for variant, hue in hues.items():
            for processor, style in (("plain", "o-"), ("cached", "s")):
                points = [
                    (float(row.clock_mhz), float(getattr(row, column)) / unit)
                    for row in found
                    if (row.variant, row.processor) == (variant, processor)
                ]
                if points:
                    name = variant if processor == "plain" else f"{variant}, cached"
                    axes.plot(*zip(*points, strict=True), style, color=hue, label=name)
        axes.set_xscale("log", base=2)
        axes.set(xlabel="clock [MHz]", title=title)
        axes.set_ylim(bottom=0)
    drawing.legend_above(figure, panels, 4)


EXPERIMENT = Experiment(QUESTION, runs, report)
