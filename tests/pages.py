"""Pages of results (docs/*.md) and the tables that experiments wrote (docs/MACHINE/*.csv).

A comment before a table of a page says where its cells come from, a column each:

    <!-- table mechanisms(threads=1): mechanism | variant | size_bytes | o_send_ns/1000 :.2f -->

A column without a format is a key: the cells of these find the row of docs/voyager/mechanisms.csv.
Any other is a Python expression of the row's columns, and its format. `of(…)` is the row with these
further keys, for tables with a column for each: `of(quantum_us=100).slowdown :.2f`. `change(…)` is
a column's change in percent, in a table of assumptions; `change(…, 1.6)`: where it is that much.

A comment behind a paragraph says where figures in its sentences come from:

    <!-- 0.07 = overrun("express", 4).gap_ns / 1000; 2.9 = … -->

`python tests/pages.py RESULTS` copies what `chasqui experiment … --out RESULTS` has measured into
docs, fills the tables in anew, and lists the figures in sentences that are others now.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chasqui.errors import InputError
from chasqui.experiment import fidelity, kept

DOCS = Path(__file__).resolve().parent.parent / "docs"
FIDELITY = DOCS / "fidelity.md"
PROGRAMS = DOCS / "programs.md"  # what it says was found with programs from elsewhere

TABLE = re.compile(r"<!-- table (\w+)\(([^)]*)\): (.*?) -->\n((?:\|[^\n]*\n)+)", re.DOTALL)
SENTENCES = re.compile(r"([^\n]+)\n<!-- (?!table)(\S.*?=.*?) -->", re.DOTALL)
FORMAT = re.compile(r"(.*\S)\s+:([^\s:]+)", re.DOTALL)
# A figure in a sentence; not a part of a word, a version, a path or code.
FIGURE = re.compile(r"(?<![\w./-])\d[\d,]*(?:\.\d+)?(?![\w/])")


@dataclass(frozen=True)
class Claim:
    """A figure of a page, and what it must be."""

    place: str
    said: str
    found: str
    span: tuple[int, int]  # of `said` in the page


@cache
def rows(name: str, machine: str = "") -> kept.Rows:
    """`mechanisms` of any machine, or a further table: `mechanisms_overrun`; if several have it, of
    `machine`."""
    found = [path for path in DOCS.glob("*/*.csv") if path.stem.replace("-", "_") == name]
    for path in sorted(found, key=lambda path: path.parent.name != machine):
        return kept.read(path)
    raise LookupError(f"no table {name} in docs/*/*.csv")


class Names(dict[str, Any]):
    """What expressions of a machine's page see: every table by its name, and a few functions."""

    machine = ""

    def __missing__(self, name: str) -> Any:
        return rows(name, self.machine)  # every other name is a table's


def value(expression: str, machine: str = "", /, **more: Any) -> Any:
    names = Names(min=min, max=max, sum=sum, len=len, abs=abs, __builtins__={}, **more)
    names.machine = machine
    return eval(f"({expression})", names)


# --- tables --------------------------------------------------------------------------------------


def table_claims(page: Path) -> Iterator[Claim]:
    text = page.read_text()
    for found in TABLE.finditer(text):
        columns = [column.strip() for column in found[3].split(" | ")]
        common = value(f"dict({found[2]})", dict=dict)
        at = found.start(4)
        for count, line in enumerate(found[4].splitlines(keepends=True)):
            if count >= 2:  # behind the header and the line below it
                yield from _row_claims(page, found[1], columns, common, line, at)
            at += len(line)


