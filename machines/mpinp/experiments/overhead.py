"""mpinp/overhead: what sending and receiving cost the host, by stores and loads or by DMA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, median, sensitivity, steady

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
From which length on does DMA cost the host less than its own stores and loads, to send and to \
receive? Cycles of the host in MPI calls, waiting left out, of freshly written data, where the \
network processor matches and where the host does."""

TRIPS = 8
SIZES = (8, 64, 128, 256, 512, 1024, 4096, 16384, 32768)
SIZES_QUICK = (8, 512)
PIO_MAX = 4096  # mpinp.control.pio's range
# By the names of runs: the machine, settings, lengths.
FORCED = {
    "mcp, pio": ("mpinp", ["mpinp.control.pio=4 KiB"]),
    "mcp, dma": ("mpinp", ["mpinp.control.pio=8 B"]),
    "bip": ("mpinp/bip", []),
}
LEAST_DMA = 16  # shorter data are stored even so
STORED_MAX = 960  # what a slot of bip's window holds
ASSUMED = (
    "mpinp.pci.posted", "mpinp.pci.burst", "node.bus.address", "node.dram.first_chunk",
    "node.write_buffer.posted",
)  # fmt: skip
SENSITIVE, SENSITIVE_SIZE = ("mcp, pio", "mcp, dma"), 512


class Row(NamedTuple):
    """The columns of results.csv. Nothing receives by pio: what a receive of no bytes costs, and
    the loads."""

    variant: str
    direction: str
    path: str
    bytes: int
    overhead_ns: Fraction


class Spread(NamedTuple):
    """The columns of spread.csv: of those that were measured."""

    variant: str
    direction: str
    path: str
    bytes: int
    least_ns: Fraction
    greatest_ns: Fraction


def name_of(forced: str, size: int) -> str:
    return f"{forced}, {size} bytes"


def words(trips: int, size: int, *, is_thin: bool) -> list[str]:
    """The program's. The thin firmware's receiver answers what it does not store, and the sender
    must have heard of that before it waits: else it would be measured waiting."""
    return [str(trips), str(size), *(["answered"] if is_thin and size > STORED_MAX else [])]


def run(forced: str, size: int) -> Run:
    machine, sets = FORCED[forced]
    arguments = words(TRIPS, size, is_thin=forced == "bip")
    return Run(name_of(forced, size), machine, 2, "overhead", arguments=arguments, sets=sets)


def sizes_of(forced: str, sizes: Sequence[int]) -> list[int]:
    limits = {"mcp, pio": (0, PIO_MAX), "mcp, dma": (LEAST_DMA, SIZES[-1])}
    least, most = limits.get(forced, (0, SIZES[-1]))
    return [size for size in sizes if least <= size <= most]


def runs(quick: bool) -> list[Run]:
    sizes = SIZES_QUICK if quick else SIZES
    found = [run("mcp, pio", 0)]
    found += [run(forced, size) for forced in FORCED for size in sizes_of(forced, sizes)]
    varied = [] if quick else sensitivity.assumptions("mpinp", ASSUMED)
    return found + [
        each
        for forced in SENSITIVE
        if varied
        for each in sensitivity.runs(run(forced, SENSITIVE_SIZE), varied)
    ]


def spent_ns(output: Output, rank: int, what: str) -> list[Fraction]:
    size = int(output.run.arguments[1])
    cycles = steady(output.samples(rank)[what, size])
    return [each * output.clock_ns("node.core") for each in cycles]


def of_both_ns(output: Output) -> Fraction:
    """The sender's and the receiver's medians: a tick of the clock may be in what is measured, or
    in the idle call taken off."""
    times = spent_ns(output, 0, "send"), spent_ns(output, 1, "receive")
    return sum(map(median, times), Fraction(0))


def samples(outputs: Mapping[str, Output]) -> Iterator[tuple[str, str, str, int, list[Fraction]]]:
    """Of each row of the tables."""
    nothing = min(spent_ns(outputs[name_of("mcp, pio", 0)], 1, "receive"))
    for forced in FORCED:
        variant, _, path = forced.partition(", ")
        for size in sizes_of(forced, SIZES):
            if (name := name_of(forced, size)) not in outputs:
                continue
            output = outputs[name]
            goes = path or ("pio" if size <= STORED_MAX else "dma")
            yield variant, "send", goes, size, spent_ns(output, 0, "send")
            if path != "pio":
                yield variant, "receive", "dma", size, spent_ns(output, 1, "receive")
            else:
                loads = [nothing + each for each in spent_ns(output, 1, "load")]
                yield variant, "receive", "pio", size, loads


