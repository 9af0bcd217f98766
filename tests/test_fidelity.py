"""`chasqui fidelity`: the documents' figures beside ours, from kept tables.

Use this when a claim, a kept table, the page docs/fidelity.md, or what a machine takes changes.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pages
import pytest

from chasqui import cache, compiler, core
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
    numbers = {int(row.rstrip("abcdef")) for row in rows if row[0].isdigit()}
    assert numbers == set(range(1, FIRST_ROWS[machine] + 1))


@pytest.mark.core
@pytest.mark.parametrize("machine", MACHINES)
def test_what_does_not_agree_has_a_reason(machine: str) -> None:
    for line in fidelity.compared(machine, cache.TABLES):
        reason = fidelity.why(line)
        assert reason or line.found.verdict == fidelity.AGREES, line.claim.row
        assert reason == "" or reason.endswith("."), line.claim.row
        # What the kept tables lack another's may have.
        assert line.claim.reason or not line.claim.needs, line.claim.row


def test_what_claims_need_from_elsewhere_is_the_experiments() -> None:
    for machine in MACHINES:
        for claim in fidelity.load(machine).claims:
            if claim.needs:
                kinds = running.load(f"{machine}/{claim.experiment}").elsewhere.values()
                assert [claim.needs in kind.rows for kind in kinds] == [True], claim.row


@pytest.mark.core
def test_the_page_is_what_the_command_writes() -> None:
    """If not: `make fidelity`, or `python tests/pages.py` where the tables are right."""
    assert pages.FIDELITY.read_text() == fidelity.page(MACHINES, pages.DOCS)


@pytest.mark.core
@pytest.mark.xdist_group("fidelity")
@pytest.mark.parametrize(
    "machine",
    [pytest.param(each, marks=[pytest.mark.long] * (each == "netcache")) for each in MACHINES],
)
@pytest.mark.turn(0)
def test_rows_are_what_their_experiments_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    """Of the experiments that take seconds, in full: half a minute of one core in all. If other
    times were meant: `make fidelity`, for all of the machine's tables are then of before."""
    monkeypatch.setattr(running, "draw", lambda *_: None)  # no picture is looked at
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
        needed = {name for claim in document.claims for name in claim.experiments}
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


def test_a_figure_may_be_negative_zero_or_a_range_with_one_end() -> None:
    assert figure(-10, -9.5).verdict == figure(-10, -10.5).verdict == fidelity.AGREES
    assert figure(-10, -8.9).verdict == figure(-10, 10).verdict == fidelity.DIFFERS
    assert figure(-10, -5).ratio == 0.5
    assert figure(0, 0).verdict == fidelity.AGREES
    assert figure(0, 1).verdict == fidelity.DIFFERS
    assert figure(0, 1).ratio is None
    assert figure((0, 5), -1).ratio is None
    assert figure((-inf, 5), 4).verdict == fidelity.AGREES
    assert figure((-inf, 5), 6).verdict == fidelity.DIFFERS
    assert figure((-inf, 5), 6).ratio == 1.2


def test_ratios_are_of_figures() -> None:
    assert fidelity.ratio(figure(10, 11)) == "1.10"
    assert fidelity.ratio(figure((15, 20), 17)) == "within"
    assert fidelity.ratio(figure(0, 1)) == "-"
    of_what = Figure(row="1", place="", says="", value=(1, 3), unit="of 4", ours=lambda _: 2.0)
    assert fidelity.ratio(of_what.found(Tables(Path(), "toy/race"))) == "within"


def test_a_tolerance_is_shown() -> None:
    def shown(value: float | tuple[float, float], **more: Any) -> str:
        return Figure(
            row="1", place="", says="", value=value, unit="us", ours=lambda _: 0.0, **more
        ).tolerance

    assert (shown(1), shown(1, within=0.5), shown(1, within=0)) == ("10 %", "50 %", "exact")
    assert (shown((1, 2)), shown((1, inf)), shown((-inf, 1))) == ("10 %", "-", "-")
    nearly = Ordering(row="1", place="", says="", points=lambda _: [], needed=0.9)
    assert nearly.tolerance == "90 % of the points"


