"""Experiments: measured answers to one question each, about a machine.

An experiment is a module `machines/<machine>/experiments/<name>.py`, or any file of a user's, that
defines `EXPERIMENT`; its C programs and machine files lie beside it. `running` finds, runs and
writes them; this is what the modules are made of. A module whose name begins with an underscore is
a helper of its neighbours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasqui.text import number, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = int | str | Fraction | None
INITIALISATION = ("MPI_Init", "MPI_Init_thread")
DIGITS = 3  # of a fraction in a table's file


@dataclass(frozen=True)
class Beside:
    """A further job, which shares the nodes with a run's own."""

    ranks: int
    program: str  # as Run's
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Replay:
    """What drives the only rank of a run that is simulated."""

    of: str  # name of the experiment's run that is recorded
    rank: int = 0
    ratio: str = "1"  # simulated time of a unit of recorded time
    # Recorded times count from the ends of MPI_Init, here and there, and not from the starts. When
    # it ends here a run of its own finds out (`running.initialised_ps`): what the program does
    # before, and what the simulated rank's NI takes, is in it. The name of a run whose MPI_Init
    # ends about then, so that it need not be long. None: from the starts.
    begins_as: str | None = None
    # Texts of lines of the rank's output that may differ from what was recorded, as times that the
    # program measures. They move nothing, so they are no part of a fingerprint.
    ignored_lines: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class Run:
    """One simulation. Its name is that of its run directory."""

    name: str
    machine: str  # a path that ends in .toml: beside the experiment
    ranks: int
    # A C file beside the experiment, without its ending; or as `running.executable` says.
    program: str
    flags: Sequence[str] = ()  # of the compiler, beside those that every program gets
    arguments: Sequence[str] = ()
    sets: Sequence[str] = ()
    beside: Sequence[Beside] = ()
    access_times: bool = False  # note when the program accesses the data of messages
    replay: Replay | None = None  # one rank alone; the run that is named is recorded
    profile: bool = False  # counts where cycles go, for Output.paths

    @property
    def programs(self) -> list[str]:
        """Those of all jobs."""
        return [self.program, *(other.program for other in self.beside)]


@dataclass(frozen=True)
class Output:
    """What a run left behind; with several jobs `directory` is the first one's."""

    run: Run
    directory: Path
    summary: Mapping[str, Any]  # of the first job; those of the others are its `others`

    @property
    def summaries(self) -> list[Mapping[str, Any]]:
        """Those of all jobs."""
        return [self.summary, *self.summary.get("others", [])]

    def counters(self, name: str, *, optional: bool = False) -> list[int]:
        """A counter of every node, as `scheduler.switches`; zero where a node has no such. Some
        node has it, unless it is `optional`: a counter of a part that runs may do without."""
        statistics = json.loads((self.directory / "stats.json").read_text())
        leaves = []
        for node in (key for key in sorted(statistics) if key.startswith("node")):
            leaf = statistics[node]
            for part in name.split("."):
                leaf = leaf.get(part, {})
            leaves.append(leaf)
        if not optional and not any(leaves):
            raise KeyError(f"{name}: no node in {self.directory / 'stats.json'} has such a counter")
        return [int(leaf.get("value", 0)) for leaf in leaves]

    def initialised_ps(self, rank: int) -> int:
        """When a rank's MPI_Init ended."""
        ranks = {each["rank"]: each for each in self.summary["ranks"]}
        calls = {call["name"]: call["left_ps"] for call in ranks[rank]["calls"]}
        return int(max(calls.get(name, 0) for name in INITIALISATION))

    def in_calls_ps(self, rank: int) -> int:
        """Time of a rank in MPI calls but MPI_Init."""
        (mine,) = (each for each in self.summary["ranks"] if each["rank"] == rank)
        start = sum(call["time_ps"] for call in mine["calls"] if call["name"] in INITIALISATION)
        return int(mine["mpi_ps"] - start)

    @property
    def mechanism(self) -> str:
        """By which most messages travelled, by the record; `none` where no message did."""
        used = {each["name"]: each["messages"] for each in self.summary.get("mechanisms", [])}
        return max(used, key=lambda name: used[name], default="none")

    def counter(self, name: str) -> int:
        """A counter that is no node's, as `peers.delayed`."""
        leaf = json.loads((self.directory / "stats.json").read_text())
        for part in name.split("."):
            leaf = leaf[part]
        return int(leaf["value"])

    def samples(self, rank: int) -> dict[tuple[str, int], list[int]]:
        """The lines `NAME KEY NUMBERS…` that a rank printed: {(NAME, KEY): NUMBERS}."""
        found = {}
        for line in (self.directory / f"stdout.{rank}").read_text().splitlines():
            name, key, *numbers = line.split()
            found[name, int(key)] = [int(number) for number in numbers]
        return found

    def paths(self, rank: int) -> dict[tuple[str, ...], int]:
        """Cycles of a rank by call path, from its first function on; the last name is a cause in
        brackets, as `[data]`, where they were not spent executing."""
        found = {}
        for line in (self.directory / "profile.folded").read_text().splitlines():
            path, _, cycles = line.rpartition(" ")
            first, *names = path.split(";")
            if first == f"rank {rank}":
                found[tuple(names)] = int(cycles)
        return found

    def clock_ns(self, unit: str) -> Fraction:
        """Period of the clock of `unit`, as `node.core` [ns]."""
        from chasqui.measurement import clock_period_ps

        period_ps = clock_period_ps((self.directory / "resolved.toml").read_text(), unit)
        if period_ps is None:
            raise KeyError(f"{self.run.machine} has no {unit}.clock")
        return period_ps / 1000


