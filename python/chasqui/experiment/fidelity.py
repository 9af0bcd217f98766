"""What a machine's document states, beside what our experiments find.

`machines/<machine>/fidelity.py` defines DOCUMENT: every figure and every ordering of the document,
each with the experiment that says what it is here. The verdict follows from the kept tables
(`kept`); no figure of ours is typed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from chasqui import cache, core
from chasqui.errors import InputError
from chasqui.experiment import kept
from chasqui.text import number

# A figure agrees within a tenth, unless its document is less exact: documents give two digits.
TENTH = 0.1

AGREES = "agrees"
IN_ORDER = "agrees in order only"  # not the figure
IN_PART = "in part"  # an ordering, at half of the points or more
DIFFERS = "differs"
NOT_SHOWN = "not shown"  # nothing here says what it is
VERDICTS = (AGREES, IN_ORDER, IN_PART, DIFFERS, NOT_SHOWN)

Span = tuple[float, float]


@dataclass(frozen=True)
class Found:
    """What a claim is here."""

    ours: str
    verdict: str
    ratio: float | None = None  # ours to the document's; None: an ordering, or within its range


@dataclass(frozen=True)
class Tables:
    """The kept tables of an experiment, by their names: `tables.results(…)`, `tables.knees.all()`;
    rows as in the pages of results (`kept.Rows`)."""

    folder: Path
    name: str  # MACHINE/EXPERIMENT

    def __getattr__(self, table: str) -> kept.Rows:
        return kept.read(kept.path_of(self.folder, self.name, table.replace("_", "-")))

    def parameter(self, name: str) -> float:
        """A parameter of the machine, without its unit."""
        every = core.parameters(self.name.partition("/")[0])
        (value,) = (each["value"] for each in every if each["name"] == name)
        return float(str(value).partition(" ")[0])


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a document states at a place, and what experiment says what that is here."""

    row: str  # its number among the machine's
    place: str  # section, table or figure
    says: str
    experiment: str = ""  # of this machine; nothing: none says it
    reason: str = ""  # a sentence: why ours is another, or why it is not shown
    # Its rows are in the table only if its experiment was given what is no part of Chasqui.
    optional: bool = False

    @property
    def document(self) -> str:
        """As people read it: a figure with its unit."""
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
    # Whether what is above, or better, in the document is so here, even if the figure is another.
    ordered: Callable[[Any], bool] | None = None

    @property
    def span(self) -> Span:
        return self.value if isinstance(self.value, tuple) else (self.value, self.value)

    @property
    def document(self) -> str:
        least, most = self.span
        if most == math.inf:
            return self._with_unit(f"> {number(least)}")
        return self._with_unit(number(least) if least == most else f"{least:g} to {most:g}")

    def _with_unit(self, text: str) -> str:
        return f"{text} {self.unit}".rstrip()

    def found(self, tables: Tables) -> Found:
        ours = float(self.ours(tables))
        least, most = self.span
        within = 0 if most == math.inf else self.within
        inside = least * (1 - within) <= ours <= most * (1 + self.within)
        verdict = AGREES if inside else DIFFERS
        if not inside and self.ordered is not None and self.ordered(tables):
            verdict = IN_ORDER
        return Found(self._with_unit(number(ours)), verdict, self._ratio(ours))

    def _ratio(self, ours: float) -> float | None:
        least, most = self.span
        if least < ours < most < math.inf:
            return None
        return ours / (least if ours < least or most == math.inf else most)


@dataclass(frozen=True, kw_only=True)
class Ordering(Claim):
    """What is more than what, or that something does not matter: at each point that was measured it
    holds or not."""

    points: Callable[[Any], Iterable[bool]]  # of the experiment's tables
    needed: float = 1.0  # the share of the points: less where the document says "nearly"

    @property
    def document(self) -> str:
        return "yes"

    def found(self, tables: Tables) -> Found:
        points = list(self.points(tables))
        if not points:
            raise LookupError(f"{tables.name}: {self.row}: no table has a point of this")
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
        needed = dict.fromkeys(each.experiment for each in self.claims if each.experiment)
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
        except (OSError, LookupError, AttributeError, ValueError, TypeError) as error:
            place = f"{folder / machine}: tables of {claim.experiment}"
            raise InputError(f"{place} don't have what row {claim.row} needs: {error}") from None
    return lines


