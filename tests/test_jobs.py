"""Several jobs on the same nodes: answers, protection, ends, determinism, and what is refused.

Use this when the scheduler of a node, queues of several processes, or what a run leaves of each job
change.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT, Compiler
from simulated import SEVERAL_JOBS, SWEEP, command, machines, two_at_a_time
from test_determinism import TURNS, VARIATIONS, differences
from test_voyager import NONE_RESIDENT, WIDE
from test_voyager_queues import OFFENCES, SERVER, SYSTEM

pytestmark = pytest.mark.core

VARIANTS = [machine for machine in machines() if machine.startswith("voyager")] + SEVERAL_JOBS
TRAFFIC = (ROOT / "tests" / "jobs" / "traffic.c").read_text()
# Many turns, at different times on different nodes.
SHORT = ["--set", "node.scheduler.quantum=50 us"]

VOYAGER = ["--machine", "voyager", *SHORT]


def summary(directory: Path) -> dict[str, object]:
    result: dict[str, object] = json.loads((directory / "summary.json").read_text())
    return result


def counter(directory: Path, name: str) -> int:
    statistics = json.loads((directory / "stats.json").read_text())
    for part in name.split("."):
        statistics = statistics[part]
    return int(statistics["value"])


def run(directory: Path, out: str, *words: object) -> subprocess.CompletedProcess[str]:
    return command("run", "-q", "--out", out, *map(str, words), directory=directory)


@pytest.fixture
def traffic(compile_c: Compiler) -> Path:
    return compile_c("traffic", TRAFFIC)


@pytest.mark.parametrize("machine", VARIANTS)
def test_two_jobs_get_their_own_messages(traffic: Path, tmp_path: Path, machine: str) -> None:
    """With as many ranks and with fewer, in turns of 50 us: as each of them alone."""
    jobs = [(4, f"{traffic} 1 12 2000"), (3, f"{traffic} 2 9 5000")]
    alone = []
    for i, (ranks, words) in enumerate(jobs):
        arguments = ["-np", ranks, "--machine", machine, "--", *words.split()]
        done = run(tmp_path, f"alone{i}", *arguments)
        assert done.returncode == 0, done.stderr
        alone.append(done.stdout)
    (first, words), (second, other) = jobs
    options = ["--machine", machine, *SHORT, "--set", "check.coherence=true"]
    job = ["--job", f"-np {second} {other}"]
    done = run(tmp_path, "both", "-np", first, *options, *job, "--", *words.split())
    assert done.returncode == 0, done.stderr
    both = tmp_path / "both"
    assert [(both / f"job{i}" / "stdout.0").read_text() for i in range(2)] == alone
    for i in range(2):
        one, shared = summary(tmp_path / f"alone{i}"), summary(both / f"job{i}")
        assert shared["messages"] == one["messages"]
        assert shared["time_ps"] > one["time_ps"]  # type: ignore[operator]
    assert counter(both / "job0", "node00000.scheduler.switches") > 10


@pytest.mark.parametrize("kernel", [False, True])
def test_jobs_have_memory_of_their_own_for_messages(
    traffic: Path, tmp_path: Path, kernel: bool
) -> None:
    options = ["--machine", "voyager", *SHORT, "--ranks-per-node", 2, "--set", "node.harts=4"]
    options += [
        "--mpi",
        "local.channel=memory",
        "--set",
        f"node.software.kernel={str(kernel).lower()}",
    ]
    words = [["-np", 4, "--", traffic, 1, 12, 2000], ["-np", 4, "--", traffic, 2, 9, 5000]]
    alone = [run(tmp_path, f"alone{i}", *options, *each) for i, each in enumerate(words)]
    assert [done.returncode for done in alone] == [0, 0]
    job = f"--job=-np 4 {traffic} 2 9 5000"
    done = run(tmp_path, "both", *options, job, *words[0])
    assert done.returncode == 0, done.stderr
    found = [(tmp_path / "both" / f"job{i}" / "stdout.0").read_text() for i in range(2)]
    assert found == [each.stdout for each in alone]


@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_64_byte_stores_of_two_jobs(
    compile_c: Compiler, traffic: Path, tmp_path: Path, sets: list[str]
) -> None:
    """In turns of 20 us: no end of a turn loses or repeats a store that was answered."""
    wide = compile_c("wide", WIDE)
    options = ["--machine", "voyager-modern", "--set", "node.scheduler.quantum=20 us", *sets]
    jobs = ["--job", f"-np 2 {wide} 600", "--job", f"-np 2 {wide} 500"]
    done = run(tmp_path, "run", *options, "-np", 4, *jobs, "--", traffic, 1, 9, 2000)
    assert done.returncode == 0, done.stderr
    for job in (1, 2):
        directory = tmp_path / "run" / f"job{job}"
        assert (directory / "stdout.1").read_text() == "wide: PASSED\n"
    assert counter(tmp_path / "run" / "job0", "node00001.scheduler.preemptions") > 4


@pytest.mark.parametrize("quantum", ["20 us", "23.5 us", "26 us"])
def test_no_end_of_a_turn_loses_a_message(
    compile_c: Compiler, tmp_path: Path, quantum: str
) -> None:
    """A load that takes a message is made though its process has to leave, also where a store of
    its own ends just then, and the hart looks again before the answer is here."""
    source = (ROOT / "machines" / "voyager" / "experiments" / "multitask.c").read_text()
    exchange = compile_c("jobs_exchange", source)
    job = f"-np 4 {exchange} 1500 5"
    options = ["--machine", "voyager", "--set", f"node.scheduler.quantum={quantum}"]
    done = run(tmp_path, "run", *options, "-np", 4, "--job", job, "--", *job.split()[2:])
    assert done.returncode == 0, done.stderr
    sums = [(tmp_path / "run" / f"job{i}" / "stdout.0").read_text() for i in range(2)]
    assert sums[0] == sums[1] != ""
    assert counter(tmp_path / "run" / "job0", "node00001.scheduler.preemptions") > 1000


def test_a_process_that_is_not_running_receives(traffic: Path, tmp_path: Path) -> None:
    """Also when its queue is not resident, as the second job's here: through the firmware."""
    sets = [
        "--set",
        "voyager.queues.resident_basic=1",
        "--set",
        "voyager.queues.resident_express=2",
    ]
    job = ["--job", f"-np 4 {traffic} 2 3 3000"]
    done = run(tmp_path, "run", *VOYAGER, *sets, "-np", 4, *job, "--", traffic, 1, 9, 1000)
    assert done.returncode == 0, done.stderr
    assert "traffic: job 2, 4 ranks" in (tmp_path / "run" / "job1" / "stdout.0").read_text()
    assert counter(tmp_path / "run" / "job0", "node00000.ni.missed") > 0


