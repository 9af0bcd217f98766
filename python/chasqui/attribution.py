"""Why one machine is slower than another: groups of parameters that both have, made equal.

Each group's values are exchanged alone, on both machines, and then those of all groups: what is
left is the NI, and whatever else only one of them has. A group's factor is by how many times the
second machine takes longer because of it; on the first machine it says what the second's values do
to it, on the second what it loses by its own.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from chasqui import core, simulation
from chasqui.errors import InputError
from chasqui.parallel import side_by_side
from chasqui.text import factor

REST = "the NI and the rest"
# A parameter is in the first group whose prefix it has. The rest is never exchanged: packets are as
# an NI makes them. Any other parameter of both is the NI's own (of two variants of a machine).
OWN = "the NI's parameters"
GROUPS: dict[str, tuple[str, ...]] = {
    REST: ("network.packet_max", "network.switching", "node.network_cache."),
    "processor clock": ("node.core.clock",),
    "processor": ("node.core.", "node.order.", "node.harts"),
    "caches": ("node.l1i.", "node.l1d.", "node.l2.", "node.write_buffer."),
    "TLBs": ("node.itlb.", "node.dtlb."),
    "bus and memory": ("node.bus.", "node.dram."),
    "kernel": ("node.software.kernel",),
    "operating system": ("node.software.", "node.scheduler.", "node.interrupts."),
    "network latency": ("network.link_latency", "network.routing_delay"),
    "network bandwidth": ("network.link_bandwidth",),
    "network": ("network.",),
    "MPI library": ("mpi.",),
    OWN: ("",),
}
UNTIMED = "check."  # no parameter of these changes a simulated time
ALL = "all"
ACTING = 2.0  # an interaction by which factors are not to be read alone

Progress = Callable[[int, int], None]


class Difference(NamedTuple):
    """A parameter, and its value on each machine."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class Factor:
    """By how many times the second machine takes longer because of a group, as it shows on the
    first and on the second; None: the program does not run so."""

    group: str
    on_first: float | None
    on_second: float | None


@dataclass(frozen=True)
class Attribution:
    """What the ratio of two machines' times is made of."""

    machines: tuple[str, str]
    ratio: float  # of the second machine's time to the first's
    factors: list[Factor]  # of the groups, then of what only one has
    differences: Mapping[str, list[Difference]]
    left: Mapping[str, str]  # groups that can't be exchanged, and why: they are part of the rest
    unfinished: Sequence[str]  # runs without a time, and how they ended

    def products(self) -> Factor:
        """All factors multiplied."""
        return Factor(
            "all of these, multiplied",
            _product([each.on_first for each in self.factors]),
            _product([each.on_second for each in self.factors]),
        )

    def interaction(self) -> Factor:
        """What is left of the ratio: groups act on each other."""
        product = self.products()
        return Factor(
            "interaction",
            product.on_first and self.ratio / product.on_first,
            product.on_second and self.ratio / product.on_second,
        )

    def as_json(self) -> dict[str, Any]:
        """Its content."""
        return {
            "ratio": self.ratio,
            "factors": [asdict(each) for each in self.factors],
            "interaction": asdict(self.interaction()),
            "differences": {
                group: [each._asdict() for each in changed]
                for group, changed in self.differences.items()
            },
            "not_exchanged": dict(self.left),
            "unfinished": list(self.unfinished),
        }

    def sentence(self) -> str:
        """In words, the largest factor first."""
        first, second = self.machines
        shown = sorted(
            (each for each in [*self.factors, self.interaction()] if _is_known(each)),
            key=lambda each: -abs(math.log(_middle(each))),
        )
        parts = [f"{each.group} {_range(each)}" for each in shown if _matters(each)]
        of_it = f". Factors of that: {', '.join(parts)}" if parts else ""
        unknown = [each.group for each in self.factors if not _is_known(each)]
        rest = f"; not known: {', '.join(unknown)}" if unknown else ""
        found = f"{second} takes {factor(self.ratio)} times as long as {first}{of_it}{rest}."
        if _is_known(self.interaction()) and _reach(self.interaction()) >= math.log(ACTING):
            found += " Groups act on each other so much that what each does alone says little."
        return found


def _is_known(of: Factor) -> bool:
    return None not in (of.on_first, of.on_second)


def _product(factors: Sequence[float | None]) -> float | None:
    known = [each for each in factors if each is not None]
    return math.prod(known) if len(known) == len(factors) else None


def _middle(of: Factor) -> float:
    assert of.on_first
    assert of.on_second
    return math.sqrt(of.on_first * of.on_second)


def _matters(of: Factor) -> bool:
    """Times move by some percent with where a program lies in memory."""
    return _reach(of) >= math.log(1.05)


def _reach(of: Factor) -> float:
    """The logarithm of how many times longer or shorter it makes one of both times."""
    assert of.on_first
    assert of.on_second
    return max(abs(math.log(of.on_first)), abs(math.log(of.on_second)))


