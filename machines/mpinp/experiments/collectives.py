"""mpinp/collectives: between the cards, or by messages of the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, mean, sensitivity, steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Are collectives faster between the cards, which each host asks by one request, than by messages \
that hosts send in rounds? From a common beginning until the last rank has returned, of 2 to 64 \
ranks, one a node."""

# By their names: the machine, settings, and cycles a level that no collective takes.
VARIANTS = {
    "nic": ("mpinp", [], 60_000),
    "host": ("mpinp", ["mpinp.control.collectives=false"], 80_000),
    "host, bip": ("mpinp/bip", ["mpinp.shared.host=256 KiB"], 60_000),
}
RANKS, RANKS_QUICK = (2, 4, 8, 16, 32, 64), (2,)
# The thin firmware's rings of as many peers take twice the memory.
MORE = {("host, bip", 64): ["mpinp.shared.host=512 KiB"]}
TRIPS = 4
# Each with the lengths of its data.
OPERATIONS = {
    "barrier": (0,),
    "broadcast": (8, 128),
    "sum-of-reals": (8, 128),
    "sum-of-integers": (8, 128),
    "reduction": (8, 128),
    "gather": (8, 128),
    "scatter": (8, 128),
}
ASSUMED = ("mpinp.card.lead", "mpinp.np.branch_taken", "mpinp.np.int_mul", "mpinp.np.int_div")
SENSITIVE, SENSITIVE_RANKS = ("nic", "host"), 4


class Row(NamedTuple):
    """The columns of results.csv. Of a sum, a reduction to rank 0 of reals, a gather and a
    scatter bytes are those of a rank."""

    variant: str
    operation: str
    bytes: int
    ranks: int
    latency_ns: Fraction


def name_of(variant: str, ranks: int) -> str:
    return f"{variant}, {ranks} ranks"


def run(variant: str, ranks: int) -> Run:
    machine, sets, period = VARIANTS[variant]
    arguments = [str(TRIPS), str(period * (ranks.bit_length()))]
    return Run(
        name_of(variant, ranks), machine, ranks, "collectives",
        arguments=arguments, sets=MORE.get((variant, ranks), sets),
    )  # fmt: skip


def assumed() -> list[sensitivity.Assumption]:
    return sensitivity.assumptions("mpinp", ASSUMED)


def runs(quick: bool) -> list[Run]:
    found = [
        run(variant, ranks) for variant in VARIANTS for ranks in (RANKS_QUICK if quick else RANKS)
    ]
    return found + [
        each
        for variant in SENSITIVE
        if not quick
        for each in sensitivity.runs(run(variant, SENSITIVE_RANKS), assumed())
    ]


def latency_ns(output: Output, operation: str, size: int) -> Fraction:
    cycles = steady(output.samples(0)[operation, size])
    return mean(cycles) * output.clock_ns("node.core")


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    return [
        Row(variant, operation, size, ranks, latency_ns(outputs[name], operation, size))
        for operation, sizes in OPERATIONS.items()
        for size in sizes
        for variant in VARIANTS
        for ranks in RANKS
        if (name := name_of(variant, ranks)) in outputs
    ]


def finding(found: Sequence[Row], operation: str, size: int) -> str:
    """How long it takes between cards, of the hosts' time by the same firmware."""
    times = {
        (row.variant, row.ranks): row.latency_ns
        for row in found
        if (row.operation, row.bytes) == (operation, size)
    }
    ranks = sorted({count for _, count in times})
    shares = {count: float(times["nic", count] / times["host", count]) for count in ranks}
    ends = [
        f"{shares[count]:.2f} of the hosts' time at {count} ranks"
        for count in dict.fromkeys((ranks[0], ranks[-1]))
    ]
    what = f"{operation.replace('-', ' ')} of {size} bytes" if size else operation
    return f"A {what} between cards takes {', '.join(ends)}."


def figures(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    variant = output.run.name.partition(",")[0]
    return {
        f"barrier by {variant}": latency_ns(output, "barrier", 0),
        f"sum by {variant}": latency_ns(output, "sum-of-reals", 128),
    }


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    tables = [Table("results", Row._fields, found)]
    text, more = tables[0].text(left=(0, 1)), []
    bases = [name_of(variant, SENSITIVE_RANKS) for variant in SENSITIVE]
    if f"{bases[0]}/as-assumed" in outputs:
        table, changes, sentence = sensitivity.report(bases, assumed(), outputs, figures)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[
            *(
                finding(found, operation, size)
                for operation, sizes in OPERATIONS.items()
                for size in sizes
            ),
            *more,
        ],
        draw=lambda figure: draw(figure, found),
        size_inches=(8.5, 3.8),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """A barrier, and sums, over the ranks."""
    from chasqui.experiment import drawing

    panels = figure.subplots(1, 2)
    hues = {"nic": drawing.BLUE, "host": drawing.SKY, "host, bip": drawing.ORANGE}
    shown = (("barrier", 0), ("sum-of-reals", 128))
    for axes, (operation, size) in zip(panels, shown, strict=True):
        for variant, color in hues.items():
            points = [
                (row.ranks, float(row.latency_ns) / 1000)
                for row in found
                if (row.variant, row.operation, row.bytes) == (variant, operation, size)
            ]
            axes.plot(*zip(*points, strict=True), "o-", color=color, label=variant)
        axes.set_xscale("log", base=2)
        counts = sorted({row.ranks for row in found})
        axes.set_xticks(counts, [str(count) for count in counts])
        drawing.scale_decades(axes)
        what = f"{operation.replace('-', ' ')}, {size} bytes" if size else operation
        axes.set(xlabel="ranks", title=f"{what} [us]")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
