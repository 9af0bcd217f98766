"""The channels of mpinp's card as a cache of more: mpinp/channel-cache.

Use this when machines/mpinp/protocol/cache.c, lease_table.h or firmware/mcp/channels change. Few
rings and tables (`mpinp.control.channels`) do with few ranks what 64 do with many.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, command, in_turn
from test_determinism import differences
from test_mpinp_mcp import INCLUDE, PLACE, SEED, shared

pytestmark = pytest.mark.core

MACHINE = ["--machine", "mpinp/channel-cache"]


def places(count: int) -> list[str]:
    return ["--set", f"mpinp.control.channels={count}"]


def counted(run: Path) -> dict[str, int]:
    """Of all cards together."""
    sums: dict[str, int] = {}
    for name, node in json.loads((run / "stats.json").read_text()).items():
        if re.fullmatch(r"node\d+", name):
            for key, each in node["ni"]["channels"].items():
                sums[key] = sums.get(key, 0) + each["value"]
    return sums


LIMIT_S = 300


def carry_out(place: Path, *words: str, out: str = "out", limit_s: int = LIMIT_S) -> str:
    done = command("run", "-q", "--out", out, *words, directory=place, limit_s=limit_s)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    place = tmp_path_factory.mktemp("channels")
    source = PLACE / "channels.c"
    done = command("cc", "-O2", "-o", "channels", str(source), directory=place)
    assert done.returncode == 0, done.stderr
    return place / "channels"


@pytest.mark.parametrize(
    ("count", "what"), in_turn([1, 2], ["all 2", "gather 3", "held", "thrash 4"])
)
def test_each_rank_hears_of_each_other(
    program: Path, tmp_path: Path, what: str, count: int
) -> None:
    """Without more than one or two rings and tables: messages wait for these, are drained where
    they are in the way, and all come."""
    words = ["-np", "5", *MACHINE, *places(count), "--set", "mpinp.control.eager=0 B"]
    found = carry_out(tmp_path, *words, "--", str(program), *what.split())
    assert f"channels, {what.split(maxsplit=1)[0]}: PASSED" in found
    counts = counted(tmp_path / "out")
    assert counts["recalls"] > 0
    assert counts["misses"] == counts["leases"]
    if what.startswith(("all", "held")):
        assert counts["ring_waits"] > 0


TINY = ["mpinp.control.slots=1", "mpinp.control.buffer=128 B", "mpinp.control.eager=0 B"]


@pytest.mark.parametrize(("per_node", "count"), in_turn([1, 2], [1, 2]))
def test_messages_in_any_order(
    compile_c: Compiler, tmp_path: Path, per_node: int, count: int
) -> None:
    """Early, unexpected, truncated, synchronous, ready and cancelled ones, with wildcards."""
    schedule = compile_c("schedule", (PLACE / "schedule.c").read_text())
    sets = [word for each in TINY for word in ("--set", each)] if count == 1 else []
    seed = SEED + 60 + count
    words = ["-np", "4", *MACHINE, *shared(per_node), *places(count), *sets]
    found = carry_out(tmp_path, *words, "--", str(schedule), str(seed), "50", "20000")
    assert f"schedule, seed {seed}: PASSED" in found


@pytest.mark.parametrize("what", ["drained", "flood"])
def test_a_request_that_may_not_be_is_its_own_processs_fault(
    compile_c: Compiler, tmp_path: Path, what: str
) -> None:
    """Told that a message was drained which left its ring; more sends than a ring has room for."""
    program = compile_c("forged", (PLACE / "forged.c").read_text(), *INCLUDE)
    words = ["-np", "3", *MACHINE, *places(1), *shared(3), "--", str(program), what]
    done = command("run", "--out", "out", *words, directory=tmp_path)
    assert "fault: rank 1 " in done.stderr
    assert "protection: " in done.stderr


@pytest.mark.parametrize("what", ["kept", "off"])
def test_credit_of_headers_that_wait(tmp_path: Path, what: str) -> None:
    """What the cards' queues do seldom: a header is kept, or put off, while a table is leased."""
    protocol = ROOT / "machines" / "mpinp" / "protocol"
    sources = [str(path) for path in sorted(protocol.glob("*.c"))]
    flags = ["-std=c11", "-Wall", "-Werror", "-DPROTOCOL_CACHE", f"-I{protocol}"]
    program = tmp_path / "waiting"
    build = ["gcc", *flags, "-o", str(program), str(PLACE / "waiting.c"), *sources]
    subprocess.run(build, check=True)
    done = subprocess.run([str(program), what], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "waiting: PASSED" in done.stdout


@pytest.mark.turn(1)
def test_results_do_not_depend_on_how_it_is_simulated(program: Path, tmp_path: Path) -> None:
    common = ["-np", "4", *MACHINE, *places(1)]
    for threads in ("1", "2"):
        carry_out(
            tmp_path, *common, "--threads", threads, "--", str(program), "all", "1", out=threads
        )
    assert differences(tmp_path / "1", tmp_path / "2", ["--threads"]) == []


def test_a_hit_costs_little_and_a_miss_more(program: Path, tmp_path: Path) -> None:
    def message(machine: str, what: str, *sets: str) -> int:
        words = ["-np", "3", "--machine", machine, *sets, "--", str(program), what, "6"]
        found = re.search(
            r"a message: (\d+) ns", carry_out(tmp_path, *words, out=what + machine[6:])
        )
        assert found
        return int(found[1])

    plain = message("mpinp/mcp", "turns")
    hit = message("mpinp/channel-cache", "turns")
    assert counted(tmp_path / "turnschannel-cache")["recalls"] == 0
    miss = message("mpinp/channel-cache", "thrash", *places(1))
    assert counted(tmp_path / "thrashchannel-cache")["recalls"] > 0
    print(f"a message: {plain} ns; where channels are a cache, a hit {hit} ns, a miss {miss} ns")
    assert plain < hit < 1.25 * plain
    assert 1.2 * hit < miss


def test_the_largest_number_of_ranks_is_named(tmp_path: Path, examples: Path) -> None:
    ring = str(examples / "ring")
    for words, text in {
        ("-np", "66", "--machine", "mpinp"): "with 1 on a node, up to 64 ranks can run (more on",
        ("-np", "17", "--machine", "mpinp", *shared(4)): "with 4 on a node, up to 16 ranks can run",
        ("-np", "90", *MACHINE): "up to 84 ranks can run",
        ("-np", "60", *MACHINE, *shared(6)): "need",
    }.items():
        done = command("run", *words, "--", ring, directory=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
    assert re.search(r"need \d+ B; up to \d+ ranks can run", done.stderr)


@pytest.mark.long
def test_every_rule_of_the_cache_is_needed(tmp_path: Path) -> None:
    """All interleavings of small programs where a card has one ring and one table."""
    explorer = ROOT / "machines" / "mpinp" / "explorer"
    command_line = ["make", "-C", str(explorer), f"BUILD={tmp_path}", "cached"]
    done = subprocess.run(command_line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"0 failed; (\d+) of (\d+) rules are missed", done.stdout)
    assert found, done.stdout
    assert found[1] == found[2]
    assert int(found[2]) > 20


# Ranks, ranks a node, and what they do. A card has 64 tables. A sweep has 80 ranks, which take the
# host half a minute to some minutes of one processor.
MANY = [(66, 1, "gather")]
MANY += [
    (80, per_node, name)
    for name in ("ring -l 1", "cg -i 1 -g 10", "all", "gather")
    for per_node in (1, 4)
] * SWEEP


@pytest.mark.parametrize(("ranks", "per_node", "name"), MANY)
@pytest.mark.turn(3)
def test_more_ranks_than_a_card_has_tables_are_right(
    program: Path, examples: Path, tmp_path: Path, ranks: int, per_node: int, name: str
) -> None:
    first, *arguments = name.split()
    path = program if first in ("all", "gather") else examples / first
    arguments = [first, "1"] if path == program else arguments
    words = ["-np", str(ranks), *MACHINE, *(shared(per_node) if per_node > 1 else [])]
    said = carry_out(
        tmp_path, *words, "--", str(path), *arguments, limit_s=1800 if ranks == 80 else LIMIT_S
    )
    assert f"{'channels, ' if path == program else ''}{first}: PASSED" in said
