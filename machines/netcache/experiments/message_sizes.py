"""netcache/message-sizes: how long the messages of programs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chasqui import histogram, messages
from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.text import number, table

from . import _npb
from ._workloads import Program, programs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = f"""\
How long are the messages of programs: up to 16 bytes, which fit a line of the network cache, up \
to 64 KiB, or longer? All messages of all ranks are counted, those of collectives apart. Lengths \
do not depend on the machine, so the runs are on loggp. NPB's CG, SP and BT are counted, too, \
where {_npb.FOLDER} names their folder."""

RANKS = (4, 16)
MOST_RANKS = 64  # of the study's programs alone: the paper counts on as many
QUICK = (4,)
# Other examples, for comparison with the study's programs, which _workloads has.
OTHERS = [
    Program("heat", "examples/heat", ["-n", "64", "-t", "20"]),
    Program("sort", "examples/sort", ["-n", "2048"]),
    Program("nbody", "examples/nbody", ["-n", "32", "-t", "4"]),
    Program("ring", "examples/ring", ["-l", "10"]),
]


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    ranks: int
    kind: str
    bytes_least: int
    bytes_most: int
    messages: int
    bytes: int


class ClassRow(NamedTuple):
    """The columns of classes.csv: the study's three classes."""

    program: str
    ranks: int
    length: str
    messages: int
    bytes: int


def runs(quick: bool) -> list[Run]:
    every = [
        (each, ranks)
        for ranks in (QUICK if quick else RANKS)
        for each in [*programs(ranks), *OTHERS, *_npb.programs(ranks)]
    ]
    if not quick:
        every += [(each, MOST_RANKS) for each in programs(MOST_RANKS)]
    return [
        Run(
            f"{each.name}-{ranks}", "loggp", ranks, each.program, flags=["-lm"],
            arguments=each.arguments,
        )
        for each, ranks in every
    ]  # fmt: skip


def report(outputs: Mapping[str, Output]) -> Report:
    rows: list[Row] = []
    classes: list[ClassRow] = []
    for output in outputs.values():
        name, ranks = output.run.name.rsplit("-", 1)[0], output.run.ranks
        found = histogram.count(messages.read(output.directory / "messages.parquet"), pairs=False)
        for key in found.ordered():
            rows.append(
                Row(name, ranks, key.kind, key.least, key.most, found.counts[key], found.sizes[key])
            )
        classes += [ClassRow(name, ranks, *each) for each in histogram.study(found)]
    results = Table("results", Row._fields, rows)
    return Report(
        tables=[results, Table("classes", ClassRow._fields, classes)],
        text=_class_table(classes) + "\n\n" + results.text(left=(0, 2)),
        findings=findings(classes),
        draw=lambda figure: draw(figure, rows),
        size_inches=(9.0, 5.6),
    )


def _class_table(classes: Sequence[ClassRow]) -> str:
    """Messages of each class, as the paper's table has them."""
    cases = list(dict.fromkeys((row.program, row.ranks) for row in classes))
    counts = {(row.program, row.ranks, row.length): row.messages for row in classes}
    rows = [
        [program, str(ranks), *(str(counts[program, ranks, name]) for name in histogram.STUDY)]
        for program, ranks in cases
    ]
    return "Messages by length\n" + table(["program", "ranks", *histogram.STUDY], rows)


def findings(classes: Sequence[ClassRow]) -> list[str]:
    said = []
    for program in dict.fromkeys(row.program for row in classes):
        most = max(row.ranks for row in classes if row.program == program)
        mine = [row for row in classes if (row.program, row.ranks) == (program, most)]
        total = sum(row.messages for row in mine)
        short = mine[0].messages
        share = number(100 * short / total, 3) if total else "none"
        said.append(
            f"{program} on {most} ranks: {share} % of {total} messages are {mine[0].length}."
        )
    return said


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Messages by length, on the most ranks on which every program was run."""
    from chasqui.experiment import drawing

    most = max(row.ranks for row in rows if row.ranks != MOST_RANKS)
    shown = [row for row in rows if row.ranks == most]
    names = list(dict.fromkeys(row.program for row in shown))
    colors = {histogram.POINT: drawing.BLUE, histogram.COLLECTIVE: drawing.ORANGE}
    columns = 4
    lines = -(-len(names) // columns)
    every = list(figure.subplots(lines, columns, squeeze=False, sharex=True).flat)
    for axes, name in zip(every, names, strict=False):
        below: dict[int, int] = {}
        for kind, color in colors.items():
            for row in shown:
                if (row.program, row.kind) != (name, kind):
                    continue
                place = row.bytes_most.bit_length()  # 0, 1, 2, 4 ...: 0, 1, 2, 3 ...
                bottom = below.get(place, 0)
                axes.bar(place, row.messages, bottom=bottom, color=color, width=0.8)
                below[place] = bottom + row.messages
        axes.set_axisbelow(True)
        axes.set_title(f"{name} ({sum(below.values())})")
        axes.axvline(5.5, color=drawing.BLACK, linewidth=0.8, linestyle=":")  # behind 16 bytes
        ticks = range(0, 18, 4)
        axes.set_xticks(ticks, [_length(place) for place in ticks])
        axes.set_xlim(-0.7, 17.7)
    for axes in every[len(names) :]:
        axes.remove()
    figure.supxlabel("longest message of the class [bytes]; dotted: 16 bytes")
    for kind, color in colors.items():
        every[0].bar(0, 0, color=color, label=kind)
    figure.legend(loc="outside upper right", ncols=2)


def _length(place: int) -> str:
    size = 1 << (place - 1) if place else 0
    return f"{size // 1024} Ki" if size >= 1024 else str(size)


EXPERIMENT = Experiment(QUESTION, runs, report, {_npb.KIND: _npb.ELSEWHERE})
