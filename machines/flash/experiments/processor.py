"""flash/processor: a faster processor with the same memory and network."""

from __future__ import annotations

from collections.abc import Mapping

from chasqui.experiment import Experiment, Output, Report, Run

from . import _flash

QUESTION = """\
What is a processor four times as fast worth with the same memory and network? With 16 processors \
and lines of 64 B."""

COLUMNS = _flash.SETTING_COLUMNS
SETTINGS: dict[str, tuple[str, ...]] = {"100 MHz": (), "400 MHz": ("node.core.clock=400 MHz",)}


def runs(quick: bool) -> list[Run]:
    return _flash.runs(_flash.setting_points(SETTINGS, quick))


def report(outputs: Mapping[str, Output]) -> Report:
    found = _flash.setting_rows(_flash.setting_points(SETTINGS, False), outputs)
    return _flash.setting_report(found, _flash.setting_findings(found))


EXPERIMENT = Experiment(QUESTION, runs, report)
