"""Several processes under a kernel image: jobs that take turns on a hart, or have harts of their
own.

Use this when turns, ends and switches in guest/kernel, or what the simulator does for them
(crates/node/src/os/kernel.rs), change. tests/test_jobs.py has the simulator's own scheduler.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Compiler
from simulated import TRANSLATED, command, example
from test_determinism import differences
from test_jobs import ENDS, FAULTS, STRANGER, TRAFFIC, counter, run, summary
from test_kernel import KERNEL

from chasqui import core

pytestmark = pytest.mark.core

# Many turns, at different times on different nodes.
ON = ["--machine", "voyager", *KERNEL, "--set", "node.scheduler.quantum=50 us"]
RECEIVE = "MPI_Recv(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)"


@pytest.fixture
def traffic(compile_c: Compiler) -> Path:
    return compile_c("traffic", TRAFFIC)


def harts(count: int) -> list[str]:
    return ["--set", f"node.harts={count}"]


def switches(directory: Path) -> int:
    return counter(directory, "node00000.kernel.switches")


# Harts, ranks of each job on a node, jobs: in turns on one hart, on two, and each on its own.
SHARED = {"1 hart": (1, 1, 2), "2 harts": (2, 2, 2), "3 on 2": (2, 1, 3), "own": (2, 1, 2)}


@pytest.mark.parametrize("name", SHARED)
def test_jobs_get_their_own_messages(traffic: Path, tmp_path: Path, name: str) -> None:
    """In turns of 50 us, as each of them alone; with as many ranks and with fewer."""
    count, each, jobs = SHARED[name]
    calls = [(4, [traffic, 1, 12, 2000]), (3, [traffic, 2, 9, 5000]), (2, [traffic, 3, 9, 3000])]
    alone: list[str] = []
    for ranks, words in calls[:jobs]:
        done = run(tmp_path, f"alone{len(alone)}", "-np", ranks, *ON, "--", *words)
        assert done.returncode == 0, done.stderr
        alone.append(done.stdout)
    others = [f"--job=-np {ranks} {' '.join(map(str, words))}" for ranks, words in calls[1:jobs]]
    options = [*ON, *harts(count), "--set", "check.coherence=true", "--ranks-per-node", each]
    done = run(tmp_path, "both", "-np", 4, *options, *others, "--", *calls[0][1])
    assert done.returncode == 0, done.stderr
    both = tmp_path / "both"
    assert [(both / f"job{i}" / "stdout.0").read_text() for i in range(jobs)] == alone
    assert (switches(both / "job0") > 20) == (name != "own")


SPIN = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint64_t ticks(void)
{
    uint64_t now;
    __asm__ volatile("rdtime %0" : "=r"(now));
    return now;
}
int main(int count, char **arguments)
{
    uint64_t end = ticks() + strtoull(arguments[1], 0, 10);
    while (ticks() < end) { }
    puts("over");
    return count - 2;
}
"""
# In registers that a process keeps while others have the hart.
FLOATING = """\
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
    double a = atof(arguments[1]), b = 1, c = 2, d = 3;
    for (long i = 0; i < 200000; i++) {
        a = a * 0.5 + b;
        b = c - a * 0.25;
        c = d / (1 + b * b);
        d = a - c;
    }
    printf("%.17g %.17g\\n", a + b, c * d);
    return count - 2;
}
"""


SLEEPER = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
    int rank, one = 1, sum = 0;
    struct timespec pause = { 0, atoi(argv[1]) };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            nanosleep(&pause, NULL);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d\\n", sum);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["voyager", "netcache/ldtct", "netcache/via", "netcache/tcp"])
@pytest.mark.parametrize("program", ["ring", "heat"])
def test_ranks_of_a_hart_exchange_messages_by_memory(
    examples: Path, tmp_path: Path, machine: str, program: str
) -> None:
    """What one that waits for its turn looks at, another has stored meanwhile."""
    options = [*KERNEL, "--ranks-per-node", 2, "--mpi", "local.channel=memory"]
    options += ["--mpi", "wait.polls=50"]
    done = run(tmp_path, "run", *options, *example(examples, program, machine))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("machine", ["voyager", "netcache/ldtct", "netcache/via"])
