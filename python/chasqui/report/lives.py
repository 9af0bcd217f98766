"""Lives of messages: their parts by mechanism and size, and how these are spread."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from chasqui.histogram import class_of
from chasqui.messages import ABSENT
from chasqui.report import palette
from chasqui.report.data import TIME_MAX, Messages, Run
from chasqui.report.frame import Page, Raw, folded, note, table
from chasqui.text import ns, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

PS_PER_US = 10**6
QUARTERS = (0, 25, 50, 75, 100)
FIRST = "end_to_end"  # of the parts that can be chosen
DECADES = 30  # from the least to the greatest: more is shown by powers of ten
GROUPS_MAX = 60  # more bars than that are no picture


class Group(NamedTuple):
    """Messages of one mechanism and class of sizes."""

    mechanism: str
    most: int  # bytes of the class's longest message
    rows: NDArray[Any]

    @property
    def size(self) -> str:
        return bytes_of(self.most)

    @property
    def label(self) -> str:
        return f"{self.mechanism}, {self.size}"


def bytes_of(most: int) -> str:
    """A class of sizes, by its longest."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if most >= size:
            return f"≤ {most // size} {unit}"
    return f"≤ {most} B" if most > 2 else f"{most} B"


def groups(messages: Messages) -> list[Group]:
    """By mechanism, then by size; messages without an envelope are the machine's own."""
    import numpy

    sizes, kinds = messages.columns["bytes"], messages.columns["mechanism"]
    known = numpy.unique(sizes)
    upper = numpy.array([class_of(int(size)) if size != ABSENT else ABSENT for size in known])
    classes = upper[numpy.searchsorted(known, sizes)] if len(known) else sizes
    found = []
    for kind in numpy.unique(kinds):
        name = messages.mechanisms[int(kind)] if kind != ABSENT else "no mechanism"
        for most in numpy.unique(classes[kinds == kind]):
            rows = numpy.flatnonzero((kinds == kind) & (classes == most))
            if most != ABSENT:
                found.append(Group(name, int(most), rows))
    return found


