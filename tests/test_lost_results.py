"""Results that can't be written: a full disk, a folder that is read-only. What is lost is one line,
the small files are kept, and the exit status says it.

Use this for a command that writes files. A limit on the size of files stands for the disk's: a
write beyond it fails in the same way.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Compiler

pytestmark = pytest.mark.core

STATUS_LOST = 74  # EX_IOERR of sysexits.h
TEXT = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < argc * 200; i++)
        printf("rank %d, line %d\\n", rank, i);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture
def program(compile_c: Compiler) -> Path:
    return compile_c("lines", TEXT)


def run_limited(
    bytes_max: int, directory: Path, *words: str | Path
) -> subprocess.CompletedProcess[str]:
    """The command, where no file may be longer."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))

    return subprocess.run(
        [sys.executable, "-m", "chasqui", *words],
        cwd=directory, capture_output=True, text=True, check=False, timeout=120, preexec_fn=limit,
    )  # fmt: skip


def test_small_files_are_kept_and_what_is_lost_is_said(program: Path, tmp_path: Path) -> None:
    def profiled(out: str) -> list[str | Path]:
        return ["run", "-np", "2", "-m", "voyager", "--profile", "--out", out, "--", program]

    assert run_limited(10**7, tmp_path, *profiled("whole")).returncode == 0
    sizes = sorted(path.stat().st_size for path in (tmp_path / "whole").iterdir())
    assert sizes[-1] == (tmp_path / "whole" / "profile.json").stat().st_size
    done = run_limited((sizes[-2] + sizes[-1]) // 2, tmp_path, *profiled("kept"))
    assert done.returncode == STATUS_LOST, done.stderr
    lost = [line for line in done.stderr.splitlines() if "lost or cut short" in line]
    assert len(lost) == 1
    assert lost[0].startswith("chasqui: kept: File too large")
    assert lost[0].endswith("lost or cut short: profile.json")
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {"summary.json", "resolved.toml", "stats.json", "host.json"} <= names
    assert "profile.json" not in names
    assert not any(name.endswith(".partial") for name in names)
    assert json.loads((tmp_path / "kept/summary.json").read_text())["outcome"] == "finished"


def test_a_run_that_can_write_nothing_still_reports(program: Path, tmp_path: Path) -> None:
    done = run_limited(100, tmp_path, "run", "-np", "2", "--out", "kept", "--", program)
    assert done.returncode == STATUS_LOST, done.stderr
    assert "kept: File too large" in done.stderr
    assert "stdout.0" in done.stderr
    assert "simulated time" in done.stderr
    assert "Traceback" not in done.stderr


def test_results_that_are_read_again(program: Path, tmp_path: Path) -> None:
    """What a measurement, and so an experiment, lacks is said, not that it is missing later."""
    words: list[str | Path] = ["logp", "-m", "loggp", "--sizes", "8", "--out"]
    assert run_limited(1 << 30, tmp_path, *words, "whole").returncode == 0
    done = run_limited(4096, tmp_path, *words, "kept")
    assert done.returncode == STATUS_LOST, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("chasqui: kept/8: File too large (os error 27): lost or cut short: ")
    done = run_limited(4096, tmp_path, "compare", "loggp", "--logp", "--", program)
    assert done.returncode == STATUS_LOST, done.stderr
    assert "Traceback" not in done.stderr


def test_a_recording_that_cannot_be_written(program: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        "record",
        "-np",
        "2",
        "--timeline",
        "0",
        "-m",
        "loggp",
        "-o",
        "a.recording",
    ]
    done = run_limited(40_000, tmp_path, *words, "--", program, *["x"] * 5)
    assert done.returncode == STATUS_LOST, done.stderr
    assert ".: File too large" in done.stderr
    assert "a.recording" in done.stderr
    assert "recording       " not in done.stderr
    assert not (tmp_path / "a.recording").exists()


def test_a_recording_needs_the_whole_output(program: Path, tmp_path: Path) -> None:
    words: list[str | Path] = ["record", "-np", "2", "-o", "a.recording", "--", program]
    done = run_limited(2_000, tmp_path, *words)
    assert done.returncode == STATUS_LOST, done.stderr
    assert "not recorded: not all of its output could be written" in done.stderr
    assert not (tmp_path / "a.recording").exists()


def test_a_picture_is_not_left_half_drawn(program: Path, tmp_path: Path) -> None:
    assert run_limited(1 << 30, tmp_path, "run", "--out", "kept", "--", program).returncode == 0
    done = run_limited(1_000, tmp_path, "timeline", "kept", "-o", "a.svg")
    assert (done.returncode, done.stderr) == (2, "chasqui: a.svg: File too large\n")
    assert not list(tmp_path.glob("a.svg*"))
    (tmp_path / "a.svg").write_text("<svg older")
    assert run_limited(1_000, tmp_path, "timeline", "kept", "-o", "a.svg").returncode == 2
    assert [path.read_text() for path in tmp_path.glob("a.svg*")] == ["<svg older"]
    # Nothing but a picture is replaced.
    (tmp_path / "a.c").write_text("int main(void);")
    done = run_limited(1 << 30, tmp_path, "timeline", "kept", "-o", "a.c")
    assert done.returncode == 2
    assert done.stderr == (
        "chasqui: -o a.c: is there already, and no picture of a timeline; name another file\n"
    )
    assert (tmp_path / "a.c").read_text() == "int main(void);"
    # It is SVG, and no name says otherwise.
    for name, status in (("w.png", 2), ("w.pdf", 2), ("w.SVG", 0), ("w", 0)):
        done = run_limited(1 << 30, tmp_path, "timeline", "kept", "-o", name)
        assert (done.returncode, (tmp_path / name).exists()) == (status, status == 0)
        assert done.stderr.startswith(f"chasqui: -o {name}: the picture is SVG; ") == (status == 2)


def test_a_picture_takes_no_other_file_s_place(program: Path, tmp_path: Path) -> None:
    assert run_limited(1 << 30, tmp_path, "run", "--out", "kept", "--", program).returncode == 0
    (tmp_path / "a.svg.part").write_text("mine")
    (tmp_path / "far.svg").write_text("<svg older")
    (tmp_path / "link.svg").symlink_to("far.svg")
    (tmp_path / "loop.svg").symlink_to("loop.svg")
    (tmp_path / "a.svg").write_text("<svg older")
    (tmp_path / "a.svg").chmod(0o600)
    for name in ("a.svg", "link.svg"):
        done = run_limited(1 << 30, tmp_path, "timeline", "kept", "-o", name)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.svg.part").read_text() == "mine"
    assert (tmp_path / "a.svg").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "link.svg").is_symlink()
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn.startswith("<svg")
    assert (tmp_path / "far.svg").read_text() == drawn
    done = run_limited(1 << 30, tmp_path, "timeline", "kept", "-o", "loop.svg")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_picture_for_a_pipe_that_nobody_reads(program: Path, tmp_path: Path) -> None:
    assert run_limited(1 << 30, tmp_path, "run", "--out", "kept", "--", program).returncode == 0
    os.mkfifo(tmp_path / "a.svg")
    done = run_limited(1 << 30, tmp_path, "timeline", "kept", "-o", "a.svg")
    assert (done.returncode, done.stderr) == (2, "chasqui: a.svg: nobody reads this pipe\n")


