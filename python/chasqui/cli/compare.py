"""`chasqui compare`: one program, several machines, one table."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.attribution import Attribution
    from chasqui.comparison import Row
    from chasqui.simulation import Job

# Of the ranks' time: less is not in the table.
SHARE_SHOWN = 0.0005

HELP = """Runs PROGRAM on each MACHINE and prints one table: simulated time between MPI_Init and
MPI_Finalize, speed-up against the first machine and share of MPI calls in that time, the time of
the whole run, messages, their mean latency [ns]. Further tables have where the ranks' time went
from their start to their end, the mean time of messages in each stage [ns], the mechanisms that
carried them (on machines with several), and the run directories.

The time between them is from when the last rank leaves MPI_Init until the last one enters
MPI_Finalize. What a machine takes to connect its ranks and to clear its buffers is in the whole run
alone, of which it is most where a program is as short as the examples are.

--attribute says what the difference of two machines is made of. Each group of parameters that both
have (clock, caches, network latency, …) is made equal alone, on either machine, and then all of
them: what is left is the NI, and whatever else only one of them has. Each factor is by how many
times the second machine takes longer because of a group; on the first machine and on the second,
since groups act on each other. With --json the list of machines is then `machines` of an object.

Rank 0 reads this command's standard input, the same on each machine.

A machine on which the program fails is a row with the reason. The exit status is the largest of
all runs. If one of them cannot start, none does, and the status is 2.

\b
Examples:
  chasqui compare loggp voyager -np 4 -- ./ring
  chasqui compare voyager/flush voyager/reclaim -np 8 --logp -- ./cg -g 64
  chasqui compare loggp voyager -np 4 --attribute -- ./ring
"""


class BeforeTheDashes(click.Command):
    """Takes `-- PROGRAM ARGS` off before click reads the rest: click forgets where `--` stood."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["chasqui.program"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def commands() -> dict[str, click.Command]:
    return {"compare": compare}


@click.command(
    "compare", cls=BeforeTheDashes, help=HELP,
    options_metavar="MACHINE... [OPTIONS] -- PROGRAM [ARGS]...",
    context_settings=options.SETTINGS_AFTER,
)  # fmt: skip
@click.argument("machines", nargs=-1, metavar="", shell_complete=options.offer("machines"))
@options.job
@click.option(
    "--out", "directory", metavar="DIR",
    help="Put the run directories into DIR, one a machine (default: runs/, numbered).",
)  # fmt: skip
@click.option("--logp", "with_logp", is_flag=True, help="Measure the machines' LogGP figures too.")
@click.option(
    "--attribute", "with_attribution", is_flag=True,
    help="Say what the difference of two machines is made of (two further runs for each group of "
    "parameters that differs, and two of all groups).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as comma-separated values.")
@options.quiet("No progress on the terminal.")
@click.pass_context
def compare(
    ctx: click.Context,
    machines: tuple[str, ...],
    settings: dict[str, Any],
    directory: str | None,
    with_logp: bool,
    with_attribution: bool,
    as_json: bool,
    as_csv: bool,
    quiet: bool,
) -> int:
    from chasqui import comparison, simulation
    from chasqui.text import say

    if as_json and as_csv:
        raise InputError("--json and --csv: only one of them can be printed; choose one")
    if with_attribution and (as_csv or len(machines) != 2):
        raise InputError(
            "--attribute lays two machines side by side, as a table or with --json: "
            "chasqui compare loggp voyager -np 4 --attribute -- ./ring"
        )
    words = ctx.meta.get("chasqui.program", ())
    if not machines or not words:
        raise InputError(
            "name the machines, then -- and the program: "
            "chasqui compare loggp voyager -np 4 -- ./ring"
        )
    twice = [each for each, count in Counter(machines).items() if count > 1]
    if twice:
        raise InputError(f"named more than once: {', '.join(twice)}")
    name, arguments, beside = options.check_program(words)
    jobs = [
        simulation.Job(
            machine=machine,
            program=name,
            arguments=arguments,
            beside=beside,
            stdin="shared",
            directory=Path(directory) / simulation.short_name(machine) if directory else None,
            progress=not quiet,
            **settings,
        )
        for machine in machines
    ]
    comparison.check(jobs, with_logp=with_logp)
    rows: list[Row] = []
    for job in jobs:
        if not quiet and sys.stderr.isatty():
            say(f"chasqui: {name} on {job.machine} …")
        rows.append(comparison.run_on(job, with_logp=with_logp))
        if rows[-1].interrupted:
            break
    if left := [job.machine for job in jobs[len(rows) :]]:
        say(f"chasqui: interrupted before {', '.join(left)}: no row")
    ranks = settings["ranks"] + sum(each.ranks for each in beside)
    title = f"{' : '.join(simulation.program_names(jobs[0]))} on {ranks} ranks"
    if not as_json:
        show(rows, title, as_csv=as_csv)
    sys.stdout.flush()
    found = None
    try:
        found = _attribution(jobs, rows, quiet=quiet) if with_attribution else None
    finally:
        # What has been run is shown also if the rest is stopped.
        if as_json:
            print_json(rows, found)
    if found is not None and not as_json:
        print("\n".join(_factors(found)))
    return max(row.status for row in rows)


