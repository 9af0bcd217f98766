"""Reads DUMPI's files, in a process of its own: `python -m chasqui.playing.dumpi_calls REQUEST
ANSWER`, two files in a folder that takes the ranks' actions.

What completes in the trace completes here: MPI_Waitany, MPI_Waitsome, and MPI_Test that found
something done, wait for that; MPI_Test that did not tests, whatever it finds. Calls that only look
something up are not made: their time is computation.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from pydumpi import DumpiTrace
from pydumpi.callbacks import DumpiCallbacks

from chasqui.errors import STATUS_LOST, InputError, LostError
from chasqui.playing import dumpi_types as types
from chasqui.playing.form import (
    COMM_SELF,
    COMM_WORLD,
    PEER_ANY,
    PEER_NULL,
    TAG_ANY,
    Kind,
    Part,
    writing,
)
from chasqui.playing.slots import Slots
from chasqui.playing.source import PS_PER_NS, Clock, Place, check_size, check_time

MEMORY_MAX = 1 << 33  # bytes of this process: a damaged length asks for more
# `common/constants.h` of sst-dumpi.
ANY_SOURCE, PROC_NULL, ANY_TAG = -1, -2, -1
REQUEST_NULL, COMM_NULL, WORLD, SELF = 1, 1, 2, 3
UNDEFINED_MAX = -1  # a colour or index below 0 is MPI_UNDEFINED
COMMUNICATORS_MAX = 1 << 16
# Calls that are of no other rank's concern.
LOCAL = {
    *"get_count test_cancelled address get_elements pack unpack pack_size group_size".split(),
    *"group_rank group_translate_ranks group_compare group_free comm_rank comm_compare".split(),
    *"comm_test_inter keyval_create keyval_free attr_put attr_get attr_delete topo_test".split(),
    *"dims_create cartdim_get cart_get cart_rank cart_coords cart_shift cart_map".split(),
    *"get_processor_name get_version errhandler_create errhandler_set errhandler_get".split(),
    *"errhandler_free error_string error_class wtime wtick initialized finalized".split(),
    *"op_create op_free type_extent type_size type_lb type_ub type_commit type_free".split(),
    *"type_get_name type_set_name type_get_extent type_get_true_extent type_get_envelope".split(),
    *"type_get_contents comm_get_attr comm_set_attr comm_delete_attr comm_get_name".split(),
    *"comm_set_name comm_create_keyval comm_free_keyval comm_create_errhandler".split(),
    *"comm_get_errhandler comm_set_errhandler add_error_class add_error_code".split(),
    *"add_error_string is_thread_main query_thread alloc_mem free_mem get_address".split(),
    *"info_create info_delete info_dup info_free info_get info_get_nkeys info_get_nthkey".split(),
    *"info_get_valuelen info_set request_get_status function_enter function_exit".split(),
}


class CallPlace(Place):
    """Which call of which rank, for messages."""

    name = ""

    def __str__(self) -> str:
        return f"{self.path}: rank {self.rank}: call {self.line} (MPI_{self.name.capitalize()}):"


class Rank:
    """A rank's calls, one after the other, by the names that DUMPI has for them."""

    def __init__(self, path: Path, number: int, ranks: int, part: Part, scale: Fraction) -> None:
        self.part, self.ranks = part, ranks
        self.place = CallPlace(path)
        self.place.rank = number
        self.clock = Clock(PS_PER_NS * scale)
        part.refuse = self.place.refuse
        self.types = types.Types(self.place)
        self.slots = Slots(part)
        # Slots by DUMPI's numbers. Those that are complete at once may share one: MPICH and Open
        # MPI have one handle for all messages of MPI_PROC_NULL.
        self.requests: dict[int, list[int]] = {}
        self.persistent: set[int] = set()
        self.communicators = {WORLD: COMM_WORLD, SELF: COMM_SELF}
        self.grids: dict[int, list[int]] = {}  # lengths of a communicator's dimensions
        # Groups by their numbers: the communicator, and the ranks there; None: not known.
        self.groups: dict[int, tuple[int, list[int]] | None] = {}
        self.since_ns: int | None = None  # the end of the last call that was played
        self.thread: int | None = None
        self.has_times = False

    def call(self, name: str, data: Any, thread: int, wall: Any) -> None:
        """A call, from its first time to its last."""
        self.place.line += 1
        self.place.name = name
        if self.thread is None:
            self.thread = thread
        if thread != self.thread:
            self.place.refuse(f"by thread {thread}, after others by thread {self.thread}: a rank "
                              "whose threads call MPI is not played")  # fmt: skip
        begin, end = (each.sec * 10**9 + each.nsec for each in (wall.start, wall.stop))
        self.has_times = self.has_times or end > 0
        if name in LOCAL:
            return
        if name not in FAMILIES:
            self.place.refuse("it is not played; docs/manual/play.md says which calls are")
        method: Callable[[str, Any], None] = getattr(self, f"_{FAMILIES[name]}")
        if name in UNPLAYED:
            method(name, data)
            return
        if self.since_ns is not None and begin > self.since_ns:
            self.part.compute(check_time(self.clock.of(begin - self.since_ns), self.place))
        method(name, data)
        self.since_ns = end

    def finish(self) -> None:
        if self.place.line and not self.has_times:
            self.place.refuse("the trace has no wall times, by which computation is known")
        self.part.communicators = max(self.part.communicators, 2)

    # --- arguments ----------------------------------------------------------------------------

    def _comm(self, number: int) -> int:
        if number not in self.communicators:
            self.place.refuse(f"communicator {number}, which no call before has made")
        return self.communicators[number]

    def _size(self, number: int) -> int | None:
        """A communicator's, if it is known."""
        return self.part.sizes.get(self._comm(number))

    def _is_root(self, data: Any) -> bool:
        if data.comm == WORLD and data.commrank != self.place.rank:
            self.place.refuse(f"it says of itself that it is rank {data.commrank}")
        return bool(data.commrank == data.root)

    def _array(self, numbers: Any, count: int, what: str) -> list[int]:
        """Numbers of a call."""
        if count < 0:
            self.place.refuse(f"{count} {what}; a count is not negative")
        if count and not numbers:
            self.place.refuse(f"no {what}; {count} are expected")
        return [numbers[i] for i in range(count)]

    def _requests(self, data: Any) -> list[int]:
        return self._array(data.requests, data.count, "requests")

    def _peer(self, rank: int) -> int:
        """The communicator's ranks are checked with the action."""
        if rank == PROC_NULL:
            return PEER_NULL
        if rank == ANY_SOURCE:
            return PEER_ANY
        return rank

    def _tag(self, tag: int) -> int:
        if tag < ANY_TAG:
            self.place.refuse(f"tag {tag}; a tag is not negative")
        return TAG_ANY if tag == ANY_TAG else tag

    def _out(self, count: int, datatype: int, times: int = 1) -> int:
        size = self.types.bytes(count, datatype)
        self.part.sends(check_size(size * times, self.place, "buffer"))
        return size

    def _in(self, count: int, datatype: int, times: int = 1) -> int:
        size = self.types.bytes(count, datatype)
        self.part.receives(check_size(size * times, self.place, "buffer"))
        return size

    def _vector(self, counts: Iterable[int], datatype: int) -> list[int]:
        found = [self.types.bytes(count, datatype) for count in counts]
        check_size(sum(found), self.place, "buffer")
        return found

    def _begin(self, number: int, *, persistent: bool = False) -> int:
        slot = self.slots.take()
        self.requests.setdefault(number, []).append(slot)
        if persistent:
            self.persistent.add(number)
        return slot

    def _slot(self, number: int) -> int:
        return self._slots_of([number])[0]

    def _slots_of(self, numbers: Iterable[int]) -> list[int]:
        found: list[int] = []
        seen: Counter[int] = Counter()
        for number in numbers:
            slots = self.requests.get(number, [])
            if not slots:
                self.place.refuse(f"request {number}, which no call before has begun")
            if seen[number] == len(slots):
                self.place.refuse(f"request {number} once more than it was begun")
            found.append(slots[seen[number]])
            seen[number] += 1
        return found

    def _done(self, number: int, *, freed: bool = False) -> None:
        if number in self.persistent and not freed:
            return
        self.persistent.discard(number)
        self.slots.free(self.requests[number].pop(0))
        if not self.requests[number]:
            del self.requests[number]

    # --- messages -----------------------------------------------------------------------------

    def _send(self, name: str, data: Any) -> None:
        kind, begins = SENDS[name]
        size, peer = self._out(data.count, data.datatype), self._peer(data.dest)
        comm, tag = self._comm(data.comm), self._tag(data.tag)
        slot = self._begin(data.request, persistent=kind is Kind.SEND_INIT) if begins else 0
        self.part.add(kind, comm=comm, peer=peer, tag=tag, request=slot, size=size)

    def _recv(self, name: str, data: Any) -> None:
        kind = RECEIVES[name]
        size, peer = self._in(data.count, data.datatype), self._peer(data.source)
        comm, tag = self._comm(data.comm), self._tag(data.tag)
        slot = 0
        if kind is not Kind.RECV:
            slot = self._begin(data.request, persistent=kind is Kind.RECV_INIT)
        self.part.add(kind, comm=comm, peer=peer, tag=tag, request=slot, size=size)

    def _sendrecv(self, name: str, data: Any) -> None:
        is_two = name == "sendrecv"
        if is_two:
            sent = self._out(data.sendcount, data.sendtype)
            received = self._in(data.recvcount, data.recvtype)
        else:
            sent = received = self._in(data.count, data.datatype)
        source, tag = self._peer(data.source), self._tag(data.recvtag)
        self.part.add_list(
            Kind.SENDRECV if is_two else Kind.SENDRECV_REPLACE,
            [source & MASK, tag & MASK, received],
            comm=self._comm(data.comm), peer=self._peer(data.dest), tag=self._tag(data.sendtag),
            size=sent,
        )  # fmt: skip

    def _start(self, name: str, data: Any) -> None:
        if name == "start":
            self.part.add(Kind.START, request=self._slot(data.request))
        else:
            self.part.add_list(Kind.STARTALL, self._slots_of(self._requests(data)))

    def _request_free(self, _: str, data: Any) -> None:
        if data.request != REQUEST_NULL:
            self.part.add(Kind.REQUEST_FREE, request=self._slot(data.request))
            self._done(data.request, freed=True)

    def _wait(self, name: str, data: Any) -> None:
        """Those that are done: by MPI_Wait, or a test that found it so."""
        if data.request == REQUEST_NULL:
            return
        if name == "test" and not data.flag:
            self.part.add(Kind.TEST, request=self._slot(data.request))
            return
        self.part.add(Kind.WAIT, request=self._slot(data.request))
        self._done(data.request)

    def _several(self, name: str, data: Any) -> None:
        numbers = self._requests(data)
        asked = [number for number in numbers if number != REQUEST_NULL]
        slots = self._slots_of(asked)
        if name in ("waitall", "testall"):
            done = asked if name == "waitall" or data.flag else []
        elif name in ("waitany", "testany"):
            is_one = (name == "waitany" or data.flag) and data.index > UNDEFINED_MAX
            done = self._at([data.index] if is_one else [], numbers)
        else:
            done = self._at(self._array(data.indices, max(data.outcount, 0), "indices"), numbers)
        done = [number for number in done if number != REQUEST_NULL]
        if len(done) == 1:
            self.part.add(Kind.WAIT, request=self._slot(done[0]))
        elif done:
            self.part.add_list(Kind.WAITALL, self._slots_of(done))
        elif name in TESTS and asked:
            self.part.add_list(TESTS[name], slots)
        for number in done:
            self._done(number)

    def _at(self, indices: list[int], requests: list[int]) -> list[int]:
        """Those that are done, by their places in the list."""
        is_wrong = any(not 0 <= index < len(requests) for index in indices)
        if is_wrong or len(set(indices)) < len(indices):
            self.place.refuse(f"indices {indices} of {len(requests)} requests")
        return [requests[index] for index in indices]

    def _probe(self, name: str, data: Any) -> None:
        """One that found a message waits for one."""
        kind = Kind.PROBE if name == "probe" or data.flag else Kind.IPROBE
        peer, tag = self._peer(data.source), self._tag(data.tag)
        self.part.add(kind, comm=self._comm(data.comm), peer=peer, tag=tag)

    def _buffer(self, name: str, data: Any) -> None:
        if name == "buffer_attach":
            self.part.add(Kind.BUFFER_ATTACH, size=check_size(data.size, self.place, "buffer"))
        else:
            self.part.add(Kind.BUFFER_DETACH)

    # --- collectives --------------------------------------------------------------------------

    def _barrier(self, _: str, data: Any) -> None:
        self.part.add(Kind.BARRIER, comm=self._comm(data.comm))

    def _bcast(self, _: str, data: Any) -> None:
        size = self._in(data.count, data.datatype)
        self.part.add(Kind.BCAST, comm=self._comm(data.comm), peer=data.root, size=size)

    def _reduce(self, name: str, data: Any) -> None:
        tag, comm = self.types.reduction(data.op, data.datatype), self._comm(data.comm)
        if name == "reduce_scatter":
            counts = self._array(data.recvcounts, data.commsize, "counts")
            sizes = self._vector(counts, data.datatype)
            self._out(sum(counts), data.datatype)
            self._in(sum(counts), data.datatype)
            self.part.add_list(Kind.REDUCE_SCATTER, sizes, comm=comm, tag=tag)
            return
        size = self._out(data.count, data.datatype)
        self.part.receives(size)
        root = data.root if name == "reduce" else 0
        self.part.add(REDUCTIONS[name], comm=comm, peer=root, tag=tag, size=size)

    def _blocks(self, name: str, data: Any) -> None:
        """One block for each rank, or of each, of one size."""
        comm = self._comm(data.comm)
        size = self.part.sizes.get(comm, self.ranks)
        root = data.root if name in ("gather", "scatter") else 0
        is_root = name in ("allgather", "alltoall") or self._is_root(data)
        sends, receives = {"scatter": (size, 1), "alltoall": (size, size)}.get(name, (1, size))
        if name == "scatter":
            out = self._out(data.sendcount, data.sendtype, sends) if is_root else 0
            into = self._in(data.recvcount, data.recvtype)
        else:
            out = self._out(data.sendcount, data.sendtype, sends)
            into = self._in(data.recvcount, data.recvtype, receives) if is_root else 0
        self.part.add(BLOCKS[name], comm=comm, peer=root, size=out, more=into)

    def _vectors(self, name: str, data: Any) -> None:
        comm = self._comm(data.comm)
        root = data.root if name in ("gatherv", "scatterv") else 0
        is_root = name not in ("gatherv", "scatterv") or self._is_root(data)

        def counts(numbers: Any) -> list[int]:
            return self._array(numbers, data.commsize, "counts") if is_root else []

        if name == "alltoallv":
            sent = self._vector(counts(data.sendcounts), data.sendtype)
            received = self._vector(counts(data.recvcounts), data.recvtype)
            self.part.sends(sum(sent))
            self.part.receives(sum(received))
            self.part.add_list(Kind.ALLTOALLV, [*sent, *received], comm=comm)
        elif name == "scatterv":
            size = self._in(data.recvcount, data.recvtype)
            sizes = self._vector(counts(data.sendcounts), data.sendtype)
            self.part.sends(sum(sizes))
            self.part.add_list(Kind.SCATTERV, sizes, comm=comm, peer=root, size=size)
        else:
            size = self._out(data.sendcount, data.sendtype)
            sizes = self._vector(counts(data.recvcounts), data.recvtype)
            self.part.receives(sum(sizes))
            kind = Kind.GATHERV if name == "gatherv" else Kind.ALLGATHERV
            self.part.add_list(kind, sizes, comm=comm, peer=root, size=size)

    # --- communicators ------------------------------------------------------------------------

    def _made(self, number: int, size: int | None = None) -> int:
        """The slot of a new communicator, also where this rank is in none."""
        slot = self.part.communicators
        if slot >= COMMUNICATORS_MAX:
            self.place.refuse(f"more than {COMMUNICATORS_MAX} communicators")
        self.part.communicators += 1
        if number != COMM_NULL:
            self.communicators[number] = slot
            self.grids.pop(number, None)
            if size is not None:
                self.part.sizes[slot] = size
        return slot

    def _comm_size(self, _: str, data: Any) -> None:
        """Says it of one that MPI_Comm_split has made."""
        if data.comm not in self.communicators:
            return
        size = self.part.sizes.setdefault(self._comm(data.comm), data.size)
        if size != data.size or not 1 <= size <= self.ranks:
            self.place.refuse(f"a communicator of {data.size} ranks; of {size} above, and the "
                              f"trace has {self.ranks}")  # fmt: skip

    def _dup(self, _: str, data: Any) -> None:
        comm, size = self._comm(data.oldcomm), self._size(data.oldcomm)
        grid = self.grids.get(data.oldcomm)
        self.part.add(Kind.COMM_DUP, comm=comm, request=self._made(data.newcomm, size))
        if grid is not None:
            self.grids[data.newcomm] = grid

    def _split(self, _: str, data: Any) -> None:
        comm, colour = self._comm(data.oldcomm), max(data.color, UNDEFINED_MAX)
        slot = self._made(data.newcomm)
        self.part.add(Kind.COMM_SPLIT, comm=comm, peer=colour, tag=data.key, request=slot)

    def _create(self, _: str, data: Any) -> None:
        group = self.groups.get(data.group)
        if group is None or group[0] != data.oldcomm:
            self.place.refuse(
                "of a group that is not made of this communicator by MPI_Comm_group, "
                "MPI_Group_incl and MPI_Group_excl"
            )
        comm, slot = self._comm(data.oldcomm), self._made(data.newcomm, len(group[1]))
        self.part.add_list(Kind.COMM_CREATE, group[1], comm=comm, request=slot)

    def _free(self, _: str, data: Any) -> None:
        if data.comm in (WORLD, SELF):
            self.place.refuse("of MPI_COMM_WORLD or MPI_COMM_SELF, which stay")
        self.part.add(Kind.COMM_FREE, request=self._comm(data.comm))
        self.communicators.pop(data.comm)

    def _cart(self, name: str, data: Any) -> None:
        comm = self._comm(data.oldcomm)
        if name == "cart_create":
            grid = self._array(data.dims, data.ndim, "dimensions")
            periods = self._array(data.periods, data.ndim, "dimensions")
            if min(grid, default=1) < 1:
                self.place.refuse(f"dimensions {grid}; each has one rank at least")
            numbers = [2 * length + (each != 0) for length, each in zip(grid, periods, strict=True)]
        else:
            old = self.grids.get(data.oldcomm)
            if old is None or len(old) != data.ndim:
                self.place.refuse(f"{data.ndim} dimensions of communicator {data.oldcomm}, which "
                                  f"has {'none' if old is None else len(old)}")  # fmt: skip
            remain = self._array(data.remain_dim, data.ndim, "dimensions")
            numbers = [int(each != 0) for each in remain]
            grid = [length for length, each in zip(old, numbers, strict=True) if each]
        slot = self._made(data.newcomm, math.prod(grid))
        kind = Kind.CART_CREATE if name == "cart_create" else Kind.CART_SUB
        self.part.add_list(kind, numbers, comm=comm, request=slot)
        if data.newcomm != COMM_NULL:
            self.grids[data.newcomm] = grid

    def _group(self, name: str, data: Any) -> None:
        """Groups cost no message: their ranks are kept for MPI_Comm_create."""
        if name == "comm_group":
            size = self._size(data.comm)
            self.groups[data.group] = None if size is None else (data.comm, list(range(size)))
            return
        old = self.groups.get(data.group)
        new = None
        if old is not None:
            ranks = self._array(data.ranks, data.count, "ranks")
            if any(not 0 <= rank < len(old[1]) for rank in ranks):
                self.place.refuse(f"ranks {ranks} of a group of {len(old[1])}")
            if name == "group_incl":
                new = (old[0], [old[1][rank] for rank in ranks])
            else:
                new = (old[0], [each for at, each in enumerate(old[1]) if at not in set(ranks)])
        self.groups[data.newgroup] = new

    def _unknown_group(self, _: str, data: Any) -> None:
        self.groups[data.newgroup] = None

    def _type(self, name: str, data: Any) -> None:
        self.types.build(name, data)

    def _nothing(self, _: str, data: Any) -> None:
        """MPI_Init and MPI_Finalize are the player's own; what is computed lies between them."""


