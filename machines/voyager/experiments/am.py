"""voyager/am: active messages."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number, table

from ._timing import Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does an active message cost? It names the function that takes it off the network; one OnePoll looks \
for all kinds, and calls it. Short messages go by Express (a word), medium ones by Tag-On (a word and 80 \
bytes, which the handler reads), blocks by DMA to an address that the sender knows. Overheads of sending and \
of receiving (the poll that finds the message and its handler, which adds numbers up), latency one way until \
the handler has run, round trip with a handler that answers in kind, at once (medium: with the data that it got), gap of a stream, bandwidth."""

COLUMNS = (
    "message", "variant", "size_bytes", "o_send_ns", "o_recv_ns", "latency_ns", "round_trip_ns",
    "gap_ns", "bandwidth_MBps",
)  # fmt: skip
MACHINES = ("flush", "reclaim")
KINDS = ("short", "medium", "bulk")
BLOCKS = (256, 1024, 4096, 16384, 65536)
BLOCKS_QUICK = (256, 65536)

Row = tuple[str, str, int, Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]


def runs(quick: bool) -> list[Run]:
    blocks = BLOCKS_QUICK if quick else BLOCKS
    return [
        Run(machine, f"voyager/{machine}", 2, "am", arguments=["20", "24", *map(str, blocks)])
        for machine in MACHINES
    ]


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found: list[Row] = []
    for machine in MACHINES:
        timing = Timing(outputs[machine])
        for kind in KINDS:
            for size in timing.keys(f"{kind}/left"):
                gap = timing.interval(1, f"{kind}/stream", key=size)
                assert gap is not None
                found.append(
                    (
                        kind, machine, size,
                        timing.spent(0, f"{kind}/overhead", size),
                        timing.spent(1, f"{kind}/overhead", size),
                        timing.flight(kind, size),
                        timing.spent(0, f"{kind}/trip", size),
                        gap,
                        size * 1000 / gap,
                    )
                )  # fmt: skip
    return found


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    bus = outputs["flush"].clock_ns("node.bus")
    header = ["message", "variant", "bytes", "o_send", "o_recv", "latency", "round trip", "gap"]
    shown = [
        [kind, variant, f"{size:,}", *(f"{float(time / bus):,.1f}" for time in times),
         *(f"{float(time / 1000):,.3f}" for time in times[2:4]), number(float(rate), 3)]
        for kind, variant, size, *times, rate in found
    ]  # fmt: skip
    text = "Times in bus clocks, latency and round trip also in us.\n" + table(
        [*header, "latency us", "round trip us", "MB/s"], shown, left=(0, 1)
    )
    by_case = {row[:3]: row for row in found}
    short, medium = by_case["short", "flush", 4], by_case["medium", "flush", 84]
    peak = max(found, key=lambda row: row[-1])
    return Report(
        tables=[Table("results", COLUMNS, found)],
        text=text,
        findings=[
            f"A round trip of short messages takes {_us(short[6])} us, of which the processors spend "
            f"{_us(2 * (short[3] + short[4]))} us on sending and receiving.",
            f"84 bytes by Tag-On take {_us(medium[6])} us (flush).",
            f"Peak bandwidth is {float(peak[-1]):,.1f} MB/s, with {peak[0]} messages of {peak[2]:,} "
            f"bytes ({peak[1]}).",
        ],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 4.0),
    )


def _us(time_ns: Fraction) -> str:
    return f"{float(time_ns / 1000):,.2f}"


def draw(figure: Figure, found: list[Row]) -> None:
    """The parts of a one-way latency; bandwidth of blocks."""
    from chasqui.experiment import drawing

    parts, rates = figure.subplots(1, 2, width_ratios=(3, 2))
    small = [row for row in found if row[2] <= 256]
    for at, (*_, o_send, o_recv, latency, _, _, _) in enumerate(small):
        left = 0.0
        spans = (o_send, latency - o_send - o_recv, o_recv)
        colors = (drawing.BLUE, "#bbbbbb", drawing.ORANGE)
        for span, color, name in zip(spans, colors, ("o_send", "L", "o_recv"), strict=True):
            width = float(span) / 1000
            parts.barh(at, width, left=left, color=color)
            parts.text(left + width / 2, at, name, ha="center", va="center", fontsize=7)
            left += width
    parts.set(
        yticks=range(len(small)), yticklabels=[f"{r[0]} {r[1]}, {r[2]} B" for r in small],
        xlabel="one way [us]", title="latency and its parts",
    )  # fmt: skip
    parts.invert_yaxis()
    parts.grid(visible=False, axis="y")
    for variant, dash in (("flush", "-"), ("reclaim", "--")):
        points = [(r[2], float(r[-1])) for r in found if r[:2] == ("bulk", variant)]
        rates.plot(*zip(*points, strict=True), f"o{dash}", color=drawing.BLACK, label=variant)
    rates.set(xlabel="block [bytes]", title="bandwidth of blocks [MB/s]")
    drawing.logarithmic(rates, BLOCKS[0], BLOCKS[-1])
    rates.set_yscale("linear")
    rates.set_ylim(bottom=0)
    drawing.label_ends(rates)


EXPERIMENT = Experiment(QUESTION, runs, report)
