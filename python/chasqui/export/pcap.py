"""A capture for Wireshark, tcpdump and the like: a packet a message, when its first byte was on
the wire (or, where it was on none, when it was handed to the NI).

The format is pcap with nanoseconds (libpcap, `pcap-savefile(5)`), its link type Ethernet. A rank's
address is 02:00:00:00 and its number; the type is 0x88b5, which IEEE 802 leaves to local
experiments. What was captured of a message is its envelope, in words; its length on the wire is
that of these and of the data. Written here, since the libraries at hand write no length but that
of what was captured (dpkt), or are larger than all of Chasqui (scapy), for two headers.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from chasqui.export import trace as traces
from chasqui.messages import Message

if TYPE_CHECKING:
    from chasqui.report.data import Run

NANOSECONDS = 0xA1B23C4D  # the first number of the file
SNAPLEN = 65535  # bytes of a packet that may be there
ETHERNET = 1  # LINKTYPE_ETHERNET
TYPE = 0x88B5
FILE = struct.Struct("<IHHiIII")  # number, version 2.4, zone, accuracy, SNAPLEN, link type
PACKET = struct.Struct("<IIII")  # s, ns, bytes that are there, bytes on the wire
HEADER = struct.pack(">H", TYPE)
BEGINNING = FILE.pack(NANOSECONDS, 2, 4, 0, 0, SNAPLEN, ETHERNET)
WORDS = b"MPI "  # what each packet says begins so


def write(run: Run, path: Path) -> str:
    found = [(at, each) for each in traces.read_messages(run) if (at := time_ps(each)) is not None]
    found.sort(key=lambda each: (each[0], each[1].source, each[1].sequence))
    with path.open("wb") as out:
        out.write(BEGINNING)
        for at, message in found:
            packet = _address(message.destination) + _address(message.source) + HEADER
            packet += words(message)[: SNAPLEN - len(packet)]
            length = min(len(packet) + (message.bytes or 0), (1 << 32) - 1)
            seconds, ns = divmod(at // 1000, 10**9)
            out.write(PACKET.pack(seconds, ns, len(packet), length) + packet)
    return f"{len(found):,} packets"


def time_ps(message: Message) -> int | None:
    return message.inject_ps if message.inject_ps is not None else traces.send_ps(message)


def words(message: Message) -> bytes:
    """The envelope, and when the message was where."""
    number, part = traces.communicator(message)
    text = (
        f"source={message.source} destination={message.destination} tag={message.tag} "
        f"context={message.context} bytes={message.bytes} sequence={message.sequence}"
    )
    if message.mechanism is not None:
        text += f" mechanism={message.mechanism}"
    times = {
        name: getattr(message, name) for name in ("call_ps", "inject_ps", "land_ps", "done_ps")
    }
    text += "".join(f" {name}={ps}" for name, ps in times.items() if ps is not None)
    return WORDS + f"{text} ({traces.communicator_name(number, part)})\n".encode()


def is_own(path: Path) -> bool:
    """Whether this wrote the file."""
    with path.open("rb") as file:
        if file.read(len(BEGINNING)) != BEGINNING:
            return False
        packet = file.read(PACKET.size + 2 * len(_address(0)) + len(HEADER) + len(WORDS))
    return not packet or packet.endswith(HEADER + WORDS)


def _address(rank: int | None) -> bytes:
    return b"\2\0\0\0" + struct.pack(">H", rank or 0)
