"""What runs solve: programs, arguments, ranks and what else went into them beside the machine."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from chasqui.report.data import Run
from chasqui.report.frame import Raw, table

DIGITS = 12  # of a fingerprint
NOTHING = "-"


def of(run: Run) -> dict[str, str]:
    """By the name of an input, what it was. A summary without `inputs` has only the first two."""
    found = {"program": str(run.summary["program"]), "ranks": str(run.ranks)}
    inputs: Mapping[str, Any] | None = run.summary.get("inputs")
    if inputs is None:
        return found
    programs = inputs["programs"]

    def of_each(words: Sequence[str]) -> str:
        return " : ".join(words)

    ranks = of_each([str(each["ranks"]) for each in programs])
    stdin = inputs.get("stdin")
    environment = [f"{name}={value}" for name, value in sorted(inputs["environment"].items())]
    return {
        **found,
        "ranks": ranks if len(programs) > 1 else found["ranks"],
        "arguments": of_each([shlex.join(each["arguments"]) or NOTHING for each in programs]),
        "program file (SHA-256)": of_each([each["sha256"][:DIGITS] for each in programs]),
        "standard input (SHA-256)": stdin["sha256"][:DIGITS] if stdin else NOTHING,
        "environment": shlex.join(environment) or NOTHING,
        "trace": _of_trace(inputs.get("trace")),
        "recording (SHA-256)": inputs.get("recording_sha256", NOTHING)[:DIGITS],
        "other jobs": "; ".join(map(_of_other, inputs.get("beside", []))) or NOTHING,
        "seed": str(inputs["seed"]),
        "jitter": f"{inputs['jitter_ps']} ps" if "jitter_ps" in inputs else NOTHING,
        "fast-forward": "yes" if inputs["fast_forward"] else "no",
    }


def _of_trace(trace: Mapping[str, str] | None) -> str:
    """A trace that was carried out, and how."""
    if trace is None:
        return NOTHING
    rate = f", {trace['flops_per_s']} operations a second" if "flops_per_s" in trace else ""
    digits = trace["sha256"][:DIGITS]
    return f"{trace['name']} ({trace['format']}, SHA-256 {digits}), scale {trace['scale']}{rate}"


def _of_other(job: Mapping[str, Any]) -> str:
    """Another job on the same nodes, as its program is called."""
    return " : ".join(
        shlex.join([each["name"], *each["arguments"]])
        + f" on {each['ranks']} ranks ({each['sha256'][:DIGITS]})"
        for each in job["programs"]
    )


def are_alike(one: Run, other: Run) -> bool:
    """Times of runs of different problems say nothing of the machines."""
    return of(one) == of(other)


def differing(runs: Sequence[Run]) -> dict[str, list[str]]:
    """By the name of an input in which they differ, what each had."""
    every = [of(run) for run in runs]
    names = dict.fromkeys(name for each in every for name in each)
    found = {name: [each.get(name, NOTHING) for each in every] for name in names}
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def warning(found: Mapping[str, list[str]]) -> str:
    return (
        f"These are runs of different problems. They differ in: {', '.join(found)}. "
        "Between such there is no speed-up."
    )


def shown(titles: Sequence[str], found: Mapping[str, list[str]]) -> Raw:
    """A table of them, if there are any."""
    if not found:
        return Raw("")
    header = ["input", *titles]
    rows = [[name, *values] for name, values in found.items()]
    return table(header, rows, left=tuple(range(len(header))), caption="What went into them")
