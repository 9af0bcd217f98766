"""Every parameter of the machine with its value and why it is so; assumptions are marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from chasqui.report.data import Parameter, Run
from chasqui.report.frame import Page, Raw, folded, join, note, table, tag

SET = "--set"


def add(page: Page, run: Run) -> None:
    assumed = sum(each.is_assumed for each in run.parameters)
    groups = groupby(run.parameters, lambda each: each.name.rpartition(".")[0])
    changed = [each for each in run.parameters if each.origin not in ("default", run.machine)]
    page.section(
        "parameters",
        "Parameters and their sources",
        note(
            f"All {len(run.parameters)} parameters as the run had them. {assumed} of them are "
            "assumptions: no document says their value. `chasqui info` explains each."
        ),
        folded(f"Set for this machine or run ({len(changed)})", _table(changed), is_open=True)
        if changed
        else "",
        *(folded(_title(name, some := list(each)), _table(some)) for name, each in groups),
    )


def _title(name: str, some: Sequence[Parameter]) -> str:
    assumed = sum(each.is_assumed for each in some)
    note_ = f", {assumed} assumed" if assumed else ""
    return f"{name} ({len(some)}{note_})"


def _table(some: Sequence[Parameter]) -> Raw:
    rows = [
        [
            tag("span", each.name, title=each.doc),
            each.value,
            each.origin,
            tag("mark", each.source) if each.is_assumed else each.source,
            each.doc,
        ]
        for each in some
    ]
    header = ["parameter", "value", "set by", "source", "what it is"]
    return table(header, rows, left=(0, 1, 2, 3, 4))


def differing(titles: Sequence[str], runs: Sequence[Run]) -> Raw:
    """The parameters in which runs differ, those that only some have among them."""
    every = [{each.name: each for each in run.parameters} for run in runs]
    shared: list[list[Raw | str]] = []
    own: list[list[Raw | str]] = []
    for name in dict.fromkeys(name for each in every for name in each):
        found = [each.get(name) for each in every]
        if len({each and each.value for each in found}) > 1:
            doc = next(each.doc for each in found if each)
            row = [tag("span", name, title=doc), *map(_value, found), doc]
            (own if None in found else shared).append(row)
    header = ["parameter", *titles, "what it is"]
    left = tuple(range(len(header)))
    parts = [
        note("Assumptions are marked. A value's source is shown where the pointer rests on it.")
    ]
    if shared:
        parts.append(table(header, shared, left=left))
    if own:
        rows = table(header, own, left=left)
        parts.append(folded(f"Parameters that not all have ({len(own)})", rows))
    return join(parts) if shared or own else note("They differ in no parameter.")


def _value(parameter: Parameter | None) -> Raw:
    if parameter is None:
        return Raw("-")
    kind = "mark" if parameter.is_assumed else "span"
    return tag(kind, parameter.value, title=parameter.source)
