"""Takes a machine elsewhere: its measured LogGP figures as input of another simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chasqui.export import place
from chasqui.export.models import loggopsim, simgrid, sst

if TYPE_CHECKING:
    from chasqui.measurement import Measurement


@dataclass(frozen=True)
class Model:
    """A simulator that takes such figures."""

    doc: str
    ending: str  # of the file's name, which begins with the machine's
    beginning: bytes  # of the file
    write: Callable[
        [Measurement], tuple[str, str]
    ]  # the file's text; how it is used, and what it lacks


MODELS = {
    "simgrid": Model(
        "for SimGrid: a platform with SMPI's options, as measured",
        ".simgrid.xml", simgrid.BEGINNING, simgrid.write,
    ),
    "loggopsim": Model(
        "for LogGOPSim: its options, as measured",
        ".loggopsim", loggopsim.BEGINNING, loggopsim.write,
    ),
    "sst": Model(
        "for SST: a script for its command sst, as measured",
        ".sst.py", sst.BEGINNING, sst.write,
    ),
}  # fmt: skip


def export(
    machine: str, to: str, out: Path | None, sizes: Sequence[int], sets: Sequence[str]
) -> tuple[Path, str]:
    """Measures `machine` with messages of these sizes [bytes], and writes its figures. Returns
    where, and what to do with it. Raises InputError where something else is there."""
    from chasqui import files, measurement, simulation
    from chasqui.text import Counter

    model = MODELS[to]
    path = Path(simulation.short_name(machine) + model.ending) if out is None else out
    place.check_file(path, lambda there: place.begins(there, model.beginning), to)
    simulation.check(measurement.job(machine, sets))
    with Counter(f"sizes of {machine}") as progress:
        found = measurement.measure(machine, sizes, sets, progress=progress)
    text, said = model.write(found)
    files.write_text(path, text)
    return path, said
