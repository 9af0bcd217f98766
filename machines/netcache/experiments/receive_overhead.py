"""netcache/receive-overhead: what software executes to receive a byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from chasqui.experiment import Experiment, Output, Report, Run, Table, sensitivity
from chasqui.text import number, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = """\
What does a processor execute to receive a byte by VIA, in hardware and in the kernel, by TCP, \
and where the NIC hands it to the process? A process waits in MPI_Recv, polling or blocking in \
the kernel, when the message comes; all cycles of the call but those of waiting are counted \
exactly, by groups of functions, with cache misses: traps and interrupts, changing contexts, \
copies, and the protocol, which is all the rest, the MPI library's part included. Turns of a loop \
that polls in vain, and sleep, are waiting and do not count. With first-level data caches of \
several sizes."""

MACHINE = "netcache"
TRIPS = 64
KIB = (8, 16, 32, 64)
KIB_QUICK = (32,)
SHOWN_KIB = (8, 32)  # in the picture: between the others there is less difference


# By which no operating system is between NIC and process.
OWN = ("processver", "dmaver1", "dmaver2", "dtct", "ldtct")


class Policy(NamedTuple):
    """A way to receive."""

    name: str
    waiting: str
    variant: str
    sets: tuple[str, ...] = ()


POLICIES = (
    Policy("via", "polling", "via"),
    Policy("via", "blocking", "via", ("netcache.via.blocks=true",)),
    Policy("via-zero-copy", "polling", "via-zero-copy"),
    Policy("mvia", "polling", "mvia"),
    Policy("mvia", "blocking", "mvia", ("netcache.via.blocks=true",)),
    Policy("tcp", "blocking", "tcp"),
    *(Policy(name, "polling", name) for name in OWN),
)

# Functions of the kernel, the drivers and the library; each with what the compiler put into it.
TRAP, CONTEXT, COPY, PROTOCOL = "trap and interrupt", "context switch", "copies", "protocol"
GROUPS = (TRAP, PROTOCOL, COPY, CONTEXT)
# What is the kernel's own, whatever the policy.
KERNEL = {
    TRAP: (
        "trap_entry", "trap_return", "trap", "call", "process_trap", "interrupt", "system_call",
        "control", "give_way",
    ),
    CONTEXT: (
        "thread_sleep", "thread_sleep_until", "thread_wake", "thread_yield", "thread_switch",
        "threads_wait", "leave", "idle", "append", "take",
    ),
    COPY: ("user_copy", "copy_from_user", "copy_to_user", "memory_copy", "memcpy", "memmove"),
}  # fmt: skip
# By policy, beside these: calls of the kernel and handlers of interrupts. What is in no group is
# the protocol's.
VIA = {TRAP: ("via_interrupt", "via_control", "chq_platform_control")}
ETHERNET = ("ethernet_interrupt",)
FUNCTIONS: dict[str, Mapping[str, tuple[str, ...]]] = {
    **{name: {} for name in OWN},
    "via": VIA,
    "via-zero-copy": VIA,
    "mvia": {
        # `copy` and `copy_segments` are the protocol's: they check handles, tags and rights, page
        # by page, and have memory_copy move the bytes.
        TRAP: (*VIA[TRAP], *ETHERNET, "fast_entry", "fast_call", "ring_by_trap"),
    },
    "tcp": {TRAP: ETHERNET},
}
WAITING = ("[wait]", "[sleep]")
RECEIVE = ("MPI_Recv", "PMPI_Recv")
# What had to be assumed, and matters to software.
ASSUMED = ("node.core.trap", "node.core.trap_return", "node.bus.address", "netcache.nic.access")
VARIED = "varied"


class Row(NamedTuple):
    """The columns of results.csv."""

    policy: str
    waiting: str
    l1d_kib: int
    group: str
    cycles: Fraction  # of a receive
    stalled: Fraction  # of these, not spent executing


def one(policy: Policy, kib: int) -> Run:
    return Run(
        f"{policy.name}-{policy.waiting}-{kib}", f"{MACHINE}/{policy.variant}", 2,
        "receive_overhead", arguments=[str(TRIPS)],
        sets=[f"node.l1d.size={kib} KiB", *policy.sets], profile=True,
    )  # fmt: skip


def runs(quick: bool) -> list[Run]:
    found = [one(policy, kib) for policy in POLICIES for kib in (KIB_QUICK if quick else KIB)]
    assumed = sensitivity.assumptions(f"{MACHINE}/via", ASSUMED[:1] if quick else ASSUMED)
    for policy in POLICIES[:2]:
        base = replace(one(policy, KIB_QUICK[0]), name=f"{VARIED}-{policy.waiting}")
        found += sensitivity.runs(base, assumed)
    return found


