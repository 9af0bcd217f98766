"""Messages and calls as comma-separated tables. A column's name ends in its unit: `call_ps`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from chasqui.export import place
from chasqui.export import trace as traces
from chasqui.export.trace import Trace
from chasqui.messages import NAMES, STAGES

MESSAGES, CALLS = "messages.csv", "calls.csv"
# What was sent and received in a call, beside what timeline.json has.
CALL_COLUMNS = (
    "rank", "hart", "call", "enter_ps", "leave_ps", "returned",
    "messages_sent", "bytes_sent", "messages_received", "bytes_received",
)  # fmt: skip


def write(trace: Trace, path: Path) -> str:
    messages = {
        name: [getattr(message, name) for message in trace.messages] for name in (*NAMES, *STAGES)
    }
    _write(messages, path / MESSAGES)
    calls = _calls(trace)
    _write(calls, path / CALLS)
    return f"{len(trace.messages):,} messages, {len(calls['rank']):,} calls"


def is_own(path: Path) -> bool:
    """Whether this wrote the folder."""
    return place.holds(path, BEGINNINGS)


def header(names: tuple[str, ...]) -> bytes:
    return ",".join(f'"{name}"' for name in names).encode() + b"\n"


BEGINNINGS = {MESSAGES: header((*NAMES, *STAGES)), CALLS: header(CALL_COLUMNS)}


def _calls(trace: Trace) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in CALL_COLUMNS}
    for thread in trace.threads:
        for call, events in thread.parts():
            if call is None:
                continue
            sums: dict[str, int] = defaultdict(int)
            for event in events:
                if event.kind != traces.POST:
                    what = "sent" if event.kind == traces.SEND else "received"
                    sums[f"messages_{what}"] += 1
                    sums[f"bytes_{what}"] += trace.messages[event.message].bytes or 0
            row = {
                "rank": thread.rank, "hart": thread.hart, "call": call.name,
                "enter_ps": call.enter_ps, "leave_ps": call.leave_ps,
                "returned": int(call.returned),
            }  # fmt: skip
            for name in CALL_COLUMNS:
                found[name].append(row[name] if name in row else sums[name])
    return found


def _write(columns: dict[str, list[Any]], path: Path) -> None:
    import pyarrow.csv

    kinds = {"mechanism": pyarrow.string(), "call": pyarrow.string()}
    table = {
        name: pyarrow.array(values, kinds.get(name, pyarrow.int64()))
        for name, values in columns.items()
    }
    pyarrow.csv.write_csv(pyarrow.table(table), path)
