"""netcache/inject: where a NIC of today should put a message, and what it displaces there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import messages
from chasqui.experiment import Experiment, Output, Report, Run, Table, mean, sensitivity, steady
from chasqui.text import number, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = """\
Where should a NIC of today put a message: into main memory, into ways of the L2 (as DDIO or cache \
stashing), into the L1 data cache at the receive (dtct), or into a network cache (ldtct); and what \
does that displace? The machine is netcache-modern. A process goes over a working set of its own \
until a train of messages has come, then receives and sums them up."""

MACHINE = "netcache-modern"
LINE_BYTES = 64
SIZES = (8, 64, 512)
TRAIN = 24
# Working sets: within the L1, within the L2, as large as the L2, larger [KiB].
SETS = (16, 512, 2048, 4096)
ROUNDS = 8
# Fewer points.
QUICK_SIZES, QUICK_SETS, QUICK_ROUNDS = (64,), (16, 2048), 3
WAYS = (1, 2, 4, 8, 16)
# What is not known is varied with messages of a line and a working set as large as the L2.
VARIED_SIZE, VARIED_SET = 64, 2048
VARIED = ("dram", "stash")


@dataclass(frozen=True)
class Where:
    """A place for messages."""

    name: str
    variant: str
    ways: int | None = None

    @property
    def sets(self) -> list[str]:
        return [] if self.ways is None else [f"node.l2.stash_ways={self.ways}"]


PLACES = [
    Where("memory", "dram"),
    *(Where(f"L2, {ways} ways", "stash", ways) for ways in WAYS),
    Where("L1", "dtct"),
    Where("network cache", "ldtct"),
]
USUAL = "L2, 2 ways"
QUICK_PLACES = ("memory", USUAL, "L1", "network cache")
# Counters of the L2: writes into lines that it held, lines that came, and what became of them.
STASH = ("updates", "lines", "used", "lost", "displaced")


class Row(NamedTuple):
    """The columns of results.csv."""

    place: str
    message_bytes: int
    working_set_kib: int
    receive_ns: Fraction
    compute_ns: Fraction
    first_access_ns: Fraction
    updated: int
    injected: int
    used: int
    lost: int
    displaced: int
    l2_misses: int


def runs(quick: bool) -> list[Run]:
    sizes, sets = (QUICK_SIZES, QUICK_SETS) if quick else (SIZES, SETS)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    every = [
        _run(_name(where.name, size, kib), where, size, kib, rounds)
        for where in PLACES
        if not quick or where.name in QUICK_PLACES
        for size in sizes
        for kib in sets
    ]
    ranged = sensitivity.ranged(MACHINE)
    varied = ranged[:1] if quick else ranged
    for variant in VARIED:
        base = _run(f"varied/{variant}", Where(variant, variant), VARIED_SIZE, VARIED_SET, rounds)
        every += sensitivity.runs(base, varied)
    return every


def _run(name: str, where: Where, size: int, kib: int, rounds: int) -> Run:
    arguments = [str(size), str(TRAIN), str(kib * 1024), str(rounds)]
    return Run(
        name, f"{MACHINE}/{where.variant}", 2, "inject", arguments=arguments, sets=where.sets,
        access_times=True,
    )  # fmt: skip


def _name(place: str, size: int, kib: int) -> str:
    return f"{place}/{size}/{kib}"


def row(place: str, size: int, kib: int, output: Output) -> Row:
    """Times of a train's message and of a line of the working set; counters of all rounds."""
    train = _train_ns(output, "receive")
    lines = kib * 1024 // LINE_BYTES
    return Row._make([
        place, size, kib, train / TRAIN, _train_ns(output, "compute") / lines,
        _first_access_ns(output),
        *(output.counters(f"stash.{name}", optional=True)[1] for name in STASH),
        output.counters("memory.l2_misses")[1],
    ])  # fmt: skip


def _train_ns(output: Output, what: str) -> Fraction:
    """Mean of the later trains: the first ones bring in pages."""
    found = [value for (name, _), (value,) in output.samples(1).items() if name == what]
    return mean(steady(found))


def _first_access_ns(output: Output) -> Fraction:
    """Mean from the entry of the receive to the first load of the data, of the later trains. Raises
    ValueError if a message came later than that entry: then the time would be partly waiting."""
    every = messages.read(output.directory / "messages.parquet")
    trains = [each for each in every if each.source == 0 and each.tag == 0]
    times = []
    for each in trains:
        called, landed = each.receive_call_ps, each.land_ps or each.arrive_ps
        if not called or not each.first_access_ps:
            continue
        if landed is None or landed > called:
            raise ValueError(f"{output.run.name}: message {each.sequence} was waited for")
        times.append(each.first_access_ps - called)
    return mean(steady(times)) / 1000


