"""`chasqui fidelity`: the documents' figures beside ours, from kept tables.

Use this when a claim, a kept table, the page docs/fidelity.md, or what a machine takes changes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pages
import pytest

from chasqui import cache, toolchain
from chasqui.cli import invoke
from chasqui.errors import InputError
from chasqui.experiment import fidelity, kept, running
from chasqui.experiment.fidelity import Figure, Open, Ordering, Tables

MACHINES = fidelity.machines()
# How many rows the first comparison had, which was made with predictions.
FIRST_ROWS = {"netcache": 15, "voyager": 17}


# --- the documents --------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_every_row_of_the_first_comparison_has_a_claim(machine: str) -> None:
    rows = [claim.row for claim in fidelity.load(machine).claims]
    assert len(set(rows)) == len(rows)
    numbers = {int(row.rstrip("abc")) for row in rows if row[0].isdigit()}
    assert numbers == set(range(1, FIRST_ROWS[machine] + 1))


@pytest.mark.core
@pytest.mark.parametrize("machine", MACHINES)
def test_what_does_not_agree_has_a_reason(machine: str) -> None:
    for line in fidelity.compared(machine, cache.TABLES):
        reason = fidelity.why(line)
        assert reason or line.found.verdict == fidelity.AGREES, line.claim.row
        assert reason == "" or reason.endswith("."), line.claim.row


@pytest.mark.core
def test_the_page_is_what_the_command_writes() -> None:
    """If not: `make fidelity`, or `python tests/pages.py` where the tables are right."""
    assert pages.FIDELITY.read_text() == fidelity.page(MACHINES, pages.DOCS)


@pytest.mark.core
@pytest.mark.xdist_group("fidelity")
@pytest.mark.parametrize("machine", MACHINES)
def test_rows_are_what_their_experiments_find(tmp_path: Path, machine: str) -> None:
    """Of the experiments that take seconds, in full: half a minute of one core in all. If other
    times were meant: `make fidelity`, for all of the machine's tables are then of before."""
    for name in fidelity.load(machine).recomputed:
        done = running.carry_out(
            f"{machine}/{name}", tmp_path / name, quick=False, jobs=1, progress=lambda *_: None
        )
        fidelity.take(machine, name, done.directory, tmp_path)
    assert fidelity.differing(machine, pages.DOCS, tmp_path) == []
    for name in fidelity.load(machine).recomputed:
        results = kept.path_of(pages.DOCS, f"{machine}/{name}")
        assert kept.path_of(tmp_path, f"{machine}/{name}").read_text() == results.read_text()


def test_what_is_recomputed_is_what_claims_need() -> None:
    for machine in MACHINES:
        document = fidelity.load(machine)
        needed = {claim.experiment for claim in document.claims}
        assert {*document.recomputed, *document.tables} <= needed
        assert {f"{machine}/{name}" for name in document.experiments} <= set(running.names())


# --- verdicts -------------------------------------------------------------------------------------

TABLE = "size,kind,time\n1,fast,10\n2,fast,20\n1,slow,12\n2,slow,19\n"


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "race.csv").write_text(TABLE)
    return Tables(tmp_path, "toy/race")


def figure(value: float | tuple[float, float], ours: float, **more: Any) -> fidelity.Found:
    claim = Figure(
        row="1", place="2", says="a time", value=value, unit="us", experiment="race",
        ours=lambda _: ours, **more,
    )  # fmt: skip
    return claim.found(Tables(Path(), "toy/race"))


def test_a_figure_agrees_within_a_tenth() -> None:
    assert figure(10, 9).verdict == figure(10, 11).verdict == fidelity.AGREES
    assert figure(10, 8.99).verdict == figure(10, 11.01).verdict == fidelity.DIFFERS
    assert figure(10, 14, within=0.5).verdict == fidelity.AGREES
    assert (figure(10, 11).ratio, figure(10, 11).ours) == (1.1, "11 us")


def test_a_figure_may_be_a_range() -> None:
    assert figure((15, 20), 17).ratio is None
    assert figure((15, 20), 13.5).verdict == figure((15, 20), 22).verdict == fidelity.AGREES
    assert figure((15, 20), 40).ratio == 2
    assert figure((15, 20), 40).verdict == fidelity.DIFFERS
    assert figure((100, inf), 1000).verdict == fidelity.AGREES
    assert figure((100, inf), 50).ratio == 0.5


def test_rows_of_what_is_not_ours_may_be_missing(tables: Tables) -> None:
    def ours(table: Any) -> float:
        return float(table.results(3, "fast").time)

    common: dict[str, Any] = {
        "place": "2",
        "says": "a time",
        "value": 10,
        "unit": "us",
        "experiment": "race",
    }
    claim = Figure(row="1", ours=ours, optional=True, reason="Ours is slower.", **common)
    line = fidelity.Line(claim, fidelity.found(claim, tables))
    assert line.found.verdict == fidelity.NOT_SHOWN
    assert "no part of Chasqui" in fidelity.why(line)
    with pytest.raises(LookupError):
        fidelity.found(Figure(row="1", ours=ours, **common), tables)


