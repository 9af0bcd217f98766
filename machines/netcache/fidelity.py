"""What Khunjush's thesis (Victoria, 2008) states, beside what netcache's experiments find."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from chasqui.experiment.fidelity import Document, Figure, Open, Ordering, Tables

MEASURED = """\
The thesis gives a processor a *network cache*: a small cache beside the data cache, which the \
network fills. A receive then moves the message to the data cache (DTCT) or leaves it in the \
network cache (LDTCT). It compares this with messages that the processor copies, that come by \
DMA, by VIA or by TCP. One process alone is simulated, on a core that executes out of order: rank \
0 of 64, of NPB's CG (class A) or of PSTSWM. The messages to it were recorded on an IBM SP, and \
come at the recorded times multiplied by a factor *r*. MPI calls are implemented in that \
simulator, and cost nothing under any policy. Its VIA is M-VIA, in the kernel over the Ethernet \
controller that TCP uses (`netcache/mvia` here). The kernel's overhead, and lines that it is found \
to evict, were measured in another simulator and added to the runs under VIA; as far as the text \
says, to those alone. So what it finds DTCT and LDTCT to gain compares a kernel's cost with none.

Here every policy executes the MPI library and runs over the same kernel, on cores that execute in \
order. Programs are of two kinds:

- Rows 1, 3a, 7, 8, 10, 11, 12b to 12f and 13 are the thesis's own case, rank 0 of 64 of the same \
CG, simulated alone (`one-rank`, `one-rank-size`). Its messages were recorded in a simulation of \
all ranks. With r = 1 each comes when it came there, counted from the end of MPI_Init; with r = 0 \
all are there from then on. These rows are shown only if the experiment was given NPB's sources, \
which are no part of Chasqui: the environment variable `CHASQUI_NPB` names their folder.
- In the other rows other programs stand for these, `cg` for NPB's CG and `spectral` for PSTSWM, \
and all ranks are simulated; row C, row 14a and a part of row 12a are rank 0 of theirs, \
alone.

Where two times differ by less than 1 % they are alike, and count for neither side of an \
ordering (rows 4, 5 and C); in row 9, by less than 1 % or than the program's run time moves by \
itself (`netcache/spread`); in row 5, also where it is now this time that is less and now that, \
with little changes that say nothing of a policy (`netcache/first-access`)."""

CG = "npb-cg"  # rank 0 of 64, class A
ALL = 2562  # here, with 18 that collectives send; 2,544 there
SECTIONS = (
    "How many wait at a time is as on the machine that was recorded, an IBM SP there. No pace that "
    "was measured has as many early: chosen is the nearest, r = {pace}, with {early} "
    "(docs/netcache.md)."
)
ALL_EARLY = (
    "The first figure is at r = {pace}, a little before rank 0 begins to wait for messages, as the "
    "thesis's pace is: all but {late} are early, and few wait at a time. The second is at r = 0, "
    "where most of them wait at a time (docs/netcache.md)."
)
ALIKE = 0.01  # times that differ by less
POINT_TO_POINT = (
    "Those that the program itself sends, rank 0's to itself among them. What collectives send "
    "depends on the MPI library, and is left out."
)
PAGE_FAULTS = (
    "Each page fault more is some 500 of them, and the thesis, which simulates no kernel, has none."
)
COPIED = (
    "The processor's copy leaves every message in the data cache, where the program's reads hit; "
    "DTCT does so with short ones."
)
OTHER = "PSTSWM is no part of Chasqui; `spectral` is another program."
# The thesis's studies: A in chapter 5, B in chapter 6, C in chapter 7.
BOTH = ("A", "B")
EXTENSION = ("dtct", "ldtct")
COPIES = ("processver", "dmaver1", "dmaver2")
SIZES_KIB = (8, 16, 32, 64, 128)  # of the data cache


