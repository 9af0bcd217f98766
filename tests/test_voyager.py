"""The NES of voyager: a program over nes.h, without MPI, in every variant; what ends a process; the
MPI device by each of its mechanisms.

Use this when the NES, its registers, nes.h or the MPI device change. Random traffic follows from
SEED.
"""

from __future__ import annotations

import graphlib
import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import EXAMPLES, SWEEP, command, example, in_turn, machines, two_at_a_time
from test_determinism import THREADS, VARIATIONS, check

from chasqui.experiment import running

pytestmark = pytest.mark.core

VARIANTS = [machine for machine in machines() if machine.startswith("voyager")]
COUNTER = (ROOT / "tests" / "voyager" / "counter.c").read_text()

WIDE = (ROOT / "tests" / "voyager" / "wide.c").read_text()
ONEPOLL = (ROOT / "tests" / "voyager" / "onepoll.c").read_text()
SHARED = (ROOT / "tests" / "voyager" / "shared.c").read_text()
MIXTURE = (ROOT / "tests" / "voyager" / "mixture.c").read_text()

# voyager.mpi.mechanism: the longest message [bytes] by each mechanism that it uses, shortest
# first. `all` is `auto` with Tag-On, which it leaves out by default.
MECHANISMS = {
    "auto": {"express": 8, "basic": 1024, "dma": None},
    "all": {"express": 8, "tag-on": 64, "basic": 1024, "dma": None},
    "basic": {"basic": 1024, "dma": None},
    "express": {"express": 8, "tag-on": 40, "dma": None},
    "tag-on": {"tag-on": 40, "dma": None},
}
# As little room as a device can do with, and a link so slow that queues fill and could pass each
# other.
SMALL = [
    *["--set", "voyager.express.slots=4", "--set", "voyager.express.tags=2"],
    *["--set", "voyager.basic.slots=4", "--set", "voyager.mpi.eager=200 B"],
    *["--set", "voyager.dma.requests=2", "--set", "network.link_bandwidth=10 MB/s"],
]
NONE_RESIDENT = [
    *["--set", "voyager.queues.resident_basic=0"],
    *["--set", "voyager.queues.resident_express=0"],
]
SEED = os.environ.get("SEED", "1")

PROGRAM = """\
#include <chasqui/nes.h>
int main(void)
{
    static struct nes nes;
    if (!nes_open(&nes))
        return 2;
    if (nes.rank == 0)
        ACTION;
    while (nes.rank == 1)
        nes_pause();
    return 0;
}
"""
# name: what rank 0 of 2 does, what the run says. Nothing of it reaches rank 1, which waits: what is
# for a process that has exited is dropped.
FAULTS = {
    "stranger": (
        "nes_express_store(&nes, nes.express, 0, 2, 0, 0)",
        "protection: transmit queue 0 has no destination 2 in the NES's table",
    ),
    "stranger_tagged": (
        "nes_express_store(&nes, nes.tag, 0, 31, 0, 0)",
        "protection: transmit queue 0 has no destination 31 in the NES's table",
    ),
    "forged_address": (
        "*(volatile uint32_t *)(nes.express - (1 << 28)) = 0",
        "nothing is mapped there",
    ),
    "overflow": (
        "for (int i = 0; i < 1000; i++) nes_express_store(&nes, nes.express, 0, 1, 0, i)",
        "a store into Express transmit queue 0, which is full",
    ),
    "overflow_wide": (
        "for (int i = 0; i < 4000; i++) chasqui_store_64(nes.express + 128, (uint64_t[8]){i})",
        "a store into Express transmit queue 0, which is full",
    ),
    "misaligned_wide": (
        "chasqui_store_64(nes.express + 32, (uint64_t[8]){0})",
        "across its alignment",
    ),
    "wide_to_memory": (
        "chasqui_store_64_answered((void *)((uintptr_t)&nes & -64ull), (uint64_t[8]){0})",
        "which is not a device's",
    ),
    "wide_elsewhere": (
        "chasqui_store_64(nes.express_receive, (uint64_t[8]){0})",
        "the NES takes them in the Express window only",
    ),
    "silence": (
        "nes_one_poll_order(&nes, 0, (const uint16_t[]){2, 1, 0}, 3);"
        "while (nes_one_poll(&nes, 0) == NES_EMPTY) nes_pause()",
        "deadlock",
    ),
    "stranger_polled": (
        "nes_one_poll_order(&nes, 3, (const uint16_t[]){0, 2, 3}, 3)",
        "protection: OnePoll is to look at queue 3, but the process has queues 0 to 2",
    ),
}


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("ranks", [2, 5])
def test_the_counter_has_the_same_bits(
    compile_c: Compiler, tmp_path: Path, machine: str, ranks: int
) -> None:
    """Additions arrive once and in order; also with the coherence checker."""
    program = compile_c("counter", COUNTER)
    names = ("loops executed", "checker on", *THREADS)
    run = ["-np", str(ranks), "--machine", machine, "--", str(program)]
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
    assert (tmp_path / "reference" / "stdout.0").read_text() == "counter: PASSED\n"


