"""netcache/one-rank: what policies do to one rank of 64, as the paper measured it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import histogram, messages
from chasqui.experiment import Experiment, Output, Replay, Report, Run, Table, Value, sensitivity
from chasqui.text import number

from . import _npb
from ._workloads import (
    BASELINE,
    COLORS,
    POLICIES,
    START,
    STUDIES,
    Program,
    counted,
    figures,
    machine,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = """\
What does each way to receive do to one rank of 64, the paper's own case? Rank 0 of a spectral \
transform, with as many messages to it as PSTSWM's, and, where its sources are given, of NPB's CG \
of class A, with messages that were recorded in a run of all ranks under dmaver2 and come at r \
times the recorded times; with the caches of studies A, B and C, and with data caches of several \
sizes; with all messages there as MPI_Init ends (r = 0), where policies show what they cost, and \
at the recorded pace (r = 1), where none can be faster than the last message. Times count from \
the end of MPI_Init, there and here, counters without those of a program that only starts and \
ends. Then what a receive, and reading what came, do to the data cache, by the length of messages \
that are there already, in places that have been used."""

RANKS = 64
RECORDED = "dmaver2"
SHORT = 16  # bytes: the paper's tables 5.4 and 6.2
KIB = (8, 16, 32, 64, 128)
OWN_KIB = 32  # study C's
CACHE = ("dl1_accesses", "dl1_misses", "dl1_replacements")
PAYLOADS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
PAYLOADS_QUICK = (8, 256)
MESSAGES = 256
ASKS, RECEIVES, READS = range(3)
EARLY, PACED = "0", "1"  # r: simulated time of a unit of recorded time
CLASS = "A"
# Two policies and the program that needs no sources, for what had to be assumed.
VARIED = ("via", "ldtct")
ASSUMED = ("network.link_latency", "node.bus.address", "netcache.nic.access", "node.l2.ways",
           "netcache.via.lookup", "node.core.trap")  # fmt: skip


OF_A_MESSAGE = """\
Of a message: what a program has more that receives it, or reads it, than one that does not. The \
two also differ in a few misses of their own, so that a few tenths of a miss, more or less, are \
nothing; where it has fewer no share is given."""


class Setting(NamedTuple):
    """Caches: of a study, the data cache's size."""

    study: str
    kib: int | None = None  # None: the study's

    @property
    def sets(self) -> list[str]:
        return [f"node.l1d.size={self.kib} KiB"] if self.kib else []


class Row(NamedTuple):
    """The columns of results.csv: of rank 0."""

    program: str
    study: str
    l1d_kib: int
    ratio: str
    policy: str
    speedup_over_via: Fraction
    run_time_ns: Fraction
    mpi_ns: Fraction
    dl1_accesses: int
    dl1_misses: int
    dl1_replacements: int
    l1i_hit_percent: Fraction  # of instructions
    first_access_ns: Fraction | None
    last_access_ns: Fraction | None
    network_replacements: int
    messages: int
    short: int
    early: int  # that landed before their receives were posted
    page_faults: int


class Received(NamedTuple):
    """The columns of received.csv: messages that rank 0 receives, as the program and MPI count
    them: those that it sends to itself, which no network carries, are among them."""

    program: str
    point_to_point: int
    point_to_point_short: int
    collective: int  # that collectives are made of here
    collective_short: int


class Payload(NamedTuple):
    """The columns of payloads.csv: of a message, in the receive and in reading it. Each is a
    difference of two programs, of which the one receives, or reads, and the other does not; they
    also differ in a few misses of their own. Where the other has more there is no share."""

    policy: str
    size_bytes: int
    receive_accesses: Fraction
    receive_misses: Fraction
    receive_miss_percent: Fraction | None
    read_accesses: Fraction
    read_misses: Fraction
    read_miss_percent: Fraction | None


# --- runs ----------------------------------------------------------------------------------------


def programs(quick: bool) -> list[Program]:
    spectral = Program("spectral", "examples/spectral", ["-m", "7", "-t", "1" if quick else "187"])
    if quick or not _npb.ELSEWHERE.is_given:
        return [spectral]
    return [spectral, _npb.program("cg", RANKS, CLASS)]


