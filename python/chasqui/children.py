"""Programs that a command starts: they end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def begun(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has been started, and is waited for at the end. After an error, as when a
    signal says to stop, it ends, with those that it has started."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        except BaseException:
            if process.poll() is None:
                _end(process.pid)
            raise


def run(command: Sequence[str | Path], **options: Any) -> int:
    """Its exit status."""
    with begun(command, **options) as process:
        return process.wait()


def _end(process: int) -> None:
    below = _begun_by(process)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    for each in below:
        _end(each)


def _begun_by(process: int) -> list[int]:
    """Linux Documentation/filesystems/proc.rst, 3.7; elsewhere none is found."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found