def found(claim: Claim, tables: Tables) -> Found:
    """What a claim is by these tables."""
    try:
        return claim.found(tables)
    except LookupError:
        if not claim.optional:
            raise
        return Found("-", NOT_SHOWN)


def is_measured(machine: str, folder: Path) -> bool:
    """Whether results of all that claims need are in `folder`."""
    needed = [f"{machine}/{name}" for name in load(machine).experiments]
    return all(kept.path_of(folder, name).exists() for name in needed)


def outdated(machine: str, folder: Path) -> dict[str, list[str]]:
    """By experiment that claims need: what it was measured of that is something else today
    (`kept.outdated`)."""
    every = {name: kept.outdated(folder, f"{machine}/{name}") for name in load(machine).experiments}
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
    return "-" if found.verdict == NOT_SHOWN or " of " in found.ours else "within"


def why(line: Line) -> str:
    """The reason of a row, or nothing."""
    if line.claim.optional and line.found.verdict == NOT_SHOWN:
        return "Its experiment was not given the program, which is no part of Chasqui."
    return line.claim.reason


def counts(lines: Sequence[Line]) -> str:
    """How many have which verdict."""
    every = [line.found.verdict for line in lines]
    found = [f"{verdict} {every.count(verdict)}" for verdict in VERDICTS if verdict in every]
    return f"{len(lines)} rows: {', '.join(found)}"


HEADER = ("row", "place", "the document says", "document", "ours", "ratio", "verdict")


def cells(line: Line) -> list[str]:
    """Of a row of the table, by HEADER."""
    claim, found = line
    return [
        claim.row, claim.place, claim.says, claim.document, found.ours, ratio(found), found.verdict,
    ]  # fmt: skip


PAGE_HEAD = """\
# Beside the documents

<!-- Written by `make fidelity`, from the tables in docs and machines/*/fidelity.py. -->

What the documents behind the machines state, figures and orderings, beside what is found here. \
`chasqui fidelity` prints the same, with a `*` at each row that was measured with another state \
of the software (MPI library, kernel, firmware) than is installed. Our figures come from the \
tables that experiments wrote; `chasqui fidelity --run` carries these out and makes the tables \
anew, and tests do so for those that take seconds. Nothing is fitted: where ours is another, the \
reason stands beside it, and a model changes only if the document's text describes something else.

- *agrees*: within a tenth of the document's figure, or as far as the row says; an ordering at \
every point that was measured (where the document says "nearly", at nine of ten).
- *agrees in order only*: what is more in the document is more here, by another figure.
- *in part*: an ordering that holds at half of the points or more.
- *differs*: neither.
- *not shown*: no table says what it is here.

Ratios are ours to the document's. Points are the sizes, programs or settings at which an ordering \
was looked at. Rows are numbered as when our predictions, made without the results, were first \
laid beside them; letters are statements that came later.
"""


def page(machines: Sequence[str], folder: Path) -> str:
    """docs/fidelity.md."""
    return "\n".join([PAGE_HEAD, *(_section(machine, folder) for machine in machines)])


def _section(machine: str, folder: Path) -> str:
    document = load(machine)
    lines = compared(machine, folder)
    rows = [f"| {' | '.join([*HEADER, 'experiment', 'why'])} |", "| --- " * 9 + "|"]
    for line in lines:
        texts = [*cells(line), line.claim.experiment or "-", why(line)]
        rows.append(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |")
    head = f"## {machine}: {document.title}\n\n{document.measured}\n\n{counts(lines)}.\n"
    return head + "\n" + "\n".join(rows) + "\n"
