"""Runs guest/bench/logp.c on a machine, for `chasqui logp` and `chasqui compare --logp`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from chasqui import loggp, messages, simulation, toolchain
from chasqui.errors import InputError
from chasqui.loggp import Figures

DEFAULT_SIZES = (1, 8, 64, 512, 4096, 16384, 65536)
TRIPS = 8
STREAM = 64

HZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}


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


def measure(
    machine: str,
    sizes: Sequence[int] = DEFAULT_SIZES,
    sets: Sequence[str] = (),
    directory: Path | None = None,
) -> Measurement:
    """Measures a machine. The run directory is kept only where one was named."""
    if directory is not None:
        return _measure(machine, sizes, sets, directory, keep=True)
    with tempfile.TemporaryDirectory(prefix="chasqui-logp-") as scratch:
        return _measure(machine, sizes, sets, Path(scratch) / "run", keep=False)


def _measure(
    machine: str, sizes: Sequence[int], sets: Sequence[str], directory: Path, *, keep: bool
) -> Measurement:
    job = simulation.Job(
        machine=machine,
        ranks=2,
        program=str(program()),
        arguments=[str(TRIPS), str(STREAM), *map(str, sizes)],
        sets=sets,
        directory=directory,
        progress=True,
    )
    result = simulation.execute(job)
    if result.summary["outcome"] == "interrupted":
        raise KeyboardInterrupt
    if result.summary["outcome"] != "finished":
        raise InputError(
            f"the measurement on {machine} ended with {result.summary['outcome']}: "
            f"{result.summary.get('message') or result.status}"
        )
    found = loggp.figures(messages.read(directory / "messages.parquet"), sizes)
    clock = clock_period_ps((directory / "resolved.toml").read_text())
    return Measurement(machine, found, clock, directory if keep else None)


def exact(value: Fraction | int | None) -> int | float | None:
    """For JSON: an integer where the value is one, else the nearest double."""
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def as_json(measurement: Measurement) -> dict[str, Any]:
    """Times in ps: integers where they are exact."""
    found = measurement.figures
    return {
        "machine": measurement.machine,
        "L_ps": exact(found.l_ps),
        "o_send_ps": found.o_send_ps,
        "o_recv_ps": found.o_recv_ps,
        "g_ps": exact(found.g_ps),
        "g_hidden": found.g_hidden,
        "G_ps_per_byte": exact(found.g_per_byte_ps),
        "G_hidden": found.g_per_byte_hidden,
        "clock_ps": exact(measurement.clock_ps),
        "directory": str(measurement.directory) if measurement.directory else None,
        "sizes": [
            {
                "bytes": each.bytes,
                "o_send_ps": each.o_send_ps,
                "o_recv_ps": each.o_recv_ps,
                "latency_ps": each.latency_ps,
                "L_ps": each.l_ps,
                "gap_ps": exact(each.gap_ps),
                "bandwidth_bytes_per_s": float(each.bandwidth),
                "limited_by": each.limited_by,
            }
            for each in found.sizes
        ],
    }
