"""Whole runs, bit by bit: what only observes or only saves host time changes nothing, and the same
run has the same bits twice, on any number of host threads.

Use this when skipping of polling loops, the coherence checker, the timeline or the order of
anything changes. What differs here is a bug of the simulator: nothing but the line of the parameter
that was set is excused. Every example also runs with the coherence checker on, so this is the test
that the MPI devices flush and fence where they must.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest
from conftest import Compiler
from simulated import (
    EXAMPLES,
    SWEEP,
    TRANSLATED,
    command,
    example,
    is_slow,
    organisations,
    two_at_a_time,
)

pytestmark = pytest.mark.core

# name: options of the run
ONE_THREAD = {"1 thread": ["--threads", "1"]}
THREADS = {f"{count} threads": ["--threads", str(count)] for count in (2, 4, "auto")}
EXECUTED = {"loops executed": ["--set", "check.spin_skip=false"]}
# How far nodes run before they meet, where they could: a call or so, some instructions. Threads
# that meet as often take ten times as long.
WINDOWS = {
    "window 1 us": ["--set", "check.window=1 us"],
    "window 30 ns": ["--set", "check.window=30 ns", "--threads", "2" if SWEEP else "1"],
}
VARIATIONS = {
    "again": [],
    **EXECUTED,
    "by the reference": ["--set", "check.executor=reference", "--threads", "2"],
    "threaded": ["--set", "check.executor=threaded"],
    "translated": TRANSLATED,
    "checker on": ["--set", "check.coherence=true"],
    "no timeline": ["--timeline", "0"],
    "profile": ["--profile"],
    "instructions": ["--trace-instructions", "10us..30us"],
    **THREADS,
    **WINDOWS,
}

# Each with each of the others.
PLAIN: dict[str, list[str]] = {"": []}
WATCHED = {"watched": ["--profile", "--trace-instructions", "10us..30us"]}
DIMENSIONS = [
    ONE_THREAD | {name: THREADS[name] for name in ("2 threads", "4 threads")},
    PLAIN | EXECUTED,
    PLAIN | WATCHED,
    PLAIN | {"window 1 us": WINDOWS["window 1 us"]},
]
# By name: the sum of the choices' numbers, and the options.
COMBINATIONS = {
    " ".join(filter(None, names)): (
        sum(list(choices).index(name) for choices, name in zip(DIMENSIONS, names, strict=True)),
        [
            option
            for choices, name in zip(DIMENSIONS, names, strict=True)
            for option in choices[name]
        ],
    )
    for names in product(*DIMENSIONS)
}

TURNS = 3


def third(turn: int) -> dict[str, list[str]]:
    """A third of the variations; three turns have them all."""
    if SWEEP:
        return VARIATIONS
    return {name: VARIATIONS[name] for name in list(VARIATIONS)[turn % TURNS :: TURNS]}


def in_turn() -> list[tuple[str, str, int]]:
    """Machine, program, turn: each machine has three programs, and by them all variations."""
    assert len(EXAMPLES) >= TURNS
    names = list(EXAMPLES)
    if SWEEP:
        return [(machine, name, 0) for machine in organisations() for name in names]
    return [
        (machine, names[(TURNS * place + turn) % len(names)], turn)
        for place, machine in enumerate(organisations())
        for turn in range(TURNS)
    ]


def share(machine: str, choice: int, of: int) -> bool:
    """Machines take turns: whether this one has this choice, where each has one in `of`."""
    return SWEEP or choice % of == organisations().index(machine) % of


# Processor and bus: an iteration that polls a register is seldom a whole number of these bus
# clocks, so that some loops can be skipped and others can't.
CLOCKS = [("151 MHz", "61 MHz"), ("133 MHz", "40 MHz"), ("3 GHz", "400 MHz")]


# Options that add files or leave some out: how these files' names begin.
OTHER_FILES = {
    "--timeline": "timeline.json",
    "--profile": "profile.",
    "--trace-instructions": "instructions.",
}


def without(machine: str, parameters: set[str]) -> str:
    """A resolved machine without the lines of these parameters."""
    kept, section = [], ""
    for line in machine.splitlines(keepends=True):
        if line.startswith("["):
            section = line.strip("[]\n")
        if f"{section}.{line.split(' = ')[0]}" not in parameters:
            kept.append(line)
    assert len(kept) == machine.count("\n") - len(parameters)
    return "".join(kept)


def files(directory: Path, options: list[str]) -> dict[str, bytes]:
    """What a run left, without what belongs to the host and without the lines of parameters that
    `options` set."""
    parameters = {option.split("=")[0] for option in options if "=" in option}
    found = {path.name: path.read_bytes() for path in directory.iterdir()}
    del found["host.json"]
    found["resolved.toml"] = without(found["resolved.toml"].decode(), parameters).encode()
    return found


def differences(one: Path, other: Path, options: list[str]) -> list[str]:
    """Names of files that differ or that only one has."""
    a, b = files(one, options), files(other, options)
    starts = {OTHER_FILES[option] for option in options if option in OTHER_FILES}
    others = {name for name in a.keys() ^ b.keys() if name.startswith((*starts,))}
    assert starts == {start for start in starts for name in others if name.startswith(start)}
    names = (a.keys() | b.keys()) - others
    return sorted(name for name in names if a.get(name) != b.get(name))


# How a run is simulated otherwise: with what is to make no difference.
OTHERWISE = {
    "two": ["--threads", "2"],
    "windows": ["--set", "check.window=1 us"],
    "spinning": ["--set", "check.spin_skip=false"],
}


def check_same(
    directory: Path,
    options: Sequence[str],
    program: Sequence[str | Path],
    otherwise: Mapping[str, list[str]] = OTHERWISE,
) -> None:
    """A program's results are the same bits on one host thread and in each of these ways."""
    for name, how in {"one": ["--threads", "1"], **otherwise}.items():
        words = [*options, *how, "--", *map(str, program)]
        done = command("run", "-q", "--out", name, *words, directory=directory)
        assert done.returncode == 0, done.stdout + done.stderr
        found = differences(directory / "one", directory / name, [*how, "--threads"])
        assert found in ([], ["resolved.toml"]), name


