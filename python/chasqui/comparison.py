"""One program on several machines: the rows of `chasqui compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasqui import shares, simulation, stopping
from chasqui.errors import STATUS_LOST, InputError, LostError
from chasqui.simulation import main_part_ps
from chasqui.text import PS_PER_NS, number

if TYPE_CHECKING:
    from chasqui.measurement import Measurement

BAD_INPUT = 2


@dataclass
class Row:
    """One machine: its run, or the reason why there is none."""

    machine: str
    result: simulation.Result | None = None
    reason: str | None = None
    measurement: Measurement | None = None
    lost: bool = False  # of its measurement something could not be written
    interrupted: int = 0  # exit status after a signal: no further machine is tried

    @property
    def status(self) -> int:
        if self.interrupted:
            return self.interrupted
        if self.lost:
            return STATUS_LOST
        return self.result.status if self.result else BAD_INPUT

    @property
    def time_ps(self) -> int | None:
        """Simulated time, of a run that finished."""
        if self.result and self.result.summary["outcome"] == "finished":
            return int(self.result.summary["time_ps"])
        return None

    @property
    def main_part_ps(self) -> int | None:
        """That part of it which is between MPI_Init and MPI_Finalize."""
        return (
            None if self.time_ps is None or not self.result else main_part_ps(self.result.summary)
        )

    def stages(self) -> dict[str, dict[str, Any]]:
        """The parts of the messages' lives that occurred: name -> {formula, mean_ps, …}."""
        found = self.result.summary.get("stages") or [] if self.result else []
        return {each["name"]: each for each in found if each["count"]}

    def mechanisms(self) -> dict[str, dict[str, Any]]:
        """By what the messages travelled, where the machine has a choice: name -> {messages, …}."""
        found = self.result.summary.get("mechanisms") or [] if self.result else []
        return {each["name"]: each for each in found}

    def shares(self) -> dict[str, float]:
        """Where its ranks' time went: name -> part of it."""
        return shares.of(self.result.summary) if self.result else {}

    def call_shares(self) -> dict[str, float]:
        """The same of MPI's software, by the call."""
        return shares.of_calls(self.result.summary) if self.result else {}

    def mean_ns(self, stage: str) -> float | None:
        """Mean time of a part of the messages' lives."""
        found = self.stages().get(stage)
        return found["mean_ps"] / PS_PER_NS if found else None


def check(jobs: Sequence[simulation.Job], *, with_logp: bool) -> None:
    """Raises InputError if one of the jobs, or the measurement of its machine, can't start: before
    any of them has taken its time."""
    mistakes: dict[str, None] = {}  # what is wrong with the program is wrong everywhere
    places: dict[Path, str] = {}
    for job in jobs:
        machine, place = job.machine, job.directory
        if place is not None and places.setdefault(place, machine) != machine:
            both = f"{places[place]} and {machine}"
            mistakes[f"{place}: it would be the run directory of {both}; leave out --out"] = None
        every = [job]
        if with_logp:
            from chasqui import measurement

            every.append(measurement.job(machine, sets=job.sets))
        for each in every:
            try:
                simulation.check(each)
            except InputError as error:
                mistakes[str(error)] = None
    if mistakes:
        raise InputError("\n".join(mistakes))


def run_on(job: simulation.Job, *, with_logp: bool) -> Row:
    """Runs the job on its machine; whatever goes wrong becomes the row's reason."""
    row = Row(job.machine)
    try:
        row.result = simulation.execute(job)
        row.reason = reason_of(row.result)
        if row.result.summary["outcome"] == "interrupted":
            row.interrupted = row.result.status
        if with_logp and not row.interrupted:
            from chasqui import measurement

            row.measurement = measurement.measure(job.machine, sets=job.sets, sandbox=job.sandbox)
    except (InputError, LostError) as error:
        row.reason = str(error)
        row.lost = isinstance(error, LostError)
    except KeyboardInterrupt as stop:
        row.interrupted = stopping.status_of(stop)
        row.reason = "interrupted while its LogGP figures were measured"
    return row