def _attribution(jobs: list[Job], rows: list[Row], *, quiet: bool) -> Attribution | None:
    """None: one of the two did not finish well, which its row says."""
    from chasqui import attribution
    from chasqui.text import Counter

    if len(rows) < len(jobs) or any(row.status or not row.main_part_ps for row in rows):
        return None
    times = [(job, row.main_part_ps or 0) for job, row in zip(jobs, rows, strict=True)]
    if quiet:
        return attribution.attribute(times)
    with Counter("runs with the other machine's values") as progress:
        return attribution.attribute(times, progress)


def print_json(rows: list[Row], found: Attribution | None) -> None:
    import json

    from chasqui import comparison

    entries: Any = comparison.as_json(rows)
    if found is not None:
        entries = {"machines": entries, "attribution": found.as_json()}
    print(json.dumps(entries, indent=2))


def show(rows: list[Row], title: str, *, as_csv: bool) -> None:
    from chasqui import comparison

    if as_csv:
        _write_csv(comparison.as_json(rows))
    else:
        print("\n".join([f"{title}: times between MPI_Init and MPI_Finalize", *report(rows)]))


def report(rows: list[Row]) -> list[str]:
    """The tables for people."""
    from chasqui import comparison
    from chasqui.text import factor, filled, number, simulated_time, stdout_columns, table

    header = [
        *["machine", "Init to Finalize", "speed-up", "MPI share", "whole run"],
        *["messages", "latency [ns]", "reason" if any(row.reason for row in rows) else ""],
    ]

    def time(ps: int | None) -> str:
        return simulated_time(ps) if ps is not None else "-"

    cells = []
    for entry, row in zip(comparison.as_json(rows), rows, strict=True):
        share, faster = entry["mpi_share"], entry["speed_up"]
        cells.append(
            [
                row.machine,
                time(entry["init_to_finalize_ps"]),
                factor(faster) if faster is not None else "-",
                f"{share:.1%}" if share is not None else "-",
                time(entry["time_ps"]),
                number(entry["messages"]),
                number(entry["latency_ns"], 4),
                (row.reason or "").partition("\n")[0],
            ]
        )
    lines = [table(header, cells, left=(0, 7), columns=stdout_columns())]
    lines += [f"{row.machine}: {row.reason}" for row in rows if row.reason and "\n" in row.reason]
    lines += _shares(rows)
    names = comparison.stage_names(rows)
    ran = [row for row in rows if row.stages()]
    if names and ran:
        parts = [
            [name, formula, *(number(row.mean_ns(name), 4) for row in ran)]
            for name, formula in names.items()
        ]
        title = ["where the messages' lives went", "mean [ns] of", *(row.machine for row in ran)]
        lines += ["", table(title, parts, left=(0, 1), columns=stdout_columns())]
        lines += [filled(each, stdout_columns()) for each in comparison.negative_stages(rows)]
    if any(len(row.mechanisms()) > 1 for row in rows):
        lines += ["", _mechanisms(rows)]
    measured = [row for row in rows if row.measurement]
    if measured:
        lines += ["", *_loggp_lines(measured)]
    lines.append("")
    lines += [f"run directory {path} ({machine})" for machine, path in comparison.directories(rows)]
    return lines


