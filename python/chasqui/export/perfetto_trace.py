"""Perfetto's own format, by its own library (PyPI's `perfetto`): what timeline.json shows, and the
ends of all messages in the calls, with peer, tag, bytes and all stages, and how many messages and
bytes are under way.

Its times are whole nanoseconds; an event's `ps` is its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from chasqui import timeline
from chasqui.errors import InputError
from chasqui.export import trace as traces
from chasqui.export.trace import Thread, Trace
from chasqui.messages import STAGES, Message

SEQUENCE = 1  # of packets: there is one writer
# Numbers of tracks: a process a rank, then its threads, and the counters of the whole run.
COUNTERS = {"messages under way": 1, "bytes under way": 2}
FIRST_TRACK = 16
THREADS = 1 << 10  # a rank's tracks have so many numbers, of which the first is the process's


class Mark(NamedTuple):
    """An event, in the order in which it is written."""

    ps: int
    order: int
    track: int
    kind: str  # of TrackEvent.Type
    name: str
    flow: int | None  # a message's
    starts: bool  # the flow
    message: int | None
    value: int | None  # of a counter


def package() -> Any:
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        from perfetto.trace_builder import proto_builder
    except ImportError:
        raise InputError(
            "--to perfetto needs the Python package perfetto: `pip install 'chasqui-sim[export]'`, "
            "or `pip install perfetto`; timeline.json, which every run has, opens in Perfetto "
            "without it"
        ) from None
    return perfetto_trace_pb2, proto_builder


def write(trace: Trace, path: Path) -> str:
    protocol, builder = package()
    with path.open("wb") as out:
        pen = _Pen(protocol, builder.StreamingTraceProtoBuilder(out))
        for rank in range(trace.ranks):
            pen.process(rank)
        for thread in trace.threads:
            pen.thread(thread)
        for name, counter in COUNTERS.items():
            pen.counter(counter, name)
        marks = list(_marks(trace))
        for number, track in enumerate(trace.others, _track(trace.ranks)):
            pen.other(number, track)
            marks += _of_slices(number, track)
        marks.sort(key=lambda mark: (mark.ps, mark.order))
        for mark in marks:
            pen.event(mark, trace)
    return f"{len(marks):,} events, {len(trace.messages):,} messages"


def is_own(path: Path) -> bool:
    """Whether this wrote the file: it begins as no other trace does."""
    import io

    protocol, builder = package()
    begins = io.BytesIO()
    _Pen(protocol, builder.StreamingTraceProtoBuilder(begins)).process(0)
    expected = begins.getvalue()
    with path.open("rb") as file:
        return file.read(len(expected)) == expected


def _track(rank: int, thread: int | None = None) -> int:
    return FIRST_TRACK + rank * THREADS + (0 if thread is None else thread + 1)


def _marks(trace: Trace) -> Iterator[Mark]:
    for thread in trace.threads:
        yield from _of_thread(trace, thread)
    under_way = [0, 0]
    changes = []
    for message in trace.messages:
        if message.inject_ps is not None and message.land_ps is not None:
            size = message.bytes or 0
            changes += [(message.inject_ps, 1, size), (message.land_ps, -1, -size)]
    for ps, count, size in sorted(changes):
        under_way = [under_way[0] + count, under_way[1] + size]
        for (name, track), value in zip(COUNTERS.items(), under_way, strict=True):
            yield Mark(ps, 0, track, "TYPE_COUNTER", name, None, False, None, value)


def _of_thread(trace: Trace, thread: Thread) -> Iterator[Mark]:
    track, order = _track(thread.rank, thread.number), 0
    for call, events in thread.parts():
        if call is not None:
            order += 1
            name = call.name if call.returned else f"{call.name} (never returned)"
            yield Mark(
                call.enter_ps, order, track, "TYPE_SLICE_BEGIN", name, None, False, None, None
            )
        for event in events:
            message = trace.messages[event.message]
            if event.kind == traces.POST:
                continue
            order += 1
            sends = event.kind == traces.SEND
            name = f"to {message.destination}" if sends else f"from {message.source}"
            yield Mark(
                event.at_ps, order, track, "TYPE_INSTANT", name, event.message + 1, sends,
                event.message, None,
            )  # fmt: skip
        if call is not None:
            order += 1
            yield Mark(call.leave_ps, order, track, "TYPE_SLICE_END", "", None, False, None, None)


def _of_slices(number: int, track: timeline.Track) -> Iterator[Mark]:
    for order, each in enumerate(track.slices):
        begin = (each.start_ps, 2 * order, number, "TYPE_SLICE_BEGIN", each.name)
        yield Mark(*begin, None, False, None, None)
        end = (each.end_ps, 2 * order + 1, number, "TYPE_SLICE_END", "")
        yield Mark(*end, None, False, None, None)


class _Pen:
    """Writes packets."""

    def __init__(self, protocol: Any, builder: Any) -> None:
        self.types = protocol.TrackEvent
        self.builder = builder

    def _descriptor(self, uuid: int) -> Any:
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.track_descriptor.uuid = uuid
        return packet

    def process(self, rank: int) -> None:
        packet = self._descriptor(_track(rank))
        packet.track_descriptor.process.pid = _track(rank)
        packet.track_descriptor.process.process_name = f"rank {rank}"
        self.builder.write_packet(packet)

    def thread(self, thread: Thread) -> None:
        packet = self._descriptor(_track(thread.rank, thread.number))
        found = packet.track_descriptor.thread
        found.pid, found.tid = _track(thread.rank), _track(thread.rank, thread.number)
        found.thread_name = "MPI calls" + (f", hart {thread.hart}" if thread.hart else "")
        self.builder.write_packet(packet)

    def other(self, number: int, track: timeline.Track) -> None:
        """A track of an NI's or a link's."""
        packet = self._descriptor(number)
        packet.track_descriptor.name = track.name
        rank = traces.RANK.fullmatch(track.process)
        if rank is not None:
            packet.track_descriptor.parent_uuid = _track(int(rank[1]))
        else:
            packet.track_descriptor.name = f"{track.process}: {track.name}"
        self.builder.write_packet(packet)

    def counter(self, uuid: int, name: str) -> None:
        packet = self._descriptor(uuid)
        packet.track_descriptor.name = name
        packet.track_descriptor.counter.SetInParent()
        self.builder.write_packet(packet)

    def event(self, mark: Mark, trace: Trace) -> None:
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.timestamp = mark.ps // 1000
        event = packet.track_event
        event.track_uuid = mark.track
        event.type = getattr(self.types, mark.kind)
        if mark.value is not None:
            event.counter_value = mark.value
        elif mark.name:
            event.name = mark.name
            event.debug_annotations.add(name="ps", uint_value=mark.ps)
        if mark.flow is not None:
            # Older trace processors know the first of these alone; today's take the second.
            name = "flow_ids" if mark.starts else "terminating_flow_ids"
            for each in (f"{name}_old", name):
                getattr(event, each).append(mark.flow)
        if mark.message is not None:
            _annotate(event, trace.messages[mark.message])
        self.builder.write_packet(packet)


def _annotate(event: Any, message: Message) -> None:
    """Its envelope and its stages."""
    number, part = traces.communicator(message)
    texts = {"communicator": traces.communicator_name(number, part)}
    if message.mechanism is not None:
        texts["mechanism"] = message.mechanism
    for name, text in texts.items():
        event.debug_annotations.add(name=name, string_value=text)
    for name in ("source", "destination", "tag", "bytes", "sequence", *STAGES):
        value = getattr(message, name)
        if value is not None:
            event.debug_annotations.add(name=name, int_value=value)
