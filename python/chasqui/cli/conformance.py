"""`chasqui conformance`: the tests of instruction-set conformance suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.conformance import Result

HELP = """Runs every ELF file in each FOLDER, and below, on one simulated hart, twice: by the fast
loop and by the reference interpreter, with caches, TLBs and bus. A test passes if both agree in
registers, end, cycles and memory, and

\b
  - it exits with status 0 (system call 93, a0 = 0): riscv-tests, built for a
    user-level environment, exits with the number of the test that failed,
    from gp;
  - if it has the symbols begin_signature and end_signature, the memory
    between them equals NAME.reference_output or NAME.signature beside it:
    riscv-arch-test.

Tests are static user-level RV64GC programs that begin at their entry point with a stack. They are
built with the environment's own macros (RVTEST_*, RVMODEL_HALT) defined as above. FOLDER may be a
file.

Exit status: 0 if every test passes, 1 if one fails, 2 for bad input.

\b
Examples:
  chasqui conformance build/rv64ui build/rv64um
  chasqui conformance --machine voyager build/arch-test
  chasqui conformance --json build/rv64ud/recoding
"""

INSTRUCTIONS_MAX = 100_000_000


def commands() -> dict[str, click.Command]:
    return {"conformance": conformance}


@click.command(
    "conformance",
    help=HELP,
    context_settings=options.SETTINGS_AFTER,
)
@click.argument("folders", nargs=-1, metavar="FOLDER…")
@options.machine()
@options.sets()
@click.option(
    "--instructions", "instructions_max", type=click.IntRange(min=1), default=INSTRUCTIONS_MAX,
    show_default=True, metavar="COUNT", help="A test that goes on after so many has failed.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every test, and the totals.")
def conformance(
    folders: tuple[str, ...],
    machine: str,
    sets: tuple[str, ...],
    instructions_max: int,
    as_json: bool,
) -> int:
    from chasqui.conformance import Settings, find, run_all, totals
    from chasqui.text import Counter

    if not folders:
        raise InputError("no folder was named (see: chasqui conformance --help)")
    tests = find(folders)
    with Counter("tests") as progress:
        results = run_all(tests, Settings(machine, sets, instructions_max), progress)
    if as_json:
        import json
        from dataclasses import asdict

        every = [{"path": each.path, "passed": each.passed, **each.verdict} for each in results]
        sums = [asdict(each) for each in totals(results)]
        print(json.dumps({"tests": every, "totals": sums}, indent=2))
    else:
        print(_text(results))
    return 0 if all(each.passed for each in results) else 1


def _text(results: list[Result]) -> str:
    from chasqui.conformance import totals
    from chasqui.text import number, table

    parts = []
    failed = [each for each in results if not each.passed]
    if failed:
        rows = [
            [each.path, f"{each.verdict['address']:#x}", each.verdict["place"], each.verdict["why"]]
            for each in failed
        ]
        parts.append(table(["failed", "pc or word", "symbol", "why"], rows, left=(0, 1, 2, 3)))
    sums = totals(results)
    rows = [
        [
            each.folder,
            *map(number, (each.passed, each.failed, each.signature_words, each.instructions)),
        ]
        for each in sums
    ]
    header = ["folder", "passed", "failed", "signature words", "instructions"]
    parts.append(table(header, rows))
    parts.append(f"{len(results) - len(failed)} of {len(results)} tests pass")
    return "\n\n".join(parts)