def crossover(found: Sequence[Row], what: str, one: tuple[str, str], other: tuple[str, str]) -> str:
    """From which length on `one`, variant and path, costs less than `other`."""

    def times(which: tuple[str, str]) -> dict[int, Fraction]:
        mine = [row for row in found if (row.direction, (row.variant, row.path)) == (what, which)]
        return {row.bytes: row.overhead_ns for row in mine}

    ours, theirs = times(one), times(other)
    both = sorted(set(ours) & set(theirs))
    less = [size for size in both if ours[size] < theirs[size]]
    name, rival = (" by ".join(each) for each in (one, other))
    if not both:
        return f"To {what}, {name} and {rival} have no length in common."
    if not less:
        return f"To {what}, {name} costs more than {rival} at every length that both have."
    if less == both:
        return f"To {what}, {name} costs less than {rival} at every length that both have."
    before = max(size for size in both if size < less[0])
    gap = [ours[size] - theirs[size] for size in (before, less[0])]
    meets = before + (less[0] - before) * gap[0] / (gap[0] - gap[1])
    return (
        f"To {what}, {name} costs less than {rival} from some {float(meets):.0f} bytes on (between "
        f"{before:,} and {less[0]:,} on a line)."
    )


def findings(found: Sequence[Row]) -> list[str]:
    return [
        crossover(found, "send", ("mcp", "dma"), ("mcp", "pio")),
        crossover(found, "receive", ("mcp", "dma"), ("mcp", "pio")),
        crossover(found, "send", ("mcp", "dma"), ("bip", "pio")),
        crossover(found, "send", ("mcp", "dma"), ("bip", "dma")),
        crossover(found, "receive", ("mcp", "dma"), ("bip", "dma")),
    ]


def send_ns(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    path = output.run.name.partition("/")[0].split(", ")[1]
    times = spent_ns(output, 0, "send")
    return {f"send by {path}": sum(times, Fraction(0)) / len(times)}


def report(outputs: Mapping[str, Output]) -> Report:
    every = sorted(
        samples(outputs), key=lambda each: (each[0] != "mcp", each[1] != "send", each[2])
    )
    found = [
        Row(variant, direction, path, size, sum(times, Fraction(0)) / len(times))
        for variant, direction, path, size, times in every
    ]
    spread = [
        Spread(variant, direction, path, size, min(times), max(times))
        for variant, direction, path, size, times in every
    ]
    tables = [Table("results", Row._fields, found), Table("spread", Spread._fields, spread)]
    text, more = tables[0].text(left=(0, 1, 2)), []
    bases = [name_of(forced, SENSITIVE_SIZE) for forced in SENSITIVE]
    if f"{bases[0]}/as-assumed" in outputs:
        varied = sensitivity.assumptions("mpinp", ASSUMED)
        table, changes, sentence = sensitivity.report(bases, varied, outputs, send_ns)
        tables.append(table)
        text, more = f"{text}\n\n{changes}", [sentence]
    return Report(
        tables=tables,
        text=text,
        findings=[*findings(found), *more],
        draw=lambda figure: draw(figure, found),
        size_inches=(8.5, 3.8),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Sending, and receiving, over the length."""
    from chasqui.experiment import drawing

    panels = figure.subplots(1, 2)
    hues = {"mcp": drawing.BLUE, "bip": drawing.ORANGE}
    for axes, direction in zip(panels, ("send", "receive"), strict=True):
        mine = [row for row in found if row.direction == direction]
        for variant, path in dict.fromkeys((row.variant, row.path) for row in mine):
            points = [
                (row.bytes, float(row.overhead_ns) / 1000)
                for row in mine
                if (row.variant, row.path) == (variant, path)
            ]
            style = "o--" if path == "pio" else "o-"
            axes.plot(
                *zip(*points, strict=True), style, color=hues[variant], label=f"{variant}, {path}"
            )
        drawing.scale_bytes(axes, SIZES[0], SIZES[-1])
        drawing.scale_decades(axes)
        axes.set(xlabel="message [bytes]", title=f"host, to {direction} [us]")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
