"""A run as a trace: what each thread of each rank did, call by call, message by message.

Calls are those of `timeline.json`, messages those of `messages.parquet`. A message's stages say of
which calls it is: `call` is when the call that sends was entered, `receive_call` when the one that
posts the receive was, and `done` when the one that completes it returned. What the NI or the
library does with a message while no call lasts counts from the next call on: before, the program
could not have known.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

from chasqui import messages, timeline
from chasqui.errors import InputError
from chasqui.files import damaged
from chasqui.messages import CONTEXT_NAMES, CONTEXTS, Message

if TYPE_CHECKING:
    from chasqui.report.data import Run

RANK = re.compile(r"rank (\d{1,9})")
CALLS = re.compile(r"MPI calls(?:, hart (\d{1,9}))?")
WORLD = "MPI_COMM_WORLD"

# What happens to a message in a thread, in the order of what happens at one time: a receive is
# posted before anything is sent, and what is sent may depend on what was received; but a rank's
# message to itself (OWN) is sent before.
POST, COMPLETE, SEND, COMPLETE_OWN = range(4)


@dataclass(frozen=True, slots=True)
class Call:
    """An MPI call of a thread's, which is within no other."""

    name: str
    enter_ps: int
    leave_ps: int
    returned: bool


class Event(NamedTuple):
    """What a thread does with a message. They sort in the order in which it does."""

    call: int  # number of the call in which it is; as many as there are: after all of them
    at_ps: int  # within the call
    kind: int
    message: int  # number among the trace's


@dataclass
class Thread:
    """A rank's thread that calls MPI: the calls that were made on one hart of its node."""

    rank: int
    hart: int
    end_ps: int  # of its rank
    number: int = 0  # among the rank's, by their first calls
    calls: list[Call] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    enters_ps: list[int] = field(default_factory=list)  # of its calls

    def at(self, ps: int) -> tuple[int, int]:
        """The call that lasts at this time, or the next, and the time in it."""
        number = bisect_right(self.enters_ps, ps) - 1
        if number >= 0 and ps <= self.calls[number].leave_ps:
            return number, ps
        return self.clamped(number + 1, ps)

    def clamped(self, number: int, ps: int) -> tuple[int, int]:
        """The same of this call and the nearest time in it."""
        if number == len(self.calls):
            after = self.calls[-1].leave_ps if self.calls else 0
            return number, max(after, min(ps, self.end_ps))
        call = self.calls[number]
        return number, min(max(ps, call.enter_ps), call.leave_ps)

    def parts(self) -> Iterator[tuple[Call | None, Sequence[Event]]]:
        """Its calls with what happens in each; None stands for the time after all."""
        begin = 0
        for number in range(len(self.calls) + 1):
            end = bisect_left(self.events, (number + 1,), begin)
            call = self.calls[number] if number < len(self.calls) else None
            yield call, self.events[begin:end]
            begin = end


@dataclass
class Trace:
    """The calls and messages of a run directory."""

    run: Run
    threads: list[Thread]  # by rank and number
    messages: list[Message]
    others: list[timeline.Track]  # what NIs and links did

    @property
    def ranks(self) -> int:
        return self.run.ranks

    def program(self, rank: int) -> str:
        """Name of what the rank runs."""
        for each in self.run.summary.get("inputs", {}).get("programs", []):
            if 0 <= rank - each["first_rank"] < each["ranks"]:
                return str(each["name"])
        return str(self.run.summary["program"])


def read(run: Run) -> Trace:
    """The run's trace. Raises InputError where timeline.json does not hold all calls."""
    _check_run(run)
    threads, others = _threads(run)
    _check_complete(run, threads)
    trace = Trace(run, threads, read_messages(run), others)
    _Events(trace).add()
    for thread in threads:
        thread.events.sort()
    return trace


def read_messages(run: Run) -> list[Message]:
    """All messages of which is known where they went. Raises InputError where that is no rank."""
    path = run.directory / "messages.parquet"
    found = [each for each in messages.read(path) if each.destination is not None]
    for each in found:
        assert each.destination is not None
        if max(each.source, each.destination) >= run.ranks:
            raise damaged(str(path), f"a message of a rank beyond {run.ranks - 1}")
    return found


def tag(message: Message) -> int:
    """As an unsigned number of 32 bits, which all formats have."""
    return (message.tag or 0) & 0xFFFFFFFF


def is_program(message: Message) -> bool:
    """Of the program's own sends and receives, none of the library's."""
    return (message.context or 0) % CONTEXTS == 0


def communicator(message: Message) -> tuple[int, int]:
    """Number of its communicator, and which of its contexts."""
    return divmod(message.context or 0, CONTEXTS)


def communicator_name(number: int, part: int) -> str:
    name = WORLD if number == 0 else f"communicator {number}"
    return f"{name}: {CONTEXT_NAMES[part]}" if part else name


def send_ps(message: Message) -> int | None:
    """When it was handed to the NI, or else when the call that sends began."""
    return _either(message.ready_ps, message.call_ps)