def test_one_that_has_been_woken_and_waits_for_its_turn_is_not_stuck(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """One of two ranks on a hart sleeps, the other repeats itself."""
    sleeper = compile_c("kernel_sleeper", SLEEPER)
    for pause in (1000, 50_000, 700_000):
        options = ["-np", 2, "--machine", machine, *KERNEL, "--ranks-per-node", 2]
        done = run(tmp_path, f"for{pause}", *options, "--", sleeper, pause)
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_a_process_is_interrupted_in_an_endless_loop(compile_c: Compiler, tmp_path: Path) -> None:
    """It makes no system call for 5 ms; the other ends long before."""
    spin = compile_c("kernel_jobs_spin", SPIN)
    floating = compile_c("kernel_jobs_floating", FLOATING)
    alone = run(tmp_path, "alone", *ON, "--", floating, "3.5")
    done = run(tmp_path, "both", *ON, "--job", f"{floating} 3.5", "--", spin, 2_000_000)
    assert done.returncode == 0, done.stderr
    first, second = (summary(tmp_path / "both" / f"job{i}") for i in range(2))
    assert int(str(second["time_ps"])) < int(str(first["time_ps"]))
    assert (tmp_path / "both" / "job1" / "stdout.0").read_text() == alone.stdout
    assert (tmp_path / "both" / "job0" / "stdout.0").read_text() == "over\n"
    # Each has about half of the time while both are there.
    time = int(str(summary(tmp_path / "alone")["time_ps"]))
    assert 1.8 * time < int(str(second["time_ps"])) < 2.3 * time
    assert switches(tmp_path / "both" / "job0") > 10


def test_floating_point_registers_are_a_processs_own(compile_c: Compiler, tmp_path: Path) -> None:
    floating = compile_c("kernel_jobs_floating", FLOATING)
    alone = [run(tmp_path, f"a{i}", *ON, "--", floating, i).stdout for i in range(3)]
    others = [f"--job={floating} {i}" for i in (1, 2)]
    done = run(tmp_path, "all", *ON, *others, "--", floating, 0)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / "all" / f"job{i}" / "stdout.0").read_text() for i in range(3)] == alone


def test_nobody_is_interrupted_for_nothing(compile_c: Compiler, tmp_path: Path) -> None:
    """Once it is alone a process has the hart, and who sleeps has no turns."""
    spin = compile_c("kernel_jobs_spin", SPIN)
    text = "#include <unistd.h>\nint main(void) { usleep(3000); return 0; }\n"
    sleeper = compile_c("kernel_jobs_sleeper", text)
    done = run(tmp_path, "both", *ON, "--job", str(sleeper), "--", spin, 1_000_000)
    assert done.returncode == 0, done.stderr
    assert switches(tmp_path / "both" / "job0") < 10
    end = int(str(summary(tmp_path / "both" / "job1")["time_ps"]))
    assert 3_000_000_000 < end < 3_500_000_000


@pytest.mark.parametrize("name", ["1 hart", "2 harts", "own"])
def test_jobs_have_the_same_bits(traffic: Path, tmp_path: Path, name: str) -> None:
    count, each, _ = SHARED[name]
    variations = {
        "again": [],
        "2 threads": ["--threads", "2"],
        "4 threads": ["--threads", "4"],
        "reference": ["--set", "check.executor=reference"],
        "translated": TRANSLATED,
        "suspended": ["--set", "check.spin_skip=false"],
        "window": ["--set", "check.window=1 us"],
    }
    job = f"--job=-np 3 {traffic} 2 3 2000"
    common = [*ON, *harts(count), "--ranks-per-node", each, "-np", 4, job]
    assert run(tmp_path, "reference run", *common, "--", traffic, 1, 4, 1000).returncode == 0
    for variation, options in variations.items():
        done = run(tmp_path, variation, *common, *options, "--", traffic, 1, 4, 1000)
        assert done.returncode == 0, done.stderr
        for i in range(2):
            first, second = (tmp_path / out / f"job{i}" for out in ("reference run", variation))
            assert differences(first, second, options) == [], variation


