"""Time-independent traces, as SimGrid's `smpirun -replay` reads them: a file a rank, and one that
lists these (SimGrid 3.32, `smpi_replay.cpp`).

`compute` has flops: on hosts of a speed of 1 Gf a flop is a nanosecond of the run. Sizes are of
MPI_BYTE, which is datatype 6 there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from chasqui.errors import InputError
from chasqui.export import place, program
from chasqui.export.program import Do, Step, Tags
from chasqui.export.trace import Thread, Trace

BEGINNING = b"# SMPI time-independent trace: chasqui export\n"
LIST = "trace.txt"
BYTE = 6


def write(trace: Trace, path: Path, at: Path) -> str:
    """Into the folder `path`, which will be at `at`: the list has absolute names, because
    `smpirun` takes others from where it is called."""
    program.check(trace)
    tags = Tags(trace)
    for rank in range(trace.ranks):
        threads = [each for each in trace.threads if each.rank == rank]
        if any(thread.calls for thread in threads[1:]):
            raise InputError(
                f"{trace.run.directory}: rank {rank} calls MPI from several threads; a rank of a "
                "time-independent trace has one"
            )
        with (path / name(rank)).open("w", encoding="ascii") as out:
            out.write(BEGINNING.decode())
            out.writelines(f"{rank} {line}\n" for line in _actions(trace, tags, threads[0]))
    (path / LIST).write_text("".join(f"{at / name(rank)}\n" for rank in range(trace.ranks)))
    return f"{trace.ranks} ranks, {len(trace.messages):,} messages"


def is_own(path: Path) -> bool:
    """Whether this wrote the folder."""
    of_ranks = {each.name for each in path.iterdir() if re.fullmatch(r"rank-\d+\.txt", each.name)}
    return bool(of_ranks) and place.holds(path, {LIST: b"", **dict.fromkeys(of_ranks, BEGINNING)})


def name(rank: int) -> str:
    return f"rank-{rank}.txt"


def _actions(trace: Trace, tags: Tags, thread: Thread) -> Iterator[str]:
    steps = list(program.steps(trace, thread))
    yield "init"
    skip = False
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if skip:
            skip = False
        elif step.do is Do.COMPUTE:
            yield f"compute {step.number}"
        else:
            skip = step.do is Do.POST and following == Step(Do.RECEIVED, step.number)
            yield _of_message(trace, tags, step, skip)
    if _is_open(steps):
        yield "waitall"
    yield "finalize"


def _of_message(trace: Trace, tags: Tags, step: Step, blocks: bool) -> str:
    message, tag = trace.messages[step.number], tags.of(step.number)
    if step.do in (Do.RECEIVED, Do.SENT):
        return f"wait {message.source} {message.destination} {tag}"
    if step.do is Do.POST:
        action, peer = ("recv" if blocks else "irecv"), message.source
    else:
        action = "send" if step.do is Do.SEND else "isend"
        assert message.destination is not None
        peer = message.destination
    return f"{action} {peer} {tag} {message.bytes or 0} {BYTE}"


def _is_open(steps: Sequence[Step]) -> bool:
    """Whether something was begun for which no step waits."""
    number = {do: sum(step.do is do for step in steps) for do in Do}
    begun = number[Do.ISEND] + number[Do.POST]
    return begun > number[Do.SENT] + number[Do.RECEIVED]
