"""flash/radix: which radix sorts fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Which radix sorts 65,536 keys of 20 bits fastest by loads and stores? A larger one needs fewer \
passes, and more of the cache for its histogram; in each pass every key is stored where it \
belongs next. By processors, with a cache that the keys never fit and one that they fit. Times \
are relative to the best radix on the same machine."""

PROCESSORS = (1, 4, 16, 64)
SIZES = (16384, _flash.KEYS)  # the document has the latter; the other is quick
CACHES = ((8, 32), (8, 64), (8, 128), (64, 64))  # KiB, and bytes of a line
SLOWEST = "load-store, radix 1024"  # only with lines of 64 B
OTHER_LINES = 16  # processors
QUICK_RADIX = ("load-store, radix 128", "load-store, radix 1024")


def points(quick: bool) -> list[_flash.Point]:
    small = [_flash.Point("radix", variant, SIZES[0], 4) for variant in QUICK_RADIX]
    if quick:
        return small
    return small + [
        _flash.Point("radix", variant, SIZES[1], processors, line, cache)
        for cache, line in CACHES
        for processors in PROCESSORS
        for variant in _flash.VARIANTS["radix"]
        if line == _flash.LINE or (variant != SLOWEST and processors == OTHER_LINES)
    ]


def runs(quick: bool) -> list[Run]:
    return _flash.runs(points(quick))


def of_radix(variant: str) -> str:
    return variant.rpartition(", ")[2]


def findings(found: Sequence[Row]) -> list[str]:
    size = max(row.size for row in found)
    sentences = []
    for cache in sorted({row.cache_bytes for row in found if row.size == size}):
        mine = [row for row in found if (row.size, row.cache_bytes) == (size, cache)]
        mine = [row for row in mine if row.line_bytes == _flash.LINE]
        best = min(mine, key=lambda row: row.run_time_ns)
        winners = [
            f"{of_radix(row.variant)} with {row.processors}"
            for row in mine
            if row.relative_to_load_store == 1
        ]
        sentences.append(
            f"{size} keys, caches of {cache // 1024} KiB, lines of {_flash.LINE} B: best are "
            f"{', '.join(winners)}; of all {of_radix(best.variant)} with {best.processors}, where "
            f"processors wait for {_flash.percent(best.communication_share)} of their time for "
            "data of others."
        )
    return sentences


def report(outputs: Mapping[str, Output]) -> Report:
    found = [row for _, row in _flash.rows(points(False), outputs)]
    return _flash.report(Row._fields, found, findings(found), lambda figure: draw(figure, found))


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Times over processors, a curve a radix."""
    from chasqui.experiment import drawing

    size = max(row.size for row in found)
    panels = figure.subplots(1, 2)
    for axes, cache in zip(panels, sorted({cache for cache, _ in CACHES}), strict=True):
        curves = {
            of_radix(variant): [
                (row.processors, float(row.relative_to_load_store))
                for row in found
                if (row.size, row.cache_bytes, row.line_bytes, row.variant)
                == (size, cache * 1024, _flash.LINE, variant)
            ]
            for variant in _flash.VARIANTS["radix"]
        }
        _flash.over_processors(axes, curves, f"{cache} KiB: time / that of the best radix")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
