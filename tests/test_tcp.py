"""MPI over the kernel's TCP and an Ethernet controller (netcache/tcp): frames that are lost,
connections that cross or are refused, interrupts, and where a message's time goes.

Use this when machines/netcache/src/ethernet, its driver, the device over sockets, guest/kernel/net
change. The sweeps over machines (test_machines, test_determinism, test_guest_library) take the
variant in, too; tests/test_kernel.py has the kernel's TCP alone.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import SWEEP, command
from test_determinism import THREADS, check
from test_placement import together

from chasqui import loggp, measurement
from chasqui.cli import logp
from chasqui.messages import read

pytestmark = pytest.mark.core

MACHINE = "netcache/tcp"
PLACE = ROOT / "tests" / "netcache"
FLOOD = (PLACE / "flood.c").read_text()
STAGES = ["call", "ready", "accept", "inject", "arrive", "land", "match", "deliver"]

Counters = dict[str, int]


@pytest.fixture(scope="module")
def flood(compile_c: Compiler) -> Path:
    return compile_c("flood", FLOOD)


def run(place: Path, ranks: int, program: Path, *arguments: str, sets: list[str]) -> Counters:
    """The controllers' counters, of all nodes together, after a run that must go well."""
    place.mkdir(exist_ok=True)
    options = [word for each in sets for word in ("--set", each)]
    done = command(
        "run", "--out", place / "run", "-np", str(ranks), "--machine", MACHINE, *options,
        "--", program, *arguments, directory=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    nodes = json.loads((place / "run" / "stats.json").read_text())
    total: Counters = {}
    for name, node in nodes.items():
        for counter, entry in node["ni"].items() if name.startswith("node") else []:
            total[counter] = total.get(counter, 0) + entry.get("value", 0)
    return total


def test_crossing_connections_and_long_messages(flood: Path, tmp_path: Path) -> None:
    """All ranks begin to send to all others at once."""
    counters = run(tmp_path, 5, flood, "1", sets=["check.coherence=true"])
    assert counters["strays"] == counters["crc_errors"] == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {each["name"] for each in summary["mechanisms"]} == {"stream"}


def test_sixteen_ranks(examples: Path, tmp_path: Path) -> None:
    run(tmp_path, 16, examples / "sort", "-n", "512", sets=[])


@pytest.mark.parametrize(
    ("sets", "lost"),
    [
        (["netcache.ethernet.receive_slots=2"], "missed"),
        (["netcache.ethernet.receive_fifo=2 KiB", "node.dram.write=1 us"], "overruns"),
        (["network.fault.link=router 0 port 1", "network.fault.rate=2 %"], "crc_errors"),
    ],
)
def test_lost_frames_come_again(flood: Path, tmp_path: Path, sets: list[str], lost: str) -> None:
    counters = run(tmp_path, 3, flood, "2", sets=sets)
    assert counters[lost] > 0
    assert counters["sent"] >= counters["received"] + counters[lost]


NO_INIT = """\
#include <mpi.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char name[64];
    gethostname(name, sizeof name);
    if (argc > 1 && !strcmp(name, argv[1]))
        sleep(1000);
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("sets", "arguments", "said"),
    [
        (["network.fault.rate=100 %"], [], "another node does not answer; all frames to it"),
        ([], ["node1"], "a rank refuses connections; it has not called MPI_Init"),
    ],
    ids=["lost", "refused"],
)
def test_why_nobody_can_be_reached(
    compile_c: Compiler, tmp_path: Path, sets: list[str], arguments: list[str], said: str
) -> None:
    program = compile_c("no-init", NO_INIT)
    options = [word for each in sets for word in ("--set", each)]
    words = ["run", "-np", "2", "--machine", MACHINE, *options, "--", str(program), *arguments]
    done = command(*words, directory=tmp_path)
    assert done.returncode not in (0, 2)
    assert f"MPI over TCP: {said}" in done.stderr


LONGER_THAN_ITS_MEMORY = """\
#include <mpi.h>
static char block[100];
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(block, 100000000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(block, 100000000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


def test_a_message_that_is_longer_than_its_memory_is_a_fault(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Of the process, which says where, and not the end of a connection."""
    program = compile_c("longer", LONGER_THAN_ITS_MEMORY)
    done = command("run", "-np", "2", "--machine", MACHINE, "--", str(program), directory=tmp_path)
    assert done.returncode == 128 + 11
    assert "fault: rank 0 at " in done.stderr
    assert "nothing is mapped there" in done.stderr


FAULTS = ["corrupt", "drop", "duplicate", "delay", "reorder", "any"]


@pytest.mark.parametrize("machine", ["netcache/tcp", "netcache/mvia"])
@pytest.mark.parametrize("kind", FAULTS)
def test_faulty_links_change_nothing_but_the_time(
    examples: Path, tmp_path: Path, machine: str, kind: str
) -> None:
    """One packet in fifty on every link; the same bits with other numbers of host threads."""
    seed = os.environ.get("SEED", "1")
    print(f"SEED={seed}")
    sets = [f"network.fault.kind={kind}", "network.fault.rate=2 %", f"network.fault.seed={seed}"]
    sets += ["network.fault.late=200 us", "network.topology=fat-tree"]
    options = [word for each in sets for word in ("--set", each)]
    program = [str(examples / "cg"), "-g", "16"]
    words = ["-np", "4", "--machine", machine, *options, "--", *program]
    names = list(THREADS)
    turn = FAULTS.index(kind) + (machine == MACHINE)
    some = names if SWEEP else [names[turn % len(names)]]
    check(tmp_path, words, {name: THREADS[name] for name in some}, 0)
    assert "cg: PASSED" in (tmp_path / "reference" / "stdout.0").read_text()
    network = json.loads((tmp_path / "reference" / "stats.json").read_text())["network"]
    counted = {"drop": "dropped", "duplicate": "duplicated", "delay": "late", "reorder": "late"}
    assert network[counted.get(kind, "crc_errors")]["value"] > 0


def test_what_a_machine_copes_with_is_known_before_the_run(chasqui: Run, examples: Path) -> None:
    for machine, said in (
        ("netcache/tcp", f"copes with: {', '.join(FAULTS)}\n"),
        ("netcache/mvia", f"copes with: {', '.join(FAULTS)}\n"),
        ("netcache/via", "copes with: none; a corrupt packet is found and ends the run\n"),
        ("loggp", "no links that could be faulty\n"),
    ):
        assert chasqui("info", machine).stdout.endswith(said)
    sets = ["--set", "network.fault.kind=drop", "--set", "network.fault.packet=3"]
    done = chasqui("run", "--machine", "netcache/via", *sets, "--", examples / "ring")
    assert (done.returncode, done.stderr) == (
        2,
        'chasqui: machine "netcache/via": '
        "network.fault.kind: the machine's protocol does not cope with drop; allowed: "
        "corrupt (which ends the run) "
        '(network.fault.kind = "drop": --set network.fault.kind=drop)\n',
    )


@pytest.mark.parametrize("late", ["node0", "node2"])
def test_who_comes_late_to_mpi_init_is_asked_again(flood: Path, tmp_path: Path, late: str) -> None:
    run(tmp_path, 3, flood, "1", late, sets=[])


@pytest.mark.parametrize("words", [["-np", "3"], ["-np", "4", *together(2)]])
def test_who_opens_connections_without_end_harms_nobody(
    compile_c: Compiler, tmp_path: Path, words: list[str]
) -> None:
    """Each takes 128 KiB of its process's share; a connection that is over gives them back."""
    program = compile_c("many_sockets", (PLACE / "many_sockets.c").read_text())
    memory = ["--set", "node.software.kernel_memory=12 MiB"]
    done = command("run", "-q", *words, "-m", MACHINE, *memory, "--", program, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(", PASSED\n")
    assert 8 < int(done.stdout.split()[1].rstrip(",")) < 64


@pytest.mark.parametrize("waits", ["blocks", "polls"])
def test_a_program_that_waits(flood: Path, tmp_path: Path, waits: str) -> None:
    run(tmp_path, 2, flood, "2", sets=[f"netcache.tcp.waits={waits}"])


def test_moderated_interrupts_come_no_sooner(flood: Path, tmp_path: Path) -> None:
    plain = run(tmp_path / "plain", 2, flood, "2", sets=[])
    fewer = run(tmp_path / "fewer", 2, flood, "2", sets=["netcache.ethernet.interrupt_gap=50 us"])
    time_ps = json.loads((tmp_path / "fewer" / "run" / "summary.json").read_text())["time_ps"]
    assert fewer["interrupts"] < plain["interrupts"]
    assert 0 < fewer["interrupts"] <= 2 * (time_ps // 50_000_000 + 2)


def test_stages_of_short_messages(examples: Path, tmp_path: Path) -> None:
    """In this order; on the idle network a frame's head takes two links and the crossbar, and the
    frame is whole, 84 bytes of a nanosecond each later."""
    run(tmp_path, 2, examples / "ring", "-l", "2", sets=[])
    rows = read(tmp_path / "run" / "messages.parquet")
    assert len(rows) > 10
    for row in rows:
        times: list[int] = [getattr(row, f"{stage}_ps") for stage in STAGES]
        assert times == sorted(times)
        inject, arrive, land = times[3:6]
        assert arrive - inject == 200_000 + 100_000 + 200_000
        assert land - arrive > 84_000


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["node.software.kernel=false"], "netcache.nic.policy: tcp needs a kernel"),
        (["netcache.ethernet.receive_slots=3"], "receive_slots: 3 is not a power of two"),
        (["netcache.ethernet.mtu=9000 B"], "netcache.ethernet.mtu"),
    ],
)
def test_what_does_not_fit_is_said(
    examples: Path, tmp_path: Path, sets: list[str], said: str
) -> None:
    options = [word for each in sets for word in ("--set", each)]
    done = command(
        "run", "--machine", MACHINE, *options, "--", examples / "ring", directory=tmp_path
    )
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.turn(3)
def test_overheads_that_overlap_are_said_to() -> None:
    """The first segments are received while the last ones are still sent."""
    found = measurement.measure(MACHINE, [8, 16384])
    short, long = found.figures.sizes
    assert short.l.mean > 0 > long.l.mean
    assert found.figures.reasons["G"]
    note = "L below 0: the receiver is busy with a message before its send returns"
    assert note in "\n".join(logp.report(found))
    alone = replace(found, figures=loggp.summarise([short]))
    assert note not in "\n".join(logp.report(alone))
