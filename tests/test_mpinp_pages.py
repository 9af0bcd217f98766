"""Pages that mpinp's kernel agent pins, and messages that go to and from them without copies.

Use this when machines/mpinp/kernel, firmware/mcp/pages.c or mcp/pages.c change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Compiler
from simulated import SWEEP, command, in_turn
from test_determinism import check_same
from test_mpinp_mcp import INCLUDE, MACHINE, PLACE, shared

pytestmark = pytest.mark.core


def carry_out(place: Path, program: Path, *words: str, sets: list[str] | None = None) -> str:
    """What it prints."""
    options = [word for each in ["check.coherence=true", *(sets or [])] for word in ("--set", each)]
    arguments = list(words)
    cut = arguments.index("--")
    run = ["run", "--out", "out", *MACHINE, *options, *arguments[:cut]]
    done = command(*run, "--", str(program), *arguments[cut + 1 :], directory=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("each", [1, 2, 4])
def test_the_kernel_pins_what_is_its_processs_and_no_more(
    compile_c: Compiler, tmp_path: Path, each: int
) -> None:
    program = compile_c("pins", (PLACE / "pins.c").read_text(), *INCLUDE)
    sets = ["mpinp.shared.pages=400", f"mpinp.shared.entry_pages={each}"]
    assert "pins: PASSED" in carry_out(tmp_path, program, "-np", "1", "--", sets=sets)


# Ranks, ranks of a node, and page tables.
PLACES = {
    "alone": ("1", 1, []),
    "apart": ("3", 1, ["mpinp.shared.entry_pages=1"]),
    "together": ("4", 4, ["mpinp.shared.pages=600"]),
    "two": ("4", 2, ["mpinp.shared.pages=64", "mpinp.shared.entry_pages=1"]),
    "pairs": ("3", 2, ["mpinp.shared.pages=150", "mpinp.shared.entry_pages=2"]),
    "buffer": ("2", 1, ["mpinp.control.buffer=128 B", "mpinp.shared.pages=128"]),
}
# All tables have room for its pages where they have for the longest's, and it takes the host half
# as long.
SHORTER = {} if SWEEP else dict.fromkeys(("together", "two", "pairs"), "40000")


@pytest.mark.parametrize("where", PLACES if SWEEP else ["alone", "apart", "buffer", "pairs"])
def test_data_lie_in_pages_in_any_way(compile_c: Compiler, tmp_path: Path, where: str) -> None:
    """Odd lengths and alignments, short receives, untouched pages, and neighbours that are written
    meanwhile."""
    program = compile_c("pages", (PLACE / "pages.c").read_text())
    ranks, per_node, sets = PLACES[where]
    longest = SHORTER.get(where, "70000")
    words = ["-np", ranks, *(shared(per_node) if per_node > 1 else []), "--", longest]
    assert "pages: PASSED" in carry_out(tmp_path, program, *words, sets=sets)


def test_processes_that_share_a_hart_pin_their_own_pages(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """Before, the checker of coherence knew the window of a hart's first process alone."""
    program = compile_c("pages", (PLACE / "pages.c").read_text())
    words = ["-np", "3", "--ranks-per-node", "3", "--", "20000"]
    assert "pages: PASSED" in carry_out(tmp_path, program, *words)


VARIATIONS = {
    "two": ["--threads", "2"],
    "four": ["--threads", "4"],
    "windows": ["--set", "check.window=1 us"],
    "spinning": ["--set", "check.spin_skip=false"],
}


@pytest.mark.parametrize("entry", ["1", pytest.param("4", marks=pytest.mark.long)])
@pytest.mark.turn(3)
def test_results_do_not_depend_on_how_it_is_simulated(
    compile_c: Compiler, tmp_path: Path, entry: str
) -> None:
    program = compile_c("pages", (PLACE / "pages.c").read_text())
    common = ["-np", "4", *MACHINE, *shared(2), "--set", f"mpinp.shared.entry_pages={entry}"]
    common += ["--set", "mpinp.shared.pages=256"]
    names = [name for each, name in in_turn(["1", "4"], VARIATIONS) if each == entry]
    variations = {name: VARIATIONS[name] for name in names}
    longest = "20000" if SWEEP else "5001"
    check_same(tmp_path, common, [program, longest], variations)


@pytest.mark.parametrize(
    ("where", "bytes_"),
    [
        *in_turn(["constant", "code"], ["8", "500", "5000", "60000"]),
        *[("end", "163840"), ("middle", "500"), ("middle", "60000")],
        *[("gone", "500"), ("gone", "60000")],
    ],
)
def test_what_is_not_to_be_written_is_not(
    compile_c: Compiler, tmp_path: Path, where: str, bytes_: str
) -> None:
    """The process has a fault, as if it had written itself."""
    program = compile_c("unwritable", (PLACE / "unwritable.c").read_text())
    run = ["run", "--out", "out", "-np", "2", *MACHINE]
    done = command(*run, "--", str(program), where, bytes_, directory=tmp_path)
    assert done.returncode in (128 + 7, 128 + 11), done.stdout + done.stderr
    assert "fault: rank 1 " in done.stderr
    assert "received" not in done.stdout


def test_pages_that_no_data_come_to_need_not_be_there(compile_c: Compiler, tmp_path: Path) -> None:
    """If they are behind what entries name: pinned is what can be."""
    program = compile_c("unwritable", (PLACE / "unwritable.c").read_text())
    assert "received" in carry_out(tmp_path, program, "-np", "2", "--", "end", "60000")


@pytest.mark.parametrize(("pages", "when"), [("15400", "meanwhile"), ("128", "afterwards")])
def test_what_is_within_reach_goes_without_the_host(
    compile_c: Compiler, tmp_path: Path, pages: str, when: str
) -> None:
    """Beyond it, progress is the user's (MPI-NP, section 3.5)."""
    program = compile_c("alone", (PLACE / "alone.c").read_text())
    sets = [f"mpinp.shared.pages={pages}"]
    found = carry_out(tmp_path, program, "-np", "2", "--", "1000000", "20000000", sets=sets)
    assert f"it came {when}" in found


@pytest.mark.parametrize("what", ["foreign", "free", "page", "long", "read", "reuse", "table"])
def test_a_forged_entry_harms_its_own_process_alone(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    """The others' messages go on. Before, a page that was given up became a page table, and the
    card wrote there (`table`)."""
    program = compile_c("forged", (PLACE / "forged.c").read_text(), *INCLUDE)
    words = ["-np", "3", *MACHINE, *shared(3), "--set", "node.software.fault_ends_job=false"]
    words += ["--limit-time", "20 ms"]
    done = command("run", "--out", "out", *words, "--", str(program), what, directory=tmp_path)
    assert "fault: rank 1 " in done.stderr
    for rank in (0, 2):
        assert f"rank {rank}: PASSED" in (tmp_path / "out" / f"stdout.{rank}").read_text()


def test_what_can_not_be_is_refused(tmp_path: Path, examples: Path) -> None:
    for setting, text in {
        "node.software.kernel=false": 'mpinp.control.image: "mcp" needs a kernel',
        "mpinp.shared.entry_pages=3": "mpinp.shared.entry_pages = 3: 1, 2 and 4 are allowed",
        "mpinp.shared.pages=100": "each has 25 entries of the page table; from 32 to 65535",
        "mpinp.shared.host=16 KiB": 'firmware "mcp" needs at least 28 KiB for each process',
    }.items():
        words = ["run", "-np", "2", *MACHINE, "--set", setting, "--", str(examples / "ring")]
        done = command(*words, directory=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
