"""A stand-in for `chasqui._core`: one machine that is LogGP itself, for tests of the commands.

It runs nothing: it answers `run` with the records that guest/bench/logp.c would leave behind, from
LogGP's two formulas (see chasqui.loggp), or with a prepared summary.
"""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

from chasqui import loggp

STAGES = [
    {"name": "send_call", "formula": "send_return - call", "count": 3, "mean_ps": 2000},
    {"name": "latency", "formula": "land - ready", "count": 3, "mean_ps": 10500},
    {"name": "first_use", "formula": "first_access - deliver", "count": 0, "mean_ps": 0},
]

# L, o, g [ps], G [ps a byte], and the sender's own instructions between two calls [ps].
PARAMETERS = {"L": 5_000_000, "o_send": 1_200_000, "o_recv": 900_000, "g": 1_500_000, "G": 6250}
BETWEEN_PS = 37_000

RESOLVED = """\
[bus]
clock = { value = "50 MHz", from = "loggp", source = "" }

[node.core]
clock = { value = "200 MHz", from = "loggp", source = "" }
"""


class InputError(Exception):
    pass


def gap_ps(size: int, p: dict[str, int]) -> int:
    """From message to message: what takes longest of the interface, the sender and the receiver."""
    return max(p["g"] + max(size - 1, 0) * p["G"], p["o_send"] + BETWEEN_PS, p["o_recv"])


def stream_and_pings(size: int, count: int, trips: int, **p: int) -> list[dict[str, Any]]:
    """The records of logp.c on a LogGP machine: streams, then pings."""
    rows: list[dict[str, Any]] = []
    now = 1_000_000
    sequence = [0, 0]

    def send(
        call: int, injected: int, source: int, tag: int, post: int | None, free: int = 0
    ) -> tuple[int, int]:
        flight = p["L"] + max(size - 1, 0) * p["G"]
        land = injected + flight
        posted = land - 1_000 if post is None else post
        deliver = max(land, free)
        done = max(deliver, posted) + p["o_recv"]
        rows.append(
            {
                "source": source, "sequence": sequence[source], "destination": 1 - source,
                "tag": tag, "context": 0, "bytes": size, "mechanism": None, "call_ps": call,
                "ready_ps": call + p["o_send"], "send_return_ps": call + p["o_send"],
                "accept_ps": injected, "inject_ps": injected, "arrive_ps": injected + p["L"],
                "land_ps": land, "receive_call_ps": posted, "post_ps": posted,
                "match_ps": land, "deliver_ps": deliver, "done_ps": done,
            }
        )  # fmt: skip
        sequence[source] += 1
        return deliver, done

    more = int(loggp.SLOW * gap_ps(size, p))
    slow = {loggp.STREAM: (0, 0), loggp.SLOW_SENDER: (more, 0), loggp.SLOW_RECEIVER: (0, more)}
    for tag, (more_to_send, more_to_receive) in slow.items():
        call, interface, receiver, first = now + 10_000_000, 0, 0, now
        for _ in range(count):
            injected = max(call + p["o_send"], interface)
            interface = injected + p["g"] + max(size - 1, 0) * p["G"]
            deliver, now = send(call, injected, 0, tag, first, receiver)
            receiver = deliver + p["o_recv"] + more_to_receive
            call += p["o_send"] + BETWEEN_PS + more_to_send
    # What the arithmetic must leave out: a message of a collective.
    rows.append({**rows[-1], "sequence": sequence[0], "bytes": 4, "tag": -7})
    sequence[0] += 1
    now += 50_000_000
    for _ in range(trips):
        for source in (0, 1):
            _, now = send(now, now + p["o_send"], source, loggp.PING, None)
    return rows


def write_messages(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)


class FakeCore(types.ModuleType):
    """Keeps the requests it got; `answers` overrides parts of the summary, machine by machine."""

    def __init__(self) -> None:
        super().__init__("chasqui._core")
        self.InputError = InputError
        self.requests: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.parameters_ps = dict(PARAMETERS)
        self.unknown = "unknown machine '{}'; there are: loggp"

    def version(self) -> str:
        return "0"

    def machines(self) -> str:
        return json.dumps(
            [
                {
                    "name": "loggp",
                    "variants": [{"name": "slow", "summary": "a slow one"}],
                    "summary": "a network that is L, o, g, G",
                    "nodes_max": 1024,
                    "ranks_per_node_max": 1,
                }
            ]
        )

    def parameters(self, machine: str, sets: list[str]) -> str:
        self._known(machine)
        return json.dumps(
            [
                {
                    "name": "ni.L", "type": "duration", "unit": "ps, ns, us", "default": "5 us",
                    "value": "5 us", "range": ["0 ps", "1 s"], "plausible": None,
                    "choices": [], "doc": "Latency. Of the wire.",
                    "source": "an assumption",
                },
                {
                    "name": "ni.g", "type": "duration", "unit": "ps, ns, us", "default": "1 us",
                    "value": "1.5 us", "range": None, "plausible": ["1 us", "2 us"],
                    "choices": [],
                    "doc": "Gap.", "source": "",
                },
            ]
        )  # fmt: skip

    def resolve(self, machine: str, sets: list[str]) -> str:
        self._known(machine)
        return "schema_version = 1\n"

    def faults(self, machine: str, sets: list[str]) -> list[str] | None:
        return None

    def warm_up(self, machine: str, sets: list[str], sizes: list[int]) -> list[int]:
        self._known(machine)
        return [4 for _ in sizes]

    def check(self, text: str) -> None:
        request = json.loads(text)
        self._known(request["machine"])
        if request["program"] == "./nosuch":
            raise InputError("./nosuch: no such file")

    def run(self, text: str, progress: Any) -> str:
        request = json.loads(text)
        self.requests.append(request)
        self._known(request["machine"])
        directory = Path(request["directory"])
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "resolved.toml").write_text(RESOLVED)
        report = {"time_ps": 5, "instructions": 6, "host_seconds": 1.5, "rate_mips": 4.0}
        signal = progress(json.dumps(report)) if progress else None
        if Path(request["program"]).name.startswith("logp-"):
            size, _, trips, count, *_ = map(int, request["args"])
            rows = stream_and_pings(size, count, trips, **self.parameters_ps)
            write_messages(directory / "messages.parquet", rows)
        answer = self.answers.get(request["machine"], {})
        time_ps = answer.get("time_ps", 2_500_000_000)
        summary = {
            "outcome": "interrupted" if signal else "finished",
            "exit_status": 128 + signal if signal else 0,
            "message": "",
            "time_ps": time_ps,
            "instructions": 1_000_000,
            "messages": 3,
            "ranks": [
                {
                    "rank": rank,
                    "status": 0,
                    "time_ps": time_ps,
                    "mpi_ps": time_ps // 5,
                    "shares": {"computing_ps": time_ps},
                    "waits": [],
                    "calls": [],
                }
                for rank in range(request["ranks"])
            ],
            "stages": STAGES,
            "limited_by": "waiting for messages",
            "host": {"simulation_s": 0.25, "instructions_millions_per_s": 4.0},
            **answer,
        }
        return json.dumps(summary)

    def _known(self, machine: str) -> None:
        if machine.split("/", maxsplit=1)[0] not in ("loggp", "other", "loggp-a.toml"):
            raise InputError(self.unknown.format(machine))
