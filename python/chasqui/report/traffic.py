"""The interactive timeline: MPI calls of each rank, messages between them, and a message's life.

The page's script draws what is in view (`page.js`); here are the data.
"""

from __future__ import annotations

import re
from typing import Any

from chasqui import simulation, timeline
from chasqui.files import damaged
from chasqui.messages import ABSENT, CONTEXTS, STAGES
from chasqui.report import columns, palette
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, join, note, paragraph, table, tag
from chasqui.text import ns, number
from chasqui.timeline import KINDS, kind_of

MESSAGES_MAX = 100_000  # in the page; of more, evenly chosen ones
PACKED_MAX = 5_400_000  # bytes of them: beside two of the library, and what a page has else
CALLS_MAX = 60_000  # in the page; of more, the longest
LONGEST = 10
DIGITS_MAX = 9  # of a rank
PS_PER_US = 10**6
RANK = re.compile(r"rank ([0-9]+)")
# The stages of a life in words.
STAGE_WORDS = {
    "call": "the sender calls MPI", "ready": "handed to the NI",
    "send_return": "the sending call returns", "accept": "the sender's NI begins with it",
    "inject": "its first byte is on the wire", "arrive": "its first byte is at the receiver's NI",
    "land": "its last byte is in the receiver's node", "receive_call": "the receiver calls MPI",
    "post": "the receive is posted", "wait_call": "the receiver calls MPI to wait",
    "match": "message and receive are matched", "deliver": "the data is where the program asked",
    "done": "the receiving call returns", "first_access": "the program first reads the data",
    "last_access": "the program last reads the data",
}  # fmt: skip


def add(page: Page, run: Run) -> None:
    count = len(run.messages)
    calls, kept = _calls(run), _messages(run)
    if not count and not calls["rows"]:
        page.section("timeline", "Timeline", note("The run had no messages, and kept no calls."))
        return
    page.data["traffic"] = {
        "messages": kept,
        "calls": calls,
        "ranks": run.ranks,
        "window": _window(run),
    }
    page.section(
        "timeline",
        "Timeline",
        note(
            "Bars: MPI calls. Lines: messages, from the call that sends to the end of the call "
            "that receives. Drag to see a part of the time, double-click to see all again; click "
            "on an end of a message to see its life."
        ),
        _sampled(kept["rows"], count),
        note("No MPI calls: `chasqui run --timeline CALLS` keeps them.")
        if not calls["rows"]
        else "",
        tag("p", id="shown", class_="note", aria_live="polite"),
        tag("div", class_="chart", id="chart-traffic", role="img", style="min-height:420px",
            aria_label="Timeline of calls and messages; the search below finds the same messages"),
        tag("div", id="life", class_="life", aria_live="polite", tabindex="-1"),
        _search(run) if count else "",
        _longest(run) if count else "",
    )  # fmt: skip


def _sampled(kept: int, count: int) -> Raw:
    if kept == count:
        return Raw("")
    return note(
        f"Here are {number(kept)} of the {number(count)} messages, evenly chosen; all "
        "other figures of this page are of all messages."
    )


