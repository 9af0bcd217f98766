"""mpinp/latency: half a round trip, and whose time it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity

from ._records import (
    KEPT,
    MACHINES,
    TRIPS,
    TRIPS_QUICK,
    VARIANTS,
    assumed,
    busy_ns,
    each,
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
Is a message faster where the network processor matches it, or where the host does? Half a round \
trip of freshly written data, and for how long hosts, I/O buses, network processors and wire were \
busy with it. Also where pages stay pinned, and the card holds their entries."""

SIZES = (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
SIZES_QUICK = (4,)
SENSITIVE_SIZE = 4


class Row(NamedTuple):
    """The columns of results.csv. Parts overlap: the page says how each is measured."""

    variant: str
    bytes: int
    half_round_trip_ns: Fraction
    np_share: Fraction
    host_ns: Fraction
    pci_ns: Fraction
    np_ns: Fraction
    wire_ns: Fraction


def runs(quick: bool) -> list[Run]:
    trips, sizes = (TRIPS_QUICK, SIZES_QUICK) if quick else (TRIPS, SIZES)
    found = [
        each_run
        for variant in MACHINES
        for each_run in (run_none(variant), *(run(variant, size, trips) for size in sizes))
    ]
    return found + [
        each_run
        for variant in VARIANTS
        if not quick
        for each_run in sensitivity.runs(run(variant, SENSITIVE_SIZE, trips), assumed(variant))
    ]


def row(variant: str, size: int, output: Output, none: Output) -> Row:
    rows = exchanged(output)
    half = interval_ns(rows, "call", "done")
    host = interval_ns(rows, "call", "ready") + interval_ns(rows, "land", "done")
    held = sum(each(output, none, f"ni.io_bus.{who}.held_ps") for who in ("bridge", "card"))
    wire = interval_ns(rows, "inject", "arrive") + each(output, none, "ni.link.busy_ps") / 1000
    busy = busy_ns(output, none)
    return Row(variant, size, half, busy / half, host, Fraction(held) / 1000, busy, wire)


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    return [
        row(variant, size, outputs[name], outputs[none_of(variant)])
        for variant in MACHINES
        for size in SIZES
        if (name := name_of(variant, size)) in outputs
    ]


def figures(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    variant = output.run.name.partition(",")[0]
    return {variant: interval_ns(exchanged(output), "call", "done")}


def finding(found: Sequence[Row]) -> str:
    """Which variant is the faster, by length."""
    halves = {(each.variant, each.bytes): each.half_round_trip_ns for each in found}
    sizes = sorted({each.bytes for each in found})
    ratios = [float(halves["mcp", size] / halves["bip", size]) for size in sizes]
    sooner = [size for size, ratio in zip(sizes, ratios, strict=True) if ratio < 1]
    where = f"shorter from {sooner[0]:,} bytes on" if sooner else "longer at every length"
    kept = ", ".join(
        f"{name} {float(halves[name, size] / halves['mcp', size]):.2f} at {size:,} bytes"
        for name in KEPT
        for size in (sizes[0], sizes[-1])
    )
    return (
        f"Where the network processor matches, half a round trip is {where}: {ratios[0]:.2f} of "
        f"the thin firmware's at {sizes[0]} bytes, {ratios[-1]:.2f} at {sizes[-1]:,}. Of what it "
        f"is where pages are pinned for each message: {kept}."
    )


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    tables = [Table("results", Row._fields, found)]
    text, more = tables[0].text(left=(0,)), []
    bases = [name_of(variant, SENSITIVE_SIZE) for variant in VARIANTS]
    if f"{bases[0]}/as-assumed" in outputs:
        table, changes, sentence = sensitivity.report(bases, assumed("mcp"), outputs, figures)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[finding(found), *more],
        draw=lambda figure: draw(figure, found),
        size_inches=(6.0, 4.0),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Half a round trip, and the network processors' part, over the length."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    colors = {"mcp": drawing.BLUE, "bip": drawing.ORANGE, "nic-tlb": drawing.SKY}
    for variant, color in colors.items():
        mine = [each for each in found if each.variant == variant]
        sizes = [each.bytes for each in mine]
        for name, dash in (("half_round_trip_ns", "-"), ("np_ns", "--")):
            label = variant if dash == "-" else f"{variant}, network processors"
            times = [float(getattr(each, name)) / 1000 for each in mine]
            axes.plot(sizes, times, dash, marker="o", color=color, label=label)
    drawing.scale_bytes(axes, min(each.bytes for each in found), max(each.bytes for each in found))
    drawing.scale_decades(axes)
    axes.set(xlabel="message [bytes]", title="half a round trip [us]")
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
