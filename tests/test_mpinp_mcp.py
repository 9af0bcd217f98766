"""MPI on mpinp's network processor: matching, credit and rendezvous in its firmware.

Use this when machines/mpinp/firmware/mcp, machines/mpinp/mcp or the protocol change. Seeds are the
programs' arguments; SEED adds to them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import EXAMPLES, SWEEP, WORKLOADS, command, in_turn
from test_determinism import check_same

from chasqui import messages

pytestmark = pytest.mark.core

PLACE = ROOT / "tests" / "mpinp"
SEED = int(os.environ.get("SEED", "0"))
MACHINE = ["--machine", "mpinp"]
INCLUDE = [f"-I{ROOT / 'machines' / 'mpinp'}", f"-I{ROOT / 'guest' / 'include'}"]


def shared(ranks: int) -> list[str]:
    """Options with which so many ranks share a node."""
    return ["--ranks-per-node", str(ranks), "--set", f"node.harts={ranks}"]


# The last takes the host nearly a minute.
RUN = [*EXAMPLES, *WORKLOADS]
# By ranks of a node; a sweep has all with each rank alone, too (test_machines.py).
ON_SHARED = {1: "mcp", 2: "one-page", 4: "nic-tlb"}

# Tables of one message, buffers of one unit, page tables that reach for little.
TINY = {
    "slot": ["mpinp.control.slots=1", "mpinp.control.buffer=128 B", "mpinp.control.eager=0 B"],
    "slots": ["mpinp.control.slots=2", "mpinp.control.buffer=256 B", "mpinp.control.pio=8 B"],
    "pages": ["mpinp.shared.pages=256"],
    "page": ["mpinp.shared.pages=64", "mpinp.shared.entry_pages=1"],
    "queue": ["mpinp.control.queue=16"],
    "usual": [],
}
# All of them at once, and a window of 32 such blocks. The firmware itself looks whether credit is
# within its bounds (protocol/credit.c): if not, the machine is broken, and the run fails.
TINY["all"] = [*TINY["slot"], *TINY["queue"], *TINY["page"]]
TINY["all"] += ["mpinp.control.pio=8 B", "mpinp.shared.window=8 KiB"]


@pytest.mark.parametrize(("per_node", "name"), in_turn([1, 2, 4], RUN if SWEEP else RUN[:-1]))
def test_examples_are_right_on_nodes_that_are_shared(
    examples: Path, tmp_path: Path, name: str, per_node: int
) -> None:
    ranks, arguments = (EXAMPLES | WORKLOADS)[name]
    machine = f"mpinp/{ON_SHARED[per_node]}"
    words = ["-np", str(ranks), "--machine", machine, *shared(per_node)]
    words += ["--", str(examples / name), *arguments]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: PASSED" in done.stdout


@pytest.mark.long
def test_sixteen_ranks_are_right(examples: Path, tmp_path: Path) -> None:
    for per_node in (1, 4):
        words = ["-np", "16", *MACHINE, *shared(per_node), "--", str(examples / "ring"), "-l", "2"]
        done = command("run", "--out", f"out{per_node}", *words, directory=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("number", "tiny"), in_turn([1, 2, 3], TINY))
def test_messages_in_any_order(compile_c: Compiler, tmp_path: Path, number: int, tiny: str) -> None:
    """Early, unexpected, truncated, synchronous, ready and cancelled ones, with wildcards."""
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    settings = [word for each in TINY[tiny] for word in ("--set", each)]
    words = ["-np", str(2 + number), *MACHINE, *shared(1 + number % 2), *settings]
    arguments = [str(SEED + number), "60" if SWEEP else "40", "20000"]
    done = command(
        "run", "--out", "out", *words, "--", str(program), *arguments, directory=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"schedule, seed {SEED + number}: PASSED" in done.stdout


# What is sent, and how many messages of how many bytes.
LATE = {
    "one": [40, 20000],
    "several": [40, 20000],
    "synchronous": [40, 100],
    "behind": [30, 20000],
    "cancelled": [40, 2000],
}


@pytest.mark.parametrize(
    ("what", "tiny"), in_turn(LATE, ["usual", "slot", "pages", "queue", "page", "all"])
)
def test_late_receives_are_in_no_others_way(
    compile_c: Compiler, tmp_path: Path, what: str, tiny: str
) -> None:
    """MPI's progress rule. Before, 18 long messages, or 16 of a destination, kept all others back
    until their receives came; messages that were drained could not be synchronous."""
    program = compile_c("progress", (PLACE / "progress.c").read_text())
    settings = [word for each in TINY[tiny] for word in ("--set", each)]
    arguments = ["--", str(program), what, *map(str, LATE[what])]
    done = command(
        "run", "--out", "out", "-np", "4", *MACHINE, *settings, *arguments, directory=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"progress, {what}: PASSED" in done.stdout


def test_many_receives_that_wait_on_the_host_take_no_longer(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """They are found by hash. Before, a message took a third longer with 1,024 than with 256."""
    import pyarrow.parquet

    source = ROOT / "machines" / "mpinp" / "experiments" / "matching.c"
    program = compile_c("matching", source.read_text())
    taken = {}
    for depth in (160, 640):
        words = ["-np", "2", *MACHINE, "--", str(program), "posted", "last", str(depth), "3"]
        done = command("run", "-q", "--out", f"{depth}", *words, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        rows = pyarrow.parquet.read_table(tmp_path / f"{depth}" / "messages.parquet").to_pylist()
        (one, *_) = [row for row in rows if row["source"] == 0 and row["tag"] == depth][1:]
        taken[depth] = one["done_ps"] - one["call_ps"]
    assert taken[640] < 1.05 * taken[160]


@pytest.mark.turn(4)
@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("machine", ["mpinp", "mpinp/bip"])
def test_thousands_of_receives_may_be_posted_first(
    compile_c: Compiler, tmp_path: Path, machine: str, count: int
) -> None:
    program = compile_c("many", (PLACE / "many.c").read_text())
    words = ["run", "-q", "--out", "out", "-np", "2", "-m", machine, "--", str(program), str(count)]
    done = command(*words, directory=tmp_path, limit_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"many, {count} receives: PASSED" in done.stdout


def test_receives_that_wait_on_the_host_get_messages_in_order(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("wildcards", (PLACE / "wildcards.c").read_text())
    words = ["run", "--out", "out", "-np", "2", *MACHINE, "--", str(program)]
    done = command(*words, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wildcards: PASSED" in done.stdout


def test_what_is_probed_for_is_claimed_or_cancelled(compile_c: Compiler, tmp_path: Path) -> None:
    """Before, a message whose send was cancelled in between ended the program."""
    program = compile_c("claims", (PLACE / "claims.c").read_text())
    done = command(
        "run", "--out", "out", "-np", "2", *MACHINE, "--", str(program), "80", directory=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "claims: PASSED" in done.stdout


# What the firmware that answers probes may run on; the interrupt's hosts sleep as soon as they may.
PROBED = {
    "dpu": ["mpinp-modern/dpu"],
    "asleep": ["mpinp-modern/dpu", "--set", "mpinp.shared.wait=interrupt", "--mpi", "wait.polls=1"],
    "mcp": ["mpinp/mcp"],
    "channel-cache": ["mpinp/channel-cache"],
    "interrupt": ["mpinp/interrupt"],
}


@pytest.mark.parametrize(("per_node", "machine"), in_turn([1, 2], PROBED))
def test_what_comes_while_a_probe_asks_is_found(
    compile_c: Compiler, tmp_path: Path, per_node: int, machine: str
) -> None:
    """Before, the host heard of the message in the same look as of the answer that there was none,
    took that for the later of the two, and waited for ever: on the first of these."""
    program = compile_c("probes", (PLACE / "probes.c").read_text())
    words = ["-np", "4", "--machine", *PROBED[machine], *shared(per_node), "--", str(program)]
    arguments = [str(SEED + 1), "100" if SWEEP else "20", "1000"]
    done = command("run", "-q", "--out", "out", *words, *arguments, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"probes, seed {SEED + 1}: PASSED" in done.stdout


@pytest.mark.parametrize("machine", ["mpinp-modern/dpu", "mpinp/mcp"])
def test_notes_do_not_end_the_showing_of_a_message(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Before, one between a probe and its answer let the message be cancelled that was claimed
    next, and that ended the program ("a message that was shown is gone"): on the first of these."""
    program = compile_c("notes", (PLACE / "notes.c").read_text())
    words = ["-np", "4", "--machine", machine, "--", str(program), "2", "4000"]
    done = command("run", "-q", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "notes: PASSED" in done.stdout


VARIATIONS = {
    "two": ["--threads", "2"],
    "four": ["--threads", "4"],
    "windows": ["--set", "check.window=200 ns"],
    "spinning": ["--set", "check.spin_skip=false"],
}


@pytest.mark.parametrize("image", ["mcp", "bip"])
@pytest.mark.turn(1)
def test_results_do_not_depend_on_how_it_is_simulated(
    compile_c: Compiler, tmp_path: Path, image: str
) -> None:
    """Nor do those of the thin firmware, which `make sweep` has among all machines. Before, what
    happened at the time of a load of the firmware was seen by it or not."""
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    machine = MACHINE if image == "mcp" else ["--machine", "mpinp/bip"]
    common = ["-np", "4", *machine, *shared(2)]
    names = [name for each, name in in_turn(["mcp", "bip"], VARIATIONS) if each == image]
    variations = {name: VARIATIONS[name] for name in names}
    check_same(tmp_path, common, [program, str(SEED + 21), "30", "20000"], variations)


@pytest.mark.parametrize(
    "what",
    [
        *("rank", "name", "kind", "window", "odd", "entry", "fetch", "count", "many", "twice"),
        *("drained", "flood"),
        *("beyond", "foreign", "free", "page", "long", "read", "reuse"),
        *("tree", "length", "operation", "outside", "second"),
        *("common", "rooted", "blocks", "shape"),
    ],
)
def test_a_request_that_may_not_be_is_its_own_processs_fault(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    program = compile_c("forged", (PLACE / "forged.c").read_text(), *INCLUDE)
    words = ["-np", "3", *MACHINE, *shared(3), "--", str(program), what]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert "fault: rank 1 " in done.stderr
    assert "protection: " in done.stderr
    leads = what in ("foreign", "free", "long", "reuse")
    assert leads == ("leads to an entry of the page table" in done.stderr)


def test_the_largest_number_of_ranks_is_named(examples: Path, tmp_path: Path) -> None:
    words = ["-np", "17", *MACHINE, *shared(4), "--", str(examples / "ring")]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 2
    assert "with 4 on a node, up to 16 ranks can run" in done.stderr


def test_records_are_cleared_and_copied_wherever_they_begin(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """What the compiler calls, of each beginning within words and each length."""
    firmware = f"-I{ROOT / 'machines' / 'mpinp' / 'firmware'}"
    program = compile_c("memory", (PLACE / "memory.c").read_text(), firmware, "-fno-builtin")
    done = command("run", "--out", "out", "--", str(program), directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "memory: PASSED" in done.stdout


def test_a_message_walks_the_list_of_receives_once(compile_c: Compiler, tmp_path: Path) -> None:
    """From the header to the match, behind 64 receives and behind 4."""
    source = ROOT / "machines" / "mpinp" / "experiments" / "matching.c"
    program = compile_c("matching", source.read_text())
    took = {}
    for depth in (4, 64):
        words = ["-np", "2", *MACHINE, "--", str(program), "posted", "last", str(depth), "4"]
        done = command("run", "--out", f"out{depth}", *words, directory=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        rows = messages.read(tmp_path / f"out{depth}" / "messages.parquet")
        times = [
            row.match_ps - row.arrive_ps
            for row in rows
            if row.tag == depth and row.match_ps and row.arrive_ps
        ]
        took[depth] = sorted(times)[len(times) // 2]
    step_ns = (took[64] - took[4]) / 60_000
    print(f"a receive further down the list: {step_ns:.0f} ns")
    assert 300 < step_ns < 900  # by two walks 1,200
