"""mpinp/modern: where to match messages on a node of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import (
    Experiment,
    Output,
    Report,
    Run,
    Table,
    mean,
    sensitivity,
    steady,
)

from . import matching
from ._records import TRIPS, exchanged, interval_ns
from .overhead import of_both_ns, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Where should messages be matched today: on the host, by a core of a DPU, or in a list of tags on \
the card that is bounded, with the host for the rest? Latency, what a message costs the hosts, how \
much of a long one is hidden behind computation, how fast short ones follow each other, and what a \
deep queue costs, on mpinp-modern."""

COLUMNS_OF_MACHINE = ("host", "tags", "dpu")
LATENCY_BYTES, OVERHEAD_BYTES, OVERLAP_BYTES, RATE_BYTES = (8, 960, 4096), (8, 4096), 65536, 8
OVERHEAD_TRIPS, OVERLAP_TRIPS, RATE_TRIPS, BURST = 8, 4, 8, 128
DEPTHS = (1, 4, 16, 64, 256, 1024, 4096)
DEPTHS_QUICK = (1, 64)
CASES = (("posted", "first"), ("posted", "last"), ("posted", "any"), ("unexpected", "last"))
CASES_QUICK = (("posted", "last"),)
# Every assumption of the column that has most of them moves all three.
ASSUMED_OF = "mpinp-modern/tags"
SENSITIVE_DEPTH = 64


class Row(NamedTuple):
    """The columns of results.csv: half round trips by length; what a message costs its hosts, in
    calls to send and to receive it, waiting left out; the part of 64 KiB each way, alone, that a
    computation as long doesn't wait for; and from one message of a burst to the next."""

    column: str
    latency_8_ns: Fraction
    latency_960_ns: Fraction
    latency_4096_ns: Fraction
    overhead_8_ns: Fraction
    overhead_4096_ns: Fraction
    hidden: Fraction
    gap_ns: Fraction


class Depth(NamedTuple):
    """The columns of depth.csv: a message that meets one of so many posted receives, or a receive
    that meets one of so many messages; and who matched it."""

    column: str
    queue: str
    order: str
    depth: int
    latency_ns: Fraction
    matched_by: str


def run(column: str, program: str, *arguments: str) -> Run:
    name = f"{column}, {program}, {' '.join(arguments)}"
    return Run(name, f"mpinp-modern/{column}", 2, program, arguments=list(arguments))


def latency(column: str, size: int) -> Run:
    return run(column, "pingpong", str(TRIPS), str(size))


def overhead(column: str, size: int) -> Run:
    return run(column, "overhead", *words(OVERHEAD_TRIPS, size, is_thin=column != "dpu"))


def overlap(column: str) -> Run:
    return run(column, "overlap", str(OVERLAP_TRIPS), str(OVERLAP_BYTES))


def rate(column: str) -> Run:
    return run(column, "rate", str(RATE_TRIPS), str(RATE_BYTES))


def deep(column: str, queue: str, order: str, depth: int) -> Run:
    return run(column, "matching", queue, order, str(depth), str(matching.TRIPS))


def sensitive(column: str) -> list[Run]:
    """What is varied."""
    return [latency(column, LATENCY_BYTES[0]), deep(column, "posted", "last", SENSITIVE_DEPTH)]


def runs(quick: bool) -> list[Run]:
    cases, depths = (CASES_QUICK, DEPTHS_QUICK) if quick else (CASES, DEPTHS)
    found = []
    for column in COLUMNS_OF_MACHINE:
        found += [latency(column, size) for size in LATENCY_BYTES]
        found += [overhead(column, size) for size in OVERHEAD_BYTES]
        found += [overlap(column), rate(column)]
        found += [deep(column, *case, depth) for case in cases for depth in depths]
    if not quick:
        varied = sensitivity.ranged(ASSUMED_OF)
        for column in COLUMNS_OF_MACHINE:
            for base in sensitive(column):
                found += sensitivity.runs(base, varied)
    return found


def latency_ns(output: Output) -> Fraction:
    return interval_ns(exchanged(output), "call", "done")


def hidden(output: Output) -> Fraction:
    found = output.samples(0)
    alone, computing, both = (
        mean(steady(found[what, OVERLAP_BYTES])) for what in ("alone", "compute", "both")
    )
    return (alone + computing - both) / alone


def gap_ns(output: Output) -> Fraction:
    """By how much a burst takes longer than one message, for each of the others."""
    burst, one = (mean(steady(output.samples(1)[what, RATE_BYTES])) for what in ("burst", "one"))
    return (burst - one) * output.clock_ns("node.core") / (BURST - 1)


