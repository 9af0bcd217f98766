"""Damaged files of a run directory: whoever reads them says which it is and what is wrong, in one
line, or shows what there is.

Use this for a command that reads what a run wrote. Random damage, from a printed seed; a file that
is no file (a pipe, a device) is never read.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler, Run

from chasqui import export, files, messages, profile, timeline
from chasqui.errors import InputError

pytestmark = pytest.mark.core

SEED = int(os.environ.get("SEED", "1"))
CASES = 400
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 63, 1 << 64, 10**400, 1.5, "", "rank 0", "1e999999999", [], {}, [[]],
)  # fmt: skip
WORDS = (
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "null",
    "NaN",
    "1e999999999",
    "-1",
    "\0",
    "é",
    "9" * 5000,
)

TEXT = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &x, 1, MPI_INT, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def directory(compile_c: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with everything that there is to read."""
    import command_line

    place = tmp_path_factory.mktemp("damaged")
    program = compile_c("turn", TEXT)
    arguments: list[str | Path] = [
        "-np",
        "2",
        "--machine",
        "voyager",
        "--profile",
        "--out",
        "run",
        "--",
        program,
    ]
    done = command_line.run("run", *arguments, directory=place)
    assert done.returncode == 0, done.stderr
    return place / "run"


def show_profile(place: Path) -> None:
    found = profile.read(place)
    profile.lines(found)
    profile.lines(found, rank=0)


def show_timeline(place: Path) -> None:
    found = timeline.read(place)
    timeline.draw(found, *timeline.window("..", found.extent()))


def damaged_text(dice: random.Random, text: str) -> str:
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(text) + 1)
        end = at + dice.choice((0, 0, 1, 3, 40))
        put = dice.choice(("", "", dice.choice(WORDS), text[at : at + 10] * 2))
        text = text[:at] + put + text[end:]
    return text if dice.random() < 0.95 else text[: dice.randrange(len(text) + 1)]


def damaged_value(dice: random.Random, value: Any) -> Any:
    """Somewhere within it there is another value, or none."""
    if not isinstance(value, dict | list) or not value or dice.random() < 0.1:
        return dice.choice(VALUES)
    key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if dice.random() < 0.2:
        del value[key]
    else:
        value[key] = damaged_value(dice, value[key])
    return value


@pytest.mark.parametrize(
    ("name", "show"), [(profile.FILE, show_profile), (timeline.FILE, show_timeline)]
)
@pytest.mark.turn(0)
def test_random_damage_is_said_or_shown(
    directory: Path, tmp_path: Path, name: str, show: Callable[[Path], None]
) -> None:
    whole = (directory / name).read_text()
    said = []
    for case in range(CASES):
        dice = random.Random(SEED * CASES + case)
        if dice.random() < 0.5:
            text = damaged_text(dice, whole)
        else:
            text = json.dumps(damaged_value(dice, json.loads(whole)))
        (tmp_path / name).write_text(text)
        try:
            show(tmp_path)
        except InputError as error:
            said.append(str(error))
        except BaseException:
            print(f"SEED={SEED}, case {case}")
            raise
    assert len(said) > CASES / 10
    places = (str(tmp_path), "rank 0: ", "the timeline is empty", "--window")
    assert [each for each in said if not each.startswith(places) or "\n" in each] == []


def test_exports_of_random_damage_are_said_or_made(directory: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(directory, run)
    said: list[str] = []
    for name in (timeline.FILE, "summary.json"):
        whole = (directory / name).read_text()
        for case in range(CASES // 10):
            dice = random.Random(SEED * CASES + case)
            (run / name).write_text(json.dumps(damaged_value(dice, json.loads(whole))))
            try:
                export.export(
                    run, dice.choice(("goal", "smpi-ti", "csv")), tmp_path / f"{name}-{case}"
                )
            except InputError as error:
                said.append(str(error))
            except BaseException:
                print(f"SEED={SEED}, case {case} of {name}")
                raise
        (run / name).write_text(whole)
    assert said
    assert not [each for each in said if "\n" in each]


def test_damaged_messages_are_said(directory: Path, tmp_path: Path) -> None:
    whole = (directory / "messages.parquet").read_bytes()
    copy = tmp_path / "messages.parquet"
    for kept in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        copy.write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"messages.parquet: damaged: "):
            messages.read(copy)
    copy.write_bytes(whole)
    assert {each.source for each in messages.read(copy)} == {0, 1}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("profile.json", "{}", "profile.json: damaged: it lacks 'functions'"),
        ("profile.json", "[1", "profile.json: damaged: "),
        ("profile.json", "[" * 100_000, "profile.json: damaged: "),
        ("timeline.json", "[]", "timeline.json: damaged: an object is expected"),
        (
            "timeline.json",
            '{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 0, "dur": 1}]}',
            "timeline.json: event 0: damaged: nothing was said of (1, 1) before",
        ),
    ],
)
def test_the_command_says_it_in_one_line(
    chasqui: Run, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    done = chasqui(name.partition(".")[0], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("chasqui: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["profile", "timeline"])
def test_a_pipe_is_not_read(chasqui: Run, tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / f"{command}.json")
    done = chasqui(command, tmp_path)
    assert done.returncode == 2
    assert f"{command}.json: not a regular file" in done.stderr


def test_the_places_of_shapes() -> None:
    shape: files.Shape = {"a": [{"b": int, "c": {str: str}}]}
    files.check_shape({"a": [{"b": 1, "c": {"x": "y"}}], "more": None}, shape, "f")
    for value, place in [
        ({"a": [{"b": True, "c": {}}]}, "f: a[0]: b: damaged: a number from 0"),
        ({"a": [{"b": -1, "c": {}}]}, "f: a[0]: b: damaged: a number from 0"),
        ({"a": [{"b": 1, "c": {"x": 2}}]}, "f: a[0]: c: x: damaged: a text"),
        ({"a": [{"b": 1}]}, "f: a[0]: damaged: it lacks 'c'"),
        ({"a": {}}, "f: a: damaged: a list"),
    ]:
        with pytest.raises(InputError) as said:
            files.check_shape(value, shape, "f")
        assert str(said.value).startswith(place)


def test_a_directory_is_no_run_directory(chasqui: Run, directory: Path, tmp_path: Path) -> None:
    shutil.copy(directory / "timeline.json", tmp_path / "file")
    done = chasqui("timeline", tmp_path / "file")
    assert done.returncode == 2
    assert done.stderr == f"chasqui: {tmp_path}/file/timeline.json: Not a directory\n"
