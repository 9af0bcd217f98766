"""voyager/mechanisms: Basic, Express, Tag-On and DMA, the LogP view."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.experiment import Experiment, Output, Report, Run, Table, Value, sensitivity
from chasqui.text import number, table

from ._timing import ASSUMED, CLOCK_OF_MEMO, STREAM, TRIPS, Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = """\
Which of the NES's mechanisms is best for which size of message? Processor overheads, latency end \
to end through one switch (it includes both overheads; L is what remains without them), the gap \
between messages of a stream, which is the larger of the processors' and the NES's, and the \
bandwidth that follows. A message longer than a mechanism takes at a time goes as several, whose \
sending and receiving overlap: then L may be less than nothing. Data begin in the cache of the \
sender and end in the receiver's (DMA: in memory, both); resident data are in the NES's SRAM \
already. The sender of a stream keeps credits, so that no more is under way than the receive \
queue holds. Express messages are taken by one load of eight bytes into a general register. A \
PowerPC 604 has no such load: the memo has it load into a floating-point register and go through \
the cache to the general ones (measured of Tag-On, too), or take a message by two loads of four \
bytes. With two threads a queue is shared: Basic and DMA take a lock, which is free at the first \
try; Express and Tag-On need none, unless they receive by two loads."""

COLUMNS = (
    "mechanism", "variant", "threads", "size_bytes",
    "o_send_ns", "o_recv_ns", "latency_ns", "L_ns", "gap_ns", "bandwidth_MBps",
)  # fmt: skip

# Bytes that go in one packet; what mechanisms.c calls it.
PACKET = {"basic": 88, "express": 4, "tag-on-48": 52, "tag-on-80": 84}
SMALL = tuple(range(4, 92, 4))
SMALL_QUICK = (4, 8, 16, 48, 52, 84, 88)
LONG = (92, 108, 128, 256, 512, 768, 1024, 1536, 2048)
LONG_QUICK = (512, 2048)
DMA = (*SMALL, *LONG, 4096)
DMA_QUICK = (4, 88, 2048)
BLOCKS = (8192, 16384, 32768, 65536)
THREADS = (1, 2)
# For the table of the LogP view.
SHOWN = {"basic": (4, 48, 88), "express": (4, 8, 16, 88), "tag-on-48": (8, 52), "tag-on-80": (84,),
         "dma": (88, 1024, 65536)}  # fmt: skip

# (mechanism, variant): the machine's variant, the mechanism's name in the program. Resident data
# are not looked for in the cache: the machine's variant matters to their receiver only.
CASES = {
    ("basic", "flush"): ("flush", "basic"),
    ("basic", "reclaim"): ("reclaim", "basic"),
    ("express", "-"): ("flush", "express"),
    ("express", "through cache"): ("flush", "through"),
    ("express", "two loads"): ("flush", "halves"),
    ("tag-on-48", "flush"): ("flush", "tag-48"),
    ("tag-on-48", "reclaim"): ("reclaim", "tag-48"),
    ("tag-on-48", "flush through cache"): ("flush", "tag-48-through"),
    ("tag-on-48", "reclaim through cache"): ("reclaim", "tag-48-through"),
    ("tag-on-48", "resident"): ("flush", "resident-48"),
    ("tag-on-80", "flush"): ("flush", "tag-80"),
    ("tag-on-80", "reclaim"): ("reclaim", "tag-80"),
    ("tag-on-80", "flush through cache"): ("flush", "tag-80-through"),
    ("tag-on-80", "reclaim through cache"): ("reclaim", "tag-80-through"),
    ("tag-on-80", "resident"): ("flush", "resident-80"),
    ("dma", "flush"): ("flush", "dma"),
    ("dma", "reclaim"): ("reclaim", "dma"),
}
MACHINES = ("flush", "reclaim")
# In packets, up to what the receive queue holds [bytes].
ALSO_LONG = {"basic": 2048, "tag-on-80": 1024}
# Streams that are also sent without credits: of flush, with bytes.
OVERRUN = [*((("express", "-"), size) for size in (4, 8, 16, 88)), (("tag-on-80", "flush"), 84),
           *((("basic", "flush"), size) for size in (88, 512, 2048))]  # fmt: skip
