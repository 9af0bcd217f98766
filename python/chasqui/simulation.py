"""One run: its directory, its progress line, signals to stop, its summary."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chasqui import core, firmware, shares, stopping
from chasqui.errors import STATUS_LOST, InputError, LostError
from chasqui.text import (
    STATUS_UNWRITTEN,
    broken_pipe,
    draw,
    is_unread,
    say,
    simulated_time,
    terminal_width,
)

RUNS = Path("runs")
NAME_MAX = 100  # letters of the programs, and of the machine, in the name of a run directory
PROGRESS_AFTER_S = 1.0  # shorter runs show no progress line
# Quanta that a run lasts so that yielding may pay: in fewer, a process hardly waits for a turn, and
# each switch costs more than it saves.
QUANTA_MIN = 10
QUANTUM = "node.scheduler.quantum"


@dataclass
class Program:
    """A program and how it is called."""

    ranks: int
    program: str
    arguments: Sequence[str] = ()


@dataclass
class OnlyRank:
    """The only rank to simulate, and what drives it. The job's ranks may be 0: as many as were
    recorded."""

    rank: int
    arrivals: Path  # a recording
    ratio: str = "1"  # simulated time of a unit of recorded time
    shift: str = "0"  # time by which messages arrive later, or with a sign earlier
    ignored_lines: Sequence[str] = ()  # lines of its output with one of these texts may differ


@dataclass(frozen=True)
class Sandbox:
    """What programs may do to the host."""

    binds: Sequence[str] = ()  # HOST[:GUEST][:ro], files they see besides the working directory
    host_files: bool = False  # they see all of the host's files
    limit_time: str | None = None  # of simulated time, with its unit
    limit_host_time: str | None = None
    limit_output: str | None = None  # None: as the host has room
    limit_memory: str | None = None  # None: as the host has
    binds_by: str | None = None  # the variable that says binds, if not --bind: for messages


SANDBOX = Sandbox()


@dataclass
class Job:
    """What to run, and where."""

    machine: str
    ranks: int
    program: str
    arguments: Sequence[str] = ()
    sets: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1  # of the processes' random numbers, and of when ranks begin
    jitter: str | None = None  # ranks begin at times from 0 to this; None: all at 0
    beside: Sequence[Program] = ()  # further programs of the job, on the ranks behind these
    others: Sequence[Program] = ()  # further jobs, which share the nodes
    stdin: str = "none"  # what rank 0 reads: none, own (the command's), shared (by several runs)
    directory: Path | None = None  # None: numbered, below runs/
    echo: bool = False
    progress: bool = False
    threads: int = 0  # host threads; 0: as many as are of use
    fast_forward: bool = False  # until its part of interest the program takes no time
    profile: bool = False  # count where cycles go
    access_times: bool = False  # note when ranks access the data of messages
    stop_at: str | None = None  # simulated time at which it ends well
    trace: str | None = None  # window of instructions to write, FROM..TO[:RANKS]
    timeline: int = 0  # MPI calls of each rank kept for timeline.json; 0: no such file
    record: Path | None = None  # where a recording of the run goes
    only: OnlyRank | None = None  # None: all ranks are simulated
    ranks_per_node: int | None = None  # None: as the machine has it, which is 1 but on cell
    map_by: str = "slot"  # how ranks come to nodes: slot or node
    sandbox: Sandbox = SANDBOX
    played: Mapping[str, str] | None = None  # the trace that it carries out: for the summary
    is_command: bool = True  # a command's: it ends when nothing reads what that prints any more


@dataclass
class Result:
    """A finished run."""

    directory: Path
    summary: dict[str, Any]  # of the first job; those of the others are its `others`

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """Those of all jobs."""
        return [self.summary, *self.summary.get("others", [])]

    @property
    def lost(self) -> list[str]:
        """What of the results could not be written, and why."""
        return list(self.summary.get("lost", []))

    @property
    def unshown(self) -> list[str]:
        """Why not all of the ranks' output came to the terminal, in a line if there is one."""
        return [self.summary["unshown"]] if "unshown" in self.summary else []

    @property
    def is_unread(self) -> bool:
        """Nothing reads the output any more: the run has stopped for that, unless it had ended."""
        return bool(self.summary.get("unread"))

    @property
    def status(self) -> int:
        statuses = [int(summary["exit_status"]) for summary in self.summaries]
        lost = [STATUS_LOST] if self.lost else []
        unshown = [STATUS_UNWRITTEN] if self.unshown else []
        return max(*statuses, *lost, *unshown, 0)