def settings(quick: bool) -> list[Setting]:
    if quick:
        return [Setting("C"), Setting("C", KIB[0])]
    sizes = [Setting("C", kib) for kib in KIB if kib != OWN_KIB]
    return [*(Setting(study) for study in STUDIES), *sizes]


def ratios(setting: Setting) -> Sequence[str]:
    """Other sizes of the data cache only at the recorded pace."""
    return (PACED,) if setting.kib else (EARLY, PACED)


def runs(quick: bool) -> list[Run]:
    ranks = 4 if quick else RANKS
    found = []
    for program in programs(quick):
        whole = Run(
            f"whole/{program.name}", f"netcache/{RECORDED}", ranks, program.program,
            flags=["-lm"], arguments=program.arguments,
        )  # fmt: skip
        found.append(whole)
        for setting, policy in itertools.product(settings(quick), POLICIES):
            for ratio in ratios(setting):
                found.append(_replayed(whole, setting, policy, ratio, program.ignored_lines))
    for setting, policy in itertools.product(settings(quick), POLICIES):
        found.append(_start(setting, policy, ranks))
    found += _payloads(quick)
    return found + _varied(quick, ranks)


def _place(setting: Setting, policy: str) -> str:
    return f"{setting.study}{setting.kib or ''}/{policy}"


def _start(setting: Setting, policy: str, ranks: int) -> Run:
    return Run(
        f"start/{_place(setting, policy)}", machine(setting.study, policy), ranks, START.program,
        sets=setting.sets,
    )  # fmt: skip


def _replayed(
    whole: Run, setting: Setting, policy: str, ratio: str, ignored_lines: Sequence[str]
) -> Run:
    place = _place(setting, policy)
    name = f"{whole.name.removeprefix('whole/')}/{place}/{ratio}"
    return Run(
        name, machine(setting.study, policy), whole.ranks, whole.program, flags=whole.flags,
        arguments=whole.arguments, sets=setting.sets, access_times=True,
        replay=Replay(
            whole.name, ratio=ratio, begins_as=f"start/{place}", ignored_lines=ignored_lines
        ),
    )  # fmt: skip


def _payload(policy: str, size: int, what: int) -> Run:
    arguments = [str(size), str(MESSAGES), str(what)]
    return Run(f"payload/{policy}/{size}/{what}", f"netcache/{policy}", 2, "payload",
               arguments=arguments)  # fmt: skip


def _payloads(quick: bool) -> list[Run]:
    return [
        _payload(policy, size, what)
        for policy in POLICIES
        for size in (PAYLOADS_QUICK if quick else PAYLOADS)
        for what in (ASKS, RECEIVES, READS)
    ]


def _varied(quick: bool, ranks: int) -> list[Run]:
    """All ranks of the spectral transform, in few steps."""
    spectral = programs(quick=True)[0]
    assumed = sensitivity.assumptions("netcache", ASSUMED[:1] if quick else ASSUMED)
    found = []
    for policy in VARIED:
        base = Run(f"varied-{policy}", f"netcache/{policy}", ranks, spectral.program,
                   flags=["-lm"], arguments=spectral.arguments)  # fmt: skip
        found += sensitivity.runs(base, assumed)
    return found


# --- figures -------------------------------------------------------------------------------------


def _counted(output: Output, names: Sequence[str]) -> int:
    """Of rank 0's node."""
    return sum(output.counters(name, optional=True)[0] for name in names)


def row(case: tuple[str, str, str, str], output: Output, start: Output) -> Row:
    """`case`: program, study, ratio, policy."""
    program, study, ratio, policy = case
    begin = output.initialised_ps(0)

    def more(*names: str) -> int:
        return _counted(output, names) - _counted(start, names)

    seen = figures(output)
    landed = [
        (each.bytes or 0, each.land_ps, each.post_ps)
        for each in messages.read(output.directory / "messages.parquet")
        if each.destination == 0 and each.land_ps is not None
    ]
    run_time = Fraction(output.summary["time_ps"] - begin, 1000)
    instructions, missed = more("hart.instructions"), more("memory.l1i_misses")
    return Row._make([
        program, study, _kib(output), ratio, policy,
        Fraction(0), run_time, Fraction(output.in_calls_ps(0), 1000),
        *(counted(output, name)[0] - counted(start, name)[0] for name in CACHE),
        100 - Fraction(100 * missed, instructions),
        seen.first_access_ns, seen.last_access_ns,
        _counted(output, ["network_cache.network_replacements"]),
        len(landed), sum(size <= SHORT for size, _, _ in landed),
        sum(post is not None and land < post for _, land, post in landed),
        more("processor.page_faults"),
    ])  # fmt: skip


