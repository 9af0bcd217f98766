"""The page of a sweep: its charts, its rows, what failed, what all points have in common."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chasqui.errors import InputError
from chasqui.files import check_shape
from chasqui.report import palette
from chasqui.report.frame import Page, Raw, join, note, table, tag
from chasqui.sweeping import store, whole
from chasqui.text import number

PS_PER_US = 10**6
ROWS_MAX = 5000  # in the page
LOG_RATIO = 8  # of the greatest x to the least
TICKS_MAX = 12
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
QUANTITY = re.compile(r"(\d+(?:\.\d*)?)\s*([A-Za-z][\w/]*)")

Line = Mapping[str, Any]


class Axes(NamedTuple):
    """Columns of a chart; by: an empty name is none."""

    x: str
    y: str
    by: str


def is_sweep(directory: Path) -> bool:
    return store.is_sweep(directory)


def add(page: Page, directory: Path) -> None:
    spec = {"plot": [], **store.read_spec(directory)}
    check_shape(spec, {"program": [str], "plot": [str]}, str(directory / store.SPEC))
    rows = store.read_table(directory).to_pylist()
    if not rows or any(name not in rows[0] for name in store.columns()):
        raise InputError(f"{directory / store.RESULTS}: no table of `chasqui sweep`")
    differ = whole.varied_of([_inputs(row) for row in rows])
    failed = [row for row in rows if row["message"]]
    page.title = f"Sweep of {' '.join(spec['program'])}"
    warning = f"{len(failed)} of {len(rows)} points failed: they are listed below."
    page.header = join(
        [
            tag("p", "Chasqui: a sweep", class_="kind"),
            tag("h1", page.title),
            tag("p", f"{len(rows)} points"),
            tag("div", warning, class_="warning", role="note") if failed else "",
        ]
    )
    plots = [dict(word.split("=", 1) for word in text.split()) for text in spec["plot"]] or [{}]
    charts = [_chart(page, rows, _axes(rows, differ, plot), at) for at, plot in enumerate(plots)]
    page.section("plots", "Charts", *charts)
    page.section("points", "Points", *_points(rows, differ))
    if failed:
        page.section("failed", "What failed", _failed(failed, differ))
    page.section("inputs", "What all points have in common", _common(rows, differ))


def _inputs(row: Line) -> dict[str, Any]:
    """The columns before the first figure."""
    return dict(itertools.takewhile(lambda item: item[0] != store.FIGURES[0], row.items()))


def _axes(rows: Sequence[Line], differ: Sequence[str], plot: Mapping[str, str]) -> Axes:
    """What a plot says, or else what suits: x is the first input that is numbers."""
    given = (plot.get("x"), plot.get("by"))
    free = [name for name in differ if name != "repeat" and name not in given]
    numeric = [name for name in free if _values(rows, name).is_numeric]
    x = plot.get("x") or next(iter(numeric or free), "np")
    by = plot.get("by") or next((name for name in free if name != x), "")
    y = plot.get("y") or "init_to_finalize_ps"
    for name in (x, y, *([by] if by else [])):
        if name not in rows[0]:
            raise InputError(f"the sweep has no column {name!r}; there are: {', '.join(rows[0])}")
    return Axes(x, y, by)


class Values(NamedTuple):
    """A column as an axis has it."""

    by_text: dict[str, Any]  # where on the axis a value is
    is_numeric: bool
    unit: str


def _values(rows: Sequence[Line], name: str) -> Values:
    found = dict.fromkeys(row[name] for row in rows)
    if all(isinstance(each, int | float) for each in found):
        return Values({str(each): each for each in found}, True, "")
    parts = {str(each): QUANTITY.fullmatch(str(each)) for each in found}
    units = {match[2] for match in parts.values() if match}
    if all(parts.values()) and len(units) == 1:
        numbers = {text: float(match[1]) for text, match in parts.items() if match}
        return Values(numbers, True, units.pop())
    return Values({text: text for text in parts}, False, "")


def _chart(page: Page, rows: Sequence[Line], axes: Axes, at: int) -> Raw:
    """A line for each choice of the other inputs, so that none is a mean of unlike things; what
    repetitions of a point lie between are bars."""
    x = _values(rows, axes.x)
    inputs = [_inputs(row) for row in rows]
    others = [n for n in whole.varied_of(inputs) if n not in (axes.x, axes.by, "repeat")]
    lines: dict[tuple[Any, tuple[Any, ...]], dict[str, list[float]]] = {}
    for row in rows:
        if row[axes.y] is not None:
            key = (row[axes.by] if axes.by else "", tuple(row[name] for name in others))
            places = lines.setdefault(key, {})
            places.setdefault(str(row[axes.x]), []).append(_shown(axes.y, row[axes.y]))
    colours = list(dict.fromkeys(row[axes.by] for row in rows)) if axes.by else [""]
    dashes = list(dict.fromkeys(rest for _, rest in lines))
    traces = [
        _trace(
            ", ".join(map(str, (*([by] if axes.by else []), *rest))) or axes.y,
            x,
            places,
            palette.SEVERAL[colours.index(by) % len(palette.SEVERAL)],
            DASHES[dashes.index(rest) % len(DASHES)],
        )
        for (by, rest), places in lines.items()
    ]
    title = f"{_title(axes.y)} over {axes.x}" + (f" by {axes.by}" if axes.by else "")
    layout = {
        "height": 420,
        "xaxis": _x_axis(axes.x, x),
        "yaxis": {"title": {"text": _title(axes.y)}, "rangemode": "tozero"},
        "legend": "below",
    }
    missing = sum(row[axes.y] is None for row in rows)
    words = f"Lines: {', '.join([*([axes.by] if axes.by else []), *others])}. " if lines else ""
    words += "Bars: least and greatest of the repetitions. " if _repeated(rows) else ""
    words += f"{missing} points have none, because they failed." if missing else ""
    return join(
        [
            tag("h3", title),
            note(words.strip()) if len(traces) > 1 or _repeated(rows) or missing else "",
            page.chart(f"sweep{at}", traces, layout, title)
            if traces
            else note("No point has a value: all failed."),
        ]
    )


def _repeated(rows: Sequence[Line]) -> bool:
    return any(row["repeat"] > 1 for row in rows)


def _shown(name: str, value: float) -> float:
    return value / PS_PER_US if name.endswith("_ps") else value


def _title(name: str) -> str:
    """With its unit: `time [us]`."""
    for ending, unit in (("_ps", "us"), ("_ns", "ns")):
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} [{unit}]"
    return name.replace("_", " ")


def _x_axis(name: str, x: Values) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": f"{name} [{x.unit}]" if x.unit else name}}
    if not x.is_numeric:
        return {**axis, "type": "category", "categoryarray": list(x.by_text)}
    places = sorted(x.by_text.values())
    if places[0] > 0 and places[-1] >= LOG_RATIO * places[0]:
        axis["type"] = "log"
    if len(places) <= TICKS_MAX:
        axis |= {"tickvals": places, "ticktext": [f"{each:,g}" for each in places]}
    return axis


def _trace(
    name: str, x: Values, places: Mapping[str, Sequence[float]], colour: str, dash: str
) -> dict[str, Any]:
    shown = [(x.by_text[text], values) for text, values in places.items()]
    if x.is_numeric:
        shown.sort(key=lambda each: each[0])
    means = [sum(values) / len(values) for _, values in shown]
    trace: dict[str, Any] = {
        "type": "scatter", "mode": "lines+markers", "name": name,
        "x": [place for place, _ in shown], "y": means,
        "line": {"color": colour, "dash": dash},
    }  # fmt: skip
    if any(len(values) > 1 for _, values in shown):
        pairs = list(zip(means, (values for _, values in shown), strict=True))
        trace["error_y"] = {
            "type": "data", "symmetric": False, "thickness": 1, "width": 3,
            "array": [max(values) - mean for mean, values in pairs],
            "arrayminus": [mean - min(values) for mean, values in pairs],
        }  # fmt: skip
    return trace


def _points(rows: Sequence[Line], differ: Sequence[str]) -> list[Raw]:
    figures = [
        name
        for name in rows[0]
        if name not in (*_inputs(rows[0]), "message", "key")
        and any(row[name] is not None for row in rows)
    ]
    header = [*differ, *(_title(name) if name not in store.TEXTS else name for name in figures)]
    left = [*range(len(differ))]
    left += [len(differ) + at for at, name in enumerate(figures) if name in store.TEXTS]
    cells = [
        [*(str(row[name]) for name in differ), *(_cell(name, row[name]) for name in figures)]
        for row in rows[:ROWS_MAX]
    ]
    more = note(f"The first {ROWS_MAX} rows.") if len(rows) > ROWS_MAX else Raw("")
    where = note(f"`{store.RESULTS}` has all figures, with all digits.")
    return [where, more, table(header, cells, left=left, sortable=True)]


def _cell(name: str, value: Any) -> str:
    return value if isinstance(value, str) else number(_none_or(name, value), 4)


def _none_or(name: str, value: float | None) -> float | None:
    return None if value is None else _shown(name, value)


def _failed(rows: Sequence[Line], differ: Sequence[str]) -> Raw:
    cells = [
        [
            *(str(row[name]) for name in differ),
            *(row["outcome"], tag("pre", row["message"]), row["directory"]),
        ]
        for row in rows[:ROWS_MAX]
    ]
    header = [*differ, "outcome", "message", "run directory"]
    return table(header, cells, left=tuple(range(len(header))))


def _common(rows: Sequence[Line], differ: Sequence[str]) -> Raw:
    inputs = [_inputs(row) for row in rows]
    same = [
        [name, str(value)]
        for name, value in inputs[0].items()
        if name not in differ and all(each[name] == value for each in inputs)
    ]
    return table(["input", "value"], same, left=(0, 1))
