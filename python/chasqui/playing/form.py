"""The form of a trace that guest/play carries out: what guest/play/trace.h declares, written.

A rank's actions go to a file of its own while the trace is read, for ranks may come mixed; at the
end these become one file. No more than a piece of each rank's is in memory. What no call of MPI
allows is refused here, whatever the trace's format.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

from chasqui.errors import InputError, LostError

MAGIC = b"CHQPLAY1"
HEADER = struct.Struct("<8sIIQ")  # magic, ranks, order, hz
HZ_AT = 16  # where in the header the frequency is
PART = struct.Struct("<5Q4I")  # as struct trace_part
ACTION = struct.Struct("<HHiiIQQ")  # kind, comm, peer, tag, request, bytes, more
NUMBERS = 4  # of a list in one record
PIECE = 1 << 18  # bytes of a rank's actions that are kept before they are written, at most
PIECES = 1 << 26  # so many of all ranks' together

PEER_ANY, PEER_NULL, TAG_ANY = -1, -2, -1
BYTES_ANY = 0xFFFFFFFF
BYTES_MAX = (1 << 31) - 1  # of one message: an int counts them, and MPI_BYTE is their type
TAG_MAX = (1 << 31) - 1
SUCCESSOR_OF_START = 1 << 31
TIME_MAX_PS = 1 << 62  # of one computation
# Slots of communicators that are there from the start.
COMM_WORLD, COMM_SELF = 0, 1


class Order(IntEnum):
    """How a rank's actions follow each other."""

    SEQUENCE = 0
    GRAPH = 1


class Kind(IntEnum):
    """What an action does: `enum trace_kind`."""

    COMPUTE = 1
    SEND = 2
    SSEND = 3
    RSEND = 4
    BSEND = 5
    ISEND = 6
    ISSEND = 7
    IRSEND = 8
    IBSEND = 9
    RECV = 10
    IRECV = 11
    SENDRECV = 12
    SENDRECV_REPLACE = 13
    SEND_INIT = 14
    RECV_INIT = 15
    START = 16
    STARTALL = 17
    REQUEST_FREE = 18
    WAIT = 19
    WAITALL = 20
    TEST = 21
    TESTALL = 22
    TESTANY = 23
    TESTSOME = 24
    PROBE = 25
    IPROBE = 26
    BUFFER_ATTACH = 27
    BUFFER_DETACH = 28
    BARRIER = 29
    BCAST = 30
    REDUCE = 31
    ALLREDUCE = 32
    SCAN = 33
    EXSCAN = 34
    REDUCE_SCATTER = 35
    GATHER = 36
    ALLGATHER = 37
    SCATTER = 38
    ALLTOALL = 39
    GATHERV = 40
    ALLGATHERV = 41
    SCATTERV = 42
    ALLTOALLV = 43
    COMM_DUP = 44
    COMM_SPLIT = 45
    COMM_CREATE = 46
    CART_CREATE = 47
    CART_SUB = 48
    COMM_FREE = 49


class Type(IntEnum):
    """A type of what is reduced: `enum trace_type`."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    FLOAT = 5
    DOUBLE = 6


class Operator(IntEnum):
    """An operator of a reduction: `enum trace_operator`."""

    NONE = 0
    SUM = 1
    PROD = 2
    MIN = 3
    MAX = 4
    LAND = 5
    LOR = 6
    LXOR = 7
    BAND = 8
    BOR = 9
    BXOR = 10


def operator(op: Operator, of: Type) -> int:
    """Both in one number, as an action has them."""
    return op << 8 | of


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises LostError where a file of the trace's actions can't be written."""
    try:
        yield
    except OSError as error:
        raise LostError(lost(path, error)) from None


def lost(path: Path, error: OSError) -> str:
    """The message of that."""
    return (
        f"{error.filename or path}: {error.strerror}: actions of the trace are kept there while it "
        f"is played; set TMPDIR to another folder than {tempfile.gettempdir()}"
    )


def _refuse(what: str) -> NoReturn:
    raise InputError(what)


# Which arguments kinds have.
SENDING = frozenset({
    Kind.SEND, Kind.SSEND, Kind.RSEND, Kind.BSEND, Kind.ISEND, Kind.ISSEND, Kind.IRSEND,
    Kind.IBSEND, Kind.SEND_INIT, Kind.SENDRECV, Kind.SENDRECV_REPLACE,
})  # fmt: skip
RECEIVING = frozenset({Kind.RECV, Kind.IRECV, Kind.RECV_INIT, Kind.PROBE, Kind.IPROBE})
OF_REQUESTS = frozenset({Kind.STARTALL, Kind.WAITALL, Kind.TESTALL, Kind.TESTANY, Kind.TESTSOME})
ROOTED = frozenset(
    {Kind.BCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER, Kind.GATHERV, Kind.SCATTERV}
)
OF_EACH_RANK = {
    Kind.REDUCE_SCATTER: 1, Kind.GATHERV: 1, Kind.ALLGATHERV: 1, Kind.SCATTERV: 1,
    Kind.ALLTOALLV: 2,
}  # fmt: skip
AT_ROOT_ALONE = frozenset({Kind.GATHERV, Kind.SCATTERV})
SIZED = frozenset(
    {Kind.BUFFER_ATTACH, Kind.GATHER, Kind.ALLGATHER, Kind.SCATTER, Kind.ALLTOALL, *ROOTED}
    | {Kind.ALLREDUCE, Kind.SCAN, Kind.EXSCAN, Kind.ALLGATHERV, *SENDING, *RECEIVING}
)


