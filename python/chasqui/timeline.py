"""A picture of `timeline.json`: tracks with their slices, messages as arrows, as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from chasqui.errors import InputError
from chasqui.files import Shape, check_shape, damaged, read_json
from chasqui.text import simulated_time

FILE = "timeline.json"
SUMMARY = "summary.json"
UNITS_PS = {
    **{"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9},
    **{"s": 10**12, "min": 60 * 10**12, "h": 3600 * 10**12},
}

END_MAX = (1 << 63) - 1  # [ps] of a slice: what tables of them hold

# Sizes in pixels.
WIDTH = 1200
NAMES = 190
ROW = 18
GAP = 10  # above each process
TOP = 30
LETTER = 6.2  # of a label

# What slices are of, by their names (of calls without MPI_, in small letters): the first that
# matches. Colours are told apart also by those who see them differently (Okabe and Ito).
KINDS = (
    ("messages in NIs and links", "#56b4e9", r"(message|packet)\b.*"),
    ("begin and end", "#999999", r"init(_thread)?|finalize|abort"),
    ("send", "#0072b2", r"(i?[bsr]?|p)send(_init)?"),
    ("receive, probe", "#e69f00", r"(i?m?|p)(recv(_init)?|probe)"),
    ("send and receive", "#cc79a7", r"i?sendrecv(_replace)?"),
    ("wait, test", "#f0e442", r"(wait|test)(all|any|some)?"),
    (
        "collective",
        "#009e73",
        r"i?(barrier|bcast|gather|scatter|reduce|all(gather|reduce|toall)|scan|exscan|neighbor)\w*",
    ),
    ("other calls", "#d55e00", r".*"),
)


@dataclass
class Slice:
    name: str
    start_ps: int
    end_ps: int
    returned: bool = True  # False: of a call in which a rank was at the end


@dataclass
class Track:
    process: str
    name: str
    slices: list[Slice] = field(default_factory=list)


@dataclass
class Timeline:
    """What a trace holds, in the order in which it is shown."""

    tracks: dict[tuple[int, int], Track]
    flows: dict[int, list[tuple[tuple[int, int], int]]]  # by id: track and time of each point

    def extent(self) -> tuple[int, int]:
        every = [each for track in self.tracks.values() for each in track.slices]
        if not every:
            raise InputError("the timeline is empty: no MPI call was kept")
        return min(each.start_ps for each in every), max(each.end_ps for each in every)


# What of an event is read here, by its phase (`ph` of Chrome's trace events).
PLACE: dict[str, Shape] = {"pid": int, "tid": int}
METADATA: dict[str, Shape] = {"pid": int, "name": str, "args": {}}
NAMED: dict[str, Shape] = {"args": {"name": str}}
SLICE: dict[str, Shape] = {**PLACE, "name": str}
FLOW: dict[str, Shape] = {**PLACE, "id": int}


def picoseconds(microseconds: float | str) -> int:
    """Raises ValueError if that is no time."""
    text = str(microseconds)
    # Not in the notation with an exponent, which may be as large as it likes.
    if re.fullmatch(r"\d{1,20}(\.\d{1,20})?", text) is None:
        raise ValueError(f"{text[:40]!r} is no time")
    return round(Fraction(text) * 10**6)


def read(directory: Path) -> Timeline:
    """The timeline in a run directory."""
    path = directory / FILE
    if not path.exists() and (directory / SUMMARY).exists():
        raise InputError(f"{path}: the run has none; `chasqui run --timeline 0` leaves it out")
    # Times keep all their digits.
    found = read_json(path, "`chasqui run`", parse_float=str)
    check_shape(found, {"traceEvents": [{"ph": str}]}, str(path))
    return from_events(found["traceEvents"], f"{path}: event")


def from_events(events: Iterable[dict[str, Any]], what: str = "event") -> Timeline:
    """What these events show. Raises InputError for one that does not say what its phase asks for,
    and names it by `what` and its number."""
    processes: dict[int, str] = {}
    result = Timeline({}, {})
    for number, event in enumerate(events):
        try:
            _add(event, f"{what} {number}", processes, result)
        except (KeyError, ValueError) as error:
            missing = isinstance(error, KeyError)
            why = f"nothing was said of {error} before" if missing else str(error)
            raise damaged(f"{what} {number}", why) from None
    # As Perfetto shows them: by process, then in the order of their numbers.
    result.tracks = dict(sorted(result.tracks.items()))
    return result


def _add(event: dict[str, Any], place: str, processes: dict[int, str], result: Timeline) -> None:
    phase = event["ph"]
    if phase == "M":
        check_shape(event, METADATA, place)
        if event["name"] == "process_name":
            check_shape(event, NAMED, place)
            processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            check_shape(event, {**PLACE, **NAMED}, place)
            track = Track(processes[event["pid"]], event["args"]["name"])
            result.tracks[event["pid"], event["tid"]] = track
    elif phase == "X":
        check_shape(event, SLICE, place)
        start = picoseconds(event.get("ts", ""))
        end = start + picoseconds(event.get("dur", ""))
        if end > END_MAX:
            raise ValueError(f"it ends after {END_MAX} ps")
        track = result.tracks[event["pid"], event["tid"]]
        arguments = event.get("args")
        returned = not isinstance(arguments, dict) or arguments.get("returned") != 0
        track.slices.append(Slice(event["name"], start, end, returned))
    elif phase in ("s", "t", "f"):
        check_shape(event, FLOW, place)
        where = (event["pid"], event["tid"])
        point = (where, picoseconds(event.get("ts", "")))
        if where not in result.tracks:
            raise KeyError(where)
        result.flows.setdefault(event["id"], []).append(point)


def window(text: str, extent: tuple[int, int]) -> tuple[int, int]:
    """`FROM..TO` in picoseconds; what is left out is the timeline's own start or end."""
    ends = text.split("..")
    if len(ends) != 2:
        raise InputError(f"--window {text!r}: FROM..TO is expected, as in 1.2ms..1.25ms")
    found = [time_ps(end.strip()) if end.strip() else None for end in ends]
    start, end = (default if at is None else at for at, default in zip(found, extent, strict=True))
    if start >= end and None not in found:
        raise InputError(f"--window {text!r}: it ends before it begins, or is of no length")
    if start >= extent[1] or end <= extent[0]:
        kept = "..".join(simulated_time(at) for at in extent)
        raise InputError(f"--window {text!r}: nothing is there, the timeline holds {kept}")
    return start, end


