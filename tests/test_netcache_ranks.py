"""Several ranks on a node of netcache, by each policy: programs, the same bits, and that no process
of a node reaches or stops another.

Use this when the NICs' parts for processes, the kernel's agents and sockets, or the placement of
ranks change. test_placement.py has the same for loggp and voyager, and what belongs to no machine.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import ROOT, Compiler
from simulated import EXAMPLES, SWEEP, command, example, machines, two_at_a_time
from test_determinism import VARIATIONS, check
from test_guest_library import HARD, SHARING, Programs, cases, failures, on, programs
from test_ni import ENDS, NI, RUNS, SEED
from test_placement import ENDS as PROGRAM_THAT_ENDS
from test_placement import HYBRID, REGION, VARIATIONS_OF_BITS, summary, together

pytestmark = pytest.mark.core

__all__ = ["programs"]  # A fixture.

POLICIES = [machine for machine in machines() if machine.startswith("netcache")]
# Ranks a node, how they are dealt out, by what they exchange messages.
WAYS = [(2, "slot", "ni"), (4, "node", "ni"), (2, "node", "memory"), (4, "slot", "memory")]


def share(number: int, *turns: int) -> bool:
    """Of several ways each turn has one, the next turn the next."""
    return SWEEP or number == sum(turns) % len(WAYS)


@pytest.mark.parametrize(
    ("machine", "name", "way"),
    [
        pytest.param(machine, name, way, id=f"{machine}-{name}-{'-'.join(map(str, way))}")
        for turn, machine in enumerate(POLICIES)
        for place, name in enumerate(EXAMPLES)
        for number, way in enumerate(WAYS)
        if share(number, turn, place) and (SWEEP or (turn // 2 + place) % 2 == 0)
    ],
)
def test_an_example(
    examples: Path, tmp_path: Path, machine: str, name: str, way: tuple[int, str, str]
) -> None:
    words = [*together(*way), "--set", "check.coherence=true", *example(examples, name, machine)]
    done = command("run", "-q", *words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASSED" in done.stdout


@pytest.mark.parametrize(
    ("machine", "sharing"),
    [
        pytest.param(machine, sharing, id=f"{machine}-{sharing}")
        for turn, machine in enumerate(POLICIES)
        for number, sharing in enumerate(SHARING)
        if SWEEP or number == (turn + turn // len(SHARING)) % len(SHARING)
    ],
)
def test_the_library(programs: Programs, tmp_path: Path, machine: str, sharing: str) -> None:
    """Two ranks a node on some policies, four on others; of its tests another on each, by as many
    ranks as it may have."""
    some = on(machine)
    if not SWEEP:
        hard = [case for case in cases() if case.program in HARD]
        one = hard[POLICIES.index(machine) % len(hard)]
        some = [one._replace(ranks=one.ranks[-1:])]
    words = ["--machine", machine, *SHARING[sharing]]
    assert "".join(failures(programs, tmp_path, words, case) for case in some) == ""


@pytest.mark.parametrize(
    ("machine", "way"),
    [
        pytest.param(machine, way, id=f"{machine}-{'-'.join(map(str, way))}")
        for turn, machine in enumerate(POLICIES)
        for number, way in enumerate(WAYS)
        if share(number, turn)
    ],
)
def test_the_same_bits(
    examples: Path, tmp_path: Path, machine: str, way: tuple[int, str, str]
) -> None:
    """A fifth of the variations; five policies have them all."""
    all_of_them = {**VARIATIONS_OF_BITS, "4 threads": VARIATIONS["4 threads"]}
    first = 0 if SWEEP else POLICIES.index(machine) % 5
    some = dict(list(all_of_them.items())[first :: 1 if SWEEP else 5])
    check(tmp_path, [*together(*way), *example(examples, "heat", machine)], some, 0)


# By the kernel over an Ethernet controller: ranks of a node reach each other by its loopback.
IN_KERNEL = ("netcache/tcp", "netcache/mvia")
# What the records say of messages that a NIC has seen.
MECHANISMS = {
    "via": {"vi", "rdma-write"},
    "via-zero-copy": {"vi", "rdma-write"},
    "mvia": {"vi", "rdma-write"},
    "tcp": {"stream"},
    "dtct": {"network-cache", "slot", "put"},
    "ldtct": {"network-cache", "slot", "put"},
}


@pytest.mark.parametrize("machine", POLICIES)
@pytest.mark.parametrize("channel", ["ni", "memory"])
def test_records_say_how_messages_went(
    examples: Path, tmp_path: Path, machine: str, channel: str
) -> None:
    words = [*together(2, "node", channel), *example(examples, "ring", machine)]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    ranks = summary(tmp_path / "out")["ranks"]
    assert isinstance(ranks, list)
    nodes = [each["node"] for each in ranks]
    assert nodes == [0, 1, 2, 0, 1]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "messages.parquet").to_pylist()
    by_nic = MECHANISMS.get(machine.partition("/")[2], {"slot", "put"})
    for row in rows:
        if row["destination"] in (None, row["source"]):
            continue
        inside = nodes[row["source"]] == nodes[row["destination"]]
        if inside and channel == "memory":
            assert (row["mechanism"], row["arrive_ps"]) == ("shared memory", None)
        elif inside and machine in IN_KERNEL:
            # By the kernel's loopback: no controller has seen it.
            assert row["arrive_ps"] is None
            assert row["mechanism"] in (None, "")
        else:
            assert row["mechanism"] in by_nic or machine == "netcache/tcp"
            assert row["arrive_ps"] is not None or machine == "netcache/tcp"


# Pairs of innocent ranks: over the nodes of the one that floods and of the one that is flooded,
# to processes of the same numbers on other nodes; and all within a node.
FLOODS = {
    "to another node": [
        *("-np", "6", *together(2)),
        *("--", "ignored", "2", "1", "4", "5", "3"),
    ],
    "within the node": [
        *("-np", "8", *together(4)),
        *("--", "ignored", "1", "2", "3", "6", "7", "5", "4"),
    ],
}


@pytest.mark.parametrize("machine", POLICIES)
def test_a_flood_stops_nobody_else(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    """What a process does not take holds up who sends it, and no others of the nodes of both: their
    messages take the time that they take without, but for what the bus and the NIC are busy, long
    before the flooded process looks."""
    program = compile_c("ignored", (ROOT / "tests" / "netcache" / "ignored.c").read_text())

    def turns(flood: str, messages: int) -> tuple[list[int], int]:
        words = [str(program) if word == "ignored" else word for word in FLOODS[flood]]
        words.insert(words.index(str(program)) + 1, str(messages))
        done = command("run", "-q", "--machine", machine, *words, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        [victim] = re.findall(r"victim (\d+)", done.stdout)
        return sorted(map(int, re.findall(r"^\d+$", done.stdout, re.M))), int(victim)

    turn = POLICIES.index(machine)
    floods = [each for at, each in enumerate(FLOODS) if SWEEP or at == turn % len(FLOODS)]
    asked = [(flood, messages) for flood in floods for messages in (0, 300)]
    found = two_at_a_time(lambda each: turns(*each), asked)
    for (alone, _), (beside, victim) in zip(found[::2], found[1::2], strict=True):
        assert len(alone) == len(beside) > 0
        # TCP's interrupts and VIA's repetitions are the node's, too.
        slowed = max(b / a for a, b in zip(alone, beside, strict=True))
        assert slowed < (3 if "via" in machine or "tcp" in machine else 1.5)
        assert 60 * beside[-1] < victim or "tcp" in machine


@pytest.mark.parametrize("machine", [each for each in POLICIES if each not in IN_KERNEL])
def test_a_process_that_does_wrong_harms_none_beside_it(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Random stores of one process to its NI: it may end by a fault of its own. The others have
    their messages, each byte right, unless it ends before."""
    program = compile_c("beside", (NI / "beside.c").read_text(), f"-I{NI}")

    def one(seed: int) -> tuple[str, int]:
        words = ["-np", "4", "--machine", machine, *together(2), "--set", "check.coherence=true"]
        run = ["run", "-q", *words, "--", str(program), str(seed), str(60 << seed % 6)]
        done = command(*run, directory=tmp_path)
        said = f"SEED={seed} on {machine}: status {done.returncode}\n{done.stdout}{done.stderr}"
        is_fault = done.returncode in (128 + 7, 128 + 11)
        blamed = re.search(r"fault: rank 0 at .*: .+, pc 0x", done.stderr)
        right = done.stdout.count("right")
        is_well = "wrong" not in done.stdout and (blamed if is_fault else right == 2)
        return "" if done.returncode in ENDS and is_well else said, right

    print(f"SEED={SEED}, {RUNS} runs")
    found = two_at_a_time(one, range(SEED, SEED + RUNS))
    assert not [said for said, _ in found if said], "\n".join(said for said, _ in found)
    assert any(right == 2 for _, right in found), "the others never came to their end"


