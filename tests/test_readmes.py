"""The commands of README.md and of the machines' READMEs, typed as they stand there: each shows
what its comment says.

Use this when a README's command changes, or a figure in its comment: `6.433 us a hop`, `status
135`, and what stands between backquotes is in what the command prints.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import command_line
import pytest
from conftest import ROOT

pytestmark = pytest.mark.core

# Set-up, builds of other projects, measurements that have tests of their own and take long, and
# files that a reader has elsewhere.
NOT_TYPED = re.compile(
    r"export |make|python3 -m venv|pip install|\./configure|cmake|.*bcsstk15|"
    r"chasqui (experiment|fidelity|logp .*voyager)\b"
)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    status: int
    shows: tuple[str, ...]


def commands(document: Path) -> list[Command]:
    found = []
    for line in "".join(BLOCK.findall(document.read_text())).splitlines():
        if NOT_TYPED.match(line) or not line:
            continue
        words = tuple(word for word in shlex.split(line, comments=True) if word != "--logp")
        assert words[0] == "chasqui", line
        comment = line.partition(" # ")[2]
        status = re.search(r"status (\d+)", comment)
        shows = re.findall(r"[\d.]+ us a hop|`([^`]+)`", comment)
        whole = re.findall(r"[\d.]+ us a hop", comment)
        found.append(
            Command(words[1:], int(status[1]) if status else 0, (*whole, *(s for s in shows if s)))
        )
    return found


FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MANUAL = ROOT / "docs" / "manual"


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ("run.md", "The beginning of a long run"),
        ("run.md", "Several jobs on the same nodes"),
        pytest.param("sweep.md", "", marks=pytest.mark.long),
        ("reference/run-directory.md", "summary.json"),
    ],
)
def test_what_a_page_of_the_manual_has_one_type_can_be_typed_twice(
    page: str, part: str, examples: Path, tmp_path: Path
) -> None:
    """In a shell, beside the files that it shows, each named in its first line. (That all can be
    typed once is test_manual.py's.)"""
    text = (MANUAL / page).read_text()
    if part:
        text = text.partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    blocks = FENCED.findall(text)
    typed = "".join(block for language, block in blocks if language == "sh")
    for block in (block for kind, block in blocks if kind == "toml"):
        (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
    for program in ("ring", "cg"):
        (tmp_path / program).symlink_to(examples / program)
    (tmp_path / "chasqui").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chasqui "$@"\n')
    (tmp_path / "chasqui").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for _ in range(2):
        done = subprocess.run(
            ["sh", "-e"], input=typed, cwd=tmp_path, env={**os.environ, "PATH": path},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        assert "PASSED" in printed or " us" in printed
        assert not [each for each in re.findall(r"# `([^`]+)`", typed) if each not in printed]


def documents() -> list[Path]:
    places = [ROOT / "README.md", *sorted(ROOT.glob("machines/**/README.md"))]
    return [place for place in places if place.exists() and commands(place)]


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_readme_says_is_what_its_commands_show(
    document: Path, examples: Path, tmp_path: Path
) -> None:
    for folder in ("benches", "examples", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for program in ("ring", "cg", "spectral"):
        (tmp_path / program).symlink_to(examples / program)
    wrong = []
    for command in commands(document):
        if "-o" in command.words and command.words[0] == "cc":
            (tmp_path / command.words[command.words.index("-o") + 1]).unlink(missing_ok=True)
        done = command_line.run(*command.words, directory=tmp_path)
        printed = done.stdout + done.stderr
        missing = [text for text in command.shows if text not in printed]
        if done.returncode != command.status or missing:
            wrong.append(
                f"{shlex.join(command.words)}: {done.returncode}, lacks {missing}: {printed}"
            )
    assert not wrong, "\n".join(wrong)
