"""`chasqui experiment`: measured answers about a machine, with tables and pictures."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.experiment import running
    from chasqui.simulation import Sandbox

HELP = """Carries out experiments: each NAME is one (voyager/mechanisms) or all of a machine's
(voyager). `list`, or no name, lists them.

A NAME may also be a Python file of yours, or a folder of such: a module that defines EXPERIMENT, as
those of the machines do (python -m pydoc chasqui.experiment); its C programs and machine files lie
beside it.

Each prints its tables and its findings, and writes into its directory: results.csv and further
tables, picture.svg and picture.png, report.txt, measured.json (what was measured: the version, and
fingerprints of the points, parameters and programs), and the run directories of its simulations
below runs/. The same machine gives the same results, to the bit.

Interrupted, it keeps the runs so far, and says where they are.

Exit status: 0; 1 if a simulation did not end well; 2 for bad input, before anything runs; 130 after
Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, 141 when nothing reads the output any more.

\b
Examples:
  chasqui experiment list
  chasqui experiment voyager/mechanisms
  chasqui experiment voyager --quick --out results
  chasqui experiment ./mine/latency.py
"""

STATUS_FAILED = 1


def commands() -> dict[str, click.Command]:
    return {"experiment": experiment}


@click.command(
    "experiment",
    help=HELP,
    context_settings=options.SETTINGS_AFTER,
)
@click.argument(
    "names", nargs=-1, metavar="[list | NAME...]", shell_complete=options.offer("experiments")
)
@click.option(
    "--out", "directory", metavar="DIR",
    help="Put results into DIR/MACHINE-NAME; that must not exist (default: runs/, numbered).",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer points.")
@click.option(
    "--jobs", "-j", type=click.IntRange(min=1), metavar="N",
    help="Simulations at a time (default: as many as there are processors).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an array of experiments.")
@options.sandbox
def experiment(
    names: tuple[str, ...],
    directory: str | None,
    quick: bool,
    jobs: int | None,
    as_json: bool,
    sandbox: Sandbox,
) -> int:
    from chasqui.experiment import running
    from chasqui.simulation import host_processors
    from chasqui.text import say, stdout_columns

    if not names or names == ("list",):
        _list(as_json)
        return 0
    chosen = running.choose(names)
    if directory is not None:
        _check_places(directory, chosen)
    running.prepare(chosen, quick=quick)
    found = []
    for name in chosen:
        try:
            done = carry_out(name, directory, quick, jobs or host_processors(), sandbox)
        except running.RunFailed as error:
            say(f"chasqui: {error}")
            return STATUS_FAILED
        found.append(done)
        if not as_json:
            print(f"{running.text(done, stdout_columns())}\n\nresults in {done.directory}\n")
    if as_json:
        print(f"[{', '.join(running.as_json(done) for done in found)}]")
    return 0


def carry_out(
    name: str, directory: str | None, quick: bool, jobs: int, sandbox: Sandbox
) -> running.Done:
    """Into DIRECTORY/MACHINE-NAME, which is made; None: below runs/."""
    from chasqui import simulation
    from chasqui.experiment import running
    from chasqui.text import Counter, say, terminal_width

    def into(place: Path) -> running.Done:
        try:
            with Counter(f"runs of {name}") as progress:
                return running.carry_out(
                    name, place, quick=quick, jobs=jobs, progress=progress, sandbox=sandbox
                )
        except KeyboardInterrupt:
            if (place / "runs").is_dir():
                start = "\n" if terminal_width() else ""  # the terminal has echoed ^C
                runs = place / "runs"
                say(f"{start}chasqui: {name}: the runs so far are in {runs}, without a report")
            raise

    stem = running.directory_name(name)
    if directory is None:
        with simulation.numbered(stem) as place:
            return into(place)
    place = Path(directory) / stem
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise _not_made(directory, place, error.strerror) from None
    with simulation.gone_if_empty(place / "runs", place):
        return into(place)


def _check_places(directory: str, names: list[str]) -> None:
    """Results are never overwritten: said before the first experiment takes its time."""
    from chasqui.experiment import running

    for name in names:
        place = Path(directory) / running.directory_name(name)
        if os.path.lexists(place):
            raise _not_made(directory, place, os.strerror(errno.EEXIST))


def _not_made(directory: str, place: Path, why: str | None) -> InputError:
    return InputError(f"--out {directory}: {place}: {why}")


def _list(as_json: bool) -> None:
    from chasqui.experiment import running
    from chasqui.text import stdout_columns, table

    found = {name: running.load(name) for name in running.names()}
    if as_json:
        import json

        print(json.dumps([{"name": n, "question": e.question} for n, e in found.items()], indent=2))
    else:
        rows = [[name, each.summary] for name, each in found.items()]
        heads = ["experiment", "what it asks"]
        print(table(heads, rows, left=(0, 1), columns=stdout_columns()))
