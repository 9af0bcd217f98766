"""`chasqui export`: a run as a trace for another tool."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui import export as exports
from chasqui.cli import options

HELP = """Writes a run as a trace for another tool.

RUNDIR is a run directory. All formats but pcap need all calls of the run: `chasqui run --timeline
CALLS` sets how many of each rank are kept, and a message says how many there are.

\b
FORMAT is
{formats}

\b
Examples:
  chasqui export runs/ring-voyager-1 --to otf2
  chasqui export runs/ring-voyager-1 --to goal --out ring.goal
""".format(formats="\n".join(f"  {name:9} {each.doc}" for name, each in exports.FORMATS.items()))


def commands() -> dict[str, click.Command]:
    return {"export": export}


@click.command("export", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("directory", metavar="RUNDIR", type=click.Path(path_type=Path))
@click.option("--to", metavar="FORMAT", required=True, type=click.Choice(tuple(exports.FORMATS)))
@click.option(
    "--out", metavar="PATH", type=click.Path(path_type=Path),
    help="Write PATH (default: export.FORMAT, or a folder export-FORMAT, in RUNDIR). Another such "
    "export there is replaced, nothing else.",
)  # fmt: skip
def export(directory: Path, to: str, out: Path | None) -> None:
    path, said = exports.export(directory, to, out)
    print(f"{path}: {said}")
