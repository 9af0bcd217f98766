"""`chasqui ARGUMENTS` as a user calls it: a process of its own, in a directory.

Its process is forked from one that has loaded the package: an interpreter's start and the imports
take longer than a small simulation does. One such process belongs to each that runs tests; the
start itself is what tests see that start an interpreter (test_terminal.py, test_machines.py).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

TIMEOUT_S = 300
# Of several tests at a time each has a processor: a run with a thread for each would only take
# from the others. Tests of host threads say how many.
SETTINGS = {
    "COLUMNS": "100",
    "CHASQUI_MACHINE": "",
    "CHASQUI_THREADS": os.environ.get(
        "CHASQUI_THREADS", "1" if "PYTEST_XDIST_WORKER" in os.environ else ""
    ),
}
LONGEST_REQUEST = 1 << 17
# What a command loads when it is called. (To load what reads a record takes three times as long as
# most runs.)
MODULES = (
    "chasqui._core", "chasqui.cli", "chasqui.cli.check", "chasqui.cli.compare", "chasqui.cli.group",
    "chasqui.cli.info", "chasqui.cli.logp", "chasqui.cli.run", "chasqui.comparison",
    "chasqui.compiler", "chasqui.core", "chasqui.files", "chasqui.measurement",
    "chasqui.simulation", "difflib", "hashlib", "heapq", "pyarrow.parquet",
)  # fmt: skip

_lock = threading.Lock()
_requests: socket.socket | None = None


def run(
    *arguments: str | Path,
    directory: Path,
    environment: Mapping[str, str] | None = None,
    limit_s: int = TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:
    """Waits for the command and returns its exit status and what it printed."""
    words = [str(argument) for argument in arguments]
    full = {**os.environ, **SETTINGS, **(environment or {})}
    request = json.dumps([words, str(directory), full]).encode()
    assert len(request) < LONGEST_REQUEST
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        read, write = os.pipe()
        with os.fdopen(read, "rb", 0) as answer:
            try:
                socket.send_fds(_server(), [request], [out.fileno(), err.fileno(), write])
            finally:
                os.close(write)
            process = int(answer.readline())
            if not select.select([answer], [], [], limit_s)[0]:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, limit_s)
            status = os.waitstatus_to_exitcode(int(answer.readline()))
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), err.read())


def _server() -> socket.socket:
    """Where requests go to; the first starts the process that serves them."""
    global _requests
    with _lock:
        if _requests is None:
            _requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [sys.executable, __file__, str(theirs.fileno())]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
            theirs.close()
            atexit.register(_end, _requests, process)
        return _requests


def _end(requests: socket.socket, process: subprocess.Popen[bytes]) -> None:
    requests.close()
    process.wait()


# --- the process that serves them ---------------------------------------------------------------


def _serve(requests: socket.socket) -> None:
    """Forks a process for each request and says how it ended, until there will be none."""
    for module in MODULES:
        with contextlib.suppress(ImportError):  # no chasqui._core: some commands work without
            __import__(module)
    gc.freeze()  # or each child would touch, and so copy, all that is loaded
    running: dict[int, tuple[int, int]] = {}  # by what can be read when it ends: it, its answer
    while True:
        for ready in select.select([requests.fileno(), *running], [], [])[0]:
            if ready in running:
                process, answer = running.pop(ready)
                _, status = os.waitpid(process, 0)
                with contextlib.suppress(BrokenPipeError):  # nothing waits for it any more
                    os.write(answer, b"%d\n" % status)
                os.close(ready)
                os.close(answer)
                continue
            request, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 3)
            if not request:
                return
            out, err, answer = descriptors
            # Each fork of all that is loaded takes as long as a tenth of a small simulation: there
            # is one a request.
            process = os.fork()
            if process == 0:
                requests.close()
                for of_another, (_, its_answer) in running.items():
                    os.close(of_another)
                    os.close(its_answer)
                os.close(answer)
                words, directory, environment = json.loads(request)
                _carry_out(words, directory, environment, out, err)
            os.write(answer, b"%d\n" % process)
            running[os.pidfd_open(process)] = process, answer
            os.close(out)
            os.close(err)


def _carry_out(
    words: list[str], directory: str, environment: dict[str, str], out: int, err: int
) -> NoReturn:
    for source, place in ((out, 1), (err, 2)):
        os.dup2(source, place)
        os.close(source)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)

    import chasqui.cli

    sys.argv = [str(Path(chasqui.cli.__file__).parent.parent / "__main__.py"), *words]
    try:
        chasqui.cli.main()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # Without taking the interpreter down, which would copy all of it as well.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as received:
        _serve(received)
