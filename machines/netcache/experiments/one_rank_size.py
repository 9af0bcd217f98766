"""netcache/one-rank-size: how large the network section must be for one rank of 64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import messages
from chasqui.experiment import Experiment, Output, Replay, Report, Run, Table, sensitivity

from . import _cache, _npb
from ._workloads import START, Program, machine
from .one_rank import RANKS, RECORDED, SHORT, programs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How many lines does the network section replace at one rank of 64, the paper's own case, by its \
sets and ways and by how early messages come? Rank 0 is simulated alone, of a spectral transform \
and, where its sources are given, of NPB's CG of class A, under ldtct with the caches of study A \
but for the network section, and with message and process sections so large that they have no \
influence. Messages were recorded in a run of all ranks under dmaver2; one that came at time t \
after the end of MPI_Init there comes at time r t after its end here. A short message is early if \
it has landed before its receive is posted: with r = 0 nearly all are. The paper's table 5.4 has \
them all early, 5.5 most of them, on another machine's times: so tables are compared by how many \
are early, not by r."""

POLICY, STUDY = "ldtct", "A"
# Sets and ways: those of table 5.4, for messages that all wait, and those of table 5.5.
LARGER = ((16, 2), (32, 4), (64, 4), (128, 2), (128, 4))
SMALLER = ((2, 1), (2, 2), (4, 2), (8, 2), (8, 4))
# By r. With these caches CG's rank 0 begins to wait for messages between r = 1.03 and 1.035; a few
# hundredths about that decide how many are early.
SECTIONS = {
    "0": LARGER, "1": SMALLER, "1.023": LARGER, "1.03": SMALLER, "1.035": SMALLER, "1.04": SMALLER,
    "1.1": SMALLER,
}  # fmt: skip
QUICK = {"0": LARGER[:1], "1": SMALLER[:1]}
ASSUMED = ("netcache.nic.receive", "netcache.nic.access", "node.bus.address")
VARIED, VARIED_SECTION = "varied", (16, 2)


class Row(NamedTuple):
    """The columns of results.csv: of rank 0."""

    program: str
    ratio: Fraction
    sets: int
    ways: int
    network_replacements: int
    migrations: int  # messages that have left the section before their receive
    bound: int
    messages: int
    short: int
    early: int  # short ones that landed before their receives were posted
    run_time_ns: Fraction  # from the end of MPI_Init


def runs(quick: bool) -> list[Run]:
    ranks = 4 if quick else RANKS
    found = [Run(START.name, machine(STUDY, POLICY), ranks, START.program, sets=_cache.PLENTY)]
    for program in programs(quick):
        whole = _whole(program, ranks)
        found.append(whole)
        found += [
            _replayed(f"{program.name}/{ratio}/{sets}/{ways}", whole, ratio, (sets, ways), program)
            for ratio, sections in (QUICK if quick else SECTIONS).items()
            for sets, ways in sections
        ]
    return found + _varied(quick, ranks)


def _whole(program: Program, ranks: int) -> Run:
    """All ranks, recorded."""
    return Run(
        f"whole/{program.name}", f"netcache/{RECORDED}", ranks, program.program, flags=["-lm"],
        arguments=program.arguments,
    )  # fmt: skip


def _replayed(name: str, whole: Run, ratio: str, section: tuple[int, int], program: Program) -> Run:
    replay = Replay(
        whole.name, ratio=ratio, begins_as=START.name, ignored_lines=program.ignored_lines
    )
    sets = [*_cache.PLENTY, *_cache.geometry(*section)]
    return replace(whole, name=name, machine=machine(STUDY, POLICY), sets=sets, replay=replay)


def _varied(quick: bool, ranks: int) -> list[Run]:
    """The spectral transform with all messages early, and a section that is too small for them."""
    spectral = programs(quick)[0]
    assumed = sensitivity.assumptions("netcache", ASSUMED[:1] if quick else ASSUMED)
    base = _replayed(VARIED, _whole(spectral, ranks), "0", VARIED_SECTION, spectral)
    return sensitivity.runs(base, assumed)


