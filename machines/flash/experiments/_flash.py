"""What flash's experiments share: points, the runs of a point, what these say, curves.

A point has two runs: the program, and the same without its parallel section (`rest`). What the
section adds to a counter is the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from chasqui.experiment import Output, Report, Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICK_NS = 10  # node.core.timebase: 100 MHz (a test compares)
LINES = (32, 64, 128)
LINE, CACHE_KIB = 64, 8
LOAD_STORE = "load-store"
REST = "rest."  # as long as "whole": parallel.h
KEYS = 65536  # of the radix sort
# By program: the variants, and the argument that asks for one. The first is the base.
VARIANTS: dict[str, dict[str, str]] = {
    "fft": {
        LOAD_STORE: "pull",
        f"{LOAD_STORE}, sender-initiated": "push",
        "block transfer, unblocked": "line",
        "block transfer, blocked": "tile",
        "block transfer, receiver transposes": "copy",
        "block transfer, sub-partitioned": "part",
    },
    "lu": {
        LOAD_STORE: "0",
        f"{LOAD_STORE}, one block": "1",
        f"{LOAD_STORE}, all blocks": "n",
    },
    "ocean": {LOAD_STORE: "pull"},
    "radix": {f"{LOAD_STORE}, radix {1 << bits}": f"{bits:02}" for bits in (5, 7, 10)},
}
# Counters of a node whose sums are the section's contention.
WAITS = ("directory.controller_waits_ps", "directory.memory_waits_ps")
REMOTE = ("directory.reads_remote", "directory.writes_remote")
LOCAL = ("directory.reads_local", "directory.writes_local")


class Point(NamedTuple):
    """What is measured. `setting` names what the machine has beside it, `sets`."""

    program: str
    variant: str
    size: int
    processors: int
    line: int = LINE
    cache_kib: int = CACHE_KIB
    setting: str = ""
    sets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.variant}, {self._common}"

    @property
    def rest(self) -> str:
        """The same for every variant: what is not measured does not depend on it."""
        return f"rest, {self._common}"

    @property
    def _common(self) -> str:
        words = (self.program, self.size, self.processors, self.line, self.cache_kib, self.setting)
        return ", ".join(map(str, words))

    def run(self, part: str) -> Run:
        """Its program, or the rest of it."""
        word = VARIANTS[self.program][self.variant]
        machine = (
            f"flash.nodes={self.processors}",
            f"node.l1d.line={self.line} B",
            f"node.l1d.size={self.cache_kib} KiB",
        )
        return Run(
            self.rest if part == REST else self.name, "flash", 1, self.program,
            arguments=[word, str(self.size), str(self.processors), part],
            sets=[*machine, *self.sets],
        )  # fmt: skip


class Row(NamedTuple):
    """The columns of results.csv. Shares are of the processors' time in the section: they wait for
    memory while they work on data of others (communication) or on their own (memory), in a barrier
    until the last has come (idle), and longer (synchronization). Contention is how long messages
    and accesses wait for a controller or a memory, beside that time: several wait at once, and some
    for no processor. Requests are those that processors make: lines that they miss, and rights to
    write."""

    program: str
    variant: str
    processors: int
    line_bytes: int
    cache_bytes: int
    size: int
    run_time_ns: int
    relative_to_load_store: Fraction
    communication_share: Fraction
    contention_share: Fraction
    synchronization_share: Fraction
    idle_share: Fraction
    memory_share: Fraction
    remote_requests: int
    local_requests: int


def runs(points: Iterable[Point]) -> list[Run]:
    found: dict[str, Run] = {}
    for point in points:
        found[point.name] = point.run("whole")
        found.setdefault(point.rest, point.run(REST))
    return list(found.values())


def rows(points: Iterable[Point], outputs: Mapping[str, Output]) -> list[tuple[Point, Row]]:
    """Of the points whose outputs are there. A result is the same bits whatever the machine."""
    here = [point for point in points if point.name in outputs]
    checksums: dict[tuple[str, int], int] = {}
    for point in here:
        (checksum,) = outputs[point.name].samples(0)["checksum", point.size]
        expected = checksums.setdefault((point.program, point.size), checksum)
        assert checksum == expected, f"{point.name}: another result than of other runs"
    times = {point: run_time_ns(outputs[point.name], point.processors) for point in here}
    return [(point, _row(point, outputs, times)) for point in here]


def run_time_ns(output: Output, processors: int) -> int:
    return output.samples(0)["times", processors][0] * TICK_NS


def base_ns(point: Point, times: Mapping[Point, int]) -> int:
    """Of load-store on the same machine; of several such the fastest."""
    names = list(VARIANTS[point.program])
    bases = names if point.program == "radix" else names[:1]
    same = [point._replace(variant=name) for name in bases if name.startswith(LOAD_STORE)]
    return min(times[each] for each in same if each in times)


def _row(point: Point, outputs: Mapping[str, Output], times: Mapping[Point, int]) -> Row:
    output, rest = outputs[point.name], outputs[point.rest]
    ticks, cycles, computing, communicating, _, waited, idle = output.samples(0)[
        "times", point.processors
    ]

    def added(names: Sequence[str]) -> int:
        return sum(sum(output.counters(name)) - sum(rest.counters(name)) for name in names)

    all_ticks = point.processors * ticks
    time_ns = ticks * TICK_NS
    return Row(
        point.program, point.variant, point.processors, point.line, point.cache_kib * 1024,
        point.size, time_ns, Fraction(time_ns, base_ns(point, times)),
        Fraction(communicating, cycles),
        Fraction(added(WAITS), 1000 * point.processors * time_ns),
        Fraction(waited - idle, all_ticks), Fraction(idle, all_ticks),
        Fraction(computing, cycles), added(REMOTE), added(LOCAL),
    )  # fmt: skip


def report(
    columns: Sequence[str],
    found: Sequence[tuple[Any, ...]],
    findings: Sequence[str],
    draw: Callable[[Figure], None],
    *,
    left: Sequence[int] = (0, 1),
    size_inches: tuple[float, float] = (9.0, 3.4),
) -> Report:
    """Of rows: their table, and a picture."""
    results = Table("results", columns, found)
    return Report([results], results.text(left=left), findings, draw, size_inches)


def hues() -> tuple[str, ...]:
    from chasqui.experiment import drawing

    return (drawing.BLUE, drawing.ORANGE, drawing.GREEN, drawing.RED, drawing.SKY, drawing.PURPLE)


def over_processors(
    axes: Axes, curves: Mapping[str, Sequence[tuple[int, float]]], title: str
) -> None:
    """Curves by name."""
    for (name, points), hue in zip(curves.items(), hues(), strict=False):
        if points:
            axes.plot(*zip(*sorted(points), strict=True), "o-", color=hue, label=name)
    axes.set(xlabel="processors", title=title)
    axes.set_xscale("log", base=2)
    ticks = sorted({count for points in curves.values() for count, _ in points})
    axes.set_xticks(ticks, [str(count) for count in ticks])
    axes.set_ylim(bottom=0)


def relative(axes: Axes, found: Iterable[Row], title: str) -> None:
    """As the document draws it: time relative to load-store, one curve a line size."""
    found = list(found)
    curves = {
        f"{line} B": [
            (row.processors, float(row.relative_to_load_store))
            for row in found
            if row.line_bytes == line
        ]
        for line in LINES
    }
    over_processors(axes, curves, title)
    axes.axhline(1, color="#888888", linewidth=0.8)


def percent(share: Fraction) -> str:
    return f"{float(100 * share):.0f} %"


# --- the same on other machines ------------------------------------------------------------------

SETTING_COLUMNS = ("setting", *Row._fields, "relative_to_first_setting")


def setting_rows(
    points: Iterable[Point], outputs: Mapping[str, Output]
) -> list[tuple[str, Row, Fraction]]:
    """With the time relative to that of the first setting."""
    found = rows(points, outputs)
    first: dict[Point, int] = {}
    settled = []
    for point, row in found:
        base = first.setdefault(point._replace(setting="", sets=()), row.run_time_ns)
        settled.append((point.setting, row, Fraction(row.run_time_ns, base)))
    return settled


def setting_report(
    found: Sequence[tuple[str, Row, Fraction]],
    findings: Sequence[str],
    drawn: Sequence[tuple[str, Row, Fraction]] = (),
) -> Report:
    """The picture has `drawn`, or all."""
    flat = [(setting, *row, relative) for setting, row, relative in found]
    return report(
        SETTING_COLUMNS, flat, findings, lambda figure: _draw_settings(figure, drawn or found),
        left=(0, 1, 2), size_inches=(9.0, 3.6),
    )  # fmt: skip


def _draw_settings(figure: Figure, found: Sequence[tuple[str, Row, Fraction]]) -> None:
    """Bars: by program and variant, time relative to the first setting."""
    settings = list(dict.fromkeys(setting for setting, _, _ in found))
    names = list(dict.fromkeys((row.program, row.variant) for _, row, _ in found))
    axes = figure.subplots()
    width = 0.8 / len(settings)
    for at, (setting, hue) in enumerate(zip(settings, hues(), strict=False)):
        heights = {
            (row.program, row.variant): float(relative)
            for which, row, relative in found
            if which == setting
        }
        axes.bar(
            [place + at * width for place, name in enumerate(names) if name in heights],
            [heights[name] for name in names if name in heights],
            width, color=hue, label=setting,
        )  # fmt: skip
    labels = [f"{program}\n{variant.replace(', ', chr(10))}" for program, variant in names]
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(names))], labels)
    axes.set(title=f"time / that with {settings[0]}")
    axes.legend()


# What such experiments run: program, variant, size.
COMPARED = (
    ("fft", LOAD_STORE, 65536),
    ("fft", f"{LOAD_STORE}, sender-initiated", 65536),
    ("fft", "block transfer, blocked", 65536),
    ("fft", "block transfer, sub-partitioned", 65536),
    ("lu", LOAD_STORE, 256),
    ("lu", f"{LOAD_STORE}, all blocks", 256),
    ("radix", f"{LOAD_STORE}, radix 128", KEYS),
)
COMPARED_PROCESSORS = 16
COMPARED_QUICK = ("lu", LOAD_STORE, 128)


def setting_points(settings: Mapping[str, tuple[str, ...]], quick: bool) -> list[Point]:
    """Each program in each setting; when quick one, a smaller one, in the first and the last."""
    first, *_, last = settings.items()
    found = [
        Point(*COMPARED_QUICK, 4, setting=setting, sets=sets) for setting, sets in (first, last)
    ]
    if not quick:
        found += [
            Point(*compared, COMPARED_PROCESSORS, setting=setting, sets=sets)
            for compared in COMPARED
            for setting, sets in settings.items()
        ]
    return found


def setting_findings(found: Sequence[tuple[str, Row, Fraction]]) -> list[str]:
    return [
        f"{row.program}, {row.variant}, {row.size}, {row.processors} processors: with {setting} "
        f"{float(relative):.2f} of the time; {percent(row.communication_share)} of it waiting for "
        "data of others."
        for setting, row, relative in found
        if setting != found[0][0]
    ]
