"""The simulator (`chasqui._core`), loaded when it is first asked for.

Invariant: this is the only module that imports `chasqui._core`; JSON is read and written here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chasqui.errors import InputError, check_text

if TYPE_CHECKING:
    from types import ModuleType

# Gets JSON, returns the signal for which to stop.
Progress = Callable[[str], "int | None"]


def _core() -> ModuleType:
    try:
        from chasqui import _core
    except ModuleNotFoundError as error:
        if error.name != "chasqui._core":
            raise
        raise InputError(
            "the simulator core is not built; in a clone of the project run: make install"
        ) from None
    return _core


def _call(name: str, *arguments: Any) -> Any:
    core = _core()
    try:
        return getattr(core, name)(*arguments)
    except core.InputError as error:
        raise InputError(str(error)) from None


def machines() -> list[dict[str, Any]]:
    """[{name, variants: [{name, summary}], summary, nodes_max, ranks_per_node_max}]"""
    found: list[dict[str, Any]] = json.loads(_call("machines"))
    return found


def variants() -> list[tuple[str, str, dict[str, Any]]]:
    """Machines and their variants by the names that --machine takes: what each is, and its machine
    as `machines` has it."""
    return [
        (
            "/".join([machine["name"], *([each["name"]] if each else [])]),
            (each or machine)["summary"],
            machine,
        )
        for machine in machines()
        for each in [None, *machine["variants"]]
    ]


def parameters(machine: str, sets: Sequence[str] = ()) -> list[dict[str, Any]]:
    """[{name, type, unit, default, value, range, plausible, doc, source}] of one machine. `range`
    is what is allowed, `plausible` the least and the greatest that the machine file gives."""
    found: list[dict[str, Any]] = json.loads(_call("parameters", machine, list(sets)))
    return found


def resolve(machine: str, sets: Sequence[str]) -> str:
    """The machine with every parameter written out (TOML)."""
    found: str = _call("resolve", machine, list(sets))
    return found


def warm_up(machine: str, sets: Sequence[str], sizes: Sequence[int]) -> list[int]:
    """For each size [bytes] the messages after which every ring and buffer has been used."""
    found: list[int] = _call("warm_up", machine, list(sets), list(sizes))
    return found


def faults(machine: str, sets: Sequence[str] = ()) -> list[str] | None:
    """What may happen to packets on its links (`network.fault.kind`) so that its protocol copes
    with it; none: it has no such links."""
    found: list[str] | None = _call("faults", machine, list(sets))
    return found


def inspect(path: str) -> dict[str, Any]:
    """What a compiled file asks for; `Report` of crates/inspect says it field by field."""
    found: dict[str, Any] = json.loads(_call("inspect", path))
    return found


def called(path: str) -> set[str]:
    """Names of the functions that a linked program calls, or jumps to."""
    return set(json.loads(_call("called", path)))


def system_calls() -> list[dict[str, Any]]:
    """[{number, name, served: full|partial|refused|missing, left_out}] of all that Linux has."""
    found: list[dict[str, Any]] = json.loads(_call("system_calls"))
    return found


def conformance(test: dict[str, Any]) -> dict[str, Any]:
    """Runs one test of a conformance suite; see `Test` and `Verdict` of crates/sim."""
    verdict: dict[str, Any] = json.loads(_call("conformance", json.dumps(test)))
    return verdict


def _text(request: dict[str, Any]) -> str:
    """The request as JSON. Raises InputError where a name in it is no text."""
    text = json.dumps(request, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        begin, end = text.rfind('"', 0, error.start) + 1, text.find('"', error.start)
        check_text("name", text[begin:end])
    return text


def check(request: dict[str, Any]) -> None:
    """Raises InputError if a program can't be run as the request says; nothing is written."""
    _call("check", _text(request))


def run(request: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Runs a program and returns the summary; see chasqui.simulation."""
    summary: dict[str, Any] = json.loads(_call("run", _text(request), progress))
    return summary
