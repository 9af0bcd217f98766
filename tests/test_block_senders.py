"""Blocks of a job that several sites send to one, on nodes that another job shares: their turns.

Use this when DMA, or what NESs tell each other, changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Compiler
from simulated import SWEEP, in_turn
from test_isolation import ALONE, ENDING, NEIGHBOUR, ni_count, ni_counts, time_beside
from test_jobs import TRAFFIC, run, summary
from test_voyager_queues import HEADERS

pytestmark = pytest.mark.core

# What the neighbour does, on which machine, of how many ranks, how many of which are on a node;
# when its rank 0 ends [us].
AT_ONCE = [
    ("long", "voyager-modern", 4, 1, 0),
    ("block", "voyager-modern", 8, 1, 10**6),
    ("block", "voyager-modern", 4, 2, 300),
    ("long", "voyager-modern", 3, 4, 10**6),
    ("away", "voyager-modern", 5, 1, 10**6),
    ("block", "voyager", 8, 4, 10**6),
    ("short", "voyager-modern", 8, 1, 10**6),
    ("notices", "voyager/reclaim", 8, 1, 10**6),
]
FURTHER = [
    ("long", "voyager", 4, 1, 10**6),
    ("long", "voyager/reclaim", 8, 1, 10**6),
    ("short", "voyager-modern", 4, 1, 10**6),
    ("short", "voyager", 8, 1, 10**6),
    ("notices", "voyager", 8, 1, 10**6),
    ("notices", "voyager-modern", 12, 1, 10**6),
]


@pytest.mark.parametrize(
    ("how", "machine", "ranks", "per_node", "ends"),
    AT_ONCE + FURTHER * SWEEP,
)
def test_a_job_beside_blocks_from_several_ranks_to_one(
    compile_c: Compiler,
    tmp_path: Path,
    how: str,
    machine: str,
    ranks: int,
    per_node: int,
    ends: int,
) -> None:
    """The others fill the link to that node, and its bus, as one alone would, be it a node of the
    other job or not; those of the same node go in the job's turns of the DMA."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    harts = ["--set", f"node.harts={2 * per_node}"]
    options = ("--machine", machine, "--ranks-per-node", str(per_node), *harts)
    computes = ENDING[how] if ends < 1000 and how in ENDING else "compute"
    reference, time = (
        time_beside(programs, tmp_path / each, options, each, ends, ranks=ranks)
        for each in (computes, how)
    )
    waited = ni_counts(tmp_path / how / "job0", "block_waits")
    print(f"{how}: {time / reference:.2f}, made to wait {waited} times")
    assert time <= 1.5 * reference
    # By the node to which they come, if they come from several.
    assert (waited.pop(-1 if how == "away" else 0) > 0) == (ranks > per_node)
    assert sum(waited) == 0


@pytest.mark.parametrize(
    ("machine", "ranks"),
    [("voyager-modern", 4), ("voyager", 4), *[("voyager-modern", 8)] * SWEEP],
)
def test_a_job_beside_blocks_whose_pages_are_absent(
    compile_c: Compiler, tmp_path: Path, machine: str, ranks: int
) -> None:
    """They wait aside until the operating system has brought them in, and their senders with them;
    without room for them what is behind waits, too: the test could fail."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    options = ("--machine", machine, "--set", "node.harts=2")
    little = (*options, "--set", "voyager.dma.aside=0 B")
    beside = {"compute": options, "pages": options, "little": little}
    times = [
        time_beside(
            programs, tmp_path / name, words, "pages" if name == "little" else name, 10**6, ranks
        )
        for name, words in beside.items()
    ]
    waited = ni_counts(tmp_path / "pages" / "job0", "page_waits")[0]
    print([f"{time / times[0]:.2f}" for time in times], f"made to wait {waited} times")
    assert times[1] <= 1.5 * times[0]
    assert waited > 0
    assert ni_counts(tmp_path / "little" / "job0", "page_waits")[0] > 0
    if machine == "voyager-modern":
        assert times[2] > 1.5 * times[0]


def waits(programs: tuple[Path, Path], out: Path, *settings: str) -> list[int]:
    """How often sites were made to wait by node 0, to which three send blocks of 8 MiB, into
    pages that take no time."""
    sets = [word for setting in settings for word in ("--set", setting)]
    sets += ["--set", "voyager.dma.page_in=0 cycles"]
    time_beside(programs, out, ("--machine", "voyager", *sets), "long", 0, ranks=4)
    return ni_counts(out / "job0", "block_waits")


def test_a_turn_is_as_long_as_is_said_and_as_many_have_one(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Without a service processor there are none: what a site is told might wait for a message
    that its process does not receive."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    settings = {
        "long": ("voyager.dma.site_turn=64 KiB",),
        "short": ("voyager.dma.site_turn=16 KiB",),
        "two": ("voyager.dma.sites=2",),
        "three": ("voyager.dma.sites=3",),
        "none": ("voyager.sp.present=false",),
    }
    found = {name: waits(programs, tmp_path / name, *sets)[0] for name, sets in settings.items()}
    print(found)
    assert found["short"] > 3 * found["long"] > 0
    assert found["two"] > 0
    assert found["three"] == found["none"] == 0


def test_two_sites_at_a_time_send_more_where_one_does_not_fill_the_link(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """What the README says that turns cost."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    gain = {}
    for machine in ("voyager", "voyager-modern"):
        moved = []
        for sites in (1, 2):
            out = tmp_path / f"{machine}-{sites}"
            options = ("--machine", machine, "--set", f"voyager.dma.sites={sites}")
            time_beside(programs, out, options, "block", 10**6, ranks=4)
            moved.append(ni_count(out / "job0", "dma_bytes"))
        gain[machine] = moved[1] / moved[0]
    print(gain)
    assert 1 < gain["voyager"] < 1.2
    assert 1.6 < gain["voyager-modern"] < 2.2


