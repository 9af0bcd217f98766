"""What went into a run, as its directory says it, and ends that were wanted (`--stop-at`).

Use this for crates/sim/src/inputs.rs, the note of the library in programs, or ends of runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler, Run

from chasqui import firmware, toolchain

pytestmark = pytest.mark.core

PLAIN = "int main(void) { return 0; }\n"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(directory: Path, name: str = "summary.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / name).read_text())
    return found


def test_the_summary_has_what_decides_the_results(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    words = ["run", "-q", "-np", "3", "--env", "B=x=y", "--env", "HERE", "--env", "A="]
    program = ["--", examples / "ring", "-l", "2"]
    for out, threads in (("one", "1"), ("two", "2")):
        more = ["--threads", threads, "--out", out]
        done = chasqui(*words, *more, *program, env={"HERE": "there", "CHASQUI_BIND": "/tmp:ro"})
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one/summary.json").read_bytes() == (
        tmp_path / "two/summary.json"
    ).read_bytes()
    assert read(tmp_path / "one")["inputs"] == {
        "programs": [
            {
                "name": "ring",
                "first_rank": 0,
                "ranks": 3,
                "arguments": ["-l", "2"],
                "sha256": sha256(examples / "ring"),
                "library_sha256": sha256(toolchain.libmpi_directory() / "libmpi.a"),
            }
        ],
        "environment": {"A": "", "B": "x=y", "HERE": "there"},
        "seed": 1,
        "fast_forward": False,
    }
    host = read(tmp_path / "two", "host.json")
    assert host["environment"]["CHASQUI_BIND"] == "/tmp:ro"
    assert "HERE" not in host["environment"]
    assert host["working_directory"] == str(tmp_path)
    assert host["command"][1:] == [*words, "--threads", "2", "--out", "two", *map(str, program)]
    assert host["system"].startswith("Linux ")
    assert host["processors"] >= 1


def test_a_jobs_inputs_have_those_of_the_others(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    ring = str(examples / "ring")
    jobs = ["--job", f"-np 3 {ring} -l 2", "--job", f"-np 1 {ring} -l 3"]
    words = ["run", "-q", "-np", "2", "-m", "voyager", "--out", "it"]
    done = chasqui(*words, "--set", "node.harts=3", *jobs, "--", ring, "-l", "1")
    assert done.returncode == 0, done.stderr
    found = [read(tmp_path / "it" / f"job{number}")["inputs"] for number in range(3)]
    own = [(each["programs"], each["environment"]) for each in found]
    assert [programs[0]["arguments"] for programs, _ in own] == [
        ["-l", "1"],
        ["-l", "2"],
        ["-l", "3"],
    ]
    for number, each in enumerate(found):
        assert [(other["programs"], other["environment"]) for other in each["beside"]] == [
            inputs for at, inputs in enumerate(own) if at != number
        ]
        assert [other["job"] for other in each["beside"]] == [n for n in range(3) if n != number]


@pytest.mark.parametrize(
    ("options", "images"),
    [
        (["-m", "voyager"], {"firmware": "voyager.elf"}),
        (
            ["-m", "netcache", "--set", "node.software.kernel=true"],
            {"kernel": "netcache.kernel.elf"},
        ),
    ],
)
def test_software_of_the_machine_is_noted(
    chasqui: Run, compile_c: Compiler, tmp_path: Path, options: list[str], images: dict[str, str]
) -> None:
    done = chasqui("run", "-q", "--out", "it", *options, "--", compile_c("plain", PLAIN))
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "it")["inputs"]["images"]
    place = firmware.directory()
    wanted = {name: sha256(place / file) for name, file in images.items()}
    assert {each["name"]: each["sha256"] for each in found}.items() >= wanted.items()


@pytest.mark.parametrize("flag", ["-s", "-Wl,--gc-sections"])
def test_the_library_is_noted_in_what_is_stripped(chasqui: Run, tmp_path: Path, flag: str) -> None:
    (tmp_path / "a.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
    assert chasqui("cc", "-O2", flag, "a.c", "-o", "a").returncode == 0
    chasqui("run", "-q", "--out", "it", "--", "./a")
    [program] = read(tmp_path / "it")["inputs"]["programs"]
    assert program["sha256"] == sha256(tmp_path / "a")
    assert program["library_sha256"] == sha256(toolchain.libmpi_directory() / "libmpi.a")


@pytest.mark.gnu
def test_gnus_linker_notes_the_library_too(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(PLAIN)
    assert chasqui("cc", "--toolchain", "gnu", "a.c", "-o", "a").returncode == 0
    assert chasqui("run", "-q", "--out", "it", "--", "./a").returncode == 0
    [program] = read(tmp_path / "it")["inputs"]["programs"]
    assert program["library_sha256"] == sha256(toolchain.libmpi_directory() / "libmpi.a")


RING = ["run", "-np", "4", "-m", "voyager", "--out", "it"]


def test_a_run_stops_where_it_is_to(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    done = chasqui(*RING, "--stop-at", "1 ms", "--", examples / "ring", "-l", "100")
    assert done.returncode == 0, done.stderr
    summary = read(tmp_path / "it")
    # A system call that had begun is carried out to its end.
    later = f"; what ranks had begun before lasts until {summary['time_ps'] / 1e9:.3f} ms, and is"
    assert re.fullmatch(
        rf"stopped at 1\.000 ms by --stop-at({later} in the results)?; 4 of 4 ranks had not ended",
        summary["message"],
    )
    assert done.stderr.startswith(f"chasqui: {summary['message']}\n")
    assert (summary["outcome"], summary["exit_status"]) == ("stopped", 0)
    assert "limit" not in summary
    assert 1_000_000_000 <= summary["time_ps"] < 1_010_000_000
    for rank in summary["ranks"]:
        assert rank["status"] is None
        parts = sum(rank["shares"].values())
        assert parts == rank["time_ps"] == summary["time_ps"]
    assert summary["messages"] > 0
    assert (tmp_path / "it" / "messages.parquet").exists()


def test_the_same_end_by_a_limit_is_none_that_was_wanted(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    end = ["--limit-time", "200 us", "--stop-at", "201 us"]
    done = chasqui(*RING, *end, "--", examples / "ring", "-l", "100")
    assert done.returncode == 124
    summary = read(tmp_path / "it")
    assert (summary["outcome"], summary["limit"]) == ("aborted", "time")


LEAVES = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 1 && rank == 1)
        MPI_Recv(&argc, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (volatile long i = 0; rank == 1 && i < 10000000; i++)
        ;
    MPI_Finalize();
    return 3;
}
"""


@pytest.mark.parametrize(
    ("arguments", "stop_at", "outcome", "status"),
    [
        (["spin"], "1 ms", "stopped", 0),
        (["spin"], "10 min", "finished", 3),
        ([], "10 min", "deadlock", 125),
    ],
)
def test_what_ends_before_ends_as_ever(
    chasqui: Run, compile_c: Compiler, tmp_path: Path,
    arguments: list[str], stop_at: str, outcome: str, status: int,
) -> None:  # fmt: skip
    program = compile_c("leaves", LEAVES)
    command = ["run", "-q", "-np", "2", "--stop-at", stop_at, "--out", "it"]
    done = chasqui(*command, "--", program, *arguments)
    assert (done.returncode, read(tmp_path / "it")["outcome"]) == (status, outcome), done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stop-at", "5"], "chasqui: --stop-at: "),
        (["--stop-at", "soon"], "chasqui: --stop-at: "),
        (
            ["--stop-at", "1 ms", "--only-rank", "0", "--arrivals", "x"],
            "chasqui: --stop-at with --only-rank: ",
        ),
    ],
)
def test_ends_that_are_none(
    chasqui: Run, examples: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = chasqui("run", *words, "--", examples / "ring")
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