@pytest.mark.parametrize("machine", VARIANTS)
def test_full_queues_hold_messages_up_and_lose_none(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    program = compile_c("counter", COUNTER)
    sets = ["--set", "voyager.express.slots=4", "--set", "voyager.express.tags=2"]
    sets += ["--set", "check.coherence=true"]
    done = chasqui("run", "-q", "-np", "4", "--machine", machine, *sets, "--", program, "300")
    assert (done.returncode, done.stdout) == (0, "counter: PASSED\n"), done.stderr


SHORT = """\
#include <chasqui/nes.h>
bool send(struct nes *nes, const uint64_t *data)
{
    void *place = nes_basic_place(nes);
    if (!place)
        return false;
    nes_copy(place, data, 88);
    nes_basic_post(nes, 1, 88);
    return true;
}
bool take(struct nes *nes, uint64_t *data)
{
    const struct chasqui_voyager_slot *slot = nes_basic_oldest(nes);
    if (!slot)
        return false;
    nes_copy(data, nes_slot_data(slot), 88);
    nes_basic_release(nes, 88);
    return true;
}
const void *tagged(const struct nes *nes, uint64_t message) { return nes_tag_data(nes, message); }
bool block(struct nes *nes, const uint64_t *data)
{
    return nes_dma_send(nes, 1, data, 0, 88, data);
}
"""


def test_short_messages_take_no_division_no_call_and_no_fence_to_read(
    chasqui: Run, tmp_path: Path
) -> None:
    """Rings are powers of two, loads follow the pointer by their address, copies are written
    out."""
    (tmp_path / "short.c").write_text(SHORT)
    done = chasqui("cc", "-O2", "-S", "-o", "short.s", "short.c")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "short.s").read_text()
    code = re.findall(r"^\t([a-z][a-z.]*)\t?(.*)$", text, re.MULTILINE)
    assert [words for words in code if re.match(r"(div|rem)u?w?$|call$|tail$", words[0])] == []
    assert {words for name, words in code if name == "fence"} == {"rw, o"}


STORES = "-DSTORES_64=1"
THROUGH = ("EXPRESS_THROUGH", "TAG_48_THROUGH", "TAG_80_THROUGH")
RESIDENT = ("RESIDENT_48", "RESIDENT_80")
MECHANISMS_C = ROOT / "machines" / "voyager" / "experiments" / "mechanisms.c"
# nes_pause(), a line's flush, a try to take a lock: how often these are done is known at run time.
WAIT_OR_FLUSH = re.compile(r"\.word\t16777231$|\.insn i 15, 2|lr\.w\.aq")


def functions(assembly: str) -> dict[str, str]:
    return {
        name: body for body, name in re.findall(r"^((\w+):.*?^\t\.size)", assembly, re.M | re.S)
    }


def goes_round(body: str) -> bool:
    """A function may come back to an instruction without having waited or flushed in between."""
    code: list[str] = []
    labels: dict[str, int] = {}
    for label, insn in re.findall(r"^(?:([.\w]+):|\t((?:\.word|\.insn|[a-z])[^\n#]*))", body, re.M):
        if label:
            labels[label] = len(code)
        else:
            code.append(insn.strip())
    follow = graphlib.TopologicalSorter[int]()
    for at, insn in enumerate(code):
        name, target = insn.split()[0], labels.get(insn.split()[-1])
        assert name != "jr", "where does it lead?"
        if not WAIT_OR_FLUSH.match(insn):
            then = [at + 1] if name not in ("j", "ret", "tail") else []
            follow.add(at, *then, *([target] if target is not None else []))
    try:
        follow.prepare()
    except graphlib.CycleError:
        return True
    return False


