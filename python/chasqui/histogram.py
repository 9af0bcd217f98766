"""How long a program's messages are: counts and bytes by class of length, from messages.parquet.

Classes are 0, 1, 2, 3 to 4, 5 to 8 bytes and so on: their upper ends are the powers of two, and a
message of 16 bytes is in the class that ends at 16. Messages of collectives are counted apart from
those that the program sends itself: the library gives them contexts of their own
(guest/mpi/comm/comm.h). Announcements, answers and the pieces of a long message are no messages.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chasqui import messages
from chasqui.messages import CONTEXTS
from chasqui.text import table

FILE = "histogram.csv"
# The classes of the network-cache study, by their upper ends [bytes].
SHORT, MEDIUM = 16, 64 * 1024
STUDY = (f"up to {SHORT} B", "to 64 KiB", "above")

POINT, COLLECTIVE = "point-to-point", "collective"


@dataclass(frozen=True)
class Key:
    """What is counted together."""

    kind: str  # POINT or COLLECTIVE
    most: int  # bytes of the longest message of the class
    pair: tuple[int, int] | None  # source and destination

    @property
    def least(self) -> int:
        """Bytes of the shortest message of the class."""
        return self.most // 2 + 1 if self.most > 1 else self.most


@dataclass(frozen=True)
class Histogram:
    """Messages and their bytes by class."""

    counts: Mapping[Key, int]
    sizes: Mapping[Key, int]

    def ordered(self) -> list[Key]:
        return sorted(self.counts, key=lambda key: (key.pair or (-1, -1), key.kind, key.most))


def class_of(size: int) -> int:
    """Upper end of the class that a length is in."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


def count(rows: Iterable[messages.Message], *, pairs: bool) -> Histogram:
    """Of messages with an envelope; others are the machine's own."""
    counts: Counter[Key] = Counter()
    sizes: Counter[Key] = Counter()
    for row in rows:
        if row.bytes is None or row.context is None or row.destination is None:
            continue
        kind = POINT if row.context % CONTEXTS == 0 else COLLECTIVE
        pair = (row.source, row.destination) if pairs else None
        key = Key(kind, class_of(row.bytes), pair)
        counts[key] += 1
        sizes[key] += row.bytes
    return Histogram(counts, sizes)


def study(found: Histogram) -> list[tuple[str, int, int]]:
    """Messages and bytes of the study's three classes, of all kinds."""
    result = []
    for name, above, most in zip(STUDY, (-1, SHORT, MEDIUM), (SHORT, MEDIUM, None), strict=True):
        keys = [k for k in found.counts if k.most > above and (most is None or k.most <= most)]
        result.append(
            (
                name,
                sum(map(found.counts.__getitem__, keys)),
                sum(map(found.sizes.__getitem__, keys)),
            )
        )
    return result


def write(directory: Path, *, pairs: bool) -> Histogram:
    """Counts a run's messages and writes the table into its directory."""
    found = count(messages.read(directory / "messages.parquet"), pairs=pairs)
    header = ["kind", "bytes_least", "bytes_most", "messages", "bytes"]
    with (directory / FILE).open("x", newline="") as file:  # follows no link
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(["source", "destination"] if pairs else []), *header])
        for key in found.ordered():
            row = [key.kind, key.least, key.most, found.counts[key], found.sizes[key]]
            writer.writerow([*(key.pair or ()), *row])
    return found


def lines(found: Histogram, *, pairs: bool) -> list[str]:
    """The table for people."""
    if not found.counts:
        return ["messages by length: none"]
    total = sum(found.counts.values())
    rows: list[list[str]] = []
    for key in found.ordered():
        length = str(key.most) if key.least == key.most else f"{key.least} to {key.most}"
        share = f"{100 * found.counts[key] / total:.1f} %"
        row = [key.kind, length, str(found.counts[key]), share, str(found.sizes[key])]
        rows.append([*([f"{key.pair[0]} to {key.pair[1]}"] if key.pair else []), *row])
    header = [*(["ranks"] if pairs else []), "kind", "bytes", "messages", "share", "in all [bytes]"]
    left = (0, 1) if pairs else (0,)
    text = table(header, rows, left)
    classes = ", ".join(f"{name}: {count}" for name, count, _ in study(found))
    return ["messages by length", *text.splitlines(), f"{classes}; in all {total}"]
