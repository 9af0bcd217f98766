"""Simulated times against golden files: when two small programs end, and every stage of the life of
every message, on each machine.

Use this to see that a change moves no time. One that is meant to: write what moved, and why, under
Timing in CHANGELOG.md, and make the files anew with `pytest tests/test_golden.py --update-golden`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command, machines

pytestmark = [pytest.mark.core, pytest.mark.whole]

GOLDEN = ROOT / "tests" / "golden"

# name: (ranks, arguments). Small: a few dozen messages, short and long.
PROGRAMS = {
    "pingpong": (2, ["-n", "1", "-m", "8"]),
    "ring": (3, ["-l", "1"]),
}


def in_words(run: Path) -> str:
    """The run's times [ps]: a line a rank, then a message a line, with the stages that it has."""
    import pyarrow.parquet

    summary = json.loads((run / "summary.json").read_text())
    lines = [f"rank {rank['rank']}: {rank['time_ps']}" for rank in summary["ranks"]]
    for row in pyarrow.parquet.read_table(run / "messages.parquet").to_pylist():
        stages = [
            f"{name.removesuffix('_ps')} {value}"
            for name, value in row.items()
            if name.endswith("_ps") and value is not None
        ]
        name = f"{row['source']}->{row['destination']} #{row['sequence']}"
        lines.append(f"{name} {row['bytes']} bytes: {', '.join(stages)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("machine", machines())
@pytest.mark.parametrize("name", PROGRAMS)
def test_simulated_times(
    pytestconfig: pytest.Config, examples: Path, tmp_path: Path, machine: str, name: str
) -> None:
    ranks, arguments = PROGRAMS[name]
    program = str(examples / name)
    run = ["run", "--out", "run", "-np", str(ranks), "--machine", machine, "--", program]
    done = command(*run, *arguments, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = in_words(tmp_path / "run")
    file = GOLDEN / f"{machine.replace('/', '-')}-{name}.txt"
    if pytestconfig.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(found)
    assert file.exists(), f"no {file.name}: make it with --update-golden"
    assert found == file.read_text(), (
        f"times differ from {file.name}: if they should, say why under Timing in CHANGELOG.md and "
        "run pytest tests/test_golden.py --update-golden"
    )


def test_no_golden_file_is_left_over() -> None:
    expected = {f"{m.replace('/', '-')}-{name}.txt" for m in machines() for name in PROGRAMS}
    assert {path.name for path in GOLDEN.iterdir()} == expected
