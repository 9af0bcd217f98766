"""netcache/size: how large the network section must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Replay, Report, Run, Table, sensitivity
from chasqui.text import number

from . import _cache, ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How large must the network section be for messages that wait for their receives to stay in it? \
Lines that it replaces, by its sets and ways, and by the length of a pool of network memory, \
whose addresses index it; the message section is so large that it has no influence. Two programs: \
one that keeps 96 messages of a word waiting and receives them in another order, and conjugate \
gradients, whose messages are received about as they come. Then by how late messages come: rank 0 \
of a spectral transform alone, with messages of 8 bytes that were recorded and come at r times \
the recorded times."""

MACHINE = "netcache/ldtct"
SETS = (2, 4, 8, 16, 32, 64, 128)
WAYS = (1, 2, 4)
POOLS = (256, 512, 1024, 2048, 4096)
POOL_GEOMETRY = (16, 2)
QUICK_SETS = (2, 16, 128)
MESSAGES = 32  # of each of three ranks
ROUNDS = 4
PROGRAMS = ("waiting", "cg")
# By the pace of arrivals: all are there from the start, or they come as recorded.
REPLAYED = "spectral"
RATIOS = ("0", "0.25", "0.5", "0.75", "1", "1.5")
REPLAYED_SETS = (8, 16, 32, 64, 128)
REPLAYED_WAYS = 2
LARGE = (64, 4)  # sets and ways that the paper finds large enough (5.2.1)


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    sets: int
    ways: int
    pool_bytes: int
    network_replacements: int
    migrations: int
    fills: int
    bound: int
    run_time_ns: Fraction
    ratio: Fraction | None = None  # None: all ranks are simulated


def _run(program: str, sets: int, ways: int, pool: int) -> Run:
    name = f"{program}-{sets}-{ways}-{pool}"
    base = (
        _cache.waiting(name, MACHINE, MESSAGES, ROUNDS, "shuffled")
        if program == "waiting"
        else _cache.cg(name, MACHINE)
    )
    # What a pool holds: the shortest are shorter than the usual limit of a message without
    # rendezvous.
    own = [*_cache.geometry(sets, ways), f"netcache.nic.pool={pool} B", "netcache.mpi.eager=256 B"]
    return Run(
        name, MACHINE, base.ranks, base.program, flags=base.flags, arguments=base.arguments,
        sets=[*_cache.PLENTY, *own],
    )  # fmt: skip


def _replayed(quick: bool) -> list[Run]:
    """The recording, and rank 0 driven by it."""
    ranks, arguments = ratio.PROGRAMS[REPLAYED]
    whole = Run(
        f"{REPLAYED}-whole", f"netcache/{ratio.RECORDED}", ranks, f"examples/{REPLAYED}",
        flags=["-lm"], arguments=arguments,
    )  # fmt: skip
    found = [whole]
    sections = [(sets, REPLAYED_WAYS) for sets in REPLAYED_SETS] + [LARGE]
    for sets, ways in [(QUICK_SETS[-1], REPLAYED_WAYS)] if quick else sections:
        for pace in RATIOS[::4] if quick else RATIOS:
            settings = [*_cache.PLENTY, *_cache.geometry(sets, ways)]
            name = f"{REPLAYED}-{sets}-{ways}-{POOLS[-1]}-{pace}"
            replay = Replay(whole.name, ratio=pace)
            found.append(replace(whole, name=name, machine=MACHINE, sets=settings, replay=replay))
    return found


def points(quick: bool) -> list[tuple[str, int, int, int]]:
    found = [
        (program, sets, ways, POOLS[-1])
        for program in PROGRAMS
        for sets in (QUICK_SETS if quick else SETS)
        for ways in (WAYS[1:2] if quick else WAYS)
    ]
    pools = POOLS[:1] if quick else POOLS[:-1]
    found += [(program, *POOL_GEOMETRY, pool) for program in PROGRAMS for pool in pools]
    return found


def _varied() -> Run:
    """A third of the messages that wait have room."""
    base = _cache.waiting("varied", MACHINE, MESSAGES, ROUNDS, "shuffled")
    return replace(base, sets=_cache.geometry(*POOL_GEOMETRY))


def runs(quick: bool) -> list[Run]:
    assumed = _cache.ASSUMED[:1] if quick else _cache.ASSUMED
    varied = sensitivity.runs(_varied(), sensitivity.assumptions(MACHINE, assumed))
    return [_run(*point) for point in points(quick)] + _replayed(quick) + varied


def row(output: Output) -> Row:
    program, sets, ways, pool, *pace = output.run.name.split("-")
    return Row(
        program, int(sets), int(ways), int(pool),
        _cache.counted(output, "network_replacements"),
        _cache.counted(output, "migrations"),
        _cache.counted(output, "fills"),
        _cache.counted(output, "bound"),
        _cache.run_time_ns(output),
        *map(Fraction, pace),
    )  # fmt: skip


