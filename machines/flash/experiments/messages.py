"""flash/messages: MPI by loads and stores, and by block transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
How long does a message between neighbours take, and how much moves in a stream of them, by \
length: by MPI over loads and stores (flash), by MPI whose long messages the controllers move \
(flash/block-transfer; also with caches of 8 ways), and by a block transfer itself, whose data lie \
ready? Half of a round trip, the least of many; and messages one after the other with an answer \
behind the last."""

SIZES = (8, 64, 256, 1024, 2048, 4096, 16384, 65536)
SIZES_QUICK = (64, 4096)
TRIES = 3
# Of messages.c.
TRIPS, STREAM = 8, 16
LOAD_STORE, TRANSFERS, ALONE = "MPI, load-store", "MPI, block transfer", "block transfer"
EIGHT_WAYS = f"{TRANSFERS}, 8 ways"  # of the caches: no conflicts
# By what messages go: the machine, how many ranks, the program's word, what is set.
WAYS: dict[str, tuple[str, int, str, tuple[str, ...]]] = {
    LOAD_STORE: ("flash", 2, "mpi", ()),
    TRANSFERS: ("flash/block-transfer", 2, "mpi", ()),
    EIGHT_WAYS: ("flash/block-transfer", 2, "mpi", ("node.l1d.ways=8",)),
    ALONE: ("flash", 1, "transfer", ()),
}


class Row(NamedTuple):
    """The columns of results.csv. The mechanism is what the record has of most messages."""

    way: str
    bytes: int
    mechanism: str
    latency_ns: Fraction
    bandwidth_mb_s: Fraction


def name_of(way: str, size: int) -> str:
    return f"{way}, {size} bytes"


def runs(quick: bool) -> list[Run]:
    return [
        Run(
            name_of(way, size), machine, ranks, "messages",
            arguments=[word, str(size), str(TRIES)], sets=["flash.nodes=2", *sets],
        )
        for way, (machine, ranks, word, sets) in WAYS.items()
        for size in (SIZES_QUICK if quick else SIZES)
    ]  # fmt: skip


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for way in WAYS:
        for size in SIZES:
            if output := outputs.get(name_of(way, size)):
                trips, stream = output.samples(0)["times", size]
                latency = Fraction(trips * _flash.TICK_NS, 2 * TRIPS)
                rate = Fraction(1000 * STREAM * size, stream * _flash.TICK_NS)
                found.append(Row(way, size, output.mechanism, latency, rate))
    return found


def findings(found: Sequence[Row]) -> list[str]:
    return [
        f"{way}: {float(own[0].latency_ns) / 1000:.1f} us of {own[0].bytes} bytes, "
        f"{float(own[-1].latency_ns) / 1000:.1f} us and {float(own[-1].bandwidth_mb_s):.0f} MB/s "
        f"of {own[-1].bytes}."
        for way in WAYS
        if (own := [row for row in found if row.way == way])
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    return _flash.report(
        Row._fields, found, findings(found), lambda figure: draw(figure, found), left=(0, 2)
    )


def draw(figure: Figure, found: Sequence[Row]) -> None:
    """Latency and bandwidth over the length."""
    left, right = figure.subplots(1, 2)
    for way, hue in zip(WAYS, _flash.hues(), strict=False):
        own = [row for row in found if row.way == way]
        lengths = [row.bytes for row in own]
        left.plot(
            lengths, [float(row.latency_ns) / 1000 for row in own], "o-", color=hue, label=way
        )
        right.plot(lengths, [float(row.bandwidth_mb_s) for row in own], "o-", color=hue, label=way)
    left.set(xscale="log", yscale="log", xlabel="bytes", title="half of a round trip [us]")
    right.set(xscale="log", xlabel="bytes", title="stream [MB/s]")
    left.legend()


EXPERIMENT = Experiment(QUESTION, runs, report)