def test_blocks_without_data_wait_as_others_do(compile_c: Compiler, tmp_path: Path) -> None:
    """They are notices alone; where all sites have a turn each sends more than twice as many."""
    programs = compile_c("traffic", TRAFFIC), compile_c("neighbour", NEIGHBOUR)
    sent = {}
    for name, sites in (("turns", 1), ("all", 8)):
        options = ("--machine", "voyager", "--set", f"voyager.dma.sites={sites}")
        time_beside(programs, tmp_path / name, options, "notices", 0, ranks=8)
        sent[name] = ni_counts(tmp_path / name / "job0", "dma_requests")[2:]
    print(sent)
    assert 2 * max(sent["turns"]) < min(sent["all"])


SEVERAL = """\
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>
#define BYTES (1 << 18)
static struct nes nes;
static _Alignas(64) uint64_t block[4][BYTES / 8];

/* The second word of a notice is its sender's rank. */
static void receive(int blocks)
{
    uint64_t notice[5], sum = 0;
    uint32_t source;
    int came[4] = {0};
    while (blocks > 0) {
        if (nes_basic_receive(&nes, notice, &source) < 0)
            continue;
        came[notice[1]]++;
        blocks--;
        for (int i = 0; i < BYTES / 8; i++)
            sum += block[notice[1]][i] != notice[1] * 1000000 + i;
    }
    printf("%d %d %d, %d wrong\\n", came[1], came[2], came[3], (int)sum);
}

/* Ranks 1 to 3 each have so many blocks for rank 0. Rank `dies` has a fault amid its first. */
int main(int argc, char **argv)
{
    int blocks = atoi(argv[1]), dies = atoi(argv[2]);
    if (argc != 3 || !nes_open(&nes))
        return 2;
    if (nes.rank == 0) {
        receive(blocks * (dies ? 2 : 3));
        return 0;
    }
    for (int i = 0; i < BYTES / 8; i++)
        block[nes.rank][i] = nes.rank * 1000000 + i;
    const uint64_t notice[3] = {0, nes.rank};
    for (int i = 0; i < blocks; i++)
        while (!nes_dma_send(&nes, 0, block[nes.rank], (uintptr_t)block[nes.rank], BYTES, notice))
            ;
    for (volatile int i = 0; nes.rank == dies && i < 3000; i++)
        ;
    if (nes.rank == dies)
        *(volatile int *)8 = 1;
    while (!nes_dma_is_done(&nes))
        ;
    return 0;
}
"""


@pytest.mark.parametrize(
    ("machine", "end"),
    in_turn(["voyager", "voyager-modern"], [(1, 0), (1, 1), (1, 2), (1, 3), (2, 2)]),
)
def test_such_blocks_all_come_whoever_ends_amid_them(
    compile_c: Compiler, tmp_path: Path, machine: str, end: tuple[int, int]
) -> None:
    """However it is simulated. A rank that has a fault while it is its site's turn, or while that
    waits, keeps nobody waiting."""
    per_node, dies = end
    several, traffic = compile_c("several", SEVERAL, HEADERS), compile_c("traffic", TRAFFIC)
    options = ["-m", machine, *ALONE, "--ranks-per-node", per_node]
    options += ["--set", f"node.harts={2 * per_node}", "--limit-time", "100 ms"]
    variations = [[], ["--threads", "2"], ["--set", "check.window=1 us"]]
    variations += [["--set", "check.spin_skip=false"], ["--set", "check.coherence=true"]]
    found = []
    for number, extra in enumerate(variations if SWEEP else variations[: 3 if dies == 2 else 1]):
        words = ["-np", 2, "--job", f"-np 4 {several} 3 {dies}", "--", traffic, 1, 6, 1000]
        done = run(tmp_path, f"run{number}", *options, *extra, *words)
        assert done.returncode == (128 + 11 if dies else 0), done.stderr
        jobs = [tmp_path / f"run{number}" / f"job{job}" for job in range(2)]
        assert summary(jobs[0])["outcome"] == "finished"
        came = ["0" if rank == dies else "3" for rank in (1, 2, 3)]
        assert (jobs[1] / "stdout.0").read_text() == f"{' '.join(came)}, 0 wrong\n"
        waited = ni_count(jobs[0], "block_waits")
        times = [summary(job)["time_ps"] for job in jobs]
        print(times, waited)
        assert waited > 0
        found.append((times, waited))
    assert found[1:] == found[:1] * (len(found) - 1)


