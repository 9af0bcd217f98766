"""What a machine's document states, beside what our experiments find.

`machines/<machine>/fidelity.py` defines DOCUMENT: every figure and every ordering of the document,
each with the experiment that says what it is here. The verdict follows from the kept tables
(`kept`); no figure of ours is typed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from chasqui import cache, core
from chasqui.errors import InputError
from chasqui.experiment import kept, running
from chasqui.text import number

# A figure agrees within a tenth, unless its document is less exact: documents give two digits.
TENTH = 0.1

AGREES = "agrees"
GIVEN = "given"  # by what the machine, or the program, is: no run could find another
IN_ORDER = "in order only"  # not the figure
IN_PART = (
    "in part"  # an ordering at half of the points or more; a figure under one condition of two
)
DIFFERS = "differs"
NOT_SHOWN = "not shown"  # nothing here says what it is
VERDICTS = (AGREES, GIVEN, IN_ORDER, IN_PART, DIFFERS, NOT_SHOWN)

Span = tuple[float, float]


@dataclass(frozen=True)
class Found:
    """What a claim is here."""

    ours: str
    verdict: str
    ratio: float | None = None  # ours to the document's, where there is one
    is_within: bool = False  # of a range: ours is in it, so that there is no ratio
    reason: str = ""  # the claim's, with its figures


@dataclass(frozen=True)
class Tables:
    """The kept tables of an experiment, by their names: `tables.results(…)`, `tables.knees.all()`;
    rows as in the pages of results (`kept.Rows`)."""

    folder: Path
    name: str  # MACHINE/EXPERIMENT

    def __getattr__(self, table: str) -> kept.Rows:
        return kept.read(kept.path_of(self.folder, self.name, table.replace("_", "-")))

    def has(self, program: str) -> bool:
        """Whether there are results of a program, which are named by their first column."""
        try:
            return bool(self.results.all(program))
        except FileNotFoundError:
            return False

    def parameter(self, name: str, unit: str = "") -> float:
        """A parameter of the machine in this unit, which its machine file must use as well."""
        every = core.parameters(self.name.partition("/")[0])
        (found,) = (str(each["value"]) for each in every if each["name"] == name)
        value, _, its_unit = found.partition(" ")
        if its_unit != unit:
            raise ValueError(f"{name} is {found}; its claim counts in {unit or 'no unit'}")
        return float(value)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a document states at a place, and what experiment says what that is here."""

    row: str  # its number among the machine's
    place: str  # section, table or figure
    says: str
    experiment: str = ""  # of this machine; nothing: none says it
    beside: Sequence[str] = ()  # further experiments whose tables are looked at
    # A sentence: why ours is another, or why it is not shown. `{name}` is one of `figures`.
    reason: str = ""
    # What the reason has of the experiment's tables: a figure of ours in a reason is never typed.
    figures: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)
    # It follows from a parameter, or from the program alone: that it agrees says nothing of runs.
    given: bool = False
    # A program from elsewhere (`Elsewhere.rows`). Without results of it the claim is not shown.
    needs: str = ""

    @property
    def experiments(self) -> Sequence[str]:
        """All whose tables say it."""
        return [each for each in (self.experiment, *self.beside) if each]

    @property
    def document(self) -> str:
        """As people read it: a figure with its unit."""
        raise NotImplementedError

    @property
    def tolerance(self) -> str:
        """How far ours may be from what the document states, and agrees."""
        raise NotImplementedError

    def found(self, tables: Tables) -> Found:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Figure(Claim):
    """A figure, or the ends of a range; one end may be infinite."""

    value: float | Span
    unit: str
    ours: Callable[[Any], float]  # of the experiment's tables, in `unit`
    within: float = TENTH  # of the document's figure
    beyond: str = ""  # what is shown where ours is infinite: at no point that was measured
    # Whether what is above, or better, in the document is so here, even if the figure is another.
    ordered: Callable[[Any], bool] | None = None
    # The same with another value of what differs from what was measured there, and in what words.
    otherwise: tuple[str, Callable[[Any], float]] | None = None

    @property
    def span(self) -> Span:
        return self.value if isinstance(self.value, tuple) else (self.value, self.value)

    @property
    def document(self) -> str:
        least, most = self.span
        if most == math.inf:
            return self._with_unit(f"> {number(least)}")
        if least == -math.inf:
            return self._with_unit(f"< {number(most)}")
        return self._with_unit(number(least) if least == most else f"{least:g} to {most:g}")

    @property
    def tolerance(self) -> str:
        if self._is_open:
            return "-"
        return f"{100 * self.within:g} %" if self.within else "exact"

    @property
    def _is_open(self) -> bool:
        """A range with one end, which is exact."""
        return math.inf in (-self.span[0], self.span[1])

    def _with_unit(self, text: str) -> str:
        return f"{text} {self.unit}".rstrip()

    def found(self, tables: Tables) -> Found:
        ours = float(self.ours(tables))
        least, most = self.span
        agrees = self._agrees(ours)
        verdict = AGREES if agrees else DIFFERS
        if not agrees and self.ordered is not None and self.ordered(tables):
            verdict = IN_ORDER
        if ours == math.inf and self.beyond:
            return Found(self._with_unit(self.beyond), verdict)
        shown = self._with_unit(number(ours))
        if self.otherwise:
            words, value = self.otherwise
            other = float(value(tables))
            shown = f"{shown}, {self._with_unit(number(other))} {words}"
            verdict = verdict if self._agrees(other) == agrees else IN_PART
        is_within = not self._is_open and least < ours < most
        ratio = None if is_within else self._ratio(ours)
        return Found(shown, verdict, ratio, is_within)

    def _agrees(self, ours: float) -> bool:
        least, most = self.span
        return least - self._slack(least) <= ours <= most + self._slack(most)

    def _slack(self, end: float) -> float:
        return 0 if self._is_open else self.within * abs(end)

    def _ratio(self, ours: float) -> float | None:
        """To the end that ours is beyond, or the only one; none to zero."""
        least, most = self.span
        if self._is_open:
            end = least if most == math.inf else most
        else:
            end = least if ours <= least else most
        return ours / end if end else None


