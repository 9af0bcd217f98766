"""netcache/long-messages: messages of several lines in the network cache, against DMA."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number

from . import _cache

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Up to which length of a message is the network cache better than DMA to the destination? Messages \
of 8 to 1,024 bytes that wait for their receives, 1 or 16 at a time; the receive, and the \
program's reading of each afterwards, under dmaver2 and by both designs of long messages, chained \
lines and independent lines with a network TLB, under dtct and ldtct. The network section has the \
128 lines of study C: 16 messages of 128 bytes fill it."""

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
WAITING = (1, 16)
ROUNDS = 4
CACHED = ("dtct", "ldtct")
DESIGNS = ("chained", "independent")
DMA = "dmaver2"


class Row(NamedTuple):
    """The columns of results.csv; times of one message."""

    policy: str
    design: str
    waiting: int
    bytes: int
    receive_ns: Fraction
    read_ns: Fraction
    migrations: int
    chained_evictions: int
    tlb_replacements: int
    fills: int
    asked: int


def _run(name: str, policy: str, design: str, waiting: int, size: int) -> Run:
    # Entries enough for every line: what is compared is how the lines are kept together.
    sets = [] if policy == DMA else [
        *_cache.PLENTY, "node.network_cache.longest=1 KiB", f"node.network_cache.long={design}",
    ]  # fmt: skip
    arguments = [str(size), str(waiting), str(ROUNDS)]
    return Run(name, f"netcache/{policy}", 2, "longer", arguments=arguments, sets=sets)


def runs(quick: bool) -> list[Run]:
    kinds = [(DMA, ""), *((policy, design) for policy in CACHED for design in DESIGNS)]
    sizes = (16, 64, 512) if quick else SIZES
    found = [
        _run(f"{policy}/{design}/{waiting}/{size}", policy, design, waiting, size)
        for policy, design in kinds
        for waiting in WAITING
        for size in sizes
    ]
    assumed = _cache.ASSUMED[1:2] if quick else _assumed()
    varied = sensitivity.assumptions("netcache/ldtct", assumed)
    return found + [run for base in _varied() for run in sensitivity.runs(base, varied)]


def _assumed() -> list[str]:
    return ["netcache.nic.deliver", *_cache.ASSUMED[1:]]


def _varied() -> list[Run]:
    """One message of 128 bytes, by the network cache and by DMA."""
    return [_run(f"varied-{policy}", policy, "chained", 1, 128) for policy in ("ldtct", DMA)]


def row(output: Output) -> Row:
    policy, design, waiting, size = output.run.name.split("/")
    return Row(
        policy, design, int(waiting), int(size),
        _cache.steady_ns(output, "receive") / int(waiting),
        _cache.steady_ns(output, "read") / int(waiting),
        *(_cache.counted(output, name, optional=policy == DMA)
          for name in ("migrations", "chained_evictions", "tlb_replacements", "fills", "asked")),
    )  # fmt: skip


def _figures(output: Output) -> Mapping[str, Fraction]:
    _, _, policy = output.run.machine.partition("/")
    return {f"{policy} {name}": _cache.steady_ns(output, name) for name in ("receive", "read")}


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row(output) for name, output in outputs.items() if not name.startswith("varied")]
    results = Table("results", Row._fields, found)
    varied, text, sentence = sensitivity.report(
        [base.name for base in _varied()],
        sensitivity.assumptions("netcache/ldtct", _assumed()), outputs, _figures,
    )  # fmt: skip
    return Report(
        tables=[results, varied],
        text=f"{results.text(left=(0, 1))}\n\n{text}",
        findings=[*findings(found), sentence],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 3.6),
    )


def total(row: Row) -> Fraction:
    """Until the program has read the message."""
    return row.receive_ns + row.read_ns


def findings(found: list[Row]) -> list[str]:
    by = {(row.policy, row.design, row.waiting, row.bytes): total(row) for row in found}
    sizes = sorted({row.bytes for row in found})
    sentences = []
    for waiting in WAITING:
        for policy in CACHED:
            for design in DESIGNS:
                better = [
                    size for size in sizes
                    if by[policy, design, waiting, size] < by[DMA, "", waiting, size]
                ]  # fmt: skip
                least, most = (
                    _cache.percent(by[policy, design, waiting, size], by[DMA, "", waiting, size])
                    for size in (sizes[0], sizes[-1])
                )
                listed = ", ".join(map(str, better)) or "none"
                sentences.append(
                    f"{waiting} waiting: {policy} with {design} lines is sooner than {DMA} at "
                    f"{listed} bytes; it takes {number(float(least), 3)} % of its time at "
                    f"{sizes[0]} and {number(float(most), 3)} % at {sizes[-1]} bytes."
                )
    return sentences


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    kinds = list(dict.fromkeys((row.policy, row.design) for row in found))
    colors = (drawing.BLACK, drawing.ORANGE, drawing.RED, drawing.SKY, drawing.BLUE)
    panels = figure.subplots(1, len(WAITING))
    for axes, waiting in zip(panels, WAITING, strict=True):
        for (policy, design), color in zip(kinds, colors, strict=True):
            mine = [
                (row.bytes, float(total(row)) / 1000)
                for row in found
                if (row.policy, row.design, row.waiting) == (policy, design, waiting)
            ]
            label = f"{policy} {design}".strip()
            axes.plot(*zip(*mine, strict=True), "o-", color=color, label=label)
        axes.set(xlabel="message [B]", title=f"receive and read, {waiting} waiting [us]")
        drawing.scale_bytes(axes, SIZES[0], SIZES[-1])
        drawing.scale_decades(axes)
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
