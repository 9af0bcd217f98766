"""What experiments on the network cache's sizes share: its counters of all ranks, and run times."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chasqui.experiment import Output, Run

# A message section that disturbs nobody: 8 KB of entries of 4 bytes, 16 ways (Khunjush, 5.2).
LARGE_MESSAGE = ["node.network_cache.message_entries=2048", "node.network_cache.message_ways=16"]
# Lines of long messages and of independent ones have their entries elsewhere.
PLENTY = [
    *LARGE_MESSAGE,
    "node.network_cache.ltb_entries=4096", "node.network_cache.ltb_ways=16",
    "node.network_cache.process_entries=2048", "node.network_cache.process_ways=16",
]  # fmt: skip
# Assumptions that may matter where messages wait: each is halved and doubled.
ASSUMED = [
    "node.network_cache.ltb_entries", "node.bus.address", "netcache.nic.access",
    "netcache.nic.receive", "network.link_latency",
]  # fmt: skip

CG = ("examples/cg", ["-g", "24", "-i", "12"], 4)


def geometry(sets: int, ways: int) -> list[str]:
    lines = f"node.network_cache.network_lines={sets * ways}"
    return [lines, f"node.network_cache.network_ways={ways}"]


def waiting(name: str, machine: str, messages: int, rounds: int, order: str) -> Run:
    """Three ranks send to the fourth."""
    arguments = [str(messages), str(rounds), order]
    return Run(name, machine, 4, "waiting", arguments=arguments)


def cg(name: str, machine: str) -> Run:
    program, arguments, ranks = CG
    return Run(name, machine, ranks, program, flags=["-lm"], arguments=arguments)


def counted(output: Output, counter: str, *, optional: bool = False) -> int:
    """A counter of the network caches of all ranks together; `optional`: 0 where there are none."""
    return sum(output.counters(f"network_cache.{counter}", optional=optional))


def run_time_ns(output: Output) -> Fraction:
    return Fraction(int(output.summary["time_ps"]), 1000)


def steady_ns(output: Output, name: str, rank: int = 0) -> Fraction:
    """Mean time of a round that a rank prints as `NAME ROUND CYCLES`, from the second on."""
    samples = output.samples(rank)
    cycles = [n for (of, key), (n, *_) in samples.items() if of == name and key > 0]
    return Fraction(sum(cycles), len(cycles)) * output.clock_ns("node.core")


def percent(part: Fraction | int, whole: Fraction | int) -> Fraction:
    return Fraction(100) * part / whole if whole else Fraction(0)


def sensitivity_figures(output: Output) -> Mapping[str, Fraction]:
    return {
        "migrations": Fraction(counted(output, "migrations")),
        "round_ns": steady_ns(output, "round"),
    }