def cases(policies: Any, studies: Sequence[str]) -> list[dict[str, Any]]:
    """For each study, program and number of ranks that were measured the rows by policy."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in policies.results.all():
        if row.study in studies:
            found.setdefault((row.study, row.program, row.ranks), {})[row.policy] = row
    return list(found.values())


def largest(policies: Any, program: str) -> dict[str, Any]:
    """A program's rows by policy, on the most ranks, with study C's caches."""
    every = policies.results.all(program, study="C")
    ranks = max((row.ranks for row in every), default=0)
    return {row.policy: row for row in every if row.ranks == ranks}


def gain_percent(policies: Any, program: str) -> float:
    """How much faster DTCT and LDTCT are than M-VIA, the mean of both."""
    rows = largest(policies, program)
    times = [float(rows[policy].run_time_ns) for policy in EXTENSION]
    gains = [100 * (float(rows["mvia"].run_time_ns) / time - 1) for time in times]
    return sum(gains) / len(gains)


def sooner(one: Any, other: Any) -> bool | None:
    """Whether one time is less than the other, unless they are alike."""
    return None if abs(one - other) < ALIKE * other else one < other


def always(row: Any) -> bool | None:
    """Whether the network cache's first access is sooner with each little change, or later with
    each, unless all are alike."""
    if max(abs(ratio - 1) for ratio in (row.least_ratio, row.greatest_ratio)) < ALIKE:
        return None
    is_decided = row.greatest_ratio < 1 or row.least_ratio > 1
    return row.greatest_ratio < 1 if is_decided else None


def always_sooner(first_access: Any) -> Iterator[bool | None]:
    return map(always, first_access.ratios.all())


def always_later(first_access: Any) -> str:
    """Where."""
    return ", ".join(
        f"`{row.program}` on {row.ranks:g}"
        for row in first_access.ratios.all()
        if always(row) is False
    )


def fewest(policies: Any, column: str) -> Iterator[bool]:
    """Whether one of DTCT and LDTCT has less of a column than each way to copy."""
    return (
        min(rows[policy].values[column] for policy in EXTENSION)
        < min(rows[policy].values[column] for policy in COPIES)
        for rows in cases(policies, BOTH)
    )


def of_cg(tables: Any, policy: str, study: str, kib: int, ratio: int = 1) -> Any:
    """Rank 0 of NPB's CG, class A, on 64 ranks."""
    return tables.results(CG, study, kib, ratio, policy)


def extra_misses(tables: Any, policy: str) -> float:
    """How many more misses than under DTCT the data cache has, with study A's caches."""
    return float(
        of_cg(tables, policy, "A", 16).dl1_misses - of_cg(tables, "dtct", "A", 16).dl1_misses
    )


def gain_of_one_rank(tables: Any, program: str) -> float:
    """How much faster DTCT and LDTCT are than M-VIA at rank 0, the mean of both, r = 0 [%]."""
    slow = tables.results(program, "C", 32, 0, "mvia").run_time_ns
    gains = [
        100 * (slow / tables.results(program, "C", 32, 0, policy).run_time_ns - 1)
        for policy in EXTENSION
    ]
    return sum(map(float, gains)) / len(gains)


def knee_kib(tables: Any) -> float:
    """The size of the data cache beyond which another doubling saves the fewest misses, under
    LDTCT [KiB]."""
    misses = {kib: of_cg(tables, "ldtct", "C", kib).dl1_misses for kib in SIZES_KIB}
    saved = {kib: misses[kib] - misses[2 * kib] for kib in SIZES_KIB[:-1]}
    return float(min(saved, key=lambda kib: saved[kib]))


def receive_cycles(tables: Any, policy: str, waiting: str) -> float:
    return float(tables.results(policy, waiting, 32, "all").cycles)


def tcp_over_via(tables: Any) -> float:
    """TCP's receive to M-VIA's, where both processes sleep."""
    return receive_cycles(tables, "tcp", "blocking") / receive_cycles(tables, "mvia", "blocking")


def falls(tables: Any) -> Iterator[bool]:
    """Whether lines replaced become fewer from one size of the network section to the next, by sets
    and by ways; where some are replaced."""
    counts = {
        (row.program, row.ratio, row.sets, row.ways): row.network_replacements
        for row in tables.results.all(pool_bytes=4096)
        if row.ratio in ("", 0)
    }
    for (program, pace, sets, ways), count in counts.items():
        for larger in ((program, pace, 2 * sets, ways), (program, pace, sets, 2 * ways)):
            if larger in counts and count:
                yield counts[larger] < count


def short_percent(tables: Any, program: str, ranks: int) -> float:
    """Messages of up to 16 bytes."""
    every = sum(float(row.messages) for row in tables.classes.all(program, ranks))
    return 100 * float(tables.classes(program, ranks, "up to 16 B").messages) / every