def time_ps(text: str) -> int:
    match = re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)\s*([a-zµ]+)", text)
    if match is None or match[2] not in UNITS_PS:
        raise InputError(f"{text!r} is no time: a number with its unit is expected, as in 1.2ms")
    return int(Fraction(match[1]) * UNITS_PS[match[2]])


def _short(pixels: float) -> str:
    return f"{pixels:.1f}".removesuffix(".0")


class Picture:
    """An SVG that grows."""

    def __init__(self, start_ps: int, end_ps: int) -> None:
        self.start_ps, self.end_ps = start_ps, end_ps
        self.parts: list[str] = []
        self.kinds: set[str] = set()  # that are drawn
        self.labels: list[tuple[float, float, str]] = []  # of slices: left, top, text

    def x(self, ps: int) -> float:
        share = (ps - self.start_ps) / (self.end_ps - self.start_ps)
        return NAMES + share * (WIDTH - NAMES - 10)

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        self.parts.append(f'<text x="{_short(x)}" y="{_short(y)}"{style}>{escape(text)}</text>')

    def colour(self, name: str) -> str:
        kind, colour = kind_of(name)
        self.kinds.add(kind)
        return colour

    def legend(self, y: float) -> None:
        """What the colours mean that are there."""
        x = float(NAMES)
        for kind, colour, _ in KINDS:
            if kind in self.kinds:
                box = f'x="{_short(x)}" y="{_short(y)}" width="{ROW - 4}" height="{ROW - 4}"'
                self.parts.append(f'<rect {box} fill="{colour}"/>')
                self.text(x + ROW, y + ROW - 7, kind)
                x += ROW + (len(kind) + 2) * LETTER

    def slice(self, each: Slice, y: float) -> None:
        if each.end_ps < self.start_ps or each.start_ps > self.end_ps:
            return
        left, right = (
            self.x(max(each.start_ps, self.start_ps)),
            self.x(min(each.end_ps, self.end_ps)),
        )
        width = max(right - left, 0.5)
        end = "" if each.returned else ", never returned"
        title = escape(f"{each.name}, {simulated_time(each.end_ps - each.start_ps)}{end}")
        style = "" if each.returned else ' class="open"'
        self.parts.append(
            f'<rect x="{_short(left)}" y="{_short(y)}" width="{_short(width)}" height="{ROW - 4}" '
            f'fill="{self.colour(each.name)}"{style}><title>{title}</title></rect>'
        )
        label = each.name.removeprefix("MPI_").removeprefix("message ")
        if len(label) * LETTER < width - 2:
            self.labels.append((left + 2, y, label))

    def write_labels(self) -> None:
        """Those of the slices, each on white, over the arrows: none strikes through a name."""
        for x, y, label in self.labels:
            self.parts.append(
                f'<rect x="{_short(x - 1)}" y="{_short(y + 1)}" height="{ROW - 6}" '
                f'width="{_short(len(label) * LETTER + 1)}" class="name"/>'
            )
            self.text(x, y + ROW - 7, label)

    def arrow(self, points: list[tuple[int, float]]) -> None:
        for (from_ps, from_y), (to_ps, to_y) in pairwise(points):
            if to_ps < self.start_ps or from_ps > self.end_ps:
                continue
            self.parts.append(
                f'<line x1="{_short(self.x(from_ps))}" y1="{_short(from_y)}" '
                f'x2="{_short(self.x(to_ps))}" y2="{_short(to_y)}" class="flow"/>'
            )

    def axis(self, height: float) -> None:
        step = round_step(self.end_ps - self.start_ps)
        for at in range(-(-self.start_ps // step) * step, self.end_ps + 1, step):
            x = _short(self.x(at))
            self.parts.append(
                f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{_short(height)}" class="grid"/>'
            )
            time = simulated_time(at)
            middle = min(self.x(at), WIDTH - len(time) * LETTER / 2)
            self.text(middle, TOP - 14, time, ' text-anchor="middle"')

    def svg(self, height: float) -> str:
        style = (
            "text{font:11px sans-serif;fill:#222}.grid{stroke:#ddd}"
            # The titles are those of the slices below.
            "text,.name{pointer-events:none}.name{fill:#fff}"
            ".open{stroke:#222;stroke-dasharray:3}"
            ".flow{stroke:#333;stroke-width:0.7;marker-end:url(#head)}"
        )
        head = (
            '<defs><marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
            'markerHeight="6" orient="auto"><path d="M0,0L6,3L0,6z" fill="#333"/></marker></defs>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}">'
            f"<style>{style}</style>{head}"
            f'<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def kind_of(name: str) -> tuple[str, str]:
    """What a slice of this name is of, and its colour: in every picture the same."""
    short = name.removeprefix("MPI_").lower()
    found = next(each for each in KINDS if re.fullmatch(each[2], short))
    return found[0], found[1]


def round_step(length_ps: int) -> int:
    """A round time of which some five to twelve make up the length."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if length_ps <= 12 * factor * step:
                return factor * step
        step *= 10


def draw(timeline: Timeline, start_ps: int, end_ps: int) -> str:
    """The part of the timeline from `start_ps` to `end_ps`, as SVG."""
    picture = Picture(start_ps, end_ps)
    rows: dict[tuple[int, int], float] = {}
    y, process = float(TOP), None
    for where in timeline.tracks:
        if where[0] != process:
            y += GAP
            process = where[0]
        rows[where] = y
        y += ROW
    picture.axis(y)
    for where, track in timeline.tracks.items():
        for each in track.slices:
            picture.slice(each, rows[where])
    for flow in timeline.flows.values():
        picture.arrow([(ps, rows[where] + ROW / 2 - 2) for where, ps in flow])
    picture.write_labels()
    picture.legend(y + GAP)
    # The names cover arrows that come from before, not the first time of the axis.
    picture.parts.append(f'<rect y="{TOP - 8}" width="{NAMES - 2}" height="100%" fill="white"/>')
    for where, track in timeline.tracks.items():
        picture.text(4, rows[where] + ROW - 7, label(track))
    return picture.svg(y + 2 * GAP + ROW)


def label(track: Track) -> str:
    name = track.name if track.process == "network" else f"{track.process}: {track.name}"
    return name.replace("router ", "r").replace("node ", "n").replace(" port ", ".")
