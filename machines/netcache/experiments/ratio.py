"""netcache/ratio: run time against r, the pace of recorded messages, and the knee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import messages
from chasqui.experiment import (
    Experiment,
    Output,
    Replay,
    Report,
    Run,
    Table,
    sensitivity,
)
from chasqui.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = """\
How does the run time depend on r, which says how late messages come, and from which r on does \
the process wait for them? Rank 0 is simulated alone, with messages that were recorded in a run \
of all ranks under dmaver2: one that came at time t there comes at time r t. All times count from \
the end of MPI_Init, in the recording and in the run: policies that take longer to start are no \
slower for it. The knee is the r at which the last message would arrive just as the fastest of \
the runs ends: the least run time divided by the last recorded arrival. Below it messages wait \
for rank 0, above it rank 0 waits for messages."""

POLICIES = ("dmaver2", "dtct", "ldtct", "via")
# Where messages come from: all ranks simulated.
RECORDED = "dmaver2"
RATIOS = ("0", "0.25", "0.5", "0.75", "0.9", "1", "1.1", "1.25", "1.5", "2", "3")
QUICK = ("0", "0.5", "1", "2")
# A ratio on either side of the knee, for what had to be assumed.
VARIED = {"early": "0.5", "late": "1.5"}
ASSUMED = (
    "netcache.nic.access", "netcache.nic.receive", "netcache.nic.transmit", "netcache.nic.deliver",
    "netcache.nic.width", "network.link_latency", "node.bus.address",
)  # fmt: skip


class Program(NamedTuple):
    """What is run, on how many ranks."""

    ranks: int
    arguments: Sequence[str]


# Conjugate gradients, and a spectral transform whose messages are of 8 bytes.
PROGRAMS = {
    "cg": Program(4, ["-g", "32", "-i", "30"]),
    "spectral": Program(4, ["-m", "7", "-t", "4"]),
}


class Row(NamedTuple):
    """The columns of results.csv."""

    program: str
    policy: str
    ratio: Fraction
    cycles_per_recorded_s: int
    start_ns: Fraction  # to the end of MPI_Init, from which the others count
    run_time_ns: Fraction
    last_arrival_ns: Fraction  # when the last message is due
    after_last_ns: Fraction  # from then to the end
    mpi_ns: Fraction  # rank 0 in MPI calls but MPI_Init
    message_waits_ns: Fraction  # mean over messages: from landing to the receive that takes it
    receive_waits_ns: Fraction  # mean over messages: from the post of the receive to landing
    delayed: int  # messages for which the node had no room when they were due
    network_replacements: int


class Knee(NamedTuple):
    """The columns of knees.csv."""

    program: str
    policy: str
    knee_ratio: Fraction
    run_time_ns: Fraction  # of the fastest run
    at_ratio: Fraction  # its r
    run_time_at_0_ns: Fraction  # with all messages there as MPI_Init ends
    last_recorded_ns: Fraction


def runs(quick: bool) -> list[Run]:
    found: list[Run] = []
    for program in PROGRAMS:
        wholes = _wholes(program)
        whole = wholes[RECORDED]
        found += wholes.values()
        found += [
            _replayed(f"{program}/{policy}/{ratio}", whole, policy, ratio)
            for policy in POLICIES
            for ratio in (QUICK if quick else RATIOS)
        ]
    return found + _varied(quick)


def _varied(quick: bool) -> list[Run]:
    """Conjugate gradients under ldtct. Each run begins as one of all ranks with the same values."""
    varied = sensitivity.assumptions("netcache", ASSUMED[:1] if quick else ASSUMED)
    recorded, ours = _wholes("cg")[RECORDED], _wholes("cg")["ldtct"]
    found = sensitivity.runs(replace(ours, name="varied-whole"), varied)
    for name, ratio in VARIED.items():
        for run in sensitivity.runs(_replayed(f"varied-{name}", recorded, "ldtct", ratio), varied):
            assert run.replay is not None
            _, _, which = run.name.partition("/")
            replay = replace(run.replay, begins_as=f"varied-whole/{which}")
            found.append(replace(run, replay=replay))
    return found


def _wholes(program: str) -> dict[str, Run]:
    """Runs of all ranks, by policy."""
    ranks, arguments = PROGRAMS[program]
    return {
        policy: Run(
            _whole(program, policy), f"netcache/{policy}", ranks, f"examples/{program}",
            flags=["-lm"], arguments=arguments,
        )
        for policy in POLICIES
    }  # fmt: skip


def _whole(program: str, policy: str) -> str:
    """Name of the run of all ranks: it is recorded, or shows when MPI_Init ends."""
    return f"{program}/whole/{policy}"


def _replayed(name: str, whole: Run, policy: str, ratio: str) -> Run:
    program, _, _ = whole.name.partition("/")
    replay = Replay(whole.name, ratio=ratio, begins_as=_whole(program, policy))
    return Run(
        name, f"netcache/{policy}", whole.ranks, whole.program, flags=whole.flags,
        arguments=whole.arguments, replay=replay,
    )  # fmt: skip


def row(program: str, policy: str, output: Output) -> Row:
    replay = output.summary["replay"]
    start = output.initialised_ps(0)
    run_time, last = output.summary["time_ps"] - start, replay["last_arrival_ps"] - start
    waits, waited_for = [], []
    for each in messages.read(output.directory / "messages.parquet"):
        if each.destination == 0 and each.land_ps is not None and each.match_ps is not None:
            posted = each.land_ps if each.post_ps is None else each.post_ps
            waits.append(max(0, each.match_ps - each.land_ps))
            waited_for.append(max(0, each.land_ps - posted))
    return Row(
        program,
        policy,
        Fraction(replay["ratio"]),
        replay["cycles_per_recorded_s"],
        Fraction(start, 1000),
        Fraction(run_time, 1000),
        Fraction(last, 1000),
        Fraction(run_time - last, 1000),
        Fraction(output.in_calls_ps(0), 1000),
        Fraction(sum(waits), 1000 * len(waits)),
        Fraction(sum(waited_for), 1000 * len(waited_for)),
        output.counter("peers.delayed"),
        sum(output.counters("network_cache.network_replacements", optional=True)),
    )


def knee(program: str, policy: str, rows: Sequence[Row]) -> Knee:
    """Where the line T = r t, t the last recorded arrival, meets the least run time."""
    early = next(row for row in rows if row.ratio == 0)
    late = max(rows, key=lambda row: row.ratio)
    fast = min(rows, key=lambda row: row.run_time_ns)
    time, last = fast.run_time_ns, late.last_arrival_ns / late.ratio
    return Knee(program, policy, time / last, time, fast.ratio, early.run_time_ns, last)


def report(outputs: Mapping[str, Output]) -> Report:
    found, knees = [], []
    for program in PROGRAMS:
        for policy in POLICIES:
            start = f"{program}/{policy}/"
            rows = [
                row(program, policy, output)
                for name, output in outputs.items()
                if name.startswith(start)
            ]
            found += rows
            knees.append(knee(program, policy, rows))
    assumed = sensitivity.assumptions("netcache", ASSUMED)
    bases = [f"varied-{name}" for name in VARIED]
    varied, varied_text, sentence = sensitivity.report(bases, assumed, outputs, _varied_figures)
    results = Table("results", Row._fields, found)
    knee_table = Table("knees", Knee._fields, knees)
    return Report(
        tables=[results, knee_table, varied],
        text="\n\n".join(
            [
                results.text(left=(0, 1)),
                "The knees\n" + knee_table.text(left=(0, 1)),
                f"Run time of cg under ldtct, an assumption halved or doubled [%]\n{varied_text}",
            ]
        ),
        findings=[*findings(found, knees), sentence],
        draw=lambda figure: draw(figure, found, knees),
        size_inches=(11.0, 6.0),
    )


def _varied_figures(output: Output) -> dict[str, Fraction]:
    ratio = output.summary["replay"]["ratio"]
    time = output.summary["time_ps"] - output.initialised_ps(0)
    return {f"run_time_ns at r = {ratio}": Fraction(time, 1000)}


def findings(found: Sequence[Row], knees: Sequence[Knee]) -> list[str]:
    said = []
    for program in PROGRAMS:
        mine = [k for k in knees if k.program == program]
        texts = ", ".join(f"{k.policy} {number(float(k.knee_ratio), 4)}" for k in mine)
        said.append(
            f"{program}: the knee is at r = {texts}; 1 is the pace of all ranks under {RECORDED}."
        )
        rows = {(r.policy, r.ratio): r for r in found if r.program == program}
        ratios = sorted({r.ratio for r in rows.values()})
        fastest, slowest = ratios[0], ratios[-1]
        early, late = rows["ldtct", fastest], rows["ldtct", slowest]
        said.append(
            f"{program} under ldtct: with all messages there as MPI_Init ends a message waits "
            f"{_us(early.message_waits_ns)} us for its receive in the mean and "
            f"{early.network_replacements} are evicted from the network section; at r = "
            f"{float(slowest):g} a receive waits {_us(late.receive_waits_ns)} us for its message "
            f"and {late.network_replacements} are evicted."
        )
        said.append(_early(program, rows))
        for other in ("dmaver2", "via"):
            gains = []
            for ratio in (fastest, slowest):
                best = rows["ldtct", ratio].run_time_ns
                gain = 100 * (rows[other, ratio].run_time_ns / best - 1)
                gains.append(f"{_percent(gain)} at r = {float(ratio):g}")
            said.append(f"{program}: ldtct is faster than {other} by {' and '.join(gains)}.")
    return said


def _early(program: str, rows: Mapping[tuple[str, Fraction], Row]) -> str:
    """What it costs that messages are there long before their receives."""

    def cost(policy: str) -> tuple[Row, Fraction, Fraction]:
        """The fastest run; how much longer the earliest takes; the part of that in MPI calls."""
        mine = [row for key, row in rows.items() if key[0] == policy]
        fast = min(mine, key=lambda row: row.run_time_ns)
        early = rows[policy, Fraction(0)]
        longer = early.run_time_ns - fast.run_time_ns
        inside = early.mpi_ns - fast.mpi_ns
        return fast, longer / fast.run_time_ns, inside / longer if longer else Fraction(0)

    fast, longer, inside = cost("ldtct")
    _, without, _ = cost(RECORDED)
    return (
        f"{program} under ldtct is the fastest at r = {float(fast.ratio):g}; with all messages "
        f"there as MPI_Init ends it takes {_percent(100 * longer)} longer, "
        f"{_percent(100 * inside)} of that in MPI calls. Under {RECORDED}, which has no network "
        f"cache, it is {_percent(100 * without)}."
    )


def _percent(gain: Fraction) -> str:
    """Nothing, where it would be a rounded zero."""
    return f"{float(gain):.1f} %" if abs(gain) >= Fraction(1, 20) else "nothing"


def _us(time: Fraction) -> str:
    return number(float(time) / 1000, 3)


def draw(figure: Figure, found: Sequence[Row], knees: Sequence[Knee]) -> None:
    from chasqui.experiment import drawing

    lines = figure.subplots(len(PROGRAMS), 3, squeeze=False)
    for program, (times, gains, waits) in zip(PROGRAMS, lines, strict=True):
        _draw_times(times, program, found, knees)
        _draw_gains(gains, program, found)
        _draw_waits(waits, program, found)
    drawing.label_ends(*lines.flat)


def _colors() -> dict[str, str]:
    from chasqui.experiment import drawing

    colors = (drawing.ORANGE, drawing.BLUE, drawing.GREEN, drawing.RED)
    return dict(zip(POLICIES, colors, strict=True))


def _draw_times(axes: Axes, program: str, found: Sequence[Row], knees: Sequence[Knee]) -> None:
    from chasqui.experiment import drawing

    # The others would lie under these.
    for policy, color in ((policy, _colors()[policy]) for policy in (RECORDED, "ldtct")):
        rows = [r for r in found if (r.program, r.policy) == (program, policy)]
        points = [(float(r.ratio), float(r.run_time_ns) / 1e6) for r in rows]
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=policy)
        (mark,) = (k for k in knees if (k.program, k.policy) == (program, policy))
        axes.axvline(float(mark.knee_ratio), color=color, linestyle=":", linewidth=1.0)
    last = [(float(r.ratio), float(r.last_arrival_ns) / 1e6) for r in rows]
    axes.plot(
        *zip(*last, strict=True), "--", color=drawing.BLACK, linewidth=0.9, label="last message"
    )
    axes.set(title=f"{program}: run time [ms]", xlabel="r; dotted: the knees", ylim=(0, None))
    axes.set_xlim(0, None)


def _draw_gains(axes: Axes, program: str, found: Sequence[Row]) -> None:
    times = {(r.policy, r.ratio): r.run_time_ns for r in found if r.program == program}
    for policy, color in list(_colors().items())[1:]:
        points = [
            (float(ratio), float(100 * (times[RECORDED, ratio] / time - 1)))
            for (mine, ratio), time in times.items()
            if mine == policy
        ]
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=policy)
    axes.set(title=f"{program}: faster than {RECORDED} [%]", xlabel="r")
    axes.set_xlim(0, None)


def _draw_waits(axes: Axes, program: str, found: Sequence[Row]) -> None:
    from chasqui.experiment import drawing

    kinds = {
        "message_waits_ns": ("message", drawing.PURPLE),
        "receive_waits_ns": ("receive", drawing.RED),
    }
    rows = [r for r in found if (r.program, r.policy) == (program, "ldtct")]
    for column, (label, color) in kinds.items():
        points = [(float(r.ratio), float(getattr(r, column)) / 1000) for r in rows]
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=label)
    axes.set(title=f"{program}, ldtct: mean wait [us]", xlabel="r", ylim=(0, None))
    axes.set_xlim(0, None)


EXPERIMENT = Experiment(QUESTION, runs, report)
