"""A pseudo-terminal for commands, and as much of a terminal as they use."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

# The commands, with a progress line from the start.
AT_ONCE = "from chasqui import cli, simulation; simulation.PROGRESS_AFTER_S = 0; cli.main()"


class Screen:
    """Lines of text after carriage returns, line feeds, erasures, and moves to the line above.
    Colours and bold text are plain text."""

    def __init__(self, text: str) -> None:
        self.lines = [""]
        row = column = 0
        for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|.", text, re.DOTALL):
            line = self.lines[row]
            if part == "\n":
                row, column = row + 1, 0
                self.lines += [""] * (row == len(self.lines))
            elif part == "\r":
                column = 0
            elif part == "\x1b[1A":
                row = max(row - 1, 0)
            elif part == "\x1b[2K":
                self.lines[row] = " " * column
            elif part == "\x1b[K":
                self.lines[row] = line[:column]
            elif not re.fullmatch(r"\x1b\[[\d;]*m", part):
                assert part.isprintable(), f"control character {part!r}"
                self.lines[row] = line[:column] + part + line[column + 1 :]
                column += 1


@dataclass
class Seen:
    text: str
    status: int


def at_terminal(
    cwd: Path,
    *arguments: str | Path,
    until: str | None = None,
    seconds_max: float = 120,
    code: str = AT_ONCE,
) -> Seen:
    """Runs the command behind a terminal; presses Ctrl-C when the pattern `until` has appeared."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        environment = {**os.environ, "TERM": "xterm", "CHASQUI_MACHINE": ""}
        command = [sys.executable, "-c", code, *map(str, arguments)]
        os.execve(sys.executable, command, environment)
    seen = b""
    end = time.monotonic() + seconds_max
    while True:
        if not select.select([terminal], [], [], max(end - time.monotonic(), 0))[0]:
            os.kill(child, signal.SIGKILL)
            pytest.fail(f"still running after {seconds_max} s: {seen!r}")
        try:
            some = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            some = b""
        if not some:
            break
        seen += some
        if until and re.search(until, seen.decode(errors="ignore")):
            os.write(terminal, b"\x03")
            until = None
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Seen(seen.decode(), status)
