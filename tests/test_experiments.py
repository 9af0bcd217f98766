"""`chasqui experiment`: finding, running and writing experiments.

Use this when the framework changes.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from fake_core import FakeCore

from chasqui import cache, compiler
from chasqui.cli import invoke
from chasqui.errors import InputError
from chasqui.experiment import (
    Experiment,
    Output,
    Report,
    Run,
    Table,
    mean_interval,
    median,
    running,
    sensitivity,
    steady,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VOYAGER = running.choose(["voyager"])


# --- the framework -------------------------------------------------------------------------------


def test_experiments_are_chosen_by_name_or_machine() -> None:
    # --quick in test_cell.py, test_{flash,netcache,voyager}_experiments.py; whole: test_mpinp.py.
    assert [*running.choose(["cell", "flash", "mpinp", "netcache"]), *VOYAGER] == running.names()
    for family in ("voyager", "voyager/", "voyager/…"):
        assert running.choose([family]) == [n for n in running.names() if n.startswith("voyager/")]
    assert running.choose(["voyager/onepoll", "voyager/am"]) == ["voyager/onepoll", "voyager/am"]
    with pytest.raises(InputError, match=r"no experiment 'voy'; there are: .*voyager/am"):
        running.choose(["voy"])


def test_why_a_name_means_no_experiment(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").write_text("")
    for name, why in (
        ("empty/nofile.py", "no such file"),
        ("empty", "the folder has no experiment, a file that ends in .py"),
        ("notes", "no experiment: it would be a Python file, and end in .py"),
    ):
        with pytest.raises(InputError) as refused:
            running.choose([str(tmp_path / name)])
        assert str(refused.value) == f"{tmp_path / name}: {why}"
    for name, near in (("voyger", "voyager?"), ("voyager/mechanism", "voyager/mechanisms")):
        with pytest.raises(InputError, match=f"no experiment '{name}'.*; did you mean {near}"):
            running.choose([name])


def test_what_is_computed_from_samples() -> None:
    assert median([5, 1, 9]) == 5
    assert median([1, 2]) == Fraction(3, 2)
    assert steady([0, 1, 2, 3, 4, 5, 6, 7]) == [2, 3, 4, 5, 6, 7]
    # The first quarter is no stream yet.
    assert mean_interval([0, 90, 100, 110, 120, 130, 140, 150]) == 10


def test_assumptions_are_halved_and_doubled_within_their_range() -> None:
    half, double = Fraction(1, 2), Fraction(2)
    assert sensitivity.scaled("25 ns", half, "1 us") == "12.5 ns"
    assert sensitivity.scaled("5 cycles", half, "1000") == "2 cycles"
    assert sensitivity.scaled("1 cycle", half, "1000") == "1 cycle"
    assert sensitivity.scaled("64 B", double, "80 B") == "80 B"
    assert sensitivity.scaled("4", double, "256") == "8"


def test_labels_keep_their_order_and_distance() -> None:
    from chasqui.experiment.drawing import spread

    assert spread([0.0, 30.0], 10.0) == [0.0, 30.0]
    assert spread([4.0, 6.0], 10.0) == [0.0, 10.0]
    crowd = spread([0.0, 1.0, 2.0, 11.0, 100.0], 10.0)
    assert all(b - a >= 10.0 - 1e-9 for a, b in itertools.pairwise(crowd))
    assert crowd[-1] == 100.0


def test_labels_stay_beside_their_axes() -> None:
    from chasqui.experiment.drawing import within

    assert within([-15.0, -5.0, 50.0], 10.0, 0.0, 60.0) == [0.0, 10.0, 50.0]
    assert within([10.0, 58.0, 68.0], 10.0, 0.0, 60.0) == [10.0, 50.0, 60.0]


def test_lines_that_hide_one_another_have_one_label() -> None:
    from chasqui.experiment import drawing

    panels = drawing.figure((8.0, 3.0)).subplots(1, 3)
    for axes, factor in zip(panels, (1, -1), strict=False):
        for name, last in (("one", 9.0), ("two", 5.0), ("three", 9.001)):
            axes.plot([1, 2, 3], [1, 4, factor * last], label=name)
    drawing.label_ends(*panels)
    labels = [[each.get_text() for each in axes.texts] for axes in panels]
    assert labels == [["two", "one, three"], ["one, three", "two"], []]


def test_a_bar_of_zero_shows_and_a_legend_lists_what_it_has_once() -> None:
    from chasqui.experiment import drawing

    figure = drawing.figure((8.0, 3.0))
    panels = figure.subplots(1, 2)
    for axes in panels:
        for name, at in (("one", 0.0), ("two", 0.3)):
            axes.bar([at, at + 1], [0, 2], 0.25, label=name)
    panels[1].bar([0, 0.3], [3, 0], 0.25, bottom=0)  # a stack on the first bar of "one"
    drawing.legend_above(figure, list(panels), columns=2)
    figure.draw_without_rendering()
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["one", "two"]
    widths = [[bar.get_linewidth() for bar in axes.patches] for axes in panels]
    zero, usual = drawing.ZERO_POINTS, widths[0][1]
    assert widths[0] == [zero, usual, zero, usual]
    assert widths[1] == [usual, usual, zero, usual, usual, zero]


def test_labels_lie_off_the_axis() -> None:
    from chasqui.experiment import drawing

    axes = (figure := drawing.figure((4.0, 3.0))).subplots()
    axes.plot([1, 2, 3], [9, 0, 0], label="one")
    axes.plot([1, 2, 3], [5, 4, 0], label="two")
    axes.set_ylim(0, 10)
    drawing.label_ends(axes)
    figure.draw_without_rendering()
    low, high = (super(type(each), each).get_window_extent() for each in axes.texts)
    assert [each.get_text() for each in axes.texts] == ["one", "two"]
    assert axes.bbox.y0 < low.y0 < low.y1 <= high.y0 + 1


def test_a_picture_gets_small_and_stays_the_same() -> None:
    """Paths are relative and rounded once; what is used again is there once; texts stay."""
    from chasqui.experiment import drawing, svg

    assert svg.path("M 1.04 2.06 \nL 3.04 2.06 \nL 3.04 1.5 \nz", 1) == "m1 2.1h2v-.6z"
    # A tenth and a half each time: no rounding adds up.
    steps = "".join(f"L {n * 1.15} {n * 2.35} " for n in range(1, 41))
    moves = [float(n) for n in re.findall(r"-?[\d.]+", svg.path(f"M 0 0 {steps}", 1))]
    assert sum(moves[::2]) == pytest.approx(40 * 1.15, abs=0.051)
    assert sum(moves[1::2]) == pytest.approx(40 * 2.35, abs=0.051)

    figure = drawing.figure((4.0, 3.0))
    axes = figure.subplots()
    for n in range(4):
        axes.plot(range(20), [n * x for x in range(20)], "o-", label=f"line {n}")
    axes.legend()
    raw = io.StringIO()
    figure.savefig(raw, format="svg", metadata=running.SVG_METADATA)
    small = svg.compact(raw.getvalue())
    assert len(small) < len(raw.getvalue()) / 2.5
    before, after = (ElementTree.fromstring(text) for text in (raw.getvalue(), small))
    tag = f"{{{svg.SVG}}}"
    assert [each.text for each in before.iter(f"{tag}text")] == [
        each.text for each in after.iter(f"{tag}text")
    ]
    assert len(list(before.iter(f"{tag}use"))) == len(list(after.iter(f"{tag}use")))
    names = {each.get("id") for each in after.iter()}
    assert {each.get("href", "")[1:] for each in after.iter(f"{tag}use")} <= names


def squares(outputs: Mapping[str, Output]) -> Report:
    """A report on nothing, with every kind of value."""

    def draw(figure: Figure) -> None:
        from chasqui.experiment.drawing import label_ends

        axes = figure.subplots()
        axes.plot([1, 2, 3], [1, 4, 9], label="squares")
        label_ends(axes)

    rows = [[name, 1, Fraction(1, 3), None] for name in outputs]
    table = Table("results", ("run", "whole", "third", "none"), rows)
    return Report([table], table.text(left=(0,)), ["A sentence."], draw)


@pytest.fixture
def made_up(fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """One experiment, on the stand-in for the simulator."""
    every = [Run(f"run/{i}", "loggp", 2, "examples/ring", arguments=[str(i)]) for i in range(5)]
    made = Experiment(
        "What is a square? It has sides.", lambda quick: every[: 2 if quick else 5], squares
    )
    monkeypatch.setattr(running, "names", lambda: ["loggp/squares"])
    monkeypatch.setattr(running, "load", lambda _: made)
    monkeypatch.setattr(compiler, "compiled", lambda source, _: Path("built") / source.stem)
    monkeypatch.setattr(running, "fingerprints", lambda *_, **__: {"points": "0"})
    return fake_core


def test_a_list_of_experiments(made_up: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["experiment"]) == 0
    assert "loggp/squares  What is a square?\n" in capsys.readouterr().out
    assert invoke(["experiment", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "loggp/squares", "question": "What is a square? It has sides."}
    ]


def test_results_are_written(made_up: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["experiment", "loggp/squares"]) == 0
    place = Path("runs/loggp-squares-1")
    assert (place / "results.csv").read_text() == (
        "run,whole,third,none\n" + "".join(f"run/{i},1,0.333,\n" for i in range(5))
    )
    assert sorted(each["directory"] for each in made_up.requests) == [
        f"{place}/runs/run-{i}" for i in range(5)
    ]
    assert made_up.requests[0]["program"] == "built/ring"
    assert (place / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert "squares</text>" in (place / "picture.svg").read_text()
    shown = capsys.readouterr().out
    assert "What is a square? It has sides." in shown
    assert "- A sentence." in shown
    assert f"results in {place}" in shown
    assert "- A sentence." in (place / "report.txt").read_text()
    stamp = json.loads((place / "measured.json").read_text())
    assert (stamp["experiment"], stamp["quick"], stamp["points"]) == ("loggp/squares", False, "0")


def test_sentences_fit_the_terminal_and_are_whole_in_the_file(
    made_up: FakeCore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chasqui.text.stdout_columns", lambda: 20)
    assert invoke(["experiment", "loggp/squares"]) == 0
    shown = capsys.readouterr().out
    assert "What is a square? It\nhas sides.\n" in shown
    report = Path("runs/loggp-squares-1/report.txt").read_text()
    assert "What is a square? It has sides.\n" in report


def test_the_same_results_are_the_same_files(made_up: FakeCore) -> None:
    for jobs in ("1", "3"):
        assert invoke(["experiment", "loggp/squares", "--jobs", jobs, "--out", jobs]) == 0
    for name in ("results.csv", "report.txt", "picture.svg", "picture.png"):
        one, three = (Path(jobs, "loggp-squares", name).read_bytes() for jobs in "13")
        assert one == three, name


def test_quick_and_json(made_up: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["experiment", "--quick", "--json", "loggp", "--out", "here"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["name"], found["directory"]) == ("loggp/squares", "here/loggp-squares")
    assert found["tables"]["results"] == [
        {"run": f"run/{i}", "whole": 1, "third": 1 / 3, "none": None} for i in range(2)
    ]


def test_mistakes_are_said_before_anything_runs(
    made_up: FakeCore, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert invoke(["experiment", "loggp/cubes"]) == 2
    assert "no experiment 'loggp/cubes'; there are: loggp/squares" in capsys.readouterr().err
    assert invoke(["experiment", "loggp/squares", "--jobs", "0"]) == 2
    capsys.readouterr()
    (tmp_path / "here" / "loggp-squares").mkdir(parents=True)
    assert invoke(["experiment", "loggp/squares", "--out", "here"]) == 2
    assert "here/loggp-squares: File exists" in capsys.readouterr().err
    assert not made_up.requests


def test_a_simulation_that_fails_ends_the_experiment(
    made_up: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up.answers["loggp"] = {"outcome": "deadlock", "message": "they wait", "exit_status": 125}
    assert invoke(["experiment", "loggp/squares"]) == 1
    said = capsys.readouterr().err
    assert "loggp/squares: deadlock: they wait, status 125; the run is in runs/" in said
    assert not Path("runs/loggp-squares-1/results.csv").exists()


@pytest.mark.core
@pytest.mark.turn(1)
def test_a_program_says_what_is_wrong(tmp_path: Path) -> None:
    right = running.load("voyager/mechanisms").runs(True)[0]
    wrong = replace(right, name="wrong", arguments=["16", "64", "basic", "3"])
    with pytest.raises(running.RunFailed, match=r"voyager/mechanisms: .*status 1; the run is in"):
        running.run_all("voyager/mechanisms", [wrong], tmp_path, 1, lambda _done, _of: None)
    assert "usage: mechanisms" in (tmp_path / "wrong" / "stdout.0").read_text()


@pytest.mark.core
def test_only_assumptions_are_varied() -> None:
    with pytest.raises(InputError, match=r"network.link_bandwidth is no assumption of voyager"):
        sensitivity.assumptions("voyager", ["network.link_bandwidth"])


@pytest.mark.core
def test_a_range_is_varied_from_least_to_greatest() -> None:
    """Halved and doubled is only what has none."""
    clock, posted = sensitivity.assumptions(
        "voyager-modern", ["node.core.clock", "node.write_buffer.posted"]
    )
    assert clock.instead == {"least": "2.1 GHz", "greatest": "3.8 GHz"}
    assert posted.instead == {"least": "8", "greatest": "32"}
    (latency,) = sensitivity.assumptions("voyager", ["node.l2.latency"])
    assert latency.instead == {"half": "4 cycles", "double": "18 cycles"}


def test_what_moves_most_comes_first() -> None:
    """A tornado table."""
    values = {"small": "1", "large": "2", "one-sided": "3"}
    varied = [sensitivity.Assumption(name, "0", {"least": at, "greatest": "9"})
              for name, at in values.items()]  # fmt: skip
    time = {
        "as-assumed": 100, "small/least": 99, "small/greatest": 101, "large/least": 120,
        "large/greatest": 100, "one-sided/least": 100, "one-sided/greatest": 90,
    }  # fmt: skip
    outputs: Any = {f"base/{name}": ns for name, ns in time.items()}

    def figures(output: Any) -> dict[str, Fraction]:
        return {"ns": Fraction(output)}

    rows, text, sentence = sensitivity.report(["base"], varied, outputs, figures)
    assert [row[0] for row in rows.rows] == [
        "as assumed", "large", "large", "one-sided", "one-sided", "small", "small",
    ]  # fmt: skip
    assert [line.split()[0] for line in text.splitlines()[2:]][::2] == [
        "large", "one-sided", "small",
    ]  # fmt: skip
    assert "large moves a result most within its plausible range: ns by 20 %" in sentence


def own_experiment(path: Path, runs: str, report: str) -> Path:
    """What an experiment's two functions return, as text, in line 4 and line 7 of a file."""
    path.write_text(
        "from chasqui.experiment import Beside, Experiment, Report, Run\n\n"
        f"def runs(quick):\n    return {runs}\n\n"
        f"def report(outputs):\n    return {report}\n\n"
        "EXPERIMENT = Experiment('What?', runs, report)\n"
    )
    return path


