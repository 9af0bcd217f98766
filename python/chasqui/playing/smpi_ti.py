"""Time-independent traces, as SimGrid's `smpirun -replay` reads them (SimGrid 4.1,
`smpi_replay.cpp`): a line an action, `RANK ACTION …`.

A file a rank, which another one lists by their names, a line each; or one file of all ranks.
`compute` has operations (flops). All is in MPI_COMM_WORLD, and reductions compute what the line
says, whatever their operator. So the operator here does nothing, and computation follows.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from chasqui.errors import InputError
from chasqui.playing.form import (
    BYTES_ANY,
    PEER_ANY,
    TAG_ANY,
    Actions,
    Kind,
    Operator,
    Order,
    Part,
    Type,
    operator,
)
from chasqui.playing.slots import Slots
from chasqui.playing.source import (
    PS_PER_S,
    RANKS_MAX,
    Clock,
    Place,
    Settings,
    Source,
    check_rank,
    check_size,
    check_tag,
    check_time,
    finite,
    lines,
    shown,
)

LIST = "trace.txt"  # in a folder, as `chasqui export` names it
ACTION = re.compile(r"p?\d{1,9}\s+[a-zA-Z_]+\b.*", re.DOTALL)
# Bytes of the datatypes by their numbers there (`smpi_datatype.cpp`), with C's types on 64 bits.
SIZES = dict(
    enumerate(
        [
            *[8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16],
            *[32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 4, 8, 0, 0, 0, 4, 2, 4, 8, 16, 32],
            *[0, 0, 1, 8],
        ]
    )
)
DOUBLE, BYTE = 0, 6
DIGITS_MAX = 18
NUMBER_MAX = 10**DIGITS_MAX
NOTHING = operator(Operator.NONE, Type.BYTE)


def is_one(path: Path, beginning: bytes) -> bool:
    if path.is_dir():
        return (path / LIST).is_file()
    try:
        text = [line.strip() for line in beginning.decode("ascii").splitlines()]
    except UnicodeDecodeError:
        return False
    first = next((line for line in text if line and not line.startswith("#")), "")
    if ACTION.fullmatch(first):
        return first.split()[1] in ("init", *_Rank.ACTIONS)
    return bool(first) and _found(path, first) is not None


def read(source: Source, folder: Path, settings: Settings) -> Actions:
    path = source.path / LIST if source.path.is_dir() else source.path
    place = Place(path)
    first = next(_lines(path, place, None), "")
    if ACTION.fullmatch(first):
        return _read_mixed(source, path, folder, settings)
    names = list(_lines(path, place, source.digest))
    files = [_listed(path, name, place) for name in names]
    if not 1 <= len(files) <= RANKS_MAX:
        place.refuse(f"{len(files)} files are listed; 1 to {RANKS_MAX} are allowed, one a rank")
    if len(files) == 1 and len(_ranks_of(files[0])) > 1:
        return _read_mixed(source, files[0], folder, settings)
    actions = Actions(folder, Order.SEQUENCE, len(files))
    for rank, file in enumerate(files):
        place = Place(file)
        player = _Rank(rank, len(files), actions.parts[rank], settings)
        for line in _lines(file, place, source.digest):
            words = line.split()
            if (of := _rank_of(words, place)) != rank:
                place.refuse(f"an action of rank {of} in the file of rank {rank}")
            player.take(words, place)
        player.finish()
    return actions


def _read_mixed(source: Source, path: Path, folder: Path, settings: Settings) -> Actions:
    """A file of all ranks: how many there are, it says at its end only."""
    ranks = _ranks_of(path)
    place = Place(path)
    missing = set(range(max(ranks, default=0) + 1)) - ranks
    if missing or not ranks:
        raise InputError(f"{path}: rank {min(missing, default=0)} does nothing, not even init")
    actions = Actions(folder, Order.SEQUENCE, len(ranks))
    players = [_Rank(n, len(ranks), part, settings) for n, part in enumerate(actions.parts)]
    for line in _lines(path, place, source.digest):
        words = line.split()
        players[_rank_of(words, place)].take(words, place)
    for player in players:
        player.finish()
    return actions


def _ranks_of(path: Path) -> set[int]:
    place = Place(path)
    return {_rank_of(line.split(), place) for line in _lines(path, place, None)}


def _rank_of(words: list[str], place: Place) -> int:
    """Whose line it is, `1 …` or `p1 …`."""
    text = words[0].removeprefix("p")
    if len(words) < 2 or not text.isdecimal() or len(text) > 9:
        place.refuse(f"{shown(' '.join(words))}: RANK ACTION … is expected, as in 0 send 1 0 64")
    rank = int(text)
    if rank >= RANKS_MAX:
        place.refuse(f"rank {rank}; 0 to {RANKS_MAX - 1} are allowed")
    return rank


def _lines(path: Path, place: Place, digest: object) -> Iterator[str]:
    """Those that say something."""
    place.rank = None
    for place.line, line in lines(path, digest):  # type: ignore[arg-type]
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _listed(path: Path, name: str, place: Place) -> Path:
    found = _found(path, name)
    if found is None:
        raise InputError(f"{place.path}: {shown(name)}: no such file; a list has a file a rank")
    return found


def _found(path: Path, name: str) -> Path | None:
    """A file by the name that a list has: absolute, or from the list's folder on. A list that was
    moved with its files has their old names."""
    try:
        places = (path.parent / name, path.parent / Path(name).name)
        return next((place for place in places if place.is_file()), None)
    except OSError:  # the name is too long
        return None


class _Rank:
    """A rank's lines, one after the other."""

    def __init__(self, rank: int, ranks: int, part: Part, settings: Settings) -> None:
        self.rank, self.ranks, self.part = rank, ranks, part
        self.flops = Clock(PS_PER_S * settings.scale / settings.flops_per_s)
        self.seconds = Clock(PS_PER_S * settings.scale)
        self.slots = Slots(part)
        # Requests by sender, receiver and tag, as waits name them; and all in their order.
        self.open: dict[tuple[int, int, int], deque[int]] = {}
        self.default = BYTE
        self.place = Place(Path())
        self.words: list[str] = []

    def take(self, words: list[str], place: Place) -> None:
        """A line; the first of its words is the rank."""
        place.rank = self.rank
        self.place, self.words = place, words[1:]
        self.part.refuse = place.refuse
        action = self.ACTIONS.get(self.words[0])
        if action is None:
            place.refuse(
                f"{shown(self.words[0])} is not played; allowed are {', '.join(self.ACTIONS)}"
            )
        action(self)

    def finish(self) -> None:
        """SimGrid waits at the end for what is open."""
        self._waitall()
        self.part.finish()

    # --- words of a line ----------------------------------------------------------------------

    def _number(self, at: int, default: int | None = None) -> int:
        """A whole number, which may be written as one with a fraction."""
        if default is not None and at >= len(self.words):
            return default
        self._check_there(at)
        text = self.words[at]
        if len(text) <= DIGITS_MAX and text.removeprefix("-").isdecimal():
            return int(text)
        number = finite(text, self.place)
        if number >= NUMBER_MAX:
            self.place.refuse(f"{shown(text)}: numbers below {NUMBER_MAX} are allowed")
        return round(number)

    def _check_there(self, at: int) -> None:
        if at >= len(self.words):
            self.place.refuse(f"{self.words[0]} has {len(self.words) - 1} words: too few")

    def _root(self, at: int) -> int:
        return check_rank(self._number(at, 0), self.ranks, self.place, "root")

    def _size_of(self, at: int) -> int:
        """Bytes of the datatype whose number stands there."""
        number = self._number(at, self.default)
        if number != -1 and number not in SIZES:
            known = f"-1 to {max(SIZES)}"
            self.place.refuse(f"datatype {number} of {self.words[0]}; there are {known}")
        return SIZES.get(number, 0)

    def _bytes(self, at: int, type_at: int) -> int:
        return check_size(self._number(at) * self._size_of(type_at), self.place)

    def _vector(self, at: int, type_at: int) -> list[int]:
        each = self._size_of(type_at)
        found = [check_size(self._number(at + i) * each, self.place) for i in range(self.ranks)]
        check_size(sum(found), self.place, "buffer")
        return found

    def _compute(self, at: int, clock: Clock) -> None:
        self._check_there(at)
        number = finite(self.words[at], self.place)
        ps = clock.of(int(number)) if number.is_integer() else clock.of_float(number)
        self.part.compute(check_time(ps, self.place))

    # --- messages -----------------------------------------------------------------------------

    def _send(self) -> None:
        kind = Kind.SEND if self.words[0] == "send" else Kind.ISEND
        peer = check_rank(self._number(1), self.ranks, self.place)
        tag, size = check_tag(self._number(2), self.place), self._bytes(3, 4)
        self.part.sends(size)
        request = self._begin(self.rank, peer, tag) if kind is Kind.ISEND else 0
        self.part.add(kind, peer=peer, tag=tag, request=request, size=size)

    def _recv(self) -> None:
        kind = Kind.RECV if self.words[0] == "recv" else Kind.IRECV
        peer, tag = self._number(1), self._number(2)
        if peer != PEER_ANY:
            check_rank(peer, self.ranks, self.place)
        if tag != TAG_ANY:
            check_tag(tag, self.place)
        if self._number(3) > 0:
            size = self._bytes(3, 4)
            self.part.receives(size)
        else:  # SimGrid looks how long the message is; older traces have 0 for that, newer ones -1
            size, self.part.takes_any = BYTES_ANY, True
        request = self._begin(peer, self.rank, tag) if kind is Kind.IRECV else 0
        self.part.add(kind, peer=peer, tag=tag, request=request, size=size)

    def _begin(self, source: int, destination: int, tag: int) -> int:
        slot = self.slots.take()
        self.open.setdefault((source, destination, tag), deque()).append(slot)
        return slot

    def _wait(self) -> None:
        key = self._key()
        slot = self.open[key].popleft()
        if not self.open[key]:
            del self.open[key]
        self.part.add(Kind.WAIT, request=slot)
        self.slots.free(slot)

    def _test(self) -> None:
        self.part.add(Kind.TEST, request=self.open[self._key()][0])

    def _key(self) -> tuple[int, int, int]:
        source, destination, tag = (self._number(at) for at in (1, 2, 3))
        keys = [
            (source, destination, tag), (PEER_ANY, destination, tag),
            (source, destination, TAG_ANY), (PEER_ANY, destination, TAG_ANY),
        ]  # fmt: skip
        found = [key for key in keys if self.open.get(key)]
        if not found:
            self.place.refuse(
                f"{self.words[0]} {source} {destination} {tag}: no isend or irecv of this source, "
                "destination and tag is open"
            )
        return found[0]

    def _waitall(self) -> None:
        slots = sorted(slot for each in self.open.values() for slot in each)
        if slots:
            self.part.add_list(Kind.WAITALL, slots)
        for slot in slots:
            self.slots.free(slot)
        self.open.clear()

    def _sendrecv(self) -> None:
        sent, received = self._bytes(1, 5), self._bytes(3, 6)
        to, source = (check_rank(self._number(at), self.ranks, self.place) for at in (2, 4))
        self.part.sends(sent)
        self.part.receives(received)
        self.part.add_list(Kind.SENDRECV, [source, 0, received], peer=to, size=sent)

    # --- collectives --------------------------------------------------------------------------

    def _barrier(self) -> None:
        self.part.add(Kind.BARRIER)

    def _bcast(self) -> None:
        size = self._bytes(1, 3)
        self.part.receives(size)
        self.part.add(Kind.BCAST, peer=self._root(2), size=size)

    def _reduce(self) -> None:
        kind, type_at = REDUCTIONS[self.words[0]]
        size = self._bytes(1, type_at)
        root = self._root(3) if kind is Kind.REDUCE else 0
        self._exchanges(size, size)
        self.part.add(kind, peer=root, tag=NOTHING, size=size)
        self._compute(2, self.flops)

    def _reduce_scatter(self) -> None:
        sizes = self._vector(1, self.ranks + 2)
        self._exchanges(sum(sizes), sum(sizes))
        self.part.add_list(Kind.REDUCE_SCATTER, sizes, tag=NOTHING)
        self._compute(self.ranks + 1, self.flops)

    def _gather(self) -> None:
        has_root = self.words[0] == "gather"
        size, each = self._bytes(1, 4 if has_root else 3), self._bytes(2, 5 if has_root else 4)
        root = self._root(3) if has_root else 0
        self._exchanges(size, each * self.ranks if root == self.rank or not has_root else 0)
        kind = Kind.GATHER if has_root else Kind.ALLGATHER
        self.part.add(kind, peer=root, size=size, more=each)

    def _scatter(self) -> None:
        each, size, root = self._bytes(1, 4), self._bytes(2, 5), self._root(3)
        self._exchanges(each * self.ranks if root == self.rank else 0, size)
        self.part.add(Kind.SCATTER, peer=root, size=each, more=size)

    def _alltoall(self) -> None:
        sent, received = self._bytes(1, 3), self._bytes(2, 4)
        self._exchanges(sent * self.ranks, received * self.ranks)
        self.part.add(Kind.ALLTOALL, size=sent, more=received)

    def _gatherv(self) -> None:
        type_at = self.ranks + 3
        root = self._root(self.ranks + 2)
        size, sizes = self._bytes(1, type_at), self._vector(2, type_at + 1)
        if root != self.rank:
            sizes = []
        self._exchanges(size, sum(sizes))
        self.part.add_list(Kind.GATHERV, sizes, peer=root, size=size)

    def _allgatherv(self) -> None:
        count = self.ranks
        # Behind the counts may stand datatypes, or displacements, or both: by how many words.
        has_types = len(self.words) - (2 + count) in (1, 2, count + 2)
        type_at = 2 + count if has_types else len(self.words)
        size, sizes = self._bytes(1, type_at), self._vector(2, type_at + 1)
        self._exchanges(size, sum(sizes))
        self.part.add_list(Kind.ALLGATHERV, sizes, size=size)

    def _scatterv(self) -> None:
        type_at = self.ranks + 3
        root = self._root(self.ranks + 2)
        sizes, size = self._vector(1, type_at), self._bytes(self.ranks + 1, type_at + 1)
        if root != self.rank:
            sizes = []
        self._exchanges(sum(sizes), size)
        self.part.add_list(Kind.SCATTERV, sizes, peer=root, size=size)

    def _alltoallv(self) -> None:
        type_at = 2 * self.ranks + 3
        sent = self._vector(2, type_at)
        received = self._vector(self.ranks + 3, type_at + 1)
        self._exchanges(sum(sent), sum(received))
        self.part.add_list(Kind.ALLTOALLV, [*sent, *received])

    def _exchanges(self, sent: int, received: int) -> None:
        self.part.sends(check_size(sent, self.place, "buffer"))
        self.part.receives(check_size(received, self.place, "buffer"))

    # --- others -------------------------------------------------------------------------------

    def _init(self) -> None:
        self.default = DOUBLE if len(self.words) > 1 else BYTE

    def _computes(self) -> None:
        self._compute(1, self.flops)

    def _sleeps(self) -> None:
        self._compute(1, self.seconds)

    def _nothing(self) -> None:
        """SimGrid does nothing, either."""

    ACTIONS: dict[str, Callable[[_Rank], None]] = {  # noqa: RUF012 -- nothing changes it
        "init": _init, "finalize": _nothing, "compute": _computes, "sleep": _sleeps,
        "send": _send, "isend": _send, "recv": _recv, "irecv": _recv, "sendRecv": _sendrecv,
        "wait": _wait, "waitall": _waitall, "test": _test,
        "barrier": _barrier, "bcast": _bcast, "reduce": _reduce, "allreduce": _reduce,
        "scan": _reduce, "exscan": _reduce, "reducescatter": _reduce_scatter,
        "gather": _gather, "allgather": _gather, "scatter": _scatter, "alltoall": _alltoall,
        "gatherv": _gatherv, "allgatherv": _allgatherv, "scatterv": _scatterv,
        "alltoallv": _alltoallv, "location": _nothing,
        "comm_size": _nothing, "comm_split": _nothing, "comm_dup": _nothing,
    }  # fmt: skip


# Kind, and where in the line the datatype is.
REDUCTIONS = {
    "reduce": (Kind.REDUCE, 4),
    "allreduce": (Kind.ALLREDUCE, 3),
    "scan": (Kind.SCAN, 3),
    "exscan": (Kind.EXSCAN, 3),
}
