"""What a user gets for bad input and for programs that go wrong: the message and the exit status.

Use this when a message changes, or for a new way to go wrong. Each row says what stands in the
message; nothing is left behind by a run that couldn't start (status 2), and everything by one that
went wrong later.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import elf
import pytest
from conftest import ROOT, Compiler, Run

pytestmark = pytest.mark.core

INIT = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)number;
"""
END = "    MPI_Finalize();\n    return 0;\n}\n"


@pytest.fixture
def good(compile_c: Compiler) -> Path:
    return compile_c("good", INIT + END)


def refused(chasqui: Run, tmp_path: Path, *arguments: str | Path) -> str:
    """Runs what can't start; checks the status and that nothing is left behind."""
    before = sorted(tmp_path.rglob("*"))
    done = chasqui("run", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("chasqui: ")
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    return done.stderr


def changed(program: Path, at: int, new: bytes, target: Path) -> Path:
    data = bytearray(program.read_bytes())
    data[at : at + len(new)] = new
    target.write_bytes(data)
    target.chmod(0o755)
    return target


# --- the program ------------------------------------------------------------------------------


def test_a_missing_program(chasqui: Run, tmp_path: Path) -> None:
    assert "./nosuch" in refused(chasqui, tmp_path, "--", "./nosuch")


def test_a_directory(chasqui: Run, tmp_path: Path) -> None:
    assert "directory" in refused(chasqui, tmp_path, "--", tmp_path)


def test_a_program_for_the_host(chasqui: Run, tmp_path: Path) -> None:
    message = refused(chasqui, tmp_path, "--", Path(sys.executable).resolve())
    assert "RISC-V" in message


def test_a_program_for_32_bits(chasqui: Run, good: Path, tmp_path: Path) -> None:
    wrong = changed(good, 4, b"\x01", tmp_path / "narrow")
    assert "64" in refused(chasqui, tmp_path, "--", wrong)


def test_a_dynamic_program(chasqui: Run, good: Path, tmp_path: Path) -> None:
    (table,) = struct.unpack_from("<Q", good.read_bytes(), 32)
    (count,) = struct.unpack_from("<H", good.read_bytes(), 56)
    last = table + (count - 1) * 56  # GNU_STACK or an attribute: nothing that is loaded
    wrong = changed(good, last, struct.pack("<I", elf.PT_INTERP), tmp_path / "dynamic")
    assert "static" in refused(chasqui, tmp_path, "--", wrong)


@pytest.mark.parametrize("kept", [0, 3, 40, 100, 5000])
def test_a_truncated_program(chasqui: Run, good: Path, tmp_path: Path, kept: int) -> None:
    wrong = tmp_path / "truncated"
    wrong.write_bytes(good.read_bytes()[:kept])
    assert "truncated" in refused(chasqui, tmp_path, "--", wrong)


def test_an_object_file(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    assert chasqui("cc", "-c", "a.c").returncode == 0
    assert "object file" in refused(chasqui, tmp_path, "--", "./a.o")


def test_a_text(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(
        "#!/bin/sh\necho a script that is longer than any header\n" * 9
    )
    assert "ELF" in refused(chasqui, tmp_path, "--", "./script")


# --- machine, parameters, ranks ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--machine", "logpg"], ["logpg", "loggp"]),  # names the machines that there are
        (["--machine", "loggp/nosuch"], ["nosuch"]),
        (["--machine", "nosuch.toml"], ["nosuch.toml"]),
        (["--set", "loggp.latensy=5 us"], ["loggp.latensy", "loggp.latency"]),
        (["--set", "loggp.latency=5 parsec"], ["loggp.latency", "5 parsec", "us"]),
        (["--set", "loggp.latency=5"], ["loggp.latency", "us"]),
        (["--set", "loggp.latency=-5 us"], ["loggp.latency", "-5 us"]),
        (["--set", "loggp.latency"], ["loggp.latency", "KEY=VALUE"]),
        (["-np", "0"], ["-np 0", "at least 1"]),
        (["--threads", "0"], ["--threads", "'0'", "auto", "1 to 256"]),
        (["-np", "10000000"], ["10000000", "loggp"]),
        (["--trace-instructions", "5us"], ["--trace-instructions", "5us", "there is no .."]),
        (["--trace-instructions", "5us..2us"], ["5us..2us", "ends before it begins"]),
        (["--trace-instructions", "1..2us"], ["1..2us", "unit", "1.2ms..1.25ms:0,4-7"]),
        (["--trace-instructions", "..:1"], ["ranks 1", "the run has 0 to 0"]),
        (["--out", "."], ["."]),  # there is the program in it
    ],
)
def test_what_cannot_be_run_on(
    chasqui: Run, good: Path, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    (tmp_path / "kept").write_text("")
    message = refused(chasqui, tmp_path, *arguments, "--", good)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("schema_version = 1\nextends = loggp\n", ["mine.toml:2"]),
        ('schema_version = 9\nextends = "loggp"\n', ["mine.toml", "schema_version", "9"]),
        ('schema_version = 1\nextends = "loggp"\n[loggp]\ngapp = "1 us"\n', ["mine.toml:4", "gap"]),
        (
            'schema_version = 1\nextends = "loggp"\n[loggp]\ngap = 7\n',
            ["mine.toml:4", "loggp.gap", "7"],
        ),
        ('schema_version = 1\nextends = "mine.toml"\n', ["mine.toml"]),
    ],
)
def test_machine_files(
    chasqui: Run, good: Path, tmp_path: Path, text: str, parts: list[str]
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    message = refused(chasqui, tmp_path, "--machine", "mine.toml", "--", good)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["loggp", "nosuch"], ["nosuch", "there are loggp"]),
        (["loggp", "loggp/nosuch"], ["nosuch"]),
        (["loggp", "voyager", "--set", "loggp.latency=1us"], ["loggp.latency", "voyager"]),
        (["loggp", "voyager", "--set", "node.core.clock=5 parsec"], ["node.core.clock"]),
        (["loggp", "voyager", "-np", "100000"], ["100000 ranks on voyager"]),
        (["loggp", "voyager", "--mpi", "coll.bcast=nosuch"], ["nosuch"]),
        (["loggp", "voyager", "--out", "."], ["it is there and not empty"]),
        (["loggp", "voyager", "--out", "file"], ["file is no directory"]),
        (["loggp", "one.toml", "--logp"], ["one.toml"]),
    ],
    ids=" ".join,
)
def test_a_comparison_is_refused_before_it_begins(
    chasqui: Run, good: Path, tmp_path: Path, words: list[str], parts: list[str]
) -> None:
    (tmp_path / "voyager").mkdir()
    (tmp_path / "voyager" / "file").write_text("")
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    done = chasqui("compare", *words, "--", good)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("chasqui: ")
    for part in parts:
        assert part in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_experiments_are_refused_before_the_first(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "found" / "voyager-onepoll").mkdir(parents=True)
    words = ["voyager/mechanisms", "voyager/onepoll", "--quick", "--out", "found"]
    done = chasqui("experiment", *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr == "chasqui: --out found: found/voyager-onepoll: File exists\n"
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["voyager-onepoll"]


def test_a_recording_leaves_other_files_alone(chasqui: Run, good: Path, tmp_path: Path) -> None:
    mine = [
        "hello.partial",
        ".hello.partial",
        ".hello.recording.partial",
        "hello.recording.partial",
    ]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "hello.recording")
    (tmp_path / "hello.recording").write_bytes(b"PAR1, and old")
    assert chasqui("record", "-o", "hello.recording", "--", good).returncode == 0
    assert chasqui("record", "-o", "link", "--", good).returncode == 0
    assert [(tmp_path / name).read_text() for name in mine] == ["mine"] * len(mine)
    assert (tmp_path / "hello.recording").read_bytes().startswith(b"PAR1")
    assert (tmp_path / "link").is_symlink()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {*mine, "hello.recording", "link", "runs"}


