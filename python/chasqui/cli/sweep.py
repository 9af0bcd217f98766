"""`chasqui sweep`: one program at every point of a product, one table."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chasqui.cli import options
from chasqui.cli.compare import BeforeTheDashes
from chasqui.defaults import MACHINE, REPEAT_MAX
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.simulation import Job
    from chasqui.sweeping.axes import Axis
    from chasqui.sweeping.points import Axes, Point
    from chasqui.sweeping.store import Row

HELP = """Runs PROGRAM at every point of a sweep: the product of machines, values of parameters,
numbers of ranks, values of arguments, repetitions. Each run has a directory and a row of one table,
results.parquet, with all that went into it (machine, parameters, ranks, arguments, SHA-256 of the
program) and what came out (outcome, times, messages, instructions, shares of time). A point that
fails is a row with its message, and the others go on.

{n} in the program's name or arguments is replaced by each value of --arg n=1,2,4; {np} by the
number of ranks. {{n}} stands for {n} itself.

FILE.toml says the same as the options, by their names; an option that is given as well holds.

Points run side by side, as many as there are processors, on Dask's workers, also on other hosts
(--scheduler). --resume goes on where a sweep was ended, by Ctrl-C or kill -9 or a lost host: only
points without a whole row run. A point is known by a hash of all its inputs: if the program has
changed, its points run anew.

The exit status is the largest of all runs. If one of them cannot start, none does, and the status
is 2.

\b
Examples:
  chasqui sweep --machine loggp,voyager --np 2,4,8 -- ./ring
  chasqui sweep --machine voyager --np 4 \\
      --set node.core.clock='100 MHz,200 MHz' \\
      --arg g=16,32,64 --plot x=g by=node.core.clock -- ./cg -g {g}
  chasqui sweep clocks.toml --out clocks
  chasqui sweep --resume clocks
"""

SHOWN_MAX = 40  # rows on the terminal; the table has all
PLOT_WORDS = re.compile(r"(?:x|y|by)=.*")
# Of the options, those that are no part of what is swept over.
NOT_KEPT = ("file", "directory", "resume", "workers", "scheduler", "quiet")
TABLES = ("set", "mpi", "arg", "env")


class List(click.ParamType[tuple[str, ...]]):
    """`a,b`, or a list of a file's, whose texts may have commas."""

    name = "list"

    def convert(self, value: Any, parameter: Any, context: Any) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        found = tuple(part.strip() for part in value.split(","))
        if "" in found:
            self.fail(f"{value!r}: values with commas between are expected", parameter, context)
        return found


class Ranks(List):
    """`2,4,8`."""

    name = "ranks"

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        if isinstance(value, int):
            value = str(value)
        found = []
        for each in super().convert(value, parameter, context):
            text = str(each)
            if not text.isdecimal() or not 0 < int(text) <= options.COUNT_MAX:
                self.fail(f"{text!r} is no number of ranks, at least 1", parameter, context)
            found.append(int(text))
        return tuple(found)


class NamedList(List):
    """`NAME=a,b`."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        if not isinstance(value, str):
            return tuple(value)
        name, _, values = value.partition("=")
        if not name or not values:
            self.fail(f"{value!r}: NAME=VALUE,VALUE,… is expected", parameter, context)
        return name, super().convert(values, parameter, context)


class Plot(click.ParamType[dict[str, str]]):
    """`x=np y=time_ps by=machine`, of which each may be left out."""

    name = "plot"

    def convert(self, value: Any, parameter: Any, context: Any) -> dict[str, str]:
        if not isinstance(value, str):
            return dict(value)
        found: dict[str, str] = {}
        for word in value.split():
            name, equals, column = word.partition("=")
            if name not in ("x", "y", "by") or not equals or not column or name in found:
                self.fail(f"{value!r}: x=COLUMN y=COLUMN by=COLUMN is expected", parameter, context)
            found[name] = column
        if not found:
            self.fail("x=COLUMN y=COLUMN by=COLUMN is expected", parameter, context)
        return found


class Command(BeforeTheDashes):
    """Takes the words behind --plot together, and what a file says as the options' defaults."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ends = args.index("--") if "--" in args else len(args)
        words = joined_plots(args[:ends])
        given, _, _ = self.make_parser(ctx).parse_args(list(words))
        place, spec = spec_of(given)
        if spec:
            ctx.meta["chasqui.program"] = program_of(spec)
            ctx.default_map = defaults(self, spec)
        try:
            return super().parse_args(ctx, [*words, *args[ends:]])
        except click.BadParameter as error:
            name = error.param.name if error.param else None
            if ctx.get_parameter_source(name or "") == click.core.ParameterSource.DEFAULT_MAP:
                key = next(key for key, each in keys(self).items() if each.name == name)
                error.param_hint = f"{place}: {key}"
            raise