@dataclass(frozen=True)
class Table:
    """Rows with named columns; written as NAME.csv."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]

    def text(self, left: Sequence[int]) -> str:
        """For people, four digits of a fraction; the columns in `left` are flush left."""
        rows = [
            [number(float(v), 4) if isinstance(v, Fraction) else cell(v) for v in row]
            for row in self.rows
        ]
        return table(self.columns, rows, left)

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries; fractions as the nearest doubles."""
        return [
            {
                column: float(value) if isinstance(value, Fraction) else value
                for column, value in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]


@dataclass(frozen=True)
class Report:
    """What an experiment found. The first table is called `results`."""

    tables: Sequence[Table]
    text: str  # for the terminal: tables for people
    findings: Sequence[str]  # a sentence each: cross-over points, limits
    draw: Callable[[Figure], None]
    size_inches: tuple[float, float] = field(default=(9.0, 6.0))


@dataclass(frozen=True)
class Elsewhere:
    """Programs that are no part of Chasqui. An experiment runs them if the user says where their
    sources are."""

    variable: str  # of the environment: names the folder of the sources
    rows: Sequence[str]  # what tables have for these programs in their first column
    # The executable of a program by its name, which is built unless it is there. Called when an
    # experiment is carried out, and at no other time.
    build: Callable[[str], Path]

    @property
    def is_given(self) -> bool:
        return bool(os.environ.get(self.variable))


@dataclass(frozen=True)
class Experiment:
    """A question, the runs that answer it, and what is read from them.

    `runs` is asked with `quick`: fewer points, in the same columns. It may be asked only to be
    listed, so it builds and runs nothing. `report` gets the outputs by the names of the runs.
    """

    question: str  # one paragraph; its first sentence is for the list
    runs: Callable[[bool], Sequence[Run]]
    report: Callable[[Mapping[str, Output]], Report]
    # By KIND, where `Run.program` is KIND/NAME.
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The question's first sentence."""
        head, mark, _ = self.question.partition("?")
        return head + mark


def median(samples: Sequence[int | Fraction]) -> Fraction:
    """The middle of the sorted samples; the mean of the two in the middle."""
    ordered = sorted(samples)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return Fraction(ordered[half])
    return Fraction(ordered[half - 1] + ordered[half]) / 2


def mean(samples: Sequence[int]) -> Fraction:
    return Fraction(sum(samples), len(samples))


def steady(samples: Sequence[int]) -> Sequence[int]:
    """Without the first quarter: caches, translations and queues have come to rest."""
    return samples[len(samples) // 4 :]


def mean_interval(moments: Sequence[int]) -> Fraction:
    """Mean time between the events of a stream, once it is steady."""
    late = steady(moments)
    return Fraction(late[-1] - late[0], len(late) - 1)


def cell(value: Value) -> str:
    """A value in a table's file."""
    if value is None:
        return ""
    if isinstance(value, Fraction):
        return f"{float(value):.{DIGITS}f}".rstrip("0").rstrip(".")
    return str(value)