def evaluate(formula: str, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
    """A part of messages' lives by its formula in summary.json [ps]; None: that takes more than one
    message, or is no formula."""
    try:
        tree = ast.parse(formula, mode="eval").body
        found: NDArray[Any] = _value(tree, columns)
    except (SyntaxError, KeyError, ValueError):
        return None
    return found


def _value(node: ast.expr, columns: Mapping[str, NDArray[Any]]) -> Any:
    import numpy

    match node:
        case ast.Name(id=name):
            return columns[f"{name}_ps"]
        case ast.Constant(value=int(value)) if value <= TIME_MAX:
            return value
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            a, b = _value(left, columns), _value(right, columns)
            return numpy.where((a == ABSENT) | (b == ABSENT), ABSENT, a - b)
        case ast.BoolOp(op=ast.Or(), values=[first, second]):
            a, b = _value(first, columns), _value(second, columns)
            return numpy.where(a == ABSENT, b, a)
        case ast.Call(func=ast.Name(id="max"), args=[first, second]):
            a, b = _value(first, columns), _value(second, columns)
            lacks = (a == ABSENT) | (b == ABSENT)
            return numpy.where(lacks, ABSENT, numpy.maximum(a, b))
    raise ValueError


def quartiles(values: NDArray[Any]) -> list[float]:
    """Least, lower quartile, median, upper quartile, greatest of those that are there; or none."""
    import numpy

    there = values[values != ABSENT]
    return [float(each) for each in numpy.percentile(there, QUARTERS)] if len(there) else []


def add(page: Page, run: Run) -> None:
    found = groups(run.messages)
    if not found:
        page.section("lives", "Lives of messages", note("The run had no messages."))
        return
    parts = dict(_parts(run))
    page.section(
        "lives",
        "Lives of messages",
        note(
            "A message's life begins when the sender calls MPI and ends when the receiver's call "
            "returns. Bars: the mean of its parts, of all messages of a mechanism and a class of "
            "sizes. They add up to the time end to end: a stage that came before one on its left, "
            "as the match of a long message before its data were sent, takes no time."
        ),
        _bars(page, run, found),
        note(
            "Boxes: from the lower quartile to the upper, with the median; the whiskers are the "
            "least and the greatest."
        ),
        _boxes(page, run, found, parts),
        folded("Figures: by mechanism and size", _quartiles(found, parts)),
        folded("Figures: every part, of all messages", _every(run)),
    )


def _parts(run: Run) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every part that is one message's, the whole life first."""
    stages = sorted(run.summary["stages"], key=lambda each: each["name"] != FIRST)
    for stage in stages:
        values = evaluate(stage["formula"], run.messages.columns)
        if stage["count"] and values is not None and bool((values != ABSENT).any()):
            yield stage["name"], values


def _bars(page: Page, run: Run, found: list[Group]) -> Raw:
    import numpy

    columns = run.messages.milestones
    whole = numpy.ones(len(run.messages), dtype=bool)
    for before, after, _ in palette.PARTS.values():
        whole &= (columns[before] != ABSENT) & (columns[after] != ABSENT)
    rows = [(each, each.rows[whole[each.rows]]) for each in found]
    rows = [(each, some) for each, some in rows if len(some)]
    if not rows:
        return note("No message has all stages of its life, so there is no picture of its parts.")
    shown = sorted(rows, key=lambda each: -len(each[1]))[:GROUPS_MAX]
    shown = [each for each in rows if any(each is other for other in shown)]
    traces = []
    for name, (before, after, colour) in palette.PARTS.items():
        means = [float((columns[after][some] - columns[before][some]).mean()) for _, some in shown]
        traces.append(
            {
                "type": "bar", "orientation": "h", "name": name.replace("_", " "),
                "y": [each.label for each, _ in shown],
                "x": [round(mean / PS_PER_US, 4) for mean in means],
                "marker": {"color": colour, "line": {"width": 0}},
                "hovertemplate": f"%{{y}}: {name.replace('_', ' ')} %{{x:,.4~g}} us"
                                 "<extra></extra>",
            }
        )  # fmt: skip
    layout = {
        "height": 190 + 26 * len(shown), "barmode": "stack", "bargap": 0.2,
        "xaxis": {"title": {"text": "mean time [us]"}},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
        "legend": "below",
    }  # fmt: skip
    left = int(len(run.messages) - whole.sum())
    chart = page.chart("parts", traces, layout, "Stacked bars: mean parts of messages' lives")
    more = f"{number(left)} messages lack a stage, and are left out of it." if left else ""
    return Raw(chart + (note(more) if more else ""))


def _boxes(page: Page, run: Run, found: list[Group], parts: Mapping[str, NDArray[Any]]) -> Raw:
    colours = palette.mechanisms(run.messages.mechanisms)
    shown = sorted(found, key=lambda each: -len(each.rows))[:GROUPS_MAX]
    sizes = sorted({each.most for each in shown})
    figures: dict[str, Any] = {}
    for name, values in parts.items():
        traces = []
        for mechanism in dict.fromkeys(each.mechanism for each in found):
            each_of = [
                g for g in found if g.mechanism == mechanism and any(g is each for each in shown)
            ]
            spread = [(g, quartiles(values[g.rows])) for g in each_of]
            boxes = [(g, q) for g, q in spread if q]
            if boxes:
                traces.append(box(mechanism, boxes, colours.get(mechanism, palette.GREY)))
        figures[name.replace("_", " ")] = (traces, box_layout(sizes, name, traces))
    if not figures:
        return note("No message has two stages of a part, so there is no picture of their spread.")
    return page.choice("lives", "Part", figures, "Boxes: quartiles by mechanism and size")


def box_layout(sizes: list[int], part: str, traces: list[dict[str, Any]]) -> dict[str, Any]:
    least = min((min(each["lowerfence"]) for each in traces), default=0)
    most = max((max(each["upperfence"]) for each in traces), default=0)
    is_wide = 0 < least < most / DECADES
    return {
        "height": 380, "boxmode": "group",
        "xaxis": {"type": "category", "title": {"text": "size"}, "categoryorder": "array",
                  "categoryarray": [bytes_of(size) for size in sizes]},
        "yaxis": {"title": {"text": f"{part.replace('_', ' ')} [us]"}, "rangemode": "tozero",
                  **({"type": "log", "dtick": 1} if is_wide else {})},
        "legend": "below",
    }  # fmt: skip


def box(mechanism: str, boxes: list[tuple[Group, list[float]]], colour: str) -> dict[str, Any]:
    names = ("lowerfence", "q1", "median", "q3", "upperfence")
    columns = zip(*(spread for _, spread in boxes), strict=True)
    return {
        "type": "box", "name": mechanism, "x": [group.size for group, _ in boxes],
        "marker": {"color": colour}, "line": {"width": 1.5},
        **{name: [round(each / PS_PER_US, 4) for each in column]
           for name, column in zip(names, columns, strict=True)},
    }  # fmt: skip


def _quartiles(found: list[Group], parts: Mapping[str, NDArray[Any]]) -> Raw:
    header = [
        "mechanism", "size", "part", "messages",
        *(f"{name} [ns]" for name in ("least", "quartile", "median", "quartile", "greatest")),
    ]  # fmt: skip
    rows = []
    for group in found:
        for name, values in parts.items():
            some = values[group.rows]
            spread = quartiles(some)
            if spread:
                count = number(int((some != ABSENT).sum()))
                cells = [ns(round(each)) for each in spread]
                rows.append([group.mechanism, group.size, name.replace("_", " "), count, *cells])
    return table(header, rows, left=(0, 1, 2), sortable=True)


def _every(run: Run) -> Raw:
    rows = [
        [
            each["name"].replace("_", " "),
            each["formula"],
            number(each["count"]),
            *(ns(each[key]) for key in ("min_ps", "median_ps", "mean_ps", "max_ps")),
            each["doc"],
        ]
        for each in run.summary["stages"]
        if each["count"]
    ]
    header = ["part", "from its stages", "messages", "least [ns]", "median [ns]", "mean [ns]",
              "greatest [ns]", "what it is"]  # fmt: skip
    return table(header, rows, left=(0, 1, 7))
