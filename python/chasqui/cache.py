"""Where the package lies, and what it has built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
MACHINES = (PACKAGE / "machines").resolve()
EXAMPLES = (PACKAGE / "examples").resolve()


def cache_directory() -> Path:
    """Inside the virtual environment, so that removing it removes everything; else the user's."""
    override = os.environ.get("CHASQUI_CACHE_DIR")
    if override:
        return Path(override).absolute()
    in_environment = sys.prefix != sys.base_prefix
    if in_environment and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "var" / "cache" / "chasqui"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "chasqui"
