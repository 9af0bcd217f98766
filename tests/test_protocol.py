"""The protocol between mpinp's NICs: all interleavings of small programs, and each of its rules
taken away once (machines/mpinp/explorer).

Use this when machines/mpinp/protocol or its explorer change.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.core


def explore(place: Path, *words: str) -> str:
    explorer = ROOT / "machines" / "mpinp" / "explorer"
    command = ["make", "-C", str(explorer), f"BUILD={place}", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.turn(0)
def test_all_rules_together_suffice(tmp_path: Path) -> None:
    """With sanitizers, and with each rule taken away, in `make sweep`."""
    said = explore(tmp_path, "programs")
    found = re.search(r"(\d+) programs, .* 0 failed", said)
    assert found, said
    assert int(found[1]) > 80


@pytest.mark.long
def test_every_rule_is_needed_and_all_together_suffice(tmp_path: Path) -> None:
    """Of programs that are written down; those that are generated or drawn are `make nightly`'s."""
    said = explore(tmp_path, "ARGUMENTS=random=0 generated=0")
    found = re.search(r"(\d+) programs, .* 0 failed; (\d+) of (\d+) rules are missed", said)
    assert found, said
    programs, missed, rules = map(int, found.groups())
    assert missed == rules
    assert programs > 80
    assert rules > 200
