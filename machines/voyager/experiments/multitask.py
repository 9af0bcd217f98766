"""voyager/multitask: two jobs on the same nodes, time-shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui import core
from chasqui.experiment import Beside, Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What do queues of one's own save where two parallel jobs share the nodes? A process that is not \
running receives, so nothing is drained at a switch and each node may switch by its own clock. \
With one set of queues the network must be drained and the queues swapped first, by the service \
processors' firmware, and all nodes switch together. Two like \
jobs on four nodes compute and exchange words with their neighbours, some 20 us or 2 ms apart: \
when both are over, against one after the other, for turns of 100 us to 10 ms; with queues of \
their own and clocks that are far apart, near each other, or in step. And how much does it help \
with clocks apart if a process that has polled in vain for some time yields its hart? Where clocks \
differ, how rounds fall into turns decides much: each point is then the mean of five turns within \
20 %, with the least and the greatest. The slowdown of the fine-grained jobs over the length of a \
turn is shown for a scheduler that takes a fixed time and for the kernel's, which is executed."""

RANKS = 4
# Rounds, steps of computation between them.
GRAINS = {"fine": ("500", "200"), "coarse": ("10", "30000")}
QUANTA_US = (100, 300, 1000, 3000, 10000)
QUANTA_US_QUICK = (300, 3000)
# Where nodes' clocks differ, a point is measured with turns of these parts of its own [%]: rounds
# lock to turns, and a turn that is slightly longer can let twice as many of them pass.
NEARBY = (80, 90, 100, 110, 120)
NEARBY_QUICK = (90, 110)
# Turns over which the saw-tooth of the fine-grained jobs is shown.
STEPS_US = (50, 80, 100, 150, 200, 250, 280, 290, 300, 400, 500, 600, 700, 1000)
STEPS_US_QUICK = (200, 290)
# What schedules processes, by node.software.kernel: a model whose switch takes a fixed time, or the
# kernel, whose code is executed.
SCHEDULERS = {"fixed": "false", "kernel": "true"}
# mpi.wait.polls: 35 take about as long as two switches, 20 us. That is the competitive choice: at
# most twice the cost of knowing how long the wait will be (Karlin, Li, Manasse, Owicki: Empirical
# Studies of Competitive Spinning. SOSP 1991). And a quarter of that, and four times.
SPINS = (9, 35, 140)


class Nodes(NamedTuple):
    """How the nodes are shared."""

    machine: str
    skew: Fraction  # of a turn, by which a node's clock is behind that of the node before it
    polls: int = 0  # in vain, after which a process gives the hart up; 0: never


APART, NEAR, STEP = "own queues, clocks apart", "own queues, near", "own queues, in step"
YIELDING = [f"{APART}, yielding after {polls}" for polls in SPINS]
ONE = "one queue, drained"
SHARED = {
    APART: Nodes("voyager/flush", Fraction("0.382")),
    **{
        name: Nodes("voyager/flush", Fraction("0.382"), polls)
        for name, polls in zip(YIELDING, SPINS, strict=True)
    },
    NEAR: Nodes("voyager/flush", Fraction("0.95")),  # ahead by a twentieth
    STEP: Nodes("voyager/flush", Fraction(0)),
    ONE: Nodes("voyager/onequeue", Fraction(0)),  # where it is of no account
}
SHARED_QUICK = (APART, YIELDING[1], STEP, ONE)
MOVED = (APART, YIELDING[1], ONE)
VARIED = ("node.scheduler.switch", "voyager.sp.command")
# Many rounds pass in a turn, so that one more or less matters little.
VARIED_QUANTUM_US = 3000
# Of memory.stall_*: what a process finds in caches and TLBs. Polling waits for uncached loads.
CACHED = ("instruction", "data", "walk", "write_buffer")


def common_share(skew: Fraction) -> Fraction:
    """Part of the time for which all nodes run the same job: first turns end skew, 2 skew and so on
    into a turn; the first node's at a whole one."""
    ends = [skew * node % 1 or Fraction(1) for node in range(RANKS)]
    return 1 - (max(ends) - min(ends))


class Row(NamedTuple):
    """The columns of results.csv. Times are means of the nodes, until the later job is over, and of
    the turns near `quantum_us`."""

    jobs: str
    nodes: str
    quantum_us: int
    common: Fraction  # part of the time for which all nodes run the same job
    first_us: Fraction
    last_us: Fraction
    slowdown: Fraction  # against one after the other
    slowdown_least: Fraction  # of the turns near `quantum_us`
    slowdown_greatest: Fraction
    software_us: Fraction  # switches, beside system calls
    drain_us: Fraction
    cold_us: Fraction  # waits for memory beyond those of each job alone
    polling_us: Fraction  # the rest: waiting for partners, no process in its turn
    instructions: Fraction  # against one after the other
    switches: Fraction
    yields: Fraction  # of them those by which a process gave the hart up
    marks: Fraction
    missed: Fraction


