"""`chasqui info`: a machine's parameters."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

HELP = """Explains parameters: value, unit, default, allowed range, meaning, source of the value.

Without arguments: all machines. With a machine: a table of its parameters. With (part of) a
parameter's name as well: everything about those that match, with units and source. Every parameter
can be changed with --set KEY=VALUE in run, compare and logp, with the unit in the value
('150 MHz', '32 KiB', '160 MB/s').

\b
Examples:
  chasqui info voyager
  chasqui info voyager node.core.clock
  chasqui info voyager --toml > mine.toml     (then: --machine mine.toml)
"""

WIDTH = 100  # of meanings, where no narrower terminal says its own
LEAST_WIDTH = 20
# Files of Chasqui's, as sources and meanings name them.
OUR_FILES = re.compile(r"(?<![\w/])(?:guest|docs|machines)/[\w./-]*\w")


def commands() -> dict[str, click.Command]:
    return {"info": info}


@click.command("info", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("machine", required=False, shell_complete=options.offer("machines"))
@click.argument("parameter", required=False, shell_complete=options.offer("parameters"))
@options.sets()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--toml", "as_toml", is_flag=True, help="Print the machine with every value written out."
)
@click.pass_context
def info(
    ctx: click.Context,
    machine: str | None,
    parameter: str | None,
    sets: tuple[str, ...],
    as_json: bool,
    as_toml: bool,
) -> int:
    from chasqui import core
    from chasqui.text import filled, stdout_columns

    _check_options(machine, parameter, sets, as_json=as_json, as_toml=as_toml)
    if machine is None:
        from chasqui.cli.machines import machines

        ctx.invoke(machines, as_json=as_json)
        return 0
    if as_toml:
        with _hinted(machine):
            print(core.resolve(machine, options.check_sets(sets)), end="")
        return 0
    with _hinted(machine):
        found = core.parameters(machine, options.check_sets(sets))
    if parameter is not None:
        found = _matching(found, machine, parameter)
    if as_json:
        import json

        print(json.dumps(found, indent=2))
    elif parameter is None:
        print(_overview(found, machine))
        faults = _faults(core.faults(machine, options.check_sets(sets)))
        print(f"\n{filled(faults, stdout_columns())}")
    else:
        columns = stdout_columns()
        texts = [_all_about(each, columns) for each in found]
        places = [filled(each, columns) for each in _files_named(found)]
        print("\n\n".join([*texts, *places]))
    return 0


def _check_options(
    machine: str | None,
    parameter: str | None,
    sets: tuple[str, ...],
    *,
    as_json: bool,
    as_toml: bool,
) -> None:
    """Raises InputError for options that would have no effect."""
    if machine is None and (as_toml or sets):
        option = "--toml" if as_toml else "--set"
        raise InputError(f"info {option}: name the machine: chasqui info MACHINE {option}")
    if as_toml and as_json:
        raise InputError("--toml and --json: only one of them can be printed; choose one")
    if as_toml and parameter is not None:
        raise InputError(
            f"--toml prints the whole machine, not {parameter} alone; leave out one of them"
        )


@contextlib.contextmanager
def _hinted(machine: str) -> Iterator[None]:
    """Where a parameter's name stands in the machine's place, the error says so."""
    from chasqui import core

    try:
        yield
    except InputError as error:
        names = [each["name"] for each in core.machines()]
        if "/" in machine or machine.endswith(".toml") or machine in names:
            raise
        every = {each["name"] for name in names for each in core.parameters(name)}
        if not any(machine.lower() in name.lower() for name in every):
            raise
        raise InputError(f"{error}; for a parameter: chasqui info MACHINE {machine}") from None


def _matching(found: list[dict[str, Any]], machine: str, name: str) -> list[dict[str, Any]]:
    exact = [each for each in found if each["name"] == name]
    chosen = exact or [each for each in found if name.lower() in each["name"].lower()]
    if not chosen:
        import difflib

        near = difflib.get_close_matches(name, [each["name"] for each in found], 3, 0.4)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise InputError(f"{machine} has no parameter {name!r}{hint} (see: chasqui info {machine})")
    return chosen


def _shown(value: object) -> str:
    return "-" if value is None or value == "" else str(value)


def _allowed(each: dict[str, Any]) -> str:
    if each["choices"]:
        return ", ".join(each["choices"])
    return " to ".join(each["range"]) if each["range"] else "-"


def _overview(found: list[dict[str, Any]], machine: str) -> str:
    """All parameters, a row each; on a terminal that is not wide enough without what their own
    pages say."""
    from chasqui.text import stdout_columns, table

    rows = []
    for each in found:
        first_sentence = str(each["doc"]).split(". ")[0].rstrip(".")
        value, default = _shown(each["value"]), _shown(each["default"])
        rows.append([each["name"], value, default, _allowed(each), first_sentence])
    header = ["parameter", "value", "default", "allowed", "what it is"]
    full = table(header, rows, left=(0, 3, 4))
    columns = stdout_columns()
    if not columns or max(map(len, full.splitlines())) <= columns:
        return full
    short = [[name, value, meaning] for name, value, _, _, meaning in rows]
    shown = table(["parameter", "value", "what it is"], short, left=(0, 2), columns=columns)
    return f"{shown}\n\ndefaults, allowed values: chasqui info {machine} PARAMETER"


def _faults(copes_with: list[str] | None) -> str:
    """What its links may do to packets."""
    if copes_with is None:
        return "faults: it has no links that could be faulty"
    kinds = ", ".join(copes_with) or "none"
    end = "" if "corrupt" in copes_with else "; a corrupt packet is found and ends the run"
    return f"faults (network.fault) that its protocol copes with: {kinds}{end}"


def _all_about(each: dict[str, Any], columns: int) -> str:
    facts = {
        "value": _shown(each["value"]),
        "unit": _shown(each["unit"]),
        "default": _shown(each["default"]),
        "type": _shown(each["type"]),
        "allowed": _allowed(each),
        **({"range": " to ".join(each["plausible"])} if each["plausible"] else {}),
        "source": _shown(each["source"]),
    }
    lines = [_fact(label, text, columns) for label, text in facts.items()]
    lines.append(_fact("meaning", str(each["doc"]), min(columns or WIDTH, WIDTH)))
    return "\n".join([str(each["name"]), *lines])


def _files_named(found: list[dict[str, Any]]) -> list[str]:
    """Where the files are that these parameters name: pages are not installed."""
    from chasqui.cache import PACKAGE

    texts = (str(each[fact]) for each in found for fact in ("source", "doc"))
    names = sorted({name for text in texts for name in OUR_FILES.findall(text)})
    here = [name for name in names if (PACKAGE / name).exists()]
    elsewhere = [name for name in names if name not in here]
    return [
        *([f"In {PACKAGE}: {', '.join(here)}"] if here else []),
        *([f"In the repository of Chasqui: {', '.join(elsewhere)}"] if elsewhere else []),
    ]


def _fact(label: str, text: str, columns: int) -> str:
    """A labelled paragraph in lines of up to `columns` (0: in one)."""
    from chasqui.text import filled

    start = f"  {label:8} "
    room = max(columns - len(start), LEAST_WIDTH) if columns else 0
    return start + filled(text, room).replace("\n", "\n" + " " * len(start))
