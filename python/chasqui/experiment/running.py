"""Finds experiments, runs them, writes what they found.

Simulations run in threads, as many at a time as asked for: the core releases the interpreter's
lock. Each uses one host thread; results don't depend on either.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import hashlib
import importlib
import json
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import chasqui
import chasqui.experiment
from chasqui import cache, compiler, core, local_store, simulation, toolchain
from chasqui.errors import InputError
from chasqui.experiment import (
    Beside,
    Elsewhere,
    Experiment,
    Output,
    Replay,
    Report,
    Run,
    Table,
    cell,
)
from chasqui.parallel import side_by_side
from chasqui.text import filled

FLAGS = ("-O2", "-std=gnu11", "-pthread")
PICTURE_DPI = 150
# Neither the date nor what matplotlib says of itself.
SVG_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))

STAMP = "measured.json"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)  # of C; it makes no program another one
# Below guest: programs, which count where an experiment runs them. They may execute all the rest.
PROGRAMS = ("bench", "play", "tests")
# What compilers and linkers get.
SOURCES = (".c", ".h", ".S", ".ld", ".txt")
# The machine whose registers a header has.
REGISTERS = re.compile(r'^#include ".*/machines/(\w+)/', re.MULTILINE)
# Of the library's list of devices. One that a machine has not is not executed, and what is not
# executed moves no time (test_layout.py); so a new machine makes no other's tables old.
LISTED = re.compile(r"\bDEVICE\(\w+\)[ \\]*")

# Of a run that finds out when MPI_Init ends: how much longer it goes on than that may take, and
# when recorded messages arrive.
MARGIN_PS = 10**9
NEVER = "1000 s"

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
    """Every experiment that comes with the machines, as MACHINE/NAME."""
    found = cache.MACHINES.glob("*/experiments/*.py")
    return sorted(
        f"{path.parent.parent.name}/{path.stem.replace('_', '-')}" for path in found if shown(path)
    )


def shown(path: Path) -> bool:
    return path.suffix == ".py" and path.stem[0] != "_"


def is_own(name: str) -> bool:
    """A file of the user's, not one that comes with a machine."""
    return name.endswith(".py")


def directory_name(name: str) -> str:
    """The experiment as a part of a directory's name: FOLDER-FILE of one that is the user's."""
    path = Path(name).resolve()
    return simulation.short_name(f"{path.parent.name}/{path.stem}" if is_own(name) else name)


def folder_of(name: str) -> Path:
    """Where the experiment's module and its C programs are."""
    if is_own(name):
        return Path(name).parent
    return cache.MACHINES / name.partition("/")[0] / "experiments"


def load(name: str) -> Experiment:
    found = getattr(module_of(name), "EXPERIMENT", None)
    if not isinstance(found, Experiment):
        raise InputError(f"{name}: defines no EXPERIMENT = chasqui.experiment.Experiment(...)")
    return found


def module_of(name: str) -> ModuleType:
    """The experiment's module."""
    if is_own(name):
        return load_own(Path(name).resolve())
    machine, _, short = name.partition("/")
    return importlib.import_module(
        f"chasqui.machines.{machine}.experiments.{short.replace('-', '_')}"
    )


def load_own(path: Path) -> ModuleType:
    """Loads a user's module; it may import its neighbours (`from ._helper import …`)."""
    package = f"chasqui_own.{hashlib.sha256(str(path.parent).encode()).hexdigest()[:16]}"
    for name, places in (("chasqui_own", []), (package, [str(path.parent)])):
        module = sys.modules.setdefault(name, ModuleType(name))
        module.__path__ = places
    try:
        return importlib.import_module(f"{package}.{path.stem}")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        raise InputError(f"{path}: can't be loaded: {what}") from error


def runs_of(name: str, *, quick: bool) -> list[Run]:
    with blamed(name, InputError, "runs"):
        runs = list(load(name).runs(quick))
        for run in runs:
            check_run(name, run)
    names: dict[str, str] = {}  # by the directory
    for run in runs:
        place = simulation.short_name(run.name)
        if names.get(place) == run.name:
            raise InputError(f'{name}: two runs are named "{run.name}"')
        if place in names:
            both = f'"{names[place]}" and "{run.name}"'
            raise InputError(f"{name}: runs {both} would have the same directory, {place}")
        names[place] = run.name
    return runs


def check_run(name: str, run: Run) -> None:
    """Raises InputError where a field's value is of another type than the core takes."""
    check_fields(name, run, run)
    for other in run.beside:
        check_fields(name, run, other)


