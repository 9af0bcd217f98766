"""What ends a command: the user's mistakes, with status 2, and results that can't be written."""

import os


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


STATUS_LOST = 74  # of a command whose results could not be written: EX_IOERR of sysexits.h
