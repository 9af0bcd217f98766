"""The reference of parameters: meaning, unit, default and allowed values of each, and what every
machine gives it with the source."""

from __future__ import annotations

from functools import cache
from typing import Any

from chasqui import core
from chasqui.manual.markdown import code, escaped, table

Parameter = dict[str, Any]


@cache
def _every() -> dict[str, dict[str, Parameter]]:
    """By name: of each machine that has it, without variants."""
    found: dict[str, dict[str, Parameter]] = {}
    for machine in core.machines():
        for each in core.parameters(machine["name"]):
            found.setdefault(each["name"], {})[machine["name"]] = each
    return found


def _families() -> dict[str, set[str]]:
    """By the first word of names: the machines that have such parameters."""
    found: dict[str, set[str]] = {}
    for name, machines in _every().items():
        found.setdefault(name.partition(".")[0], set()).update(machines)
    return found


def _is_shared(name: str) -> bool:
    """Of parts that machines have in common, not of one machine and its presets."""
    family = name.partition(".")[0]
    return not any(machine["name"] == family for machine in core.machines())


def shared() -> str:
    """Those of nodes, networks and the library."""
    return _sections([name for name in _every() if _is_shared(name)])


def of_machines() -> str:
    """Those that one machine and its presets have."""
    return _sections([name for name in _every() if not _is_shared(name)])


def _sections(names: list[str]) -> str:
    families = list(dict.fromkeys(name.partition(".")[0] for name in names))
    return "\n".join(
        f"## {family}\n\n"
        + "\n".join(_entry(name) for name in names if name.partition(".")[0] == family)
        for family in families
    )


def _entry(name: str) -> str:
    of = _every()[name]
    first = next(iter(of.values()))
    facts = [
        f"default {code(str(first['default']))}"
        if first["default"] not in (None, "")
        else "no default",
        f"unit {escaped(first['unit'])}" if first["unit"] else "",
        _allowed(first),
    ]
    lines = [
        f"### {name}\n",
        f"{escaped(first['doc'])}\n",
        f"*{'; '.join(fact for fact in facts if fact)}*\n",
        _table(of),
    ]
    return "\n".join(lines)


def _allowed(each: Parameter) -> str:
    if each["choices"]:
        return f"one of {', '.join(code(word) for word in each['choices'])}"
    return f"allowed {' to '.join(map(str, each['range']))}" if each["range"] else ""


def _table(of: dict[str, Parameter]) -> str:
    """Machines with the same value from the same source share a row."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for machine, each in of.items():
        plausible = " to ".join(map(str, each["plausible"])) if each["plausible"] else ""
        key = (str(each["value"]), plausible, str(each["source"]))
        groups.setdefault(key, []).append(machine)
    rows = [
        [", ".join(machines), code(_short(value)), escaped(plausible), escaped(source)]
        for (value, plausible, source), machines in groups.items()
    ]
    head = ["machine", "value", "plausible", "source"]
    if not any(row[2] for row in rows):
        rows, head = [[row[0], row[1], row[3]] for row in rows], ["machine", "value", "source"]
    return table(head, rows)


def _short(value: str) -> str:
    return value if "\n" not in value else "…"
