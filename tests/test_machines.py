"""Simulated machines through the commands: the examples on every machine, LogGP's own figures.

Use this when a machine, the MPI library or an example changes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run
from simulated import EXAMPLES, SWEEP, in_ci, machines

from chasqui import simulation

pytestmark = pytest.mark.core


# test_mpinp_mcp.py runs them, on nodes that are shared, too; it takes the host longest.
HAS_OWN = ("mpinp/mcp", "mpinp/one-page")


EXAMPLES_ON = [name for name in in_ci() if SWEEP or name not in HAS_OWN]


def numbers_of_ranks(machine: str, name: str) -> list[int]:
    """The example's own, fewer and more; but for the first machine one of them in turn."""
    every = [EXAMPLES[name][0], 2, 8]
    number = EXAMPLES_ON.index(machine) + list(EXAMPLES).index(name)
    return every if SWEEP or machine == EXAMPLES_ON[0] else [every[number % len(every)]]


@pytest.mark.parametrize("machine", EXAMPLES_ON)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(chasqui: Run, examples: Path, machine: str, name: str) -> None:
    arguments = EXAMPLES[name][1]
    for count in numbers_of_ranks(machine, name):
        done = chasqui(
            "run", "-np", str(count), "--machine", machine, "--", examples / name, *arguments
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith(f"{name}: PASSED\n")


def rendezvous() -> list[tuple[str, list[str]]]:
    """Every machine, and what makes its eager limit small, if it can be set."""
    limits = {
        "voyager": ["voyager.mpi.eager=48 B"],
        "netcache": ["netcache.mpi.eager=64 B", "node.network_cache.longest=16 B"],
        "tcp": ["netcache.tcp.eager=64 B"],
    }
    found = []
    for machine in in_ci():
        name = "tcp" if machine.endswith("/tcp") else machine.split("/")[0].split("-")[0]
        sets = [word for each in limits.get(name, []) for word in ("--set", each)]
        found.append((machine, sets))
    return found


@pytest.mark.parametrize(("machine", "sets"), rendezvous())
def test_every_row_is_a_message(
    chasqui: Run, examples: Path, tmp_path: Path, machine: str, sets: list[str]
) -> None:
    """The library's own packets, of which rendezvous has many, belong to a message or to none."""
    import pyarrow.parquet

    program = [examples / "pingpong", "-n", "2", "-m", "4096"]
    done = chasqui("run", "--out", "run", "-np", "2", "--machine", machine, *sets, "--", *program)
    assert done.returncode == 0, done.stderr
    rows = pyarrow.parquet.read_table(tmp_path / "run" / "messages.parquet").to_pylist()
    numbers = [(row["source"], row["sequence"]) for row in rows]
    each = len(rows) // 2
    assert numbers == [(rank, number) for rank in range(2) for number in range(1, each + 1)]
    assert [row for row in rows if None in (row["bytes"], row["call_ps"], row["done_ps"])] == []
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["messages"] == len(rows)
    if summary["mechanisms"]:
        assert sum(each["messages"] for each in summary["mechanisms"]) == len(rows)


@pytest.mark.gnu
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_with_glibc(chasqui: Run, tmp_path: Path, name: str) -> None:
    ranks, arguments = EXAMPLES[name]
    source = ROOT / "examples" / f"{name}.c"
    done = chasqui("cc", "--toolchain", "gnu", "-O2", "-std=c11", source, "-o", name, "-lm")
    assert done.returncode == 0, done.stderr
    done = chasqui("run", "-np", str(ranks), "--", tmp_path / name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{name}: PASSED\n")


def test_an_example_that_fails_says_so(chasqui: Run, examples: Path) -> None:
    """The verdict is not always PASSED: one iteration of cg from a tolerance it can't reach."""
    done = chasqui("run", "-np", "2", "--", examples / "cg", "nosuch.mtx")
    assert done.returncode == 1
    assert "can't open nosuch.mtx" in done.stderr


def test_cg_reads_a_matrix_file(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    entries = [f"{i} {i} 4\n" for i in range(1, 41)] + [f"{i + 1} {i} -1.5\n" for i in range(1, 40)]
    head = f"%%MatrixMarket matrix coordinate real symmetric\n% comment\n40 40 {len(entries)}\n"
    (tmp_path / "small.mtx").write_text(head + "".join(entries))
    done = chasqui("run", "-np", "3", "--", examples / "cg", "small.mtx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 rows on 3 ranks" in done.stdout


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"latency": 1_234_567, "overhead_send": 300_000, "overhead_receive": 700_001},
        {"gap": 100_000},  # below the overhead: seen in long messages only
        {"gap_per_byte": 10_007, "gap": 7_000_003},
        {"gap": 100_000_000},  # longer than a round trip, which must not wait for it
    ],
)
def test_measuring_loggp_returns_its_parameters(chasqui: Run, changed: dict[str, int]) -> None:
    from chasqui import core

    sets = [part for key, ps in changed.items() for part in ("--set", f"loggp.{key}={ps} ps")]
    done = chasqui("logp", "--machine", "loggp", *sets, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = {
        "latency": "L_ps",
        "overhead_send": "o_send_ps",
        "overhead_receive": "o_recv_ps",
        "gap": "g_ps",
        "gap_per_byte": "G_ps_per_byte",
    }
    values = {each["name"]: each["value"] for each in core.parameters("loggp")}
    expected = {
        figure: changed.get(key) or in_ps(values[f"loggp.{key}"]) for key, figure in names.items()
    }
    assert {figure: found[figure] for figure in names.values()} == expected
    assert not found["reasons"]


def in_ps(text: str) -> int:
    number, unit = text.split()
    return int(number) * {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}[unit]


def test_a_resolved_machine_is_a_machine_file(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(chasqui("info", "loggp", "--toml").stdout)
    times = []
    for machine in ("loggp", "mine.toml"):
        done = chasqui("run", "-np", "2", "--machine", machine, "--json", "--", examples / "ring")
        times.append(json.loads(done.stdout)["time_ps"])
    assert times[0] == times[1]


def test_compare(chasqui: Run, examples: Path) -> None:
    names = sorted({machine.split("/")[0] for machine in machines()})
    if not SWEEP:
        names = ["loggp", "netcache/processver"]  # which is measured soonest
    done = chasqui("compare", *names, "-np", "4", "--logp", "--json", "--", examples / "ring")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["machine"] for row in rows] == names
    for row in rows:
        assert row["messages"] > 0
        assert row["latency_ns"] > 0
        assert 0 < row["mpi_share"] < 1
        assert row["loggp"]["L_ps"] > 0


def test_of_a_run_that_ends_in_mpi_init_nothing_is_main() -> None:
    """`compare` ranks machines by what is between MPI_Init and MPI_Finalize."""

    def rank(left_ps: int) -> dict[str, Any]:
        call = {"name": "MPI_Init", "count": 1, "time_ps": 50, "left_ps": left_ps}
        return {"time_ps": 100, "mpi_ps": 50, "calls": [call]}

    assert simulation.main_part_ps({"ranks": [rank(50), rank(0)]}) == 0
    assert simulation.main_part_ps({"ranks": [rank(50), rank(60)]}) == 40


FLOOD = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    enum { MESSAGES = 1000 };
    int rank, word = 0;
    double first = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0)
            MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i == 0)
            first = MPI_Wtime() - begin;
    }
    if (rank == 1)
        printf("%.0f\\n", (MPI_Wtime() - begin) / first);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", EXAMPLES_ON)