MASK = (1 << 64) - 1
SENDS = {
    "send": (Kind.SEND, False), "ssend": (Kind.SSEND, False), "rsend": (Kind.RSEND, False),
    "bsend": (Kind.BSEND, False), "isend": (Kind.ISEND, True), "issend": (Kind.ISSEND, True),
    "irsend": (Kind.IRSEND, True), "ibsend": (Kind.IBSEND, True),
    "send_init": (Kind.SEND_INIT, True),
}  # fmt: skip
RECEIVES = {"recv": Kind.RECV, "irecv": Kind.IRECV, "recv_init": Kind.RECV_INIT}
TESTS = {"testall": Kind.TESTALL, "testany": Kind.TESTANY, "testsome": Kind.TESTSOME}
REDUCTIONS = {
    "reduce": Kind.REDUCE, "allreduce": Kind.ALLREDUCE, "scan": Kind.SCAN, "exscan": Kind.EXSCAN,
}  # fmt: skip
BLOCKS = {
    "gather": Kind.GATHER, "allgather": Kind.ALLGATHER, "scatter": Kind.SCATTER,
    "alltoall": Kind.ALLTOALL,
}  # fmt: skip
# Which method of Rank a call is for.
FAMILIES = {
    **dict.fromkeys(SENDS, "send"),
    **dict.fromkeys(RECEIVES, "recv"),
    **dict.fromkeys(("sendrecv", "sendrecv_replace"), "sendrecv"),
    **dict.fromkeys(("start", "startall"), "start"),
    **dict.fromkeys(("wait", "test"), "wait"),
    **dict.fromkeys(("waitall", "waitany", "waitsome", *TESTS), "several"),
    **dict.fromkeys(("probe", "iprobe"), "probe"),
    **dict.fromkeys(("buffer_attach", "buffer_detach"), "buffer"),
    **dict.fromkeys((*REDUCTIONS, "reduce_scatter"), "reduce"),
    **dict.fromkeys(BLOCKS, "blocks"),
    **dict.fromkeys(("gatherv", "allgatherv", "scatterv", "alltoallv"), "vectors"),
    **dict.fromkeys(("cart_create", "cart_sub"), "cart"),
    **dict.fromkeys(("comm_group", "group_incl", "group_excl"), "group"),
    **dict.fromkeys(("group_union", "group_intersection", "group_difference"), "unknown_group"),
    **dict.fromkeys(("group_range_incl", "group_range_excl"), "unknown_group"),
    **dict.fromkeys(types.BUILT, "type"),
    **dict.fromkeys(("init", "init_thread", "finalize"), "nothing"),
    "request_free": "request_free", "barrier": "barrier", "bcast": "bcast",
    "comm_size": "comm_size", "comm_dup": "dup", "comm_split": "split", "comm_create": "create",
    "comm_free": "free",
}  # fmt: skip
# These cost no message, and are no end of computation.
UNPLAYED = {
    "comm_size",
    *types.BUILT,
    *(name for name, family in FAMILIES.items() if family in ("group", "unknown_group")),
}


