"""`chasqui report`: what stands in the page, against what the run's files hold.

Use this when a section of the page changes. What a browser makes of it is in
test_report_browser.py.
"""

from __future__ import annotations

import csv
import html
import json
import os
import random
import re
import time
import tracemalloc
import zlib
from base64 import b64decode
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import command_line
import numpy
import pytest
import report_runs
from conftest import Compiler, Run
from simulated import in_turn

from chasqui import messages, report, shares
from chasqui.errors import InputError
from chasqui.report import columns, data, lives, load, pairs, traffic
from chasqui.report.frame import Page
from chasqui.text import number, simulated_time

SIZE_MAX = 8_000_000  # bytes of a page of 100,000 messages
CASES = 150
SEED = int(os.environ.get("SEED", "1"))
EVIL = "<script>alert(1)</script>"

TEXT = """\
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, i, &x, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (argc > 1 && !strcmp(argv[1], "deadlock"))
        MPI_Recv(&x, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 1 && !strcmp(argv[1], "fault") && rank)
        *(volatile int *)16 = 1;
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def runs(compile_c: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run directories: `voyager`, `loggp`, `deadlock`, `fault`."""
    place = tmp_path_factory.mktemp("reports")
    program = compile_c("turn", TEXT)
    cases: tuple[tuple[str, str, int, list[str]], ...] = (
        ("voyager", "voyager", 0, [EVIL]),
        ("loggp", "loggp", 0, []),
        ("deadlock", "voyager", 125, ["deadlock"]),
        ("fault", "voyager", 139, ["fault"]),
    )
    for name, machine, status, words in cases:
        arguments = ["run", "-np", "2", "--machine", machine, "--out", name, "--profile"]
        done = command_line.run(*arguments, "--", program, *words, directory=place)
        assert done.returncode == status, done.stderr
    return place


def embedded(page: str, name: str) -> str:
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1]