class Rules:
    """What MPI allows as arguments of an action of a rank, in communicators whose size may not be
    known: then what is wrong for any size is refused."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.ranks = rank, ranks
        self.refuse: Callable[[str], NoReturn] = _refuse  # says where in the trace
        self.sizes = {COMM_WORLD: ranks, COMM_SELF: 1}  # of communicators, where they are known

    def check(self, kind: Kind, comm: int, peer: int, tag: int, size: int, more: int) -> None:
        """An action; if it has a list, `more` is none of its arguments."""
        if kind in SENDING:
            self._check_rank(comm, peer, "rank", PEER_NULL)
            if tag < 0 and peer != PEER_NULL:
                self.refuse(f"tag {tag} of what is sent; 0 to {TAG_MAX} are allowed")
        elif kind in RECEIVING:
            self._check_rank(comm, peer, "rank", PEER_NULL, PEER_ANY)
        elif kind in ROOTED:
            self._check_rank(comm, peer, "root")
        if kind in SIZED:
            for each in (size, more):
                if not 0 <= each <= BYTES_MAX and not (each == BYTES_ANY and kind in RECEIVING):
                    self.refuse(f"{each} bytes; 0 to {BYTES_MAX} are allowed")

    def check_list(self, kind: Kind, comm: int, peer: int, numbers: Sequence[int]) -> None:
        """Its list."""
        if kind in OF_EACH_RANK:
            self._check_each(kind, comm, peer, numbers)
        elif kind in OF_REQUESTS:
            if len(set(numbers)) < len(numbers):
                self.refuse("one request twice")
        elif kind in (Kind.SENDRECV, Kind.SENDRECV_REPLACE):
            source, size = numbers[0], numbers[2]
            source -= (source >> 63) << 64
            self._check_rank(comm, source, "rank", PEER_NULL, PEER_ANY)
            if not 0 <= size <= BYTES_MAX:
                self.refuse(f"{size} bytes; 0 to {BYTES_MAX} are allowed")
        elif kind is Kind.COMM_CREATE:
            for rank in numbers:
                self._check_rank(comm, rank, "rank")
            if len(set(numbers)) < len(numbers):
                self.refuse(f"one rank twice in the group {list(numbers)}")
        elif kind is Kind.CART_CREATE:
            lengths = [number >> 1 for number in numbers]
            if min(lengths, default=1) < 1:
                self.refuse(f"dimensions {lengths}; each has one rank at least")
            most = self.sizes.get(comm, self.ranks)
            if math.prod(lengths) > most:
                self.refuse(f"dimensions {lengths} of a communicator of {most} ranks")

    def _check_rank(self, comm: int, rank: int, what: str, *others: int) -> None:
        most = self.sizes.get(comm, self.ranks)
        if not 0 <= rank < most and rank not in others:
            self.refuse(f"{what} {rank}; its communicator has ranks 0 to {most - 1}")

    def _check_each(self, kind: Kind, comm: int, peer: int, numbers: Sequence[int]) -> None:
        known, lists = self.sizes.get(comm), OF_EACH_RANK[kind]
        count = len(numbers) // lists
        own = self.rank if comm == COMM_WORLD else 0 if comm == COMM_SELF else None
        is_needed = kind not in AT_ROOT_ALONE or own == peer
        if (count or is_needed) and not (
            count == known if known is not None else 0 < count <= self.ranks
        ):
            ranks = f"{known} ranks" if known is not None else f"1 to {self.ranks} ranks"
            self.refuse(f"counts for {count} ranks; its communicator has {ranks}")
        if min(numbers, default=0) < 0:
            self.refuse(f"a block of {min(numbers)} bytes; a count is not negative")
        for at in range(lists):
            total = sum(numbers[at * count : (at + 1) * count])
            if total > BYTES_MAX:
                self.refuse(f"blocks of {total} bytes together; 0 to {BYTES_MAX} are allowed")


class Part(Rules):
    """What one rank does, as it is read. Times are checked by who reads them, and what calls have
    as arguments here."""

    def __init__(self, path: Path, rank: int, ranks: int) -> None:
        super().__init__(rank, ranks)
        self.path = path
        self.actions = 0  # records, those of lists too
        self.list = 0  # numbers of the longest list; of a graph successors
        self.send_bytes = self.receive_bytes = 0
        self.requests = 0
        self.communicators = 2
        self.processors = 0
        self.takes_any = False  # a receive takes as much as comes
        self._pending_ps = 0
        self._piece = bytearray()
        self._piece_max = min(PIECE, PIECES // ranks)

    def compute(self, ps: int) -> None:
        """Is busy; what follows on such an action is one with it."""
        self._pending_ps += ps

    def add(
        self,
        kind: Kind,
        *,
        comm: int = COMM_WORLD,
        peer: int = 0,
        tag: int = 0,
        request: int = 0,
        size: int = 0,
        more: int = 0,
    ) -> None:
        """An action without a list."""
        self.check(kind, comm, peer, tag, size, more)
        self._add(ACTION.pack(kind, comm, peer, tag, request, size, more))

    def add_list(
        self,
        kind: Kind,
        numbers: Sequence[int],
        *,
        comm: int = COMM_WORLD,
        peer: int = 0,
        tag: int = 0,
        request: int = 0,
        size: int = 0,
    ) -> None:
        """An action with one."""
        self.check(kind, comm, peer, tag, size, 0)
        self.check_list(kind, comm, peer, numbers)
        self._add(ACTION.pack(kind, comm, peer, tag, request, size, len(numbers)))
        records = -(-len(numbers) // NUMBERS)
        self.actions += records
        self.list = max(self.list, len(numbers))
        filled = [*numbers, *[0] * (records * NUMBERS - len(numbers))]
        self._write(struct.pack(f"<{len(filled)}Q", *filled))

    def flush_computation(self) -> None:
        """Writes what was computed up to here."""
        while ps := min(self._pending_ps, TIME_MAX_PS):
            self._pending_ps -= ps
            self.actions += 1
            self._write(ACTION.pack(Kind.COMPUTE, 0, 0, 0, 0, ps, 0))

    def sends(self, size: int) -> None:
        """A call sends so much from the buffer."""
        self.send_bytes = max(self.send_bytes, size)

    def receives(self, size: int) -> None:
        """A call receives so much into the buffer."""
        self.receive_bytes = max(self.receive_bytes, size)

    def write_graph(self, actions: bytes, successors: bytes) -> None:
        """All of a graph."""
        self.actions = len(actions) // ACTION.size
        self.list = len(successors) // 4
        self._write(actions)
        self._write(successors)

    def finish(self) -> None:
        """No further action follows."""
        self.flush_computation()
        self._spool()

    def _add(self, record: bytes) -> None:
        self.flush_computation()
        self.actions += 1
        self._write(record)

    def _write(self, record: bytes) -> None:
        self._piece += record
        if len(self._piece) >= self._piece_max:
            self._spool()

    def _spool(self) -> None:
        with writing(self.path), self.path.open("ab") as file:
            file.write(self._piece)
        self._piece.clear()

    def packed(self, offset: int, receive_bytes: int) -> bytes:
        """As struct trace_part."""
        return PART.pack(
            offset, self.actions, self.list, self.send_bytes, receive_bytes, self.requests,
            self.communicators, self.processors, 0,
        )  # fmt: skip


class Actions:
    """The file of all ranks' actions, in a folder that is there for it alone."""

    def __init__(self, folder: Path, order: Order, ranks: int) -> None:
        self.folder = folder
        self.order = order
        self.parts = [Part(folder / f"rank-{rank}", rank, ranks) for rank in range(ranks)]

    @property
    def path(self) -> Path:
        return self.folder / "actions"

    def finish(self) -> str:
        """Makes the file of the ranks' files. Its SHA-256."""
        digest = hashlib.sha256()
        largest = max((part.send_bytes for part in self.parts), default=0)
        with writing(self.path), self.path.open("wb") as out:
            for piece in self._beginning(largest):
                digest.update(piece)
                out.write(piece)
            for part in self.parts:
                with part.path.open("rb") as file:
                    while piece := file.read(PIECE):
                        digest.update(piece)
                        out.write(piece)
                part.path.unlink()
        return digest.hexdigest()

    def _beginning(self, largest: int) -> Iterator[bytes]:
        yield HEADER.pack(MAGIC, len(self.parts), self.order, 0)
        at = HEADER.size + PART.size * len(self.parts)
        for part in self.parts:
            part.finish()
            room = max(part.receive_bytes, largest) if part.takes_any else part.receive_bytes
            yield part.packed(at, room)
            at += part.path.stat().st_size

    def set_frequency(self, hz: int) -> None:
        """Of the harts that carry it out next."""
        with writing(self.path), self.path.open("r+b") as file:
            file.seek(HZ_AT)
            file.write(struct.pack("<Q", hz))

    def remove(self) -> None:
        """The folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
