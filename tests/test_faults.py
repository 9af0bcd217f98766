"""What a fault and a deadlock say: rank, time, function and line; what each rank waits for, and
where it called MPI.

Use this when the reports change, or what the simulator reads of the MPI library's memory for them.
"""

from __future__ import annotations

import os
import random
import re
import struct
from pathlib import Path

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

SEED = int(os.environ.get("SEED", "1"))
# On a machine without a kernel image, on one with, and where calls are executed.
MACHINES = ["loggp", "netcache/tcp", "voyager"]

WAITS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int rank, other, number[4];
static char block[1 << 20];
static MPI_Request requests[3];
static MPI_Comm row;

static void __attribute__((noinline)) take(int tag)
{
    MPI_Recv(number, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: take */
    number[2]++;
}

/* As a Fortran program's call comes to the library. */
void __attribute__((noinline)) mpi_recv_(int tag) { take(tag); number[1]++; }

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Message message;
    int some[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &row); /* the ranks turned round */
    MPI_Comm_set_name(row, "row");
    switch (argc > 1 ? argv[1][0] : 0) {
    case 'r': take(5); break; /* here: main */
    case 'a':
        MPI_Irecv(number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, row, requests);
        MPI_Wait(requests, &status); /* here: wait */
        break;
    case 'n':
        MPI_Recv(number, 1, MPI_INT, rank, 9, row, &status); /* here: row */
        break;
    case 'p': MPI_Probe(other, 7, MPI_COMM_WORLD, &status); break; /* here: probe */
    case 'm': MPI_Mprobe(MPI_ANY_SOURCE, 7, row, &message, &status); break; /* here: mprobe */
    case 'w':
        for (int i = 0; i < 3; i++)
            MPI_Irecv(number + i, 1, MPI_INT, other, 20 + i, MPI_COMM_WORLD, requests + i);
        if (rank == 0)
            MPI_Waitany(3, requests, some, &status); /* here: any */
        MPI_Waitsome(3, requests, number + 3, some, MPI_STATUSES_IGNORE); /* here: some */
        break;
    case 'l':
        for (int i = 0; i < 3; i++)
            MPI_Irecv(number + i, 1, MPI_INT, i == 0 ? MPI_PROC_NULL : other, 30 + i,
                      MPI_COMM_WORLD, requests + i);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE); /* here: all */
        break;
    case 's':
        MPI_Ssend(block, sizeof block, MPI_CHAR, other, 3, MPI_COMM_WORLD); /* here: ssend */
        break;
    case 'b':
        if (rank)
            MPI_Bcast(number, 1, MPI_INT, 0, MPI_COMM_WORLD); /* here: bcast */
        break;
    case 'i':
        if (rank) {
            MPI_Ibcast(number, 1, MPI_INT, 0, MPI_COMM_WORLD, requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE); /* here: ibcast */
        }
        break;
    }
    MPI_Finalize();
    return 0;
}
"""
WORLD = "in MPI_COMM_WORLD"
# case: (MPI call of rank 1, what it waits for, the mark of its line)
CASES = {
    "r": ("MPI_Recv", f"a message from rank 0 with tag 5 {WORLD} (receive posted at ", "take"),
    "a": (
        "MPI_Wait",
        "a message from any rank with any tag in row (communicator 2) (receive posted at ",
        "wait",
    ),
    "n": (
        "MPI_Recv",
        "a message from rank 0 with tag 9 in row (communicator 2), where that is rank 1 (rec",
        "row",
    ),
    "p": ("MPI_Probe", f"a message from rank 0 with tag 7 {WORLD}", "probe"),
    "m": ("MPI_Mprobe", "a message from any rank with tag 7 in row (communicator 2)", "mprobe"),
    "w": (
        "MPI_Waitsome",
        "some of its requests: "
        + "; ".join(f"a message from rank 0 with tag {20 + i} {WORLD}" for i in range(3)),
        "some",
    ),
    "l": ("MPI_Waitall", f"a message from rank 0 with tag 31 {WORLD} (receive posted at ", "all"),
    "s": ("MPI_Ssend", f"rank 0 to take its message of 1048576 bytes with tag 3 {WORLD}", "ssend"),
    "b": ("MPI_Bcast", f"a message of a collective from rank 0 {WORLD} (receive posted", "bcast"),
    "i": (
        "MPI_Wait",
        f"MPI_Ibcast: a message of a nonblocking collective from rank 0 {WORLD}",
        "ibcast",
    ),
}


def line_of(text: str, mark: str) -> int:
    """The number of the line that is marked so."""
    return next(i for i, line in enumerate(text.splitlines(), 1) if f"/* here: {mark} */" in line)


def waits(report: str, rank: int) -> str:
    """The line of a deadlock's report about a rank."""
    found = [line for line in report.splitlines() if line.startswith(f"  rank {rank} ")]
    assert len(found) == 1, report
    return found[0]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("case", CASES)