def test_rows_of_a_program_from_elsewhere_may_be_missing(tables: Tables) -> None:
    """All of them; if some are there, or the claim needs no such program, what lacks is said."""

    def claim(size: int, needs: str) -> Figure:
        return Figure(
            row="1", place="2", says="a time", value=10, unit="us", experiment="race",
            ours=lambda table: table.results(needs or "1", f"{size}").time, needs=needs,
            reason="Ours is slower.",
        )  # fmt: skip

    kept_rows = "program,size,time\nours,1,10\ntheirs,1,10\n"
    (tables.folder / "toy" / "race.csv").write_text(kept_rows)
    missing = claim(1, "nobodys")
    line = fidelity.Line(missing, fidelity.found(missing, tables))
    assert line.found.verdict == fidelity.NOT_SHOWN
    assert fidelity.why(line) == "Measured without nobodys, which is no part of Chasqui."
    for each in (claim(3, "theirs"), claim(3, "")):
        with pytest.raises(LookupError, match=r"race.csv: 0 rows for"):
            fidelity.found(each, tables)
    (tables.folder / "toy" / "race.csv").unlink()
    assert fidelity.found(missing, tables).verdict == fidelity.NOT_SHOWN


def test_parameters_have_their_units(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [{"name": "link.rate", "value": "160 MB/s"}, {"name": "ways", "value": "4"}]
    monkeypatch.setattr(core, "parameters", lambda _: every)
    toy = Tables(Path(), "toy/race")
    assert toy.parameter("link.rate", "MB/s") == 160
    assert toy.parameter("ways") == 4
    with pytest.raises(ValueError, match=r"link.rate is 160 MB/s; its claim counts in GB/s"):
        toy.parameter("link.rate", "GB/s")


def test_the_order_may_be_right_where_the_figure_is_not() -> None:
    assert figure(10, 20, ordered=lambda _: True).verdict == fidelity.IN_ORDER
    assert figure(10, 20, ordered=lambda _: False).verdict == fidelity.DIFFERS
    assert figure(10, 10, ordered=lambda _: False).verdict == fidelity.AGREES


def test_a_figure_that_agrees_under_one_of_two_conditions_agrees_in_part() -> None:
    for ours, other, verdict in (
        (10, 10.5, fidelity.AGREES),
        (10, 20, fidelity.IN_PART),
        (20, 10, fidelity.IN_PART),
        (20, 30, fidelity.DIFFERS),
    ):
        found = figure(10, ours, otherwise=("at 2:1", lambda _, other=other: other))
        assert (found.verdict, found.ours) == (verdict, f"{ours} us, {other:g} us at 2:1")
        assert found.ratio == ours / 10


def test_figures_of_a_reason_come_from_its_tables(tables: Tables) -> None:
    claim = Ordering(
        row="1", place="", says="", experiment="race", points=lambda _: [True, False],
        reason="One takes {time:g} us.",
        figures={"time": lambda race: race.results(1, "fast").time},
    )  # fmt: skip
    line = fidelity.Line(claim, fidelity.found(claim, tables))
    assert fidelity.why(line) == f"One takes {tables.results(1, 'fast').time:g} us."


def test_documents_are_shown_with_their_units() -> None:
    def shown(value: float | tuple[float, float]) -> str:
        return Figure(
            row="1", place="", says="", value=value, unit="us", ours=lambda _: 0.0
        ).document

    assert shown(1.25) == "1.25 us"
    assert shown((15, 20)) == "15 to 20 us"
    assert shown((100, inf)) == "> 100 us"
    assert shown((-inf, 5)) == "< 5 us"


@pytest.mark.parametrize(
    ("points", "needed", "verdict"),
    [
        ([True] * 10, 1.0, fidelity.AGREES),
        ([True] * 9 + [False], 1.0, fidelity.IN_PART),
        ([True] * 9 + [False], 0.9, fidelity.AGREES),
        ([True, False], 1.0, fidelity.IN_PART),
        ([True, False, False], 1.0, fidelity.DIFFERS),
        ([True, None, None], 1.0, fidelity.AGREES),
        ([None, None], 1.0, fidelity.DIFFERS),
    ],
)
def test_an_ordering_counts_its_points(
    tables: Tables, points: list[bool | None], needed: float, verdict: str
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


# --- the thesis's CG, which is no part of Chasqui -------------------------------------------------

CG = "npb-cg"
# Made up: misses of the data cache by study, its size and policy, all at the recorded pace.
CG_MISSES = {
    ("A", 16, "dtct"): 100_000, ("A", 16, "dmaver2"): 116_000, ("A", 16, "dmaver1"): 105_000,
    ("A", 16, "processver"): 99_000, ("C", 32, "mvia"): 400_000, ("C", 8, "ldtct"): 900_000,
    ("C", 16, "ldtct"): 700_000, ("C", 32, "ldtct"): 500_000, ("C", 64, "ldtct"): 480_000,
    ("C", 128, "ldtct"): 390_000,
}  # fmt: skip
CG_TIMES_NS = {"mvia": 118_000, "dtct": 100_000, "ldtct": 100_000}  # all messages there


def without_cg(table: Path) -> None:
    """Of a copy of a kept table, which may have been measured where the sources are."""
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(line for line in lines if not line.startswith(f"{CG},")))


@pytest.fixture
def with_cg(tmp_path: Path) -> Path:
    """The kept tables, with rows of NPB's CG."""
    folder = tmp_path / "with-cg"
    shutil.copytree(cache.TABLES, folder)
    table = folder / "netcache" / "one-rank.csv"
    columns = table.read_text().partition("\n")[0].split(",")
    of_all = {"program": CG, "l1i_hit_percent": 99.2}
    rows = [
        {"study": study, "l1d_kib": kib, "ratio": 1, "policy": policy, "dl1_misses": misses}
        for (study, kib, policy), misses in CG_MISSES.items()
    ]
    rows += [
        {"study": "C", "l1d_kib": 32, "ratio": 0, "policy": policy, "run_time_ns": time}
        for policy, time in CG_TIMES_NS.items()
    ]
    without_cg(table)
    with table.open("a") as file:
        for row in rows:
            file.write(",".join(str((of_all | row).get(name, 0)) for name in columns) + "\n")
    header = "program,point_to_point,point_to_point_short,collective,collective_short"
    received = folder / "netcache" / "one-rank-received.csv"
    received.write_text(f"{header}\nspectral,8664,8664,8,0\n{CG},4208,2544,18,18\n")
    _with_sections(folder / "netcache" / "one-rank-size.csv")
    return folder


def _with_sections(table: Path) -> None:
    """Lines replaced with all short messages early, with most, with some."""
    header = "program,ratio,sets,ways,network_replacements,early,short"
    lines = ["spectral,0,16,2,7,10000,10500"]
    for pace, first in (("0", 2900), ("0.9", 2300)):
        larger = {"16,2": first, "32,4": 1500, "64,4": 1500, "128,2": 1500, "128,4": 1500}
        lines += [f"{CG},{pace},{section},{count},2560,2562" for section, count in larger.items()]
    smaller = {"2,1": 1700, "2,2": 900, "4,2": 900, "8,2": 40, "8,4": 0}
    lines += [f"{CG},0.95,{section},{count},2100,2562" for section, count in smaller.items()]
    lines += [f"{CG},1,{section},1,900,2562" for section in smaller]
    table.write_text("\n".join([header, *lines]) + "\n")


def of_cg(folder: Path) -> dict[str, fidelity.Line]:
    lines = fidelity.compared("netcache", folder)
    return {line.claim.row: line for line in lines if line.claim.needs}


@pytest.mark.core
def test_rows_of_npbs_cg_are_shown_where_it_was_measured(with_cg: Path) -> None:
    lines = of_cg(with_cg)
    assert {row: (line.found.ours, line.found.verdict) for row, line in lines.items()} == {
        "1a": ("4,208", fidelity.GIVEN),
        "1b": ("2,544", fidelity.GIVEN),
        "3a": ("18 %", fidelity.AGREES),
        "7": ("16,000", fidelity.AGREES),
        "8a": ("5,000", fidelity.IN_ORDER),
        "8b": ("-1,000", fidelity.DIFFERS),
        "10": ("32 KiB", fidelity.AGREES),
        "11": ("0.8 %", fidelity.AGREES),
        "12b": ("2,300, 2,900 at r = 0", fidelity.IN_PART),
        "12c": ("1,500, 1,500 at r = 0", fidelity.IN_ORDER),
        "12d": ("1,500, 1,500 at r = 0", fidelity.AGREES),
        "12e": ("1,500, 1,500 at r = 0", fidelity.DIFFERS),
        "12f": ("1,500, 1,500 at r = 0", fidelity.DIFFERS),
        "13a": ("1,700", fidelity.AGREES),
        "13b": ("900", fidelity.AGREES),
        "13c": ("900", fidelity.DIFFERS),
        "13d": ("40", fidelity.AGREES),
        "13e": ("0", fidelity.AGREES),
    }
    assert "r = 0" in fidelity.why(lines["3a"])
    assert "at r = 0.9, a little before" in fidelity.why(lines["12b"])
    assert "all but 2 are early" in fidelity.why(lines["12b"])
    assert "r = 0.95, with 2,100 (" in fidelity.why(lines["13a"])
    for table in ("one-rank", "one-rank-received", "one-rank-size"):
        without_cg(with_cg / "netcache" / f"{table}.csv")
    assert all(line.found.verdict == fidelity.NOT_SHOWN for line in of_cg(with_cg).values())


@pytest.mark.core
@pytest.mark.parametrize("case", [key for key in CG_MISSES if key[2] != "mvia"])
def test_a_row_of_npbs_cg_that_is_missing_is_said(
    with_cg: Path, case: tuple[str, int, str]
) -> None:
    study, kib, policy = case
    table = with_cg / "netcache" / "one-rank.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(
        line for line in lines if not line.startswith(f"{CG},{study},{kib},1,{policy},")
    ))  # fmt: skip
    with pytest.raises(InputError, match=r"tables of one-rank don't have what row \w+ needs: one"):
        of_cg(with_cg)


