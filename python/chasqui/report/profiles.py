"""The profile: the functions that took the most cycles, by cause, and a flame graph."""

from __future__ import annotations

import html
from typing import Any

from chasqui import profile
from chasqui.report import palette
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, folded, note, table
from chasqui.text import number

TOP = 30
FLAMES_MAX = 1500  # frames of a flame graph
FLAMES_DEEP = 16  # shown at a time
LEAST = 0.0005  # of all cycles; less is no frame of its own


def add(page: Page, run: Run) -> None:
    if run.profile is None:
        page.section(
            "profile",
            "Profile",
            note("The run has none: `chasqui run --profile` counts every function's cycles."),
        )
        return
    functions, total = profile.part(run.profile, None)
    page.section(
        "profile",
        "Profile",
        note(
            f"Where {number(total)} cycles of {run.ranks} ranks went, in percent of all. Nothing "
            "is sampled: every instruction is counted."
        ),
        _table(functions, total),
        note(
            "Flame graph: below each function those that it called, as wide as their cycles. Click "
            "on a frame to see it alone, and on the top to go back. Frames in brackets are cycles "
            "not spent executing."
        ),
        _flames(page, run),
        folded("Causes", _causes(run.profile)),
    )


def _table(functions: list[Any], total: int) -> Raw:
    columns = {
        title: causes
        for title, causes in profile.COLUMNS.items()
        if any(cause in each["by_cause"] for each in functions for cause in causes)
    }
    header = ["function", "cycles", "with callees", *columns]
    return table(header, profile.rows(functions, total, TOP, columns), sortable=True)


def _causes(found: dict[str, Any]) -> Raw:
    causes = found.get("causes")
    rows = sorted(causes.items()) if isinstance(causes, dict) else []
    return table(["cause", "cycles"], rows, left=(0, 1))


def _flames(page: Page, run: Run) -> Raw:
    figures = {kind: _flame(totals) for kind, totals in _totals(run).items()}
    if not figures:
        return note(f"No flame graph: {run.name} has no profile.folded.")
    return page.choice("flames", "Of", figures, "Flame graph; the table has the same functions")


def _flame(totals: dict[tuple[str, ...], int]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    whole = totals[()]
    kept = [path for path in totals if totals[path] >= whole * LEAST]
    kept = sorted(sorted(kept, key=lambda path: (-totals[path], path))[:FLAMES_MAX])
    numbers = {path: at for at, path in enumerate(kept)}
    trace = {
        "type": "icicle", "branchvalues": "total", "maxdepth": FLAMES_DEEP,
        "ids": [str(at) for at in numbers.values()],
        "labels": [html.escape(path[-1]) if path else "all" for path in kept],
        "parents": [str(numbers[path[:-1]]) if path else "" for path in kept],
        "values": [totals[path] for path in kept],
        "marker": {"colors": [_colour(path) for path in kept], "line": {"width": 0.5}},
        "tiling": {"orientation": "v", "pad": 1},
        "pathbar": {"visible": True, "side": "top"},
        "textposition": "middle left", "sort": False,
        "hovertemplate": "%{label}: %{value:,} cycles, %{percentRoot:.1%}<extra></extra>",
    }  # fmt: skip
    depth = max(len(path) for path in kept) + 1
    layout = {
        "height": 40 + 24 * min(depth, FLAMES_DEEP), "margin": {"l": 0, "r": 0, "t": 24, "b": 4},
        "uniformtext": {"minsize": 10, "mode": "hide"},
    }  # fmt: skip
    return [trace], layout


def _totals(run: Run) -> dict[str, dict[tuple[str, ...], int]]:
    """Cycles of each call path with those below it: of all ranks together, and of all processors of
    a kind. Where ranks execute several programs, a path begins with its program."""
    ranks = run.profile["ranks"] if run.profile else []
    programs = {f"rank {each['rank']}": each["program"] for each in ranks if "program" in each}
    found: dict[str, dict[tuple[str, ...], int]] = {}
    for stack, cycles in run.folded:
        kind = "all ranks" if stack[0].startswith("rank ") else stack[0].partition(" of node")[0]
        totals = found.setdefault(kind, {})
        frames = stack[1:]
        if stack[0] in programs:
            frames = [programs[stack[0]], *frames]
        for depth in range(len(frames) + 1):
            path = tuple(frames[:depth])
            totals[path] = totals.get(path, 0) + cycles
    return found


def _colour(path: tuple[str, ...]) -> str:
    """Of a cause its own; functions pale, so that the causes are seen."""
    if path and path[-1].startswith("["):
        return palette.CAUSES.get(path[-1].strip("[]"), palette.GREY)
    return "theme" if path else "theme-strong"