def sensitive(output: Output) -> dict[str, Fraction]:
    variant = output.run.machine.rpartition("/")[2]
    found = row(variant, VARIED_SIZE, VARIED_SET, output)
    return {f"{variant}, receive": found.receive_ns, f"{variant}, compute": found.compute_ns}


def report(outputs: Mapping[str, Output]) -> Report:
    rows = [
        row(where.name, size, kib, outputs[_name(where.name, size, kib)])
        for size in SIZES
        for kib in SETS
        for where in PLACES
        if _name(where.name, size, kib) in outputs
    ]
    ranged = sensitivity.ranged(MACHINE)
    bases = [f"varied/{variant}" for variant in VARIED]
    changes, changes_text, sentence = sensitivity.report(bases, ranged, outputs, sensitive)
    return Report(
        tables=[Table("results", Row._fields, rows), changes],
        text=f"{_shown(rows)}\n\nChange [%] when a value is the least or the greatest that is "
        f"plausible, what moves most first, messages of {VARIED_SIZE} bytes, working set of "
        f"{VARIED_SET} KiB\n{changes_text}",
        findings=[*_sentences(rows), sentence],
        draw=lambda figure: draw(figure, rows),
        size_inches=(11.0, 7.0),
    )


def _shown(rows: Sequence[Row]) -> str:
    header = ["bytes", "working set KiB", "place", "receive ns", "first access ns",
              "compute ns a line", "updated", "injected", "used", "lost", "displaced",
              "L2 misses"]  # fmt: skip
    lines = [
        [str(r.message_bytes), str(r.working_set_kib), r.place, f"{float(r.receive_ns):,.0f}",
         f"{float(r.first_access_ns):,.0f}", f"{float(r.compute_ns):.2f}",
         *(f"{value:,}" for value in r[Row._fields.index("updated") :])]
        for r in rows
    ]  # fmt: skip
    return (
        f"Times of a message and of a line; counters of rank 1.\n{table(header, lines, left=(2,))}"
    )


def _sentences(rows: Sequence[Row]) -> list[str]:
    """For each size and working set what the places save, and what they cost."""
    by = {(r.place, r.message_bytes, r.working_set_kib): r for r in rows}
    sentences = []
    for size, kib in dict.fromkeys((r.message_bytes, r.working_set_kib) for r in rows):
        memory, stash = by["memory", size, kib], by[USUAL, size, kib]
        same = [r for r in rows if (r.message_bytes, r.working_set_kib) == (size, kib)]
        best = min(same, key=lambda r: r.receive_ns)
        slowed = stash.compute_ns / memory.compute_ns - 1
        lost = f", {stash.lost} of {stash.injected} lost" if stash.injected else ""
        sentences.append(
            f"{size} bytes, working set of {kib} KiB: received fastest by {best.place}, "
            f"{number(float(memory.receive_ns / best.receive_ns), 3)} times as fast as from "
            f"memory; by two ways of the L2 "
            f"{number(float(memory.receive_ns / stash.receive_ns), 3)} times, and the process's "
            f"own accesses take {float(100 * slowed):+.1f} %{lost}."
        )
    return sentences


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Times to receive, and of the working set's lines over those with messages in memory, by the
    working set and message size."""
    sizes = list(dict.fromkeys(r.message_bytes for r in rows))
    axes = figure.subplots(2, len(sizes), sharex=True, squeeze=False)
    for column, size in enumerate(sizes):
        own = [r for r in rows if r.message_bytes == size]
        _lines(axes[0][column], own, [float(r.receive_ns) for r in own])
        memory = {r.working_set_kib: r.compute_ns for r in own if r.place == "memory"}
        ratios = [float(r.compute_ns / memory[r.working_set_kib]) for r in own]
        _lines(axes[1][column], own, ratios)
        axes[0][column].set(title=f"receiving {size} bytes [ns]", ylim=(0, None))
        axes[1][column].set(
            title="the process's own time over memory's", xlabel="working set [KiB]"
        )
    axes[0][0].legend(frameon=False, fontsize=7)


def _lines(axes: Axes, own: Sequence[Row], values: Sequence[float]) -> None:
    from chasqui.experiment import drawing

    shown = {
        "memory": drawing.BLACK, "L2, 1 ways": drawing.SKY, USUAL: drawing.BLUE,
        "L2, 16 ways": drawing.PURPLE, "L1": drawing.GREEN, "network cache": drawing.ORANGE,
    }  # fmt: skip
    for place, color in shown.items():
        points = [(r.working_set_kib, v) for r, v in zip(own, values, strict=True) if r[0] == place]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", color=color, label=place)
    axes.set_xscale("log", base=2)


EXPERIMENT = Experiment(QUESTION, runs, report)
