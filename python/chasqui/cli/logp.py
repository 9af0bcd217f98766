"""`chasqui logp`: measures a machine's LogGP figures."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chasqui.loggp import Figure, SizeFigures
    from chasqui.measurement import Measurement
    from chasqui.simulation import Job, Sandbox

HELP = """Measures L, o, g and G of a machine: for each message size the overheads of sending and
receiving, latency end to end, L, gap between the messages of a stream [ns and cycles of the node's
clock], and bandwidth [MB/s, 10^6 bytes].

They come from the records of simulated messages, after a warm-up that uses every ring and buffer
once: nothing is fitted, and measuring the machine `loggp` returns its parameters exactly. Each
size has a run of its own (repeated with more messages if it was not steady: SIZE-2, SIZE-3 in
--out). The gap is that of the fastest stream, of those with different numbers of requests under
way; its limit is the end at which more work makes it slower, or the network interface. The
second table is the spread behind the means, least .. greatest. What the data don't show is a bound
(<=) or is left out, with the reason.

Every formula: python -m pydoc chasqui.loggp

Stopped by a signal, or where the run of a size does not end well, it prints the sizes that are
done, as --sizes with these alone would.

Exit status: 0; 1 if a simulation did not end well, as at a limit; 2 for bad input, before anything
runs; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, 141 when nothing reads the output any
more.

\b
Examples:
  chasqui logp --machine voyager
  chasqui logp -m loggp --set loggp.latency='2 us' --sizes 8,1024,65536 --json
"""
OVERLAP = (
    "L below 0: the receiver is busy with a message before its send returns,\n"
    "and o_send and o_recv overlap by that much"
)
LESS = "what o_send and o_recv leave; o_send of {size:,} B goes on while they are under way"
STATUS_FAILED = 1
COLUMNS = ("o_send", "o_recv", "latency", "L", "gap")


def commands() -> dict[str, click.Command]:
    return {"logp": logp}


@click.command("logp", help=HELP, context_settings=options.SETTINGS)
@options.machine()
@options.sets()
@options.sizes()
@click.option(
    "--out", "directory", metavar="DIR",
    help="Keep the run directories, one a size, in DIR; must be new or empty.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON; times in ps.")
@click.argument("words", nargs=-1, metavar="")
@options.sandbox
def logp(
    machine: str,
    sets: tuple[str, ...],
    sizes: str | None,
    directory: str | None,
    as_json: bool,
    words: tuple[str, ...],
    sandbox: Sandbox,
) -> int:
    from chasqui import measurement, simulation

    if words:
        raise InputError(
            f"logp {words[0]}: a machine is named by an option: chasqui logp --machine {words[0]}"
        )
    chosen = check_sizes(sizes)
    job = replace(measurement.job(machine, options.check_sets(sets)), sandbox=sandbox)
    simulation.check(job)
    with _place(directory) as place:
        found, status = measure(job, chosen, place)
    if not found:
        return status
    found = replace(found, directory=place if directory else None)
    if as_json:
        print(json.dumps(measurement.as_json(found), indent=2))
    else:
        print("\n".join(report(found)))
    return status


@contextlib.contextmanager
def _place(directory: str | None) -> Iterator[Path]:
    """Where the run directories go: a directory that is gone afterwards, if none was named."""
    import tempfile

    from chasqui import simulation

    if directory is not None:
        simulation.provide_empty(Path(directory))
        yield Path(directory)
    else:
        with tempfile.TemporaryDirectory(prefix="chasqui-logp-") as scratch:
            yield Path(scratch)


def measure(job: Job, sizes: Sequence[int], directory: Path) -> tuple[Measurement | None, int]:
    """What was measured, and the exit status. Where it ended early that is said, and there are the
    sizes that were done, if any."""
    from chasqui import measurement, stopping
    from chasqui.text import Counter, say, terminal_width

    start = ""
    try:
        with Counter(f"sizes of {job.machine}") as progress:
            found = measurement.measure(
                job.machine, sizes, job.sets, directory, progress, job.sandbox
            )
        return found, 0
    except KeyboardInterrupt as stop:
        why, status = f"stopped by {stopping.name_of(stop)}", stopping.status_of(stop)
        start = "\n" if terminal_width() else ""  # the terminal has echoed ^C
    except InputError as error:
        if not any(directory.iterdir()):
            raise
        why, status = str(error), STATUS_FAILED
    say(f"{start}chasqui: {why}")
    done = [each for size in sizes if (each := _done(size, directory))]
    say(f"chasqui: {len(done)} of {len(sizes)} sizes are measured")
    return (_of(job.machine, done, directory) if done else None), status


def _done(size: int, directory: Path) -> SizeFigures | None:
    """A size's figures; none if it was still measured, or again since it was not steady."""
    from chasqui import loggp, messages, simulation
    from chasqui.measurement import ATTEMPTS

    names = [str(size), *(f"{size}-{attempt}" for attempt in range(2, ATTEMPTS + 1))]
    begun = [directory / name for name in names if (directory / name).is_dir()]
    if not begun:
        return None
    with contextlib.suppress(InputError, OSError, ValueError):
        summary = json.loads((begun[-1] / "summary.json").read_text())
        if simulation.went_well(summary) and not summary["exit_status"]:
            found = loggp.measure_size(size, messages.read(begun[-1] / "messages.parquet"))
            return found if len(begun) == ATTEMPTS or not found.unsteady else None
    return None


