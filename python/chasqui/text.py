"""Quantities and tables as people read them."""

from __future__ import annotations

import errno
import io
import os
import select
import shutil
import signal
import stat
import sys
import textwrap
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PS_PER_NS = 1_000
SHORT_CELL = len("15 to 20 %")
STATUS_UNWRITTEN = 1
LEFT_AFTER_S = 2.0  # before, how long the rest takes is a guess
# Of a pipe that nothing reads any more, as shells have it for a command that SIGPIPE ended.
STATUS_UNREAD = 128 + signal.SIGPIPE


def simulated_time(ps: float) -> str:
    """A time in picoseconds with the unit that suits it: `1.234 ms`."""
    for unit, size_ps in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if abs(ps) >= size_ps:
            return (
                f"{ps / size_ps:.4g} {unit}"
                if ps < 1000 * size_ps
                else f"{ps / size_ps:,.0f} {unit}"
            )
    return f"{ps:.4g} ps"


def host_time(seconds: float) -> str:
    """A time of the host's, roughly: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def ns(ps: int | Fraction | None) -> str:
    """Picoseconds as nanoseconds, with all the digits that there are (at most three)."""
    if ps is None:
        return "-"
    return f"{float(ps) / PS_PER_NS:,.3f}".rstrip("0").rstrip(".")


def mean_ns(ps: Fraction | None) -> str:
    """A mean in nanoseconds, with as many digits as it deserves; JSON has them all."""
    return number(None if ps is None else float(ps / PS_PER_NS), 4)


def number(value: float | int | None, digits: int = 3) -> str:
    """A number short enough for a table; `-` for none."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int] = (0,),
    columns: int = 0,
) -> str:
    """An aligned table; the columns in `left` are flush left, the others flush right. Where it is
    wider than `columns` (0: that does not matter) cells go on in further lines."""
    every = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in every if i < len(row)) for i in range(len(header))]
    if columns:
        widths = _narrowed(widths, every, columns - 2 * (len(header) - 1))
    lines = []
    for row in every:
        for parts in zip_longest(
            *(_wrapped(cell, widths[i]) for i, cell in enumerate(row)), fillvalue=""
        ):
            cells = [
                part.ljust(widths[i]) if i in left else part.rjust(widths[i])
                for i, part in enumerate(parts)
            ]
            lines.append("  ".join(cells).rstrip())
    below = max(len(_wrapped(name, widths[i])) for i, name in enumerate(header))
    lines.insert(below, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(lines)


def _wrapped(cell: str, width: int) -> list[str]:
    """A cell's lines; words stay whole."""
    if len(cell) <= width:
        return [cell]
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)


def _unbroken(cell: str) -> list[str]:
    """What stays in one line: a short cell, or each word of a longer one."""
    return [cell] if len(cell) <= SHORT_CELL else cell.split()


def _narrowed(widths: Sequence[int], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns that fit together into `room`, if what is not broken does. Each character
    is taken where that makes the table longer by the fewest lines; of these, from the widest."""
    found = list(widths)
    columns = [[row[i] if i < len(row) else "" for row in rows] for i in range(len(found))]
    unbroken = [[part for cell in each for part in _unbroken(cell)] for each in columns]
    least = [max(map(len, each), default=0) for each in unbroken]
    heights = [[1] * len(rows) for _ in columns]

    def with_less(i: int) -> list[int]:
        return [len(_wrapped(cell, found[i] - 1)) for cell in columns[i]]

    def lines(i: int) -> int:
        others = [height for at, height in enumerate(heights) if at != i]
        return sum(map(max, zip(with_less(i), *others, strict=True)))

    while sum(found) > room and (wide := [i for i in range(len(found)) if found[i] > least[i]]):
        at = min(wide, key=lambda i: (lines(i), -found[i]))
        heights[at] = with_less(at)
        found[at] -= 1
    return found


def filled(text: str, columns: int) -> str:
    """A paragraph in lines of up to `columns` (0: in one)."""
    if not columns:
        return text
    return textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)


def stdout_columns() -> int:
    """Of the terminal that standard output is; 0: it is none, and its reader wants whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def terminal_width() -> int:
    """Columns of the terminal behind stderr; 0: it is none, or one without control characters."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return 0
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


class Counter:
    """A line at a terminal, `3 of 20 runs, about 40 s left`, gone when all is done or given up."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = terminal_width() > 0
        self.started = time.monotonic()

    def __call__(self, done: int, count: int, failed: int = 0) -> None:
        if self.shown:
            line = f"{done} of {count} {self.what}"
            line += f", {failed} failed" if failed else ""
            elapsed_s = time.monotonic() - self.started
            if 0 < done < count and elapsed_s >= LEFT_AFTER_S:
                line += f", about {host_time(elapsed_s / done * (count - done))} left"
            self.shown = draw(f"\x1b[K{line[: terminal_width() - 1]}\r")

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            draw("\x1b[K")


def say(line: str = "") -> None:
    """A line for the person at the terminal; stdout belongs to the program that runs."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # a pipe or terminal that is closed, a full disk: there is nowhere to say it
        abandon(sys.stderr)


def draw(text: str) -> bool:
    """Writes to the terminal; whether it is still there: SIGHUP says that it is not."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)
        return False
    return True


def abandon(stream: TextIO) -> None:
    """The stream can't be written any more: what it still gets, at the latest when the interpreter
    flushes it, goes nowhere. One without a descriptor, as tests and notebooks have, is left."""
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def broken_pipe() -> BrokenPipeError:
    """What a write raises where nothing reads."""
    return BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def unwritten(error: OSError) -> int:
    """Says that stdout can't be written, as on a full disk; the exit status. That a pipe is not
    read any more is nothing to say."""
    abandon(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return STATUS_UNREAD
    say(f"chasqui: standard output can't be written: {error.strerror}")
    return STATUS_UNWRITTEN


def is_unread() -> bool:
    """Standard output is a pipe or a socket, and nothing reads it any more: a write would fail. So
    what works for long before it writes need not go on. A terminal says so by SIGHUP."""
    try:
        kind = os.fstat(1).st_mode
    except OSError:
        return False
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return False
    output = select.poll()
    output.register(1, 0)
    return bool(output.poll(0))  # POLLERR of a pipe, POLLHUP of a socket


class Stdout(io.TextIOWrapper):
    """Standard output that knows whether it was what could not be written: the error itself names
    no file."""

    class Descriptor(io.FileIO):
        failure: OSError | None = None

        def write(self, data: ReadableBuffer, /) -> int:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
                raise

    def __init__(self, like: TextIO | None) -> None:
        self.descriptor = Stdout.Descriptor(1, "w", closefd=False)
        super().__init__(
            io.BufferedWriter(self.descriptor),
            encoding=like.encoding if like else None,
            errors=like.errors if like else None,
            line_buffering=os.isatty(1),
        )


def open_standard_streams() -> None:
    """Where the command was given no stdin, stdout or stderr (`>&-`) the next file that is opened
    would take its place, and output would go there. What takes it here can't be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    sys.stdout = Stdout(sys.stdout)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def failure_of_stdout() -> OSError | None:
    """Why it could not be written, where it could not."""
    return sys.stdout.descriptor.failure if isinstance(sys.stdout, Stdout) else None
