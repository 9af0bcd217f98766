"""DUMPI, the traces of SST's libdumpi: MPI calls with their times, a binary file a rank, and a text
that names them, `fileprefix` and `numprocs`. The format: `docs/traceformat.dox` of sst-dumpi.

The files are read by the package pydumpi, whose library in C ends the process where a file is
damaged. So a process of its own reads them (`dumpi_calls.py`); this module looks after it.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from chasqui import children
from chasqui.errors import STATUS_LOST, InputError, LostError
from chasqui.files import check_regular, read_text
from chasqui.playing.form import PIECE, Actions, Order, lost, writing
from chasqui.playing.source import RANKS_MAX, Settings, Source

MAGIC = b"\xff\xaa\xddDUMPI"
META = re.compile(rb"(?:\w+=[^\n]*\n)*?(?:fileprefix|numprocs)=")
NAME = re.compile(r"(.+)-(\d+)\.bin")
META_MAX = 1 << 20  # bytes
PACKAGE = "pydumpi"


def is_one(path: Path, beginning: bytes) -> bool:
    if path.is_dir():
        return len(list(path.glob("*.meta"))) == 1
    return beginning.startswith(MAGIC) or META.match(beginning) is not None


def read(source: Source, folder: Path, settings: Settings) -> Actions:
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError(
            f"{source.path}: DUMPI's files need the Python package {PACKAGE}: "
            "`pip install 'chasqui-sim[play]'`"
        )
    files = _files(source.path)
    for path in files:
        _look_at(path, source)
    actions = Actions(folder, Order.SEQUENCE, len(files))
    request = folder / "request.json"
    named = {"files": [str(path.resolve()) for path in files], "scale": str(settings.scale)}
    with writing(request):
        request.write_text(json.dumps(named))
    answer = folder / "answer.json"
    status = children.run(
        [sys.executable, "-P", "-m", "chasqui.playing.dumpi_calls", request, answer]
        if sys.version_info >= (3, 11)
        else [sys.executable, "-m", "chasqui.playing.dumpi_calls", request, answer],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found = _answer(answer)
    if status == STATUS_LOST:
        error = OSError(
            errno.ENOSPC, os.strerror(errno.ENOSPC)
        )  # where there was room for no reason
        raise LostError(found.get("lost") or lost(folder, error))
    if "error" in found:
        raise InputError(found["error"])
    if status != 0 or "parts" not in found:
        at = found.get("file", str(source.path))
        raise InputError(f"{at}: damaged: {PACKAGE} could not read it to its end")
    for part, fields in zip(actions.parts, found["parts"], strict=True):
        vars(part).update(fields)
    request.unlink()
    answer.unlink()
    return actions


def _answer(path: Path) -> dict[str, Any]:
    """What the process has said last."""
    try:
        found: dict[str, Any] = json.loads(path.read_text().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return found


def _files(path: Path) -> list[Path]:
    """Of each rank, by the text that names them, or by a file's own name."""
    if path.is_dir():
        path = next(path.glob("*.meta"))
    check_regular(path)
    name = NAME.fullmatch(path.name)
    if name:
        prefix, count = name[1], None
    else:
        text = read_text(path, "libdumpi", META_MAX, errors="replace")
        fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        for field in ("fileprefix", "numprocs"):
            if field not in fields:
                raise InputError(f"{path}: it lacks {field}=, which libdumpi writes")
        if not re.fullmatch(r"\d{1,6}", fields["numprocs"].strip()):
            raise InputError(f"{path}: numprocs={fields['numprocs']}: a number is expected")
        prefix, count = Path(fields["fileprefix"].strip()).name, int(fields["numprocs"])
    found = {
        int(each[2]): path.parent / each[0]
        for file in path.parent.glob("*.bin")
        if (each := NAME.fullmatch(file.name)) and each[1] == prefix
    }
    count = len(found) if count is None else count
    if not 1 <= count <= RANKS_MAX:
        raise InputError(f"{path}: {count} ranks; 1 to {RANKS_MAX} are allowed")
    missing = [rank for rank in range(count) if rank not in found]
    if missing:
        raise InputError(f"{path}: no file {prefix}-{missing[0]:04}.bin, that of rank {missing[0]}")
    return [found[rank] for rank in range(count)]


def _look_at(path: Path, source: Source) -> None:
    """Refuses what is no file of libdumpi's, or not whole: at its end is where its parts begin."""
    check_regular(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        beginning = file.read(len(MAGIC))
        file.seek(max(size - 64, 0))
        end = file.read(64)
        file.seek(0)
        while piece := file.read(PIECE):
            source.digest.update(piece)
    if beginning != MAGIC:
        raise InputError(f"{path}: not a file of libdumpi's: it does not begin with DUMPI's magic")
    # Older versions have fewer numbers between the magic and the last four.
    if len(end) < 64 or MAGIC not in (end[at : at + 8] for at in (0, 8, 16, 24)):
        raise InputError(f"{path}: damaged: its end has no index; was it written to the end?")
    header, body, footer, keys = struct.unpack(">4Q", end[32:])
    if not (8 <= body < footer <= size and max(header, keys) <= size):
        raise InputError(f"{path}: damaged: its index leads out of the file")