def report(outputs: Mapping[str, Output]) -> Report:
    others = ("varied", f"{REPLAYED}-whole")
    found = [row(output) for name, output in outputs.items() if not name.startswith(others)]
    results = Table("results", Row._fields, found)
    varied, text, sentence = sensitivity.report(
        ["varied"], sensitivity.assumptions(MACHINE, _cache.ASSUMED), outputs,
        _cache.sensitivity_figures,
    )  # fmt: skip
    return Report(
        tables=[results, varied],
        text=f"{results.text(left=(0,))}\n\n{text}",
        findings=[
            *(text for program in PROGRAMS for text in findings(program, found)),
            *paces(found),
            sentence,
        ],
        draw=lambda figure: draw(figure, found),
        size_inches=(11.0, 3.4),
    )


def findings(program: str, found: list[Row]) -> list[str]:
    mine = [row for row in found if (row.program, row.pool_bytes) == (program, POOLS[-1])]
    lines = {row.sets * row.ways for row in mine if row.migrations == 0}
    least = f"of {min(lines)} lines on" if lines else "of no size that was tried"
    worst = max(mine, key=lambda row: row.migrations)
    sentences = [
        f"{program}: no message leaves a network section {least}; the most, "
        f"{number(float(_cache.percent(worst.migrations, worst.bound)), 3)} % of those bound, "
        f"with {worst.sets} sets of {worst.ways}."
        if worst.migrations
        else f"{program}: no message leaves a network section of any size that was tried."
    ]
    pools = {
        row.pool_bytes: row.network_replacements
        for row in found
        if row.program == program and (row.sets, row.ways) == POOL_GEOMETRY
    }
    if len(pools) > 1:
        counts = ", ".join(f"{pools[pool]} at {pool} B" for pool in sorted(pools))
        sentences.append(f"{program}: replacements by length of a pool: {counts}.")
    return sentences


def paces(found: list[Row]) -> list[str]:
    """Lines replaced by sets and ways, by the pace of arrivals."""
    sentences = []
    for pace in sorted({row.ratio for row in found if row.ratio is not None}):
        mine = {
            (row.sets, row.ways): row.network_replacements for row in found if row.ratio == pace
        }
        counts = ", ".join(f"{mine[sets, ways]} with {sets}:{ways}" for sets, ways in sorted(mine))
        sentences.append(f"{REPLAYED}, r = {float(pace):g}: lines replaced: {counts}.")
    return sentences


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    colors = (drawing.ORANGE, drawing.BLUE, drawing.GREEN)
    *by_sets, by_pool, by_pace = figure.subplots(1, len(PROGRAMS) + 2)
    for axes, program in zip(by_sets, PROGRAMS, strict=True):
        for ways, color in zip(WAYS, colors, strict=True):
            mine = [
                (row.sets, row.network_replacements)
                for row in found
                if (row.program, row.ways, row.pool_bytes) == (program, ways, POOLS[-1])
            ]
            if mine:
                axes.plot(*zip(*mine, strict=True), "o-", color=color, label=f"{ways}-way")
        axes.set(xlabel="sets", title=f"{program}: lines replaced")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
    for program, color in zip(PROGRAMS, colors, strict=False):
        mine = sorted(
            (row.pool_bytes, row.network_replacements)
            for row in found
            if row.program == program and (row.sets, row.ways) == POOL_GEOMETRY
        )
        by_pool.plot(*zip(*mine, strict=True), "o-", color=color, label=program)
    sets, ways = POOL_GEOMETRY
    by_pool.set(xlabel="pool [B]", title=f"lines replaced, {sets} sets, {ways}-way")
    by_pool.set_xscale("log", base=2)
    by_pool.set_ylim(bottom=0)
    shades = (drawing.ORANGE, drawing.BLUE, drawing.GREEN, drawing.RED, drawing.SKY)
    for count, color in zip(REPLAYED_SETS, shades, strict=True):
        paced = sorted(
            (float(row.ratio), row.network_replacements)
            for row in found
            if row.ratio is not None and (row.sets, row.ways) == (count, REPLAYED_WAYS)
        )
        if paced:
            by_pace.plot(*zip(*paced, strict=True), "o-", color=color, label=f"{count} sets")
    by_pace.set(xlabel="r", title=f"{REPLAYED}, rank 0: lines replaced, {REPLAYED_WAYS}-way")
    by_pace.set_ylim(bottom=0)
    drawing.label_ends(*by_sets, by_pool, by_pace)


EXPERIMENT = Experiment(QUESTION, runs, report)