@dataclass(frozen=True, kw_only=True)
class Ordering(Claim):
    """What is more than what, or that something does not matter: at each point that was measured it
    holds or not."""

    # Of the experiment's tables. None: the two differ there by no more than chance may make, which
    # speaks for neither side.
    points: Callable[[Any], Iterable[bool | None]]
    needed: float = 1.0  # the share of the points: less where the document says "nearly"

    @property
    def document(self) -> str:
        return "yes"

    @property
    def tolerance(self) -> str:
        return "-" if self.needed == 1 else f"{100 * self.needed:g} % of the points"

    def found(self, tables: Tables) -> Found:
        every = list(self.points(tables))
        points = [point for point in every if point is not None]
        if not every:
            raise LookupError(f"{tables.name}: {self.row}: no table has a point of this")
        if not points:
            return Found(f"alike at all {len(every)}", DIFFERS)
        share = sum(points) / len(points)
        verdict = AGREES if share >= self.needed else IN_PART if share >= 0.5 else DIFFERS
        return Found(f"{sum(points)} of {len(points)}", verdict)


@dataclass(frozen=True, kw_only=True)
class Open(Claim):
    """What no kept table says."""

    value: str

    @property
    def document(self) -> str:
        return self.value

    @property
    def tolerance(self) -> str:
        return "-"

    def found(self, tables: Tables) -> Found:
        return Found("-", NOT_SHOWN)


@dataclass(frozen=True)
class Document:
    """A machine's document and what it states."""

    title: str
    measured: str  # what was measured there, and how: a paragraph
    claims: Sequence[Claim]
    # Experiments that the tests carry out in full, to see whether the rows that need them are still
    # what the kept tables say. Together they take less than a minute of one core.
    recomputed: Sequence[str] = ()
    # By experiment: what claims look at beside its results.
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def experiments(self) -> list[str]:
        """Those that claims need; first what is recomputed."""
        needed = dict.fromkeys(name for each in self.claims for name in each.experiments)
        return [*self.recomputed, *(name for name in needed if name not in self.recomputed)]


class Line(NamedTuple):
    """A claim beside what it is here."""

    claim: Claim
    found: Found


def machines() -> list[str]:
    """Those that have a document to be compared with."""
    return sorted(path.parent.name for path in cache.MACHINES.glob("*/fidelity.py"))


def choose(wanted: Sequence[str]) -> list[str]:
    every = machines()
    for name in wanted:
        if name not in every:
            raise InputError(f"{name}: no document is compared with; there are: {', '.join(every)}")
    return [name for name in every if name in wanted or not wanted]


def load(machine: str) -> Document:
    module = importlib.import_module(f"chasqui.machines.{machine}.fidelity")
    found: Document = module.DOCUMENT
    return found


