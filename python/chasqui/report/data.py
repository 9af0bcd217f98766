"""What a report is made of: the files of a run directory, read once.

Everything that only some runs have (messages, a profile, a timeline) may be missing: then the
report says by which option it would be there.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chasqui import messages, profile, timeline
from chasqui.files import (
    NUMBER_MAX,
    TEXT_MAX,
    Shape,
    check_shape,
    damaged,
    missing,
    read_json,
    read_text,
)
from chasqui.shares import WAITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUMMARY, HOST, STATS, RESOLVED = "summary.json", "host.json", "stats.json", "resolved.toml"
FOLDED = "profile.folded"
CALL: Shape = {"name": str, "count": int, "time_ps": int, "waiting_ps": int, "left_ps": int}
# What of the summary is read here, and by `comparison` and `shares`.
SHAPE: Shape = {
    "machine": str, "program": str, "outcome": str, "message": str, "exit_status": int,
    "time_ps": int, "instructions": int, "messages": int,
    "ranks": [
        {
            "rank": int, "node": int, "instructions": int, "time_ps": int, "mpi_ps": int,
            "shares": {str: int}, "waits": [{"peer": int, **dict.fromkeys(WAITS, int)}],
            "calls": [CALL],
        }
    ],
    "stages": [{"name": str, "formula": str, "doc": str, "count": int}],
    "mechanisms": [{"name": str, "messages": int, "bytes": int, "end_to_end_ps": int}],
}  # fmt: skip
PROGRAM: Shape = {
    "name": str, "first_rank": int, "ranks": int, "arguments": [str], "sha256": str,
}  # fmt: skip
# What not every summary has.
PARTS: dict[str, Shape] = {
    "limited_by": str,
    "others_until_ps": int,
    "inputs": {
        "programs": [PROGRAM], "environment": {str: str}, "seed": int, "fast_forward": bool,
    },
    "replay": {
        "rank": int, "ratio": str, "cycles_per_recorded_s": int, "is_same": bool,
        **dict.fromkeys(("messages", "taken", "taken_otherwise", "sent", "sent_otherwise"), int),
    },
}  # fmt: skip
# What not all inputs have.
MORE_INPUTS: dict[str, Shape] = {
    "stdin": {"bytes": int, "sha256": str},
    "recording_sha256": str,
    "trace": dict.fromkeys(("format", "name", "sha256", "scale", "actions_sha256"), str),
    "beside": [{"programs": [PROGRAM]}],
}
FORMULA_MAX = 200  # letters; those of the simulator have up to 50
TIME_MAX = (1 << 63) - 1  # [ps] what tables of them hold
STAGE_TIMES = ("mean_ps", "min_ps", "median_ps", "max_ps")
# A line of resolved.toml, as the simulator writes it.
VALUE = re.compile(
    r"""^([\w-]+)\s=\s\{\svalue\s=\s(.*?)(?:,\srange\s=\s\[[^\[\]]*\])?,\sfrom\s=\s"((?:[^"\\]|\\.)*)",
    \ssource\s=\s"((?:[^"\\]|\\.)*)"\s\}$""",
    re.VERBOSE,
)


# A line of profile.folded: functions from the outermost to the innermost, and cycles.
CALL_PATH = re.compile(r"(.+) ([0-9]{1,20})")


class Parameter(NamedTuple):
    """A parameter as the run had it."""

    name: str
    value: str
    origin: str  # the file or option that set it
    source: str  # why it is so
    doc: str

    @property
    def is_assumed(self) -> bool:
        return "assumption" in self.source


@dataclass(frozen=True)
class Messages:
    """All messages of a run: a column a stage [ps], `messages.ABSENT` where there is none."""

    columns: Mapping[str, NDArray[Any]]
    mechanisms: list[str]  # by the numbers in the column of that name

    def __len__(self) -> int:
        return len(self.columns["source"])

    @cached_property
    def milestones(self) -> Mapping[str, NDArray[Any]]:
        """The stages between which the parts of lives are, each no sooner than those before it:
        what came sooner (a match before the data were sent) takes no time of its own."""
        import numpy

        from chasqui.report.palette import PARTS

        names = dict.fromkeys(
            name for before, after, _ in PARTS.values() for name in (before, after)
        )
        found, last = {}, numpy.full(len(self), messages.ABSENT)
        for name in names:
            column = self.columns[name]
            last = numpy.where(column == messages.ABSENT, last, numpy.maximum(column, last))
            found[name] = numpy.where(column == messages.ABSENT, messages.ABSENT, last)
        return found


