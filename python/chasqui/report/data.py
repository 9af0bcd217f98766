"""What a report is made of: the files of a run directory, read once.

Everything that only some runs have (messages, a profile, a timeline) may be missing: then the
report says by which option it would be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chasqui import messages, profile, timeline
from chasqui.errors import InputError
from chasqui.files import NUMBER_MAX, Shape, check_shape, damaged, missing, read_json
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
STAGE_TIMES = ("mean_ps", "min_ps", "median_ps", "max_ps")
# A line of resolved.toml, as the simulator writes it.
VALUE = re.compile(
    r"""^([\w-]+)\s=\s\{\svalue\s=\s(.*?)(?:,\srange\s=\s\[.*\])?,\sfrom\s=\s"((?:[^"\\]|\\.)*)",
    \ssource\s=\s"((?:[^"\\]|\\.)*)"\s\}$""",
    re.VERBOSE,
)


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
        lines = (line.rpartition(" ") for line in path.read_text(errors="replace").splitlines())
        return [(stack.split(";"), int(count)) for stack, _, count in lines if count.isdigit()]


def is_run(directory: Path) -> bool:
    return (directory / SUMMARY).exists()


def read(directory: Path) -> Run:
    """A run directory. Raises InputError where it is none, or a file of it is damaged."""
    path = directory / SUMMARY
    if not path.exists():
        raise missing(path, "`chasqui run`")
    summary = read_json(path, "`chasqui run`")
    check_shape(summary, SHAPE, str(path))
    _check_numbers(summary, str(path))
    return Run(
        directory,
        summary,
        _object(directory / HOST),
        _object(directory / STATS),
        parameters(directory / RESOLVED),
        Messages(*messages.columns(directory / "messages.parquet")),
    )


def _check_numbers(summary: Mapping[str, Any], place: str) -> None:
    """Raises InputError where ranks are not 0, 1, 2 …, or a part's times, which may be below 0, are
    no whole numbers."""
    if [each["rank"] for each in summary["ranks"]] != list(range(len(summary["ranks"]))):
        raise damaged(place, "ranks are not 0, 1, 2 and so on")
    for stage in summary["stages"]:
        for name in STAGE_TIMES:
            if type(stage.get(name)) is not int or abs(stage[name]) > NUMBER_MAX:
                raise damaged(f"{place}: stages: {name}", "a whole number is expected")


def _object(path: Path) -> dict[str, Any]:
    found = read_json(path, "`chasqui run`")
    check_shape(found, {}, str(path))
    return dict(found)


def parameters(path: Path) -> list[Parameter]:
    """What resolved.toml says of every parameter."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise missing(path, "`chasqui run`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'damaged'}") from None
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
