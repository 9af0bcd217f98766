"""Carries out exported schedules and traces, to see whether each comes to its end: with sends that
are buffered, and with sends that wait for their receive. Times are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from chasqui.export import smpi_ti

OPERATION = re.compile(
    r"(\w+): (?:calc (\d+)|(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)) cpu (\d+)"
)
DEPENDENCY = re.compile(r"(\w+) (i?requires) (\w+)")


class Goal:
    """A schedule, as the grammar of LogGOPSim's `txt2bin` reads it."""

    def __init__(self, path: Path) -> None:
        lines = [line for line in path.read_text().splitlines() if line]
        assert lines[0].startswith("//")
        assert lines[1] == f"num_ranks {lines.count('}')}"
        # By rank and label.
        self.operations: dict[tuple[int, str], re.Match[str]] = {}
        self.requires: dict[tuple[int, str], list[tuple[str, bool]]] = defaultdict(list)
        rank = -1
        for line in lines[2:]:
            if begin := re.fullmatch(r"rank (\d+) \{", line):
                assert int(begin[1]) == rank + 1
                rank = int(begin[1])
            elif operation := OPERATION.fullmatch(line):
                assert (rank, operation[1]) not in self.operations
                self.operations[rank, operation[1]] = operation
            elif dependency := DEPENDENCY.fullmatch(line):
                assert {(rank, dependency[1]), (rank, dependency[3])} <= set(self.operations)
                when = (dependency[3], dependency[2] == "irequires")
                self.requires[rank, dependency[1]].append(when)
            else:
                assert line == "}", line

    def left(self, is_buffered: bool) -> set[tuple[int, str]]:
        """What is not done when nothing more can be."""
        begun: set[tuple[int, str]] = set()
        done: set[tuple[int, str]] = set()
        # By kind, sender, receiver and tag.
        waiting: dict[tuple[str, int, int, str], list[tuple[int, str]]] = defaultdict(list)

        def is_ready(rank: int, label: str) -> bool:
            of = self.requires[rank, label]
            return all((rank, each) in (begun if is_begun else done) for each, is_begun in of)

        def begin(rank: int, label: str) -> None:
            begun.add((rank, label))
            operation = self.operations[rank, label]
            kind = operation[3]
            if kind is None or (kind == "send" and is_buffered):
                done.add((rank, label))
            if kind is None:
                return
            ends = (rank, int(operation[5]))
            pair = ends if kind == "send" else ends[::-1]
            others = waiting["recv" if kind == "send" else "send", pair[0], pair[1], operation[6]]
            if others:
                found = others.pop(0)
                assert self.operations[found][4] == operation[4]
                done.update((found, (rank, label)))
            else:
                waiting[kind, pair[0], pair[1], operation[6]].append((rank, label))

        # In the order of the text: messages of one tag don't overtake each other.
        while ready := [each for each in self.operations if each not in begun and is_ready(*each)]:
            for rank, label in ready:
                begin(rank, label)
        return set(self.operations) - done


def actions(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Each rank's actions in the folder of a time-independent trace."""
    for rank, name in enumerate((folder / smpi_ti.LIST).read_text().split()):
        assert Path(name) == folder / f"rank-{rank}.txt"
        first, *lines = Path(name).read_text().splitlines()
        assert first.startswith("#")
        assert {line.split()[0] for line in lines} == {str(rank)}
        assert lines[0] == f"{rank} init"
        assert lines[-1] == f"{rank} finalize"
        yield rank, [line.partition(" ")[2] for line in lines]


class State:
    """Of a send or a receive."""

    def __init__(self, is_done: bool) -> None:
        self.is_done = is_done


class Ranks:
    """What SMPI's ranks have begun."""

    def __init__(self, is_buffered: bool) -> None:
        self.is_buffered = is_buffered
        # By sender, receiver and tag: sends, or receives, that have met no other end.
        self.sends: dict[tuple[str, ...], list[State]] = defaultdict(list)
        self.receives: dict[tuple[str, ...], list[State]] = defaultdict(list)
        # By rank, too: what waits for them has not come.
        self.requests: dict[tuple[int, tuple[str, ...]], list[State]] = defaultdict(list)
        self.blocking: dict[int, State] = {}

    def begin(self, rank: int, action: str, peer: str, tag: str) -> State:
        is_send = action.endswith("send")
        key = (str(rank), peer, tag) if is_send else (peer, str(rank), tag)
        state = State(is_send and self.is_buffered)
        own, others = (self.sends, self.receives) if is_send else (self.receives, self.sends)
        if others[key]:
            others[key].pop(0).is_done = state.is_done = True
        else:
            own[key].append(state)
        if action.startswith("i"):
            self.requests[rank, key].append(state)
        return state

    def step(self, rank: int, action: str, *words: str) -> bool:
        """Whether the rank gets beyond this action."""
        if action in ("isend", "irecv"):
            self.begin(rank, action, *words[:2])
        elif action in ("send", "recv"):
            if rank not in self.blocking:
                self.blocking[rank] = self.begin(rank, action, *words[:2])
            if not self.blocking[rank].is_done:
                return False
            del self.blocking[rank]
        elif action == "wait":
            if not self.requests[rank, words][0].is_done:
                return False
            self.requests[rank, words].pop(0)
        elif action == "waitall":
            states = [each for key, of in self.requests.items() if key[0] == rank for each in of]
            return all(state.is_done for state in states)
        return True


def blocked(folder: Path, is_buffered: bool) -> dict[int, str]:
    """Carries the actions out: which rank stops at which action."""
    todo = dict(actions(folder))
    ranks = Ranks(is_buffered)
    moves = True
    while moves:
        moves = False
        for rank, lines in todo.items():
            while lines and ranks.step(rank, *lines[0].split()):
                lines.pop(0)
                moves = True
    return {rank: lines[0] for rank, lines in todo.items() if lines}
