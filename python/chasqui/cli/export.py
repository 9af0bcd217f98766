"""`chasqui export`: a run as a trace for another tool, a machine as input of another simulator."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui import export as exports
from chasqui.cli import options
from chasqui.cli.logp import check_sizes
from chasqui.core import variants
from chasqui.errors import InputError
from chasqui.export import models

HELP = """Writes a run as a trace for another tool, or a machine as input of another simulator.

RUNDIR is a run directory. All formats but pcap need all calls of the run: `chasqui run --timeline
CALLS` sets how many of each rank are kept, and a message says how many there are.

MACHINE is one of `chasqui machines`, or a .toml file. Its LogGP figures are measured, as by
`chasqui logp`, and written as the other simulator takes them.

\b
FORMAT of a run is
{formats}

\b
FORMAT of a machine is
{models}

\b
Examples:
  chasqui export runs/ring-voyager-1 --to otf2
  chasqui export runs/ring-voyager-1 --to goal --out ring.goal
  chasqui export voyager --to simgrid
""".format(
    formats="\n".join(f"  {name:9} {each.doc}" for name, each in exports.FORMATS.items()),
    models="\n".join(f"  {name:9} {each.doc}" for name, each in models.MODELS.items()),
)


def commands() -> dict[str, click.Command]:
    return {"export": export}


@click.command("export", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("what", metavar="RUNDIR|MACHINE", shell_complete=options.offer("machines"))
@click.option(
    "--to", metavar="FORMAT", required=True,
    type=click.Choice((*exports.FORMATS, *models.MODELS)),
)  # fmt: skip
@click.option(
    "--out", metavar="PATH", type=click.Path(path_type=Path),
    help="Write PATH (default: export.FORMAT, or a folder export-FORMAT, in RUNDIR; "
    "MACHINE.FORMAT). Another such export there is replaced, nothing else.",
)  # fmt: skip
@options.sets()
@options.sizes()
def export(what: str, to: str, out: Path | None, sets: tuple[str, ...], sizes: str | None) -> None:
    is_run = (Path(what) / "summary.json").exists()
    if is_run and to in models.MODELS:
        raise InputError(f"{what}: a run; --to {to} is of a machine, as in: voyager --to {to}")
    if not is_run and to in exports.FORMATS and is_machine(what):
        raise InputError(f"{what}: a machine; --to {to} is of a run, whose directory is named")
    if to in models.MODELS:
        path, said = models.export(what, to, out, check_sizes(sizes), options.check_sets(sets))
    elif sets or sizes is not None:
        raise InputError(f"--set and --sizes are for a machine; --to {to} is of a run")
    else:
        path, said = exports.export(Path(what), to, out)
    print(f"{path}: {said}")


def is_machine(what: str) -> bool:
    return what.endswith(".toml") or what in (name for name, *_ in variants())