def _of(machine: str, done: Sequence[SizeFigures], directory: Path) -> Measurement:
    from chasqui import loggp, measurement

    resolved = (directory / str(done[0].bytes) / "resolved.toml").read_text()
    clock = measurement.clock_period_ps(resolved)
    return measurement.Measurement(machine, loggp.summarise(done), clock, directory)


def check_sizes(text: str | None) -> list[int]:
    """`1,8,64` as numbers, in order, each once; those that are measured if none are said."""
    from chasqui import measurement

    if text is None:
        return list(measurement.DEFAULT_SIZES)
    return measurement.sizes_of(text.replace(",", " ").split(), f"--sizes {text!r}")


def report(found: Measurement) -> list[str]:
    """The table, in ns and in cycles, and the figures of the machine."""
    from chasqui.text import filled, stdout_columns

    sizes, columns = found.figures.sizes, stdout_columns()
    lines = [f"{found.machine}: times in ns", _means(sizes), "", _spreads(sizes)]
    if found.clock_ps:
        lines += ["", _cycles(sizes, found.clock_ps)]
    if any(each.l.mean < 0 for each in sizes):
        lines += ["", filled(OVERLAP, columns)]
    unsteady = [each for each in sizes if each.unsteady]
    lines += [""] * bool(unsteady)
    lines += [
        filled(
            f"{each.bytes:,} B: {', '.join(each.unsteady)} not steady: the two halves of what was "
            "measured differ by more than a tenth",
            columns,
        )
        for each in unsteady
    ]
    lines += ["", f"of messages of {sizes[0].bytes:,} B, the shortest; G of longer ones"]
    lines.append(summary(found))
    if sizes[0].overlaps and found.figures.l.value is not None:
        lines.append(filled(f"L: {LESS.format(size=sizes[0].bytes)}", columns))
    reasons = found.figures.reasons.items()
    lines += [filled(f"{name}: {reason}", columns) for name, reason in reasons]
    if found.directory:
        lines.append(f"run directories: {found.directory}")
    return lines


def _means(sizes: Sequence[SizeFigures]) -> str:
    from chasqui.text import mean_ns, number, stdout_columns, table

    header = ["bytes", *COLUMNS, "MB/s", "limited by"]
    rows = []
    for each in sizes:
        times = [mean_ns(sample.mean) for sample in each.samples.values()]
        rate = number(float(each.bandwidth) / 1e6, 4)
        rows.append([f"{each.bytes:,}", *times, rate, each.limited_by])
    return table(header, rows, left=(len(header) - 1,), columns=stdout_columns())


def _spreads(sizes: Sequence[SizeFigures]) -> str:
    """The least and the greatest; on a terminal that is not wide enough one below the other."""
    from chasqui.text import mean_ns, stdout_columns, table

    def spreads(to: str, columns: int) -> str:
        rows = [
            [
                f"{each.bytes:,}",
                *(f"{mean_ns(s.low)}{to}{mean_ns(s.high)}" for s in each.samples.values()),
            ]
            for each in sizes
        ]
        return table(["spread", *COLUMNS], rows, left=(), columns=columns)

    full, columns = spreads("..", 0), stdout_columns()
    is_narrow = columns and max(map(len, full.splitlines())) > columns
    return spreads(".. ", columns) if is_narrow else full


def _cycles(sizes: Sequence[SizeFigures], clock_ps: Fraction) -> str:
    from chasqui.text import ns, table

    def cycles(ps: Fraction) -> str:
        return f"{float(ps / clock_ps):,.1f}".removesuffix(".0")

    rows = [
        [f"{each.bytes:,}", *(cycles(sample.mean) for sample in each.samples.values())]
        for each in sizes
    ]
    title = f"the same in cycles of the node's clock ({ns(clock_ps)} ns)"
    return f"{title}\n{table(['bytes', *COLUMNS], rows, left=())}"


def figure(name: str, found: Figure, unit: str) -> str:
    """`g <= 12 ns`."""
    from chasqui.text import mean_ns

    if found.value is None:
        return f"{name} not seen"
    return f"{name} {found.sign} {mean_ns(found.value)} {unit}"


def summary(found: Measurement) -> str:
    """L, o, g and G."""
    from chasqui.text import mean_ns

    figures = found.figures
    per_byte = figures.g_per_byte
    rate = ""
    if per_byte.value:
        sign = ">= " if per_byte.is_bound else ""
        rate = f" ({sign}{10**6 / float(per_byte.value):,.1f} MB/s)"
    first = [
        figure("L", figures.l, "ns"),
        f"o_send = {mean_ns(figures.o_send.mean)} ns",
        f"o_recv = {mean_ns(figures.o_recv.mean)} ns",
    ]
    second = [figure("g", figures.g, "ns"), figure("G", per_byte, "ns/byte") + rate]
    return "\n".join("   ".join(each) for each in (first, second))
