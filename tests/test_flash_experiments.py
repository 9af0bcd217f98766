"""flash's programs and experiments: the same results as a host's, and as references of another
kind; identities that measurements must obey.

Use this when a program or an experiment of flash, or the protocol's times, change.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy
import pages
import pytest

from chasqui import core, simulation
from chasqui.experiment import Output, running
from chasqui.machines.flash.experiments import _flash

# In one process of several: `done` and `host` are made once.
pytestmark = [pytest.mark.core, pytest.mark.xdist_group("flash-experiments")]

EXPERIMENTS = running.choose(["flash"])
SOURCES = running.folder_of("flash/fft")
MASK = (1 << 64) - 1


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, running.Done]:
    """Every experiment, quick."""
    place = tmp_path_factory.mktemp("flash")
    return {
        name: running.carry_out(
            name, place / running.directory_name(name), quick=True, jobs=1, progress=lambda *_: None
        )
        for name in EXPERIMENTS
    }


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs, for this machine."""
    place = tmp_path_factory.mktemp("host")
    for program in _flash.VARIANTS:
        source = SOURCES / f"{program}.c"
        options = ["-O2", "-std=gnu11", "-pthread", "-ffp-contract=off", "-Wall", "-Wextra"]
        subprocess.run(["cc", *options, "-Werror", source, "-o", place / program], check=True)
    return place


def said(host: Path, program: str, *words: object) -> list[list[str]]:
    """A program's lines in words."""
    command = [str(host / program), *map(str, words)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split() for line in text.splitlines()]


def checksum(host: Path, program: str, *words: object) -> int:
    (found,) = (int(line[2]) for line in said(host, program, *words) if line[0] == "checksum")
    return found


def outputs_of(done: running.Done) -> dict[str, Output]:
    runs = running.runs_of(done.name, quick=True)
    place = done.directory / "runs"
    return {run.name: Output(run, place / simulation.short_name(run.name), {}) for run in runs}


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", _flash.VARIANTS)
@pytest.mark.turn(3)
def test_results_are_a_hosts_bits(
    done: Mapping[str, running.Done], host: Path, program: str
) -> None:
    """Of every variant, whatever the number of threads."""
    outputs = outputs_of(done[f"flash/{program}"])
    found = {
        (size, value)
        for output in outputs.values()
        for (name, size), (value, *_) in output.samples(0).items()
        if name == "checksum"
    }
    ((size, value),) = found
    assert len(outputs) > 1
    words = [word for name, word in _flash.VARIANTS[program].items()
             if name.startswith(_flash.LOAD_STORE)]  # fmt: skip
    for word in words:
        for threads in (1, 8):
            assert checksum(host, program, word, size, threads, "whole") == value, (word, threads)


