"""How programs run: what `run`, `compare` and `sweep` have in common; what arguments may be.

What commands check when they read their options is checked here, where there are values instead.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, TypedDict

from chasqui import defaults, simulation
from chasqui.errors import InputError

Word = str | int | float | os.PathLike[str]
NUMBER_MAX = (1 << 63) - 1


class Settings(TypedDict, total=False):
    """Keyword arguments, all optional, that mean what the command's options of these names do."""

    env: Mapping[str, object]  # environment of every rank, which is empty otherwise
    ranks_per_node: int
    map_by: str  # how ranks come to nodes: slot (one node after the other) or node (in turn)
    timeline: int  # MPI calls of each rank that timeline.json holds; 0: no such file
    bind: Sequence[
        str | os.PathLike[str]
    ]  # HOST[:GUEST][:ro]: files that ranks see besides the working directory
    host_files: bool  # ranks see all of the host's files
    limit_time: str  # of simulated time, with its unit: "1 s"
    limit_host_time: str
    limit_output: str  # "1 GiB"
    limit_memory: str


SANDBOX = (
    "bind", "host_files", "limit_time", "limit_host_time", "limit_output", "limit_memory",
)  # fmt: skip


# --- values -------------------------------------------------------------------------------------


def text_of(value: object, name: str = "argument") -> str:
    """A value as it would be on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str | Number):
        raise InputError(f"{name}={value!r}: a text, a number or a path is expected")
    text = str(found)
    if "\0" in text:
        raise InputError(f"{name}={value!r}: no text on a command line has a zero in it")
    return text


def texts_of(values: Iterable[object], name: str) -> list[str]:
    """A list of values as texts. One text is none: its letters would be taken for them."""
    if isinstance(values, str | bytes | os.PathLike) or not isinstance(values, Iterable):
        raise InputError(f"{name}={values!r}: a list is expected")
    return [text_of(value, name) for value in values]


def whole(value: Any, name: str, least: int = 0, most: int = NUMBER_MAX) -> int:
    """A whole number, also one of numpy's."""
    try:
        found = operator.index(value)
    except TypeError:
        found = least - 1
    if not least <= found <= most:
        limits = f"{least} or more" if most == NUMBER_MAX else f"{least} to {most}"
        raise InputError(f"{name}={value!r}: a whole number is expected, {limits}")
    return found


def wholes(values: Iterable[Any], name: str, least: int = 0) -> list[int]:
    texts_of(values, name)
    return [whole(value, name, least) for value in values]


def flag(value: Any, name: str) -> bool:
    if value not in (False, True) or isinstance(value, float):
        raise InputError(f"{name}={value!r}: True or False is expected")
    return bool(value)


def pairs_of(values: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    if values is not None and not isinstance(values, Mapping):
        raise InputError(f"{name}={values!r}: a dictionary of names and values is expected")
    return {text_of(key, name): value for key, value in (values or {}).items()}


def sets_of(parameters: Mapping[str, object] | None) -> list[str]:
    """Values of parameters as the options say them."""
    found = pairs_of(parameters, "parameters")
    return [f"{name}={text_of(value, name)}" for name, value in found.items()]


def path_of(directory: str | os.PathLike[str] | None) -> Path | None:
    return None if directory is None else Path(text_of(directory, "directory"))


# --- settings -----------------------------------------------------------------------------------


def check_names(
    settings: Mapping[str, Any], known: Iterable[str] = Settings.__annotations__
) -> None:
    """Raises TypeError as Python does for a keyword argument that there is not."""
    for name in settings:
        if name not in known:
            raise TypeError(f"{name!r} is no setting; there are: {', '.join(known)}")


def optional_text(settings: Mapping[str, Any], name: str) -> str | None:
    value = settings.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name}={value!r}: a text with a unit is expected, as in '1 s', '1 GiB'")
    return value


def sandbox_of(settings: Settings) -> simulation.Sandbox:
    limits = (optional_text(settings, name) for name in SANDBOX if name.startswith("limit"))
    binds = texts_of(settings.get("bind", ()), "bind")
    return simulation.Sandbox(binds, flag(settings.get("host_files", False), "host_files"), *limits)


def environment_of(settings: Settings) -> dict[str, str]:
    found = pairs_of(settings.get("env"), "env")
    for name in found:
        if not name or "=" in name:
            raise InputError(f"env: {name!r} is no name of a variable")
    return {name: text_of(value, name) for name, value in found.items()}


def job_of(
    machine: str | os.PathLike[str],
    program: str | os.PathLike[str],
    arguments: Sequence[Word],
    ranks: int,
    parameters: Mapping[str, object] | None,
    settings: Settings,
    **more: Any,
) -> simulation.Job:
    """What is simulated. `more`: further fields of simulation.Job."""
    check_names(settings)
    per_node = settings.get("ranks_per_node")
    timeline = settings.get("timeline", defaults.TIMELINE_CALLS)
    return simulation.Job(
        text_of(machine, "machine"),
        whole(ranks, "ranks", 1),
        text_of(program, "program"),
        texts_of(arguments, "argument"),
        sets_of(parameters),
        environment=environment_of(settings),
        ranks_per_node=None if per_node is None else whole(per_node, "ranks_per_node", 1),
        map_by=text_of(settings.get("map_by", "slot"), "map_by"),
        timeline=whole(timeline, "timeline", 0, defaults.TIMELINE_MAX),
        sandbox=sandbox_of(settings),
        is_command=False,
        **more,
    )
