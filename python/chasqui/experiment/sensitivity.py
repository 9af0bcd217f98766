"""How much results move with what is not known: each value from the least to the greatest that its
machine file says is plausible (`range`); an assumption without a range is halved and doubled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from chasqui import core
from chasqui.errors import InputError
from chasqui.experiment import Output, Run, Table
from chasqui.text import number, table

FACTORS = {"half": Fraction(1, 2), "double": Fraction(2)}
ENDS = ("least", "greatest")


@dataclass(frozen=True)
class Assumption:
    """A parameter and the values that it is given instead."""

    name: str
    value: str
    instead: Mapping[str, str]  # by the names of FACTORS, or by ENDS


def assumptions(machine: str, names: Sequence[str]) -> list[Assumption]:
    """These parameters of a machine. What a source gives, and leaves no range, is an error."""
    every = {each["name"]: each for each in core.parameters(machine)}
    found = []
    for name in names:
        parameter = every.get(name)
        if parameter is not None and parameter["plausible"]:
            found.append(_ranged(parameter))
            continue
        if parameter is None or not parameter["source"].startswith("assumption"):
            raise InputError(f"{name} is no assumption of {machine}")
        value, (_, most) = parameter["value"], parameter["range"]
        scales = {factor: scaled(value, by, most) for factor, by in FACTORS.items()}
        instead = {factor: other for factor, other in scales.items() if other != value}
        found.append(Assumption(name, value, instead))
    return found


def ranged(machine: str) -> list[Assumption]:
    """Every parameter of a machine that has a plausible range."""
    return [_ranged(each) for each in core.parameters(machine) if each["plausible"]]


def _ranged(parameter: Mapping[str, Any]) -> Assumption:
    value = parameter["value"]
    ends = zip(ENDS, parameter["plausible"], strict=True)
    return Assumption(parameter["name"], value, {end: at for end, at in ends if at != value})


def scaled(value: str, factor: Fraction, most: str) -> str:
    """`25 ns` by a half: `12.5 ns`; at most `most`. What is counted stays whole, and is not 0."""
    amount, unit = _split(value)
    limit, unit_of_limit = _split(most)
    result = amount * factor
    if unit in ("", "cycles", "cycle", "B"):
        result = Fraction(max(1, int(result)))
    if unit_of_limit in ("", unit):
        result = min(result, limit)
    return f"{float(result):g} {unit}".strip()


def _split(quantity: str) -> tuple[Fraction, str]:
    """Number and unit."""
    found = re.fullmatch(r"([\d.]+)\s*(.*)", quantity)
    assert found, quantity
    return Fraction(found[1]), found[2]


def runs(base: Run, varied: Sequence[Assumption]) -> list[Run]:
    """`base`, and for each assumption a run with each value instead."""
    result = [replace(base, name=f"{base.name}/as-assumed")]
    for each in varied:
        for factor, value in each.instead.items():
            sets = [*base.sets, f"{each.name}={value}"]
            result.append(replace(base, name=f"{base.name}/{each.name}/{factor}", sets=sets))
    return result


def report(
    bases: Sequence[str],
    varied: Sequence[Assumption],
    outputs: Mapping[str, Output],
    figures: Callable[[Output], Mapping[str, Fraction]],
) -> tuple[Table, str, str]:
    """From the outputs of `runs` of these bases and the figures in each output: the table of all,
    the same for people (a tornado table: changes in percent, the parameter that moves most first),
    and a sentence.
    """

    def found(which: str) -> dict[str, Fraction]:
        parts = (figures(outputs[f"{base}/{which}"]) for base in bases)
        return {name: value for part in parts for name, value in part.items()}

    reference = found("as-assumed")
    varied = [
        each
        for each in varied
        if any(f"{bases[0]}/{each.name}/{factor}" in outputs for factor in each.instead)
    ]
    moves = []
    for each in varied:
        figures_at = {value: found(f"{each.name}/{at}") for at, value in each.instead.items()}
        moves.append(_Move.of(each, reference, figures_at))
    moves.sort(key=lambda move: -move.most)
    rows: list[list[str | Fraction]] = [["as assumed", "", *reference.values()]]
    shown = []
    for move in moves:
        for value, figure in move.figures.items():
            rows.append([move.assumption.name, value, *figure.values()])
            percent = [_percent(figure[name] / reference[name] - 1) for name in reference]
            change = f"{move.assumption.value} -> {value}"
            shown.append([move.assumption.name, change, *percent])
    text = table(["parameter", "value", *reference], shown, left=(0, 1))
    return Table("sensitivity", ["parameter", "value", *reference], rows), text, _sentence(moves)


@dataclass(frozen=True)
class _Move:
    """What an assumption does to figures."""

    assumption: Assumption
    figures: Mapping[str, Mapping[str, Fraction]]  # by the assumption's value
    most: Fraction  # the largest change, as a part of the figure
    which: str  # whose it is

    @staticmethod
    def of(
        assumption: Assumption,
        reference: Mapping[str, Fraction],
        figures: Mapping[str, Mapping[str, Fraction]],
    ) -> _Move:
        changes = [
            (abs(figure[name] / reference[name] - 1), name)
            for figure in figures.values()
            for name in reference
        ]
        most, which = max(changes, default=(Fraction(0), ""))
        return _Move(assumption, figures, most, which)


def _sentence(moves: Sequence[_Move]) -> str:
    if not moves:
        return "Nothing is assumed."
    first = moves[0]
    is_ranged = set(first.assumption.instead) <= set(ENDS)
    how = "within its plausible range" if is_ranged else "when it is halved or doubled"
    return (
        f"Of what had to be assumed, {first.assumption.name} moves a result most {how}: "
        f"{first.which} by {number(float(100 * first.most), 2)} %."
    )


def _percent(change: Fraction) -> str:
    """One digit; a dot where nothing moves."""
    return "." if abs(change) < Fraction(1, 2000) else f"{float(100 * change):+.1f}"