def test_a_recording_by_a_link_that_leads_to_no_folder(
    chasqui: Run, good: Path, tmp_path: Path
) -> None:
    for link, target in (("link", "none/x"), ("loop", "loop")):
        (tmp_path / link).symlink_to(target)
        done = chasqui("record", "-o", link, "--", good)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"chasqui: {link}")
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "runs").exists()
    # A file that is not there yet is made where the link leads.
    (tmp_path / "new").symlink_to("hello.recording")
    assert chasqui("record", "-o", "new", "--", good).returncode == 0
    assert (tmp_path / "hello.recording").read_bytes().startswith(b"PAR1")


NO_TEXT = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    ("before", "after", "variables", "named"),
    [
        ([], [NO_TEXT], {}, "argument"),
        (["--env", f"A={NO_TEXT}"], [], {}, "argument"),
        (["--env", "A"], [], {"A": NO_TEXT}, "--env A"),
        (["--bind", NO_TEXT], [], {}, "argument"),
        (["--out", NO_TEXT], [], {}, "argument"),
        (["--set", f"node.core.clock={NO_TEXT}"], [], {}, "argument"),
        ([], [], {"CHASQUI_BIND": NO_TEXT}, "CHASQUI_BIND"),
        ([], [], {"CHASQUI_MACHINE": NO_TEXT}, "CHASQUI_MACHINE"),
    ],
)
def test_what_is_no_text(
    chasqui: Run,
    good: Path,
    tmp_path: Path,
    before: list[str],
    after: list[str],
    variables: dict[str, str],
    named: str,
) -> None:
    done = chasqui("run", *before, "--", good, *after, env=variables)
    assert done.returncode == 2, done.stderr
    shown = before[-1] if before and NO_TEXT in before[-1] else NO_TEXT
    shown = os.fsencode(shown).decode(errors="backslashreplace")
    assert done.stderr == f"chasqui: {named} '{shown}': UTF-8 is expected\n"
    assert list(tmp_path.iterdir()) == []


