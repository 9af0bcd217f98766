"""Quantities and tables as people read them."""

from __future__ import annotations

import errno
import io
import os
import re
import select
import shutil
import signal
import stat
import sys
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import JustifyMethod, RenderableType
    from rich.progress import Progress

PS_PER_NS = 1_000
LEAST_TEXT = 10  # columns of texts whose words are broken
SHORT_CELL = len("15 to 20 %")
STATUS_UNWRITTEN = 1
UNBOUNDED = 1_000_000  # columns of what is read by programs
BAR_COLUMNS = 20
BLANK_END = re.compile(r" +((?:\x1b\[[\d;]*m)*)$")  # of a line, before what ends bold text
GAP = 2  # between columns of a table
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


def factor(value: float) -> str:
    """By how many times: two decimals, of small ones two digits."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int] = (0,),
    columns: int = 0,
) -> str:
    """An aligned table; the columns in `left` are flush left, the others flush right. Where it is
    wider than a terminal's `columns` (0: that does not matter, as it is no terminal) cells go on in
    further lines, but words stay whole, and where that is not enough figures: lines are longer."""
    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, show_header=False, padding=0)
    cells = [[name, *(row[i] for row in rows if i < len(row))] for i, name in enumerate(header)]
    widths = [max(map(len, column)) for column in cells]
    made = Table(box=None, show_header=False, padding=0)
    for i, width in enumerate(_fitting(cells, widths, left, columns)):
        if i > 0:
            made.add_column(width=GAP)  # what rich takes for padding it does not count alike
        justify: JustifyMethod = "left" if i in left else "right"
        made.add_column(justify=justify, width=width, overflow="fold")

    def add(row: Sequence[RenderableType]) -> None:
        made.add_row(*[part for cell in row for part in ("", cell)][1:])

    add([Text(name, "bold") for name in header])
    add([Rule(characters="-", style="none") if wide else "" for wide in widths])
    for row in rows:
        add([Text(cell) for cell in row])
    console = Console(
        file=io.StringIO(), width=UNBOUNDED, force_terminal=columns > 0,
        force_jupyter=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as printed:
        console.print(made)
    return "\n".join(BLANK_END.sub(r"\1", line) for line in printed.get().splitlines())


def _fitting(
    cells: Sequence[Sequence[str]], widths: Sequence[int], left: Sequence[int], columns: int
) -> list[int]:
    """Widths of columns that fit together, where they can: the widest is made narrower, first down
    to its longest word, then those of texts to LEAST_TEXT."""
    found = list(widths)
    words = [
        max(len(part) for cell in column for part in _unbroken(cell) or [""]) for column in cells
    ]
    texts = [min(least, LEAST_TEXT) if i in left else least for i, least in enumerate(words)]
    excess = sum(found) + GAP * (len(found) - 1) - columns if columns else 0
    for least in (words, texts):
        while excess > 0 and (wide := [i for i, width in enumerate(found) if width > least[i]]):
            found[max(wide, key=found.__getitem__)] -= 1
            excess -= 1
    return found


def _unbroken(cell: str) -> list[str]:
    """What stays in one line: a short cell, or each word of a longer one."""
    return [cell] if len(cell) <= SHORT_CELL else cell.split()


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
    """A line at a terminal, `3 of 20 runs`, with a bar and the time that is left, gone when all is
    done or given up."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = terminal_width() > 0
        self.progress: Progress | None = None

    def __call__(self, done: int, count: int, failed: int = 0) -> None:
        if not self.shown:
            return
        try:
            what = self.what + (f", {failed} failed" if failed else "")
            if self.progress is None:
                self.progress = _progress()
                self.progress.add_task(what, completed=done, total=count)
                self.progress.start()
            (task,) = self.progress.task_ids
            self.progress.update(task, completed=done, total=count, description=what, refresh=True)
        except OSError:  # the terminal is closed
            self._close()

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and self.progress is not None:
            try:
                self.progress.stop()
            except OSError:
                self._close()

    def _close(self) -> None:
        abandon(sys.stderr)
        self.shown = False


def _progress() -> Progress:
    """By rich; drawn when it moves, by no thread, so that none is there when a signal comes. The
    cursor stays: a command that is killed could not show it again."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    class Terminal(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return Progress(
        TextColumn("{task.completed:.0f} of {task.total:.0f} {task.description}", markup=False),
        BarColumn(BAR_COLUMNS),
        TimeRemainingColumn(),
        console=Terminal(stderr=True, force_jupyter=False),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


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