def charts(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(embedded(page, "charts"))
    return found


def readable(page: str) -> str:
    """What stands in the page, without its scripts and the style."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)))


def unpacked(packed: dict[str, Any]) -> dict[str, list[int | None]]:
    """As the page's script does it."""
    content, at = zlib.decompress(b64decode(packed["packed"])), 0
    found: dict[str, list[int | None]] = {}
    for name, width in packed["widths"].items():
        values: list[int | None] = []
        for row in range(packed["rows"]):
            small = sum(content[at + plane * packed["rows"] + row] << 8 * plane
                        for plane in range(width)) - 1  # fmt: skip
            values.append(None if small < 0 else -(small + 1) // 2 if small % 2 else small // 2)
        at += width * packed["rows"]
        found[name] = values
    assert at == len(content)
    return found


@pytest.mark.core
def test_the_page_says_what_the_summary_does(runs: Path) -> None:
    page = report.html([runs / "voyager"])
    text = readable(page)
    summary = json.loads((runs / "voyager" / "summary.json").read_text())
    assert simulated_time(summary["time_ps"]) in text
    assert f"instructions {number(summary['instructions'])}" in text
    assert f"messages {summary['messages']}" in text
    bars = {trace["name"]: trace for trace in charts(page)["ranks"]["data"]}
    for rank in summary["ranks"]:
        for key, ps in rank["shares"].items():
            if ps:
                shown = bars[shares.name_of(key)]["x"][rank["rank"]]
                assert shown == pytest.approx(ps / 10**6, abs=1e-3)
    assert "This file needs no network." in text
    for each in data.parameters(runs / "voyager" / "resolved.toml"):
        assert each.name in text
        assert each.is_assumed == (f"<mark>{html.escape(each.source)}</mark>" in page)


@pytest.mark.core
def test_every_parameter_of_a_machine_is_read(runs: Path) -> None:
    path = runs / "voyager" / "resolved.toml"
    found = {each.name: each for each in data.parameters(path)}
    assert len(found) == path.read_text().count("from = ")
    clock = found["node.core.clock"]
    assert (clock.value, clock.origin) == ("150 MHz", "voyager")
    assert clock.doc.startswith("Clock")
    assert "StarT-Voyager" in clock.source


@pytest.mark.core
def test_parts_of_lives_add_up_to_them(runs: Path) -> None:
    run = data.read(runs / "voyager")
    rows = messages.read(runs / "voyager" / "messages.parquet")
    page = report.html([runs / "voyager"])
    shown: Counter[str] = Counter()
    for trace in charts(page)["parts"]["data"]:
        for label, mean in zip(trace["y"], trace["x"], strict=True):
            shown[label] += mean
    groups = lives.groups(run.messages)
    assert sum(len(each.rows) for each in groups) == len(rows) == run.summary["messages"]
    for group in groups:
        times = [(rows[at].done_ps or 0) - (rows[at].call_ps or 0) for at in group.rows]
        assert shown[group.label] == pytest.approx(sum(times) / len(times) / 10**6, abs=2e-3)


@pytest.mark.core
def test_parts_by_their_formulas_are_the_summarys(runs: Path) -> None:
    run = data.read(runs / "voyager")
    checked = 0
    for stage in run.summary["stages"]:
        values = lives.evaluate(stage["formula"], run.messages.columns)
        if values is None:
            assert "before it" in stage["formula"]
            continue
        there = values[values != messages.ABSENT]
        assert len(there) == stage["count"]
        if len(there):
            assert (there.min(), there.max()) == (stage["min_ps"], stage["max_ps"])
            checked += 1
    assert checked > 10


@pytest.mark.core
def test_the_matrix_has_all_bytes(runs: Path) -> None:
    page = report.html([runs / "voyager"])
    matrix = charts(page)["bytes"]["data"][0]["z"]
    rows = messages.read(runs / "voyager" / "messages.parquet")
    for source in (0, 1):
        sent = sum(each.bytes or 0 for each in rows if each.source == source)
        assert sum(each or 0 for each in matrix[source]) == sent


@pytest.mark.core
def test_the_timelines_messages_are_the_records(runs: Path) -> None:
    page = report.html([runs / "voyager"])
    found = json.loads(embedded(page, "data"))["traffic"]
    shown = unpacked(found["messages"])
    rows = messages.read(runs / "voyager" / "messages.parquet")
    call = 0
    for at, row in enumerate(rows):
        assert (shown["source"][at], shown["tag"][at], shown["bytes"][at]) == (
            row.source, row.tag, row.bytes,
        )  # fmt: skip
        kind = shown["mechanism"][at]
        assert kind is not None
        assert found["messages"]["mechanisms"][kind] == row.mechanism
        call = last = call + (shown["call_ps"][at] or 0)
        assert call == row.call_ps
        for stage in messages.STAGES[1:]:
            step = shown[stage][at]
            if step is not None:
                last += step
            assert (last if step is not None else None) == getattr(row, stage)
    calls = unpacked(found["calls"])
    names = Counter(found["calls"]["names"][each or 0] for each in calls["name"])
    assert names["MPI_Sendrecv"] == 10


@pytest.mark.core
def test_names_are_escaped(runs: Path) -> None:
    page = report.html([runs / "voyager"])
    assert EVIL in json.loads((runs / "voyager" / "host.json").read_text())["command"]
    assert EVIL not in page
    assert html.escape(EVIL) in page


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("deadlock", "rank 0 in MPI_Recv waits for a message from rank 1 with tag 7"),
        ("fault", "write to 0x10: null pointer"),
    ],
)
def test_a_failure_stands_at_the_top(runs: Path, name: str, reason: str) -> None:
    page = report.html([runs / name])
    header = page[page.index("<header>") : page.index("</header>")]
    assert 'role="alert"' in header
    assert reason in readable(header)
    assert 'role="alert"' not in report.html([runs / "voyager"])


