"""voyager/nonresident: queues that the service processor serves, and moving queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import table

from ._timing import ASSUMED, TRIPS, Timing, draw_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a queue cost that is not resident? The service processor's firmware serves it; programs \
are the same, and only times differ: overheads, latency and gap by each mechanism, with the queues \
of neither rank, of the sender, of the receiver or of both served; the time in which a queue is \
moved out of the hardware and back, with messages in it; and after how many messages moving it in \
has paid for itself."""

VARIANTS = ("flush", "reclaim")
# By the key of the program's samples: whose queues are served.
PLACES = ("neither", "sender", "receiver", "both")
RESIDENT, RECEIVER = PLACES[0], PLACES[2]
# What the program calls a mechanism: ours, bytes.
MECHANISMS = {
    "express": ("express", 4),
    "tag-48": ("tag-on-48", 52),
    "basic-8": ("basic", 8),
    "basic-88": ("basic", 88),
}
MOVED = ("express", "basic-8")
# Trips, and messages of a stream: a served Basic queue's come in bursts, which grow.
STREAM = 1366
COUNTS = (str(TRIPS), str(STREAM))
# A turn of a loop that polls a served queue takes some 150 cycles.
FLAGS = ["-DPHASES=1024"]
SYSTEM = ["voyager.sp.system=true"]
# What had to be assumed of the service processor, beside what matters to all messages.
SERVICE = (
    "voyager.sp.retry", "voyager.sp.command", "voyager.sp.miss_slots", "voyager.sp.access_slots",
    "voyager.basic.slots",
)  # fmt: skip
VARIED = "varied"


class Row(NamedTuple):
    """The columns of results.csv."""

    mechanism: str
    variant: str
    size_bytes: int
    served: str
    o_send_ns: Fraction
    o_recv_ns: Fraction
    latency_ns: Fraction
    L_ns: Fraction
    gap_ns: Fraction


class Move(NamedTuple):
    """The columns of moves.csv."""

    mechanism: str
    variant: str
    messages: int
    out_ns: Fraction
    in_ns: Fraction


def runs(quick: bool) -> list[Run]:
    # Packets with twice the overhead, or twice the data, must fit.
    room = [*SYSTEM, "network.packet_max=160 B"]
    base = Run(VARIED, "voyager/flush", 2, "nonresident", FLAGS, COUNTS, room)
    return [
        *(
            Run(variant, f"voyager/{variant}", 2, "nonresident", FLAGS, COUNTS, SYSTEM)
            for variant in VARIANTS
        ),
        *sensitivity.runs(base, sensitivity.assumptions("voyager", varied(quick))),
    ]


def varied(quick: bool) -> Sequence[str]:
    every = [*SERVICE, *(name for name in ASSUMED if not name.startswith("voyager.dma."))]
    return every[:1] if quick else every


def rows(timing: Timing, variant: str) -> list[Row]:
    found = []
    for name, (mechanism, size) in MECHANISMS.items():
        for key, served in enumerate(PLACES):
            o_send = timing.spent(0, f"{name}/overhead", key)
            o_recv = timing.spent(1, f"{name}/overhead", key)
            latency = timing.flight(name, key, ways=[(0, 1)])
            gap = timing.interval(1, f"{name}/stream", key=key)
            assert gap is not None
            rest = latency - o_send - o_recv
            found.append(Row(mechanism, variant, size, served, o_send, o_recv, latency, rest, gap))
    return found


def moves(timing: Timing, variant: str) -> list[Move]:
    return [
        Move(
            MECHANISMS[name][0], variant, messages,
            timing.spent(1, f"{name}/leave", messages),
            timing.spent(1, f"{name}/enter", messages),
        )
        for name in MOVED
        for messages in timing.keys(f"{name}/leave")
    ]  # fmt: skip


def sensitive(output: Output) -> dict[str, Fraction]:
    """Latency with the receiver's queue served, and moving an empty queue out and in."""
    timing = Timing(output)
    latency = {
        f"{row.mechanism}, {row.size_bytes} bytes": row.latency_ns
        for row in rows(timing, "flush")
        if row.served == RECEIVER
    }
    moved = {
        f"moving {move.mechanism}": move.out_ns + move.in_ns
        for move in moves(timing, "flush")
        if move.messages == 0
    }
    return latency | moved