def check(
    directory: Path, common: Sequence[str | Path], variations: dict[str, list[str]], status: int
) -> None:
    """Runs with and without each variation and compares."""
    everything = {"reference": ONE_THREAD["1 thread"], **variations}

    def run(name: str) -> str:
        done = command("run", "--out", name, *everything[name], *common, directory=directory)
        return "" if done.returncode == status else f"{name}: {done.stdout}{done.stderr}"

    assert [text for text in two_at_a_time(run, everything) if text] == []
    expected = {"summary.json", "stats.json", "messages.parquet", "timeline.json", "resolved.toml"}
    assert expected | {"stdout.0", "stderr.1"} <= files(directory / "reference", []).keys()
    found = {
        name: differences(directory / "reference", directory / name, options)
        for name, options in variations.items()
    }
    assert found == {name: [] for name in variations}


@pytest.mark.parametrize(("machine", "name", "turn"), in_turn())
def test_the_same_bits(examples: Path, tmp_path: Path, machine: str, name: str, turn: int) -> None:
    check(tmp_path, example(examples, name, machine), third(turn), 0)


@pytest.mark.parametrize("machine", organisations())
def test_the_same_bits_in_combinations(examples: Path, tmp_path: Path, machine: str) -> None:
    """A quarter of the combinations, another on the next machine: four machines have them all."""
    quarter = organisations().index(machine) % 4
    combinations = {
        name: options
        for name, (number, options) in COMBINATIONS.items()
        if SWEEP or number % 4 == quarter
    }
    check(tmp_path, example(examples, "heat", machine), combinations, 0)
    # The reference was not watched: what the others saw must be the same, too.
    seen = [
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("[pi]*.*")}
        for name, options in combinations.items()
        if "--profile" in options
    ]
    assert {"profile.json", "instructions.0"} <= seen[0].keys()
    assert all(each == seen[0] for each in seen)


@pytest.mark.parametrize(
    ("machine", "clocks"),
    [
        pytest.param(machine, clocks, id=f"{machine}-{' '.join(clocks)}")
        for machine in organisations()
        for number, clocks in enumerate(CLOCKS)
        if share(machine, number, len(CLOCKS))
    ],
)
def test_skipping_at_any_clocks(
    examples: Path, tmp_path: Path, machine: str, clocks: tuple[str, str]
) -> None:
    sets = ["--set", f"node.core.clock={clocks[0]}", "--set", f"node.bus.clock={clocks[1]}"]
    check(tmp_path, [*sets, *example(examples, "sort", machine)], EXECUTED, 0)