# --- figures -------------------------------------------------------------------------------------


def row(output: Output) -> Row:
    program, ratio, sets, ways = output.run.name.split("/")
    landed = [
        (each.bytes or 0, each.land_ps, each.post_ps)
        for each in messages.read(output.directory / "messages.parquet")
        if each.destination == 0 and each.land_ps is not None
    ]
    short = [(land, post) for size, land, post in landed if size <= SHORT]
    return Row._make([
        program, Fraction(ratio), int(sets), int(ways),
        *(_counted(output, name) for name in ("network_replacements", "migrations", "bound")),
        len(landed), len(short),
        sum(post is not None and land < post for land, post in short),
        _run_time_ns(output),
    ])  # fmt: skip


def _counted(output: Output, name: str) -> int:
    """Of rank 0's network cache."""
    return output.counters(f"network_cache.{name}", optional=True)[0]


def _run_time_ns(output: Output) -> Fraction:
    return Fraction(output.summary["time_ps"] - output.initialised_ps(0), 1000)


def _varied_figures(output: Output) -> dict[str, Fraction]:
    return {
        "network_replacements": Fraction(_counted(output, "network_replacements")),
        "run_time_ns": _run_time_ns(output),
    }


# --- report --------------------------------------------------------------------------------------


def report(outputs: Mapping[str, Output]) -> Report:
    others = (f"{VARIED}/", "whole/")
    found = [
        row(output)
        for name, output in outputs.items()
        if name != START.name and not name.startswith(others)
    ]
    assumed = sensitivity.assumptions("netcache", ASSUMED)
    changes, text, sentence = sensitivity.report([VARIED], assumed, outputs, _varied_figures)
    results = Table("results", Row._fields, found)
    return Report(
        tables=[results, changes],
        text=f"{results.text(left=(0,))}\n\n"
        f"Change [%] with assumptions halved or doubled (spectral, r = 0)\n{text}",
        findings=[*_sentences(found), sentence],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 3.6),
    )


def _by_pace(found: Sequence[Row]) -> dict[tuple[str, Fraction], list[Row]]:
    paces: dict[tuple[str, Fraction], list[Row]] = {}
    for each in found:
        paces.setdefault((each.program, each.ratio), []).append(each)
    return paces


def _sentences(found: Sequence[Row]) -> list[str]:
    said = []
    for (program, ratio), rows in _by_pace(found).items():
        counts = ", ".join(f"{each.network_replacements:,} with {each.sets}:{each.ways}"
                           for each in rows)  # fmt: skip
        early = sorted({each.early for each in rows})
        how_many = " to ".join(f"{count:,}" for count in dict.fromkeys((early[0], early[-1])))
        said.append(
            f"{program}, r = {float(ratio):g}: {how_many} of {rows[0].short:,} short messages are "
            f"early. Lines replaced: {counts}."
        )
    return said


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Lines replaced by the section's size, a series for each pace."""
    from chasqui.experiment import drawing

    names = list(dict.fromkeys(each.program for each in found))
    # The smaller sections first, from left to right.
    colors = (
        drawing.BLACK, drawing.PURPLE, drawing.BLUE, drawing.SKY, drawing.GREEN, drawing.ORANGE,
        drawing.RED,
    )  # fmt: skip
    paces = dict(zip(reversed(SECTIONS), colors, strict=True))
    grid = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, program in zip(grid, names, strict=True):
        for pace, color in paces.items():
            mine = [
                each for each in found if (each.program, each.ratio) == (program, Fraction(pace))
            ]
            at = [f"{each.sets}:{each.ways}" for each in mine]
            axes.plot(
                at, [each.network_replacements for each in mine], "o-", color=color,
                label=f"r = {pace}",
            )  # fmt: skip
        axes.set(title=f"{program}: lines replaced", xlabel="sets:ways of the network section")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report, {_npb.KIND: _npb.ELSEWHERE})
