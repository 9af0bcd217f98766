"""`chasqui` itself: finds the module of a command when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import click

from chasqui.cli import COMMANDS


class Unread(Exception):  # noqa: N818 -- a reader may have what it wanted
    """Nothing reads standard output any more. A BrokenPipeError would be click's affair, which has
    an exit status of its own for it."""


class LazyGroup(click.Group):
    """A group whose list of commands needs none of their modules."""

    def make_context(self, *arguments: Any, **others: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **others)
        except BrokenPipeError as error:
            raise Unread from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Unread from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"chasqui.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.commands()[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            allowed = ", ".join(COMMANDS)
            raise click.UsageError(f"no command {args[0]!r}; there are: {allowed}", ctx=ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        import chasqui

        click.echo(f"chasqui {chasqui.__version__}")
        ctx.exit()


def group() -> click.Group:
    """The command `chasqui`."""
    version = click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version,
        help="Print the version.",
    )  # fmt: skip
    return LazyGroup(
        name="chasqui",
        params=[version],
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        help=(
            "Runs your MPI program, unmodified, on the message-passing machine you are thinking of "
            "building, and says where its time and the life of every message went."
            "\n\n\b\n"
            "Examples:\n"
            "  chasqui cc -O2 -o ring examples/ring.c\n"
            "  chasqui run -np 4 --machine voyager -- ./ring\n"
            "  chasqui compare loggp voyager -np 4 -- ./ring"
        ),
    )
