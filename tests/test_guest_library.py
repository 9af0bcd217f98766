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
from conftest import ROOT
from simulated import SWEEP, command, machines, organisations, two_at_a_time

pytestmark = pytest.mark.core

PLACE = ROOT / "guest" / "tests"
SEED = os.environ.get("SEED", "1")


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
            found.append(Case(name, ranks.split(","), int(status), fewer))
    return found


def on(machine: str) -> list[Case]:
    """On `loggp`, where calls take no time, everything; on the others what keeps the device busy:
    full and empty rings, long messages, messages in any order."""
    hard = {"basic", "errors", "modes", "order", "probes", "stress", "unexpected", "waits"}
    return [case for case in cases() if machine == "loggp" or case.program in hard]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs, compiled with the warnings that the host's are compiled with."""
    place = tmp_path_factory.mktemp("guest-tests")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]

    def compile_one(source: Path) -> str:
        done = command("cc", *flags, source, "-o", place / source.stem, directory=place)
        return done.stderr if done.returncode else ""

    assert "".join(two_at_a_time(compile_one, sorted(PLACE.glob("*.c")))) == ""
    return place


# On variants whose parts all are in others: a bit of everything, and random messages.
ENOUGH = ("basic", "stress")


@pytest.mark.parametrize(
    ("machine", "case"),
    [
        pytest.param(machine, case, id=f"{machine}-{' '.join([case.program, *case.arguments])}")
        for machine in machines()
        for case in on(machine)
        if SWEEP or machine in organisations() or case.program in ENOUGH
    ],
)
def test_a_program(programs: Path, tmp_path: Path, machine: str, case: Case) -> None:
    assert failures(programs, tmp_path, ["--machine", machine], case) == ""


def failures(programs: Path, place: Path, machine: list[str], case: Case) -> str:
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


def test_every_program_is_in_the_list() -> None:
    assert {case.program for case in cases()} == {path.stem for path in PLACE.glob("*.c")}
