"""`chasqui conformance` on programs of a few instructions: what passes, and how what fails is told.

Use this when a verdict, or the table of verdicts, changes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

# Stores 0x11223344 and `stored` into the signature and returns `status`.
SOURCE = """\
__asm__(".data; .balign 16; .globl {begin}, {end}; {begin}: .word 0, 0; {end}: .text");
extern volatile unsigned {begin}[];
int main(void)
{{
    {begin}[0] = 0x11223344;
    {begin}[1] = {stored};
    __asm__ volatile("{check}");
    return {status};
}}
"""
EXPECTED = "11223344\n00000007\n"


class Suite:
    """Tests in a folder."""

    def __init__(self, compile_c: Compiler, place: Path) -> None:
        self.compile_c, self.place = compile_c, place
        place.mkdir()

    def add(
        self, name: str, expected: str | None, stored: int = 7, status: int = 0, check: str = "nop",
        symbols: tuple[str, str] = ("begin_signature", "end_signature"),
    ) -> None:  # fmt: skip
        text = SOURCE.format(
            stored=stored, status=status, check=check, begin=symbols[0], end=symbols[1]
        )
        program = self.compile_c(f"conformance-{name}", text)
        shutil.copy(program, self.place / name)
        if expected is not None:
            (self.place / f"{name}.reference_output").write_text(expected)


@pytest.fixture
def suite(compile_c: Compiler, tmp_path: Path) -> Suite:
    return Suite(compile_c, tmp_path / "suite")


def test_a_suite_that_passes(suite: Suite, chasqui: Run) -> None:
    suite.add("good", EXPECTED)
    # A line as wide as two words: a little-endian number, too.
    suite.add("wide", "0000000711223344\n")
    suite.add("exits", None, symbols=("some", "others"))
    done = chasqui("conformance", "suite")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("3 of 3 tests pass\n")
    assert "failed   " not in done.stdout


def test_failures_come_first_with_place_and_reason(suite: Suite, chasqui: Run) -> None:
    suite.add("good", EXPECTED)
    suite.add("exits-3", EXPECTED, status=3)
    suite.add("illegal", EXPECTED, check=".word 0")
    suite.add("privileged", EXPECTED, check="csrr t0, mhartid")
    suite.add("loops", EXPECTED, check="0: j 0b")
    suite.add("wrong-word", EXPECTED, stored=8)
    suite.add("unchecked", None)
    done = chasqui("conformance", "--json", "--instructions", "100000", "suite")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    why = {Path(each["path"]).name: each["why"] for each in found["tests"]}
    assert why["good"] is None
    assert why["exits-3"] == "exit status 3"
    assert why["illegal"] == "illegal instruction 0x00000000"
    assert why["privileged"] == "illegal instruction 0xf14022f3"
    assert why["loops"].startswith("no end after ")
    assert why["wrong-word"] == "signature word 1 is 00000008, expected 00000007"
    assert why["unchecked"] == "there is no file with the expected signature"
    places = {Path(each["path"]).name: each["place"] for each in found["tests"]}
    assert places["illegal"].startswith("main+")
    assert places["loops"].startswith("main+")
    assert places["wrong-word"] == "begin_signature+0x4"
    assert [(each["passed"], each["failed"]) for each in found["totals"]] == [(1, 6)]
    text = chasqui("conformance", "--instructions", "100000", "suite").stdout
    assert text.startswith("failed ")
    assert text.endswith("1 of 7 tests pass\n")


def test_what_is_no_suite_is_refused(chasqui: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ([], "no folder was named"),
        (["empty"], "empty: no ELF file in it"),
        (["absent"], "absent: no such file or folder"),
        (["--set", "no.such=1", "empty/../suite"], "no such file or folder"),
    ):
        done = chasqui("conformance", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