def test_a_turn_together_needs_an_empty_network(traffic: Path, tmp_path: Path) -> None:
    """At each turn every site's firmware sends two marks to every other, and swaps the queues; all
    turns are the same."""
    machine = ["--machine", "voyager/onequeue", *SHORT, "-np", 3]
    job = ["--job", f"-np 3 {traffic} 2 6 3000"]
    done = run(tmp_path, "run", *machine, *job, "--", traffic, 1, 6, 1000)
    assert done.returncode == 0, done.stderr
    directory = tmp_path / "run" / "job0"
    nodes = [f"node0000{node}" for node in range(3)]
    marks = [counter(directory, f"{node}.ni.own_sent") for node in nodes]
    switches = [counter(directory, f"{node}.scheduler.switches") for node in nodes]
    assert len(set(marks)) == 1
    assert len(set(switches)) == 1
    # A turn that comes to the same job is no switch.
    assert marks[0] >= 4 * switches[0] > 40
    # Both rings of a Basic queue cross the bus out and in, six lines of 32 bytes a slot, and the
    # firmware is instructions.
    assert counter(directory, "node00000.ni.sp.instructions") > 1000 * switches[0]
    assert counter(directory, "node00000.ni.drain_ps") > 100_000_000 * switches[0]


def test_messages_that_wait_beyond_a_turn_keep_their_names(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Queues that are swapped out have some that nobody has read."""
    late = compile_c("late", (ROOT / "tests" / "jobs" / "late.c").read_text())
    machine = ["--machine", "voyager/onequeue", *SHORT, "-np", 2]
    done = run(tmp_path, "run", *machine, "--job", f"-np 2 {late}", "--", late)
    assert (done.returncode, done.stdout) == (0, "late: PASSED\n" * 2), done.stderr
    for job in ("job0", "job1"):
        messages = pq.read_table(tmp_path / "run" / job / "messages.parquet")
        assert messages["done_ps"].null_count == 0


# What watches single harts is for one job.
SAME = {
    name: options
    for name, options in VARIATIONS.items()
    if not {"--profile", "--trace-instructions"} & set(options)
}


# A process gives the hart up after so many polls: often in a turn of 50 us, or less than once.
OFTEN, SELDOM = ["--mpi", "wait.polls=5"], ["--mpi", "wait.polls=300"]
YIELDING = {
    "yields often": ["--machine", "voyager", *OFTEN],
    "yields seldom": ["--machine", "voyager", *SELDOM],
}
SHARED = {machine: ["--machine", machine] for machine in VARIANTS} | YIELDING


@pytest.mark.parametrize("name", SHARED)
def test_jobs_have_the_same_bits(traffic: Path, tmp_path: Path, name: str) -> None:
    """On any number of host threads, however far nodes run, with polling loops skipped or not."""
    first = list(SHARED).index(name) % TURNS
    some = list(SAME) if SWEEP else list(SAME)[first::TURNS]
    variations = {"reference": [], **{name: SAME[name] for name in some}}
    job = ["--job", f"-np 4 {traffic} 2 4 9000"]
    common = ["-np", 4, *SHARED[name], *SHORT, *job, "--", traffic, 1, 4, 1000]

    def attempt(name: str) -> str:
        done = run(tmp_path, name, *variations[name], *common)
        return "" if done.returncode == 0 else f"{name}: {done.stdout}{done.stderr}"

    assert [text for text in two_at_a_time(attempt, variations) if text] == []
    found = {
        (name, job): differences(tmp_path / "reference" / job, tmp_path / name / job, options)
        for name, options in variations.items()
        for job in ("job0", "job1")
    }
    assert {key: names for key, names in found.items() if names} == {}


SLEEPER = """\
#include <stdio.h>
#include <time.h>
int main(void)
{
    struct timespec begin, end, pause = {0, 300000};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 5; i++)
        nanosleep(&pause, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%d\\n", end.tv_nsec - begin.tv_nsec >= 5 * 300000);
    return 0;
}
"""


def test_a_process_that_sleeps_gives_the_hart_up(
    compile_c: Compiler, traffic: Path, tmp_path: Path
) -> None:
    """The other does not wait for the end of the quantum, which is far."""
    sleeper = compile_c("jobs_sleeper", SLEEPER)
    words = [traffic, 1, 1, 2_000_000]
    quantum = ["--set", "node.scheduler.quantum=100 ms"]
    common = ["--machine", "voyager", *quantum]
    assert run(tmp_path, "alone", *common, "--", *words).returncode == 0
    done = run(tmp_path, "both", *common, "--job", " ".join(map(str, words)), "--", sleeper)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "both" / "job0" / "stdout.0").read_text() == "1\n"
    alone, both = (int(str(summary(tmp_path / name)["time_ps"])) for name in ("alone", "both/job1"))
    # The first sleep is long enough for all but the end of the quantum.
    assert alone < both < alone + 100_000_000
    assert counter(tmp_path / "both" / "job0", "node00000.scheduler.preemptions") == 0


STRANGER = """\
#include <chasqui/nes.h>
int main(void)
{
    static struct nes nes;
    if (!nes_open(&nes))
        return 2;
    if (nes.rank == 1)
        ACTION;
    return 0;
}
"""
# name: what rank 1 of the second job, which has 2 ranks, does, and what is said of it.
FAULTS = {
    "destination": (
        "nes_express_store(&nes, nes.express, 0, 3, 0, 0)",
        "has no destination 3 in the NES's table",
    ),
    "send": (
        "*(volatile uint32_t *)(nes.express - (1 << 28)) = 0",
        "nothing is mapped there",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_process_that_reaches_for_anothers_queue_faults_alone(
    compile_c: Compiler, traffic: Path, tmp_path: Path, name: str
) -> None:
    action, text = FAULTS[name]
    stranger = compile_c(f"jobs_stranger_{name}", STRANGER.replace("ACTION", action))
    job = ["--job", f"-np 2 {stranger}"]
    done = run(tmp_path, "run", *VOYAGER, "-np", 4, *job, "--", traffic, 1, 6, 1000)
    assert done.returncode == 128 + 11, done.stderr
    assert "job 1: fault: rank 1 at " in done.stderr
    assert text in done.stderr
    assert "deadlock" not in done.stderr
    assert summary(tmp_path / "run" / "job0")["outcome"] == "finished"
    assert "job 1, 4 ranks" in (tmp_path / "run" / "job0" / "stdout.0").read_text()


@pytest.mark.parametrize("offence", OFFENCES)
@pytest.mark.parametrize("homes", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_an_offence_of_a_client_is_nothing_to_the_server_and_to_the_other_job(
    compile_c: Compiler, traffic: Path, tmp_path: Path, offence: str, homes: list[str]
) -> None:
    """Clients that can't reach each other, a forged address, an unmapped queue: that process alone
    has a fault. Each job's system software writes its own part of the tables."""
    server = compile_c("server", SERVER)
    alone = run(tmp_path, "alone", *VOYAGER, "-np", 4, "--", traffic, 1, 6, 1000)
    sets = [*SYSTEM, *homes, "--set", "node.software.fault_ends_job=false"]
    job = ["--job", f"-np 4 {server} {offence}"]
    done = run(tmp_path, "run", *VOYAGER, *sets, "-np", 4, *job, "--", traffic, 1, 6, 1000)
    assert done.returncode == 128 + 11, done.stderr
    assert "job 1: fault: rank 1 at " in done.stderr
    assert OFFENCES[offence] in done.stderr
    assert "deadlock" not in done.stderr
    jobs = [tmp_path / "run" / f"job{i}" for i in range(2)]
    assert summary(jobs[0])["outcome"] == "finished"
    assert (jobs[0] / "stdout.0").read_text() == alone.stdout
    ranks = [(jobs[1] / f"stdout.{rank}").read_text() for rank in range(4)]
    assert ranks == ["server: PASSED\n", "", "client 2: PASSED\n", ""]


@pytest.mark.parametrize("ends", ["fault", "deadlock"])
def test_a_job_is_told_of_by_its_own_symbols(
    compile_c: Compiler, traffic: Path, tmp_path: Path, ends: str
) -> None:
    """Though another program's are at the same addresses."""
    body = {
        "fault": "*(volatile int *)8 = 1;",
        "deadlock": """for (;;) __asm__ volatile(".4byte 0x0100000f");""",
    }
    text = f"""\
#include <sched.h>
static void __attribute__((noinline)) where_it_{ends}s(void) {{ {body[ends]} }}
int main(void) {{ where_it_{ends}s(); }}
"""
    broken = compile_c(f"broken_{ends}", text)
    sets = ["--set", "node.software.fault_ends_job=false"]
    # As the first job, as the second, and as both.
    for first, second in ((traffic, broken), (broken, traffic)):
        words = {traffic: [1, 6, 1000], broken: []}
        job = ["--job", f"-np 2 {second} {' '.join(map(str, words[second]))}"]
        out = f"{first.name}-first"
        done = run(tmp_path, out, *VOYAGER, *sets, "-np", 2, *job, "--", first, *words[first])
        assert done.returncode == {"fault": 128 + 11, "deadlock": 125}[ends], done.stderr
        assert f"(where_it_{ends}s" in done.stderr


def test_each_job_has_destinations_of_its_own(compile_c: Compiler, tmp_path: Path) -> None:
    """Two servers whose clients have the same names, with unlike numbers of ranks."""
    server = compile_c("server", SERVER)
    job = ["--job", f"-np 3 {server} none"]
    done = run(tmp_path, "run", *VOYAGER, *SYSTEM, "-np", 5, *job, "--", server, "none")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["client 2: PASSED"] * 2 + ["server: PASSED"] * 2


THIEF = """\
#include <chasqui/nes.h>
#include <stdio.h>
static struct nes nes;
int main(void)
{
    uint64_t found = 0;
    if (!nes_open(&nes))
        return 2;
    /* Behind its own two queues of Express there would be others'. */
    for (int i = 0; i < 500; i++)
        for (int queue = CHASQUI_VOYAGER_EXPRESS_QUEUES; queue < 8; queue++)
            found |= nes_express_receive(&nes, queue);
    printf("%llx\\n", (unsigned long long)(found ^ NES_EMPTY));
    return 0;
}
"""


@pytest.mark.parametrize("homes", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_nobody_takes_messages_of_another_job(
    compile_c: Compiler, traffic: Path, tmp_path: Path, homes: list[str]
) -> None:
    thief = compile_c("jobs_thief", THIEF)
    job = ["--job", f"-np 4 {traffic} 1 6 1000"]
    done = run(tmp_path, "run", *VOYAGER, *homes, "-np", 4, *job, "--", thief)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / "run" / "job0" / f"stdout.{i}").read_text() for i in range(4)] == [
        "0\n"
    ] * 4


