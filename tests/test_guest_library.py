"""The MPI library's own tests (guest/tests/run.list) on simulated machines.

Use this when the MPI library or an MPI device changes. `make -C guest/tests native` runs the same
programs on the host, faster and with sanitizers, but on another device. Random numbers follow from
SEED, which the last lines of the output show.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT, shared_place
from simulated import (
    SWEEP,
    command,
    in_ci,
    in_turn,
    machines,
    organisations,
    shared_nodes,
    two_at_a_time,
)

from chasqui import toolchain

pytestmark = pytest.mark.core

PLACE = ROOT / "guest" / "tests"
SEED = os.environ.get("SEED", "1")


# What keeps a device busy: full and empty rings, long messages, messages in any order.
HARD = {"basic", "errors", "modes", "order", "probes", "stress", "unexpected", "waits"}


class Case(NamedTuple):
    """A line of run.list."""

    program: str
    ranks: list[str]
    status: int
    arguments: list[str]


def cases() -> list[Case]:
    found = []
    for line in (PLACE / "run.list").read_text().splitlines():
        if line and not line.startswith("#"):
            name, ranks, status, *arguments = line.split()
            # Of a/b the second: fewer cases, since the simulator is slower than the host.
            fewer = [re.sub(r"^\d+/", "", each).replace("@SEED@", SEED) for each in arguments]
            for first in fewer[0].split(",") if fewer else [None]:
                words = [first, *fewer[1:]] if first else []
                found.append(Case(name, ranks.split(","), int(status), words))
    return found


def on(machine: str) -> list[Case]:
    """On `loggp`, where calls take no time, everything; on the others what is hard. What a program
    may begin with: all where connections are made by the first messages, of it a share in turn on
    the others."""
    firsts = [case for case in cases() if case.program == "first"]
    if not SWEEP and machine not in ("loggp", "netcache/tcp"):
        names = [name if "/" in machine else name.partition("/")[0] for name in machines()]
        firsts = firsts[names.index(machine) :: len(names)]
    found = [case for case in cases() if case.program in HARD or case in firsts]
    if machine == "loggp":
        return [case for case in cases() if case in found or case.program != "first"]
    if SWEEP:
        return found
    # Of the two largest numbers of ranks one in turn: from case to case, from machine to machine.
    turn = machines().index(machine) if machine in machines() else 0
    return [
        case._replace(ranks=[case.ranks[-2:][(turn + number) % len(case.ranks[-2:])]])
        for number, case in enumerate(found)
    ]


class Programs:
    """The programs, compiled with the warnings that the host's are compiled with: each when it is
    first asked for, so that who needs another need not wait."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __truediv__(self, name: str) -> Path:
        program = self.place / name / name
        with toolchain.locked(self.place / f"{name}.lock"):
            if not program.exists():
                with toolchain.appearing(program.parent) as building:
                    compile_one(PLACE / f"{name}.c", building)
        return program


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    place = shared_place(tmp_path_factory, "guest-tests")
    place.mkdir(exist_ok=True)
    return Programs(place)


def compile_one(source: Path, place: Path) -> None:
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    # One looks behind MPI: at the library's packets.
    flags += [f"-I{ROOT / 'guest'}", f"-I{ROOT / 'guest' / 'include'}"]
    done = command("cc", *flags, source, "-o", place / source.stem, directory=place)
    assert done.returncode == 0, done.stderr


# On variants whose parts all are in others: what a program may begin with, and in turn a bit of
# everything or random messages.
ENOUGH = ("basic", "stress")


def is_run(machine: str, case: Case) -> bool:
    if SWEEP or machine in organisations() or case.program == "first":
        return True
    return case.program == ENOUGH[machines().index(machine) % len(ENOUGH)]


@pytest.mark.parametrize(
    ("machine", "case"),
    [
        pytest.param(machine, case, id=f"{machine}-{' '.join([case.program, *case.arguments])}")
        for machine in in_ci()
        for case in on(machine)
        if is_run(machine, case)
    ],
)
def test_a_program(programs: Programs, tmp_path: Path, machine: str, case: Case) -> None:
    assert failures(programs, tmp_path, ["--machine", machine], case) == ""