@dataclass(frozen=True)
class Run:
    """A run directory."""

    directory: Path
    summary: dict[str, Any]
    host: dict[str, Any]
    stats: dict[str, Any]
    parameters: list[Parameter]
    messages: Messages = field(repr=False)

    @property
    def name(self) -> str:
        return self.directory.name or str(self.directory)

    @property
    def machine(self) -> str:
        return str(self.summary["machine"])

    @property
    def ranks(self) -> int:
        return len(self.summary["ranks"])

    @property
    def command(self) -> list[str]:
        """How the program was called."""
        found = self.host.get("command")
        words = [str(each) for each in found] if isinstance(found, list) else []
        return [Path(words[0]).name, *words[1:]] if words else [str(self.summary["program"])]

    @cached_property
    def timeline(self) -> timeline.Timeline | None:
        return timeline.read(self.directory) if (self.directory / timeline.FILE).exists() else None

    @cached_property
    def profile(self) -> dict[str, Any] | None:
        return profile.read(self.directory) if (self.directory / profile.FILE).exists() else None

    @cached_property
    def folded(self) -> list[tuple[list[str], int]]:
        """Call paths with their cycles; none without a profile."""
        path = self.directory / FOLDED
        if not path.exists():
            return []
        text = read_text(path, "`chasqui run --profile`", errors="replace")
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            match = CALL_PATH.fullmatch(line)
            if match is None:
                place = f"{path}: line {number}"
                raise damaged(place, "a call path and its cycles are expected")
            found.append((match[1].split(";"), int(match[2])))
        return found


def titles(machines: Sequence[str], directories: Sequence[Path]) -> list[str]:
    """Machines' names; where several are of one machine, with their directories as far as these
    differ. No two are alike, if no two directories are the same."""
    places = [each.resolve() for each in directories]
    found = []
    for machine, place in zip(machines, places, strict=True):
        alike = [other for name, other in zip(machines, places, strict=True) if name == machine]
        if len(alike) == 1:
            found.append(machine)
            continue
        shared = len(Path(os.path.commonpath(alike)).parts)
        # Of one that another lies in, its name is left.
        start = min(shared, *(len(other.parts) - 1 for other in alike))
        found.append(f"{machine} ({Path(*place.parts[start:])})")
    return found


def is_run(directory: Path) -> bool:
    return (directory / SUMMARY).exists()


def read(directory: Path) -> Run:
    """A run directory. Raises InputError where it is none, or a file of it is damaged."""
    return Run(
        directory,
        read_summary(directory),
        _object(directory / HOST),
        read_stats(directory),
        parameters(directory / RESOLVED),
        Messages(*messages.columns(directory / "messages.parquet")),
    )


def read_summary(directory: Path) -> dict[str, Any]:
    """What summary.json of a run directory has. Raises InputError as `read` does."""
    path = directory / SUMMARY
    if not path.exists():
        raise missing(path, "`chasqui run`")
    summary: dict[str, Any] = read_json(path, "`chasqui run`")
    check_shape(summary, SHAPE, str(path))
    _check_parts(summary, str(path))
    _check_numbers(summary, str(path))
    return summary


def read_stats(directory: Path) -> dict[str, Any]:
    """The same of stats.json."""
    return _object(directory / STATS)


def _check_parts(summary: Mapping[str, Any], place: str) -> None:
    """Raises InputError where what only some summaries have is there, and of another shape."""
    for name, shape in PARTS.items():
        if name in summary:
            check_shape(summary[name], shape, f"{place}: {name}")
    inputs = summary.get("inputs", {})
    for name, shape in MORE_INPUTS.items():
        if name in inputs:
            check_shape(inputs[name], shape, f"{place}: inputs: {name}")


def _check_numbers(summary: Mapping[str, Any], place: str) -> None:
    """Raises InputError where ranks are not 0, 1, 2 …, a wait is longer than times are, or a part's
    times, which may be below 0, are no whole numbers."""
    if not summary["ranks"]:
        raise damaged(place, "it has no ranks")
    if [each["rank"] for each in summary["ranks"]] != list(range(len(summary["ranks"]))):
        raise damaged(place, "ranks are not 0, 1, 2 and so on")
    for wait in (each for rank in summary["ranks"] for each in rank["waits"]):
        if sum(wait[part] for part in WAITS) > TIME_MAX:
            raise damaged(f"{place}: ranks: waits", f"longer than {TIME_MAX} ps")
    for stage in summary["stages"]:
        for name in STAGE_TIMES:
            if type(stage.get(name)) is not int or abs(stage[name]) > NUMBER_MAX:
                raise damaged(f"{place}: stages: {name}", "a whole number is expected")
        if not _is_formula(stage["formula"]):
            raise damaged(f"{place}: stages: formula", "a difference of stages is expected")


def _is_formula(text: str) -> bool:
    """Of stages, or in words (`before it of the same source`). What is longer than any is not
    parsed: it may be nested as deep as it likes."""
    if len(text) > FORMULA_MAX:
        return False
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return True
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(names - {"max"})


def _object(path: Path) -> dict[str, Any]:
    found = read_json(path, "`chasqui run`")
    check_shape(found, {}, str(path))
    return dict(found)


def parameters(path: Path) -> list[Parameter]:
    """What resolved.toml says of every parameter."""
    lines = read_text(path, "`chasqui run`", TEXT_MAX).splitlines()
    found: list[Parameter] = []
    section = ""
    doc: list[str] = []
    for line in lines:
        if line.startswith("#"):
            doc.append(line.lstrip("# "))
            continue
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif match := VALUE.match(line):
            value, origin, source = (_text(part) for part in match.groups()[1:])
            found.append(Parameter(section + match[1], value, origin, source, " ".join(doc)))
        doc = []
    return found


def _text(part: str) -> str:
    return part.strip('"').replace('\\"', '"').replace("\\\\", "\\")
