"""`chasqui timeline`: a picture of a run's timeline."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chasqui.cli import options
from chasqui.errors import InputError
from chasqui.files import check_replaced, write_text

HELP = """Draws the timeline of a run as SVG: a track for each rank, the activity of NIs and links,
messages as arrows.

RUNDIR is a run directory. Its timeline.json also opens in Perfetto (ui.perfetto.dev), for a closer
look; `chasqui run --timeline CALLS` sets how much of the run it holds.

\b
Examples:
  chasqui timeline runs/ring-voyager-1 -o ring.svg
  chasqui timeline runs/ring-voyager-1 --window 310us..330us > ring.svg
"""

SVG = b"<svg"  # what the pictures begin with


def commands() -> dict[str, click.Command]:
    return {"timeline": timeline}


@click.command("timeline", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("directory", metavar="RUNDIR", type=click.Path(path_type=Path))
@click.option("--window", metavar="FROM..TO", default="..", help="Draw this part only.")
@click.option(
    "--output", "-o", metavar="FILE", type=click.Path(path_type=Path),
    help="Write FILE (default: stdout), whose name ends in .svg or has no ending. Another such "
    "picture there is overwritten.",
)  # fmt: skip
def timeline(directory: Path, window: str, output: Path | None) -> None:
    from chasqui import timeline as timelines

    if output is not None:
        check_replaced(output, SVG, "picture of a timeline")
        if output.suffix.lower() not in ("", ".svg"):
            raise InputError(
                f"-o {output}: the picture is SVG; a name that ends in .svg, or has no ending, is "
                "expected"
            )
    found = timelines.read(directory)
    picture = timelines.draw(found, *timelines.window(window, found.extent()))
    if output is None:
        sys.stdout.write(picture)
        return
    write_text(output, picture)