@pytest.mark.parametrize(
    ("machine", "turn", "polls"),
    [
        (machine, turn, polls)
        for machine in organisations()
        for turn, polls in enumerate((2, 40, 2))
        if share(machine, turn, TURNS)
    ],
)
def test_the_same_bits_where_waits_yield(
    examples: Path, tmp_path: Path, machine: str, turn: int, polls: int
) -> None:
    """To nobody: the process goes on."""
    wait = ["--mpi", f"wait.polls={polls}"]
    check(tmp_path, [*wait, *example(examples, "sort", machine)], third(turn), 0)


# Loops that never end: in a call, in one that looks through what has come, around calls that test,
# and that yield.
ENDLESS = {
    "receive": "MPI_Recv(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    "probe": "MPI_Probe(1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    "test": (
        "MPI_Irecv(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);"
        " while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);"
    ),
    "iprobe": "while (!flag) MPI_Iprobe(1 - rank, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);",
    "yield": (
        "while (!flag) MPI_Iprobe(1 - rank, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),"
        " sched_yield();"
    ),
}
# Polls in vain until the MPI library yields; 0: never.
POLLS = [(name, 0) for name in ENDLESS] + [("receive", 3), ("receive", 2000), ("probe", 20)]


@pytest.mark.parametrize(
    ("machine", "name", "polls"),
    [
        (machine, *poll)
        for machine in organisations()
        for number, poll in enumerate(POLLS)
        if share(machine, number, 2)
        # Where ranks share a node one's system call is an event to the others (crates/node/README).
        and not (machine.startswith("flash") and (poll[0] == "yield" or poll[1] > 0))
    ],
)
def test_a_deadlock_is_found_at_the_same_time(
    compile_c: Compiler, tmp_path: Path, machine: str, name: str, polls: int
) -> None:
    """Also with skipping off: that it is found must not depend on what only saves host time."""
    program = compile_c(
        f"endless_{name}",
        "#include <mpi.h>\n#include <sched.h>\nint main(int argc, char **argv)\n{\n"
        "    int rank, x, flag = 0;\n    MPI_Request request;\n"
        "    (void)x, (void)flag, (void)request;\n"
        "    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        f"    {ENDLESS[name]}\n    MPI_Finalize();\n    return 0;\n}}\n",
    )
    others = ("checker on", "profile", "window 1 us")
    other = others[(organisations().index(machine) + POLLS.index((name, polls))) % len(others)]
    names = others if SWEEP else (other,)
    variations = {name: VARIATIONS[name] for name in ("loops executed", *names)}
    wait = ["--mpi", f"wait.polls={polls}"]
    check(tmp_path, ["-np", "2", "--machine", machine, *wait, "--", str(program)], variations, 125)
    assert "deadlock at " in (tmp_path / "reference" / "summary.json").read_text()


# Long enough on any host for trials of how many threads are faster: the first comes after 100 ms.
ROUNDS, SLOW_ROUNDS = 2500, 400
LONG = """\
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, ranks, in = 0, rounds = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < rounds; round++) {
        for (volatile int i = 0; i < 2000; i++)
            ;
        MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % ranks, 0, &in, 1, MPI_INT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return in != rounds - 1;
}
"""


