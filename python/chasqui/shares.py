"""Where the ranks' time went: from summary.json, as shares that add up to one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from chasqui.text import simulated_time

SOFTWARE = "MPI software"
INIT = "MPI_Init"
# What a wait for another rank is made of, as summary.json names it: what to call most of it.
WAITS = {
    "late_sender_ps": "before it had called MPI to send",
    "late_receiver_ps": "before it had called MPI to receive",
    "ni_full_ps": "until the NI had room",
    "under_way_ps": "with the message under way",
}
SHOWN = 5  # shares in the line of a run
LEAST = 0.01


class Wait(NamedTuple):
    """Waits of one rank for another, in MPI calls."""

    rank: int
    peer: int
    time_ps: int
    part: str  # what most of it was: a key of WAITS
    share: float  # of the wait


def of(summary: Mapping[str, Any]) -> dict[str, float]:
    """Of all ranks together, by name: each part of their time, 0 to 1."""
    parts = _parts(summary)
    total = max(sum(parts.values()), 1)
    return {name_of(key): ps / total for key, ps in parts.items()}


def of_calls(summary: Mapping[str, Any]) -> dict[str, float]:
    """The same of MPI's software, by the call: what each takes by itself, without waiting."""
    total = max(sum(_parts(summary).values()), 1)
    calls: Counter[str] = Counter()
    for rank in summary["ranks"]:
        for call in rank["calls"]:
            if call["name"] != INIT:
                calls[call["name"]] += call["time_ps"] - call["waiting_ps"]
    return {name: ps / total for name, ps in calls.most_common() if ps > 0}


def _parts(summary: Mapping[str, Any]) -> Mapping[str, int]:
    """Of all ranks together [ps]."""
    parts: Counter[str] = Counter()
    for rank in summary["ranks"]:
        parts.update(rank["shares"])
    return parts


def name_of(key: str) -> str:
    """What a part is called."""
    words = key.removesuffix("_ps").split("_")
    if words == ["mpi", "init"]:
        return INIT
    return " ".join(word.upper() if word in ("mpi", "ni") else word for word in words)


def longest_wait(summary: Mapping[str, Any]) -> Wait | None:
    """The rank that waited longest for another, of all."""
    waits = [
        (sum(each[part] for part in WAITS), rank["rank"], each)
        for rank in summary["ranks"]
        for each in rank["waits"]
    ]
    waits = [wait for wait in waits if wait[0]]
    if not waits:
        return None
    time_ps, rank, each = max(waits, key=lambda wait: (wait[0], -wait[1]))
    part = max(WAITS, key=lambda part: each[part])
    return Wait(rank, each["peer"], time_ps, part, each[part] / time_ps)


def lines(summary: Mapping[str, Any]) -> list[str]:
    """For the end of a run: the largest shares, and who waited longest for whom."""
    largest = sorted(of(summary).items(), key=lambda item: -item[1])[:SHOWN]
    shown = [f"{name} {share:.0%}" for name, share in largest if share >= LEAST]
    found = [f"time went to    {', '.join(shown)}"] if shown else []
    # Who waits at a deadlock waits for another than whom it waited for.
    wait = longest_wait(summary) if summary["outcome"] == "finished" else None
    if wait is not None:
        found.append(
            f"longest wait    rank {wait.rank} for rank {wait.peer}: "
            f"{simulated_time(wait.time_ps)} in all, {wait.share:.0%} of it {WAITS[wait.part]}"
        )
    return found
