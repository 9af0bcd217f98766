"""Every parameter at both ends of its range, and at each of its words, one at a time, on every
machine and variant: a small program runs to its end, or for some seconds, or the machine is refused
in words. (So what hangs is not told from what is slow.)

Use this for a new parameter, or a new range. `make test` takes a share, `make sweep` all of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Compiler
from simulated import SEVERAL_JOBS, SWEEP, every_machine, two_at_a_time

from chasqui import core

pytestmark = pytest.mark.core

SEED = int(os.environ.get("SEED", "1"))
SHARE = 720  # `make test`: one of so many
# What takes longer on the host is stopped: it has run.
LONGEST_S = 20.0
STOPPED_S = 60.0

# What a machine or its library may do to this program, and says.
ENDS = (
    "out of memory",  # one that is too small for it
    "the forced algorithm can't do this case",
    "wrong CRC on the link",  # faulty links
    "all frames to it or from it were lost",  # TCP, where they all are
    "can't be registered (netcache.via.table)",
    "there is no room to register a message's memory (netcache.via.table)",
)

# A short message and a long one around the ring, and a collective.
TEXT = """\
#include <mpi.h>
#include <string.h>
static char out[20000], in[20000];
int main(int argc, char **argv)
{
    int rank, size, sum, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int bytes = 7; bytes <= 20000; bytes = bytes == 7 ? 20000 : bytes + 1) {
        memset(out, 'a' + rank, bytes);
        MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        wrong += in[0] != 'a' + left || in[bytes - 1] != 'a' + left;
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2;
    MPI_Finalize();
    return wrong ? 9 : 0;
}
"""


class Case(NamedTuple):
    machine: str
    setting: str


# What this has found, always among the share.
FOUND = [
    # The link was free before a hart that had run ahead could notice that a DMA request ended.
    Case("voyager/flush", "network.link_bandwidth=1000 GB/s"),
]


def cases() -> Iterator[Case]:
    for machine in every_machine():
        for each in core.parameters(machine):
            values = each["choices"] or each["range"] or []
            if each["type"] == "boolean":
                values = ["true", "false"]
            for value in values:
                if value != each["value"]:
                    yield Case(machine, f"{each['name']}={value}")


def wrong(case: Case, program: Path, directory: Path) -> str:
    """What went wrong, in words; nothing: it ran, or was refused."""
    command = [sys.executable, "-m", "chasqui", "run", "-q", "-np", "3", "--machine", case.machine]
    command += ["--timeline", "0", "--set", case.setting, "--out", str(directory)]
    if case.machine in SEVERAL_JOBS:
        command += ["--job", f"-np 3 {program}"]
    with subprocess.Popen(
        [*command, "--", str(program)], cwd=directory.parent, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                _, said = process.communicate(timeout=STOPPED_S)
            except subprocess.TimeoutExpired:
                process.kill()
                _, said = process.communicate()
    text = f"{case.machine} {case.setting}: status {process.returncode}: {said[-800:]}"
    if "panicked" in said or "Traceback" in said:
        return text
    if process.returncode == 2:
        return "" if said.startswith("chasqui: ") and not directory.exists() else text
    ran = process.returncode in (0, 128 + signal.SIGTERM)
    return "" if ran or any(end in said for end in ENDS) else text


def test_every_parameter_at_both_ends(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("small", TEXT)
    every = list(cases())
    chosen = every if SWEEP else [*FOUND, *every[SEED % SHARE :: SHARE]]
    print(f"{len(chosen)} of {len(every)} runs, SEED={SEED}")
    numbered = list(enumerate(chosen))
    found = two_at_a_time(lambda each: wrong(each[1], program, tmp_path / f"{each[0]}"), numbered)
    assert [said for said in found if said] == []
