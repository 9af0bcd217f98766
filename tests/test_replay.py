"""`chasqui record` and `chasqui run --only-rank`: one rank alone, a recording for the others.

Use this when a mark, the MPI library's protocol, a machine's packets or the file change.
The results of whole programs must be the recorded ones, on every machine that can replay; how
peers act on a link is tested in crates/machine/src/replay/tests.rs.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from conftest import ROOT, Compiler
from simulated import EXAMPLES, TRANSLATED, command, two_at_a_time
from test_determinism import differences

from chasqui import linked, messages, simulation
from chasqui.cli import invoke
from chasqui.experiment import Replay, Run, running

pytestmark = pytest.mark.core

SEED = int(os.environ.get("SEED", "1"))
REPLAYED = ["cg", "ring", "heat", "sort"]
# Those that differ in where messages go.
MACHINES = [
    "loggp",
    *(f"netcache/{v}" for v in ("processver", "dmaver1", "dmaver2", "dtct", "ldtct")),
]
# Those that have connections, and the programs that they run here: short messages, and long ones.
CONNECTED = ["netcache/via", "netcache/via-zero-copy", "netcache/mvia", "netcache/tcp"]
ON_CONNECTED = ["cg", "sort"]


def record(examples: Path, name: str, place: Path, machine: str = "loggp") -> Path:
    ranks, arguments = EXAMPLES[name]
    file = place / f"{name}.recording"
    done = command(
        "record", "-np", str(ranks), "--machine", machine, "-o", file,
        "--out", place / f"{name}-recorded", "--", examples / name, *arguments, directory=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert file.exists()
    return file


@pytest.fixture(scope="module")
def recordings(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    place = tmp_path_factory.mktemp("recordings")
    files = two_at_a_time(lambda name: record(examples, name, place), REPLAYED)
    return dict(zip(REPLAYED, files, strict=True))


def replay(
    place: Path,
    program: Path,
    file: Path,
    machine: str,
    *options: str,
    arguments: list[str],
    status: int = 0,
) -> dict[str, Any]:
    """The summary of a replay."""
    done = command(
        "run", "--only-rank", "0", "--arrivals", file, "--machine", machine, "--out", place,
        *options, "--", program, *arguments, directory=file.parent,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    summary: dict[str, Any] = json.loads((place / "summary.json").read_text())
    return summary


def replaced(run: Path) -> int:
    """Replacements in the network section."""
    node = json.loads((run / "stats.json").read_text())["node00000"]
    return int(node["network_cache"]["network_replacements"]["value"])


def waits(run: Path) -> tuple[int, int]:
    """How long [ps] messages to rank 0 waited for their receives, and these for them."""
    waited, waited_for = 0, 0
    for each in messages.read(run / "messages.parquet"):
        if each.destination == 0:
            land, match, post = each.land_ps, each.match_ps, each.post_ps
            assert land is not None
            assert match is not None
            assert post is not None
            waited += max(0, match - land)
            waited_for += max(0, land - post)
    return waited, waited_for


@pytest.mark.parametrize("name", REPLAYED)
def test_the_result_is_the_recorded_one(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path, name: str
) -> None:
    """On every machine, and with messages that come early and late on one of them."""
    runs = [(machine, "1") for machine in MACHINES] + [("netcache/ldtct", r) for r in ("0", "3")]
    runs += [(machine, "1") for machine in CONNECTED if name in ON_CONNECTED]

    def one(run: tuple[str, str]) -> dict[str, Any]:
        machine, ratio = run
        place = tmp_path / f"{machine.replace('/', '-')}-{ratio}"
        options = ["--ratio", ratio, "--set", "check.coherence=true"]
        return replay(
            place, examples / name, recordings[name], machine, *options, arguments=EXAMPLES[name][1]
        )

    for summary in two_at_a_time(one, runs):
        found = summary["replay"]
        assert found["is_same"]
        assert summary["outcome"] == "finished"
        recording = hashlib.sha256(recordings[name].read_bytes()).hexdigest()
        assert summary["inputs"]["recording_sha256"] == recording
        assert [rank["rank"] for rank in summary["ranks"]] == [0]
        assert found["messages"] == found["taken"] > 0
        assert found["sent"] == found["sent_recorded"] > 0
        assert found["taken_otherwise"] == found["sent_otherwise"] == 0


def test_early_messages_wait_in_the_network_cache_and_late_ones_make_the_rank_wait(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    arguments = EXAMPLES["cg"][1]

    def one(ratio: str) -> tuple[dict[str, Any], Path]:
        place = tmp_path / f"r-{ratio}"
        args = (place, examples / "cg", recordings["cg"], "netcache/ldtct", "--ratio", ratio)
        return replay(*args, arguments=arguments), place

    (early, early_run), (late, late_run) = two_at_a_time(one, ["0.05", "20"])
    (early_messages, early_receives), (late_messages, late_receives) = (
        waits(early_run),
        waits(late_run),
    )
    # The last message comes when it should: long before the end, and just before it.
    assert early["time_ps"] > 4 * early["replay"]["last_arrival_ps"]
    assert 0.95 < late["replay"]["last_arrival_ps"] / late["time_ps"] < 1
    assert early_messages > 20 * late_messages
    assert early_receives < late["time_ps"] / 100 < late["time_ps"] / 2 < late_receives
    # More messages than the network section holds wait there, and are evicted from it.
    assert replaced(early_run) > replaced(late_run)


WILD = (ROOT / "tests" / "replay" / "wild.c").read_text()


@pytest.mark.parametrize("made_on", ["loggp", "netcache/dmaver2", "voyager/flush"])
def test_wildcards_match_as_recorded(compile_c: Compiler, tmp_path: Path, made_on: str) -> None:
    """However early the messages come, and whichever machine recorded them; long ones and those
    whose sender waits, both ways."""
    program = compile_c("wild", WILD)
    file = tmp_path / "wild.recording"
    made = command(
        "record", "-np", "4", "--machine", made_on, "-o", file, "--", program, directory=tmp_path
    )
    assert made.returncode == 5, made.stderr
    assert f"recording       {file}" in made.stderr
    runs = [("netcache/ldtct", "0"), ("netcache/dmaver1", "1"), ("loggp", "0.01")]
    for machine, ratio in [*runs, ("netcache/via", "0")]:
        place = tmp_path / f"{machine.replace('/', '-')}"
        summary = replay(place, program, file, machine, "--ratio", ratio, arguments=[], status=5)
        assert summary["replay"]["is_same"]
        assert summary["replay"]["taken_otherwise"] == 0
        assert (place / "stdout.0").read_text().splitlines() == [
            line for line in made.stdout.splitlines() if "bytes of" in line
        ]


def peers_counters(run: Path) -> dict[str, int]:
    stats = json.loads((run / "stats.json").read_text())
    return {name: each["value"] for name, each in stats["peers"].items()}


@pytest.mark.parametrize("machine", ["netcache/via", "netcache/mvia", "netcache/tcp"])
def test_where_connections_are_replayed_at_their_own_pace_the_rank_takes_its_own_time(
    examples: Path, tmp_path: Path, machine: str
) -> None:
    """At r = 1 on the machine that was recorded rank 0 can't tell peers from ranks, but for what
    the others' own waiting did: 1 % is allowed."""
    arguments = EXAMPLES["cg"][1]
    file = record(examples, "cg", tmp_path, machine)
    whole = json.loads((tmp_path / "cg-recorded" / "summary.json").read_text())["ranks"][0]
    alone = replay(tmp_path / "alone", examples / "cg", file, machine, arguments=arguments)
    assert alone["ranks"][0]["time_ps"] == pytest.approx(whole["time_ps"], rel=0.01)
    assert alone["replay"]["is_same"]


