"""Waiting by interrupt on mpinp: mpinp/interrupt.

Use this when machines/mpinp/kernel/interrupt, firmware/mcp/interrupt, wake/ or board/interrupt.rs
change. Seeds are the programs' arguments; SEED adds to them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Compiler
from simulated import EXAMPLES, SWEEP, command, in_turn
from test_determinism import differences
from test_mpinp_kept import counters
from test_mpinp_mcp import INCLUDE, PLACE, SEED

from chasqui import core, firmware

pytestmark = pytest.mark.core

MACHINE = ["--machine", "mpinp/interrupt"]
# A process sleeps as soon as it waits; or has looked once before.
AT_ONCE = ["--set", "mpinp.shared.polls=0"]
AFTER_A_LOOK = ["--set", "mpinp.shared.polls=1"]
# A slow host and a fast card, which looks who waits before a process that begins to wait has said
# so. At the usual clocks the card is later, and misses nobody.
OPEN = ["node.core.clock=66 MHz", "mpinp.np.clock_factor=8", "mpinp.np.instruction_cache=64 KiB"]
SOURCES = ROOT / "machines" / "mpinp"


def on_a_hart(quantum: str) -> list[str]:
    """Two ranks a node, which take turns on its hart."""
    return ["--ranks-per-node", "2", "--set", f"node.scheduler.quantum={quantum}"]


def run(place: Path, program: Path, *words: str, sets: list[str], name: str = "out") -> str:
    options = ["run", "-q", "--out", name, *sets]
    done = command(*options, "--", str(program), *words, directory=place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    return done.stdout


def of_card(place: Path, node: int) -> dict[str, int]:
    return counters(place, node, "interrupt")


@pytest.fixture
def wakes(compile_c: Compiler) -> Path:
    return compile_c("wakes", (PLACE / "wakes.c").read_text())


RACE = ["race", str(SEED + 5), "400" if SWEEP else "60", "20000"]


def test_nothing_is_lost_whenever_a_process_waits(wakes: Path, tmp_path: Path) -> None:
    """Some messages come between the last poll and the sleep: the kernel's second look."""
    sets = ["-np", "2", *MACHINE, *AFTER_A_LOOK]
    sets += [word for each in OPEN for word in ("--set", each)]
    run(tmp_path, wakes, *RACE, sets=sets)
    found = of_card(tmp_path / "out", 0)
    assert found["withdrawn"] > 0, "no message came in between: another seed"
    assert found["waits"] - found["withdrawn"] <= found["interrupts"] <= found["waits"]
    assert 0 < found["looks"] <= found["interrupts"]


# What is taken out, of which file, and what comes of it.
RULES = {
    "the second look": ("kernel", "if (has_event(seen) ||", "if ((has_event(seen) && !asked) ||"),
    "the request": ("kernel", "ni_store(asked, next_word(wants_room));", "next_word(wants_room);"),
    "the interrupt": ("firmware", "np_store(CHASQUI_NP_INTERRUPT, process);", ""),
    "the wake-up": ("kernel", "thread_wake_all(&sleepers[process]);", "(void)process;"),
}


def without(rule: str, place: Path) -> Path:
    """A folder with the firmware and the kernel of the variant, of which one lacks the rule."""
    part, before, after = RULES[rule]
    name = {"kernel": "wait.c", "firmware": "interrupt.c"}[part]
    changed = place / name

    def of(image: firmware.Image) -> firmware.Image:
        for file in image.sources:
            if file.name == name:
                text = file.read_text()
                assert text.count(before) == 1
                changed.write_text(text.replace(before, after))
        sources = [changed if file.name == name else file for file in image.sources]
        return firmware.Image(sources, image.header)

    images = place / "images"
    (images / "mpinp").mkdir(parents=True)
    there = firmware.directory()
    card, kernel = images / "mpinp" / "mcp-interrupt.elf", images / "mpinp.interrupt.kernel.elf"
    if part == "kernel":
        card.symlink_to(there / "mpinp" / card.name)
        firmware.link_kernel(of(firmware._drivers()["mpinp.interrupt"]), [SOURCES], kernel)
    else:
        kernel.symlink_to(there / kernel.name)
        firmware.link(of(firmware._images()["mpinp/mcp-interrupt"]), SOURCES, card)
    return images


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_a_process_sleeps_for_ever(wakes: Path, tmp_path: Path, rule: str) -> None:
    request: dict[str, Any] = {
        "machine": "mpinp/interrupt",
        "sets": [AFTER_A_LOOK[1], *OPEN],
        "ranks": 2,
        "program": str(wakes),
        "args": RACE,
        "firmware": str(without(rule, tmp_path)),
        "directory": str(tmp_path / "out"),
    }
    summary = core.run(request, None)
    assert summary["exit_status"] == 125, summary["message"]
    assert "an event of the card" in summary["message"]