@pytest.mark.parametrize(
    "machine",
    [
        machine
        for machine in organisations()
        # One partition is one host thread's.
        if share(machine, 0, 2) and not machine.startswith("flash")
    ],
)
def test_a_change_of_threads_within_a_run(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("long", LONG)
    rounds = str(SLOW_ROUNDS if is_slow(machine) and not SWEEP else ROUNDS)
    run = ["-np", "8", "--machine", machine, "--", str(program), rounds]
    check(tmp_path, run, {"auto": THREADS["auto threads"]}, 0)

    def together(name: str) -> int:
        return int(json.loads((tmp_path / name / "host.json").read_text())["steps_together"])

    assert together("reference") == 0
    # With one processor there is nobody to go together with.
    assert (together("auto") > 0) == (len(os.sched_getaffinity(0)) > 1)


# Four switches in a ring with a chord, four nodes on each.
GRAPH = f"""\
switches = 4
links = ["0-1", "1-2", "2-3", "3-0", "0-2"]
nodes = {[node // 4 for node in range(16)]}
"""
# Machines on networks, and what of these differs: each is in zones for 2 threads and for 4, but an
# ideal network, which is one.
IN_ZONES = [
    ("voyager", ["network.topology=fat-tree"], 0),
    ("voyager", ["network.topology=mesh"], 0),
    ("voyager", ["network.topology=torus", "network.input_buffer=1"], 0),
    ("netcache/ldtct", ["network.topology=dragonfly"], 0),
    ("voyager", ["network.topology=graph", f"network.graph={GRAPH}"], 0),
    ("voyager", ["network.topology=ideal"], 0),
    ("netcache/tcp", ["network.topology=ideal"], 0),
    ("voyager", ["network.fault.rate=0.0001"], 135),
    ("netcache/ldtct", ["network.topology=fat-tree"], 0),
    ("netcache/tcp", ["network.topology=mesh", "network.input_buffer=1"], 0),
    ("netcache/mvia", ["network.topology=torus"], 0),
    ("netcache-modern", ["network.topology=fat-tree"], 0),
]


@pytest.mark.parametrize(("machine", "sets", "status"), IN_ZONES)
def test_a_network_in_zones(
    examples: Path, tmp_path: Path, machine: str, sets: list[str], status: int
) -> None:
    options = [option for parameter in sets for option in ("--set", parameter)]
    program: list[str | Path] = [examples / "sort", "-n", "64"]
    several = {name: THREADS[name] for name in ("2 threads", "4 threads")}
    check(tmp_path, ["-np", "16", "--machine", machine, *options, "--", *program], several, status)
    messages = json.loads((tmp_path / "reference" / "summary.json").read_text())["messages"]
    assert messages > 200, "among all"


@pytest.mark.parametrize("machine", ["netcache/via", "voyager"])
def test_nodes_that_hold_each_other_up(examples: Path, tmp_path: Path, machine: str) -> None:
    """A node whose harts had run ahead, and whose neighbour's had, waited for what the neighbour
    had yet to settle, and the other way round: for ever, with a look-ahead of a picosecond."""
    close = ["network.topology=ideal", "network.link_latency=1 ps", "node.harts=2"]
    sets = [option for parameter in close for option in ("--set", parameter)]
    run = ["-np", "4", "--ranks-per-node", "2", "--machine", machine, *sets]
    check(tmp_path, [*run, "--", examples / "heat"], {"2 threads": THREADS["2 threads"]}, 0)


# Rank 3 prints first; rank 1 ends the job while others compute, send and receive.
ABORT = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, ranks, out = 1, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0;; round++) {
        for (volatile int i = 0; i < 1000 * (4 - rank % 4); i++)
            ;
        printf("rank %d round %d\\n", rank, round);
        fflush(stdout);
        if (rank == 1 && round == 9)
            MPI_Abort(MPI_COMM_WORLD, 42);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 0, &in, 1, MPI_INT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
"""


@pytest.mark.parametrize("machine", organisations())
def test_an_abort_stops_all_at_the_same_time(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("abort_at_9", ABORT)
    run = ["-np", "6", "--machine", machine, "--", str(program)]
    check(tmp_path, run, EXECUTED | THREADS | WINDOWS, 42)


@pytest.mark.parametrize("machine", organisations())
def test_lines_come_in_the_order_of_simulated_time(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("abort_at_9", ABORT)
    outputs = {
        name: command(
            "run", "-q", *options, "-np", "6", "--machine", machine, "--", program,
            directory=tmp_path,
        ).stdout
        for name, options in (ONE_THREAD | THREADS).items()
    }  # fmt: skip
    assert set(outputs.values()) == {outputs["1 thread"]}
    first = [line for line in outputs["1 thread"].splitlines() if line.endswith("round 0")]
    assert len(first) == 6
    if machine.startswith("flash"):
        return  # MPI_Init ends at unlike times, which differ by more.
    # The less a rank computes, the sooner it prints.
    assert [int(line.split()[1]) % 4 for line in first] == [3, 2, 1, 1, 0, 0]