# Then the program has no other mechanism, and room for the longest block.
DMA_ALONE = "-DBLOCKS=1"
TRIPS_BLOCKS, STREAM_BLOCKS = 10, 22

# What each assumption's effect is shown on: machine, name in the program, bytes.
VARIED = {
    "express": ("flush", "express", 4),
    "basic": ("flush", "basic", 88),
    "tag-on": ("reclaim", "tag-80", 84),
    "dma": ("flush", "dma", 4096),
}


# Everything is measured so often, with the code elsewhere, by so many bytes and their multiples
# (another set of the caches, another part of a line).
PLACES = 5
SHIFT_BYTES = 1036


@dataclass(frozen=True)
class Figures:
    """What was measured of one size by one mechanism [ns]."""

    o_send: Fraction
    o_recv: Fraction
    latency: Fraction
    gap: Fraction
    together: Fraction | None  # the gap where two threads send and two receive

    @property
    def rest(self) -> Fraction:
        """L."""
        return self.latency - self.o_send - self.o_recv


Points = list[tuple[str, Sequence[int]]]  # what mechanisms.c calls a mechanism, sizes
# (mechanism, variant, threads, bytes)
Key = tuple[str, str, int, int]
Case = tuple[str, str]  # mechanism, variant


QUANTITIES = ("o_send", "o_recv", "latency", "gap")
# Runs that have a mechanism's figures: DMA's, or others'.
KINDS = {False: [""], True: ["-dma", "-blocks"]}


# --- runs ----------------------------------------------------------------------------------------


def _run(
    name: str, machine: str, threads: int, counts: tuple[int, int], points: Points, *flags: str
) -> Run:
    """`counts`: trips of the ping-pong, messages of the stream."""
    sizes = [part for each, bytes_ in points for part in (each, ",".join(map(str, bytes_)))]
    return Run(
        name=name,
        machine=f"voyager/{machine}",
        ranks=2,
        program="mechanisms",
        flags=[f"-DTHREADS={threads}", *flags],
        arguments=[*map(str, counts), *sizes],
        sets=[f"node.harts={threads}"],
    )


def _lengths(mechanism: str, threads: int, long: Sequence[int]) -> list[int]:
    return [size for size in long if threads == 1 and size <= ALSO_LONG.get(mechanism, 0)]


def threads_of(name: str) -> Sequence[int]:
    """Threads that share a queue cannot receive by halves: these are not one access."""
    return THREADS[:1] if name == "halves" else THREADS


def contended() -> dict[Case, int]:
    """The largest packet of each mechanism that two threads a side can use at once."""
    return {
        case: min(PACKET[case[0]], SMALL[-1])
        for case, (_, name) in CASES.items()
        if case[0] in PACKET and len(threads_of(name)) > 1
    }


def place_name(name: str, place: int) -> str:
    return f"{name}/{place}" if place else name


def clock_name(machine: str, place: int) -> str:
    return place_name(f"clock-{machine}", place)


def overrun_name(case: Case, size: int) -> str:
    return f"overrun-{case[0]}-{size}"


