"""`chasqui run`: one program on one machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chasqui.cli import options

if TYPE_CHECKING:
    from chasqui.simulation import Result

HELP = """Runs PROGRAM on simulated nodes of MACHINE, instruction by instruction: RANKS processes,
one on each node or --ranks-per-node.

PROGRAM is a static RV64GC Linux executable, as `chasqui cc` and `mpicc` make it. The ranks' output
goes to the terminal and to the run directory, beside summary.json, stats.json, messages.parquet
(the stages of every message, in ps), timeline.json (Perfetto) and resolved.toml (the machine).

Rank 0 (of the first job) reads this command's standard input, and nothing is read of that before it
does; the standard input of all other ranks is empty. Simulated time stands while it waits.

Several programs of one job (MPMD) are separated by `: -np RANKS`: the first has the ranks from 0
on, the next those behind, all in one MPI_COMM_WORLD.

Exit status: 2 if the run could not start (arguments, executable, machine); else the largest status
of the ranks, also at --stop-at; 128 + signal after a fault, 125 after a deadlock, 124 at
--limit-time, at --limit-host-time, or if simulated time would pass its end (212 days), 153 at
--limit-output, 137 at --limit-memory, 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, 141
when nothing reads the output any more, 123 if the debugger ended it (all five keep the results so
far); at least 74 if a result could not be written (a full disk), 1 if standard output could not.

With --only-rank one rank is simulated, and a recording (`chasqui record`) stands for the others.
If its output (except measured times) or exit status differs from the recorded ones, the exit status
is 1.

With several jobs each has a run directory, job0, job1 and so on, below the run's; stats.json has
the nodes' counters, for all jobs. A job that fails ends alone; the exit status is the largest.

\b
Examples:
  chasqui run -np 4 -- ./ring
  chasqui run -np 16 -m voyager --set node.core.clock='200 MHz' -- ./cg -g 64
  chasqui run -np 4 --machine voyager --profile -- ./cg -g 32
  chasqui run -np 8 --ranks-per-node 4 --set node.harts=4 -m voyager -- ./cg
  chasqui run -np 4 --machine voyager --job '-np 4 ./cg -g 32' -- ./ring
  chasqui run -np 4 --machine netcache -- ./solve < system.txt
  chasqui run -np 1 -- ./master : -np 3 ./worker -v
  chasqui run -np 4 --stop-at '2 ms' --timeline 100000 -- ./cg -g 64
  chasqui run -np 4 --trace-instructions 168us..170us:0,2 -- ./ring
  chasqui run -np 4 --histogram pairs -- ./sort
  chasqui run -np 4 --gdb 1234 --rank 2 -- ./ring
  chasqui run --bind ../data:ro --limit-output '1 GiB' -- ./cg ../data/m.mtx
  chasqui run --only-rank 0 --arrivals cg.recording -m netcache -- ./cg -g 32
"""


def commands() -> dict[str, click.Command]:
    return {"run": run}


@click.command("run", help=HELP, context_settings=options.SETTINGS)
@options.job
@options.machine()
@click.option(
    "--out", "directory", metavar="DIR",
    help="Run directory; must be new or empty (default: runs/PROGRAM-MACHINE-NUMBER).",
)  # fmt: skip
@click.option(
    "--job", "jobs", multiple=True, metavar="'[-np RANKS] PROGRAM [ARGS]...'",
    help="A further job on the same nodes, time-shared, each node by its own clock "
    "(node.scheduler). Without -np it has one rank, however many the first job has. With --mpi "
    "wait.polls=50 ranks that wait yield their hart, where the machine can: that pays in runs of "
    "many turns. Repeatable.",
)  # fmt: skip
@options.quiet("Only the program's own output.")
@click.option(
    "--profile", is_flag=True,
    help="Count the cycles of each function by cause: profile.json, flame graphs, a table. "
    "Simulated times stay the same; the simulation is several times slower.",
)  # fmt: skip
@click.option(
    "--access-times", is_flag=True,
    help="Note when the program first and last loads the data of each message: columns "
    "first_access_ps and last_access_ps of messages.parquet. Simulated times stay the same.",
)  # fmt: skip
@click.option(
    "--trace-instructions", "trace", metavar="FROM..TO[:RANKS]",
    help="Write every instruction that starts in this window of simulated time, of all ranks or of "
    "RANKS (0,4-7), to instructions.RANK.",
)  # fmt: skip
@click.option(
    "--fast-forward", is_flag=True,
    help="Execute the program without caches and processor time, several times faster, until "
    "MPI_Pcontrol(1) or chasqui_region_begin() (chasqui/region.h), and after MPI_Pcontrol(0).",
)  # fmt: skip
@click.option(
    "--histogram", is_flag=False, flag_value="sizes", type=click.Choice(["sizes", "pairs"]),
    help="Count the program's messages by their length, or also by sender and receiver: a table, "
    "and histogram.csv.",
)  # fmt: skip
@options.only
@options.stop
@options.debugger
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout.")
@options.program()
def run(
    machine: str,
    settings: dict[str, Any],
    directory: str | None,
    jobs: tuple[str, ...],
    quiet: bool,
    profile: bool,
    access_times: bool,
    trace: str | None,
    fast_forward: bool,
    histogram: str | None,
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    from chasqui import simulation
    from chasqui.text import say, terminal_width

    name, arguments, beside = options.check_program(program)
    job = simulation.Job(
        machine=machine,
        program=name,
        arguments=arguments,
        beside=beside,
        others=[simulation.Program(*options.check_job(text)) for text in jobs],
        directory=Path(directory) if directory else None,
        echo=not as_json,
        progress=not quiet,
        profile=profile,
        access_times=access_times,
        trace=trace,
        fast_forward=fast_forward,
        stdin="own",
        **settings,
    )
    result = simulation.execute(job)
    # What the disk had no room for can't be shown either.
    counted = _histogram(result, histogram) if histogram and not result.lost else []
    if as_json:
        import json

        print(json.dumps({**result.summary, "directory": str(result.directory)}, indent=2))
    elif not quiet:
        sys.stdout.flush()
        for line in simulation.report(result):
            say(f"chasqui: {line}")
        if profile and not result.lost:
            from chasqui import profile as profiles

            found = profiles.read(result.directory)
            for line in profiles.lines(found, columns=terminal_width()):
                say(line)
        for line in [*counted, *(_untraced(result, trace) if trace and not result.lost else [])]:
            say(f"chasqui: {line}")
    else:
        for line in simulation.endings(result):
            say(f"chasqui: {line}")
    return result.status


def _untraced(result: Result, trace: str) -> list[str]:
    """Which ranks' traces are empty, and when their jobs ended."""
    from chasqui import simulation
    from chasqui.text import simulated_time

    lines = []
    for directory, summary in zip(simulation.directories(result), result.summaries, strict=True):
        ranks, count = simulation.untraced(directory)
        if ranks:
            end = simulated_time(summary["time_ps"])
            which = "no rank" if len(ranks) == count else f"none of rank {', '.join(ranks)}"
            what = f"{which} began an instruction then; {directory} is of a run that ended at {end}"
            lines.append(f"--trace-instructions {trace}: {what}")
    return lines


def _histogram(result: Result, kind: str) -> list[str]:
    """Writes the run's histograms, and returns the lines of the first job's."""
    from chasqui import histogram, simulation

    pairs = kind == "pairs"
    written = [histogram.write(each, pairs=pairs) for each in simulation.directories(result)]
    return histogram.lines(written[0], pairs=pairs)