def _kib(output: Output) -> int:
    """Of the data cache."""
    resolved = (output.directory / "resolved.toml").read_text()
    _, _, section = resolved.partition("[node.l1d]")
    found = re.search(r'^size = .*"(\d+) KiB"', section, re.MULTILINE)
    assert found
    return int(found[1])


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for name in (each.removeprefix("whole/") for each in outputs if each.startswith("whole/")):
        for setting in (Setting(study) for study in STUDIES):
            found += _by_policy(name, setting, outputs)
        for kib in KIB:
            found += _by_policy(name, Setting("C", kib), outputs)
    return found


def _by_policy(program: str, setting: Setting, outputs: Mapping[str, Output]) -> list[Row]:
    found: list[Row] = []
    for ratio in ratios(setting):
        if f"{program}/{_place(setting, BASELINE)}/{ratio}" not in outputs:
            continue
        mine = [
            row((program, setting.study, ratio, policy), outputs[f"{program}/{place}/{ratio}"],
                outputs[f"start/{place}"])
            for policy in POLICIES
            for place in [_place(setting, policy)]
        ]  # fmt: skip
        (base,) = (each.run_time_ns for each in mine if each.policy == BASELINE)
        found += [each._replace(speedup_over_via=base / each.run_time_ns) for each in mine]
    return found


def received(outputs: Mapping[str, Output]) -> list[Received]:
    """Policies and r make no difference."""
    found = []
    for program in (each.removeprefix("whole/") for each in outputs if each.startswith("whole/")):
        output = outputs[f"{program}/{_place(Setting('C'), POLICIES[-1])}/{PACED}"]
        every = messages.read(output.directory / "messages.parquet")
        to_it = [each for each in every if each.destination == 0]
        counts = histogram.count(to_it, pairs=False).counts
        of_kind = [
            sum(count for key, count in counts.items() if key.kind == kind and key.most <= most)
            for kind in (histogram.POINT, histogram.COLLECTIVE)
            for most in (math.inf, SHORT)
        ]
        found.append(Received._make([program, *of_kind]))
    return found


def payloads(outputs: Mapping[str, Output]) -> list[Payload]:
    found = []
    for policy, size in itertools.product(POLICIES, PAYLOADS):
        names = [_payload(policy, size, what).name for what in (ASKS, RECEIVES, READS)]
        if names[0] not in outputs:
            continue
        values: list[Value] = []
        for before, after in itertools.pairwise(outputs[name] for name in names):
            accesses, misses = (
                Fraction(counted(after, name)[0] - counted(before, name)[0], MESSAGES)
                for name in CACHE[:2]
            )
            values += [accesses, misses, share_percent(misses, accesses)]
        found.append(Payload._make([policy, size, *values]))
    return found


def share_percent(misses: Fraction, accesses: Fraction) -> Fraction | None:
    return 100 * misses / accesses if misses >= 0 else None


# --- report --------------------------------------------------------------------------------------


def report(outputs: Mapping[str, Output]) -> Report:
    found, by_size = rows(outputs), payloads(outputs)
    results = Table("results", Row._fields, found)
    received_table = Table("received", Received._fields, received(outputs))
    payload_table = Table("payloads", Payload._fields, by_size)
    assumed = sensitivity.assumptions("netcache", ASSUMED)
    bases = [f"varied-{policy}" for policy in VARIED]
    changes, changes_text, sentence = sensitivity.report(bases, assumed, outputs, _run_time)
    of_a_message = f"{OF_A_MESSAGE}\n{payload_table.text(left=(0,))}"
    return Report(
        tables=[results, received_table, payload_table, changes],
        text=f"{results.text(left=(0, 1, 4))}\n\n"
        f"Messages that rank 0 receives, as MPI counts them\n{received_table.text(left=(0,))}\n\n"
        f"{of_a_message}\n\n"
        f"Change [%] with assumptions halved or doubled (spectral)\n{changes_text}",
        findings=[*_sentences(found), sentence],
        draw=lambda figure: draw(figure, found, by_size),
        size_inches=(11.0, 7.0),
    )


