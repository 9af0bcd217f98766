"""The machine cell with other ways of messages: by mailbox, by get, through main memory. Right
data, in order; the way in the record; the same bits however it is executed.

Use this when machines/cell/ways, or what of machines/cell/device.c it uses, changes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from simulated import command

from chasqui import compiler, core

pytestmark = pytest.mark.core

PROGRAMS = ROOT / "tests" / "cell"
# What is set, and the mechanism that it brings.
WAYS = {
    "mailbox": ("cell.mpi.mailbox=true", "mailbox"),
    "get": ("cell.mpi.long=get", "get"),
    "memory": ("cell.mpi.long=memory", "main-memory"),
}
BOTH = ["cell.mpi.mailbox=true", "cell.mpi.long=memory"]
# What must change no bit, all at once.
OTHERWISE = ["check.spin_skip=false", "check.coherence=true", "check.executor=reference"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("cell-ways")
    found = {}
    for name in ("ways", "ranks"):
        found[name] = directory / name
        words = ["-O2", str(PROGRAMS / f"{name}.c"), "-o", str(found[name])]
        assert compiler.run(compiler.plan("cc", words)) == 0
    return found


def run(out: Path, program: Path, sets: list[str], ranks: int, *arguments: str) -> str:
    """What it prints; it ends well."""
    words = ["run", "-q", "--out", str(out), "--machine", "cell", "-np", str(ranks)]
    words += [word for each in sets for word in ("--set", each)]
    done = command(*words, "--", program, *arguments, directory=out.parent)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def mechanisms(out: Path) -> dict[str, int]:
    summary = json.loads((out / "summary.json").read_text())
    used = {each["name"]: each["messages"] for each in summary["mechanisms"]}
    assert sum(used.values()) == summary["messages"]
    return {name: messages for name, messages in used.items() if messages}


@pytest.mark.parametrize("ranks", [2, 6])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_data_are_right_and_in_order_and_the_way_is_in_the_record(
    programs: dict[str, Path], tmp_path: Path, way: str, ranks: int
) -> None:
    setting, mechanism = WAYS[way]
    said = run(tmp_path / "out", programs["ways"], [setting], ranks)
    assert said == f"ways: right on {ranks} ranks\n"
    used = mechanisms(tmp_path / "out")
    # None of the long ones is put, where they fit; words are for whose receiver knows the rest.
    expected = {"slot", mechanism} | ({"put"} if way == "mailbox" else set())
    assert set(used) == expected
    assert used[mechanism] > ranks * 5


@pytest.mark.parametrize("sets", [[WAYS["get"][0]], BOTH], ids=["get", "mailbox and memory"])
def test_messages_of_all_lengths_arrive(
    programs: dict[str, Path], tmp_path: Path, sets: list[str]
) -> None:
    """Lengths and places around lines, quadwords, slots and pages."""
    said = run(tmp_path / "out", programs["ranks"], sets, 5, "lengths")
    assert said == "lengths: right on 5 ranks\n"


def test_what_is_too_long_for_a_buffer_is_put(programs: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "long.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n"
        "static char out[20000], in[20000];\n"
        "int main(int argc, char **argv) {\n"
        "    int rank, n[] = {464, 465, 16384, 16385};\n"
        "    MPI_Init(&argc, &argv);\n"
        "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "    for (int i = 0; i < 4; i++)\n"
        "        MPI_Sendrecv(out, n[i], MPI_BYTE, !rank, 0, in, n[i], MPI_BYTE, !rank, 0,\n"
        "                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        "    return MPI_Finalize();\n}\n"
    )
    program = tmp_path / "long"
    assert compiler.run(compiler.plan("cc", ["-O2", str(source), "-o", str(program)])) == 0
    run(tmp_path / "out", program, [WAYS["memory"][0]], 2)
    # Of each rank; and MPI_Finalize's barrier.
    assert mechanisms(tmp_path / "out") == {"slot": 4, "main-memory": 4, "put": 2}


@pytest.mark.parametrize(
    "sets", [[WAYS["mailbox"][0]], [WAYS["get"][0]], BOTH], ids=["mailbox", "get", "both"]
)
def test_results_have_the_same_bits(
    programs: dict[str, Path], tmp_path: Path, sets: list[str]
) -> None:
    for to, more in (("plain", []), ("other", OTHERWISE)):
        run(tmp_path / to, programs["ways"], sets + more, 3)
    for file in ("messages.parquet", "summary.json", "stats.json"):
        plain, other = ((tmp_path / to / file).read_bytes() for to in ("plain", "other"))
        assert plain == other, file


@pytest.mark.parametrize("way", sorted(WAYS))
def test_stages_are_in_their_order(programs: dict[str, Path], tmp_path: Path, way: str) -> None:
    """The command's entry, its place on the bus, its answer and its end, of every message."""
    run(tmp_path / "out", programs["ways"], [WAYS[way][0]], 2)
    messages = pq.read_table(tmp_path / "out" / "messages.parquet").to_pylist()
    stages = ("call_ps", "accept_ps", "inject_ps", "arrive_ps", "land_ps", "done_ps")
    assert messages
    for row in messages:
        times = [row[stage] for stage in stages]
        assert None not in times, row
        assert times == sorted(times), row


def test_the_default_is_slot_and_put() -> None:
    machine = {each["name"]: each["value"] for each in core.parameters("cell")}
    assert (machine["cell.mpi.mailbox"], machine["cell.mpi.long"]) == ("false", "put")
