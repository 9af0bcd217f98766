"""Chasqui runs unmodified MPI programs on simulated message-passing machines.

    import chasqui

    run = chasqui.run("./cg", "-g", 64, machine="voyager", ranks=4)
    run.messages, run.stats, run.ranks           # data frames of pandas
    chasqui.compare("./cg", machines=["loggp", "voyager"], ranks=4).table

`chasqui.api` says what there is.

Invariant: nothing in this package is imported at start-up that the command at hand doesn't need;
`chasqui run` must be on its way within a few dozen milliseconds.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chasqui.api.commands import compare as compare
    from chasqui.api.commands import logp as logp
    from chasqui.api.commands import machines as machines
    from chasqui.api.commands import parameters as parameters
    from chasqui.api.commands import run as run
    from chasqui.api.commands import sweep as sweep
    from chasqui.api.errors import RunError as RunError
    from chasqui.api.results import Comparison as Comparison
    from chasqui.api.results import LogP as LogP
    from chasqui.api.results import Run as Run
    from chasqui.api.results import Sweep as Sweep
    from chasqui.api.settings import Settings as Settings
    from chasqui.errors import InputError as InputError

    __version__: str

# Where the same names are, for when one is asked for.
_OFFERED = {
    **dict.fromkeys(
        ("compare", "logp", "machines", "parameters", "run", "sweep"), "chasqui.api.commands"
    ),
    **dict.fromkeys(("Comparison", "LogP", "Run", "Sweep"), "chasqui.api.results"),
    "RunError": "chasqui.api.errors",
    "Settings": "chasqui.api.settings",
    "InputError": "chasqui.errors",
}


class _Package(ModuleType):
    """`chasqui.machines` stays the function when experiments of the folder machines are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _OFFERED and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # a checker of types would take any name for one that there is

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("chasqui-sim")
        if name in _OFFERED:
            return getattr(importlib.import_module(_OFFERED[name]), name)
        raise AttributeError(f"module 'chasqui' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_OFFERED, "__version__"]
