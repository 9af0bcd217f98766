"""What a program may do to its network interface, right or wrong, on every machine: stores of any
values to registers, queues and rings; and nodes with lines of any length.

Use this when an NI's registers, descriptors or rings change, or how it moves lines over the bus.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, command, example, in_ci, machines, two_at_a_time
from test_voyager import NONE_RESIDENT

pytestmark = pytest.mark.core

NI = ROOT / "tests" / "ni"

SEED = int(os.environ.get("SEED", "1"))
# Runs of each random program: a few seconds, or as long as is wanted.
RUNS = int(os.environ.get("CHASQUI_WILD", "200" if SWEEP else "6"))
# How a run of a program that may do wrong ends: it is done, simulated time has, ranks wait for
# ever, or a fault that says what was wrong.
ENDS = {0, 124, 125, 128 + 7, 128 + 11}

# Of which a process maps nothing, since the kernel has the NI; flash has registers of controllers,
# of which any access that is none of a command is a fault (crates/directory/tests/transfers.rs).
NOT_MAPPED = ("netcache/tcp", "netcache/mvia", "flash/table", "flash/block-transfer")
SERVED = [*NONE_RESIDENT, "--set", "voyager.sp.system=true"]
FEW = ["--set", "voyager.queues.basic=3", "--set", "voyager.queues.resident_basic=1"]
NETWORK = "node.l1d.line={0}", "node.l1i.line={0}", "node.l2.line={0}"


def ways() -> list[tuple[str, list[str]]]:
    """Machines with registers that a process maps, and what else of them there is to be reached."""
    mapped = [machine for machine in machines() if machine not in NOT_MAPPED]
    voyager = [("voyager", SERVED), ("voyager", [*FEW, "--set", "voyager.sp.system=true"])]
    return [(machine, []) for machine in mapped] + voyager


def carry_out(program: Path, place: Path, machine: str, sets: list[str], count: int) -> None:
    """Runs the program with some seeds, each of which its message names. With some of them one rank
    only does what is wrong: no other may be blamed."""

    def one(seed: int) -> str:
        out = place / f"{seed}"
        options = ["-np", "2", "--machine", machine, *sets]
        blamed = seed % 3 if seed % 3 < 2 and program.name == "wild" else None
        words = [str(seed), str(count), *([] if blamed is None else [str(blamed)])]
        done = command("run", "-q", "--out", out, *options, "--", program, *words, directory=place)
        said = f"SEED={seed} on {machine} {sets}: status {done.returncode}\n{done.stderr[-600:]}"
        is_fault = done.returncode in (128 + 7, 128 + 11)
        rank = r"\d+" if blamed is None else blamed
        names_it = re.search(rf"fault: rank {rank} at .*: .+, pc 0x", done.stderr)
        return "" if done.returncode in ENDS and (names_it or not is_fault) else said

    print(f"SEED={SEED}, {RUNS} runs")
    wrong = [said for said in two_at_a_time(one, range(SEED, SEED + RUNS)) if said]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("machine", "sets"), ways())
def test_whatever_is_stored_to_an_ni_no_run_breaks(
    compile_c: Compiler, tmp_path: Path, machine: str, sets: list[str]
) -> None:
    program = compile_c("wild", (NI / "wild.c").read_text(), f"-I{NI}")
    carry_out(program, tmp_path, machine, sets, 3000)


@pytest.mark.parametrize("machine", ["netcache/via", "netcache/via-zero-copy", "netcache/mvia"])
@pytest.mark.parametrize("line", ["64 B", "16 B"])
def test_whatever_descriptors_are_posted_no_run_breaks(
    compile_c: Compiler, tmp_path: Path, machine: str, line: str
) -> None:
    include = [f"-I{each}" for each in (NI, ROOT / "guest", ROOT / "machines" / "netcache")]
    program = compile_c("wild_vi", (ROOT / "tests" / "netcache" / "wild.c").read_text(), *include)
    sets = [word for key in NETWORK for word in ("--set", key.format(f"'{line}'"))]
    carry_out(program, tmp_path, machine, sets, 60)


def lines() -> list[tuple[str, list[str]]]:
    """Nodes whose buses have lines of every length that the machine takes; in CI every other one of
    these, in turn from machine to machine."""
    found = []
    for number, machine in enumerate(each for each in in_ci() if each != "loggp"):
        of_it = []
        if not machine.endswith("stash"):  # It needs an L2.
            of_it.append((machine, ["node.l2.present=false"]))
        for line in ("16 B", "32 B"):
            of_it.append((machine, [key.format(f"'{line}'") for key in NETWORK]))
        if not machine.startswith("voyager"):  # A DMA request must be whole lines.
            of_it.append((machine, ["node.l2.line='128 B'"]))
        found += of_it if SWEEP else of_it[number % 2 :: 2]
    return found


@pytest.mark.parametrize(("machine", "sets"), lines())
def test_messages_come_whatever_the_lines_of_the_bus_are(
    examples: Path, tmp_path: Path, machine: str, sets: list[str]
) -> None:
    """Blocks, descriptors and rings of more than a line, or of a part of one. In CI one of two
    programs, in turn from node to node."""
    turn = lines().index((machine, sets)) // 4  # two machines: all lengths of lines
    words = [word for each in [*sets, "check.coherence=true"] for word in ("--set", each)]
    for name in ("pingpong", "ring") if SWEEP else ("pingpong", "ring")[turn % 2 :][:1]:
        options = example(examples, name, machine)
        done = command("run", "-q", "--out", name, *words, *options, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "PASSED" in done.stdout


# A place for the parts of messages that come before their receive, made for each peer when it
# first sends such.
PARTS = {"voyager-modern": 1}


@pytest.mark.parametrize("machine", [each for each in machines() if not each.startswith("mpinp")])
def test_a_message_that_is_kept_touches_no_new_page(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """What it is kept in was touched in MPI_Init, for 32 at a time, and so were tables of names,
    which have places for more. On `mpinp` a card keeps messages, but for those that it has no room
    for."""
    messages = "100" if machine.endswith("dtct") else "30"
    program = compile_c("kept", (NI / "kept.c").read_text())
    done = command("run", "--out", "run", "-np", "2", "--machine", machine, "--", program,
                   messages, directory=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"page faults: {PARTS.get(machine, 0)}\n" in done.stdout
