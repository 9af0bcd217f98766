"""Conformance suites: which files are tests, and what became of them.

A test is an executable ELF file. Beside NAME, or NAME.elf, its expected signature is
NAME.reference_output or NAME.signature. crates/sim/src/conformance.rs says what a test must do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chasqui import core, firmware
from chasqui.errors import InputError
from chasqui.parallel import side_by_side
from chasqui.text import broken_pipe, is_unread

ELF_EXECUTABLE = b"\x7fELF"
SIGNATURES = (".reference_output", ".signature")


@dataclass(frozen=True)
class Settings:
    """How tests are run."""

    machine: str
    sets: Sequence[str]
    instructions_max: int


@dataclass
class Result:
    """A test and its verdict, whose fields `Verdict` of crates/sim explains."""

    folder: str
    path: str
    verdict: dict[str, Any]

    @property
    def passed(self) -> bool:
        return self.verdict["why"] is None


def find(names: Sequence[str]) -> list[tuple[str, Path]]:
    """Every test in the named folders, and below, and every named file; each with the folder that
    holds it. A folder without any is a mistake."""
    found: list[tuple[str, Path]] = []
    for name in names:
        path = Path(name)
        if path.is_file():
            found.append((str(path.parent), path))
            continue
        if not path.is_dir():
            raise InputError(f"{name}: no such file or folder")
        below = list(_executables(path))
        if not below:
            raise InputError(f"{name}: no ELF file in it")
        found += [(str(each.parent), each) for each in below]
    return found


def _executables(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(len(ELF_EXECUTABLE)) == ELF_EXECUTABLE:
                    yield path


def signature(program: Path) -> Path | None:
    """The file with the program's expected signature, if there is one."""
    stems = [program, program.with_suffix("")] if program.suffix == ".elf" else [program]
    for stem in stems:
        for ending in SIGNATURES:
            path = stem.with_name(stem.name + ending)
            if path.is_file():
                return path
    return None


def run_all(
    tests: Sequence[tuple[str, Path]], settings: Settings, progress: Callable[[int, int], None]
) -> list[Result]:
    """The verdicts, in the order of `tests`; as many at a time as the host has processors.
    `progress` gets the number of those that are done."""

    def one(test: tuple[str, Path]) -> Result:
        folder, path = test
        return Result(folder, str(path), _verdict(path, settings))

    results: dict[tuple[str, Path], Result] = {}

    def take(test: tuple[str, Path], result: Result) -> None:
        results[test] = result
        progress(len(results), len(tests))
        if is_unread():
            raise broken_pipe()

    # What runs ends soon: instructions are limited.
    side_by_side(one, tests, len(os.sched_getaffinity(0)), take)
    return [results[test] for test in tests]


def _verdict(program: Path, settings: Settings) -> dict[str, Any]:
    expected = signature(program)
    test = {
        "program": str(program),
        "machine": settings.machine,
        "sets": list(settings.sets),
        "firmware": str(firmware.directory()),
        "signature": str(expected) if expected else None,
        "instructions_max": settings.instructions_max,
    }
    return core.conformance(test)


@dataclass
class Total:
    """Sums over the tests of one folder."""

    folder: str
    passed: int = 0
    failed: int = 0
    signature_words: int = 0
    instructions: int = 0


def totals(results: Sequence[Result]) -> list[Total]:
    """One for each folder, in order of first appearance."""
    found: dict[str, Total] = {}
    for result in results:
        total = found.setdefault(result.folder, Total(result.folder))
        total.passed += result.passed
        total.failed += not result.passed
        total.signature_words += result.verdict["signature_words"]
        total.instructions += result.verdict["instructions"]
    return list(found.values())
