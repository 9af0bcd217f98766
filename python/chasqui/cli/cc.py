"""`chasqui cc`, `c++` and `fc`: here for `chasqui --help`; chasqui.compiler does the work, and
`main` calls it without loading click."""

from __future__ import annotations

import click

from chasqui import compiler


def _command(language: str) -> click.Command:
    @click.command(
        language,
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
        add_help_option=False,
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        compiler.main(language, list(arguments))

    return command


def commands() -> dict[str, click.Command]:
    return {language: _command(language) for language in ("cc", "c++", "fc")}