def compared(machine: str, folder: Path, only: Sequence[str] = ()) -> list[Line]:
    """Every claim of a machine's document against the tables in `folder`; `only`: of these
    experiments. Raises InputError where a table is missing."""
    lines = []
    for claim in load(machine).claims:
        if only and claim.experiment not in only:
            continue
        try:
            lines.append(Line(claim, found(claim, Tables(folder, f"{machine}/{claim.experiment}"))))
        except FileNotFoundError as error:
            raise InputError(
                f"{error.filename}: {error.strerror}; `chasqui fidelity --run {machine}` makes it"
            ) from None
        except (
            OSError,
            LookupError,
            AttributeError,
            ArithmeticError,
            ValueError,
            TypeError,
        ) as error:
            place = f"{folder / machine}: tables of {claim.experiment}"
            raise InputError(f"{place} don't have what row {claim.row} needs: {error}") from None
    return lines


def found(claim: Claim, tables: Tables) -> Found:
    """What a claim is by these tables. Raises LookupError where they lack what it needs, but for
    results of a program from elsewhere."""
    if claim.needs and not tables.has(claim.needs):
        return Found("-", NOT_SHOWN)
    line = claim.found(tables)
    named = {name: figure(tables) for name, figure in claim.figures.items()}
    reason = claim.reason.format(**named)
    verdict = GIVEN if claim.given and line.verdict == AGREES else line.verdict
    return replace(line, verdict=verdict, reason=reason)


def is_measured(machine: str, folder: Path) -> bool:
    """Whether results of all that claims need are in `folder`, but for programs from elsewhere."""
    claims = [claim for claim in load(machine).claims if not claim.needs]
    needed = {name for claim in claims for name in claim.experiments}
    return all(kept.path_of(folder, f"{machine}/{name}").exists() for name in needed)


def left_out(machine: str) -> dict[str, str]:
    """The experiments that would say nothing, since all claims that need them need programs from
    elsewhere that are not given: each with the variable that is to name their sources."""
    document = load(machine)
    missed: dict[str, set[str]] = {}
    for claim in document.claims:
        for name in claim.experiments:
            missed.setdefault(name, set()).add(missing(machine, claim))
    return {
        name: ", ".join(sorted(missed[name]))
        for name in document.experiments
        if "" not in missed[name]
    }


def measurable(machine: str) -> list[str]:
    """The experiments that claims need, without those that would say nothing."""
    out = left_out(machine)
    return [name for name in load(machine).experiments if name not in out]


def missing(machine: str, claim: Claim) -> str:
    """The variable of the environment that is to name the sources of the program that a claim
    needs; nothing: it does so, or the claim needs none."""
    if not claim.needs:
        return ""
    kinds = running.load(f"{machine}/{claim.experiment}").elsewhere.values()
    (kind,) = (each for each in kinds if claim.needs in each.rows)
    return "" if kind.is_given else kind.variable


def outdated(machine: str, lines: Sequence[Line], folder: Path) -> dict[str, list[str]]:
    """By experiment that rows were found by: what it was measured of that is something else today
    (`kept.outdated`)."""
    shown = [line.claim for line in lines if line.found.verdict != NOT_SHOWN]
    names = {name for claim in shown for name in claim.experiments}
    every = {name: kept.outdated(folder, f"{machine}/{name}") for name in sorted(names)}
    return {name: what for name, what in every.items() if what}


def take(machine: str, experiment: str, results: Path, folder: Path) -> None:
    """Keeps what claims of a machine need of an experiment that has been carried out."""
    kept.keep(results, folder, load(machine).tables.get(experiment, ()))


def differing(machine: str, before: Path, after: Path) -> list[str]:
    """The rows of what is recomputed that are not the same by the tables of two folders, a sentence
    each."""
    only = load(machine).recomputed
    pairs = zip(compared(machine, before, only), compared(machine, after, only), strict=True)
    return [
        f"{machine}, row {was.claim.row} ({was.claim.says}): {was.found.ours} by the tables that "
        f"are kept, {now.found.ours} when {machine}/{was.claim.experiment} is carried out"
        for was, now in pairs
        if was.found != now.found
    ]


# --- for people -----------------------------------------------------------------------------------


def ratio(found: Found) -> str:
    """Ours to the document's."""
    if found.ratio is not None:
        return f"{found.ratio:.2f}"
    return "within" if found.is_within else "-"