def runs(quick: bool) -> list[Run]:
    small, long = (SMALL_QUICK, LONG_QUICK) if quick else (SMALL, LONG)
    found = []
    counts, few = (TRIPS, STREAM), (TRIPS_BLOCKS, STREAM_BLOCKS)
    places = range(1 if quick else PLACES)
    for machine, threads, place in itertools.product(MACHINES, THREADS, places):
        others: Points = [
            (name, [*small, *_lengths(mechanism, threads, long)])
            for (mechanism, _), (where, name) in CASES.items()
            if where == machine and mechanism != "dma" and threads in threads_of(name)
        ]
        shift = [f"-DSHIFT={SHIFT_BYTES * place}"] if place else []
        alone = [DMA_ALONE, *shift]
        short: Points = [("dma", DMA_QUICK if quick else DMA)]
        blocks: Points = [("dma", BLOCKS[-1:] if quick else BLOCKS)]
        for kind, of, points, flags in (
            ("", counts, others, shift),
            ("-dma", counts, short, alone),
            ("-blocks", few, blocks, alone),
        ):
            name = place_name(f"{machine}-{threads}{kind}", place)
            found.append(_run(name, machine, threads, of, points, *flags))
    for machine, place in itertools.product(MACHINES, places):
        ends: Points = [
            (name, sorted({SMALL[0], PACKET[mechanism]}))
            for (mechanism, _), (where, name) in CASES.items()
            if where == machine and mechanism in PACKET
        ]
        shift = [f"-DSHIFT={SHIFT_BYTES * place}"] if place else []
        slower = _run(clock_name(machine, place), machine, 1, counts, ends, *shift)
        found.append(replace(slower, sets=[*slower.sets, CLOCK_OF_MEMO]))
    found += [
        _run(overrun_name(case, size), "flush", 1, (4, STREAM), [(CASES[case][1], [size])],
             "-DCREDITS=0")
        for case, size in OVERRUN
    ]  # fmt: skip
    varied = sensitivity.assumptions("voyager", ASSUMED[:2] if quick else ASSUMED)
    for machine in MACHINES:
        points = [(name, [size]) for where, name, size in VARIED.values() if where == machine]
        base = _run(f"varied-{machine}", machine, 1, (TRIPS, STREAM), points)
        # Packets with twice the overhead, or twice the data, must fit.
        base = replace(base, sets=[*base.sets, "network.packet_max=160 B"])
        found += sensitivity.runs(base, varied)
    return found


# --- figures -------------------------------------------------------------------------------------


def figures(timing: Timing, name: str, size: int) -> Figures:
    """One mechanism and size of a run."""
    gap = timing.interval(1, f"{name}/stream", key=size)
    assert gap is not None
    return Figures(
        o_send=timing.spent(0, f"{name}/overhead", size),
        o_recv=timing.spent(1, f"{name}/overhead", size),
        latency=timing.flight(name, size),
        gap=gap,
        together=timing.interval_of_both(1, f"{name}/contended-0", f"{name}/contended-1", size),
    )


def measured(outputs: Mapping[str, Output]) -> dict[Key, list[Figures]]:
    """With the code at each place."""
    found: dict[Key, list[Figures]] = {}
    for ((mechanism, variant), (machine, name)), place in itertools.product(
        CASES.items(), range(PLACES)
    ):
        for threads, kind in itertools.product(threads_of(name), KINDS[mechanism == "dma"]):
            if not (output := outputs.get(place_name(f"{machine}-{threads}{kind}", place))):
                continue
            timing = Timing(output)
            for size in timing.keys(f"{name}/left"):
                key = (mechanism, variant, threads, size)
                found.setdefault(key, []).append(figures(timing, name, size))
    return found


def average(every: Sequence[Figures]) -> Figures:
    """The mean of each quantity."""

    def of(values: Sequence[Fraction]) -> Fraction:
        return sum(values, Fraction(0)) / len(values)

    together = [each.together for each in every if each.together]
    means = {name: of([getattr(each, name) for each in every]) for name in QUANTITIES}
    return Figures(**means, together=of(together) if together else None)


def varied_figures(output: Output) -> dict[str, Fraction]:
    found = {}
    for label, (machine, name, size) in VARIED.items():
        if output.run.machine == f"voyager/{machine}":
            each = figures(Timing(output), name, size)
            found[f"{label} latency"] = each.latency
            found[f"{label} gap"] = each.gap
    return found


# --- tables --------------------------------------------------------------------------------------


def row(key: Key, each: Figures) -> list[Value]:
    bandwidth = Fraction(key[3]) * 1000 / each.gap
    return [*key, each.o_send, each.o_recv, each.latency, each.rest, each.gap, bandwidth]


def is_small(key: Key) -> bool:
    return key[0] == "dma" or key[3] <= SMALL[-1]


