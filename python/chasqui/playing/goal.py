"""GOAL, the language of LogGOPSim's schedules: T. Hoefler, C. Siebert, A. Lumsdaine, Group
Operation Assembly Language, ICPP 2009; the grammar is that of LogGOPSim's `txt2bin`.

An operation goes on when those that it `requires` are complete and those that it `irequires` have
begun; all else may go on at once. `calc` has ns.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from pathlib import Path

from chasqui.errors import InputError
from chasqui.files import check_regular
from chasqui.playing.form import (
    ACTION,
    PEER_ANY,
    SUCCESSOR_OF_START,
    TAG_ANY,
    Actions,
    Kind,
    Order,
    Part,
)
from chasqui.playing.source import (
    PS_PER_NS,
    Clock,
    Place,
    Settings,
    Source,
    check_rank,
    check_ranks,
    check_size,
    check_tag,
    check_time,
    lines,
    shown,
)

PROCESSORS_MAX = 256  # LogGOPSim's `cpu` numbers are bytes
ACTIONS_MAX = 1 << 31
ON = r"(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?"
CALC = re.compile(rf"(?:([a-zA-Z]\w*)\s*:)?\s*calc\s+(\d+){ON}")
MESSAGE = re.compile(
    r"(?:([a-zA-Z]\w*)\s*:)?\s*(send|recv)\s+(\d+)\s*b\s+(to|from)\s+(-?\d+)"
    rf"(?:\s+tag\s+(-?\d+))?{ON}"
)
REQUIRES = re.compile(r"([a-zA-Z]\w*)\s+(i?)requires\s+([a-zA-Z]\w*)")
RANK = re.compile(r"rank\s+(\d+)\s*\{")
NUM_RANKS = re.compile(r"num_ranks\s+(\d+)")
BEGINNING = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\s", re.DOTALL)
# What `txt2bin` makes of such a text begins so; the second, where LogGOPSim has used it up.
BINARIES = tuple(number.to_bytes(8, "little") for number in (4223, 2342))
ALLOWED = (
    "[LABEL:] calc NS [cpu N], [LABEL:] send BYTESb to RANK [tag N] [cpu N] [nic N], "
    "[LABEL:] recv BYTESb from RANK [tag N] [cpu N] [nic N], LABEL requires LABEL, "
    "LABEL irequires LABEL, or }"
)


def is_one(_: Path, beginning: bytes) -> bool:
    return BEGINNING.match(beginning) is not None or beginning.startswith(BINARIES)


def read(source: Source, folder: Path, settings: Settings) -> Actions:
    place = Place(source.path)
    check_regular(source.path)
    with source.path.open("rb") as file:
        if file.read(8) in BINARIES:
            raise InputError(
                f"{source.path}: LogGOPSim's binary form; the text that txt2bin made it of is read"
            )
    text = _statements(source, place)
    first = next(text, "")
    found = NUM_RANKS.fullmatch(first)
    if not found:
        place.refuse(f"{shown(first)}: a GOAL schedule begins with num_ranks N")
    ranks = check_ranks(_number(found[1], place), place)
    actions = Actions(folder, Order.GRAPH, ranks)
    missing = set(range(ranks))
    for statement in text:
        found = RANK.fullmatch(statement)
        if not found:
            place.refuse(f"{shown(statement)}: rank N {{ is expected")
        place.rank = None
        rank = check_rank(_number(found[1], place), ranks, place)
        if rank not in missing:
            place.refuse(f"rank {rank} has a block above")
        missing.remove(rank)
        place.rank = rank
        _Block(place, ranks, settings).read(text, actions.parts[rank])
        place.rank = None
    if missing:
        place.refuse(f"the end; rank {min(missing)} has no block")
    return actions


def _statements(source: Source, place: Place) -> Iterator[str]:
    """What lines say without their comments."""
    is_open = False
    for place.line, line in lines(source.path, source.digest):
        text = line
        if is_open or "/" in text:
            text, is_open = _without_comments(text, is_open)
        text = text.strip()
        if text:
            yield text


def _without_comments(text: str, is_open: bool) -> tuple[str, bool]:
    """A line, and whether a comment goes on behind it."""
    kept = ""
    while text:
        if is_open:
            _, end, text = text.partition("*/")
            is_open = not end
            continue
        at = re.search(r"//|/\*", text)
        if not at:
            return kept + text, False
        kept += text[: at.start()]
        is_open = at[0] == "/*"
        text = text[at.end() :] if is_open else ""
    return kept, is_open


def _number(text: str, place: Place) -> int:
    if len(text) > 20:
        place.refuse(f"{shown(text)}: a number of at most 20 digits is expected")
    return int(text)


class _Block:
    """A rank's operations and what they wait for."""

    def __init__(self, place: Place, ranks: int, settings: Settings) -> None:
        self.place, self.ranks = place, ranks
        self.clock = Clock(PS_PER_NS * settings.scale)
        self.labels: dict[str, int] = {}
        self.kinds = bytearray()
        self.processors = bytearray()
        self.peers, self.tags = array("i"), array("i")
        self.sizes = array("Q")  # bytes, or ps
        # The action that waits, and that for which it does, with SUCCESSOR_OF_START.
        self.waiting, self.waited_for = array("I"), array("I")
        self.lines = array("I")  # of the former: for messages

    def read(self, text: Iterator[str], part: Part) -> None:
        for statement in text:
            if statement == "}":
                self._write(part)
                return
            self._take(statement, part)
        self.place.refuse("the end; the block of this rank has no }")

    def _take(self, statement: str, part: Part) -> None:
        if found := REQUIRES.fullmatch(statement):
            self._require(*found.groups())
        elif found := MESSAGE.fullmatch(statement):
            self._message(part, *found.groups())
        elif found := CALC.fullmatch(statement):
            label, ns, cpu, nic = found.groups()
            ps = check_time(self.clock.of(_number(ns, self.place)), self.place)
            self._add(label, Kind.COMPUTE, 0, 0, ps, cpu, nic)
        else:
            self.place.refuse(f"{shown(statement)}: allowed are {ALLOWED}")

    def _require(self, label: str, begun: str, other: str) -> None:
        for each in (label, other):
            if each not in self.labels:
                self.place.refuse(f"the label {shown(each)} is not defined above in this block")
        self.waiting.append(self.labels[label])
        self.waited_for.append(self.labels[other] | (SUCCESSOR_OF_START if begun else 0))
        self.lines.append(min(self.place.line, (1 << 32) - 1))

    def _message(
        self, part: Part, label: str | None, what: str, size: str, way: str, peer: str,
        tag: str | None, cpu: str | None, nic: str | None,
    ) -> None:  # fmt: skip
        is_send = what == "send"
        if (way == "to") != is_send:
            self.place.refuse(f"{what} … {way}: send … to and recv … from are allowed")
        count = check_size(_number(size, self.place), self.place)
        rank, number = _number(peer, self.place), _number(tag or "0", self.place)
        if is_send or rank != PEER_ANY:
            check_rank(rank, self.ranks, self.place)
        if is_send or number != TAG_ANY:
            check_tag(number, self.place)
        if is_send:
            part.sends(count)
        else:
            part.receives(count)
        part.requests += 1
        self._add(label, Kind.SEND if is_send else Kind.RECV, rank, number, count, cpu, nic)

    def _add(
        self, label: str | None, kind: Kind, peer: int, tag: int, size: int,
        cpu: str | None, nic: str | None,
    ) -> None:  # fmt: skip
        processor = _number(cpu or "0", self.place)
        if processor >= PROCESSORS_MAX or _number(nic or "0", self.place) >= PROCESSORS_MAX:
            self.place.refuse(f"cpu and nic may be 0 to {PROCESSORS_MAX - 1}")
        if label is not None:
            if label in self.labels:
                self.place.refuse(f"the label {shown(label)} is defined above in this block")
            self.labels[label] = len(self.kinds)
        if len(self.kinds) >= ACTIONS_MAX:
            self.place.refuse(f"a rank may have {ACTIONS_MAX} operations")
        self.kinds.append(kind)
        self.processors.append(processor)
        self.peers.append(peer)
        self.tags.append(tag)
        self.sizes.append(size)

    def _write(self, part: Part) -> None:
        count = len(self.kinds)
        waits, firsts = array("I", bytes(4 * count)), array("I", bytes(4 * (count + 1)))
        for waiting, other in zip(self.waiting, self.waited_for, strict=True):
            waits[waiting] += 1
            firsts[(other & ~SUCCESSOR_OF_START) + 1] += 1
        for number in range(count):
            firsts[number + 1] += firsts[number]
        successors, at = array("I", bytes(4 * len(self.waiting))), firsts[:-1]
        for waiting, other in zip(self.waiting, self.waited_for, strict=True):
            number = other & ~SUCCESSOR_OF_START
            successors[at[number]] = waiting | (other & SUCCESSOR_OF_START)
            at[number] += 1
        self._check_order(waits, firsts, successors)
        part.processors = max(self.processors, default=0) + 1
        actions = bytearray()
        for number in range(count):
            more = firsts[number] | (firsts[number + 1] - firsts[number]) << 32
            actions += ACTION.pack(
                self.kinds[number], self.processors[number], self.peers[number], self.tags[number],
                waits[number], self.sizes[number], more,
            )  # fmt: skip
        part.write_graph(bytes(actions), successors.tobytes())
        part.finish()

    def _check_order(self, waits: array[int], firsts: array[int], successors: array[int]) -> None:
        """Refuses operations that wait for themselves, by way of others too."""
        left, ready = waits[:], [n for n, count in enumerate(waits) if count == 0]
        done = 0
        while ready:
            number = ready.pop()
            done += 1
            for at in range(firsts[number], firsts[number + 1]):
                waiting = successors[at] & ~SUCCESSOR_OF_START
                left[waiting] -= 1
                if left[waiting] == 0:
                    ready.append(waiting)
        if done == len(waits):
            return
        # Each that is left waits for another that is left: that way leads into a circle.
        behind = {
            waiting: at
            for at, (waiting, other) in enumerate(zip(self.waiting, self.waited_for, strict=True))
            if left[waiting] and left[other & ~SUCCESSOR_OF_START]
        }
        number, seen = next(iter(behind)), set()
        while number not in seen:
            seen.add(number)
            number = self.waited_for[behind[number]] & ~SUCCESSOR_OF_START
        at = behind[number]
        names = {number: label for label, number in self.labels.items()}
        self.place.line = self.lines[at]
        other = self.waited_for[at] & ~SUCCESSOR_OF_START
        self.place.refuse(
            f"{names[self.waiting[at]]} requires {names[other]}: operations of this block wait for "
            "each other in a circle"
        )
