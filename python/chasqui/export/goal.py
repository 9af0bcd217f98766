"""GOAL, the language of LogGOPSim's schedules: T. Hoefler, C. Siebert, A. Lumsdaine, Group
Operation Assembly Language, ICPP 2009; the grammar is that of LogGOPSim's `txt2bin`.

A block for each rank: `calc` [ns], `send` and `recv` with bytes and tag, each with a label, on
`cpu` the thread. `a requires b`: after b is complete; `a irequires b`: after b has begun.
"""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from chasqui.export import place, program
from chasqui.export.program import Do, Step, Tags
from chasqui.export.trace import Thread, Trace

BEGINNING = b"// GOAL: chasqui export\n"


def write(trace: Trace, path: Path) -> str:
    program.check(trace)
    tags = Tags(trace)
    with path.open("w", encoding="ascii") as out:
        out.write(BEGINNING.decode())
        out.write(f"num_ranks {trace.ranks}\n")
        for rank in range(trace.ranks):
            out.write(f"\nrank {rank} {{\n")
            block = _Rank(trace, tags, out)
            for thread in (each for each in trace.threads if each.rank == rank):
                block.add(thread)
            block.finish()
            out.write("}\n")
    return f"{trace.ranks} ranks, {len(trace.messages):,} messages"


def is_own(path: Path) -> bool:
    """Whether this wrote the file."""
    return place.begins(path, BEGINNING)


class _Rank:
    """Writes a rank's block."""

    def __init__(self, trace: Trace, tags: Tags, out: TextIO) -> None:
        self.trace, self.tags, self.out = trace, tags, out
        self.labels = 0
        self.posted: dict[int, str] = {}  # receives, by message
        self.sent: dict[int, str] = {}
        # Labels are known only below what they stand for: a thread may wait for another's receive.
        self.dependencies: list[str] = []

    def add(self, thread: Thread) -> None:
        done: set[str] = set()  # that must be complete before what comes next
        begun: set[str] = set()  # that must have begun
        for step in program.steps(self.trace, thread):
            match step.do:
                case Do.RECEIVED:
                    done.add(f"m{step.number}")
                case Do.SENT:
                    done.add(self.sent[step.number])
                case _:
                    label = self._operation(step, thread.number)
                    self.dependencies += [f"{label} requires {each}" for each in sorted(done)]
                    left = sorted(begun - done)
                    self.dependencies += [f"{label} irequires {each}" for each in left]
                    if step.do in (Do.COMPUTE, Do.SEND):
                        done, begun = {label}, set()
                    else:
                        done, begun = set(), {label}

    def _operation(self, step: Step, cpu: int) -> str:
        if step.do is Do.COMPUTE:
            self.labels += 1
            self.out.write(f"c{self.labels}: calc {step.number} cpu {cpu}\n")
            return f"c{self.labels}"
        message = self.trace.messages[step.number]
        # LogGOPSim charges for (bytes - 1): a message without data is its envelope.
        size = max(message.bytes or 0, 1)
        where = f"tag {self.tags.of(step.number)} cpu {cpu}"
        if step.do is Do.POST:
            self.out.write(f"m{step.number}: recv {size}b from {message.source} {where}\n")
            return f"m{step.number}"
        label = self.sent[step.number] = f"s{step.number}"
        self.out.write(f"{label}: send {size}b to {message.destination} {where}\n")
        return label

    def finish(self) -> None:
        self.out.writelines(f"{line}\n" for line in self.dependencies)