def contention(every: Mapping[Key, Sequence[Figures]]) -> Table:
    """What two threads a side, at once, make of the gap of the largest packet; how far the ratio
    goes with the code at single places."""
    rows: list[list[Value]] = []
    for case, size in contended().items():
        key: Key = (*case, THREADS[-1], size)
        figures = every[key]
        mean = average(figures)
        ratios = [each.together / each.gap for each in figures if each.together]
        assert mean.together
        row: list[Value] = [*case, size, mean.gap, mean.together, mean.together / mean.gap]
        rows.append([*row, min(ratios), max(ratios)])
    columns = ["mechanism", "variant", "size_bytes", "gap_one_ns", "gap_two_ns", "ratio",
               "ratio_least", "ratio_greatest"]  # fmt: skip
    return Table("contention", columns, rows)


def at_clock_of_memo(outputs: Mapping[str, Output]) -> Table:
    """Latencies of the shortest and the longest packet of each mechanism, one thread, where the
    processor has twice the bus's clock; means over the places of the code."""
    found: dict[tuple[Value, ...], list[Fraction]] = {}
    for (case, (machine, name)), place in itertools.product(CASES.items(), range(PLACES)):
        if case[0] in PACKET and (output := outputs.get(clock_name(machine, place))):
            timing = Timing(output)
            for size in timing.keys(f"{name}/left"):
                found.setdefault((*case, size), []).append(timing.flight(name, size))
    rows = [[*key, sum(each, Fraction(0)) / len(each)] for key, each in found.items()]
    return Table("clock", ["mechanism", "variant", "size_bytes", "latency_ns"], rows)


