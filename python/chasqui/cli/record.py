"""`chasqui record`: a run whose messages are kept, to drive one rank later."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from chasqui.cli import options

HELP = """Runs PROGRAM on RANKS simulated nodes of MACHINE, as `chasqui run`, and records for every
rank the messages that it received (envelope, data, time of arrival, the receive that took it), its
output and its exit status. `chasqui run --only-rank RANK --arrivals FILE` then simulates one rank,
on any machine that supports it, and the recording stands for the others.

FILE is Parquet, one row for each message; docs/replay.md has the columns. Messages are kept as the
program sent them, so that one recording serves every machine, and a fast one (loggp) can make it.

Rank 0 reads this command's standard input; a replay of rank 0 needs the same.

Exit status: as of `chasqui run`. A run that does not finish is not recorded, nor one
of which a rank exits with a status other than 0 after MPI_Init and without MPI_Finalize.

\b
Examples:
  chasqui record -np 4 -o cg.recording -- ./cg -g 32
  chasqui record -np 16 --machine netcache/via -o sort.recording -- ./sort
  chasqui run --only-rank 0 --arrivals cg.recording -m netcache -- ./cg -g 32
"""

PARQUET = b"PAR1"  # what every file of the format begins with


def commands() -> dict[str, click.Command]:
    return {"record": record}


@click.command("record", help=HELP, context_settings=options.SETTINGS)
@options.job
@options.machine()
@click.option(
    "-o", "--output", "file", metavar="FILE",
    help="The recording (default: PROGRAM.recording). Another recording there is overwritten.",
)  # fmt: skip
@click.option(
    "--out", "directory", metavar="DIR",
    help="Run directory; must be new or empty (default: runs/PROGRAM-MACHINE-NUMBER).",
)  # fmt: skip
@options.quiet("Only the program's own output.")
@options.program()
def record(
    machine: str,
    settings: dict[str, Any],
    file: str | None,
    directory: str | None,
    quiet: bool,
    program: tuple[str, ...],
) -> int:
    from chasqui import simulation
    from chasqui.files import check_regular, check_replaced, check_writable
    from chasqui.text import say

    name, arguments, beside = options.check_program(program)
    place = Path(file) if file else Path(f"{Path(name).name}.recording")
    check_replaced(place, PARQUET, "recording")
    check_regular(place)
    if (file or directory) and place.parent.is_dir():  # else runs/ is made beside it
        check_writable(place)
    job = simulation.Job(
        machine=machine,
        program=name,
        arguments=arguments,
        beside=beside,
        stdin="own",
        directory=Path(directory) if directory else None,
        echo=True,
        progress=not quiet,
        record=place,
        **settings,
    )
    result = simulation.execute(job)
    sys.stdout.flush()
    if quiet:
        lines = simulation.endings(result)
    else:
        lines = simulation.report(result)
        if simulation.went_well(result.summary) and not result.lost:
            lines.append(f"recording       {place}")
    for line in lines:
        say(f"chasqui: {line}")
    return result.status
