"""Programs that send many short messages, and what is read from their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from chasqui import cache, messages
from chasqui.experiment import Output, Run

# In the order of tables.
POLICIES = ("tcp", "mvia", "via", "processver", "dmaver1", "dmaver2", "dtct", "ldtct")
COLORS = {
    "tcp": "#000000", "mvia": "#999999", "via": "#cc79a7", "processver": "#d55e00",
    "dmaver1": "#e69f00", "dmaver2": "#56b4e9", "dtct": "#009e73", "ldtct": "#0072b2",
}  # fmt: skip
# What others are compared with.
BASELINE = "via"
# The caches of the paper's studies: the machine's own file is study C.
STUDIES = ("C", "A", "B")


@dataclass(frozen=True)
class Program:
    """What runs, as a `Run` names it."""

    name: str
    program: str
    arguments: Sequence[str] = ()
    ignored_lines: Sequence[str] = ()  # of its output: with times that it measures


def programs(ranks: int) -> list[Program]:
    """Ours; sizes fit 4, 16 and 64 ranks."""
    points, sites = ("16", "8") if ranks > 16 else ("12", "4")
    return [
        Program("cg", "examples/cg", ["-g", "32", "-i", "30"]),
        Program("adi", "examples/adi", ["-n", points, "-t", "3"]),
        Program("spectral", "examples/spectral", ["-m", "7", "-t", "4"]),
        Program("lattice", "examples/lattice", ["-n", sites, "-t", "1"]),
    ]


# Starts and ends. The rings and buffers of some policies take long to set up, which short runs
# would show more of than long ones do: it is subtracted.
START = Program("start", "start")


def machine(study: str, policy: str) -> str:
    """The machine's name, or its file's."""
    if study == "C":
        return f"netcache/{policy}"
    return f"{cache.MACHINES / 'netcache' / f'study-{study.lower()}.toml'}/{policy}"


def run(name: str, program: Program, ranks: int, machine: str, sets: Sequence[str] = ()) -> Run:
    return Run(
        name, machine, ranks, program.program, flags=["-lm"], arguments=program.arguments,
        sets=sets, access_times=True,
    )  # fmt: skip


# --- figures of a run ---------------------------------------------------------------------------

# What of the simulator's counters is added, and what is taken away: a hart's loads and stores are
# all that it executes, those to the NI's registers and to network memory among them, which go past
# the data cache.
COUNTERS = {
    "dl1_accesses": (
        ("hart.loads", "hart.stores"),
        ("memory.uncached_loads", "memory.uncached_stores"),
    ),
    "dl1_misses": (("memory.l1d_load_misses", "memory.l1d_store_misses"), ()),
    "dl1_replacements": (("memory.l1d_replacements",), ()),
    "dl1_writebacks": (("memory.l1d_writebacks",), ()),
    "dl1_invalidations": (("memory.l1d_invalidations",), ()),
}


def counted(output: Output, name: str) -> list[int]:
    """One of COUNTERS, of every node."""
    added, taken = (
        [sum(node) for node in zip(*(output.counters(path) for path in paths), strict=True)]
        for paths in COUNTERS[name]
    )
    return [more - less for more, less in zip(added, taken or [0] * len(added), strict=True)]


@dataclass(frozen=True)
class Figures:
    """What is read from a run: of all ranks together."""

    run_time_ns: Fraction
    counters: dict[str, int]  # by the names of COUNTERS
    messages: int
    accessed: int  # of these: messages whose data the program has loaded
    # Means over these, from the entry of the call that receives.
    first_access_ns: Fraction | None
    last_access_ns: Fraction | None

    def without(self, start: Figures) -> Figures:
        """What is left when a program that only starts and ends is taken away."""
        return replace(
            self,
            run_time_ns=self.run_time_ns - start.run_time_ns,
            counters={name: own - start.counters[name] for name, own in self.counters.items()},
        )

    def per_message(self, counter: str) -> Fraction | None:
        return Fraction(self.counters[counter], self.messages) if self.messages else None


def figures(output: Output) -> Figures:
    every = messages.read(output.directory / "messages.parquet")
    first, last = [], []
    for each in every:
        if each.first_access_ps is not None and each.receive_call_ps is not None:
            assert each.last_access_ps is not None
            first.append(each.first_access_ps - each.receive_call_ps)
            last.append(each.last_access_ps - each.receive_call_ps)
    return Figures(
        run_time_ns=Fraction(output.summary["time_ps"], 1000),
        counters={name: sum(counted(output, name)) for name in COUNTERS},
        messages=len(every),
        accessed=len(first),
        first_access_ns=_mean_ns(first),
        last_access_ns=_mean_ns(last),
    )


def _mean_ns(times_ps: Sequence[int]) -> Fraction | None:
    return Fraction(sum(times_ps), 1000 * len(times_ps)) if times_ps else None