def short_name(text: str) -> str:
    """A machine or program as part of a directory's name: `voyager/flush` -> `voyager-flush`."""
    if text.endswith(".toml"):
        text = Path(text).stem
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.") or "run"


def directories(result: Result) -> list[Path]:
    """The run directories of all jobs."""
    others = [Path(other["directory"]) for other in result.summary.get("others", [])]
    return [Path(result.summary["directory"]), *others]


@contextlib.contextmanager
def gone_if_empty(*directories: Path) -> Iterator[None]:
    """After an error, those of the directories that hold nothing go, in this order: they must not
    be in the way of the next try."""
    try:
        yield
    except BaseException:
        for directory in directories:
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


@contextlib.contextmanager
def numbered(stem: str) -> Iterator[Path]:
    """A new, empty `runs/<stem>-<number>` with the first free number; gone again if it is empty
    after an error. Making it is what keeps other processes from the number."""
    made_runs = not RUNS.is_dir()
    directory = RUNS
    try:
        RUNS.mkdir(exist_ok=True)
        for number in itertools.count(1):
            directory = RUNS / f"{stem}-{number}"
            with contextlib.suppress(FileExistsError):
                directory.mkdir()
                break
    except OSError as error:
        raise InputError(
            f"{directory.absolute()} can't be made: {error.strerror}; --out DIR chooses another"
        ) from None
    with gone_if_empty(directory / "runs", directory, *([RUNS] if made_runs else [])):
        yield directory


@contextlib.contextmanager
def placed(job: Job, name: str, directory: str | None) -> Iterator[Path]:
    """Where a run of something of this name goes: the directory that was asked for, or a numbered
    one below runs/."""
    if directory is not None:
        yield Path(directory)
        return
    with numbered(f"{name}-{short_name(job.machine)[:NAME_MAX]}") as found:
        yield found


def provide_empty(directory: Path) -> None:
    """Makes a directory, if it is not there. Raises InputError if it holds anything."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        is_empty = not any(directory.iterdir())
    except OSError as error:
        raise InputError(f"--out {directory}: {error.strerror}") from None
    if not is_empty:
        raise InputError(
            f"--out {directory}: it is there and not empty; remove it or choose another"
        )


class Watch:
    """The progress line, and the signals that ask to stop.

    A signal handler of Python's would wait for the core to call back. So signals go through a pipe
    to a thread, which runs as long as the core doesn't hold the interpreter's lock.
    """

    def __init__(self, show: bool, is_command: bool = True) -> None:
        self.show = show and terminal_width() > 0
        self.is_command = is_command
        self.signal: int | None = None  # that asked to stop
        self.started = time.monotonic()
        self.shown = False
        self.is_over = False  # the simulation: its results are being written

    def __call__(self, report: str) -> int | None:
        """The core's progress callback; a signal asks it to stop."""
        self.is_over = self.is_over or '"writing"' in report
        if self.show and time.monotonic() - self.started > PROGRESS_AFTER_S:
            now = json.loads(report)
            if not now["within_line"]:
                self._print(now)
        return self.signal or (unread() if self.is_command else None)

    def _print(self, now: Mapping[str, Any]) -> None:
        note = "  stopping" if self.signal else ""
        if "writing" in now:
            line = f"writing messages: {now['writing']:,}"
        else:
            line = (
                f"simulated {simulated_time(now['time_ps'])}  "
                f"{now['rate_mips']:.1f} M instr/s  {now['host_seconds']:.0f} s{note}"
            )
        # The cursor goes back to the line's start: whatever comes next overwrites it. A line that
        # wraps could not be erased.
        self.shown = self.show = draw(f"\x1b[K{line[: terminal_width() - 1]}\r")

    def clear(self) -> None:
        if self.shown:
            draw("\x1b[K")
            self.shown = False

    def _listen(self, pipe: int) -> None:
        """The first signal: a clean stop that keeps what there is. The second kills."""
        while number := os.read(pipe, 1):
            if number[0] not in stopping.SIGNALS:
                continue
            if self.signal:
                os._exit(stopping.status(number[0]))
            self.signal = number[0]
            self.clear()
            # The terminal has echoed ^C.
            start = "\n" if self.show else ""
            again = "press Ctrl-C again"
            if self.signal != signal.SIGINT:
                again = f"{signal.Signals(self.signal).name} was received, send it again"
            what = "the results are being written" if self.is_over else "stopping"
            say(f"{start}chasqui: {what}; {again} to kill")

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Takes signals while the core runs: in the main thread, which alone gets them."""
        import _thread

        if not stopping.is_heard():
            yield
            return
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        handlers = {
            number: signal.signal(number, lambda _number, _frame: None)
            for number in stopping.wanted()
        }
        wakeup = signal.set_wakeup_fd(write_end)
        _thread.start_new_thread(self._listen, (read_end,))
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            os.close(write_end)  # the thread reads the end of the pipe
            self.clear()


def unread() -> int | None:
    """The signal for which a run stops, if nothing reads the command's output any more."""
    return stopping.UNREAD if is_unread() else None


