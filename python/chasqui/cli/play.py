"""`chasqui play`: a trace as a program, on one machine or several."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chasqui import defaults, playing
from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.playing import Played
    from chasqui.simulation import Job, Sandbox

HELP = """Carries TRACE out as a program on simulated nodes. A small MPI program makes the calls of
the trace, which are executed on MACHINE, and is busy in between for as long as the trace says. The
number of ranks is the trace's.

What it prints and writes is what `chasqui run` does; on several machines (-m A -m B) the table of
`chasqui compare`.

\b
FORMAT of a trace is
{formats}

\b
Examples:
  chasqui play heat.goal -m voyager
  chasqui play heat.goal -m loggp -m voyager --scale 0.5
  chasqui play export-smpi-ti --flops '2 Gf' -m netcache
  chasqui play dumpi.meta --scale 0 -m voyager
""".format(formats="\n".join(f"  {n:9} {each.doc}" for n, each in playing.FORMATS.items()))


def commands() -> dict[str, click.Command]:
    return {"play": play}


@click.command("play", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--machine", "-m", "machines", metavar="MACHINE", multiple=True,
    default=(defaults.MACHINE,), shell_complete=options.offer("machines"),
    envvar="CHASQUI_MACHINE",
    help="NAME, NAME/VARIANT, or a .toml file (default: $CHASQUI_MACHINE, else loggp). Repeatable: "
    "one run after the other, and a table.",
)  # fmt: skip
@click.option(
    "--format", "form", metavar="FORMAT", type=click.Choice(list(playing.FORMATS)),
    help="What the trace is (default: as it begins).",
)  # fmt: skip
@click.option(
    "--scale", metavar="FACTOR", default="1", show_default=True,
    help="Computation takes FACTOR times as long as the trace says; 0: none, communication only.",
)  # fmt: skip
@click.option(
    "--flops", metavar="RATE",
    help="Operations a second of a processor, where the trace counts them (smpi-ti): '2.5 Gf'  "
    "[default: 1 Gf]",
)  # fmt: skip
@click.option(
    "-np", "--np", "-n", hidden=True, expose_value=False, callback=lambda *said: no_ranks(said[2])
)
@options.unranked_job
@options.stop
@click.option(
    "--out", "directory", metavar="DIR",
    help="Run directory, or with several machines the folder of theirs; must be new or empty "
    "(default: runs/TRACE-MACHINE-NUMBER).",
)  # fmt: skip
@options.quiet("Nothing but what went wrong, or the table.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary, or the table, as JSON.")
def play(
    trace: Path,
    machines: tuple[str, ...],
    form: str | None,
    scale: str,
    flops: str | None,
    settings: dict[str, Any],
    directory: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    from chasqui.playing import program

    twice = {each for each in machines if machines.count(each) > 1}
    if twice:
        raise InputError(f"named more than once: {', '.join(sorted(twice))}")
    factor = playing.scale_of(scale)
    rate = playing.flops_of(flops) if flops is not None else None
    sandbox: Sandbox = settings.pop("sandbox")
    hz = _frequencies(machines, settings["sets"])
    with playing.reading(trace, form, factor, rate) as played:
        jobs = [program.job(played, machine, settings, sandbox) for machine in machines]
        for job in jobs:
            job.progress, job.echo = not quiet, not as_json
        if len(jobs) == 1:
            return _on_one(played, jobs[0], hz[0], _name(trace), directory, quiet, as_json)
        return _on_several(played, jobs, hz, _name(trace), directory, quiet, as_json)


def no_ranks(given: str | None) -> None:
    if given is not None:
        raise InputError("-np: a trace has its own number of ranks; leave it out")


def _frequencies(machines: tuple[str, ...], sets: list[str]) -> list[int]:
    """Those of their processors [Hz]. What is wrong with a machine is found here first."""
    from chasqui.playing import program

    try:
        return [program.frequency(machine, sets) for machine in machines]
    except InputError as error:
        variable = options.variable_of("machines")
        if variable and str(error).startswith('machine "'):
            raise InputError(f"{variable}: {error}") from None
        raise


def _name(trace: Path) -> str:
    """Of a trace, in that of a run directory."""
    from chasqui.simulation import NAME_MAX, short_name

    return short_name(trace.resolve().stem)[:NAME_MAX]


def _on_one(
    played: Played, job: Job, hz: int, name: str, directory: str | None, quiet: bool, as_json: bool
) -> int:
    import json

    from chasqui import simulation
    from chasqui.text import say

    played.actions.set_frequency(hz)
    with simulation.placed(job, name, directory) as place:
        job.directory = place
        result = simulation.execute(job)
    if as_json:
        print(json.dumps({**result.summary, "directory": str(result.directory)}, indent=2))
        return result.status
    sys.stdout.flush()
    for line in simulation.endings(result) if quiet else simulation.report(result):
        say(f"chasqui: {line}")
    return result.status


def _on_several(
    played: Played, jobs: list[Job], hz: list[int], name: str, directory: str | None, quiet: bool,
    as_json: bool,
) -> int:  # fmt: skip
    from chasqui import comparison, simulation
    from chasqui.cli import compare
    from chasqui.text import say

    for job in jobs:
        if directory is not None:
            job.directory = Path(directory) / simulation.short_name(job.machine)
    comparison.check(jobs, with_logp=False)
    rows = []
    for job, each_hz in zip(jobs, hz, strict=True):
        if not quiet and sys.stderr.isatty():
            say(f"chasqui: {name} on {job.machine} …")
        played.actions.set_frequency(each_hz)
        place = str(job.directory) if job.directory else None
        with simulation.placed(job, name, place) as found:
            job.directory = found
            rows.append(comparison.run_on(job, with_logp=False))
        if rows[-1].interrupted:
            break
    if left := [job.machine for job in jobs[len(rows) :]]:
        say(f"chasqui: interrupted before {', '.join(left)}: no row")
    if as_json:
        compare.print_json(rows, None)
    else:
        compare.show(rows, f"{name} on {played.ranks} ranks", as_csv=False)
    return max(row.status for row in rows)
