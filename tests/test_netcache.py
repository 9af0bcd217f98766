"""The network cache under an MPI program: late and early binding of messages by each policy, those
of several lines, what eviction does, and that every message that came into it left it once.

Use this when the network cache, netcache's NIC or its MPI device change.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import CONTAINED, SWEEP, command, every_machine, machines
from test_determinism import VARIATIONS, check

from chasqui import core

pytestmark = pytest.mark.core

VARIANTS = [machine for machine in machines() if machine.startswith("netcache")]
CACHED = ["netcache/dtct", "netcache/ldtct"]
LATE = (ROOT / "tests" / "netcache" / "late.c").read_text()
EARLY_BINDING = (ROOT / "tests" / "netcache" / "early.c").read_text()
MESSAGES = 60
# Of late.c's messages: those of up to 16 bytes, and of these the ones whose place is a multiple of
# 16. The one that is cut off and the barriers' come in addition, and EARLY whose receives are
# posted first. Those have no deposit if a line was reserved for them.
LENGTHS = [8, 16, 1, 8, 15, 12, 8, 17, 100, 8, 16, 300]
SHORT = [m for m in range(MESSAGES) if LENGTHS[m % 12] <= 16]
ALIGNED = [m for m in SHORT if m % 5 != 4 and m % 3 != 2]
EARLY = 20

Counters = dict[str, int]


@pytest.fixture(scope="module")
def late(compile_c: Compiler) -> Path:
    return compile_c("late", LATE)


def run(
    tmp_path: Path, program: Path, machine: str, *options: str, messages: int = MESSAGES
) -> Counters:
    """Runs late.c on two ranks; rank 0's counters of the network cache and of the NIC."""
    done = command(
        "run", "--out", tmp_path / "run", "-np", "2", "--machine", machine,
        "--set", "check.coherence=true", *options, "--", program, str(messages), directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "late: PASSED" in done.stdout
    node = json.loads((tmp_path / "run" / "stats.json").read_text())["node00000"]
    groups = [node["ni"], node["memory"], node.get("network_cache", {})]
    return {
        name: entry["value"]
        for group in groups
        for name, entry in group.items()
        if "value" in entry
    }


@pytest.mark.parametrize(
    "machine", [each for each in every_machine() if each.startswith("netcache/")]
)
def test_the_thesis_has_an_operating_system_on_every_node(machine: str) -> None:
    """Khunjush, 7.2.1: all its policies are compared under one."""
    found = {each["name"]: each["value"] for each in core.parameters(machine)}
    assert found["node.software.kernel"] == "true"


@pytest.mark.parametrize("machine", VARIANTS)
def test_late_messages_arrive_whole(late: Path, tmp_path: Path, machine: str) -> None:
    counters = run(tmp_path, late, machine)
    if machine not in CACHED:
        assert "bound" not in counters
        return
    came = counters["deposits"] + counters["early"]
    assert came >= len(SHORT) + EARLY + 1
    assert counters["bound"] + counters["early"] >= len(SHORT) + EARLY
    assert counters["early"] >= EARLY // 2
    assert counters["unaligned"] >= len(SHORT) - len(ALIGNED)
    # The one that is cut off can't be bound and is not tried.
    assert counters["deposits"] == counters["bound"] + counters["unknown"] + 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    travelled = {each["name"]: each["messages"] for each in summary["mechanisms"]}
    assert travelled["network-cache"] >= len(SHORT) + EARLY + 1
    stays = machine == "netcache/ldtct"
    assert (counters["bound_hits"] > 0) == stays


@pytest.mark.parametrize("machine", CACHED)
@pytest.mark.parametrize(
    ("sizes", "happens"),
    [
        ({"network_lines": 4, "network_ways": 2}, "network_replacements"),
        ({"message_entries": 4, "message_ways": 4}, "message_replacements"),
        ({"network_lines": 2, "network_ways": 1, "ltb_entries": 2, "ltb_ways": 1}, "unknown"),
    ],
)
def test_what_is_evicted_is_not_lost(
    late: Path, tmp_path: Path, machine: str, sizes: dict[str, int], happens: str
) -> None:
    options = [
        word for name, n in sizes.items() for word in ("--set", f"node.network_cache.{name}={n}")
    ]
    counters = run(tmp_path, late, machine, *options)
    assert counters[happens] > 0
    assert counters["deposits"] == counters["bound"] + counters["unknown"] + 1


def test_a_small_process_section_moves_messages_to_the_data_cache(
    late: Path, tmp_path: Path
) -> None:
    options = ["node.network_cache.process_entries=2", "node.network_cache.process_ways=2"]
    counters = run(tmp_path, late, "netcache/ldtct", *(w for o in options for w in ("--set", o)))
    assert counters["process_replacements"] > 0
    assert counters["moved"] + counters["written"] >= counters["process_replacements"]


@pytest.mark.parametrize("machine", VARIANTS)
def test_little_network_memory_holds_up_nobody(late: Path, tmp_path: Path, machine: str) -> None:
    """Messages that wait for their receive are taken before they fill it."""
    options = ["netcache.nic.memory=16 KiB", "netcache.nic.pool=512 B", "netcache.mpi.eager=512 B",
               "netcache.mpi.arrivals=4", "netcache.mpi.slots=2"]  # fmt: skip
    sets = [word for option in options for word in ("--set", option)]
    counters = run(tmp_path, late, machine, *sets, messages=400)
    assert counters["received"] > 400


@pytest.mark.parametrize("study", ["a", "b"])
@pytest.mark.parametrize("variant", ["dtct", "ldtct"])
def test_the_studies_other_caches_change_no_answer(
    late: Path, tmp_path: Path, study: str, variant: str
) -> None:
    machine = ROOT / "machines" / "netcache" / f"study-{study}.toml"
    counters = run(tmp_path, late, f"{machine}/{variant}")
    assert counters["bound"] + counters["early"] >= len(SHORT) + EARLY


def of_cache(options: dict[str, str]) -> list[str]:
    """Parameters of the network cache, for the command line."""
    return [
        word for name, value in options.items()
        for word in ("--set", f"node.network_cache.{name}={value}")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def early(compile_c: Compiler) -> Path:
    return compile_c("early", EARLY_BINDING)


@pytest.mark.parametrize("machine", CACHED)
@pytest.mark.parametrize("where", ["off", "data-cache", "network-cache"])
def test_receives_that_are_posted_first(
    early: Path, tmp_path: Path, machine: str, where: str
) -> None:
    seed = 1 + CACHED.index(machine)
    done = command(
        "run", "--out", tmp_path / "run", "-np", "3", "--machine", machine,
        *of_cache({"early": where}), "--set", "check.coherence=true",
        "--", early, str(seed), "30", directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "early: PASSED" in done.stdout
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())
    counters = {name: each["value"] for name, each in stats["node00000"]["network_cache"].items()}
    if where == "off":
        assert counters["early"] == counters["reserved"] == 0
        return
    # Each reservation is used up once, by a message that fits or does not, or withdrawn.
    used = sum(counters[name] for name in ("early", "early_missed", "withdrawn"))
    assert counters["reserved"] == used
    assert counters["early"] > 10
    assert counters["early_missed"] >= 1
    assert counters["withdrawn"] >= 1


@pytest.mark.parametrize("machine", CACHED)
@pytest.mark.parametrize("long", ["chained", "independent"])
@pytest.mark.parametrize("replacement", ["lru", "tagging"])
def test_messages_of_several_lines(
    late: Path, tmp_path: Path, machine: str, long: str, replacement: str
) -> None:
    """All but those of one byte off are bound, also where the network section is small."""
    options = {"longest": "512 B", "long": long, "replacement": replacement, "tlb_entries": "16"}
    for size in ("plenty", "scarce"):
        (tmp_path / size).mkdir()
    plenty = run(tmp_path / "plenty", late, machine, *of_cache(options))
    assert plenty["deposits"] + plenty["early"] >= MESSAGES + EARLY + 1
    scarce = run(tmp_path / "scarce", late, machine, *of_cache({**options, "network_lines": "32"}))
    assert scarce["network_replacements"] > plenty["network_replacements"]
    if long == "chained":
        assert scarce["chained_evictions"] > 0
    for counters in (plenty, scarce):
        left = counters["bound"] + counters["unknown"] + 1
        assert counters["deposits"] == left


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        ("netcache/dtct", {"longest": "512 B", "replacement": "single-cycle"}),
        (
            "netcache/ldtct",
            {"longest": "512 B", "long": "independent", "early": "network-cache",
             "network_lines": "32", "replacement": "tagging"},
        ),
    ],
)  # fmt: skip
def test_the_same_bits_by_any_design(
    early: Path, tmp_path: Path, machine: str, options: dict[str, str]
) -> None:
    """What the sweeps of test_determinism.py leave out."""
    names = ("loops executed", "by the reference", "translated", "2 threads", "window 30 ns")
    common: list[str | Path] = [
        "-np",
        "3",
        "--machine",
        machine,
        *of_cache(options),
        "--",
        early,
        "7",
        "8",
    ]
    check(tmp_path, common, {name: VARIATIONS[name] for name in names}, 0)


