"""netcache/spread: how much run times move with what says nothing of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number

from ._workloads import COLORS, START, figures, machine, programs
from ._workloads import run as make_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much longer or shorter do programs run when a link or a router takes a few nanoseconds more or \
less? That says nothing of a policy, and is next to nothing of a run time; what moves beyond it is \
by when messages meet receives, and where a cache replaces what. So a difference between two \
policies that is not larger says nothing of these, either. Programs, ranks and caches are those of \
study C in netcache/policies. The time of a program that only starts and ends is subtracted."""

POLICIES = ("via", "processver", "dmaver1", "dmaver2", "ldtct")
# machine.toml has links of 200 ns and routers of 100 ns. None is another by more than a tenth.
ROUTERS = {
    "as-assumed": [],
    "router-95": ["network.routing_delay=95 ns"],
    "router-105": ["network.routing_delay=105 ns"],
}
LINKS = {f"link-{ns}": [f"network.link_latency={ns} ns"] for ns in (190, 195, 205, 210)}
# On 64 ranks fewer, since these take long.
DELAYS = {4: ROUTERS | LINKS, 16: ROUTERS | LINKS, 64: ROUTERS}
PROGRAM_QUICK, RANKS_QUICK, DELAYS_QUICK = "spectral", 4, ("as-assumed", "link-190")

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
        make_run(
            _name((program.name, ranks, policy), delay), program, ranks, machine("C", policy), sets
        )
        for ranks, delays in DELAYS.items()
        for program in [*programs(ranks), START]
        for policy in POLICIES
        for delay, sets in delays.items()
        if not quick or _is_quick(program.name, ranks, delay)
    ]


def _is_quick(program: str, ranks: int, delay: str) -> bool:
    named = program in (PROGRAM_QUICK, START.name)
    return named and ranks == RANKS_QUICK and delay in DELAYS_QUICK


def _name(case: Case, delay: str) -> str:
    program, ranks, policy = case
    return f"{program}/{ranks}/{policy}/{delay}"


def row(case: Case, outputs: Mapping[str, Output]) -> Row:
    program, ranks, policy = case
    times = []
    for delay in DELAYS[ranks]:
        own, start = (_name((name, ranks, policy), delay) for name in (program, START.name))
        if own in outputs:
            times.append(figures(outputs[own]).without(figures(outputs[start])).run_time_ns)
    least, greatest = min(times), max(times)
    return Row(program, ranks, policy, 100 * (greatest / least - 1), least, greatest)


def report(outputs: Mapping[str, Output]) -> Report:
    parts = [name.split("/") for name in outputs]
    cases = dict.fromkeys((program, int(ranks), policy) for program, ranks, policy, _ in parts)
    rows = [row(case, outputs) for case in cases if case[0] != START.name]
    results = Table("results", Row._fields, rows)
    return Report(
        tables=[results],
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
        title="run time with delays a little shorter and longer: greatest over least [%]",
        ylim=(0, None),
    )
    axes.legend(frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report)