@pytest.mark.parametrize("words", [["run"], ["record"]])
def test_where_nothing_can_be_made(words: list[str], program: Path, tmp_path: Path) -> None:
    """The system's own folder: even root makes nothing there."""
    done = run_limited(1 << 30, Path("/proc"), *words, "--", program)
    assert done.returncode == 2
    assert done.stderr.startswith("chasqui: ")
    assert done.stderr.count("\n") == 1
    assert "/proc/runs can't be made" in done.stderr


def test_a_recording_that_can_t_be_made_is_refused_before_the_run(
    program: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_limited(1 << 30, Path("/proc"), "record", "--out", out, "--", program)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("chasqui: /proc: no file can be made there: ")
    assert not out.exists()


def test_a_histogram_of_what_is_lost(program: Path, tmp_path: Path) -> None:
    words: list[str | Path] = ["run", "-np", "2", "--histogram", "--out", "kept", "--", program]
    done = run_limited(20, tmp_path, *words)
    assert done.returncode == STATUS_LOST, done.stderr
    assert "messages.parquet" not in done.stderr.partition("lost or cut short")[0]
    assert "simulated time" in done.stderr


def test_a_recording_does_not_go_to_a_pipe(program: Path, tmp_path: Path) -> None:
    """Nobody may read it."""
    os.mkfifo(tmp_path / "a.recording")
    done = run_limited(1 << 30, tmp_path, "record", "-o", "a.recording", "--", program)
    assert (done.returncode, done.stderr) == (2, "chasqui: a.recording: not a regular file\n")
    assert not (tmp_path / "runs").exists()