def _threads(run: Run) -> tuple[list[Thread], list[timeline.Track]]:
    """The ranks' threads, at least one of each, and the tracks of what has none."""
    path = run.directory / timeline.FILE
    ends_ps = [each["time_ps"] for each in run.summary["ranks"]]
    found: list[list[Thread]] = [[] for _ in ends_ps]
    others = []
    for track in timeline.read(run.directory).tracks.values():
        process, calls = RANK.fullmatch(track.process), CALLS.fullmatch(track.name)
        rank = int(process[1]) if process else 0
        if rank >= run.ranks:
            raise damaged(str(path), f"{track.process} is none of the {run.ranks} ranks")
        if process is None or calls is None:
            others.append(track)
        elif track.slices:
            thread = Thread(rank, int(calls[1] or 0), ends_ps[rank])
            thread.calls = [Call(e.name, e.start_ps, e.end_ps, e.returned) for e in track.slices]
            found[rank].append(thread)
    for rank, threads in enumerate(found):
        for thread in threads:
            _order(thread, str(path))
        threads.sort(key=lambda each: (each.enters_ps, each.hart))
        for number, thread in enumerate(threads):
            thread.number = number
        if not threads:
            threads.append(Thread(rank, 0, ends_ps[rank]))
    return [thread for threads in found for thread in threads], others


def _order(thread: Thread, place: str) -> None:
    """Puts its calls in the order of time. Raises InputError where one begins in another."""
    thread.calls.sort(key=lambda call: (call.enter_ps, call.leave_ps))
    thread.enters_ps = [call.enter_ps for call in thread.calls]
    for before, after in pairwise(thread.calls):
        if after.enter_ps < before.leave_ps:
            what = f"{after.name} of rank {thread.rank} begins in its {before.name}"
            raise damaged(place, what)
    thread.end_ps = max(thread.end_ps, thread.calls[-1].leave_ps)


def _made(run: Run) -> list[int]:
    """How many calls each rank has made."""
    return [sum(call["count"] for call in each["calls"]) for each in run.summary["ranks"]]


def _check_run(run: Run) -> None:
    """Raises InputError where there are no calls of all ranks."""
    if "replay" in run.summary:
        raise InputError(
            f"{run.directory}: of one rank alone (--only-rank); what the others did is in the run "
            "that was recorded"
        )
    path = run.directory / timeline.FILE
    if not path.exists():
        raise InputError(
            f"{path}: no such file, so the run's calls were not kept; "
            f"`chasqui run --timeline {max(_made(run))}` keeps all"
        )


def _check_complete(run: Run, threads: Sequence[Thread]) -> None:
    """Raises InputError where the timeline lacks calls that the summary counts."""
    kept = [0] * run.ranks
    for thread in threads:
        kept[thread.rank] += len(thread.calls)
    made = _made(run)
    rank = max(range(run.ranks), key=lambda rank: made[rank] - kept[rank])
    if made[rank] > kept[rank]:
        path = run.directory / timeline.FILE
        raise InputError(
            f"{path}: it has {kept[rank]:,} of the {made[rank]:,} calls of rank {rank}; "
            f"`chasqui run --timeline {max(made)}` keeps all"
        )


@overload
def _either(first: int | None, second: int) -> int: ...
@overload
def _either(first: int | None, second: int | None) -> int | None: ...
def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


class _Events:
    """Finds the calls of messages."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.entered: list[dict[int, tuple[Thread, int]]] = [{} for _ in range(trace.ranks)]
        self.left: list[dict[int, tuple[Thread, int]]] = [{} for _ in range(trace.ranks)]
        self.first: list[Thread] = []
        for thread in trace.threads:
            if thread.number == 0:
                self.first.append(thread)
            for number, call in enumerate(thread.calls):
                self.entered[thread.rank].setdefault(call.enter_ps, (thread, number))
                self.left[thread.rank].setdefault(call.leave_ps, (thread, number))

    def add(self) -> None:
        for number, message in enumerate(self.trace.messages):
            self._send(number, message)
            self._receive(number, message)

    def _send(self, number: int, message: Message) -> None:
        ps = send_ps(message)
        if ps is None:
            return
        found = self.entered[message.source].get(message.call_ps or 0)
        thread = found[0] if found else self.first[message.source]
        call, at = found[0].clamped(found[1], ps) if found else thread.at(ps)
        thread.events.append(Event(call, at, SEND, number))

    def _receive(self, number: int, message: Message) -> None:
        rank = message.destination
        assert rank is not None
        delivered = _either(message.deliver_ps, message.done_ps)
        if delivered is None:
            return  # it met no receive, or the run ended before
        post = self.entered[rank].get(_either(message.receive_call_ps, -1))
        completion = self.left[rank].get(_either(message.done_ps, -1))
        thread = (completion or post or (self.first[rank], 0))[0]
        if completion and is_program(message):
            end = thread.clamped(completion[1], delivered)
        else:
            end = thread.at(delivered)
        self._post(number, message, thread, end)
        if message.done_ps is not None or not is_program(message):
            kind = COMPLETE_OWN if rank == message.source else COMPLETE
            thread.events.append(Event(*end, kind, number))

    def _post(self, number: int, message: Message, thread: Thread, end: tuple[int, int]) -> None:
        """Before `end` of `thread`, where the receive is complete."""
        assert message.destination is not None
        post = self.entered[message.destination].get(_either(message.receive_call_ps, -1))
        ps = _either(message.post_ps, _either(message.receive_call_ps, end[1]))
        begin = post[0].clamped(post[1], ps) if post else thread.at(ps)
        poster = post[0] if post else thread
        place = min(begin, end) if poster is thread else begin
        poster.events.append(Event(*place, POST, number))