def test_a_program_whose_name_is_no_text(chasqui: Run, good: Path, tmp_path: Path) -> None:
    """Nor may another command have it."""
    shown = "caf\\xe9"
    for words in (["run", "--", NO_TEXT], ["info", NO_TEXT], ["check", NO_TEXT], [NO_TEXT]):
        done = chasqui(*words)
        assert done.returncode == 2, done.stderr
        assert done.stderr == f"chasqui: argument '{shown}': UTF-8 is expected\n"
    # The folder in which all that is may be called so.
    (tmp_path / NO_TEXT).mkdir()
    done = chasqui("run", "--", good, cwd=tmp_path / NO_TEXT)
    assert done.returncode == 0, done.stderr


# A call that does not return may be its function's last instruction.
JUMPS_AT_THE_END = r"""extern void last(void);
    __asm__(".pushsection .text\n"
            ".type last, @function\nlast: li t0, 0\njalr ra, t0\n.size last, . - last\n"
            ".type behind, @function\nbehind: nop\n.size behind, . - behind\n"
            ".popsection");
    last();"""

# --- programs that go wrong ----------------------------------------------------------------------

WRONG = {
    # name: (ranks, body, exit status, outcome, what the message says)
    "wild": (
        2, "if (rank == 1) number = *(volatile int *)0x123456789000;", 128 + signal.SIGSEGV,
        "fault", ["rank 1", "0x123456789000", "main"],
    ),
    "null_store": (
        1, "*(volatile int *)8 = 1;", 128 + signal.SIGSEGV, "fault", ["rank 0", "0x8", "main"],
    ),
    "illegal": (
        1, '__asm__ volatile(".word 0");', 128 + signal.SIGILL, "fault", ["rank 0", "main"],
    ),
    "gives_up": (1, "abort();", 128 + signal.SIGABRT, "fault", ["rank 0", "raised SIGABRT"]),
    "deadlock": (
        2, "MPI_Recv(&number, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);", 125,
        "deadlock", [f"rank {r} in MPI_Recv waits for a message from rank {1 - r}" for r in (0, 1)],
    ),
    "one_left": (
        2, "if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        125, "deadlock", ["rank 0", "MPI_Recv"],
    ),
    "no_barrier": (
        2, "if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);", 125, "deadlock",
        [
            f"rank {rank} in {call} waits for a message of a collective from rank {1 - rank} in"
            for rank, call in enumerate(("MPI_Barrier", "MPI_Finalize"))
        ],
    ),
    "after_finalize": (
        2, "MPI_Finalize(); MPI_Barrier(MPI_COMM_WORLD); return 0;", None, "aborted",
        ["MPI_Barrier", "MPI_Finalize has been called"],
    ),
    "made_before_finalize": (
        2, "MPI_Comm one, two, three; MPI_Comm_dup(MPI_COMM_WORLD, &one);"
        " MPI_Comm_dup(one, &two); MPI_Comm_dup(two, &three); MPI_Comm_free(&two);"
        " MPI_Barrier(one); MPI_Finalize(); MPI_Barrier(rank ? one : three); return 0;",
        None, "aborted", ["MPI_Barrier", "MPI_Finalize has been called"],
    ),
    "waits_in_finalize": (
        3, "if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        125, "deadlock", ["rank 0 in MPI_Finalize waits for", "from rank 1 in MPI_COMM_WORLD"],
    ),
    "sleeps_too_long": (
        2, "if (rank == 1) sleep(4000000000u); MPI_Barrier(MPI_COMM_WORLD);", 124, "out of time",
        ["rank 0 in MPI_Barrier waits for a", "rank 1 waits for a time after the end"],
    ),
    "aborts": (
        3, "if (rank == 2) MPI_Abort(MPI_COMM_WORLD, 7);", 7, "aborted",
        ["rank 2", "status 7 by MPI_Abort, called at", "(main+"],
    ),
    "aborts_with_256": (
        1, "MPI_Abort(MPI_COMM_WORLD, 256);", 1, "aborted", ["rank 0", "status 256 by MPI_Abort"],
    ),
    "mpi_error": (
        1, "MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);", None, "aborted",
        ["rank 0: MPI_Send", "by an error in MPI_Send, called at", "(main+"],
    ),
    "returns_3": (2, "if (rank == 1) { MPI_Finalize(); return 3; }", 3, "finished", []),
    "no_finalize_3": (2, "return 3;", 3, "aborted", ["rank 0", "status 3 without MPI_Finalize"]),
    # The message names the rank that failed, not one that left with 0.
    "no_finalize_0_and_3": (
        2, "return 3 * rank;", 3, "aborted", ["rank 1", "status 3 without MPI_Finalize\n"],
    ),
    "jumps_to_null": (
        1, "void (*volatile jump)(void) = NULL; jump(); puts(\"\");", 128 + signal.SIGSEGV, "fault",
        ["jump to 0x0: null pointer, pc 0x0, return address 0x", "(main+0x"],
    ),
    "jumps_at_the_end": (
        1, JUMPS_AT_THE_END, 128 + signal.SIGSEGV, "fault",
        ["jump to 0x0: null pointer, pc 0x0, return address 0x", "(last+0x"],
    ),
    "no_finalize": (1, "return 0;", 0, "finished", ["rank 0", "MPI_Finalize"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_programs_that_go_wrong(
    chasqui: Run, compile_c: Compiler, tmp_path: Path, name: str
) -> None:
    ranks, body, status, outcome, parts = WRONG[name]
    program = compile_c(
        name, f'{INIT}    printf("so far\\n");\n    fflush(stdout);\n    {body}\n{END}', "-g"
    )
    done = chasqui("run", "-np", str(ranks), "--out", "run", "--", program)
    if status is None:
        assert done.returncode not in (0, 2)
    else:
        assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("so far") == ranks
    for part in parts:
        assert part in done.stderr
    # The partial results are kept.
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["outcome"] == outcome
    assert summary["exit_status"] == done.returncode
    assert (tmp_path / "run" / "stdout.0").read_text() == "so far\n"
    assert (tmp_path / "run" / "messages.parquet").exists()


# Each with the statement that calls it. Of the program's own, made while MPI ran: a pending
# receive, a persistent send, a datatype, an operation, a group.
OUT_OF_TIME = {
    "MPI_Wait": "MPI_Wait(&pending, &status)",
    "MPI_Waitall": "MPI_Waitall(1, &pending, &status)",
    "MPI_Waitany": "MPI_Waitany(1, &pending, &number, &status)",
    "MPI_Testall": "MPI_Testall(1, &pending, &number, &status)",
    "MPI_Cancel": "MPI_Cancel(&pending)",
    "MPI_Start": "MPI_Start(&persistent)",
    "MPI_Request_free": "MPI_Request_free(&persistent)",
    "MPI_Buffer_detach": "MPI_Buffer_detach(&buffer, &number)",
    "MPI_Type_free": "MPI_Type_free(&type)",
    "MPI_Op_free": "MPI_Op_free(&op)",
    "MPI_Group_free": "MPI_Group_free(&group)",
    "MPI_Comm_disconnect": "MPI_Comm_disconnect(&comm)",
    "MPI_Sendrecv": (
        "MPI_Sendrecv(&number, 1, MPI_INT, 0, 0, &number, 1, MPI_INT, 0, 0, comm, &status)"
    ),
    "MPI_Finalize": "MPI_Finalize()",
    "MPI_Init_thread": "MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &number)",
}

OUT_OF_TIME_PROGRAM = """#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int wanted = atoi(argv[1]), before = argc > 2, number = 0, length;
    char text[MPI_MAX_ERROR_STRING];
    void *buffer = NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request pending = MPI_REQUEST_NULL, persistent = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    MPI_Group group = MPI_GROUP_EMPTY;
    MPI_Status status;
    MPI_Info info;
    if (!before) {
        MPI_Init(&argc, &argv);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &pending);
        MPI_Send_init(&number, 1, MPI_INT, 0, 3, comm, &persistent);
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Op_create(NULL, 1, &op);
        MPI_Comm_group(comm, &group);
        MPI_Finalize();
    }
    /* These are allowed at any time. */
    MPI_Initialized(&number);
    MPI_Finalized(&number);
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    switch (wanted) {
CALLS
    }
    return 0;
}
"""


@pytest.mark.parametrize("before", [False, True])
def test_no_call_goes_on_outside_mpi(compile_c: Compiler, chasqui: Run, before: bool) -> None:
    """Before, waiting was reported as a deadlock, and what needs no communicator worked."""
    calls = "".join(f"case {i}: {call}; break;\n" for i, call in enumerate(OUT_OF_TIME.values()))
    program = compile_c("out_of_time", OUT_OF_TIME_PROGRAM.replace("CALLS", calls))
    said = "MPI_Init has not been called" if before else "MPI_Finalize has been called"
    for number, name in enumerate(OUT_OF_TIME):
        done = chasqui("run", "-np", "1", "--", program, str(number), *["before"] * before)
        if name == "MPI_Init_thread" and before:
            # It is in time; then the program ends without MPI_Finalize.
            assert done.returncode == 0
            continue
        reason = "called a second time" if name == "MPI_Init_thread" else said
        # Before MPI_Init a process does not know its rank.
        rank = "" if before else "rank 0: "
        assert f"{rank}{name}: {reason}" in done.stderr, done.stderr
        assert f"by an error in {name}, called at" in done.stderr, done.stderr
        assert done.returncode not in (0, 2, 125)


@pytest.mark.parametrize("machine", ["loggp", "netcache", "voyager"])
def test_a_program_linked_with_another_library(
    chasqui: Run, good: Path, tmp_path: Path, machine: str
) -> None:
    """The device says for which registers it was compiled; here: for others than the machine's."""
    registers = (ROOT / "machines" / machine / "registers.h").read_text()
    device, interface = (
        int(re.search(rf"_{name} (0x[0-9a-f]+)u", registers)[1], 16)  # type: ignore[index]
        for name in ("DEVICE", "INTERFACE")
    )
    words = struct.pack("<II", device, interface)
    code = good.read_bytes()
    assert code.count(words) == 1, "mpi_device_*.id and .interface"
    other = struct.pack("<I", interface ^ 1)
    old = changed(good, code.index(words) + 4, other, tmp_path / "old")
    done = chasqui("run", "-np", "2", "--machine", machine, "--", old)
    assert done.returncode not in (0, 2)
    said = "linked with the MPI library of another version: link the program again"
    assert done.stderr.count(said) == 1


ENDLESS = INIT + "    for (volatile long i = 0;; i++) { }\n}\n"

# In calls that take no time (loggp) simulated time stands for ever, which nobody may have to guess.
ENDLESS_IN_A_CALL = INIT.replace(
    "int main",
    "static void never(void *a, void *b, int *n, MPI_Datatype *type)\n"
    "{\n    for (volatile long i = 0;; i++) { }\n}\nint main",
) + (
    "    int sum;\n    MPI_Op op;\n    MPI_Op_create(never, 1, &op);\n"
    "    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);\n}\n"
)

# A loop that counts its turns is not known to be endless.
ENDLESS_TESTS = INIT + (
    "    for (volatile long i = 0;; i++)\n"
    "        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &number, MPI_STATUS_IGNORE);\n}\n"
)


def interrupt(program: Path, directory: Path, times: int) -> tuple[int, str]:
    """Starts an endless run, presses Ctrl-C; gives status and messages."""
    chasqui = [sys.executable, "-m", "chasqui"]
    command = [*chasqui, "run", "-np", "2", "--out", "run", "--", str(program)]
    with subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True) as running:
        try:
            deadline = time.monotonic() + 30
            while not (directory / "run").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1)
            for _ in range(times):
                running.send_signal(signal.SIGINT)
                time.sleep(0.02)
            _, message = running.communicate(timeout=30)
        finally:
            running.kill()
    return running.returncode, message


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("endless", ENDLESS, "(main"),
        ("endless_in_a_call", ENDLESS_IN_A_CALL, "in MPI_Allreduce, pc"),
        ("endless_tests", ENDLESS_TESTS, "rank 1"),
    ],
)
def test_ctrl_c_stops_cleanly_and_keeps_what_there_is(
    compile_c: Compiler, tmp_path: Path, name: str, text: str, place: str
) -> None:
    status, message = interrupt(compile_c(name, text), tmp_path, 1)
    assert status == 130, message
    assert "interrupted" in message
    assert place in message, "it says where the ranks are"
    assert "Traceback" not in message
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["outcome"] == "interrupted"


