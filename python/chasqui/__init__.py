"""Chasqui runs unmodified MPI programs on simulated message-passing machines.

Invariant: nothing in this package is imported at start-up that the command at hand doesn't need;
`chasqui run` must be on its way within a few dozen milliseconds.
"""

from __future__ import annotations


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("chasqui-sim")
    raise AttributeError(name)
