"""`chasqui fidelity`: what the machines' documents state, beside what is found here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from chasqui.cli import options

# What was measured of, as people read it.
CHANGED = {"readings": "way to read the runs"}

HELP = """Lays what the document of each MACHINE states beside what experiments find here: every
figure and ordering, ours, the ratio, a verdict, and why ours is another (default: all machines that
have such a document).

Our figures come from tables that experiments wrote, and that come with Chasqui. Nothing is run. A *
marks rows whose experiment was measured with other parameters, programs or software than there are
now, or whose results were read from its runs in another way.

--run carries out the experiments of these rows, which takes long, and compares with their new
tables. An experiment whose rows all need a program that is no part of Chasqui is left out where
that is not given. --run --quick only carries out those that take seconds, and says which rows are
no longer what the tables say; it leaves the tables as they are.

Exit status: 0; 1 if a simulation did not end well, or --quick finds a row that differs; 2 for bad
input, before anything runs; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

\b
Examples:
  chasqui fidelity
  chasqui fidelity voyager
  chasqui fidelity --run --quick
  chasqui fidelity --run --tables docs -j 2
"""

STATUS_FAILED = 1
PAGE = "fidelity.md"


def commands() -> dict[str, click.Command]:
    return {"fidelity": fidelity}


@click.command("fidelity", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("machines", nargs=-1, metavar="[MACHINE...]")
@click.option(
    "--tables", metavar="DIR",
    help="Tables are in DIR, as docs of the sources; --run writes them and fidelity.md there "
    "(default: those that come with Chasqui; with --run: runs/, numbered).",
)  # fmt: skip
@click.option("--run", "is_run", is_flag=True, help="Carry out the experiments first.")
@click.option("--quick", is_flag=True, help="With --run: those that take seconds, to compare.")
@click.option(
    "--jobs", "-j", type=click.IntRange(min=1), metavar="N",
    help="With --run: simulations at a time (default: as many as there are processors).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an array of machines.")
def fidelity(
    machines: tuple[str, ...],
    tables: str | None,
    is_run: bool,
    quick: bool,
    jobs: int | None,
    as_json: bool,
) -> int:
    from chasqui import cache
    from chasqui.errors import InputError
    from chasqui.experiment import fidelity, running
    from chasqui.simulation import host_processors
    from chasqui.text import say

    chosen = fidelity.choose(machines)
    if not is_run and (quick or jobs):
        raise InputError(f"{'--quick' if quick else '--jobs'} is for --run")
    folder = Path(tables) if tables is not None else cache.TABLES
    if tables is not None and not (tables and folder.is_dir()):
        raise InputError(f"--tables {tables}: there is no such directory")
    if is_run:
        _check(chosen, folder, quick, tables)
        try:
            place = _run(chosen, quick, jobs or host_processors())
        except running.RunFailed as error:
            say(f"chasqui: {error}")
            return STATUS_FAILED
        if quick:
            return _compare(chosen, folder, place)
        folder = _keep(chosen, place, Path(tables) if tables else place)
    if as_json:
        print(json.dumps([_as_json(machine, folder) for machine in chosen], indent=2))
    else:
        print("\n\n".join(_text(machine, folder) for machine in chosen))
    return 0


def _check(machines: Sequence[str], folder: Path, quick: bool, tables: str | None) -> None:
    """What would stop the command after its runs is said before them."""
    from chasqui import files
    from chasqui.experiment import fidelity, kept, running

    if quick:
        for machine in machines:
            fidelity.compared(machine, folder, fidelity.load(machine).recomputed)
    elif tables:
        files.check_writable(folder / PAGE)
        for machine in machines:
            document = fidelity.load(machine)
            for name in document.experiments:
                kept.check_can_be_measured(folder, f"{machine}/{name}")
                kept.check_place(folder, f"{machine}/{name}", document.tables.get(name, ()))
    for machine in machines:
        names = _names(machine, quick)
        running.prepare([f"{machine}/{name}" for name in names], quick=False)


def _names(machine: str, quick: bool) -> Sequence[str]:
    """The experiments to carry out: what claims need, or of that only what is quick."""
    from chasqui.experiment import fidelity

    return fidelity.load(machine).recomputed if quick else fidelity.measurable(machine)


def _run(machines: Sequence[str], quick: bool, jobs: int) -> Path:
    """Carries the experiments out. Where the results are."""
    from chasqui import simulation
    from chasqui.cli.experiment import carry_out
    from chasqui.experiment import fidelity
    from chasqui.text import say

    with simulation.numbered("fidelity") as place:
        for machine in machines:
            if not quick:
                for name, variable in fidelity.left_out(machine).items():
                    say(f"chasqui: {machine}/{name}: not carried out: its rows need {variable}")
            for name in _names(machine, quick):
                done = carry_out(f"{machine}/{name}", str(place), False, jobs, simulation.SANDBOX)
                say(f"chasqui: {done.name}: results in {done.directory}")
        return place


def _keep(machines: Sequence[str], place: Path, folder: Path) -> Path:
    """Puts tables and page from the results in `place` into `folder`, which it returns. Raises
    InputError before the first, if of one rows would be lost."""
    from chasqui import files
    from chasqui.experiment import fidelity, kept, running

    results = {
        (machine, name): place / running.directory_name(f"{machine}/{name}")
        for machine in machines
        for name in fidelity.measurable(machine)
    }
    for each in results.values():
        kept.check_loses_nothing(each, folder)
    for (machine, name), each in results.items():
        fidelity.take(machine, name, each, folder)
    shown = [each for each in fidelity.machines() if fidelity.is_measured(each, folder)]
    files.write_text(folder / PAGE, fidelity.page(shown, folder))
    return folder


def _compare(machines: Sequence[str], folder: Path, place: Path) -> int:
    """The exit status: whether what was recomputed is what the kept tables say."""
    from chasqui.experiment import fidelity, running

    wrong = []
    for machine in machines:
        for name in fidelity.load(machine).recomputed:
            results = place / running.directory_name(f"{machine}/{name}")
            fidelity.take(machine, name, results, place)
        wrong += fidelity.differing(machine, folder, place)
    print("\n".join(wrong) or "every row that was recomputed is as the tables say")
    return STATUS_FAILED if wrong else 0


def _text(machine: str, folder: Path) -> str:
    from chasqui.experiment import fidelity
    from chasqui.text import filled, stdout_columns, table

    columns = stdout_columns()
    lines = fidelity.compared(machine, folder)
    outdated = fidelity.outdated(machine, lines, folder)
    rows = [fidelity.cells(line) for line in lines]
    for row, line in zip(rows, lines, strict=True):
        row[-1] += " *" * bool(fidelity.changed(line, outdated))
    reasons = [f"{line.claim.row}: {why}" for line in lines if (why := fidelity.why(line))]
    parts = [
        filled(f"{machine}: {fidelity.load(machine).title}", columns),
        table(fidelity.HEADER, rows, left=(0, 1, 2, 6), columns=columns),
        "\n".join(filled(each, columns) for each in reasons),
        filled(fidelity.counts(lines), columns),
    ]
    changed = sorted({CHANGED.get(what, what) for each in outdated.values() for what in each})
    if changed:
        *others, last = changed
        what = f"{', '.join(others)} and {last}" if others else last
        parts.append(filled(f"* not measured with today's {what}: see --run", columns))
    return "\n\n".join(parts)


def _as_json(machine: str, folder: Path) -> dict[str, Any]:
    from chasqui.experiment import fidelity

    lines = fidelity.compared(machine, folder)
    outdated = fidelity.outdated(machine, lines, folder)
    return {
        "machine": machine,
        "document": fidelity.load(machine).title,
        "rows": [
            {
                "row": claim.row, "place": claim.place, "says": claim.says,
                "document": claim.document, "tolerance": claim.tolerance, "ours": found.ours,
                "ratio": found.ratio, "verdict": found.verdict, "reason": fidelity.why(line),
                "experiment": claim.experiment,
                "outdated": fidelity.changed(line, outdated),
            }
            for line in lines
            for claim, found in [line]
        ],
    }  # fmt: skip
