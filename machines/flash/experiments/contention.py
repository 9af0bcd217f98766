"""flash/contention: messages that wait for each other on the mesh."""

from __future__ import annotations

from collections.abc import Mapping

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash
from ._flash import KEYS, LOAD_STORE, Point

QUESTION = """\
What does contention in the network cost, which the document's simulator did not have? A link \
carries one message at a time, and so do the way out of a node and the way in. With lines of 64 B, \
16 processors, and for some programs 64."""

COLUMNS = _flash.SETTING_COLUMNS
SETTINGS: dict[str, tuple[str, ...]] = {
    "no contention": (),
    "contention": ("flash.mesh.contention=true",),
}
# With 64 processors.
LARGE = (
    ("fft", LOAD_STORE, 65536),
    ("fft", "block transfer, unblocked", 65536),
    ("fft", "block transfer, blocked", 65536),
    ("radix", f"{LOAD_STORE}, radix 32", KEYS),
)
LARGE_PROCESSORS = 64


def points(quick: bool) -> list[Point]:
    found = _flash.setting_points(SETTINGS, quick)
    if not quick:
        found += [
            Point(*large, LARGE_PROCESSORS, setting=setting, sets=sets)
            for large in LARGE
            for setting, sets in SETTINGS.items()
        ]
    return found


def runs(quick: bool) -> list[Run]:
    return _flash.runs(points(quick))


def report(outputs: Mapping[str, Output]) -> Report:
    found = _flash.setting_rows(points(False), outputs)
    drawn = [each for each in found if each[1].processors != LARGE_PROCESSORS]
    return _flash.setting_report(found, _flash.setting_findings(found), drawn)


EXPERIMENT = Experiment(QUESTION, runs, report)