@pytest.mark.core
def test_an_end_that_was_asked_for_is_no_failure(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("turn", TEXT)
    words: list[str | Path] = ["run", "-np", "2", "--stop-at", "2 us", "--out", "stopped", "--"]
    assert command_line.run(*words, program, directory=tmp_path).returncode == 0
    page = report.html([tmp_path / "stopped"])
    header = page[page.index("<header>") : page.index("</header>")]
    assert 'role="alert"' not in header
    assert "It ended where it was to end: stopped at 2.0" in readable(header)


@pytest.mark.core
def test_a_comparison_has_both_and_what_they_differ_in(runs: Path) -> None:
    page = report.html([runs / "loggp", runs / "voyager"])
    text = readable(page)
    assert "on loggp, voyager" in text
    assert re.search(r"node\.core\.clock 1 GHz 150 MHz", text)
    assert "network.link_latency" in text
    assert set(charts(page)["times"]["data"][0]["y"]) == {"loggp", "voyager"}
    same = report.html([runs / "voyager", runs / "deadlock"])
    assert "They differ in no parameter." in readable(same)
    assert "voyager (deadlock)" in readable(same)


@pytest.mark.core
def test_loggp_figures_come_from_logps_directories(chasqui: Run, tmp_path: Path) -> None:
    done = chasqui("logp", "-m", "loggp", "--sizes", "8,64", "--out", "logp", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    text = readable(report.html([tmp_path / "logp"]))
    o_send, o_recv = (number(measured[name] / 1000, 4) for name in ("o_send_ps", "o_recv_ps"))
    assert f"loggp {number(measured['L_ps'] / 1000, 4)} {o_send} {o_recv}" in text
    run = report_runs.write(tmp_path / "run", report_runs.messages(10, 2), 2)
    both = readable(report.html([run, tmp_path / "logp"]))
    assert "Time by rank" in both
    assert f"loggp {number(measured['L_ps'] / 1000, 4)} {o_send}" in both


def test_the_same_run_has_the_same_page_and_no_address(tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(500, 4))
    page = report.html([run])
    assert page == report.html([run])
    library = embedded(page, "library")
    rest = page.replace(library, "")
    assert not re.findall(r"https?://\S*|\bsrc=\"(?!data:)|<link\b|@import|url\(", rest)
    assert "default-src 'none'" in rest
    assert zlib.decompress(b64decode(library)).startswith(b"/**\n* plotly.js")


def test_100_000_messages_fit(tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(100_000, 16), 16)
    page = report.html([run])
    assert len(page.encode()) <= SIZE_MAX
    assert json.loads(embedded(page, "data"))["traffic"]["messages"]["rows"] == 100_000


def test_more_messages_are_chosen_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5000, 4))
    monkeypatch.setattr(traffic, "PACKED_MAX", 40_000)
    page = report.html([run])
    found = json.loads(embedded(page, "data"))["traffic"]["messages"]
    assert len(found["packed"]) <= 40_000
    assert 500 < found["rows"] < 5000
    assert f"Here are {number(found['rows'])} of the 5,000 messages" in readable(page)
    sequence = [each or 0 for each in unpacked(found)["sequence"]]
    steps = {b - a for a, b in pairwise(sequence)}
    assert len(steps) <= 2
    monkeypatch.setattr(traffic, "MESSAGES_MAX", 100)
    page = report.html([run])
    assert json.loads(embedded(page, "data"))["traffic"]["messages"]["rows"] == 100


def test_columns_come_back() -> None:
    numbers = [0, 1, -1, 255, -256, 10**15, -(10**15), messages.ABSENT]
    packed = columns.pack({"a": numpy.array(numbers), "b": numpy.array([messages.ABSENT] * 8)})
    assert packed["widths"]["b"] == 0
    assert unpacked(packed)["a"] == [*numbers[:-1], None]
    assert columns.pack({"a": numpy.array([], numpy.int64)})["rows"] == 0


def test_occupancy_is_time_spent_by_interval() -> None:
    """Two things in [0, 10): one all the time, one from 2 to 6; then none but one of 12 to 13."""
    edges = numpy.array([0, 10, 20])
    starts, ends = numpy.array([0, 2, 12]), numpy.array([10, 6, 13])
    assert load.occupancy(starts, ends, edges).tolist() == [1.4, 0.1]
    assert load.most_at_a_time(starts, ends) == 2
    assert load.most_at_a_time(numpy.array([0, 10]), numpy.array([10, 20])) == 1