def why(line: Line) -> str:
    """The reason of a row, or nothing."""
    needs = line.claim.needs
    if needs and line.found.verdict == NOT_SHOWN:
        return f"Measured without {needs}, which is no part of Chasqui."
    return line.found.reason


def changed(line: Line, outdated: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What its figure was measured with that is something else today (of `outdated`)."""
    if line.found.verdict == NOT_SHOWN:
        return []
    names = line.claim.experiments
    return list(dict.fromkeys(what for name in names for what in outdated.get(name, [])))


def counts(lines: Sequence[Line]) -> str:
    """How many have which verdict."""
    every = [line.found.verdict for line in lines]
    found = [f"{verdict} {every.count(verdict)}" for verdict in VERDICTS if verdict in every]
    return f"{len(lines)} rows: {', '.join(found)}"


HEADER = ("row", "place", "the document says", "document", "ours", "ratio", "verdict")


# Of the table in docs/fidelity.md.
PAGE_HEADER = (*HEADER[:4], "tolerance", *HEADER[4:], "experiment", "why")


def cells(line: Line) -> list[str]:
    """Of a row of the table, by HEADER."""
    claim, found = line
    return [
        claim.row, claim.place, claim.says, claim.document, found.ours, ratio(found), found.verdict,
    ]  # fmt: skip


PAGE_HEAD = """\
# Beside the documents

<!-- Written by `make fidelity`, from the tables in docs and machines/*/fidelity.py. -->

Behind each of these machines is a document, a thesis or a memo, that describes it and says how it \
performs. This page lays each figure and each ordering (what is faster, or more, than what) that \
the document states beside what our experiments find. Nothing is fitted: where ours is another, \
the reason stands beside it, and a model changes only if the document's text describes something \
else.

Our figures come from tables that experiments wrote. `chasqui fidelity` prints these rows, with a \
`*` at each that was measured with another state of the software (MPI library, kernel, firmware) \
than is installed, or read from its runs in another way; here the mark is at *ours*. \
`chasqui fidelity --run` carries the experiments out and makes the tables anew; tests do so for \
those that take seconds.

| column | what it says |
| --- | --- |
| row | Its number. Rows that share a number are parts of one statement. Numbers are those of the \
first comparison, which had predictions made without knowing the document's results; rows with a \
letter alone came later. |
| place | Section, table or figure of the document. |
| document | What it states: a figure, a range, or *yes*, an ordering holds. |
| tolerance | How far ours may be from that and still agree, as a share of the document's figure; \
*exact*: not at all. Documents give two digits, so it is a tenth unless more is known. Of an \
ordering: the share of the points at which it must hold, where the document says "nearly"; *-*: \
all. |
| ours | What we measured; a second figure, and when, where the document's own was measured on \
something else, or at another pace; of an ordering, at how many of the points (sizes, programs or \
settings) that show a difference it holds. |
| ratio | Ours divided by the document's; *within*: ours lies in the document's range; \
if it lies outside, the nearer end is what it is divided by. |
| verdict | *agrees*: within the tolerance. *given*: by what the program, or a parameter, is: no \
run could find another. *in order only*: another figure, which may be far from the document's, \
but what is more there, or faster, is so here. *in part*: an ordering that holds at half of the \
points or more, or one of two figures that is within the tolerance. *differs*: neither. *not \
shown*: no table says what it is here. |
| experiment | `chasqui experiment MACHINE/EXPERIMENT` measures it. |
"""


def page(machines: Sequence[str], folder: Path) -> str:
    """docs/fidelity.md."""
    return "\n".join([PAGE_HEAD, *(_section(machine, folder) for machine in machines)])


def _section(machine: str, folder: Path) -> str:
    document = load(machine)
    lines = compared(machine, folder)
    rows = [f"| {' | '.join(PAGE_HEADER)} |", "| --- " * len(PAGE_HEADER) + "|"]
    old = outdated(machine, lines, folder)
    for line in lines:
        texts = cells(line)
        texts[HEADER.index("ours")] += r" \*" * bool(changed(line, old))
        texts.insert(PAGE_HEADER.index("tolerance"), line.claim.tolerance)
        texts += [line.claim.experiment or "-", why(line)]
        rows.append(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |")
    head = f"## {machine}: {document.title}\n\n{document.measured}\n\n{counts(lines)}.\n"
    return head + "\n" + "\n".join(rows) + "\n"
