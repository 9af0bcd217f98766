"""What a person at a terminal sees: progress line, output, Ctrl-C; and what a pipe gets.

The commands run behind a pseudo-terminal (terminal.py).
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import run as command
from conftest import Compiler
from terminal import AT_ONCE, Screen, at_terminal

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
PROGRESS = re.compile(r"simulated [\d.,]+ \w+  [\d.]+ M instr/s  \d+ s")


@pytest.fixture(scope="session")
def chatter(compile_c: Compiler) -> Path:
    return compile_c("chatter", CHATTER)


def check_kept(directory: Path, status: int = 130, ranks: int = 1) -> None:
    """The results of an interrupted run: all there, all whole."""
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["outcome"] == "interrupted"
    assert summary["exit_status"] == status
    names = {path.name for path in directory.iterdir()}
    wanted = {"messages.parquet", "timeline.json", "stats.json", "resolved.toml", "host.json"}
    outputs = {f"{name}.{rank}" for name in ("stdout", "stderr") for rank in range(ranks)}
    assert names == wanted | outputs | {"summary.json"}
    for name in ("stats.json", "timeline.json", "host.json"):
        json.loads((directory / name).read_text())


def test_progress_line_and_output_take_turns(chatter: Path, tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "run", chatter, "6", "3000000", "5")
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


def test_the_progress_line_says_that_results_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from chasqui import simulation

    drawn: list[str] = []

    def draw(text: str) -> bool:
        drawn.append(text)
        return True

    monkeypatch.setattr(simulation, "draw", draw)
    monkeypatch.setattr(simulation, "terminal_width", lambda: 80)
    monkeypatch.setattr(simulation, "PROGRESS_AFTER_S", -1.0)
    watch = simulation.Watch(show=True)
    watch(json.dumps({"within_line": False, "writing": 1234567}))
    assert "writing messages: 1,234,567" in drawn[-1]
    read_end, write_end = os.pipe()
    os.write(write_end, bytes([signal.SIGINT]))
    os.close(write_end)
    watch._listen(read_end)
    os.close(read_end)
    said = "chasqui: the results are being written; press Ctrl-C again to kill"
    assert capsys.readouterr().err.strip() == said


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


@pytest.mark.turn(0)
def test_a_wide_table_fits_the_terminal(tmp_path: Path) -> None:
    """80 columns, as a terminal has that does not say how many."""
    seen = at_terminal(tmp_path, "fidelity")
    assert seen.status == 0
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    assert any(re.match(r"row +place +the document says", line) for line in lines)
    # Nothing is cut off: cells and sentences go on in further lines.
    words = " ".join(seen.text.split())
    assert "“Almost 1.5 times more” is read as 1.5 times." in words
    assert "15 to 20 %" in words


def test_a_table_has_a_bold_heading_at_a_terminal_alone(tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, "machines")
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    assert re.match(r"\x1b\[1mmachine", seen.text)
    assert seen.text.count("\x1b[1m") == len(re.split(r" {2,}", lines[0].rstrip()))
    piped = command("machines", directory=tmp_path).stdout
    assert "\x1b" not in piped
    assert lines[0].split() == piped.splitlines()[0].split()


def test_a_comparison_of_six_machines_fits_the_terminal(chatter: Path, tmp_path: Path) -> None:
    machines = ("loggp", "voyager", "netcache", "netcache/via", "mpinp", "flash")
    (tmp_path / "chatter").symlink_to(chatter)
    seen = at_terminal(tmp_path, "compare", *machines, "-np", "2", "--", "./chatter", "1", "1")
    assert seen.status == 0
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    names = [line.split()[0] for line in lines if line.startswith(machines)]
    assert sorted(set(names) & set(machines)) == sorted(machines)


def test_progress_is_drawn_again_in_its_line_and_gone_at_the_end(tmp_path: Path) -> None:
    """With a bar, and the time that is left; to a pipe nothing is written."""
    words = "from chasqui.text import Counter\n" + (
        "with Counter('runs') as c:\n    for i in range(4): c(i, 3, i // 3)\nprint('over')"
    )
    seen = at_terminal(tmp_path, code=words)
    assert [line.rstrip() for line in Screen(seen.text).lines] == ["over", ""]
    plain = re.sub(r"\x1b\[[\d;]*m", "", seen.text)
    for text in ("0 of 3 runs ", "2 of 3 runs ", "3 of 3 runs, 1 failed "):
        assert text in plain
    assert "0:00:00" in plain
    assert "\x1b[?25l" not in seen.text
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("over\n", "")


def test_what_there_is_to_say_of_parameters_fits_the_terminal(tmp_path: Path) -> None:
    """Sources, allowed values and meanings go on below where they begin."""
    seen = at_terminal(tmp_path, "info", "voyager", "voyager")
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    assert {line[:11] for line in lines if not re.match(r"  [a-z]+ ", line)} >= {" " * 11}


@pytest.mark.turn(1)
def test_a_measurement_fits_the_terminal(tmp_path: Path) -> None:
    """Spreads have long numbers and no blanks, reasons are long sentences."""
    seen = at_terminal(tmp_path, "logp", "--machine", "voyager", "--sizes", "8,9000")
    assert seen.status == 0
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("G: ") for line in lines)
    heading = next(i for i, line in enumerate(lines) if line.split()[:1] == ["spread"])
    assert re.search(r"\d\.\.( |$)", "\n".join(lines[heading:]))


@pytest.mark.parametrize("words", [["info", "voyager"], ["info", "netcache"]])
def test_parameters_fit_the_terminal(tmp_path: Path, words: list[str]) -> None:
    """What a parameter is goes on in further lines."""
    seen = at_terminal(tmp_path, *words)
    lines = Screen(seen.text).lines
    assert max(map(len, lines)) <= 80
    assert "…" not in seen.text
    assert re.match(r"parameter +value +what it is", lines[0])
    assert f"defaults, allowed values: chasqui info {words[1]} PARAMETER" in lines


def test_a_profile_fits_the_terminal(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("chatter", CHATTER)
    words = ["run", "--profile", "--out", "run", "-m", "voyager", "--", str(program), "0", "1000"]
    seen = at_terminal(tmp_path, *words)
    assert seen.status == 0, seen.text
    for text in (seen.text, at_terminal(tmp_path, "profile", "run").text):
        lines = Screen(text).lines
        heading = next(i for i, line in enumerate(lines) if line.startswith("where "))
        assert max(map(len, lines[heading:])) <= 80
        assert any(re.match(r"all +100.0 ", line) for line in lines[heading:])


def test_help_fits_80_columns(tmp_path: Path) -> None:
    from chasqui.cli import COMMANDS

    for words in ([], *([name] for name in COMMANDS)):
        done = command(*words, "--help", directory=tmp_path, environment={"COLUMNS": "80"})
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= 80, words


def test_ctrl_c_ends_a_comparison(chatter: Path, tmp_path: Path) -> None:
    command = ["compare", "loggp", "voyager", "--logp", "--", str(chatter), FOREVER, "1000000"]
    seen = at_terminal(tmp_path, *command, until=PROGRESS.pattern)
    assert seen.status == 130
    assert "Traceback" not in seen.text
    assert "interrupted: stopped by the user" in seen.text
    assert not (tmp_path / "runs" / "chatter-voyager-1").exists()
    check_kept(tmp_path / "runs" / "chatter-loggp-1")


# A measurement of minutes, each size a second; the greatest comes first.
MANY_SIZES = ["logp", "--machine", "voyager", "--sizes", ",".join(map(str, range(1, 400)))]
# Of an experiment with more than can be over before a signal comes, and each short.
SEVERAL_RUNS = ["experiment", "voyager/onepoll", "--quick"]


@pytest.mark.turn(4)
def test_ctrl_c_ends_a_measurement(tmp_path: Path) -> None:
    seen = at_terminal(tmp_path, *MANY_SIZES, until=r"2 of 399 sizes of voyager")
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


STATUSES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Commands inherit what is ignored: by default nothing, also where `nohup` runs the tests."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def signalled(
    cwd: Path,
    words: list[str],
    number: signal.Signals,
    times: int = 1,
    ready: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Starts a command, sends the signal when it has written a line or `ready` is there; gives
    status and what it wrote."""
    command = [sys.executable, "-c", AT_ONCE, *words]
    full = {**os.environ, **(environment or {})}
    with subprocess.Popen(
        command, cwd=cwd, env=full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            if ready:
                end = time.monotonic() + 60
                while not list(cwd.glob(ready)) and time.monotonic() < end:
                    time.sleep(0.05)
                time.sleep(0.5)
            else:
                process.stdout.readline()
            for _ in range(times):
                process.send_signal(number)
                time.sleep(0.02)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, output, errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    "words", [["run"], ["record"], ["run", "-np", "1", "--machine", "voyager"]], ids=" ".join
)
def test_other_signals_keep_what_ctrl_c_keeps(
    chatter: Path, tmp_path: Path, words: list[str], number: signal.Signals
) -> None:
    program = ["--out", "kept", "--", str(chatter), FOREVER, "1000"]
    status, _, errors = signalled(tmp_path, [*words, *program], number)
    assert status == STATUSES[number], errors
    lines = errors.splitlines()
    assert lines[0] == f"chasqui: stopping; {number.name} was received, send it again to kill"
    assert lines[1].startswith(f"chasqui: interrupted: stopped by {number.name} at ")
    assert "Traceback" not in errors
    check_kept(tmp_path / "kept", STATUSES[number])


