"""What the samples of programs over measure.h say, in ns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from chasqui.experiment import Output, mean, mean_interval, steady

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What had to be assumed, and matters to messages.
ASSUMED = (
    "voyager.nes.pointer_access", "voyager.nes.sram_access", "voyager.nes.transmit",
    "voyager.nes.receive", "voyager.nes.packet_overhead", "voyager.dma.setup",
    "voyager.dma.packet_data", "node.core.load", "node.l2.latency", "node.write_buffer.posted",
    "node.bus.address", "node.bus.intervention", "node.dram.next_chunk", "network.link_latency",
    "network.routing_delay",
)  # fmt: skip
# Twice the bus's, as of the processor that the memo's overheads were measured on; voyager has 3:1.
CLOCK_OF_MEMO = "node.core.clock=100 MHz"
BOTH_WAYS = ((0, 1), (1, 0))
# Trips there and back of which 64 and 32 are left without the first quarter, and messages of a
# stream with 64 intervals: whole numbers of the 4, 16 and 32 messages after which, on voyager, room
# is asked for and credits are returned; of a stream of blocks 16. The queues of voyager-modern are
# longer: what their credits cost is in one interval of 128, and in no window.
TRIPS, TRIPS_FEW = 85, 42
STREAM = 86
WINDOW = 16


class Timing:
    """The samples of a run's ranks. Means of what came after the first quarter: what one message in
    4, 16 or 32 pays, as asking for the queue's room, is a part of what each costs."""

    def __init__(self, output: Output) -> None:
        self.cycle = output.clock_ns("node.core")
        self.ranks = [output.samples(rank) for rank in range(output.run.ranks)]
        self.clock = self.ranks[0]["clock", 0][0]  # cycles that reading the clock adds

    def keys(self, name: str) -> list[int]:
        """The keys under which rank 0 printed samples of this name, in its order."""
        return [key for each, key in self.ranks[0] if each == name]

    def spent(self, rank: int, name: str, key: int) -> Fraction:
        """A duration that one rank measured."""
        return self.cycle * (mean(steady(self.ranks[rank][name, key])) - self.clock)

    def flight(self, name: str, key: int, ways: Iterable[tuple[int, int]] = BOTH_WAYS) -> Fraction:
        """From NAME/left on one rank to NAME/came on another."""
        flights: list[int] = []
        for source, destination in ways:
            left = self.ranks[source][f"{name}/left", key]
            came = self.ranks[destination][f"{name}/came", key]
            each = [end - start - self.clock for start, end in zip(left, came, strict=True)]
            flights += steady(each)
        return self.cycle * mean(flights)

    def interval(self, rank: int, *names: str, key: int) -> Fraction | None:
        """Mean time between the events that were printed under these names together."""
        moments = sorted(moment for name in names for moment in self.ranks[rank][name, key])
        if not moments:
            return None
        assert len(steady(moments)) % WINDOW == 1, "a part of a period would weigh too much"
        return self.cycle * mean_interval(moments)

    def interval_of_both(self, rank: int, one: str, other: str, key: int) -> Fraction | None:
        """The same of two threads, from when the later one has begun until the earlier one ends."""
        streams = [self.ranks[rank].get((name, key), []) for name in (one, other)]
        if not all(streams):
            return None
        begin, end = max(min(each) for each in streams), min(max(each) for each in streams)
        moments = sorted(at for each in streams for at in each if begin <= at <= end)
        return self.cycle * mean_interval(moments)


class Latency(Protocol):
    """A row with a latency and the overheads in it."""

    @property
    def o_send_ns(self) -> Fraction: ...
    @property
    def o_recv_ns(self) -> Fraction: ...
    @property
    def latency_ns(self) -> Fraction: ...


def draw_parts(axes: Axes, names: Sequence[str], rows: Sequence[Latency]) -> None:
    """A bar for each row's latency, of o_send, L and o_recv [us]."""
    from chasqui.experiment import drawing

    colors = {"o_send": drawing.BLUE, "L": "#bbbbbb", "o_recv": drawing.ORANGE}
    for at, row in enumerate(rows):
        left = 0.0
        rest = row.latency_ns - row.o_send_ns - row.o_recv_ns
        spans = (row.o_send_ns, rest, row.o_recv_ns)
        for span, (name, color) in zip(spans, colors.items(), strict=True):
            width = float(span) / 1000
            axes.barh(at, width, left=left, color=color, label=name if at == 0 else None)
            left += width
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    axes.set(yticks=range(len(rows)), yticklabels=names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
