"""Carries a trace out as a program: `chasqui play`.

A format is a module that reads a trace and has `Actions` written, which guest/play carries out.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from chasqui.errors import InputError, LostError
from chasqui.files import check_regular
from chasqui.playing import dumpi, goal, smpi_ti
from chasqui.playing.form import Actions
from chasqui.playing.source import Settings, Source

FLOPS_PER_S = Fraction(10**9)  # of a trace that counts operations: SimGrid's 1 Gf
LOOKED_AT = 4096  # bytes of a file from which its format is recognised
GUEST_PATH = "/trace/actions"  # where the program finds them


@dataclass(frozen=True)
class Format:
    """A kind of trace."""

    doc: str
    is_one: Callable[[Path, bytes], bool]  # a file or folder, and how the file begins
    read: Callable[[Source, Path, Settings], Actions]  # into this folder
    counts_flops: bool = False


FORMATS = {
    "dumpi": Format(
        "SST's DUMPI: dumpi.meta, or its folder (package pydumpi)", dumpi.is_one, dumpi.read,
    ),
    "goal": Format("LogGOPSim's schedules: a text", goal.is_one, goal.read),
    "smpi-ti": Format(
        "SimGrid's time-independent trace: trace.txt, its folder, or text",
        smpi_ti.is_one, smpi_ti.read, counts_flops=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Played:
    """A trace that was read."""

    actions: Actions
    inputs: dict[str, Any]  # for the run's summary

    @property
    def ranks(self) -> int:
        return len(self.actions.parts)


@contextmanager
def reading(
    path: Path, form: str | None, scale: Fraction, flops_per_s: Fraction | None
) -> Iterator[Played]:
    """A trace as actions, which are there for as long as this lasts. Raises InputError."""
    name = form or recognised(path)
    found = FORMATS[name]
    if flops_per_s is not None and not found.counts_flops:
        raise InputError(f"--flops is for smpi-ti, which counts operations; {path} is {name}")
    source = Source(path, hashlib.sha256())
    settings = Settings(scale, flops_per_s or FLOPS_PER_S)
    with _scratch() as scratch:
        actions = found.read(source, Path(scratch), settings)
        digest = actions.finish()
        inputs = {
            "format": name,
            "name": path.resolve().name,
            "sha256": source.digest.hexdigest(),
            "scale": str(scale),
            "actions_sha256": digest,
        }
        if found.counts_flops:
            inputs["flops_per_s"] = str(settings.flops_per_s)
        yield Played(actions, inputs)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Raises LostError."""
    try:
        return tempfile.TemporaryDirectory(prefix="chasqui-play-")
    except OSError as error:
        raise LostError(
            f"TMPDIR: {error.filename or 'a folder for the trace'}: {error.strerror}"
        ) from None


def recognised(path: Path) -> str:
    """The format of a trace, by its beginning. Raises InputError."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    beginning = b""
    if not path.is_dir():
        check_regular(path)
        try:
            with path.open("rb") as file:
                beginning = file.read(LOOKED_AT)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
    for name, each in FORMATS.items():
        if each.is_one(path, beginning):
            return name
    raise InputError(
        f"{path}: not a trace that is known by its beginning; --format says which of "
        f"{', '.join(FORMATS)} it is"
    )


def scale_of(text: str) -> Fraction:
    """A factor that is not negative, as a decimal number or a fraction. Raises InputError."""
    if not re.fullmatch(r"\d{1,9}(\.\d{1,12})?|\d{1,9}/[1-9]\d{0,8}", text):
        raise InputError(f"--scale {text}: a number is expected, as 0, 0.5 or 1/3")
    return Fraction(text)


def flops_of(text: str) -> Fraction:
    """Operations a second, `2.5 Gf`. Raises InputError."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?) ?(|k|M|G|T)f", text)
    if not found or not Fraction(found[1]):
        raise InputError(
            f"--flops {text}: operations a second are expected, as '2.5 Gf' (f, kf, Mf, Gf, Tf)"
        )
    return Fraction(found[1]) * Fraction(1000 ** ("", "k", "M", "G", "T").index(found[2]))