def program_names(job: Job) -> list[str]:
    """The programs of the job, as they are called, in the order of their ranks."""
    return [job.program, *(each.program for each in job.beside)]


def execute(job: Job) -> Result:
    """Runs a job. Raises InputError when it can't start, BrokenPipeError when nothing reads the
    output any more: the results so far are kept."""
    if job.directory is not None:
        return _execute(job, job.directory)
    names = [short_name(Path(each).name) for each in program_names(job)]
    # A number follows, in what a file's name may have.
    programs = "-".join(dict.fromkeys(names))[:NAME_MAX]
    stem = f"{programs}-{short_name(job.machine)[:NAME_MAX]}"
    with numbered(stem) as directory:
        return _execute(job, directory)


def _execute(job: Job, directory: Path) -> Result:
    watch = Watch(job.progress, job.is_command)
    request = _request(job, directory, clear_line=watch.show)
    sys.stdout.flush()
    with watch.listening():
        summary = core.run(request, watch)
    result = Result(directory, summary)
    if summary.get("advice") and not _lasts(job, result):
        del summary["advice"]
    return _read(result)


def _lasts(job: Job, result: Result) -> bool:
    """Whether the run was so long that turns count (`QUANTA_MIN`)."""
    from chasqui.timeline import time_ps

    found = core.parameters(job.machine, job.sets)
    quantum = next(each["value"] for each in found if each["name"] == QUANTUM)
    lasted_ps = max(summary["time_ps"] for summary in result.summaries)
    return bool(lasted_ps >= QUANTA_MIN * time_ps(quantum))


def execute_quietly(job: Job, directory: Path, stop: Callable[[], int | None]) -> Result:
    """Runs a job without a word, in any thread, until it ends or `stop` names a signal for which to
    end it. Raises what `execute` does, and LostError where not all results could be written, which
    the caller would read."""
    request = _request(job, directory, clear_line=False)
    result = _read(Result(directory, core.run(request, lambda _: stop() or unread())))
    if result.lost:
        raise LostError("\n".join(result.lost))
    return result


def _read(result: Result) -> Result:
    """`result`, if anything reads what the command says of it."""
    if result.is_unread:
        raise broken_pipe()
    return result


def check(job: Job) -> None:
    """Raises InputError if the job can't start; nothing is run or written."""
    core.check(_request(job, job.directory or RUNS / "1", clear_line=False))


def host_processors() -> int:
    """As many simulations at a time as the host has processors for us."""
    return len(os.sched_getaffinity(0))


