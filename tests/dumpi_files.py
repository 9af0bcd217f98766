"""Writes DUMPI's files as libdumpi does (`docs/traceformat.dox` and `common/dumpiio.c` of
sst-dumpi): a record a call, of version 1.0.0, with wall times."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from pydumpi.callbacks import DumpiCallbacks

Value = "int | Sequence[int]"
MAGIC, FOOTER_MAGIC = 0xFFAADD44554D5049, 0xF007FEE7
WALL_TIME, THREAD = 1 << 3, 1 << 6
CALLS = [field[0].removeprefix("on_") for field in DumpiCallbacks._fields_]
CALLS.insert(CALLS.index("abort") + 1, "pcontrol")  # which the package has no place for
END = len(CALLS) + 1  # of DUMPI_ALL_FUNCTIONS is before the last two
# Bytes of the datatypes by their numbers.
SIZES = [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20]
# What a record has: i an int, h a datatype, communicator or group, b an operator, I and H arrays.
MESSAGE = "ihiih"
FORMS = {
    **dict.fromkeys(("send", "ssend", "rsend", "bsend", "recv"), MESSAGE),
    **dict.fromkeys(("isend", "issend", "irsend", "ibsend", "irecv"), MESSAGE + "i"),
    **dict.fromkeys(("send_init", "recv_init"), MESSAGE + "i"),
    "start": "i", "startall": "iI", "request_free": "i", "wait": "i", "test": "ii",
    "waitall": "iI", "waitany": "iIi", "waitsome": "iIiI", "testall": "iIi", "testany": "iIii",
    "testsome": "iIiI", "probe": "iih", "iprobe": "iihi", "buffer_attach": "i",
    "buffer_detach": "i", "sendrecv": "ihiiihiih", "sendrecv_replace": "ihiiiih",
    "barrier": "h", "bcast": "ihih", "reduce": "ihbih", "allreduce": "ihbh", "scan": "ihbh",
    "exscan": "ihbh", "reduce_scatter": "iIhbh", "gather": "iihih", "scatter": "iihih",
    "allgather": "ihihh", "alltoall": "ihihh", "allgatherv": "iihIIhh", "alltoallv": "iIIhIIhh",
    "comm_size": "hi", "comm_rank": "hi", "comm_dup": "hh", "comm_split": "hiih", "comm_free": "h",
    "comm_group": "hh", "group_incl": "hiIh", "comm_create": "hhh", "cart_create": "hiIIih",
    "cart_sub": "ihIh", "type_contiguous": "ihh", "type_vector": "iiihh", "init": "i",
    "finalize": "", "wtime": "", "win_free": "h",
}  # fmt: skip


class Writer:
    """A rank's file. Calls last a microsecond each, if nothing else is said."""

    def __init__(self) -> None:
        self.now_ns = 5_000_000_000
        self.body = struct.pack(">ii", 0, 0)

    def call(
        self, name: str, *values: int | Sequence[int], form: str = "", thread: int = 0
    ) -> None:
        """A call's record; `form` is another than usual, of what a root has."""
        begin, self.now_ns = self.now_ns, self.now_ns + 1000
        self.body += struct.pack(">HBH", CALLS.index(name), WALL_TIME | THREAD, thread)
        for ns in (begin, self.now_ns):
            self.body += struct.pack(">HI", *divmod(ns, 10**9))
        for kind, value in zip(form or FORMS[name], values, strict=True):
            if isinstance(value, int):
                self.body += struct.pack(f">{kind}", value)
            else:
                self.body += struct.pack(f">i{len(value)}{kind.lower()}", len(value), *value)

    def compute(self, ns: int) -> None:
        self.now_ns += ns

    def write(self, path: Path) -> None:
        text = struct.pack(">Q", MAGIC) + self.body + struct.pack(">H", END)
        header = len(text)
        text += struct.pack(">3bQ", 1, 0, 0, 0) + struct.pack(">i5s", 5, b"host\0") * 2
        text += struct.pack(">ii", 0, 0)
        footer = len(text)
        text += struct.pack(">Q", FOOTER_MAGIC) + bytes(8 * END)
        labels = len(text)
        text += struct.pack(">i", 0)
        sizes = len(text)
        text += struct.pack(f">i{len(SIZES)}i", len(SIZES), *SIZES)
        addresses = len(text)
        text += struct.pack(">i", 0)
        index = (MAGIC, sizes, addresses, labels, header, 8, footer, 0)
        path.write_bytes(text + struct.pack(">8Q", *index))


def write(folder: Path, ranks: Sequence[Writer]) -> Path:
    """The ranks' files, and the text that names them."""
    for number, rank in enumerate(ranks):
        rank.write(folder / f"trace-{number:04}.bin")
    path = folder / "trace.meta"
    path.write_text(f"hostname=host\nnumprocs={len(ranks)}\nfileprefix=trace\nversion=1\n")
    return path
