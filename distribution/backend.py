"""What builds the package: maturin, and before it the commands in wrappers/ become executable,
which a source distribution forgets that maturin makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _make_executable() -> None:
    wrappers = Path(__file__).parent / "wrappers"
    for command in (*wrappers.glob("**/bin/*"), *wrappers.glob("scripts/*")):
        command.chmod(0o755)


def build_wheel(*arguments: Any, **named: Any) -> str:
    _make_executable()
    return str(maturin.build_wheel(*arguments, **named))


def build_editable(*arguments: Any, **named: Any) -> str:
    _make_executable()
    return str(maturin.build_editable(*arguments, **named))