@pytest.mark.parametrize(
    "flags", [[], [STORES], pytest.param(["-DTHREADS=2"], marks=pytest.mark.long)], ids=str
)
@pytest.mark.turn(1)
def test_what_experiments_send_and_receive_is_written_out(
    chasqui: Run, tmp_path: Path, flags: list[str]
) -> None:
    """Code for a length that is known has no loops but polls and flushes, and calls only what
    takes and gives credits. Of any other length it loops over packets: it is noticed."""
    run = ["cc", *running.FLAGS, "-g0", *flags, "-S", "-o", "all.s", MECHANISMS_C]
    done = chasqui(*run)
    assert done.returncode == 0, done.stderr
    assert "not unrolled" not in done.stderr
    found = functions((tmp_path / "all.s").read_text())
    known = {name for name in found if re.match(r"(send|receive)_\w+_\d+$", name)}
    lengths = range(4, 89, 4)
    wide = STORES in flags
    both = ["BASIC", "EXPRESS", *(("WIDE", "ANSWERED") if wide else ("TAG_48", "TAG_80"))]
    for way in ("send", "send_counted", "receive", "receive_counted"):
        own = RESIDENT if way.startswith("send") else THROUGH
        mechanisms = (*both, *(() if wide else own))
        assert known >= {f"{way}_{by}_{each}" for by in mechanisms for each in lengths}
    assert [name for name in sorted(known) if goes_round(found[name])] == []
    calls = re.findall(r"^\t(?:call|tail)\t(\w+)", "".join(found[each] for each in known), re.M)
    assert set(calls) <= {"call_await_credits", "call_return_credits"}
    assert goes_round(found["send_EXPRESS_other"])
    assert goes_round(found["receive_EXPRESS_other"])


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("room", ["default", "small", "served"])
def test_64_byte_stores_are_messages(
    compile_c: Compiler, tmp_path: Path, machine: str, room: str
) -> None:
    """In order with Express, every word; where queues are short, and where the firmware serves
    them."""
    sets = {
        "default": [],
        "small": ["voyager.express.slots=4", "voyager.express.tags=2"],
        "served": ["voyager.queues.resident_express=0", "voyager.sp.access_slots=2"],
    }[room]
    words = [word for each in sets for word in ("--set", each)]
    run = ["-np", "2", "--machine", machine, *words, "--", str(compile_c("wide", WIDE)), "150"]
    names = ("loops executed", "checker on", "by the reference", "translated", *THREADS)
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
    assert (tmp_path / "reference" / "stdout.1").read_text() == "wide: PASSED\n"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_was_wrong(compile_c: Compiler, chasqui: Run, name: str) -> None:
    action, text = FAULTS[name]
    program = compile_c(f"nes_{name}", PROGRAM.replace("ACTION", action))
    done = chasqui("run", "-np", "2", "--machine", "voyager", "--", program)
    buses = ("misaligned_wide", "wide_to_memory")  # SIGBUS, else SIGSEGV
    expected = 125 if name == "silence" else 128 + (7 if name in buses else 11)
    assert done.returncode == expected, done.stderr
    assert text in done.stderr
    assert "rank 0" in done.stderr


def chosen(mechanism: str) -> list[str]:
    if mechanism == "all":
        return ["--set", "voyager.mpi.tag_on=64 B"]
    return ["--set", f"voyager.mpi.mechanism={mechanism}"]


def limits(machine: str, mechanism: str) -> dict[str, int | None]:
    """As MECHANISMS; voyager-modern has 64-byte stores, and DMA for shorter messages."""
    found: dict[str, int | None] = dict(MECHANISMS[mechanism])
    if machine != "voyager-modern":
        return found
    if mechanism in ("auto", "all"):
        short: dict[str, int | None] = {"express": 8, "store-64": 40}
        found = short | found
    return {name: 448 if name == "basic" else longest for name, longest in found.items()}


