r"""LogGP figures from the records of messages (guest/bench/logp.c sends them).

The model (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman: LogGP, SPAA 1995): a message of k
bytes takes

    o_send + L + (k - 1) G + o_recv                                                            (1)

from the call of the send to the return of the receive, and a processor may send its next message
no earlier than

    g + (k - 1) G                                                                              (2)

after the previous one. For each size k there is a run of its own, and in it a ping-pong with
blocking calls, whose messages start at all moments of a loop that polls:

    o_send    = send_return - call
    o_recv    = done - max(land, receive_call)   processor time once the message could be seen
    latency   = done - call                      end to end
    L(k)      = latency - o_send - o_recv        = L + (k - 1) G by (1); below 0 where
                                                 the two overlap: the first segment is received
                                                 before the last is sent

and streams of nonblocking sends and receives, each with another number of requests under way (more
make a receiver's queues overflow, or its requests leave its cache):

    gap(k)    = (last - first) / (messages - 1), where the time of a message is its `land` or its
                `deliver`, whichever gives the longer gap, if all messages have it; of the stream
                for which it is the shortest
    bandwidth = k / gap(k)

Each is the mean over the messages measured, since what one message in many pays for (giving back
half a ring, say) is a part of what they cost, and since only means add up to the latency. Beside it
stands its spread, from the least to the greatest of all messages of the ping-pong; of the gap, of
eight parts of the stream. A quantity is *steady* where the first and the second half of what was
measured agree within a tenth.

A stream is limited by

    receiver  where most messages have landed before the one before them was delivered, or where
              gap(k) is no longer than o_recv
    ni        else, where messages take longer by half a gap from `ready` to `land` than in the
              ping-pong: they queue between the two processors
    sender    else

g and G can be seen in streams limited by the network interface only. With the sizes for which that
is so, and which are steady:

    G = (gap(b) - gap(a)) / (b - a)          of the two longest that travel by one mechanism, a < b,
                                             by (2); confirmed by the slope to the next shorter such
                                             size, or by (L(b) - L(a)) / (b - a);
        (L(b) - L(a)) / (b - a)              else, of the shortest and the longest of all, by (1),
                                             if no byte leaves before the send returns; confirmed by
                                             the slope from a size between them;
        gap(b) / (b - 1)                     else, of the longest of all: an upper bound by (2)
    L = L(s) - (s - 1) G                     of the shortest of all, s; L(s), an upper bound, if
                                             s > 1 and G is a bound or another mechanism's
    g = gap(a) - (a - 1) G                   of the shortest that shows it, a; if a > s, only where
                                             the same G explains both latencies, L + (a - 1) G is
                                             within the spread of L(a): else a travels otherwise
                                             than s;
        gap(s)                               else: an upper bound

A slope counts where both sizes travel by one mechanism, it is above 0, the spreads of its two ends
lie apart, and it leaves g and L above 0. It is confirmed by another that differs by less than a
tenth. What the data don't show is no figure: a bound or none, with the reason.

All times are integer picoseconds, means and quotients are exact fractions: on the machine `loggp`
the result is its parameters, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chasqui.errors import InputError
from chasqui.messages import Message

# As in guest/bench/logp.c: the phase is the tag. Streams have this and the next ones.
PING = 1
STREAM = 3
PS_PER_S = 10**12

PARTS = 8  # of a stream, between which the spread of its gap is
STEADY = Fraction(1, 10)  # by so much of the mean may halves differ
AGREE = Fraction(1, 10)  # and by so much of a slope the one that confirms it


@dataclass(frozen=True)
class Sample:
    """A quantity as measured. Times in ps."""

    mean: Fraction
    low: Fraction
    high: Fraction
    halves: tuple[Fraction, Fraction]  # means of the first and the second half

    @property
    def is_steady(self) -> bool:
        first, second = self.halves
        return abs(second - first) <= STEADY * abs(self.mean)

    @classmethod
    def of(cls, values: Sequence[int]) -> Sample:
        middle = len(values) // 2
        return cls(
            _mean(values),
            Fraction(min(values)),
            Fraction(max(values)),
            (_mean(values[: middle or 1]), _mean(values[middle:])),
        )

    @classmethod
    def of_gaps(cls, times: Sequence[int]) -> Sample:
        """The interval between the events of a stream."""
        ordered = sorted(times)
        if len(ordered) < 2:
            raise InputError(f"a stream of {len(ordered)} messages is too short to have a gap")
        last = len(ordered) - 1
        parts = min(PARTS, last)
        cuts = [last * part // parts for part in range(parts + 1)]
        gaps = [_interval(ordered, a, b) for a, b in itertools.pairwise(cuts)]
        middle = cuts[len(cuts) // 2]
        halves = (_interval(ordered, 0, middle), _interval(ordered, middle, last))
        return cls(_interval(ordered, 0, last), min(gaps), max(gaps), halves)


def _mean(values: Sequence[int]) -> Fraction:
    return Fraction(sum(values), len(values))


def _interval(times: Sequence[int], first: int, last: int) -> Fraction:
    return Fraction(times[last] - times[first], last - first) if last > first else Fraction(0)


@dataclass(frozen=True)
class SizeFigures:
    """What was measured with messages of one size."""

    bytes: int
    o_send: Sample
    o_recv: Sample
    latency: Sample
    l: Sample  # noqa: E741 -- the model's name
    gap: Sample
    limited_by: str  # sender, receiver or ni
    mechanisms: frozenset[str]  # by which the messages travelled
    overlaps: bool  # the first byte leaves before the send returns: o_send holds a part of L

    @property
    def bandwidth(self) -> Fraction:
        """Bytes a second."""
        return PS_PER_S * self.bytes / self.gap.mean if self.gap.mean else Fraction(0)

    @property
    def samples(self) -> dict[str, Sample]:
        return {
            "o_send": self.o_send,
            "o_recv": self.o_recv,
            "latency": self.latency,
            "L": self.l,
            "gap": self.gap,
        }

    @property
    def unsteady(self) -> list[str]:
        """What still changed while it was measured."""
        # L is a difference of the others: near 0 its halves differ by a lot of it, and say nothing.
        return [
            name for name, sample in self.samples.items() if name != "L" and not sample.is_steady
        ]


@dataclass(frozen=True)
class Figure:
    """A figure of the machine [ps, or ps a byte]: none, or a bound only, for a reason."""

    value: Fraction | None
    reason: str = ""  # why it is not known exactly

    @property
    def is_bound(self) -> bool:
        """What is shown is an upper bound."""
        return self.value is not None and bool(self.reason)


@dataclass(frozen=True)
class PerByte:
    """G, and the mechanism whose it is."""

    figure: Figure
    mechanisms: frozenset[str] = frozenset()

    def of(self, size: SizeFigures) -> Fraction | None:
        """What the bytes of messages of this size add to one of a byte; none: not known."""
        extra = _extra(size.bytes)
        if not extra:
            return Fraction(0)
        if self.figure.value is None or self.figure.reason or size.mechanisms != self.mechanisms:
            return None
        return extra * self.figure.value


@dataclass(frozen=True)
class Figures:
    """A machine's LogGP figures."""

    l: Figure  # noqa: E741 -- the model's name
    o_send: Sample  # of the shortest messages
    o_recv: Sample
    g: Figure
    g_per_byte: Figure
    sizes: tuple[SizeFigures, ...]

    @property
    def reasons(self) -> dict[str, str]:
        """Why figures are bounds, or not there."""
        named = {"L": self.l, "g": self.g, "G": self.g_per_byte}
        return {name: each.reason for name, each in named.items() if each.reason}


