"""Where the package lies, and what it has built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from chasqui.errors import InputError

PACKAGE = Path(__file__).resolve().parent
MACHINES = (PACKAGE / "machines").resolve()
EXAMPLES = (PACKAGE / "examples").resolve()
TABLES = (PACKAGE / "docs").resolve()  # that experiments wrote, as the project keeps them


CACHE_VARIABLE = "CHASQUI_CACHE_DIR"


def cache_directory() -> Path:
    """Where the user wants it; else inside the virtual environment, so that removing it removes
    everything; else the user's."""
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return Path(override).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    # What is relative is to be ignored (XDG Base Directory Specification).
    if os.path.isabs(base):
        return Path(base) / "chasqui"
    in_environment = sys.prefix != sys.base_prefix
    if in_environment and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "var" / "cache" / "chasqui"
    return Path.home() / ".cache" / "chasqui"


def not_made(place: Path, error: OSError) -> InputError:
    """What is built on first use can't be kept at `place`, and how that is mended."""
    if os.environ.get(CACHE_VARIABLE):
        return InputError(f"{CACHE_VARIABLE}: {place} can't be made: {error.strerror}")
    return InputError(
        f"{place} can't be made: {error.strerror}; {CACHE_VARIABLE} names another place for what "
        "is built on first use"
    )
