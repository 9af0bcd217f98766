"""The points of a sweep: the product of what is swept over, and what each point is known by."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import chasqui
from chasqui import core, firmware, simulation
from chasqui.errors import InputError

# `{n}` in the words of a program; `{{n}}` is what a program gets as `{n}`.
PLACE = re.compile(r"\{\{(\w+)\}\}|\{([A-Za-z_]\w*)\}")
RANKS = "np"
FAULT_SEED = "network.fault.seed"
FAULTS = ("network.fault.rate", "network.fault.packet")  # without any there is no such seed
KEY_SHOWN = 16  # letters of a key in the name of a run directory
MISTAKES_SHOWN = 10
CHECKED = 2  # repetitions, which differ in seeds alone

Cell = str | int | float


@dataclass(frozen=True)
class Axes:
    """What is swept over, in the order in which points run: the last changes first."""

    machines: Sequence[str]
    ranks: Sequence[int]
    sets: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of parameters
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of `{n}`
    repeat: int = 1


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    inputs: Mapping[str, Cell]  # its columns of the table
    job: simulation.Job
    key: str  # a hash of all that decides its results

    @property
    def name(self) -> str:
        """Of its run directory, among those of all sweeps that may come to lie there."""
        machine = simulation.short_name(self.job.machine)[: simulation.NAME_MAX]
        return f"{machine}-np{self.job.ranks}-{self.key[:KEY_SHOWN]}"


def product(axes: Axes, job: simulation.Job, said: str = "values") -> list[Point]:
    """The points, in their order: `job` is what they have in common, with places in the words of
    its programs; `said`: as axes.arguments_of() has it. Raises InputError, before anything has run,
    with all that is wrong with any of them."""
    check_places(axes, words_of(job), said)
    for each in (_fault_seed, _resolved, _images, sha256):
        each.cache_clear()  # files may be others by now
    points: dict[str, Point] = {}
    mistakes: dict[str, None] = {}
    for choice in choices(axes):
        try:
            point = _point(choice, job)
            if choice.repeat <= CHECKED:
                simulation.check(point.job)
        except InputError as error:
            mistakes[str(error)] = None
        else:
            points.setdefault(point.key, point)
    if mistakes:
        shown = list(mistakes)[:MISTAKES_SHOWN]
        more = len(mistakes) - len(shown)
        raise InputError("\n".join([*shown, *([f"and {more} more such"] if more else [])]))
    return list(points.values())


@dataclass(frozen=True)
class Choice:
    """A value of each axis."""

    machine: str
    ranks: int
    sets: Mapping[str, str]
    arguments: Mapping[str, str]
    repeat: int


def choices(axes: Axes) -> Iterator[Choice]:
    for machine, ranks, values, texts, repeat in itertools.product(
        axes.machines,
        axes.ranks,
        itertools.product(*axes.sets.values()),
        itertools.product(*axes.arguments.values()),
        range(1, axes.repeat + 1),
    ):
        sets = dict(zip(axes.sets, values, strict=True))
        yield Choice(
            machine, ranks, sets, dict(zip(axes.arguments, texts, strict=True)), repeat
        )  # fmt: skip


def check_places(axes: Axes, words: Sequence[str], said: str) -> None:
    """Raises InputError where places in the program's words and values do not fit each other."""
    named = {match[2] for word in words for match in PLACE.finditer(word) if match[2]}
    known = {*axes.arguments, RANKS}
    if missing := sorted(named - known):
        raise InputError(
            f"{{{missing[0]}}} in the program's arguments: {said} {missing[0]}=… says its "
            f"values ({{{{{missing[0]}}}}} stands for {{{missing[0]}}} itself)"
        )
    if unused := [name for name in axes.arguments if name not in named]:
        raise InputError(
            f"{said} {unused[0]}=…: the program's arguments have no {{{unused[0]}}}, which it "
            "would take the place of"
        )


def filled(word: str, arguments: Mapping[str, str], ranks: int) -> str:
    """A word of the program's with the values of this point."""
    values = {**arguments, RANKS: str(ranks)}
    return PLACE.sub(lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], word)


def words_of(job: simulation.Job) -> list[str]:
    """Its programs and their arguments."""
    others = (word for each in job.beside for word in (each.program, *each.arguments))
    return [job.program, *job.arguments, *others]


def _point(choice: Choice, common: simulation.Job) -> Point:
    def fill(word: str) -> str:
        return filled(word, choice.arguments, choice.ranks)

    job = replace(
        common,
        machine=choice.machine,
        ranks=choice.ranks,
        program=fill(common.program),
        arguments=[fill(word) for word in common.arguments],
        beside=[
            simulation.Program(each.ranks, fill(each.program), [fill(w) for w in each.arguments])
            for each in common.beside
        ],
        sets=[f"{name}={value}" for name, value in choice.sets.items()],
    )
    job = seeded(job, choice.repeat)
    hashes = [sha256(each) for each in simulation.program_names(job)]
    arguments = shlex.join(job.arguments)
    for each in job.beside:
        arguments += f" : -np {each.ranks} {shlex.join([each.program, *each.arguments])}"
    inputs: dict[str, Cell] = {
        "machine": choice.machine,
        "np": choice.ranks,
        **choice.sets,
        **{name: as_number(value) for name, value in choice.arguments.items()},
        "repeat": choice.repeat,
        "program": job.program,
        "arguments": arguments.strip(),
        "program_sha256": " ".join(hashes),
        "version": chasqui.__version__,
    }
    return Point(inputs, job, key_of(job, hashes))


def seeded(job: simulation.Job, repeat: int) -> simulation.Job:
    """Repetition 1 is the run as it is without; the others have further seeds of what is left to
    chance: the processes' random numbers, when ranks begin, and which packets are hit on links with
    faults."""
    seed = _fault_seed(job.machine, tuple(job.sets)) if repeat > 1 else None
    sets = [*job.sets, f"{FAULT_SEED}={seed + repeat - 1}"] if seed is not None else job.sets
    return replace(job, seed=job.seed + repeat - 1, sets=sets)


@functools.cache
def _fault_seed(machine: str, sets: tuple[str, ...]) -> int | None:
    found = {each["name"]: each["value"] for each in core.parameters(machine, sets)}
    rates = (float(found.get(name, "0").removesuffix("%")) for name in FAULTS)
    return int(found[FAULT_SEED]) if any(rates) else None


@functools.cache
def _resolved(machine: str, sets: tuple[str, ...]) -> str:
    return core.resolve(machine, sets)


@functools.cache
def _images() -> str:
    """The place of kernels and firmware, whose name is a hash of their sources."""
    return firmware.directory().name


@functools.cache
def sha256(program: str) -> str:
    """Of a program's file; an empty text where it can't be read, which the run's check says."""
    return _digest(program)


def _digest(program: str) -> str:
    path = Path(program)
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            found = hashlib.sha256()
            while part := file.read(1 << 20):
                found.update(part)
            return found.hexdigest()
    except OSError:
        return ""


def key_of(job: simulation.Job, hashes: Sequence[str]) -> str:
    """A hash of what decides the results: all of the run's request, every parameter of its machine,
    the programs' files, and the version of Chasqui. Other files that a program reads are not in
    it."""
    everything = {
        "inputs": simulation.inputs(job),
        "machine": _resolved(job.machine, tuple(job.sets)),
        "programs": list(hashes),
        "firmware": _images(),
        "version": chasqui.__version__,
    }
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def as_number(text: str) -> Cell:
    """`8` and `0.5` as numbers, for axes of plots and for comparisons in queries."""
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if str(found) == text and math.isfinite(found):
            return found
    return text