NEIGHBOUR = """\
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
    int ni = open("/dev/ni0", O_RDWR), mapped = 0;
    /* Region i is at (i + 1) << 32; a page is all that a process has of each of these. */
    for (long region = 0; region < 4; region++)
        for (long page = 0; page < 4; page++)
            mapped += MAP_FAILED !=
                mmap(0, 4096, PROT_READ, MAP_SHARED, ni, (region + 1) << 32 | page << 12);
    printf("%d\\n", mapped);
    return 0;
}
"""


def test_a_process_can_map_its_own_queues_alone(compile_c: Compiler, tmp_path: Path) -> None:
    """Pointers, rings and requests of the other job lie in the next pages of the NES."""
    neighbour = compile_c("jobs_neighbour", NEIGHBOUR)
    done = run(tmp_path, "run", *VOYAGER, "--job", str(neighbour), "--", neighbour)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4\n4\n"


MULTITASK = (ROOT / "machines" / "voyager" / "experiments" / "multitask.c").read_text()


def test_who_waits_gives_the_hart_up(compile_c: Compiler, tmp_path: Path) -> None:
    """Jobs of short rounds, turns that are far apart: they end sooner, with fewer instructions, and
    compute the same."""
    multitask = compile_c("jobs_multitask", MULTITASK)
    words, machine = [multitask, 100, 200], ["--machine", "voyager", "-np", 4]
    assert run(tmp_path, "alone", *machine, "--", *words).returncode == 0
    job = ["--job", "-np 4 " + " ".join(map(str, words))]
    sets = ["--set", "node.scheduler.quantum=1 ms"]
    found = {}
    for polls in (0, 20):
        out, wait = f"polls{polls}", ["--mpi", f"wait.polls={polls}"]
        done = run(tmp_path, out, *machine, *sets, *wait, *job, "--", *words)
        assert done.returncode == 0, done.stderr
        jobs = [tmp_path / out / f"job{i}" for i in range(2)]
        for rank in range(4):
            expected = (tmp_path / "alone" / f"stdout.{rank}").read_text()
            assert [(each / f"stdout.{rank}").read_text() for each in jobs] == [expected] * 2
        found[polls] = {
            name: max(int(str(summary(each)[name])) for each in jobs)
            for name in ("time_ps", "instructions")
        }
        yields = counter(jobs[0], "node00000.scheduler.yields")
        switches = counter(jobs[0], "node00000.scheduler.switches")
        assert (0 < yields <= switches) if polls else yields == 0
    assert found[20]["time_ps"] < 0.6 * found[0]["time_ps"]
    assert found[20]["instructions"] < 0.6 * found[0]["instructions"]


