"""Every program on every variant of mpinp, with 1, 2 and 4 ranks a node: the examples, the guest
library's tests, NPB's IS, MG and CG, and OSU's benchmarks, each with its right answer.

Only in a sweep: some hours of a processor. NPB and OSU are no part of Chasqui: CHASQUI_NPB and
CHASQUI_OSU name their folders, NPB3.3-MPI and osu-micro-benchmarks (docs/programs.md). What CI has
of this is in test_machines.py, test_guest_library.py and the other files of mpinp.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from conftest import shared_place
from simulated import EXAMPLES, SHORTER, WORKLOADS, command, every_machine, in_turn
from test_guest_library import HARD, Case, Programs, cases, failures, programs
from test_mpinp_mcp import shared

from chasqui import toolchain

__all__ = ["programs"]  # a fixture

pytestmark = [pytest.mark.core, pytest.mark.long]

VARIANTS = [name for name in every_machine() if name.startswith("mpinp")]
PER_NODE = [1, 2, 4]
LIMIT_S = 1800


def on(machine: str, per_node: int) -> list[str]:
    return ["--machine", machine, *(shared(per_node) if per_node > 1 else [])]


PROGRAMS = EXAMPLES | WORKLOADS


@pytest.mark.parametrize(("name", "per_node", "machine"), in_turn(PROGRAMS, PER_NODE, VARIANTS))
def test_examples(examples: Path, tmp_path: Path, name: str, per_node: int, machine: str) -> None:
    ranks, arguments = PROGRAMS[name]
    arguments = SHORTER.get(name, arguments)
    words = ["run", "-q", "-np", str(max(ranks, per_node)), *on(machine, per_node)]
    program = [str(examples / name), *arguments]
    done = command(*words, "--", *program, directory=tmp_path, limit_s=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: PASSED" in done.stdout


def called(case: Case) -> str:
    return " ".join([case.program, *case.arguments])


# By the largest number of ranks. What a program may begin with is in test_guest_library.py.
LIBRARY = {
    called(case): case._replace(ranks=case.ranks[-1:])
    for case in cases()
    if case.program != "first"
}


@pytest.mark.parametrize(("name", "per_node", "machine"), in_turn(LIBRARY, PER_NODE, VARIANTS))
def test_the_guest_library_s_tests(
    programs: Programs,
    tmp_path: Path,
    name: str,
    per_node: int,
    machine: str,
) -> None:
    assert failures(programs, tmp_path, on(machine, per_node), LIBRARY[name]) == ""
    assert {case.program for case in LIBRARY.values()} >= HARD


@pytest.mark.npb
@pytest.mark.parametrize(
    ("name", "per_node", "machine"), in_turn(["is", "mg", "cg"], PER_NODE, VARIANTS)
)
def test_npb(tmp_path: Path, name: str, per_node: int, machine: str) -> None:
    npb = importlib.import_module("chasqui.machines.netcache.experiments._npb")
    program = npb.build(f"{name}.S.4")
    words = ["run", "-q", "-np", "4", *on(machine, per_node), "--", str(program)]
    done = command(*words, directory=tmp_path, limit_s=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESSFUL" in done.stdout
    assert "UNSUCCESSFUL" not in done.stdout


# Ranks, options, and lines without a `#` that it prints: one for each length up to 4 MiB, or 1 KiB.
OSU = {
    "pt2pt/osu_latency": (2, ["-i", "1", "-x", "0"], 24),
    "pt2pt/osu_bw": (2, ["-i", "1", "-x", "0"], 23),
    "collective/osu_allreduce": (4, ["-i", "2", "-x", "1", "-m", "1024"], 9),
    "collective/osu_alltoall": (4, ["-i", "2", "-x", "1", "-m", "1024"], 11),
    "collective/osu_bcast": (4, ["-i", "2", "-x", "1", "-m", "1024"], 11),
    "collective/osu_gather": (4, ["-i", "2", "-x", "1", "-m", "1024"], 11),
    "collective/osu_barrier": (4, ["-i", "2", "-x", "1"], 1),
}


@pytest.fixture(scope="session")
def osu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs."""
    source = Path(os.environ["CHASQUI_OSU"]).resolve() / "mpi"
    place = shared_place(tmp_path_factory, "osu")
    with toolchain.locked(place.with_suffix(".lock")):
        for name in OSU:
            folder, program = name.split("/")
            common = {"pt2pt": "osu_pt2pt.c", "collective": "osu_coll.c"}[folder]
            files = [str(source / folder / f"{program}.c"), str(source / folder / common)]
            place.mkdir(exist_ok=True)
            target = place / program
            if not target.exists():
                flags = ["-O2", "-w", f"-I{source / folder}"]
                done = command("cc", *flags, *files, "-lm", "-o", str(target), directory=place)
                assert done.returncode == 0, done.stderr
    return place


@pytest.mark.osu
@pytest.mark.parametrize(("name", "per_node", "machine"), in_turn(OSU, PER_NODE, VARIANTS))
def test_osu(osu: Path, tmp_path: Path, name: str, per_node: int, machine: str) -> None:
    ranks, options, lines = OSU[name]
    program = [str(osu / name.split("/")[1]), *options]
    words = ["run", "-q", "-np", str(ranks), *on(machine, per_node), "--", *program]
    done = command(*words, directory=tmp_path, limit_s=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if line.strip() and line[0] != "#"]
    assert len(found) == lines, done.stdout