def _extra(size: int) -> int:
    """k - 1: the bytes that cost G each. A message of no bytes counts as one of one byte."""
    return max(size - 1, 0)


def _need(value: int | None, name: str, message: Message) -> int:
    if value is None:
        raise InputError(
            f"message {message.sequence} of rank {message.source} has no {name} stage: "
            "this machine's records don't suffice for LogGP figures"
        )
    return value


def o_send(message: Message) -> int:
    return _need(message.send_return_ps, "send_return", message) - _need(
        message.call_ps, "call", message
    )


def o_recv(message: Message) -> int:
    call = message.wait_call_ps if message.wait_call_ps is not None else message.receive_call_ps
    if call is None:
        call = message.post_ps
    seen = max(_need(call, "receive_call", message), _need(message.land_ps, "land", message))
    return _need(message.done_ps, "done", message) - seen


def latency(message: Message) -> int:
    return _need(message.done_ps, "done", message) - _need(message.call_ps, "call", message)


def flight(message: Message) -> int:
    """L(k): the time that is neither sender's nor receiver's overhead."""
    return latency(message) - o_send(message) - o_recv(message)


def transport(message: Message) -> int:
    """From the request at the network interface to the last byte in the destination node."""
    return _need(message.land_ps, "land", message) - _need(message.ready_ps, "ready", message)