def _shares(rows: list[Row]) -> list[str]:
    """Where the ranks' time went on each machine, in parts that add up to it."""
    from chasqui import shares
    from chasqui.text import stdout_columns, table

    ran = [row for row in rows if row.result]
    whole = {row.machine: row.shares() for row in ran}
    calls = {row.machine: row.call_shares() for row in ran}
    found: list[tuple[str, list[float]]] = []
    for name in dict.fromkeys(name for each in whole.values() for name in each):
        found.append((name, [each[name] for each in whole.values()]))
        if name == shares.SOFTWARE:
            names = dict.fromkeys(name for each in calls.values() for name in each)
            found += [(f"  {n}", [each.get(n, 0.0) for each in calls.values()]) for n in names]
    shown = [
        [name, *(f"{share:.1%}" for share in each)]
        for name, each in found
        if max(each) >= SHARE_SHOWN
    ]
    header = ["where the ranks' time went, of the whole run", *whole]
    return ["", table(header, shown, columns=stdout_columns())] if shown else []


def _factors(found: Attribution) -> list[str]:
    """What the difference is made of: the factors, the parameters, the sentence."""
    from chasqui.text import factor, filled, stdout_columns, table

    columns = stdout_columns()
    first, second = found.machines
    whole = f"{second} to {first}"
    rows = [*found.factors, found.products(), found.interaction()]
    cells = [
        [each.group, *("-" if f is None else factor(f) for f in (each.on_first, each.on_second))]
        for each in rows
    ]
    cells.append([f"time of {whole}", *[factor(found.ratio)] * 2])
    lines = [
        "",
        table(["factor of the time", f"on {first}", f"on {second}"], cells, columns=columns),
    ]
    lines += ["", f"parameters in which they differ ({first}, {second})"]
    for group, changed in found.differences.items():
        values = "; ".join(f"{each.name} {each.first}, {each.second}" for each in changed)
        lines.append(filled(f"{group}: {values}", columns))
    lines += [
        filled(f"{group} is not exchanged, and part of the rest: {why}", columns)
        for group, why in found.left.items()
    ]
    lines += [filled(f"no time (-): {each}", columns) for each in found.unfinished]
    return [*lines, "", filled(found.sentence(), columns)]


def _mechanisms(rows: list[Row]) -> str:
    """By what the messages travelled, on machines that have a choice."""
    from chasqui.comparison import mechanism_cells
    from chasqui.text import stdout_columns, table

    header = ["by mechanism", "of", "messages", "data [bytes]", "end to end [mean ns]"]
    return table(header, mechanism_cells(rows), left=(0, 1), columns=stdout_columns())


def _loggp_lines(rows: list[Row]) -> list[str]:
    from chasqui.text import filled, mean_ns, stdout_columns, table

    columns = stdout_columns()
    header = [
        f"LogGP figures [ns] of {_shortest(rows)} B",
        "L",
        "o_send",
        "o_recv",
        "g",
        "G a byte",
    ]
    cells, reasons = [], []
    for row in rows:
        assert row.measurement is not None
        found = row.measurement.figures
        latency, *gaps = (
            ("<= " if each.is_bound else "") + mean_ns(each.value)
            for each in found.machine.values()
        )
        overheads = [mean_ns(each.mean) for each in (found.o_send, found.o_recv)]
        cells.append([row.machine, latency, *overheads, *gaps])
        reasons += [f"{row.machine}: {name}: {why}" for name, why in found.reasons.items()]
    return [table(header, cells, columns=columns), *(filled(each, columns) for each in reasons)]


def _shortest(rows: list[Row]) -> int:
    """The size [bytes] that all but G are of: machines are measured with the same ones."""
    return next(row.measurement.figures.sizes[0].bytes for row in rows if row.measurement)


def _write_csv(entries: list[dict[str, Any]]) -> None:
    import csv

    from chasqui import comparison

    flat = [comparison.flat(entry) for entry in entries]
    names = list(dict.fromkeys(name for entry in flat for name in entry))
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
