"""voyager/modern: ways to hand a message to the NI from a processor of today."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

from ._timing import STREAM, TRIPS, Timing
from .mechanisms import (
    COLUMNS,
    DMA_ALONE,
    STREAM_BLOCKS,
    TRIPS_BLOCKS,
    Case,
    Figures,
    Key,
    case_label,
    crossover_sentences,
    crossovers,
    figures,
    row,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = """\
How should a processor of today hand a message to an NI that is behind a CXL link? By a store of 4 \
bytes (Express) or of 64 bytes with all data in it, posted or answered by the NI (as ENQCMD and \
ST64BV), or by a doorbell behind a slot in the NI's memory (Basic, with flushes) or behind a DMA \
request. The machine is voyager-modern; data begin in the sender's cache and end in the \
receiver's (DMA: in memory). A message longer than a mechanism takes at a time goes as several, \
whose sending and receiving overlap: then L may be less than nothing. A full queue holds up the \
network, there is no service processor."""

MACHINE = "voyager-modern"
# (mechanism, variant): the mechanism's name in mechanisms.c.
CASES: dict[Case, str] = {
    ("express", "-"): "express",
    ("store-64", "posted"): "wide",
    ("store-64", "answered"): "answered",
    ("basic", "flush"): "basic",
    ("dma", "flush"): "dma",
}
SMALL = (4, 8, 12, 16, 20, 28, 36, 44, 52, 60, 64, 76, 88, 92, 120, 176)
LONG = (256, 512, 1024, 2048, 4096)
EXPRESS_MAX = 1024  # as many words as its receive queue holds
BLOCKS = (8192, 16384, 65536)
QUICK = (4, 8, 60, 88, 256, 1024)
PAIRS: Sequence[tuple[Case, Case]] = [
    (("express", "-"), ("store-64", "posted")),
    (("store-64", "posted"), ("basic", "flush")),
    (("store-64", "posted"), ("dma", "flush")),
    (("basic", "flush"), ("dma", "flush")),
]
# The largest message of one packet, where the way to the NI and what is not known are varied; of
# DMA the least that its name promises.
VARIED: dict[Case, int] = {
    ("express", "-"): 4,
    ("store-64", "posted"): 60,
    ("store-64", "answered"): 60,
    ("basic", "flush"): 88,
    ("dma", "flush"): 4096,
}
STORES_64 = "-DSTORES_64=1"
ATTACH_NS = (0, 25, 50, 100, 200)
SHOWN = (4, 8, 60, 88, 256, 1024, 4096, 65536)


def _run(
    name: str, counts: tuple[int, int], points: Mapping[str, Sequence[int]], flag: str = STORES_64
) -> Run:
    """`counts`: trips of the ping-pong, messages of the stream."""
    sizes = [part for each, bytes_ in points.items() for part in (each, ",".join(map(str, bytes_)))]
    return Run(
        name=name,
        machine=MACHINE,
        ranks=2,
        program="mechanisms",
        # A load from the NI takes some 400 cycles.
        flags=["-DPHASES=4096", flag],
        arguments=[*map(str, counts), *sizes],
        sets=["voyager.sp.present=false"],
    )


def runs(quick: bool) -> list[Run]:
    sizes = QUICK if quick else (*SMALL, *LONG)
    points = {
        name: [size for size in sizes if name != "express" or size <= EXPRESS_MAX]
        for name in CASES.values()
    }
    blocks = BLOCKS[-1:] if quick else BLOCKS
    found = [
        _run("sizes", (TRIPS, STREAM), points),
        _run("blocks", (TRIPS_BLOCKS, STREAM_BLOCKS), {"dma": blocks}, DMA_ALONE),
    ]
    varied = _run("varied", (TRIPS, STREAM), {CASES[case]: [size] for case, size in VARIED.items()})
    found += [_behind(varied, ns) for ns in (ATTACH_NS[:2] if quick else ATTACH_NS)]
    ranged = sensitivity.ranged(MACHINE)
    return [*found, *sensitivity.runs(varied, ranged[:2] if quick else ranged)]


def _behind(base: Run, ns: int) -> Run:
    """The NI so far from the bus."""
    return replace(base, name=f"attach/{ns}", sets=[*base.sets, f"voyager.nes.attach={ns} ns"])


def measured(outputs: Mapping[str, Output]) -> dict[Key, Figures]:
    timings = [Timing(outputs[name]) for name in ("sizes", "blocks")]
    return {
        (*case, 1, size): figures(timing, name, size)
        for case, name in CASES.items()
        for timing in timings
        for size in timing.keys(f"{name}/left")
    }


def varied_figures(output: Output) -> dict[str, Fraction]:
    timing = Timing(output)
    found = {}
    for case, size in VARIED.items():
        each = figures(timing, CASES[case], size)
        found[f"{case_label(*case)} o_send"] = each.o_send
        found[f"{case_label(*case)} latency"] = each.latency
    return found


class Behind(NamedTuple):
    """The columns of attach.csv."""

    attach_ns: int
    mechanism: str
    variant: str
    size_bytes: int
    o_send_ns: Fraction
    o_recv_ns: Fraction
    latency_ns: Fraction


