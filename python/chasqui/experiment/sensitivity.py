"""How much results move with what had to be assumed: each assumption halved and doubled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from chasqui import core
from chasqui.errors import InputError
from chasqui.experiment import Output, Run, Table
from chasqui.text import number, table

FACTORS = {"half": Fraction(1, 2), "double": Fraction(2)}


@dataclass(frozen=True)
class Assumption:
    """A parameter and the values that it is given instead."""

    name: str
    value: str
    instead: Mapping[str, str]  # by the names of FACTORS


def assumptions(machine: str, names: Sequence[str]) -> list[Assumption]:
    """These parameters of a machine. What a source gives is no assumption, and an error."""
    every = {each["name"]: each for each in core.parameters(machine)}
    found = []
    for name in names:
        parameter = every.get(name)
        if parameter is None or not parameter["source"].startswith("assumption"):
            raise InputError(f"{name} is no assumption of {machine}")
        value, (_, most) = parameter["value"], parameter["range"]
        scales = {factor: scaled(value, by, most) for factor, by in FACTORS.items()}
        instead = {factor: other for factor, other in scales.items() if other != value}
        found.append(Assumption(name, value, instead))
    return found


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
    """`base`, and for each assumption one run with its half and one with its double."""
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
    the same for people (changes in percent), and a sentence.
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
    rows: list[list[str | Fraction]] = [["as assumed", "", *reference.values()]]
    shown = []
    largest = (Fraction(0), "", "")
    for each in varied:
        for factor, value in each.instead.items():
            figure = found(f"{each.name}/{factor}")
            rows.append([each.name, value, *figure.values()])
            changes = {name: figure[name] / reference[name] - 1 for name in reference}
            percent = [_percent(change) for change in changes.values()]
            shown.append([each.name, f"{each.value} -> {value}", *percent])
            largest = max(largest, *((abs(c), each.name, n) for n, c in changes.items()))
    text = table(["parameter", "value", *reference], shown, left=(0, 1))
    sentence = (
        f"Of what had to be assumed, {largest[1]} moves a result most when it is halved or "
        f"doubled: {largest[2]} by {number(float(100 * largest[0]), 2)} %."
    )
    return Table("sensitivity", ["parameter", "value", *reference], rows), text, sentence


def _percent(change: Fraction) -> str:
    """One digit; a dot where nothing moves."""
    return "." if abs(change) < Fraction(1, 2000) else f"{float(100 * change):+.1f}"