class Step(NamedTuple):
    """The columns of steps.csv: fine-grained jobs with clocks apart, one turn each."""

    scheduler: str
    quantum_us: int
    slowdown: Fraction  # against one after the other under the same scheduler
    rounds: Fraction  # of each job in two turns


def turns_us(name: str, quantum_us: int, nearby: Sequence[int]) -> list[int]:
    """The turns that a point is measured with: where clocks are in step they do not differ."""
    return [quantum_us * part // 100 for part in (nearby if SHARED[name].skew else (100,))]


def runs(quick: bool) -> list[Run]:
    quanta = QUANTA_US_QUICK if quick else QUANTA_US
    nearby = NEARBY_QUICK if quick else NEARBY
    alone = [
        Run(f"{grain}/alone", "voyager/flush", RANKS, "multitask", arguments=arguments)
        for grain, arguments in GRAINS.items()
    ]
    shared = [
        together(f"{grain}/{name}/{quantum}/{turn}", grain, name, turn)
        for grain in GRAINS
        for name in (SHARED_QUICK if quick else SHARED)
        for quantum in quanta
        for turn in turns_us(name, quantum, nearby)
    ]
    varied = sensitivity.assumptions("voyager", VARIED[:1] if quick else VARIED)
    moved = [
        run
        for name in MOVED[: 1 if quick else None]
        for run in sensitivity.runs(together(name, "fine", name, VARIED_QUANTUM_US), varied)
    ]
    return [*alone, *shared, *steps(STEPS_US_QUICK if quick else STEPS_US), *moved]


def steps(quanta: Sequence[int]) -> list[Run]:
    """The saw-tooth, under each scheduler."""
    found = []
    for scheduler, kernel in SCHEDULERS.items():
        alone = Run(
            f"steps/{scheduler}/alone", "voyager/flush", RANKS, "multitask",
            arguments=GRAINS["fine"],
        )  # fmt: skip
        both = [together(f"steps/{scheduler}/{turn}", "fine", APART, turn) for turn in quanta]
        found += [
            replace(run, sets=[*run.sets, f"node.software.kernel={kernel}"])
            for run in (alone, *both)
        ]
    return found


def together(run: str, grain: str, name: str, quantum_us: int) -> Run:
    """Two like jobs."""
    machine, skew, polls = SHARED[name]
    sets = [
        f"node.scheduler.quantum={quantum_us} us",
        f"node.scheduler.skew={float(skew)}",
        f"mpi.wait.polls={polls}",
    ]
    beside = [Beside(RANKS, "multitask", GRAINS[grain])]
    return Run(run, machine, RANKS, "multitask", (), GRAINS[grain], sets, beside)


def ends_us(output: Output) -> list[Fraction]:
    """When the jobs are over, the earlier first."""
    return sorted(Fraction(job["time_ps"], 10**6) for job in output.summaries)


def mean(output: Output, *names: str) -> Fraction:
    """Sum of these counters, mean of the nodes."""
    return Fraction(sum(sum(output.counters(name, optional=True)) for name in names), RANKS)


def row(grain: str, name: str, quantum: int, every: Sequence[Output], alone: Output) -> Row:
    """A point, from its runs."""
    each = [single(grain, name, quantum, shared, alone) for shared in every]
    slowdowns = [row.slowdown for row in each]
    columns = list(zip(*each, strict=True))[3:]
    means = Row._make(
        [grain, name, quantum, *(sum(column, Fraction(0)) / len(each) for column in columns)]
    )
    return means._replace(slowdown_least=min(slowdowns), slowdown_greatest=max(slowdowns))


def step(scheduler: str, shared: Output, alone: Output) -> Step:
    """A point of the saw-tooth."""
    quantum = int(shared.run.name.split("/")[-1])
    last = ends_us(shared)[-1]
    rounds = int(GRAINS["fine"][0]) * 2 * quantum / last
    return Step(scheduler, quantum, last / (2 * ends_us(alone)[0]), rounds)


def single(grain: str, name: str, quantum: int, shared: Output, alone: Output) -> Row:
    """One run."""
    cycle_us = shared.clock_ns("node.core") / 1000
    (l2,) = (p["value"] for p in core.parameters("voyager") if p["name"] == "node.l2.latency")
    l2_cycles = int(l2.split()[0])

    def more(*counters: str) -> Fraction:
        return mean(shared, *counters) - 2 * mean(alone, *counters)

    def executed(output: Output) -> int:
        return sum(job["instructions"] for job in output.summaries)

    first, last = ends_us(shared)
    sequence = 2 * ends_us(alone)[0]
    slowdown = last / sequence
    software = cycle_us * more("processor.software_cycles")
    drain = mean(shared, "ni.drain_ps") / 10**6
    cold = cycle_us * (
        more(*(f"memory.stall_{cause}" for cause in CACHED)) + l2_cycles * more("memory.l2_hits")
    )
    return Row(
        grain, name, quantum, common_share(SHARED[name].skew), first, last,
        slowdown, slowdown, slowdown,
        software, drain, cold, last - sequence - software - drain - cold,
        Fraction(executed(shared), 2 * executed(alone)),
        mean(shared, "scheduler.switches"), mean(shared, "scheduler.yields"),
        mean(shared, "ni.own_sent"), mean(shared, "ni.missed"),
    )  # fmt: skip


def rows(outputs: Mapping[str, Output]) -> list[Row]:
    found = []
    for grain in GRAINS:
        for name in SHARED:
            for quantum in QUANTA_US:
                point = f"{grain}/{name}/{quantum}/"
                every = [output for run, output in outputs.items() if run.startswith(point)]
                if every:
                    found.append(row(grain, name, quantum, every, outputs[f"{grain}/alone"]))
    return found


def step_rows(outputs: Mapping[str, Output]) -> list[Step]:
    return [
        step(
            scheduler, outputs[f"steps/{scheduler}/{quantum}"], outputs[f"steps/{scheduler}/alone"]
        )
        for scheduler in SCHEDULERS
        for quantum in STEPS_US
        if f"steps/{scheduler}/{quantum}" in outputs
    ]


def tried(found: Sequence[Row]) -> list[str]:
    """Of the ways to share nodes."""
    return [name for name in SHARED if any(each.nodes == name for each in found)]


def better(found: Sequence[Row], grain: str, name: str) -> list[int]:
    """Quanta for which it ends before one queue, drained."""
    last = {(each.nodes, each.quantum_us): each.last_us for each in found if each.jobs == grain}
    quanta = sorted({quantum for _, quantum in last})
    return [quantum for quantum in quanta if last[name, quantum] < last[ONE, quantum]]


def findings(found: Sequence[Row], alone: Mapping[str, Fraction]) -> list[str]:
    sentences = [
        "Alone a job takes "
        + ", ".join(f"{number(float(time / 1000), 4)} ms ({g})" for g, time in alone.items())
        + "; one after the other both take twice that."
    ]
    for grain in GRAINS:
        for name in tried(found):
            if name == ONE:
                continue
            quanta = better(found, grain, name)
            times = " and ".join(", ".join(_ms(quantum) for quantum in quanta).rsplit(", ", 1))
            where = f"with turns of {times}" if quanta else "with no turns that were tried"
            sentences.append(f"{grain}: {name} end before one queue, drained, {where}.")
    worst = max((e for e in found if e.nodes == APART), key=lambda e: e.slowdown_greatest)
    sentences.append(
        f"With clocks apart both take up to {float(worst.slowdown_greatest):.1f} times as long as "
        f"one after the other ({worst.jobs}, turns of {_ms(worst.quantum_us)}), and execute "
        f"{float(worst.instructions):.1f} times as many instructions: they poll for partners that "
        f"are not running. All nodes run the same job for {float(100 * worst.common):.1f} % of the "
        f"time."
    )
    for grain in GRAINS:
        best = min(
            (each for each in found if each.nodes in YIELDING and each.jobs == grain),
            key=lambda each: each.slowdown,
        )
        without = next(
            each
            for each in found
            if (each.jobs, each.nodes, each.quantum_us) == (grain, APART, best.quantum_us)
        )
        sentences.append(
            f"{grain}: giving the hart up is best after {SHARED[best.nodes].polls} polls and with "
            f"turns of {_ms(best.quantum_us)}: {float(best.slowdown):.2f} times as long as one "
            f"after the other instead of {float(without.slowdown):.2f}, "
            f"{float(best.instructions):.2f} times the instructions instead of "
            f"{float(without.instructions):.2f}."
        )
    drained = max(
        (each for each in found if each.nodes == ONE), key=lambda e: e.drain_us / e.last_us
    )
    share = 100 * drained.drain_us / drained.last_us
    turns = drained.marks / (2 * (RANKS - 1))  # two to every other node
    sentences.append(
        f"Draining takes up to {number(float(share), 3)} % of the time ({drained.jobs}, turns of "
        f"{_ms(drained.quantum_us)}), {number(float(drained.drain_us / turns), 3)} us "
        "a turn."
    )
    return sentences


def parts_us(row: Row) -> tuple[Fraction, ...]:
    """What its time is made of beside the jobs' own."""
    return row.software_us, row.drain_us, row.cold_us, row.polling_us


def _ms(quantum_us: int) -> str:
    return f"{quantum_us / 1000:g} ms"


def report(outputs: Mapping[str, Output]) -> Report:
    found = rows(outputs)
    alone = {grain: ends_us(outputs[f"{grain}/alone"])[0] for grain in GRAINS}
    shown = [
        [
            each.jobs, each.nodes, _ms(each.quantum_us),
            *(f"{float(time / 1000):.1f}" for time in (each.first_us, each.last_us)),
            *(f"{float(value):.2f}" for value in each[6:9]),
            *(f"{float(100 * time / each.last_us):.1f}" for time in parts_us(each)),
            f"{float(each.instructions):.2f}", f"{float(each.switches):.0f}",
            f"{float(each.yields):.0f}", f"{float(each.missed):.0f}",
        ]
        for each in found
    ]  # fmt: skip
    header = [
        "jobs", "nodes", "turn", "first ms", "last ms", "slowdown", "least", "greatest",
        "software %", "drain %", "cold %", "polling %",
        "instructions", "switches", "yields", "missed",
    ]  # fmt: skip
    text = table(header, shown, left=(0, 1))
    assumed = sensitivity.assumptions("voyager", VARIED)
    saw_tooth = Table("steps", Step._fields, step_rows(outputs))
    sequence = 2 * alone["fine"]
    moved, moved_text, sentence = sensitivity.report(
        [name for name in MOVED if f"{name}/as-assumed" in outputs], assumed, outputs,
        lambda output: {output.run.name.partition("/")[0]: ends_us(output)[-1] / sequence},
    )  # fmt: skip
    return Report(
        tables=[Table("results", Row._fields, found), saw_tooth, moved],
        text=f"{text}\n\nThe fine-grained jobs, clocks apart\n{saw_tooth.text(left=(0,))}\n\n"
        f"Change [%] of the end of the fine-grained jobs with turns of {_ms(VARIED_QUANTUM_US)}, "
        f"assumptions halved or doubled\n{moved_text}",
        findings=[*findings(found, alone), sentence],
        draw=lambda figure: draw(figure, found, alone),
        size_inches=(14.0, 6.0),
    )


def draw(figure: Figure, found: Sequence[Row], alone: Mapping[str, Fraction]) -> None:
    """What the time until both jobs are over is made of, against one after the other."""
    from chasqui.experiment import drawing

    parts = {
        "the jobs alone": "#bbbbbb", "switches": drawing.BLUE, "draining": drawing.GREEN,
        "cold caches": drawing.SKY, "polling": drawing.ORANGE,
    }  # fmt: skip
    names = tried(found)
    every = figure.subplots(2, len(names), sharey="row")
    for line, grain in zip(every, GRAINS, strict=True):
        for axes, name in zip(line, names, strict=True):
            chosen = [each for each in found if each.jobs == grain and each.nodes == name]
            for at, each in enumerate(chosen):
                bottom = 0.0
                spans = (2 * alone[grain], *parts_us(each))
                for (part, color), span in zip(parts.items(), spans, strict=True):
                    # What overlaps, so that it is less than nothing, is not drawn.
                    height = max(0.0, float(span / (2 * alone[grain])))
                    label = part if at == 0 else None
                    axes.bar(at, height, bottom=bottom, color=color, label=label, width=0.7)
                    bottom += height
            least, greatest = (
                [float(getattr(each, column)) for each in chosen]
                for column in ("slowdown_least", "slowdown_greatest")
            )
            axes.vlines(range(len(chosen)), least, greatest, color=drawing.BLACK, linewidth=1)
            axes.set_xticks(range(len(chosen)), [f"{each.quantum_us / 1000:g}" for each in chosen])
            axes.grid(visible=False, axis="x")
            axes.set_axisbelow(True)
        line[0].set_ylabel(f"{grain}: time / one after the other")
    for axes, name in zip(every[0], names, strict=True):
        axes.set_title(name.replace(", ", "\n"))
    for axes in every[-1]:
        axes.set_xlabel("turn [ms]")
    handles, labels = every[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report)
