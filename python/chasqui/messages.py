"""Reads messages.parquet: one row a message, its stages in ps, null where a machine has none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

# In causal order for a receive that was posted in time; see DESIGN, the life of a message.
STAGES = (
    "call_ps", "ready_ps", "send_return_ps", "accept_ps", "inject_ps", "arrive_ps", "land_ps",
    "receive_call_ps", "post_ps", "wait_call_ps", "match_ps", "deliver_ps", "done_ps",
    "first_access_ps", "last_access_ps",
)  # fmt: skip
NAMES = ("source", "sequence", "destination", "tag", "context", "bytes", "mechanism")


@dataclass(frozen=True)
class Message:
    """One message's record. Times are simulated picoseconds."""

    source: int
    sequence: int
    destination: int | None = None
    tag: int | None = None
    context: int | None = None
    bytes: int | None = None
    mechanism: str | None = None
    call_ps: int | None = None
    ready_ps: int | None = None
    send_return_ps: int | None = None
    accept_ps: int | None = None
    inject_ps: int | None = None
    arrive_ps: int | None = None
    land_ps: int | None = None
    receive_call_ps: int | None = None
    post_ps: int | None = None
    wait_call_ps: int | None = None
    match_ps: int | None = None
    deliver_ps: int | None = None
    done_ps: int | None = None
    first_access_ps: int | None = None
    last_access_ps: int | None = None


def read(path: Path) -> list[Message]:
    """All messages of a run, in the file's order (source, sequence)."""
    import pyarrow.parquet

    columns: dict[str, list[Any]] = pyarrow.parquet.read_table(path).to_pydict()
    present = [name for name in (*NAMES, *STAGES) if name in columns]
    rows = zip(*(columns[name] for name in present), strict=True)
    return [Message(**dict(zip(present, row, strict=True))) for row in rows]
