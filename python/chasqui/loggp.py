r"""LogGP figures from the records of messages (guest/bench/logp.c sends them).

The model (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman: LogGP, SPAA 1995): a message of k
bytes takes

    o_send + L + (k - 1) G + o_recv                                                            (1)

from the call of the send to the return of the receive, and a processor may send its next message
no earlier than

    g + (k - 1) G                                                                              (2)

after the previous one. From the records of a ping-pong with blocking calls, for each size k:

    o_send    = send_return - call
    o_recv    = done - max(land, receive_call)   processor time once the message could be seen
    latency   = done - call                  end to end
    L(k)      = latency - o_send - o_recv    = L + (k - 1) G by (1); below 0 where
                                             the two overlap: the first segment is received before
                                             the last is sent

each the median over all messages (one that occurs: no mean of two). From a stream of non-blocking
sends, whose receives are all posted beforehand:

    gap(k)    = (last - first) / (messages - 1) over the second half of the stream, where the time
                of a message is its `land` or its `deliver`, whichever gives the longer gap
    bandwidth = k / gap(k)

A stream is *limited by the processor* where gap(k) is no longer than what the sender's processor
needs for a message, o + its own instructions between two calls, or the receiver's: o_recv, or,
where most messages have landed before the one before them was delivered, the interval of
deliveries. There g can't be seen. Hence, with the sizes whose stream is limited by the network
interface:

    G = (gap(b) - gap(a)) / (b - a)          of the two longest, a < b, by (2); with fewer than
                                             two: (L(b) - L(a)) / (b - a) of the shortest and the
                                             longest of all, by (1). If one of these L is below 0,
                                             gap(b) / (b - 1), an upper bound (g_per_byte_hidden)
    L = L(s) - (s - 1) G                     of the shortest of all, s; L(s), if G is a bound only
    g = gap(a) - (a - 1) G                   of the shortest, a. If a > s this stands only where the
                                             same G explains both latencies, L(a) = L + (a - 1) G:
                                             else a travels otherwise than s. Then, and with none,
                                             or if G is a bound, gap(s), an upper bound (g_hidden)

All times are integer picoseconds, quotients are exact fractions: on the machine `loggp` the result
is its parameters, bit for bit.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chasqui.errors import InputError
from chasqui.messages import Message

# As in guest/bench/logp.c: tag = PHASES * index of the size + phase.
PHASES = 8
PING = 1
STREAM = 3
PS_PER_S = 10**12


@dataclass(frozen=True)
class SizeFigures:
    """What was measured with messages of one size. Times in ps."""

    bytes: int
    o_send_ps: int
    o_recv_ps: int
    latency_ps: int
    gap_ps: Fraction
    processor_ps: Fraction  # the least interval that the processors allow

    @property
    def l_ps(self) -> int:
        """L(k): the time that is neither sender's nor receiver's overhead."""
        return self.latency_ps - self.o_send_ps - self.o_recv_ps

    @property
    def limited_by(self) -> str:
        return "ni" if self.gap_ps > self.processor_ps else "processor"

    @property
    def bandwidth(self) -> Fraction:
        """Bytes a second."""
        return PS_PER_S * self.bytes / self.gap_ps if self.gap_ps else Fraction(0)


@dataclass(frozen=True)
class Figures:
    """A machine's LogGP figures. Times in ps, G in ps a byte."""

    l_ps: Fraction
    o_send_ps: int
    o_recv_ps: int
    g_ps: Fraction
    g_per_byte_ps: Fraction
    g_hidden: bool
    g_per_byte_hidden: bool
    sizes: tuple[SizeFigures, ...]


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


def _median(values: Iterable[int]) -> int:
    return statistics.median_low(list(values))


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


def interval(times: Sequence[int]) -> Fraction:
    """The steady interval of a stream: over its second half."""
    ordered = sorted(times)
    first = len(ordered) // 2
    count = len(ordered) - 1 - first
    if count < 1:
        raise InputError(f"a stream of {len(ordered)} messages is too short to have an interval")
    return Fraction(ordered[-1] - ordered[first], count)


