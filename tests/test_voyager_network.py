"""Arctic under voyager: two priorities from queue to queue, and links that flip bits.

Use this when the NES's units, the network's faults, or what ends a run with a broken machine
change.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from test_determinism import THREADS, VARIATIONS, check
from test_voyager import NONE_RESIDENT, VARIANTS
from test_voyager_queues import counters

pytestmark = pytest.mark.core

PRIORITY = (ROOT / "tests" / "voyager" / "priority.c").read_text()
KINDS = ["express", "basic", "tagged"]
TWO_BASIC = ["--set", "voyager.queues.basic=2"]
HIGH = [
    *TWO_BASIC,
    *["--set", "voyager.queues.high_express=1", "--set", "voyager.queues.high_basic=1"],
]
# What finds no room in its queue, of 32 places, then waits in the network.
NO_SERVICE = [
    *["--set", "voyager.sp.present=false"],
    *["--set", "voyager.basic.slots=32", "--set", "voyager.express.slots=32"],
]


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_network_full_of_low_priority_lets_the_high_pass(
    compile_c: Compiler, chasqui: Run, machine: str, kind: str
) -> None:
    """300 low messages find 32 places in the receiver's queue and some in the network; nobody
    takes one before 50 high ones have come behind them."""
    program = compile_c("priority", PRIORITY)
    run = ["run", "-q", "-np", "2", "--machine", machine, "--set", "check.coherence=true"]
    done = chasqui(*run, *HIGH, *NO_SERVICE, "--", program, kind)
    assert (done.returncode, done.stdout) == (0, "priority: two\npriority: PASSED\n"), done.stderr
    # With one priority the high ones wait for the low, and rank 0 for them.
    done = chasqui(*run, *TWO_BASIC, *NO_SERVICE, "--", program, kind)
    assert (done.returncode, done.stdout) == (125, "priority: one\n")
    assert "deadlock" in done.stderr


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("buffers", ["1", "4"])
def test_the_service_processor_keeps_priorities_apart(
    compile_c: Compiler, chasqui: Run, tmp_path: Path, kind: str, buffers: str
) -> None:
    """Low messages fill the miss queue faster than the firmware empties it. With queues that it
    serves, too, all come, in order."""
    program = compile_c("priority", PRIORITY)
    small = ["--set", "voyager.sp.miss_slots=1", "--set", f"network.receive_buffer={buffers}"]
    for name, homes in (("resident", []), ("served", NONE_RESIDENT)):
        run = ["run", "--out", name, "-np", "2", "--machine", "voyager", *HIGH, *small, *homes]
        done = chasqui(*run, "--", program, kind)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / name / "stdout.0").read_text()
        assert text == "priority: two\npriority: PASSED\n"
        receiver, _sender = counters(tmp_path / name).values()
        assert receiver["missed"] > 0


def test_two_priorities_have_the_same_bits(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("priority", PRIORITY)
    names = ("again", "loops executed", "by the reference", "translated", *THREADS)
    run = ["-np", "2", "--machine", "voyager", *HIGH, *NO_SERVICE, "--", str(program), "express"]
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)


def test_more_queues_of_high_priority_than_there_are_are_refused(chasqui: Run) -> None:
    done = chasqui(
        "run", "--machine", "voyager", "--set", "voyager.queues.high_basic=2", "--", "nosuch"
    )
    assert done.returncode == 2
    assert "voyager.queues.high_basic: 2 of voyager.queues.basic = 1 can't" in done.stderr


def test_drained_queues_have_one_priority(examples: Path, chasqui: Run) -> None:
    """A mark says that all before it has come, which is true of its own priority alone."""
    ring = str(examples / "ring")
    run = ["run", "-np", "2", "--machine", "voyager/onequeue", *HIGH, "--job", f"-np 2 {ring}"]
    done = chasqui(*run, "--", ring)
    assert done.returncode == 2
    assert "voyager.queues.high_express and high_basic must be 0" in done.stderr


# A faulty link, and where the first wrong CRC is found: at a router, at a node.
LINKS = {
    "node 1": "on the link from node 1 to router 0 port 1, of a packet of ",
    "router 1 port 0": "on the link from router 1 port 0 to node 2, of a packet of ",
}


@pytest.mark.parametrize("link", LINKS)
def test_a_corrupted_packet_ends_the_run(
    examples: Path, chasqui: Run, tmp_path: Path, link: str
) -> None:
    sets = ["--set", f"network.fault.link={link}", "--set", "network.fault.packet=3"]
    run = ["run", "--out", "run", "-np", "4", "--machine", "voyager", *sets]
    done = chasqui(*run, "--", examples / "ring")
    assert done.returncode == 135, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["outcome"], summary["exit_status"]) == ("fault", 135)
    message = summary["message"]
    assert message.startswith("network at ")
    assert LINKS[link] in message
    assert "from node 1 to node 2 with priority 0, of message " in message
    assert message in done.stderr
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())
    nodes = [stats[f"node{node:05}"]["ni"]["crc_errors"]["value"] for node in range(4)]
    # The routers find it, if it passes some, and the destination.
    assert stats["network"]["crc_errors"]["value"] == (3 if link == "node 1" else 0)
    assert nodes == [0, 0, 1, 0]
    assert "PASSED" not in done.stdout


def test_the_readme_shows_what_a_corrupted_packet_prints(
    examples: Path, chasqui: Run, tmp_path: Path
) -> None:
    readme = (ROOT / "machines" / "voyager" / "README.md").read_text()
    (shown,) = re.findall(r"(?m)^\$ chasqui (run .* \./ring)\n(chasqui: fault: .*\n)", readme)
    shutil.copy(examples / "ring", tmp_path)
    assert shown[1] in chasqui(*shlex.split(shown[0])).stderr


def test_a_corrupted_packet_ends_all_jobs(examples: Path, chasqui: Run, tmp_path: Path) -> None:
    ring = str(examples / "ring")
    sets = ["--set", "network.fault.link=node 1", "--set", "network.fault.packet=3"]
    run = ["run", "--out", "run", "-np", "4", "--machine", "voyager", *sets]
    done = chasqui(*run, "--job", f"-np 2 {ring}", "--", ring)
    assert done.returncode == 135, done.stderr
    assert "on the link from node 1 to router 0 port 1" in done.stderr
    summaries = sorted(tmp_path.glob("run*/**/summary.json"))
    assert len(summaries) == 2
    assert {json.loads(path.read_text())["outcome"] for path in summaries} == {"fault"}


def test_faults_have_the_same_bits(examples: Path, tmp_path: Path) -> None:
    names = ("again", "loops executed", "by the reference", "translated", *THREADS)
    sets = ["--set", "network.fault.rate=0.02", "--set", "network.fault.burst=9"]
    run = ["-np", "4", "--machine", "voyager", *sets, "--", str(examples / "ring")]
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 135)


def test_sound_links_that_are_checked_take_the_same_times(
    examples: Path, chasqui: Run, tmp_path: Path
) -> None:
    """A packet that never comes is to be hit: CRCs are made and checked, and none is wrong."""
    for name, sets in (("off", []), ("on", ["--set", "network.fault.packet=1000000000"])):
        done = chasqui(
            "run", "--out", name, "-np", "4", "--machine", "voyager", *sets, "--", examples / "ring"
        )
        assert done.returncode == 0, done.stderr
    files = ("summary.json", "stats.json", "messages.parquet")
    assert all(
        (tmp_path / "off" / f).read_bytes() == (tmp_path / "on" / f).read_bytes() for f in files
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            "link=port 3",
            'network.fault.link: "port 3" names no link; allowed: "all", "node 3", "router 0',
        ),
        (
            "link=node 7",
            "network.fault.link: no link begins at node 7: there are 2 nodes and 1 router,",
        ),
        ("rate=2", "network.fault.rate"),
    ],
)
def test_a_fault_that_can_not_be_is_refused(
    examples: Path, chasqui: Run, value: str, text: str
) -> None:
    sets = ["--set", f"network.fault.{value}", "--set", "network.fault.packet=1"]
    done = chasqui("run", "-np", "2", "--machine", "voyager", *sets, "--", examples / "ring")
    assert done.returncode == 2
    assert text in done.stderr


IN_VAIN = "network.fault.rate and network.fault.packet are both 0: nothing is hit"


@pytest.mark.parametrize("value", ["kind=drop", "kind=corrupt", "link=node 1", "burst=9"])
def test_a_fault_that_hits_nothing_is_refused(
    examples: Path, chasqui: Run, tmp_path: Path, value: str
) -> None:
    """On the command line and in a machine file; who says that none is hit may say so."""
    key, _, word = value.partition("=")
    text = word if word.isdecimal() else f'"{word}"'
    machine = tmp_path / "faulty.toml"
    machine.write_text(f'schema_version = 1\nextends = "voyager"\nnetwork.fault.{key} = {text}\n')
    program = ["--", examples / "ring", "--help"]
    for words in (["-m", "voyager", "--set", f"network.fault.{value}"], ["-m", machine]):
        done = chasqui("run", "-np", "2", *words, *program)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"network.fault.{key}: {IN_VAIN} (network.fault." in done.stderr
    none = ["-m", "voyager", "--set", "network.fault.link=node 1", "--set", "network.fault.rate=0"]
    assert chasqui("run", "-np", "2", *none, *program).returncode == 0
