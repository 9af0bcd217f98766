"""`import chasqui`: what the functions return is what the commands print and the files have.

Use this when what Python programs are offered changes. The manual's notebook is executed whole.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import notebook
import numpy
import pyarrow.parquet
import pytest
from conftest import Compiler

import chasqui
from chasqui import stopping

pytestmark = pytest.mark.core

LIMIT_S = 100
OFFERED = (
    "Comparison", "InputError", "LogP", "Run", "RunError", "Settings", "Sweep", "compare", "logp",
    "machines", "parameters", "run", "sweep",
)  # fmt: skip
# Exits with the status that it is told; with none, ranks send their number round.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    int rank, size, got;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0,
                 &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d got %d\n", rank, got);
    fprintf(stderr, "%s\n", getenv("WORD") ? getenv("WORD") : "none");
    MPI_Finalize();
    return count > 1 ? atoi(words[1]) : 0;
}
"""
ENDLESS = "int main(void) { for (volatile int i = 0;; i++) ; }"


@pytest.fixture
def program(compile_c: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return compile_c("numbers", PROGRAM)


def test_what_is_offered_is_what_the_package_says() -> None:
    assert set(dir(chasqui)) == {*OFFERED, "__version__"}
    for name in OFFERED:
        assert getattr(chasqui, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        getattr(chasqui, "walk")  # noqa: B009


def test_experiments_take_no_name() -> None:
    """The folder of machines is a package, too."""
    importlib.import_module("chasqui.machines.voyager.experiments.am")
    assert callable(chasqui.machines)
    assert len(chasqui.machines()) > 1


def test_a_command_loads_nothing_of_it() -> None:
    """The start of a command is short."""
    text = (
        "import sys, chasqui.cli.run, chasqui; "
        "print([n for n in sys.modules if 'pandas' in n or 'chasqui.api' in n])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_is_what_its_directory_has(program: Path) -> None:
    run = chasqui.run(
        program, machine="voyager", ranks=3, parameters={"node.core.clock": "100 MHz"},
        env={"WORD": 7}, directory="here",
    )  # fmt: skip
    assert (run.directory, run.outcome, run.status) == (Path("here"), "finished", 0)
    summary = json.loads(Path("here/summary.json").read_text())
    assert (run.time_ps, len(run.ranks)) == (summary["time_ps"], 3)
    assert "100 MHz" in Path("here/resolved.toml").read_text()
    assert [run.output(rank) for rank in range(3)] == ["0 got 2\n", "1 got 0\n", "2 got 1\n"]
    assert run.errors(2) == "7\n"
    table = pyarrow.parquet.read_table("here/messages.parquet")
    assert run.messages.to_dict("list").keys() <= set(table.column_names)
    assert run.messages["land_ps"].tolist() == table["land_ps"].to_pylist()
    assert "int" in str(run.messages["first_access_ps"].dtype), "null, and still of whole numbers"
    stats = json.loads(Path("here/stats.json").read_text())
    assert run.stats.loc["network.delivered", "value"] == stats["network"]["delivered"]["value"]
    parts = [name for name in run.ranks.columns if name.startswith("share_")]
    assert run.ranks[parts].sum(axis=1).tolist() == pytest.approx([1] * 3)
    assert sum(run.shares.values()) == pytest.approx(1)
    assert {"MPI_Init", "MPI_Sendrecv", "MPI_Finalize"} <= set(run.calls["name"])
    assert {"latency", "end_to_end"} <= set(run.stages.index)
    again = chasqui.Run("here")
    assert again.summary.items() <= run.summary.items()
    assert again.messages.equals(run.messages)


def test_views_show_texts_and_nothing_of_what_is_in_them(program: Path) -> None:
    run = chasqui.run(program, ranks=2, directory="<b>&")
    assert "&lt;b&gt;&amp;" in run._repr_html_()
    assert "<b>&" not in run._repr_html_()
    assert repr(run) == "<Run <b>&: finished>"


def test_a_program_that_fails_is_an_error_with_its_run(program: Path) -> None:
    with pytest.raises(chasqui.RunError, match="exit status 3") as raised:
        chasqui.run(program, 3, ranks=2)
    assert raised.value.run.status == 3
    assert chasqui.run(program, 3, ranks=2, check=False).status == 3
    with pytest.raises(chasqui.RunError, match="limit-time"):
        chasqui.run(program, ranks=2, limit_time="1 us")


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"ranks": 0}, chasqui.InputError, "ranks=0: a whole number is expected, 1 or more"),
        ({"ranks": 2.0}, chasqui.InputError, "ranks=2.0: a whole number"),
        ({"threads": 1000}, chasqui.InputError, "threads=1000: .* 0 to 256"),
        ({"timeline": -1}, chasqui.InputError, "timeline=-1: a whole number"),
        ({"limit_time": 1}, chasqui.InputError, "limit_time=1: a text with a unit"),
        ({"host_files": "yes"}, chasqui.InputError, "host_files='yes': True or False"),
        ({"bind": "/etc"}, chasqui.InputError, "bind='/etc': a list is expected"),
        ({"parameters": ["a=b"]}, chasqui.InputError, "a dictionary of names and values"),
        ({"env": {"A=B": 1}}, chasqui.InputError, "'A=B' is no name of a variable"),
        ({"machine": "nowhere"}, chasqui.InputError, "there is no such machine"),
        ({"parameters": {"node.core.clock": "2 bananas"}}, chasqui.InputError, "not a unit"),
        ({"map_by": "luck"}, chasqui.InputError, "slot and node are allowed"),
        ({"rank": 2}, TypeError, "'rank' is no setting; there are: env, "),
    ],
)
def test_bad_arguments_write_nothing(
    program: Path, tmp_path: Path, arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        chasqui.run(program, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["a\0b", None, [1, 2], b"7"])
def test_words_of_the_program_are_texts_numbers_and_paths(program: Path, word: Any) -> None:
    with pytest.raises(chasqui.InputError, match="argument="):
        chasqui.run(program, word)


def test_numbers_of_numpy_and_paths_are_taken(program: Path, tmp_path: Path) -> None:
    words = [numpy.int64(0), Path("it"), 1.5]
    run = chasqui.run(program, *words, ranks=numpy.int32(2), bind=[tmp_path])
    assert run.summary["inputs"]["programs"][0]["arguments"] == ["0", "it", "1.5"]


def test_an_end_that_was_asked_for_is_none_that_raises(program: Path) -> None:
    assert chasqui.run(program, ranks=2, stop_at="1 us").outcome == "stopped"
    assert chasqui.run(program, ranks=2, fast_forward=True).status == 0


def test_results_are_read_where_they_were_left(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder may have a run of the same name."""
    first = chasqui.run(program, ranks=3, directory="it")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    second = chasqui.run(program, ranks=2, directory="it")
    assert [len(first.messages), len(second.messages)] == [
        first.summary["messages"], second.summary["messages"],
    ]  # fmt: skip
    assert first.output(2) == "2 got 1\n"


def test_errors_come_through_processes(program: Path) -> None:
    with pytest.raises(chasqui.RunError) as raised:
        chasqui.run(program, 3)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.run.status) == (str(raised.value), 3)
    assert pickle.loads(pickle.dumps(stopping.Interrupted(143))).status == 143


def test_what_is_no_run_is_said(tmp_path: Path, program: Path) -> None:
    with pytest.raises(chasqui.InputError, match="no such file"):
        chasqui.Run(tmp_path)
    run = chasqui.run(program)
    with pytest.raises(chasqui.InputError, match=r"rank 1: .* has 0 to 0"):
        run.output(1)


def test_a_comparison_has_a_row_a_machine(program: Path) -> None:
    found = chasqui.compare(program, machines=["loggp", "voyager/flush"], ranks=2, directory="both")
    assert list(found.table.index) == list(found.runs) == ["loggp", "voyager/flush"]
    assert found["loggp"].directory == Path("both/loggp")
    first, second = found.table["init_to_finalize_ps"]
    assert found.table["speed_up"].tolist() == [1, pytest.approx(first / second)]
    assert found.shares.sum().tolist() == pytest.approx([1, 1])
    assert found.stages.loc["latency", "loggp"] == found.table.loc["loggp", "latency_ns"]
    assert "voyager/flush" in found._repr_html_()
    with pytest.raises(chasqui.InputError, match="each once"):
        chasqui.compare(program, machines=["loggp", "loggp"])


def test_figures_of_loggp_are_its_parameters() -> None:
    found = chasqui.logp("loggp", sizes=[1024, 1], parameters={"loggp.latency": "3 us"})
    assert found.figures["value_ns"].to_dict() == {
        "L": 3000, "o_send": 1000, "o_recv": 1000, "g": 2000, "G": 1,
    }  # fmt: skip
    assert set(found.figures["sign"]) == {"="}
    assert list(found.sizes.index) == [1, 1024]
    assert found.sizes.loc[1, "latency_ns"] == 5000
    assert repr(found).startswith("<LogP of loggp [ns]: L = 3000.0, ")
    assert "L" in found._repr_html_()


def test_a_sweep_is_gone_on_with_from_either_side(
    program: Path, chasqui: Callable[..., Any], tmp_path: Path
) -> None:
    import chasqui as package

    def swept(**more: Any) -> package.Sweep:
        return package.sweep(
            program, "{n}", ranks=[1, 2], values={"n": [0, 4]}, directory="all", workers=1,
            timeline=0, **more
        )  # fmt: skip

    found = swept()
    assert found.table[["np", "n", "exit_status"]].values.tolist() == [
        [1, 0, 0], [1, 4, 4], [2, 0, 0], [2, 4, 4],
    ]  # fmt: skip
    assert found.run(2).output() == "0 got 1\n"
    times = {path: path.stat().st_mtime_ns for path in Path("all/runs").glob("*/summary.json")}
    assert swept(resume=True).table.equals(found.table)
    assert chasqui("sweep", "--resume", "all").returncode == 4
    after = {path: path.stat().st_mtime_ns for path in Path("all/runs").glob("*/summary.json")}
    assert after == times, "nothing has run again"
    with pytest.raises(package.InputError, match="a list is expected"):
        package.sweep(program, parameters={"node.core.clock": "1 GHz"})
    for more, said in REFUSED:
        with pytest.raises(package.InputError, match=said):
            package.sweep(program, "{n}", **{"values": {"n": [1]}, **more})
    assert not list(Path("runs").glob("sweep*"))
    with pytest.raises(package.InputError, match="row 4 of all: there are 0 to 3"):
        found.run(4)
    for place, said in (("nowhere", "no such directory"), ("all/runs", "no sweep's directory")):
        with pytest.raises(package.InputError, match=said):
            package.Sweep(place)


def test_settings_of_a_sweep_are_kept_as_they_were_checked(program: Path) -> None:
    """Before, paths and numpy's numbers were no JSON, and an empty directory stayed."""
    settings: dict[str, Any] = {"bind": [Path("."), "..:/above:ro"], "timeline": numpy.int64(5)}
    settings["host_files"] = 1
    found = chasqui.sweep(program, directory="kept", workers=1, **settings)
    assert len(found.table) == 1
    kept = json.loads(Path("kept/sweep.json").read_text())
    assert kept["bind"] == [".", "..:/above:ro"]
    assert (kept["timeline"], kept["host-files"]) == (5, True)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"resume": True}, "`directory` names"),
    ({"workers": -1}, "workers=-1: a whole number"),
    ({"workers": 1, "scheduler": "tcp://a:1"}, "the scheduler has workers"),
    ({"repeat": 0}, "repeat=0: a whole number"),
    ({"repeat": 10**9}, "repeat=1000000000: a whole number is expected, 1 to"),
    ({"values": {"m": [1]}}, "values n=… says its values"),
    ({"ranks": []}, "ranks: no value"),
    ({"ranks": 2}, "ranks=2: a list"),
    ({"machines": "loggp"}, "machines='loggp': a list"),
    ({"values": {"n": []}}, "n: no value"),
    ({"values": {"n": [1, 1]}}, "named more than once"),
    ({"values": {"n": [1], "messages": [1]}}, "^values messages=…: .* columns of such names"),
]


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([], "1 to 4000 sizes"), ([-1], "is not a number"), ([1.5], "is not"), ("1", "a list")],
)
def test_sizes_are_numbers_of_bytes(sizes: Any, said: str) -> None:
    with pytest.raises(chasqui.InputError, match=said):
        chasqui.logp("loggp", sizes=sizes)
    with pytest.raises(TypeError, match="'env' is no setting"):
        chasqui.logp("loggp", sizes=[1], env={"A": 1})


