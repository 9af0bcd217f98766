"""Collective algorithms as the user chooses them: `--mpi coll.allreduce=ring`.

Use this when the list of algorithms, its way to the guest's library, or the messages about it
change. What the algorithms compute is tested by guest/tests/collectives.c.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

RANKS = 4
PROGRAM = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    int value = 1, sum, all[4];
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == 4 ? 0 : 1;
}
"""
ABORTS = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
"""
# With n = 4: dissemination sends n log2 n messages, a tree 2 (n - 1); recursive doubling n log2 n,
# a ring n (n - 1). MPI_Finalize has a barrier of its own.
MESSAGES = 4 * 8


@pytest.fixture
def program(compile_c: Compiler) -> Path:
    return compile_c("collective", PROGRAM)


def messages(chasqui: Run, program: Path, directory: Path, *options: str) -> int:
    done = chasqui("run", "-np", str(RANKS), "--out", directory, *options, "--", program)
    assert done.returncode == 0, done.stderr
    summary = json.loads((directory / "summary.json").read_text())
    return int(summary["messages"])


def test_algorithms_are_forced(chasqui: Run, program: Path, tmp_path: Path) -> None:
    assert messages(chasqui, program, tmp_path / "selected") == MESSAGES
    forced = ["--mpi", "coll.barrier=tree", "--mpi", "coll.allgather=ring"]
    assert messages(chasqui, program, tmp_path / "forced", *forced) == MESSAGES - 2 + 4
    resolved = (tmp_path / "forced" / "resolved.toml").read_text()
    assert 'barrier = { value = "tree", from = "--set"' in resolved
    assert 'bcast = { value = "auto", from = "default"' in resolved


def test_info_lists_collectives_and_algorithms(chasqui: Run) -> None:
    shown = chasqui("info", "loggp", "mpi.coll", "--json")
    found = {each["name"]: each["choices"] for each in json.loads(shown.stdout)}
    assert found["mpi.coll.alltoallw"] == ["auto", "pairwise", "linear"]
    assert "ni" in found["mpi.coll.barrier"]
    assert "auto, binomial, linear" in chasqui("info", "voyager").stdout


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("coll.allredduce=ring", ["mpi.coll.allredduce", "did you mean", "allreduce"]),
        ("coll.allreduce=rings", ['"rings"', "allowed: auto, recursive_doubling, ring"]),
    ],
)
def test_what_is_unknown_is_refused(
    chasqui: Run, program: Path, tmp_path: Path, option: str, words: list[str]
) -> None:
    for command in (["run", "--out", tmp_path / "no"], ["compare", "loggp", "voyager"]):
        done = chasqui(*command, "--mpi", option, "--", program)
        assert done.returncode == 2, done.stderr
        # A comparison says in its table what is wrong for a machine.
        shown = done.stdout + done.stderr
        assert all(word in shown for word in words), shown
        assert not (tmp_path / "no").exists()


def test_a_forced_algorithm_that_cannot_is_an_error(
    compile_c: Compiler, chasqui: Run, program: Path, tmp_path: Path
) -> None:
    """The NI of `loggp` does no collectives."""
    done = chasqui(
        "run", "-np", "2", "--out", tmp_path / "ni", "--mpi", "coll.barrier=ni", "--", program
    )
    assert done.returncode != 0
    assert "MPI_Barrier: the forced algorithm can't do this case" in done.stderr
    assert "\n  forced algorithms: --mpi coll.barrier=ni\n" in done.stderr
    # No algorithm is to blame where the program ends the job itself.
    aborts = compile_c("aborts", ABORTS)
    forced = ["--mpi", "coll.barrier=ni", "--", aborts]
    done = chasqui("run", "-np", "2", "--out", tmp_path / "aborts", *forced)
    assert "status 3 by MPI_Abort" in done.stderr
    assert "forced algorithms" not in done.stderr
    shown = chasqui("info", "loggp", "mpi.coll.barrier").stdout
    assert "ni only where the network interface takes the case." in " ".join(shown.split())
