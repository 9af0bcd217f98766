"""The reference of commands: what each prints with --help, from the declarations of its options."""

from __future__ import annotations

import re

import click

from chasqui import compiler
from chasqui.cli import COMMANDS
from chasqui.cli.group import group
from chasqui.manual.markdown import code, escaped, table

# Paragraphs of click's that stand as they are begin so.
VERBATIM = "\b\n"


def reference() -> str:
    """A section a command."""
    chasqui = group()
    with click.Context(chasqui, info_name="chasqui") as parent:
        sections = [
            _section(parent, name, found)
            for name in COMMANDS
            if (found := chasqui.get_command(parent, name)) is not None
        ]
    return "\n".join(sections)


def _section(parent: click.Context, name: str, command: click.Command) -> str:
    if COMMANDS[name][0] == "cc":  # whose options are the compiler's
        return f"## chasqui {name}\n\n```text\n{compiler.help_text(name).rstrip()}\n```\n"
    context = click.Context(command, info_name=name, parent=parent)
    context.help_option_names = command.context_settings.get("help_option_names", ["--help"])
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## chasqui {name}\n", f"```text\n{usage}\n```\n", _help(command.help or "")]
    records = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None
    ]
    if records:
        rows = [[code(option), escaped(_one_line(what))] for option, what in records]
        parts.append(table(["option", "what it does"], rows))
    return "\n".join(parts)


def _help(text: str) -> str:
    """Paragraphs, and examples as they stand."""
    paragraphs = [each for each in re.split(r"\n\s*\n", text.strip("\n")) if each.strip()]
    return "\n\n".join(_paragraph(each) for each in paragraphs) + "\n"


def _paragraph(text: str) -> str:
    if not text.startswith(VERBATIM):
        return escaped(_one_line(text))
    first, *lines = text.removeprefix(VERBATIM).splitlines()
    if not lines:
        return escaped(first)
    if not first.endswith(":"):
        return "```text\n" + "\n".join([first, *lines]) + "\n```"
    return f"{escaped(first)}\n\n```text\n" + "\n".join(line[2:] for line in lines) + "\n```"


def _one_line(text: str) -> str:
    return " ".join(text.split())
