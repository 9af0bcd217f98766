"""What is watched of a run: the profile adds up, the trace misses nothing, arrows bind.

Use this when cycles are accounted for in another way, or a file of a run gets other contents. That
watching changes no result is in test_determinism.py; windows that are refused in test_bad_input.py.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import trace_processor
from conftest import Compiler, Run
from simulated import EXAMPLES, SWEEP, command, example, organisations

from chasqui import timeline

pytestmark = pytest.mark.core

# Calls of every kind; `count` is known to the instruction.
CALLS = r"""
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

__asm__(".text\n.globl count\n.type count, @function\n"
        "count:\n1: addi a0, a0, -1\nbnez a0, 1b\nret\n.size count, . - count\n"
        ".globl tail\n.type tail, @function\n"
        "tail: li a0, 7\nj count\n.size tail, . - tail\n"
        ".globl put\n.type put, @function\n"
        "put: li a1, 0x5a5\nsw a1, 4(a0)\nlw a2, 4(a0)\namoadd.w a3, a1, (a0)\nret\n"
        ".size put, . - put\n");
extern void count(long), tail(void), put(int *);

static jmp_buf start;
static int words[2];

__attribute__((noinline)) void thrower(int deep)
{
    if (deep == 0)
        longjmp(start, 1);
    thrower(deep - 1);
    count(1); /* not a tail call, never reached */
}

__attribute__((noinline)) int recursive(int deep)
{
    return deep == 0 ? 0 : recursive(deep - 1) + words[deep & 1] + 1;
}

__attribute__((noinline)) void caller(void)
{
    count(1000);
    tail();
    __asm__ volatile("");
}

