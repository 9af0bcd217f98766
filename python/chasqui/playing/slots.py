"""Slots of a rank's requests: the least that is free is taken, so that there are few."""

from __future__ import annotations

import heapq

from chasqui.playing.form import Part


class Slots:
    """Those of one rank."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._part.requests += 1
        return self._part.requests - 1

    def free(self, slot: int) -> None:
        heapq.heappush(self._free, slot)
