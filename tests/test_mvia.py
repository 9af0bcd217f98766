"""VIA in the kernel over an Ethernet controller (netcache/mvia): the same programs over VIPL as on
the hardware NIC, frames that are lost, messages cut into frames, doorbells that are wrong, and
ranks of a node.

Use this when machines/netcache/kernel/mvia.c, the kernel agent, fast calls of guest/kernel, or
VIPL's doorbells change. test_via.py has the hardware's, and what is the same for both; the sweeps
over machines (test_machines, test_determinism, test_guest_library, test_netcache, test_replay) take
the variant in, too.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from pyarrow import parquet
from simulated import SWEEP, TRANSLATED, command, example
from test_determinism import COMBINATIONS, EXECUTED, THREADS, check
from test_placement import together
from test_via import COUNT, INCLUDE, MODULE, PLACE, carry_out, counters, vipl

from chasqui.experiment import running

pytestmark = pytest.mark.core

__all__ = ["vipl"]  # A fixture.

MVIA = "netcache/mvia"


@pytest.mark.parametrize("case", [("polled", "5000"), ("slept", "5000"), ("errors",), ("remote",)])
def test_vipl_is_what_it_is_on_the_hardware(
    vipl: Path, tmp_path: Path, case: tuple[str, ...]
) -> None:
    carry_out(tmp_path, vipl, *case, machine=MVIA, sets=[])


def test_a_descriptor_that_the_kernel_refuses_is_in_no_queue(vipl: Path, tmp_path: Path) -> None:
    carry_out(tmp_path, vipl, "refused", machine=MVIA, sets=[])


@pytest.mark.parametrize("words", [["-np", "3"], ["-np", "4", *together(2)]])
def test_who_asks_for_vis_without_end_harms_nobody(
    compile_c: Compiler, tmp_path: Path, words: list[str]
) -> None:
    """Memory for 75 of rank 0's at most. Each of the others, one of them on the same node, creates
    some after these are used up."""
    program = compile_c("many_vis", (PLACE / "many_vis.c").read_text(), *INCLUDE)
    sets = ["node.software.kernel_memory=16 MiB", "netcache.via.vis=1024",
            "netcache.via.depth=1024"]  # fmt: skip
    options = [word for each in sets for word in ("--set", each)]
    done = command("run", "-q", *words, "-m", MVIA, *options, "--", program, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == int(words[1])
    created = next(line for line in done.stdout.splitlines() if "PASSED" not in line)
    assert 50 < int(created.split()[-1]) < 200


def test_a_job_for_whose_vis_the_kernel_has_no_memory_says_so(
    examples: Path, tmp_path: Path
) -> None:
    sets = ["node.software.kernel_memory=2 MiB", "netcache.via.depth=1024"]
    options = [word for each in sets for word in ("--set", each)]
    words = ["-np", "24", "-m", MVIA, *options]
    done = command("run", "-q", *words, "--", examples / "ring", directory=tmp_path)
    assert done.returncode == 1
    assert "no memory for another VI (node.software.kernel_memory, netcache" in done.stderr


@pytest.mark.parametrize("window", [1, 3, 16])
def test_what_finds_no_descriptor_is_dropped_and_sent_again(
    vipl: Path, tmp_path: Path, window: int
) -> None:
    run = carry_out(
        tmp_path, vipl, "late", "3000", machine=MVIA, sets=[f"netcache.via.window={window}"]
    )
    assert counters(run, 0)["sent"] > COUNT
    assert counters(run, 0)["missed"] == counters(run, 1)["missed"] == 0


def test_what_is_refused_is_sent_alone_and_one_more_after_each_reply(
    vipl: Path, tmp_path: Path
) -> None:
    """And later each time, until something is acknowledged. Rank 0 sent 63 frames; 240 with the
    whole window after each refusal, 108 with it after each reply, 41 with pauses that stay long."""
    run = carry_out(tmp_path, vipl, "late", "30000", machine=MVIA, sets=["netcache.via.window=16"])
    assert 52 < counters(run, 0)["sent"] < 80
    assert counters(run, 1)["sent"] > 40


def test_too_many_refusals_end_the_connection(vipl: Path, tmp_path: Path) -> None:
    words = ["-q", "-np", "2", "-m", MVIA, "--set", "netcache.via.retries=2"]
    done = command("run", *words, "--", vipl, "late", "30000", directory=tmp_path)
    assert done.returncode == 125, done.stderr
    assert "rank 0, line 81: not await(VipSendDone, &descriptor) == VIP_SUCCESS" in done.stdout


def carry_out_flood(
    compile_c: Compiler, place: Path, *sets: str, ranks: int = 3, turns: str = "2"
) -> list[dict[str, int]]:
    program = compile_c("flood", (PLACE / "flood.c").read_text())
    options = [word for each in ["check.coherence=true", *sets] for word in ("--set", each)]
    done = command(
        "run", "--out", place / "run", "-np", str(ranks), "--machine", MVIA, *options, "--",
        program, turns, directory=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    return [counters(place / "run", node) for node in range(ranks)]


@pytest.mark.parametrize(
    ("sets", "lost"),
    [
        (["netcache.ethernet.receive_slots=4"], "missed"),
        (["netcache.ethernet.receive_fifo=2 KiB", "node.dram.write=1 us"], "overruns"),
        (["network.fault.link=router 0 port 1", "network.fault.rate=2 %"], "crc_errors"),
    ],
)
def test_lost_frames_come_again(
    compile_c: Compiler, tmp_path: Path, sets: list[str], lost: str
) -> None:
    found = carry_out_flood(compile_c, tmp_path, *sets)
    assert sum(each[lost] for each in found) > 0


def test_a_timeout_is_short_again_after_an_acknowledgement(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """One in five packets of each link is lost: some 0.2 s in all."""
    program = compile_c("flood", (PLACE / "flood.c").read_text())
    sets = ["network.fault.kind=drop", "network.fault.rate=20 %"]
    options = [word for each in sets for word in ("--set", each)]
    words = ["-q", "-np", "3", "-m", MVIA, *options, "--limit-time", "1 s"]
    done = command("run", *words, "--", program, "1", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASSED" in done.stdout


@pytest.mark.parametrize("mtu", [576, 1000, 1800])
def test_messages_are_cut_into_frames(compile_c: Compiler, tmp_path: Path, mtu: int) -> None:
    """An eager message of 1,968 bytes and its envelope take two to four."""
    sets = [f"netcache.ethernet.mtu={mtu} B", "netcache.mpi.eager=1968 B"]
    found = carry_out_flood(compile_c, tmp_path, *sets, turns="1")
    sent, received, missed = (
        sum(each[name] for each in found) for name in ("sent", "received", "missed")
    )
    assert sent == received + missed


def test_few_descriptors_and_a_small_table_hold_up_nobody(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("late", (PLACE / "late.c").read_text())
    sets = ["netcache.via.receives=2", "netcache.mpi.slots=2", "netcache.via.depth=4",
            "netcache.via.window=2", "netcache.via.table=64",
            "netcache.via.retry=2 us"]  # fmt: skip
    options = [word for each in sets for word in ("--set", each)]
    done = command(
        "run", "--out", "run", "-np", "2", "--machine", MVIA, *options, "--", program, "300",
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "late: PASSED" in done.stdout


def test_memory_that_is_unmapped_is_not_registered_any_more(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("unmapped", (PLACE / "unmapped.c").read_text())
    carry_out(tmp_path, program, machine=MVIA, sets=[])


@pytest.mark.parametrize("blocks", ["false", "true"])
def test_ranks_of_a_node_share_a_hart(examples: Path, tmp_path: Path, blocks: str) -> None:
    """What one rank sends another of its node never leaves the kernel, which stores it while the
    other has no turn: nothing that waits may count as stuck meanwhile."""
    for ranks in (2, 4):
        words = ["--ranks-per-node", str(ranks), "--set", f"netcache.via.blocks={blocks}"]
        done = command("run", "-q", *words, *example(examples, "heat", MVIA), directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "heat: PASSED" in done.stdout


TRAPS = """\
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long fast_call(uint64_t which, uint64_t value)
{
    register uint64_t a0 __asm__("a0") = which, a1 __asm__("a1") = value, a7 __asm__("a7") = 0x700;
    __asm__ volatile("ecall"
                     : "+r"(a0), "+r"(a1), "+r"(a7)
                     :
                     : "memory", "a2", "a3", "a4", "a5", "a6", "t0", "t1", "t2", "t3", "t4", "t5",
                       "t6");
    return (long)a0;
}

