"""Options that several commands share."""

from __future__ import annotations

import functools
import itertools
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chasqui import defaults
from chasqui.errors import InputError, check_text

if TYPE_CHECKING:
    from chasqui.simulation import Program, Sandbox

SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    # Everything from the program's name on is the program's.
    "allow_interspersed_args": False,
}
# For commands without a program.
SETTINGS_AFTER = {**SETTINGS, "allow_interspersed_args": True}
COUNT_MAX = (1 << 63) - 1
CALLED = "'[-np RANKS] PROGRAM [ARGS]...'"  # as a further program is named

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def offer(what: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """What a shell completes, by a function of completion.py, which is loaded when one asks."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from chasqui.cli import completion

        return getattr(completion, what)(ctx, parameter, incomplete)

    return complete


class Count(click.types.IntParamType):
    """A number that the simulator can be asked; what it allows, it says itself."""

    def convert(self, value: Any, parameter: Any, context: Any) -> int:
        count: int = super().convert(value, parameter, context)
        if abs(count) > COUNT_MAX:
            said = f"is not in the range that can be asked for, up to {COUNT_MAX}"
            self.fail(f"{count} {said}", parameter, context)
        return count


COUNT = Count()


def _ranks() -> Decorator:
    return click.option(
        "-np", "-n", "ranks", type=COUNT, default=1, show_default=True, metavar="RANKS",
        help="Number of MPI ranks (processes).",
    )  # fmt: skip


def _ranks_per_node() -> Decorator:
    return click.option(
        "--ranks-per-node", type=COUNT, default=None, metavar="RANKS",
        help="Ranks on each node; default: 1, on cell as many as there are SPEs. Its harts "
        "(--set node.harts=N) must be a multiple of RANKS: each "
        "rank gets an equal share. With node.software.kernel=true ranks may share harts; "
        "--mpi wait.polls=50 has them yield. Messages within a node go through the NI and the "
        "network's nearest router unless --mpi local.channel=memory.",
    )  # fmt: skip


def _map_by() -> Decorator:
    return click.option(
        "--map-by", type=click.Choice(["slot", "node"]), default="slot", show_default=True,
        help="slot: ranks fill a node before the next; node: one to each node in turn.",
    )  # fmt: skip


def machine() -> Decorator:
    option = click.option(
        "--machine", "-m", "machine", metavar="MACHINE", default=defaults.MACHINE,
        shell_complete=offer("machines"),
        envvar="CHASQUI_MACHINE",
        help="NAME, NAME/VARIANT, or a .toml file (default: $CHASQUI_MACHINE, else loggp). "
        "`chasqui machines` lists them.",
    )  # fmt: skip

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*arguments: Any, machine: str, **others: Any) -> Any:
            try:
                return function(*arguments, machine=machine, **others)
            except InputError as error:
                variable = variable_of("machine")
                if variable and str(error).startswith(f'machine "{machine}"'):
                    raise InputError(f"{variable}: {error}") from None
                raise

        result: Callable[..., Any] = option(named)
        return result

    return decorated


def sets() -> Decorator:
    return click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", shell_complete=offer("sets"),
        help="Change a parameter, with its unit: --set node.core.clock='2 GHz'. Repeatable. "
        "`chasqui info MACHINE` lists them.",
    )  # fmt: skip


def sizes() -> Decorator:
    return click.option(
        "--sizes", metavar="BYTES,...",
        help="Message sizes [bytes] (default: 1,8,64,512,4096,16384,32768,65536).",
    )  # fmt: skip


def _mpi() -> Decorator:
    return click.option(
        "--mpi", "mpi", multiple=True, metavar="KEY=VALUE", shell_complete=offer("mpi"),
        help="Change what the MPI library does: --mpi coll.allreduce=ring forces an algorithm. "
        "Short for --set mpi.KEY=VALUE. Repeatable. `chasqui info MACHINE mpi` lists them.",
    )  # fmt: skip


def _environment() -> Decorator:
    return click.option(
        "--env", "environment", multiple=True, metavar="NAME[=VALUE]",
        help="An environment variable of every rank (they have none otherwise). Without =VALUE: "
        "its value here. Repeatable.",
    )  # fmt: skip


def _timeline() -> Decorator:
    return click.option(
        "--timeline", type=click.IntRange(0, defaults.TIMELINE_MAX),
        default=defaults.TIMELINE_CALLS, show_default=True, metavar="CALLS",
        help="MPI calls of each rank that timeline.json holds; 0: no such file.",
    )  # fmt: skip


def sandbox(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what programs may do to the host: `sandbox`, a simulation.Sandbox."""

    @functools.wraps(function)
    def gathered(
        *arguments: Any,
        binds: tuple[str, ...],
        host_files: bool,
        limit_time: str | None,
        limit_host_time: str | None,
        limit_output: str | None,
        limit_memory: str | None,
        **others: Any,
    ) -> Any:
        from chasqui.simulation import Sandbox

        sandbox = Sandbox(
            binds, host_files, limit_time, limit_host_time, limit_output, limit_memory,
            binds_by=variable_of("binds"),
        )  # fmt: skip
        return function(*arguments, sandbox=sandbox, **others)

    result: Callable[..., Any] = gathered
    for option in (*reversed(_limits()), _host_files(), _binds()):
        result = option(result)
    return result


def variable_of(name: str) -> str | None:
    """The environment variable that gave the option, if one did: errors name it."""
    context = click.get_current_context()
    if context.get_parameter_source(name) != click.core.ParameterSource.ENVIRONMENT:
        return None
    return next(str(each.envvar) for each in context.command.params if each.name == name)


def _binds() -> Decorator:
    return click.option(
        "--bind", "binds", multiple=True, metavar="HOST[:GUEST][:ro]", envvar="CHASQUI_BIND",
        help="Show the programs a file or folder of the host, as GUEST (default: by its own name); "
        "ro: to be read only. Without this they see the working directory alone. Repeatable; "
        "several with spaces between: $CHASQUI_BIND.",
    )  # fmt: skip


def _host_files() -> Decorator:
    return click.option(
        "--host-files", is_flag=True,
        help="Show the programs all of the host's files: they may change and remove what you may.",
    )  # fmt: skip


def _limits() -> list[Decorator]:
    return [
        click.option("--limit-time", metavar="TIME", help="End after this simulated time: '5 ms'."),
        click.option("--limit-host-time", metavar="TIME", help="End after this time: '10 min'."),
        click.option(
            "--limit-output", metavar="SIZE",
            help="End when the programs have written this much to their output and to files "
            "(default: 10 GiB, or half of what is free if that is less).",
        ),
        click.option(
            "--limit-memory", metavar="SIZE",
            help="End when the simulation takes this much of the host's memory (default: nine "
            "tenths of what is available).",
        ),
    ]  # fmt: skip


class Threads(click.ParamType[int]):
    """`auto`, which is 0, or a number."""

    name = "threads"

    def convert(self, value: Any, parameter: Any, context: Any) -> int:
        if value == "auto" or isinstance(value, int):
            return 0 if value == "auto" else value
        if not value.isdecimal() or not 1 <= int(value) <= defaults.THREADS_MAX:
            self.fail(
                f"{value!r} is neither auto nor 1 to {defaults.THREADS_MAX}", parameter, context
            )
        return int(value)


def _threads() -> Decorator:
    return click.option(
        "--threads", type=Threads(), default="auto", envvar="CHASQUI_THREADS", metavar="N",
        help="Host threads (default: $CHASQUI_THREADS, else auto: as many as there are "
        "processors, or one while that is faster). Results are the same bits with any number.",
    )  # fmt: skip


def quiet(doc: str) -> Decorator:
    return click.option("--quiet", "-q", is_flag=True, help=doc)


def surroundings(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where ranks are, what they find there, what is kept of their calls, and
    what they may do to the host.

    The command gets them as one `settings`, arguments of simulation.Job.
    """

    @functools.wraps(function)
    def checked(
        *arguments: Any,
        ranks_per_node: int | None,
        map_by: str,
        environment: tuple[str, ...],
        timeline: int,
        sandbox: Sandbox,
        **others: Any,
    ) -> Any:
        settings = {
            "ranks_per_node": ranks_per_node,
            "map_by": map_by,
            "environment": check_environment(environment),
            "timeline": timeline,
            "sandbox": sandbox,
        }
        return function(*arguments, settings=settings, **others)

    result = sandbox(checked)
    for option in (_timeline(), _environment(), _map_by(), _ranks_per_node()):
        result = option(result)
    return result


def unranked_job(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a program runs whose ranks are known: sets, threads, and its
    surroundings.

    The command gets them as one `settings`, arguments of simulation.Job.
    """

    @functools.wraps(function)
    def checked(
        *arguments: Any,
        sets: tuple[str, ...],
        mpi: tuple[str, ...],
        threads: int,
        settings: dict[str, Any],
        **others: Any,
    ) -> Any:
        more = {"sets": [*check_sets(sets), *check_mpi(mpi)], "threads": threads}
        return function(*arguments, settings={**settings, **more}, **others)

    result = surroundings(checked)
    for option in (_threads(), _mpi(), sets()):
        result = option(result)
    return result


def job(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a program runs: ranks, sets, threads, and its surroundings.

    The command gets them as one `settings`, the arguments of simulation.Job.
    """

    @functools.wraps(function)
    def checked(*arguments: Any, ranks: int, settings: dict[str, Any], **others: Any) -> Any:
        return function(*arguments, settings={**settings, "ranks": check_ranks(ranks)}, **others)

    return _ranks()(unranked_job(checked))


def only(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a rank that is simulated alone: `only` in the command's `settings`."""

    @functools.wraps(function)
    def checked(
        *arguments: Any,
        settings: dict[str, Any],
        only_rank: int | None,
        arrivals: str | None,
        ratio: str | None,
        shift: str | None,
        ignored: tuple[str, ...],
        **others: Any,
    ) -> Any:
        from chasqui import simulation

        if (only_rank is None) != (arrivals is None):
            raise InputError(
                "--only-rank RANK and --arrivals FILE belong together: the file (chasqui record) "
                "stands for the other ranks"
            )
        if only_rank is None or arrivals is None:
            if ratio is not None or shift is not None or ignored:
                raise InputError("--ratio, --shift and --ignore-lines are for --only-rank")
            return function(*arguments, settings=settings, **others)
        context = click.get_current_context()
        if context.get_parameter_source("ranks") == click.core.ParameterSource.DEFAULT:
            settings["ranks"] = 0  # as many as were recorded
        settings["only"] = simulation.OnlyRank(
            only_rank, Path(arrivals), ratio or "1", shift or "0", ignored
        )
        return function(*arguments, settings=settings, **others)

    result: Callable[..., Any] = checked
    for option in (_ignored_lines(), _shift(), _ratio(), _arrivals(), _only_rank()):
        result = option(result)
    return result


def stop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option of an end that is wanted: `stop_at` in the command's `settings`."""

    @functools.wraps(function)
    def checked(
        *arguments: Any, settings: dict[str, Any], stop_at: str | None, **others: Any
    ) -> Any:
        if stop_at is not None and settings.get("only"):
            raise InputError(
                "--stop-at with --only-rank: what the rank does is compared with all of what was "
                "recorded; --limit-time ends it without"
            )
        return function(*arguments, settings={**settings, "stop_at": stop_at}, **others)

    option = click.option(
        "--stop-at", metavar="TIME",
        help="End at this simulated time, '5 ms', with the results so far and as a success: "
        "outcome `stopped`. (--limit-time is for what should not happen.)",
    )  # fmt: skip
    result: Callable[..., Any] = option(checked)
    return result


def _only_rank() -> Decorator:
    return click.option(
        "--only-rank", type=COUNT, metavar="RANK",
        help="Simulate this rank alone, driven by --arrivals, on loggp or any netcache. -np may be "
        "left out.",
    )  # fmt: skip


def _arrivals() -> Decorator:
    return click.option(
        "--arrivals", metavar="FILE", help="The recording that drives it (`chasqui record`)."
    )


def _ratio() -> Decorator:
    return click.option(
        "--ratio", metavar="R",
        help="Simulated time of a unit of recorded time: a message recorded at t arrives at R t. "
        "Below 1 messages come earlier, above later; 0: all are there from the start.  "
        "[default: 1]",
    )  # fmt: skip


def _shift() -> Decorator:
    return click.option(
        "--shift", metavar="TIME",
        help="Recorded messages arrive later by TIME, as 120us, or earlier by that with a sign, "
        "--shift=-120us: so that they count from another time than the start of the run.  "
        "[default: 0]",
    )  # fmt: skip


def _ignored_lines() -> Decorator:
    return click.option(
        "--ignore-lines", "ignored", multiple=True, metavar="TEXT",
        help="Lines of its output that contain TEXT may differ from the recorded ones. Repeatable.",
    )  # fmt: skip


def program() -> Decorator:
    return click.argument(
        "program", nargs=-1, type=click.UNPROCESSED,
        metavar="[--] PROGRAM [ARGS]... [: -np RANKS PROGRAM [ARGS]...]...",
    )  # fmt: skip


def check_ranks(count: int, job: str = "") -> int:
    """`job` is what comes before in messages."""
    if count < 1:
        raise InputError(f"{job}-np {count}: at least 1 rank is needed")
    return count


def check_program(words: tuple[str, ...]) -> tuple[str, list[str], list[Program]]:
    """The program, its arguments, and the further programs of the job, behind `: -np RANKS`."""
    from chasqui.simulation import Program

    if words and words[0] == "--":
        words = words[1:]
    first, *others = _parts(words)
    if not first:
        raise InputError("no program was named: chasqui run -np 4 -- ./program arguments")
    beside = [Program(*_called(part, f"': {shlex.join(part)}'")) for part in others]
    return first[0], first[1:], beside


def _parts(words: Sequence[str]) -> list[list[str]]:
    """What is between the `:` that launchers have: `./a : -np 1 ./b`. A program may well have an
    argument `:`, so one counts only if -n or -np follows."""
    parts: list[list[str]] = [[]]
    for word, after in itertools.pairwise([*words, ""]):
        if word == ":" and after in ("-n", "-np"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def check_job(text: str) -> tuple[int, str, list[str]]:
    """Ranks, program and arguments of a further job, written `-np 4 ./program arguments`."""
    form = f"--job {text!r}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{form}: {CALLED} is expected ({error})") from None
    if words in (["-np"], ["-n"]):  # the shell took the rest for arguments of their own
        raise InputError(f"--job {text!r}: quote the whole job: --job '{text} 4 ./ring'")
    if len(_parts(words)) > 1:
        raise InputError(
            f"{form}: a further job has one program; several (MPMD) may be those of the first job, "
            "chasqui run -np 1 -- ./a : -np 2 ./b"
        )
    return _called(words, form)


def _called(words: list[str], place: str) -> tuple[int, str, list[str]]:
    """Ranks, program and arguments; `place` is what comes before in messages."""
    form = f"{place}: {CALLED} is expected"
    ranks = 1
    if words[:1] in (["-np"], ["-n"]):
        number = words[1] if len(words) > 1 else ""
        digits = number.lstrip("0") or number[:1]
        if not digits.isdecimal() or len(digits) > len(str(COUNT_MAX)) or int(digits) > COUNT_MAX:
            raise InputError(f"{form}, RANKS a number of at most {COUNT_MAX}")
        ranks = check_ranks(int(digits), f"{place}: ")
        words = words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words or words[0].startswith("-"):
        raise InputError(form)
    return ranks, words[0], words[1:]


def check_environment(texts: tuple[str, ...], option: str = "--env") -> Mapping[str, str]:
    result = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name:
            raise InputError(f"{option} {text!r}: NAME=VALUE is expected")
        if not equals:
            if name not in os.environ:
                raise InputError(f"{option} {name}: it is not set here, and no =VALUE was given")
            value = os.environ[name]
            check_text(f"{option} {name}", value)
        result[name] = value
    return result


def check_sets(texts: tuple[str, ...]) -> list[str]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise InputError(
                f"--set {text!r}: KEY=VALUE is expected, as in --set node.core.clock='2 GHz'"
            )
    return list(texts)


def check_mpi(texts: tuple[str, ...]) -> list[str]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise InputError(
                f"--mpi {text!r}: KEY=VALUE is expected, as in --mpi coll.allreduce=ring"
            )
    return [f"mpi.{text}" for text in texts]