def of_share(tables: Any, is_it: Any) -> str:
    """Programs by how the share of short messages on 16 ranks is to that on 4."""
    names = [row.program for row in tables.classes.all(ranks=16, length="up to 16 B")]
    shares = [(short_percent(tables, each, 16), short_percent(tables, each, 4)) for each in names]
    found = [
        f"`{name}`" for name, (more, less) in zip(names, shares, strict=True) if is_it(more, less)
    ]
    return ", ".join(found) or "none"


def shorter_on_more(tables: Any) -> Iterator[bool]:
    """Whether more of a hundred messages are short on 16 ranks than on 4, by program."""
    for row in tables.classes.all(ranks=16, length="up to 16 B"):
        yield short_percent(tables, row.program, 16) > short_percent(tables, row.program, 4)


def steps(ratio: Any) -> Iterator[tuple[Any, Any]]:
    """Results at one r and at the next higher one, by program and policy."""
    for case in sorted({(row.program, row.policy) for row in ratio.results.all()}):
        yield from itertools.pairwise(ratio.results.all(*case))


def rises(ratio: Any, *, below: bool = True) -> Iterator[bool | None]:
    """Whether a run is longer than that at the next lower r. Steps to an r beyond the knee, where
    the run ends as the last message has come, can't fail: they are those that are not `below`."""
    for before, after in steps(ratio):
        knee = ratio.knees(before.program, before.policy).knee_ratio
        if (after.ratio <= knee) == below:
            yield sooner(before.run_time_ns, after.run_time_ns)


def rises_beyond(ratio: Any) -> str:
    """`48 of 48`."""
    points = [each for each in rises(ratio, below=False) if each is not None]
    return f"{sum(points)} of {len(points)}"


def only_by_chance(tables: Any, program: str, ranks: int) -> float:
    """By how much run times of VIA and of LDTCT move by what says nothing of a policy, or ALIKE."""
    spread = Tables(tables.folder, "netcache/spread").results
    percent = [spread(program, ranks, each).spread_percent for each in ("via", "ldtct")]
    return max(ALIKE, *(float(each) / 100 for each in percent))


def larger_cache(tables: Any) -> list[tuple[Any, float, float]]:
    """LDTCT over VIA with twice the data cache, study C: what was run, how many times as fast, and
    by how much such times move by themselves."""
    rows = tables.results.all(policy="ldtct", study="C")
    return [
        (row, float(row.speedup_over_double), only_by_chance(tables, row.program, row.ranks))
        for row in rows
    ]


def larger_cache_is_slower(tables: Any) -> Iterator[bool | None]:
    for _, faster, chance in larger_cache(tables):
        yield None if 1 / (1 + chance) <= faster <= 1 + chance else faster > 1


def larger_cache_is_faster(tables: Any) -> str:
    """Where."""
    cases = [
        f"`{row.program}` on {row.ranks:g}"
        for row, faster, chance in larger_cache(tables)
        if faster < 1 / (1 + chance)
    ]
    return ", ".join(cases) or "none"


def _gain(row: str, says: str, program: str, reason: str) -> Figure:
    """Of one of our programs, all of its ranks."""
    return Figure(
        row=row,
        place="7.3.2",
        says=says,
        value=(15, 20),
        unit="%",
        experiment="policies",
        ours=lambda policies: gain_percent(policies, program),
        ordered=lambda policies: gain_percent(policies, program) > 0,
        reason=reason,
    )


def _extra(row: str, ways: str, value: int, policy: str, reason: str) -> Figure:
    """A row of table 5.3: misses more than under DTCT."""
    return Figure(
        row=row,
        place="tab. 5.3",
        says=f"CG: extra misses, {ways}",
        value=value,
        unit="",
        experiment="one-rank",
        needs=CG,
        ours=lambda tables: extra_misses(tables, policy),
        ordered=lambda tables: extra_misses(tables, policy) > 0,
        reason="Under a thousandth of all misses; code's place moves it by thousands, and so do "
        f"page faults, of which there are not as many (docs/netcache.md). {reason}",
    )


def at_pace(tables: Any, early: float, section: tuple[int, int]) -> Any:
    """Rank 0 of NPB's CG with a network section, at the pace with which some so many short messages
    are early; of several such the latest: where all are to be, that before rank 0 waits for any."""
    every = tables.results.all(CG, sets=section[0], ways=section[1])
    if early == ALL:
        every = [row for row in every if row.ratio > 0] or every
    return min(every, key=lambda row: (abs(row.early - early), -row.ratio))


