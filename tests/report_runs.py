"""Run directories for tests of reports: what the simulator would write, without it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet

from chasqui.messages import STAGES
from chasqui.sweeping import store

# From each stage to the next that a message has, at most [ps]: as random as times can be.
STEPS_PS = {
    "ready_ps": 8_000_000, "accept_ps": 2_000_000, "inject_ps": 300_000, "arrive_ps": 700_000,
    "land_ps": 3_000_000, "match_ps": 9_000_000, "deliver_ps": 2_000_000, "done_ps": 8_000_000,
}  # fmt: skip
BEFORE_PS = {"send_return_ps": 12_000_000, "receive_call_ps": 9_000_000, "post_ps": 5_000_000}
MECHANISMS = ("basic", "express", "dma")
RESOLVED = """\
# A machine.
schema_version = 1
extends = "made-up"

[about]
name = "made-up"

# The node.
[node.core]
# Clock of the core. (frequency)
clock = { value = "100 MHz", from = "made-up", source = "a document, section 1" }
# Cycles of a load. (cycles)
load = { value = "2 cycles", range = ["1 cycle", "3 cycles"], from = "default", source = "assumption: <b>as</b> others" }
"""  # noqa: E501


def messages(count: int, ranks: int) -> dict[str, Any]:
    """Columns of as many messages."""
    chance = numpy.random.default_rng(1)
    source = numpy.sort(chance.integers(0, ranks, count))
    columns: dict[str, Any] = {
        "source": source,
        "sequence": numpy.arange(1, count + 1),
        "destination": (source + chance.integers(1, ranks, count)) % ranks,
        "tag": chance.integers(0, 100, count),
        "context": chance.integers(0, 2, count),
        "bytes": 2 ** chance.integers(0, 14, count),
        "mechanism": numpy.array(MECHANISMS)[chance.integers(0, len(MECHANISMS), count)],
    }
    time = numpy.sort(chance.integers(0, 10**10, count))
    columns["call_ps"] = time
    for stage, most in STEPS_PS.items():
        time = time + chance.integers(1, most, count)
        columns[stage] = time
    for stage, most in BEFORE_PS.items():
        columns[stage] = columns["call_ps"] + chance.integers(1, most, count)
    return columns


def write(
    directory: Path,
    columns: Mapping[str, Any],
    ranks: int = 4,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """A run directory with these messages, and `changes` to its summary."""
    directory.mkdir(parents=True)
    count = len(columns["source"])
    nothing = pyarrow.nulls(count, pyarrow.int64())
    table = {**columns, **{name: nothing for name in STAGES if name not in columns}}
    pyarrow.parquet.write_table(pyarrow.table(table), directory / "messages.parquet")
    found = {**summary(columns, ranks), **(changes or {})}
    host = {"version": "0.1.0", "command": ["chasqui", "run", "--", "./made-up"], "threads": 1}
    texts = {
        "summary.json": json.dumps(found),
        "host.json": json.dumps(host),
        "stats.json": "{}",
        "resolved.toml": RESOLVED,
        "timeline.json": json.dumps({"traceEvents": list(_events(ranks))}),
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    return directory


def summary(columns: Mapping[str, Any], ranks: int) -> dict[str, Any]:
    count = len(columns["source"])
    end = int(max(columns["done_ps"])) if count else 10**9
    call = {"name": "MPI_Recv", "count": 1, "time_ps": end // 4, "waiting_ps": 0, "left_ps": end}
    rank = {
        "status": 0, "instructions": 1000, "cycles": 1000, "time_ps": end, "mpi_ps": end // 4,
        "shares": {"computing_ps": end - end // 4, "mpi_software_ps": end // 4}, "waits": [],
        "calls": [call],
    }  # fmt: skip
    life = {"name": "end_to_end", "formula": "done - call", "doc": "All of it.", "count": count,
            "mean_ps": 1, "min_ps": 1, "median_ps": 1, "max_ps": 1}  # fmt: skip
    return {
        "schema_version": 1, "machine": "made-up", "program": "made-up", "outcome": "finished",
        "message": "", "exit_status": 0, "time_ps": end, "instructions": 1000 * ranks,
        "messages": count, "limited_by": "nothing", "stages": [life] if count else [],
        "ranks": [{"rank": number, "node": number, **rank} for number in range(ranks)],
        "mechanisms": [
            {"name": name, "messages": 1, "bytes": 1, "end_to_end_ps": 1} for name in MECHANISMS
        ],
    }  # fmt: skip


def _events(ranks: int) -> Any:
    """A thousand calls of each rank, as many as runs keep."""
    chance = random.Random(1)
    for rank in range(ranks):
        place = {"pid": rank + 1, "tid": rank + 1}
        yield {"ph": "M", "pid": rank + 1, "name": "process_name", "args": {"name": f"rank {rank}"}}
        yield {"ph": "M", **place, "name": "thread_name", "args": {"name": "MPI calls"}}
        at = 0.0
        for _ in range(1000):
            start, length = at + 1 + chance.random() * 4, 1 + chance.random() * 5
            at = start + length
            name = chance.choice(("MPI_Send", "MPI_Recv", "MPI_Allreduce"))
            yield {"ph": "X", **place, "ts": round(start, 6), "dur": round(length, 6), "name": name}


def sweep(place: Path, machines: tuple[str, ...], ranks: tuple[int, ...]) -> int:
    """What `chasqui sweep` would leave of a point for each of these machines and ranks, but for
    their runs: the number of points."""
    others = dict.fromkeys(store.columns())
    figures = {"outcome": "finished", "exit_status": 0, "directory": "runs/r", "repeat": 1}
    rows = [
        {**others, **figures, "machine": machine, "np": each, "init_to_finalize_ps": each * 10**6}
        for machine in machines
        for each in ranks
    ]
    store.write_spec(place, {"program": ["./ring"], "plot": ["x=np by=machine"]})
    store.write_table(place / store.RESULTS, pyarrow.Table.from_pylist(rows))
    return len(rows)