# --- kept tables ----------------------------------------------------------------------------------


def test_a_kept_table_is_the_longest_named_experiments() -> None:
    docs = pages.DOCS / "netcache"
    assert kept.owner(docs / "ratio-knees.csv") == "netcache/ratio"
    assert kept.owner(docs / "ratio.csv") == "netcache/ratio"
    assert kept.owner(docs / "ratios.csv") == ""


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


def everything(folder: Path) -> dict[str, str]:
    """What is in a folder: the texts of its files."""
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_tables_are_kept_or_none(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    kept.keep(results, folder, ["classes"])
    before = everything(folder)
    for name in ("results", "classes"):
        (results / f"{name}.csv").write_text(f"{name}\n3\n")
    # One that is missing.
    with pytest.raises(InputError, match=r"results/another.csv: No such file"):
        kept.keep(results, folder, ["another"])
    assert everything(folder) == before
    # A place that is taken.
    taken = folder / "netcache" / "message-sizes-sensitivity.csv"
    taken.mkdir()
    with pytest.raises(InputError, match=r"message-sizes-sensitivity.csv: a directory"):
        kept.keep(results, folder)
    taken.rmdir()
    assert everything(folder) == before
    # The stamp comes last: until then they count as what they were.
    order: list[str] = []
    replace = Path.replace

    def noted(source: Path, target: Path) -> Path:
        order.append(target.name)
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", noted)
    kept.keep(results, folder)
    assert order == ["message-sizes-classes.csv", "message-sizes.csv", running.STAMP]
    assert everything(folder) != before


def test_rows_of_programs_from_elsewhere_are_not_lost(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    with_npb = "program,messages\nring,1\nnpb-cg,2\n"
    (results / "classes.csv").write_text(with_npb)
    kept.keep(results, folder, ["classes"])
    before = everything(folder)
    (results / "classes.csv").write_text("program,messages\nring,3\n")
    said = (
        r"message-sizes-classes.csv has rows of npb-cg, and .*/classes.csv has none, since it was"
    )
    with pytest.raises(InputError, match=said + " measured without CHASQUI_NPB"):
        kept.keep(results, folder)
    assert everything(folder) == before
    (results / "classes.csv").write_text(with_npb.replace("2", "4"))
    kept.keep(results, folder)
    assert everything(folder) != before


def test_pages_lose_no_rows(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make results`: nothing is taken where something would be lost."""
    folder = tmp_path / "docs"
    monkeypatch.setattr(pages, "DOCS", folder)
    (results / "results.csv").write_text("program\nnpb-bt\n")
    kept.keep(results, folder)
    before = everything(folder)
    (results / "results.csv").write_text("program\nring\n")
    first = tmp_path / "all" / "a-first"
    shutil.copytree(results, first)
    stamp = json.loads((first / running.STAMP).read_text()) | {"experiment": "netcache/size"}
    (first / running.STAMP).write_text(json.dumps(stamp))
    shutil.copytree(results, tmp_path / "all" / "b-second")
    with pytest.raises(InputError, match=r"message-sizes.csv has rows of npb-bt"):
        pages.take(tmp_path / "all")
    assert everything(folder) == before


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
    assert rows["5"]["ours"].endswith(" MB/s")
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
    assert re.search(r"\* not measured with today's (\w+ and )?software.*: see --run", shown)
    monkeypatch.setattr(
        running, "fingerprints", lambda *a, **k: dict.fromkeys(before(*a, **k), "another")
    )
    assert invoke(["fidelity", "netcache"]) == 0
    shown = capsys.readouterr().out
    assert (
        "not measured with today's parameters, points, programs, software and way to read the runs"
        in shown
    )
    assert "not shown\n" in shown
    assert "not shown *" not in shown


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
    """Experiments leave the tables that are kept, without the rows of NPB; their names."""
    names = []

    def carry_out(name: str, directory: Path, **_: Any) -> running.Done:
        names.append(name)
        for table in kept.tables_of(cache.TABLES, name):
            source = kept.path_of(cache.TABLES, name, table)
            shutil.copyfile(source, directory / f"{table}.csv")
            without_cg(directory / f"{table}.csv")
        (directory / "picture.svg").write_text("<svg/>")
        stamp = {"experiment": name, "quick": False, **kept.stamps(cache.TABLES)[name]}
        (directory / running.STAMP).write_text(json.dumps(stamp))
        experiment = running.load(name)
        return running.Done(name, experiment, directory, experiment.report)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "carry_out", carry_out)
    monkeypatch.setattr(running, "prepare", lambda *_, **__: None)
    monkeypatch.delenv("CHASQUI_NPB", raising=False)
    monkeypatch.chdir(tmp_path)
    return names


@pytest.mark.core
@pytest.mark.turn(1)
def test_what_claims_need_is_carried_out_and_kept(
    carried_out: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    assert invoke(["fidelity", "--run", "--tables", "docs"]) == 0
    assert carried_out == [
        f"{machine}/{name}" for machine in MACHINES for name in fidelity.measurable(machine)
    ]
    without = tmp_path / "without-cg"
    shutil.copytree(cache.TABLES, without)
    for table in (without / "netcache").glob("*.csv"):
        without_cg(table)
    assert Path("docs/fidelity.md").read_text() == fidelity.page(MACHINES, without)
    assert "voyager: StarT-Voyager" in capsys.readouterr().out
    # Without a place: beside the results.
    assert invoke(["fidelity", "--run", "voyager"]) == 0
    assert Path("runs/fidelity-2/voyager/am.csv").is_file()
    # Of the machines whose tables are there.
    assert Path("runs/fidelity-2/fidelity.md").read_text() == fidelity.page(
        ["voyager"], cache.TABLES
    )


@pytest.mark.core
def test_what_would_say_nothing_is_not_carried_out(
    carried_out: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ("one-rank-size",)
    assert fidelity.left_out("netcache") == dict.fromkeys(alone, "CHASQUI_NPB")
    assert invoke(["fidelity", "--run", "netcache"]) == 0
    said = capsys.readouterr()
    for name in alone:
        assert f"netcache/{name}: not carried out: its rows need CHASQUI_NPB" in said.err
        assert f"netcache/{name}" not in carried_out
    assert len(carried_out) > 4
    # Its rows are not shown, though there is no table.
    assert "not shown" in said.out
    assert not Path("runs/fidelity-1/netcache/one-rank-size.csv").exists()
    monkeypatch.setenv("CHASQUI_NPB", "NPB")
    assert fidelity.left_out("netcache") == {}
    assert fidelity.measurable("netcache") == fidelity.load("netcache").experiments


@pytest.mark.core
def test_what_would_lose_rows_is_not_begun(
    carried_out: list[str], with_cg: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    before = everything(with_cg)
    assert invoke(["fidelity", "--run", "--tables", str(with_cg)]) == 2
    said = capsys.readouterr().err
    assert "one-rank-received.csv has rows of npb-cg, whose sources CHASQUI_NPB must name" in said
    assert carried_out == []
    assert everything(with_cg) == before
    # Of another machine it says nothing.
    assert invoke(["fidelity", "--run", "voyager", "--tables", str(with_cg)]) == 0
    # Given, and measured without all the same: what is there stays.
    before = everything(with_cg)
    monkeypatch.setenv("CHASQUI_NPB", "NPB")
    assert invoke(["fidelity", "--run", "netcache", "--tables", str(with_cg)]) == 2
    assert "one-rank-received.csv has rows of npb-cg, and" in capsys.readouterr().err
    assert everything(with_cg) == before


@pytest.mark.core
def test_programs_are_built_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(running, "carry_out", lambda name, *_, **__: begun.append(name))
    monkeypatch.setattr(compiler, "compiled", lambda source, _: source)
    monkeypatch.setenv("CHASQUI_NPB", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for command in (["fidelity", "--run", "netcache"], ["experiment", "netcache"]):
        assert invoke(command) == 2
        assert "has no config/make.def.template" in capsys.readouterr().err
    assert begun == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.core
def test_what_would_stop_it_later_is_said_before_anything_runs(
    carried_out: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "docs").mkdir()
    assert invoke(["fidelity", "--run", "--quick", "voyager", "--tables", "docs"]) == 2
    assert "am.csv: No such file or directory" in capsys.readouterr().err
    # Nothing can be written there, whatever rights the user has.
    assert invoke(["fidelity", "--run", "voyager", "--tables", "/proc"]) == 2
    assert "/proc: no file can be made there: " in capsys.readouterr().err
    for name in ("fidelity.md", "measured.json", "voyager/am.csv"):
        taken = tmp_path / "docs" / name
        taken.mkdir(parents=True)
        assert invoke(["fidelity", "--run", "voyager", "--tables", "docs"]) == 2
        assert f"docs/{name}: a directory" in capsys.readouterr().err
        taken.rmdir()
    (tmp_path / "docs" / "voyager").rmdir()
    (tmp_path / "docs" / "voyager").write_text("A file.")
    assert invoke(["fidelity", "--run", "voyager", "--tables", "docs"]) == 2
    assert "docs/voyager: no file can be made there: Not a directory" in capsys.readouterr().err
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
    other = text.replace(f",{was:.10g},", f",{2 * was:.10g},")
    assert other != text
    table.write_text(other)
    assert invoke(["fidelity", "--run", "--quick", "voyager", "--tables", "docs"]) == 1
    shown = capsys.readouterr().out
    said = f"{2 * was / 1000:.3g} us, 1.56 us at 2:1 by the tables"
    assert f"voyager, row 1 (one way, active message of a word): {said}" in shown
