"""Signals to stop that come while a command begins, or while another program works for it.

Use this when modules are loaded at another place, or another program is started. What a run keeps
is tested in test_terminal.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

STATUSES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

# The command whose words follow, which gets Ctrl-C when it loads the module that is named first.
AT_IMPORT = """
import os, sys
wanted = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            sys.meta_path.remove(self)
            print("loaded", flush=True)
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Finder())
import runpy
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
# Commands as they are installed.
PLACE = Path(sys.prefix) / "bin"

# In the place of a compiler: it has a program of its own that works.
COMPILER = """\
#!/bin/sh
sleep 600 &
echo $$ $! > working.new
mv working.new working
wait
"""


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Commands inherit what is ignored: by default nothing, also where `nohup` runs the tests."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STATUSES}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("chasqui", "machines"),
        ("chasqui", "mpicc"),
        ("chasqui.cli", "machines"),
        ("chasqui.stopping", "machines"),
        ("chasqui.text", "machines"),
        ("click", "machines"),
        ("chasqui.errors", "machines"),
        ("chasqui.cli.group", "machines"),
        ("chasqui.cli.machines", "machines"),
        ("chasqui.cli.run", "run"),
        ("chasqui.compiler", "cc"),
        ("subprocess", "cc"),
        ("chasqui.linked", "cc"),
        ("chasqui.linked", "mpicc"),
    ],
)
def test_ctrl_c_while_modules_are_loaded(module: str, command: str, tmp_path: Path) -> None:
    words = [PLACE / command] if command.startswith("mpi") else [PLACE / "chasqui", command]
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT, module, *words, "--help"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == "loaded\n"
    # Before the package is there it is the signal itself that ends the command.
    assert done.returncode in (STATUSES[signal.SIGINT], -signal.SIGINT)
    assert done.stderr.strip() in ("", "chasqui: stopped by Ctrl-C")


def is_there(process: int) -> bool:
    """It is, and is no zombie that nobody waits for."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("number", STATUSES, ids=lambda number: number.name)
def test_a_compiler_ends_with_its_command(number: signal.Signals, tmp_path: Path) -> None:
    """With what it has started itself, too, as zig does."""
    compiler = tmp_path / "riscv64-linux-gnu-gcc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words = ["-m", "chasqui", "cc", "--toolchain", "gnu", "-c", "a.c"]
    with subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        working, end = tmp_path / "working", time.monotonic() + 60
        while not working.exists() and time.monotonic() < end:
            time.sleep(0.02)
        started = [int(word) for word in working.read_text().split()]
        assert all(map(is_there, started))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == STATUSES[number]
    name = "Ctrl-C" if number == signal.SIGINT else number.name
    assert errors == f"chasqui: stopped by {name}\n"
    end = time.monotonic() + 10
    while any(map(is_there, started)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(is_there, started))