def of_pace(tables: Any, early: float, section: tuple[int, int], name: str) -> str:
    """What a reason says of it: r, how many short messages are early, and how many are not."""
    row = at_pace(tables, early, section)
    if name == "pace":
        return f"{row.ratio:g}"
    return f"{row.early if name == 'early' else row.short - row.early:,.0f}"


def replaced(tables: Any, early: float, section: tuple[int, int]) -> float:
    """Lines that it replaces."""
    return float(at_pace(tables, early, section).network_replacements)


def replaced_at_0(tables: Any, section: tuple[int, int]) -> float:
    """The same where all messages are there from the end of MPI_Init on."""
    (row,) = tables.results.all(CG, ratio=0, sets=section[0], ways=section[1])
    return float(row.network_replacements)


def _replaced(
    row: str, place: str, when: str, early: float, sections: dict[tuple[int, int], int]
) -> list[Figure]:
    """A table's row: lines replaced by sets and ways, from the smallest section on."""
    order = list(sections)

    def is_fewer(tables: Any, section: tuple[int, int]) -> bool:
        """Than with the section before it, as in the document; of the first, more than with the
        second."""
        at = max(1, order.index(section))
        before, behind = (replaced(tables, early, order[each]) for each in (at - 1, at))
        return behind < before

    return [
        Figure(
            row=f"{row}{letter}",
            place=place,
            says=f"CG, {when}: lines replaced with {section[0]}:{section[1]}",
            value=value,
            unit="",
            experiment="one-rank-size",
            needs=CG,
            ours=partial(replaced, early=early, section=section),
            ordered=partial(is_fewer, section=section),
            otherwise=("at r = 0", partial(replaced_at_0, section=section))
            if early == ALL
            else None,
            reason=ALL_EARLY if early == ALL else SECTIONS,
            figures={
                name: partial(of_pace, early=early, section=section, name=name)
                for name in ("pace", "early", "late")
            },
        )
        for letter, (section, value) in zip(
            "bcdef" if row == "12" else "abcde", sections.items(), strict=True
        )
    ]


