"""One run: its directory, its progress line, Ctrl-C, its summary."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from chasqui import core
from chasqui.errors import InputError
from chasqui.text import simulated_time

RUNS = Path("runs")
PROGRESS_AFTER_S = 1.0  # shorter runs show no progress line


@dataclass
class Job:
    """What to run, and where."""

    machine: str
    ranks: int
    program: str
    arguments: Sequence[str] = ()
    sets: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None  # None: numbered, below runs/
    echo: bool = False
    progress: bool = False


@dataclass
class Result:
    """A finished run."""

    directory: Path
    summary: dict[str, Any]

    @property
    def status(self) -> int:
        return int(self.summary["exit_status"])


def short_name(text: str) -> str:
    """A machine or program as part of a directory's name: `voyager/flush` -> `voyager-flush`."""
    if text.endswith(".toml"):
        text = Path(text).stem
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.") or "run"


@contextlib.contextmanager
def _numbered(stem: str) -> Iterator[Path]:
    """A new, empty `runs/<stem>-<number>` with the first free number; gone again if the run can't
    start. Making it is what keeps other processes from the number."""
    made_runs = not RUNS.is_dir()
    RUNS.mkdir(exist_ok=True)
    number = 1
    while True:
        directory = RUNS / f"{stem}-{number}"
        try:
            directory.mkdir()
            break
        except FileExistsError:
            number += 1
    try:
        yield directory
    except InputError:
        with contextlib.suppress(OSError):
            directory.rmdir()
            if made_runs:
                RUNS.rmdir()
        raise


class Watch:
    """The progress line and Ctrl-C, both from within the core's progress callback."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.stopping = False
        self.started = time.monotonic()
        self.shown = False

    def __call__(self, report: str) -> bool:
        if self.show and time.monotonic() - self.started > PROGRESS_AFTER_S:
            now = json.loads(report)
            note = "  stopping" if self.stopping else ""
            line = (
                f"simulated {simulated_time(now['time_ps'])}  "
                f"{now['rate_mips']:.1f} M instr/s  {now['messages']:,} messages  "
                f"{now['host_seconds']:.0f} s{note}"
            )
            # The cursor goes back to the line's start: a rank's output overwrites it.
            sys.stderr.write(f"\x1b[K{line}\r")
            sys.stderr.flush()
            self.shown = True
        return self.stopping

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\x1b[K")
            sys.stderr.flush()

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """First Ctrl-C: a clean stop that keeps what there is. The second kills."""
        self.stopping = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.clear()
        print("\nchasqui: stopping; press Ctrl-C again to kill", file=sys.stderr)


def execute(job: Job) -> Result:
    """Runs a job. Raises InputError when it can't start."""
    if job.directory is not None:
        return _execute(job, job.directory)
    stem = f"{short_name(Path(job.program).name)}-{short_name(job.machine)}"
    with _numbered(stem) as directory:
        return _execute(job, directory)


def _execute(job: Job, directory: Path) -> Result:
    terminal = sys.stderr.isatty()
    watch = Watch(job.progress and terminal)
    request = {
        "machine": job.machine,
        "sets": list(job.sets),
        "ranks": job.ranks,
        "program": job.program,
        "args": list(job.arguments),
        "env": dict(job.environment),
        "directory": str(directory),
        "echo": job.echo,
        # Before it copies a rank's output: erase the progress line.
        "options": {"clear_line": watch.show},
    }
    sys.stdout.flush()
    before = signal.signal(signal.SIGINT, watch.interrupt)
    try:
        summary = core.run(request, watch)
    finally:
        signal.signal(signal.SIGINT, before)
        watch.clear()
    return Result(directory, summary)


def mpi_share(summary: Mapping[str, Any]) -> float | None:
    """The part of the ranks' time that they spent in MPI calls, 0 to 1."""
    total = sum(rank["time_ps"] for rank in summary["ranks"])
    inside = sum(rank["mpi_ps"] for rank in summary["ranks"])
    return inside / total if total else None


def host_speed(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Host seconds, and million simulated instructions a host second."""
    host = summary.get("host") or {}
    seconds = float(host.get("seconds", host.get("simulation_s", 0)))
    return seconds, float(host.get("mips", host.get("instructions_millions_per_s", 0)))


def report(result: Result) -> list[str]:
    """The last lines on the terminal."""
    summary = result.summary
    lines = []
    if not went_well(summary):
        lines.append(ending(summary))
    share = mpi_share(summary)
    in_mpi = f", {share:.1%} of it in MPI" if share is not None else ""
    lines.append(f"simulated time  {simulated_time(summary['time_ps'])}{in_mpi}")
    seconds, mips = host_speed(summary)
    lines.append(
        f"host time       {seconds:.2f} s, {mips:.1f} million simulated instructions a second"
    )
    if summary.get("limited_by"):
        lines.append(f"limited by      {summary['limited_by']}")
    lines.append(f"run directory   {result.directory}")
    return lines


def went_well(summary: Mapping[str, Any]) -> bool:
    """Every rank exited, and there is nothing to say about it."""
    return summary["outcome"] == "finished" and not summary.get("message")


def ending(summary: Mapping[str, Any]) -> str:
    """How a run ended that didn't go well."""
    message = summary.get("message")
    return f"{summary['outcome']}: {message}" if message else str(summary["outcome"])
