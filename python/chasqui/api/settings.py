"""How programs run: what `run`, `compare` and `sweep` have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from chasqui import defaults, simulation
from chasqui.errors import InputError

Word = str | int | float | os.PathLike[str]


class Settings(TypedDict, total=False):
    """Keyword arguments, all optional, that mean what the command's options of these names do."""

    env: Mapping[str, object]  # environment of every rank, which is empty otherwise
    ranks_per_node: int
    map_by: str  # how ranks come to nodes: slot (one node after the other) or node (in turn)
    timeline: int  # MPI calls of each rank that timeline.json holds; 0: no such file
    bind: Sequence[str]  # HOST[:GUEST][:ro]: files that ranks see besides the working directory
    host_files: bool  # ranks see all of the host's files
    limit_time: str  # of simulated time, with its unit: "1 s"
    limit_host_time: str
    limit_output: str  # "1 GiB"
    limit_memory: str


def text_of(value: object) -> str:
    """A value as it would be on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def sets_of(parameters: Mapping[str, object] | None) -> list[str]:
    """Values of parameters as the options say them."""
    return [f"{name}={text_of(value)}" for name, value in (parameters or {}).items()]


def check_names(settings: Mapping[str, Any]) -> None:
    """Raises TypeError as Python does for a keyword argument that there is not."""
    known = Settings.__annotations__
    for name in settings:
        if name not in known:
            raise TypeError(f"{name!r} is no setting; there are: {', '.join(known)}")


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
    if not ranks > 0:
        raise InputError(f"ranks={ranks}: at least 1 is expected")
    return simulation.Job(
        os.fspath(machine),
        ranks,
        os.fspath(program),
        list(map(text_of, arguments)),
        sets_of(parameters),
        environment={name: text_of(value) for name, value in settings.get("env", {}).items()},
        ranks_per_node=settings.get("ranks_per_node"),
        map_by=settings.get("map_by", "slot"),
        timeline=settings.get("timeline", defaults.TIMELINE_CALLS),
        sandbox=sandbox_of(settings),
        is_command=False,
        **more,
    )


def sandbox_of(settings: Settings) -> simulation.Sandbox:
    return simulation.Sandbox(
        list(settings.get("bind", ())),
        settings.get("host_files", False),
        settings.get("limit_time"),
        settings.get("limit_host_time"),
        settings.get("limit_output"),
        settings.get("limit_memory"),
    )


def path_of(directory: str | os.PathLike[str] | None) -> Path | None:
    return None if directory is None else Path(directory)
