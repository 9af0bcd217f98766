"""Shape of the sources (see CONTRIBUTING): the lists of exceptions only shrink."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
FIELDS_MAX = 20
IMPL_FILES_MAX = 5
LONG_FILES: set[str] = set()
# What is larger, and how large: a number may only go down, and what is no longer larger leaves.
LONG_FUNCTIONS = {
    "crates/config/tests/machines.rs what_is_wrong_is_said_with_its_place": 71,
    "crates/linux/tests/space.rs random_case": 75,
    "crates/linux/tests/support/mod.rs elf": 90,
    "crates/memory/src/network_cache/tests.rs act": 71,
    "crates/network/tests/common/mod.rs run": 74,
    "crates/node/tests/kernel.rs kernel": 72,
    "guest/tests/comms.c groups": 76,
    "guest/tests/datatypes.c wrap": 98,
}
MANY_FIELDS = {"machines/netcache Endpoint": 27}
MANY_IMPL_FILES = {
    "crates/linux Call": 11,
    "crates/node Os": 6,
    "crates/node Parts": 7,
    "machines/voyager Nes": 6,
}

# Sources are formatted, so that a line tells where a function or a type begins and ends.
RUST_FUNCTION = re.compile(
    r'( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?(?:extern "C" )?fn (\w+)'
)
RUST_STRUCT = re.compile(
    r"^(?:pub(?:\([^)]*\))? )?struct (\w+)[^;{]*\{(.*?)^\}", re.MULTILINE | re.DOTALL
)
RUST_FIELD = re.compile(r"^    (?:pub(?:\([^)]*\))? )?\w+:", re.MULTILINE)
RUST_IMPL = re.compile(r"^impl(?:<[^>]*>)? ([A-Z]\w*)[^\n]*\{$", re.MULTILINE)


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
    assert not long


def rust_functions(text: str) -> Iterator[tuple[str, int]]:
    """Names and lengths of functions, braces and signatures included."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        found = RUST_FUNCTION.match(line)
        if found and not line.endswith((";", "}")):
            end = next(at for at in range(begin, len(lines)) if lines[at] == found[1] + "}")
            yield found[2], end - begin + 1


def c_functions(text: str) -> Iterator[tuple[str, int]]:
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        if line == "{":
            names = re.findall(r"(\w+)\(", lines[begin - 1])
            end = next(at for at in range(begin, len(lines)) if lines[at].startswith("}"))
            yield names[0] if names else "", end - begin + 1


def test_functions_are_short_enough_to_read() -> None:
    long = {}
    for endings, functions in (((".rs",), rust_functions), ((".c",), c_functions)):
        for path in sources(*endings):
            for name, lines in functions(path.read_text()):
                if lines > FUNCTION_LINES_MAX:
                    long[f"{path.relative_to(ROOT)} {name}"] = lines
    assert long == LONG_FUNCTIONS


def rust_models() -> Iterator[tuple[str, Path, str]]:
    """The crate, path and text of each Rust source that is not a test's."""
    for path in sources(".rs"):
        parts = path.relative_to(ROOT).parts
        if "tests" not in parts and path.name != "tests.rs":
            yield "/".join(parts[:2]), path, path.read_text()


def test_types_have_few_fields() -> None:
    wide = {}
    for crate, _, text in rust_models():
        for name, body in RUST_STRUCT.findall(text):
            if (fields := len(RUST_FIELD.findall(body))) > FIELDS_MAX:
                wide[f"{crate} {name}"] = fields
    assert wide == MANY_FIELDS


def test_types_are_not_spread_over_many_files() -> None:
    places: dict[str, set[Path]] = {}
    for crate, path, text in rust_models():
        for line in RUST_IMPL.finditer(text):
            # Of a trait's: what it is for.
            if " for " not in line[0]:
                places.setdefault(f"{crate} {line[1]}", set()).add(path)
    spread = {name: len(paths) for name, paths in places.items() if len(paths) > IMPL_FILES_MAX}
    assert spread == MANY_IMPL_FILES


def test_no_path_of_a_users_machine() -> None:
    private = re.compile(r"/Users/[a-z]|/root/")
    for path in sources(".py", ".rs", ".c", ".h", ".toml", ".md", "Makefile", "run"):
        found = private.search(path.read_text())
        assert not found or path == Path(__file__), f"{path}: {found}"


def test_the_guest_librarys_folders_include_only_lower_ones() -> None:
    library = ROOT / "guest" / "mpi"
    order = re.findall(r"^\| `(\w+)/` \|", (library / "README.md").read_text(), re.MULTILINE)
    assert sorted(order) == sorted(path.name for path in library.iterdir() if path.is_dir())
    includes = [
        (path.relative_to(library).parts, header)
        for path in sorted(library.glob("*/*.[ch]"))
        for header in re.findall(r'^#include "mpi/(\w+)/\w+\.h"', path.read_text(), re.MULTILINE)
    ]
    upwards = [
        (path, header) for path, header in includes if order.index(header) > order.index(path[0])
    ]
    assert not upwards
    # Behind the transport's interface (transport.h).
    assert {path[0] for path, header in includes if header == "host"} <= {"host", "init"}