def is_behind(stream: Sequence[Message]) -> bool:
    """Over the second half of a stream, most messages wait for the receiver's processor."""
    pairs = list(itertools.pairwise(stream))[len(stream) // 2 :]
    waits = [
        before.deliver_ps is not None
        and after.land_ps is not None
        and after.land_ps <= before.deliver_ps
        for before, after in pairs
    ]
    return 2 * sum(waits) > len(waits)


def measure_size(size: int, pings: Sequence[Message], stream: Sequence[Message]) -> SizeFigures:
    """The figures of one size."""
    if not pings or not stream:
        raise InputError(f"no records of messages of {size} bytes: did the measurement finish?")
    stream = sorted(stream, key=lambda message: message.sequence)
    land = interval([_need(message.land_ps, "land", message) for message in stream])
    delivered = [message.deliver_ps for message in stream if message.deliver_ps is not None]
    deliver = interval(delivered) if len(delivered) == len(stream) else land
    receive = _median(map(o_recv, pings))
    receiving: Fraction = max(Fraction(receive), deliver if is_behind(stream) else Fraction(0))
    # The sender's own instructions between two calls; its o from whichever shows no stall.
    between = _median(
        _need(after.call_ps, "call", after) - _need(before.send_return_ps, "send_return", before)
        for before, after in itertools.pairwise(stream)
    )
    send = _median(map(o_send, pings))
    sending = min(send, _median(map(o_send, stream))) + between
    return SizeFigures(
        bytes=size,
        o_send_ps=send,
        o_recv_ps=receive,
        latency_ps=_median(map(latency, pings)),
        gap_ps=max(land, deliver),
        processor_ps=max(Fraction(sending), receiving),
    )


def summarise(sizes: Sequence[SizeFigures]) -> Figures:
    """L, o, g and G from the figures of all sizes."""
    ordered = sorted(sizes, key=lambda each: each.bytes)
    shortest, longest = ordered[0], ordered[-1]
    limited = [each for each in ordered if each.limited_by == "ni"]
    span = _extra(longest.bytes) - _extra(shortest.bytes)
    per_byte, hidden = Fraction(0), False
    if len(limited) >= 2:
        a, b = limited[-2], limited[-1]
        per_byte = (b.gap_ps - a.gap_ps) / (_extra(b.bytes) - _extra(a.bytes) or 1)
    elif span and min(shortest.l_ps, longest.l_ps) >= 0:
        per_byte = Fraction(longest.l_ps - shortest.l_ps, span)
    elif span:
        per_byte, hidden = longest.gap_ps / _extra(longest.bytes), True
    latency_ps = shortest.l_ps - (0 if hidden else _extra(shortest.bytes) * per_byte)
    seen = bool(limited and not hidden) and (
        limited[0] is shortest
        or limited[0].l_ps == latency_ps + _extra(limited[0].bytes) * per_byte
    )
    g = limited[0].gap_ps - _extra(limited[0].bytes) * per_byte if seen else shortest.gap_ps
    return Figures(
        l_ps=Fraction(latency_ps),
        o_send_ps=shortest.o_send_ps,
        o_recv_ps=shortest.o_recv_ps,
        g_ps=g,
        g_per_byte_ps=per_byte,
        g_hidden=not seen,
        g_per_byte_hidden=hidden,
        sizes=tuple(ordered),
    )


def figures(messages: Iterable[Message], sizes: Sequence[int]) -> Figures:
    """LogGP figures from a run of guest/bench/logp.c with these sizes, in this order."""
    pings: list[list[Message]] = [[] for _ in sizes]
    streams: list[list[Message]] = [[] for _ in sizes]
    for message in messages:
        if message.tag is None:
            continue
        index, phase = divmod(message.tag, PHASES)
        if not 0 <= index < len(sizes) or message.bytes != sizes[index]:
            continue  # of a collective, or no data: not ours
        if phase == PING:
            pings[index].append(message)
        elif phase == STREAM:
            streams[index].append(message)
    return summarise([measure_size(size, pings[i], streams[i]) for i, size in enumerate(sizes)])