def test_a_wait_has_one_interrupt(wakes: Path, tmp_path: Path) -> None:
    """A process that waits for one of many events."""
    words = ["all", str(SEED + 2), "6", "6000"]
    run(tmp_path, wakes, *words, sets=["-np", "3", *MACHINE, *AT_ONCE])
    for node in range(3):
        found = of_card(tmp_path / "out", node)
        assert found["waits"] - found["withdrawn"] <= found["interrupts"] <= found["waits"]
        assert found["waits"] > 0


# By ranks a node: they share a hart, or have one each.
NODES = {
    "alone": [],
    "hart": on_a_hart("50 us"),
    "harts": ["--ranks-per-node", "2", "--set", "node.harts=2"],
    "modern": ["--machine", "mpinp-modern/dpu", "--set", "mpinp.shared.wait=interrupt"],
}
TINY = {
    "usual": [],
    "slot": ["mpinp.control.slots=1", "mpinp.control.buffer=128 B", "mpinp.control.eager=0 B"],
    "pages": ["mpinp.shared.pages=256"],
    "queue": ["mpinp.control.queue=16"],
}


@pytest.mark.parametrize(("node", "tiny"), in_turn(NODES, TINY))
def test_messages_at_any_time(wakes: Path, tmp_path: Path, node: str, tiny: str) -> None:
    number = SEED + 10 * len(node) + len(tiny)
    sets = ["-np", "4", *MACHINE, *NODES[node], "--set", "check.coherence=true"]
    sets += [word for each in TINY[tiny] for word in ("--set", each)]
    sets += AT_ONCE if number % 2 else []
    print(f"seed {number}")
    run(tmp_path, wakes, "all", str(number), "30" if SWEEP else "5", "20000", sets=sets)


@pytest.mark.parametrize(("node", "tiny"), in_turn(NODES, TINY) if SWEEP else [("hart", "slot")])
def test_messages_of_all_kinds(compile_c: Compiler, tmp_path: Path, node: str, tiny: str) -> None:
    program = compile_c("schedule", (PLACE / "schedule.c").read_text())
    sets = ["-np", "4", *MACHINE, *NODES[node], *AT_ONCE]
    sets += [word for each in TINY[tiny] for word in ("--set", each)]
    run(tmp_path, program, str(SEED + 41), "60" if SWEEP else "25", "20000", sets=sets)


@pytest.mark.parametrize("name", EXAMPLES if SWEEP else ["ring", "heat"])
def test_examples_are_right(examples: Path, tmp_path: Path, name: str) -> None:
    ranks, arguments = EXAMPLES[name]
    arguments = arguments if SWEEP else {"ring": ["-l", "1"], "heat": ["-n", "12", "-t", "2"]}[name]
    sets = ["-np", str(ranks), *MACHINE, *(on_a_hart("100 us") if name != "ring" else [])]
    run(tmp_path, examples / name, *arguments, sets=sets)


def test_who_waits_leaves_the_hart_to_who_computes(wakes: Path, tmp_path: Path) -> None:
    """Polling takes every other turn."""
    taken = {}
    for machine in ("mpinp", "mpinp/interrupt"):
        sets = ["-np", "4", "--machine", machine, *on_a_hart("100 us")]
        text = run(tmp_path, wakes, "share", "40000", sets=sets, name=machine.replace("/", "-"))
        taken[machine] = [float(time) for time in re.findall(r"computed for ([\d.]+) us", text)]
    print(taken)
    for polling, interrupt in zip(*taken.values(), strict=True):
        assert 1.7 < polling / interrupt < 2.2