def test_a_deadlock_says_what_each_rank_waits_for(
    chasqui: Run, compile_c: Compiler, machine: str, case: str
) -> None:
    call, what, mark = CASES[case]
    program = compile_c("waits", WAITS, "-g", "-O0")
    done = chasqui("run", "-np", "2", "-m", machine, "--", program, case)
    assert done.returncode == 125, done.stderr
    said = waits(done.stderr, 1)
    assert said.startswith(f"  rank 1 in {call} waits for "), said
    assert what in said
    # Where the process sleeps in its kernel that is said first.
    assert machine == "netcache/tcp" or said.startswith(f"  rank 1 in {call} waits for {what}")
    function = "take" if mark == "take" else "main"
    place = rf"; called at 0x\w+ \({function}\+0x\w+, [^ ]*waits\.c:{line_of(WAITS, mark)}\)"
    assert re.search(place, said), said
    if case == "l":
        assert f", and for a message from rank 0 with tag 32 {WORLD}" in said
    if case == "r":
        assert re.search(rf", from 0x\w+ \(main\+0x\w+, .*:{line_of(WAITS, 'main')}\)$", said), said
    if case == "w":
        assert "one of its requests: a message from rank 1 with tag 20" in waits(done.stderr, 0)


def test_fortrans_names_of_mpi_are_passed_over(chasqui: Run, compile_c: Compiler) -> None:
    """`mpi_recv_` here stands where such a binding does: its line is none of the program's."""
    text = WAITS.replace("take(5); break;", "mpi_recv_(6); break;").replace(
        "static void __attribute__((noinline)) take",
        "static inline __attribute__((always_inline)) void take",
    )
    program = compile_c("binding", text, "-g", "-O0")
    done = chasqui("run", "-np", "2", "--", program, "r")
    said = waits(done.stderr, 1)
    assert re.search(rf"; called at 0x\w+ \(main\+0x\w+, .*:{line_of(text, 'main')}\)$", said), said


@pytest.mark.parametrize("flags", [["-g0"], ["-s"]], ids=" ".join)
def test_without_debugging_information_there_is_no_line(
    chasqui: Run, compile_c: Compiler, flags: list[str]
) -> None:
    """The function and the offset in it, or of a stripped program the address."""
    program = compile_c("plain", WAITS, *flags)
    done = chasqui("run", "-np", "2", "--", program, "p")
    said = waits(done.stderr, 1)
    assert f"a message from rank 0 with tag 7 {WORLD}; called at 0x" in said
    assert "plain.c" not in said
    assert ("(main+0x" in said) == (flags == ["-g0"])


FAULTS = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int number;
static char *volatile nowhere;

static void __attribute__((noinline)) store(int *place)
{
    *place = 3; /* here: store */
}