def check_fields(name: str, run: Run, job: Run | Beside) -> None:
    def wrong(field: str, why: str) -> InputError:
        return InputError(f"{name}: run {run.name!r}: {field}={getattr(job, field)!r}: {why}")

    for each in fields(job):
        value = getattr(job, each.name)
        if each.type == "str" and not isinstance(value, str):
            raise wrong(each.name, "a text is expected")
        if each.type == "int" and not isinstance(value, int):
            raise wrong(each.name, "a whole number is expected")
        if each.type == "Sequence[str]":
            if isinstance(value, str):
                raise wrong(each.name, "a list of texts is expected")
            for part in value:
                if not isinstance(part, str):
                    raise wrong(each.name, f'{part!r} is no text; write "{part}"')


@contextlib.contextmanager
def blamed(name: str, error_type: type[Exception], what: str) -> Iterator[None]:
    """What goes wrong in a user's experiment is said in a line, with the line of its file. Where it
    is what the file hands to us, as draw=None, there is no such line: `what` names it."""
    try:
        yield
    except (InputError, RunFailed):
        raise
    except Exception as error:
        folder = Path(name).resolve().parent
        frames = traceback.extract_tb(error.__traceback__)
        own_frames = [frame for frame in frames if folder in Path(frame.filename).parents]
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        if not is_own(name):
            raise
        if own_frames:
            where = own_frames[-1]
            raise error_type(f"{where.filename}:{where.lineno}: in {where.name}: {text}") from error
        if frames[-1].filename != __file__ or isinstance(error, OSError):
            raise
        raise error_type(f"{name}: {what}: {text}") from error


def choose(wanted: Sequence[str]) -> list[str]:
    """The experiments that are meant: each by its name, or all of a machine by the machine's; a
    file of the user's, or all of a folder."""
    every = names()
    chosen: list[str] = []
    for text in wanted:
        family = text.removesuffix("…").removesuffix("...").removesuffix("/") + "/"
        matching = [text] if text in every else [name for name in every if name.startswith(family)]
        matching = matching or own(text)
        if not matching:
            raise InputError(unknown(text, every))
        chosen += [name for name in matching if name not in chosen]
    return chosen


def own(text: str) -> list[str]:
    """The user's experiments that `text` means: a file, or all of a folder."""
    path = Path(text)
    if path.is_dir():
        return sorted(str(each) for each in path.iterdir() if shown(each))
    return [text] if is_own(text) and path.is_file() else []