def test_a_stage_that_came_early_takes_no_time() -> None:
    """A long message is matched by its announcement, before its data are sent."""
    names = ("call", "ready", "accept", "inject", "arrive", "land", "match", "deliver", "done")
    times = dict(zip(names, (0, 50, 51, 52, 60, 90, 30, 95, 99), strict=True))
    every = {f"{name}_ps": numpy.array([time]) for name, time in times.items()}
    every["source"] = numpy.array([0])
    found = data.Messages(every, []).milestones
    assert [int(found[f"{name}_ps"][0]) for name in names] == [0, 50, 51, 52, 60, 90, 90, 95, 99]


def test_a_run_without_messages_says_so(tmp_path: Path) -> None:
    text = readable(report.html([report_runs.write(tmp_path / "run", report_runs.messages(0, 2))]))
    assert "The run had no messages." in text
    assert "`" not in text
    assert "chasqui run --profile" in text
    assert "chasqui logp --machine" in text


def test_a_run_without_a_timeline_says_what_keeps_it(tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(9, 2), 2)
    assert "--timeline CALLS" not in readable(report.html([run]))
    (run / "timeline.json").unlink()
    page = report.html([run])
    assert readable(page).count("chasqui run --timeline CALLS") == 2
    found = json.loads(embedded(page, "data"))["traffic"]
    assert (found["messages"]["rows"], found["calls"]["rows"]) == (9, 0)


def test_an_experiments_page(tmp_path: Path) -> None:
    (tmp_path / "measured.json").write_text(
        json.dumps({"experiment": "mine.py", "version": "1", "quick": True})
    )
    rows = [["size", "way", "time_ns"], ["8", "<b>short", "1.5"], ["1024", "long", "20"]]
    with (tmp_path / "results.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (tmp_path / "report.txt").write_text("size way\n8 short\n\n- It is\n  so & so.\n- Or not.\n")
    (tmp_path / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    page = report.html([tmp_path])
    assert "<li>It is so &amp; so.</li><li>Or not.</li>" in page
    assert "&lt;b&gt;short" in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert '<table class="sortable">' in page
    assert "--quick" in page
    assert 'id="library"' not in page
    with pytest.raises(InputError, match="name its directory alone"):
        report.html([tmp_path, tmp_path.parent])


def test_random_damage_of_a_summary_is_said_or_shown(tmp_path: Path) -> None:
    values: tuple[Any, ...] = (None, True, -1, 0, 1 << 64, 1.5, "", "x", [], {}, [[]])

    def damaged(dice: random.Random, value: Any) -> Any:
        if not isinstance(value, dict | list) or not value or dice.random() < 0.1:
            return dice.choice(values)
        key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if dice.random() < 0.2:
            del value[key]
        else:
            value[key] = damaged(dice, value[key])
        return value

    run = report_runs.write(tmp_path / "run", report_runs.messages(20, 2), 2)
    whole = (run / "summary.json").read_text()
    said: list[str] = []
    for case in range(CASES):
        dice = random.Random(SEED * CASES + case)
        (run / "summary.json").write_text(json.dumps(damaged(dice, json.loads(whole))))
        try:
            report._run(Page(""), data.read(run), [])
        except InputError as error:
            said.append(str(error))
        except BaseException:
            print(f"SEED={SEED}, case {case}")
            raise
    assert len(said) > CASES / 2
    assert [each for each in said if not each.startswith(str(run / "summary.json"))] == []


def damage_stage(formula: str) -> dict[str, Any]:
    stage = {"name": "end_to_end", "formula": formula, "doc": "", "count": 5}
    return {"stages": [{**stage, **dict.fromkeys(data.STAGE_TIMES, 1)}]}


def damage_waits(late_ps: int) -> dict[str, Any]:
    run = report_runs.summary(report_runs.messages(5, 2), 2)
    wait = {**dict.fromkeys(shares.WAITS, 0), "peer": 1, "late_sender_ps": late_ps}
    run["ranks"][0]["waits"] = [wait]
    return {"ranks": run["ranks"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"ranks": []},
        {"replay": {"a": 1}},
        {"others_until_ps": "x"},
        {"others_until_ps": 10**400},
        {"limited_by": {"a": 1}},
        {"inputs": []},
        {"inputs": {"programs": [], "environment": {}, "seed": 1, "fast_forward": 1}},
        damage_waits((1 << 64) - 1),
        *(
            damage_stage(formula)
            for formula in (
                "5", "True", "1 - 2", "max(1, 2)", "-" * 5000 + "call", "call - " * 3000 + "call",
                "call - 1" + "0" * 400,
            )
        ),
    ],
    ids=lambda changes: str(changes)[:30],
)  # fmt: skip
def test_a_damaged_summary_is_said_in_a_line(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2, changes)
    check_damaged(run, "summary.json")


def check_damaged(run: Path, name: str) -> None:
    with pytest.raises(InputError, match="damaged: ") as caught:
        report.html([run])
    assert str(caught.value).startswith(f"{run / name}: ")
    assert "\n" not in str(caught.value)


def test_a_formula_in_words_and_waits_of_no_time_are_none(tmp_path: Path) -> None:
    changes = {**damage_stage("land - land before it"), **damage_waits(0)}
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2, changes)
    assert "longest wait" not in readable(report.html([run]))


