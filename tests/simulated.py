"""What tests of simulated machines share: machines, small runs of the examples, two at a time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import command_line
from conftest import NEEDS

# Small, but with more than one step of everything.
EXAMPLES = {
    "pingpong": (2, ["-n", "2", "-m", "4096"]),
    "ring": (5, ["-l", "2"]),
    "heat": (6, ["-n", "24", "-t", "5"]),
    "cg": (4, ["-g", "12"]),
    "sort": (4, ["-n", "512"]),
    "nbody": (3, ["-n", "8", "-t", "2"]),
}

# Where a card's memory is simulated word by word, and what a slot does not hold goes in several
# messages, the same takes longest on the host. Still more than one step of everything, and messages
# of several slots.
SLOW = ("mpinp", "mpinp-modern")
SHORTER = {
    "pingpong": ["-n", "2", "-m", "2048"],
    "ring": ["-l", "1"],
    "heat": ["-n", "24", "-t", "2"],
    "cg": ["-g", "8"],
    "sort": ["-n", "256"],
}

# Programs of many short messages, on the machines that they are for.
WORKLOADS = {
    "adi": (4, ["-n", "8", "-t", "1"]),
    "spectral": (4, ["-m", "3", "-t", "1"]),
    "lattice": (4, ["-n", "4", "-t", "1"]),
}

command = command_line.run

# `make sweep`: all of what `make test` takes a share of, in turn from machine to machine.
SWEEP = bool(os.environ.get("CHASQUI_SWEEP"))

# Machine code of the host's for what has been executed this often. To translate what is seldom
# executed takes longer than most runs; a sweep does.
TRANSLATED = ["--set", f"check.translate_after={1 if SWEEP else 16}"]

A = TypeVar("A")
B = TypeVar("B")


# With one job, which is what most tests have, as another variant.
SEVERAL_JOBS = ["voyager/onequeue"]
# Variants of a preset that differ from another machine's in values only.
VALUES = [f"netcache-modern/{variant}" for variant in ("dram", "dtct", "ldtct")]
VALUES += ["mpinp-modern/dpu"]  # test_mpinp_modern.py runs it


# Machines whose ranks have little room, and programs of another kind: test_cell.py,
# test_cell_mpi.py and test_cell_modern.py.
APART = ("cell", "cell-modern")


def every_machine() -> list[str]:
    """Every machine and variant of the catalogue, but those that have tests of their own."""
    if not NEEDS["core"][1]:
        return ["loggp"]
    from chasqui import core

    found = []
    for machine in core.machines():
        if machine["name"] in APART:
            continue
        variants = [f"{machine['name']}/{each['name']}" for each in machine["variants"]]
        found += variants or [machine["name"]]
    return found


def machines() -> list[str]:
    """Every machine and variant with MPI that differs for a single job."""
    return [machine for machine in every_machine() if machine not in (*SEVERAL_JOBS, *VALUES)]


# What runs in them also runs in another variant, which is enough for sweeps over many options.
# VIA's have a driver and a device of their own, and shorter sweeps in test_via.py and test_mvia.py.
# Of flash whose controllers move messages: test_flash_mpi.py.
CONTAINED = [
    "flash/block-transfer",
    "netcache/processver", "netcache/dmaver1", "netcache/dtct", "netcache/via", "netcache/mvia",
    "netcache-modern/stash",
]  # fmt: skip


# Variants of mpinp that have golden times and tests of their own (test_mpinp_kept.py,
# test_mpinp_channels.py, test_mpinp_interrupt.py, test_mpinp_thread.py), or differ in values
# alone; the rest in a sweep.
SWEPT = [
    f"mpinp/{variant}"
    for variant in (
        *("pin-cache", "nic-tlb", "channel-cache", "cached", "interrupt", "progress-thread"),
    )
]


def in_ci() -> list[str]:
    """Machines, in CI without those that take the host long for little."""
    return [machine for machine in machines() if SWEEP or machine not in SWEPT]


def organisations() -> list[str]:
    """Of the machines and variants those that together have every part of the simulator in them;
    of SLOW ones only in a sweep: these have tests of their own."""
    return [
        machine
        for machine in machines()
        if machine not in CONTAINED and (SWEEP or not is_slow(machine))
    ]


def shared_nodes() -> list[str]:
    """Machines on whose nodes several ranks of a job can be, but for netcache: its policies have
    tests of their own (test_netcache_ranks.py); and those of few ranks, and flash, whose ranks
    share memory in any case, with harts by another parameter."""
    if not NEEDS["core"][1]:
        return ["loggp"]
    from chasqui import core

    several = [each["name"] for each in core.machines() if each["ranks_per_node_max"] > 1]
    others = [name for name in several if not name.startswith(("netcache", "flash"))]
    return [name for name in others if name not in APART and (SWEEP or not is_slow(name))]


def example(examples: Path, name: str, machine: str) -> list[str]:
    """What `chasqui run`, with whatever options, needs to run one of EXAMPLES."""
    ranks, arguments = EXAMPLES[name]
    if is_slow(machine) and not SWEEP:
        arguments = SHORTER.get(name, arguments)
    return [
        "-np",
        str(ranks),
        "--machine",
        *machine.split(),
        "--",
        str(examples / name),
        *arguments,
    ]


def is_slow(machine: str) -> bool:
    """Tests that are about the simulator, not the machine, have less of it run."""
    return machine.split(maxsplit=1)[0].split("/", maxsplit=1)[0] in SLOW


def in_turn(first: Iterable[A], *others: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Every choice with every other; but of the first only one with each choice of the others, in
    turn, unless it is a sweep."""
    choices = [list(first), *map(list, others)]
    return [
        each
        for each in itertools.product(*choices)
        if SWEEP
        or sum(of.index(one) for of, one in zip(choices, each, strict=True)) % len(choices[0]) == 0
    ]


def two_at_a_time(work: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """`work` of each item. A simulation is a process of its own: two keep two processors busy; or
    two of pytest-xdist's workers do, and a third would only be in the way of threads that meet."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with ThreadPoolExecutor(max(1, 2 // workers)) as pool:
        return list(pool.map(work, items))