YIELDER = """\
#include <sched.h>
#include <stdio.h>
#include <stdint.h>
static uint64_t cycle(void)
{
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now));
    return now;
}
int main(void)
{
    uint64_t longest = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t begin = cycle();
        if (sched_yield() != 0)
            return 1;
        uint64_t cycles = cycle() - begin;
        /* Neither of the two begins or ends meanwhile. */
        longest = i > 10 && i < 90 && cycles > longest ? cycles : longest;
    }
    printf("%llu\\n", (unsigned long long)longest);
    return 0;
}
"""


def test_a_yield_gives_the_rest_of_a_turn_to_another(compile_c: Compiler, tmp_path: Path) -> None:
    """Alone the call returns after the time of any call. Of two that yield each is away for two
    switches and the other's call."""
    yielder = compile_c("jobs_yielder", YIELDER)
    common = ["--machine", "voyager", "--set", "node.software.syscall=300 cycles"]
    common += ["--set", "node.scheduler.switch=1500 cycles"]
    alone = run(tmp_path, "alone", *common, "--", yielder)
    assert alone.returncode == 0, alone.stderr
    assert 300 < int(alone.stdout) < 400
    both = run(tmp_path, "both", *common, "--job", str(yielder), "--", yielder)
    assert both.returncode == 0, both.stderr
    times = [int((tmp_path / "both" / f"job{i}" / "stdout.0").read_text()) for i in range(2)]
    # Translations are found anew after each switch.
    assert all(2 * (1500 + 300) < cycles < 2 * (1500 + 300) + 2000 for cycles in times)
    job = tmp_path / "both" / "job0"
    # The first may have made some calls before the other's turn came; its last ones it makes alone.
    assert 190 <= counter(job, "node00000.scheduler.yields") <= 200
    assert counter(job, "node00000.scheduler.preemptions") == 0