def begins_early(message: Message) -> bool:
    return message.inject_ps is None or message.inject_ps < _need(
        message.send_return_ps, "send_return", message
    )


def is_behind(stream: Sequence[Message]) -> bool:
    """Most messages of a stream wait for the receiver's processor."""
    waits = [
        before.deliver_ps is not None
        and after.land_ps is not None
        and after.land_ps <= before.deliver_ps
        for before, after in itertools.pairwise(stream)
    ]
    return 2 * sum(waits) > len(waits)


def stream_gap(stream: Sequence[Message]) -> Sample:
    """The interval of landing or of delivery, whichever is longer, of those that all messages have:
    TCP brings short messages together, of which only the first lands."""
    stages = (
        [message.land_ps for message in stream],
        [message.deliver_ps for message in stream],
    )
    whole = [[each for each in times if each is not None] for times in stages if None not in times]
    if not whole:
        lost = next(message for message in stream if message.land_ps is None)
        _need(None, "land", lost)
    return max(map(Sample.of_gaps, whole), key=lambda each: each.mean)


def fastest(streams: Iterable[Sequence[Message]]) -> tuple[Sequence[Message], Sample]:
    """The stream with the shortest gap, of those that are steady, if there are any."""
    gaps = [(stream, stream_gap(stream)) for stream in streams]
    return min(gaps, key=lambda each: (not each[1].is_steady, each[1].mean))


def measure_size(size: int, messages: Iterable[Message]) -> SizeFigures:
    """The figures of one size, from a run of guest/bench/logp.c with it."""
    # What belongs to a collective, or has no data, is not ours.
    mine = [message for message in messages if message.bytes == size]
    pings = [message for message in mine if message.tag == PING]
    streams: dict[int, list[Message]] = {}
    for message in mine:
        if message.tag is not None and message.tag >= STREAM:
            streams.setdefault(message.tag, []).append(message)
    if not pings or not streams:
        raise InputError(f"no records of messages of {size} bytes: did the measurement finish?")
    pings.sort(key=lambda message: _need(message.call_ps, "call", message))
    for each in streams.values():
        each.sort(key=lambda message: message.sequence)
    stream, gap = fastest(streams.values())

    def sample(of: Callable[[Message], int]) -> Sample:
        return Sample.of([of(message) for message in pings])

    receive = sample(o_recv)
    if is_behind(stream) or gap.mean <= receive.mean:
        limited_by = "receiver"
    else:
        queued = Sample.of([transport(one) for one in stream if one.land_ps is not None])
        longer = queued.mean - sample(transport).mean
        limited_by = "ni" if 2 * longer > gap.mean else "sender"
    return SizeFigures(
        bytes=size,
        o_send=sample(o_send),
        o_recv=receive,
        latency=sample(latency),
        l=sample(flight),
        gap=gap,
        limited_by=limited_by,
        mechanisms=frozenset(message.mechanism or "" for message in [*pings, *stream]),
        overlaps=any(begins_early(message) for message in pings),
    )


def _slope(a: SizeFigures, b: SizeFigures, of: Callable[[SizeFigures], Sample]) -> Fraction | None:
    """What a byte adds from size a to size b; none if the data don't show it."""
    low, high = of(a), of(b)
    bytes_between = _extra(b.bytes) - _extra(a.bytes)
    if a.mechanisms != b.mechanisms or not bytes_between or high.low <= low.high:
        return None
    slope = (high.mean - low.mean) / bytes_between
    return slope if low.mean >= _extra(a.bytes) * slope else None


def _agree(slope: Fraction | None, other: Fraction | None) -> bool:
    return slope is not None and other is not None and abs(slope - other) <= AGREE * slope


