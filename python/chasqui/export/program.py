"""What each thread of a run would have another simulator do: compute, send, receive, wait.

Computation is the time between MPI calls. What calls take is left to the other simulator, which
has costs of its own for messages. Collectives are the messages that they were made of here.

A wait comes no sooner than it ended in the run, a send no sooner than it began. So every step that
waits for another came after it in the run, and the program that the steps make can't block itself,
where the other simulator's sends are buffered as here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from chasqui.errors import InputError
from chasqui.export import trace as traces
from chasqui.export.trace import Call, Event, Thread, Trace

# Calls that return although what they have sent may be on its way; the others wait for it.
OPEN = re.compile(
    r"MPI_(Ineighbor\w+|I(?!n)[a-z]\w*|Bsend|Start(all)?|P(ready|recv|send)\w*"
    r"|(Test|Wait)(all|any|some)?|(Mp|P)robe|M?recv|Request_\w+|Cancel)",
    re.IGNORECASE,
)
SENDS = re.compile(r"MPI_(S|Rs|Ss)end")
# What NIs may carry out, where a parameter of this name says that they do.
COLLECTIVE = re.compile(r"MPI_(Barrier|Bcast|Reduce|Allreduce|Gather|Allgather|Scatter)")
BY_NIS = ".collectives"


class Do(Enum):
    """What a step does."""

    COMPUTE = 1  # for so many ns
    SEND = 2  # and goes on when the message has left
    ISEND = 3
    POST = 4  # a receive
    RECEIVED = 5  # waits for a receive that was posted
    SENT = 6  # waits for a send that was begun


@dataclass(frozen=True, slots=True)
class Step:
    do: Do
    number: int  # of the message, or ns


def check(trace: Trace) -> None:
    """Raises InputError where the run's records are not enough for its program to be repeated."""
    summary = trace.run.summary
    if summary["outcome"] != "finished":
        raise InputError(
            f"{trace.run.directory}: the run did not finish ({summary['outcome']}); a program that "
            "others can repeat needs one that did. otf2, perfetto, pcap and csv take any"
        )
    by_nis = [
        each.name
        for each in trace.run.parameters
        if each.name.endswith(BY_NIS) and each.value == "true"
    ]
    alone = _without_messages(trace) if by_nis else None
    if alone:
        raise InputError(
            f"{trace.run.directory}: {alone} sent no message: on this machine the NIs carry it "
            "out, and who waits for whom in it is in no record. With `chasqui run --set "
            f"{by_nis[0]}=false` the library does"
        )


def _without_messages(trace: Trace) -> str | None:
    """A collective that all of several ranks called, and in which none sent anything."""
    if trace.ranks == 1:
        return None
    callers: dict[str, set[int]] = {}
    sending: set[str] = set()
    for thread in trace.threads:
        for call, events in thread.parts():
            if call is None or COLLECTIVE.fullmatch(call.name) is None:
                continue
            callers.setdefault(call.name, set()).add(thread.rank)
            if events:
                sending.add(call.name)
    found = (name for name, by in callers.items() if len(by) == trace.ranks)
    return next((name for name in sorted(found) if name not in sending), None)


def steps(trace: Trace, thread: Thread) -> Iterator[Step]:
    """What a thread does, in its order. A rank's first begins with the run, and ends with the rank;
    others begin and end with MPI calls."""
    is_first = thread.number == 0
    computed_ps = written_ns = 0
    before_ps = 0 if is_first or not thread.calls else thread.calls[0].enter_ps
    for call, events in thread.parts():
        until_ps = call.enter_ps if call else (thread.end_ps if is_first else before_ps)
        # Of all together no more than a nanosecond is lost.
        computed_ps += max(until_ps - before_ps, 0)
        if call is None:
            yield from _of_call(trace, call, events)
        if computed_ps // 1000 > written_ns:
            yield Step(Do.COMPUTE, computed_ps // 1000 - written_ns)
            written_ns = computed_ps // 1000
        if call is not None:
            yield from _of_call(trace, call, events)
            before_ps = call.leave_ps


def _of_call(trace: Trace, call: Call | None, events: Sequence[Event]) -> Iterator[Step]:
    sent = [event.message for event in events if event.kind == traces.SEND]
    stays_open = call is None or OPEN.fullmatch(call.name) is not None
    blocks = call is not None and len(sent) == 1 and SENDS.fullmatch(call.name) is not None
    for event in events:
        match event.kind:
            case traces.POST:
                yield Step(Do.POST, event.message)
            case traces.SEND:
                yield Step(Do.SEND if blocks else Do.ISEND, event.message)
            case _:
                yield Step(Do.RECEIVED, event.message)
    if not stays_open and not blocks:
        for message in sent:
            yield Step(Do.SENT, message)


class Tags:
    """One number for tag and communicator: other simulators have no communicators. The program's
    messages in MPI_COMM_WORLD keep their tags."""

    def __init__(self, trace: Trace) -> None:
        keys = {self._key(trace, number) for number in range(len(trace.messages))}
        own = {key: key[1] for key in keys if key[0] == 0}
        others = sorted(key for key in keys if key[0] != 0)
        # From the first number above the tags on, or the first that are free below.
        first = max(own.values(), default=-1) + 1
        taken = set(own.values())
        free = (at for at in range(first if first < 1 << 20 else 0, 1 << 32) if at not in taken)
        self._trace = trace
        self._tags = {**own, **dict(zip(others, free, strict=False))}

    @staticmethod
    def _key(trace: Trace, number: int) -> tuple[int, int]:
        message = trace.messages[number]
        return message.context or 0, traces.tag(message)

    def of(self, number: int) -> int:
        return self._tags[self._key(self._trace, number)]