ENDS = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ACTION;
    MPI_Finalize();
    return 0;
}
"""


STUCK = {name: SHARED[name] for name in ["voyager/flush", *SEVERAL_JOBS, *YIELDING]}


@pytest.mark.parametrize("name", STUCK)
def test_a_deadlock_is_reported_when_all_is_stuck(
    compile_c: Compiler, traffic: Path, tmp_path: Path, name: str
) -> None:
    """The other job comes to its end first. Twice the same, with skipping and without."""
    receive = "MPI_Recv(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)"
    stuck = compile_c("jobs_stuck", ENDS.replace("ACTION", receive))
    texts: list[str] = []
    for options in ([], ["--set", "check.spin_skip=false"], ["--threads", "2"]):
        directory, job = f"run{len(texts)}", ["--job", f"-np 4 {traffic} 2 4 1000"]
        done = run(tmp_path, directory, *STUCK[name], *SHORT, "-np", 2, *options, *job, "--", stuck)
        assert done.returncode == 125, done.stderr
        texts.append(done.stderr)
        assert summary(tmp_path / directory / "job1")["outcome"] == "finished"
    assert "job 0: deadlock at" in texts[0]
    assert "rank 1 in MPI_Recv waits for" in texts[0]
    assert texts[1:] == texts[:1] * 2


@pytest.mark.parametrize("name", STUCK)
def test_two_jobs_that_are_stuck_are_found(compile_c: Compiler, tmp_path: Path, name: str) -> None:
    """Nobody's turn helps, however long they go on."""
    receive = "MPI_Recv(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)"
    stuck = compile_c("jobs_stuck", ENDS.replace("ACTION", receive))
    texts: list[str] = []
    for options in ([], ["--set", "check.spin_skip=false"], ["--threads", "2"]):
        common = [*STUCK[name], *SHORT, "-np", 2, *options, "--job", f"-np 2 {stuck}"]
        done = run(tmp_path, f"run{len(texts)}", *common, "--", stuck)
        assert done.returncode == 125, done.stderr
        texts.append(done.stderr)
    assert texts[0].count("rank 0 in MPI_Recv waits for") == 2
    assert texts[1:] == texts[:1] * 2