PAGE = (ROOT / "docs" / "replay.md").read_text()
ON_PAGE = re.findall(r"^(netcache/\w+) +((?:cg|spectral) -.*?)  +\S+ ms +\S+ ms$", PAGE, re.M)


@pytest.mark.parametrize(("machine", "said"), ON_PAGE)
def test_the_page_has_the_times_of_these_runs(
    examples: Path, tmp_path: Path, machine: str, said: str
) -> None:
    program, *arguments = said.split()
    file, run = tmp_path / "recording", ["--machine", machine, "--out"]
    job = ["--", str(examples / program), *arguments]
    for words in (
        ["record", "-np", "4", "-o", str(file), *run, "all", *job],
        ["run", "--only-rank", "0", "--arrivals", str(file), *run, "alone", *job],
    ):
        done = command(*words, directory=tmp_path)
        assert done.returncode == 0, done.stderr
    among_all, alone = (
        json.loads((tmp_path / out / "summary.json").read_text())["ranks"][0]["time_ps"] / 1e9
        for out in ("all", "alone")
    )
    assert f"{machine:17}  {said:20} {among_all:9.3f} ms {alone:6.3f} ms" in PAGE.splitlines()


def test_the_page_has_such_runs() -> None:
    assert len(ON_PAGE) == 8


