"""The wheel that `make wheel` has built, if it is of what is installed."""

from __future__ import annotations

import csv
import io
import zipfile
from importlib import metadata
from pathlib import Path

DIST = Path(__file__).resolve().parent.parent / "dist"


def find() -> Path:
    (wheel,) = DIST.glob("chasqui_sim-*.whl")
    return wheel


def _hashes(record: str) -> dict[str, str]:
    """Of the package's files; what pip has written itself is elsewhere, or differs."""
    rows = [row for row in csv.reader(io.StringIO(record)) if row]
    return {path: digest for path, digest, *_ in rows if path.startswith("chasqui") and digest}


def _is_current() -> bool:
    """It has the files that are installed, to the byte."""
    try:
        installed = metadata.distribution("chasqui-sim")
        with zipfile.ZipFile(find()) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
            ours = _hashes(archive.read(name).decode())
    except (metadata.PackageNotFoundError, ValueError, OSError):
        return False
    theirs = _hashes(installed.read_text("RECORD") or "")
    return all(
        theirs.get(path) == digest
        for path, digest in ours.items()
        if not path.partition("/")[0].endswith((".dist-info", ".data"))
    )


IS_HERE = _is_current()