def _request(job: Job, directory: Path, *, clear_line: bool) -> dict[str, Any]:
    """The request for the core."""
    request = inputs(job)
    request["sandbox"]["binds_by"] = job.sandbox.binds_by
    request["options"] |= {"threads": job.threads, "clear_line": clear_line}
    return request | {
        "directory": str(directory),
        "firmware": str(firmware.directory()),
        "echo": job.echo,
        "record": str(job.record) if job.record else None,
        "command": sys.argv,
    }


def inputs(job: Job) -> dict[str, Any]:
    """Of the request what decides the results, with the files that it names: nothing of where the
    run is kept, by what command it is made, or by how many threads."""
    sandbox = asdict(job.sandbox)
    del sandbox["binds_by"]
    return {
        "machine": job.machine,
        "sets": list(job.sets),
        "ranks": job.ranks,
        "ranks_per_node": job.ranks_per_node,
        "map_by": job.map_by,
        "program": job.program,
        "args": list(job.arguments),
        "beside": [_called(more) for more in job.beside],
        "others": [_called(other) for other in job.others],
        "stdin": job.stdin,
        "env": dict(job.environment),
        "only_rank": _only(job.only),
        "trace": dict(job.played) if job.played else None,
        "sandbox": sandbox,
        "options": {
            "seed": job.seed,
            "jitter": job.jitter,
            "timeline": job.timeline,
            "fast_forward": job.fast_forward,
            "stop_at": job.stop_at,
            "profile": job.profile,
            "access_times": job.access_times,
            "trace_instructions": job.trace,
        },
    }


def _called(program: Program) -> dict[str, Any]:
    return {
        "ranks": program.ranks, "program": program.program, "args": list(program.arguments),
    }  # fmt: skip


def _only(only: OnlyRank | None) -> dict[str, Any] | None:
    if only is None:
        return None
    return {
        "rank": only.rank,
        "arrivals": str(only.arrivals),
        "ratio": only.ratio,
        "shift": only.shift,
        "ignored_lines": list(only.ignored_lines),
    }


def _call(rank: Mapping[str, Any], name: str) -> dict[str, int]:
    """What a rank's summary says of its calls of one MPI function."""
    none = {"count": 0, "time_ps": 0, "left_ps": 0}
    return next((call for call in rank.get("calls", []) if call["name"] == name), none)


def _initialised_ps(rank: Mapping[str, Any]) -> int:
    """When a rank left MPI_Init; its end, if it is there still, or the start, if it never was."""
    call = _call(rank, "MPI_Init")
    return call["left_ps"] or (int(rank["time_ps"]) if call["count"] else 0)


def _finalizes_ps(rank: Mapping[str, Any]) -> int:
    """When a rank entered MPI_Finalize; its end, if it was never there."""
    call = _call(rank, "MPI_Finalize")
    left_ps = call["left_ps"] or int(rank["time_ps"])  # it may be there still
    return left_ps - call["time_ps"] if call["count"] else int(rank["time_ps"])


def main_part_ps(summary: Mapping[str, Any]) -> int:
    """The time between MPI_Init and MPI_Finalize: from when the last rank leaves the first until
    the last one enters the second. What connections and buffers take to set up is not in it."""
    ranks = summary["ranks"]
    return max(map(_finalizes_ps, ranks)) - max(map(_initialised_ps, ranks))


def main_part_words(summary: Mapping[str, Any]) -> str:
    """What that time is, where ranks did not call both."""
    ranks = summary["ranks"]
    began = sum(_call(rank, "MPI_Init")["count"] > 0 for rank in ranks)
    ended = sum(_call(rank, "MPI_Finalize")["count"] > 0 for rank in ranks)
    start = "MPI_Init" if began else "the start"
    if ended == len(ranks):
        return f"{start} to MPI_Finalize"
    return f"{start} to the end" + (" or MPI_Finalize" if ended else "")


