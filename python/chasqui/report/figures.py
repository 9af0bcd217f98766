"""LogGP figures with their spread: of directories that `chasqui logp --out` left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chasqui import loggp, messages
from chasqui.errors import InputError
from chasqui.files import read_json
from chasqui.report import palette
from chasqui.report.data import SUMMARY, is_run
from chasqui.report.frame import Page, Raw, join, note, table, tag
from chasqui.text import mean_ns

if TYPE_CHECKING:
    from chasqui.loggp import Figures, SizeFigures

PS_PER_US = 10**6


class Measured(NamedTuple):
    """What `chasqui logp` left of one machine."""

    directory: Path
    machine: str
    figures: Figures


def is_measurement(directory: Path) -> bool:
    """Run directories, each named by a size."""
    return not is_run(directory) and bool(_sizes(directory))


def _sizes(directory: Path) -> dict[int, Path]:
    """By size, the last attempt: SIZE, SIZE-2, SIZE-3."""
    found: dict[int, Path] = {}
    if directory.is_dir():
        for each in sorted(directory.iterdir(), key=lambda path: (len(path.name), path.name)):
            size, _, attempt = each.name.partition("-")
            if size.isdecimal() and (not attempt or attempt.isdecimal()) and is_run(each):
                found[int(size)] = each
    return found


def read(directory: Path) -> Measured:
    places = _sizes(directory)
    machine = str(read_json(next(iter(places.values())) / SUMMARY, "`chasqui logp`")["machine"])
    sizes = []
    for size, place in places.items():
        rows = messages.read(place / "messages.parquet")
        try:
            sizes.append(loggp.measure_size(size, rows))
        except (ValueError, IndexError, ZeroDivisionError) as error:
            raise InputError(f"{place}: no run of `chasqui logp`: {error}") from None
    return Measured(directory, machine, loggp.summarise(sizes))


def add(page: Page, found: Sequence[Measured]) -> None:
    if not found:
        page.section(
            "loggp",
            "LogGP",
            note(
                "A run has no LogGP figures. `chasqui logp --machine MACHINE --out DIR` measures "
                "the machine; `chasqui report RUN DIR` then has them here."
            ),
        )
        return
    page.section(
        "loggp",
        "LogGP",
        note("Times of the shortest size, but for G. A bound is marked ≤, with its reason."),
        table(
            ["machine", "L [ns]", "o_send [ns]", "o_recv [ns]", "g [ns]", "G [ns a byte]"],
            [_row(each) for each in found],
        ),
        join(
            note(f"{each.machine}: {name}: {why}")
            for each in found
            for name, why in each.figures.reasons.items()
        ),
        *(_machine(page, each, at) for at, each in enumerate(found)),
    )


def _row(each: Measured) -> list[str]:
    latency, *gaps = (
        ("≤ " if figure.is_bound else "") + mean_ns(figure.value)
        for figure in each.figures.machine.values()
    )
    overheads = [mean_ns(sample.mean) for sample in (each.figures.o_send, each.figures.o_recv)]
    return [each.machine, latency, *overheads, *gaps]


def _machine(page: Page, each: Measured, at: int) -> Raw:
    sizes = each.figures.sizes
    layout = {
        "height": 380,
        "xaxis": {
            "title": {"text": "bytes"},
            "type": "log",
            "tickvals": [max(size.bytes, 1) for size in sizes],
            "ticktext": [f"{size.bytes:,}" for size in sizes],
        },
        "yaxis": {"title": {"text": "time [us]"}, "type": "log", "dtick": 1},
        "legend": "below",
    }
    chart = page.chart(
        f"loggp{at}", _lines(sizes), layout, f"LogGP figures of {each.machine} by size"
    )
    names = list(sizes[0].samples)
    header = ["bytes", *(f"{name} [ns]" for name in names), "limited by"]
    rows = [
        [
            f"{size.bytes:,}",
            *(
                f"{mean_ns(sample.mean)} ({mean_ns(sample.low)} .. {mean_ns(sample.high)})"
                for sample in size.samples.values()
            ),
            size.limited_by,
        ]
        for size in sizes
    ]
    return join(
        [
            tag("h3", f"{each.machine}: mean, least and greatest by size"),
            chart,
            table(header, rows, left=(0, len(header) - 1)),
        ]
    )


def _lines(sizes: Sequence[SizeFigures]) -> list[dict[str, Any]]:
    traces = []
    for number, name in enumerate(sizes[0].samples):
        samples = [size.samples[name] for size in sizes]
        middles = [float(sample.mean) / PS_PER_US for sample in samples]
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": name,
                "x": [max(size.bytes, 1) for size in sizes], "y": middles,
                "line": {"color": palette.SEVERAL[number % len(palette.SEVERAL)]},
                "error_y": {
                    "type": "data", "symmetric": False, "thickness": 1, "width": 3,
                    "array": [float(s.high) / PS_PER_US - m
                              for s, m in zip(samples, middles, strict=True)],
                    "arrayminus": [m - float(s.low) / PS_PER_US
                                   for s, m in zip(samples, middles, strict=True)],
                },
            }
        )  # fmt: skip
    return traces