CLAIMS = (
    Figure(
        row="1a",
        place="6.2, tab. 5.4",
        says="CG: messages to rank 0",
        value=4208,
        unit="",
        within=0,
        experiment="one-rank",
        needs=CG,
        ours=lambda tables: tables.received(CG).point_to_point,
        given=True,
        reason=POINT_TO_POINT,
    ),
    Figure(
        row="1b",
        place="6.2, tab. 5.4",
        says="CG: of them up to 16 B",
        value=2544,
        unit="",
        within=0,
        experiment="one-rank",
        needs=CG,
        ours=lambda tables: tables.received(CG).point_to_point_short,
        given=True,
        reason=POINT_TO_POINT,
    ),
    Figure(
        row="2",
        place="7.2.1",
        says="1-byte receive: TCP's overhead to VIA's",
        value=1.5,
        unit="",
        experiment="receive-overhead",
        ours=tcp_over_via,
        ordered=lambda tables: tcp_over_via(tables) > 1,
        reason="“Almost 1.5 times more” is read as 1.5 times. Both processes sleep, as TCP's must "
        "here: the trap that puts them to sleep is the same, and brings their overheads nearer to "
        "each other. The thesis does not say how its processes wait.",
    ),
    Figure(
        row="3a",
        place="7.3.2",
        says="CG: DTCT, LDTCT faster than VIA",
        value=(15, 20),
        unit="%",
        experiment="one-rank",
        needs=CG,
        ours=partial(gain_of_one_rank, program=CG),
        ordered=lambda tables: gain_of_one_rank(tables, CG) > 0,
        reason="Ours with all messages there from the end of MPI_Init on (r = 0); at the recorded "
        "pace no policy ends before the last message comes. M-VIA's kernel executes here for every "
        "message, and the MPI library under every policy. Nearly all of it is this kernel's "
        "cost: `via` and the ways to copy, which need none, are about as much faster "
        "(docs/netcache.md).",
    ),
    Figure(
        row="3b",
        place="7.3.2",
        says="PSTSWM: DTCT, LDTCT faster than VIA",
        value=(15, 20),
        unit="%",
        experiment="one-rank",
        ours=partial(gain_of_one_rank, program="spectral"),
        ordered=lambda tables: gain_of_one_rank(tables, "spectral") > 0,
        reason="As in row 3a, by `spectral`, with as many messages to rank 0 as PSTSWM's: it does "
        "little but exchange short messages.",
    ),
    # Rows 3a and 3b are the thesis's cases. All ranks is how Chasqui is used, so what these show is
    # a row as well; and row 3a needs a program that is not ours.
    _gain(
        row="3c",
        says="CG: the same, all 64 ranks of `cg`",
        program="cg",
        reason="As in row 3a; ranks wait for each other, so that one's kernel delays others as "
        "well, and `cg` computes less between messages than NPB's CG of class A.",
    ),
    _gain(
        row="3d",
        says="PSTSWM: the same, all 64 ranks of `spectral`",
        program="spectral",
        reason="As in rows 3b and 3c.",
    ),
    Ordering(
        row="4",
        place="7.3.1",
        says="a message's first access: LDTCT's is sooner than DTCT's",
        experiment="policies",
        points=lambda policies: (
            sooner(rows["ldtct"].first_access_ns, rows["dtct"].first_access_ns)
            for rows in cases(policies, ("C",))
        ),
        reason="Most of the time is waiting, and the line is in the processor's reach either way.",
    ),
    Ordering(
        row="5",
        place="6.4.1",
        says="first access: LDTCT's is sooner than all copies'",
        experiment="first-access",
        points=always_sooner,
        figures={"later": always_later},
        reason="Later with each little change (netcache/first-access): {later} ranks. Most of the "
        "time is waiting; and only messages of up to 16 bytes find their receives by name, longer "
        "ones take the ring of arrivals.",
    ),
    Ordering(
        row="6a",
        place="5.1, 6.4",
        says="fewest data-cache misses with the extension",
        experiment="policies",
        points=lambda policies: fewest(policies, "dl1_misses"),
        reason="Under processver the processor's copy leaves the data in the data cache, where "
        "reading them hits: it has the fewest in `adi` and `lattice`.",
    ),
    Ordering(
        row="6b",
        place="5.1, 6.4",
        says="fewest data-cache accesses with the extension",
        experiment="policies",
        points=lambda policies: fewest(policies, "dl1_accesses"),
        reason="Names cost the library a hash table at both ends; and polls are accesses, too, "
        "whose number depends on when messages come.",
    ),
    _extra("7", "all DMA", 16612, "dmaver2", PAGE_FAULTS),
    _extra("8a", "DMA and processor", 16866, "dmaver1", COPIED),
    _extra("8b", "all processor", 16849, "processver", COPIED),
    Ordering(
        row="9",
        place="Fig. 7.12",
        says="VIA with twice the data cache is slower than LDTCT",
        experiment="double-cache",
        beside=("spread",),
        points=larger_cache_is_slower,
        figures={"faster": larger_cache_is_faster},
        reason="Faster: {faster} ranks. Programs whose own data do not fit the data cache gain by "
        "a larger one. Cases that differ by less than 1 %, or than the same program's run times "
        "move by themselves (netcache/spread, with the usual data cache), are not counted. This "
        "VIA is in hardware, where rows 2 and 3 have M-VIA as the thesis: by that programs take so "
        "much longer, for its kernel executes, that no data cache could make up for it.",
    ),
    Figure(
        row="10",
        place="6.3",
        says="best size of the data cache",
        value=32,
        unit="KiB",
        within=0,
        experiment="one-rank",
        needs=CG,
        ours=knee_kib,
        reason="Ours is the size beyond which another doubling saves the fewest misses (study C, "
        "LDTCT, r = 1). From one use of an element of a vector to the next CG goes over more than "
        "32 KiB here: a vector of 14 KB, and a part of the matrix. How the thesis chooses a size "
        "is not in the text that we have.",
    ),
    Figure(
        row="11",
        place="7.3.2",
        says="CG: the L1I misses under VIA (it hits in 99.2 %)",
        value=0.8,
        unit="%",
        experiment="one-rank",
        needs=CG,
        ours=lambda tables: 100 - of_cg(tables, "mvia", "C", 32).l1i_hit_percent,
        reason="Programs are compiled for another instruction set, and execute the MPI library.",
    ),
    Ordering(
        row="12a",
        place="tab. 5.4",
        says="all early: more sets or ways, fewer replacements",
        experiment="size",
        points=falls,
        reason="At the others as many are replaced: with one way and up to 32 sets each of the 96 "
        "messages that wait replaces a line, and with one way and any number of sets one of "
        "`cg`'s does.",
    ),
    *_replaced(
        "12",
        "tab. 5.4",
        "all early",
        ALL,
        {
            (16, 2): 2232,
            (32, 4): 1859,
            (64, 4): 1391,
            (128, 2): 1281,
            (128, 4): 272,
        },
    ),
    *_replaced(
        "13",
        "tab. 5.5",
        "2,065 early",
        2065,
        {
            (2, 1): 1796,
            (2, 2): 941,
            (4, 2): 224,
            (8, 2): 44,
            (8, 4): 0,
        },
    ),
    Ordering(
        row="14a",
        place="5.2.1, Fig. 6.9",
        says="4 KB of 64 sets of 4 replace no line",
        experiment="size",
        points=lambda tables: (
            row.network_replacements == 0
            for row in tables.results.all("spectral", sets=64, ways=4)
            if row.ratio in (0.75, 1)
        ),
        reason="Counted are r = 1 and r = 0.75 of rank 0 of `spectral`: with r = 1 none is "
        "replaced, with 0.75 a few. Still earlier it is hundreds, as in the thesis's table 5.4. "
        "What can't fail is not counted: later messages, 96 that wait in 256 lines that they fill "
        "evenly, and `cg`, for which four lines are enough.",
    ),
    Open(
        row="14b",
        place="5.2.1",
        says="the length of a pool does not matter",
        value="yes",
        reason="It could not matter here: pools lie one behind the other in network memory.",
    ),
    Open(
        row="15a",
        place="tab. 6.2",
        says="PSTSWM: messages of up to 16 B",
        value="90 %",
        reason=f"{OTHER} It was written to send messages of 8 bytes.",
    ),
    Open(
        row="15b",
        place="6.2",
        says="PSTSWM: messages to rank 0",
        value="10,463",
        reason=f"{OTHER} How many it sends is what its arguments ask for.",
    ),
    Figure(
        row="A",
        place="tab. 6.2",
        says="CG: messages of up to 16 B",
        value=60.5,
        unit="%",
        experiment="message-sizes",
        ours=lambda tables: short_percent(tables, "cg", 64),
        reason="Both on 64 ranks. `cg` is another program: nearly all of its messages are parts of "
        "sums over all ranks.",
    ),
    Ordering(
        row="B",
        place="4.4.1",
        says="on more processors there are more short messages",
        experiment="message-sizes",
        points=shorter_on_more,
        reason="Counted is their share, on 16 ranks against 4: that there are more in all is so "
        "for any program, as there are more messages. The share falls in {falls}; it stays in "
        "{stays}.",
        figures={
            "falls": lambda tables: of_share(tables, lambda more, less: more < less),
            "stays": lambda tables: of_share(tables, lambda more, less: more == less),
        },
    ),
    Ordering(
        row="C",
        place="5.2, Fig. 5.3",
        says="run time rises with r",
        experiment="ratio",
        points=rises,
        figures={"beyond": rises_beyond},
        reason="With a small r messages come long before their receives, and the library must keep "
        "and find them, which may take longer than to wait for them a little. Counted are steps "
        "from one r to the next up to the knee, the r at which the last message comes as late as "
        "the shortest run ends (`netcache/ratio`): beyond it the run ends as that message has "
        "come, and must rise, as it does at {beyond}. That there is a knee as the thesis's is not "
        "tested.",
    ),
    Open(
        row="D",
        place="5.2",
        says="CG: r at the knee",
        value="25.19E07 cycles per s",
        reason="The thesis's r is in cycles of the simulated processor for each second of the "
        "recorded IBM SP; ours, recorded on another machine, can't be compared with it.",
    ),
)

DOCUMENT = Document(
    title="network cache (Khunjush, thesis, University of Victoria, 2008)",
    measured=MEASURED,
    claims=CLAIMS,
    recomputed=("receive-overhead",),
    tables={
        "message-sizes": ("classes",),
        "one-rank": ("received",),
        "ratio": ("knees",),
        "first-access": ("ratios",),
    },
)
