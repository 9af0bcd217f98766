"""`chasqui export`: traces against what the run's files hold, read back by the formats' own tools
where these are installed.

Use this when a format, or what a trace is made of, changes. Who repeats a run needs its order:
`schedules.py` carries GOAL and SMPI's traces out.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import command_line
import pyarrow.parquet
import pytest
import report_runs
import schedules
import trace_processor
from conftest import Compiler, Run
from schedules import Goal, actions

from chasqui import export, messages
from chasqui.errors import InputError
from chasqui.export import pcap, program, smpi_ti, tables
from chasqui.messages import Message

SOURCES = Path(__file__).parent / "export"
TEXT, THREADS = ((SOURCES / name).read_text() for name in ("exchange.c", "threads.c"))
SHARED = ["--ranks-per-node", "2", "--set", "node.harts=2"]
RUNS: dict[str, tuple[str, int, list[str], list[str]]] = {
    "voyager": ("voyager", 4, [], []),
    "loggp": ("loggp", 4, [], []),
    "netcache": ("netcache/via", 4, [], []),
    "shared": ("voyager", 4, SHARED, []),
    "threads": ("voyager", 2, ["--set", "node.harts=2"], []),
    "deadlock": ("voyager", 3, [], ["deadlock"]),
    "short": ("loggp", 2, ["--timeline", "3"], []),
    "none": ("loggp", 2, ["--timeline", "0"], []),
}
WHOLE = ("voyager", "loggp", "netcache", "shared", "threads")  # which others can repeat
ANY = (*WHOLE, "deadlock")
FILES = ("goal", "pcap", "perfetto")
LIBRARIES = {"otf2": "otf2", "perfetto": "perfetto"}  # a format's package


def run_of(place: Path, compile_c: Compiler, name: str) -> Path:
    machine, ranks, more, words = RUNS[name]
    text, flags = (THREADS, ["-pthread"]) if name == "threads" else (TEXT, [])
    executable = compile_c("exchange", text, *flags)
    command = ["run", "-np", str(ranks), "--machine", machine, "--out", name, *more]
    done = command_line.run(*command, "--", executable, *words, directory=place)
    assert done.returncode == (125 if words else 0), done.stderr
    return place / name


@pytest.fixture(scope="module")
def runs(compile_c: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run directory of this name, which tests leave as it is."""
    place = tmp_path_factory.mktemp("exports")

    def run(name: str) -> Path:
        found = place / name
        return found if found.exists() else run_of(place, compile_c, name)

    return run


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return found


def sent(run: Path, at_least: int = 0) -> Counter[tuple[int, int, int]]:
    """Of messages.parquet: how many there are of each source, destination and bytes."""
    return Counter(
        (each.source, each.destination or 0, max(each.bytes or 0, at_least))
        for each in messages.read(run / "messages.parquet")
    )


