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
                                                 (a message by memory that both share lands
                                                 nowhere: it could be seen when it was, at `match`)
    latency   = done - call                      end to end
    L(k)      = latency - o_send - o_recv        = L + (k - 1) G by (1); below 0 where
                                                 the two overlap: the first segment is received
                                                 before the last is sent

and a stream, of the number of requests under way, or of blocking calls, that makes it fastest:

    gap(k)    = (last - first) / (messages - 1), where the time of a message is its `land` or its
                `deliver`, whichever gives the longer gap, if all messages have it
    bandwidth = k / gap(k)

Each is the mean over the messages measured, since what one message in many pays for (giving back
half a ring, say) is a part of what they cost, and since only means add up to the latency. Beside it
stands its spread, from the least to the greatest of all messages of the ping-pong; of the gap, of
eight parts of the stream. A quantity is *steady* where the first and the second half of what was
measured differ by at most a tenth.

What limits a stream is seen by what makes it slower. It is sent twice more: once the sender, once
the receiver does an eighth of the gap more for each message. It is limited by

    sender, receiver  the one by which the gap grows more, if by more than half of what is done more
    ni                else: the processors have time to spare, the network interfaces or the network
                      between them have not

g and G can be seen in streams limited by the network interface only. With the sizes for which that
is so, and which are steady:

    G = (gap(b) - gap(a)) / (b - a)          of the two longest, a < b, by (2); confirmed by the
                                             slope to the next shorter such size, or by
                                             (L(b) - L(a)) / (b - a);
        (L(b) - L(a)) / (b - a)              else, of the shortest and the longest of all, by (1),
                                             if no byte leaves before the send returns; confirmed
                                             where the slopes on both sides of a size between agree;
        gap(b) / (b - 1)                     else, of the longest of all: an upper bound by (2)
    L = L(s) - (s - 1) G                     of the shortest of all, s;
        L(s)                                 an upper bound, if s > 1 and G is a bound or another
                                             mechanism's, or the first byte leaves before the send
                                             returns: o_send then holds a part of the transfer;
        none                                 if s > 1 and it even arrives before: a part of L
    g = gap(a) - (a - 1) G                   of the shortest that shows it, a; if a > s, only where
                                             both travel by one mechanism and L + (a - 1) G is
                                             within the spread of L(a), so that the same G explains
                                             both latencies;
        gap(s)                               else: an upper bound

A slope counts where both sizes travel by one mechanism, it is above 0, the spreads of its two ends
lie apart, and it leaves g and L above 0. It is confirmed by another that differs by at most a
tenth; that difference, for each byte that is taken off, is the uncertainty of g and L, to which
comes that of gap(a), by which its halves differ. With more than a tenth of uncertainty there is the
bound only. What the data don't show is no figure: a bound or none, with the reason.

L is by (1) what the two overheads leave of the latency. A machine on which o_send goes on while the
message is under way has less of it than its wire takes.

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

# As in guest/bench/logp.c: the phase is the tag.
PING = 1
STREAM, SLOW_SENDER, SLOW_RECEIVER = 3, 4, 5
SLOW = Fraction(1, 8)  # of the gap that a slow end does more for each message
PS_PER_S = 10**12

PARTS = 8  # of a stream, between which the spread of its gap is
TENTH = Fraction(1, 10)  # of a figure: what it may be uncertain by


@dataclass(frozen=True)
class Sample:
    """A quantity as measured. Times in ps."""

    mean: Fraction
    low: Fraction
    high: Fraction
    halves: tuple[Fraction, Fraction]  # means of the first and the second half

    @property
    def is_steady(self) -> bool:
        return self.drift <= TENTH * abs(self.mean)

    @property
    def drift(self) -> Fraction:
        """By what its halves differ."""
        first, second = self.halves
        return abs(second - first)

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
    overlaps: bool  # the first byte leaves before the send returns: o_send holds a part of L(k)
    arrives_early: bool  # and it arrives before that

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

    @property
    def sign(self) -> str:
        """Of what is shown; empty for nothing."""
        if self.value is None:
            return ""
        return "<=" if self.is_bound else "="