def _range(of: Factor) -> str:
    assert of.on_first
    assert of.on_second
    low, high = (factor(each) for each in sorted((of.on_first, of.on_second)))
    either = " (faster or slower)" if float(low) < 1 < float(high) else ""
    return low if low == high else f"{low} to {high}{either}"


def is_right(summary: Mapping[str, Any]) -> bool:
    """Whether the program finished, and says that all went well."""
    return summary["outcome"] == "finished" and not summary["exit_status"]


# --- what is exchanged ----------------------------------------------------------------------------


def differences(first: simulation.Job, second: simulation.Job) -> dict[str, list[Difference]]:
    """Parameters of both machines with unlike values, by group; `check`'s change no time."""
    values = [
        {each["name"]: each["value"] for each in core.parameters(job.machine, job.sets)}
        for job in (first, second)
    ]
    found: dict[str, list[Difference]] = {}
    for name, value in values[0].items():
        group = _group(name)
        if group is not None and values[1].get(name, value) != value:
            found.setdefault(group, []).append(Difference(name, value, values[1][name]))
    return {group: found[group] for group in GROUPS if group in found}


def _group(name: str) -> str | None:
    """None: it changes no simulated time."""
    if name.startswith(UNTIMED):
        return None
    return next(group for group, prefixes in GROUPS.items() if name.startswith(prefixes))


def _with(job: simulation.Job, changed: Sequence[Difference], *, is_first: bool) -> simulation.Job:
    """The job with the other machine's values; its run directory is another."""
    sets = [f"{each.name}={each.second if is_first else each.first}" for each in changed]
    return replace(job, sets=[*job.sets, *sets], directory=None)


def _exchanged(
    group: str, changed: Sequence[Difference], first: simulation.Job, second: simulation.Job
) -> dict[tuple[str, bool], simulation.Job]:
    """The two jobs, each with the other machine's values, by group and whether it is the first's.
    Raises InputError if one of them can't start."""
    jobs = {
        (group, is_first): _with(job, changed, is_first=is_first)
        for job, is_first in ((first, True), (second, False))
    }
    for job in jobs.values():
        simulation.check(job)
    return jobs


def attribute(
    rows: Sequence[tuple[simulation.Job, int]], progress: Progress = lambda _done, _count: None
) -> Attribution:
    """`rows`: the two machines' jobs and their times [ps]. Raises InputError if all values together
    can't be exchanged though those of each group can."""
    (first, first_ps), (second, second_ps) = rows
    found = differences(first, second)
    left: dict[str, str] = {}
    exchanged: dict[str, list[Difference]] = {}
    jobs: dict[tuple[str, bool], simulation.Job] = {}
    for group, changed in found.items():
        if group == REST:
            continue
        try:
            jobs |= _exchanged(group, changed, first, second)
            exchanged[group] = changed
        except InputError as error:
            left[group] = " ".join(str(error).split())
    together = [each for changed in exchanged.values() for each in changed]
    jobs |= _exchanged(ALL, together, first, second)
    ends = _ends(jobs, progress)
    times = {key: each.time_ps for key, each in ends.items()}

    def ratio(numerator: int | None, denominator: int | None) -> float | None:
        return numerator / denominator if numerator and denominator else None

    factors = [
        Factor(
            group,
            ratio(times[group, True], first_ps),
            ratio(second_ps, times[group, False]),
        )
        for group in exchanged
    ]
    rest = Factor(REST, ratio(times[ALL, False], first_ps), ratio(second_ps, times[ALL, True]))
    return Attribution(
        (first.machine, second.machine),
        second_ps / first_ps,
        [*factors, rest],
        found,
        left,
        [
            f"{(first if is_first else second).machine} with {_of_the_other(group)}: {end.how}"
            for (group, is_first), end in ((key, ends[key]) for key in jobs)
            if end.time_ps is None
        ],
    )


def _of_the_other(group: str) -> str:
    if group == ALL:
        return f"all of the other's groups, for {REST}"
    return f"the other's {group.removeprefix('the ')}"


class End(NamedTuple):
    """Of a run: its time between MPI_Init and MPI_Finalize [ps], if it was right; how it ended."""

    time_ps: int | None
    how: str


def _ends(
    jobs: Mapping[tuple[str, bool], simulation.Job], progress: Progress
) -> dict[tuple[str, bool], End]:
    stop: int | None = None
    found: dict[tuple[str, bool], End] = {}
    with tempfile.TemporaryDirectory(prefix="chasqui-compare-") as scratch:
        places = {key: Path(scratch) / str(number) for number, key in enumerate(jobs)}

        def one(key: tuple[str, bool]) -> End:
            job = replace(jobs[key], threads=1, progress=False)
            summary = simulation.execute_quietly(job, places[key], lambda: stop).summary
            how = f"{summary['outcome']}, with exit status {summary['exit_status']}"
            return End(simulation.main_part_ps(summary) if is_right(summary) else None, how)

        def take(key: tuple[str, bool], end: End) -> None:
            found[key] = end
            progress(len(found), len(jobs))

        def end(signal: int) -> None:
            nonlocal stop
            stop = signal

        side_by_side(one, list(jobs), simulation.host_processors(), take, end)
    return found