def computed_ns(run: Path) -> list[int]:
    """Of each rank: the time outside of MPI calls."""
    return [(each["time_ps"] - each["mpi_ps"]) // 1000 for each in summary(run)["ranks"]]


# --- GOAL -------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("name", WHOLE)
def test_a_schedule_has_all_messages_and_all_computation(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    run = runs(name)
    path, _ = export.export(run, "goal", tmp_path / "a.goal")
    goal = Goal(path)
    sends: Counter[tuple[int, int, int]] = Counter()
    receives: Counter[tuple[int, int, int]] = Counter()
    computed: Counter[int] = Counter()
    for (rank, _), operation in goal.operations.items():
        if operation[3] == "send":
            sends[rank, int(operation[5]), int(operation[4])] += 1
        elif operation[3] == "recv":
            receives[int(operation[5]), rank, int(operation[4])] += 1
        elif operation[7] == "0":
            computed[rank] += int(operation[2])
    assert sends == receives == sent(run, at_least=1)
    if name != "threads":  # where calls of several last at a time
        assert [computed[rank] for rank in range(len(computed))] == computed_ns(run)
    assert goal.left(is_buffered=True) == goal.left(is_buffered=False) == set()


@pytest.mark.core
@pytest.mark.loggopsim
@pytest.mark.parametrize("name", WHOLE)
def test_loggopsim_carries_a_schedule_out(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    export.export(runs(name), "goal", tmp_path / "a.goal")
    subprocess.run(["txt2bin", "-i", "a.goal", "-o", "a.bin"], cwd=tmp_path, check=True)
    for most in ("100000000", "10"):  # bytes of a message that is buffered
        command = ["LogGOPSim", "-f", "a.bin", "-S", most]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        ends = re.findall(r"Host \d+: (\d+)", done.stdout)
        assert len(ends) == len(summary(runs(name))["ranks"])
        assert all(int(ns) > least for ns, least in zip(ends, computed_ns(runs(name)), strict=True))


@pytest.mark.core
@pytest.mark.loggopsim
@pytest.mark.parametrize("name", ["ring", "heat -n 16 -t 2", "cg -g 8 -i 3"])
def test_loggopsim_takes_as_long_as_loggp(
    chasqui: Run, examples: Path, tmp_path: Path, name: str
) -> None:
    """The models are nearly the same. What they differ in was not looked into."""
    program, *words = name.split()
    command = ["run", "-np", "4", "--machine", "loggp", "--out", "run", "--"]
    assert chasqui(*command, examples / program, *words).returncode == 0
    assert chasqui("export", "run", "--to", "goal", "--out", "a.goal").returncode == 0
    subprocess.run(["txt2bin", "-i", "a.goal", "-o", "a.bin"], cwd=tmp_path, check=True)
    figures = "-L 5000 -o 1000 -g 2000 -G 1 -S 100000000".split()
    command = ["LogGOPSim", "-f", "a.bin", *figures]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    last_ns = max(int(ns) for ns in re.findall(r"Host \d+: (\d+)", done.stdout))
    assert 1 <= last_ns * 1000 / summary(tmp_path / "run")["time_ps"] < 1.012


# --- SMPI ---------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("name", [each for each in WHOLE if each != "threads"])
def test_time_independent_traces_have_all_messages_and_all_computation(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    run = runs(name)
    folder, _ = export.export(run, "smpi-ti", tmp_path / "ti")
    sends: Counter[tuple[int, int, int]] = Counter()
    receives: Counter[tuple[int, int, int]] = Counter()
    computed: Counter[int] = Counter()
    for rank, lines in actions(folder):
        for words in map(str.split, lines):
            if words[0] in ("send", "isend"):
                sends[rank, int(words[1]), int(words[3])] += 1
            elif words[0] in ("recv", "irecv"):
                receives[int(words[1]), rank, int(words[3])] += 1
            elif words[0] == "compute":
                computed[rank] += int(words[1])
    assert sends == receives == sent(run)
    assert [computed[rank] for rank in range(len(computed))] == computed_ns(run)
    assert (
        schedules.blocked(folder, is_buffered=True)
        == schedules.blocked(folder, is_buffered=False)
        == {}
    )


PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1GBps" lat="1us"/>
</zone></platform>
"""


@pytest.mark.core
@pytest.mark.smpirun
@pytest.mark.parametrize("name", [each for each in WHOLE if each != "threads"])
def test_smpi_replays_a_trace(runs: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    run = runs(name)
    export.export(run, "smpi-ti", tmp_path / "ti")
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "hosts").write_text("".join(f"n{host}\n" for host in range(16)))
    ranks = len(summary(run)["ranks"])
    for most in (65536, 0):  # bytes of a message that is buffered
        command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
        command += [f"--cfg=smpi/send-is-detached-thresh:{most}", "-replay", "ti/trace.txt"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = re.search(r"Simulation time (\d+\.\d+)", done.stdout + done.stderr)
        assert found, done.stderr
        # Computation, and what the messages take there.
        assert float(found[1]) * 1e9 > max(computed_ns(run))


# --- a run that is known by heart -----------------------------------------------------------------


def call(name: str, rank: int, begin_ns: int, end_ns: int) -> dict[str, Any]:
    place = {"pid": rank + 1, "tid": rank + 1, "ts": begin_ns / 1000}
    return {"ph": "X", **place, "dur": (end_ns - begin_ns) / 1000, "name": name}


def known(place: Path) -> Path:
    """Two ranks: 100 bytes there, in MPI_Send and MPI_Recv, and an empty message back, in another
    communicator, to a receive that was posted before."""
    calls = [
        [("MPI_Init", 1000, 2000), ("MPI_Send", 5000, 6000), ("MPI_Irecv", 7000, 7100),
         ("MPI_Wait", 8000, 12000), ("MPI_Finalize", 13000, 14000)],
        [("MPI_Init", 1000, 2000), ("MPI_Recv", 3000, 9000), ("MPI_Send", 10000, 11000),
         ("MPI_Finalize", 13000, 14000)],
    ]  # fmt: skip
    stages: dict[str, list[int | None]] = {
        "call_ps": [5000, 10000], "ready_ps": [5500, 10400], "send_return_ps": [6000, 11000],
        "inject_ps": [5600, 10500], "arrive_ps": [6600, 11200], "land_ps": [6700, 11300],
        "receive_call_ps": [3000, 7000], "post_ps": [3100, 7050], "wait_call_ps": [None, 8000],
        "match_ps": [8000, 11400], "deliver_ps": [8500, 11500], "done_ps": [9000, 12000],
    }  # fmt: skip
    columns: dict[str, Any] = {
        "source": [0, 1], "sequence": [1, 1], "destination": [1, 0], "tag": [7, 7],
        "context": [0, 4], "bytes": [100, 0], "mechanism": ["basic", None],
        **{name: [ns and 1000 * ns for ns in of] for name, of in stages.items()},
    }  # fmt: skip
    found = report_runs.summary({"source": [], "done_ps": []}, 2)
    for rank, (each, end_ns) in enumerate(zip(found["ranks"], (15000, 15500), strict=True)):
        totals = Counter(name for name, _, _ in calls[rank])
        each["time_ps"] = 1000 * end_ns
        each["calls"] = [
            {"name": name, "count": count, "time_ps": 0, "waiting_ps": 0, "left_ps": 0}
            for name, count in totals.items()
        ]
    changes = {"ranks": found["ranks"], "time_ps": 15_500_000}
    run = report_runs.write(place, columns, 2, changes)
    events: list[dict[str, Any]] = []
    for rank, of in enumerate(calls):
        name = {"args": {"name": f"rank {rank}"}, "name": "process_name"}
        events.append({"ph": "M", "pid": rank + 1, **name})
        name = {"args": {"name": "MPI calls"}, "name": "thread_name"}
        events.append({"ph": "M", "pid": rank + 1, "tid": rank + 1, **name})
        events += [call(each[0], rank, each[1], each[2]) for each in of]
    (run / "timeline.json").write_text(json.dumps({"traceEvents": events}))
    return run


GOAL = """\
// GOAL: chasqui export
num_ranks 2

rank 0 {
c1: calc 1000 cpu 0
c2: calc 3000 cpu 0
s0: send 100b to 1 tag 7 cpu 0
c3: calc 1000 cpu 0
m1: recv 1b from 1 tag 8 cpu 0
c4: calc 900 cpu 0
c5: calc 1000 cpu 0
c6: calc 1000 cpu 0
c2 requires c1
s0 requires c2
c3 requires s0
m1 requires c3
c4 irequires m1
c5 requires c4
c5 requires m1
c6 requires c5
}

rank 1 {
c1: calc 1000 cpu 0
c2: calc 1000 cpu 0
m0: recv 100b from 0 tag 7 cpu 0
c3: calc 1000 cpu 0
s1: send 1b to 0 tag 8 cpu 0
c4: calc 2000 cpu 0
c5: calc 1500 cpu 0
c2 requires c1
m0 requires c2
c3 requires m0
s1 requires c3
c4 requires s1
c5 requires c4
}
"""
ACTIONS = [
    ["init", "compute 1000", "compute 3000", "send 1 7 100 6", "compute 1000", "irecv 1 8 0 6",
     "compute 900", "wait 1 0 8", "compute 1000", "compute 1000", "finalize"],
    ["init", "compute 1000", "compute 1000", "recv 0 7 100 6", "compute 1000", "send 0 8 0 6",
     "compute 2000", "compute 1500", "finalize"],
]  # fmt: skip


def test_a_known_run_as_a_schedule(tmp_path: Path) -> None:
    path, said = export.export(known(tmp_path / "run"), "goal", None)
    assert path == tmp_path / "run" / "export.goal"
    assert path.read_text() == GOAL
    assert said == "2 ranks, 2 messages"


def test_a_known_run_as_time_independent_traces(tmp_path: Path) -> None:
    folder, _ = export.export(known(tmp_path / "run"), "smpi-ti", None)
    assert [lines for _, lines in actions(folder)] == ACTIONS


def test_an_interpreter_that_finds_nothing_is_no_test(tmp_path: Path) -> None:
    """A schedule whose receive comes before what it waits for is told apart."""
    path, _ = export.export(known(tmp_path / "run"), "goal", None)
    text = path.read_text().replace("s0 requires c2", "s0 requires c4")
    path.write_text(text.replace("c4 irequires m1", "c4 requires m1"))
    assert {(0, "s0"), (1, "m0")} <= Goal(path).left(is_buffered=True)
    folder, _ = export.export(known(tmp_path / "other"), "smpi-ti", None)
    rank = folder / "rank-0.txt"
    rank.write_text(rank.read_text().replace("send 1 7", "send 1 6"))
    assert schedules.blocked(folder, is_buffered=True) == {0: "wait 1 0 8", 1: "recv 0 7 100 6"}


# --- OTF2 -----------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("name", ANY)
def test_an_archive_has_all_calls_and_messages(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    import otf2

    run = runs(name)
    folder, _ = export.export(run, "otf2", tmp_path / "archive")
    found = summary(run)
    calls: Counter[tuple[str, str]] = Counter()
    sends: Counter[tuple[int, int, int]] = Counter()
    receives: Counter[tuple[int, int, int]] = Counter()
    times: dict[str, list[int]] = defaultdict(list)
    open_regions: dict[str, list[str]] = defaultdict(list)
    requests: dict[str, set[int]] = defaultdict(set)
    with otf2.reader.open(str(folder / "traces.otf2")) as archive:
        assert archive.timer_resolution == 10**12
        ranks = {each.group.name for each in archive.definitions.locations}
        assert ranks == {f"rank {rank}" for rank in range(len(found["ranks"]))}
        for location, event in archive.events:
            rank = int(location.group.name.split()[1])
            times[location.name].append(event.time)
            match type(event).__name__:
                case "Enter":
                    open_regions[location.name].append(event.region.name)
                    calls[location.group.name, event.region.name] += 1
                case "Leave":
                    assert open_regions[location.name].pop() == event.region.name
                case "MpiSend":
                    other = event.communicator.location(event.receiver).group.name.split()[1]
                    sends[rank, int(other), event.msg_length] += 1
                case "MpiRecv" | "MpiIrecv":
                    other = event.communicator.location(event.sender).group.name.split()[1]
                    receives[int(other), rank, event.msg_length] += 1
                    if type(event).__name__ == "MpiIrecv":
                        requests[location.name].remove(event.request_id)
                case "MpiIrecvRequest":
                    requests[location.name].add(event.request_id)
                case other:
                    raise AssertionError(other)
    assert not any(open_regions.values())
    assert not any(requests.values())
    assert all(before <= after for of in times.values() for before, after in pairwise(of))
    assert max(max(of) for of in times.values()) == found["time_ps"]
    for each in found["ranks"]:
        process = f"rank {each['rank']}"
        assert times[process][0] == 0
        assert times[process][-1] == each["time_ps"]
        made = {name: number for (of, name), number in calls.items() if of == process}
        assert made.pop(found["program"]) in (1, 2)
        assert made == {every["name"]: every["count"] for every in each["calls"]}
    assert sends == sent(run)
    assert receives == sent(run)


@pytest.mark.core
@pytest.mark.otf2_print
def test_otf2_print_reads_an_archive(runs: Callable[[str], Path], tmp_path: Path) -> None:
    run = runs("voyager")
    folder, _ = export.export(run, "otf2", tmp_path / "archive")
    done = subprocess.run(
        ["otf2-print", folder / "traces.otf2"], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\nMPI_SEND ") == sent(run).total()
    assert len(re.findall(r"\nMPI_I?RECV ", done.stdout)) == sent(run).total()
    of_communicators = re.findall(r'Communicator: "([^"]+)"', done.stdout)
    assert {"MPI_COMM_WORLD", "MPI_COMM_WORLD: collectives"} < set(of_communicators)


def test_calls_have_the_roles_that_tools_show() -> None:
    from chasqui.export.otf2_archive import role_of

    roles = {
        "MPI_Barrier": "BARRIER", "MPI_Ibcast": "COLL_ONE2ALL", "MPI_Scatterv": "COLL_ONE2ALL",
        "MPI_Reduce": "COLL_ALL2ONE", "MPI_Gatherv": "COLL_ALL2ONE",
        "MPI_Reduce_scatter": "COLL_ALL2ALL", "MPI_Iallreduce": "COLL_ALL2ALL",
        "MPI_Alltoallw": "COLL_ALL2ALL", "MPI_Exscan": "COLL_OTHER", "MPI_Isend": "POINT2POINT",
        "MPI_Waitall": "POINT2POINT", "MPI_Init": "FUNCTION", "MPI_Comm_split": "FUNCTION",
    }  # fmt: skip
    assert {name: role_of(name) for name in roles} == roles


# --- pcap, csv, Perfetto --------------------------------------------------------------------------


def packets(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """When [ns], how many bytes more on the wire than are there, and what is there."""
    content = path.read_bytes()
    at = pcap.FILE.size
    while at < len(content):
        seconds, ns, kept, length = pcap.PACKET.unpack_from(content, at)
        at += pcap.PACKET.size
        yield seconds * 10**9 + ns, length - kept, content[at : at + kept]
        at += kept


@pytest.mark.core
@pytest.mark.parametrize("name", ANY)
def test_a_capture_has_a_packet_a_message(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    import dpkt

    run = runs(name)
    path, _ = export.export(run, "pcap", tmp_path / "a.pcap")
    with path.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        assert reader.datalink() == dpkt.pcap.DLT_EN10MB
        frames = [dpkt.ethernet.Ethernet(content) for _, content in reader]
    pairs: Counter[tuple[int, int, int]] = Counter()
    times = []
    for frame, (ns, more, _) in zip(frames, packets(path), strict=True):
        assert frame.type == pcap.TYPE
        pair = [int.from_bytes(address[-2:], "big") for address in (frame.src, frame.dst)]
        words = dict(re.findall(rb"(\w+)=(\S+)", bytes(frame.data)))
        assert [int(words[b"source"]), int(words[b"destination"])] == pair
        assert int(words[b"bytes"]) == more
        assert ns == int(words.get(b"inject_ps", b"-1")) // 1000 or b"inject_ps" not in words
        pairs[pair[0], pair[1], more] += 1
        times.append(ns)
    assert times == sorted(times)
    assert pairs == sent(run)


@pytest.mark.tcpdump
def test_tcpdump_reads_a_capture(tmp_path: Path) -> None:
    path, said = export.export(known(tmp_path / "run"), "pcap", None)
    assert said == "2 packets"
    command = ["tcpdump", "-n", "-e", "--time-stamp-precision=nano", "-tt", "-r"]
    done = subprocess.run([*command, path], capture_output=True, text=True, check=True)
    first, second = [line for line in done.stdout.splitlines() if "ethertype" in line]
    assert first.startswith("0.000005600 02:00:00:00:00:00 > 02:00:00:00:00:01")
    assert second.startswith("0.000010500 02:00:00:00:00:01 > 02:00:00:00:00:00")


@pytest.mark.core
@pytest.mark.parametrize("name", ANY)
def test_tables_are_those_of_the_run(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    run = runs(name)
    folder, _ = export.export(run, "csv", tmp_path / "tables")
    with (folder / tables.MESSAGES).open() as file:
        rows = list(csv.DictReader(file))
    expected = pyarrow.parquet.read_table(run / "messages.parquet").to_pylist()
    assert len(rows) == len(expected)
    for row, message in zip(rows, expected, strict=True):
        assert row == {name: "" if message[name] is None else str(message[name]) for name in row}
        assert set(row) == set(message)
    with (folder / tables.CALLS).open() as file:
        calls = list(csv.DictReader(file))
    made = Counter((int(row["rank"]), row["call"]) for row in calls)
    assert made == {
        (rank, each["name"]): each["count"]
        for rank, of in enumerate(summary(run)["ranks"])
        for each in of["calls"]
    }
    number = sum(int(row["messages_sent"]) for row in calls)
    assert number == sum(int(row["messages_received"]) for row in calls) == len(rows)
    assert sum(int(row["bytes_sent"]) for row in calls) == sum(int(row["bytes"]) for row in rows)


@pytest.mark.core
@pytest.mark.perfetto
@pytest.mark.parametrize("name", ["voyager", "loggp", "threads"])
def test_perfetto_finds_calls_and_messages(
    runs: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    run = runs(name)
    path, _ = export.export(run, "perfetto", tmp_path / "a.pftrace")
    of_threads = (
        "SELECT s.id, s.ts, s.dur, s.name, p.name AS process FROM slice s JOIN thread_track t ON "
        "s.track_id = t.id JOIN thread USING (utid) JOIN process p USING (upid)"
    )
    faults, calls, arrows, sizes, most = trace_processor.query(
        path,
        "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
        f"SELECT name, process, count(*) AS n FROM ({of_threads}) WHERE name LIKE 'MPI%' "
        "GROUP BY name, process",
        f"WITH e AS ({of_threads}) SELECT a.process, b.process AS other, b.ts - a.ts AS took, "
        "a.name AS sends, b.name AS receives FROM flow JOIN e a ON slice_out = a.id "
        "JOIN e b ON slice_in = b.id",
        f"SELECT process, sum(int_value) AS n FROM ({of_threads}) JOIN slice USING (id) JOIN args "
        "USING (arg_set_id) WHERE key = 'debug.bytes' AND slice.name LIKE 'to %' GROUP BY process",
        f"SELECT max(ts + dur) AS n FROM ({of_threads})",
    )
    assert faults == []
    assert Counter({(process, name): count for name, process, count in calls}) == {
        (f"rank {rank}", each["name"]): each["count"]
        for rank, of in enumerate(summary(run)["ranks"])
        for each in of["calls"]
    }
    pairs: Counter[tuple[int, int]] = Counter()
    for source, destination, size in sent(run).elements():
        pairs[source, destination] += 1
        assert size >= 0
    drawn = Counter((int(a.split()[1]), int(b.split()[1])) for a, b, *_ in arrows)
    assert drawn == pairs
    assert all(took >= 0 for _, _, took, _, _ in arrows)
    assert all(
        (sends, receives) == (f"to {b.split()[1]}", f"from {a.split()[1]}")
        for a, b, _, sends, receives in arrows
    )
    total: Counter[str] = Counter()
    for (source, _, size), number in sent(run).items():
        total[f"rank {source}"] += size * number
    assert dict(sizes) == total
    last = max(rank["time_ps"] for rank in summary(run)["ranks"])
    assert most[0][0] <= last // 1000


# --- what is refused ------------------------------------------------------------------------------


def unchanged(place: Path) -> Callable[[], bool]:
    """Whether nothing has come, gone or changed since."""

    def look() -> dict[str, bytes]:
        return {str(each): each.read_bytes() for each in place.rglob("*") if each.is_file()}

    before = look()
    return lambda: look() == before


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "to", "words"),
    [
        ("none", "goal", r"timeline\.json: no such file.*`chasqui run --timeline \d+` keeps all"),
        ("short", "csv", r"it has 3 of the \d+ calls of rank \d; `chasqui run --timeline \d+`"),
        ("deadlock", "goal", r"did not finish \(deadlock\).*otf2, perfetto, pcap and csv take any"),
        ("deadlock", "smpi-ti", r"did not finish \(deadlock\)"),
        ("threads", "smpi-ti", r"rank 0 calls MPI from several threads"),
    ],
)
def test_what_the_run_lacks_is_said(
    runs: Callable[[str], Path], chasqui: Run, name: str, to: str, words: str
) -> None:
    run = runs(name)
    is_unchanged = unchanged(run.parent)
    done = chasqui("export", run, "--to", to)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(rf"chasqui: {re.escape(str(run))}.*{words}.*\n", done.stderr), done.stderr
    assert is_unchanged()


@pytest.mark.core
def test_as_many_calls_as_the_message_says_are_enough(
    compile_c: Compiler, chasqui: Run, tmp_path: Path
) -> None:
    executable = compile_c("exchange", TEXT)
    run = ["run", "-np", "2", "--out", "run", "--timeline"]
    assert chasqui(*run, "3", "--", executable).returncode == 0
    said = chasqui("export", "run", "--to", "goal").stderr
    number = re.findall(r"--timeline (\d+)", said)[0]
    shutil.rmtree(tmp_path / "run")
    assert chasqui(*run, number, "--", executable).returncode == 0
    assert chasqui("export", "run", "--to", "goal").returncode == 0


@pytest.mark.core
def test_collectives_of_the_nis_are_not_left_out_silently(
    compile_c: Compiler, chasqui: Run
) -> None:
    executable = compile_c("exchange", TEXT)
    run = ["run", "-np", "2", "--machine", "mpinp", "--out"]
    assert chasqui(*run, "cards", "--timeline", "100000", "--", executable).returncode == 0
    done = chasqui("export", "cards", "--to", "goal")
    assert done.returncode == 2
    assert "MPI_Barrier sent no message" in done.stderr
    option = re.findall(r"--set ([\w.=]+)", done.stderr)[0]
    more = ["--timeline", "100000", "--set", option]
    assert chasqui(*run, "library", *more, "--", executable).returncode == 0
    assert chasqui("export", "library", "--to", "goal").returncode == 0
    assert chasqui("export", "cards", "--to", "csv").returncode == 0


@pytest.mark.parametrize("to", list(export.FORMATS))
def test_only_an_export_is_replaced(tmp_path: Path, to: str) -> None:
    run = known(tmp_path / "run")
    for other in ("notes.txt", "empty", "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / "thesis.tex").write_text("years of work")
        (tmp_path / "notes.txt").write_text("num_ranks 2\n")
        out = tmp_path / other
        if other == "empty" and to in FILES:
            out.touch()
        elif other == "empty":
            out.mkdir()
        is_unchanged = unchanged(tmp_path)
        if other == "empty":
            export.export(run, to, out)
            continue
        with pytest.raises(InputError, match=re.escape(str(out))):
            export.export(run, to, out)
        assert is_unchanged()
    path, _ = export.export(run, to, None)
    before = sorted(each.name for each in run.iterdir())
    again, _ = export.export(run, to, None)
    assert again == path
    assert sorted(each.name for each in run.iterdir()) == before


def test_a_folder_with_other_files_beside_an_export_is_not_replaced(tmp_path: Path) -> None:
    run = known(tmp_path / "run")
    for to in ("smpi-ti", "csv"):
        folder, _ = export.export(run, to, None)
        (folder / "notes.txt").write_text("mine")
        with pytest.raises(InputError, match="name another place"):
            export.export(run, to, None)
        (folder / "notes.txt").unlink()
        if to == "smpi-ti":
            # Of a run of more ranks: gone with the rest.
            (folder / "rank-2.txt").write_bytes(smpi_ti.BEGINNING + b"2 init\n")
        export.export(run, to, None)
        assert not (folder / "rank-2.txt").exists()


@pytest.mark.parametrize("to", ["goal", "csv"])
def test_nothing_is_left_of_an_export_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    run = known(tmp_path / "run")
    export.export(run, to, None)
    is_unchanged = unchanged(tmp_path)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program.Tags, "of", fail)
    monkeypatch.setattr(tables, "_calls", fail)
    with pytest.raises(OSError, match="No space"):
        export.export(run, to, None)
    assert is_unchanged()
    assert not [each for each in run.iterdir() if each.name.startswith(".")]


@pytest.mark.parametrize("to", list(LIBRARIES))
def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    import sys

    for name in [each for each in sys.modules if each.split(".")[0] == LIBRARIES[to]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, LIBRARIES[to], None)
    with pytest.raises(InputError, match=rf"`pip install {LIBRARIES[to]}`"):
        export.export(known(tmp_path / "run"), to, None)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"summary\.json: no such file"):
        export.export(tmp_path, "goal", None)
    run = known(tmp_path / "run")
    text = (run / "summary.json").read_text()
    replay = {"rank": 0, "ratio": "1", "cycles_per_recorded_s": 1, "is_same": True}
    replay |= dict.fromkeys(("messages", "taken", "taken_otherwise", "sent", "sent_otherwise"), 0)
    (run / "summary.json").write_text(json.dumps(json.loads(text) | {"replay": replay}))
    with pytest.raises(InputError, match="of one rank alone"):
        export.export(run, "goal", None)


def test_tags_of_communicators_are_told_apart() -> None:
    """Those of MPI_COMM_WORLD are kept, others get numbers that it has not."""
    keys = [(0, 3), (0, 1 << 31), (4, 3), (1, 0), (4, 4)]
    found = [Message(0, number, tag=tag, context=of) for number, (of, tag) in enumerate(keys)]

    class Trace:
        messages = found

    tags = program.Tags(Trace())  # type: ignore[arg-type]
    assert [tags.of(number) for number in range(5)] == [3, 1 << 31, 1, 0, 2]


def test_what_calls_leave_under_way() -> None:
    leave = (
        "Isend Ibcast Ineighbor_alltoall Bsend Start Startall Test Waitany Iprobe Mprobe Recv "
        "Mrecv Psend_init Pready"
    ).split()
    wait = (
        "Init Init_thread Info_create Intercomm_create Send Sendrecv Bcast Finalize Comm_split "
        "Alltoallv Ssend"
    ).split()
    assert all(program.OPEN.fullmatch(f"MPI_{name}") for name in leave)
    assert not any(program.OPEN.fullmatch(f"MPI_{name}") for name in wait)
    assert {name for name in (*leave, *wait) if program.SENDS.fullmatch(f"MPI_{name}")} == {
        "Send", "Ssend",
    }  # fmt: skip