@pytest.mark.parametrize("formula", ["call - " + "9" * 30, "-call", "call or done - nothing"])
def test_what_is_no_formula_has_no_times(formula: str) -> None:
    assert lives.evaluate(formula, report_runs.messages(5, 2)) is None


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("source", [0, -1, 0]),
        ("source", [0, None, 0]),
        ("sequence", [0, None, 0]),
        ("destination", [0, -5, 0]),
        ("bytes", [1, -1, 1]),
        ("mechanism", [1, 2, 3]),
        ("mechanism", [[1], [2], [3]]),
        ("mechanism", [b"\xff"] * 3),
        ("mechanism", [{"a": 1}] * 3),
    ],
)
def test_damaged_columns_are_said_in_a_line(tmp_path: Path, name: str, column: list[Any]) -> None:
    run = report_runs.write(tmp_path / "run", {**report_runs.messages(3, 2), name: column}, 2)
    check_damaged(run, "messages.parquet")


@pytest.mark.parametrize(
    "event",
    [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank " + "9" * 24}},
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 2"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 9_300_000_000_000, "dur": 1, "name": "MPI_Send"},
    ],
)
def test_a_damaged_timeline_is_said_in_a_line(tmp_path: Path, event: dict[str, Any]) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    place = {"pid": 1, "tid": 1}
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 0"}},
        event,
        {"ph": "M", **place, "name": "thread_name", "args": {"name": "MPI calls"}},
        {"ph": "X", **place, "ts": 1, "dur": 1, "name": "MPI_Send"},
    ]
    if event["ph"] == "X":
        events[1:3] = events[2:0:-1]
    (run / "timeline.json").write_text(json.dumps({"traceEvents": events}))
    check_damaged(run, "timeline.json")


def write_profile(run: Path, folded: str, **more: str) -> None:
    function = {"name": "main", "cycles": 5, "cycles_with_callees": 5, "by_cause": {"issue": 5}}
    ranks = [{"rank": 0, "cycles": 5, "functions": [function], **more}]
    found = {"functions": [function], "ranks": ranks}
    (run / "profile.json").write_text(json.dumps(found))
    (run / "profile.folded").write_text(folded)


@pytest.mark.parametrize(
    "line", ["rank 0;main \u00b200", "rank 0;main x", "main", "a " + "9" * 5000]
)
def test_a_damaged_flame_graph_is_said_in_a_line(tmp_path: Path, line: str) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    write_profile(run, f"rank 0;main 5\n{line}\n")
    check_damaged(run, "profile.folded")