def unknown(text: str, every: Sequence[str]) -> str:
    """Why `text` means no experiment."""
    import difflib

    if is_own(text):
        return f"{text}: {'no regular file' if Path(text).exists() else 'no such file'}"
    if Path(text).is_dir():
        return f"{text}: the folder has no experiment, a file that ends in .py"
    if Path(text).exists():
        return f"{text}: no experiment: it would be a Python file, and end in .py"
    machines = dict.fromkeys(name.partition("/")[0] for name in every)
    near = difflib.get_close_matches(text, [*every, *machines], 3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    more = "or a file of yours that ends in .py, or a folder of such"
    return f"no experiment {text!r}; there are: {', '.join(every)}, {more}{hint}"


def carry_out(
    name: str,
    directory: Path,
    *,
    quick: bool,
    jobs: int,
    progress: Progress,
    sandbox: simulation.Sandbox = simulation.SANDBOX,
) -> Done:
    """Runs an experiment and writes its results into `directory`, which is empty or new."""
    experiment = load(name)
    runs = runs_of(name, quick=quick)
    outputs = run_all(name, runs, directory / "runs", jobs, progress, sandbox)
    with blamed(name, RunFailed, "report"):
        report = experiment.report(outputs)
        if not isinstance(report, Report):
            raise RunFailed(f"{name}: report returns {report!r}, which is no Report")
        for table in report.tables:
            write_csv(directory / f"{table.name}.csv", table)
        full = text(Done(name, experiment, directory, report))
    (directory / "report.txt").write_text(full + "\n")
    if not callable(report.draw):
        raise RunFailed(
            f"{name}: Report(draw={report.draw!r}): a function that draws on a Figure is expected; "
            f"tables and report are in {directory}"
        )
    with blamed(name, RunFailed, "draw"):
        draw(report, directory)
    write_stamp(directory / STAMP, name, quick=quick)
    return Done(name, experiment, directory, report)


def run_all(
    name: str,
    runs: Sequence[Run],
    directory: Path,
    jobs: int,
    progress: Progress,
    sandbox: simulation.Sandbox = simulation.SANDBOX,
) -> dict[str, Output]:
    """The outputs by the names of the runs. `progress` gets the number of those that are done."""
    folder = folder_of(name)
    programs = build(name, runs)
    recorded = {run.replay.of for run in runs if run.replay}
    if recorded:
        directory.mkdir(parents=True, exist_ok=True)
    stop: int | None = None
    outputs: dict[str, Output] = {}

    def one(run: Run) -> Output:
        first, *others = (str(programs[program, tuple(run.flags)]) for program in run.programs)
        beside = [
            simulation.Program(other.ranks, program, other.arguments)
            for other, program in zip(run.beside, others, strict=True)
        ]
        job = simulation.Job(
            machine_of(folder, run), run.ranks, first, run.arguments, run.sets,
            others=beside, threads=1, sandbox=sandbox,
            access_times=run.access_times, profile=run.profile,
            record=recording(directory, run.name) if run.name in recorded else None,
        )  # fmt: skip
        place = directory / simulation.short_name(run.name)
        if run.replay:
            job.only = only_rank(directory, run.replay)
            if run.replay.begins_as:
                about = outputs[run.replay.begins_as].initialised_ps(run.replay.rank)
                here = initialised_ps(job, run, place, about, lambda: stop)
                there = outputs[run.replay.of].initialised_ps(run.replay.rank)
                shift = here - int(Fraction(run.replay.ratio) * there)
                job.only = replace(job.only, shift=f"{shift}ps")
        result = simulation.execute_quietly(job, place, lambda: stop)
        for summary in result.summaries:
            if summary["outcome"] != "finished" or summary["exit_status"]:
                text = f"{simulation.ending(summary)}, status {summary['exit_status']}"
                raise RunFailed(f"{name}: {text}; the run is in {place}")
        return Output(run, place / "job0" if run.beside else place, result.summary)

    found: dict[str, Output] = {}

    def take(run: Run, output: Output) -> None:
        found[run.name] = output
        progress(len(found), len(runs))

    def end(signal: int) -> None:
        nonlocal stop
        stop = signal

    # A recording is whole before what it drives begins.
    stages = [[run for run in runs if not run.replay], [run for run in runs if run.replay]]
    for stage in stages:
        side_by_side(one, stage, jobs, take, end)
        outputs.update((run.name, found[run.name]) for run in stage)
    return outputs


def prepare(names: Sequence[str], *, quick: bool) -> None:
    """Builds the programs of experiments. What can't be built is said before the first of them is
    carried out, which may take hours."""
    for name in names:
        build(name, runs_of(name, quick=quick))


def build(name: str, runs: Iterable[Run]) -> dict[tuple[str, tuple[str, ...]], Path]:
    """The executables of runs of an experiment, by program and flags."""
    folder, elsewhere = folder_of(name), load(name).elsewhere
    wanted = dict.fromkeys((program, tuple(run.flags)) for run in runs for program in run.programs)
    for program, _ in wanted:
        check_program(name, program, elsewhere)
    return {each: executable(folder, *each, elsewhere) for each in wanted}


def machine_of(folder: Path, run: Run) -> str:
    """The machine's name; that of a file is relative to the experiment's folder."""
    is_file = run.machine.endswith(".toml") or ".toml/" in run.machine
    return str(folder / run.machine) if is_file else run.machine


def recording(directory: Path, name: str) -> Path:
    """Where the recording of the run with this name is."""
    return directory / f"{simulation.short_name(name)}.recording"


def only_rank(directory: Path, replay: Replay) -> simulation.OnlyRank:
    arrivals = recording(directory, replay.of)
    return simulation.OnlyRank(
        replay.rank, arrivals, replay.ratio, ignored_lines=replay.ignored_lines
    )


def initialised_ps(
    job: simulation.Job, run: Run, place: Path, about_ps: int, stop: Callable[[], int | None]
) -> int:
    """When MPI_Init of the one rank that `job` simulates ends, about `about_ps`: by a run that is
    stopped soon after, to which nothing of the recording comes."""
    assert job.only
    rank, limit_ps = job.only.rank, about_ps
    while True:
        limit_ps += MARGIN_PS
        sandbox = replace(job.sandbox, limit_time=f"{limit_ps} ps")
        only = simulation.OnlyRank(rank, job.only.arrivals, shift=NEVER)
        alone = replace(job, only=only, sandbox=sandbox, access_times=False, profile=False)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            directory = Path(scratch) / "run"
            result = simulation.execute_quietly(alone, directory, stop)
            found = Output(run, directory, result.summary).initialised_ps(rank)
        if found:
            return found
        if result.summary.get("limit") != "time":
            raise RunFailed(
                f"{run.name}: {simulation.ending(result.summary)} before MPI_Init ended"
            )
        limit_ps *= 2


def executable(
    folder: Path, program: str, flags: Sequence[str], elsewhere: Mapping[str, Elsewhere]
) -> Path:
    """What to run for `program`: examples/NAME is one of the examples, bench/NAME one of
    guest/bench, KIND/NAME one of `elsewhere`, an absolute path an executable that is there already,
    anything else a C file in `folder`, without its ending."""
    if Path(program).is_absolute():
        return Path(program)
    kind, _, name = program.partition("/")
    if kind in elsewhere:
        return elsewhere[kind].build(name)
    source = source_of(folder, program)
    return compiler.compiled(source, [*FLAGS, *flags, *local_store.flags_of_host(source)])


def source_of(folder: Path, program: str) -> Path:
    kind, _, name = program.rpartition("/")
    return folders_of_programs(folder).get(kind, folder) / f"{name}.c"


def folders_of_programs(folder: Path) -> dict[str, Path]:
    """By KIND, where `Run.program` is KIND/NAME; the experiment's own has none."""
    return {"": folder, "examples": cache.EXAMPLES, "bench": toolchain.GUEST / "bench"}


def check_program(name: str, program: str, elsewhere: Mapping[str, Elsewhere]) -> None:
    """Raises InputError where an experiment's program is not there. What `elsewhere` lacks it says
    itself."""
    import difflib

    folder, path = folder_of(name), Path(program)
    if not path.is_absolute():
        if program.partition("/")[0] in elsewhere:
            return
        path = source_of(folder, program)
    if path.is_file():
        return
    known: dict[str, list[str]] = {}  # by what stands behind the last slash
    for kind, place in folders_of_programs(folder).items():
        for source in sorted(each for each in place.glob("*.c") if each.is_file()):
            known.setdefault(source.stem, []).append(f"{kind}/{source.stem}".lstrip("/"))
    near = difflib.get_close_matches(program.rpartition("/")[2], known, 3)
    hint = ", ".join(each for stem in near for each in known[stem])
    why = f"{path}: {'no regular file' if path.exists() else 'no such file'}"
    mean = f"; did you mean {hint}?" if hint else ""
    raise InputError(f'{name}: no program "{program}" ({why}){mean}')


# --- results -------------------------------------------------------------------------------------


def write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows([cell(value) for value in row] for row in table.rows)


def write_stamp(path: Path, name: str, *, quick: bool) -> None:
    """What was measured, so that old results can be recognised."""
    content = {
        "experiment": name,
        "quick": quick,
        "version": chasqui.__version__,
        **fingerprints(name, quick=quick),
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


def fingerprints(name: str, *, quick: bool, later: Sequence[str] = ()) -> dict[str, str]:
    """Of what an experiment asks: its points (runs with their arguments), the parameters of their
    machines, their programs; of the software that comes with Chasqui; and of how results are read
    from the runs. What the models do is in none of them, nor are programs from elsewhere, as NPB's.
    `later`: names of parameters that have come since; while they have their defaults they are left
    out."""
    folder = folder_of(name)
    experiment = load(name)
    runs = [
        run
        for run in experiment.runs(quick)
        if not any(is_from_elsewhere(experiment, program) for program in run.programs)
    ]
    machines = {(machine_of(folder, run), tuple(run.sets)) for run in runs}
    sources = {source_of(folder, program) for run in runs for program in run.programs}
    beside = {source.with_suffix(".spe.c") for source in sources}
    sources |= {source for source in beside if source.is_file()}
    headers = {header for source in sources for header in source.parent.glob("*.h")}
    return {
        "points": digest(point(run) for run in runs),
        "parameters": digest(values(machine, sets, later) for machine, sets in machines),
        "programs": digest(COMMENT.sub("", path.read_text()) for path in sources | headers),
        "software": digest(
            software({machine.partition("/")[0] for machine in [name, *named(runs)]})
        ),
        "readings": digest(meaning(path) for path in readers(name)),
    }


def is_from_elsewhere(experiment: Experiment, program: str) -> bool:
    return Path(program).is_absolute() or program.partition("/")[0] in experiment.elsewhere


def software(machines: Iterable[str]) -> Iterator[str]:
    """The texts of what programs of these machines may execute beside themselves, without comments
    and spaces, and without the list of devices."""
    for folder, path in software_files(machines):
        place = path.relative_to(folder)
        text = LISTED.sub("", COMMENT.sub("", path.read_text()))
        yield " ".join([str(place), *text.split()])


def software_files(machines: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """MPI library, C functions, kernel, the machines' devices, drivers and firmware: folders, and
    files in them. A header of the guest's that has a machine's registers (`nes.h`) is that
    machine's."""
    machines = set(machines)
    guest = [path for path in toolchain.GUEST.iterdir() if path.is_dir()]
    folders = [path for path in guest if path.name not in PROGRAMS]
    for folder in [*folders, *(cache.MACHINES / machine for machine in machines)]:
        for path in folder.rglob("*"):
            counts = path.suffix in SOURCES and path.relative_to(folder).parts[0] != "experiments"
            if counts and machines.issuperset(REGISTERS.findall(path.read_text())):
                yield folder, path


def readers(name: str) -> set[Path]:
    """The modules that make an experiment's tables of its runs: its own, neighbours that it uses,
    and what these use of the package. Not what makes programs: that comes before the runs."""
    found, todo = {chasqui.experiment}, [module_of(name)]
    while todo:
        module = todo.pop()
        if module in found:
            continue
        found.add(module)
        values = vars(module).values()
        names = {
            getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in values
        }
        for other in (
            sys.modules[name] for name in names if isinstance(name, str) and name in sys.modules
        ):
            if other.__name__.startswith(f"{module.__package__}."):
                todo.append(other)
            elif other.__name__.startswith("chasqui."):
                found.add(other)
    found.discard(toolchain)
    return {Path(str(module.__file__)) for module in found}


def meaning(module: Path) -> str:
    """What a Python module says without comments, layout and documentation."""
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
    return ast.unparse(tree)


def named(runs: Iterable[Run]) -> list[str]:
    """The machines of runs, but for those that are files."""
    return [run.machine for run in runs if ".toml" not in run.machine]


def point(run: Run) -> str:
    """A run without what is as always, so that a new field of `Run` changes no fingerprint."""
    said = {each.name: getattr(run, each.name) for each in fields(run)}
    usual = {each.name: each.default for each in fields(run)} | {"sets": run.sets}
    text = repr({name: value for name, value in said.items() if value != usual[name]})
    # Machine files of the package are wherever that is installed.
    return text.replace(f"{cache.MACHINES}/", "")


def values(machine: str, sets: Sequence[str], later: Sequence[str]) -> str:
    """Of a machine's parameters, but those of `later` that have their defaults, and those of how it
    is simulated and checked, which move no result."""

    def is_usual(each: dict[str, Any]) -> bool:
        # A value is shown with its unit, which a default may lack.
        return f"{each['value']} ".startswith(f"{each['default']} ")

    every = core.parameters(machine, sets)
    counted = [
        each
        for each in every
        if not each["name"].startswith("check.")
        and (each["name"] not in later or not is_usual(each))
    ]
    return repr([(each["name"], each["value"]) for each in counted])


def digest(texts: Iterable[str]) -> str:
    """Of texts whose order doesn't matter."""
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()[:16]


def draw(report: Report, directory: Path) -> None:
    """The picture as SVG and PNG: the same bytes from the same results."""
    from chasqui.experiment import drawing, svg

    figure = drawing.figure(report.size_inches)
    report.draw(figure)
    picture = StringIO()
    figure.savefig(picture, format="svg", metadata=SVG_METADATA)
    (directory / "picture.svg").write_text(svg.compact(picture.getvalue()))
    figure.set_layout_engine("none")  # another layout takes as long as a picture
    figure.savefig(directory / "picture.png", dpi=PICTURE_DPI)


def text(done: Done, columns: int = 0) -> str:
    """The report for people; its sentences in lines of up to `columns` (0: each in one)."""
    lines = (filled(f"- {each}", max(columns - 2, 0)) for each in done.report.findings)
    findings = "\n".join(each.replace("\n", "\n  ") for each in lines)
    question = filled(done.experiment.question, columns)
    return "\n\n".join([done.name, question, done.report.text, findings])


def as_json(done: Done) -> str:
    content: Mapping[str, Any] = {
        "name": done.name,
        "question": done.experiment.question,
        "directory": str(done.directory),
        "tables": {table.name: table.records() for table in done.report.tables},
        "findings": list(done.report.findings),
    }
    return json.dumps(content, indent=2)