def _window(run: Run) -> list[float]:
    """What is shown first [us]: from MPI_Init to MPI_Finalize, if anything is there."""
    end = int(run.summary["time_ps"])
    calls = run.messages.columns["call_ps"]
    calls = calls[calls != ABSENT]
    if len(calls):
        start = max(int(calls.min()) - end // 50, 0)
        return [start / PS_PER_US, end / PS_PER_US]
    return [max(end - simulation.main_part_ps(run.summary), 0) / PS_PER_US, end / PS_PER_US]


def _packed(run: Run) -> dict[str, Any]:
    """The messages that come into the page: so many, in so many bytes, evenly chosen."""
    import numpy

    count = len(run.messages)
    kept = min(count, MESSAGES_MAX)
    while True:
        rows = numpy.arange(kept) * count // max(kept, 1)
        some = {name: column[rows] for name, column in run.messages.columns.items()}
        found = columns.pack(columns.chained(some))
        size = len(found["packed"])
        if size <= PACKED_MAX:
            return found
        kept = kept * PACKED_MAX // size * 98 // 100


def _messages(run: Run) -> dict[str, Any]:
    names = run.messages.mechanisms
    return {
        **_packed(run),
        "stages": [stage.removesuffix("_ps") for stage in STAGES],
        "words": STAGE_WORDS,
        "mechanisms": names,
        "colours": list(palette.mechanisms(names).values()),
        "parts": [
            [name.replace("_", " "), before.removesuffix("_ps"), after.removesuffix("_ps"), colour]
            for name, (before, after, colour) in palette.PARTS.items()
        ],
        "contexts": CONTEXTS,
    }


def _calls(run: Run) -> dict[str, Any]:
    """The calls that the timeline kept."""
    import numpy

    found: list[tuple[int, int, int, int, int, int]] = []
    names: dict[str, int] = {}
    kinds = {kind: number for number, (kind, _, _) in enumerate(KINDS)}
    for track in run.timeline.tracks.values() if run.timeline else ():
        match = RANK.fullmatch(track.process)
        if match is None or track.name != "MPI calls":
            continue
        rank = int(match[1]) if len(match[1]) <= DIGITS_MAX else run.ranks
        if rank >= run.ranks:
            place = str(run.directory / timeline.FILE)
            raise damaged(place, f"{track.process[:40]}, of {run.ranks} ranks")
        for each in track.slices:
            name = names.setdefault(each.name, len(names))
            kind = kinds[kind_of(each.name)[0]]
            is_open = 0 if each.returned else 1
            found.append((rank, name, kind, each.start_ps, each.end_ps, is_open))
    found.sort(key=lambda each: (each[3] - each[4], each))
    table_ = numpy.array(found[:CALLS_MAX], numpy.int64).reshape(-1, 6)
    table_ = table_[numpy.lexsort((table_[:, 3], table_[:, 0]))]
    packed = {
        "rank": table_[:, 0],
        "name": table_[:, 1],
        "kind": table_[:, 2],
        "start_ps": table_[:, 3],
        "length_ps": table_[:, 4] - table_[:, 3],
        "open": table_[:, 5],
    }
    return {
        **columns.pack(packed),
        "names": list(names),
        "kinds": [[kind, colour] for kind, colour, _ in KINDS],
    }


def _search(run: Run) -> Raw:
    """Finds messages without the picture: by keyboard, and exactly."""

    def field(name: str, label: str, **more: object) -> Raw:
        return tag("label", f"{label} ", tag("input", name=name, type="number", min=0, **more))

    every = tag("option", "any", value="")
    options = [tag("option", name, value=at) for at, name in enumerate(run.messages.mechanisms)]
    return tag(
        "form",
        tag("h3", "Find messages"),
        tag(
            "div",
            field("source", "from rank"),
            field("destination", "to rank"),
            tag("label", "tag ", tag("input", name="tag", type="number")),
            field("bytes", "at least bytes"),
            tag("label", "mechanism ", tag("select", every, *options, name="mechanism")),
            tag(
                "label",
                "order ",
                tag(
                    "select",
                    tag("option", "longest first", value="longest"),
                    tag("option", "by time", value="time"),
                    name="order",
                ),
            ),
            class_="fields",
        ),
        tag("div", id="found", class_="wide", aria_live="polite"),
        id="search",
    )


def _longest(run: Run) -> Raw:
    """For a page without scripts: the messages that took longest."""
    import numpy

    all_ = run.messages.columns
    life = numpy.where(
        (all_["done_ps"] == ABSENT) | (all_["call_ps"] == ABSENT),
        -1,
        all_["done_ps"] - all_["call_ps"],
    )
    order = numpy.argsort(-life, kind="stable")[:LONGEST]
    rows = [
        [
            f"{all_['source'][row]} to {_shown(all_['destination'][row])}",
            _shown(all_["tag"][row]),
            _shown(all_["bytes"][row]),
            _mechanism(run, int(all_["mechanism"][row])),
            ns(int(all_["call_ps"][row])),
            ns(int(life[row])),
        ]
        for row in order
        if life[row] >= 0
    ]
    header = ["ranks", "tag", "bytes", "mechanism", "call at [ns]", "end to end [ns]"]
    if not rows:
        return Raw("")
    shown = table(header, rows, left=(0, 3), caption=f"The {len(rows)} longest lives")
    return tag("noscript", join([paragraph("Without scripts there is no picture."), shown]))


def _mechanism(run: Run, number_: int) -> str:
    return run.messages.mechanisms[number_] if number_ >= 0 else "-"


def _shown(value: int) -> str:
    return "-" if value == ABSENT else str(value)
