"""Runs guest/bench/logp.c on a machine, for `chasqui logp` and `chasqui compare --logp`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from chasqui import core, loggp, messages, simulation, stopping, toolchain
from chasqui.errors import InputError
from chasqui.loggp import Figures, Sample, SizeFigures
from chasqui.parallel import side_by_side

Progress = Callable[[int, int], None]

DEFAULT_SIZES = (1, 8, 64, 512, 4096, 16384, 32768, 65536)
BYTES_MAX, SIZES_MAX = 1 << 28, 4000
# Measured round trips of a size: as many as carry so many bytes each way, within these limits.
BYTES = 1 << 20
TRIPS_MIN, TRIPS_MAX = 16, 256
WARM_UP_MIN = 16  # messages each way: caches, predictors, what the library remembers of a peer
# By what the fastest stream of a size is looked for: the requests under way at each end, 0 stands
# for blocking calls; more make a receiver's queues overflow, or its requests leave its cache. And
# that of a long one.
WINDOWS, LONG_WINDOWS, LONG = (0, 1, 8, 32, 64), (1, 4, 32), 16384
ATTEMPTS = 3  # of a size that is not steady, each with LONGER times the messages
LONGER = 4

HZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}


@dataclass(frozen=True)
class Plan:
    """What guest/bench/logp.c does with one size."""

    warm_up: int  # messages in each direction before anything is measured
    trips: int  # measured round trips
    stream: int  # measured messages of a stream
    windows: tuple[int, ...]  # the requests under way at each end of the streams that are tried

    def longer(self) -> Plan:
        return replace(
            self,
            warm_up=LONGER * self.warm_up,
            trips=LONGER * self.trips,
            stream=LONGER * self.stream,
        )

    def arguments(self, size: int) -> list[str]:
        return [str(each) for each in (size, self.warm_up, self.trips, self.stream, *self.windows)]


@dataclass(frozen=True)
class Measurement:
    """A machine's figures, and its node's clock where it has one."""

    machine: str
    figures: Figures
    clock_ps: Fraction | None
    directory: Path | None


def program() -> Path:
    """The measuring program, compiled when it is first needed."""
    from chasqui import compiler

    return compiler.compiled(toolchain.GUEST / "bench" / "logp.c", ["-O2", "-std=c11"])


def clock_period_ps(resolved: str, unit: str = "node.core") -> Fraction | None:
    """The period of a unit's clock, from resolved.toml: `clock` of [node.core]."""
    section, _, rest = resolved.partition(f"[{unit}]")
    text = rest.split("\n[", 1)[0] if rest else section
    found = re.search(
        r'^clock\s*=\s*(?:\{\s*value\s*=\s*)?"([\d.]+)\s*([kMG]?Hz)"', text, re.MULTILINE
    )
    return 10**12 / (Fraction(found[1]) * HZ[found[2]]) if found else None