@dataclass(frozen=True)
class PerByte:
    """G, the mechanism whose it is, and what it is uncertain by."""

    figure: Figure
    mechanisms: frozenset[str] = frozenset()
    error: Fraction = Fraction(0)

    def less(self, size: SizeFigures, time: Sample) -> Fraction | None:
        """A time of messages of this size without what bytes after the first add; none: that is not
        known well enough."""
        extra = _extra(size.bytes)
        if not extra:
            return time.mean
        if self.figure.value is None or self.figure.reason or size.mechanisms != self.mechanisms:
            return None
        rest = time.mean - extra * self.figure.value
        return rest if extra * self.error + time.drift <= TENTH * rest else None


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
    def machine(self) -> dict[str, Figure]:
        """Those that are no means of what was measured, and so may be bounds."""
        return {"L": self.l, "g": self.g, "G": self.g_per_byte}

    @property
    def reasons(self) -> dict[str, str]:
        """Why figures are bounds, or not there."""
        return {name: each.reason for name, each in self.machine.items() if each.reason}


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
    if message.land_ps is None and message.inject_ps is None:  # by memory
        there = _need(message.match_ps, "match", message)
    else:
        there = _need(message.land_ps, "land", message)
    seen = max(_need(call, "receive_call", message), there)
    return _need(message.done_ps, "done", message) - seen


def latency(message: Message) -> int:
    return _need(message.done_ps, "done", message) - _need(message.call_ps, "call", message)


def flight(message: Message) -> int:
    """L(k): the time that is neither sender's nor receiver's overhead."""
    return latency(message) - o_send(message) - o_recv(message)


def is_before_return(stage_ps: int | None, message: Message) -> bool:
    """Whether that stage may come before the send returns: an unknown one may."""
    return stage_ps is None or stage_ps < _need(message.send_return_ps, "send_return", message)


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


def limit(gap: Fraction, slow_sender: Fraction, slow_receiver: Fraction) -> str:
    """What limits the stream with this gap, by the gaps with more to do at one end."""
    grown, end = max((slow_sender - gap, "sender"), (slow_receiver - gap, "receiver"))
    return end if 2 * grown > SLOW * gap else "ni"


def measure_size(size: int, messages: Iterable[Message]) -> SizeFigures:
    """The figures of one size, from a run of guest/bench/logp.c with it."""
    # What belongs to a collective, or has no data, is not ours.
    mine = [message for message in messages if message.bytes == size]

    def phase(tag: int) -> list[Message]:
        found = [message for message in mine if message.tag == tag]
        if not found:
            raise InputError(f"no records of messages of {size} bytes: did the measurement finish?")
        return found

    pings = sorted(phase(PING), key=lambda message: _need(message.call_ps, "call", message))
    streams = [phase(tag) for tag in (STREAM, SLOW_SENDER, SLOW_RECEIVER)]
    gap, *slow = map(stream_gap, streams)

    def sample(of: Callable[[Message], int]) -> Sample:
        return Sample.of([of(message) for message in pings])

    return SizeFigures(
        bytes=size,
        o_send=sample(o_send),
        o_recv=sample(o_recv),
        latency=sample(latency),
        l=sample(flight),
        gap=gap,
        limited_by=limit(gap.mean, *(each.mean for each in slow)),
        mechanisms=frozenset(message.mechanism or "" for message in [*pings, *streams[0]]),
        overlaps=any(is_before_return(message.inject_ps, message) for message in pings),
        arrives_early=any(is_before_return(message.arrive_ps, message) for message in pings),
    )


def _slope(a: SizeFigures, b: SizeFigures, of: Callable[[SizeFigures], Sample]) -> Fraction | None:
    """What a byte adds from size a to size b; none if the data don't show it."""
    low, high = of(a), of(b)
    bytes_between = _extra(b.bytes) - _extra(a.bytes)
    if a.mechanisms != b.mechanisms or not bytes_between or high.low <= low.high:
        return None
    slope = (high.mean - low.mean) / bytes_between
    return slope if low.mean >= _extra(a.bytes) * slope else None


def _confirmed(
    slope: Fraction | None, others: Iterable[Fraction | None]
) -> tuple[Fraction, Fraction] | None:
    """A slope, and by what the one that confirms it best differs."""
    if slope is None:
        return None
    error = min((abs(slope - other) for other in others if other is not None), default=slope)
    return (slope, error) if error <= TENTH * slope else None


def _slope_of_gaps(limited: Sequence[SizeFigures]) -> tuple[Fraction, Fraction] | None:
    """G by (2), and its uncertainty."""
    if len(limited) < 2:
        return None
    *shorter, a, b = limited
    others = [_slope(each, a, _gap_of) for each in shorter[-1:]]
    if not (a.overlaps or b.overlaps):
        others.append(_slope(a, b, _l_of))
    return _confirmed(_slope(a, b, _gap_of), others)


