"""Collectives between mpinp's cards: machines/mpinp/mcp/collective.c, firmware/mcp/collective.c.

Use this when these or the library's choice of algorithms change. Seeds are the program's arguments;
SEED adds to them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, command, in_turn
from test_determinism import check_same
from test_mpinp_mcp import MACHINE, TINY, shared

pytestmark = pytest.mark.core

PLACE = ROOT / "tests" / "mpinp"
SEED = int(os.environ.get("SEED", "0"))
BY_LIBRARY = ["--set", "mpinp.control.collectives=false"]


def counted(run: Path, node: int = 0) -> dict[str, int]:
    """What a node's card has counted of collectives, but for zeros."""
    statistics = json.loads((run / "stats.json").read_text())
    found = statistics[f"node{node:05}"]["ni"]["collectives"]
    return {name: each["value"] for name, each in found.items() if each["value"]}


@pytest.fixture(scope="module")
def mixture(compile_c: Compiler) -> Path:
    return compile_c("collectives", (PLACE / "collectives.c").read_text())


# Ranks, and those of a node.
PLACEMENTS = [(2, 1), (3, 1), (4, 2), (6, 4)]


@pytest.mark.parametrize(("placement", "tiny"), in_turn(PLACEMENTS, TINY))
def test_collectives_and_messages_in_any_order(
    mixture: Path, tmp_path: Path, placement: tuple[int, int], tiny: str
) -> None:
    """Whatever the card does, and does not, in communicators of any order; sums have the bits of
    the library's."""
    ranks, per_node = placement
    settings = [word for each in TINY[tiny] for word in ("--set", each)]
    if per_node == 4:  # each needs 32 entries at least
        settings = [word.replace("pages=64", "pages=128") for word in settings]
    words = ["-np", str(ranks), *MACHINE, *shared(per_node), *settings]
    seed, steps = SEED + ranks, 100 if SWEEP else 8
    program = ["--", str(mixture), str(seed), str(steps)]
    done = command("run", "--out", "out", *words, *program, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"collectives, seed {seed}: PASSED" in done.stdout
    assert counted(tmp_path / "out")["barriers"] > 0


@pytest.mark.parametrize("per_node", [1, 4] if SWEEP else [4])
def test_sixteen_ranks_are_right(mixture: Path, tmp_path: Path, per_node: int) -> None:
    steps = "40" if SWEEP else "2"
    words = ["-np", "16", *MACHINE, *shared(per_node), "--", str(mixture), str(SEED), steps]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"collectives, seed {SEED}: PASSED" in done.stdout
    assert counted(tmp_path / "out")["barriers"] > 0


@pytest.fixture(scope="module")
def rooted(compile_c: Compiler) -> Path:
    return compile_c("rooted", (PLACE / "rooted.c").read_text())


# Ranks, and those of a node. With 5 to 8 trees are as deep; 9 have one level more.
ROOTED = [(ranks, 1) for ranks in (range(2, 10) if SWEEP else (3, 5, 9))]
ROOTED += [(9, 3), (8, 4)]


@pytest.mark.parametrize(("late", "placement"), in_turn(["0", "1"], ROOTED))
def test_each_root_gets_and_gives_what_is_right(
    rooted: Path, tmp_path: Path, placement: tuple[int, int], late: str
) -> None:
    """Lengths at both sides of what cards take, in communicators of other orders, and in two at
    once."""
    ranks, per_node = placement
    words = ["-np", str(ranks), *MACHINE, *shared(per_node), "--", str(rooted), late]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rooted: PASSED" in done.stdout
    found = counted(tmp_path / "out")
    assert all(found[name] > 0 for name in ("reduces", "gathers", "scatters", "by_library_long"))


WHICH = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void left(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*length * sizeof(int));
}