def test_the_second_ctrl_c_kills(compile_c: Compiler, tmp_path: Path) -> None:
    status, message = interrupt(compile_c("endless", ENDLESS), tmp_path, 2)
    assert status == 130, message


def test_contradictions_of_a_machine_are_one_message(
    good: Path, chasqui: Run, tmp_path: Path
) -> None:
    """Each with the parameters that it names, their values, and where these are set."""
    machine = tmp_path / "x.toml"
    machine.write_text(
        "schema_version = 1\n[parts]\n"
        'ni = "netcache/tcp"\nnode = "voyager"\nnetwork = "voyager"\n'
        '[node.l1d]\nsize = "48 KiB"\n'
    )
    said = refused(chasqui, tmp_path, "-np", "2", "--machine", machine, "--", good)
    head, *problems = said.splitlines()
    assert head == f'chasqui: machine "{machine}" has 3 problems:'
    size, policy, packet = problems
    assert all(problem.startswith("  ") for problem in problems)
    assert size.startswith("  node.l1d.size, node.l1d.ways, node.l1d.line: ")
    assert f'(node.l1d.size = "48 KiB": {machine}:7; node.l1d.ways = ' in size
    assert re.search(r'netcache.nic.policy = "tcp": netcache:\d+;', policy)
    assert "node.software.kernel = false: default" in policy
    assert packet.startswith("  network.packet_max: at least 1538 B are needed (")
    assert re.search(r'\(network.packet_max = "\d+ B": \S+:\d+\)$', packet)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_not_read(chasqui: Run, good: Path, tmp_path: Path, kind: str) -> None:
    """A pipe would be waited for, and a device has no end."""

    def make(name: str) -> Path:
        path = tmp_path / name
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
        return path

    program, machine, source = make("program"), make("mine.toml"), make("a.c")
    recording = make("a.recording")
    extends = tmp_path / "extends.toml"
    extends.write_text('schema_version = 1\nextends = "mine.toml"\n')
    for words, named in [
        (["run", "--", program], program),
        (["run", "--machine", machine, "--", good], machine),
        (["run", "--machine", extends, "--", good], Path("mine.toml")),
        (["run", "-m", "voyager", "--job", str(program), "--", good], program),
        (["run", "--only-rank", "0", "--arrivals", recording, "--", good], recording),
        (["compare", "loggp", "--", program], program),
        (["info", machine], machine),
        (["check", program], program),
        (["check", source], source),
        (["check", tmp_path], source),
    ]:
        done = chasqui(*words)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("chasqui: ")
        assert done.stderr.count("\n") == 1
        assert "not a regular file" in done.stderr
        assert str(named) in done.stderr


def test_more_nodes_than_there_is_room_for(good: Path, tmp_path: Path) -> None:
    """Refused before any of its 120,000 files is made. As if the host had less address space."""
    words = ["run", "-np", "60000", "--out", "kept", "--", str(good)]
    limited = ["sh", "-c", 'ulimit -v 100000000; exec "$@"', "sh"]
    begin = time.monotonic()
    done = subprocess.run(
        [*limited, sys.executable, "-m", "chasqui", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    place = r"60000 nodes of loggp take at least \d+ MiB of address space, and \d+ MiB are left"
    assert re.search(place + r" .*: about \d+ nodes fit\n", done.stderr), done.stderr
    assert not (tmp_path / "kept").exists()
    assert time.monotonic() - begin < 30