def over_attach(outputs: Mapping[str, Output]) -> dict[Case, list[Behind]]:
    """One packet by how far the NI is."""
    found: dict[Case, list[Behind]] = {case: [] for case in VARIED}
    for ns in ATTACH_NS:
        if f"attach/{ns}" not in outputs:
            continue
        timing = Timing(outputs[f"attach/{ns}"])
        for case, size in VARIED.items():
            each = figures(timing, CASES[case], size)
            row = Behind(ns, *case, size, each.o_send, each.o_recv, each.latency)
            found[case].append(row)
    return found


def crossings(attach: Mapping[Case, Sequence[Behind]]) -> list[str]:
    """How often a message's way crosses the link: what latency gains for each ns of it."""
    found = []
    for case, rows in attach.items():
        near, far = rows[0], rows[-1]
        slope = (far.latency_ns - near.latency_ns) / (far.attach_ns - near.attach_ns)
        found.append(f"{case_label(*case)} {number(float(slope), 2)}")
    return found


def logp_view(found: Mapping[Key, Figures]) -> str:
    rows = []
    for key, each in found.items():
        times = [each.o_send, each.o_recv, each.latency, each.rest, each.gap]
        rate = number(float(Fraction(key[3]) * 1000 / each.gap), 3)
        if key[3] in SHOWN:
            rows.append([*key[:2], f"{key[3]:,}", *map(_ns, times), rate])
    names = ["mechanism", "variant", "bytes", "o_send", "o_recv", "latency", "L", "gap", "MB/s"]
    return "Times in ns.\n" + table(names, rows, left=(0, 1))


def report(outputs: Mapping[str, Output]) -> Report:
    found = measured(outputs)
    crossed = crossovers(found, PAIRS)
    attach = over_attach(outputs)
    rows = sorted(row for each in attach.values() for row in each)
    behind = Table("attach", Behind._fields, rows)
    varied, varied_text, sentence = sensitivity.report(
        ["varied"], sensitivity.ranged(MACHINE), outputs, varied_figures
    )
    at = ", ".join(f"{case_label(*case)} {size:,}" for case, size in VARIED.items())
    four, sixty = found["express", "-", 1, 4], found["store-64", "posted", 1, 60]
    basic = found["basic", "flush", 1, 60]
    text = "\n\n".join(
        [
            logp_view(found),
            f"By how far the NI is (bytes: {at})\n{behind.text(left=(1, 2))}",
            "Change [%] when a value is the least or the greatest that is plausible, what moves "
            f"most first (bytes: {at})\n{varied_text}",
        ]
    )
    return Report(
        tables=[
            Table("results", COLUMNS, [row(key, each) for key, each in found.items()]),
            crossed,
            behind,
            varied,
        ],
        text=text,
        findings=[
            f"60 bytes by one 64-byte store take the sender {_ns(sixty.o_send)} ns, by a slot and "
            f"a doorbell {_ns(basic.o_send)}, 4 bytes by Express {_ns(four.o_send)}; from call to "
            f"data {_ns(sixty.latency)}, {_ns(basic.latency)} and {_ns(four.latency)} ns.",
            *crossover_sentences(crossed),
            "For each ns of the way to the NI the latency of a packet grows by (ns): "
            f"{', '.join(crossings(attach))}.",
            sentence,
        ],
        draw=lambda figure: draw(figure, found, attach),
        size_inches=(11.0, 7.0),
    )


def _ns(time: Fraction) -> str:
    return f"{float(time):,.0f}"


# --- picture -------------------------------------------------------------------------------------

COLORS: dict[Case, tuple[str, str]] = {
    ("express", "-"): ("BLUE", "-"),
    ("store-64", "posted"): ("GREEN", "-"),
    ("store-64", "answered"): ("GREEN", "--"),
    ("basic", "flush"): ("RED", "-"),
    ("dma", "flush"): ("BLACK", "-"),
}


def draw(
    figure: Figure, found: Mapping[Key, Figures], attach: Mapping[Case, Sequence[Behind]]
) -> None:
    from chasqui.experiment import drawing

    (sending, receiving), (latency, far) = figure.subplots(2, 2)
    panels: list[tuple[Axes, str, Callable[[Figures], float]]] = [
        (sending, "o_send [ns]", lambda each: float(each.o_send)),
        (receiving, "o_recv [ns]", lambda each: float(each.o_recv)),
        (latency, "latency [ns]", lambda each: float(each.latency)),
    ]
    for axes, title, value in panels:
        for case in CASES:
            points = [
                (key[3], value(each))
                for key, each in found.items()
                if key[:2] == case and key[3] <= LONG[-1]
            ]
            _plot(axes, case, points)
        axes.set(xlabel="message [bytes]", title=title)
        drawing.scale_bytes(axes, SMALL[0], LONG[-1])
        drawing.scale_decades(axes)
    for case, rows in attach.items():
        points = [(row.attach_ns, float(row.latency_ns)) for row in rows]
        _plot(far, case, points, f", {VARIED[case]:,} B")
    far.set(xlabel="from the bus to the NI [ns]", title="latency [ns]")
    far.set_ylim(bottom=0)
    drawing.label_ends(sending, receiving, latency, far)


def _plot(axes: Axes, case: Case, points: Sequence[tuple[float, float]], what: str = "") -> None:
    from chasqui.experiment import drawing

    color, dashes = COLORS[case]
    axes.plot(*zip(*points, strict=True), dashes, label=case_label(*case) + what,
              color=getattr(drawing, color))  # fmt: skip


EXPERIMENT = Experiment(QUESTION, runs, report)
