"""Where simulated cycles went: the table of `profile.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chasqui.errors import InputError
from chasqui.files import Shape, check_shape, read_json
from chasqui.text import number, table

FILE = "profile.json"
REST = "rest"  # causes that a narrow terminal has no columns for
NAME_MAX = 28  # of functions, on such
TOP = 15

# Columns: title, causes in profile.json that it sums.
COLUMNS = {
    "issue": ("issue",),
    "D-miss": ("data",),
    "I-miss": ("instruction",),
    "TLB": ("tlb",),
    "uncached": ("uncached",),
    "wr.buffer": ("write_buffer",),
    "NI": ("posted", "overhead"),
    "system": ("software", "sleep"),
    "wait": ("wait",),
}


# What of it is read here.
FUNCTION: Shape = {
    "name": str, "cycles": int, "cycles_with_callees": int, "by_cause": {str: int},
}  # fmt: skip
SHAPE: Shape = {
    "functions": [FUNCTION],
    "ranks": [{"rank": int, "cycles": int, "functions": [FUNCTION]}],
    "firmware": [{"processor": str, "cycles": int, "functions": [FUNCTION]}],
}


def read(directory: Path) -> dict[str, Any]:
    """The profile in a run directory."""
    path = directory / FILE
    profile = read_json(path, "`chasqui run --profile`")
    if isinstance(profile, dict):
        profile.setdefault("firmware", [])  # where a machine has none
    check_shape(profile, SHAPE, str(path))
    for rank in profile["ranks"]:
        if "program" in rank:  # where ranks execute several
            check_shape(rank["program"], str, f"{path}: ranks: program")
    found: dict[str, Any] = profile
    return found


def part(profile: Mapping[str, Any], rank: int | None) -> tuple[list[Mapping[str, Any]], int]:
    """The functions of a rank, or of all together, and all their cycles."""
    ranks = profile["ranks"]
    if rank is None:
        return profile["functions"], sum(each["cycles"] for each in ranks)
    for each in ranks:
        if each["rank"] == rank:
            return each["functions"], each["cycles"]
    raise InputError(f"rank {rank}: the run had ranks 0 to {len(ranks) - 1}")


def lines(
    profile: Mapping[str, Any], rank: int | None = None, top: int = TOP, columns: int = 0
) -> list[str]:
    """The functions that took the most cycles: their share, then what for, in percent of all.

    Of all ranks together; then of the firmware, where the machine has such. If a rank is named, of
    that rank alone. In so many columns of a terminal, if it has them (0: that does not matter).
    """
    functions, total = part(profile, rank)
    whose = f"rank {rank}" if rank is not None else f"{len(profile['ranks'])} ranks"
    shown = _table(functions, whose, total, top, columns)
    if rank is not None:
        return shown
    for name, processors in _firmware(profile).items():
        functions = _together(processors)
        cycles = sum(each["cycles"] for each in processors)
        shown += ["", *_table(functions, f"{len(processors)} x {name}", cycles, top, columns)]
    return shown


def _firmware(profile: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The firmware processors of a run, by what they are called."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in profile["firmware"]:
        found.setdefault(each["processor"], []).append(each)
    return found


def _together(processors: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The functions of several processors that run one program; the most cycles first."""
    sums: dict[str, dict[str, Any]] = {}
    for function in (each for processor in processors for each in processor["functions"]):
        found = sums.setdefault(
            function["name"],
            {"name": function["name"], "cycles": 0, "cycles_with_callees": 0, "by_cause": {}},
        )
        found["cycles"] += function["cycles"]
        found["cycles_with_callees"] += function["cycles_with_callees"]
        for cause, cycles in function["by_cause"].items():
            found["by_cause"][cause] = found["by_cause"].get(cause, 0) + cycles
    return sorted(sums.values(), key=lambda each: (-each["cycles"], each["name"]))


def _table(
    functions: list[Mapping[str, Any]], whose: str, total: int, top: int, width: int
) -> list[str]:
    """Where it would be wider than `width` (0: that does not matter), causes that took least come
    together in one column, and long names are cut."""
    heading = f"where {number(total)} cycles of {whose} went [%]"
    columns = {
        title: list(causes)
        for title, causes in COLUMNS.items()
        if any(cause in each["by_cause"] for each in functions for cause in causes)
    }
    while True:
        cells = rows(functions, total, top, columns)
        if width:
            cells = [[_cut(row[0]), *row[1:]] for row in cells]
        header = ["function", "cycles", "with callees", *columns]
        shown = table(header, cells, columns=width).splitlines()
        few = [title for title in columns if title != REST]
        if not width or max(map(len, shown)) <= width or len(few) < 2:
            return [heading, *shown]
        least = min(few, key=lambda title: _spent(functions, columns[title]))
        columns[REST] = [*columns.pop(least), *columns.pop(REST, [])]


def rows(
    functions: list[Mapping[str, Any]], total: int, top: int, columns: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """The table's: a function each, the others together, all; in percent of `total`."""

    def row(name: str, some: list[Mapping[str, Any]], inclusive: int | None) -> list[str]:
        cycles = sum(each["cycles"] for each in some)
        spent = (_spent(some, causes) for causes in columns.values())
        shares = [percent(value, total) for value in (cycles, *spent)]
        within = "" if inclusive is None else percent(inclusive, total)
        return [name, shares[0], within, *shares[1:]]

    found = [row(each["name"], [each], each["cycles_with_callees"]) for each in functions[:top]]
    if len(functions) > top:
        found.append(row(f"{len(functions) - top} others", list(functions[top:]), None))
    return [*found, row("all", list(functions), None)]


def _spent(functions: Sequence[Mapping[str, Any]], causes: Sequence[str]) -> int:
    return sum(each["by_cause"].get(cause, 0) for each in functions for cause in causes)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…"


def percent(cycles: int, total: int) -> str:
    return f"{100 * cycles / total:.1f}" if cycles and total else "-"
