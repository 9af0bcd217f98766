"""flash/latency: a slower and a faster network."""

from __future__ import annotations

from collections.abc import Mapping

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash

QUESTION = """\
What does the network's latency cost? Adjacent nodes are 5, 10 and 20 cycles apart, with the same \
bandwidth; or the whole network is four times as fast. With 16 processors and lines of 64 B."""

COLUMNS = _flash.SETTING_COLUMNS
SETTINGS: dict[str, tuple[str, ...]] = {
    "5 cycles": (),
    "10 cycles": ("flash.mesh.hop=10",),
    "20 cycles": ("flash.mesh.hop=20",),
    "network 4x": ("flash.mesh.clock=800 MHz", "flash.mesh.hop=1"),
}


def runs(quick: bool) -> list[Run]:
    return _flash.runs(_flash.setting_points(SETTINGS, quick))


def report(outputs: Mapping[str, Output]) -> Report:
    found = _flash.setting_rows(_flash.setting_points(SETTINGS, False), outputs)
    return _flash.setting_report(found, _flash.setting_findings(found))


EXPERIMENT = Experiment(QUESTION, runs, report)