int main(int argc, char **argv)
{
    int rank, number[2] = {5, 6}, sum, required = argc > 1 ? atoi(argv[1]) : 0;
    char text[256] = "", all[3 * 129] = "";
    int least;
    double product = 1.5, of_all;
    MPI_Request request;
    MPI_Op op;
    MPI_Datatype gaps, gaps_of_text;
    MPI_Init_thread(&argc, &argv, required, &sum);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_vector(128, 1, 2, MPI_CHAR, &gaps_of_text);
    MPI_Type_commit(&gaps_of_text);
    MPI_Op_create(left, 0, &op);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(text, 128, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Bcast(text, 129, MPI_CHAR, 1, MPI_COMM_WORLD); /* long */
    MPI_Bcast(number, 0, MPI_INT, 1, MPI_COMM_WORLD); /* nothing */
    if (rank == 1)
        MPI_Bcast((int[]){7, 0, 8}, 1, gaps, 1, MPI_COMM_WORLD);
    else
        MPI_Bcast(number, 2, MPI_INT, 1, MPI_COMM_WORLD); /* unlike */
    if (rank != 1 && (number[0] != 7 || number[1] != 8))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD); /* operation */
    MPI_Allreduce(&product, &of_all, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD); /* operation */
    MPI_Reduce(&rank, &least, 1, MPI_INT, MPI_MAX, 2, MPI_COMM_WORLD);
    MPI_Reduce(&rank, &least, 1, MPI_INT, op, 0, MPI_COMM_WORLD); /* operation */
    MPI_Gather(text, 1, gaps_of_text, all, 128, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Gather(text, 129, MPI_CHAR, all, 129, MPI_CHAR, 1, MPI_COMM_WORLD); /* long */
    MPI_Scatter(all, 128, MPI_CHAR, text, 1, gaps_of_text, 0, MPI_COMM_WORLD);
    MPI_Scatter(all, 8, MPI_CHAR, text, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Ireduce(&rank, &least, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD, &request); /* nonblocking */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request); /* nonblocking */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return of_all == 1.5 * 1.5 * 1.5 && sum == 0 ? 0 : 1;
}
"""
EXPECTED = {
    "barriers": 1, "broadcasts": 2, "allreduces": 1, "reduces": 1, "gathers": 1, "scatters": 2,
    "by_library_long": 2, "by_library_nonblocking": 2, "by_library_operation": 3,
    "by_library_unlike": 1,
}  # fmt: skip


def test_the_record_has_why_the_library_does_a_collective(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = str(compile_c("which", WHICH))
    done = command("run", "--out", "card", "-np", "3", *MACHINE, "--", program, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # Before that was asked of the cards, the processes whose data had no gaps waited for ever.
    assert [counted(tmp_path / "card", node) for node in range(3)] == [EXPECTED] * 3
    # Threads of one process might be in several collectives.
    for name, options in {"library": BY_LIBRARY, "harts": ["--set", "node.harts=2"]}.items():
        words = ["-np", "3", *MACHINE, *options, "--", program, "3"]
        done = command("run", "--out", name, *words, directory=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert counted(tmp_path / name) == {}


FORCED = """\
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, sum = 0, bytes = argc > 1 ? atoi(argv[1]) : 8;
    static char own[129], all[3 * 129];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    own[bytes - 1] = (char)(rank + 1);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    MPI_Gather(own, bytes, MPI_CHAR, all, bytes, MPI_CHAR, 1, MPI_COMM_WORLD);
    if (rank == 1 && (sum != 3 || all[bytes - 1] != 1 || all[3 * bytes - 1] != 3))
        return 1;
    MPI_Scatter(all, bytes, MPI_CHAR, own, bytes, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return own[bytes - 1] != rank + 1;
}
"""
ROOTS = ("reduce", "gather", "scatter")


def test_cards_and_library_can_be_forced(compile_c: Compiler, tmp_path: Path) -> None:
    program = str(compile_c("forced", FORCED))

    def run(algorithm: str, size: int) -> subprocess.CompletedProcess[str]:
        forced = [word for kind in ROOTS for word in ("--mpi", f"coll.{kind}={algorithm}")]
        out = f"{algorithm}-{size}"
        words = ["-np", "3", *MACHINE, *forced, "--out", out, "--", program, str(size)]
        return command("run", *words, directory=tmp_path)

    for algorithm in ("ni", "binomial"):
        done = run(algorithm, 8)
        assert done.returncode == 0, done.stdout + done.stderr
    found = counted(tmp_path / "ni-8")
    assert [found[f"{kind}s"] for kind in ROOTS] == [1, 1, 1]
    # In MPI_Finalize, perhaps.
    assert not {f"{kind}s" for kind in ROOTS} & set(counted(tmp_path / "binomial-8"))
    done = run("ni", 129)
    assert done.returncode != 0
    assert "the forced algorithm can't do this case" in done.stderr


# What one rank of four does otherwise than the others, of which the root is 0; and who says so.
UNLIKE = {
    "MPI_Reduce(a, b, 1 + (rank == 3), MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)": (0, "MPI_Reduce"),
    "MPI_Gather(a, 1 + (rank == 1), MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD)": (0, "MPI_Gather"),
    "MPI_Gather(a, 1 + (rank == 2), MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD)": (0, "MPI_Gather"),
    "MPI_Gather(a, 1 + (rank == 3), MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD)": (0, "MPI_Gather"),
    "MPI_Scatter(a, 1, MPI_INT, b, 1 + (rank == 1), MPI_INT, 0, MPI_COMM_WORLD)": (
        1,
        "MPI_Scatter",
    ),
    "MPI_Scatter(a, 1, MPI_INT, b, 1 + (rank == 3), MPI_INT, 0, MPI_COMM_WORLD)": (
        3,
        "MPI_Scatter",
    ),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_lengths_that_differ_are_reported(compile_c: Compiler, tmp_path: Path, what: str) -> None:
    source = f"""\
#include <mpi.h>
int main(int argc, char **argv)
{{
    int rank, a[8] = {{0}}, b[8] = {{0}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    {what};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}}
"""
    program = str(compile_c(f"unlike{list(UNLIKE).index(what)}", source))
    done = command("run", "--out", "out", "-np", "4", *MACHINE, "--", program, directory=tmp_path)
    rank, call = UNLIKE[what]
    assert done.returncode != 0
    words = f"{call}: the processes' counts differ (MPI_ERR_TRUNCATE"
    assert words in done.stderr, done.stderr
    assert any(f"rank {each}: {words}" in done.stderr for each in (rank, 2)), done.stderr


# The same, of a communicator whose errors are the program's.
RETURNED = [*UNLIKE, "MPI_Allreduce(a, b, 1 + (rank == 3), MPI_INT, MPI_SUM, MPI_COMM_WORLD)"]


@pytest.mark.parametrize("what", RETURNED)
def test_errors_of_cards_are_the_calls(compile_c: Compiler, tmp_path: Path, what: str) -> None:
    """Before, they were raised on MPI_COMM_WORLD, and the call returned MPI_SUCCESS."""
    call = what.replace("MPI_COMM_WORLD", "comm")
    source = f"""\
#include <mpi.h>
#include <stdio.h>
static int handled;
static void handle(MPI_Comm *comm, int *error, ...)
{{
    (void)comm;
    MPI_Error_class(*error, &handled);
}}
int main(int argc, char **argv)
{{
    int rank, class, sum = 0, a[8] = {{0}}, b[8] = {{7, 7, 7, 7, 7, 7, 7, 7}};
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Error_class({call}, &class);
    if (class != handled)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (class)
        printf("%d: %s\\n", rank, class == MPI_ERR_TRUNCATE ? "truncated" : "otherwise");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != 6)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return 0;
}}
"""
    program = str(compile_c(f"returned{RETURNED.index(what)}", source))
    done = command("run", "--out", "out", "-np", "4", *MACHINE, "--", program, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rank, _ = UNLIKE.get(what, (3, ""))
    assert f"{rank}: truncated" in done.stdout
    assert "otherwise" not in done.stdout


@pytest.mark.turn(2)
def test_results_do_not_depend_on_how_it_is_simulated(
    compile_c: Compiler, mixture: Path, tmp_path: Path
) -> None:
    variations = {
        "two": ["--threads", "2"],
        "four": ["--threads", "4"],
        "windows": ["--set", "check.window=200 ns"],
        "spinning": ["--set", "check.spin_skip=false"],
    }
    swept: list[str | Path] = [mixture, str(SEED + 3), "12"]
    program = swept if SWEEP else [compile_c("which", WHICH)]
    check_same(tmp_path, ["-np", "3", *MACHINE], program, variations)


# What rank 2 of 4 does, while the others are in a reduction; and what is said.
AMISS = {
    "*(volatile int *)8 = 1": ["fault: rank 2", "null pointer"],
    "MPI_Recv(&a, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)": [
        "rank 1 in MPI_Allreduce waits for a collective between the cards: the other processes",
        "rank 2 in MPI_Recv waits for a message from rank 0 with tag 9",
    ],
    "exit(3)": ["rank 2 at", "exited with status 3 without MPI_Finalize"],
    "MPI_Barrier(MPI_COMM_WORLD)": [
        "rank 2 in MPI_Barrier waits for a collective between the cards"
    ],
    "MPI_Allreduce(many, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD)": [
        "rank 0: MPI_Allreduce: the processes' counts differ (MPI_ERR_TRUNCATE"
    ],
    "MPI_Abort(MPI_COMM_WORLD, 4)": ["status 4 by MPI_Abort"],
}


@pytest.mark.parametrize("what", AMISS)
def test_a_collective_that_never_ends_is_reported(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    source = f"""\
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{{
    int rank, a = 1, sum, many[2] = {{0}}, all[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 2) {{
        {what};
    }}
    MPI_Allreduce(&a, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return many[0] + all[0];
}}
"""
    program = str(compile_c(f"amiss{list(AMISS).index(what)}", source))
    done = command("run", "--out", "out", "-np", "4", *MACHINE, "--", program, directory=tmp_path)
    assert done.returncode != 0
    assert all(words in done.stderr for words in AMISS[what]), done.stderr


def test_what_cards_do_is_not_recorded(examples: Path, tmp_path: Path) -> None:
    """A recording without it could not be replayed."""
    words = ["record", "-np", "2", *MACHINE, "-o", "ring.recording"]
    program = ["--", str(examples / "ring"), "-l", "1"]
    done = command(*words, *program, directory=tmp_path)
    assert done.returncode == 2
    assert "--set mpinp.control.collectives=false" in done.stderr
    done = command(*words, *BY_LIBRARY, *program, directory=tmp_path)
    assert done.returncode == 0, done.stderr


def test_soft_floating_point_has_the_bits_of_the_hosts(tmp_path: Path) -> None:
    """Sums, and which is less, of numbers of all kinds: those of this host are IEEE 754's, too."""
    firmware = ROOT / "machines" / "mpinp" / "firmware" / "mcp"
    sources = [str(PLACE / "real.c"), str(firmware / "real.c")]
    program = str(tmp_path / "real")
    flags = ["-std=c11", "-O1", "-ffp-contract=off", f"-I{firmware}"]
    subprocess.run(["gcc", *flags, *sources, "-o", program], check=True)
    done = subprocess.run(
        [program, str(SEED), "500000"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_ranks_that_mean_different_roots_stop_no_card(compile_c: Compiler, tmp_path: Path) -> None:
    """An invitation ends with its collective, and blocks that nobody awaits are dropped."""
    program = compile_c("roots", (PLACE / "roots.c").read_text())
    done = command("run", "-np", "7", *MACHINE, "--", str(program), directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "roots: PASSED" in done.stdout