def _run_time(output: Output) -> dict[str, Fraction]:
    policy = output.run.machine.rpartition("/")[2]
    return {policy: Fraction(output.summary["time_ps"], 1000)}


def _own(found: Sequence[Row], program: str, study: str, ratio: str) -> dict[str, Row]:
    """By policy, with the study's own data cache: its rows come first."""
    mine: dict[str, Row] = {}
    for each in found:
        if (each.program, each.study, each.ratio) == (program, study, ratio):
            mine.setdefault(each.policy, each)
    return mine


def _sentences(found: Sequence[Row]) -> list[str]:
    said = []
    cases = dict.fromkeys((each.program, each.study, each.ratio) for each in found)
    for program, study, ratio in cases:
        mine = _own(found, program, study, ratio)
        gains = ", ".join(
            f"{policy} {float(each.speedup_over_via):.3f}" for policy, each in mine.items()
        )
        one = mine["ldtct"]
        said.append(
            f"{program}, study {study}, r = {ratio}: times as fast as {BASELINE}: {gains}. "
            f"{one.messages:,} messages came to rank 0, {one.short:,} of them of {SHORT} bytes or "
            f"less; under ldtct {one.early:,} came before their receives. Instructions hit their "
            f"cache in {number(float(mine['mvia'].l1i_hit_percent), 4)} % under mvia."
        )
    return said


# --- picture -------------------------------------------------------------------------------------


def draw(figure: Figure, found: Sequence[Row], by_size: Sequence[Payload]) -> None:
    """Run times by policy and study; misses by the data cache's size; miss rates by payload."""
    from chasqui.experiment import drawing

    programs_ = list(dict.fromkeys(each.program for each in found))
    grid = figure.subplots(2, max(2, len(programs_)), squeeze=False)
    for axes, program in zip(grid[0], programs_, strict=False):
        _draw_misses(axes, program, found)
    for axes in grid[0][len(programs_) :]:
        _draw_times(axes, programs_[-1], found)
    for axes, column, title in zip(
        grid[1],
        ("receive_miss_percent", "read_miss_percent"),
        ("misses in a receive", "misses in reading a message"),
        strict=False,
    ):
        for policy in POLICIES:
            points = [
                (each.size_bytes, float(getattr(each, column)))
                for each in by_size
                if each.policy == policy and getattr(each, column) is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=COLORS[policy], label=policy)
        axes.set(xlabel="message [bytes]", title=f"{title} [% of accesses]")
        drawing.scale_bytes(axes, PAYLOADS[0], PAYLOADS[-1])
        axes.set_ylim(bottom=0)
    drawing.label_ends(*(axes for axes in grid.flat if axes.lines))


def _draw_misses(axes: Axes, program: str, found: Sequence[Row]) -> None:
    from chasqui.experiment import drawing

    for policy in POLICIES:
        points = sorted({
            (each.l1d_kib, each.dl1_misses / 1000)
            for each in found
            if each[:2] == (program, "C") and (each.policy, each.ratio) == (policy, PACED)
        })  # fmt: skip
        axes.plot(*zip(*points, strict=True), "o-", color=COLORS[policy], label=policy)
    axes.set(xlabel="data cache [KiB]", title=f"{program}: misses of the data cache [thousands]")
    axes.set_xscale("log", base=2)
    axes.set_xticks(KIB, [str(kib) for kib in KIB])
    drawing.scale_decades(axes)


def _draw_times(axes: Axes, program: str, found: Sequence[Row]) -> None:
    from chasqui.experiment import drawing

    studies = [study for study in STUDIES if _own(found, program, study, EARLY)]
    for policy in POLICIES:
        heights = [float(_own(found, program, study, EARLY)[policy].run_time_ns) / 1e6
                   for study in studies]  # fmt: skip
        axes.plot(studies, heights, "o-", color=COLORS[policy], label=policy)
    axes.set(xlabel="study", title=f"{program}: run time of rank 0, r = 0 [ms]")
    drawing.scale_decades(axes)


EXPERIMENT = Experiment(QUESTION, runs, report, {_npb.KIND: _npb.ELSEWHERE})
