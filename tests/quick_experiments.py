"""Experiments, carried out quickly, each when a test first asks for what it has found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from chasqui.experiment import running


class Quick:
    """What experiments have found, with `--quick`, in folders of `place`."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, name: str) -> Path:
        """The folder of the experiment of this name."""
        folder = self.place / name.replace("/", "-")
        if not folder.exists():
            running.carry_out(name, folder, quick=True, jobs=2, progress=lambda _done, _of: None)
        return folder


def turn_of(name: str) -> pytest.MarkDecorator:
    """What marks tests of one experiment, so that one turn carries it out for all of them."""
    return pytest.mark.turn(running.names().index(name))


def in_turn(names: Iterable[str]) -> list[object]:
    """Cases of a test, an experiment each."""
    return [pytest.param(name, marks=turn_of(name)) for name in names]
