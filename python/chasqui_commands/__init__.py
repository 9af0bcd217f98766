"""What the environment's `bin` has: `chasqui`, and `mpicc` and the others by the names that
makefiles, configure scripts and CMake look for. pyproject.toml says which is which.

Not in the package `chasqui`: Ctrl-C ends a command without a traceback from here on, also while
that one is loaded.
"""

import _signal  # type: ignore[import-not-found]

_signal.signal(_signal.SIGINT, _signal.SIG_DFL)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def chasqui() -> "NoReturn":
    _main()


def cc() -> "NoReturn":
    _main("cc")


def cxx() -> "NoReturn":
    _main("c++")


def fc() -> "NoReturn":
    _main("fc")


def mpiexec() -> "NoReturn":
    _main("mpiexec")


def _main(*first: str) -> "NoReturn":
    from chasqui.cli import main

    main(*first)
