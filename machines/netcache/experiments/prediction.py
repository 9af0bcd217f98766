"""netcache/prediction: which message is consumed next, and what knowing it saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number

from . import _cache

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How well can the message that is consumed next be predicted, and what does a network cache save \
that keeps it? Predictors of message consumption after Afsahi and Dimopoulos, single-cycle and \
tagging, choose which unbound message makes room, instead of the least recently used: hit rates, \
messages that migrate to network memory and lines that come back. Programs that receive 96 waiting \
messages in the order of their arrival, in reverse, or shuffled, the same each round, and \
conjugate gradients; network sections of 32 and 64 lines."""

MACHINE = "netcache/ldtct"
REPLACEMENTS = ("lru", "single-cycle", "tagging")
ORDERS = ("arrival", "reverse", "shuffled")
WORKLOADS = (*ORDERS, "cg")
# Sets and ways of the network section.
SECTIONS = ((8, 4), (16, 4))
MESSAGES = 32  # of each of three ranks
ROUNDS = 8


class Row(NamedTuple):
    """The columns of results.csv."""

    workload: str
    lines: int
    replacement: str
    predictions: int
    predicted_right: int
    hit_rate_percent: Fraction
    bound: int
    migrations: int
    fills: int
    run_time_ns: Fraction


def _run(workload: str, sets: int, ways: int, replacement: str) -> Run:
    name = f"{workload}/{sets}/{ways}/{replacement}"
    base = (
        _cache.cg(name, MACHINE)
        if workload == "cg"
        else _cache.waiting(name, MACHINE, MESSAGES, ROUNDS, workload)
    )
    own = [
        *_cache.geometry(sets, ways),
        f"node.network_cache.replacement={replacement}",
        # As many receive calls as a round has, the library's own among them.
        "node.network_cache.predictor_entries=256",
    ]
    return replace(base, sets=[*_cache.PLENTY, *own])


def runs(quick: bool) -> list[Run]:
    workloads = (ORDERS[2], "cg") if quick else WORKLOADS
    sections = SECTIONS[:1] if quick else SECTIONS
    found = [
        _run(workload, *section, replacement)
        for workload in workloads
        for section in sections
        for replacement in REPLACEMENTS
    ]
    assumed = _assumed()[:1] if quick else _assumed()
    return found + sensitivity.runs(_varied(), sensitivity.assumptions(MACHINE, assumed))


def _assumed() -> list[str]:
    return ["node.network_cache.predictor_entries", *_cache.ASSUMED]


def _varied() -> Run:
    """128 receive calls in a round, of which the predictor keeps fewer: what it has by default."""
    base = _cache.waiting("varied", MACHINE, MESSAGES, ROUNDS, "shuffled")
    sets = [*_cache.geometry(*SECTIONS[0]), "node.network_cache.replacement=tagging"]
    return replace(base, sets=sets)


def row(output: Output) -> Row:
    workload, sets, ways, replacement = output.run.name.split("/")
    of = {
        name: _cache.counted(output, name)
        for name in ("predictions", "predicted", "bound", "migrations", "fills")
    }
    return Row(
        workload, int(sets) * int(ways), replacement, of["predictions"], of["predicted"],
        _cache.percent(of["predicted"], of["bound"]), of["bound"], of["migrations"], of["fills"],
        _cache.run_time_ns(output),
    )  # fmt: skip


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row(output) for name, output in outputs.items() if not name.startswith("varied")]
    results = Table("results", Row._fields, found)
    varied, text, sentence = sensitivity.report(
        ["varied"], sensitivity.assumptions(MACHINE, _assumed()), outputs,
        _cache.sensitivity_figures,
    )  # fmt: skip
    return Report(
        tables=[results, varied],
        text=f"{results.text(left=(0, 2))}\n\n{text}",
        findings=[*findings(found), sentence],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 3.4),
    )


def findings(found: list[Row]) -> list[str]:
    sentences = []
    by = {(row.workload, row.lines, row.replacement): row for row in found}
    for workload, lines in dict.fromkeys((row.workload, row.lines) for row in found):
        lru = by[workload, lines, "lru"]
        parts = []
        for replacement in REPLACEMENTS[1:]:
            other = by[workload, lines, replacement]
            saved = _cache.percent(lru.migrations - other.migrations, lru.migrations)
            time = _cache.percent(lru.run_time_ns - other.run_time_ns, lru.run_time_ns)
            parts.append(
                f"{replacement} predicts {number(float(other.hit_rate_percent), 3)} % and saves "
                f"{number(float(saved), 3)} % of {lru.migrations} migrations, "
                f"{number(float(time), 2)} % of the time"
            )
        sentences.append(f"{workload}, {lines} lines: {'; '.join(parts)}.")
    return sentences


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    workloads = list(dict.fromkeys(row.workload for row in found))
    lines = min(row.lines for row in found)
    colors = (drawing.ORANGE, drawing.BLUE, drawing.GREEN)
    rates, moved = figure.subplots(1, 2)
    for i, (replacement, color) in enumerate(zip(REPLACEMENTS, colors, strict=True)):
        mine = {
            row.workload: row
            for row in found
            if (row.lines, row.replacement) == (lines, replacement)
        }
        places = [at + (i - 1) * 0.27 for at in range(len(workloads))]
        migrations = [float(_cache.percent(mine[w].migrations, mine[w].bound)) for w in workloads]
        moved.bar(places, migrations, 0.25, color=color, label=replacement)
        if i:
            hits = [float(mine[w].hit_rate_percent) for w in workloads]
            rates.bar(places, hits, 0.25, color=color, label=replacement)
    for axes, title in ((rates, "predicted right"), (moved, f"migrations, {lines} lines")):
        axes.set(title=f"{title} [% of messages bound]", ylim=(0, None))
        axes.set_xticks(range(len(workloads)), workloads)
        axes.set_axisbelow(True)
    drawing.legend_above(figure, [moved], columns=len(REPLACEMENTS))


EXPERIMENT = Experiment(QUESTION, runs, report)
