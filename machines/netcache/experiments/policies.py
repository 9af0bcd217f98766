"""netcache/policies: programs of many short messages under every way to receive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

from . import _npb
from ._workloads import (
    BASELINE,
    COLORS,
    COUNTERS,
    POLICIES,
    START,
    STUDIES,
    Figures,
    Program,
    figures,
    machine,
    programs,
    run,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Which way to receive a short message makes programs fastest, and what does each do to the data \
cache? Conjugate gradients, penta-diagonal systems by alternating directions, a spectral transform \
and a lattice gauge field run under every policy of netcache, with the caches of the paper's \
studies A, B and C. Counters are of all ranks together. The counts of a program that only starts \
and ends under the same policy are subtracted. A message's first and last access are \
measured from the entry of the call that receives it to the first and the last load of its data, \
before they are overwritten."""

RANKS = {"C": (4, 16, 64), "A": (4, 16), "B": (4, 16)}
QUICK = 4
# Assumptions are varied under these, in one program.
VARIED = ("tcp", "via", "dmaver1", "dmaver2", "ldtct")
VARIED_PROGRAM = "spectral"
ASSUMED = (
    "network.link_latency", "node.bus.address", "node.l2.ways", "netcache.nic.access",
    "netcache.nic.transmit", "netcache.nic.receive", "netcache.nic.deliver", "netcache.nic.width",
    "netcache.nic.packet_overhead", "network.routing_delay", "netcache.ethernet.access",
    "netcache.ethernet.transmit", "netcache.ethernet.receive", "netcache.via.lookup",
    "netcache.via.complete", "node.core.trap", "node.core.trap_return",
)  # fmt: skip

Case = tuple[str, str, int]  # study, program, ranks


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    ranks: int
    policy: str
    run_time_ns: Fraction
    speedup_over_via: Fraction
    dl1_accesses: int
    dl1_misses: int
    dl1_replacements: int
    dl1_writebacks: int
    dl1_invalidations: int
    first_access_ns: Fraction | None
    last_access_ns: Fraction | None
    study: str
    messages: int
    accessed_messages: int
    dl1_accesses_per_message: Fraction | None
    dl1_misses_per_message: Fraction | None
    dl1_replacements_per_message: Fraction | None
    dl1_writebacks_per_message: Fraction | None
    dl1_invalidations_per_message: Fraction | None


def cases(quick: bool) -> list[tuple[Case, Program]]:
    found = []
    for study in STUDIES[:1] if quick else STUDIES:
        for ranks in (QUICK,) if quick else RANKS[study]:
            # NPB takes long: with the machine's own caches and few ranks only.
            others = _npb.programs(ranks) if study == "C" and ranks == QUICK and not quick else []
            for program in [*programs(ranks), *others]:
                if not quick or program.name == VARIED_PROGRAM:
                    found.append(((study, program.name, ranks), program))
    return found


def runs(quick: bool) -> list[Run]:
    every = [
        run(_name(case, policy), program, case[2], machine(case[0], policy))
        for case, program in _with_starts(cases(quick))
        for policy in POLICIES
    ]
    (program,) = (each for each in programs(QUICK) if each.name == VARIED_PROGRAM)
    varied = sensitivity.assumptions("netcache", ASSUMED[:1] if quick else ASSUMED)
    for policy in VARIED:
        base = run(_varied(policy), program, QUICK, machine("C", policy))
        every += sensitivity.runs(base, varied)
    return every


def _with_starts(found: list[tuple[Case, Program]]) -> list[tuple[Case, Program]]:
    starts = dict.fromkeys((study, START.name, ranks) for (study, _, ranks), _ in found)
    return [*found, *((case, START) for case in starts)]


def _name(case: Case, policy: str) -> str:
    study, program, ranks = case
    return f"{study}/{program}/{ranks}/{policy}"


def _cases_of(outputs: Mapping[str, Output], policy: str) -> list[Case]:
    """What ran, in the order of the runs."""
    parts = [name.split("/") for name in outputs]
    return [
        (study, program, int(ranks))
        for study, program, ranks, ran in (part for part in parts if part[0] in STUDIES)
        if ran == policy and program != START.name
    ]


def _without_start(outputs: Mapping[str, Output], case: Case, policy: str) -> Figures:
    study, _, ranks = case
    start = figures(outputs[_name((study, START.name, ranks), policy)])
    return figures(outputs[_name(case, policy)]).without(start)


def _varied(policy: str) -> str:
    return f"varied/{policy}"


def sensitive(output: Output) -> dict[str, Fraction]:
    """Run time, and first access, under the run's policy."""
    found = figures(output)
    policy = output.run.machine.rpartition("/")[2]
    assert found.first_access_ns is not None
    return {
        f"{policy}, run time": found.run_time_ns,
        f"{policy}, first access": found.first_access_ns,
    }


def report(outputs: Mapping[str, Output]) -> Report:
    done = _cases_of(outputs, POLICIES[0])
    measured = {
        case: {policy: _without_start(outputs, case, policy) for policy in POLICIES}
        for case in done
    }
    found = [_row(case, policy, measured[case]) for case in done for policy in POLICIES]
    results = Table("results", Row._fields, found)
    assumed = sensitivity.assumptions("netcache", ASSUMED)
    bases = [_varied(policy) for policy in VARIED]
    changes, changes_text, sentence = sensitivity.report(bases, assumed, outputs, sensitive)
    return Report(
        tables=[results, changes],
        text=f"{_shown(measured)}\n\nChange [%] with assumptions halved or doubled "
        f"({VARIED_PROGRAM}, {QUICK} ranks)\n{changes_text}",
        findings=[*_sentences(measured), sentence],
        draw=lambda figure: draw(figure, measured),
        size_inches=(11.0, 7.0),
    )