def reader(rank: Rank, give_up: Callable[[Exception], NoReturn]) -> DumpiTrace:
    """The package's reader, with a method for every call that there is. An exception would be lost
    in the library in C: `give_up` ends the process."""

    def on(name: str) -> Callable[..., None]:
        def called(_: Any, data: Any, thread: int, _cpu: Any, wall: Any, _counters: Any) -> None:
            try:
                rank.call(name, data, thread, wall)
            except Exception as error:
                give_up(error)

        return called

    names = [field[0].removeprefix("on_") for field in DumpiCallbacks._fields_]
    methods = {f"on_{name}": on(name) for name in names}
    found: DumpiTrace = type("Reader", (DumpiTrace,), methods)(str(rank.place.path))
    return found


def _read(rank: Rank, say: Callable[..., None]) -> None:
    """A rank's file. What is wrong with it, or prevents that it is read, is said, and ends the
    process."""

    def give_up(error: Exception) -> NoReturn:
        try:
            if isinstance(error, LostError):
                say(lost=str(error))
            elif isinstance(error, InputError):
                say(error=str(error))
            else:
                say(error=f"{rank.place} it can't be read: {type(error).__name__}: {error}")
        finally:
            os._exit(STATUS_LOST if isinstance(error, LostError) else 1)

    try:
        with reader(rank, give_up) as trace:
            rank.types.sizes = dict(enumerate(trace.type_sizes))
            trace.read_stream()
        rank.finish()
        rank.part.finish()
    except Exception as error:
        give_up(error)


def main(request_path: Path, answer_path: Path) -> None:
    request = json.loads(request_path.read_text())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    files = [Path(file) for file in request["files"]]
    ranks = len(files)
    parts = [Part(request_path.parent / f"rank-{number}", number, ranks) for number in range(ranks)]
    with answer_path.open("w") as answer:

        def say(**found: Any) -> None:
            with writing(answer_path):
                answer.write(json.dumps(found) + "\n")
                answer.flush()

        for number, (file, part) in enumerate(zip(files, parts, strict=True)):
            say(file=str(file))
            rank = Rank(file, number, ranks, part, Fraction(request["scale"]))
            _read(rank, say)
        fields = ("actions", "list", "send_bytes", "receive_bytes", "requests", "communicators")
        say(parts=[{name: getattr(part, name) for name in fields} for part in parts])


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except (LostError, OSError):
        os._exit(STATUS_LOST)