def _slope_of_gaps(limited: Sequence[SizeFigures]) -> tuple[Fraction, SizeFigures] | None:
    """G by (2), and a size that shows it."""
    longest_first = list(reversed(limited))
    for i, (b, a) in enumerate(itertools.pairwise(longest_first)):
        slope = _slope(a, b, _gap_of)
        shorter = longest_first[i + 2] if i + 2 < len(longest_first) else None
        confirming = [_slope(shorter, a, _gap_of)] if shorter is not None else []
        if not (a.overlaps or b.overlaps):
            confirming.append(_slope(a, b, _l_of))
        if slope is not None and any(_agree(slope, other) for other in confirming):
            return slope, b
    return None


def _slope_of_latencies(ordered: Sequence[SizeFigures]) -> tuple[Fraction, SizeFigures] | None:
    """G by (1), and a size that shows it."""
    fit = [each for each in ordered if not (each.unsteady or each.overlaps)]
    if len(fit) < 3 or fit[0] is not ordered[0] or fit[-1] is not ordered[-1]:
        return None
    slope = _slope(fit[0], fit[-1], _l_of)
    between = [_slope(each, fit[-1], _l_of) for each in fit[1:-1]]
    if slope is not None and any(_agree(slope, other) for other in between):
        return slope, fit[-1]
    return None


def _gap_of(size: SizeFigures) -> Sample:
    return size.gap


def _l_of(size: SizeFigures) -> Sample:
    return size.l


def _gap_per_byte(ordered: Sequence[SizeFigures], limited: Sequence[SizeFigures]) -> PerByte:
    """G."""
    longest = ordered[-1]
    if not _extra(longest.bytes):
        return PerByte(Figure(None, "it takes messages of more than a byte"))
    found = _slope_of_gaps(limited) or _slope_of_latencies(ordered)
    if found is not None:
        slope, size = found
        return PerByte(Figure(slope), size.mechanisms)
    if len(limited) < 2:
        count = "one size" if len(limited) == 1 else "no size"
        why = f"the network interface limits the stream of {count}; an exact G takes two"
    else:
        why = "no two gaps that the network interface limits give a slope that others confirm"
    bound = longest.gap.mean / _extra(longest.bytes)
    return PerByte(Figure(bound, f"{why}; this bound is gap / (bytes - 1) of {longest.bytes:,} B"))


def _less_transfer(size: SizeFigures, time: Fraction, per_byte: PerByte) -> Figure:
    """A time without that of the bytes; with it, a bound, if that is not known."""
    transfer = per_byte.of(size)
    if transfer is None or time < transfer:
        return Figure(time, f"it includes the transfer of {size.bytes:,} B")
    return Figure(time - transfer)


def _latency(shortest: SizeFigures, per_byte: PerByte) -> Figure:
    """L."""
    if shortest.l.mean < 0:
        return Figure(None, f"o_send and o_recv of {shortest.bytes:,} B overlap")
    return _less_transfer(shortest, shortest.l.mean, per_byte)


def _gap(
    ordered: Sequence[SizeFigures],
    limited: Sequence[SizeFigures],
    l: Figure,  # noqa: E741
    per_byte: PerByte,
) -> Figure:
    """g."""
    shortest = ordered[0]
    if shortest.unsteady:
        return Figure(shortest.gap.mean, f"the stream of {shortest.bytes:,} B is not steady")
    if not limited:
        why = f"the {shortest.limited_by} limits the stream of {shortest.bytes:,} B"
        return Figure(shortest.gap.mean, why)
    first = limited[0]
    if first is not shortest:
        transfer = per_byte.of(first)
        explained = (
            l.value is not None
            and not l.reason
            and transfer is not None
            and first.l.low <= l.value + transfer <= first.l.high
        )
        if not explained:
            return Figure(
                shortest.gap.mean,
                f"the {shortest.limited_by} limits the stream of {shortest.bytes:,} B, and "
                f"{first.bytes:,} B go another way",
            )
    return _less_transfer(first, first.gap.mean, per_byte)


def summarise(sizes: Sequence[SizeFigures]) -> Figures:
    """L, o, g and G from the figures of all sizes."""
    ordered = sorted(sizes, key=lambda each: each.bytes)
    limited = [each for each in ordered if each.limited_by == "ni" and not each.unsteady]
    per_byte = _gap_per_byte(ordered, limited)
    l = _latency(ordered[0], per_byte)  # noqa: E741
    return Figures(
        l=l,
        o_send=ordered[0].o_send,
        o_recv=ordered[0].o_recv,
        g=_gap(ordered, limited, l, per_byte),
        g_per_byte=per_byte.figure,
        sizes=tuple(ordered),
    )