@contextmanager
def starved() -> Iterator[None]:
    """The host's processors have four times as many others to serve."""
    hogs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(4 * (os.cpu_count() or 1))
    ]
    time.sleep(0.3)  # until they run
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_a_busy_host_delays_no_stop(chatter: Path, tmp_path: Path, machine: str) -> None:
    """Two seconds from the signal until the command has ended, with what it keeps."""
    words = ["run", "-q", "--threads", "2", "-np", "4", "--machine", machine, "--out", "kept"]
    command = [sys.executable, "-c", AT_ONCE, *words, "--", str(chatter), FOREVER, "1000"]
    # No pipe: its reader would be starved, too, and timed with the command.
    said = tmp_path / "said"
    with (
        said.open("wb") as output,
        subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=subprocess.PIPE) as process,
    ):
        while not said.stat().st_size:  # until it runs
            assert process.poll() is None
            time.sleep(0.01)
        with starved():
            process.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            process.communicate(timeout=60)
            print(f"{time.monotonic() - begin:.2f} s")
    assert time.monotonic() - begin < 2
    check_kept(tmp_path / "kept", STATUSES[signal.SIGTERM], ranks=4)


@pytest.mark.parametrize("number", STATUSES, ids=lambda number: number.name)
def test_a_job_that_had_finished_is_not_interrupted(
    chatter: Path, tmp_path: Path, number: signal.Signals
) -> None:
    words = ["run", "-q", "-m", "voyager", "-np", "1", "--out", "kept"]
    words += ["--job", f"-np 1 {chatter} {FOREVER} 1000", "--", str(chatter), "1", "1000"]
    status, _, errors = signalled(tmp_path, words, number, ready="kept/job1/stdout.0")
    assert status == STATUSES[number], errors
    assert "job 0" not in errors
    kept = [json.loads((tmp_path / f"kept/job{job}/summary.json").read_text()) for job in range(2)]
    found = [(each["outcome"], each["exit_status"]) for each in kept]
    assert found == [("finished", 0), ("interrupted", STATUSES[number])]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_other_signals_end_a_comparison(
    chatter: Path, tmp_path: Path, number: signal.Signals
) -> None:
    words = ["compare", "loggp", "voyager", "--logp", "--", str(chatter), FOREVER, "1000000"]
    ready = "runs/chatter-loggp-1/stdout.0"
    status, output, errors = signalled(tmp_path, words, number, ready=ready)
    assert status == STATUSES[number], errors
    assert f"interrupted: stopped by {number.name}" in output
    assert not (tmp_path / "runs" / "chatter-voyager-1").exists()
    check_kept(tmp_path / "runs" / "chatter-loggp-1", STATUSES[number])


