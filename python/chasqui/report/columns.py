"""Columns of whole numbers for the page: a hundred thousand messages in some megabytes.

Each column's numbers are made small and positive (zigzag: 0, -1, 1, -2 as 0, 1, 2, 3; then one
more, as 0 is `none`), written byte by byte (all lowest bytes first, then the next), and all is
compressed together. `unpackColumns` of page.js is the reverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chasqui.messages import ABSENT, STAGES
from chasqui.report.frame import packed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pack(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """For the page's data: names, bytes a number, numbers."""
    import numpy

    widths: dict[str, int] = {}
    planes: list[bytes] = []
    rows = 0
    for name, column in columns.items():
        rows = len(column)
        small = numpy.where(column < 0, -2 * column - 1, 2 * column) + 1
        small[column == ABSENT] = 0
        width = (int(small.max(initial=0)).bit_length() + 7) // 8
        widths[name] = width
        every = small.astype("<u8").view(numpy.uint8).reshape(rows, 8)
        planes += [every[:, plane].tobytes() for plane in range(width)]
    return {"rows": rows, "widths": widths, "packed": packed(b"".join(planes))}


def chained(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Each stage as the time since the stage before that the message has, and the first as that
    since the row before: most differences are short, many alike."""
    import numpy

    first, *others = STAGES
    call = columns[first]
    known = numpy.where(call == ABSENT, 0, call)
    found = dict(columns)
    found[first] = numpy.where(call == ABSENT, ABSENT, numpy.diff(known, prepend=0))
    last = known
    for name in others:
        column = columns[name]
        is_there = column != ABSENT
        found[name] = numpy.where(is_there, column - last, ABSENT)
        last = numpy.where(is_there, column, last)
    return found
