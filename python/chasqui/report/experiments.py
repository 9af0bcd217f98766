"""The page of an experiment: its question, findings, picture and tables."""

from __future__ import annotations

import base64
import csv
import io
import itertools
from pathlib import Path

from chasqui.experiment import running
from chasqui.files import TEXT_MAX, check_shape, damaged, read_bytes, read_json, read_text
from chasqui.report.frame import Page, Raw, folded, join, note, paragraph, table, tag

PICTURE, REPORT, RESULTS = "picture.svg", "report.txt", "results.csv"
EXPERIMENT = "`chasqui experiment`"
ROWS_MAX = 5000  # of a table in the page


def is_experiment(directory: Path) -> bool:
    return (directory / running.STAMP).exists() and (directory / RESULTS).exists()


def add(page: Page, directory: Path) -> None:
    stamp = read_json(directory / running.STAMP, EXPERIMENT)
    check_shape(stamp, {"experiment": str, "version": str}, str(directory / running.STAMP))
    name = stamp["experiment"]
    report = _text(directory / REPORT)
    page.title = f"Experiment {name}"
    page.header = join(
        [
            tag("p", "Chasqui: an experiment", class_="kind"),
            tag("h1", name),
            _question(name),
            tag("div", "Fewer points than usual (--quick).", class_="warning", role="note")
            if stamp.get("quick")
            else "",
        ]
    )
    page.section("findings", "Findings", _findings(report))
    page.section("picture", "Picture", _picture(directory))
    page.section("tables", "Tables", *(_table(path) for path in _tables(directory)))
    rows = [[key, str(value)] for key, value in sorted(stamp.items())]
    page.section(
        "source",
        "What it was measured of",
        note("Fingerprints of the points, parameters and programs: alike where these are."),
        table(["what", "value"], rows, left=(0, 1)),
        folded("The report as text", tag("pre", report)),
    )


def _text(path: Path) -> str:
    return read_text(path, EXPERIMENT, TEXT_MAX) if path.exists() else ""


def _question(name: str) -> Raw:
    """Of an experiment that comes with a machine; one of the user's may be elsewhere by now."""
    return paragraph(running.load(name).question) if name in running.names() else Raw("")


def _findings(report: str) -> Raw:
    """The report's last paragraph, if it is a list."""
    last = report.strip().split("\n\n")[-1].splitlines()
    if not last or not last[0].startswith("- "):
        return note("The experiment states none.")
    items: list[str] = []
    for line in last:
        if line.startswith("- "):
            items.append(line[2:])
        else:
            items[-1] += f" {line.strip()}"
    return tag("ul", *(tag("li", each) for each in items), class_="findings")


def _picture(directory: Path) -> Raw:
    path = directory / PICTURE
    if not path.exists():
        return note("The experiment draws none.")
    data = base64.b64encode(read_bytes(path, EXPERIMENT, TEXT_MAX)).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return tag(
        "figure",
        Raw(f'<img src="{source}" alt="The experiment&#x27;s picture; its figures are below">'),
    )


def _tables(directory: Path) -> list[Path]:
    others = (each for each in sorted(directory.glob("*.csv")) if each.name != RESULTS)
    return [directory / RESULTS, *others]


def _table(path: Path) -> Raw:
    lines = io.StringIO(read_text(path, EXPERIMENT, TEXT_MAX), newline="")
    try:
        rows = list(itertools.islice(csv.reader(lines), ROWS_MAX + 1))
    except csv.Error as error:
        raise damaged(str(path), str(error)) from None
    if not rows:
        raise damaged(str(path), "it has no line")
    header, cells = [name.replace("_", " ") for name in rows[0]], rows[1:]
    left = tuple(at for at in range(len(header)) if not _is_number(cells, at))
    more = note(f"The first {ROWS_MAX} rows.") if len(cells) == ROWS_MAX else ""
    return join([tag("h3", path.stem), more, table(header, cells, left=left, sortable=True)])


def _is_number(rows: list[list[str]], at: int) -> bool:
    def is_one(text: str) -> bool:
        try:
            float(text or "0")
        except ValueError:
            return False
        return True

    return all(is_one(row[at]) for row in rows if at < len(row))
