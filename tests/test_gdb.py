"""`chasqui run --gdb`, with gdb-multiarch: it sees the program, and a look changes no result.

Use this when what a debugger sees of a run changes, or what its commands do. The protocol itself is
tested in `crates/debug`, what a look changes of a node in `crates/node/tests/debug.rs`.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import command_line
import pytest
from conftest import Compiler

pytestmark = [pytest.mark.core, pytest.mark.gdb]

TIMEOUT_S = 120
# How often some program stops at one place in each of its ranks.
TURNS = 3

RING = r"""
#include <mpi.h>
#include <stdio.h>
int total;
double ratio = 1.5;
int passed(int token, int rank) /* here: passed */
{
    total += rank;
    ratio *= 2;
    return token + rank;
}
int main(int argc, char **argv)
{
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 3; turn++) {
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token = passed(token, rank);
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("rank %d: %d, %d, %g\n", rank, token, total, ratio);
    MPI_Finalize();
    return 0;
}
"""

THREADS = r"""
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
long sums[4];
void *work(void *number)
{
    long n = (long)number;
    for (long i = 0; i < 300; i++)
        sums[n] += i * n;
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    int got, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 1));
    work(0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    long all, own = sums[1] + sums[2] + sums[3];
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    printf("%ld\n", all);
    MPI_Finalize();
    return 0;
}
"""

ENDS = r"""
#include <mpi.h>
#include <stdlib.h>
int *volatile nowhere;
volatile long count;
int main(int argc, char **argv)
{
    int rank, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        switch (argv[1][0]) {
        case 's': *nowhere = 3; break;
        case 'i': __asm__ volatile("unimp"); break;
        case 'a': abort();
        case 'm': MPI_Abort(MPI_COMM_WORLD, 9); break;
        case 'f': for (;;) count++;
        }
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


@dataclass
class Session:
    """What gdb has shown, and what became of the run."""

    shown: str
    status: int
    said: str  # by the command, with the ranks' output
    directory: Path


class Debugged:
    """A run that waits for a debugger."""

    def __init__(self, place: Path, program: Path, arguments: Sequence[str], *own: str) -> None:
        number = len(list(place.glob("debugged*")))
        self.directory, self.program = place / f"debugged{number}", program
        command = [sys.executable, "-m", "chasqui", "run", "--quiet", "--gdb", "0"]
        command += [*arguments, "--out", str(self.directory), "--", str(program), *own]
        self.process = subprocess.Popen(
            command, cwd=place, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **command_line.SETTINGS},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said = ""
        while not (found := re.search(r"target remote :(\d+)'", self.said)):
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        self.port = int(found[1])

    def gdb(self, *commands: str) -> str:
        """What gdb shows of these commands."""
        words = ["gdb-multiarch", "-nx", "-batch"]
        for command in (
            "set pagination off",
            "set confirm off",
            f"target remote :{self.port}",
            *commands,
        ):
            words += ["-ex", command]
        done = subprocess.run(
            [*words, str(self.program)], text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.stdout

    def end(self, shown: str = "") -> Session:
        rest, _ = self.process.communicate(timeout=TIMEOUT_S)
        return Session(shown, self.process.returncode, self.said + rest, self.directory)


class Protocol:
    """A debugger that sends packets of its own, to a run that waits."""

    def __init__(self, run: Debugged) -> None:
        self.connection = socket.create_connection(("127.0.0.1", run.port), TIMEOUT_S)
        self.received = b""
        self.ask("qSupported:multiprocess+;vContSupported+")
        self.threads = self.ask("qfThreadInfo").removeprefix("m").split(",")

    def ask(self, body: str) -> str:
        """The answer, which is acknowledged."""
        self.connection.sendall(f"${body}#{sum(body.encode()) & 255:02x}".encode())
        while not (found := re.search(rb"\$([^#]*)#..", self.received)):
            received = self.connection.recv(1 << 16)
            assert received, f"{body}: the connection is closed"
            self.received += received
        self.received = self.received[found.end() :]
        self.connection.sendall(b"+")
        return found[1].decode()

    def set_pc(self, value: int) -> str:
        return self.ask("P20=" + value.to_bytes(8, "little").hex())

    def pc(self) -> int:
        return int.from_bytes(bytes.fromhex(self.ask("p20")), "little")


def debug(place: Path, program: Path, arguments: Sequence[str], *commands: str) -> Session:
    run = Debugged(place, program, arguments)
    return run.end(run.gdb(*commands))


def alone(place: Path, program: Path, arguments: Sequence[str], *own: str) -> Path:
    """The directory of the same run without a debugger."""
    directory = place / "alone"
    command_line.run(
        "run", "-q", *arguments, "--out", directory, "--", program, *own, directory=place
    )
    return directory


def differences(one: Path, other: Path) -> list[str]:
    """Files of two runs that differ, but for host.json."""
    names = sorted({path.name for each in (one, other) for path in each.iterdir()} - {"host.json"})
    return [name for name in names if not filecmp.cmp(one / name, other / name, shallow=False)]


MACHINES = [
    ["-m", "loggp"],
    ["-m", "voyager"],
    ["-m", "voyager", "--set", "node.harts=2", "--ranks-per-node", "2"],
    ["-m", "netcache"],
    ["-m", "netcache/tcp"],
    ["-m", "mpinp"],
]


@pytest.mark.parametrize("machine", MACHINES, ids=" ".join)
def test_breakpoints_are_hit_and_looking_changes_nothing(
    machine: list[str], compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "4", *machine, "--timeline", "1000"]
    look = [
        "info threads",
        "bt",
        "print total",
        "print ratio",
        "info registers",
        "info float",
        "x/8i $pc",
    ]
    steps = ["stepi", "stepi", "next"]
    hits = ["continue", *look] * 5
    done = debug(
        tmp_path, program, arguments, "break passed", *hits, *steps,
        "delete", "watch total", "continue", "continue", "delete", "continue",
    )  # fmt: skip
    assert done.status == 0, done.said
    found = re.findall(r"hit Breakpoint 1, passed \(token=(\d+), rank=(\d)\)", done.shown)
    assert len(found) >= 5, done.shown
    assert "(rank 3)" in done.shown, done.shown
    assert "hit Hardware watchpoint 2: total" in done.shown, done.shown
    assert "exited normally" in done.shown
    assert not differences(alone(tmp_path, program, arguments), done.directory)


def test_on_cell_the_host_core_is_seen(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "cell"]
    done = debug(tmp_path, program, arguments, "break passed", "continue")
    assert done.status == 0
    assert "programs of SPEs" in done.said
    assert "exited normally" in done.shown
    assert not differences(alone(tmp_path, program, arguments), done.directory)


def test_each_hit_of_one_rank_is_seen_once(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "4", "-m", "voyager", "--rank", "2"]
    show = ["continue", 'printf "%d %d %g\\n", token, total, ratio']
    done = debug(
        tmp_path, program, arguments, "break passed", *show * TURNS, "info threads", "continue"
    )
    # Of a ring of four, whose ranks add 0, 1, 2 and 3.
    lines = re.findall(r"^\d+ \d+ [\d.]+$", done.shown, re.MULTILINE)
    assert lines == ["1 0 1.5", "7 2 3", "13 4 6"], done.shown
    assert done.shown.count("(rank") == 1, "no other is seen"
    assert not differences(alone(tmp_path, program, arguments[:4]), done.directory)


def test_watchpoints_of_all_kinds(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "voyager", "--rank", "1"]
    kinds = [
        "watch total",
        "continue",
        "delete",
        "rwatch total",
        "continue",
        "delete",
        "awatch ratio",
        "continue",
    ]
    done = debug(tmp_path, program, arguments, *kinds, "delete", "continue")
    shown = (
        "Old value = 0\nNew value = 1",
        "read watchpoint 2",
        "access (read/write) watchpoint 3",
    )
    for text in shown:
        assert text in done.shown.partition("exited")[0], done.shown
    assert not differences(alone(tmp_path, program, arguments[:4]), done.directory)


def test_threads_are_the_debuggers_threads(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("works", THREADS, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "voyager", "--set", "node.harts=4"]
    commands = [
        "break work",
        *["continue"] * 4,
        "info threads",
        "stepi",
        "next",
        "finish",
        "delete",
        "continue",
    ]
    done = debug(tmp_path, program, arguments, *commands)
    assert done.status == 0, done.shown
    assert "exited normally" in done.shown, done.shown
    assert re.search(r"\(rank [01], thread [1-3]\)", done.shown), done.shown
    assert not differences(alone(tmp_path, program, arguments), done.directory)


def test_registers_and_memory_can_be_written(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    commands = [
        "break passed", "continue", "set var total = 100", "set var ratio = 0.25",
        "set var token = 1000", "print total + token", "print $ft0 = 1.5", "info registers ft0",
        "delete", "continue",
    ]  # fmt: skip
    done = debug(tmp_path, program, ["-np", "2", "-m", "voyager", "--rank", "1"], *commands)
    assert "= 1100" in done.shown, done.shown
    assert "1.5" in done.shown, done.shown
    # The token has gone round thrice, and 1000 was in the place of 0.
    assert "rank 1: 1003, 103, 2" in done.said, done.said


def test_code_can_be_written_and_functions_called(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    commands = [
        "break passed", "continue", "print passed(20, 3)", "print total",
        # `ret` in the place of its first instruction.
        "set var *(short *)&passed = 0x8082", "x/i $pc", "delete", "continue",
    ]  # fmt: skip
    done = debug(tmp_path, program, ["-np", "2", "-m", "loggp", "--rank", "1"], *commands)
    assert "= 23" in done.shown, done.shown
    assert "= 3" in done.shown, done.shown
    assert "ret" in done.shown, done.shown
    assert "rank 1: 0, 3, 3" in done.said, done.said


@pytest.mark.parametrize(
    ("how", "shown", "status"),
    [("s", "SIGSEGV", 139), ("i", "SIGILL", 132), ("a", "SIGABRT", 134), ("m", "SIGABRT", 9)],
)
def test_a_fault_stops_before_the_run_ends(
    how: str, shown: str, status: int, compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("ends", ENDS, "-g")
    arguments = ["-np", "2", "-m", "voyager"]
    run = Debugged(tmp_path, program, arguments, how)
    done = run.end(run.gdb("continue", "bt", "info threads", "continue"))
    assert f"Thread 2 received signal {shown}" in done.shown, done.shown
    assert re.search(r"#\d.* main \(argc=2", done.shown), done.shown
    assert "(rank 0)" in done.shown, done.shown
    assert done.status == status, done.said
    assert not differences(alone(tmp_path, program, arguments, how), done.directory)


def test_a_deadlock_ends_the_session(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("ends", ENDS, "-g")
    run = Debugged(tmp_path, program, ["-np", "2", "-m", "voyager"], "d")
    done = run.end(run.gdb("continue"))
    assert "chasqui: a deadlock" in done.shown, done.shown
    assert "exited with code 0175" in done.shown, done.shown
    assert done.status == 125


def test_an_interrupt_stops_the_run_and_a_kill_ends_it(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("ends", ENDS, "-g")
    run = Debugged(tmp_path, program, ["-np", "2", "-m", "loggp"], "f")
    commands = [
        "python import threading, os, signal, time",
        "python threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()",
        "continue", "info threads", "thread 2", "print count > 0", "kill",
    ]  # fmt: skip
    done = run.end(run.gdb(*commands))
    assert "SIGINT" in done.shown, done.shown
    assert "= 1" in done.shown, done.shown
    assert done.status == 123, done.said
    assert "ended by the debugger" in done.said, done.said
    summary = json.loads((done.directory / "summary.json").read_text())
    assert (summary["outcome"], summary["exit_status"]) == ("interrupted", 123)


def test_a_debugger_that_leaves_lets_the_run_go_on(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "voyager"]
    place = alone(tmp_path, program, arguments)
    done = debug(tmp_path, program, arguments, "break passed", "continue", "detach")
    assert done.status == 0
    assert "the debugger has left" not in done.said
    assert not differences(place, done.directory)
    for bytes_sent in (b"", b"\x00garbage$#", b"$m0,ffffffffffffffff#00", b"$" + b"x" * 100_000):
        run = Debugged(tmp_path, program, arguments)
        with socket.create_connection(("127.0.0.1", run.port)) as connection:
            connection.sendall(bytes_sent)
        lost = run.end()
        assert lost.status == 0, lost.said
        assert "the debugger has left" in lost.said, lost.said
        assert not differences(place, lost.directory)


def entry(program: Path) -> int:
    """Where an ELF file begins."""
    return int.from_bytes(program.read_bytes()[24:32], "little")


def test_a_pc_that_no_program_has_is_refused(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "loggp"]
    run = Debugged(tmp_path, program, arguments)
    gdb = Protocol(run)
    begin = gdb.pc()
    assert begin == entry(program)
    for refused in (2**64 - 1, 2**64 - 2, 2**63, 2**38):
        assert gdb.set_pc(refused).startswith("E"), hex(refused)
        assert gdb.pc() == begin
    assert gdb.set_pc(begin + 1) == "OK"
    assert gdb.pc() == begin, "bit 0 is none of an address"
    assert gdb.ask("vCont;c") == "W00"
    assert run.end().status == 0
    assert not differences(alone(tmp_path, program, arguments), run.directory)


@pytest.mark.parametrize("machine", ["netcache/tcp", "cell"])
def test_the_kernels_registers_are_not_the_programs(
    machine: str, compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", machine]
    run = Debugged(tmp_path, program, arguments)
    gdb = Protocol(run)
    for thread in gdb.threads:
        assert gdb.ask(f"Hg{thread}") == "OK"
        assert gdb.pc() == entry(program)
        assert gdb.set_pc(entry(program) + 4).startswith("E")
    assert gdb.ask("vCont;c") == "W00"
    assert run.end().status == 0
    assert not differences(alone(tmp_path, program, arguments), run.directory)


def test_threads_are_listed_once_and_others_make_no_step(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    two = ["-np", "4", "-m", "loggp", "--set", "node.harts=4", "--ranks-per-node", "2"]
    arguments = [*two, "--map-by", "node"]
    run = Debugged(tmp_path, program, arguments)
    gdb = Protocol(run)
    assert gdb.threads == ["p01.01", "p01.05", "p01.09", "p01.0d"], "of four harts each"
    # Of two ranks a node each has two harts, so none has a fourth thread, nor the node a fifth.
    assert gdb.ask("vCont;s:p1.8") == "W00"
    assert run.end().status == 0
    assert not differences(alone(tmp_path, program, arguments), run.directory)


def test_ctrl_c_on_the_terminal_ends_a_run_that_waits(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    run = Debugged(tmp_path, program, ["-np", "2", "-m", "voyager"])
    time.sleep(0.5)
    run.process.send_signal(signal.SIGINT)
    assert run.end().status == 130


def test_an_end_that_was_set_ends_the_session(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    arguments = ["-np", "2", "-m", "voyager", "--stop-at", "200 us"]
    done = debug(tmp_path, program, arguments, "break main", *["continue"] * 3)
    assert "come to its --stop-at" in done.shown, done.shown
    assert "exited normally" in done.shown, done.shown
    assert not differences(alone(tmp_path, program, arguments), done.directory)


def test_jobs_that_share_harts(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    job = f"-np 2 {program}"
    arguments = ["-np", "2", "-m", "voyager", "--set", "node.scheduler.quantum=100us", "--job", job]
    rank = ["--rank", "1", *arguments]
    show = ["continue", 'printf "%d %d\\n", rank, total']
    done = debug(tmp_path, program, rank, "break passed", *show * TURNS, "continue")
    assert re.findall(r"^1 \d$", done.shown, re.MULTILINE) == ["1 0", "1 1", "1 2"], done.shown
    other = alone(tmp_path, program, arguments)
    for number in (0, 1):
        assert not differences(other / f"job{number}", done.directory / f"job{number}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gdb", "70000"], "70000"),
        (["--gdb", "x"], "'x' is not a valid integer"),
        (["--gdb", "0", "--rank", "2"], "--rank 2: 0 to 1 are allowed"),
        (["--rank", "0"], "--rank is for --gdb"),
    ],
)
def test_what_can_not_be_debugged_is_refused(
    arguments: list[str], message: str, compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    done = command_line.run("run", "-np", "2", *arguments, "--", program, directory=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr, done.stderr
    assert not list(tmp_path.iterdir()), "nothing half written"


def test_a_port_in_use_is_refused(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("passes", RING, "-g", "-fno-inline")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = command_line.run("run", "--gdb", str(port), "--", program, directory=tmp_path)
    assert done.returncode == 2
    assert f"--gdb {port}: the port can't be used" in done.stderr
    for command in ("compare", "sweep", "record"):
        done = command_line.run(command, "--gdb", "0", "--", program, directory=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "--gdb" in done.stderr, done.stderr