static void __attribute__((noinline)) between(int *place)
{
    store(place); /* here: between */
    number++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    switch (argv[1][0]) {
    case 's': between((int *)8); break; /* here: main */
    case 'c': memcpy(nowhere, argv[0], 3000 + argc); break; /* here: copy */
    case 'm':
        MPI_Send((char *)0x123456789000, 100, MPI_CHAR, 0, 0, MPI_COMM_WORLD); /* here: send */
        break;
    case 'a': abort(); break; /* here: abort */
    case 'j': ((void (*)(void))nowhere)(); number++; break; /* here: jump */
    }
    MPI_Finalize();
    return number;
}
"""


def test_names_of_a_program_do_nothing_to_a_terminal(
    chasqui: Run, compile_c: Compiler, tmp_path: Path
) -> None:
    """Those of its functions and of its files: control characters are made visible."""
    text = FAULTS.replace("#include <mpi.h>", '#line 1 "esc\\033[2Japed.c"\n#include <mpi.h>', 1)
    program = tmp_path / "named"
    program.write_bytes(compile_c("named", text).read_bytes().replace(b"between", b"bet\x1b[m\x07"))
    program.chmod(0o755)
    done = chasqui("run", "-np", "1", "--", program, "s")
    assert done.returncode == 139
    assert "(bet\ufffd[m\ufffd+0x" in done.stderr
    assert "esc\ufffd[2Japed.c:" in done.stderr
    assert not any((ord(c) < 32 and c != "\n") or ord(c) == 127 for c in done.stderr)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("case", "status", "places"),
    [
        ("s", 139, [("store", "store"), ("between", "between"), ("main", "main")]),
        ("c", 139, [("memcpy", None), ("main", "copy")]),
        ("m", 139, [("main", "send")]),
        ("a", 134, [("abort", None), ("main", "abort")]),
        ("j", 139, [("main", "jump")]),
    ],
)
def test_a_fault_says_function_and_line_of_all_that_called(
    chasqui: Run,
    compile_c: Compiler,
    machine: str,
    case: str,
    status: int,
    places: list[tuple[str, str | None]],
) -> None:
    program = compile_c("faults", FAULTS, "-g")
    done = chasqui("run", "-m", machine, "--", program, case)
    assert done.returncode == status, done.stderr
    found = re.findall(r"[( ](\w+)\+0x\w+, [^ ]*?([^/ ]+):(\d+)\)", done.stderr)
    assert re.search(r"fault: rank 0 at [\d.]+ [num]?s: ", done.stderr), done.stderr
    # What the library calls between them is also there.
    wanted = [
        (function, *(("faults.c", str(line_of(FAULTS, mark))) if mark else ()))
        for function, mark in places
    ]
    shown = [each[: len(want)] for want in wanted for each in found if each[: len(want)] == want]
    assert shown == wanted, done.stderr
    assert found[-1] == ("main", "faults.c", str(line_of(FAULTS, str(places[-1][1])))), "no more"


INLINED = r"""
#include <mpi.h>
#define INLINE static inline __attribute__((always_inline))
INLINE int innermost(volatile int *place) { return *place; } /* here: innermost */
INLINE int between(volatile int *place)
{
    return innermost(place) + 1; /* here: between */
}

