"""flash/assumptions: how much rests on what no source gives."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity

from . import _flash
from ._flash import LOAD_STORE, Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How much do the programs' times move with values that are ours, or that the document's table \
leaves open? Each is halved and doubled; or is the other reading: a queue of 8 cycles in all and \
not each way, a header of 4 bytes and not 32, room for one message. With 16 processors and lines \
of 64 B."""

ASSUMED = (
    "flash.controller.retry",
    "node.write_buffer.entries",
    "node.write_buffer.posted",
    "node.l1d.ways",
)
# Of these a source gives the value, and not what it is of.
READINGS = (
    sensitivity.Assumption("flash.controller.buffer", "16", {"one": "1", "half": "8"}),
    sensitivity.Assumption("flash.controller.queue", "8 cycles", {"half": "4", "double": "16"}),
    sensitivity.Assumption("flash.controller.cached", "5 cycles", {"half": "2", "double": "10"}),
    sensitivity.Assumption("flash.mesh.header", "32 B", {"least": "4 B"}),
)
PROCESSORS = 16
BASES = {
    "FFT": Point("fft", LOAD_STORE, 16384, PROCESSORS),
    "FFT, sender": Point("fft", f"{LOAD_STORE}, sender-initiated", 16384, PROCESSORS),
    "LU": Point("lu", LOAD_STORE, 128, PROCESSORS),
    "radix": Point("radix", f"{LOAD_STORE}, radix 128", 16384, PROCESSORS),
}
QUICK_SIZES, QUICK_PROCESSORS = {"fft": 1024, "lu": 64, "radix": 4096}, 4
COLUMNS = ("parameter", "value", *(f"{name} [us]" for name in BASES))


def varied(quick: bool) -> list[sensitivity.Assumption]:
    if quick:
        return [READINGS[-1]]
    return [*sensitivity.assumptions("flash", ASSUMED), *READINGS]


def runs(quick: bool) -> list[Run]:
    found = []
    for name, point in BASES.items():
        size = QUICK_SIZES[point.program]
        small = point._replace(size=size, processors=QUICK_PROCESSORS)
        run = (small if quick else point).run("whole")
        base = Run(name, run.machine, run.ranks, run.program, arguments=run.arguments,
                   sets=run.sets)  # fmt: skip
        found += sensitivity.runs(base, varied(quick))
    return found


def figures(output: Output) -> dict[str, Fraction]:
    name, _, _ = output.run.name.partition("/")
    time_ns = _flash.run_time_ns(output, int(output.run.arguments[2]))
    return {f"{name} [us]": Fraction(time_ns, 1000)}


def report(outputs: Mapping[str, Output]) -> Report:
    bases = [name for name in BASES if f"{name}/as-assumed" in outputs]
    table, text, _ = sensitivity.report(bases, varied(False), outputs, figures)
    results = Table("results", table.columns, table.rows)
    return Report(
        tables=[results],
        text=text,
        findings=[sentence(results)],
        draw=lambda figure: draw(figure, results),
        size_inches=(7.0, 4.0),
    )


def changes(results: Table) -> dict[tuple[str, str], dict[str, float]]:
    """By parameter and value: of each figure, as a part of it."""
    reference = results.rows[0][2:]
    return {
        (str(name), str(value)): {
            column: float(Fraction(str(figure)) / Fraction(str(base)) - 1)
            for column, figure, base in zip(results.columns[2:], figures, reference, strict=True)
        }
        for name, value, *figures in results.rows[1:]
    }


def sentence(results: Table) -> str:
    by, which, name, value = max(
        (abs(change), column, name, value)
        for (name, value), each in changes(results).items()
        for column, change in each.items()
    )
    return (
        f"Of what is ours or open, {name} of {value} moves a time most: "
        f"{which.removesuffix(' [us]')} by {100 * by:.1f} %."
    )


def draw(figure: Figure, results: Table) -> None:
    """What each moves most."""
    from chasqui.experiment import drawing

    shown = sorted(
        (max(map(abs, each.values())), f"{name} = {value}")
        for (name, value), each in changes(results).items()
    )
    axes = figure.subplots()
    axes.barh([name for _, name in shown], [100 * by for by, _ in shown], color=drawing.BLUE)
    axes.set(title="the time that moves most, by how much [%]")


EXPERIMENT = Experiment(QUESTION, runs, report)
