"""netcache/first-access: whether a message's data are used sooner with the network cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number

from ._workloads import COLORS, Program, figures, machine, programs
from ._workloads import run as make_run
from .spread import CHANGES, Change

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
From the call that receives a message until the program first loads its data: is that sooner with \
the network cache (ldtct) than with the best of the copies? It is where it is so with each of the \
changes of netcache/spread, which say nothing of a policy, made under both. Means over messages; \
caches are those of study B in netcache/policies, whose programs these are."""

STUDY = "B"
OWN = "ldtct"
COPIES = ("processver", "dmaver1", "dmaver2")
RANKS = (4, 16)
PROGRAM_QUICK, RANKS_QUICK, CHANGES_QUICK = "spectral", 4, ("as-assumed", "link-190")

Times = dict[str, Fraction]  # by change


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    ranks: int
    policy: str
    first_access_ns: Fraction  # as assumed
    least_ns: Fraction
    greatest_ns: Fraction
    spread_percent: Fraction  # by how much the greatest is more than the least


class Ratio(NamedTuple):
    """The columns of ratios.csv: the network cache's time over the best copy's, both with the same
    change."""

    program: str
    ranks: int
    least_ratio: Fraction
    greatest_ratio: Fraction


def runs(quick: bool) -> list[Run]:
    return [
        _run(program, ranks, policy, name, change)
        for ranks in RANKS
        for program in programs(ranks)
        for policy in (OWN, *COPIES)
        for name, change in CHANGES[ranks].items()
        if not quick
        or ((program.name, ranks) == (PROGRAM_QUICK, RANKS_QUICK) and name in CHANGES_QUICK)
    ]


def _run(program: Program, ranks: int, policy: str, name: str, change: Change) -> Run:
    if change.padding:
        program = replace(program, arguments=[*program.arguments, "-p", "0" * change.padding])
    usual = make_run(
        f"{program.name}/{ranks}/{policy}/{name}", program, ranks, machine(STUDY, policy),
        change.sets,
    )  # fmt: skip
    return replace(usual, flags=[*usual.flags, *change.flags])


def times_of(outputs: Mapping[str, Output]) -> dict[tuple[str, int], dict[str, Times]]:
    """First accesses [ns] by program and ranks, then by policy."""
    found: dict[tuple[str, int], dict[str, Times]] = {}
    for name, output in outputs.items():
        program, ranks, policy, change = name.split("/")
        first = figures(output).first_access_ns
        if first is not None:
            case = found.setdefault((program, int(ranks)), {})
            case.setdefault(policy, {})[change] = first
    return found


def row(case: tuple[str, int], policy: str, times: Times) -> Row:
    least, greatest = min(times.values()), max(times.values())
    usual = next(iter(times.values()))
    return Row(*case, policy, usual, least, greatest, 100 * (greatest / least - 1))


def ratio(case: tuple[str, int], policies: Mapping[str, Times]) -> Ratio:
    each = [
        own / min(policies[copy][change] for copy in COPIES)
        for change, own in policies[OWN].items()
    ]
    return Ratio(*case, min(each), max(each))


def report(outputs: Mapping[str, Output]) -> Report:
    times = times_of(outputs)
    rows = [row(case, *each) for case, policies in times.items() for each in policies.items()]
    ratios = [ratio(case, policies) for case, policies in times.items()]
    shown = Table("ratios", Ratio._fields, ratios)
    return Report(
        tables=[Table("results", Row._fields, rows), shown],
        text=shown.text(left=(0,)),
        findings=[_sentence(ratios)],
        draw=lambda figure: draw(figure, rows),
        size_inches=(9.0, 4.5),
    )


def _sentence(ratios: list[Ratio]) -> str:
    sooner = [each for each in ratios if each.greatest_ratio < 1]
    later = [each for each in ratios if each.least_ratio > 1]
    most = min(each.least_ratio for each in ratios)
    return (
        f"{OWN}'s first access is sooner than each copy's in {len(sooner)} cases of "
        f"{len(ratios)}, later in {len(later)}, now this and now that in the others; at best it "
        f"takes {number(float(most), 3)} of the time."
    )


def draw(figure: Figure, rows: list[Row]) -> None:
    """A bar from the least to the greatest for each policy, beside each other by case."""
    axes = figure.subplots()
    cases = list(dict.fromkeys((r.program, r.ranks) for r in rows))
    policies = list(dict.fromkeys(r.policy for r in rows))
    for place, policy in enumerate(policies):
        own = [r for r in rows if r.policy == policy]
        at = [cases.index((r.program, r.ranks)) + 0.18 * (place - 1.5) for r in own]
        usual = [float(r.first_access_ns) / 1000 for r in own]
        reach = [
            [float(r.first_access_ns - r.least_ns) / 1000 for r in own],
            [float(r.greatest_ns - r.first_access_ns) / 1000 for r in own],
        ]
        axes.errorbar(at, usual, yerr=reach, fmt="o", capsize=3, color=COLORS[policy], label=policy)
    axes.set_xticks(range(len(cases)), [f"{program}\n{ranks} ranks" for program, ranks in cases])
    axes.set(
        title="from the call that receives to the first load [us]; bars: little changes",
        yscale="log",
    )
    for ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        ticks("{x:g}")
    axes.legend(frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report)