@pytest.mark.parametrize("name", ["1 hart", "own"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_that_faults_leaves_the_other_right(
    compile_c: Compiler, traffic: Path, tmp_path: Path, name: str, fault: str
) -> None:
    action, text = FAULTS[fault]
    stranger = compile_c(f"jobs_stranger_{fault}", STRANGER.replace("ACTION", action))
    options = [*ON, *harts(SHARED[name][0]), "-np", 4, "--job", f"-np 2 {stranger}"]
    done = run(tmp_path, "run", *options, "--", traffic, 1, 6, 1000)
    assert done.returncode == 128 + 11, done.stderr
    assert "job 1: fault: rank 1 at " in done.stderr
    assert text in done.stderr
    assert "deadlock" not in done.stderr
    assert summary(tmp_path / "run" / "job0")["outcome"] == "finished"
    assert "job 1, 4 ranks" in (tmp_path / "run" / "job0" / "stdout.0").read_text()


@pytest.mark.parametrize("name", ["1 hart", "own"])
def test_a_job_that_aborts_leaves_its_nodes_to_the_other(
    compile_c: Compiler, traffic: Path, tmp_path: Path, name: str
) -> None:
    """Its other ranks, which compute for ever, are ended with it."""
    action = "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7); for (volatile int i = 0;; i++)"
    aborts = compile_c("kernel_jobs_aborts", ENDS.replace("ACTION", action))
    texts: list[str] = []
    for options in ([], ["--threads", "2"], ["--set", "check.window=1 us"]):
        common = [*ON, *harts(SHARED[name][0]), *options, "-np", 3]
        job = f"--job=-np 3 {traffic} 2 6 1000"
        done = run(tmp_path, f"run{len(texts)}", *common, job, "--", aborts)
        assert done.returncode == 7, done.stderr
        assert summary(tmp_path / f"run{len(texts)}" / "job1")["outcome"] == "finished"
        texts.append(done.stderr)
    assert texts[1:] == texts[:1] * 2


VARIED: tuple[list[str], ...] = ([], ["--set", "check.spin_skip=false"], ["--threads", "2"])


@pytest.mark.parametrize("name", ["1 hart", "own"])
def test_a_deadlock_is_reported_when_all_is_stuck(
    compile_c: Compiler, traffic: Path, tmp_path: Path, name: str
) -> None:
    """The other job comes to its end first. Twice the same, with skipping and without."""
    stuck = compile_c("kernel_jobs_stuck", ENDS.replace("ACTION", RECEIVE))
    texts: list[str] = []
    for options in VARIED:
        directory, job = f"run{len(texts)}", f"--job=-np 4 {traffic} 2 4 1000"
        common = [*ON, *harts(SHARED[name][0]), *options, "-np", 2]
        done = run(tmp_path, directory, *common, job, "--", stuck)
        assert done.returncode == 125, done.stderr
        texts.append(done.stderr)
        assert summary(tmp_path / directory / "job1")["outcome"] == "finished"
    assert "job 0: deadlock at" in texts[0]
    assert "rank 1 in MPI_Recv waits for" in texts[0]
    assert texts[1:] == texts[:1] * 2


@pytest.mark.parametrize("name", ["1 hart", "own"])
def test_two_jobs_that_are_stuck_are_found(compile_c: Compiler, tmp_path: Path, name: str) -> None:
    """Nobody's turn helps, however long they go on."""
    stuck = compile_c("kernel_jobs_stuck", ENDS.replace("ACTION", RECEIVE))
    texts: list[str] = []
    for options in VARIED:
        common = [*ON, *harts(SHARED[name][0]), *options, "-np", 2, f"--job=-np 2 {stuck}"]
        done = run(tmp_path, f"run{len(texts)}", *common, "--", stuck)
        assert done.returncode == 125, done.stderr
        texts.append(done.stderr)
    assert texts[0].count("rank 0 in MPI_Recv waits for") == 2
    assert texts[1:] == texts[:1] * 2


def test_what_is_watched_of_jobs_with_harts_of_their_own(traffic: Path, tmp_path: Path) -> None:
    """Each job has its profile and its accesses; without a kernel likewise."""
    for kernel in ([], KERNEL):
        out = f"run{len(kernel)}"
        options = ["--machine", "voyager", *kernel, *harts(2), "--profile", "--access-times"]
        options += ["--trace-instructions", "300us..310us"]
        job = f"--job=-np 2 {traffic} 2 3 1000"
        done = run(tmp_path, out, *options, "-np", 3, job, "--", traffic, 1, 3, 1000)
        assert done.returncode == 0, done.stderr
        for i, ranks in enumerate((3, 2)):
            folded = (tmp_path / out / f"job{i}" / "profile.folded").read_text()
            assert {f"rank {rank}" for rank in range(ranks)} <= {
                line.split(";")[0] for line in folded.splitlines()
            }
            traces = [tmp_path / out / f"job{i}" / f"instructions.{rank}" for rank in range(ranks)]
            assert any(trace.stat().st_size for trace in traces)


def test_each_job_has_its_part_of_interest(compile_c: Compiler, tmp_path: Path) -> None:
    """What is outside takes no time, whatever the other does on harts of its own."""
    text = """\
#include <chasqui/region.h>
int main(int count, char **arguments)
{
    for (volatile int i = 0; i < 200000; i++) { }
    chasqui_region_begin();
    for (volatile int i = 0; i < 1000 * count; i++) { }
    chasqui_region_end();
    return 0;
}
"""
    program = compile_c("kernel_jobs_region", text)
    for kernel in ([], KERNEL):
        times = []
        for options in ([], ["--fast-forward"]):
            out = f"run{len(kernel)}{len(options)}"
            words = [
                "--machine",
                "voyager",
                *kernel,
                *harts(2),
                *options,
                "--job",
                f"{program} more",
            ]
            assert run(tmp_path, out, *words, "--", program).returncode == 0
            jobs = (summary(tmp_path / out / f"job{i}") for i in range(2))
            times.append([int(str(job["time_ps"])) for job in jobs])
        assert all(fast * 20 < slow for slow, fast in zip(*times, strict=True))


REFUSED = {
    "--profile": "--profile needs a hart for each process: 2 processes share 1 hart",
    "--access-times": "--access-times needs a hart for each process: 2 processes share 1 hart",
    "--fast-forward": "--fast-forward needs a hart for each process: 2 processes share 1 hart",
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_is_a_harts_is_refused_where_processes_share_one(
    traffic: Path, tmp_path: Path, option: str
) -> None:
    for kernel in ([], KERNEL):
        words = ["--machine", "voyager", *kernel, option, "--job", str(traffic), "--", traffic]
        done = run(tmp_path, "out", *words)
        assert done.returncode == 2
        assert REFUSED[option] in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_node_has_as_many_processes_as_the_machine_says(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """More than the kernel may have harts. The last of them have their heaps grow, too."""
    text = (
        "#include <mpi.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(int count, char **arguments) { MPI_Init(&count, &arguments);\n"
        "for (int i = 0; i < 3; i++) { char *p = malloc(100000); memset(p, 1, 100000); free(p); }\n"
        "MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n"
    )
    begin_and_end = compile_c("kernel_jobs_many", text)
    (voyager,) = (each for each in core.machines() if each["name"] == "voyager")
    most = int(voyager["ranks_per_node_max"])
    assert most > 64
    options = ["-np", most, "--ranks-per-node", most, *ON, "--mpi", "wait.polls=50"]
    done = run(tmp_path, "out", *options, "--", begin_and_end)
    assert done.returncode == 0, done.stderr
    assert counter(tmp_path / "out", "node00000.kernel.switches") > 2 * most


YIELD = "ranks share harts and poll for messages: --mpi wait.polls=50 has them yield"
ADVISED = {
    "ranks": (["--ranks-per-node", "2"], [], True),
    "jobs": ([], ["--job", "-np 2 {ring}"], True),
    "they yield": (["--ranks-per-node", "2", "--mpi", "wait.polls=50"], [], False),
    "own harts": (["--ranks-per-node", "2", "--set", "node.harts=2"], [], False),
    "alone": (["-np", "1", "--ranks-per-node", "2"], [], False),
    "sleep": (
        ["--ranks-per-node", "2", "-m", "netcache/via", "--set", "netcache.via.blocks=true"],
        [],
        False,
    ),
    "sleep, but memory": (
        [
            *("--ranks-per-node", "2", "-m", "netcache/via", "--set", "netcache.via.blocks=true"),
            *("--mpi", "local.channel=memory"),
        ],
        [],
        True,
    ),
    "quiet": (["--ranks-per-node", "2", "-q"], [], False),
    # Fewer than ten turns: yielding costs more than it saves.
    "short": (["--ranks-per-node", "2", "--set", "node.scheduler.quantum=10 ms"], [], False),
    "short jobs": (["--set", "node.scheduler.quantum=10 ms"], ["--job", "-np 2 {ring}"], False),
}


@pytest.mark.parametrize("name", ADVISED)
def test_who_polls_on_a_shared_hart_is_advised(examples: Path, tmp_path: Path, name: str) -> None:
    words, job, is_advised = ADVISED[name]
    ring = examples / "ring"
    others = [word.format(ring=ring) for word in job]
    every = ["-np", "2", *ON, *words, *others, "--", str(ring)]
    done = command("run", "--out", "out", *every, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(YIELD) == int(is_advised)


TOGETHER = """\
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int word;
static volatile int never, depth;
#define DEEP(name, call)                                  \\
    static void __attribute__((noinline)) name(int rank)  \\
    {                                                     \\
        depth++; call; depth--; /* no tail call */        \\
    }
#define RECEIVE MPI_Recv(&word, 1, MPI_INT, rank ^ 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
#define PROBE MPI_Probe(rank ^ 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
DEEP(receives, RECEIVE)
DEEP(receives_first, receives(rank))
DEEP(receives_last, receives_first(rank))
DEEP(probes, PROBE)
DEEP(loops, while (!never))
DEEP(turns, while (!never) depth++)
int main(int count, char **arguments)
{
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(arguments[1], "stuck") == 0)
        rank % 2 ? probes(rank) : receives_last(rank);
    else
        rank % 2 ? turns(rank) : loops(rank);
    depth++;
    MPI_Finalize();
}
"""

# What each of them calls, and from where.
STUCK_IN = {
    0: r"MPI_Recv waits for a message from rank PEER with tag 5 .*; called at \S+ \(receives\+.*\),"
    r" from \S+ \(receives_first\+.*\), from \S+ \(receives_last\+",
    1: r"MPI_Probe waits for a message from rank PEER with tag 6 .*; called at \S+ \(probes\+.*\),"
    r" from \S+ \(main\+",
}


@pytest.mark.parametrize("each", [2, 4])
def test_ranks_that_share_a_hart_are_described_each_by_its_own(
    compile_c: Compiler, tmp_path: Path, each: int
) -> None:
    """Their memory and where they are, not those of the rank that has the hart at the end."""
    program = compile_c("kernel_jobs_together", TOGETHER)
    options = [*ON, "-np", each, "--ranks-per-node", each]

    def report(name: str, *more: str) -> list[str]:
        done = run(tmp_path, name, *options, *more, "--", program, name)
        assert done.returncode == (124 if more else 125), done.stderr
        texts = [line for line in done.stderr.splitlines() if line.startswith("  rank ")]
        return [next((t for t in texts if t.startswith(f"  rank {r}")), "") for r in range(each)]

    for rank, text in enumerate(report("stuck")):
        stuck_in = STUCK_IN[rank % 2].replace("PEER", str(rank ^ 1))
        assert re.match(f"  rank {rank} in {stuck_in}", text), text
    for rank, text in enumerate(report("late", "--limit-time", "6 ms")):
        where = "turns" if rank % 2 else "loops"
        assert re.match(rf"  rank {rank}, pc \S+ \({where}\+", text), text
