"""How pictures look. Imported only for drawing: matplotlib takes a while to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import offset_copy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Okabe and Ito, "Color Universal Design": told apart with any color vision, and in grey by order.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000",
)  # fmt: skip

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "chasqui",  # else the file's names for its parts are random
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],  # it comes with matplotlib
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,  # the grid lies below bars, too
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
}


ZERO_POINTS = 3.0  # what shows of a bar of zero, half of it on each side of the zero
NEAR_POINTS = 40.0  # a line that ends this close to the end of its axis has its label beyond that
AXIS_POINTS = 6.0  # from the horizontal axis to the middle of a label


class _Figure(Figure):
    """One in which a bar of zero shows."""

    def draw(self, renderer: Any) -> None:
        for axes in self.axes:
            _mark_zeros(axes)
        super().draw(renderer)


def figure(size_inches: tuple[float, float]) -> Figure:
    """An empty figure in our style, not bound to any window."""
    mpl.rcParams.update(STYLE)
    return _Figure(figsize=size_inches, layout="constrained")


def _mark_zeros(axes: Axes) -> None:
    """An edge for each bar of no length that has its place alone: not for parts of a stack, nor for
    a bar drawn by itself, which may be there for the legend."""
    for container in axes.containers:
        if not isinstance(container, BarContainer) or len(container.patches) < 2:
            continue
        across = 0 if container.orientation == "vertical" else 1
        every = [bar.get_bbox() for other in axes.containers
                 if isinstance(other, BarContainer) for bar in other.patches]  # fmt: skip
        for bar in container.patches:
            low, high = bar.get_bbox().get_points()[:, across]
            here = [
                box for box in every
                if box.get_points()[0, across] < high and box.get_points()[1, across] > low
            ]  # fmt: skip
            if all(box.size[1 - across] == 0 for box in here):
                bar.set_edgecolor(bar.get_facecolor())
                bar.set_linewidth(ZERO_POINTS)


def scale_bytes(axes: Axes, least: int, most: int) -> None:
    """A horizontal axis of message sizes, by powers of two."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(least * 0.9, most * 1.1)
    powers = range(least.bit_length() - 1, most.bit_length(), 2)
    axes.set_xticks([2**n for n in powers], [_bytes(2**n) for n in powers])


def scale_decades(axes: Axes) -> None:
    """A vertical axis by powers of ten, twice and five times them."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _bytes(count: int) -> str:
    return f"{count // 1024} Ki" if count >= 1024 else str(count)


def legend_above(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """A legend of these axes over all of the picture, where it lies over no data. What several of
    them show is listed once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    handles, labels = list(found.values()), list(found)
    figure.legend(handles, labels, ncols=columns, loc="outside upper center", frameon=False)


def label_ends(*panels: Axes, gap_points: float = 10.0) -> None:
    """Writes each line's label beside its last point, in its color, none over another; of all axes
    of a picture at once, for where lines end on paper takes a layout of the picture.

    The labels keep the order of the ends, and of the points before where lines end together; those
    that would meet are pushed apart, within the height of the axes and off the horizontal one. A
    thin line leads from each end to its label. Lines that hide one another have one label, with all
    their names.
    """
    figure = panels[0].get_figure(root=True)
    assert figure is not None
    layout = figure.get_layout_engine()
    assert layout is not None
    layout.execute(figure)
    for axes in panels:
        _label_ends(axes, 72.0 / figure.dpi, gap_points)


def _label_ends(axes: Axes, points_per_pixel: float, gap_points: float) -> None:
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if not lines:
        return
    paths = [
        axes.transData.transform(numpy.asarray(line.get_xydata())) * points_per_pixel
        for line in lines
    ]
    # Backwards from the end, by points: what is closer than that counts as together.
    heights_back = [numpy.nan_to_num(path[::-1, 1]).round().tolist() for path in paths]
    groups = sorted(hidden(paths), key=lambda group: heights_back[group[0]])
    ends = [paths[group[0]][-1] for group in groups]
    low, high = (float(y) * points_per_pixel for y in (axes.bbox.y0, axes.bbox.y1))
    heights = spread([float(y) for _, y in ends], gap_points)
    heights = within(heights, gap_points, low + AXIS_POINTS, high)
    # Beside the end that is furthest to the right, wherever the layout puts that; beyond the axis
    # if that ends a little later.
    right = max(float(numpy.asarray(line.get_xydata())[-1][0]) for line in lines)
    figure = axes.get_figure(root=True)
    past = float(axes.bbox.x1) * points_per_pixel - max(float(path[-1][0]) for path in paths)
    beyond = 0.0 < past < NEAR_POINTS
    across = axes.transAxes if beyond else axes.transData
    beside = offset_copy(across, figure, 6.0, 0.0, units="points")
    for group, end, height in zip(groups, ends, heights, strict=True):
        top = lines[group[-1]]
        axes.annotate(
            ", ".join(str(lines[i].get_label()) for i in group),
            xy=tuple(numpy.asarray(top.get_xydata())[-1]),
            xytext=(1.0 if beyond else right, height - float(end[1])),
            textcoords=(beside, "offset points"), va="center", color=top.get_color(), fontsize=8,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": top.get_color(), "linewidth": 0.5,
                "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2,
            },
        )  # fmt: skip


def hidden(paths: Sequence[NDArray[Any]], apart_points: float = 1.0) -> list[list[int]]:
    """Numbers of the lines, those together that are nowhere further apart than this [points]."""
    groups: list[list[int]] = []
    for i, path in enumerate(paths):
        for group in groups:
            first = paths[group[0]]
            if first.shape == path.shape and numpy.abs(first - path).max() <= apart_points:
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def within(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending heights that lie `gap` apart, moved to lie between two, if they fit there."""
    last = len(heights) - 1
    raised = [max(height, low + gap * i) for i, height in enumerate(heights)]
    return [min(height, high - gap * (last - i)) for i, height in enumerate(raised)]


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
    return [_bottom(group, gap) + gap * i for group in groups for i in range(int(group[1]))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return group[0] / group[1] - gap * (group[1] - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return group[0] / group[1] + gap * (group[1] - 1) / 2