def counters_of(
    tmp_path: Path,
    compile_c: Compiler,
    name: str,
    ranks: int,
    arguments: list[str],
    options: dict[str, str],
) -> Counters:
    """A program of the experiments under ldtct: the network cache's counters on rank 0."""
    source = ROOT / "machines" / "netcache" / "experiments" / f"{name}.c"
    done = command(
        "run", "--out", tmp_path / "run", "-np", str(ranks), "--machine", "netcache/ldtct",
        *of_cache(options), "--", compile_c(name, source.read_text()), *arguments,
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())
    return {name: each["value"] for name, each in stats["node00000"]["network_cache"].items()}


@pytest.mark.parametrize(("replacement", "turns"), [("single-cycle", 1), ("tagging", 0)])
def test_a_repeated_order_of_receives_is_predicted(
    compile_c: Compiler, tmp_path: Path, replacement: str, turns: int
) -> None:
    """From the second round on, but for the receive by which a cycle is known to be one."""
    options = {"network_lines": "16", "network_ways": "4", "replacement": replacement}
    found = counters_of(tmp_path, compile_c, "waiting", 4, ["8", "3", "shuffled"], options)
    count, rounds = 3 * 8, 3
    assert found["bound"] == count * rounds
    assert found["predictions"] == found["predicted"] == count * (rounds - 1) - turns
    assert found["predicted_victims"] > 0
    # What has left comes back for its receive, one line for each.
    assert found["migrations"] == found["fills"] >= (count - 16) * rounds


