"""What readers of traces have in common: lines with their numbers, times, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from chasqui.errors import InputError
from chasqui.files import check_regular
from chasqui.playing import form

if TYPE_CHECKING:
    from hashlib import _Hash

LINE_MAX = 1 << 24  # bytes of a line: those of vectors have a number for each rank
SHOWN = 60  # letters of a line in a message
RANKS_MAX = 65_536
PS_PER_S, PS_PER_NS = 10**12, 1000


@dataclass(frozen=True)
class Settings:
    """How a trace's computation becomes time."""

    scale: Fraction
    flops_per_s: Fraction


@dataclass
class Source:
    """A trace as the user named it, and the digest of all of its files that were read."""

    path: Path
    digest: _Hash


def lines(path: Path, digest: _Hash | None) -> Iterator[tuple[int, str]]:
    """A text's lines with their numbers. Raises InputError where it is none."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_MAX + 1):
                number += 1
                if digest is not None:
                    digest.update(line)
                if len(line) > LINE_MAX or b"\0" in line or not line.isascii():
                    raise InputError(f"{path}:{number}: not a line of text, which a trace has")
                yield number, line.decode("ascii")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


class Place:
    """Where in a trace something is, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.rank: int | None = None

    def __str__(self) -> str:
        rank = "" if self.rank is None else f"rank {self.rank}: "
        return f"{self.path}:{self.line}: {rank}".rstrip()

    def refuse(self, what: str) -> NoReturn:
        raise InputError(f"{self} {what}")


def shown(text: str) -> str:
    """A part of the trace in a message."""
    text = text.strip()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


class Clock:
    """Time of computation [ps]: whole ones, and what is lost of one is added to the next."""

    def __init__(self, factor: Fraction) -> None:
        """`factor`: ps of a unit."""
        self._numerator, self._denominator = factor.numerator, factor.denominator
        self._factor = float(factor)
        self._left = 0

    def of(self, units: int) -> int:
        ps, self._left = divmod(units * self._numerator + self._left, self._denominator)
        return ps

    def of_float(self, units: float) -> int:
        """The same of a number that is not whole, to the nearest."""
        return round(units * self._factor)


def check_ranks(count: int, place: Place) -> int:
    if not 1 <= count <= RANKS_MAX:
        place.refuse(f"{count} ranks; 1 to {RANKS_MAX} are allowed")
    return count


def check_rank(rank: int, ranks: int, place: Place, what: str = "rank") -> int:
    if not 0 <= rank < ranks:
        place.refuse(f"{what} {rank}; the trace has ranks 0 to {ranks - 1}")
    return rank


def check_tag(tag: int, place: Place) -> int:
    if not 0 <= tag <= form.TAG_MAX:
        place.refuse(f"tag {tag}; 0 to {form.TAG_MAX} are allowed")
    return tag


def check_size(size: int, place: Place, what: str = "message") -> int:
    if not 0 <= size <= form.BYTES_MAX:
        place.refuse(f"a {what} of {size} bytes; the MPI library here counts 0 to {form.BYTES_MAX}")
    return size


def check_time(ps: int, place: Place) -> int:
    if not 0 <= ps <= form.TIME_MAX_PS:
        place.refuse(f"computation of {ps} ps; up to {form.TIME_MAX_PS} ps are allowed")
    return ps


def finite(text: str, place: Place) -> float:
    """A number that may have a fraction."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        place.refuse(f"{shown(text)}: a number that is not negative is expected")
    return number