@pytest.mark.parametrize("machine", ["voyager", *SEVERAL_JOBS])
def test_a_job_that_aborts_leaves_its_nodes_to_the_other(
    compile_c: Compiler, traffic: Path, tmp_path: Path, machine: str
) -> None:
    """Its other ranks, which compute for ever, are ended with it."""
    action = "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7); for (volatile int i = 0;; i++)"
    aborts = compile_c("jobs_aborts", ENDS.replace("ACTION", action))
    texts: list[str] = []
    for options in ([], ["--threads", "2"], ["--set", "check.window=1 us"]):
        directory, job = f"run{len(texts)}", ["--job", f"-np 3 {traffic} 2 6 1000"]
        done = run(
            tmp_path,
            directory,
            "--machine",
            machine,
            *SHORT,
            "-np",
            3,
            *options,
            *job,
            "--",
            aborts,
        )
        assert done.returncode == 7, done.stderr
        texts.append(done.stderr)
        assert summary(tmp_path / directory / "job1")["outcome"] == "finished"
    assert texts[0].startswith("chasqui: job 0: aborted: rank 1 at")
    assert texts[1:] == texts[:1] * 2


THREADED = """\
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static void *idle(void *nothing) { return nothing; }
int main(int argc, char **argv)
{
    pthread_t thread;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    printf("%d %d\\n", provided, pthread_create(&thread, 0, idle, 0));
    MPI_Finalize();
    return 0;
}
"""