def test_machines_and_parameters_are_tables() -> None:
    found = chasqui.machines()
    assert {"loggp", "voyager/flush", "netcache/ldtct"} <= set(found.index)
    assert found.loc["loggp", "nodes_max"] >= 1024
    changed = chasqui.parameters("voyager", parameters={"node.core.clock": "100 MHz"})
    assert changed.loc["node.core.clock", "value"] == "100 MHz"
    assert chasqui.parameters("voyager").loc["node.core.clock", "source"]


def test_any_thread_may_call(program: Path) -> None:
    """Signals' handlers stay the program's own, and runs at the same time have a directory each."""
    handler = signal.getsignal(signal.SIGINT)
    found: list[chasqui.Run] = []
    threads = [
        threading.Thread(target=lambda: found.append(chasqui.run(program, ranks=2, threads=1)))
        for _ in range(3)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({run.directory for run in found}) == 3
    assert len({run.time_ps for run in found}) == 1
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_keeps_the_results_so_far(compile_c: Compiler, tmp_path: Path) -> None:
    text = (
        "import sys, chasqui\n"
        "try: chasqui.run(sys.argv[1], directory='it')\n"
        "except KeyboardInterrupt: print('stopped', chasqui.Run('it').outcome)\n"
    )
    words = [sys.executable, "-c", text, str(compile_c("endless", ENDLESS))]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + LIMIT_S
        while not (tmp_path / "it" / "stdout.0").exists() and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT_S)
    assert said == "stopped interrupted\n"


@pytest.mark.turn(2)
def test_the_notebook_shows_what_its_cells_do(tmp_path: Path) -> None:
    """If not: `python tests/notebook.py`, and read what has changed."""
    kept = nbformat.read(notebook.NOTEBOOK, as_version=4)
    assert notebook.texts(notebook.executed(tmp_path)) == notebook.texts(kept)