# Little room in the rank's NIC: two receive descriptors a peer; a ring of eight descriptors.
SCARCE = {
    "netcache/via": ["netcache.via.receives=2", "netcache.via.window=2"],
    "netcache/via-zero-copy": ["netcache.via.receives=2", "netcache.via.staging=2 KiB"],
    "netcache/mvia": ["netcache.via.receives=2", "netcache.ethernet.receive_slots=8"],
    "netcache/tcp": ["netcache.ethernet.receive_slots=8"],
}


@pytest.mark.parametrize("machine", CONNECTED)
def test_what_the_ranks_nic_drops_comes_again(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path, machine: str
) -> None:
    """All messages are there from the start, and must wait."""
    options = ["--ratio", "0", "--set", "check.coherence=true"]
    options += [each for value in SCARCE[machine] for each in ("--set", value)]
    summary = replay(
        tmp_path / "run", examples / "sort", recordings["sort"], machine, *options,
        arguments=EXAMPLES["sort"][1],
    )  # fmt: skip
    assert summary["replay"]["is_same"]
    assert summary["replay"]["messages"] == summary["replay"]["taken"]
    assert peers_counters(tmp_path / "run")["resent"] > 0


def test_a_crowd_of_refused_frames_does_not_keep_the_rank_from_receiving(
    examples: Path, tmp_path: Path
) -> None:
    """Before, kernels sent what was refused again at once, a window at a time, and the rank's
    executed nothing but refusals, for ever."""
    arguments = ["-m", "7", "-t", "1"]
    file = tmp_path / "spectral.recording"
    words = ["-q", "-np", "4", "--machine", "netcache/dmaver2", "-o", str(file), "--"]
    done = command("record", *words, examples / "spectral", *arguments, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    machine, options = "netcache/mvia", ["--limit-time", "20 ms", "--shift", "1600us"]
    summary = replay(
        tmp_path / "run", examples / "spectral", file, machine, *options, arguments=arguments
    )
    assert summary["replay"]["is_same"]
    assert peers_counters(tmp_path / "run")["refused"] > 0


def test_connections_that_have_ended_are_said(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    """VIs are not connected yet when messages come, and nobody tries again as long as that."""
    place, options = tmp_path / "run", ["--ratio", "0", "--set", "netcache.via.retries=3"]
    arguments = EXAMPLES["ring"][1]
    summary = replay(
        place, examples / "ring", recordings["ring"], "netcache/via", *options,
        arguments=arguments, status=125,
    )  # fmt: skip
    assert "than netcache.via.retries (3), or no answer has ended" in summary["message"]


def test_another_rank_than_the_first(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    ranks, arguments = EXAMPLES["heat"]
    done = command(
        "run", "-np", str(ranks), "--only-rank", str(ranks - 1), "--arrivals", recordings["heat"],
        "--machine", "netcache/dtct", "--out", tmp_path / "run", "--", examples / "heat",
        *arguments, directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the recorded result" in done.stderr
    assert sorted(path.name for path in (tmp_path / "run").glob("stdout.*")) == [
        f"stdout.{ranks - 1}"
    ]


# Ways to run the same thing.
SAME = {
    "again": [],
    "2 threads": ["--threads", "2"],
    "window": ["--set", "check.window=30 ns"],
    "executed": ["--set", "check.spin_skip=false"],
    "reference": ["--set", "check.executor=reference"],
    "translated": TRANSLATED,
}


@pytest.mark.parametrize(
    "machine", ["loggp", "netcache/ldtct", "netcache/via", "netcache/mvia", "netcache/tcp"]
)
def test_a_replay_has_the_same_bits_always(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path, machine: str
) -> None:
    # On loggp loops are always skipped. Connections are the peers' matter, not the hart's.
    left_out = {"loggp": ["executed"], "netcache/ldtct": []}.get(
        machine, ["again", "executed", "reference"]
    )
    same = {k: v for k, v in SAME.items() if k not in left_out}
    arguments = EXAMPLES["ring"][1]
    for name, more in {"first": [], **same}.items():
        options = ["--ratio", "0.7", *more]
        replay(
            tmp_path / name,
            examples / "ring",
            recordings["ring"],
            machine,
            *options,
            arguments=arguments,
        )
        assert differences(tmp_path / "first", tmp_path / name, options) == []


def test_a_recording_has_the_same_bits_always(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "again").mkdir()
    assert (
        record(examples, "sort", tmp_path / "again").read_bytes() == recordings["sort"].read_bytes()
    )


def test_a_recording_moves_no_time(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    ranks, arguments = EXAMPLES["ring"]
    options = ["-np", str(ranks), "--out", str(tmp_path / "run")]
    assert (
        command("run", *options, "--", examples / "ring", *arguments, directory=tmp_path).returncode
        == 0
    )
    assert differences(recordings["ring"].parent / "ring-recorded", tmp_path / "run", []) == []


ASKS = (ROOT / "tests" / "replay" / "asks.c").read_text()


@pytest.mark.parametrize(
    ("case", "status", "said"),
    [
        ("time", 0, []),
        ("print", 1, ['line 1 of its output is "took 7 ns!", recorded is "took 6 ns"']),
        ("end", 1, ["its exit status is 1, recorded is 0"]),
        ("send", 1, []),  # noticed, but its result is the same
        (
            "receive",
            125,
            ["deadlock", "rank 0 in MPI_Recv waits for", "of 2 recorded messages to it"],
        ),
    ],
)
def test_what_differs_from_the_recording_is_said(
    compile_c: Compiler, tmp_path: Path, case: str, status: int, said: list[str]
) -> None:
    program = compile_c("asks", ASKS)
    file = tmp_path / "asks.recording"
    made = command("record", "-np", "2", "-o", file, "--", program, directory=tmp_path)
    assert made.returncode == 0, made.stderr
    done = command(
        "run", "--only-rank", "0", "--arrivals", file, "--machine", "netcache",
        "--env", f"CASE={case}", "--", program, directory=tmp_path,
    )  # fmt: skip
    if case == "send":
        assert (done.returncode, "1 otherwise than recorded" in done.stderr) == (0, True), (
            done.stderr
        )
        return
    assert done.returncode == status, done.stderr
    for text in said:
        assert text in done.stderr


def test_another_program_is_refused(compile_c: Compiler, tmp_path: Path) -> None:
    """With equal arguments, and the same name: of the recorded program what is loaded counts, not
    its debugging information."""
    program = compile_c("asks", ASKS)
    stripped = tmp_path / "stripped"
    shutil.copy(program, stripped)
    linked.strip(stripped)
    assert stripped.stat().st_size < program.stat().st_size / 2
    another = compile_c("asks", ASKS.replace("took", "takes"))
    file = tmp_path / "asks.recording"
    made = command("record", "-np", "2", "-o", file, "--", program, directory=tmp_path)
    assert made.returncode == 0, made.stderr
    before = sorted(tmp_path.rglob("*"))
    only = ["run", "--only-rank", "0", "--arrivals", str(file), "--env", "CASE=time", "--out"]
    done = command(*only, "no", "--", another, directory=tmp_path)
    said = (
        f"chasqui: {file} is of another program than {another}: of asks, as it was compiled then; "
    )
    assert (done.returncode, done.stderr.startswith(said)) == (2, True), done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    for same in (program, stripped):
        done = command(*only, f"of-{same.name}", "--", same, directory=tmp_path)
        assert done.returncode == 0, done.stderr


def test_what_cannot_be_recorded_or_replayed_is_said(
    examples: Path,
    recordings: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    ring, file = str(examples / "ring"), str(recordings["ring"])
    (tmp_path / "no.recording").write_text("nothing of the kind")
    only = ["run", "--only-rank", "0", "--arrivals"]
    laps = ["--", ring, "-l", "2"]
    cases = {
        "no.recording: not a recording": [*only, "no.recording", *laps],
        "nowhere: No such file": [*only, "nowhere", *laps],
        "is of 5 ranks; 0 to 4 are allowed": ["run", "--only-rank", "5", "--arrivals", file, *laps],
        "-np 3: ": [*only, file, "-np", "3", *laps],
        "is of ring -l 2, not of ring -l 3": [*only, file, "--", ring, "-l", "3"],
        "--ratio -1: a number from 0 to 1000000": [*only, file, "--ratio", "-1", *laps],
        "voyager/flush has no peers": [*only, file, "--machine", "voyager/flush", *laps],
        "belong together": ["run", "--arrivals", file, *laps],
        "--shift 3: ": [*only, file, "--shift", "3", *laps],
        "--shift and --ignore-lines are for": ["run", "--shift", "2us", *laps],
        "a recording is of one job": [*only, file, "--job", ring, *laps],
        "network.fault with --only-rank": [
            *only,
            file,
            "-m",
            "netcache",
            "--set",
            "network.fault.packet=3",
            *laps,
        ],
        "no file can be made there": ["record", "-o", "/proc/ring", "-np", "5", *laps],
        "is no such directory": ["record", "-o", "no/ring", "-np", "5", *laps],
        "a directory; a file is allowed": ["record", "-o", ".", "-np", "5", *laps],
    }
    before = sorted(tmp_path.rglob("*"))
    for said, arguments in cases.items():
        status = invoke(arguments)
        stderr = capsys.readouterr().err
        assert (status, said in stderr) == (2, True), (said, stderr)
        assert sorted(tmp_path.rglob("*")) == before, said


SEALED = b"chasqui.crc32\x18\x08"  # the name, a Thrift binary's type and length


def seal(path: Path) -> None:
    """Gives a recording made by hand the checksum that belongs to it."""
    data = bytearray(path.read_bytes())
    at = data.rindex(SEALED) + len(SEALED)
    data[at : at + 8] = b"0" * 8
    data[at : at + 8] = f"{zlib.crc32(data):08x}".encode()
    path.write_bytes(data)


def changed_row(dice: random.Random, row: dict[str, Any]) -> None:
    """A row that says something else."""
    name = dice.choice([name for name in row if name != "kind"])
    values: dict[str, tuple[Any, ...]] = {
        "tag": (-1, 0, 7, 2**31 - 1, -(2**31)),
        "synchronous": (True, False),
        "arrive_ps": (0, 1, 2**62, 2**63, 2**64 - 1),
        "data": (b"", b"x", b"\xff" * 37, b"z" * 100_000),
    }
    row[name] = dice.choice(values.get(name, (0, 1, 3, 4, 5, 65535)))


def test_nothing_but_a_recording_is_overwritten(examples: Path, tmp_path: Path) -> None:
    """Not the program, nor a source; another recording is."""
    shutil.copy(examples / "ring", tmp_path)
    (tmp_path / "kept.c").write_text("int main(void);\n")
    for name in ("ring", "kept.c"):
        before = (tmp_path / name).read_bytes()
        done = command("record", "-q", "-o", name, "--", "./ring", directory=tmp_path)
        assert done.returncode == 2
        assert f"-o {name}: is there already" in done.stderr
        assert (tmp_path / name).read_bytes() == before
    for _ in range(2):
        words = ["record", "-q", "-np", "2", "-o", "here", "--", "./ring"]
        assert command(*words, directory=tmp_path).returncode == 0


def test_senseless_recordings_are_refused_or_end(
    examples: Path, recordings: Mapping[str, Path], tmp_path: Path
) -> None:
    """Their checksums are right: somebody made them. Whatever they hold, no panic."""
    whole = pyarrow.parquet.read_table(recordings["ring"])
    assert b"chasqui.crc32" in whole.schema.metadata
    file = tmp_path / "made.recording"
    only: list[str | Path] = ["run", "--only-rank", "0", "--arrivals", file]
    machines = ["loggp", "netcache/dmaver2", "netcache/ldtct", "netcache/via", "netcache/tcp"]
    seen = set()
    for case in range(60):
        dice = random.Random(SEED * 1000 + case)
        rows = whole.to_pylist()
        for _ in range(dice.randrange(1, 4)):
            what = dice.randrange(6)
            if what == 0:
                del rows[dice.randrange(len(rows))]
            elif what == 1:
                rows.insert(dice.randrange(len(rows)), dict(dice.choice(rows)))
            else:
                changed_row(dice, dice.choice(rows))
        table = pyarrow.Table.from_pylist(rows, schema=whole.schema)
        if case % 10 == 0:
            table = table.drop_columns([dice.choice(table.column_names)])
        pyarrow.parquet.write_table(table, file, compression="none", use_dictionary=False)
        seal(file)
        machine = machines[case % len(machines)]
        done = command(
            *only, "--machine", machine, "--out", tmp_path / f"{case}", "--", examples / "ring",
            "-l", "2", directory=tmp_path,
        )  # fmt: skip
        said = f"SEED={SEED}, case {case} on {machine}: {done.returncode}: {done.stderr}"
        assert "panicked" not in done.stderr, said
        assert "Traceback" not in done.stderr, said
        assert "damaged" not in done.stderr, said
        seen.add(done.returncode)
    assert {0, 2, 125} <= seen  # nothing that matters, what contradicts itself, what does not come


@pytest.mark.parametrize("margin_ps", [running.MARGIN_PS, 1000])
def test_an_experiment_records_before_it_replays(
    margin_ps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order of its runs; and its rows follow r. Times count from the end of MPI_Init,
    there and here, whatever the program does before: that of the run that `begins_as` names ends
    some microseconds earlier, or so much that one has to look again, further."""
    monkeypatch.setattr(running, "MARGIN_PS", margin_ps)
    from chasqui.machines.netcache.experiments import ratio

    whole = Run("whole", "loggp", 5, "examples/ring", flags=["-lm"], arguments=["-l", "2"])
    start = replace(whole, name="start", machine="netcache/ldtct", program="start", arguments=[])
    replays = [
        replace(
            whole, name=f"r/{r}", machine="netcache/ldtct",
            replay=Replay("whole", ratio=r, begins_as="start"),
        )
        for r in ("0", "1", "40")
    ]  # fmt: skip
    outputs = running.run_all(
        "netcache/ratio", [*replays, whole, start], tmp_path, 1, lambda *_: None
    )
    rows = [ratio.row("ring", "ldtct", outputs[run.name]) for run in replays]
    begins = [outputs[name].initialised_ps(0) for name in ("whole", "start")]
    assert begins[1] > 2 * begins[0] > 0
    assert len({row.start_ns for row in rows}) == 1
    assert 3_000 < rows[0].start_ns - Fraction(begins[1], 1000) < 100_000
    # To a picosecond of recorded time.
    assert abs(rows[0].last_arrival_ns) <= Fraction(1, 1000)
    assert abs(rows[2].last_arrival_ns - 40 * rows[1].last_arrival_ns) <= Fraction(40, 1000)
    # What comes last ends the run, and r times what was recorded is when it comes.
    # The process ends through the kernel, which gives its pages back.
    assert 0 < rows[2].after_last_ns < 100_000
    found = ratio.knee("ring", "ldtct", rows)
    fast = min(row.run_time_ns for row in rows)
    assert found.run_time_ns == fast
    assert abs(found.knee_ratio * rows[1].last_arrival_ns / fast - 1) < Fraction(1, 100)
    assert found.run_time_at_0_ns == rows[0].run_time_ns


@pytest.mark.parametrize(("limit", "tries"), [("host-time", 1), ("time", 3)])
def test_the_end_of_mpi_init_is_looked_for_again_only_if_simulated_time_ran_out(
    limit: str, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another limit would end each further run, too: before, there was no end to them."""
    limits = []

    def stopped(job: simulation.Job, directory: Path, _: object) -> simulation.Result:
        limits.append(job.sandbox.limit_time)
        left_ps = 10 if len(limits) == 3 else 0
        summary = {
            "outcome": "aborted", "message": f"stopped by --limit-{limit}", "limit": limit,
            "ranks": [{"rank": 0, "calls": [{"name": "MPI_Init", "left_ps": left_ps}]}],
        }  # fmt: skip
        return simulation.Result(directory, summary)

    monkeypatch.setattr(simulation, "execute_quietly", stopped)
    run = Run("replay", "loggp", 2, "ring", replay=Replay("whole"))
    only = simulation.OnlyRank(0, tmp_path / "recording")
    job = simulation.Job("loggp", 2, "ring", only=only)
    find = partial(running.initialised_ps, job, run, tmp_path / "place", 5, lambda: None)
    if tries == 1:
        with pytest.raises(running.RunFailed, match="--limit-host-time before MPI_Init ended"):
            find()
    else:
        assert find() == 10
    assert len(limits) == len(set(limits)) == tries
