"""How pictures look. Only who draws imports this: matplotlib takes a while to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, "Color Universal Design": told apart with any color vision, and in grey by order.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000",
)  # fmt: skip

STYLE = {
    "svg.hashsalt": "chasqui",  # else the file's names for its parts are random
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
}


def figure(size_inches: tuple[float, float]) -> Figure:
    """An empty figure in our style, not bound to any window."""
    mpl.rcParams.update(STYLE)
    return Figure(figsize=size_inches, layout="constrained")


def logarithmic(axes: Axes, bytes_from: int, bytes_to: int) -> None:
    """Both axes logarithmic, the horizontal one in bytes."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(bytes_from * 0.9, bytes_to * 1.1)
    powers = range(bytes_from.bit_length() - 1, bytes_to.bit_length(), 2)
    axes.set_xticks([2**n for n in powers], [_bytes(2**n) for n in powers])
    axes.yaxis.set_major_formatter("{x:g}")


def _bytes(count: int) -> str:
    return f"{count // 1024} Ki" if count >= 1024 else str(count)


def label_ends(axes: Axes, gap_points: float = 10.0) -> None:
    """Writes each line's label beside its last point, in its color, none over another.

    The labels keep the order of the ends; those that would meet are pushed apart.
    """
    figure = axes.get_figure()
    assert figure is not None
    figure.draw_without_rendering()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    ends = [axes.transData.transform(line.get_xydata()[-1]) for line in lines]
    scale = 72.0 / figure.dpi
    order = sorted(range(len(lines)), key=lambda i: float(ends[i][1]))
    at = spread([float(ends[i][1]) * scale for i in order], gap_points)
    right = max(float(end[0]) for end in ends)
    for i, height in zip(order, at, strict=True):
        axes.annotate(
            str(lines[i].get_label()),
            xy=lines[i].get_xydata()[-1],
            xytext=((right - float(ends[i][0])) * scale + 6.0, height - float(ends[i][1]) * scale),
            textcoords="offset points", va="center", color=lines[i].get_color(), fontsize=8,
            annotation_clip=False,
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Ascending heights, moved as little as needed to lie `gap` apart: groups that would overlap
    are centred on their mean."""
    groups: list[list[float]] = []  # [sum of heights, count]
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    return [
        _bottom(group, gap) + gap * i for group in groups for i in range(int(group[1]))
    ]


def _bottom(group: Sequence[float], gap: float) -> float:
    return group[0] / group[1] - gap * (group[1] - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return group[0] / group[1] + gap * (group[1] - 1) / 2
