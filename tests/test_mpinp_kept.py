"""Pages that stay pinned, and the TLB on mpinp's card: mpinp/pin-cache, mpinp/nic-tlb.

Use this when machines/mpinp/mcp/cache.c, kernel/cache.c or firmware/mcp/tlb.c change.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import SWEEP, command, in_turn
from test_determinism import check_same
from test_mpinp_mcp import INCLUDE, PLACE, SEED, shared

pytestmark = pytest.mark.core

VARIANTS = ["mpinp/nic-tlb", "mpinp/pin-cache"]
# 44 entries, 11 of which name pages that stay pinned.
FEW = ["--set", "mpinp.shared.pages=176", "--set", "mpinp.shared.kept=25"]


def counters(run: Path, node: int, group: str) -> dict[str, int]:
    """Of a group of the card's."""
    found = json.loads((run / "stats.json").read_text())[f"node{node:05}"]["ni"][group]
    return {name: each["value"] for name, each in found.items()}


def carry_out(place: Path, program: Path, machine: str, *words: str, sets: list[str]) -> str:
    options = ["--machine", machine, *sets, "--set", "check.coherence=true"]
    run = ["run", "--out", "out", "-np", "2", *options, "--", str(program), *words]
    done = command(*run, directory=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("machine", "what"),
    in_turn(VARIANTS, ["gone", "over", "moved", "dropped", "heap", "part"]),
)
def test_data_are_in_the_memory_that_is_there(
    compile_c: Compiler, tmp_path: Path, machine: str, what: str
) -> None:
    """Other pages come to the same addresses: the kernel takes those before out of their entries,
    and out of the card's TLB, whatever system call it was. Without either, data come to pages that
    are the process's no more."""
    program = compile_c("kept", (PLACE / "kept.c").read_text())
    assert f"kept, {what}: PASSED" in carry_out(tmp_path, program, machine, what, sets=[])
    found = counters(tmp_path / "out", 1, "pin_cache")
    assert found["evictions"] == 0
    assert found["misses"] >= 6


@pytest.mark.parametrize(("machine", "what"), in_turn(VARIANTS, ["again", "both"]))
def test_what_is_pinned_is_found(
    compile_c: Compiler, tmp_path: Path, machine: str, what: str
) -> None:
    """Six messages and one system call, also where memory is sent from that was received to."""
    program = compile_c("kept", (PLACE / "kept.c").read_text())
    carry_out(tmp_path, program, machine, what, sets=[])
    found = counters(tmp_path / "out", 1, "pin_cache")
    assert found == {"hits": 5, "misses": 1, "evictions": 0}
    if machine == "mpinp/nic-tlb":
        assert counters(tmp_path / "out", 1, "tlb") == {"hits": 5, "misses": 1}


