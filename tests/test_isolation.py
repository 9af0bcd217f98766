"""Jobs beside a job that does harm: by its DMA, by what it sends, by what it does not receive, and
by its end.

Use this when DMA, the service processor's memory, the drain, or what a process leaves at its end
change.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SEVERAL_JOBS, SWEEP, command, in_turn, machines
from test_determinism import differences
from test_jobs import TRAFFIC, run, summary
from test_voyager import NONE_RESIDENT
from test_voyager_queues import HEADERS, REMOTE, SYSTEM

pytestmark = pytest.mark.core

NEIGHBOUR = (ROOT / "tests" / "jobs" / "neighbour.c").read_text()
REACH = (ROOT / "tests" / "voyager" / "reach.c").read_text()
# Loggp and netcache run one job at a time.
MACHINES = [machine for machine in machines() if machine.startswith("voyager")] + SEVERAL_JOBS
SHORT = ["--set", "node.scheduler.quantum=50 us"]
ALONE = ["--set", "node.software.fault_ends_job=false"]

READS = "where the process has no memory that it may read"
WRITES = "of its destination on node 1, where that has no memory that may be written"
# Which side, what it is told to touch, and what is said.
BLOCKS = {
    ("from", "pointers"): READS,
    ("from", "nothing"): READS,
    ("to", "pointers"): WRITES,
    ("to", "code"): WRITES,
    ("to", "constants"): WRITES,
    ("to", "nothing"): WRITES,
}


@pytest.mark.parametrize(
    ("block", "machine"),
    [
        pytest.param(block, machine, id=f"{'-'.join(block)}-{machine}")
        for number, block in enumerate(BLOCKS)
        for machine in (MACHINES if SWEEP else [MACHINES[number % len(MACHINES)]])
    ],
)
def test_a_block_that_may_not_be_moved_is_its_senders_fault(
    compile_c: Compiler, tmp_path: Path, machine: str, block: tuple[str, str]
) -> None:
    """Rank 0 sends it. Nothing of it comes to rank 1, which goes on, as does the other job."""
    traffic, reach = compile_c("traffic", TRAFFIC), compile_c("reach", REACH)
    job = ["--job", f"-np 2 {reach} {' '.join(block)}"]
    options = ["--machine", machine, *SHORT, *ALONE]
    done = run(tmp_path, "run", *options, "-np", 2, *job, "--", traffic, 1, 3, 1000)
    assert done.returncode == 128 + 11, done.stderr
    jobs = [tmp_path / "run" / f"job{i}" for i in range(2)]
    assert summary(jobs[0])["outcome"] == "finished"
    (line,) = done.stderr.splitlines()
    assert line.startswith("chasqui: job 1: fault: rank 0 at ")
    assert "protection: a DMA request " in line
    assert BLOCKS[block] in line
    ranks = [(jobs[1] / f"stdout.{rank}").read_text() for rank in range(2)]
    assert ranks == ["", "rank 1: PASSED\n"]


@pytest.mark.parametrize("offence", ["to code", "deaf"])
def test_such_a_fault_is_found_at_the_same_time_however_it_is_simulated(
    compile_c: Compiler, tmp_path: Path, offence: str
) -> None:
    traffic = compile_c("traffic", TRAFFIC)
    culprit = f"{compile_c('reach', REACH)} to code"
    if offence == "deaf":
        culprit = f"{compile_c('neighbour', NEIGHBOUR)} deaf 30000 0"
    sets = ["--set", "voyager.sp.dram=1 MiB", "--set", "check.coherence=true"]
    words = [*SHORT, *sets, "-np", 4, "--job", f"-np 4 {culprit}", "--", traffic, 1, 3, 1000]
    variations = [[], ["--set", "check.window=1 us"]]
    if SWEEP:
        variations += [["--threads", "2"], ["--set", "check.spin_skip=false"]]
    texts = []
    for number, options in enumerate(variations):
        done = run(tmp_path, f"run{number}", "--machine", "voyager", *options, *words)
        assert done.returncode == 128 + 11, done.stderr
        texts.append((done.stderr, summary(tmp_path / f"run{number}" / "job0")["time_ps"]))
    assert "protection: " in texts[0][0]
    assert texts[1:] == texts[:1] * (len(variations) - 1)


GONE = """\
#include <chasqui/nes.h>
static struct nes nes;
static uint64_t block[1 << 20];
int main(void)
{
    const uint64_t notice[3] = {0}, data[2] = {1, 2};
    if (!nes_open(&nes))
        return 2;
    if (nes.rank == 0)
        return 0;
    for (volatile int i = 0; i < 20000; i++)
        ;
    for (int i = 0; i < 12; i++)
        while (!nes_dma_send(&nes, 0, block, (uintptr_t)block, sizeof block, notice))
            ;
    for (int i = 0; i < 100; i++)
        while (!nes_basic_send(&nes, 0, data, sizeof data))
            ;
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["voyager", "voyager/reclaim", "voyager-modern"])
def test_what_is_for_a_process_that_is_over_is_not_sent(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Of twelve blocks of 8 MiB the first is broken off, and the others are not begun, however it
    is simulated."""
    gone = compile_c("gone", GONE, HEADERS)
    variations = [[], ["--set", "check.window=1 us"], ["--threads", "2"]]
    variations += [["--set", "check.spin_skip=false"], ["--set", "check.coherence=true"]]
    found = []
    for number, options in enumerate(variations if SWEEP else variations[:3]):
        done = run(tmp_path, f"run{number}", "-m", machine, *options, "-np", 2, "--", gone)
        assert done.returncode == 0, done.stderr
        directory = tmp_path / f"run{number}"
        counters = ["dma_bytes", "late", "withheld", "transmitted"]
        counts = [ni_counts(directory, counter) for counter in counters]
        found.append((summary(directory)["time_ps"], counts))
    print(found[0])
    assert found[1:] == found[:1] * (len(found) - 1)
    _, (moved, late, withheld, sent) = found[0]
    assert 0 < moved[1] < 4096
    assert 0 < late[0] < 64
    assert withheld == [0, 11 + 100]
    assert sent == [0, 0]


@pytest.mark.parametrize("side", ["from", "to"])
def test_a_block_that_may_be_moved_is(compile_c: Compiler, tmp_path: Path, side: str) -> None:
    reach = compile_c("reach", REACH)
    done = run(tmp_path, "run", "--machine", "voyager", "-np", 2, "--", reach, side, "memory")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0: after it", "rank 1: PASSED"]


@pytest.mark.parametrize("machine", ["voyager/flush", "voyager/onequeue"])
@pytest.mark.parametrize("how", ["deaf", "exit"])
def test_a_job_that_never_receives_fills_its_share_of_memory_alone(
    compile_c: Compiler, tmp_path: Path, machine: str, how: str
) -> None:
    """1 MiB holds some 9,000 messages. What comes for a process that has exited is not kept."""
    traffic, neighbour = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    ranks, rounds, until = (4, 25, 30_000) if machine == "voyager/flush" else (2, 16, 60_000)
    options = ["--machine", machine, *SHORT, "--set", "voyager.sp.dram=1 MiB"]
    job = ["--job", f"-np {ranks} {neighbour} {how} {until} 0"]
    done = run(tmp_path, "run", *options, "-np", ranks, *job, "--", traffic, 1, rounds, 3000)
    assert summary(tmp_path / "run" / "job0")["outcome"] == "finished", done.stderr
    if how == "exit":
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 128 + 11
    text = "protection: messages that it has not received fill its share of the service processor's"
    assert done.stderr.startswith("chasqui: job 1: fault: rank 0 at ")
    assert f"{text} memory, 1 of 2 of voyager.sp.dram = 1 MiB" in done.stderr


def test_each_job_has_a_share_of_memory_that_suffices(compile_c: Compiler, tmp_path: Path) -> None:
    traffic = compile_c("traffic", TRAFFIC)
    sets = ["--set", "voyager.sp.dram=1 MiB", "--set", "voyager.express.slots=4096"]
    job = ["--job", str(traffic)]
    done = run(tmp_path, "run", "--machine", "voyager", *sets, *job, "--", traffic)
    assert done.returncode == 2
    assert "voyager.sp.dram = 1 MiB: 2 processes of several jobs have a share each" in done.stderr


def test_questions_of_two_jobs_are_answered_to_each(compile_c: Compiler, tmp_path: Path) -> None:
    """Under the same source ids, each from its own memory."""
    remote = compile_c("remote", REMOTE, HEADERS)
    options = ["--machine", "voyager", *SYSTEM, *SHORT, "-np", 2]
    done = run(tmp_path, "run", *options, "--job", f"-np 2 {remote} 12", "--", remote, 20)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "remote: PASSED\n" * 2


SEED = int(os.environ.get("SEED", "1"))
# Of traffic: rounds and steps between them. Of the neighbour: how long, and how late rank 0 ends at
# the latest [us].
TIMES = {
    "voyager-modern": ((40, 1000), 4000, 100),
    "voyager/onequeue": ((4, 1000), 12_000, 2000),
}
LATEST_US = 1000  # of the other machines
NEIGHBOURS = ["flood", "deaf", "exit", "fault", "abort", "block", "long", "looks", "blocks"]
# One that computes, and leaves its harts as these do.
ENDING = {"exit": "rest", "block": "rest", "fault": "leave", "abort": "leave"}
STATUS = {"fault": 128 + 11, "abort": 128 + 6}
HOMES = {"resident": [], "served": NONE_RESIDENT, "moved": SYSTEM}


# Of what the service processor does: loads, packets; stores that nobody waits for, and that a link
# takes in; moves of queues that take longer than a turn. And blocks both ways, which keep the bus
# busy.
SERVED = [
    *[("resident", "blocks", machine) for machine in ("voyager", "voyager/reclaim")],
    *[("served", "looks", "voyager"), ("served", "deaf", "voyager-modern")],
    *[("served", "points", machine) for machine in ("voyager", "voyager-modern")],
    *[("moved", "moves", machine) for machine in ("voyager", "voyager-modern")],
]


def beside() -> list[tuple[str, str, str]]:
    """Where the queues are, what the neighbour does, the machine. On voyager/onequeue none are
    served. On voyager-modern with served queues the service processor does nearly all the work: a
    job that is held up must not keep the hart, which the other has a turn of."""
    served = [each for each in MACHINES if each not in SEVERAL_JOBS]
    if SWEEP:
        every = [("resident", how, machine) for how in NEIGHBOURS for machine in MACHINES]
        every += [("served", how, machine) for how in NEIGHBOURS for machine in served]
        return every + [each for each in SERVED if each not in every]
    some = [
        ("resident", how, MACHINES[number % len(MACHINES)]) for number, how in enumerate(NEIGHBOURS)
    ]
    return some + [each for each in SERVED if each not in some]


@functools.cache
def time_beside(
    programs: tuple[Path, Path],
    out: Path,
    options: tuple[str, ...],
    how: str,
    ends: int,
    ranks: int = 2,
    rounds: int | None = None,
    jobs: int = 1,
    own_ranks: int = 2,
    until: int = 0,
) -> int:
    """Time of `traffic`, of `own_ranks`, beside so many jobs of `neighbour`, each of so many ranks
    [ps]."""
    traffic, neighbour = programs
    (usual, steps), usually_until, _ = TIMES.get(options[1], ((6, 1000), 4000, LATEST_US))
    rounds, until = rounds or usual, until or usually_until
    job = ["--job", f"-np {ranks} {neighbour} {how} {until} {ends}"] * jobs
    words = ["-np", own_ranks, *options, *SHORT, *job, "--", traffic, 1, rounds, steps]
    done = command("run", "-q", "--out", str(out), *map(str, words), directory=out.parent)
    assert done.returncode == STATUS.get(how, 0), done.stderr
    found = json.loads((out / "job0" / "summary.json").read_text())
    assert found["outcome"] == "finished"
    return int(found["time_ps"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside")


def endings(machine: str) -> tuple[int, int]:
    """When rank 0 of a job ends that does [us]: at once, and at a moment that SEED draws."""
    latest = TIMES[machine][2] if machine in TIMES else LATEST_US
    return 0, random.Random(f"{SEED} {machine}").randint(1, latest)


@pytest.mark.xdist_group("isolation")
@pytest.mark.parametrize(
    ("home", "how", "machine"), [pytest.param(*each, id="-".join(each)) for each in beside()]
)
def test_a_job_takes_at_most_half_as_long_again_whatever_its_neighbour_does(
    compile_c: Compiler, folder: Path, machine: str, how: str, home: str
) -> None:
    """As beside one that computes, and leaves its harts at the same time."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    options = ("--machine", machine, *HOMES[home])
    name = f"{machine.replace('/', '-')}-{home}"
    ends = endings(machine) if how in ENDING else (0,)
    computes = ENDING.get(how, "compute")
    for end in ends:
        reference, time = (
            time_beside(programs, folder / f"{name}-{each}-{end}", options, each, end)
            for each in (computes, how)
        )
        print(f"{how} after {end} us, SEED={SEED}: {time / reference:.2f}")
        assert time <= 1.5 * reference, f"{how} after {end} us: {time / reference:.2f}"


@pytest.mark.parametrize(
    ("machine", "how"),
    in_turn(["voyager", "voyager-modern"], ["flood", "deaf", "blocks", "exit"]),
)
def test_a_job_of_many_ranks_on_a_node_takes_no_more_from_another(
    compile_c: Compiler, tmp_path: Path, machine: str, how: str
) -> None:
    """Four ranks on each of two nodes, each with queues and a hart of its own, beside two ranks on
    one of these: the NES turns to processes, not to jobs. What is for a process that is over is
    dropped where it comes from."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    options = ("--machine", machine, "--ranks-per-node", "4", "--set", "node.harts=8")
    computes = ENDING.get(how, "compute")
    reference, time = (
        time_beside(programs, tmp_path / each, options, each, 0, ranks=8)
        for each in (computes, how)
    )
    print(f"{how}: {time / reference:.2f}")
    assert time <= 1.5 * reference
    # A site that knows that rank 0 is over sends it nothing: what was on its way came late.
    if how == "exit":
        late, withheld = (ni_counts(tmp_path / how / "job0", name) for name in ("late", "withheld"))
        assert min(withheld) > 1000
        assert 0 < late[0] < 200
        assert late[1] == 0


@pytest.mark.parametrize(
    ("how", "ranks", "per_node", "rounds"),
    [("deaf", 12, 2, 36), ("flood", 12, 2, 36), ("deaf", 24, 1, 100)],
)
def test_floods_of_many_sites_are_held_up_at_once(
    compile_c: Compiler, tmp_path: Path, how: str, ranks: int, per_node: int, rounds: int
) -> None:
    """When only the source of the next packet was told, the miss queue of one site was full before
    eleven ranks on six nodes were, and the other job took 1.9 and 1.7 times as long. When all that
    they had sent by then counted, 23 were let go on amid it, and it took 2.9 times as long."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    harts = ["--set", f"node.harts={2 * per_node}"]
    options = ("--machine", "voyager-modern", "--ranks-per-node", str(per_node), *harts)
    reference, time = (
        time_beside(programs, tmp_path / each, options, each, 10**6, ranks, rounds)
        for each in ("compute", how)
    )
    print(f"{how}: {time / reference:.2f}")
    assert time <= 1.5 * reference


ONLY_MESSAGES = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static char block[65536], other[65536];
int main(int argc, char **argv)
{
    int rank, rounds = atoi(argv[1]), bytes = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (argc > 3) { /* both ways at once */
            MPI_Sendrecv(block, bytes, MPI_CHAR, 1 - rank, 0, other, bytes, MPI_CHAR, 1 - rank, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        if (rank == 0)
            MPI_Send(block, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(block, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(block, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.0f\\n", (MPI_Wtime() - begin) * 1e9);
    MPI_Finalize();
    return 0;
}
"""


def alone_with(
    programs: tuple[Path, Path],
    out: Path,
    how: str,
    rounds: int,
    size: int,
    options: Sequence[str],
    neighbours: int = 1,
) -> int:
    """Time [ns] that messages take, in a job that has a hart of its own and no other work that
    would hide what they wait for, beside neighbours; `same`: beside a job like it. Pages that no
    process has touched cost nothing: the first pass of a block would be another's."""
    only, neighbour = programs
    # No longer than until its share of memory is full.
    is_modern = "voyager-modern" in options
    until = 24_000 if not is_modern else 3000 if neighbours == 1 else 8000
    # More blocks at once would have more than a half.
    ranks = 2 if how in ("long", "block", "streams") else 4
    job = ["--job", f"-np {ranks} {neighbour} {how} {until} {until}"] * neighbours
    if how == "same":
        job = ["--job", f"-np 2 {only} {4 * rounds} {size}"]
    if how == "both":
        job = ["--job", f"-np 2 {only} {300 if is_modern else 30} 65536 both"]
    sets = ["--set", f"node.harts={1 + neighbours}", "--set", "voyager.dma.page_in=0 cycles"]
    done = run(out, how, *options, *sets, "-np", 2, *job, "--", only, rounds, size)
    assert done.returncode == 0, done.stderr
    ends = [int(str(summary(out / how / job)["time_ps"])) for job in ("job0", "job1")]
    assert ends[0] <= ends[1], f"{how}: the neighbour ended first"
    return int((out / how / "job0" / "stdout.0").read_text())


# What a neighbour does in the columns of the README's table.
COLUMNS = ("same", "flood", "deaf", "block", "long", "both", "streams")
# Of flood and deaf. Where the firmware does all the work, each job has a fair half of its time, of
# which such a job would take 0.86: 2.04 where jobs have as many events, not as much time.
MOST = {("resident", 8): 1.5, ("resident", 65536): 1.5, ("served", 8): 2.0, ("served", 65536): 1.5}


def check_said(row: str, ratios: Sequence[float]) -> None:
    """A row of machines/voyager/README.md says these: `least to greatest`, or to 0.15, since how
    programs lie in memory moves times of 8 bytes by some 5 %."""
    row = f"| {row} | "
    text = (ROOT / "machines" / "voyager" / "README.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(row)]
    figures = line.removeprefix(row).rstrip(" |").split(" | ")
    assert len(figures) == len(ratios)
    for figure, ratio in zip(figures, ratios, strict=True):
        least, _, greatest = figure.partition(" to ")
        margin = 0 if greatest else 0.15
        assert float(least) - margin <= ratio <= float(greatest or least) + margin, line


# Of the longer ones in a sweep.
@pytest.mark.parametrize(
    ("machine", "most"),
    in_turn(["voyager-modern", "voyager"], [each for each in MOST if SWEEP or each[1] == 8]),
)
def test_messages_and_nothing_else_beside_a_neighbour(
    compile_c: Compiler, tmp_path: Path, machine: str, most: tuple[str, int]
) -> None:
    """Three of its ranks that flood one are held up at their source (machines/voyager/firmware/
    hold.c), so that what finds no room at its queues holds up nobody else's. Of DMA and links,
    which blocks keep busy, messages have a fair half."""
    programs = compile_c("only", ONLY_MESSAGES), compile_c("neighbour", NEIGHBOUR)
    home, size = most
    rounds = 300 if size == 8 else 100 if machine == "voyager-modern" else 10
    options = ["-m", machine, *HOMES[home]]
    times = {
        how: alone_with(programs, tmp_path, how, rounds, size, options)
        for how in ("compute", *COLUMNS)
    }
    held = {how: held_up(tmp_path / how / "job0") for how in ("compute", "flood", "deaf")}
    ratios = {how: times[how] / times["compute"] for how in COLUMNS}
    print(f"{times} ns: {[f'{ratio:.2f}' for ratio in ratios.values()]}; held up {held}")
    assert max(ratios["flood"], ratios["deaf"]) <= MOST[most]
    assert max(ratio for how, ratio in ratios.items() if how != "both") <= max(2, MOST[most])
    words = "8 bytes" if size == 8 else "64 KiB"
    check_said(f"{words}, {home}, `{machine}`", list(ratios.values()))
    assert held["compute"] == 0
    assert held["flood"] > 0
    assert home == "served" or held["deaf"] > 0


@pytest.mark.parametrize(("neighbours", "most"), [(2, 1.5), *[(3, 2)] * SWEEP])
@pytest.mark.turn(0)
def test_messages_and_nothing_else_beside_several_neighbours(
    compile_c: Compiler, tmp_path: Path, neighbours: int, most: float
) -> None:
    """In so many rounds that what each has under way when it is held up would have filled the miss
    queue, were it not held up in time. Floods that are received nobody holds up: on voyager-modern
    they keep the NES busy."""
    programs = compile_c("only", ONLY_MESSAGES), compile_c("neighbour", NEIGHBOUR)
    ratios = []
    for machine in ("voyager", "voyager-modern"):
        (tmp_path / machine).mkdir()
        times = {
            how: alone_with(programs, tmp_path / machine, how, 500, 8, ["-m", machine], neighbours)
            for how in ("compute", "flood", "deaf")
        }
        print(f"{machine} beside {neighbours} neighbours: {times} ns")
        ratios += [times[how] / times["compute"] for how in ("flood", "deaf")]
    assert max(ratios[:2]) <= most
    check_said(f"8 bytes, resident, {neighbours} such jobs", ratios)


NAMELESS = (ROOT / "tests" / "voyager" / "nameless.c").read_text()


@pytest.mark.parametrize("machine", ["voyager", "voyager-modern"])
@pytest.mark.parametrize("words", [("0", "1"), ("1", "0"), ("1", "1")])
def test_messages_to_a_queue_that_nobody_has_stop_no_job(
    compile_c: Compiler, tmp_path: Path, machine: str, words: tuple[str, str]
) -> None:
    """Those of either job, both of which are held up now and then: it goes on, and so does the
    other one."""
    nameless = compile_c("nameless", NAMELESS, HEADERS)
    first, second = (f"{nameless} 800 {word}" for word in words)
    options = ["-m", machine, *SYSTEM, "--set", "node.harts=2", "--limit-time", "60 ms"]
    done = run(
        tmp_path, "run", "-np", 2, *options, "--job", f"-np 2 {second}", "--", *first.split()
    )
    assert done.returncode == 0, done.stderr
    for job in ("job0", "job1"):
        found = [(tmp_path / "run" / job / f"stdout.{rank}").read_text() for rank in range(2)]
        assert found == ["rank 0: PASSED\n", "rank 1: PASSED\n"]
    assert held_up(tmp_path / "run" / "job0") > 0
    assert ni_count(tmp_path / "run" / "job0", "dropped") == 800 * words.count("1")


def ni_counts(job: Path, counter: str) -> list[int]:
    """Of each node."""
    statistics = json.loads((job / "stats.json").read_text())
    nodes = [found for name, found in statistics.items() if name.startswith("node")]
    return [int(node["ni"][counter]["value"]) for node in nodes]


def ni_count(job: Path, counter: str) -> int:
    """Of all nodes."""
    return sum(ni_counts(job, counter))


def held_up(job: Path) -> int:
    """How often jobs were held up."""
    return ni_count(job, "held_up")


def test_without_holding_jobs_up_in_time_a_flood_stops_others(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """So it is this that keeps them apart."""
    programs = compile_c("only", ONLY_MESSAGES), compile_c("neighbour", NEIGHBOUR)
    for setting, most in (("hold=0", 3.0), ("miss_slots=2", 2.0)):
        ratios = []
        for machine in ("voyager", "voyager-modern"):
            options = ["-m", machine, "--set", f"voyager.sp.{setting}"]
            out = tmp_path / setting / machine
            out.mkdir(parents=True)
            compute, flood = (
                alone_with(programs, out, how, 100, 8, options) for how in ("compute", "flood")
            )
            ratios.append(flood / compute)
        print(f"{setting}: {ratios}")
        assert min(ratios) > most
        check_said(f"8 bytes, resident, with `{setting}`", ratios)


def test_without_a_line_at_a_time_blocks_both_ways_keep_the_bus(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """So it is this that leaves it to others."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    times = []
    for lines in (1, 512):
        options = ("--machine", "voyager", "--set", f"voyager.dma.lines={lines}")
        times.append(time_beside(programs, tmp_path / str(lines), options, "blocks", 0))
    print(times)
    assert times[1] > 1.15 * times[0]


def test_a_line_at_a_time_costs_blocks_beside_a_job_that_computes_nothing(
    compile_c: Compiler, tmp_path: Path
) -> None:
    programs = compile_c("only", ONLY_MESSAGES), compile_c("neighbour", NEIGHBOUR)
    times = []
    for lines in (1, 512):
        out = tmp_path / str(lines)
        out.mkdir()
        options = ["-m", "voyager", "--set", f"voyager.dma.lines={lines}"]
        times.append(alone_with(programs, out, "compute", 10, 65536, options))
    print(times)
    assert abs(times[0] / times[1] - 1) < 0.02


BURSTS = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, rounds = atoi(argv[1]), messages = atoi(argv[2]);
    double data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        for (double until = MPI_Wtime() + 300e-6; rank == 0 && MPI_Wtime() < until;)
            ;
        for (int i = 0; i < messages; i++) {
            if (rank == 1)
                MPI_Send(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank == 0)
            MPI_Send(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("%.0f\\n", (MPI_Wtime() - begin) * 1e9);
    MPI_Finalize();
    return 0;
}
"""


def test_no_job_is_held_up_for_as_long_as_others_come(compile_c: Compiler, tmp_path: Path) -> None:
    """The flood's queues are served, so that all it sends goes through the miss queue. Bursts of
    the other job, whose queues are resident, find theirs full now and then."""
    programs = compile_c("bursts", BURSTS), compile_c("neighbour", NEIGHBOUR)
    homes = [f"voyager.queues.resident_{kind}=2" for kind in ("basic", "express")]
    options = ["-m", "voyager", "--set", homes[0], "--set", homes[1]]
    time = alone_with(programs, tmp_path, "flood", 10, 100, options)
    assert held_up(tmp_path / "flood" / "job0") > 0
    assert time < 19e6, "it has waited for the neighbour's end"


def test_a_job_that_has_the_nodes_to_itself_is_not_held_up(
    compile_c: Compiler, tmp_path: Path
) -> None:
    neighbour = compile_c("neighbour", NEIGHBOUR)
    for hold in (0, 4):
        words = ["-m", "voyager", "--set", f"voyager.sp.hold={hold}", "-np", 4]
        done = run(tmp_path, str(hold), *words, "--", neighbour, "flood", 2000, 0)
        assert done.returncode == 0, done.stderr
    assert held_up(tmp_path / "4") == 0
    assert len({summary(tmp_path / str(hold))["time_ps"] for hold in (0, 4)}) == 1


BLOCKS_AT_ONCE = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static char block[400000];
int main(int argc, char **argv)
{
    int rank, size, rounds = atoi(argv[1]), bytes = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        block[bytes - 1] = rank < size / 2 ? (char)(round + 1) : 0;
        if (rank < size / 2)
            MPI_Send(block, bytes, MPI_CHAR, rank + size / 2, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(block, bytes, MPI_CHAR, rank - size / 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (block[bytes - 1] != (char)(round + 1))
            return 3;
    }
    if (rank == size - 1)
        printf("%.0f\\n", (MPI_Wtime() - begin) * 1e9);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("jobs", [2, 1])
def test_blocks_of_two_processes_take_turns(compile_c: Compiler, tmp_path: Path, jobs: int) -> None:
    """Where there is room for all packets on a fast link, nothing else has a transfer go on that
    waited for its turn. Turns cost little: of processes as beside long ones, of jobs as beside one
    job after the other."""
    program = str(compile_c("blocks", BLOCKS_AT_ONCE))
    wide = ["--set", "network.input_buffer=64", "--set", "network.link_bandwidth=2 GB/s"]

    def time(out: str, *words: str) -> int:
        words = ("run", "-q", "-m", "voyager", *wide, *words)
        done = command(*words, "--out", out, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return max(int(word) for word in done.stdout.split())

    if jobs == 2:
        alone = [*SHORT, "-np", "2", "--", program, "1", "400000"]
        beside = [*SHORT, "-np", "2", "--job", f"-np 2 {program} 1 400000", *alone[-4:]]
        times = [time("beside", *beside), 2 * time("alone", *alone)]
    else:
        words = ["-np", "4", "--ranks-per-node", "2", "--set", "node.harts=2"]
        words += ["--", program, "6", "60000"]
        turns = ("4 KiB", "1 GiB")
        times = [time(turn[0], "--set", f"voyager.dma.turn={turn}", *words) for turn in turns]
    print(f"{times} ns")
    assert times[0] < 1.15 * times[1]


MIXED = (ROOT / "tests" / "voyager" / "mixed.c").read_text()


@pytest.mark.parametrize(
    ("machine", "seed", "lines", "status"),
    [("voyager/reclaim", 1, 1, 0), ("voyager", 54, 1, 0), ("voyager", 54, 512, 124)],
)
def test_all_mechanisms_where_buffers_are_small(
    compile_c: Compiler, tmp_path: Path, machine: str, seed: int, lines: int, status: int
) -> None:
    """A request's end that a credit allows had the next ask for the bus sooner than promised, with
    all lines of a packet at once: that scenario is the last."""
    mixed = compile_c("mixed", MIXED, HEADERS, "-O2")
    others = [(f"{seed}", 50), (f"1{seed}", 0), (f"2{seed}", 100)]
    jobs = [f"-np 2 {mixed} {its} 2000 {deaf}" for its, deaf in others]
    words = ["--limit-time", "20 ms", "--machine", machine, *SHORT, "-np", 2]
    words += ["--set", "network.input_buffer=1", "--set", "voyager.dma.requests=2"]
    words += ["--set", f"voyager.dma.lines={lines}"]
    words += [word for job in jobs for word in ("--job", job)]
    ways: dict[str, list[str]] = {
        "one": ["--threads", "1"],
        "two": ["--threads", "2"],
        "window": ["--set", "check.window=1 us"],
    }
    for name, way in ways.items():
        done = run(tmp_path, name, *way, *words, "--", mixed, f"3{seed}", 2000, 0)
        assert done.returncode == status, done.stderr
        for job in range(4):
            one, other = (tmp_path / each / f"job{job}" for each in ("one", name))
            assert differences(one, other, way) == []
