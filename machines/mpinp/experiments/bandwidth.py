"""mpinp/bandwidth: of messages one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity

from ._records import KEPT, assumed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much data a second move where the network processor matches, with four pages or one in an \
entry of the page table, with pages that stay pinned, and where it only moves them? Messages one \
behind the other, two under way, from 4 KB to 8 MB."""

VARIANTS = {"mcp": "mpinp", "one-page": "mpinp/one-page", "bip": "mpinp/bip", **KEPT}
# Messages by their length: the first interval is left out.
SIZES = {4096: 24, 16384: 16, 65536: 10, 262144: 6, 1048576: 4, 8388608: 3}
SIZES_QUICK = (4096, 65536)
SENSITIVE, SENSITIVE_SIZE = ("mcp", "bip"), 65536


class Row(NamedTuple):
    """The columns of results.csv. MB are 10^6 bytes."""

    variant: str
    bytes: int
    bandwidth_MBps: Fraction  # noqa: N815 -- of the unit


class Spread(NamedTuple):
    """The columns of spread.csv: of single messages."""

    variant: str
    bytes: int
    least_MBps: Fraction  # noqa: N815
    greatest_MBps: Fraction  # noqa: N815


def name_of(variant: str, size: int) -> str:
    return f"{variant}, {size} bytes"


def run(variant: str, size: int) -> Run:
    arguments = [str(SIZES[size]), str(size)]
    return Run(name_of(variant, size), VARIANTS[variant], 2, "stream", arguments=arguments)


def runs(quick: bool) -> list[Run]:
    sizes = SIZES_QUICK if quick else SIZES
    found = [run(variant, size) for variant in VARIANTS for size in sizes]
    return found + [
        each
        for variant in SENSITIVE
        if not quick
        for each in sensitivity.runs(run(variant, SENSITIVE_SIZE), assumed(variant))
    ]


def bandwidths(output: Output) -> list[Fraction]:
    """Of each message but the first two."""
    size = int(output.run.arguments[1])
    done, clock_ns = output.samples(1)["done", size][1:], output.clock_ns("node.core")
    return [1000 * size / ((after - before) * clock_ns) for before, after in pairwise(done)]


def bandwidth(output: Output) -> Fraction:
    each = bandwidths(output)
    return len(each) / sum((1 / one for one in each), Fraction(0))


def figures(output: Output) -> Mapping[str, Fraction]:
    return {output.run.name.partition(",")[0]: bandwidth(output)}


def findings(found: Sequence[Row]) -> list[str]:
    moved = {(row.variant, row.bytes): float(row.bandwidth_MBps) for row in found}
    sizes = sorted({row.bytes for row in found})
    sooner = [size for size in sizes if moved["mcp", size] > moved["bip", size]]
    where = f"from {sooner[0]:,} bytes on" if sooner else "at no length"
    most = sizes[-1]
    kept = sizes[-2]
    return [
        f"Where the network processor matches more data a second move than by the thin firmware "
        f"{where}.",
        f"At {most:,} bytes: {moved['mcp', most]:.1f} MB/s with four pages in an entry, "
        f"{moved['one-page', most]:.1f} with one, {moved['bip', most]:.1f} by the thin firmware.",
        f"At {kept:,} bytes, with pages that stay pinned: {moved['pin-cache', kept]:.1f} MB/s, and "
        f"{moved['nic-tlb', kept]:.1f} where the card holds their entries; pinned for each message "
        f"{moved['mcp', kept]:.1f}.",
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    every = [
        (variant, size, outputs[name])
        for variant in VARIANTS
        for size in SIZES
        if (name := name_of(variant, size)) in outputs
    ]
    found = [Row(variant, size, bandwidth(output)) for variant, size, output in every]
    spread = [
        Spread(variant, size, min(bandwidths(output)), max(bandwidths(output)))
        for variant, size, output in every
    ]
    tables = [Table("results", Row._fields, found), Table("spread", Spread._fields, spread)]
    text, more = "\n\n".join(table.text(left=(0,)) for table in tables), []
    bases = [name_of(variant, SENSITIVE_SIZE) for variant in SENSITIVE]
    if f"{bases[0]}/as-assumed" in outputs:
        table, changes, sentence = sensitivity.report(bases, assumed("mcp"), outputs, figures)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[*findings(found), *more],
        draw=lambda figure: draw(figure, found),
        size_inches=(6.0, 3.6),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Over the length."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    hues = {
        "mcp": drawing.BLUE,
        "one-page": drawing.SKY,
        "bip": drawing.ORANGE,
        "nic-tlb": drawing.GREEN,
    }
    for variant, color in hues.items():
        mine = [row for row in found if row.variant == variant]
        moved = [float(row.bandwidth_MBps) for row in mine]
        axes.plot([row.bytes for row in mine], moved, "o-", color=color, label=variant)
    drawing.scale_bytes(axes, min(row.bytes for row in found), max(row.bytes for row in found))
    axes.set(xlabel="message [bytes]", title="bandwidth [MB/s]")
    axes.set_ylim(0)
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
