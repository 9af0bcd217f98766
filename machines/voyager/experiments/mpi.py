"""voyager/mpi: what an MPI message takes by each mechanism, and so which should carry it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import core, loggp, measurement, messages
from chasqui.experiment import Experiment, Output, Report, Run, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
Which mechanism should carry an MPI message of which size? Overheads, latency end to end and the \
gap of the fastest stream between two ranks, as `chasqui logp` measures them: with the sizes at \
which the library changes from one mechanism to the next, and with each mechanism alone."""

BASIC = "voyager.mpi.mechanism=basic"
TAGGED = "voyager.mpi.tag_on=64 B"
EAGER = "voyager.mpi.eager=2 KiB"
RENDEZVOUS = "voyager.mpi.eager=48 B"
CROSSING = (64, 256, 512, 768, 1024, 1088, 1152, 1280)
SHORT = (4, 8, 16, 64, 512, 4096)


class Case(NamedTuple):
    """A setting of the library, and the sizes that are sent with it."""

    machine: str
    setting: str
    sets: Sequence[str]
    sizes: Sequence[int]


CASES = (
    Case("voyager", "auto", (), (0, 1, 4, 5, 8, 16, 64, 512, 4096)),
    Case("voyager", "basic", (BASIC,), SHORT),
    Case("voyager", "tag-on", ("voyager.mpi.mechanism=tag-on",), (8,)),
    Case("voyager", "tag_on = 64 B", (TAGGED,), (16, 64, 4096)),
    *(
        Case(f"voyager/{variant}", f"eager = {size}", (sets,), CROSSING)
        for variant in ("flush", "reclaim")
        for size, sets in (("2 KiB", EAGER), ("48 B", RENDEZVOUS))
    ),
    Case("voyager-modern", "auto", (), (12, 16, 32, 40)),
    Case("voyager-modern", "store_64 = 0", ("voyager.mpi.store_64=0 B",), (12, 16, 32, 40)),
)


class Row(NamedTuple):
    """The columns of results.csv."""

    machine: str
    setting: str
    size_bytes: int
    mechanism: str
    o_send_ns: Fraction
    o_recv_ns: Fraction
    latency_ns: Fraction
    L_ns: Fraction
    gap_ns: Fraction
    limited_by: str


def name_of(case: Case, size: int) -> str:
    return f"{case.machine}, {case.setting}, {size} bytes"


def runs(quick: bool) -> list[Run]:
    found = []
    for case in CASES:
        sizes = case.sizes[:1] if quick else case.sizes
        warm_ups = core.warm_up(case.machine, case.sets, sizes)
        for size, warm_up in zip(sizes, warm_ups, strict=True):
            arguments = measurement.plan(size, warm_up).arguments(size)
            found.append(
                Run(name_of(case, size), case.machine, 2, "bench/logp",
                    arguments=arguments, sets=case.sets)
            )  # fmt: skip
    return found


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for case in CASES:
        for size in case.sizes:
            output = outputs.get(name_of(case, size))
            if output is None:  # quick
                continue
            each = loggp.measure_size(size, messages.read(output.directory / "messages.parquet"))
            o_send, o_recv, latency, rest, gap = (
                Fraction(sample.mean) / 1000 for sample in each.samples.values()
            )
            mechanism = " and ".join(sorted(filter(None, each.mechanisms)))
            where = (case.machine, case.setting, size, mechanism)
            found.append(Row(*where, o_send, o_recv, latency, rest, gap, each.limited_by))
    return found


def crossing(found: Sequence[Row], variant: str) -> str:
    """Where rendezvous with DMA begins to have the shorter latency."""
    latency = {(row.setting, row.size_bytes): row.latency_ns for row in found
               if row.machine == f"voyager/{variant}"}  # fmt: skip
    sizes = sorted({size for _, size in latency})
    sooner = [s for s in sizes if latency["eager = 48 B", s] < latency["eager = 2 KiB", s]]
    where = f"from {sooner[0]:,} bytes on" if sooner else f"nowhere up to {sizes[-1]:,} bytes"
    return f"{variant}: DMA has the shorter latency {where}."


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    results = Table("results", Row._fields, found)
    return Report(
        tables=[results],
        text=results.text(left=(0, 1, 3, 9)),
        findings=[crossing(found, variant) for variant in ("flush", "reclaim")],
        draw=lambda figure: draw(figure, found),
        size_inches=(6.0, 4.0),
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Latency by Basic and by DMA over the size."""
    from chasqui.experiment import drawing

    axes = figure.subplots()
    colors = {"flush": drawing.BLUE, "reclaim": drawing.ORANGE}
    for variant, color in colors.items():
        for setting, name, dash in (("eager = 2 KiB", "Basic", "-"), ("eager = 48 B", "DMA", "--")):
            points = [
                (row.size_bytes, float(row.latency_ns) / 1000)
                for row in found
                if (row.machine, row.setting) == (f"voyager/{variant}", setting)
            ]
            axes.plot(*zip(*points, strict=True), dash, color=color, label=f"{variant}, {name}")
    axes.set(xlabel="message [bytes]", title="latency [us]")
    axes.set_ylim(bottom=0)
    drawing.label_ends(axes)


EXPERIMENT = Experiment(QUESTION, runs, report)
