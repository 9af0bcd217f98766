"""Takes a run elsewhere: traces for other tools, made of the files of its directory.

Each format is a module that says what its user gets. One that writes calls takes a `Trace`, in
which messages stand in the calls that send and receive them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chasqui.export import (
    goal,
    otf2_archive,
    pcap,
    perfetto_trace,
    place,
    smpi_ti,
    tables,
    trace,
)

if TYPE_CHECKING:
    from chasqui.report.data import Run


@dataclass(frozen=True)
class Format:
    """What a run can be exported to."""

    doc: str
    default: str  # its name in the run's directory
    is_folder: bool
    is_own: Callable[[Path], bool]  # whether what is there is an export of the kind
    write: Callable[[Run, Path, Path], str]  # to the second; it will be at the third


FORMATS = {
    "otf2": Format(
        "for Vampir, Scalasca, Score-P's tools: a folder (package otf2)",
        "export-otf2", True, otf2_archive.is_own,
        lambda run, path, _: otf2_archive.write(trace.read(run), path),
    ),
    "goal": Format(
        "for LogGOPSim: a schedule of computation and messages",
        "export.goal", False, goal.is_own,
        lambda run, path, _: goal.write(trace.read(run), path),
    ),
    "smpi-ti": Format(
        "for `smpirun -replay` of SimGrid: a folder with a file a rank",
        "export-smpi-ti", True, smpi_ti.is_own,
        lambda run, path, at: smpi_ti.write(trace.read(run), path, at),
    ),
    "pcap": Format(
        "for Wireshark, tcpdump: a packet a message",
        "export.pcap", False, pcap.is_own,
        lambda run, path, _: pcap.write(run, path),
    ),
    "perfetto": Format(
        "for ui.perfetto.dev: more than timeline.json (package perfetto)",
        "export.pftrace", False, perfetto_trace.is_own,
        lambda run, path, _: perfetto_trace.write(trace.read(run), path),
    ),
    "csv": Format(
        "tables of messages and calls: a folder",
        "export-csv", True, tables.is_own,
        lambda run, path, _: tables.write(trace.read(run), path),
    ),
}  # fmt: skip


# Those whose package need not be there.
PACKAGES: dict[str, Callable[[], object]] = {
    "otf2": otf2_archive.package,
    "perfetto": perfetto_trace.package,
}


def export(directory: Path, to: str, out: Path | None) -> tuple[Path, str]:
    """Writes the run in `directory`. Returns where, and what, in words. Raises InputError where
    what it needs is missing, or something else is there."""
    from chasqui.report import data

    if to in PACKAGES:
        PACKAGES[to]()
    form = FORMATS[to]
    run = data.read(directory)
    path = directory / form.default if out is None else out
    check = place.check_folder if form.is_folder else place.check_file
    check(path, form.is_own, to)
    with place.replaced(path, form.is_folder) as partial:
        said = form.write(run, partial, path.resolve())
    return path, said
