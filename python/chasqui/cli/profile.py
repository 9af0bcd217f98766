"""`chasqui profile`: the table of a run's profile."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui.cli import options

HELP = """Prints where the simulated cycles of a run went, function by function.

RUNDIR is the run directory of `chasqui run --profile`. Every instruction is counted: the cycles add
up to the ranks' own. Beside profile.json are profile.folded, for flame graphs, and
profile.speedscope.json.

\b
Examples:
  chasqui profile runs/cg-voyager-1
  chasqui profile runs/cg-voyager-1 --rank 3 --top 40
"""


def commands() -> dict[str, click.Command]:
    return {"profile": profile}


@click.command("profile", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("directory", metavar="RUNDIR", type=click.Path(path_type=Path))
@click.option("--rank", type=int, metavar="RANK", help="One rank's (default: all together).")
@click.option(
    "--top", type=click.IntRange(min=1), default=15, show_default=True, metavar="N",
    help="Functions to list.",
)  # fmt: skip
def profile(directory: Path, rank: int | None, top: int) -> None:
    from chasqui import profile as profiles
    from chasqui.text import stdout_columns

    found = profiles.read(directory)
    print("\n".join(profiles.lines(found, rank, top, stdout_columns())))
