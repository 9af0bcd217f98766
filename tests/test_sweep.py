"""`chasqui sweep`: the points and their order, rows that fail, what is refused, what is run again.

Use this when what a point is known by changes, or who runs it. The tests of workers that are killed
kill real ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from conftest import Compiler
from fake_core import FakeCore
from simulated import command

from chasqui import report, simulation
from chasqui.cli import invoke
from chasqui.errors import InputError
from chasqui.sweeping import points, store, whole
from chasqui.sweeping.points import Axes, Point
from chasqui.sweeping.store import Row

LIMIT_S = 200

# Says its arguments, works for as many rounds as the first says, and exits with the second.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    volatile long sum = 0;
    MPI_Init(&count, &words);
    for (long round = 0; round < 1000 * atol(words[1]); round++)
        sum += round;
    MPI_Finalize();
    return count > 2 ? atoi(words[2]) : 0;
}
"""
# Rounds: seconds of the host's, and more than any test waits for.
LONG, LONGER, LONGEST = "10000", "10001", "100000000"


def job(*words: str, **more: Any) -> simulation.Job:
    program, *arguments = words or ("./ring",)
    return simulation.Job("", 0, program, arguments, threads=1, **more)


def found(axes: Axes, *words: str) -> list[Point]:
    return points.product(axes, job(*words))


# --- points -------------------------------------------------------------------------------------


def test_points_are_the_product_and_the_last_axis_changes_first(fake_core: FakeCore) -> None:
    axes = Axes(["loggp", "other"], [2, 4], {"ni.L": ["1 us", "2 us"]}, {"n": ["8", "x"]}, 2)
    every = found(axes, "./ring-{n}", "-n", "{n}", "{np}", "{{n}}")
    assert len(every) == 2 * 2 * 2 * 2 * 2
    assert len({each.key for each in every}) == len({each.name for each in every}) == len(every)
    columns = ("machine", "np", "ni.L", "n", "repeat")
    assert [[each.inputs[name] for name in columns] for each in every] == [
        [machine, ranks, latency, n, repeat]
        for machine in ("loggp", "other")
        for ranks in (2, 4)
        for latency in ("1 us", "2 us")
        for n in (8, "x")
        for repeat in (1, 2)
    ]
    first = every[0].job
    assert (first.program, first.arguments) == ("./ring-8", ["-n", "8", "2", "{n}"])
    assert (first.machine, first.ranks, list(first.sets)) == ("loggp", 2, ["ni.L=1 us"])
    assert [each.job.seed for each in every[:2]] == [1, 2]


