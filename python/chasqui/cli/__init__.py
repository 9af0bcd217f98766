"""The command line: `chasqui COMMAND …`, one module a command, loaded when it is called.

Exit status: 2 for bad arguments or input, found before anything ran; 74 where results could not be
written; else the command's own.
"""

from __future__ import annotations

import errno
import os
import sys

# Signals are heard from `main` on: nothing is loaded before that is not needed, `typing` neither.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    import click

# name -> (module, one line). The modules define `command`.
COMMANDS = {
    "cc": ("cc", "Compile and link C programs with MPI for the simulated machines."),
    "c++": ("cc", "Compile and link C++ programs with MPI for the simulated machines."),
    "fc": ("cc", "Compile and link Fortran programs with MPI for the simulated machines."),
    "spe-cc": ("spe_cc", "Compile C programs for the cores with local stores of cell."),
    "run": ("run", "Run an MPI program on a simulated machine."),
    "play": ("play", "Carry a trace out as a program: GOAL, SMPI's, DUMPI."),
    "record": ("record", "Record what every rank receives, to simulate one rank alone later."),
    "compare": ("compare", "Run one program on several machines and compare them."),
    "sweep": ("sweep", "Run one program at every point of a product: one table."),
    "profile": ("profile", "Show where the cycles of a run went (run --profile)."),
    "timeline": ("timeline", "Draw the timeline of a run."),
    "report": ("report", "Make one HTML file that shows runs, an experiment, or a sweep."),
    "export": ("export", "Write a run as a trace for another tool: OTF2, GOAL, pcap and others."),
    "logp": ("logp", "Measure a machine's LogGP figures: L, o, g, G."),
    "experiment": ("experiment", "Carry out experiments about the machines: tables, pictures."),
    "fidelity": ("fidelity", "Lay the documents' figures beside ours: ratio, verdict, reason."),
    "machines": ("machines", "List the machines and their variants."),
    "info": ("info", "Explain a machine's parameters: value, unit, range, source."),
    "conformance": ("conformance", "Run the tests of instruction-set conformance suites."),
    "new-machine": ("new_machine", "Make a machine to begin with, in a clone of the sources."),
    "check": ("check", "Say before a run what of MPI and Linux a program uses that is missing."),
}

STATUS_BAD_INPUT = 2
STATUS_CTRL_C = 130  # as `stopping` has it, before it is there
# What keeps a file from being written, in errors that name none.
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def main(*first: str) -> NoReturn:
    """The `chasqui` command; or one that has its first words in its name, as `mpicc`."""
    try:
        from chasqui import stopping

        stopping.begin_to_load()
        try:
            _main([*first, *sys.argv[1:]])
        finally:
            stopping.end()
    except KeyboardInterrupt:  # before
        os._exit(STATUS_CTRL_C)


def _main(arguments: list[str]) -> NoReturn:
    if arguments and arguments[0] in ("cc", "c++", "fc"):
        from chasqui import compiler, stopping

        stopping.begin()
        compiler.main(arguments[0], arguments[1:])
    if arguments[:1] == ["mpiexec"]:
        # `chasqui run` as other launchers are called, by the command of that name.
        _exit(["run", *arguments[1:]], name="mpiexec")
    _exit(arguments)


def _exit(arguments: list[str], name: str = "chasqui") -> NoReturn:
    """Does what is asked and exits."""
    import click  # noqa: F401 -- it loads most

    from chasqui import stopping, text

    text.open_standard_streams()
    try:
        stopping.begin()
        status = invoke(arguments, name)
    except KeyboardInterrupt as stop:  # outside of the command itself
        status = stopping.status_of(stop)
    sys.exit(status)


def invoke(arguments: list[str], name: str = "chasqui") -> int:
    """Runs a command and returns the exit status."""
    import click

    from chasqui import stopping, text
    from chasqui.cli.group import Unread, group
    from chasqui.errors import STATUS_LOST, InputError, LostError

    try:
        _check_texts(arguments)
        if name == "mpiexec":
            from chasqui.cli import launcher

            arguments = launcher.arguments(arguments[1:])
        status = group().main(args=arguments, prog_name="chasqui", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        if not arguments and error.ctx is not None:  # a newer click takes the lack of a command so
            text.say(error.ctx.get_help())
            return STATUS_BAD_INPUT
        where = error.ctx.command_path if error.ctx else name
        _name_variable(error)
        return _bad_input(f"{_plain(error)} (see: {where} --help)")
    except InputError as error:
        return _bad_input(str(error))
    except LostError as error:
        for line in str(error).splitlines():
            text.say(f"chasqui: {line}")
        return STATUS_LOST
    except (KeyboardInterrupt, click.Abort) as stop:  # click makes the second of the first
        cause = stop.__cause__ if isinstance(stop, click.Abort) else stop
        text.say(f"chasqui: stopped by {stopping.name_of(cause)}")
        return stopping.status_of(cause)
    except (Unread, BrokenPipeError):
        return text.unwritten(text.broken_pipe())
    except OSError as error:
        if text.failure_of_stdout() is not None:
            return text.unwritten(error)
        if error.filename is None and error.errno not in UNWRITTEN:
            raise
        place = error.filename or "a file of the results can't be written"
        text.say(f"chasqui: {place}: {error.strerror}")
        return STATUS_LOST
    return status if isinstance(status, int) else 0


def _check_texts(arguments: list[str]) -> None:
    """Raises InputError for arguments, and variables of ours, that are no text."""
    from chasqui.errors import check_text

    for argument in arguments:
        check_text("argument", argument)
    for name, value in os.environ.items():
        if name.startswith("CHASQUI_"):
            check_text(name, value)


def _name_variable(error: click.UsageError) -> None:
    """A bad value of an option that an environment variable gave is that variable's."""
    import click

    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return
    source = error.ctx.get_parameter_source(error.param.name or "")
    if source == click.core.ParameterSource.ENVIRONMENT and error.param.envvar:
        error.param_hint = str(error.param.envvar)


def _plain(error: click.UsageError) -> str:
    return error.format_message().rstrip(".")


def _bad_input(what: str) -> int:
    from chasqui.text import say

    say(f"chasqui: {what}")
    return STATUS_BAD_INPUT