def test_a_job_among_others_has_one_thread(compile_c: Compiler, tmp_path: Path) -> None:
    """It is told so as on any node with one hart."""
    threaded = compile_c("jobs_threaded", THREADED, "-pthread")
    alone = run(tmp_path, "alone", "--machine", "voyager", "--", threaded)
    assert alone.stdout.split()[1] == "11", "EAGAIN"
    done = run(tmp_path, "both", "--machine", "voyager", "--job", str(threaded), "--", threaded)
    assert done.returncode == 0, done.stderr
    assert done.stdout == alone.stdout * 2
    assert done.stderr.count("no hart is left for a thread: it has 1 (node.harts, ") == 2


def test_each_job_has_its_timeline(traffic: Path, tmp_path: Path) -> None:
    """Of calls and messages; links, which carry those of all, have none."""
    job = ["--job", f"-np 2 {traffic} 2 3 1000"]
    done = run(tmp_path, "run", *VOYAGER, "-np", 3, *job, "--", traffic, 1, 4, 1000)
    assert done.returncode == 0, done.stderr
    for i, ranks in enumerate((3, 2)):
        directory = tmp_path / "run" / f"job{i}"
        events = json.loads((directory / "timeline.json").read_text())["traceEvents"]
        names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        assert {name for name in names if name.startswith("rank")} == {
            f"rank {rank}" for rank in range(ranks)
        }
        assert "network" not in names
        end = int(str(summary(directory)["time_ps"])) / 1e6
        assert max(e["ts"] + e.get("dur", 0) for e in events if "ts" in e) <= end + 0.001
    drawn = command("timeline", "run", "-o", "t.svg", directory=tmp_path)
    assert drawn.returncode == 2
    assert "run is of several jobs: name one, run/job0" in drawn.stderr


REFUSED = {
    "loggp": (
        [],
        "./a",
        "loggp runs one job at a time, 2 were given; several run on voyager, voyager-modern, "
        "mpinp, mpinp-modern\n",
    ),
    "harts": (
        ["--set", "node.harts=3"],
        "./a",
        "with 2 jobs: each rank has harts of its own, and node.harts = 3",
    ),
    "profile": (
        ["--profile"],
        "./a",
        "--profile needs a hart for each process: 2 processes share 1 hart; --set node.harts=2",
    ),
    "trace": (
        ["--trace-instructions", "0us..1us"],
        "./a",
        "--trace-instructions needs a hart for each process: 2 processes share 1 hart",
    ),
    "fast-forward": (
        ["--fast-forward"],
        "./a",
        "--fast-forward needs a hart for each process: 2 processes share 1 hart",
    ),
    "program": ([], "-np 2", "--job '-np 2': '[-np RANKS] PROGRAM [ARGS]...' is expected"),
    "ranks": ([], "-np x ./a", "RANKS a number"),
    "quotes": ([], "./a 'b", "No closing quotation"),
    "yields": (
        ["--set", "voyager.queues.sharing=drained", *OFTEN],
        "./a",
        "mpi.wait.polls = 5 with 2 jobs and voyager.queues.sharing = drained",
    ),
    "one hart": (
        ["--set", "voyager.queues.sharing=drained", "--set", "node.harts=2"],
        "./a",
        "node.harts = 2 with 2 jobs and voyager.queues.sharing = drained: jobs take turns on one",
    ),
    "queues": (["--set", "voyager.queues.basic=300"], "./a", "voyager.queues.basic: 2 jobs"),
    "residents": (
        ["--set", "voyager.sp.present=false", "--set", "voyager.queues.basic=5"],
        "./a",
        "all queues must be resident: 4 of Express and 10 of Basic",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(traffic: Path, tmp_path: Path, name: str) -> None:
    options, job, text = REFUSED[name]
    machine = "loggp" if name == "loggp" else "voyager"
    other = ["--job", job.replace("./a", str(traffic))]
    done = run(tmp_path, "run", "--machine", machine, *options, *other, "--", traffic)
    assert done.returncode == 2
    assert text in done.stderr
    assert not (tmp_path / "run").exists()