def test_the_order_may_be_right_where_the_figure_is_not() -> None:
    assert figure(10, 20, ordered=lambda _: True).verdict == fidelity.IN_ORDER
    assert figure(10, 20, ordered=lambda _: False).verdict == fidelity.DIFFERS
    assert figure(10, 10, ordered=lambda _: False).verdict == fidelity.AGREES


def test_documents_are_shown_with_their_units() -> None:
    def shown(value: float | tuple[float, float]) -> str:
        return Figure(
            row="1", place="", says="", value=value, unit="us", ours=lambda _: 0.0
        ).document

    assert shown(1.25) == "1.25 us"
    assert shown((15, 20)) == "15 to 20 us"
    assert shown((100, inf)) == "> 100 us"


@pytest.mark.parametrize(
    ("points", "needed", "verdict"),
    [
        ([True] * 10, 1.0, fidelity.AGREES),
        ([True] * 9 + [False], 1.0, fidelity.IN_PART),
        ([True] * 9 + [False], 0.9, fidelity.AGREES),
        ([True, False], 1.0, fidelity.IN_PART),
        ([True, False, False], 1.0, fidelity.DIFFERS),
    ],
)
def test_an_ordering_counts_its_points(
    tables: Tables, points: list[bool], needed: float, verdict: str
) -> None:
    claim = Ordering(row="1", place="", says="", points=lambda _: points, needed=needed)
    assert claim.found(tables).verdict == verdict


def test_claims_look_at_tables_by_name(tables: Tables) -> None:
    def faster(race: Any) -> Iterator[bool]:
        return (
            race.results(size, "fast").time < race.results(size, "slow").time for size in (1, 2)
        )

    claim = Ordering(row="1", place="", says="", points=faster)
    assert claim.found(tables).ours == "1 of 2"
    with pytest.raises(LookupError, match=r"race.csv: 0 rows for \(3,\)"):
        tables.results(3)
    with pytest.raises(FileNotFoundError):
        tables.laps()  # race-laps.csv
    with pytest.raises(LookupError, match="no table has a point"):
        Ordering(row="1", place="", says="", points=lambda _: []).found(tables)


def test_what_no_table_says_is_not_shown(tables: Tables) -> None:
    claim = Open(row="1", place="", says="", value="99 %", reason="It is not counted.")
    assert claim.found(tables).verdict == fidelity.NOT_SHOWN


# --- kept tables ----------------------------------------------------------------------------------


def test_a_kept_table_is_the_longest_named_experiments() -> None:
    docs = pages.DOCS / "netcache"
    assert kept.owner(docs / "ratio-knees.csv") == "netcache/ratio"
    assert kept.owner(docs / "ratio.csv") == "netcache/ratio"
    assert kept.owner(docs / "ratios.csv") == ""


def test_software_is_what_programs_execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The MPI library, the kernel, and the machine's device, drivers and firmware; not comments."""
    guest, machines = tmp_path / "guest", tmp_path / "machines"
    for place in (guest / "mpi", guest / "kernel", machines / "toy" / "firmware"):
        place.mkdir(parents=True)
        (place / "part.c").write_text("int x; /* A comment. */\n")
    (machines / "toy" / "experiments").mkdir()
    monkeypatch.setattr(toolchain, "GUEST", guest)
    monkeypatch.setattr(cache, "MACHINES", machines)

    def software() -> str:
        return running.digest(running.software(["toy"]))

    before = software()
    (guest / "kernel" / "part.c").write_text("int x;   /* Another. */\n")
    (machines / "toy" / "experiments" / "program.c").write_text("int main;")
    assert software() == before
    for place in (guest / "mpi", guest / "kernel", machines / "toy" / "firmware"):
        before = software()
        (place / "part.c").write_text("int y;\n")
        assert software() != before, place


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """What an experiment left behind."""
    place = tmp_path / "results"
    place.mkdir()
    for name in ("results", "classes", "sensitivity"):
        (place / f"{name}.csv").write_text(f"{name}\n1\n")
    stamp = {"experiment": "netcache/message-sizes", "quick": False, "version": "1", "points": "2"}
    (place / running.STAMP).write_text(json.dumps(stamp))
    return place