def row_of(outputs: Mapping[str, Output], column: str) -> Row:
    latencies = [latency_ns(outputs[latency(column, size).name]) for size in LATENCY_BYTES]
    overheads = [of_both_ns(outputs[overhead(column, size).name]) for size in OVERHEAD_BYTES]
    hides, gap = hidden(outputs[overlap(column).name]), gap_ns(outputs[rate(column).name])
    return Row._make([column, *latencies, *overheads, hides, gap])


def depth_of(column: str, output: Output) -> Depth:
    queue, order, depth = output.run.arguments[:3]
    who = matching.matched_by(matching.measured(output))
    return Depth(column, queue, order, int(depth), matching.latency_ns(output), who)


def deepest(found: Sequence[Depth]) -> str:
    """What depth costs, of the newest of the receives."""
    said = []
    for column in COLUMNS_OF_MACHINE:
        mine = {
            row.depth: row
            for row in found
            if (row.column, row.queue, row.order) == (column, "posted", "last")
        }
        least, most = mine[min(mine)], mine[max(mine)]
        said.append(
            f"{column} {float(least.latency_ns) / 1000:.2f} to {float(most.latency_ns) / 1000:.2f} "
            f"us (matched by the {most.matched_by})"
        )
    return f"At a depth of {max(row.depth for row in found):,} in place of 1: {', '.join(said)}."


def least(found: Sequence[Row], what: str, column: str) -> str:
    """In which column it is least."""
    values = {row.column: getattr(row, column) for row in found}
    best = min(values, key=lambda name: values[name])
    others = ", ".join(
        f"{name} {float(value / values[best]):.2f} times as much"
        for name, value in values.items()
        if name != best
    )
    return f"{what} is least in {best}; {others}."


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row_of(outputs, column) for column in COLUMNS_OF_MACHINE]
    depths = [
        depth_of(column, outputs[name])
        for column in COLUMNS_OF_MACHINE
        for case in CASES
        for depth in DEPTHS
        if (name := deep(column, *case, depth).name) in outputs
    ]
    tables = [Table("results", Row._fields, found), Table("depth", Depth._fields, depths)]
    findings = [
        least(found, "Half a round trip of 8 bytes", "latency_8_ns"),
        least(found, "The cost to the hosts of 8 bytes", "overhead_8_ns"),
        least(found, "The cost to the hosts of 4 KiB", "overhead_4096_ns"),
        least(found, "The time from one message to the next", "gap_ns"),
        "Hidden: " + ", ".join(f"{row.column} {float(100 * row.hidden):.0f} %" for row in found),
        deepest(depths),
    ]
    text = tables[0].text(left=(0,)) + "\n\n" + tables[1].text(left=(0, 1, 2, 5))
    bases = [base.name for column in COLUMNS_OF_MACHINE for base in sensitive(column)]
    if f"{bases[0]}/as-assumed" in outputs:
        varied = sensitivity.ranged(ASSUMED_OF)
        table, changes, sentence = sensitivity.report(bases, varied, outputs, moved)
        tables.append(table)
        text, findings = f"{text}\n\n{changes}", [*findings, sentence]
    return Report(
        tables=tables,
        text=text,
        findings=findings,
        draw=lambda figure: draw(figure, found, depths),
        size_inches=(8.5, 3.6),
    )


def moved(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    column, program = output.run.name.split(", ")[:2]
    if program == "matching":
        return {f"{column} deep": matching.latency_ns(output)}
    return {f"{column} latency": latency_ns(output)}


def draw(figure: Figure, found: Sequence[Row], depths: Sequence[Depth]) -> None:
    """Latency over the depth of posted receives; what a message costs, and the time between two."""
    from chasqui.experiment import drawing

    hues = {"host": drawing.ORANGE, "tags": drawing.GREEN, "dpu": drawing.BLUE}
    panels = figure.subplots(1, 2)
    for column, hue in hues.items():
        mine = [
            (row.depth, float(row.latency_ns) / 1000)
            for row in depths
            if (row.column, row.queue, row.order) == (column, "posted", "last")
        ]
        panels[0].plot(*zip(*mine, strict=True), "o-", color=hue, markersize=3, label=column)
    panels[0].set_xscale("log", base=2)
    drawing.scale_decades(panels[0])
    panels[0].set(xlabel="receives posted", title="message for the newest [us]")
    titles = {"latency_8_ns": "latency", "overhead_8_ns": "hosts", "gap_ns": "gap"}
    for at, row in enumerate(found):
        places = [place + 0.27 * (at - 1) for place in range(len(titles))]
        values = [float(getattr(row, name)) / 1000 for name in titles]
        panels[1].bar(places, values, 0.25, color=hues[row.column])
    panels[1].set_xticks(range(len(titles)), list(titles.values()))
    panels[1].set(title="8 bytes [us]")
    drawing.legend_above(figure, panels, 3)


EXPERIMENT = Experiment(QUESTION, runs, report)