def mpi_share(summary: Mapping[str, Any]) -> float | None:
    """The part of the ranks' time between MPI_Init and MPI_Finalize that they spent in MPI calls,
    0 to 1."""
    total = inside = 0
    for rank in summary["ranks"]:
        total += _finalizes_ps(rank) - _initialised_ps(rank)
        around = [_call(rank, name)["time_ps"] for name in ("MPI_Init", "MPI_Finalize")]
        inside += rank["mpi_ps"] - sum(around)
    return inside / total if total else None


def host_speed(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Host seconds, and million simulated instructions a host second."""
    host = summary["host"]
    return host["simulation_s"], host["instructions_millions_per_s"]


def endings(result: Result) -> list[str]:
    """How the jobs ended that didn't go well, and what was lost."""
    summaries = result.summaries
    names = [f"job {i}: " if len(summaries) > 1 else "" for i in range(len(summaries))]
    pairs = zip(names, summaries, strict=True)
    ends = [_named(name, ending(summary)) for name, summary in pairs if not went_well(summary)]
    return [*ends, *result.lost, *result.unshown]


def _named(name: str, text: str) -> str:
    """Each line that is indented belongs to the one before; the others begin with the name: what
    ended a job, and then who waits."""
    return "\n".join(line if line.startswith(" ") else name + line for line in text.split("\n"))


def report(result: Result) -> list[str]:
    """The last lines on the terminal."""
    summary = result.summary
    times = ", ".join(simulated_time(job["time_ps"]) for job in result.summaries)
    lines = [*endings(result), f"simulated time  {times}"]
    seconds, mips = host_speed(summary)
    lines.append(
        f"host time       {seconds:.2f} s, {mips:.1f} million simulated instructions a second"
    )
    programs = summary.get("inputs", {}).get("programs", [])
    if len(programs) > 1:
        lines.append(f"programs        {', '.join(map(_ranks_of, programs))}")
    if summary.get("replay"):
        lines.append(f"replay          {replayed(summary['replay'])}")
    if summary.get("limited_by"):
        lines.append(f"limited by      {summary['limited_by']}")
    lines += shares.lines(summary)
    if summary.get("advice"):
        lines.append(f"advice          {summary['advice']}")
    lines.append(f"run directory   {result.directory}")
    return lines


def _ranks_of(program: Mapping[str, Any]) -> str:
    """One of several programs of a job: `worker on ranks 1 to 3`."""
    first, last = program["first_rank"], program["first_rank"] + program["ranks"] - 1
    ranks = f"rank {first}" if first == last else f"ranks {first} to {last}"
    return f"{program['name']} on {ranks}"


def untraced(directory: Path) -> tuple[list[str], int]:
    """Of the instructions that a run directory has, the files' names that hold none, without
    `instructions.`, and how many files there are."""
    empty, count = [], 0
    for path in sorted(directory.glob("instructions.*")):
        count += 1
        with contextlib.suppress(OSError), path.open() as lines:
            if all(line.startswith("#") for line in itertools.islice(lines, 3)):
                empty.append(path.name.partition(".")[2])
    return empty, count


def replayed(replay: Mapping[str, Any]) -> str:
    """How a replay went."""
    same = "the recorded result" if replay["is_same"] else "another result than recorded"
    otherwise = replay["taken_otherwise"] + replay["sent_otherwise"]
    return (
        f"rank {replay['rank']} at r = {replay['ratio']} "
        f"({replay['cycles_per_recorded_s']:.4g} cycles a recorded second): {same}; "
        f"{replay['taken']} of {replay['messages']} messages taken, {replay['sent']} sent, "
        f"{otherwise or 'none'} otherwise than recorded"
    )


def went_well(summary: Mapping[str, Any]) -> bool:
    """Every rank exited, and there is nothing to say about it."""
    return summary["outcome"] == "finished" and not summary.get("message")


def ending(summary: Mapping[str, Any]) -> str:
    """How a run ended that didn't go well."""
    outcome, message = str(summary["outcome"]), str(summary.get("message") or "")
    if message.startswith(outcome):
        return message
    return f"{outcome}: {message}" if message else outcome
