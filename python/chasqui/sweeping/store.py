"""What a sweep keeps in its directory:

- `sweep.json`: what is swept over, as the options of the command say it;
- `runs/NAME`: the run directory of a point, `runs/NAME.json` beside it its row;
- `results.parquet`: the table, once every point has a row.

A row is written in one piece when the run's directory is whole, and says what it is of: the key of
the point, and a hash of itself. What is without a row, whatever it looks like, was not finished.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasqui import files
from chasqui.errors import InputError
from chasqui.sweeping.points import KEY_SHOWN, Cell, Point

if TYPE_CHECKING:
    import pyarrow

SPEC, RUNS, RESULTS, AT_WORK = "sweep.json", "runs", "results.parquet", ".running"
LOCK = ".lock"  # stays: who has opened a file that is removed would hold the lock of none
SWEEP = "`chasqui sweep`"
# Of a point: its name, and a number where that was taken.
RUN_NAME = re.compile(rf".*-[0-9a-f]{{{KEY_SHOWN}}}(-\d+)?")
NOT_STARTED = "not started"
# Whole numbers of the figures; the others are fractions, but for these texts.
WHOLE = ("exit_status", "time_ps", "init_to_finalize_ps", "messages", "instructions")
TEXTS = ("outcome", "message", "directory")
# The figures that every table has, in their order.
FIGURES = (
    "outcome", "exit_status", "message", "time_ps", "init_to_finalize_ps", "mpi_share", "messages",
    "latency_ns", "instructions",
)  # fmt: skip

# Others, which a run may have or not.
FURTHER = re.compile(r"share_\w+|\w+_ns")
INPUTS = ("machine", "np", "repeat", "program", "arguments", "program_sha256", "version")

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """What a point's run was found to be."""

    figures: Figures
    directory: str  # of the run, in that of the sweep; empty: there is none


def columns() -> tuple[str, ...]:
    """Those that every table has."""
    return (*INPUTS, *FIGURES, "directory", "key")


def is_taken(name: str) -> bool:
    """No argument may have the name: a table has such a column, or may have it."""
    return name in columns() or FURTHER.fullmatch(name) is not None


def failed(message: str, status: int) -> Row:
    """Of a point that could not be run."""
    figures = {"outcome": NOT_STARTED, "exit_status": status, "message": message}
    return Row(figures, "")


def row_path(directory: Path, point: Point) -> Path:
    return directory / RUNS / f"{point.name}.json"


