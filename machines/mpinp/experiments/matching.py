"""mpinp/matching: what a message costs that meets its receive deep in a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import messages
from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.messages import Message

from ._records import VARIANTS, interval_ns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a deep queue cost where the network processor searches it, and where the host does? A \
message of a word that meets one of many posted receives, from call to done, and the receive of \
one of many unexpected messages."""

TRIPS = 8
DEPTHS = (1, 4, 16, 64, 256, 1024, 4096)
DEPTHS_QUICK = (1, 64)
CASES = (
    ("posted", "first"), ("posted", "last"), ("posted", "any"),
    ("unexpected", "first"), ("unexpected", "last"),
)  # fmt: skip
CASES_QUICK = (("posted", "last"), ("unexpected", "last"))
ASSUMED = (
    "mpinp.np.branch_taken", "mpinp.np.int_mul", "mpinp.np.int_div", "mpinp.card.lead",
    "node.l2.latency", "node.dram.first_chunk",
)  # fmt: skip
SENSITIVE = ("posted", "last", 64)


class Row(NamedTuple):
    """The columns of results.csv: receives that are posted, or messages that are there, and which
    of them a trip takes; for how long; for which part of that the network processors have the
    message, or the receive; and who matched. What the card can't match waits there for the host:
    no part is said."""

    variant: str
    order: str
    posted: int
    unexpected: int
    latency_ns: Fraction
    np_share: Fraction | None
    matched_by: str


class Spread(NamedTuple):
    """The columns of spread.csv: of the trips that were measured."""

    variant: str
    queue: str
    order: str
    depth: int
    least_ns: Fraction
    greatest_ns: Fraction


def name_of(variant: str, queue: str, order: str, depth: int) -> str:
    return f"{variant}, {queue}, {order}, {depth}"


def run(variant: str, queue: str, order: str, depth: int) -> Run:
    arguments = [queue, order, str(depth), str(TRIPS)]
    name = name_of(variant, queue, order, depth)
    return Run(name, VARIANTS[variant], 2, "matching", arguments=arguments)


def runs(quick: bool) -> list[Run]:
    cases, depths = (CASES_QUICK, DEPTHS_QUICK) if quick else (CASES, DEPTHS)
    found = [
        run(variant, *case, depth) for variant in VARIANTS for case in cases for depth in depths
    ]
    varied = [] if quick else sensitivity.assumptions("mpinp", ASSUMED)
    return found + [
        each
        for variant in VARIANTS
        if varied
        for each in sensitivity.runs(run(variant, *SENSITIVE), varied)
    ]