/* Rank 0 rings for queues and descriptors that there are not; the others have their messages. */
int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t x = strtoull(argv[1], NULL, 10), refused = 0;
    register uint64_t kept __asm__("s5") = 0x123456789abcdefull;
    __asm__ volatile("" : "+r"(kept));
    for (int i = 0; i < 200 && rank == 0; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        /* VIs of no rank: those that MPI has must not be disturbed. */
        uint64_t which = i % 2 ? x >> 33 : 2 * (200 + x % 56);
        refused += fast_call(which | (which < 512 ? 400 : 0), x) != 0;
    }
    __asm__ volatile("" : "+r"(kept));
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\\n", refused == 200 && sum == ranks * (ranks - 1) / 2 &&
                               kept == 0x123456789abcdefull ? "traps: PASSED" : "traps: FAILED");
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("words", [["-np", "2"], ["-np", "4", *together(2)]])
def test_wrong_doorbells_are_refused(compile_c: Compiler, tmp_path: Path, words: list[str]) -> None:
    program = compile_c("traps", TRAPS)
    for seed in ("1", "2"):
        done = command("run", "-q", *words, "-m", MVIA, "--", program, seed, directory=tmp_path)
        assert (done.returncode, done.stdout) == (0, "traps: PASSED\n"), f"{seed}: {done.stderr}"