def to_program_us(place: Path, examples: Path, name: str, sets: list[str]) -> float:
    """From a short message's event in memory to the end of its receive, which was posted before:
    the median."""
    import pyarrow.parquet

    run(place, examples / "pingpong", "-n", "8", "-m", "4", sets=["-np", "2", *sets], name=name)
    rows = pyarrow.parquet.read_table(place / name / "messages.parquet").to_pylist()
    taken = sorted(
        row["done_ps"] - row["land_ps"]
        for row in rows
        if row["bytes"] == 4 and row["done_ps"] and row["post_ps"] < row["land_ps"]
    )
    return float(taken[len(taken) // 2]) / 1e6


def test_an_interrupt_costs_what_its_code_and_the_bus_take(examples: Path, tmp_path: Path) -> None:
    """A message that comes while its process polls costs little more; one that wakes it does."""
    never = ["--set", "mpinp.shared.polls=100000"]
    polling = to_program_us(tmp_path, examples, "polling", ["--machine", "mpinp"])
    patient = to_program_us(tmp_path, examples, "patient", [*MACHINE, *never])
    asleep = to_program_us(tmp_path, examples, "asleep", [*MACHINE, *AT_ONCE])
    print(polling, patient, asleep)
    assert polling <= patient < polling + 0.5
    # One load across the bus takes 0.3 us at least.
    assert polling + 3 < asleep < polling + 10


@pytest.mark.parametrize("harts", [1, 2])
@pytest.mark.parametrize("what", ["often", "forged", "unknown"])
def test_a_process_that_waits_as_it_likes_harms_itself_alone(
    compile_c: Compiler, tmp_path: Path, what: str, harts: int
) -> None:
    program = compile_c("stormy", (PLACE / "stormy.c").read_text(), *INCLUDE)
    values = {"often": ["60"], "forged": ["0xffffffff00000fff"], "unknown": [""]}[what]
    sets = ["-np", "4", *MACHINE, *on_a_hart("50 us"), "--set", f"node.harts={harts}"]
    words = ["run", "--out", "out", *sets, "--", str(program), what, *values]
    done = command(*words, directory=tmp_path)
    assert done.returncode == (125 if what == "forged" else 0), done.stdout + done.stderr
    texts = [(tmp_path / "out" / f"stdout.{rank}").read_text() for rank in range(4)]
    passed = [f"rank {rank}: PASSED" in text for rank, text in enumerate(texts)]
    assert passed == [True, what != "forged", True, True]
    if what == "forged":
        assert "rank 1" in done.stderr
        assert "an event of the card" in done.stderr


@pytest.mark.turn(3)
def test_results_do_not_depend_on_how_it_is_simulated(wakes: Path, tmp_path: Path) -> None:
    common = ["-np", "4", *MACHINE, *on_a_hart("50 us")]
    variations = {
        "one": ["--threads", "1"],
        "two": ["--threads", "2"],
        "windows": ["--set", "check.window=1 us"],
        "spinning": ["--set", "check.spin_skip=false"],
        "steps": ["--set", "check.executor=reference"],
    }
    for name, options in variations.items():
        words = ["all", str(SEED + 7), "12" if SWEEP else "3", "3000"]
        run(tmp_path, wakes, *words, sets=[*common, *options], name=name)
    for name, options in variations.items():
        found = differences(tmp_path / "one", tmp_path / name, [*options, "--threads"])
        assert found in ([], ["resolved.toml"]), name


def test_cards_whose_hosts_poll_have_none(wakes: Path, tmp_path: Path) -> None:
    run(tmp_path, wakes, "race", "1", "2", "10", sets=["-np", "2", "--machine", "mpinp"])
    found = json.loads((tmp_path / "out" / "stats.json").read_text())["node00000"]["ni"]
    assert "interrupt" not in found


def test_firmware_that_can_not_interrupt_is_refused(tmp_path: Path, examples: Path) -> None:
    sets = ["--machine", "mpinp/bip", "--set", "mpinp.shared.wait=interrupt"]
    done = command("run", "-np", "2", *sets, "--", str(examples / "ring"), directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'mpinp.shared.wait = interrupt: the firmware "bip"' in done.stderr