def mechanism_of(size: int, limits: dict[str, int | None]) -> str:
    found = limits.items()
    return next(name for name, longest in found if longest is None or size <= longest)


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("homes", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_a_record_says_by_what_its_message_went(
    chasqui: Run, examples: Path, tmp_path: Path, machine: str, mechanism: str, homes: list[str]
) -> None:
    """By size; the names of messages that travel without them are found again at the receiver."""
    import pyarrow.parquet

    sets = [*chosen(mechanism), *homes]
    program = [examples / "pingpong", "-n", "1", "-m", "4096"]
    done = chasqui("run", "--out", "run", "-np", "2", "--machine", machine, *sets, "--", *program)
    assert done.returncode == 0, done.stderr
    messages = pyarrow.parquet.read_table(tmp_path / "run" / "messages.parquet").to_pylist()
    assert [row["mechanism"] for row in messages] == [
        mechanism_of(row["bytes"], limits(machine, mechanism)) for row in messages
    ]
    assert {row["mechanism"] for row in messages} == set(limits(machine, mechanism))
    # Not `ready`: the mark follows the store, and a line of code may have to be fetched between.
    stages = ("call", "accept", "inject", "arrive", "land", "done")
    lives = [[row[f"{stage}_ps"] for stage in stages] for row in messages]
    assert lives == [sorted(life) for life in lives]
    assert [
        row for row in messages if None in (row["ready_ps"], row["match_ps"], row["deliver_ps"])
    ] == []
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert sum(each["messages"] for each in summary["mechanisms"]) == len(messages)


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "auto"])
def test_the_examples_have_the_same_answers_by_each_mechanism(
    examples: Path, tmp_path: Path, machine: str, mechanism: str
) -> None:
    """test_determinism has them by `auto`."""

    def run(name: str) -> tuple[int, str]:
        sets = [*chosen(mechanism), "--set", "check.coherence=true"]
        done = command("run", "-q", *sets, *example(examples, name, machine), directory=tmp_path)
        return done.returncode, done.stderr

    assert two_at_a_time(run, EXAMPLES) == [(0, "")] * len(EXAMPLES)


@pytest.mark.parametrize(
    ("room", "mechanism", "machine"), in_turn(["default", "small"], MECHANISMS, VARIANTS)
)
def test_messages_by_several_mechanisms_stay_in_order(
    compile_c: Compiler, chasqui: Run, machine: str, mechanism: str, room: str
) -> None:
    sets = [*chosen(mechanism), "--set", "check.coherence=true"]
    if room == "small":
        sets += SMALL
    program = compile_c("mixture", MIXTURE)
    for ranks, messages in [("2", "300"), ("5", "60")]:
        options = ["-q", "-np", ranks, "--machine", machine, *sets]
        done = chasqui("run", *options, "--", program, SEED, messages)
        assert done.stdout == "mixture: PASSED\n", f"SEED={SEED}: {done.stderr}"
        assert done.returncode == 0


