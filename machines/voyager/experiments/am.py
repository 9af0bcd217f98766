"""voyager/am: active messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

from ._timing import ASSUMED, CLOCK_OF_MEMO, STREAM, TRIPS, Timing, draw_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does an active message cost? It names the function that takes it off the network; one OnePoll \
looks for all kinds, and calls it. The poll is as the memo has a PowerPC 604 do it, a load into a \
floating-point register and from there through the cache. Short messages go by Express (a word), \
medium ones by Tag-On (a word and 80 bytes, which the handler reads), blocks by DMA to an address \
that the sender knows. Overheads of sending and of receiving (the poll that finds the message and \
its handler, which adds numbers up), latency one way until the handler has run, round trip with a \
handler that answers in kind, at once (medium: with the data that it got); gap and bandwidth of a \
stream, but of short messages, which overflow without credits."""

MACHINES = ("flush", "reclaim")
KINDS = ("short", "medium", "bulk")
BLOCKS = (256, 1024, 4096, 16384, 65536)
BLOCKS_QUICK = (256, 65536)
COUNTS = (str(TRIPS), str(STREAM))
VARIED = "varied"
SLOWER = "clock"


class Row(NamedTuple):
    """The columns of results.csv."""

    message: str
    variant: str
    size_bytes: int
    o_send_ns: Fraction
    o_recv_ns: Fraction
    latency_ns: Fraction
    round_trip_ns: Fraction
    gap_ns: Fraction | None  # of what does not overflow
    bandwidth_MBps: Fraction | None  # noqa: N815


def runs(quick: bool) -> list[Run]:
    blocks = BLOCKS_QUICK if quick else BLOCKS
    # Packets with twice the overhead, or twice the data, must fit.
    room = ["network.packet_max=160 B"]
    base = Run(VARIED, "voyager/flush", 2, "am", arguments=COUNTS, sets=room)
    return [
        *(
            Run(machine, f"voyager/{machine}", 2, "am", arguments=[*COUNTS, *map(str, blocks)])
            for machine in MACHINES
        ),
        Run(SLOWER, "voyager/flush", 2, "am", arguments=COUNTS, sets=[CLOCK_OF_MEMO]),
        *sensitivity.runs(base, sensitivity.assumptions("voyager", varied(quick))),
    ]


def varied(quick: bool) -> Sequence[str]:
    """Assumptions that short and medium messages may depend on."""
    every = [name for name in ASSUMED if not name.startswith("voyager.dma.")]
    return every[:1] if quick else every


def round_trips(output: Output) -> dict[str, Fraction]:
    timing = Timing(output)
    trips = {kind: timing.keys(f"{kind}/trip") for kind in KINDS[:2]}
    return {
        f"{kind}, {size} bytes": timing.spent(0, f"{kind}/trip", size)
        for kind, (size,) in trips.items()
    }


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found: list[Row] = []
    for machine in MACHINES:
        timing = Timing(outputs[machine])
        for kind in KINDS:
            for size in timing.keys(f"{kind}/left"):
                # Words are sent faster than they are taken. Without credits the miss queue fills,
                # and the longer the stream, the longer its gap.
                gap = None if kind == "short" else timing.interval(1, f"{kind}/stream", key=size)
                found.append(
                    Row(
                        kind, machine, size,
                        timing.spent(0, f"{kind}/overhead", size),
                        timing.spent(1, f"{kind}/overhead", size),
                        timing.flight(kind, size),
                        timing.spent(0, f"{kind}/trip", size),
                        gap,
                        None if gap is None else size * 1000 / gap,
                    )
                )  # fmt: skip
    return found