static int __attribute__((noinline)) outer(volatile int *place)
{
    return between(place) * 3; /* here: outer */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int found = outer((int *)8) + 1; /* here: main */
    MPI_Finalize();
    return found;
}
"""


def test_functions_that_were_inlined_are_named(chasqui: Run, compile_c: Compiler) -> None:
    """Innermost first, each with the line that is executed of it."""
    lines = {name: line_of(INLINED, name) for name in ("innermost", "between", "outer", "main")}
    done = chasqui("run", "--", compile_c("inlined", INLINED, "-g"))
    assert done.returncode == 139, done.stderr
    place = r"\S*?inlined\.c:{}"
    assert re.search(
        rf"pc 0x\w+ \(innermost, {place.format(lines['innermost'])}, "
        rf"inlined in between, {place.format(lines['between'])}, "
        rf"inlined in outer(\+0x\w+)?, {place.format(lines['outer'])}\)\n"
        rf"  called at 0x\w+ \(main\+0x\w+, {place.format(lines['main'])}\)",
        done.stderr,
    ), done.stderr


def debugging_sections(program: bytes) -> list[range]:
    """Where they lie in the file (ELF-64, figure 1-8 of its specification: section headers)."""
    (table,) = struct.unpack_from("<Q", program, 0x28)
    size, count, names = struct.unpack_from("<HHH", program, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", program, table + at * size) for at in range(count)]
    names_at = headers[names][4]
    return [
        range(offset, offset + length)
        for name, _, _, _, offset, length in headers
        if program[names_at + name :].startswith((b".debug_info", b".debug_abbrev", b".debug_line"))
    ]


def test_damaged_debugging_information_does_not_harm(
    chasqui: Run, compile_c: Compiler, tmp_path: Path
) -> None:
    """The fault is what it was, whatever is said of its function."""
    dice = random.Random(SEED)
    whole = compile_c("inlined", INLINED, "-g").read_bytes()
    program = tmp_path / "damaged"
    sections = debugging_sections(whole)
    assert len(sections) >= 3
    for case in range(20):
        damaged = bytearray(whole)
        for section in sections:
            # The program's own part is the first one.
            for place in dice.choices(section[: dice.choice((200, 2000, len(section)))], k=30):
                damaged[place] = dice.randrange(256)
        program.write_bytes(damaged)
        program.chmod(0o755)
        done = chasqui("run", "-q", "--limit-host-time", "20 s", "--", program)
        assert done.returncode == 139, f"SEED={SEED}, case {case}: {done.stderr}"
        assert "rank 0 at" in done.stderr, done.stderr
        assert ": read from 0x8: null pointer, pc 0x" in done.stderr
        assert not any((ord(c) < 32 and c != "\n") or ord(c) == 127 for c in done.stderr)


def test_an_interrupted_run_says_the_line(compile_c: Compiler, chasqui: Run) -> None:
    """Also where the limit of host time ends it."""
    text = "int main(void)\n{\n    for (volatile long i = 0;; i++)\n        ;\n}\n"
    program = compile_c("endless_line", text, "-g")
    done = chasqui("run", "--limit-host-time", "0.01 min", "--", program)
    assert done.returncode == 124, done.stderr
    assert re.search(r"rank 0, pc 0x\w+ \(main\+0x\w+, .*endless_line\.c:[34]\)", done.stderr)


MISTAKEN = """\
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int tag = 1; rank == 0 && tag <= 5; tag++)
        MPI_Send(&data, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    for (int tag = 1; rank == 1 && tag <= 9; tag += 8)
        MPI_Recv(&data, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("machine", ["loggp", "voyager", "netcache/ldtct", "mpinp", "mpinp/bip"])
def test_a_deadlock_tells_of_messages_that_have_met_no_receive(
    chasqui: Run, compile_c: Compiler, machine: str
) -> None:
    program = compile_c("mistaken", MISTAKEN)
    done = chasqui("run", "-q", "-np", "2", "-m", machine, "--", program)
    assert done.returncode == 125, done.stderr
    of_rank_1 = done.stderr[done.stderr.index("rank 1 in MPI_Recv waits for") :].splitlines()[1:5]
    found = [
        re.search(r"^    no receive has met a message of 4 bytes from rank 0 with tag (\d)", line)
        for line in of_rank_1[:3]
    ]
    assert [each and each[1] for each in found] == ["2", "3", "4"], done.stderr
    assert re.search(r"in MPI_COMM_WORLD, sent at [\d.]+ us$", of_rank_1[0])
    assert of_rank_1[3] == "    and 1 more"


LIKELY = """\
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data = 0, is_there;
    MPI_Status status;
    MPI_Message message;
    MPI_Comm rows;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &rows);
    MPI_Comm_set_name(rows, "rows");
    if (rank > 0) {
        MPI_Send(&data, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
        MPI_Send(&data, 1, MPI_INT, 0, 80, rows);
        return MPI_Finalize();
    }
    if (argc > 1)
        MPI_Improbe(3, 9, rows, &is_there, &message, &status);
    MPI_Recv(&data, 1, MPI_INT, 3, 8, rows, &status);
}
"""


def test_messages_that_are_most_like_what_is_awaited_are_told_first(
    chasqui: Run, compile_c: Compiler
) -> None:
    program = compile_c("likely", LIKELY)
    for words, unless in {(): "", ("p",): " (unless a matched probe has taken it)"}.items():
        done = chasqui("run", "-q", "-np", "4", "--", program, *words)
        lines = done.stderr.splitlines()
        [at] = [i for i, line in enumerate(lines) if line.startswith("  rank 0 in MPI_Recv waits")]
        assert "from rank 3 with tag 8 in rows (communicator " in lines[at]
        found = [
            re.search(r"no receive has met a .* from rank (\d) with tag (\d+) in (.*?), sent", line)
            for line in lines[at + 1 : at + 4]
        ]
        assert [each and (each[1], each[2]) for each in found] == [
            ("3", "8"),
            ("3", "80"),
            ("1", "8"),
        ]
        assert all(line.endswith(f" us{unless}") for line in lines[at + 1 : at + 4])
        assert found[1]
        assert f"rows ({found[1][3]})" in lines[at], "the same communicator"
        assert lines[at + 4] == "    and 3 more"


def test_a_comparison_shows_the_reason_in_one_line_and_below_it_whole(
    chasqui: Run, compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("waits", WAITS, "-g", "-O0")
    done = chasqui("compare", "loggp", "-np", "2", "--", program, "r")
    assert done.returncode == 125, done.stderr
    lines = done.stdout.splitlines()
    assert lines[3].startswith("loggp")
    assert lines[3].endswith("2 of 2 ranks wait")
    assert any(line.startswith("  rank 1 in MPI_Recv waits for a message") for line in lines[4:])