@pytest.mark.parametrize(
    ("runs", "report", "status", "line"),
    [
        ("[Run('a', 'loggp', 2, 'examples/ring', settings=[])]", "None", 2, 4),
        ("[Run('a', 'loggp', 2, 'examples/ring')]", "outputs['b']", 1, 7),
    ],
)
def test_a_mistake_in_ones_own_experiment_is_a_line(
    fake_core: FakeCore,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    report: str,
    status: int,
    line: int,
) -> None:
    monkeypatch.setattr(compiler, "compiled", lambda source, _: Path("built") / source.stem)
    mine = own_experiment(tmp_path / f"mine{line}.py", runs, report)
    assert invoke(["experiment", str(mine)]) == status
    shown = capsys.readouterr().err
    assert shown.startswith(f"chasqui: {mine}:{line}: in r")
    assert "Error: " in shown
    assert shown.count("\n") == 1


WELL = "[Run('a', 'loggp', 2, 'examples/ring')]"
A_REPORT = "Report([], 'text', [], {})"
DRAWN_BY = "a function that draws on a Figure is expected; tables and report are in runs/"


@pytest.mark.parametrize(
    ("runs", "report", "status", "what"),
    [
        (WELL, A_REPORT.format("draw=None"), 1, f"Report(draw=None): {DRAWN_BY}"),
        (WELL, A_REPORT.format("lambda: 1"), 1, "draw: TypeError: report.<locals>.<lambda>() take"),
        (WELL, "None", 1, "report returns None, which is no Report"),
        (WELL, "Report([[1]], 'text', [], print)", 1, "report: AttributeError: 'list' object has"),
        ("[Run('a', 'loggp', 2, 'x', arguments=[8, 20])]", "", 2,
         """run 'a': arguments=[8, 20]: 8 is no text; write "8"\n"""),
        ("[Run('a', 'loggp', 2, 'x', arguments='-l 8')]", "", 2,
         "run 'a': arguments='-l 8': a list of texts is expected\n"),
        ("[Run('a', 'loggp', '2', 'x')]", "", 2, "run 'a': ranks='2': a whole number is expected"),
        ("[Run(100, 'loggp', 2, 'x')]", "", 2, "run 100: name=100: a text is expected\n"),
        ("[Run('a', 'loggp', 2, 'x', beside=[Beside(1, 'y', [0.5])])]", "", 2,
         """run 'a': arguments=[0.5]: 0.5 is no text; write "0.5"\n"""),
        ("None", "", 2, "runs: TypeError: 'NoneType' object is not iterable\n"),
    ],
)  # fmt: skip
def test_what_an_own_experiment_hands_over_is_checked(
    fake_core: FakeCore,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    report: str,
    status: int,
    what: str,
) -> None:
    """One line with the file, where no line of it is to blame."""
    monkeypatch.setattr(compiler, "compiled", lambda source, _: Path("built") / source.stem)
    mine = own_experiment(tmp_path / "mine.py", runs, report or "None")
    assert invoke(["experiment", str(mine)]) == status
    shown = capsys.readouterr().err
    assert shown.startswith(f"chasqui: {mine}: {what}")
    assert shown.count("\n") == 1
    assert len(fake_core.requests) == (1 if status == 1 else 0)


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([("100 MHz", "examples/ring")] * 2, 'two runs are named "100 MHz"'),
        (
            [("a/b", "examples/ring"), ("a b", "examples/ring")],
            'runs "a/b" and "a b" would have the same directory, a-b',
        ),
        (
            [("a", "examples/ring"), ("b", "examples/rng")],
            'no program "examples/rng" ({examples}/rng.c: no such file); did you mean '
            "examples/ring?",
        ),
        (
            [("a", "ring")],
            'no program "ring" ({here}/ring.c: no such file); did you mean examples/ring?',
        ),
        (
            [("a", "mime")],
            'no program "mime" ({here}/mime.c: no such file); did you mean mine?',
        ),
        ([("a", "odd")], 'no program "odd" ({here}/odd.c: no regular file)'),
        ([("a", "/nosuch/xyz")], 'no program "/nosuch/xyz" (/nosuch/xyz: no such file)'),
    ],
)
def test_runs_that_can_not_be_are_said_before_any(
    fake_core: FakeCore,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs: list[tuple[str, str]],
    why: str,
) -> None:
    """Names that two runs have, and programs that are not there."""
    monkeypatch.setattr(compiler, "compiled", lambda source, _: Path("built") / source.stem)
    (tmp_path / "mine.c").touch()
    (tmp_path / "odd.c").mkdir()
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from chasqui.experiment import Experiment, Run\n\n"
        f"RUNS = [Run(name, 'loggp', 2, program) for name, program in {runs}]\n"
        "EXPERIMENT = Experiment('What?', lambda quick: RUNS, print)\n"
    )
    assert invoke(["experiment", str(mine)]) == 2
    text = why.format(here=tmp_path, examples=cache.EXAMPLES)
    assert capsys.readouterr().err == f"chasqui: {mine}: {text}\n"
    assert not fake_core.requests


@pytest.mark.core
def test_the_runs_of_each_experiment_have_names_of_their_own() -> None:
    for name in running.names():
        assert running.runs_of(name, quick=False)
