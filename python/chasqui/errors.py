"""What ends a command: the user's mistakes, with status 2, and results that can't be written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasqui.api.results import Run


class InputError(Exception):
    """Bad input; the text says what was found, where, and what is allowed."""


def check_text(name: str, value: str) -> None:
    """Raises InputError where a text that the system gave is no UTF-8: all that takes it would
    fail, each in its own way."""
    try:
        value.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(value).decode(errors="backslashreplace")
        raise InputError(f"{name} '{shown}': UTF-8 is expected") from None


class LostError(Exception):
    """Results that are read again could not be written; the text has a line for each reason."""


class RunError(Exception):
    """A program did not end well; the text says how, `run` is its run (chasqui.api)."""

    def __init__(self, text: str, run: Run) -> None:
        super().__init__(text, run)  # as pickle makes it again
        self.run = run

    def __str__(self) -> str:
        return str(self.args[0])


STATUS_LOST = 74  # of a command whose results could not be written: EX_IOERR of sysexits.h