@pytest.mark.parametrize("machine", VARIANTS)
def test_the_least_recently_used_makes_room(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Sixteen blocks, eleven entries; the first block is used between each two others."""
    program = compile_c("kept", (PLACE / "kept.c").read_text())
    assert "many: PASSED" in carry_out(tmp_path, program, machine, "many", "16", sets=FEW)
    found = counters(tmp_path / "out", 1, "pin_cache")
    assert found == {"hits": 14, "misses": 16, "evictions": 5}


def test_longer_data_than_these_entries_reach_are_pinned_anew(
    compile_c: Compiler, tmp_path: Path
) -> None:
    program = compile_c("kept", (PLACE / "kept.c").read_text())
    assert "long: PASSED" in carry_out(tmp_path, program, "mpinp/nic-tlb", "long", sets=FEW)
    assert counters(tmp_path / "out", 1, "pin_cache")["misses"] == 0


@pytest.mark.parametrize("machine", VARIANTS)
def test_what_may_only_be_read_is_sent_and_not_written(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("kept", (PLACE / "kept.c").read_text())
    run = ["run", "--out", "out", "-np", "2", "--machine", machine, "--", str(program), "rights"]
    done = command(*run, directory=tmp_path)
    assert done.returncode == 128 + 11, done.stdout + done.stderr
    assert "fault: rank 1 " in done.stderr
    assert "the page does not allow it" in done.stderr
    assert "is wrong" not in done.stdout


@pytest.mark.parametrize(
    ("machine", "what"),
    [*in_turn(VARIANTS, ["given", "constant"]), *[(each, "lent") for each in VARIANTS]],
)
def test_an_entry_that_stays_harms_its_own_process_alone(
    compile_c: Compiler, tmp_path: Path, machine: str, what: str
) -> None:
    """The card has used it before, and its TLB has it."""
    program = compile_c("forged", (PLACE / "forged.c").read_text(), *INCLUDE)
    words = ["-np", "3", "--machine", machine, *shared(3), "--limit-time", "20 ms"]
    words += ["--set", "node.software.fault_ends_job=false"]
    done = command("run", "--out", "out", *words, "--", str(program), what, directory=tmp_path)
    assert "fault: rank 1 " in done.stderr
    assert "leads to an entry of the page table" in done.stderr
    for rank in (0, 2):
        assert f"rank {rank}: PASSED" in (tmp_path / "out" / f"stdout.{rank}").read_text()


# How many ranks share a node, and page tables.
TABLES = {
    "few": (1, FEW),
    "page": (2, [*FEW, "--set", "mpinp.shared.entry_pages=1"]),
    "usual": (2, []),
}


@pytest.mark.parametrize(("machine", "table"), in_turn(VARIANTS, TABLES))
def test_messages_in_any_order(
    compile_c: Compiler, tmp_path: Path, machine: str, table: str
) -> None:
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    per_node, sets = TABLES[table]
    words = ["-np", "4", "--machine", machine, *(shared(per_node) if per_node > 1 else []), *sets]
    arguments = [str(SEED + 31), "60", "20000"]
    done = command(
        "run", "--out", "out", *words, "--", str(program), *arguments, directory=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"schedule, seed {SEED + 31}: PASSED" in done.stdout


@pytest.mark.turn(4)
def test_results_do_not_depend_on_how_it_is_simulated(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    common = ["-np", "4", "--machine", "mpinp/nic-tlb", *shared(2), *FEW]
    common += ["--set", "mpinp.shared.entry_pages=2"]
    check_same(tmp_path, common, [program, str(SEED + 23), "30", "20000"])


@pytest.mark.parametrize("machine", VARIANTS if SWEEP else VARIANTS[:1])
def test_data_lie_in_pages_in_any_way(compile_c: Compiler, tmp_path: Path, machine: str) -> None:
    program = compile_c("pages", (PLACE / "pages.c").read_text())
    longest = "70000" if SWEEP else "20000"
    assert "pages: PASSED" in carry_out(tmp_path, program, machine, longest, sets=FEW)


def test_the_tlb_has_nothing_that_changed_while_it_was_fetched(
    chasqui: Run, compile_c: Compiler
) -> None:
    """The firmware's file by itself, under a program that plays the kernel."""
    firmware = ROOT / "machines" / "mpinp" / "firmware"
    include = [f"-I{firmware}", f"-I{firmware / 'mcp'}", *INCLUDE]
    sources = [*include, str(firmware / "mcp" / "tlb.c")]
    program = compile_c("tlb", (PLACE / "tlb.c").read_text(), *sources)
    done = chasqui("run", "-np", "1", "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tlb: PASSED" in done.stdout


def test_what_can_not_be_is_refused(tmp_path: Path, examples: Path) -> None:
    for setting, text in {
        "mpinp.shared.kept=0": "mpinp.control.tlb = 256: it has entries whose pages stay pinned",
        "mpinp.control.tlb=100": "mpinp.control.tlb = 100: 0 and powers of two are allowed",
        "mpinp.shared.pages=200": "mpinp.shared.kept = 50: of its 50 entries of the page table",
    }.items():
        words = ["run", "-np", "2", "--machine", "mpinp/nic-tlb", "--set", setting]
        done = command(*words, "--", str(examples / "ring"), directory=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