def test_the_controller_knows_whose_frames_are(examples: Path, tmp_path: Path) -> None:
    done = command("run", "--out", "run", *example(examples, "pingpong", MVIA), directory=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = parquet.read_table(tmp_path / "run" / "messages.parquet").to_pylist()
    assert {row["mechanism"] for row in rows} == {"vi", "rdma-write"}
    stages = ["call", "ready", "accept", "inject", "arrive", "land", "match", "deliver"]
    for row in rows:
        # What follows a block's end by RDMA is a frame of its own.
        if row["mechanism"] == "vi":
            times = [row[f"{stage}_ps"] for stage in stages if row[f"{stage}_ps"] is not None]
            assert times == sorted(times)
        assert row["arrive_ps"] is not None


@pytest.mark.parametrize("blocks", ["false", "true"])
def test_the_same_bits(examples: Path, tmp_path: Path, blocks: str) -> None:
    run = ["--set", f"netcache.via.blocks={blocks}", *example(examples, "heat", MVIA)]
    some = list(COMBINATIONS)[-1]
    variations = {
        **EXECUTED,
        "by the reference": ["--set", "check.executor=reference"],
        "translated": TRANSLATED,
        "2 threads": THREADS["2 threads"],
        some: COMBINATIONS[some][1],
    }
    first = ["false", "true"].index(blocks)
    names = list(variations) if SWEEP else list(variations)[first::2]
    check(tmp_path, run, {name: variations[name] for name in names}, 0)


def test_a_receive_costs_the_traps_and_the_interrupt_that_hardware_saves(tmp_path: Path) -> None:
    """netcache/receive-overhead: all groups are there, and hardware VIA, VIA in the kernel and TCP
    come in this order."""
    experiment = running.load("netcache/receive-overhead")
    wanted = ("via-polling-32", "mvia-polling-32", "mvia-blocking-32", "tcp-blocking-32")
    jobs = [run for run in experiment.runs(True) if run.name in wanted]
    outputs = running.run_all("netcache/receive-overhead", jobs, tmp_path, 2, lambda *_: None)
    module = importlib.import_module(MODULE)
    parts = {name: module.spent(outputs[name], name.split("-")[0]) for name in wanted}
    total = {name: sum(cycles for cycles, _ in each.values()) for name, each in parts.items()}
    assert all(cycles > 0 for cycles, _ in parts["mvia-polling-32"].values())
    # What moves the bytes is a copy; checking whether it may is the protocol's.
    groups = [module.group_of("mvia", name) for name in ("memory_copy", "copy", "copy_segments")]
    assert groups == [module.COPY, module.PROTOCOL, module.PROTOCOL]
    executed = {name for path in outputs["mvia-polling-32"].paths(1) for name in path}
    assert "memory_copy" in executed
    assert [total[name] for name in wanted] == sorted(total.values())


def test_what_a_rank_has_sent_arrives_when_it_has_ended(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Its kernel goes on: the last message is lost until the other posts a descriptor."""
    text = """
#include "mpi/runtime/platform.h"
#include "via/vipl.h"
#include <stdio.h>
static char memory[8192] __attribute__((aligned(4096)));
int main(void)
{
    int fd;
    const struct chasqui_ni_identification *ni = chq_platform_open_ni(&fd);
    struct vip_nic nic;
    static struct vip_vi vi, *vis[4096];
    VIP_MEM_HANDLE handle;
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)memory, *done;
    VipOpenNic(&nic, ni, fd, vis);
    VipRegisterMem(&nic, memory, sizeof memory, false, &handle);
    VipCreateVi(&nic, 0, NULL, NULL, &vi);
    VipConnectPeer(&vi, 1 - ni->rank, 0);
    descriptor->segments = 1;
    descriptor->length = 8;
    descriptor->segment[0].address = (uint64_t)(memory + 4096);
    descriptor->segment[0].handle = handle;
    descriptor->segment[0].bytes = 8;
    if (ni->rank == 0) {
        memory[4096] = 7;
        return VipPostSend(&vi, descriptor, handle);
    }
    for (volatile int i = 0; i < 200000; i++)
        ;
    VipPostRecv(&vi, descriptor, handle);
    while (VipRecvDone(&vi, &done) == VIP_NOT_DONE)
        chq_pause();
    printf("%d\\n", memory[4096]);
}
"""
    include = [f"-I{ROOT / 'guest'}", f"-I{ROOT / 'machines' / 'netcache'}"]
    program = compile_c("mvia_last", text, *include)
    done = command("run", "--out", "run", "-np", "2", "-m", MVIA, "--", program, directory=tmp_path)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
    nodes = json.loads((tmp_path / "run" / "summary.json").read_text())["ranks"]
    assert nodes[0]["time_ps"] < nodes[1]["time_ps"]


MEMORY = """\
#include <mpi.h>
#include <string.h>
static char buffer[8192];
static const char constants[8192] = {1};
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *nowhere = (void *)0x1234567000, *from = strcmp(argv[1], "to") ? nowhere : buffer;
    if (!strcmp(argv[1], "constants"))
        from = (void *)constants;
    if (rank == 0)
        MPI_Send(from, 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(strcmp(argv[1], "to") ? buffer : nowhere, 4096, MPI_CHAR, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
    return buffer[0] == (rank > 0 && !strcmp(argv[1], "constants")) ? 0 : 3;
}
"""


@pytest.mark.parametrize("machine", ["netcache/via", "netcache/via-zero-copy", MVIA])
def test_memory_that_is_not_there_is_a_fault(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Of a long message, which registers it; before, its sender tried again without end."""
    program = compile_c("memory", MEMORY)
    for word, rank in (("from", 0), ("to", 1)):
        done = command("run", "-q", "-np", "2", "-m", machine, "--", program, word,
                       directory=tmp_path)  # fmt: skip
        assert done.returncode == 128 + 11
        assert done.stderr.startswith(f"chasqui: fault: rank {rank} at ")
        assert ": read from 0x1234567000: nothing is mapped there" in done.stderr
    done = command("run", "-q", "-np", "2", "-m", machine, "--", program, "constants",
                   directory=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("timeout", "latency"),
    [("10 us", "10 ms"), ("1 ms", "10 ms"), ("39 ms", "10 ms"), *[("10 us", "1 s")] * SWEEP],
)
def test_a_timeout_may_be_shorter_than_the_way_there_and_back(
    examples: Path, tmp_path: Path, timeout: str, latency: str
) -> None:
    """That takes four links' time. All was sent again each time before anything was heard of it,
    and no run ended. A replay's peers do likewise."""
    sets = [f"network.link_latency={latency}", f"netcache.mvia.timeout={timeout}"]
    options = [word for each in sets for word in ("--set", each)]
    ring = examples / "ring"
    recording = tmp_path / "ring.recording"
    whole: list[str | Path] = ["-np", "2", "-m", MVIA, *options, "--limit-time", "1000 s"]
    done = command("run", "-q", *whole, "--", ring, "-l", "1", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    done = command("record", "-np", "2", "-o", recording, "--", ring, "-l", "1",
                   directory=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    alone = [*whole, "--only-rank", "0", "--arrivals", recording]
    done = command("run", "-q", *alone, "--", ring, "-l", "1", directory=tmp_path)
    assert done.returncode == 0, done.stderr


def test_who_never_answers_ends_the_connection(examples: Path, tmp_path: Path) -> None:
    sets = ["network.fault.rate=100 %", "network.fault.kind=drop"]
    options = [word for each in sets for word in ("--set", each)]
    words = ["-q", "-np", "2", "-m", MVIA, *options, "--limit-time", "1000 s"]
    done = command("run", *words, "--", examples / "ring", "-l", "1", directory=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "a connection has ended with an error" in done.stderr