def group_of(policy: str, function: str) -> str:
    for groups in (KERNEL, FUNCTIONS[policy]):
        for group, functions in groups.items():
            if function in functions:
                return group
    return PROTOCOL


def spent(output: Output, policy: str) -> dict[str, tuple[Fraction, Fraction]]:
    """Cycles of a receive by group, and those of them that were not spent executing."""
    total = dict.fromkeys(GROUPS, 0)
    stalled = dict.fromkeys(GROUPS, 0)
    for path, cycles in output.paths(1).items():
        if "measured" not in path or not any(name in path for name in RECEIVE):
            continue
        *functions, last = path
        cause = last if last.startswith("[") else None
        if cause in WAITING:
            continue
        group = group_of(policy, functions[-1] if cause else last)
        total[group] += cycles
        stalled[group] += cycles if cause else 0
    return {
        group: (Fraction(total[group], TRIPS), Fraction(stalled[group], TRIPS)) for group in GROUPS
    }


def rows(policy: Policy, kib: int, output: Output) -> list[Row]:
    head = (policy.name, policy.waiting, kib)
    parts = spent(output, policy.name)
    all_of_it = [sum(column, Fraction(0)) for column in zip(*parts.values(), strict=True)]
    return [
        *(Row(*head, group, *cycles) for group, cycles in parts.items()),
        Row(*head, "all", *all_of_it),
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    found = [
        row
        for policy in POLICIES
        for kib in KIB
        if (name := one(policy, kib).name) in outputs
        for row in rows(policy, kib, outputs[name])
    ]
    results = Table("results", Row._fields, found)
    moved, moved_text, sentence = sensitivity.report(
        [f"{VARIED}-{policy.waiting}" for policy in POLICIES[:2]],
        sensitivity.assumptions(f"{MACHINE}/via", ASSUMED),
        outputs,
        totals,
    )
    return Report(
        tables=[results, moved],
        text="\n\n".join([shown(found), f"changes [%] of cycles\n{moved_text}"]),
        findings=[*findings(found), sentence],
        draw=lambda figure: draw(figure, found),
        size_inches=(9.0, 5.0),
    )


def totals(output: Output) -> dict[str, Fraction]:
    """For the sensitivity: all of a receive."""
    name = "via, blocking" if any("blocks" in each for each in output.run.sets) else "via, polling"
    return {name: sum((cycles for cycles, _ in spent(output, "via").values()), Fraction(0))}


def of(found: list[Row], policy: Policy, kib: int) -> dict[str, Row]:
    return {
        row.group: row
        for row in found
        if (row.policy, row.waiting, row.l1d_kib) == (policy.name, policy.waiting, kib)
    }


def shown(found: list[Row]) -> str:
    """A line for each way and cache: cycles by group, in brackets those that were stalls."""
    lines = []
    for policy in POLICIES:
        for kib in KIB:
            parts = of(found, policy, kib)
            if parts:
                pairs = [(parts[group].cycles, parts[group].stalled) for group in (*GROUPS, "all")]
                cells = [f"{number(float(a), 4)} ({number(float(b), 4)})" for a, b in pairs]
                lines.append([policy.name, policy.waiting, str(kib), *cells])
    head = ["policy", "waiting", "L1D [KiB]", *GROUPS, "all"]
    return "cycles of a receive of one byte (of these stalled)\n" + table(head, lines, left=(0, 1))


def findings(found: list[Row]) -> list[str]:
    sentences = []
    for policy in POLICIES:
        parts = of(found, policy, KIB_QUICK[0])
        every = parts["all"].cycles
        shares = ", ".join(
            f"{group} {number(float(100 * parts[group].cycles / every), 3)} %" for group in GROUPS
        )
        sentences.append(
            f"{policy.name}, {policy.waiting}: {number(float(every), 4)} cycles with a data cache "
            f"of {KIB_QUICK[0]} KiB: {shares}."
        )
    return sentences


def draw(figure: Figure, found: list[Row]) -> None:
    from chasqui.experiment import drawing

    axes = figure.subplots()
    colors = dict(
        zip(GROUPS, (drawing.ORANGE, drawing.BLUE, drawing.GREEN, drawing.PURPLE), strict=True)
    )
    labels: list[str] = []
    for policy in POLICIES:
        for kib in SHOWN_KIB:
            parts = of(found, policy, kib)
            if not parts:
                continue
            left = 0.0
            for group in GROUPS:
                width = float(parts[group].cycles)
                label = group if not labels else None
                axes.barh(len(labels), width, left=left, color=colors[group], label=label)
                left += width
            labels.append(f"{policy.name}, {policy.waiting}, L1D {kib} KiB")
    axes.set(
        yticks=range(len(labels)), yticklabels=labels, xlabel="cycles of a receive of one byte"
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


EXPERIMENT = Experiment(QUESTION, runs, report)
