"""A machine for SimGrid: a platform, and how SMPI times messages on it.

SMPI's message (SimGrid's manual, "Configuring SimGrid": smpi/os, smpi/ois, smpi/or,
smpi/lat-factor, smpi/bw-factor) has a time at the sender (`os`; `ois` of MPI_Isend), a transfer of
latency and size over bandwidth, and a time at the receiver (`or`). Each changes at sizes that an
option says; the times at both ends are lines between them.

So are they here, through what was measured. The transfer between two sizes is as long as L allows
at both; what L has besides goes to `or`. The times of a single message are then those that were
measured. The transfer is of the message and its envelope: factors change at a size with that. What
SMPI has not is a gap between messages that is neither overhead nor the link's.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.loggp import SizeFigures
    from chasqui.measurement import Measurement

PS_PER_S = 10**12
# A message of any size is sent without waiting for its receive, as LogGP has it.
EAGER = 1 << 30
# Where the sender's time has L in it the transfer takes next to nothing: this part of G.
LEAST = Fraction(1, 1000)
ENVELOPE = 16  # bytes that SMPI adds to a message that it transfers (3.32)
# Of two links, each of which SimGrid tells from 0.
LATENCY_MIN_PS = Fraction(2000)
# What asking costs (smpi/test, smpi/iprobe): a short call, an assumption. SimGrid has 100 us.
ASKING_PS = Fraction(100_000)
HOSTS = 1024
BEGINNING = b"<?xml version='1.0'?>\n<!-- chasqui export"


class Line(NamedTuple):
    """From a size [bytes] on: a constant [ps], and a slope [ps a byte]."""

    above: int
    constant: Fraction
    slope: Fraction


def line(above: int, ends: Sequence[tuple[int, Fraction]]) -> Line:
    """Through two points: size, time."""
    (low, first), (high, second) = ends
    slope = (second - first) / (high - low)
    return Line(above, first - slope * low, slope)


def transfer(above: int, ends: Sequence[SizeFigures], per_byte: Fraction) -> Line:
    """The transfer between two sizes: for a byte `per_byte` [ps] at most, and no longer than L."""
    bounds = [each.l.mean / (each.bytes + ENVELOPE) for each in ends]
    slope = max(min(per_byte, *bounds), LEAST * per_byte)
    constant = min(each.l.mean - slope * (each.bytes + ENVELOPE) for each in ends)
    return Line(above, max(constant, Fraction(0)), slope)


def rest(transfer: Line, size: SizeFigures) -> Fraction:
    """What is left of a message's time for its receiver."""
    moved = transfer.constant + transfer.slope * (size.bytes + ENVELOPE)
    taken = size.o_send.mean + moved
    return max(size.latency.mean - taken, Fraction(0))


def in_s(ps: Fraction) -> str:
    return f"{float(ps) / PS_PER_S:.12g}"


def overheads(lines: Sequence[Line]) -> str:
    """As `os` and `or` have them: seconds, and seconds a byte."""
    return ";".join(f"{each.above}:{in_s(each.constant)}:{in_s(each.slope)}" for each in lines)


def factors(lines: Sequence[Line], values: Sequence[Fraction]) -> str:
    """As the factors have it, which change at sizes of messages with their envelopes."""
    above = [each.above and each.above + ENVELOPE for each in lines]
    return ";".join(f"{at}:{float(each):.9g}" for at, each in zip(above, values, strict=True))


def write(found: Measurement) -> tuple[str, str]:
    """The platform, and how it is used."""
    sizes = found.figures.sizes
    per_byte = found.figures.g_per_byte.value
    if per_byte is None or per_byte <= 0 or len(sizes) < 2:
        raise InputError(f"{found.machine}: G is not known: more --sizes may show it")
    # What is said of the first two holds for shorter ones, too.
    above = [0, *(each.bytes for each in sizes[1:])]
    ends = list(zip(above, pairwise(sizes), strict=False))
    transfers = [transfer(size, two, Fraction(per_byte)) for size, two in ends]
    sends = [line(size, [(each.bytes, each.o_send.mean) for each in two]) for size, two in ends]
    receives = [
        line(size, [(each.bytes, rest(moved, each)) for each in two])
        for moved, (size, two) in zip(transfers, ends, strict=True)
    ]
    least = min(each.slope for each in transfers)
    latency = max(transfers[0].constant, LATENCY_MIN_PS)
    options = {
        "smpi/os": overheads(sends),
        "smpi/ois": overheads(sends),
        "smpi/or": overheads(receives),
        "smpi/lat-factor": factors(transfers, [each.constant / latency for each in transfers]),
        "smpi/bw-factor": factors(transfers, [least / each.slope for each in transfers]),
        "smpi/test": in_s(ASKING_PS),
        "smpi/iprobe": in_s(ASKING_PS),
        "smpi/async-small-thresh": str(EAGER),
        "smpi/send-is-detached-thresh": str(EAGER),
        "network/TCP-gamma": "0",
        "network/crosstraffic": "no",
    }
    said = (
        f"a platform of {HOSTS} hosts: smpirun -platform FILE -hostfile HOSTS (node0, node1, …) "
        "…; smpi/host-speed is yours to say, since SMPI measures what programs compute on your host"
    )
    return platform(found, options, latency, least), said


def platform(
    found: Measurement, options: dict[str, str], latency: Fraction, per_byte: Fraction
) -> str:
    """A cluster, in which messages pass two links."""
    properties = "\n".join(
        f'    <prop id="{name}" value="{value}"/>' for name, value in options.items()
    )
    link = f'bw="{float(PS_PER_S / per_byte):.12g}Bps" lat="{in_s(latency / 2)}s"'
    speed = f"{float(PS_PER_S / found.clock_ps):.12g}f" if found.clock_ps else "1Gf"
    assumed = "that a host does a floating-point operation a cycle is assumed"
    return f"""{BEGINNING.decode()} {found.machine}; {assumed} -->
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
{properties}
  </config>
  <cluster id="nodes" prefix="node" suffix="" radical="0-{HOSTS - 1}" speed="{speed}" {link}/>
</platform>
"""
