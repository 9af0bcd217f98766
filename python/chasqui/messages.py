"""Reads messages.parquet: one row a message, its stages in ps, null where a machine has none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chasqui.errors import InputError
from chasqui.files import check_regular, damaged

# In causal order for a receive that was posted in time; see DESIGN, the life of a message.
STAGES = (
    "call_ps", "ready_ps", "send_return_ps", "accept_ps", "inject_ps", "arrive_ps", "land_ps",
    "receive_call_ps", "post_ps", "wait_call_ps", "match_ps", "deliver_ps", "done_ps",
    "first_access_ps", "last_access_ps",
)  # fmt: skip
NAMES = ("source", "sequence", "destination", "tag", "context", "bytes", "mechanism")
KEYS = ("source", "sequence")  # which every message has
COUNTED = (*KEYS, "destination", "bytes")  # from 0
# Context ids: each communicator has as many, the first for the program's own messages, the others
# for the library's (`CHASQUI_CONTEXT_EACH` of the guest's `chasqui/abi.h`).
CONTEXT_NAMES = ("", "collectives", "nonblocking collectives", "making of communicators")
CONTEXTS = len(CONTEXT_NAMES)
ABSENT = -(1 << 63)  # in `columns`, where a message has no such stage


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
    table, present = _table(path)
    columns: dict[str, list[Any]] = table.to_pydict()
    rows = zip(*(columns[name] for name in present), strict=True)
    try:
        return [Message(**dict(zip(present, row, strict=True))) for row in rows]
    except TypeError:
        raise damaged(str(path), "it lacks source or sequence") from None


def columns(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The same as arrays of 64-bit integers with ABSENT for null, and the mechanisms' names, by
    which that column is numbers: for those who look at a hundred thousand messages at a time."""
    import numpy
    import pyarrow
    from pyarrow import compute

    table, present = _table(path)
    if not set(KEYS) <= set(present):
        raise damaged(str(path), "it lacks source or sequence")
    mechanisms = _mechanisms(table, path) if "mechanism" in present else pyarrow.array([], "string")
    names = sorted(set(mechanisms.to_pylist()) - {None})
    found = {}
    for name in (*NAMES, *STAGES):
        if name not in present:
            found[name] = numpy.full(table.num_rows, ABSENT, numpy.int64)
            continue
        column = table[name]
        if name == "mechanism":
            column = compute.index_in(mechanisms, pyarrow.array(names, pyarrow.string()))
        try:
            found[name] = column.cast("int64").fill_null(ABSENT).to_numpy()
        except pyarrow.ArrowException:
            raise damaged(str(path), f"column {name} has larger numbers than times are") from None
        if name in COUNTED and (lowest := compute.min(column).as_py()) is not None and lowest < 0:
            raise damaged(str(path), f"column {name} has {lowest}")
        if name in KEYS and column.null_count:
            raise damaged(str(path), f"column {name} lacks a number")
    return found, names


def _mechanisms(table: Any, path: Path) -> Any:
    """That column as texts."""
    import pyarrow

    kind = table.schema.field("mechanism").type
    is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
    if not (is_text or pyarrow.types.is_null(kind)):
        raise damaged(str(path), "column mechanism has no names")
    try:
        found = table["mechanism"].cast("string")
        found.validate(full=True)
    except pyarrow.ArrowException:
        raise damaged(str(path), "column mechanism has no names") from None
    return found


def _table(path: Path) -> tuple[Any, list[str]]:
    """The file's table, and its columns that are known, which are of the right types."""
    import pyarrow.parquet

    check_regular(path)
    try:
        table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `chasqui run` writes it") from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise damaged(str(path), str(error).partition("\n")[0]) from None
    present = [name for name in (*NAMES, *STAGES) if name in table.column_names]
    for name in present:
        kind = table.schema.field(name).type
        if not (pyarrow.types.is_integer(kind) or name == "mechanism"):
            raise damaged(str(path), f"column {name} has no whole numbers")
    return table, present