def write_row(path: Path, key: str, row: Row) -> None:
    """Raises InputError where it can't be written; then there is none."""
    content = {"key": key, "directory": row.directory, "figures": dict(row.figures)}
    files.write_text(path, json.dumps({**content, "sha256": _digest(content)}, indent=1) + "\n")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_row(path: Path, key: str | None = None) -> Row | None:
    """None: it is not there, damaged, of other inputs, or its run directory is gone."""
    try:
        content = json.loads(files.read_text(path, SWEEP))
        said = content.pop("sha256")
        if said != _digest(content) or (key is not None and content["key"] != key):
            return None
        row = Row(content["figures"], content["directory"])
    except (InputError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return row if (path.parent.parent / row.directory).is_dir() else None


def read_rows(directory: Path, points: Sequence[Point]) -> dict[str, Row]:
    """Those that are there, by the points' keys."""
    found = {each.key: read_row(row_path(directory, each), each.key) for each in points}
    return {key: row for key, row in found.items() if row is not None}


def begin_run(place: Path) -> Path:
    """A run directory that is nobody's: `place`, or with a number where a worker that was taken for
    lost may still write into that."""
    place.parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        found = place if number == 1 else place.with_name(f"{place.name}-{number}")
        with contextlib.suppress(FileExistsError):
            found.mkdir()
            return found
        number += 1


def remove_unfinished(directory: Path, rows_of_now: Iterable[Row] = ()) -> None:
    """Run directories that no row names, which may be one that is not written. Nothing may be at
    work there."""
    runs = directory / RUNS
    rows = (read_row(path) for path in runs.glob("*.json"))
    kept = {row.directory for row in (*rows, *rows_of_now) if row}
    for path in runs.iterdir() if runs.is_dir() else ():
        if RUN_NAME.fullmatch(path.name) and path.is_dir() and f"{RUNS}/{path.name}" not in kept:
            shutil.rmtree(path)


@contextlib.contextmanager
def at_work(directory: Path) -> Iterator[Path]:
    """A file that is there as long as runs may go on: workers look at it. Raises InputError where
    another command is at work on the sweep, if only until its runs have stopped."""
    path, lock = directory / AT_WORK, directory / LOCK
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"{lock}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise InputError(f"{directory}: another `chasqui sweep` is at work there") from None
        try:
            path.touch()
            yield path
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def write_spec(directory: Path, options: Mapping[str, Any]) -> None:
    files.write_text(directory / SPEC, json.dumps(options, indent=2, ensure_ascii=False) + "\n")


def is_sweep(directory: Path) -> bool:
    return (directory / SPEC).is_file()


def read_spec(directory: Path) -> dict[str, Any]:
    """The options that a sweep was begun with."""
    if not directory.is_dir():
        what = "not a directory" if directory.exists() else "no such directory"
        raise InputError(f"{directory}: {what}; that of a sweep is expected")
    found = files.read_json(directory / SPEC, SWEEP)
    files.check_shape(found, {}, str(directory / SPEC))
    return dict(found)


def table(points: Sequence[Point], rows: Mapping[str, Row]) -> pyarrow.Table:
    """A row a point, in their order."""
    import pyarrow

    lines: list[dict[str, Any]] = []
    for point in points:
        row = rows[point.key]
        lines.append({**point.inputs, **row.figures, "directory": row.directory, "key": point.key})
    inputs = list(points[0].inputs)
    others = dict.fromkeys(name for line in lines for name in line)
    last = ("directory", "key")
    found = [name for name in others if name not in (*inputs, *FIGURES, *last)]
    columns = [*inputs, *FIGURES, *sorted(found), *last]
    schema = [(name, _type(name, name in inputs, lines)) for name in columns]
    filled = [{name: _cell(line.get(name), kind) for name, kind in schema} for line in lines]
    return pyarrow.Table.from_pylist(filled, pyarrow.schema(schema))


def _type(name: str, is_input: bool, lines: Sequence[Mapping[str, Any]]) -> pyarrow.DataType:
    import pyarrow

    if is_input:
        kinds = {type(line[name]) for line in lines}
        if kinds == {int} and all(abs(line[name]) < 1 << 63 for line in lines):
            return pyarrow.int64()
        return pyarrow.float64() if kinds <= {int, float} else pyarrow.string()
    if name in WHOLE:
        return pyarrow.int64()
    return pyarrow.string() if name in (*TEXTS, "key") else pyarrow.float64()


def _cell(value: Cell | None, kind: pyarrow.DataType) -> Cell | None:
    """As the column has it: `8` where another row has the text `eight`."""
    import pyarrow

    if value is None or not pyarrow.types.is_string(kind):
        return value
    return str(value)


def write_table(path: Path, content: pyarrow.Table) -> None:
    """In one piece: what reads it finds the old one or the new one. Raises InputError."""
    import pyarrow.parquet

    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pyarrow.parquet.write_table(content, partial)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)


def read_table(directory: Path) -> pyarrow.Table:
    """Raises InputError where it is not there or damaged."""
    import pyarrow.parquet

    path = directory / RESULTS
    files.check_regular(path)
    if not (directory / SPEC).is_file():
        what = "no sweep's directory" if directory.is_dir() else "no such directory"
        raise InputError(f"{directory}: {what}")
    if not path.exists():
        raise InputError(
            f"{path}: no such file: points are missing; `chasqui sweep --resume {directory}` runs "
            "them"
        )
    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise files.damaged(str(path), str(error).partition("\n")[0]) from None