def measured(output: Output) -> Sequence[Message]:
    """Messages of the trips; before them, or behind them, each place of the queue had one more."""
    queue = output.run.arguments[0]
    rows = messages.read(output.directory / "messages.parquet")
    sent = [row for row in rows if row.source == 0 and row.context == 0 and row.tag]
    if queue == "unexpected":
        sent.sort(key=lambda row: row.receive_call_ps or 0)
    return sent[TRIPS // 4 : TRIPS]


def stages(queue: str) -> tuple[str, str]:
    """From when to when a trip takes."""
    return ("call" if queue == "posted" else "receive_call"), "done"


def matched_by(rows: Sequence[Message]) -> str:
    """The card matches before data go to the host; the host does behind that."""
    by_card = {(row.match_ps or 0) < (row.land_ps or 0) for row in rows}
    return "both" if len(by_card) > 1 else "card" if by_card.pop() else "host"


def latency_ns(output: Output) -> Fraction:
    return interval_ns(measured(output), *stages(output.run.arguments[0]))


def processors_ns(queue: str, rows: Sequence[Message]) -> Fraction:
    """For how long the network processors have a message, or look for that of a receive."""
    if queue == "posted":
        return interval_ns(rows, "ready", "inject") + interval_ns(rows, "arrive", "land")
    return max(Fraction(0), interval_ns(rows, "post", "land"))


def row_of(variant: str, output: Output) -> tuple[Row, Spread]:
    queue, order, depth = output.run.arguments[:3]
    rows, whole = measured(output), latency_ns(output)
    each = [interval_ns([row], *stages(queue)) for row in rows]
    who = matched_by(rows)
    waits = variant == "mcp" and who == "host"
    share = None if waits else processors_ns(queue, rows) / whole
    posted, unexpected = (int(depth), 0) if queue == "posted" else (0, int(depth))
    return (
        Row(variant, order, posted, unexpected, whole, share, who),
        Spread(variant, queue, order, int(depth), min(each), max(each)),
    )


def depths_of(found: Sequence[Row], variant: str, order: str, queue: str) -> dict[int, Row]:
    mine = [row for row in found if (row.variant, row.order) == (variant, order)]
    return {
        row.posted or row.unexpected: row for row in mine if (row.posted > 0) == (queue == "posted")
    }


def finding(found: Sequence[Row], order: str, queue: str) -> str:
    """By how much depth makes it longer."""

    def longer(variant: str) -> str:
        mine = depths_of(found, variant, order, queue)
        least, most = mine[min(mine)], mine[max(mine)]
        return (
            f"{variant} {float(least.latency_ns) / 1000:.1f} to "
            f"{float(most.latency_ns) / 1000:.1f} us at a depth of {max(mine):,} (matched by the "
            f"{most.matched_by})"
        )

    both = ", ".join(longer(variant) for variant in VARIANTS)
    return f"{queue.capitalize()}, {order}: {both}."


def report(outputs: Mapping[str, Output]) -> Report:
    each = [
        (queue, order, row_of(variant, outputs[name]))
        for variant in VARIANTS
        for queue, order in CASES
        for depth in DEPTHS
        if (name := name_of(variant, queue, order, depth)) in outputs
    ]
    found = [row for _, _, (row, _) in each]
    spread = [row for _, _, (_, row) in each]
    tables = [Table("results", Row._fields, found), Table("spread", Spread._fields, spread)]
    cases = dict.fromkeys((order, queue) for queue, order, _ in each)
    findings = [finding(found, *case) for case in cases]
    text = tables[0].text(left=(0, 1, 6))
    bases = [name_of(variant, *SENSITIVE) for variant in VARIANTS]
    if f"{bases[0]}/as-assumed" in outputs:
        varied = sensitivity.assumptions("mpinp", ASSUMED)
        table, changes, sentence = sensitivity.report(bases, varied, outputs, moved)
        tables.append(table)
        text, findings = f"{text}\n\n{changes}", [*findings, sentence]
    return Report(
        tables=tables,
        text=text,
        findings=findings,
        draw=lambda figure: draw(figure, found),
        size_inches=(8.5, 3.8),
    )


def moved(output: Output) -> Mapping[str, Fraction]:
    """What the assumptions move."""
    return {output.run.name.partition(",")[0]: latency_ns(output)}


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Posted receives, and unexpected messages, over the depth."""
    from chasqui.experiment import drawing

    panels = figure.subplots(1, 2, sharey=True)
    hues = {"mcp": drawing.BLUE, "bip": drawing.ORANGE}
    dashes = {"first": ":", "last": "-", "any": "--"}
    titles = {"posted": "message, of receives posted", "unexpected": "receive, of messages there"}
    for axes, (queue, title) in zip(panels, titles.items(), strict=True):
        for variant, order in dict.fromkeys((row.variant, row.order) for row in found):
            mine = depths_of(found, variant, order, queue)
            if not mine:
                continue
            times = [float(row.latency_ns) / 1000 for row in mine.values()]
            axes.plot(
                list(mine), times, dashes[order], marker="o", markersize=3,
                color=hues[variant], label=f"{variant}, {order}",
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        drawing.scale_decades(axes)
        axes.set(xlabel="depth", title=f"{title} [us]")
    drawing.label_ends(*panels)


EXPERIMENT = Experiment(QUESTION, runs, report)
