"""What a person at a terminal sees: progress line, output, Ctrl-C; and what a pipe gets.

The commands run behind a pseudo-terminal. `Screen` is as much of a terminal as they use.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Compiler

pytestmark = pytest.mark.core

# argv: lines, turns of an empty loop before each, what stands at the end instead of a newline.
CHATTER = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (long i = 0; i < atol(argv[1]); i++) {
        for (volatile long turn = 0; turn < atol(argv[2]); turn++)
            ;
        printf("line %ld of the program\\n", i);
        fflush(stdout);
    }
    for (long i = 0; argc > 3 && i < atol(argv[3]); i++)
        putchar('a' + i % 26);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
"""
FOREVER = "1000000000"
# The commands, with a progress line from the start.
AT_ONCE = "from chasqui import cli, simulation; simulation.PROGRESS_AFTER_S = 0; cli.main()"
PROGRESS = re.compile(r"simulated [\d.,]+ \w+  [\d.]+ M instr/s  \d+ s")


class Screen:
    """Lines of text after carriage returns, line feeds and erasures to the end of the line."""

    def __init__(self, text: str) -> None:
        self.lines = [""]
        column = 0
        for part in re.findall(r"\x1b\[K|.", text, re.DOTALL):
            line = self.lines[-1]
            if part == "\n":
                self.lines.append("")
                column = 0
            elif part == "\r":
                column = 0
            elif part == "\x1b[K":
                self.lines[-1] = line[:column]
            else:
                assert part.isprintable(), f"control character {part!r}"
                self.lines[-1] = line[:column] + part + line[column + 1 :]
                column += 1


@dataclass
class Seen:
    text: str
    status: int


def at_terminal(
    cwd: Path, *arguments: str | Path, until: str | None = None, seconds_max: float = 120
) -> Seen:
    """Runs the command behind a terminal; presses Ctrl-C when the pattern `until` has appeared."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        environment = {**os.environ, "TERM": "xterm", "CHASQUI_MACHINE": ""}
        command = [sys.executable, "-c", AT_ONCE, *map(str, arguments)]
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


@pytest.fixture(scope="session")
def chatter(compile_c: Compiler) -> Path:
    return compile_c("chatter", CHATTER)


def check_kept(directory: Path) -> None:
    """The results of an interrupted run: all there, all whole."""
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["outcome"] == "interrupted"
    assert summary["exit_status"] == 130
    names = {path.name for path in directory.iterdir()}
    wanted = {"messages.parquet", "timeline.json", "stats.json", "resolved.toml", "host.json"}
    assert names == wanted | {"summary.json", "stdout.0", "stderr.0"}
    for name in ("stats.json", "timeline.json", "host.json"):
        json.loads((directory / name).read_text())


def test_progress_line_and_output_take_turns(chatter: Path, tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "run", chatter, "6", "500000", "5")
    assert seen.status == 0
    assert len(PROGRESS.findall(seen.text)) >= 1
    lines = Screen(seen.text).lines
    assert lines[:7] == [*(f"line {i} of the program" for i in range(6)), "abcde"]
    assert lines[7].startswith("chasqui: simulated time")
    assert not any(PROGRESS.search(line) for line in lines)
    # The program's output itself is untouched.
    output = (tmp_path / "runs" / "chatter-loggp-1" / "stdout.0").read_text()
    assert output.endswith("line 5 of the program\nabcde")


def test_a_line_longer_than_any_buffer(chatter: Path, tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "run", chatter, "0", "0", "200000")
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    lines = Screen(seen.text).lines
    assert lines[0] == (alphabet * (200_000 // 26 + 1))[:200_000]
    assert lines[1].startswith("chasqui: simulated time")


def test_quiet_shows_the_programs_output_alone(chatter: Path, tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "run", "-q", chatter, "2", "1000000")
    assert seen.text == "line 0 of the program\r\nline 1 of the program\r\n"


def test_ctrl_c_keeps_the_results(chatter: Path, tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "run", chatter, FOREVER, "1000000", until=PROGRESS.pattern)
    assert seen.status == 130
    assert "Traceback" not in seen.text
    lines = Screen(seen.text).lines
    assert any(line.startswith("chasqui: interrupted: stopped by the user at ") for line in lines)
    check_kept(tmp_path / "runs" / "chatter-loggp-1")


def test_ctrl_c_ends_a_comparison(chatter: Path, tmp_path: Path) -> None:
    command = ["compare", "loggp", "voyager", "--logp", "--", str(chatter), FOREVER, "1000000"]
    seen = at_terminal(tmp_path, *command, until=PROGRESS.pattern)
    assert seen.status == 130
    assert "Traceback" not in seen.text
    assert "interrupted: stopped by the user" in seen.text
    assert not (tmp_path / "runs" / "chatter-voyager-1").exists()
    check_kept(tmp_path / "runs" / "chatter-loggp-1")


def test_ctrl_c_ends_a_measurement(tmp_path: Path) -> None:
    words = ["logp", "--machine", "voyager", "--sizes", ",".join(map(str, range(1, 4000)))]
    seen = at_terminal(tmp_path, *words, until=PROGRESS.pattern)
    assert seen.status == 130
    assert "Traceback" not in seen.text


def test_sigint_without_a_terminal(chatter: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_ONCE, "run", str(chatter), FOREVER, "1000000"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()  # it runs
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("chasqui: stopping; press Ctrl-C again to kill\nchasqui: interrupted")
    check_kept(tmp_path / "runs" / "chatter-loggp-1")


def test_a_pipe_gets_no_control_characters(chatter: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_ONCE, "run", str(chatter), "6", "500000", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    wanted = "".join(f"line {i} of the program\n" for i in range(6)) + "abc"
    assert done.stdout == wanted.encode()
    assert re.fullmatch(rb"[ -~\n]+", done.stderr)
    assert b"instr/s" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [["run"], ["run", "--json"], ["compare", "loggp", "voyager", "--json", "--"], ["machines"]],
)
def test_a_closed_pipe_is_no_traceback(words: list[str], chatter: Path, tmp_path: Path) -> None:
    program = [] if words == ["machines"] else [str(chatter), "3000", "0"]
    pipe, ours = os.pipe()
    os.close(pipe)
    command = [sys.executable, "-m", "chasqui", *words, *program]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=ours, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(ours)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    # The run itself needs nobody to read its output.
    assert done.returncode == (0 if words == ["run"] else 1)
