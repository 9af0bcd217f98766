"""What the records and counters of ping-pong runs say."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from chasqui import messages
from chasqui.experiment import Output, Run, mean, sensitivity
from chasqui.messages import Message

VARIANTS = {"mcp": "mpinp", "bip": "mpinp/bip"}
KEPT = {"pin-cache": "mpinp/pin-cache", "nic-tlb": "mpinp/nic-tlb"}
MACHINES = VARIANTS | KEPT
TRIPS, TRIPS_QUICK = 24, 8
# What bus, card and network processor leave to be assumed.
ASSUMED = (
    "mpinp.card.lead", "mpinp.pci.read_ahead", "mpinp.pci.latency_timer", "mpinp.np.branch_taken",
    "mpinp.np.int_mul", "mpinp.np.int_div",
)  # fmt: skip


def assumed(variant: str) -> list[sensitivity.Assumption]:
    return sensitivity.assumptions(MACHINES[variant], ASSUMED)


def name_of(variant: str, size: int, pause: int = 0) -> str:
    return f"{variant}, {size} bytes" + (", card idle" if pause else "")


def none_of(variant: str) -> str:
    return f"{variant}, none"


def run(variant: str, size: int, trips: int, *, pause: int = 0, profile: bool = False) -> Run:
    """Messages to and fro."""
    arguments = [str(trips), str(size), str(pause)]
    name, machine = name_of(variant, size, pause), MACHINES[variant]
    return Run(name, machine, 2, "pingpong", arguments=arguments, profile=profile)


def run_none(variant: str, *, profile: bool = False) -> Run:
    """The same without messages."""
    arguments = ["0", "0", "0"]
    name, machine = none_of(variant), MACHINES[variant]
    return Run(name, machine, 2, "pingpong", arguments=arguments, profile=profile)


def exchanged(output: Output) -> list[Message]:
    """The program's own messages, of both ranks, without the first quarter of each."""
    trips = int(output.run.arguments[0])
    rows = messages.read(output.directory / "messages.parquet")
    found: list[Message] = []
    for source in (0, 1):
        sent = [row for row in rows if row.source == source and row.context == 0]
        found += sent[trips // 4 : trips]
    return found


def interval_ns(rows: Iterable[Message], begin: str, end: str) -> Fraction:
    """Mean time from one stage to another."""
    return mean([getattr(row, f"{end}_ps") - getattr(row, f"{begin}_ps") for row in rows]) / 1000


def each(output: Output, none: Output, counter: str) -> Fraction:
    """A counter of both nodes, for a message."""
    more = sum(output.counters(counter, optional=True)) - sum(none.counters(counter, optional=True))
    return Fraction(more, 2 * int(output.run.arguments[0]))


def busy_ns(output: Output, none: Output) -> Fraction:
    """Time for which both network processors executed, for a message."""
    clock_ns = output.clock_ns("mpinp.card")
    return (
        each(output, none, "ni.np.cycles") * clock_ns - each(output, none, "ni.np.held_ps") / 1000
    )