def reason_of(result: simulation.Result) -> str | None:
    """What there is to say of a run that did not end well."""
    if result.summary["outcome"] != "finished":
        return simulation.ending(result.summary)
    return f"exit status {result.status}" if result.status else None


def speed_up(row: Row, first: Row) -> float | None:
    """How many times as fast as the first machine, between MPI_Init and MPI_Finalize: a program
    that is worth a machine runs for much longer than these, which few examples do."""
    if not row.main_part_ps or not first.main_part_ps:
        return None
    return first.main_part_ps / row.main_part_ps


def negative_stages(rows: Sequence[Row]) -> list[str]:
    """Of each stage with a mean below 0, what that means."""
    found = [each for row in rows for each in row.stages().values() if each["mean_ps"] < 0]
    return list(dict.fromkeys(f"{each['name']}: {each['doc']}" for each in found))


def stage_names(rows: Sequence[Row]) -> dict[str, str]:
    """All stages of any machine, in the record's order: name -> formula."""
    return {name: each["formula"] for row in rows for name, each in row.stages().items()}


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The table's content, a dictionary a machine."""
    result = []
    for row in rows:
        summary = row.result.summary if row.result else {}
        entry: dict[str, Any] = {
            "machine": row.machine,
            "outcome": summary.get("outcome", "not started"),
            "exit_status": row.status,
            "reason": row.reason,
            "time_ps": row.time_ps,
            "init_to_finalize_ps": row.main_part_ps,
            "speed_up": speed_up(row, rows[0]),
            "mpi_share": None if row.time_ps is None else simulation.mpi_share(summary),
            "messages": summary.get("messages"),
            "latency_ns": row.mean_ns("latency"),
            "instructions": summary.get("instructions"),
            "shares": row.shares(),
            "call_shares": row.call_shares(),
            "stages_ns": {name: row.mean_ns(name) for name in stage_names(rows)},
            "mechanisms": [
                {
                    "name": name,
                    "messages": each["messages"],
                    "bytes": each["bytes"],
                    "end_to_end_ns": each["end_to_end_ps"] / PS_PER_NS,
                }
                for name, each in row.mechanisms().items()
            ],
            "directory": str(row.result.directory) if row.result else None,
        }
        if row.measurement:
            from chasqui import measurement

            entry["loggp"] = measurement.as_json(row.measurement)
        result.append(entry)
    return result


def flat(entry: dict[str, Any]) -> dict[str, Any]:
    """One of these dictionaries as a line of a table: cells by their columns."""
    left_out = ("shares", "call_shares", "stages_ns", "mechanisms", "loggp")
    found = {name: value for name, value in entry.items() if name not in left_out}
    loggp = entry.get("loggp", {})
    for name in ("L_ps", "o_send_ps", "o_recv_ps", "g_ps", "G_ps_per_byte"):
        if loggp:
            found[name] = loggp[name]
    # Whether that is it, or a bound.
    found |= {f"{name}_sign": sign for name, sign in loggp.get("signs", {}).items()}
    found |= {f"share_{name.replace(' ', '_')}": e for name, e in entry["shares"].items()}
    found |= {f"{name}_ns": value for name, value in entry["stages_ns"].items()}
    return found


def directories(rows: Sequence[Row]) -> list[tuple[str, Path]]:
    return [(row.machine, row.result.directory) for row in rows if row.result]


def mechanism_cells(rows: Sequence[Row]) -> list[list[str]]:
    """Machine, mechanism, messages, data [bytes], mean time end to end [ns], a line each."""
    return [
        [
            row.machine,
            name,
            number(each["messages"]),
            number(each["bytes"]),
            number(each["end_to_end_ps"] / PS_PER_NS, 4),
        ]
        for row in rows
        for name, each in row.mechanisms().items()
    ]