def _row_claims(
    page: Path, name: str, columns: list[str], common: dict[str, kept.Cell], line: str, at: int
) -> Iterator[Claim]:
    spans = [match.span(1) for match in re.finditer(r"\| *(.*?) *(?=\|)", line)]
    assert len(spans) == len(columns), f"{page.name}: {line}: {len(columns)} columns are described"
    cells = [(line[begin:end], begin + at) for begin, end in spans]
    formats = [FORMAT.fullmatch(column) for column in columns]
    keys = {
        column: kept.number(cell)
        for column, form, (cell, _) in zip(columns, formats, cells, strict=True)
        if form is None and column
    } | common

    def of(**more: kept.Cell) -> kept.Row:
        return rows(name, page.stem)(**{**keys, **more})

    def change(column: str, spread: float = 0.05) -> str:
        """Of a table of assumptions: against what is assumed [%]. A dot: that is below the spread
        of what is measured."""
        assumed = float(rows(name, page.stem)("as assumed").values[column])
        percent = 100 * (float(of().values[column]) / assumed - 1)
        return "." if abs(percent) < spread else f"{percent:+.1f}"

    for form, (cell, begin) in zip(formats, cells, strict=True):
        if form is None:
            continue
        row = {} if "of(" in form[1] else of().values
        result = value(form[1], page.stem, **(row | {"of": of, "change": change}))
        shown = format(result, form[2]) if isinstance(result, float) else str(result)
        yield Claim(f"{page.name}: {line.strip()}", cell, shown, (begin, begin + len(cell)))


# --- sentences -----------------------------------------------------------------------------------


def sentence_claims(page: Path) -> Iterator[Claim]:
    text = page.read_text()
    for found in SENTENCES.finditer(text):
        said_at = [
            (figure[0], figure.start() + found.start(1)) for figure in FIGURE.finditer(found[1])
        ]
        for claim in re.split(r";\s+", found[2].strip().rstrip(";")):
            said, expression = (part.strip() for part in claim.split("=", 1))
            at = [begin for figure, begin in said_at if figure == said]
            assert at, f"{page.name}: {said} is not in: {found[1]}"
            decimals = len(said.partition(".")[2])
            shown = f"{float(value(expression, page.stem)):,.{decimals}f}"
            for begin in at:
                yield Claim(f"{page.name}: {claim}", said, shown, (begin, begin + len(said)))


def claims(page: Path) -> list[Claim]:
    return [*table_claims(page), *sentence_claims(page)]


def unchecked(page: Path) -> int:
    """How many figures of a page nothing is said about: in sentences and in tables."""
    text = page.read_text()
    checked = {claim.span[0] for claim in claims(page)}
    keys = [found.span(4) for found in TABLE.finditer(text)]
    # What stands in code, comments, links and headings is no figure, and what was expected before a
    # measurement follows from no table.
    expected = r"^\*Expected\*[^\n]*"
    for pattern in (
        r"```.*?```",
        r"<!--.*?-->",
        r"`[^`\n]*`",
        r"\]\([^)]*\)",
        r"^#[^\n]*",
        expected,
    ):
        text = re.sub(
            pattern, lambda part: re.sub(r"\S", " ", part[0]), text, flags=re.DOTALL | re.MULTILINE
        )
    return sum(
        1
        for figure in FIGURE.finditer(text)
        if figure.start() not in checked
        and not any(begin <= figure.start() < end for begin, end in keys)
    )


def pages() -> list[Path]:
    """Those that speak of what experiments have found. What the manual shows is compared with what
    its commands print (manual_pages.py)."""
    found = set(DOCS.glob("**/*.md")) - {PROGRAMS, FIDELITY}  # the latter is written from tables
    found = {page for page in found if not page.is_relative_to(DOCS / "manual")}
    return [page for page in sorted(found) if "chasqui experiment" in page.read_text()]


# --- bringing them up to date --------------------------------------------------------------------


def stamps() -> dict[str, dict[str, Any]]:
    """By experiment: what its tables were measured of (`running.write_stamp`)."""
    return kept.stamps(DOCS)


def tables_of(name: str) -> list[Path]:
    """The files in docs of an experiment."""
    return [kept.path_of(DOCS, name, table) for table in kept.tables_of(DOCS, name)]


def table_of(name: str, path: Path) -> str:
    """The experiment's name of the table that a file in docs has."""
    return path.stem.removeprefix(name.partition("/")[2]).removeprefix("-") or "results"


# Whole numbers that are results, and the first such of their tables: they move with what moves a
# time, where points do not. (That all points are there is told by the stamp, too: test_pages.)
RESULTS = ("run_time_ns", "network_replacements", "predictions")