def _row(case: Case, policy: str, by_policy: Mapping[str, Figures]) -> Row:
    study, program, ranks = case
    own = by_policy[policy]
    return Row._make([
        program, ranks, policy, own.run_time_ns,
        by_policy[BASELINE].run_time_ns / own.run_time_ns,
        *(own.counters[name] for name in COUNTERS),
        own.first_access_ns, own.last_access_ns, study, own.messages, own.accessed,
        *(own.per_message(name) for name in COUNTERS),
    ])  # fmt: skip


def _shown(measured: Mapping[Case, Mapping[str, Figures]]) -> str:
    """Times, and what happens in the data cache for each message more than under ldtct."""
    header = ["study", "program", "ranks", "policy", "us", "speed-up", "first access ns",
              "last access us", "accesses", "misses", "replaced", "written",
              "invalidated"]  # fmt: skip
    lines = []
    for case, by_policy in measured.items():
        slowest, own = by_policy[BASELINE], by_policy["ldtct"]
        for policy, each in by_policy.items():
            more = [_difference(each, own, name) for name in COUNTERS]
            lines.append(
                [
                    *map(str, case), policy, f"{float(each.run_time_ns / 1000):,.1f}",
                    f"{float(slowest.run_time_ns / each.run_time_ns):.3f}",
                    _decimals(each.first_access_ns, 1, 0), _decimals(each.last_access_ns, 1000, 2),
                    *more,
                ]
            )  # fmt: skip
    return (
        f"Speed-up over {BASELINE}; of the data cache what happens for each message more than "
        f"under ldtct.\n{table(header, lines, left=(0, 1, 3))}"
    )


def _difference(each: Figures, own: Figures, counter: str) -> str:
    a, b = each.per_message(counter), own.per_message(counter)
    return "" if a is None or b is None else f"{float(a - b):+.2f}"


def _decimals(time_ns: Fraction | None, unit: int, digits: int) -> str:
    return "" if time_ns is None else f"{float(time_ns / unit):,.{digits}f}"


def _sentences(measured: Mapping[Case, Mapping[str, Figures]]) -> list[str]:
    """For each program at the largest number of ranks of study C, who is fastest, by how much."""
    sentences = []
    largest = {case[1]: case for case in sorted(measured, key=lambda c: c[2]) if case[0] == "C"}
    for program, case in largest.items():
        by_policy = measured[case]
        order = sorted(by_policy, key=lambda policy: by_policy[policy].run_time_ns)
        best, worst = by_policy[order[0]], by_policy[order[-1]]
        gain = by_policy[BASELINE].run_time_ns / best.run_time_ns
        sentences.append(
            f"{program} on {case[2]} ranks of study C: {order[0]} is fastest, "
            f"{number(float(gain), 4)} times as fast as {BASELINE}; the slowest, {order[-1]}, "
            f"takes {number(float(worst.run_time_ns / best.run_time_ns), 4)} times as long. "
            f"First access: {_firsts(by_policy)} ns."
        )
    return sentences


def _firsts(by_policy: Mapping[str, Figures]) -> str:
    return ", ".join(
        f"{policy} {_decimals(each.first_access_ns, 1, 0)}" for policy, each in by_policy.items()
    )


def draw(figure: Figure, measured: Mapping[Case, Mapping[str, Figures]]) -> None:
    """Run times and first accesses over those of ldtct, by program; a dot for each policy. Those
    in the kernel, which take several times as long, have panels of their own."""
    from chasqui.experiment import drawing

    shown: Sequence[Case] = [case for case in measured if case[0] == "C"]
    present = list(next(iter(measured.values())))
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(2, 1, 2, 1))
    for place, policy in enumerate(present):
        at = [x + (place + 0.5 - len(present) / 2) * 0.8 / len(present) for x in range(len(shown))]
        own = [measured[case]["ldtct"] for case in shown]
        each = [measured[case][policy] for case in shown]
        ratios = [
            [float(a.run_time_ns / b.run_time_ns) for a, b in zip(each, own, strict=True)],
            [_ratio(a, b) for a, b in zip(each, own, strict=True)],
        ]
        for (main, kernel), heights in zip((panels[:2], panels[2:]), ratios, strict=True):
            axes = kernel if policy in IN_KERNEL else main
            axes.plot(at, heights, "o", color=COLORS[policy], label=policy)
    for axes in panels:
        # Up is slower, down is faster.
        axes.axhline(1, color=COLORS["ldtct"], linewidth=0.6, zorder=0)
        axes.grid(visible=False, axis="x")
        axes.set_axisbelow(True)
    for kernel in panels[1::2]:
        kernel.set_yscale("log")
        kernel.set_yticks([1, 2, 5, 10, 20], labels="1 2 5 10 20".split())
        kernel.minorticks_off()
        kernel.set_title("in the kernel", fontsize=8, loc="left")
    panels[0].set(title="run time over that of ldtct (study C)")
    panels[2].set(title="mean time to the first access over that of ldtct")
    panels[3].set_xticks(range(len(shown)), [f"{c[1]}\n{c[2]} ranks" for c in shown])
    drawing.legend_above(figure, panels[:2], columns=len(present))


def _ratio(a: Figures, b: Figures) -> float:
    if a.first_access_ns is None or not b.first_access_ns:
        return 1.0
    return float(a.first_access_ns / b.first_access_ns)


# Over an Ethernet controller, by traps and interrupts.
IN_KERNEL = ("tcp", "mvia")
EXPERIMENT = Experiment(QUESTION, runs, report, {_npb.KIND: _npb.ELSEWHERE})