# Where processes sleep: other ways to wait, and a rank that the others can't connect to yet.
SLEEPERS = {
    "tcp-polls": ["netcache/tcp", "--mpi", "wait.polls=1"],
    "tcp-polls-and-yields": [
        *("netcache/tcp", "--set", "netcache.tcp.waits=polls", "--mpi", "wait.polls=3")
    ],
    "tcp-late-node0": ["netcache/tcp"],
    "tcp-late-node1": ["netcache/tcp"],
    "via": ["netcache/via", "--set", "netcache.via.blocks=true"],
    "via-polls": ["netcache/via", "--set", "netcache.via.blocks=true", "--mpi", "wait.polls=2"],
    "via-zero-copy": ["netcache/via-zero-copy", "--set", "netcache.via.blocks=true"],
    "mvia": ["netcache/mvia", "--set", "netcache.via.blocks=true"],
}


@pytest.mark.parametrize("name", SLEEPERS)
def test_every_beginning_where_processes_sleep(
    programs: Programs, tmp_path: Path, name: str
) -> None:
    late = [name.rpartition("-")[2]] if "late" in name else []
    firsts = [
        case._replace(ranks=["3"], arguments=[*case.arguments, *late])
        for case in cases()
        if case.program == "first"
    ]
    if not SWEEP:
        firsts = firsts[list(SLEEPERS).index(name) :: len(SLEEPERS)]
    machine = ["--machine", *SLEEPERS[name]]
    assert "".join(failures(programs, tmp_path, machine, case) for case in firsts) == ""


# Where several ranks share a node, its harts, and its NI or memory. Cells of rings of 2 KiB hold
# less than most messages.
SHARING = {
    f"{ranks}-by-{way}-{channel}": [
        *("--ranks-per-node", str(ranks), "--map-by", way, "--set", f"node.harts={ranks}"),
        *("--mpi", f"local.channel={channel}", "--mpi", "local.ring=2 KiB"),
    ]
    for ranks, way, channel in (
        (2, "slot", "ni"),
        (2, "node", "memory"),
        (4, "slot", "ni"),
        (4, "slot", "memory"),
    )
}


# Random types of up to tens of kilobytes take long through cells of 2 KiB: a quarter as many.
FEWER = {("datatypes", "4-by-slot-memory"): [SEED, "5"]}


@pytest.mark.parametrize(("sharing", "machine"), in_turn(SHARING, shared_nodes()))
def test_ranks_that_share_nodes(
    programs: Programs, tmp_path: Path, machine: str, sharing: str
) -> None:
    some = on(machine) if SWEEP else dealt(machine, sharing)
    words = ["--machine", machine, *SHARING[sharing]]
    assert "".join(failures(programs, tmp_path, words, case) for case in some) == ""


def dealt(machine: str, sharing: str) -> list[Case]:
    """Each case on one machine, with one placement, by one of its two largest numbers of ranks."""
    places = [(each, way) for each in shared_nodes() for way in SHARING]
    found = []
    for number, case in enumerate(case for case in cases() if case.program != "first"):
        where, way = places[number % len(places)]
        if case.program not in HARD:
            where = "loggp"
        if (where, way) == (machine, sharing):
            arguments = FEWER.get((case.program, sharing), case.arguments)
            ranks = case.ranks[-2:][number % len(case.ranks[-2:])]
            found.append(case._replace(ranks=[ranks], arguments=arguments))
    return found


def failures(programs: Programs, place: Path, machine: list[str], case: Case) -> str:
    """What goes wrong with `case` on a machine that these options choose."""

    def run(ranks: str) -> str:
        # The most ranks take longest: they begin first.
        options = ["-np", ranks, *machine, "--set", "check.coherence=true"]
        program = programs / case.program
        done = command("run", *options, "--", program, *case.arguments, directory=place)
        if done.returncode == case.status:
            return ""
        return f"{ranks} ranks, SEED={SEED}: status {done.returncode}\n{done.stdout}{done.stderr}"

    return "".join(two_at_a_time(run, reversed(case.ranks)))


def test_every_beginning_is_in_the_list(programs: Programs, tmp_path: Path) -> None:
    kinds = command("run", "-np", "1", "--", programs / "first", directory=tmp_path).stdout.split()
    listed = {case.arguments[0] for case in cases() if case.program == "first"}
    assert len(kinds) > 30
    assert listed == set(kinds)


def test_every_program_is_in_the_list() -> None:
    assert {case.program for case in cases()} == {path.stem for path in PLACE.glob("*.c")}