# Of these tables `--quick` leaves fewer rows, but each as the whole experiment does. (Not of those
# of mechanisms.c: tests compile it without lines of sources, and then its code is another, whose
# times are up to 0.4 % less.)
ALIKE = {
    "flash/contention": ("results",),
    "flash/fft": ("results",),
    "flash/latency": ("results",),
    "flash/lu": ("results",),
    "flash/messages": ("results",),
    "flash/ocean": ("results",),
    "flash/processor": ("results",),
    "flash/radix": ("results",),
    "flash/scaling": ("results",),
    "netcache/double-cache": ("results",),
    "netcache/long-messages": ("results",),
    "netcache/message-sizes": ("results", "classes"),
    "netcache/one-rank": ("payloads",),
    "netcache/policies": ("results",),
    "netcache/prediction": ("results",),
    "netcache/ratio": ("results", "sensitivity"),
    "netcache/receive-overhead": ("results", "sensitivity"),
    "netcache/size": ("results",),
    "voyager/am": ("clock", "sensitivity"),
    "voyager/modern": ("attach",),
    "voyager/mpi": ("results",),
    "voyager/multitask": ("steps",),
    "voyager/nonresident": ("results", "moves"),
    "voyager/onepoll": ("results",),
}


def check_kept(name: str, quick: Path) -> None:
    """The tables of an experiment in docs have the columns of today's, as `--quick` wrote them; its
    results have today's points, by the columns before the first result: with a fraction, or one of
    RESULTS. What is measured alike is what the tables say, to the digit (ALIKE)."""
    for path in tables_of(name):
        table = table_of(name, path)
        with path.open(newline="") as old, (quick / f"{table}.csv").open(newline="") as new:
            (columns, *before), (columns_now, *now) = csv.reader(old), csv.reader(new)
        assert columns == columns_now, f"{path.name}: columns are not today's"
        measured = [
            at
            for at, column in enumerate(columns)
            if column in RESULTS or any("." in row[at] for row in before)
        ]
        keys = slice(measured[0] if measured else None)
        missing = {tuple(row[keys]) for row in now} - {tuple(row[keys]) for row in before}
        assert table != "results" or not missing, (
            f"{path.name}: points of today's experiment are missing"
        )
        changed = [row for row in now if row not in before]
        is_alike = table in ALIKE.get(name, ())
        assert not (is_alike and changed), (
            f"{path.name}: is {changed[0]}: measure it anew (make results)"
        )
        # What could be held so is.
        assert is_alike or changed or not now, f"{path.name}: belongs to ALIKE"


def wanted(name: str) -> set[str]:
    """The tables of an experiment that pages speak of, or claims of a document, beside its
    results."""
    text = "\n".join(page.read_text() for page in pages())
    machine, _, experiment = name.partition("/")
    short = experiment.replace("-", "_")
    has_document = machine in fidelity.machines()
    claimed = fidelity.load(machine).tables.get(experiment, ()) if has_document else ()
    return {*claimed} | {
        table.removeprefix(f"{short}_") for table in re.findall(rf"\b{short}_\w+(?=\(|\.all)", text)
    }


def take(results: Path) -> None:
    """Copies the tables of the experiments in a folder that `--out` named, and the pictures that
    pages have. Raises InputError before the first, if of one rows would be lost."""
    whole = []
    for stamp in sorted(results.glob("*/measured.json")):
        measured = json.loads(stamp.read_text())
        if measured["quick"]:
            print(f"{measured['experiment']}: left out, for it is a quick one")
            continue
        kept.check_loses_nothing(stamp.parent, DOCS)
        whole.append((measured["experiment"], stamp.parent))
    for name, place in whole:
        # Another machine's tables may have such names.
        kept.keep(place, DOCS, {each for each in wanted(name) if (place / f"{each}.csv").exists()})
        print(f"{name}: taken")


def fill(page: Path) -> None:
    """Writes the cells of tables anew. Figures in sentences are for people: prints what changed."""
    text = page.read_text()
    for claim in sorted(table_claims(page), key=lambda each: each.span, reverse=True):
        begin, end = claim.span
        text = text[:begin] + claim.found + text[end:]
    page.write_text(text)
    for claim in sentence_claims(page):
        if claim.said != claim.found:
            print(f"{claim.place}: said {claim.said}, is {claim.found}")


def main(results: Sequence[str], out: Callable[[str], object] = print) -> None:
    for folder in results:
        take(Path(folder))
    FIDELITY.write_text(fidelity.page(fidelity.machines(), DOCS))
    for page in pages():
        fill(page)
        out(f"{page.name}: {unchecked(page)} figures that nothing is said about")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"pages.py: {error}")
