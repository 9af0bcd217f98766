"""Standard input: rank 0 reads the command's, whatever that is and however fast it comes.

Use this for crates/sim/src/standard_input.rs, or system calls that read or wait for input.
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

READER = """\
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct stat status;
    fstat(0, &status);
    struct pollfd entry = {0, POLLIN, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(0, &set);
    struct timeval at_once = {0, 0};
    int polled = poll(&entry, 1, 0), selected = select(1, &set, NULL, NULL, &at_once);
    printf("pipe %d, polled %d, selected %d %d, ", S_ISFIFO(status.st_mode), polled, selected,
           !!FD_ISSET(0, &set));
    long place = lseek(0, 0, SEEK_SET);
    printf("lseek %ld %d, ", place, errno == ESPIPE);
    char buffer[1000];
    unsigned long bytes = 0, sum = 0, reads = 0;
    for (long got; (got = read(0, buffer, sizeof buffer)) > 0; reads++, bytes += got)
        for (long i = 0; i < got; i++)
            sum = sum * 31 + (unsigned char)buffer[i];
    printf("rank %d: %lu bytes in %lu reads, %lx\\n", rank, bytes, reads, sum);
    MPI_Finalize();
    return 0;
}
"""
ASKS = """\
#include <stdio.h>
int main(void)
{
    char name[100], place[100];
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("name? ");
    if (!fgets(name, sizeof name, stdin))
        return 3;
    printf("place? ");
    if (!fgets(place, sizeof place, stdin))
        return 4;
    printf("%.3s of %s", name, place);
    return 0;
}
"""
Words = list[str | Path]
FORM = "pipe 1, polled 1, selected 1 1, lseek -1 1, rank"
BYTES = bytes(i * i % 251 for i in range(5_432))


def said(contents: bytes, rank: int = 0) -> str:
    total = 0
    for byte in contents:
        total = (total * 31 + byte) % 2**64
    reads = -(-len(contents) // 1000)
    return f"{FORM} {rank}: {len(contents)} bytes in {reads} reads, {total:x}\n"


@pytest.fixture
def reader(compile_c: Compiler) -> Path:
    return compile_c("reader", READER)


def start(
    words: Words, folder: Path, stdin: int | IO[bytes], **more: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "chasqui", *map(str, words)],
        cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def from_file(words: Words, folder: Path) -> tuple[int, str, str]:
    (folder / "input").write_bytes(BYTES)
    with (folder / "input").open("rb") as stdin:
        return end(start(words, folder, stdin))


def from_slow_pipe(words: Words, folder: Path) -> tuple[int, str, str]:
    process = start(words, folder, subprocess.PIPE)
    assert process.stdin
    for at in range(0, len(BYTES), 1_234):
        process.stdin.write(BYTES[at : at + 1_234])
        process.stdin.flush()
        time.sleep(0.2)
    return end(process)


def end(process: subprocess.Popen[bytes], contents: bytes | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(contents, timeout=120)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("machine", ["loggp", "netcache/via"])  # with a kernel, and without
def test_rank_0_reads_the_commands_and_others_nothing(
    reader: Path, tmp_path: Path, machine: str
) -> None:
    found = []
    ways: list[Callable[[Words, Path], tuple[int, str, str]]]
    ways = [from_file, from_slow_pipe]
    for number, way in enumerate(ways):
        out = f"{number}"
        command = ["run", "-q", "-np", "2", "-m", machine, "--threads", f"{number + 1}"]
        done = way([*command, "--out", out, "--", reader], tmp_path)
        assert done[0] == 0, done
        assert sorted(done[1].splitlines(keepends=True)) == sorted([said(BYTES), said(b"", 1)])
        files = [path for path in (tmp_path / out).iterdir() if path.name != "host.json"]
        found.append({path.name: path.read_bytes() for path in files})
    assert found[0] == found[1]
    stdin = json.loads(found[0]["summary.json"])["inputs"]["stdin"]
    digits = hashlib.sha256(BYTES).hexdigest()
    assert stdin == {"bytes": len(BYTES), "sha256": digits}


def test_a_file_is_read_from_where_it_stands(reader: Path, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(BYTES)
    with (tmp_path / "input").open("rb", buffering=0) as stdin:
        stdin.seek(1_000)
        done = end(start(["run", "-q", "--", reader], tmp_path, stdin))
    assert done == (0, said(BYTES[1_000:]), "")


def test_standard_input_that_is_closed_is_empty(reader: Path, tmp_path: Path) -> None:
    done = end(
        start(["run", "-q", "--", reader], tmp_path, subprocess.DEVNULL, preexec_fn=close_input)
    )
    assert done == (0, said(b""), "")
    [run] = (tmp_path / "runs").iterdir()
    assert "stdin" not in json.loads((run / "summary.json").read_text())["inputs"]


def close_input() -> None:
    os.close(0)


def test_what_cannot_be_read_is_said(reader: Path, tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as stdin:
        done = end(start(["run", "-q", "--", reader], tmp_path, stdin))
    line = (
        "chasqui: rank 0: standard input can't be read: Bad file descriptor (os error 9); "
        "read returns an error\n"
    )
    assert done == (0, said(b""), line)


def test_a_pipe_that_nobody_writes_holds_up_no_run_that_does_not_read(
    examples: Path, tmp_path: Path
) -> None:
    process = start(["run", "-q", "-np", "2", "--", examples / "ring"], tmp_path, subprocess.PIPE)
    assert process.wait(60) == 0


def test_waiting_for_input_ends_at_a_limit_or_a_signal(reader: Path, tmp_path: Path) -> None:
    command: Words = ["run", "-q", "-np", "2", "--limit-host-time"]
    process = start([*command, "1 s", "--", reader], tmp_path, subprocess.PIPE)
    assert process.wait(60) == 124
    [run] = (tmp_path / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["outcome"], summary["limit"]) == ("aborted", "host-time")
    assert summary["ranks"][0]["status"] is None, "it never came back from its read"
    process = start([*command, "1 min", "--", reader], tmp_path, subprocess.PIPE)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


@pytest.mark.parametrize("machine", ["loggp", "netcache/via", "mpinp"])
@pytest.mark.parametrize("end", [[], ["--stop-at", "5 ms"], ["--limit-time", "5 ms"]])
def test_a_signal_ends_a_run_of_which_nobody_has_more_to_do(
    reader: Path, tmp_path: Path, machine: str, end: Words
) -> None:
    """Else the rank would wait until the end of simulated time, or that which was asked for."""
    words: Words = ["run", "-q", "-m", machine, *end, "--", reader]
    process = start(words, tmp_path, subprocess.PIPE)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    [run] = (tmp_path / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["outcome"] == "interrupted"
    assert summary["time_ps"] < 5_000_000_000


def test_of_several_jobs_the_first_reads(reader: Path, tmp_path: Path) -> None:
    command: Words = ["run", "-q", "-m", "voyager", "--job", str(reader), "--", reader]
    status, out, err = from_file(command, tmp_path)
    assert status == 0, err
    assert sorted(out.splitlines(keepends=True)) == sorted([said(BYTES), said(b"")])


def test_a_replay_of_rank_0_reads_as_it_was_recorded(reader: Path, tmp_path: Path) -> None:
    record: Words = ["record", "-q", "-np", "2", "-o", "it.recording", "--", reader]
    assert from_file(record, tmp_path)[0] == 0
    for rank, status in ((0, 0), (1, 0)):
        only: Words = [
            "run",
            "-q",
            "--only-rank",
            str(rank),
            "--arrivals",
            "it.recording",
            "--",
            reader,
        ]
        assert from_file(only, tmp_path)[0] == status
    process = start(["run", "-q", "--only-rank", "0", *only[4:]], tmp_path, subprocess.DEVNULL)
    assert end(process)[0] == 1, "another input, another output"


@pytest.mark.parametrize("way", [from_file, from_slow_pipe])
def test_compare_gives_each_machine_the_same(
    reader: Path, tmp_path: Path, way: Callable[[Words, Path], tuple[int, str, str]]
) -> None:
    command: Words = [
        "compare",
        "loggp",
        "voyager",
        "-q",
        "-np",
        "2",
        "--out",
        "both",
        "--",
        reader,
    ]
    assert way(command, tmp_path)[0] == 0
    for machine in ("loggp", "voyager"):
        text = (tmp_path / "both" / machine / "stdout.0").read_text()
        assert text == said(BYTES)


def test_logp_and_experiments_read_nothing(chasqui: Run, tmp_path: Path) -> None:
    from chasqui.simulation import Job

    assert Job("loggp", 1, "program").stdin == "none"


def test_a_question_is_there_before_its_answer(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("asks", ASKS)
    ours, theirs = pty.openpty()
    process = start(["run", "-q", "--", program], tmp_path, theirs, bufsize=0)
    os.close(theirs)
    assert process.stdout
    shown = b""
    for question, answer in ((b"name? ", b"Ada Lovelace\n"), (b"place? ", b"London\n")):
        while not shown.endswith(question):
            assert select.select([process.stdout], [], [], 60)[0], shown
            shown += process.stdout.read(1)
        os.write(ours, answer)
    shown += process.stdout.read()
    assert (process.wait(60), shown) == (0, b"name? place? Ada of London\n")
    [run] = (tmp_path / "runs").iterdir()
    assert (run / "stdout.0").read_bytes() == b"name? place? Ada of London\n"
    os.close(ours)
