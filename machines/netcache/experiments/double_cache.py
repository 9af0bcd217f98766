"""netcache/double-cache: twice the data cache instead of a network cache."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

from ._workloads import (
    BASELINE,
    COUNTERS,
    START,
    STUDIES,
    Figures,
    figures,
    machine,
    programs,
)
from ._workloads import run as make_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Is a network cache better than a data cache of twice the size? VIA with the data cache of the \
paper's studies and with twice as many sets, against messages in the network cache (dtct, ldtct) \
beside the unchanged data cache. The time of a program that only starts and ends is subtracted."""

# Data caches twice as large, by study [KiB].
TWICE = {"C": 64, "A": 32, "B": 64}
RANKS = (4, 16)
QUICK = 4
CACHED = ("dtct", "ldtct")
VARIED_PROGRAM = "spectral"
ASSUMED = ("node.bus.address", "node.l2.ways", "netcache.nic.receive", "network.link_latency")
VARIED = "varied"

Case = tuple[str, str, int]  # study, program, ranks


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    ranks: int
    policy: str
    dl1_kib: int
    run_time_ns: Fraction
    speedup_over_double: Fraction
    dl1_misses: int
    dl1_replacements: int
    first_access_ns: Fraction | None
    study: str


def organisations(study: str) -> dict[str, tuple[str, int, list[str]]]:
    """What is compared: {name: (policy, KiB of data cache, settings)}."""
    once, twice = TWICE[study] // 2, TWICE[study]
    doubled = [f"node.l1d.size={twice} KiB"]
    return {
        "once": (BASELINE, once, []),
        "double": (BASELINE, twice, doubled),
        **{policy: (policy, once, []) for policy in CACHED},
    }


def cases(quick: bool) -> list[Case]:
    every = [
        (study, program.name, ranks)
        for study in STUDIES
        for ranks in RANKS
        for program in programs(ranks)
    ]
    return [case for case in every if not quick or case == ("C", VARIED_PROGRAM, QUICK)]


def _run(name: str, case: Case, organisation: str) -> Run:
    study, program, ranks = case
    policy, _, sets = organisations(study)[organisation]
    (chosen,) = (each for each in [*programs(ranks), START] if each.name == program)
    return make_run(name, chosen, ranks, machine(study, policy), sets)


def _name(case: Case, organisation: str) -> str:
    return "/".join([*map(str, case), organisation])


def runs(quick: bool) -> list[Run]:
    every = [
        _run(_name(case, each), case, each)
        for case in [*cases(quick), *_starts(cases(quick))]
        for each in organisations(case[0])
    ]
    varied = sensitivity.assumptions("netcache", ASSUMED[:1] if quick else ASSUMED)
    for each in ("double", "ldtct"):
        base = _run(f"{VARIED}/{each}", ("C", VARIED_PROGRAM, QUICK), each)
        every += sensitivity.runs(base, varied)
    return every


def _starts(found: list[Case]) -> list[Case]:
    return list(dict.fromkeys((study, START.name, ranks) for study, _, ranks in found))


def sensitive(output: Output) -> dict[str, Fraction]:
    which = output.run.name.split("/")[1]
    return {f"{which}, run time": figures(output).run_time_ns}


def report(outputs: Mapping[str, Output]) -> Report:
    done = [case for case in cases(quick=False) if _name(case, "once") in outputs]
    measured = {
        case: {each: _without_start(outputs, case, each) for each in organisations(case[0])}
        for case in done
    }
    rows = [_row(case, each, measured[case]) for case in done for each in measured[case]]
    assumed = sensitivity.assumptions("netcache", ASSUMED)
    bases = [f"{VARIED}/{each}" for each in ("double", "ldtct")]
    changes, changes_text, sentence = sensitivity.report(bases, assumed, outputs, sensitive)
    return Report(
        tables=[Table("results", Row._fields, rows), changes],
        text=f"{_shown(measured)}\n\nChange [%] with assumptions halved or doubled "
        f"({VARIED_PROGRAM}, {QUICK} ranks)\n{changes_text}",
        findings=[*_sentences(measured), sentence],
        draw=lambda figure: draw(figure, measured),
        size_inches=(12.0, 4.5),
    )


def _without_start(outputs: Mapping[str, Output], case: Case, organisation: str) -> Figures:
    study, _, ranks = case
    start = figures(outputs[_name((study, START.name, ranks), organisation)])
    return figures(outputs[_name(case, organisation)]).without(start)


def _row(case: Case, organisation: str, by: Mapping[str, Figures]) -> Row:
    study, program, ranks = case
    policy, size, _ = organisations(study)[organisation]
    own = by[organisation]
    return Row(
        program, ranks, policy, size, own.run_time_ns, by["double"].run_time_ns / own.run_time_ns,
        own.counters["dl1_misses"], own.counters["dl1_replacements"], own.first_access_ns, study,
    )  # fmt: skip


def _shown(measured: Mapping[Case, Mapping[str, Figures]]) -> str:
    header = ["study", "program", "ranks", "policy", "data cache KiB", "us", "speed-up",
              *(name.removeprefix("dl1_") for name in COUNTERS)]  # fmt: skip
    lines = []
    for case, by in measured.items():
        for organisation, each in by.items():
            policy, size, _ = organisations(case[0])[organisation]
            speed = by["double"].run_time_ns / each.run_time_ns
            counters = [f"{value:,}" for value in each.counters.values()]
            lines.append(
                [*map(str, case), policy, str(size), f"{float(each.run_time_ns / 1000):,.1f}",
                 f"{float(speed):.3f}", *counters]
            )  # fmt: skip
    return f"Speed-up over twice the data cache.\n{table(header, lines, left=(0, 1, 3))}"


def _sentences(measured: Mapping[Case, Mapping[str, Figures]]) -> list[str]:
    sentences = []
    for case, by in measured.items():
        doubled, bound = by["double"].run_time_ns, by["ldtct"].run_time_ns
        gain = by["once"].run_time_ns / doubled
        sentences.append(
            f"{case[1]} on {case[2]} ranks of study {case[0]}: twice the data cache makes "
            f"{BASELINE} {number(float(gain), 4)} times as fast, ldtct is "
            f"{number(float(doubled / bound), 4)} times as fast as that."
        )
    return sentences


def draw(figure: Figure, measured: Mapping[Case, Mapping[str, Figures]]) -> None:
    """As the table has it, how many times as fast as with twice the data cache: up is faster."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    colors = {
        "once": drawing.ORANGE,
        **dict(zip(CACHED, (drawing.GREEN, drawing.BLUE), strict=True)),
    }
    for place, (each, color) in enumerate(colors.items()):
        gains = [
            float(by["double"].run_time_ns / by[each].run_time_ns) - 1 for by in measured.values()
        ]
        at = [x + (place - 1.5) * 0.25 for x in range(len(gains))]
        label = f"{BASELINE}, data cache as it is" if each == "once" else each
        axes.bar(at, gains, bottom=1, width=0.25, align="edge", color=color, label=label)
    axes.set_xticks(range(len(measured)), [f"{s}\n{p}\n{n}" for s, p, n in measured], fontsize=7)
    axes.set(title=f"times as fast as {BASELINE} with twice the data cache")
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    drawing.legend_above(figure, [axes], columns=len(colors))


EXPERIMENT = Experiment(QUESTION, runs, report)
