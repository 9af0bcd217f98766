"""The manual's page of coverage, docs/coverage.md: `make docs` writes it from chasqui.coverage."""

from __future__ import annotations

from collections.abc import Iterable

from chasqui import coverage, standard
from chasqui.coverage import MISSING, PARTIAL, THERE, Function

HEAD = """\
# What there is of MPI and of Linux

<!-- Written by `make docs`, from the library and the simulator themselves. -->

`chasqui check FILE…` says of a program, before any run, what of this it uses and what it lacks.

"There" means in the library, for programs in C and C++. "Partial" says what is left out. Where a
function is missing, a program that calls it does not link.
"""


def page() -> str:
    """The page as Markdown."""
    topics: dict[str, list[Function]] = {topic: [] for topic in standard.FUNCTIONS}
    for each in coverage.functions().values():
        topics[each.topic].append(each)
    parts = [HEAD, _interfaces(), "## MPI functions\n", _counts(topics)]
    parts += [_topic(topic, functions) for topic, functions in topics.items()]
    parts.append(_system_calls())
    return "\n".join(parts)


def _interfaces() -> str:
    rows = ["| header or module | what | state |", "| --- | --- | --- |"]
    for each in coverage.interfaces().values():
        state = f"{each.state}: {each.note}" if each.note else each.state
        rows.append(f"| `{each.name}` | {each.what} | {state} |")
    return "## Headers and modules\n\n" + "\n".join(rows) + "\n"


def _counts(topics: dict[str, list[Function]]) -> str:
    states = (THERE, PARTIAL, MISSING)
    rows = ["| topic | there | partial | missing |", "| --- | ---: | ---: | ---: |"]
    every = [each for functions in topics.values() for each in functions]
    for topic, functions in [*topics.items(), ("**all**", every)]:
        counts = [len(_in_state(functions, state)) for state in states]
        rows.append(f"| {topic} | {' | '.join(map(str, counts))} |")
    return "\n".join(rows) + "\n"


def _in_state(functions: list[Function], state: str) -> list[Function]:
    return [each for each in functions if each.state == state]


def _topic(topic: str, functions: list[Function]) -> str:
    lines = [f"### {topic}\n"]
    for state in (THERE, PARTIAL, MISSING):
        found = _in_state(functions, state)
        large = [each for each in found if _is_large(each)]
        plain = [each for each in found if not _is_large(each)]
        if state == PARTIAL:
            lines += [f"- partial: `{each.name}`: {each.note}" for each in plain]
            if large:
                lines.append(f"- partial: {_names(e.name for e in large)}: {coverage.LARGE_NOTE}")
            continue
        # The twins for large counts are counted, as long as all are there or all are missing.
        every = len(large) == len([each for each in functions if _is_large(each)]) > 0
        shown = [each.name for each in plain] if every else [each.name for each in found]
        if shown:
            lines.append(f"- {state}: {_names(shown)}")
        if large and every:
            lines.append(f"- {state}: {len(large)} with large counts (`MPI_…_c`)")
    return "\n".join(lines) + "\n"


def _is_large(function: Function) -> bool:
    return function.name.endswith("_c")


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _system_calls() -> str:
    calls = list(coverage.system_calls().values())
    by_state = {
        state: [each for each in calls if each.state == state]
        for state in (THERE, PARTIAL, MISSING)
    }
    counts = ", ".join(f"{len(found)} {state}" for state, found in by_state.items())
    lines = [f"## System calls\n\nOf the {len(calls)} that Linux has on RISC-V: {counts}.\n"]
    lines.append(f"- there: {_names(each.name for each in by_state[THERE])}")
    lines += [f"- partial: `{each.name}`: {each.note}" for each in by_state[PARTIAL]]
    lines.append(
        "- missing: all others. They return ENOSYS, and a run says so once a rank. "
        "Programs may meet: " + _names(each.name for each in by_state[MISSING])
    )
    return "\n".join(lines) + "\n"