def test_a_point_is_known_by_all_that_decides_its_result(
    fake_core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ring").write_text("a program")
    axes = Axes(["loggp"], [2])

    def key(axes: Axes = axes, **more: Any) -> str:
        (each,) = points.product(axes, job("./ring", "1", **more))
        return each.key

    usual = key()
    assert key() == key(directory=Path("x"), progress=True) == usual
    others = {
        key(Axes(["other"], [2])), key(Axes(["loggp"], [3])), key(map_by="node"),
        key(Axes(["loggp"], [2], {"ni.L": ["1 us"]})), key(environment={"A": "1"}),
        key(beside=[simulation.Program(1, "./ring")]), key(jitter="1 us"),
    }  # fmt: skip
    monkeypatch.setattr(FakeCore, "resolve", lambda *_: "a machine file that was changed")
    others.add(key())
    Path("ring").write_text("a program that was changed")
    others.add(key())
    assert len(others) == 9
    assert usual not in others


def test_repetitions_have_seeds_of_their_own_where_links_fail(
    fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rate, packet, fail in (("0 %", "0", False), ("0.5 %", "0", True), ("0 %", "3", True)):
        values = dict(zip((points.FAULT_SEED, *points.FAULTS), ("7", rate, packet), strict=True))
        named = [{"name": name, "value": value} for name, value in values.items()]
        monkeypatch.setattr(FakeCore, "parameters", lambda *_, named=named: json.dumps(named))
        every = found(Axes(["loggp"], [2], repeat=3))
        assert [list(each.job.sets) for each in every] == (
            [[], ["network.fault.seed=8"], ["network.fault.seed=9"]] if fail else [[], [], []]
        )
        assert [each.job.seed for each in every] == [1, 2, 3]


@pytest.mark.parametrize(
    ("words", "arguments", "message"),
    [
        (["./a", "{n}"], {}, "{n} in the program's arguments: values n=… says its values"),
        (["./a"], {"n": ["1"]}, "values n=…: the program's arguments have no {n}"),
        (["./a", "{{n}}"], {"n": ["1"]}, "values n=…: the program's arguments have no {n}"),
    ],
)
def test_places_and_arguments_fit(
    words: list[str], arguments: dict[str, list[str]], message: str, fake_core: FakeCore
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        found(Axes(["loggp"], [2], {}, arguments), *words)


def test_numbers_are_numbers() -> None:
    texts = ("8", "-3", "0.5", "08", "1e3", "nan", "8 us", "")
    assert [points.as_number(each) for each in texts] == [
        8, -3, 0.5, "08", "1e3", "nan", "8 us", "",
    ]  # fmt: skip


# --- what is refused ----------------------------------------------------------------------------

SWEEP = ["sweep", "-np", "2"]
SPEC = 'program = "./x"\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SWEEP, "no program was named: chasqui sweep"),
        (["sweep", "-np", "2,x", "--", "./x"], "'x' is no number of ranks, at least 1"),
        (["sweep", "-np", "0", "--", "./x"], "'0' is no number of ranks"),
        (["sweep", "-np", "2,,3", "--", "./x"], "values with commas between are expected"),
        (["sweep", "-np", "2,2", "--", "./x"], "-np: named more than once: 2\n"),
        ([*SWEEP, "-m", "loggp,loggp", "--", "./x"], "--machine: named more than once: loggp\n"),
        ([*SWEEP, "-m", "loggp,no", "--", "./x"], "unknown machine 'no'; there are: loggp\n"),
        ([*SWEEP, "--", "./nosuch"], "./nosuch: no such file\n"),
        ([*SWEEP, "--set", "clock", "--", "./x"], "'clock': NAME=VALUE,VALUE,… is expected"),
        ([*SWEEP, "--set", "a=1,1", "--", "./x"], "--set a: named more than once: 1\n"),
        ([*SWEEP, "--set", "a=1", "--set", "a=2", "--", "./x"], "--set: named more than once: a\n"),
        ([*SWEEP, "--arg", "n=1", "--", "./x"], "the program's arguments have no {n}"),
        ([*SWEEP, "--arg", "a b=1", "--", "./x"], "a name of letters, digits and _ is expected"),
        ([*SWEEP, "--arg", "time_ps=1", "--", "./x"], "the table has columns of such names of"),
        ([*SWEEP, "--arg", "size_ns=1", "--", "./x"], "the table has columns of such names of"),
        ([*SWEEP, "--plot", "z=1", "--", "./x"], "x=COLUMN y=COLUMN by=COLUMN is expected"),
        ([*SWEEP, "--plot", "--", "./x"], "x=COLUMN y=COLUMN by=COLUMN is expected"),
        ([*SWEEP, "--plot", "x=n", "--", "./x"], "--plot x=n: allowed are machine, np, repeat,"),
        ([*SWEEP, "--plot", "y=outcome", "--", "./x"], "--plot y=outcome: exit_status, time_ps"),
        ([*SWEEP, "--repeat", "0", "--", "./x"], "0 is not in the range"),
        ([*SWEEP, "--jitter", "1 us", "--", "./x"], "--jitter 1 us: one run has no spread"),
        ([*SWEEP, "--out", "a", "--resume", "b", "--", "./x"], "b: no such directory; that of a"),
        ([*SWEEP, "--workers", "2", "--scheduler", "s", "--", "./x"], "--workers and --scheduler"),
        ([*SWEEP, "x.txt", "--", "./x"], "x.txt: a sweep is said by a file that ends in .toml"),
        (["sweep", "no.toml"], "no.toml: no such file\n"),
        (["sweep", "--resume", "no"], "no: no such directory; that of a sweep is expected\n"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert invoke(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("chasqui: ")
    assert message in shown
    assert shown.count("\n") == 1
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("np = [2", "bad.toml: "),
        ("ranks = 2", "bad.toml: unknown name 'ranks'; there are: program, machine, np, set,"),
        ("set = 3", "bad.toml: set: a table of names and values is expected"),
        ("np = 2.5", "bad.toml: np: '2.5' is no number of ranks"),
        ("np = []", "bad.toml: np: texts and numbers, one or a list of them, is expected"),
        ("np = [[2]]", "bad.toml: np: texts and numbers"),
        ("repeat = [1, 2]", "bad.toml: repeat: a text or a number is expected"),
        ("host-files = 1", "bad.toml: host-files: true or false is expected"),
        ("[arg]\nn = {}", "bad.toml: arg.n: texts and numbers"),
        ("[env]\nA = [1]", "bad.toml: env.A: a text or a number is expected"),
        ("timeline = 'x'", "bad.toml: timeline: 'x' is not a valid integer"),
        ("repeat = 2.5", "bad.toml: repeat: '2.5' is not a valid integer"),
    ],
)
def test_a_bad_file_is_one_line_and_status_2(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    Path("bad.toml").write_text(SPEC + text + "\n")
    assert invoke(["sweep", "-q", "bad.toml"]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["bad.toml"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, fake_core: FakeCore) -> list[tuple[Any, ...]]:
    """What the command would carry out: the points, what it keeps."""
    seen: list[tuple[Any, ...]] = []

    def carry_out(every: list[Point], place: Path, spec: Any, **_: Any) -> dict[str, Row]:
        store.write_spec(place, spec)
        seen.append((every, spec))
        return {each.key: store.failed("not tried", 0) for each in every}

    monkeypatch.setattr(whole, "carry_out", carry_out)
    monkeypatch.setattr(whole, "draw", lambda place: place)
    return seen


FILE = """\
program = ["./ring", "-n", "{n}"]
machine = "loggp"
np = [2, 4]
limit-time = "1 s"
host-files = true

[set]
"ni.L" = ["1 us", "2, us"]

[mpi]
"wait.polls" = 50

[arg]
n = [1, 0.5]

[env]
HERE = "yes"
"""


def test_a_file_says_what_options_say_and_an_option_holds(asked: list[tuple[Any, ...]]) -> None:
    Path("all.toml").write_text(FILE)
    assert invoke(["sweep", "all.toml", "-np", "3", "--out", "a"]) == 0
    options = [
        *("--set", "ni.L=1 us,2 us", "--mpi", "wait.polls=50", "--arg", "n=1,0.5", "-np", "3"),
        *("--limit-time", "1 s", "--host-files", "--env", "HERE=yes", "--out", "b"),
    ]
    assert invoke(["sweep", *options, "--", "./ring", "-n", "{n}"]) == 0
    (of_file, _), (of_options, _) = asked
    assert [each.job.ranks for each in of_file] == [3] * 4
    assert list(of_file[0].job.sets) == ["ni.L=1 us", "mpi.wait.polls=50"]
    assert "ni.L=2, us" in of_file[2].job.sets  # a text with a comma
    assert of_file[0].job.sandbox.limit_time == "1 s"
    assert of_file[0].job.sandbox.host_files
    assert of_file[0].job.environment == {"HERE": "yes"}
    same = [0, 1]
    assert [of_file[at].key for at in same] == [of_options[at].key for at in same]


def test_what_was_begun_is_gone_on_with_as_it_was(
    asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("all.toml").write_text(FILE)
    monkeypatch.setenv("MINE", "1")
    words = ["--out", "a", "--env", "MINE", "--plot", "x=np", "y=time_ps", "--timeline", "7"]
    assert invoke(["sweep", "all.toml", *words]) == 0
    monkeypatch.delenv("MINE")
    assert invoke(["sweep", "--resume", "a"]) == 0
    assert invoke(["sweep", "--resume", "a", "-np", "8", "--", "./other", "{n}"]) == 0
    (begun, spec), (again, spec_again), (other, _) = asked
    assert [each.key for each in again] == [each.key for each in begun]
    assert spec_again == spec
    assert spec["env"] == {"MINE": "1"}
    assert spec["plot"] == ["x=np y=time_ps"]
    assert {(each.job.program, each.job.ranks) for each in other} == {("./other", 8)}
    Path("a/sweep.json").write_text('{"np": {}}')
    assert invoke(["sweep", "--resume", "a"]) == 2


# --- rows and table -----------------------------------------------------------------------------

FIGURES = {
    "outcome": "finished", "exit_status": 0, "message": None, "time_ps": 5, "messages": 3,
    "init_to_finalize_ps": 2, "mpi_share": 0.5, "latency_ns": 1.5, "instructions": 9,
    "share_computing": 1.0,
}  # fmt: skip


def test_a_row_that_is_not_whole_is_none(fake_core: FakeCore, tmp_path: Path) -> None:
    (point,) = found(Axes(["loggp"], [2]))
    path = store.row_path(tmp_path, point)
    run = store.begin_run(path.with_suffix(""))
    store.write_row(path, point.key, Row(FIGURES, f"runs/{run.name}"))
    assert store.read_rows(tmp_path, [point]) == {point.key: Row(FIGURES, f"runs/{run.name}")}
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []
    whole_row = path.read_bytes()
    for end in range(len(whole_row) - 1):
        path.write_bytes(whole_row[:end])
        assert store.read_row(path, point.key) is None
    for damaged in (whole_row.replace(b'"time_ps": 5', b'"time_ps": 6'), b"\0" * 99, b"[]", b"{}"):
        path.write_bytes(damaged)
        assert store.read_row(path, point.key) is None
    path.write_bytes(whole_row)
    assert store.read_row(path, "another key") is None
    run.rmdir()
    assert store.read_row(path, point.key) is None


def test_runs_without_a_row_go_and_others_stay(fake_core: FakeCore, tmp_path: Path) -> None:
    one, two = found(Axes(["loggp"], [2, 3]))
    kept = store.begin_run(store.row_path(tmp_path, one).with_suffix(""))
    again = store.begin_run(store.row_path(tmp_path, one).with_suffix(""))
    assert again.name == f"{kept.name}-2"
    store.write_row(store.row_path(tmp_path, one), one.key, Row(FIGURES, f"runs/{again.name}"))
    half = store.begin_run(store.row_path(tmp_path, two).with_suffix(""))
    (half / "summary.json").write_text("{}")
    (tmp_path / "runs" / "notes").mkdir()
    store.remove_unfinished(tmp_path)
    left = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert left == sorted([again.name, f"{kept.name}.json", "notes"])


def test_a_table_has_numbers_as_numbers_and_is_never_half(
    fake_core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = Axes(["loggp"], [2], {}, {"n": ["1", "x"], "m": ["1", "2"]})
    every = found(axes, "./ring", "{n}", "{m}")
    rows = {each.key: Row(FIGURES, "runs/r") for each in every}
    rows[every[1].key] = store.failed("no worker", 74)
    table = store.table(every, rows)
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert [kinds[name] for name in ("np", "n", "m", "time_ps", "mpi_share", "message")] == [
        "int64", "string", "int64", "int64", "double", "string",
    ]  # fmt: skip
    lines = table.to_pylist()
    assert [(line["n"], line["m"]) for line in lines] == [("1", 1), ("1", 2), ("x", 1), ("x", 2)]
    assert (lines[1]["outcome"], lines[1]["message"], lines[1]["time_ps"]) == (
        "not started", "no worker", None,
    )  # fmt: skip
    path = tmp_path / store.RESULTS
    store.write_table(path, table)
    before = path.read_bytes()

    def fails(content: Any, place: Path) -> None:
        place.write_bytes(b"PAR1 half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet, "write_table", fails)
    with pytest.raises(InputError, match="No space left"):
        store.write_table(path, table)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [store.RESULTS]


def test_two_commands_do_not_work_on_one_sweep(tmp_path: Path) -> None:
    with store.at_work(tmp_path):
        with (
            pytest.raises(InputError, match="another `chasqui sweep` is at work there"),
            store.at_work(tmp_path),
        ):
            pass
        assert (tmp_path / store.AT_WORK).exists()
        # A command that was told to stop has its runs see it, and waits for them.
        (tmp_path / store.AT_WORK).unlink()
        with pytest.raises(InputError, match="another"), store.at_work(tmp_path):
            pass
        assert not (tmp_path / store.AT_WORK).exists()
    with store.at_work(tmp_path) as marker:
        assert marker.exists()
    assert not marker.exists()


def test_another_table_reader_has_the_same(fake_core: FakeCore, tmp_path: Path) -> None:
    import duckdb

    every = found(Axes(["loggp"], [2, 4], {"ni.L": ["1 us"]}))
    table = store.table(every, {each.key: Row(FIGURES, "runs/r") for each in every})
    store.write_table(tmp_path / store.RESULTS, table)
    query = f"""SELECT np, "ni.L", time_ps FROM '{tmp_path / store.RESULTS}' ORDER BY np DESC"""
    assert duckdb.sql(query).fetchall() == [(4, "1 us", 5), (2, "1 us", 5)]


# --- its page -----------------------------------------------------------------------------------


def charts(place: Path) -> dict[str, Any]:
    page = report.html([place])
    text = re.search(r'<script type="text/plain" id="charts">(.*?)</script>', page, re.DOTALL)
    assert text
    drawn: dict[str, Any] = json.loads(text[1])
    return drawn


def kept_sweep(place: Path, axes: Axes, *plots: str) -> list[Point]:
    """A sweep whose times [us] are 10 a rank on the first machine and 20 on others, 1 more for each
    repetition; on four ranks of the second it failed."""
    every = points.product(axes, job())
    rows = {}
    for each in every:
        machine, ranks = each.inputs["machine"], each.job.ranks
        time_us = ranks * (10 if machine == axes.machines[0] else 20) + each.job.seed
        figures = {**FIGURES, "init_to_finalize_ps": time_us * 10**6}
        rows[each.key] = Row(figures, "runs/r")
        if (machine, ranks) == (axes.machines[-1], 4):
            rows[each.key] = store.failed("<b>no</b> worker", 74)
    store.write_spec(place, {"program": ["./ring"], "plot": list(plots)})
    store.write_table(place / store.RESULTS, store.table(every, rows))
    return every


def test_a_chart_has_a_line_for_each_choice_and_the_spread_of_repetitions(
    fake_core: FakeCore, tmp_path: Path
) -> None:
    axes = Axes(["loggp", "other"], [2, 4, 16], {"ni.L": ["2 us", "1 us"]}, repeat=2)
    kept_sweep(tmp_path, axes, "x=np by=machine", "x=ni.L y=exit_status by=np")
    drawn = charts(tmp_path)
    first, second = drawn["sweep0"], drawn["sweep1"]
    lines = {trace["name"]: trace for trace in first["data"]}
    assert list(lines) == [
        "loggp, 2 us", "loggp, 1 us", "other, 2 us", "other, 1 us",
    ]  # fmt: skip
    assert (lines["loggp, 1 us"]["x"], lines["loggp, 1 us"]["y"]) == (
        [2, 4, 16], [21.5, 41.5, 161.5],
    )  # fmt: skip
    assert lines["loggp, 1 us"]["error_y"]["array"] == [0.5] * 3
    assert lines["other, 2 us"]["x"] == [2, 16]  # four failed
    looks = [(lines[name]["line"]["color"], lines[name]["line"]["dash"]) for name in lines]
    assert looks[0][0] == looks[1][0] != looks[2][0]
    assert looks[0][1] == looks[2][1] != looks[1][1]
    assert first["layout"]["xaxis"]["type"] == "log"
    assert second["layout"]["xaxis"]["title"]["text"] == "ni.L [us]"
    assert second["data"][0]["x"] == [1, 2]
    page = report.html([tmp_path])
    assert "4 of 24 points failed" in page
    assert "&lt;b&gt;no&lt;/b&gt; worker" in page


def test_without_a_plot_there_is_one_that_suits(fake_core: FakeCore, tmp_path: Path) -> None:
    kept_sweep(tmp_path, Axes(["loggp", "other"], [2, 3]))
    (drawn,) = charts(tmp_path).values()
    assert [trace["name"] for trace in drawn["data"]] == ["loggp", "other"]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "np"
    assert drawn["layout"]["yaxis"]["title"]["text"] == "init to finalize [us]"


def test_a_sweep_without_its_table_has_no_page(fake_core: FakeCore, tmp_path: Path) -> None:
    kept_sweep(tmp_path, Axes(["loggp"], [2]))
    (tmp_path / store.RESULTS).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"results\.parquet: damaged: "):
        report.html([tmp_path])
    (tmp_path / store.RESULTS).unlink()
    with pytest.raises(InputError, match="points are missing; `chasqui sweep --resume"):
        report.html([tmp_path])


# --- runs ---------------------------------------------------------------------------------------


def rows_of(place: Path) -> dict[str, int]:
    """When each row was written [ns], by its file's name."""
    return {path.name: path.stat().st_mtime_ns for path in (place / "runs").glob("*.json")}


def table_of(place: Path) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = pyarrow.parquet.read_table(place / store.RESULTS).to_pylist()
    return lines


WORDS = ["--arg", "rounds=1,2", "--arg", "status=0,3", "--quiet"]


@pytest.mark.core
@pytest.mark.turn(1)
def test_rows_are_the_same_with_any_number_of_workers_and_only_what_is_missing_runs(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = tmp_path / "work"
    shutil.copy(compile_c("work", PROGRAM), program)
    called = ["--", "./work", "{rounds}", "{status}"]
    one = command("sweep", *WORDS, "--workers", "1", "--out", "a", *called, directory=tmp_path)
    two = command("sweep", *WORDS, "--workers", "2", "--out", "b", *called, directory=tmp_path)
    assert (one.returncode, two.returncode) == (3, 3), one.stderr + two.stderr
    assert "4, 2 of which failed" in one.stdout
    a, b = tmp_path / "a", tmp_path / "b"
    assert (a / store.RESULTS).read_bytes() == (b / store.RESULTS).read_bytes()
    lines = table_of(a)
    assert [(line["rounds"], line["status"]) for line in lines] == [(1, 0), (1, 3), (2, 0), (2, 3)]
    assert [line["exit_status"] for line in lines] == [0, 3, 0, 3]
    assert [line["message"] for line in lines] == [None, "exit status 3"] * 2
    assert lines[2]["instructions"] > lines[0]["instructions"] > 0
    for line in lines:
        summary = json.loads((a / line["directory"] / "summary.json").read_text())
        assert summary["time_ps"] == line["time_ps"]
        assert summary["inputs"]["programs"][0]["sha256"] == line["program_sha256"]
        shares = [value for name, value in line.items() if name.startswith("share_")]
        assert sum(shares) == pytest.approx(1)

    # A row that is damaged, and a run without a row.
    before = rows_of(a)
    damaged = a / f"{lines[1]['directory']}.json"
    damaged.write_text(damaged.read_text().replace('"exit_status": 3', '"exit_status": 0'))
    gone = a / f"{lines[2]['directory']}.json"
    gone.unlink()
    content = (a / store.RESULTS).read_bytes()
    (a / store.RESULTS).unlink()
    again = command("sweep", "--resume", "a", directory=tmp_path)
    assert again.returncode == 3, again.stderr
    assert "2 of 4 points have run before" in again.stderr
    after = rows_of(a)
    assert {name for name in after if after[name] != before[name]} == {damaged.name, gone.name}
    assert (a / store.RESULTS).read_bytes() == content
    assert len(list((a / "runs").iterdir())) == 8


@pytest.mark.core
@pytest.mark.turn(1)
def test_a_program_that_changed_runs_anew(compile_c: Compiler, tmp_path: Path) -> None:
    program = tmp_path / "work"
    shutil.copy(compile_c("work", PROGRAM), program)
    words = ["--arg", "rounds=1", "--repeat", "2", "--out", "a", "--", "./work", "{rounds}"]
    assert command("sweep", *words, directory=tmp_path).returncode == 0
    shutil.copy(compile_c("work", PROGRAM.replace("1000", "2000")), program)
    assert command("sweep", "--resume", "a", directory=tmp_path).returncode == 0
    assert len(rows_of(tmp_path / "a")) == 4
    old, new = (
        Path(compile_c("work", text)) for text in (PROGRAM, PROGRAM.replace("1000", "2000"))
    )
    shutil.copy(old, program)
    before = rows_of(tmp_path / "a")
    assert command("sweep", "--resume", "a", directory=tmp_path).returncode == 0
    assert rows_of(tmp_path / "a") == before  # these had run
    hashes = {line["program_sha256"] for line in table_of(tmp_path / "a")}
    assert hashes == {points._digest(str(old))} != {points._digest(str(new))}


@pytest.mark.core
@pytest.mark.turn(3)
def test_repetitions_differ_by_when_ranks_begin_and_by_nothing_else(
    examples: Path, tmp_path: Path
) -> None:
    """With and without a kernel, links with a fault to draw, a coherent chip."""
    machines = ["loggp", "voyager", "netcache/ldtct", "mpinp", "cell"]
    words = ["--machine", ",".join(machines), "--np", "2", "--repeat", "3", "--out"]
    program = ["--", str(examples / "ring"), "-l", "1"]
    tables = []
    for name, more in (("same", []), ("a", ["--jitter", "2 us"]), ("b", ["--jitter", "2 us"])):
        done = command("sweep", *words, name, *more, *program, directory=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        tables.append([(line["machine"], line["time_ps"]) for line in table_of(tmp_path / name)])
    same, a, b = tables
    assert len(set(same)) == len(machines)
    assert a == b
    assert len(set(a)) == 3 * len(machines)
    usual = dict(same)
    for machine, time_ps in a:
        # A rank of ring waits for the other: both are as late as the later, and no more than that
        # and what caches and turns of the kernel do with it.
        assert abs(time_ps - usual[machine]) < 0.1 * usual[machine], machine


@pytest.fixture
def begun(compile_c: Compiler, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Begins a sweep of points that take seconds, behind two that do not; what it left ends."""
    shutil.copy(compile_c("work", PROGRAM), tmp_path / "work")
    started: list[subprocess.Popen[str]] = []

    def begin(*rounds: str) -> subprocess.Popen[str]:
        words = ["--workers", "2", "--out", "a", "--arg", f"rounds={','.join(rounds)}"]
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "chasqui", "sweep", *words, "--", "./work", "{rounds}"],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        return started[-1]

    yield begin
    for each in started:
        with each:
            each.kill()


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    end = time.monotonic() + LIMIT_S
    while not (seen := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return seen


def working(place: Path) -> list[str]:
    """Run directories without a row, in which something is."""
    runs = place / "runs"
    found = [path for path in runs.iterdir() if path.is_dir()] if runs.is_dir() else []
    return [path.name for path in found if not path.with_name(f"{path.name}.json").exists()]


def below(process: int) -> list[int]:
    """The processes that it began."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(word) for each in threads for word in (each / "children").read_text().split()]


def is_alive(process: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def all_end(processes: Sequence[int]) -> None:
    """One that has nothing left to do sees that the command has ended, and ends; a moment later."""
    end = time.monotonic() + LIMIT_S
    while any(map(is_alive, processes)):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.core
@pytest.mark.turn(0)
def test_after_kill_9_only_what_is_missing_runs(
    begun: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    place = tmp_path / "a"
    process = begun("1", "2", LONG, LONGER)
    until(lambda: len(rows_of(place)) == 2 and working(place), process)
    workers = below(process.pid)
    process.kill()
    process.wait()
    all_end(workers)
    kept = rows_of(place)
    half = working(place)
    assert half
    assert len(kept) == 2
    assert not (place / store.RESULTS).exists()
    again = command("sweep", "--resume", "a", directory=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 of 4 points have run before" in again.stderr
    assert kept.items() <= rows_of(place).items()
    lines = table_of(place)
    assert [(line["rounds"], line["outcome"]) for line in lines] == [
        (int(rounds), "finished") for rounds in ("1", "2", LONG, LONGER)
    ]
    assert not working(place)


@pytest.mark.core
def test_a_worker_that_is_killed_costs_no_point(
    begun: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    place = tmp_path / "a"
    process = begun(LONG, LONGER, "1")
    until(lambda: len(working(place)) == 2, process)
    workers = [each for each in below(process.pid) if b"spawn_main" in command_of(each)]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (0, "")
    lines = table_of(place)
    assert [(line["rounds"], line["outcome"]) for line in lines] == [
        (int(rounds), "finished") for rounds in (LONG, LONGER, "1")
    ]
    assert len(rows_of(place)) == 3
    assert {path.name for path in (place / "runs").iterdir() if path.is_dir()} == {
        Path(line["directory"]).name for line in lines
    }


def command_of(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


@pytest.mark.core
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(
    begun: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    place = tmp_path / "a"
    process = begun("1", LONGEST)
    until(lambda: len(rows_of(place)) == 1 and working(place), process)
    workers = below(process.pid)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert out == ""
    assert [line for line in errors.splitlines() if line] == [  # click's is empty
        "chasqui: 1 point is left; go on: chasqui sweep --resume a",
        "chasqui: stopped by Ctrl-C",
    ]
    all_end(workers)
    assert len(rows_of(place)) == 1
    assert not (place / store.RESULTS).exists()
    assert not (place / store.AT_WORK).exists()