def overrun(outputs: Mapping[str, Output], found: Mapping[Key, Figures]) -> Table:
    """What becomes of streams whose senders keep no credits."""
    rows: list[list[Value]] = []
    for case, size in OVERRUN:
        output = outputs[overrun_name(case, size)]
        gap = Timing(output).interval(1, f"{CASES[case][1]}/stream", key=size)
        assert gap is not None
        missed = sum(output.counters("ni.missed"))
        # Of two streams: one before, that uses all places, and the measured one.
        packets = 2 * STREAM * -(-size // PACKET[case[0]])
        credited = (*case, 1, size)
        row: list[Value] = [*case, size, found[credited].gap, gap]
        rows.append([*row, Fraction(100 * missed, packets)])
    columns = ["mechanism", "variant", "size_bytes", "gap_ns", "no_credits_ns", "missed_percent"]
    return Table("overrun", columns, rows)


def repeated(every: Mapping[Key, Sequence[Figures]]) -> Table:
    """Of each mechanism the size at which the place of the code matters most, by quantity."""
    cases = dict.fromkeys(key[:3] for key in every)
    rows: list[list[Value]] = []
    for case, quantity in itertools.product(cases, [*QUANTITIES, "together"]):
        spreads = []
        for key, figures in every.items():
            values = [value for each in figures if (value := getattr(each, quantity))]
            if key[:3] == case and values:
                least, most = min(values), max(values)
                spreads.append((100 * (most / least - 1), key[3], least, most))
        if spreads:
            percent, size, least, most = max(spreads)
            rows.append([*case, quantity, size, least, most, percent])
    columns = ["mechanism", "variant", "threads", "quantity", "size_bytes", "least_ns",
               "greatest_ns", "spread_percent"]  # fmt: skip
    return Table("repeated", columns, rows)


def logp_view(found: Mapping[Key, Figures], bus_clock: Fraction) -> str:
    """Chosen sizes, in bus clocks and in microseconds."""
    names = ["o_send", "o_recv", "latency", "L", "gap"]
    header = ["1 thread", "", "bytes", *names, *[f"{name} us" for name in names], "MB/s"]
    rows = []
    for (mechanism, variant, threads, size), each in found.items():
        if threads == 1 and size in SHOWN[mechanism]:
            times = [each.o_send, each.o_recv, each.latency, each.rest, each.gap]
            clocks = [f"{float(time / bus_clock):,.1f}" for time in times]
            us = [f"{float(time / 1000):,.3f}" for time in times]
            rate = number(float(size * 1000 / each.gap), 3)
            rows.append([mechanism, variant, f"{size:,}", *clocks, *us, rate])
    return "Times in bus clocks, then in us.\n" + table(header, rows, left=(0, 1))


# --- what it says --------------------------------------------------------------------------------

METRICS: dict[str, Callable[[Figures], Fraction]] = {
    "overhead": lambda each: each.o_send + each.o_recv,
    "latency": lambda each: each.latency,
    "bandwidth": lambda each: each.gap,
}
# One for shorter, one for longer messages; of basic and dma the same variant of the machine.
PAIRS = [
    *[
        (("express", loads), (to, variant))
        for loads in ("-", "through cache", "two loads")
        for to in ("tag-on", "basic")
        for variant in MACHINES
    ],
    (("express", "-"), ("tag-on", "resident")),
    *[(("basic", variant), ("dma", variant)) for variant in MACHINES],
]


# By how much one must be better to count as such: more than the place of code may make of means.
CHANCE = Fraction(1, 100)


def of_case(found: Mapping[Key, Figures], case: Case) -> dict[int, Figures]:
    """A mechanism with one thread, by size; Tag-On by the shorter of its forms that takes it."""
    mechanism, variant = case
    if mechanism != "tag-on":
        return {key[3]: each for key, each in found.items() if key[:3] == (*case, 1)}
    short, long = (of_case(found, (f"tag-on-{n}", variant)) for n in (48, 80))
    return long | {size: each for size, each in short.items() if size <= PACKET["tag-on-48"]}


def crossovers(found: Mapping[Key, Figures], pairs: Sequence[tuple[Case, Case]] = PAIRS) -> Table:
    """The least size at which the second mechanism is better, and the least from which on it always
    is, up to the largest of both."""
    rows = []
    for short, long in pairs:
        of_short, of_long = of_case(found, short), of_case(found, long)
        sizes = sorted(of_short.keys() & of_long.keys())
        row: list[Value] = [case_label(*short), case_label(*long)]
        for metric in METRICS.values():
            worse = [
                size
                for size in sizes
                if metric(of_long[size]) >= (1 - CHANCE) * metric(of_short[size])
            ]
            better = [size for size in sizes if size not in worse]
            always = [size for size in better if size > max(worse, default=0)]
            row += [min(better, default=None), min(always, default=None)]
        rows.append([*row, sizes[-1]])
    quantities = [f"{name}_{which}_bytes" for name in METRICS for which in ("first", "always")]
    return Table("crossovers", ["from", "to", *quantities, "compared_up_to_bytes"], rows)


def case_label(mechanism: str, variant: str) -> str:
    return f"{mechanism} {variant}".removesuffix(" -")


def limit(one: Figures, two: Figures) -> str:
    """What a stream of one thread waits for: software whose time is within a tenth of the gap; or
    else the processors' loops, if two threads a side are at least a tenth faster."""
    for name, time in (("the receiving", one.o_recv), ("the sending", one.o_send)):
        if abs(time / one.gap - 1) < Fraction(1, 10):
            return f"{name} processor"
    if two.together and two.together < two.gap * Fraction(9, 10):
        return "the processors: the gap is less with two threads a side"
    return "the NES, the bus or the link"


def crossover_sentences(crossings: Table) -> list[str]:
    def where(first: Value, always: Value) -> str:
        if always is None:
            return f"at {first:,} bytes, but not at the largest" if first else "nowhere"
        return f"from {always:,} bytes" + (f" (at {first:,} already)" if first != always else "")

    result = []
    for first, second, *sizes, up_to in crossings.rows:
        pairs = zip(METRICS, sizes[::2], sizes[1::2], strict=True)
        at = ", ".join(f"{name} {where(*of)}" for name, *of in pairs)
        result.append(f"{second} is better than {first} in: {at} (compared to {up_to:,} bytes).")
    return result


def findings(found: Mapping[Key, Figures]) -> list[str]:
    result = crossover_sentences(crossovers(found))
    for mechanism, variant, size in (("express", "-", 4), ("tag-on-80", "flush", 84),
                                     ("basic", "flush", 88), ("dma", "flush", 65536)):  # fmt: skip
        one, two = (found[mechanism, variant, threads, size] for threads in THREADS)
        change = two.o_send + two.o_recv - one.o_send - one.o_recv
        result.append(
            f"{case_label(mechanism, variant)}, {size:,} bytes: a stream is limited by "
            f"{limit(one, two)}. With a queue that threads share, both overheads together "
            f"change by {float(change):+,.0f} ns."
        )
    return result


def report(outputs: Mapping[str, Output]) -> Report:
    every = measured(outputs)
    found = {key: average(each) for key, each in every.items()}
    bases = [f"varied-{machine}" for machine in MACHINES]
    varied, varied_text, sentence = sensitivity.report(
        bases, sensitivity.assumptions("voyager", ASSUMED), outputs, varied_figures
    )
    results = Table("results", COLUMNS, [row(k, f) for k, f in found.items() if is_small(k)])
    long = Table("long", COLUMNS, [row(k, f) for k, f in found.items() if not is_small(k)])
    apart = contention(every)
    over = overrun(outputs, found)
    again = repeated(every)
    sizes = ", ".join(
        f"{label} of {size:,} bytes ({where})" for label, (where, _, size) in VARIED.items()
    )
    text = "\n\n".join(
        [
            logp_view(found, outputs["flush-1"].clock_ns("node.bus")),
            "Gap with one thread at work, and with two that send and two that receive [ns], of "
            "threads that share a queue, and their ratio: mean, least and greatest\n"
            + apart.text(left=(0, 1)),
            "Where the place of the code matters most: the least and the greatest [ns], and by how "
            "much they differ [%]\n" + again.text(left=(0, 1)),
            "Gap with credits, and without [ns]; packets of the latter that the service processor "
            "had to deliver [%]\n" + over.text(left=(0, 1)),
            f"Change [%] when an assumption is halved or doubled, for {sizes}\n{varied_text}",
        ]
    )
    return Report(
        tables=[
            results, long, crossovers(found), apart, over, again, at_clock_of_memo(outputs), varied,
        ],
        text=text,
        findings=[*findings(found), sentence],
        draw=lambda figure: draw(figure, found),
        size_inches=(12.0, 12.0),
    )  # fmt: skip


# --- picture -------------------------------------------------------------------------------------

COLORS = {
    "express": "BLUE",
    "tag-on-48": "GREEN",
    "tag-on-80": "ORANGE",
    "basic": "RED",
    "dma": "BLACK",
}
# Of what stands beside a machine's own variant, in the same panel.
DASHES = {"through cache": "--", "resident": ":"}
# Where Tag-On with 80 bytes lies upon the one with 48, this shows at both sides of it.
WIDTHS = {"tag-on-48": 3.5}
THREADS_NAMED = {1: "one thread", 2: "two threads"}

# Title of a row: from the figures of one size, and that size.
PANELS: dict[str, Callable[[Figures, int], float]] = {
    "o_send [us]": lambda each, _: float(each.o_send) / 1000,
    "o_recv [us]": lambda each, _: float(each.o_recv) / 1000,
    "latency [us]": lambda each, _: float(each.latency) / 1000,
    "bandwidth [MB/s]": lambda each, size: float(size * 1000 / (each.together or each.gap)),
}
# Two threads send and receive at the same time for this; for the others only one is at work.
AT_ONCE = "bandwidth [MB/s]"
# Where data are matters to their sender: resident data are drawn only for these.
SENDER = ("o_send [us]", "latency [us]")
NOTE = (
    "Two threads share a queue: one is at work, or both at once. "
    "Express is the same with flush and reclaim; resident data are with flush."
)
LONG_PANELS = ("latency [us]", "bandwidth [MB/s]")


def draw(figure: Figure, found: Mapping[Key, Figures]) -> None:
    """A row for each quantity, all with one scale: with flush by one thread and by two, then with
    reclaim. Last, long messages, which go in packets with one thread only."""
    from chasqui.experiment import drawing

    heights = [1.5 if title == "latency [us]" else 1.0 for title in PANELS]  # most lines are close
    *rows, last = figure.subplots(
        len(PANELS) + 1, len(MACHINES) * len(THREADS), height_ratios=[*heights, 1.0]
    )
    for title, row in zip(PANELS, rows, strict=True):
        for axes, (machine, threads) in zip(row, itertools.product(MACHINES, THREADS), strict=True):
            _small(axes, found, machine, threads, title)
            is_last = title == AT_ONCE
            axes.tick_params("x", bottom=is_last, labelbottom=is_last)
        _share_scale(row)
    for axes in rows[-1]:
        axes.set_xlabel("message [bytes]")
    for axes, (machine, title) in zip(last, itertools.product(MACHINES, LONG_PANELS), strict=True):
        _long(axes, found, machine, title)
    for of_quantity in (last[::2], last[1::2]):
        _share_scale(of_quantity)
    drawing.legend_above(figure, [rows[0][0], last[0]], columns=5)
    figure.supxlabel(NOTE, fontsize=9)


def _drawn(machine: str, title: str) -> list[Case]:
    """Without the other ways to receive Tag-On, which move its lines little, and without Express by
    two loads, which threads cannot share."""
    variants = ["-", "through cache", machine]
    if title in SENDER and machine == "flush":
        variants.append("resident")
    return [case for mechanism in COLORS for case in CASES if case[0] == mechanism
            and case[1] in variants]  # fmt: skip


def _small(
    axes: Axes, found: Mapping[Key, Figures], machine: str, threads: int, title: str
) -> None:
    from chasqui.experiment import drawing

    for case in _drawn(machine, title):
        _line(axes, found, case, threads, title, range(SMALL[-1] + 1))
    at_once = " at once" if threads > 1 and title == AT_ONCE else ""
    axes.set_title(f"{title}, {machine}, {THREADS_NAMED[threads]}{at_once}", fontsize=8)
    drawing.scale_bytes(axes, SMALL[0], SMALL[-1])
    ticks = (8, 16, 32, 64)
    axes.set_xticks(ticks, [str(size) for size in ticks])
    drawing.scale_decades(axes)
    axes.minorticks_off()


def _share_scale(panels: Sequence[Axes]) -> None:
    limits = [limit for axes in panels for limit in axes.get_ylim()]
    for axes in panels:
        axes.set_ylim(min(limits), max(limits))
        is_first = axes is panels[0]
        axes.tick_params("y", which="both", left=is_first, labelleft=is_first)


def _long(axes: Axes, found: Mapping[Key, Figures], machine: str, title: str) -> None:
    from chasqui.experiment import drawing

    sizes = range(SMALL[-1], DMA[-1] + 1)
    for mechanism in ("tag-on-80", "basic", "dma"):
        _line(axes, found, (mechanism, machine), 1, title, sizes)
    _line(axes, found, ("dma", machine), 2, title, sizes)
    axes.set_title(f"{title}, {machine}, long", fontsize=8)
    axes.set_xlabel("message [bytes]")
    drawing.scale_bytes(axes, 64, DMA[-1])
    if title == "latency [us]":
        drawing.scale_decades(axes)
    else:
        axes.set_ylim(bottom=0)


def _line(
    axes: Axes, found: Mapping[Key, Figures], case: Case, threads: int, title: str, sizes: range
) -> None:
    """One mechanism over these sizes."""
    from chasqui.experiment import drawing

    points = [
        (key[3], PANELS[title](each, key[3]))
        for key, each in found.items()
        if key[:3] == (*case, threads) and key[3] in sizes
    ]
    mechanism, variant = case
    label, dashes = mechanism, DASHES.get(variant, "-")
    if variant in DASHES:
        label = f"{mechanism}, {variant}"
    elif threads > 1 and sizes.start == SMALL[-1]:  # beside one thread, in the same panel
        label, dashes = f"{mechanism}, two threads (last row)", "--"
    # All lie within the axes; a picture with clipped lines is twice as long.
    axes.plot(
        *zip(*points, strict=True), dashes, label=label, clip_on=False,
        color=getattr(drawing, COLORS[mechanism]), linewidth=WIDTHS.get(mechanism),
    )  # fmt: skip


EXPERIMENT = Experiment(QUESTION, runs, report)
