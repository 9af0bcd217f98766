"""A machine for SST (sst-elements: ember, firefly, merlin): a script for its command `sst`.

Firefly's message (sst-elements, `ctrlMsgProcessQueuesState.cc`, `rangeLatMod.h`) has a time at the
sender, `txSetup`, a transfer of packets over merlin's links, and a time at the receiver, `rxSetup`;
both change with the size in steps. All its other delays are set to nothing.

The times of a single message are those that were measured: the sender's is o_send, the links take
what L allows, the receiver has the rest. Between two sizes that were measured steps follow the line
through them.
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

PS_PER_NS = 1000
STEPS_PER_OCTAVE = 8
# What firefly's and merlin's headers add to a message, up to a packet: measured in SST's main
# branch of July 2026, with all delays nothing and links of 0.1, 1 and 10 GB/s.
HEADER = 20
PACKET = 64  # bytes: a message is on both links at once but for one of these
# Two links and the NIC's two sides, which can't be nothing.
LATENCY_MIN_PS = Fraction(4000)
BEGINNING = b"# chasqui export"


class Step(NamedTuple):
    """Sizes [bytes] from the first to the last, and what takes how long [ps] there."""

    first: int
    last: int
    ps: Fraction


def steps(points: Sequence[tuple[int, Fraction]]) -> list[Step]:
    """Of a line through sizes and times: each size that was measured by itself, between them equal
    parts of octaves, as the line is in their middle."""
    found = [Step(0, points[0][0], points[0][1])]
    for (low, start), (high, end) in pairwise(points):
        first = low + 1
        while first < high:
            last = min(max(first, int(first * 2 ** (1 / STEPS_PER_OCTAVE))), high - 1)
            part = Fraction(first + last - 2 * low, 2 * (high - low))
            found.append(Step(first, last, start + part * (end - start)))
            first = last + 1
        found.append(Step(high, high, end))
    return found


def ranges(points: Sequence[tuple[int, Fraction]]) -> list[str]:
    """As firefly has them."""
    return [f"{each.first}-{each.last}:{float(each.ps):.0f}ps" for each in steps(points)]


def write(found: Measurement) -> tuple[str, str]:
    """The script, and how it is used."""
    sizes = found.figures.sizes
    per_byte = found.figures.g_per_byte.value
    if per_byte is None or per_byte <= 0 or len(sizes) < 2:
        raise InputError(f"{found.machine}: G is not known: more --sizes may show it")
    # No message's transfer may take longer than all of it: o_send may have a part of it.
    slope = min(Fraction(per_byte), *(each.latency.mean / (each.bytes + HEADER) for each in sizes))
    latency = max(
        min(each.l.mean - slope * (each.bytes + HEADER) for each in sizes), LATENCY_MIN_PS
    )
    sends = [(each.bytes, sent(each, slope, latency)) for each in sizes]
    receives = [
        (each.bytes, max(each.latency.mean - sending - moved(each, slope, latency), Fraction(0)))
        for each, (_, sending) in zip(sizes, sends, strict=True)
    ]
    text = script(found.machine, ranges(sends), ranges(receives), slope, latency)
    said = (
        'a script: sst FILE -- RANKS MOTIF … (motifs as "PingPong messageSize=8 iterations=10"); '
        f"messages are at most {sizes[-1].bytes} bytes, as measured"
    )
    return text, said


def moved(size: SizeFigures, slope: Fraction, latency: Fraction) -> Fraction:
    """The transfer on the links."""
    return latency + slope * (size.bytes + HEADER)


def sent(size: SizeFigures, slope: Fraction, latency: Fraction) -> Fraction:
    """The sender's time. What of it is the transfer, too, is left to that: nothing is in a
    message's time twice."""
    return max(min(size.o_send.mean, size.latency.mean - moved(size, slope, latency)), Fraction(0))


def script(
    machine: str, sends: list[str], receives: list[str], slope: Fraction, latency: Fraction
) -> str:
    """What `sst` executes: hosts on one router."""
    bandwidth = f"{float(10**12 / slope) / 10**6:.9g}MB/s"
    link = f"{float((latency - LATENCY_MIN_PS) / 2 + PS_PER_NS):.0f}ps"
    return f'''{BEGINNING.decode()} {machine}
"""sst FILE -- RANKS MOTIF ...: motifs of ember, between Init and Fini, on a machine as Chasqui
measured it. Computation is the motifs' own."""
import sys

from sst.ember import EmberMPIJob
from sst.merlin.base import PlatformDefinition, System, hr_router
from sst.merlin.interface import LinkControl
from sst.merlin.topology import topoSingle

SENDS = {sends!r}
RECEIVES = {receives!r}
BANDWIDTH = "{bandwidth}"
BUFFER = "64MB"

ranks, motifs = int(sys.argv[1]), sys.argv[2:]
PlatformDefinition.setCurrentPlatform("firefly-defaults")
router = hr_router()
router.link_bw, router.xbar_bw, router.flit_size = BANDWIDTH, "1000GB/s", "8B"
router.input_latency = router.output_latency = "0ns"
router.input_buf_size = router.output_buf_size = BUFFER
router.num_vns, router.xbar_arb = 1, "merlin.xbar_arb_lru"
network = topoSingle()
network.num_ports, network.link_latency, network.router = ranks, "{link}", router
job = EmberMPIJob(0, ranks)
job.network_interface = LinkControl()
job.network_interface.link_bw = BANDWIDTH
job.network_interface.input_buf_size = job.network_interface.output_buf_size = BUFFER
nic = job.nic
nic.nic2host_lat, nic.packetSize, nic.packetOverhead = "1ns", "{PACKET}B", 0
nic.rxMatchDelay_ns = nic.txDelay_ns = nic.hostReadDelay_ns = 0
calls, messages = job.os.functionsm, job.os.ctrl
calls.defaultEnterLatency = calls.defaultReturnLatency = 0
messages.matchDelay_ns = 0
messages.shortMsgLength = {int(sends[-1].partition("-")[0])}
for part in ("txSetup", "rxSetup", "txMemcpy", "rxMemcpy"):
    getattr(messages, part + "ModParams").base = "0ns"
messages.txMemcpyModParams.op = "None"
for part, ranges in (("txSetup", SENDS), ("rxSetup", RECEIVES)):
    for at, each in enumerate(ranges):
        job.os.addParam(f"ctrl.{{part}}ModParams.range.{{at}}", each)
for motif in ("Init", *motifs, "Fini"):
    job.addMotif(motif)
system = System()
system.setTopology(network)
system.allocateNodes(job, "linear")
system.build()
'''