def at_clock_of_memo(outputs: Mapping[str, Output]) -> Table:
    """The parts of a short and of a medium message with twice the bus's clock."""
    timing = Timing(outputs[SLOWER])
    found = [
        (
            kind, size, timing.spent(0, f"{kind}/overhead", size),
            timing.spent(1, f"{kind}/overhead", size), timing.flight(kind, size),
        )
        for kind in KINDS[:2]
        for size in timing.keys(f"{kind}/left")
    ]  # fmt: skip
    return Table(SLOWER, ["message", "size_bytes", "o_send_ns", "o_recv_ns", "latency_ns"], found)


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    bus = outputs["flush"].clock_ns("node.bus")
    header = ["message", "variant", "bytes", "o_send", "o_recv", "latency", "round trip", "gap"]
    shown = []
    for row in found:
        times = row[3:8]
        clocks = ["-" if time is None else f"{float(time / bus):,.1f}" for time in times]
        us = [f"{float(time / 1000):,.3f}" for time in (row.latency_ns, row.round_trip_ns)]
        rate = "-" if row.bandwidth_MBps is None else number(float(row.bandwidth_MBps), 3)
        shown.append([row.message, row.variant, f"{row.size_bytes:,}", *clocks, *us, rate])
    text = "Times in bus clocks, latency and round trip also in us.\n" + table(
        [*header, "latency us", "round trip us", "MB/s"], shown, left=(0, 1)
    )
    by_case = {row[:3]: row for row in found}
    short, medium = by_case["short", "flush", 4], by_case["medium", "flush", 84]
    peak = max((row for row in found if row.bandwidth_MBps), key=_rate)
    assumed = sensitivity.assumptions("voyager", varied(quick=False))
    slower = at_clock_of_memo(outputs)
    at_2_to_1 = Timing(outputs[SLOWER]).flight("short", 4)
    moved, moved_text, sentence = sensitivity.report([VARIED], assumed, outputs, round_trips)
    return Report(
        tables=[Table("results", Row._fields, found), slower, moved],
        text=f"{text}\n\nChange [%] of round trips, assumptions halved or doubled\n{moved_text}",
        findings=[
            f"A round trip of short messages takes {_us(short.round_trip_ns)} us; sending and "
            f"receiving one takes the processors {_us(short.o_send_ns + short.o_recv_ns)} us.",
            f"A round trip of 84 bytes by Tag-On takes {_us(medium.round_trip_ns)} us (flush).",
            f"Peak bandwidth is {_rate(peak):,.1f} MB/s, with {peak.message} "
            f"messages of {peak.size_bytes:,} bytes ({peak.variant}).",
            f"With twice the bus's clock, as the processor had on which the memo's overheads were "
            f"measured, a short message takes {_us(at_2_to_1)} us one way (three "
            f"times: {_us(short.latency_ns)}).",
            sentence,
        ],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 4.0),
    )


def _rate(row: Row) -> float:
    """[MB/s], where there is one."""
    assert row.bandwidth_MBps is not None
    return float(row.bandwidth_MBps)


def _us(time_ns: Fraction) -> str:
    return f"{float(time_ns / 1000):,.2f}"


def draw(figure: Figure, found: list[Row]) -> None:
    """The parts of a one-way latency; bandwidth of blocks."""
    from chasqui.experiment import drawing

    parts, rates = figure.subplots(1, 2, width_ratios=(3, 2))
    small = [row for row in found if row.size_bytes <= 256]
    draw_parts(parts, [f"{r[0]} {r[1]}, {r[2]} B" for r in small], small)
    parts.set_xlabel("latency, one way [us]")
    looks = (("flush", "-", drawing.BLACK), ("reclaim", "--", drawing.BLUE))
    for variant, dash, color in looks:
        points = [(r.size_bytes, _rate(r)) for r in found if r[:2] == ("bulk", variant)]
        rates.plot(*zip(*points, strict=True), f"o{dash}", color=color, label=variant)
    rates.set(xlabel="block [bytes]", title="bandwidth of blocks [MB/s]")
    drawing.scale_bytes(rates, BLOCKS[0], BLOCKS[-1])
    rates.set_ylim(bottom=0)
    drawing.label_ends(rates)


EXPERIMENT = Experiment(QUESTION, runs, report)
