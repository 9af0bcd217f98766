"""The signals that ask to stop: Ctrl-C, SIGTERM (`timeout`, batch systems), SIGHUP (a terminal that
is closed). All keep what there is; the exit status says which it was.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNREAD = signal.SIGPIPE  # never sent to us: a write fails instead, or a look at the pipe says so


class Interrupted(KeyboardInterrupt):
    """A signal asked to stop. What there was to keep has been kept."""

    def __init__(self, status: int) -> None:
        super().__init__(status)  # as pickle makes it again
        self.status = status


def status(number: int) -> int:
    """The command's exit status, as shells have it."""
    return 128 + number


def status_of(stop: BaseException | None) -> int:
    """The same, of the exception that ended the command: Python's own is Ctrl-C's, that of a pipe
    which nothing reads is SIGPIPE's."""
    if isinstance(stop, BrokenPipeError):
        return status(UNREAD)
    return stop.status if isinstance(stop, Interrupted) else status(signal.SIGINT)


def signal_of(stop: BaseException | None) -> int:
    """The signal that ended the command by this exception, for what still runs in other threads."""
    return status_of(stop) - status(0)


def name_of(stop: BaseException | None) -> str:
    """What a person calls that signal."""
    number = signal_of(stop)
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def wanted() -> list[signal.Signals]:
    """Those that were not ignored when the command began: `nohup` does that to SIGHUP."""
    return [
        number
        for number in SIGNALS
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
    ]


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(status(number))


def _leave(number: int, _frame: FrameType | None) -> None:
    os._exit(status(number))


def begin_to_load() -> None:
    """From now on they end the command where it is: there is nothing to keep. An exception could be
    lost where modules are loaded, in a callback of Python's own."""
    for number in wanted():
        signal.signal(number, _leave)


def begin() -> None:
    """From now on they end what is going on by an exception: Ctrl-C too where the command was begun
    in a script's background, to which the shell says to ignore it."""
    for number in wanted():
        signal.signal(number, _raise)


def is_heard() -> bool:
    """This is the main thread: no other hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def told(tell: Callable[[int], None]) -> Iterator[None]:
    """Meanwhile they end nothing by an exception, wherever that would be: `tell` gets the number.
    In other threads than the main one nothing is done."""
    if not is_heard():
        yield
        return
    before = {number: signal.getsignal(number) for number in wanted()}
    try:
        for number in before:
            signal.signal(number, lambda number, _: tell(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end() -> None:
    """All is done and written: one that comes late must not make it the death of a signal."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