ELSEWHERE = """\
#include <chasqui/nes.h>
#include <stdio.h>
static struct nes nes;
static _Alignas(64) char block[1 << 17];
static const uint64_t notice[3];

static void move(uint32_t to, size_t bytes)
{
    while (!nes_dma_send(&nes, to, block, (uintptr_t)block, bytes, notice))
        ;
}

static uint32_t taken(void)
{
    const struct chasqui_voyager_slot *oldest;
    while (!(oldest = nes_basic_oldest(&nes)))
        ;
    uint32_t source = oldest->node;
    nes_basic_release(&nes, oldest->bytes);
    return source;
}

/* Ranks 2, 4 and 5 send rank 0 two long blocks each; then ranks 2 and 3, of one node, send rank 6
 * short ones, until rank 0, which waits for ten more of rank 4's, tells all to stop. */
int main(void)
{
    const uint32_t stop = 1;
    if (!nes_open(&nes))
        return 2;
    if (nes.rank == 0) {
        for (int i = 0; i < 16; i++)
            taken();
        for (uint32_t rank = 2; rank < 8; rank++)
            while (!nes_basic_send(&nes, rank, &stop, sizeof stop))
                ;
        printf("16 have come\\n");
    }
    if (nes.rank == 2 || nes.rank == 4 || nes.rank == 5)
        for (int i = 0; i < 2; i++)
            move(0, sizeof block);
    for (int i = 0; nes.rank == 4 && i < 10; i++)
        move(0, 4096);
    while ((nes.rank == 2 || nes.rank == 3) && !nes_basic_oldest(&nes))
        move(6, 64);
    while (nes.rank == 6 && taken() != 0)
        ;
    while (!nes_dma_is_done(&nes))
        ;
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["voyager-modern", *["voyager"] * SWEEP])
def test_blocks_that_go_elsewhere_keep_no_turn(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Two processes of a node had always a request that might have been for the site: others
    waited for ever."""
    elsewhere, traffic = (
        compile_c("elsewhere", ELSEWHERE, HEADERS),
        compile_c("traffic", TRAFFIC),
    )
    options = ["-m", machine, *ALONE, "--ranks-per-node", 2, "--set", "node.harts=4"]
    words = ["-np", 2, "--job", f"-np 8 {elsewhere}", "--", traffic, 1, 1, 10]
    done = run(tmp_path, "run", *options, "--limit-time", "60 ms", *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "job1" / "stdout.0").read_text() == "16 have come\n"


EMPTY = """\
#include <chasqui/nes.h>
#include <time.h>
static struct nes nes;
static _Alignas(64) char block[1 << 16];
static struct timespec began;

static long passed_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000;
}

static void move_at(long us, size_t bytes)
{
    static const uint64_t notice[3];
    while (passed_us() < us)
        ;
    while (!nes_dma_send(&nes, 0, block, (uintptr_t)block, bytes, notice))
        ;
}

/* Rank 1 has a long block for rank 0, rank 2 two without data, of which the first has to wait. */
int main(void)
{
    if (!nes_open(&nes))
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (nes.rank == 1)
        move_at(0, sizeof block);
    if (nes.rank == 2) {
        move_at(5, 0);
        move_at(25, 0);
    }
    /* Nothing else has the NES look what there is to do. */
    while (passed_us() < 1000) {
        const struct chasqui_voyager_slot *oldest = nes_basic_oldest(&nes);
        if (oldest)
            nes_basic_release(&nes, oldest->bytes);
    }
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["voyager", "voyager/reclaim"])
def test_what_is_to_be_told_waits_for_little_room(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """That a site has no more blocks leaves when the only place is free: sooner than had been
    promised, a panic."""
    empty, neighbour = compile_c("empty", EMPTY, HEADERS), compile_c("neighbour", NEIGHBOUR)
    options = ["-m", machine, *ALONE, "--set", "voyager.nes.txu_packets=1"]
    words = ["-np", 3, "--job", f"-np 3 {neighbour} compute 300 1", "--", empty]
    done = run(tmp_path, "run", *options, "--limit-time", "20 ms", *words)
    assert done.returncode == 0, done.stderr
