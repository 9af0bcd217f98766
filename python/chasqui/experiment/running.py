"""Finds experiments, runs them, writes what they found.

Simulations run in threads, as many at a time as asked for: the core releases the interpreter's
lock. Each uses one host thread; results don't depend on either.
"""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chasqui import cache, compiler, simulation, stopping
from chasqui.errors import InputError
from chasqui.experiment import Experiment, Output, Replay, Report, Run, Table, cell

FLAGS = ("-O2", "-std=gnu11", "-pthread")
PICTURE_DPI = 150
# Neither the date nor what matplotlib says of itself.
SVG_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))

Progress = Callable[[int, int], None]


class RunFailed(Exception):  # noqa: N818 -- not the user's mistake
    """A simulation of an experiment did not end well."""


@dataclass(frozen=True)
class Done:
    """An experiment that has been carried out."""

    name: str
    experiment: Experiment
    directory: Path
    report: Report


def names() -> list[str]:
    """Every experiment, as MACHINE/NAME."""
    found = cache.MACHINES.glob("*/experiments/*.py")
    return sorted(
        f"{path.parent.parent.name}/{path.stem.replace('_', '-')}"
        for path in found
        if path.stem[0] != "_"
    )


def load(name: str) -> Experiment:
    machine, _, short = name.partition("/")
    module = importlib.import_module(
        f"chasqui.machines.{machine}.experiments.{short.replace('-', '_')}"
    )
    found: Experiment = module.EXPERIMENT
    return found


def choose(wanted: Sequence[str]) -> list[str]:
    """The experiments that are meant: each by its name, or all of a machine by the machine's."""
    every = names()
    chosen: list[str] = []
    for text in wanted:
        family = text.removesuffix("…").removesuffix("...").removesuffix("/") + "/"
        matching = [text] if text in every else [name for name in every if name.startswith(family)]
        if not matching:
            raise InputError(f"no experiment {text!r}; there are: {', '.join(every)}")
        chosen += [name for name in matching if name not in chosen]
    return chosen


def carry_out(name: str, directory: Path, *, quick: bool, jobs: int, progress: Progress) -> Done:
    """Runs an experiment and writes its results into `directory`, which is empty or new."""
    experiment = load(name)
    outputs = run_all(name, experiment.runs(quick), directory / "runs", jobs, progress)
    report = experiment.report(outputs)
    for table in report.tables:
        write_csv(directory / f"{table.name}.csv", table)
    (directory / "report.txt").write_text(text(Done(name, experiment, directory, report)) + "\n")
    draw(report, directory)
    return Done(name, experiment, directory, report)


def run_all(
    name: str, runs: Sequence[Run], directory: Path, jobs: int, progress: Progress
) -> dict[str, Output]:
    """The outputs by the names of the runs. `progress` is told how many are done."""
    folder = cache.MACHINES / name.partition("/")[0] / "experiments"
    programs = {
        (program, tuple(run.flags)): executable(folder, program, run.flags)
        for run in runs
        for program in run.programs
    }
    recorded = {run.replay.of for run in runs if run.replay}
    if recorded:
        directory.mkdir(parents=True, exist_ok=True)
    stop: int | None = None

    def one(run: Run) -> Output:
        first, *others = (str(programs[program, tuple(run.flags)]) for program in run.programs)
        beside = [
            simulation.Program(other.ranks, program, other.arguments)
            for other, program in zip(run.beside, others, strict=True)
        ]
        job = simulation.Job(
            run.machine, run.ranks, first, run.arguments, run.sets, others=beside, threads=1,
            access_times=run.access_times, profile=run.profile,
            record=recording(directory, run.name) if run.name in recorded else None,
            only=only_rank(directory, run.replay) if run.replay else None,
        )  # fmt: skip
        place = directory / simulation.short_name(run.name)
        result = simulation.execute_quietly(job, place, lambda: stop)
        for summary in result.summaries:
            if summary["outcome"] != "finished" or summary["exit_status"]:
                text = f"{simulation.ending(summary)}, status {summary['exit_status']}"
                raise RunFailed(f"{name}: {text}; the run is in {place}")
        return Output(run, place / "job0" if run.beside else place, result.summary)

    outputs: dict[str, Output] = {}
    # A recording is whole before what it drives begins.
    stages = [[run for run in runs if not run.replay], [run for run in runs if run.replay]]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for stage in stages:
                for run, output in zip(stage, pool.map(one, stage), strict=True):
                    outputs[run.name] = output
                    progress(len(outputs), len(runs))
        except BaseException as error:
            stop = stopping.signal_of(error)
            pool.shutdown(cancel_futures=True)
            raise
    return outputs


def recording(directory: Path, name: str) -> Path:
    """Where the recording of the run with this name is."""
    return directory / f"{simulation.short_name(name)}.recording"


def only_rank(directory: Path, replay: Replay) -> simulation.OnlyRank:
    return simulation.OnlyRank(replay.rank, recording(directory, replay.of), replay.ratio)


def executable(folder: Path, program: str, flags: Sequence[str]) -> Path:
    """What to run for `program`: examples/NAME is one of the examples, an absolute path an
    executable that is there already, anything else a C file in `folder`, without its ending."""
    if Path(program).is_absolute():
        return Path(program)
    kind, _, name = program.rpartition("/")
    source = (cache.EXAMPLES if kind == "examples" else folder) / f"{name}.c"
    return compiler.compiled(source, [*FLAGS, *flags])


# --- results -------------------------------------------------------------------------------------


def write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows([cell(value) for value in row] for row in table.rows)


def draw(report: Report, directory: Path) -> None:
    """The picture as SVG and PNG: the same bytes from the same results."""
    from chasqui.experiment import drawing

    figure = drawing.figure(report.size_inches)
    report.draw(figure)
    figure.savefig(directory / "picture.svg", metadata=SVG_METADATA)
    figure.savefig(directory / "picture.png", dpi=PICTURE_DPI)


def text(done: Done) -> str:
    """The report for people."""
    findings = "\n".join(f"- {each}" for each in done.report.findings)
    return "\n\n".join([done.name, done.experiment.question, done.report.text, findings])


def as_json(done: Done) -> str:
    content: Mapping[str, Any] = {
        "name": done.name,
        "question": done.experiment.question,
        "directory": str(done.directory),
        "tables": {table.name: table.records() for table in done.report.tables},
        "findings": list(done.report.findings),
    }
    return json.dumps(content, indent=2)