__attribute__((noinline)) void after(void)
{
    count(500);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    caller();
    if (setjmp(start) == 0)
        thrower(5);
    after();
    put(words);
    int deep = recursive(argc > 1 ? 5000 : 1);
    MPI_Finalize();
    return deep == 0;
}
"""


@pytest.fixture(scope="session")
def calls(compile_c: Compiler) -> Path:
    return compile_c("calls", CALLS)


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def profiled(directory: Path, program: Path, *arguments: str, machine: str = "loggp") -> Path:
    run = directory / "run"
    done = command(
        "run", "--out", run, "--profile", "--machine", machine, "--", program, *arguments,
        directory=directory,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run


def folded(run: Path) -> dict[str, int]:
    """Cycles by path."""
    lines = (run / "profile.folded").read_text().splitlines()
    return {path: int(cycles) for path, _, cycles in (line.rpartition(" ") for line in lines)}


def firmware_of(node: dict[str, Any]) -> dict[str, Any]:
    """Counters of the processor in the node's network interface, if it has one."""
    ni = node.get("ni", {})  # flash has none
    found = [ni[name] for name in ("sp", "np") if name in ni]
    return found[0] if found else {}


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        (name, machine)
        for turn, name in enumerate(EXAMPLES)
        for place, machine in enumerate(organisations())
        if SWEEP or (place + turn) % 2 == 0
    ],
)
def test_every_cycle_is_counted_once(
    examples: Path, tmp_path: Path, machine: str, name: str
) -> None:
    job = ["--profile", *example(examples, name, machine)]
    # A loop that is skipped counts like one that is executed.
    variations = {"skipped": [], "executed": ["--set", "check.spin_skip=false", "--threads", "2"]}
    for variation, others in variations.items():
        done = command("run", "--out", variation, *others, *job, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.search(r"where [\d,]+ cycles of \d ranks went", done.stderr)
    for file in ("profile.json", "profile.folded", "profile.speedscope.json"):
        contents = {(tmp_path / variation / file).read_bytes() for variation in variations}
        assert len(contents) == 1, file
    run = tmp_path / "skipped"
    profile, summary = load(run / "profile.json"), load(run / "summary.json")
    scope, paths = load(run / "profile.speedscope.json"), folded(run)
    statistics = load(run / "stats.json")
    for rank, other in zip(profile["ranks"], summary["ranks"], strict=True):
        assert rank["cycles"] == other["cycles"]
        assert rank["instructions"] == other["instructions"]
    for each in profile.get("firmware", []):
        counted = firmware_of(statistics[f"node{each['node']:05}"])
        assert each["cycles"] == counted["cycles"]["value"] > 0
        assert each["instructions"] == counted["instructions"]["value"]
    assert bool(profile.get("firmware")) == bool(firmware_of(statistics["node00000"]))
    names = [f"rank {each['rank']}" for each in profile["ranks"]]
    names += [f"{each['processor']} of node {each['node']}" for each in profile.get("firmware", [])]
    processors = profile["ranks"] + profile.get("firmware", [])
    for processor, whose, drawn in zip(processors, names, scope["profiles"], strict=True):
        for key in ("cycles", "instructions"):
            assert sum(each[key] for each in processor["functions"]) == processor[key]
        for each in (processor, *processor["functions"]):
            assert sum(each["by_cause"].values()) == each["cycles"]
        mine = [value for path, value in paths.items() if path.startswith(f"{whose};")]
        assert sum(mine) == processor["cycles"]
        assert drawn["name"] == f"{whose} [cycles]"
        assert sum(drawn["weights"]) == drawn["endValue"] == processor["cycles"]
    everything = Counter[str]()
    for rank in profile["ranks"]:
        everything.update({each["name"]: each["cycles"] for each in rank["functions"]})
    assert {each["name"]: each["cycles"] for each in profile["functions"]} == everything


def test_firmware_is_shown_behind_the_ranks(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    job = ["-np", "3", "-m", "voyager", "--set", "voyager.queues.resident_basic=1"]
    run = chasqui("run", "--profile", "--out", "run", *job, examples / "ring")
    assert run.returncode == 0, run.stderr
    shown = chasqui("profile", "run").stdout.splitlines()
    heading = next(line for line in shown if "3 x service processor" in line)
    assert re.fullmatch(r"where [\d,]+ cycles of 3 x service processor went \[%\]", heading)
    functions = [line.split()[0] for line in shown[shown.index(heading) + 3 :]]
    assert {"_start", "queues_begin", "all"} <= set(functions)


def test_causes_are_the_statistics_of_the_node(examples: Path, tmp_path: Path) -> None:
    """Where no loop polls, each cause is a counter of stats.json."""
    run = tmp_path / "run"
    done = command(
        "run", "--out", run, "--profile", "--", examples / "cg", "-g", "12", directory=tmp_path
    )
    assert done.returncode == 0, done.stderr
    spent = load(run / "profile.json")["ranks"][0]["by_cause"]
    node = load(run / "stats.json")["node00000"]
    memory = node["memory"]
    assert spent["software"] == node["processor"]["software_cycles"]["value"]
    assert spent["write_buffer"] == memory["stall_write_buffer"]["value"]
    for cause, stall in (("data", "data"), ("instruction", "instruction"), ("tlb", "walk")):
        assert spent[cause] >= memory[f"stall_{stall}"]["value"] > 0


def test_a_function_costs_what_its_instructions_do(calls: Path, tmp_path: Path) -> None:
    from chasqui import core

    run = profiled(tmp_path, calls)
    functions = {each["name"]: each for each in load(run / "profile.json")["functions"]}
    # Each call of count(n): n additions and n branches, of which the last falls through, and a
    # return. They are backward and so predicted as taken.
    rounds = [1000, 7, 500]
    found = functions["count"]
    assert found["instructions"] == sum(2 * n + 1 for n in rounds)
    values = {each["name"]: each["value"] for each in core.parameters("loggp")}
    names = ("int_alu", "branch", "branch_taken", "branch_mispredicted", "jump_register")
    cost = {name: int(str(values[f"node.core.{name}"]).split()[0]) for name in names}
    expected = sum(
        n * (cost["int_alu"] + cost["branch"]) + (n - 1) * cost["branch_taken"]
        + cost["branch_mispredicted"] + cost["jump_register"]
        for n in rounds
    )  # fmt: skip
    assert found["by_cause"]["issue"] == expected
    assert functions["tail"]["instructions"] == 2
    assert functions["put"]["instructions"] == 5
    # caller's cycles with callees are those of the paths through it.
    through = [value for path, value in folded(run).items() if ";caller" in path]
    assert functions["caller"]["cycles_with_callees"] == sum(through)


def test_stacks_survive_longjmp_tail_calls_and_recursion(calls: Path, tmp_path: Path) -> None:
    run = profiled(tmp_path, calls, "deep")
    paths = {path.split(";[", 1)[0].split("main;", 1)[-1] for path in folded(run)}
    assert {"caller;count", "caller;tail", "after;count", "put"} <= paths
    # A tail call takes its caller's place: nothing is called by tail.
    assert not any("tail;" in path for path in paths)
    thrown = [path for path in paths if path.startswith("thrower")]
    assert max(path.count("thrower") for path in thrown) == 6
    assert any(path.endswith("longjmp") for path in thrown)
    assert not any("thrower" in path and ("after" in path or "put" in path) for path in paths)
    assert max(path.count("recursive") for path in paths) > 100


TRACED = re.compile(r"\s*(\d+) +(\d+) (0x[0-9a-f]+) (\S+) +(.*)")


def trace(path: Path) -> list[tuple[int, int, int, str, str]]:
    """Time, cycle, pc, symbol and the rest of each line."""
    lines = path.read_text().splitlines()
    assert all(line.startswith("#") for line in lines[:2])
    found = []
    for line in lines[2:]:
        match = TRACED.fullmatch(line)
        assert match, line
        time, cycle, pc, symbol, rest = match.groups()
        found.append((int(time), int(cycle), int(pc, 16), symbol, rest))
    return found


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_a_trace_has_every_instruction(calls: Path, tmp_path: Path, machine: str) -> None:
    def traced(name: str, *options: str) -> None:
        run = ["run", "--out", name, "-np", "2", "--machine", machine, *options]
        done = command(*run, "--", calls, directory=tmp_path)
        assert done.returncode == 0, done.stderr

    traced("all", "--trace-instructions", "..")
    summary = load(tmp_path / "all" / "summary.json")
    for rank in summary["ranks"]:
        lines = trace(tmp_path / "all" / f"instructions.{rank['rank']}")
        # Marks are HINTs that are not counted.
        counted = [line for line in lines if not line[4].startswith("mark ")]
        assert len(counted) == rank["instructions"]
        assert all(a[:2] <= b[:2] for a, b in pairwise(lines))
    everything = trace(tmp_path / "all" / "instructions.1")
    start, end = (everything[len(everything) * third // 3][0] for third in (1, 2))
    within = [line for line in everything if start <= line[0] < end]
    window = f"{start}ps..{end}ps"
    traced("part", "--trace-instructions", f"{window}:1")
    assert not (tmp_path / "part" / "instructions.0").exists()
    part = trace(tmp_path / "part" / "instructions.1")
    assert part == within
    traced("both", "--trace-instructions", window, "--profile")
    assert trace(tmp_path / "both" / "instructions.1") == within


def test_a_trace_of_nothing_is_said_to_be(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    """The example of `run --help` is of something."""
    example = re.search(r"--trace-instructions (\S+) -- ./ring", chasqui("run", "--help").stdout)
    assert example is not None
    run = ["-np", "4", "--trace-instructions"]
    done = chasqui("run", "--out", "some", *run, example[1], "--", examples / "ring")
    assert "--trace-instructions" not in done.stderr
    assert all(len(trace(path)) > 9 for path in (tmp_path / "some").glob("instructions.*"))
    done = chasqui("run", "--out", "none", *run, "310us..312us:0,2", "--", examples / "ring")
    assert done.returncode == 0
    end = re.search(r"simulated time  (.*)", done.stderr)
    assert end is not None
    said = "--trace-instructions 310us..312us:0,2: no rank began an instruction then"
    assert f"chasqui: {said}; none is of a run that ended at {end[1]}\n" in done.stderr


def test_a_trace_shows_values(calls: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = command(
        "run", "--out", run, "--trace-instructions", "..", "--", calls, directory=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = trace(run / "instructions.0")
    start = next(i for i, line in enumerate(lines) if line[3] == "put")
    rest = [" ".join(line[4].split()) for line in lines[start : start + 5]]
    words = re.search(r"\[(0x[0-9a-f]+)\]", rest[1])
    assert words
    store = int(words[1], 16)
    assert rest[0].startswith("addi a1,zero,1445 a1=0x5a5")
    assert rest[1].startswith(f"sw a1,4(a0) [{store:#x}]=0x5a5")
    assert rest[2].startswith(f"lw a2,4(a0) a2=0x5a5 [{store:#x}]")
    assert rest[3].startswith(f"amoadd.w a3,a1,(a0) a3=0x0 [{store - 4:#x}]")
    assert rest[4].startswith("jalr zero,0(ra)")


class Perfetto:
    """What Perfetto's trace processor makes of a trace; where it is found, it says so itself.

    Times are floating-point numbers and rounded down to nanoseconds; a slice of a thread must lie
    in the one that is open or after it; a flow event binds to the slice that is open on its thread
    at its time.
    """

    def __init__(self, path: Path) -> None:
        self.threads: dict[int, tuple[int, str]] = {}
        self.processes: dict[int, str] = {}
        self.slices: dict[int, list[tuple[int, int, str]]] = {}
        self.flows: dict[int, list[tuple[str, int, tuple[int, int, str]]]] = {}
        trace = json.loads(path.read_text(), parse_float=str)
        assert trace.keys() == {"traceEvents"}, "displayTimeUnit may be taken for that of all times"
        events = trace["traceEvents"]
        for event in events:
            getattr(self, f"_{event['ph'].lower()}")(event)
        for process in self.processes:
            assert self.threads[process][0] == process, "a process has a main thread of its number"
        for slices in self.slices.values():
            slices.sort(key=lambda each: each[0])
            assert all(a[1] <= b[0] for a, b in pairwise(slices)), "slices overlap"
        for event in events:
            if event["ph"] in "stf":
                self.flows.setdefault(event["id"], []).append(self._bound(event))

    @staticmethod
    def ns(microseconds: str) -> int:
        ns = int(float(microseconds) * 1000)
        assert ns == Fraction(microseconds) * 1000 // 1
        return ns

    def _m(self, event: dict[str, Any]) -> None:
        if event["name"] == "process_name":
            assert event["pid"] not in self.processes
            assert event["pid"] > 0, "process 0 is the idle process"
            self.processes[event["pid"]] = event["args"]["name"]
        if event["name"] == "thread_name":
            assert event["tid"] not in self.threads, "threads are told apart by tid alone"
            assert event["pid"] in self.processes
            self.threads[event["tid"]] = (event["pid"], event["args"]["name"])

    def _x(self, event: dict[str, Any]) -> None:
        assert self.threads[event["tid"]][0] == event["pid"]
        start = self.ns(event["ts"])
        each = (start, start + self.ns(event["dur"]), event["name"])
        self.slices.setdefault(event["tid"], []).append(each)

    def _s(self, event: dict[str, Any]) -> None:
        assert self.threads[event["tid"]][0] == event["pid"]

    _t = _f = _s

    def _bound(self, event: dict[str, Any]) -> tuple[str, int, tuple[int, int, str]]:
        assert event["ph"] != "f" or event["bp"] == "e", "would bind to the next slice"
        at = self.ns(event["ts"])
        around = [each for each in self.slices[event["tid"]] if each[0] <= at < each[1]]
        assert len(around) == 1, f"{event} binds to {around}"
        return event["ph"], event["tid"], around[0]


def traced(examples: Path, directory: Path, machine: str, name: str) -> Path:
    """Runs an example; its run directory."""
    job = example(examples, name, machine)
    done = command("run", "--out", "run", *job, directory=directory)
    assert done.returncode == 0, done.stderr
    return directory / "run"


SLICES = """
    WITH drawn AS (
        SELECT slice.id, thread.tid, slice.ts, slice.dur, slice.name
        FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
    )
"""


@pytest.mark.perfetto
@pytest.mark.parametrize("machine", organisations())
@pytest.mark.parametrize("name", ["ring", "heat"])
def test_perfetto_makes_of_a_trace_what_is_expected(
    examples: Path, tmp_path: Path, machine: str, name: str
) -> None:
    run = traced(examples, tmp_path, machine, name)
    path = run / "timeline.json"
    expected = Perfetto(path)
    faults, threads, slices, arrows = trace_processor.query(
        path,
        "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
        "SELECT tid, pid, p.name AS process, t.name FROM thread t JOIN process p USING (upid)",
        f"{SLICES} SELECT tid, ts, ts + dur AS until, name FROM drawn",
        f"""{SLICES}
            SELECT a.tid, a.ts, a.name, b.tid AS to_tid, b.ts AS to_ts, b.name AS to_name FROM flow
            JOIN drawn AS a ON flow.slice_out = a.id JOIN drawn AS b ON flow.slice_in = b.id""",
    )
    assert faults == []
    assert sorted(threads) == [
        (thread, process, expected.processes[process], name)
        for thread, (process, name) in sorted(expected.threads.items())
    ]
    assert sorted(slices) == sorted(
        (thread, *each) for thread, drawn in expected.slices.items() for each in drawn
    )
    assert sorted(arrows) == sorted(
        (one, start[0], start[2], other, end[0], end[2])
        for flow in expected.flows.values()
        for (_, one, start), (_, other, end) in pairwise(flow)
    )
    assert arrows


SENDING = {"MPI_Send", "MPI_Isend", "MPI_Sendrecv"}
RECEIVING = {"MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Sendrecv"}


@pytest.mark.parametrize("machine", ["loggp", "voyager"])
@pytest.mark.parametrize("name", ["ring", "heat"])
def test_flows_lead_from_the_send_to_the_receive(
    examples: Path, tmp_path: Path, machine: str, name: str
) -> None:
    import pyarrow.parquet

    run = traced(examples, tmp_path, machine, name)
    trace = Perfetto(run / "timeline.json")
    rows = pyarrow.parquet.read_table(run / "messages.parquet").to_pylist()
    # Every message has its arrow: 1,000 calls a rank are kept, and none is too short to be seen.
    assert len(trace.flows) == len(rows)
    assert len(set(trace.threads.values())) == len(trace.threads), "two tracks have one name"
    for row in rows:
        flow = trace.flows[row["source"] << 32 | row["sequence"]]
        assert [phase for phase, *_ in flow] == ["s", *["t"] * (len(flow) - 2), "f"]
        process = [trace.processes[trace.threads[thread][0]] for _, thread, _ in flow]
        assert process[0] == f"rank {row['source']}"
        assert process[-1] == f"rank {row['destination']}"
        sends, receives = flow[0][2], flow[-1][2]
        assert sends[0] == row["call_ps"] // 1000
        # Start and length are each rounded down.
        assert row["done_ps"] // 1000 - receives[1] in (0, 1)
        if row["context"] == 0:  # of the world, and not of a collective
            assert sends[2] in SENDING
            assert receives[2] in RECEIVING
        tracks = [trace.threads[thread][1] for _, thread, _ in flow]
        assert tracks[0] == tracks[-1] == "MPI calls"
        assert {track.partition(" (")[0] for track in tracks[1:-1]} <= {"NI sends", "NI receives"}
        assert all(
            each[2] == f"message {row['source']}:{row['sequence']}" for *_, each in flow[1:-1]
        )


def test_links_are_occupied_as_the_statistics_say(examples: Path, tmp_path: Path) -> None:
    done = command(
        "run", "--out", "run", "-np", "5", "--machine", "voyager", "--", examples / "ring",
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = load(tmp_path / "run" / "timeline.json")["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    passages = [e for e in events if e["ph"] == "X" and " to " in names[e["tid"]]]
    links = load(tmp_path / "run" / "stats.json")["network"]["links"]
    of_routers = [e for e in passages if names[e["tid"]].startswith("router")]
    assert len(of_routers) == links["packets"]["value"]
    assert sum(e["args"]["bytes"] for e in of_routers) == links["bytes"]["value"]
    assert sum(int(e["dur"] * 1e6) for e in of_routers) == links["busy_ps"]["value"]
    # What the nodes sent came on their links to the routers.
    of_nodes = [e for e in passages if names[e["tid"]].startswith("node")]
    assert len(of_nodes) == load(tmp_path / "run" / "stats.json")["network"]["delivered"]["value"]
    assert all(e["name"].startswith("message ") for e in passages)


def test_a_timeline_is_drawn(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    assert chasqui("run", "-q", "--out", "run", "-np", "3", examples / "ring").returncode == 0
    assert chasqui("timeline", "run", "-o", "all.svg").returncode == 0
    picture = ElementTree.parse(tmp_path / "all.svg")
    tag = "{http://www.w3.org/2000/svg}"
    trace = Perfetto(tmp_path / "run" / "timeline.json")
    arrows = picture.findall(f"{tag}line[@class='flow']")
    assert len(arrows) == sum(len(flow) - 1 for flow in trace.flows.values())
    slices = [
        each for each in picture.findall(f"{tag}rect") if each.find(f"{tag}title") is not None
    ]
    assert len(slices) == sum(map(len, trace.slices.values()))
    # The axis is above what covers the tracks' left ends, so that its first time is whole.
    *_, cover = picture.findall(f"{tag}rect")
    times = picture.findall(f"{tag}text[@text-anchor='middle']")
    assert times
    assert max(float(time.get("y", "")) for time in times) < float(cover.get("y", 0))
    kinds = {
        timeline.kind_of((each.findtext(f"{tag}title") or "").partition(",")[0])[0]
        for each in slices
    }
    texts = [each.text for each in picture.findall(f"{tag}text")]
    shown = [kind for kind, *_ in timeline.KINDS if kind in texts]
    assert shown == [kind for kind, *_ in timeline.KINDS if kind in kinds]
    assert {"messages in NIs and links", "begin and end", "send"} <= kinds
    part = chasqui("timeline", "run", "--window", "20us..30us")
    assert 0 < part.stdout.count("<title>") < len(slices)
    for arguments, message in (
        (["run", "--window", "2us"], "FROM..TO is expected"),
        (["run", "--window", "2us..1us"], "ends before it begins"),
        (["run", "--window", "2..3us"], "'2' is no time"),
        (["run", "--window", "900ms..901ms"], "nothing is there, the timeline holds "),
        (["run", "--window", "900ms.."], "nothing is there, the timeline holds "),
        (["nosuch"], "timeline.json: no such file"),
    ):
        refused = chasqui("timeline", *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_colours_of_a_timeline_mean_the_same_in_each() -> None:
    kinds = {
        "message 3:4": "messages in NIs and links", "packet": "messages in NIs and links",
        "MPI_Init_thread": "begin and end", "MPI_Finalize": "begin and end",
        "MPI_Send": "send", "MPI_Issend": "send", "MPI_Send_init": "send",
        "MPI_Irecv": "receive, probe", "MPI_Improbe": "receive, probe",
        "MPI_Sendrecv": "send and receive", "MPI_Waitall": "wait, test", "MPI_Test": "wait, test",
        "MPI_Ibcast": "collective", "MPI_Alltoallv": "collective",
        "MPI_Reduce_scatter": "collective", "MPI_Alloc_mem": "other calls",
        "MPI_Comm_split": "other calls",
    }  # fmt: skip
    assert {name: timeline.kind_of(name)[0] for name in kinds} == kinds
    assert len({colour for _, colour, _ in timeline.KINDS}) == len(timeline.KINDS)


def test_a_timeline_that_was_left_out_is_said_to_be(
    chasqui: Run, examples: Path, tmp_path: Path
) -> None:
    words = ["run", "-q", "--out", "run", "--timeline", "0", "-np", "3", examples / "ring"]
    assert chasqui(*words).returncode == 0
    refused = chasqui("timeline", "run")
    assert refused.returncode == 2
    assert "--timeline 0" in refused.stderr


def test_a_profile_is_shown(chasqui: Run, examples: Path, tmp_path: Path) -> None:
    run = chasqui("run", "--profile", "--out", "run", "-np", "3", examples / "ring")
    assert run.returncode == 0
    shown = chasqui("profile", "run").stdout
    assert shown.splitlines()[0] in run.stderr
    assert shown.splitlines()[-1].split()[:2] == ["all", "100.0"]
    one = chasqui("profile", "run", "--rank", "2", "--top", "4").stdout.splitlines()
    assert len(one) == 1 + 2 + 4 + 2
    assert "rank 2" in one[0]
    for arguments, message in (
        (["run", "--rank", "3"], "rank 3: the run had ranks 0 to 2"),
        (["nosuch"], "`chasqui run --profile` writes it"),
    ):
        refused = chasqui("profile", *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr
