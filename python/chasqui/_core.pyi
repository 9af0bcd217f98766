"""The simulator itself (crates/core). Every text in or out is JSON unless said otherwise."""

from collections.abc import Callable, Sequence

class InputError(Exception):
    """The user's mistake: file, key or offset, what was found, what is allowed."""

def version() -> str: ...
def machines() -> str:
    """[{name, variants: [{name, summary}], summary, nodes_max, ranks_per_node_max}]"""

def parameters(machine: str, sets: Sequence[str] = ...) -> str:
    """[{name, type, unit, default, value, range, doc, source}]"""

def resolve(machine: str, sets: Sequence[str]) -> str:
    """The machine with every parameter written out (TOML)."""

def faults(machine: str, sets: Sequence[str]) -> list[str] | None:
    """What may happen to packets on its links so that its protocol copes with it; none: it has no
    such links."""

def warm_up(machine: str, sets: Sequence[str], sizes: Sequence[int]) -> list[int]:
    """For each size [bytes] the messages after which every ring and buffer has been used."""

def inspect(path: str) -> str:
    """What a compiled file asks for: `Report` of crates/inspect."""

def called(path: str) -> str:
    """Names of the functions that a linked program calls, or jumps to."""

def system_calls() -> str:
    """[{number, name, served: full|partial|refused|missing, left_out}]"""

def check(request: str) -> None:
    """Whether `run` could begin with this request; nothing is written."""

def run(request: str, progress: Callable[[str], int | None] | None = None) -> str:
    """Runs a program; see chasqui.simulation for the request and the summary. `progress` returns
    the signal for which to stop."""
