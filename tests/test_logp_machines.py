"""What `chasqui logp` prints of simulated machines, against what knows nothing of it.

Use this when a ring, a buffer, a machine's `warm_up` or guest/bench/logp.c changes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import ROOT, Run
from simulated import CONTAINED, SWEEP, command, is_slow, machines

from chasqui import core, loggp, measurement, messages
from chasqui.loggp import SizeFigures

pytestmark = pytest.mark.core

SIZES = (8, 64, 1024)
# Of the latency: what phases of a polling loop that a plain program always meets alike make of it.
LIKE = Fraction(4, 100)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "plain"
    source = ROOT / "tests" / "logp" / "plain.c"
    assert command("cc", "-O2", "-o", path, source, directory=path.parent).returncode == 0
    return path


def pings(plain: Path, machine: str, size: int) -> dict[str, Fraction]:
    """Means of the second half of 600 round trips [ps]."""
    place = f"{machine.replace('/', '-')}-{size}"
    run = ["run", "-np", "2", "--machine", machine, "--out", place, "--", plain, size]
    done = command(*map(str, run), directory=plain.parent)
    assert done.returncode == 0, done.stderr
    records = messages.read(plain.parent / place / "messages.parquet")
    late = [each for each in records if each.tag == 1 and each.bytes == size]
    assert len(late) == 600
    parts = {"o_send": loggp.o_send, "o_recv": loggp.o_recv, "latency": loggp.latency}
    return {name: Fraction(sum(of(each) for each in late), len(late)) for name, of in parts.items()}


# Of SLOW ones figures are of a sweep. In CI each machine is held against one of two: a plain
# program, and what is possible.
MEASURED = [machine for machine in machines() if SWEEP or not is_slow(machine)]
PLAIN = MEASURED if SWEEP else MEASURED[::2]


@pytest.mark.parametrize("machine", PLAIN)
def test_a_plain_program_takes_as_long(plain: Path, machine: str) -> None:
    """Before, rings were cold: o_send on netcache/ldtct was 278 ns instead of 646."""
    sizes = SIZES if SWEEP else SIZES[machines().index(machine) % len(SIZES) :][:1]
    found = {each.bytes: each for each in measurement.measure(machine, sizes).figures.sizes}
    for size in sizes:
        expected = pings(plain, machine, size)
        for name, ps in expected.items():
            measured = found[size].samples[name].mean
            assert abs(measured - ps) <= LIKE * expected["latency"], (name, size)
        assert not found[size].unsteady


# What is measured takes whole turns of the rings. The longest streams, and those of short messages
# where TCP puts them together, are of a sweep; and variants whose parts all are in others but for
# VIA's, which have a device of their own.
POSSIBLE = [
    machine
    for machine in MEASURED
    if SWEEP or (machine not in PLAIN and (machine not in CONTAINED or machine.endswith("via")))
]


def possible_sizes(machine: str) -> str:
    if SWEEP:
        return "8,64,16384,32768"
    return "8,8192,16384" if machine == "netcache/tcp" else "8,64,16384"


# A kernel that copies many long messages is slow to simulate: of these fewer where rings are short.
# Figures are others with them, and must be possible as well; a sweep has them as by default.
SHORT_RINGS = {
    "netcache/mvia": [
        "netcache.mpi.slots=16",
        "netcache.mpi.arrivals=16",
        "netcache.via.depth=16",
        "netcache.ethernet.receive_slots=32",
    ]
}


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(each, marks=[pytest.mark.long] * (turn % 2))
        for turn, each in enumerate(POSSIBLE)
    ],
)
def test_figures_are_possible(chasqui: Run, machine: str) -> None:
    """No gap below 0, no stream faster than its link, no figure without its reason."""
    rings = [] if SWEEP else SHORT_RINGS.get(machine, [])
    sets = [word for each in rings for word in ("--set", each)]
    done = chasqui(
        "logp", "--machine", machine, *sets, "--sizes", possible_sizes(machine), "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    values = {each["name"]: each["value"] for each in core.parameters(machine)}
    if "network.link_bandwidth" in values:
        number, unit = values["network.link_bandwidth"].split()
        least = 10**12 / (float(number) * {"MB/s": 10**6, "GB/s": 10**9}[unit])
        assert found["G_ps_per_byte"] >= least
        for each in found["sizes"]:
            assert each["gap_ps"] >= each["bytes"] * least
    assert found["g_ps"] > 0
    assert (found["L_ps"] or 0) > 0 or found["reasons"]["L"] == "o_send of 8 B holds a part of it"
    for each in found["sizes"]:
        for name, (low, high) in each["spread_ps"].items():
            assert low <= high, name
        assert each["spread_ps"]["gap"][0] <= each["gap_ps"] <= each["spread_ps"]["gap"][1]


@pytest.mark.turn(1)
def test_sizes_that_travel_otherwise_give_no_slope(chasqui: Run) -> None:
    """Before: G = -0.8 ns a byte, and with one size 0."""
    for sizes in ("8,64", "64"):
        found = json.loads(
            chasqui("logp", "-m", "voyager-modern", "--sizes", sizes, "--json").stdout
        )
        assert found["reasons"]["G"]
        assert found["G_ps_per_byte"] == pytest.approx(found["sizes"][-1]["gap_ps"] / 63)
    found = json.loads(chasqui("logp", "-m", "voyager-modern", "--sizes", "1", "--json").stdout)
    assert found["G_ps_per_byte"] is None
    shown = chasqui("logp", "-m", "voyager-modern", "--sizes", "1").stdout
    assert "G not seen" in shown
    assert "G: it takes messages of more than a byte" in shown


def test_a_size_does_not_depend_on_the_others(chasqui: Run) -> None:
    found = [
        json.loads(chasqui("logp", "-m", "voyager-modern", "--sizes", sizes, "--json").stdout)
        for sizes in ("8", "1,8,512", "8,16384")
    ]
    of_8 = [next(each for each in one["sizes"] if each["bytes"] == 8) for one in found]
    assert of_8[0] == of_8[1] == of_8[2]


def test_no_other_stream_is_faster(tmp_path: Path) -> None:
    """Before, voyager was said to take 4,160 ns for each 8 bytes; blocking calls took 2,440 then,
    and up to 3,160 with later libraries: where the receiver's looks fall decides, which moves with
    where its code lies. The last line is the control, of messages without data, where less depends
    on that: it does matter which streams are measured."""
    job = measurement.job("voyager")

    def gap(size: int, *windows: int) -> Fraction:
        place = tmp_path / "-".join(map(str, windows))
        plan = replace(every(size), windows=windows)
        return measurement.measure_size(job, size, plan, place / str(size), lambda: None).gap.mean

    def every(size: int) -> measurement.Plan:
        (turn,) = core.warm_up("voyager", [], [size])
        return measurement.plan(size, turn)

    least = gap(8, *every(8).windows)
    assert least <= Fraction(101, 100) * min(gap(8, window) for window in (0, 1, 2, 8, 32, 64))
    assert 3 * gap(0, 0) < 2 * gap(0, 2)


def test_a_measurement_takes_whole_turns_of_rings() -> None:
    """Before, 512 messages of a stream were measured, behind a ring of 2,048 that is given back by
    halves."""
    for turn in (1, 16, 100, 2048):
        for size in (0, 8, 65536):
            plan = measurement.plan(size, turn)
            assert plan.warm_up >= turn
            assert plan.trips % plan.warm_up == 0
            assert plan.stream % (2 * plan.warm_up) == 0


RAISED = {
    "voyager/flush": ["voyager.basic.slots=512", "voyager.mpi.mechanism=basic"],
    "voyager-modern": ["voyager.basic.slots=2048"],
    "voyager/reclaim": ["voyager.express.slots=512"],
    "netcache/dmaver1": ["netcache.mpi.slots=64"],
    "netcache/dmaver2": [],
    "netcache/ldtct": ["node.network_cache.ltb_entries=1024"],
    "netcache/via": ["netcache.via.depth=256", "netcache.via.receives=256"],
    "netcache/tcp": ["netcache.ethernet.receive_slots=256"],
    "netcache/mvia": ["netcache.via.depth=256", "netcache.ethernet.receive_slots=256"],
}


@pytest.mark.parametrize("machine", RAISED if SWEEP else list(RAISED)[::3])
def test_a_longer_warm_up_changes_nothing(machine: str, tmp_path: Path) -> None:
    """With rings longer than the default ones; so that `warm_up` of the machine is long enough."""
    job = measurement.job(machine, RAISED[machine])
    (warm_up,) = core.warm_up(machine, RAISED[machine], [8])
    plan = measurement.plan(8, warm_up)

    def measured(times: int) -> SizeFigures:
        longer = replace(plan, warm_up=times * plan.warm_up)
        place = tmp_path / str(times) / "8"
        return measurement.measure_size(job, 8, longer, place, lambda: None)

    once, more = measured(1), measured(4)
    for name in ("o_send", "o_recv", "latency"):
        assert abs(once.samples[name].mean - more.samples[name].mean) <= once.latency.mean / 50, (
            name
        )


def test_cold_rings_would_show(plain: Path) -> None:
    """The control: the first messages, of slots not used before, take less than half of o_send."""
    run = ["run", "-np", "2", "--machine", "netcache/ldtct", "--out", "cold", "--", str(plain), "8"]
    assert command(*run, directory=plain.parent).returncode == 0
    sent = messages.read(plain.parent / "cold" / "messages.parquet")
    first = [loggp.o_send(each) for each in sent if each.source == 0 and each.bytes == 8]
    assert 2 * sum(first[8:16]) * 300 < sum(first[-300:]) * 8