def test_a_mixture_has_the_same_bits(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("mixture", MIXTURE)
    run = ["-np", "4", "--machine", "voyager", "--", str(program), SEED, "40"]
    shown = (
        "loops executed",
        "by the reference",
        "translated",
        "checker on",
        "4 threads",
        "window 30 ns",
    )
    check(tmp_path, run, VARIATIONS if SWEEP else {name: VARIATIONS[name] for name in shown}, 0)


def test_a_queue_without_room_for_a_message_is_refused(chasqui: Run) -> None:
    run = ["run", "--machine", "voyager", "--set", "voyager.express.slots=2"]
    done = chasqui(*run, "--", "nosuch")
    assert done.returncode == 2
    assert "voyager.express.slots: a queue of 2 can't hold the 4 Express messages" in done.stderr
    done = chasqui(*run, "--set", "voyager.mpi.mechanism=basic", "--", "nosuch")
    assert "voyager.express.slots" not in done.stderr


def test_there_is_no_nes_on_another_machine(compile_c: Compiler, chasqui: Run) -> None:
    done = chasqui("run", "-np", "2", "--", compile_c("counter", COUNTER))
    assert done.returncode != 0
    assert "counter: there is no NES here" in done.stderr


def test_a_ring_that_is_not_a_power_of_two_is_refused(chasqui: Run) -> None:
    sets = ["--set", "voyager.express.tags=3"]
    done = chasqui("run", "--machine", "voyager", *sets, "--", "nosuch")
    assert done.returncode == 2
    assert "voyager.express.tags: 3 is not a power of two" in done.stderr


# All of OnePoll's 64 queues; those without a slot are served by the firmware.
ALL_64 = ["--set", "voyager.queues.basic=62"]
POLLED = {
    "moving": [*ALL_64, "--set", "voyager.sp.system=true"],
    "served": [*ALL_64, *NONE_RESIDENT],
    "resident": [*ALL_64, "--set", "voyager.queues.resident_basic=62"],
}


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("homes", POLLED)
def test_one_poll_takes_what_comes_first_in_its_order(
    compile_c: Compiler, chasqui: Run, machine: str, homes: str
) -> None:
    """Random sets of queues in random orders, wherever the queues are: always the first that has a
    message, that one's oldest, and nothing when all are empty."""
    program = compile_c("onepoll", ONEPOLL)
    options = ["-q", "-np", "2", "--machine", machine, *POLLED[homes]]
    options += ["--set", "check.coherence=true"]
    for seed in range(int(SEED), int(SEED) + 2):
        done = chasqui("run", *options, "--", program, str(seed), "60")
        assert done.stdout == "onepoll: PASSED\n", f"SEED={seed}: {done.stderr}"
        assert done.returncode == 0


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("homes", [[], NONE_RESIDENT[2:], NONE_RESIDENT], ids=str)
def test_threads_share_a_phantom_queue(
    compile_c: Compiler, chasqui: Run, machine: str, homes: list[str]
) -> None:
    """Two harts take each message once, without a lock."""
    program = compile_c("onepoll", ONEPOLL)
    sets = [*homes, "--set", "node.harts=2", "--set", "check.coherence=true"]
    run = ["run", "-q", "-np", "2", "--machine", machine, *sets, "--", program]
    done = chasqui(*run, "threads", "300")
    assert (done.returncode, done.stdout) == (0, "onepoll: PASSED\n"), done.stderr


BLOCKS = """\
#include <chasqui/nes.h>
#include <stdio.h>
enum { BLOCK = 16384, BLOCKS = 8 };
static struct nes nes;
static _Alignas(4096) char from[BLOCK], to[BLOCK];
int main(void)
{
    const uint64_t notice[3] = {1};
    uint64_t words[11], first = 0, last = 0;
    uint32_t source;
    if (!nes_open(&nes))
        return 2;
    memset(nes.rank ? to : from, 1, BLOCK);
    for (int i = 0; i < BLOCKS; i++) {
        if (nes.rank == 0) {
            while (!nes_dma_send(&nes, 1, from, (uintptr_t)to, BLOCK, notice))
                nes_pause();
            continue;
        }
        while (nes_basic_receive(&nes, words, &source) < 0)
            for (volatile int k = 0; k < 30; k++)
                ;
        __asm__ volatile("rdcycle %0" : "=r"(last));
        first = i == 0 ? last : first;
    }
    if (nes.rank == 1)
        printf("%llu\\n", (unsigned long long)(last - first) / (BLOCKS - 1));
    return 0;
}
"""


@pytest.mark.parametrize("machine", ["voyager/flush", "voyager/reclaim"])
def test_a_stream_of_blocks_is_as_fast_as_the_link(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    """16 KiB are 256 packets of 64 + 20 bytes, and a notice of 52: at 160 MB/s 134.7 us, at 150 MHz
    20,209 cycles. A receiver that polls seldom leaves the bus to the NES."""
    program = compile_c("blocks", BLOCKS)
    done = chasqui("run", "-q", "-np", "2", "--machine", machine, "--", program)
    assert done.returncode == 0, done.stderr
    assert 20209 * 0.99 < int(done.stdout) < 20209 * 1.02


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("homes", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_threads_take_tagged_data_without_a_lock(
    compile_c: Compiler, tmp_path: Path, machine: str, homes: list[str]
) -> None:
    """Two harts, both Express queues; each header names its slot, and slots are given back in any
    order."""
    run = ["-np", "2", "--machine", machine, *homes, "--set", "node.harts=2"]
    run += ["--set", "voyager.express.tags=8", "--", str(compile_c("shared", SHARED)), "60"]
    names = ("loops executed", "checker on", *THREADS)
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
    assert (tmp_path / "reference" / "stdout.1").read_text() == "shared: PASSED\n"


@pytest.mark.parametrize("homes", POLLED)
def test_one_poll_has_the_same_bits(compile_c: Compiler, tmp_path: Path, homes: str) -> None:
    """Skipped turns of a loop that polls, too."""
    program = compile_c("onepoll", ONEPOLL)
    names = ("again", "loops executed", "by the reference", "translated", *THREADS)
    run = ["-np", "2", "--machine", "voyager", *POLLED[homes], "--", str(program), SEED, "8"]
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