def test_a_signal_ends_a_measurement_and_an_experiment(tmp_path: Path) -> None:
    measurement = [*MANY_SIZES, "--out", "measured"]
    status, _, errors = signalled(
        tmp_path, measurement, signal.SIGTERM, ready="measured/397/stdout.0"
    )
    assert (status, "Traceback" in errors) == (143, False), errors
    kept = [json.loads(each.read_text()) for each in tmp_path.glob("measured/*/summary.json")]
    assert ("interrupted", 143) in {(each["outcome"], each["exit_status"]) for each in kept}
    words = [*SEVERAL_RUNS, "--out", "found", "--jobs", "1"]
    status, _, errors = signalled(tmp_path, words, signal.SIGTERM, ready="found/*/runs/*/stdout.0")
    assert (status, "Traceback" in errors) == (143, False), errors
    kept_in = "found/voyager-onepoll/runs"
    assert errors.splitlines()[-3:] == [
        f"chasqui: voyager/onepoll: the runs so far are in {kept_in}, without a report",
        "",
        "chasqui: stopped by SIGTERM",
    ]
    assert list((tmp_path / kept_in).glob("*/summary.json"))


@pytest.mark.parametrize("out", [[], ["--out", "measured"]], ids=["gone", "kept"])
@pytest.mark.turn(2)
def test_a_measurement_that_is_stopped_shows_the_sizes_that_are_done(
    tmp_path: Path, out: list[str]
) -> None:
    """As --sizes with these alone does."""
    count = 4 * (os.cpu_count() or 1) + 8
    sizes = ",".join(map(str, range(1, 4000)))
    words = ["logp", "--machine", "loggp", "--json"]
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    begun = f"{'measured' if out else 'tmp/*'}/{3999 - count}/stdout.0"
    status, output, errors = signalled(
        tmp_path, [*words, *out, "--sizes", sizes], signal.SIGTERM, ready=begun,
        environment={"TMPDIR": str(scratch)},
    )  # fmt: skip
    assert status == 143, errors
    found = json.loads(output)
    done = [each["bytes"] for each in found["sizes"]]
    said = f"chasqui: {len(done)} of 3999 sizes are measured"
    assert errors.splitlines() == ["chasqui: stopped by SIGTERM", said]
    assert done == sorted(done)
    assert done[-1] == 3999
    assert not list(scratch.iterdir())
    assert found["directory"] == (out[-1] if out else None)
    some = [found["sizes"][0], found["sizes"][-1]]
    again = command(
        *words, "--sizes", ",".join(str(each["bytes"]) for each in some), directory=tmp_path
    )
    assert json.loads(again.stdout)["sizes"] == some