def test_a_flame_graph_keeps_programs_apart(tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    write_profile(run, "rank 0;main 5\nrank 1;main 7\n", program="worker")
    (flames,) = charts(report.html([run]))["flames/all ranks"]["data"]
    assert flames["labels"] == ["all", "main", "worker", "main"]
    assert flames["values"] == [12, 7, 5, 5]
    assert flames["parents"] == ["", "0", "0", "2"]


def write_experiment(place: Path) -> Path:
    place.mkdir()
    (place / "measured.json").write_text(json.dumps({"experiment": "mine.py", "version": "1"}))
    for name in ("results.csv", "other.csv"):
        (place / name).write_text("a,b\n1,2\n")
    (place / "report.txt").write_text("- It is so.\n")
    (place / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return place


READ = (
    "summary.json", "host.json", "stats.json", "resolved.toml", "timeline.json",
    "profile.json", "profile.folded", "messages.parquet",
    "measured.json", "report.txt", "picture.svg", "results.csv", "other.csv",
)  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), in_turn(["pipe", "device", "long"], READ))
@pytest.mark.turn(3)
def test_no_file_is_read_without_an_end(chasqui: Run, tmp_path: Path, name: str, kind: str) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    write_profile(run, "rank 0;main 5\n")
    place = run if (run / name).exists() else write_experiment(tmp_path / "experiment")
    (place / name).unlink()
    if kind == "pipe":
        os.mkfifo(place / name)
    elif kind == "device":
        (place / name).symlink_to("/dev/zero")
    else:
        (place / name).touch()
        os.truncate(place / name, 1 << 40)
    done = chasqui("report", place.name)
    assert done.returncode == 2, done.stderr
    says = f"chasqui: {place.name}/{name}: "
    if name == "messages.parquet" and kind == "long":
        says += "damaged: "  # its reader looks at the end of it first
    else:
        says += "longer than " if kind == "long" else "not a regular file"
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_runs_of_one_name_are_both_there(tmp_path: Path) -> None:
    places = [tmp_path / name / "r" for name in ("x", "y")]
    for place, count in zip(places, (5, 7), strict=True):
        report_runs.write(place, report_runs.messages(count, 2), 2)
    page = report.html(places)
    titles = ["made-up (x/r)", "made-up (y/r)"]
    assert " and ".join(titles) in page
    found = charts(page)
    assert found["times"]["data"][0]["y"] == titles
    assert len(set(found["times"]["data"][0]["marker"]["color"])) == 2
    assert found["shares"]["data"][0]["y"] == titles
    assert len({each["marker"]["color"] for each in found["stages"]["data"]}) == 2
    assert [each["name"] for each in found["spread"]["data"]] == titles
    (tmp_path / "link").symlink_to(places[0])
    for again in (tmp_path / "link", tmp_path / "x" / ".." / "x" / "r"):
        with pytest.raises(InputError, match="named more than once"):
            report.html([places[0], again])


def test_titles_are_no_two_alike() -> None:
    places = [Path(each) for each in ("/a", "/a/b", "/c/b", "/d")]
    found = data.titles(["m", "m", "m", "n"], places)
    assert found == ["m (a)", "m (a/b)", "m (c/b)", "n"]
    assert data.titles(["m", "m"], places[:2]) == ["m (a)", "m (a/b)"]


def test_a_parameter_of_any_length_is_read_in_time(tmp_path: Path) -> None:
    """Its pattern looks at nothing twice: such a line took minutes."""
    path = tmp_path / "resolved.toml"
    begin = time.process_time()
    for part in (", range = [", ", range = []", ', from = "', '\\"'):
        path.write_text("[a]\nx = { value = 1" + part * 30_000 + "\n")
        data.parameters(path)
    assert time.process_time() - begin < 5


INPUTS: dict[str, Any] = {
    "programs": [{"name": "a", "first_rank": 0, "ranks": 2, "arguments": ["-n", "1"],
                  "sha256": "0" * 64}],
    "environment": {}, "seed": 1, "fast_forward": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"arguments": ["-n", "2"]}, "arguments"),
        ({"sha256": "1" * 64}, "program file (SHA-256)"),
        ({"ranks": 3}, "ranks"),
        ({"recording_sha256": "2" * 64}, "recording (SHA-256)"),
        ({"beside": [{"job": 1, "programs": INPUTS["programs"], "environment": {}}]}, "other jobs"),
    ],
)
def test_runs_of_different_problems_have_no_speed_up(
    tmp_path: Path, change: dict[str, Any], name: str
) -> None:
    ranks = change.get("ranks", 2)
    if change.keys() & {"beside", "recording_sha256"}:
        other = {**INPUTS, **change}
    else:
        other = {**INPUTS, "programs": [{**INPUTS["programs"][0], **change}]}
    places = [
        report_runs.write(tmp_path / "a", report_runs.messages(5, 2), 2, {"inputs": INPUTS}),
        report_runs.write(tmp_path / "b", report_runs.messages(5, 2), 2, {"inputs": INPUTS}),
        report_runs.write(tmp_path / "c", report_runs.messages(5, 2), ranks, {"inputs": other}),
    ]
    speed_up = r"made-up \({}\) [\d.]+ ms ([\d.]+|-) "
    alike = readable(report.html(places[:2]))
    assert [re.findall(speed_up.format(each), alike) for each in "ab"] == [["1.00"], ["1.00"]]
    assert "different problems" not in alike
    text = readable(report.html([places[0], places[2]]))
    assert [re.findall(speed_up.format(each), text) for each in "ac"] == [["1.00"], ["-"]]
    assert f"They differ in: {name}. Between such there is no speed-up." in text
    differences = text.rindex("In what they differ")
    assert text.index("What went into them", differences) < text.index("They differ in no p")