@pytest.mark.parametrize("long", ["chained", "independent"])
def test_lines_leave_together_or_one_by_one(compile_c: Compiler, tmp_path: Path, long: str) -> None:
    """Eight messages of 32 lines each wait where 128 lines have room."""
    options = {"longest": "1 KiB", "long": long}
    found = counters_of(tmp_path, compile_c, "longer", 2, ["512", "8", "2"], options)
    assert found["fills"] > 0
    if long == "chained":
        # With the line that makes room 31 others leave, and all 32 are fetched.
        assert found["chained_evictions"] == 31 * found["migrations"]
        assert found["fills"] == 32 * found["migrations"]
    else:
        assert found["migrations"] == found["chained_evictions"] == 0
        # The program reads all of a message: each line that stayed comes once.
        assert found["stayed"] == found["asked"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["node.harts=2"],
            "node.network_cache.present: each process has 2 harts (node.harts)",
        ),
        (
            ["node.network_cache.present=false"],
            "netcache.nic.policy: the node has no network cache",
        ),
        (["node.network_cache.network_ways=3"], "128 entries of 3 ways in the network section"),
        (["node.network_cache.longest=24 B"], "24 B are no whole lines of 16 bytes"),
        (
            ["node.network_cache.longest=1536 B"],
            "1536 B go by rendezvous (netcache.mpi.eager is 1 KiB)",
        ),
        (["netcache.nic.pool=256 B"], "netcache.mpi.eager: 1 KiB do not fit a pool"),
        (
            ["netcache.nic.memory=64 KiB"],
            "netcache.nic.memory: 64 KiB do not hold 64 arrivals of 1 KiB twice",
        ),
        (
            [
                "node.network_cache.long=independent",
                "node.network_cache.longest=64 B",
                "node.network_cache.tlb_entries=64",
            ],
            "tlb_entries: 64 bound messages may stay in network memory, which has 64 pools",
        ),
    ],
)
def test_what_does_not_fit_is_said(
    late: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    sets = [word for option in options for word in ("--set", option)]
    done = command(
        "run", "-np", "2", "--machine", "netcache", *sets, "--", late, directory=tmp_path
    )
    assert done.returncode == 2
    assert said in done.stderr


def rank_0(run_directory: Path) -> dict[str, int]:
    """What the summary says of the receiver."""
    found: dict[str, int] = json.loads((run_directory / "summary.json").read_text())["ranks"][0]
    return found


@pytest.mark.parametrize("machine", ["netcache/dmaver1", "netcache/via", "netcache/mvia"])
@pytest.mark.parametrize("spare", [64, 5, 0])
def test_what_comes_early_is_copied_once_while_buffers_last(
    late: Path, tmp_path: Path, machine: str, spare: int
) -> None:
    """Before: twice, by whichever call of the library polled."""
    counters = run(tmp_path, late, machine, "--set", f"netcache.mpi.spare={spare}", messages=60)
    receiver = rank_0(tmp_path / "run")
    assert receiver["unexpected"] >= 60
    if spare == 64:
        assert receiver["copied_aside"] == 0
    elif spare == 0:
        assert receiver["copied_aside"] >= 60
    else:
        assert 0 < receiver["copied_aside"] <= receiver["unexpected"] - spare
    if machine == "netcache/dmaver1":
        assert (counters["kept"] > 0) == (spare > 0)


UNEXPECTED = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, count = atoi(argv[1]), wrong = 0;
    long word;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count && rank == 1; i++) {
        word = i;
        MPI_Send(&word, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count && rank == 0; i++) {
        MPI_Recv(&word, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += word != i;
    }
    if (rank == 0)
        printf("unexpected: %s\\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong != 0;
}
"""


# Fewer are as far beyond all buffers.
MANY = {"netcache/ldtct": 50_000, "netcache/dmaver1": 50_000}


# What CI leaves to a sweep receives as others do.
@pytest.mark.parametrize(
    "machine",
    [
        each
        for each in VARIANTS
        if SWEEP or each in MANY or each.endswith("via") or each not in CONTAINED
    ],
)
def test_many_unexpected_messages_end(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    count = 50_000 if SWEEP else MANY.get(machine, 10_000)
    program = compile_c("unexpected", UNEXPECTED)
    done = command(
        "run", "--out", tmp_path / "run", "-np", "2", "-m", machine, "--", program, str(count),
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unexpected: PASSED" in done.stdout
    receiver = rank_0(tmp_path / "run")
    # As many as the LTB keeps names of may be found by them, and never be unexpected.
    found = 256 if machine in CACHED else 0
    assert receiver["unexpected"] >= count - found
    # Those two keep nothing where it is.
    if machine not in ("netcache/tcp", "netcache/via-zero-copy"):
        assert 0 < receiver["copied_aside"] < count


def by_name(
    compile_c: Compiler, place: Path, before: int, after: int, odd: int, *words: str
) -> Counters:
    """Rank 0's counters of by_name.c."""
    program = compile_c("by_name", (ROOT / "tests" / "netcache" / "by_name.c").read_text())
    out = place / f"{before}-{after}-{odd}-{len(list(place.iterdir()))}"
    done = command(
        "run", "--out", out, "-np", "2", *words, "--set", "check.coherence=true",
        "--", program, str(before), str(after), str(odd), directory=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by_name: PASSED" in done.stdout
    node = json.loads((out / "stats.json").read_text())["node00000"]
    groups = (node["ni"], node["network_cache"])
    return {
        name: entry["value"]
        for group in groups
        for name, entry in group.items()
        if "value" in entry
    }


def test_receives_that_are_named_and_reservations_have_limits_of_their_own(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Of five receives that wait each is named, though one alone has a reservation; or each would
    have one, but two are named."""

    def counted(before: int, *sets: str) -> Counters:
        words = [word for each in sets for word in ("--set", each)]
        return by_name(compile_c, tmp_path, before, 0, 0, "-m", "netcache/ldtct", *words)

    one, two = "node.network_cache.early_entries=1", "netcache.mpi.named_receives=2"
    none, some = counted(0, one), counted(5, one)
    assert (some["named"], some["early"]) == (none["named"] + 5, none["early"] + 1)
    assert some["entered"] == none["entered"]
    none, some = counted(0, two), counted(5, two)
    assert some["named"] == none["named"] + 2
    assert some["entered"] >= none["entered"] + 3


@pytest.mark.parametrize("machine", CACHED)
@pytest.mark.parametrize("early", ["off", "data-cache", "network-cache"])
def test_exact_receives_find_their_messages_by_name(
    compile_c: Compiler, tmp_path: Path, machine: str, early: str
) -> None:
    """None of them is entered in the ring of arrivals: neither those that are there when their
    receive is posted nor those whose receives are posted first."""

    def counted(before: int, after: int, odd: int = 0) -> Counters:
        words = ["-m", machine, *of_cache({"early": early})]
        return by_name(compile_c, tmp_path, before, after, odd, *words)

    none, late, first = counted(0, 0), counted(0, 6), counted(5, 0)
    for some, count in ((late, 6), (first, 5), (counted(5, 6, 4), 11)):
        assert some["received"] == none["received"] + count
        assert some["entered"] == none["entered"]
        assert some["named"] == none["named"] + count
    assert late["bound"] == none["bound"] + 6
    landed = 0 if early == "off" else 5
    assert first["early"] == none["early"] + landed
    assert first["bound"] == none["bound"] + 5 - landed


def overtakes(program: Path, tmp_path: Path, *options: str) -> list[str]:
    """What went wrong under a few random schedules."""
    runs = [
        command(
            "run", "--quiet", "-np", "4", *options, "--", program, str(seed), "60",
            directory=tmp_path,
        )
        for seed in range(30, 36)
    ]  # fmt: skip
    return [run.stdout + run.stderr for run in runs if "schedule: PASSED" not in run.stdout]


@pytest.fixture(scope="module")
def schedule(compile_c: Compiler) -> Path:
    return compile_c("schedule", (ROOT / "tests" / "netcache" / "schedule.c").read_text())


@pytest.mark.parametrize("machine", VARIANTS)
def test_no_message_overtakes_another(schedule: Path, tmp_path: Path, machine: str) -> None:
    assert overtakes(schedule, tmp_path, "-m", machine) == []


@pytest.mark.parametrize(
    "options",
    [
        {"early": "off"},
        {"early": "network-cache"},
        {"early_entries": "1"},
        {"ltb_entries": "2", "ltb_ways": "1"},
        {"ltb_entries": "1", "ltb_ways": "1", "network_lines": "2", "network_ways": "1"},
        {"longest": "512 B", "long": "independent"},
    ],
    ids=str,
)
def test_none_does_whatever_the_network_cache_has_room_for(
    schedule: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    checked = ("-m", "netcache/ldtct", "--set", "check.coherence=true")
    assert overtakes(schedule, tmp_path, *checked, *of_cache(options)) == []


@pytest.mark.parametrize("early", ["data-cache", "network-cache", "off"])
def test_exact_receives_go_on_where_a_wildcard_was(
    compile_c: Compiler, tmp_path: Path, early: str
) -> None:
    program = compile_c("again", (ROOT / "tests" / "netcache" / "again.c").read_text())
    words = ["-m", "netcache/ldtct", *of_cache({"early": early})]
    done = command("run", "-q", "-np", "2", *words, "--", program, directory=tmp_path)
    assert (done.returncode, done.stdout) == (0, "again: PASSED\n"), done.stderr


@pytest.mark.parametrize("named", ["0", "1", "64"])
def test_none_does_however_many_receives_are_named(
    schedule: Path, tmp_path: Path, named: str
) -> None:
    options = ["--set", f"netcache.mpi.named_receives={named}", *of_cache({"early_entries": "2"})]
    assert overtakes(schedule, tmp_path, "-m", "netcache/ldtct", *options) == []


@pytest.mark.parametrize("longest", ["16 B", "64 B"])
def test_what_waited_for_others_to_be_entered_comes(
    compile_c: Compiler, tmp_path: Path, longest: str
) -> None:
    """Before, nobody looked again, and the ranks waited for ever."""
    program = compile_c("late_init", (ROOT / "tests" / "netcache" / "late_init.c").read_text())
    done = command(
        "run", "-q", "-np", "8", "--ranks-per-node", "4", "--set", "node.harts=4",
        "-m", "netcache/ldtct", *of_cache({"longest": longest}), "--", program, "3000000",
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "late_init: PASSED" in done.stdout


@pytest.mark.parametrize("bytes_max", ["128", "256", "512", "1024"])
def test_a_receive_may_be_posted_while_its_message_comes(
    examples: Path, tmp_path: Path, bytes_max: str
) -> None:
    """Before, it reserved a place for what had begun to come, and waited for ever."""
    done = command(
        "run", "-q", "-np", "2", "-m", "netcache/ldtct", *of_cache({"longest": "1 KiB"}), "--",
        examples / "pingpong", "-n", "20", "-m", bytes_max, directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pingpong: PASSED" in done.stdout


FEW_LINES = {"longest": "64 B", "network_lines": "8", "network_ways": "4"}


@pytest.mark.parametrize("options", [{}, FEW_LINES], ids=["lines", "few-lines"])
@pytest.mark.parametrize("what", ["release", "names"])
@pytest.mark.parametrize("where", ["apart", "beside"])
def test_forged_registers_and_slots_harm_nobody_else(
    compile_c: Compiler, tmp_path: Path, what: str, options: dict[str, str], where: str
) -> None:
    """Before, the simulator panicked: two lines had one buffer, or two messages one name. Those who
    do nothing of the kind, on nodes of their own or beside those who do, have right messages."""
    headers = f"-I{ROOT / 'machines' / 'netcache'}"
    text = (ROOT / "tests" / "netcache" / "forged.c").read_text()
    program = compile_c("forged", text, headers)
    shared = ["--ranks-per-node", "2", "--map-by", "node", "--set", "node.harts=2"]
    words = ["-q", "-np", "4", "-m", "netcache/ldtct", *(shared if where == "beside" else [])]
    checked = ["--set", "check.coherence=true", *of_cache(options)]
    done = command("run", *words, *checked, "--", str(program), what, directory=tmp_path)
    assert done.returncode in (0, 125), done.stdout + done.stderr
    assert "panic" not in done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 2: right", "rank 3: right"]