def test_a_receive_ends_though_its_sender_goes_on(
    chasqui: Run, tmp_path: Path, machine: str
) -> None:
    """Before: on netcache the first receive ended after the last of all messages had come."""
    (tmp_path / "flood.c").write_text(FLOOD)
    assert chasqui("cc", "-O2", "flood.c", "-o", "flood").returncode == 0
    done = chasqui("run", "--quiet", "-np", "2", "-m", machine, "./flood")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4, "times as long as the first receive, for all"


def test_environment_and_arguments_reach_the_program(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "show.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        'static const char *of(const char *name) { return getenv(name) ? getenv(name) : "-"; }\n'
        "int main(int c, char **v)\n{\n"
        '    printf("%s %s %s %s\\n", v[0], v[1], of("X"), of("HOME"));\n'
        "    return c - 2;\n}\n"
    )
    assert chasqui("cc", "show.c", "-o", "show").returncode == 0
    done = chasqui("run", "--quiet", "--env", "X=a b", "./show", "-np")
    assert (done.returncode, done.stdout, done.stderr) == (0, "show -np a b -\n", "")


def test_mpiexec(shim_directory: Path, examples: Path, tmp_path: Path) -> None:
    command = [str(shim_directory / "mpiexec"), "-n", "3", str(examples / "ring")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ring: PASSED" in done.stdout


def test_what_run_loads_before_it_starts() -> None:
    """`chasqui run` of a small program is a matter of tenths of a second: no heavy module."""
    code = (
        "import sys; from chasqui.cli import invoke; invoke(['run', '--help']); "
        "import chasqui.simulation, chasqui.core; print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("pyarrow", "numpy", "asyncio", "importlib.metadata", "subprocess"):
        assert f"'{heavy}'" not in done.stdout.splitlines()[-1]


OWN = ROOT / "examples" / "own"


def test_an_ni_on_another_machine_s_node(chasqui: Run, examples: Path) -> None:
    """Whatever netcache-modern says of its node holds here, too, and nothing else that it says."""

    def values(machine: str | Path) -> dict[str, str]:
        shown = chasqui("info", machine, "--json")
        assert shown.returncode == 0, shown.stderr
        return {each["name"]: each["value"] for each in json.loads(shown.stdout)}

    express, ni, node = (
        values(machine) for machine in (OWN / "express.toml", "voyager-modern", "netcache-modern")
    )
    other = {
        name
        for name, value in express.items()
        if value != (node if name.startswith("node.") else ni)[name]
    }
    assert other == {"voyager.mpi.mechanism"}
    assert express["node.network_cache.present"] == "true"
    assert ni["node.network_cache.present"] == "false"
    done = chasqui(
        "run", "-np", "4", "--out", "run", "-m", OWN / "express.toml", "--", examples / "ring"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ring: PASSED\n")


def test_the_machine_file_of_the_readme_works_as_it_stands(chasqui: Run, tmp_path: Path) -> None:
    (shown,) = re.findall(r"(?s)```toml\n(.*?)```", (ROOT / "README.md").read_text())
    assert shown == (OWN / "express.toml").read_text()
    (tmp_path / "express.toml").write_text(shown)
    done = chasqui("info", "express.toml")
    assert done.returncode == 0, done.stderr


def test_experiments_of_a_user_s_own(chasqui: Run, tmp_path: Path) -> None:
    """A folder anywhere, with its machine file; its modules may import each other."""
    folder = tmp_path / "mine"
    shutil.copytree(OWN, folder)
    text = (folder / "ring.py").read_text()
    (folder / "_ranks.py").write_text("RANKS = 2\n")
    (folder / "ring.py").write_text(text.replace("RANKS = 4", "from ._ranks import RANKS"))
    for named in ("mine", "mine/ring.py", str(folder / "ring.py")):
        done = chasqui("experiment", named, "--quick", "--json")
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        rows = found["tables"]["results"]
        assert [row["machine"] for row in rows] == ["express", "voyager", "cache"]
        assert Path(found["directory"]).name.startswith("mine-ring-")
    for text, said in (
        ("import nothing_of_the_kind", "ring.py:1)"),
        ("EXPERIMENT = 3", "defines no EXPERIMENT"),
    ):
        (folder / "ring.py").write_text(text)
        done = chasqui("experiment", "mine")
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("machine", ["voyager", "netcache/tcp"])
def test_files_that_parameters_name_are_there(chasqui: Run, machine: str) -> None:
    """A source such as guest/mpi/coll/select.h is a file of the package, or a page of ours."""
    shown = chasqui("info", machine, ".").stdout
    named = set(re.findall(r"(?<![\w/])(?:guest|docs|machines)/[\w./-]*\w", shown))
    found = set()
    for line in shown.splitlines()[-3:]:
        said = re.fullmatch(r"(In the repository of Chasqui|In (/.*)): (.*)", line)
        if said:
            place = Path(said[2]) if said[2] else ROOT
            names = said[3].split(", ")
            assert all((place / name).exists() for name in names), line
            found |= set(names)
    assert found == named != set()
    assert "guest/mpi/coll/select.h" in found
