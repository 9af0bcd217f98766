"""The user's mistakes, found on the Python side; the command line shows them and leaves with 2."""


class InputError(Exception):
    """Bad input; the text says what was found, where, and what is allowed."""


STATUS_LOST = 74  # of a command whose results could not be written: EX_IOERR of sysexits.h