def test_tables_are_kept_with_what_they_were_measured_of(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    assert kept.keep(results, folder, ["classes"]) == "netcache/message-sizes"
    assert sorted(path.name for path in (folder / "netcache").iterdir()) == [
        "message-sizes-classes.csv", "message-sizes.csv",
    ]  # fmt: skip
    assert kept.stamps(folder) == {"netcache/message-sizes": {"version": "1", "points": "2"}}
    # What is kept already is renewed with the rest.
    (results / "classes.csv").write_text("classes\n2\n")
    kept.keep(results, folder)
    assert kept.read(folder / "netcache" / "message-sizes-classes.csv").all()[0].classes == 2


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.core
def test_a_table_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["fidelity"]) == 0
    shown = capsys.readouterr().out
    for machine in MACHINES:
        assert f"{machine}: {fidelity.load(machine).title}\n" in shown
    assert "the document says" in shown
    lines = [line for each in MACHINES for line in fidelity.compared(each, cache.TABLES)]
    reasons = [(line.claim.row, why) for line in lines if (why := fidelity.why(line))]
    assert all(f"\n{row}: {reason}" in shown for row, reason in reasons)
    assert "Fig. 8  one way, active message of a word" in shown


@pytest.mark.core
def test_json_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["fidelity", "voyager", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    rows = {row["row"]: row for row in found["rows"]}
    assert rows.keys() == {claim.row for claim in fidelity.load("voyager").claims}
    assert rows["1"]["ours"].endswith(" us")
    assert rows["1"]["verdict"] in fidelity.VERDICTS


@pytest.mark.core
def test_rows_of_other_software_are_marked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = running.fingerprints
    monkeypatch.setattr(
        running, "fingerprints", lambda *a, **k: {**before(*a, **k), "software": "another"}
    )
    assert invoke(["fidelity", "voyager"]) == 0
    shown = capsys.readouterr().out
    assert "agrees *" in shown
    assert "* measured with other software than there are now" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["loggp"], f"loggp: no document is compared with; there are: {', '.join(MACHINES)}"),
        (["--quick"], "--quick is for --run"),
        (["-j", "2"], "--jobs is for --run"),
        (["--tables", "nowhere"], "--tables nowhere: there is no such directory"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert invoke(["fidelity", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.core
def test_a_table_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"am.csv: .*; `chasqui fidelity --run voyager` makes it"):
        fidelity.compared("voyager", tmp_path)


@pytest.fixture
def carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Experiments leave the tables that are kept; their names."""
    names = []

    def carry_out(name: str, directory: Path, **_: Any) -> running.Done:
        names.append(name)
        for table in kept.tables_of(cache.TABLES, name):
            source = kept.path_of(cache.TABLES, name, table)
            shutil.copyfile(source, directory / f"{table}.csv")
        (directory / "picture.svg").write_text("<svg/>")
        stamp = {"experiment": name, "quick": False, **kept.stamps(cache.TABLES)[name]}
        (directory / running.STAMP).write_text(json.dumps(stamp))
        experiment = running.load(name)
        return running.Done(name, experiment, directory, experiment.report)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "carry_out", carry_out)
    monkeypatch.chdir(tmp_path)
    return names


@pytest.mark.core
def test_what_claims_need_is_carried_out_and_kept(
    carried_out: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    assert invoke(["fidelity", "--run", "--tables", "docs"]) == 0
    assert carried_out == [
        f"{machine}/{name}" for machine in MACHINES for name in fidelity.load(machine).experiments
    ]
    assert Path("docs/fidelity.md").read_text() == fidelity.page(MACHINES, cache.TABLES)
    assert "voyager: StarT-Voyager" in capsys.readouterr().out
    # Without a place: beside the results.
    assert invoke(["fidelity", "--run", "voyager"]) == 0
    assert Path("runs/fidelity-2/voyager/am.csv").is_file()
    # Of the machines whose tables are there.
    assert Path("runs/fidelity-2/fidelity.md").read_text() == fidelity.page(
        ["voyager"], cache.TABLES
    )


@pytest.mark.core
def test_what_would_stop_it_later_is_said_before_anything_runs(
    carried_out: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "docs").mkdir()
    assert invoke(["fidelity", "--run", "--quick", "voyager", "--tables", "docs"]) == 2
    assert "am.csv: No such file or directory" in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert invoke(["fidelity", "--run", "voyager", "--tables", "docs"]) == 2
    assert "--tables docs: Permission denied" in capsys.readouterr().err
    assert carried_out == []


@pytest.mark.core
def test_quick_says_which_rows_differ(
    carried_out: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["fidelity", "--run", "--quick", "voyager"]) == 0
    assert carried_out == ["voyager/am"]
    shutil.copytree(cache.TABLES / "voyager", tmp_path / "docs" / "voyager")
    table = tmp_path / "docs" / "voyager" / "am.csv"
    text = table.read_text()
    was = kept.read(table)("short", "flush", 4).latency_ns
    table.write_text(text.replace(f",{was:g},", f",{2 * was:g},"))
    assert invoke(["fidelity", "--run", "--quick", "voyager", "--tables", "docs"]) == 1
    shown = capsys.readouterr().out
    assert "voyager, row 1 (one way, active message of a word): 2.68 us by the tables" in shown