def test_ctrl_c_ends_an_experiment(tmp_path: Path) -> None:
    words = [*SEVERAL_RUNS, "--out", "found", "--jobs", "1"]
    seen = at_terminal(tmp_path, *words, until=r"1 of \d+ runs")
    assert seen.status == 130
    kept_in = "found/voyager-onepoll/runs"
    said = f"chasqui: voyager/onepoll: the runs so far are in {kept_in}, without a report"
    assert said in Screen(seen.text).lines


def test_a_signal_is_heard_between_runs_wherever_it_comes() -> None:
    """An exception out of a signal's handler where a pool holds a lock left it locked: seldom, and
    then the command did not end."""
    from chasqui import stopping
    from chasqui.parallel import side_by_side

    before = signal.getsignal(signal.SIGINT)
    ended: list[int] = []
    begun: list[int] = []
    left: list[int] = []
    whole: list[int] = []
    late = time.monotonic() + 20

    def work(item: int) -> int:
        begun.append(item)
        if item == 2:
            os.kill(os.getpid(), signal.SIGINT)
        while item == 3 and not ended and time.monotonic() < late:
            time.sleep(0.01)
        if ended:
            os.kill(os.getpid(), signal.SIGINT)  # the second, while what runs is waited for
        time.sleep(0.2 if item > 3 or ended else 0)
        left.append(item)
        return item * item

    def take(item: int, square: int) -> None:
        assert square == item * item
        if item == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            whole.append(item)  # nothing is raised here

    for items in ([1, 3, 4, 5, 6, 7, 8], [0, 2, 3, 5, 6, 7, 8], [2]):
        for each in (ended, begun, left):
            each.clear()
        with pytest.raises(stopping.Interrupted) as stop:
            side_by_side(work, items, 2, take, ended.append)
        assert (stop.value.status, ended) == (130, [signal.SIGINT])
        assert len(begun) < 7, "what waits is not begun"
        assert sorted(left) == sorted(begun), "what runs has ended"
        assert signal.getsignal(signal.SIGINT) is before
    assert whole == [1]
    ended.clear()
    side_by_side(work, [0, 4, 5], 2, lambda *_: None)
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda item: 1 // item, [1, 0, 2], 2, lambda *_: None)


