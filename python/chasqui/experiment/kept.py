"""Tables of experiments that the project keeps: MACHINE/NAME.csv, the results, and others of the
experiment as MACHINE/NAME-TABLE.csv.

They are in docs of a clone and in every installation. measured.json beside them has fingerprints
of what each experiment was measured of (`running.fingerprints`):

- points, parameters, programs: if these are others today, a test fails;
- software that is executed beside the programs: MPI library, kernel, drivers, firmware. Most
  changes of it move no time, and measuring all anew takes long. So other software is no failure,
  but a mark in `chasqui fidelity`;
- readings: the Python code that makes the tables of the runs. Likewise.

Programs that are no part of Chasqui (`Elsewhere`) are in no fingerprint: tables may have rows of
them. No table that has some is replaced by one that has none.

The models' sources, and how programs are compiled, are in no fingerprint: almost every commit
changes some of these, and a mark that is always there says nothing. Instead tests carry out some
experiments in full (`Document.recomputed`), which between them execute the NES's mechanisms, the
MPI library, the kernel and its drivers, and others in part, whose rows are those of the whole
(`ALIKE` in tests/pages.py). They fail where a table of theirs is another; then all tables of that
machine are to be made anew.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from chasqui import files
from chasqui.errors import InputError
from chasqui.experiment import running

RESULTS = "results"  # the first table, whose file has the experiment's name
Cell = float | str


class Row:
    """A row of a table; its columns are attributes."""

    def __init__(self, values: dict[str, Cell], table: Rows) -> None:
        self.values = values
        self.table = table

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(f"{self.table.name} has no column {name}") from None


@dataclass(frozen=True)
class Rows:
    """What an experiment wrote into a file."""

    name: str
    path: Path
    rows: Sequence[dict[str, Cell]]
    # By so many first columns: the rows by these. Claims look for a thousand of them.
    indexes: dict[int, dict[tuple[Cell, ...], list[dict[str, Cell]]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def all(self, *keys: Cell, **more: Cell) -> list[Row]:
        """The rows whose first columns are `keys`, and these others `more`."""
        return [
            Row(row, self)
            for row in self.by_first(len(keys)).get(keys, [])
            if all(row[name] == value for name, value in more.items())
        ]

    def by_first(self, count: int) -> dict[tuple[Cell, ...], list[dict[str, Cell]]]:
        """The rows by their first columns, so many."""
        if count not in self.indexes:
            index = self.indexes.setdefault(count, {})
            for row in self.rows:
                index.setdefault(tuple(row.values())[:count], []).append(row)
        return self.indexes[count]

    def __call__(self, *keys: Cell, **more: Cell) -> Row:
        found = self.all(*keys, **more)
        if len(found) != 1:
            raise LookupError(f"{self.path.name}: {len(found)} rows for {keys} {more}")
        return found[0]


def number(text: str) -> Cell:
    """`1,024` as 1024; what is no number as it is."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text.replace("\\|", "|").strip("`")


def read(path: Path) -> Rows:
    """Raises FileNotFoundError."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: Path, _modified_ns: int) -> Rows:
    with path.open(newline="") as file:
        found = [
            {column: number(value) for column, value in row.items()} for row in csv.DictReader(file)
        ]
    return Rows(path.stem.replace("-", "_"), path, found)


def path_of(folder: Path, name: str, table: str = RESULTS) -> Path:
    """The file of a table of the experiment MACHINE/NAME."""
    return folder / f"{name}.csv" if table == RESULTS else folder / f"{name}-{table}.csv"


def tables_of(folder: Path, name: str) -> list[str]:
    """The tables of an experiment that are kept."""
    machine, _, short = name.partition("/")
    paths = [path for path in sorted((folder / machine).glob(f"{short}*.csv"))
             if owner(path) == name]  # fmt: skip
    return [path.stem.removeprefix(short).removeprefix("-") or RESULTS for path in paths]


def owner(path: Path) -> str:
    """The experiment whose table a file is: the longest name that its own begins with."""
    stem = f"{path.parent.name}/{path.stem}"
    names = [name for name in running.names() if stem == name or stem.startswith(f"{name}-")]
    return max(names, key=len, default="")


def stamps(folder: Path) -> dict[str, dict[str, Any]]:
    """By experiment: what its tables were measured of (`running.write_stamp`)."""
    path = folder / running.STAMP
    if not os.path.lexists(path):
        return {}
    found: dict[str, dict[str, Any]] = files.read_json(path, "`chasqui fidelity --run`")
    return found


def keep(results: Path, folder: Path, also: Iterable[str] = ()) -> str:
    """Copies tables of an experiment, which left them in `results`, to where they are kept: its
    results, whatever else of it is kept already, and `also`. All of them, or none where it raises
    InputError. The experiment's name."""
    stamp = files.read_json(results / running.STAMP, "`chasqui experiment`")
    name: str = stamp.pop("experiment")
    check_loses_nothing(results, folder)
    texts = {path: _text(results / source) for path, source in _places(folder, name, also).items()}
    if not stamp["quick"]:
        del stamp["quick"]
    every = {**stamps(folder), name: stamp}
    texts[folder / running.STAMP] = json.dumps(dict(sorted(every.items())), indent=2) + "\n"
    files.write_together(texts)
    return name


def _places(folder: Path, name: str, also: Iterable[str]) -> dict[Path, str]:
    """Where what is kept of an experiment is, and how the experiment names that."""
    tables = sorted({RESULTS, *tables_of(folder, name), *also})
    places = {path_of(folder, name, table): f"{table}.csv" for table in tables}
    picture = folder / f"{name}.svg"
    return places | ({picture: "picture.svg"} if picture.exists() else {})


def check_place(folder: Path, name: str, also: Iterable[str] = ()) -> None:
    """Raises InputError if `keep` could not write there; tries it."""
    for path in [*_places(folder, name, also), folder / running.STAMP]:
        files.check_writable(path)


def _text(path: Path) -> str:
    files.check_regular(path)
    try:
        return path.read_text()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def check_loses_nothing(results: Path, folder: Path) -> None:
    """Raises InputError if a table in `folder` has rows of programs from elsewhere that the same of
    an experiment, in `results`, lacks."""
    name = files.read_json(results / running.STAMP, "`chasqui experiment`")["experiment"]
    for table in tables_of(folder, name):
        before, after = path_of(folder, name, table), results / f"{table}.csv"
        for kind in running.load(name).elsewhere.values():
            lost = _of_these(before, kind.rows)
            if after.is_file():
                lost -= _of_these(after, kind.rows)
            if lost:
                raise InputError(
                    f"{before} has rows of {', '.join(sorted(lost))}, and {after} has none, since "
                    f"it was measured without {kind.variable}: the file is left as it is"
                )


def check_can_be_measured(folder: Path, name: str) -> None:
    """Raises InputError if tables of an experiment have rows of programs from elsewhere whose
    sources are not given now: measured anew it would lack them."""
    for kind in running.load(name).elsewhere.values():
        for path in (path_of(folder, name, table) for table in tables_of(folder, name)):
            found = _of_these(path, kind.rows)
            if found and not kind.is_given:
                raise InputError(
                    f"{path} has rows of {', '.join(sorted(found))}, whose sources {kind.variable} "
                    "must name, or the table would lose these rows; without them the new tables "
                    "can be in another folder"
                )


def _of_these(path: Path, rows: Sequence[str]) -> set[str]:
    """Which of `rows` a table has in its first column."""
    files.check_regular(path)
    return {str(key) for (key,) in read(path).by_first(1)} & set(rows)


def outdated(folder: Path, name: str) -> list[str]:
    """What of the measured things is something else today, as `programs`, `software`; a wish for
    other points counts, too. Empty: nothing, as far as this can tell: what the models do is not
    among them."""
    measured = stamps(folder).get(name, {})
    today = running.fingerprints(
        name, quick=measured.get("quick", False), later=measured.get("later", [])
    )
    return [what for what, fingerprint in today.items() if measured.get(what) != fingerprint]