@pytest.mark.parametrize("machine", POLICIES)
@pytest.mark.parametrize(
    ("how", "status", "said"),
    [("fault", 139, "rank 3 at"), ("abort", 7, "rank 3 at"), ("none", 125, "deadlock at")],
)
def test_a_rank_that_ends(
    compile_c: Compiler, tmp_path: Path, machine: str, how: str, status: int, said: str
) -> None:
    program = compile_c("ends", PROGRAM_THAT_ENDS)
    # By memory processes poll, over TCP by system calls: nothing shows that this is for ever.
    channel = "memory" if POLICIES.index(machine) % 2 and machine != "netcache/tcp" else "ni"
    words = ["-np", "4", "--machine", machine, *together(2, "node", channel)]
    done = command("run", *words, "--", program, how, directory=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("machine", POLICIES)
def test_ranks_of_a_node_are_fast_forwarded(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("region", REGION)
    common = ["-np", "4", "--machine", machine, *together(2), "--", str(program)]
    for out, words in (("slow", []), ("fast", ["--fast-forward"])):
        done = command("run", "--out", out, *words, *common, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "6\n" * 4
    times = [int(str(summary(tmp_path / out)["time_ps"])) for out in ("slow", "fast")]
    assert times[0] > times[1]


# Without a network cache a process may have several harts.
@pytest.mark.parametrize("machine", [each for each in POLICIES if "dtct" not in each])
def test_ranks_have_threads(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    program = compile_c("hybrid", HYBRID, "-pthread")
    words = ["-np", "4", "--machine", machine, "--ranks-per-node", "2", "--set", "node.harts=6"]
    done = command("run", *words, "--", program, "3", directory=tmp_path)
    assert done.returncode == 0, done.stderr


REFUSED = {
    "harts": ["--ranks-per-node", "2", "--set", "node.harts=4"],
    "alone": ["--only-rank", "0", "--arrivals", "recording", *together(2)],
    "vis": ["--set", "netcache.via.vis=8", "-np", "12", *together(2)],
}
SAID = {
    "harts": "node.network_cache.present: each process has 2 harts (node.harts)",
    "alone": "--ranks-per-node 2 with --only-rank",
    "vis": "12 ranks with netcache.via.vis = 8: 8 are allowed",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_in_one_line(
    examples: Path, tmp_path: Path, what: str
) -> None:
    machine = "netcache/via" if what == "vis" else "netcache"
    if what == "alone":
        words = ["-np", "4", "-o", "recording", "--", str(examples / "ring")]
        assert command("record", *words, directory=tmp_path).returncode == 0
    words = [
        "-np",
        "4",
        "-m",
        machine,
        *REFUSED[what],
        "--out",
        "out",
        "--",
        str(examples / "ring"),
    ]
    done = command("run", *words, directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert SAID[what] in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
