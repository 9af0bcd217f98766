"""netcache/spread: how much run times move with what says nothing of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number

from ._workloads import COLORS, START, Program, figures, machine, programs
from ._workloads import run as make_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much longer or shorter do programs run with what says nothing of a policy? A link or a router \
takes a few nanoseconds more or less; a longer argument moves the stack; the program's functions \
begin at multiples of 64 bytes, which moves the library behind them, too. What moves beyond these \
nanoseconds is by when messages meet receives, and where a cache replaces what. A policy is \
shown to be faster than another if it is with each of these changes, made under both. Programs, \
ranks and caches are those of study C in netcache/policies. The time of a program that only starts \
and ends, as much moved, is subtracted."""

POLICIES = ("via", "processver", "dmaver1", "dmaver2", "ldtct")


class Change(NamedTuple):
    """What a run has otherwise."""

    sets: Sequence[str] = ()
    padding: int = 0  # length of an argument that no program looks at
    flags: Sequence[str] = ()  # of the compiler


# machine.toml has links of 200 ns and routers of 100 ns. None is another by more than a tenth.
ROUTERS = {
    "as-assumed": Change(),
    "router-95": Change(["network.routing_delay=95 ns"]),
    "router-105": Change(["network.routing_delay=105 ns"]),
}
LINKS = {f"link-{ns}": Change([f"network.link_latency={ns} ns"]) for ns in (190, 195, 205, 210)}
# The stack begins below the arguments: 48 and 112 bytes lower.
STACKS = {f"stack-{length}": Change(padding=length) for length in (32, 96)}
CODE = {"code-64": Change(flags=["-falign-functions=64"])}
# On 64 ranks fewer, since these take long.
CHANGES = {
    4: ROUTERS | LINKS | STACKS | CODE,
    16: ROUTERS | LINKS | STACKS | CODE,
    64: ROUTERS | STACKS | CODE,
}
PROGRAM_QUICK, RANKS_QUICK, CHANGES_QUICK = "spectral", 4, ("as-assumed", "link-190")

Case = tuple[str, int, str]  # program, ranks, policy


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    ranks: int
    policy: str
    spread_percent: Fraction  # by how much the greatest run time is more than the least
    least_run_time_ns: Fraction
    greatest_run_time_ns: Fraction


def runs(quick: bool) -> list[Run]:
    return [
        _run((program.name, ranks, policy), name, program, change)
        for ranks, changes in CHANGES.items()
        for program in [*programs(ranks), START]
        for policy in POLICIES
        for name, change in changes.items()
        if not quick or _is_quick(program.name, ranks, name)
    ]


def _is_quick(program: str, ranks: int, change: str) -> bool:
    named = program in (PROGRAM_QUICK, START.name)
    return named and ranks == RANKS_QUICK and change in CHANGES_QUICK


def _run(case: Case, name: str, program: Program, change: Change) -> Run:
    _, ranks, policy = case
    if change.padding:
        program = replace(program, arguments=[*program.arguments, "-p", "0" * change.padding])
    usual = make_run(_name(case, name), program, ranks, machine("C", policy), change.sets)
    return replace(usual, flags=[*usual.flags, *change.flags])


def _name(case: Case, change: str) -> str:
    program, ranks, policy = case
    return f"{program}/{ranks}/{policy}/{change}"


class Ratio(NamedTuple):
    """The columns of ratios.csv: the other's run time over the policy's, both with the same
    change."""

    program: str
    ranks: int
    policy: str
    other: str
    least_ratio: Fraction
    greatest_ratio: Fraction


def run_times_ns(case: Case, outputs: Mapping[str, Output]) -> dict[str, Fraction]:
    """By change."""
    program, ranks, policy = case
    found = {}
    for change in CHANGES[ranks]:
        own, start = (_name((name, ranks, policy), change) for name in (program, START.name))
        if own in outputs:
            found[change] = figures(outputs[own]).without(figures(outputs[start])).run_time_ns
    return found


def row(case: Case, times: Mapping[str, Fraction]) -> Row:
    least, greatest = min(times.values()), max(times.values())
    return Row(*case, 100 * (greatest / least - 1), least, greatest)


def ratios(times: Mapping[Case, Mapping[str, Fraction]]) -> list[Ratio]:
    found = []
    for (program, ranks, policy), own in times.items():
        for other in POLICIES:
            if other == policy:
                continue
            theirs = times[program, ranks, other]
            each = [theirs[change] / own[change] for change in own]
            found.append(Ratio(program, ranks, policy, other, min(each), max(each)))
    return found


def report(outputs: Mapping[str, Output]) -> Report:
    parts = [name.split("/") for name in outputs]
    cases = dict.fromkeys((program, int(ranks), policy) for program, ranks, policy, _ in parts)
    times = {case: run_times_ns(case, outputs) for case in cases if case[0] != START.name}
    rows = [row(case, own) for case, own in times.items()]
    results = Table("results", Row._fields, rows)
    return Report(
        tables=[results, Table("ratios", Ratio._fields, ratios(times))],
        text=results.text(left=(0, 2)),
        findings=[_sentence(program, rows) for program in dict.fromkeys(r.program for r in rows)],
        draw=lambda figure: draw(figure, rows),
        size_inches=(9.0, 4.5),
    )


def _sentence(program: str, rows: list[Row]) -> str:
    most = max((r for r in rows if r.program == program), key=lambda r: r.spread_percent)
    return (
        f"{program}: its run time moves by up to {number(float(most.spread_percent), 2)} %, under "
        f"{most.policy} on {most.ranks} ranks."
    )


def draw(figure: Figure, rows: list[Row]) -> None:
    """The spread of each program and number of ranks; a dot for each policy."""
    axes = figure.subplots()
    cases = list(dict.fromkeys((r.program, r.ranks) for r in rows))
    for policy in POLICIES:
        own = [r for r in rows if r.policy == policy]
        at = [cases.index((r.program, r.ranks)) for r in own]
        axes.plot(
            at, [float(r.spread_percent) for r in own], "o", color=COLORS[policy], label=policy
        )
    axes.set_xticks(range(len(cases)), [f"{program}\n{ranks} ranks" for program, ranks in cases])
    axes.set(
        title="run time with little changes that say nothing of a policy: greatest over least [%]",
        ylim=(0, None),
    )
    axes.legend(frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report)
