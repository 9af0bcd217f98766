"""`mpiexec`, which is `chasqui run`: what other launchers take, as this one has it or refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from chasqui.errors import InputError

ATTACHED_RANKS = re.compile(r"-n\d+")
RANKS = ("-n", "-np")
VERSION = ("--version", "-version", "-V")


def arguments(words: Sequence[str]) -> list[str]:
    """What `chasqui` is called with. Raises InputError for what would be taken for something
    else, as click reads `-machinefile f` as `-m achinefile f`, and all behind the first program is
    that one's arguments; and for what other launchers have, of which click would say little."""
    if words[:1] in [[name] for name in VERSION]:  # scripts ask which MPI this is
        return ["--version"]
    first, *others = _parts(words)
    position, result = 0, ["run"]
    valued, known = _options()
    while position < len(first) and first[position].startswith("-"):
        word = first[position]
        name, equals, _ = word.partition("=")
        position += 1
        if word == "--":
            break
        if name == "-x":
            result += ["--env", _variable(first[position : position + 1])]
            position += 1
            continue
        if name not in known and not ATTACHED_RANKS.fullmatch(word):
            raise InputError(
                f"mpiexec: there is no option {name}; the number of ranks is -n or -np, and all "
                "others are those of `chasqui run`: every rank has a simulated node of its own, "
                "unless --ranks-per-node says otherwise"
            )
        result.append(word)
        if name in valued and not equals:
            result += first[position : position + 1]
            position += 1
    program = first[position:]
    if others and not program:
        raise InputError("mpiexec: no program was named before the first ':'")
    return [*result, *(["--"] if program else []), *program, *_further(others)]


def _parts(words: Sequence[str]) -> list[list[str]]:
    """What is between the `:`, each of which separates two programs."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _options() -> tuple[set[str], set[str]]:
    """The options of `chasqui run` that take their value from the next word; and all."""
    from chasqui.cli.run import run

    options = [each for each in run.params if isinstance(each, click.Option)]
    known = {name for option in options for name in [*option.opts, *option.secondary_opts]}
    # One with a value that may be left out (--histogram) takes it behind `=` only.
    needy = [option for option in options if not option.is_flag and not option._flag_needs_value]
    return {name for option in needy for name in option.opts}, known | {"--help", "-h"}


def _variable(words: Sequence[str]) -> str:
    """The value of -x, as --env has it."""
    from chasqui.cli.options import check_environment

    if not words:
        raise InputError("mpiexec: -x: NAME or NAME=VALUE is expected")
    [(name, value)] = check_environment((words[0],), option="-x").items()
    return f"{name}={value}"


def _further(parts: Sequence[list[str]]) -> list[str]:
    """The programs behind the first, as `chasqui run` takes them."""
    result = []
    for part in parts:
        ranks, program = "1", list(part)
        if program and ATTACHED_RANKS.fullmatch(program[0]):
            program[:1] = ["-n", program[0].removeprefix("-n")]
        if program[:1] and program[0].partition("=")[1] and program[0].partition("=")[0] in RANKS:
            program[:1] = program[0].split("=", 1)
        if program and program[0] in RANKS:
            ranks, program = "".join(program[1:2]), program[2:]
        if program[:1] == ["--"]:
            program = program[1:]
        if not program:
            raise InputError(f"mpiexec: no program is named in '{' '.join([':', *part])}'")
        if program[0].startswith("-"):
            raise InputError(
                f"mpiexec: {program[0]} behind ':': each program has -n or -np there; all other "
                "options are those of the whole job, and stand before the first program"
            )
        result += [":", "-np", ranks, *program]
    return result