def report(outputs: Mapping[str, Output]) -> Report:
    timings = {variant: Timing(outputs[variant]) for variant in VARIANTS}
    found = [row for variant in VARIANTS for row in rows(timings[variant], variant)]
    moved = [move for variant in VARIANTS for move in moves(timings[variant], variant)]
    results, moves_table = Table("results", Row._fields, found), Table("moves", Move._fields, moved)
    bus = outputs["flush"].clock_ns("node.bus")
    assumed = sensitivity.assumptions("voyager", varied(quick=False))
    changes, changes_text, sentence = sensitivity.report([VARIED], assumed, outputs, sensitive)
    return Report(
        tables=[results, moves_table, changes],
        text=f"Times in bus clocks, latency also in us.\n{_shown(found, bus)}\n\n"
        f"Moving a queue with messages in it\n{moves_table.text(left=(0, 1))}\n\n"
        "Change [%] of latencies with the receiver's queue served, and of moving an empty queue "
        f"out and in; assumptions halved or doubled\n{changes_text}",
        findings=[*_costs(found), *_worth(found, moved), sentence],
        draw=lambda figure: draw(figure, found, moved),
        size_inches=(9.0, 5.6),
    )


def _shown(found: Sequence[Row], bus: Fraction) -> str:
    header = ["mechanism", "variant", "bytes", "served", "o_send", "o_recv", "latency", "L", "gap"]
    lines = []
    for row in found:
        clocks = [f"{float(time / bus):,.1f}" for time in row[4:]]
        lines.append([*map(str, row[:4]), *clocks, _us(row.latency_ns)])
    return table([*header, "latency us"], lines, left=(0, 1, 3))


def _us(time_ns: Fraction) -> str:
    return f"{float(time_ns / 1000):,.2f}"


def _costs(found: Sequence[Row]) -> list[str]:
    """What a served queue of the receiver, and of both, adds to each mechanism (flush)."""
    by_case = {row[:4]: row for row in found}
    sentences = []
    for mechanism, size in MECHANISMS.values():
        cases = [by_case[mechanism, "flush", size, served] for served in PLACES]
        neither, sender, receiver, both = (_us(row.latency_ns) for row in cases)
        gaps = ", ".join(_us(row.gap_ns) for row in cases)
        sentences.append(
            f"{mechanism}, {size} bytes: latency {neither} us; with the queues of the sender "
            f"served {sender}, of the receiver {receiver}, of both {both}; gaps {gaps} us."
        )
    return sentences


def _worth(found: Sequence[Row], moved: Sequence[Move]) -> list[str]:
    """After how many messages a receiver's queue had better been moved in (flush)."""
    latency = {
        (row.mechanism, row.size_bytes, row.served): row.latency_ns
        for row in found
        if row.variant == "flush"
    }
    sentences = []
    for name in MOVED:
        mechanism, size = MECHANISMS[name]
        empty = next(move for move in moved if move[:3] == (mechanism, "flush", 0))
        both = empty.out_ns + empty.in_ns
        saved = latency[mechanism, size, RECEIVER] - latency[mechanism, size, RESIDENT]
        sentences.append(
            f"A receiver's queue of {mechanism} that takes another's place in the hardware "
            f"({_us(empty.out_ns)} us out, {_us(empty.in_ns)} us in) has paid for itself after "
            f"{-(-both // saved)} messages of {size} bytes, each {_us(saved)} us sooner."
        )
    return sentences


def draw(figure: Figure, found: list[Row], moved: list[Move]) -> None:
    """The parts of a latency; gaps; the time of a move."""
    from chasqui.experiment import drawing

    flush = [row for row in found if row.variant == "flush"]
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 2))
    latency = figure.add_subplot(grid[:, 0])
    draw_parts(
        latency, [f"{row.mechanism} {row.size_bytes} B, {row.served}" for row in flush], flush
    )
    latency.set_xlabel("latency [us], by whose queues are served")
    gaps, times = (figure.add_subplot(grid[row, 1]) for row in range(2))
    for (mechanism, size), color in zip(
        MECHANISMS.values(), (drawing.BLUE, drawing.GREEN, drawing.ORANGE, drawing.RED), strict=True
    ):
        points = [
            float(row.gap_ns) / 1000 for row in flush if row[0] == mechanism and row[2] == size
        ]
        gaps.plot(range(len(PLACES)), points, "o-", color=color, label=f"{mechanism} {size} B")
    gaps.set(
        xticks=range(len(PLACES)), xticklabels=PLACES, title="gap [us], by whose queues are served"
    )
    for mechanism, color in (("express", drawing.BLUE), ("basic", drawing.ORANGE)):
        for direction, dash in (("out", "-"), ("in", "--")):
            line = [
                (move.messages, float(getattr(move, f"{direction}_ns")) / 1000)
                for move in moved
                if move[:2] == (mechanism, "flush")
            ]
            times.plot(
                *zip(*line, strict=True), f"o{dash}", color=color, label=f"{mechanism}, {direction}"
            )
    times.set(xlabel="messages in the queue", title="moving a queue [us]")
    for axes in (gaps, times):
        axes.set_ylim(bottom=0)
    drawing.label_ends(gaps, times)


EXPERIMENT = Experiment(QUESTION, runs, report)
