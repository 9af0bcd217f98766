"""Pages of results against the tables that experiments wrote; these against the experiments.

Use this when an experiment, a page in docs, or `tests/pages.py` changes.
"""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pages
import pytest

from chasqui.experiment import Run, fidelity, kept, running

SVG_BYTES_MAX = 200_000
# Figures on each page that no table in docs is known to say: a number may only go down. Beside what
# is still to be measured anew these are sizes, settings and years.
UNCHECKED = {
    "cell.md": 42,
    "flash.md": 83,
    "mpinp.md": 53,
    "netcache/receive-overhead.md": 6,
    "netcache.md": 66,
    "network-cache.md": 27,
    "replay.md": 27,
    "voyager.md": 125,
}

PAGES = [str(page.relative_to(pages.DOCS)) for page in pages.pages()]


def test_pictures_are_few_and_small() -> None:
    assert sum(path.stat().st_size for path in pages.DOCS.glob("**/*.svg")) <= SVG_BYTES_MAX


@pytest.mark.parametrize("page", PAGES)
def test_figures_follow_from_the_tables(page: str) -> None:
    """`python tests/pages.py` fills tables in anew and lists the sentences."""
    wrong = [
        f"{claim.place}: said {claim.said}, is {claim.found}"
        for claim in pages.claims(pages.DOCS / page)
        if claim.said != claim.found
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("machine", fidelity.machines())
def test_tables_of_a_machine_are_of_one_state(machine: str) -> None:
    """Of today's software, or of another: else two of them may have two figures for the same run.
    One that runs on other machines as well depends on theirs, too."""
    states: dict[frozenset[str], list[str]] = {}
    for name, stamp in kept.stamps(pages.DOCS).items():
        if name.partition("/")[0] == machine:
            runs = running.load(name).runs(False)
            used = frozenset(each.partition("/")[0] for each in [name, *running.named(runs)])
            states.setdefault(used, []).append(stamp["software"])
    assert len(states[frozenset([machine])]) > 1
    assert all(len(set(each)) == 1 for each in states.values()), states


def test_tables_agree_on_the_runs_that_they_share() -> None:
    """Programs with 32 KiB of data cache, which studies B and C have."""

    def times(name: str, **only: str) -> dict[tuple[str, ...], str]:
        with (pages.DOCS / "netcache" / f"{name}.csv").open() as file:
            rows = [each for each in csv.DictReader(file) if only.items() <= each.items()]
            rows = [each for each in rows if each["study"] in ("B", "C")]
        key = ("study", "program", "ranks", "policy")
        return {tuple(each[name] for name in key): each["run_time_ns"] for each in rows}

    every, some = times("policies"), times("double-cache", dl1_kib="32")
    assert len(some) >= 16
    assert {key: every[key] for key in some} == some


def test_more_and_more_figures_are_checked() -> None:
    assert {page: pages.unchecked(pages.DOCS / page) for page in PAGES} == UNCHECKED


def test_every_table_is_an_experiments() -> None:
    tables = set(pages.DOCS.glob("*/*.csv"))
    assert tables == {path for name in pages.stamps() for path in pages.tables_of(name)}


@pytest.mark.core
@pytest.mark.whole
@pytest.mark.parametrize("name", sorted(pages.stamps()))
def test_tables_are_of_the_experiment_as_it_is_today(name: str) -> None:
    """Its points, its machines' parameters and its programs; `running.fingerprints`. If it should
    have changed: `chasqui experiment NAME --out RESULTS`, then `python tests/pages.py RESULTS`. A
    parameter that came later, and by its default changes nothing, is named under `later`. Software
    may be another, and readings written otherwise: what that changes is seen by what
    test_fidelity.py carries out, and `chasqui fidelity` marks rows of it."""
    assert pages.stamps()[name]["version"]
    assert set(kept.outdated(pages.DOCS, name)) <= {"software", "readings"}


@pytest.mark.parametrize("name", sorted(pages.stamps()))
def test_tables_have_todays_columns(name: str) -> None:
    machine, _, short = name.partition("/")
    module = importlib.import_module(
        f"chasqui.machines.{machine}.experiments.{short.replace('-', '_')}"
    )
    columns = module.COLUMNS if hasattr(module, "COLUMNS") else module.Row._fields
    with (pages.DOCS / machine / f"{short}.csv").open(newline="") as file:
        assert next(csv.reader(file)) == list(columns)


# --- how pages are read --------------------------------------------------------------------------

PAGE = """\
A page.

<!-- table squares(kind="whole"): number | square/2 :.1f | of(kind="half").square :.2f -->
| number | half of the square | of the half |
| --- | --- | --- |
| 1 | 0.5 | 0.25 |
| 1,000 | 500,000.0 | 9 |

The square of 3 is 9.0, of 12 it is 144.
<!-- 9.0 = squares(3, "whole").square; 144 = max(row.square for row in squares.all(12)) -->
"""
TABLE = """\
number,kind,square
1,whole,1
1,half,0.25
3,whole,9
12,whole,143
1000,whole,1000000
1000,half,250000
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    pages.rows.cache_clear()
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "squares.csv").write_text(TABLE)
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def test_figures_that_are_others_are_found(page: Path) -> None:
    wrong = {(claim.said, claim.found) for claim in pages.claims(page) if claim.said != claim.found}
    assert wrong == {("500,000.0", "500000.0"), ("9", "250000.00"), ("144", "143")}
    # 3 and 12, of the sentence.
    assert pages.unchecked(page) == 2


def test_a_name_that_several_machines_have_is_the_pages(page: Path) -> None:
    for machine in ("another", "page"):
        (page.parent / machine).mkdir()
        table = TABLE.replace("12,whole,143", f"12,whole,{144 if machine == 'page' else 0}")
        (page.parent / machine / "squares.csv").write_text(table)
    pages.rows.cache_clear()
    assert not [claim for claim in pages.sentence_claims(page) if claim.said != claim.found]


def test_tables_are_filled_in(page: Path) -> None:
    pages.fill(page)
    assert "| 1,000 | 500000.0 | 250000.00 |" in page.read_text()
    assert "of 12 it is 144." in page.read_text()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("| 1,000 |", "| 7 |", "squares.csv: 0 rows"),
        ("square/2", "cube/2", "no table cube"),
        ('kind="whole"', "", "squares.csv: 2 rows"),
    ],
)
def test_what_is_in_no_table_is_an_error(page: Path, old: str, new: str, what: str) -> None:
    page.write_text(page.read_text().replace(old, new, 1))
    with pytest.raises(LookupError, match=what):
        pages.claims(page)


def test_a_sentence_without_its_figure_is_an_error(page: Path) -> None:
    page.write_text(page.read_text().replace("is 9.0", "is nine"))
    with pytest.raises(AssertionError, match=r"9\.0 is not in"):
        pages.claims(page)


def test_experiments_know_what_they_were_measured_of(monkeypatch: pytest.MonkeyPatch) -> None:
    before = running.point(Run("one", "loggp", 2, "program", arguments=["1"]))
    assert before == running.point(Run("one", "loggp", 2, "program", arguments=["1"]))
    assert before != running.point(Run("one", "loggp", 2, "program", arguments=["2"]))
    assert "profile" not in before