def _slope_of_latencies(ordered: Sequence[SizeFigures]) -> tuple[Fraction, Fraction] | None:
    """G by (1), and its uncertainty."""
    shortest, *between, longest = ordered
    if any(each.unsteady or each.overlaps for each in (shortest, longest)):
        return None
    sides = [
        (_slope(shortest, each, _l_of), _slope(each, longest, _l_of))
        for each in between
        if not (each.unsteady or each.overlaps)
    ]
    agree = [abs(a - b) for a, b in sides if a is not None and b is not None]
    slope = _slope(shortest, longest, _l_of)
    if slope is None or not agree or min(agree) > TENTH * slope:
        return None
    return slope, min(agree)


def _gap_of(size: SizeFigures) -> Sample:
    return size.gap


def _l_of(size: SizeFigures) -> Sample:
    return size.l


def _gap_per_byte(ordered: Sequence[SizeFigures], limited: Sequence[SizeFigures]) -> PerByte:
    """G."""
    longest = ordered[-1]
    if not _extra(longest.bytes):
        return PerByte(Figure(None, "it takes messages of more than a byte"))
    if found := _slope_of_gaps(limited):
        slope, error = found
        return PerByte(Figure(slope), limited[-1].mechanisms, error)
    if len(ordered) > 2 and (found := _slope_of_latencies(ordered)):
        slope, error = found
        return PerByte(Figure(slope), longest.mechanisms, error)
    if len(limited) < 2:
        count = "one size" if len(limited) == 1 else "no size"
        why = f"the network interface limits the stream of {count}; an exact G takes two"
    else:
        why = "the gaps that the network interface limits give no slope that others confirm"
    bound = longest.gap.mean / _extra(longest.bytes)
    return PerByte(Figure(bound, f"{why}; this bound is gap / (bytes - 1) of {longest.bytes:,} B"))


def _latency(shortest: SizeFigures, per_byte: PerByte) -> Figure:
    """L."""
    size = f"{shortest.bytes:,} B"
    if shortest.l.mean < 0:
        return Figure(None, f"o_send and o_recv of {size} overlap")
    if _extra(shortest.bytes) and shortest.arrives_early:
        return Figure(None, f"o_send of {size} holds a part of it")
    if not shortest.latency.is_steady:
        return Figure(shortest.l.high, f"the latency of {size} is not steady")
    rest = per_byte.less(shortest, shortest.l)
    if rest is None or (_extra(shortest.bytes) and shortest.overlaps):
        return Figure(shortest.l.mean, f"it includes the transfer of {size}")
    return Figure(rest)


def _gap(
    ordered: Sequence[SizeFigures],
    limited: Sequence[SizeFigures],
    l: Figure,  # noqa: E741
    per_byte: PerByte,
) -> Figure:
    """g."""
    shortest = ordered[0]
    size = f"{shortest.bytes:,} B"
    if not shortest.gap.is_steady:
        return Figure(shortest.gap.high, f"the stream of {size} is not steady")
    why = f"the {shortest.limited_by} limits the stream of {size}"
    if not limited:
        return Figure(shortest.gap.mean, f"{why}; the network interface limits no stream")
    first = limited[0]
    rest = per_byte.less(first, first.gap)
    if first is shortest:
        if rest is not None:
            return Figure(rest)
        return Figure(shortest.gap.mean, f"it includes the transfer of {size}")
    longer = f"{first.bytes:,} B"
    if first.mechanisms != shortest.mechanisms:
        why += f", and {longer} go by another mechanism"
    elif rest is None:
        why += f", and what the transfer of {longer} takes is not known well enough"
    elif not _explained(first, l, per_byte):
        why += f", and G does not explain what {longer} take longer"
    elif rest > shortest.gap.mean:
        why += f", which is faster than {longer} let one expect"
    else:
        return Figure(rest)
    return Figure(shortest.gap.mean, why)


def _explained(size: SizeFigures, l: Figure, per_byte: PerByte) -> bool:  # noqa: E741
    """The latency of this size is L + (k - 1) G, within its spread."""
    if l.value is None or l.reason or per_byte.figure.value is None:
        return False
    return size.l.low <= l.value + _extra(size.bytes) * per_byte.figure.value <= size.l.high


def summarise(sizes: Sequence[SizeFigures]) -> Figures:
    """L, o, g and G from the figures of all sizes."""
    ordered = sorted(sizes, key=lambda each: each.bytes)
    limited = [each for each in ordered if each.limited_by == "ni" and each.gap.is_steady]
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
