"""What a run raises that could begin and did not end well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasqui.api.results import Run


class RunError(Exception):
    """A program did not end well; the text says how, `run` is its run."""

    def __init__(self, text: str, run: Run) -> None:
        super().__init__(text, run)  # as pickle makes it again
        self.run = run

    def __str__(self) -> str:
        return str(self.args[0])
