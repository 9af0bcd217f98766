"""The program that carries traces out, and jobs of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from chasqui import core, toolchain
from chasqui.errors import InputError
from chasqui.playing import GUEST_PATH, Played
from chasqui.simulation import Job, Sandbox

CLOCK = "node.core.clock"
HZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}


def program() -> Path:
    """Compiled when it is first needed, by its sources in their order."""
    from chasqui import compiler

    first = toolchain.PLAYER / "play.c"
    others = sorted(path for path in toolchain.PLAYER.glob("*.c") if path != first)
    return compiler.compiled(first, ["-O2", "-std=gnu11"], others)


def frequency(machine: str, sets: list[str]) -> int:
    """The harts' [Hz]. Raises InputError."""
    found = next((each for each in core.parameters(machine, sets) if each["name"] == CLOCK), None)
    if found is None:
        raise InputError(f"{machine} has no {CLOCK}: the trace's times can't be measured on it")
    number, unit = str(found["value"]).split()
    return int(Fraction(number) * HZ[unit])


def job(played: Played, machine: str, settings: dict[str, Any], sandbox: Sandbox) -> Job:
    """A run of the trace on a machine, which finds the actions at GUEST_PATH."""
    # The first: where the user has bound something there, that is refused, by the user's words.
    bind = f"{played.actions.path}:{GUEST_PATH}:ro"
    return Job(
        machine=machine,
        ranks=played.ranks,
        program=str(program()),
        arguments=[GUEST_PATH],
        played=played.inputs,
        sandbox=replace(sandbox, binds=[bind, *sandbox.binds]),
        **settings,
    )
