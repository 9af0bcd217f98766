"""The machine cell-modern: the programs of cell, with values of today.

Use this when machines/cell/modern.toml changes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command

from chasqui import compiler, core

pytestmark = pytest.mark.core

PROGRAMS = [("ring", 8), ("heat", 4), ("sort", 2)]


def run(directory: Path, machine: str, program: Path, ranks: int) -> tuple[str, int]:
    """What it prints, and its time [ps]; it ends well."""
    out = directory / machine
    words = ["run", "-q", "--out", str(out), "--machine", machine, "-np", str(ranks)]
    done = command(*words, "--", program, directory=directory)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((out / "summary.json").read_text())["time_ps"]


@pytest.mark.parametrize(("name", "ranks"), PROGRAMS)
def test_programs_of_cell_have_right_answers(tmp_path: Path, name: str, ranks: int) -> None:
    program = tmp_path / name
    words = ["-O2", str(ROOT / "examples" / f"{name}.c"), "-o", str(program), "-lm"]
    assert compiler.run(compiler.plan("cc", words)) == 0
    said, time = run(tmp_path, "cell-modern", program, ranks)
    assert f"{name}: PASSED" in said
    if ranks <= 6:
        # It is another machine, not Cell's values under another name.
        assert run(tmp_path, "cell", program, ranks)[1] != time


def test_it_has_all_parameters_of_cell_and_ranges_for_assumptions() -> None:
    cell, modern = (
        {each["name"]: each for each in core.parameters(name)} for name in ("cell", "cell-modern")
    )
    assert list(cell) == list(modern)
    different = [name for name in cell if cell[name]["value"] != modern[name]["value"]]
    assert len(different) > 40
    # A tick is what programs of experiments measure in.
    for name in ("node.core.timebase", "cell.spe.timebase", "cell.element.timebase"):
        assert modern[name]["value"] == cell[name]["value"]