def plan(size: int, warm_up: int) -> Plan:
    """How much to measure of one size, behind `warm_up` messages in each direction, a turn of every
    ring: whole turns, since what gives back half a ring is paid for once in so many messages."""
    turn = max(WARM_UP_MIN, warm_up)
    trips = max(TRIPS_MIN, min(TRIPS_MAX, BYTES // max(size, 1)))
    windows = LONG_WINDOWS if size >= LONG else WINDOWS
    turns = -(-trips // turn) * turn
    return Plan(turn, turns, 2 * turns, windows)


def sizes_of(words: Sequence[str], said: str) -> list[int]:
    """Lengths of messages [bytes], in order, each once. `said`: what a message calls them. Raises
    InputError for what can't be measured."""
    sizes = []
    for word in words:
        if not word.isdecimal() or int(word) > BYTES_MAX:
            raise InputError(f"{said}: {word!r} is not a number of bytes (0 to {BYTES_MAX})")
        sizes.append(int(word))
    if not 0 < len(sizes) <= SIZES_MAX:
        raise InputError(f"{said}: 1 to {SIZES_MAX} sizes are allowed")
    return sorted(set(sizes))


def measure(
    machine: str,
    sizes: Sequence[int] = DEFAULT_SIZES,
    sets: Sequence[str] = (),
    directory: Path | None = None,
    progress: Progress = lambda _done, _count: None,
    sandbox: simulation.Sandbox = simulation.SANDBOX,
) -> Measurement:
    """Measures a machine, each size in a run of its own, as many at a time as the host has
    processors. The run directories, one a size, are kept only where a directory was named."""
    each_job = replace(job(machine, sets), sandbox=sandbox)
    if directory is not None:
        return _measure(each_job, sizes, directory, progress, keep=True)
    with tempfile.TemporaryDirectory(prefix="chasqui-logp-") as scratch:
        return _measure(each_job, sizes, Path(scratch), progress, keep=False)


def _measure(
    each_job: simulation.Job,
    sizes: Sequence[int],
    directory: Path,
    progress: Progress,
    *,
    keep: bool,
) -> Measurement:
    machine = each_job.machine
    warm_ups = core.warm_up(machine, each_job.sets, sizes)
    plans = {size: plan(size, warm_up) for size, warm_up in zip(sizes, warm_ups, strict=True)}
    simulation.provide_empty(directory)
    stop: int | None = None

    def one(size: int) -> SizeFigures:
        return measure_size(each_job, size, plans[size], directory / str(size), lambda: stop)

    found: dict[int, SizeFigures] = {}

    def take(size: int, figures: SizeFigures) -> None:
        found[size] = figures
        progress(len(found), len(sizes))

    def end(signal: int) -> None:
        nonlocal stop
        stop = signal

    # The longest first: they take longest.
    longest_first = sorted(sizes, reverse=True)
    side_by_side(one, longest_first, simulation.host_processors(), take, end)
    clock = clock_period_ps((directory / str(sizes[0]) / "resolved.toml").read_text())
    return Measurement(
        machine,
        loggp.summarise([found[size] for size in longest_first]),
        clock,
        directory if keep else None,
    )


def job(machine: str, sets: Sequence[str] = ()) -> simulation.Job:
    """What is run for every size, with the arguments of the shortest plan."""
    arguments = plan(1, 1).arguments(1)
    return simulation.Job(machine, 2, str(program()), arguments, sets, threads=1)


def measure_size(
    job: simulation.Job, size: int, first: Plan, directory: Path, stop: Callable[[], int | None]
) -> SizeFigures:
    """One size: again with more messages, if it was not steady."""
    current = first
    for attempt in range(1, ATTEMPTS + 1):
        place = directory if attempt == 1 else directory.with_name(f"{size}-{attempt}")
        result = simulation.execute_quietly(
            replace(job, arguments=current.arguments(size)), place, stop
        )
        if result.summary["outcome"] == "interrupted":
            raise stopping.Interrupted(result.status)
        is_well = simulation.went_well(result.summary)
        if not is_well or result.status:
            ending = simulation.ending(result.summary)
            how = f"exit status {result.status}" if is_well else ending
            raise InputError(f"the measurement of {size} bytes on {job.machine}: {how}")
        found = loggp.measure_size(size, messages.read(place / "messages.parquet"))
        if not found.unsteady:
            break
        current = current.longer()
    return found


def exact(value: Fraction | int | None) -> int | float | None:
    """For JSON: an integer where the value is one, else the nearest double."""
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def as_json(measurement: Measurement) -> dict[str, Any]:
    """Times in ps: integers where they are exact. What a figure is (=, or <= of a bound) is in
    `signs`, the reason of one that is a bound, or null, in `reasons`."""
    found = measurement.figures
    return {
        "machine": measurement.machine,
        "L_ps": exact(found.l.value),
        "o_send_ps": exact(found.o_send.mean),
        "o_recv_ps": exact(found.o_recv.mean),
        "g_ps": exact(found.g.value),
        "G_ps_per_byte": exact(found.g_per_byte.value),
        "signs": {name: each.sign for name, each in found.machine.items()},
        "reasons": found.reasons,
        "clock_ps": exact(measurement.clock_ps),
        "directory": str(measurement.directory) if measurement.directory else None,
        "sizes": [_size_as_json(each) for each in found.sizes],
    }


def _size_as_json(size: SizeFigures) -> dict[str, Any]:
    return {
        "bytes": size.bytes,
        **{f"{name}_ps": exact(sample.mean) for name, sample in size.samples.items()},
        "bandwidth_bytes_per_s": float(size.bandwidth),
        "limited_by": size.limited_by,
        "mechanisms": sorted(filter(None, size.mechanisms)),
        "spread_ps": {name: _spread(sample) for name, sample in size.samples.items()},
        "unsteady": size.unsteady,
    }


def _spread(sample: Sample) -> list[int | float | None]:
    return [exact(sample.low), exact(sample.high)]