@pytest.mark.core
def test_a_run_that_was_stopped_says_what_it_reached(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("turn", TEXT)
    for name, until in (("early", "1 ns"), ("whole", "1 s")):
        words: list[str | Path] = ["run", "-np", "2", "-m", "voyager", "--stop-at", until]
        done = command_line.run(*words, "--out", name, "--", program, directory=tmp_path)
        assert done.returncode == 0, done.stderr
    text = readable(report.html([tmp_path / "early"]))
    assert "MPI_Init to MPI_Finalize" not in text
    assert "the start to the end" in text
    assert "without a network" not in text
    assert "The timeline has no packets" in text
    assert "MPI_Init to MPI_Finalize" in readable(report.html([tmp_path / "whole"]))


def test_many_ranks_take_no_memory_of_their_square(tmp_path: Path) -> None:
    run = data.read(report_runs.write(tmp_path / "run", report_runs.messages(900, 300), 300))
    few = pairs._pairs_of(run)
    sent = run.messages.columns
    assert sum(each.messages for each in few.values()) == 900
    matrix = pairs._blocks(run, 3, {each: pair.bytes for each, pair in few.items()})
    assert (len(matrix), len(matrix[0])) == (100, 100)
    expected = numpy.zeros((100, 100), numpy.int64)
    numpy.add.at(expected, (sent["source"] // 3, sent["destination"] // 3), sent["bytes"])
    assert matrix == expected.tolist()
    many = data.Run(
        run.directory,
        {"ranks": [{"rank": number, "waits": []} for number in range(60_000)]},
        {}, {}, [], run.messages,
    )  # fmt: skip
    tracemalloc.start()
    pairs.add(Page(""), many)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000  # a matrix of them has 29 GB


def test_what_is_no_run_is_said_in_a_line(chasqui: Run, tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    (tmp_path / "jobs" / "job0").mkdir(parents=True)
    (tmp_path / "jobs" / "job0" / "summary.json").write_text("{}")
    (tmp_path / "program.html").write_text("<p>mine")
    for words, says in (
        (["none"], "none: no such directory"),
        (["program.html"], "program.html: not a directory"),
        (["."], "summary.json: no such file; `chasqui run` writes it"),
        (["jobs"], "is of several jobs: name one, jobs/job0"),
        ([run, "-o", "a.svg"], "-o a.svg: a name that ends in .html is expected"),
        ([run, "-o", "program.html"], "is there already, and no report of chasqui"),
        ([run, run], "named more than once"),
        ([run, "-o", "none/a.html"], "none/a.html: No such file or directory"),
    ):
        done = chasqui("report", *words)
        assert done.returncode == 2, words
        assert says in done.stderr
        assert done.stderr.startswith("chasqui: ")
        assert done.stderr.count("\n") == 1
    assert (tmp_path / "program.html").read_text() == "<p>mine"


def test_the_command_writes_beside_the_run_and_again(chasqui: Run, tmp_path: Path) -> None:
    run = report_runs.write(tmp_path / "run", report_runs.messages(5, 2), 2)
    for _ in range(2):
        done = chasqui("report", "run")
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"run/report\.html: \d\.\d MB\n", done.stdout)
    first = (run / "report.html").read_bytes()
    other = report_runs.write(tmp_path / "other", report_runs.messages(7, 2), 2)
    assert chasqui("report", run, other).returncode == 0
    assert (tmp_path / "report.html").exists()
    assert (run / "report.html").read_bytes() == first