def test_an_experiment_that_is_interrupted_before_its_first_run_says_of_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from chasqui.cli import invoke
    from chasqui.experiment import running

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_all", interrupted)
    monkeypatch.chdir(tmp_path)
    assert invoke(["experiment", "voyager/multicast", "--quick"]) == 130
    assert capsys.readouterr().err.strip() == "chasqui: stopped by Ctrl-C"
    assert not list(tmp_path.iterdir())


def test_the_second_signal_kills(chatter: Path, tmp_path: Path) -> None:
    words = ["run", str(chatter), FOREVER, "1000000"]
    status, _, _ = signalled(tmp_path, words, signal.SIGTERM, times=2)
    assert status == 143


def test_a_signal_that_is_ignored_stays_ignored(chatter: Path, tmp_path: Path) -> None:
    """As `nohup` has it."""
    words = ["run", "--", str(chatter), "40", "300000"]
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-c", AT_ONCE, *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert rest.endswith("line 39 of the program\n")


def test_ctrl_c_ends_what_a_script_has_begun_in_its_background(tmp_path: Path) -> None:
    """The shell has its commands ignore it."""
    words = [*MANY_SIZES, "--out", "measured"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status, _, _ = signalled(tmp_path, words, signal.SIGINT, ready="measured/397/stdout.0")
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 130


def test_a_terminal_that_is_closed_keeps_the_results(chatter: Path, tmp_path: Path) -> None:
    """The system sends SIGHUP, and nothing can be written to it any more."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        command = [sys.executable, "-c", AT_ONCE, "run", str(chatter), FOREVER, "100000"]
        os.execve(sys.executable, command, {**os.environ, "TERM": "xterm", "CHASQUI_MACHINE": ""})
    seen = b""
    while b"line 3" not in seen:
        seen += os.read(terminal, 4096)
    os.close(terminal)
    end = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 129
    check_kept(tmp_path / "runs" / "chatter-loggp-1", 129)


def test_a_pipe_gets_no_control_characters(chatter: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_ONCE, "run", str(chatter), "6", "500000", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    wanted = "".join(f"line {i} of the program\n" for i in range(6)) + "abc"
    assert done.stdout == wanted.encode()
    assert re.fullmatch(rb"[ -~\n]+", done.stderr)
    assert b"instr/s" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "--json"],
        ["compare", "loggp", "voyager", "--json", "--"],
        ["machines"],
        ["--help"],
        ["run", "--help"],
        ["cc", "--help"],
    ],
)
def test_a_closed_pipe_is_no_traceback(words: list[str], chatter: Path, tmp_path: Path) -> None:
    program = [str(chatter), "3000", "0"] if words[-1] in ("run", "--json", "--") else []
    pipe, ours = os.pipe()
    os.close(pipe)
    command = [sys.executable, "-m", "chasqui", *words, *program]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=ours, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(ours)
    assert (done.returncode, done.stderr) == (UNREAD, "")


UNREAD = 141  # 128 and SIGPIPE, as shells have it for a command that a closed pipe has ended
MUTE = """
#include <stdio.h>
int main(int argc, char **argv)
{
    fputs("line\\n", argc > 1 ? stderr : stdout);
    fflush(NULL);
    for (volatile long i = 0;; i++)
        if (argc > 2 && i % 1000 == 0)
            fputs("line\\n", stderr);
}
"""


def ended_unread(
    cwd: Path, words: Sequence[str | Path], ready: str = "", closes: str = "stdout"
) -> tuple[int, str]:
    """Starts a command, reads a line of its output or waits for `ready`, and closes the pipe; gives
    status and what it wrote to the other stream."""
    command = [sys.executable, "-m", "chasqui", *map(str, words)]
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        closed, other = process.stdout, process.stderr
        if closes == "stderr":
            closed, other = other, closed
        try:
            if ready:
                end = time.monotonic() + 60
                while not list(cwd.glob(ready)) and time.monotonic() < end:
                    time.sleep(0.05)
            else:
                closed.readline()
            closed.close()
            begin = time.monotonic()
            rest = other.read()
            status = process.wait(60)
            assert time.monotonic() - begin < 20, "it ends soon"
        finally:
            process.kill()
    return status, rest


@pytest.mark.parametrize(
    "words", [["run"], ["record"], ["run", "--machine", "voyager", "--threads", "2"]], ids=" ".join
)
@pytest.mark.parametrize("lines", ["1000000000", "1"])
def test_a_pipe_that_is_closed_ends_a_run(
    chatter: Path, compile_c: Compiler, tmp_path: Path, words: list[str], lines: str
) -> None:
    """As `| head -1` closes it; whether the program goes on writing or not. Results are kept, and
    nothing is said."""
    program: list[str | Path] = [compile_c("mute", MUTE)]
    if lines != "1":
        program = [chatter, lines, "1000"]
    status, errors = ended_unread(tmp_path, [*words, "--out", "kept", "--", *program])
    assert (status, errors) == (UNREAD, "")
    check_kept(tmp_path / "kept", UNREAD)
    summary = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert summary["message"].startswith("stopped by the end of what reads its output at ")
    assert not list(tmp_path.glob("*.recording"))


def test_a_pipe_for_errors_that_is_closed_ends_a_run(compile_c: Compiler, tmp_path: Path) -> None:
    words = ["run", "--out", "kept", "--", str(compile_c("mute", MUTE)), "1", "2"]
    assert ended_unread(tmp_path, words, closes="stderr") == (UNREAD, "")
    check_kept(tmp_path / "kept", UNREAD)


def test_a_pipe_that_is_closed_ends_what_works_for_long(chatter: Path, tmp_path: Path) -> None:
    """Before there is anything to write: what it would write goes nowhere."""
    compare = ["compare", "loggp", "voyager", "--", str(chatter), FOREVER, "1000000"]
    assert ended_unread(tmp_path, compare, "runs/chatter-loggp-1/stdout.0") == (UNREAD, "")
    check_kept(tmp_path / "runs" / "chatter-loggp-1", UNREAD)
    assert not (tmp_path / "runs" / "chatter-voyager-1").exists()
    logp = [*MANY_SIZES, "--out", "measured"]
    assert ended_unread(tmp_path, logp, "measured/397/stdout.0") == (UNREAD, "")
    sweep = [*SEVERAL_RUNS, "--out", "found", "--jobs", "2"]
    assert ended_unread(tmp_path, sweep, "found/*/runs/*/stdout.0") == (UNREAD, "")


def test_a_socket_that_is_closed_ends_a_run(compile_c: Compiler, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "chasqui", "run", "--", str(compile_c("mute", MUTE))]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=theirs.fileno(), stderr=subprocess.PIPE
    ) as process:
        theirs.close()
        assert ours.recv(5) == b"line\n"
        ours.close()
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (UNREAD, b"")


FULL = "standard output can't be written: No space left on device"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-q", "--", "PROGRAM", "3", "0"],
        ["run", "--json", "--", "PROGRAM", "3", "0"],
        ["run", "--machine", "voyager", "--", "PROGRAM", "3", "0"],
        ["record", "-q", "-o", "a.recording", "--", "PROGRAM", "3", "0"],
        ["compare", "loggp", "--", "PROGRAM", "3", "0"],
        ["compare", "loggp", "--json", "--", "PROGRAM", "3", "0"],
        ["compare", "loggp", "--csv", "--", "PROGRAM", "3", "0"],
        ["logp", "--sizes", "8"],
        ["machines"],
        ["info", "voyager"],
        ["info", "voyager", "--toml"],
        ["check", "a.c"],
        ["timeline", "kept"],
        ["profile", "kept"],
        ["experiment", "list"],
        ["conformance", "--json", "PROGRAM"],
        ["run", "--help"],
        ["--version"],
        ["cc", "--help"],
        ["cc", "-show"],
    ],
    ids=" ".join,
)
def test_a_full_disk_is_no_success(words: list[str], chatter: Path, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("void f(void) { MPI_Init(0, 0); }\n")
    chasqui = [sys.executable, "-m", "chasqui"]
    if "kept" in words:
        made = [*chasqui, "run", "-q", "--profile", "--out", "kept", "--", str(chatter), "0", "0"]
        subprocess.run(made, cwd=tmp_path, check=True)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*chasqui, *(str(chatter) if word == "PROGRAM" else word for word in words)],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert [line for line in done.stderr.splitlines() if FULL in line] != []
    assert done.stderr.count("can't be written") == 1


def test_where_there_is_no_standard_output(chatter: Path, tmp_path: Path) -> None:
    """The run's files don't take its place, and what can't be written is said."""
    unwritten = "chasqui: standard output can't be written: Bad file descriptor"
    run = ["run", "-q", "--out", "kept", "--", str(chatter), "3", "0"]
    for words, status, start in (
        (["machines"], 1, f"{unwritten}\n"),
        (run, 1, f"{unwritten} (os error 9)\n"),
    ):
        command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "chasqui", *words]
        done = subprocess.run(
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, timeout=120
        )
        assert (done.returncode, done.stderr) == (status, start)
    assert (tmp_path / "kept" / "stdout.0").read_text().count("\n") == 3
    json.loads((tmp_path / "kept" / "summary.json").read_text())


@pytest.mark.parametrize("columns", [1, 40, 60, 80])
def test_a_table_loses_nothing_where_it_does_not_fit(columns: int) -> None:
    """Lines are longer then than the terminal is wide. Before, columns were gone, figures cut."""
    from chasqui.text import table

    names = ["voyager/onequeue", "netcache/via-zero-copy", "netcache-modern/stash", "mpinp"] * 2
    figures = [f"{10**k:,}" for k in range(7)]
    rows = [[name, *figures, "[bold]a long sentence of it[/x]"] for name in names]
    header = ["machine", *"abcdefg", "what it is"]
    whole = sorted("".join(table(header, rows, (0, 8)).replace("-", "").split()))
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", table(header, rows, (0, 8), columns))
    assert sorted("".join(narrow.replace("-", "").split())) == whole
