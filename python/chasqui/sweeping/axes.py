"""What a sweep may be over, by a command's options or by Python's arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from chasqui.errors import InputError
from chasqui.sweeping.store import is_taken

Axis = tuple[str, tuple[str, ...]]


def parameters_of(axes: Sequence[Axis], said: str) -> dict[str, tuple[str, ...]]:
    """Values of parameters. `said`, here and below: what names are given by, for messages, as
    "--set". Raises InputError for what can't be swept over."""
    for name, values in axes:
        check_once(f"{said} {name}", values)
        if is_taken(name):
            raise InputError(f"{said} {name}=…: the table has columns of such names of its own")
    check_once(said, [name for name, _ in axes])
    return dict(axes)


def arguments_of(axes: Sequence[Axis], said: str) -> dict[str, tuple[str, ...]]:
    """Values of `{n}`, as parameters_of()."""
    for name, _ in axes:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(f"{said} {name}=…: a name of letters, digits and _ is expected")
    return parameters_of(axes, said)


def check_once(where: str, values: Sequence[Any]) -> None:
    twice = [str(each) for each in dict.fromkeys(values) if list(values).count(each) > 1]
    if twice:
        raise InputError(f"{where}: named more than once: {', '.join(twice)}")