def mixed(value: int) -> int:
    """As parallel.h has it."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def random_of(number: int) -> float:
    bits = mixed(number + 1)
    return float(bits - (bits >> 63 << 64)) * 2.0**-63


def test_the_transform_is_numpys(host: Path) -> None:
    n = 4096
    lines = said(host, "fft", "push", n, 16, "whole", "dump")
    found = [complex(float(line[2]), float(line[3])) for line in lines if line[0] == "value"]
    data = numpy.array([complex(random_of(2 * i), random_of(2 * i + 1)) for i in range(n)])
    expected = numpy.fft.fft(data)
    assert numpy.abs(numpy.array(found) - expected).max() < 1e-12 * numpy.abs(expected).max()


def test_the_sorted_keys_are_pythons(host: Path) -> None:
    n = 4096
    keys = sorted(mixed(place + 1) >> 40 & (1 << 20) - 1 for place in range(n))
    expected = sum(mixed(key + mixed(place + 1) & MASK) for place, key in enumerate(keys)) & MASK
    assert checksum(host, "radix", 7, n, 4, "whole") == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("fft", "send", 4096, 4, "whole"), "fft: pull, push, line, tile, copy or part?"),
        (("fft", "pull", 8192, 4, "whole"), "fft: 4 to 65536 points, a power of 4"),
        (("fft", "pull", 64, 16, "whole"), "threads divide its root"),
        (("lu", "2", 64, 4, "whole"), "lu: 0, 1 or n copies?"),
        (("lu", "0", 65, 4, "whole"), "a multiple of 16"),
        (("radix", 12, 4096, 4, "whole"), "radix: 1 to 11 bits"),
        (("radix", 7, 4096, 65, "whole"), "threads times a power of 2 keys"),
        (("fft", "pull", 4096, 4, "most"), "whole or rest.?"),
    ],
)
def test_what_programs_do_not_take(host: Path, words: tuple[object, ...], text: str) -> None:
    program, *rest = words
    command = [str(host / str(program)), *map(str, rest)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert text in refused.stderr


def test_another_result_is_noticed(done: Mapping[str, running.Done], tmp_path: Path) -> None:
    from chasqui.machines.flash.experiments import fft

    outputs = outputs_of(done["flash/fft"])
    points = fft.points(True)
    assert len(_flash.rows(points, outputs)) == len(points)
    name = points[-1].name
    copy = tmp_path / "run"
    shutil.copytree(outputs[name].directory, copy)
    text = (copy / "stdout.0").read_text()
    head, _, value = text.rstrip().rpartition(" ")
    (copy / "stdout.0").write_text(f"{head} {int(value) ^ 1}\n")
    outputs[name] = Output(outputs[name].run, copy, {})
    with pytest.raises(AssertionError, match="another result than of other runs"):
        _flash.rows(points, outputs)


# --- measurements ---------------------------------------------------------------------------------


def test_the_tick_is_the_machines() -> None:
    values = {each["name"]: each["value"] for each in core.parameters("flash")}
    assert values["node.core.timebase"] == f"{1000 // _flash.TICK_NS} MHz"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_leave_tables_and_findings(done: Mapping[str, running.Done], name: str) -> None:
    results = done[name].report.tables[0]
    numbers = [value for row in results.rows for value in row if not isinstance(value, str)]
    assert numbers
    assert all(value is not None and value >= 0 for value in numbers)
    assert done[name].report.findings
    assert (done[name].directory / "picture.svg").is_file()


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name in pages.stamps()])
def test_kept_tables_have_todays_columns_and_points(
    done: Mapping[str, running.Done], name: str
) -> None:
    pages.check_kept(name, done[name].directory)


@pytest.mark.parametrize("program", _flash.VARIANTS)
def test_shares_are_parts_of_the_time(done: Mapping[str, running.Done], program: str) -> None:
    rows = done[f"flash/{program}"].report.tables[0].records()
    for row in rows:
        shares = [
            row[f"{of}_share"] for of in ("communication", "synchronization", "idle", "memory")
        ]
        assert all(share >= 0 for share in shares)
        assert 0 < sum(shares) < 1, "instructions have the rest"
        assert row["contention_share"] > 0
    assert min(row["relative_to_load_store"] for row in rows) <= 1
    bases = [row for row in rows if row["variant"] == "load-store"]
    assert all(row["relative_to_load_store"] == 1 for row in bases)


def test_the_transposes_move_the_matrix_three_times(done: Mapping[str, running.Done]) -> None:
    """Each line of others at least once; few come twice, and barriers add some."""
    rows = done["flash/fft"].report.tables[0].records()
    for row in [row for row in rows if row["variant"].startswith(_flash.LOAD_STORE)]:
        points, processors = row["size"], row["processors"]
        lines = 3 * points * 16 * (processors - 1) // processors // row["line_bytes"]
        print(f"{row['variant']}: {row['remote_requests']} requests, {lines} lines")
        assert lines <= row["remote_requests"] <= 1.15 * lines
        # What waits at least: a line's way there and back, without the miss's other parts.
    receiver = rows[0]
    waits_ns = receiver["communication_share"] * receiver["run_time_ns"] * receiver["processors"]
    assert waits_ns > 3 * receiver["size"] * 16 * 3 / 4 / 64 * 10 * 100


def test_relative_times_are_of_the_same_machine() -> None:
    """By the fastest of load-store's, where several are."""
    sorts = [_flash.Point("radix", name, 4096, 4) for name in _flash.VARIANTS["radix"]]
    times = {point: 100 + 10 * at for at, point in enumerate(sorts)}
    times[sorts[0]._replace(line=32)] = 1
    assert [_flash.base_ns(point, times) for point in sorts] == [100] * len(sorts)
    none, one, _ = (_flash.Point("lu", name, 64, 4) for name in _flash.VARIANTS["lu"])
    assert _flash.base_ns(one, {none: 200, one: 100}) == 200
    assert Fraction(100, _flash.base_ns(one, {none: 200, one: 100})) == Fraction(1, 2)


def test_messages_wait_on_the_mesh_with_contention_alone(done: Mapping[str, running.Done]) -> None:
    outputs = outputs_of(done["flash/contention"])
    waits = {
        name: sum(output.counters("directory.network_waits_ps")) for name, output in outputs.items()
    }
    print(waits)
    contended = [name for name in waits if ", contention" in name]
    assert len(waits) == 2 * len(contended) > 0
    assert all((waits[name] > 0) == (name in contended) for name in waits)
    without, contention = done["flash/contention"].report.tables[0].records()
    assert 1 < contention["run_time_ns"] / without["run_time_ns"] < 1.1


def test_long_messages_gain_by_block_transfer(done: Mapping[str, running.Done]) -> None:
    from chasqui.machines.flash.experiments import messages

    rows = {
        (row["way"], row["bytes"]): row for row in done["flash/messages"].report.tables[0].records()
    }
    short, long = messages.SIZES_QUICK
    ways = [way for way, (_, ranks, *_) in messages.WAYS.items() if ranks == 2]
    for way in ways:
        assert rows[way, short]["mechanism"] == "shared memory"
        is_moved = way != messages.LOAD_STORE
        mechanism = "block-transfer" if is_moved else "shared memory"
        assert rows[way, long]["mechanism"] == mechanism
        gain = rows[messages.LOAD_STORE, long]["latency_ns"] / rows[way, long]["latency_ns"]
        assert (gain > 1.5) == is_moved
        # Nothing is as fast as the lines, 25 cycles each.
        assert rows[way, long]["latency_ns"] > rows[messages.ALONE, long]["latency_ns"]
    alone = rows[messages.ALONE, long]["latency_ns"] - rows[messages.ALONE, short]["latency_ns"]
    lines = (long - short) // _flash.LINE
    print(f"a line takes {float(alone / lines)} ns")
    assert abs(alone / lines - 25 * _flash.TICK_NS) < 5
