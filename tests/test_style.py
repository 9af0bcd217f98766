"""Shape of the sources (see CONTRIBUTING): the lists of exceptions only shrink."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
LONG_FILES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()


def sources(*endings: str) -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(endings)]


def test_files_are_short_enough_to_read() -> None:
    long = {
        str(path.relative_to(ROOT))
        for path in sources(".py", ".rs", ".c", ".h")
        if len(path.read_text().splitlines()) > FILE_LINES_MAX
    }
    assert long == LONG_FILES


def test_python_functions_are_short_enough_to_read() -> None:
    long = set()
    for path in sources(".py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX:
                long.add(f"{path.name}:{node.name}")
    assert long == LONG_FUNCTIONS


def test_no_path_of_a_users_machine() -> None:
    private = re.compile(r"/(?:home|Users)/[a-z]|/root/")
    for path in sources(".py", ".rs", ".c", ".h", ".toml", ".md", "Makefile", "run"):
        found = private.search(path.read_text())
        assert not found or path == Path(__file__), f"{path}: {found}"
