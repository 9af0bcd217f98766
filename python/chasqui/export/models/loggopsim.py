"""A machine for LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010): its command's options.

Its figures are whole nanoseconds. It has one overhead, the mean of ours, and a further time of the
processor for each byte, O, which is what o_send grows by.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chasqui.errors import InputError
from chasqui.export.models.simgrid import EAGER

if TYPE_CHECKING:
    from chasqui.measurement import Measurement

BEGINNING = b"-L "
ROUNDED_MAX = Fraction(1, 20)  # of a figure: what rounding it may change without a word


def write(found: Measurement) -> tuple[str, str]:
    """The options, and what they lack."""
    figures, sizes = found.figures, found.figures.sizes
    missing = [name for name, each in figures.machine.items() if each.value is None]
    if missing:
        reason = figures.reasons[missing[0]]
        raise InputError(f"{found.machine}: {missing[0]} is not known: {reason}")
    first, last = sizes[0], sizes[-1]
    per_byte = (last.o_send.mean - first.o_send.mean) / max(last.bytes - first.bytes, 1)
    exact = {
        "L": Fraction(figures.l.value or 0),
        "o": (figures.o_send.mean + figures.o_recv.mean) / 2,
        "g": Fraction(figures.g.value or 0),
        "G": Fraction(figures.g_per_byte.value or 0),
        "O": max(per_byte, Fraction(0)),
    }
    rounded = {name: round(ps / 1000) for name, ps in exact.items()}
    text = " ".join(f"-{name} {ns}" for name, ns in rounded.items()) + f" -S {EAGER}\n"
    off = [
        f"{name} is {float(ps) / 1000:.3g} ns"
        for name, ps in exact.items()
        if abs(1000 * rounded[name] - ps) > ROUNDED_MAX * ps
    ]
    bounds = [f"{name} ({each.reason})" for name, each in figures.machine.items() if each.is_bound]
    said = f"options of LogGOPSim, {text.strip()}"
    if off:
        said += f"; {', '.join(off)}, and it takes whole ones"
    if bounds:
        said += f"; upper bounds, which it takes for figures: {', '.join(bounds)}"
    return text, said