def joined_plots(words: Sequence[str]) -> list[str]:
    """`--plot x=a y=b` as two words."""
    found: list[str] = []
    in_plot = False
    for word in words:
        if in_plot and PLOT_WORDS.fullmatch(word):
            found[-1] = f"{found[-1]} {word}".strip()
        elif word == "--plot":
            found += [word, ""]
            in_plot = True
        else:
            in_plot = word.startswith("--plot=")
            found.append(word)
    return found


def spec_of(given: Mapping[str, Any]) -> tuple[Path | None, dict[str, Any]]:
    """What a file says of the sweep, and which: one that is named, else that of the sweep to go on
    with. `given` is what stands on the command line."""
    file, resume = given.get("file"), given.get("resume")
    if given.get("help"):
        return None, {}
    if isinstance(file, str) and file.endswith(".toml"):
        return Path(file), read_toml(Path(file))
    if isinstance(resume, str):
        from chasqui.sweeping import store

        found = store.read_spec(Path(resume))
        check_spec(Path(resume) / store.SPEC, found)
        return Path(resume) / store.SPEC, found
    return None, {}


def read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    from chasqui import files

    if not path.exists():
        raise InputError(f"{path}: no such file")
    try:
        found: dict[str, Any] = tomllib.loads(files.read_text(path, "", files.TEXT_MAX))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    check_spec(path, found)
    return found


def keys(command: click.Command) -> dict[str, click.Option]:
    """The names that a file has, and whose they are: `limit-time`, `np`."""
    return {
        max(each.opts, key=len).lstrip("-"): each
        for each in command.params
        if isinstance(each, click.Option) and each.name not in NOT_KEPT and each.name != "help"
    }


def check_spec(path: Path, spec: Mapping[str, Any]) -> None:
    """Raises InputError where a file has an unknown name, or values of another kind."""
    known = keys(sweep)
    for name, value in spec.items():
        if name != "program" and name not in known:
            allowed = ", ".join(["program", *known])
            raise InputError(f"{path}: unknown name {name!r}; there are: {allowed}")
        if name in TABLES:
            if not isinstance(value, dict):
                raise InputError(f"{path}: {name}: a table of names and values is expected")
            for key, each in value.items():
                check_values(f"{path}: {name}.{key}", each, is_one=name == "env")
        elif getattr(known.get(name), "is_flag", False):
            if not isinstance(value, bool):
                raise InputError(f"{path}: {name}: true or false is expected")
        else:
            is_many = (
                name == "program" or known[name].multiple or isinstance(known[name].type, List)
            )
            check_values(f"{path}: {name}", value, is_one=not is_many)


def check_values(place: str, value: Any, *, is_one: bool) -> None:
    every = value if isinstance(value, list) and not is_one else [value]
    if not every or not all(isinstance(each, str | int | float) for each in every):
        what = "a text or a number" if is_one else "texts and numbers, one or a list of them,"
        raise InputError(f"{place}: {what} is expected")


def program_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    import shlex

    words = spec.get("program", ())
    return tuple(shlex.split(words) if isinstance(words, str) else map(as_text, words))


def as_text(value: Any) -> str:
    """As it would be on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(value: Any) -> tuple[str, ...]:
    return tuple(map(as_text, value if isinstance(value, list) else [value]))


def defaults(command: click.Command, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says, by the names of the command's parameters."""
    found: dict[str, Any] = {}
    for key, parameter in keys(command).items():
        if key not in spec:
            continue
        value = spec[key]
        if key == "env":
            value = [f"{name}={as_text(each)}" for name, each in value.items()]
        elif key in TABLES:
            value = [(name, texts(each)) for name, each in value.items()]
        elif isinstance(parameter.type, List) or parameter.multiple:
            value = texts(value)
        elif not isinstance(value, bool):
            value = as_text(value)
        found[str(parameter.name)] = value
    return found


def axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what is swept over: `axes`."""

    @functools.wraps(function)
    def gathered(
        *arguments: Any,
        machines: tuple[str, ...],
        ranks: tuple[int, ...],
        sets: tuple[Axis, ...],
        mpi: tuple[Axis, ...],
        values: tuple[Axis, ...],
        repeat: int,
        **others: Any,
    ) -> Any:
        from chasqui.sweeping.axes import arguments_of, check_once, parameters_of
        from chasqui.sweeping.points import Axes

        check_once("--machine", machines)
        check_once("-np", ranks)
        named = [*sets, *((f"mpi.{name}", each) for name, each in mpi)]
        found = Axes(
            machines, ranks, parameters_of(named, "--set"), arguments_of(values, "--arg"), repeat
        )
        return function(*arguments, axes=found, **others)

    result: Callable[..., Any] = gathered
    for option in reversed(_axes()):
        result = option(result)
    return result


def _axes() -> list[options.Decorator]:
    return [
        click.option(
            "--machine", "-m", "machines", type=List(), metavar="MACHINE,…",
            shell_complete=options.offer("machines"),
            default=MACHINE, show_default=True,
            help="Machines: NAME, NAME/VARIANT, or .toml files.",
        ),
        click.option(
            "-np", "--np", "-n", "ranks", type=Ranks(), metavar="RANKS,…", default="1",
            show_default=True, help="Numbers of MPI ranks.",
        ),
        click.option(
            "--set", "sets", type=NamedList(), multiple=True, metavar="KEY=VALUE,…",
            help="Values of a parameter, with their units: --set node.core.clock='1 GHz,2 GHz'. "
            "Repeatable. `chasqui info MACHINE` lists parameters.",
        ),
        click.option(
            "--mpi", "mpi", type=NamedList(), multiple=True, metavar="KEY=VALUE,…",
            help="The same of what the MPI library does. Short for --set mpi.KEY=VALUE,…",
        ),
        click.option(
            "--arg", "values", type=NamedList(), multiple=True, metavar="NAME=VALUE,…",
            help="Values that {NAME} in the program's arguments takes. Repeatable.",
        ),
        click.option(
            "--repeat", type=click.IntRange(1, REPEAT_MAX), default=1, show_default=True,
            metavar="N",
            help="Run each point N times, with other seeds of the random numbers that programs "
            "ask for, of faults of links (network.fault), and of --jitter. What depends on none of "
            "them is the same each time.",
        ),
    ]  # fmt: skip


def commands() -> dict[str, click.Command]:
    return {"sweep": sweep}


@click.command(
    "sweep", cls=Command, help=HELP, options_metavar="[FILE.toml] [OPTIONS] -- PROGRAM [ARGS]...",
    context_settings=options.SETTINGS_AFTER,
)  # fmt: skip
@click.argument("file", required=False, metavar="")
@axes
@click.option(
    "--out", "directory", metavar="DIR",
    help="Put the table and the run directories into DIR (default: runs/sweep-PROGRAM, numbered).",
)  # fmt: skip
@click.option(
    "--resume", metavar="DIR",
    help="Go on with the sweep in DIR: run what is missing. It is as it was begun, unless a file, "
    "options or a program say otherwise; what has been run of that is taken.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 4096), metavar="N",
    help="Runs at a time, each a process (default: as many as there are processors). Results are "
    "the same with any number.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS",
    help="Run on the workers of the Dask scheduler at ADDRESS, tcp://host:port. They must have "
    "this version of Chasqui, and see this folder under the same name.",
)  # fmt: skip
@click.option(
    "--plot", "plots", type=Plot(), multiple=True, metavar="[x=COLUMN] [y=COLUMN] [by=COLUMN]",
    help="Draw column y over x, a colour for each value of `by`, into report.html of the "
    "directory. Repeatable: a chart each. `chasqui report DIR` draws it later.",
)  # fmt: skip
@click.option(
    "--jitter", metavar="TIME",
    help="Ranks begin at times from 0 to TIME, drawn by each repetition's seed: with --repeat, "
    "what a figure owes to chance. Charts show it as bars.",
)  # fmt: skip
@options.surroundings
@options.quiet("No progress on the terminal.")
@click.pass_context
def sweep(
    ctx: click.Context,
    file: str | None,
    axes: Axes,
    settings: dict[str, Any],
    directory: str | None,
    resume: str | None,
    workers: int | None,
    scheduler: str | None,
    plots: tuple[dict[str, str], ...],
    jitter: str | None,
    quiet: bool,
) -> int:
    from chasqui.sweeping import points, whole

    check_options(file, directory, resume, workers, scheduler)
    if jitter is not None and axes.repeat == 1:
        raise InputError(f"--jitter {jitter}: one run has no spread; --repeat 2 or more is allowed")
    job = job_of(ctx.meta.get("chasqui.program", ()), {**settings, "jitter": jitter})
    found = points.product(axes, job, "--arg")
    whole.check_plots(found, plots)
    spec = kept(ctx, axes, settings, plots)
    with whole.place_of(job, directory, resume) as place:
        rows = whole.carry_out(
            found, place, spec, workers=workers, scheduler=scheduler, quiet=quiet
        )  # fmt: skip
        show(found, rows, place)
        if plots:
            print(f"charts          {whole.draw(place)}")
    return max(int(row.figures["exit_status"]) for row in rows.values())


def check_options(
    file: str | None,
    directory: str | None,
    resume: str | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    if file is not None and not file.endswith(".toml"):
        raise InputError(
            f"{file}: a sweep is said by a file that ends in .toml, or by options; the program "
            "comes behind --: chasqui sweep --np 2,4 -- ./ring"
        )
    if directory is not None and resume is not None:
        raise InputError("--out and --resume: the latter names the directory that is gone on with")
    if workers is not None and scheduler is not None:
        raise InputError("--workers and --scheduler: the scheduler has workers of its own")


def job_of(words: tuple[str, ...], settings: dict[str, Any]) -> Job:
    """What the points have in common."""
    from chasqui import simulation

    if not words:
        raise InputError("no program was named: chasqui sweep --np 2,4 -- ./program arguments")
    program, arguments, beside = options.check_program(words)
    return simulation.Job(
        "", 0, program, arguments, beside=beside, threads=1, **settings
    )  # fmt: skip


def kept(
    ctx: click.Context, axes: Axes, settings: Mapping[str, Any], plots: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """The options as a file says them, to go on with."""
    found: dict[str, Any] = {
        "program": list(ctx.meta["chasqui.program"]),
        "machine": list(axes.machines),
        "np": list(axes.ranks),
        "set": {name: list(values) for name, values in axes.sets.items()},
        "arg": {name: list(values) for name, values in axes.arguments.items()},
        "repeat": axes.repeat,
        "env": dict(settings["environment"]),
        "plot": [" ".join(f"{name}={column}" for name, column in each.items()) for each in plots],
    }
    found = {name: value for name, value in found.items() if value}
    for key, parameter in keys(sweep).items():
        source = ctx.get_parameter_source(str(parameter.name))
        if (
            key not in found
            and key not in ("mpi", "plot")
            and source != click.core.ParameterSource.DEFAULT
        ):
            found[key] = ctx.params[str(parameter.name)]
    return found


def show(found: Sequence[Point], rows: Mapping[str, Row], place: Path) -> None:
    """The table for people, as far as it is short; what failed; where all of it is."""
    from chasqui.sweeping import store, whole
    from chasqui.text import simulated_time, stdout_columns, table

    varied = whole.varied(found)
    cells, reasons = [], []
    for point in found:
        row = rows[point.key]
        named = [str(point.inputs[name]) for name in varied]
        times = [row.figures.get(name) for name in ("init_to_finalize_ps", "time_ps")]
        shown = [simulated_time(ps) if ps is not None else "-" for ps in times]
        cells.append([*named, *shown, row.figures["outcome"]])
        if row.figures["message"]:
            pairs = (f"{name} {value}" for name, value in zip(varied, named, strict=True))
            where = f" ({row.directory})" if row.directory else ""
            reasons.append(f"{', '.join(pairs) or 'it'}: {row.figures['message']}{where}")
    if len(cells) <= SHOWN_MAX:
        header = [*varied, "Init to Finalize", "whole run", "outcome"]
        left = [*range(len(varied)), len(header) - 1]
        print(table(header, cells, left=left, columns=stdout_columns()))
    for reason in reasons[:SHOWN_MAX]:
        print(reason)
    if len(reasons) > SHOWN_MAX:
        print(f"and {len(reasons) - SHOWN_MAX} more that failed: the table's column message")
    failed = f", {len(reasons)} of which failed" if reasons else ""
    print(f"points          {len(found)}{failed}")
    print(f"table           {place / store.RESULTS}")
