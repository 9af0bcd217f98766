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

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from chasqui.api import (
        Comparison,
        InputError,
        LogP,
        Run,
        RunError,
        Settings,
        Sweep,
        compare,
        logp,
        machines,
        parameters,
        run,
        sweep,
    )

__all__ = [
    "Comparison",
    "InputError",
    "LogP",
    "Run",
    "RunError",
    "Settings",
    "Sweep",
    "compare",
    "logp",
    "machines",
    "parameters",
    "run",
    "sweep",
]


class _Package(ModuleType):
    """`chasqui.machines` stays the function when experiments of the folder machines are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # a checker of types would take any name for one that there is

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("chasqui-sim")
        if name in __all__:
            from chasqui import api

            return getattr(api, name)
        raise AttributeError(f"module 'chasqui' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
