"""`chasqui report`: one HTML file of runs, an experiment or a sweep, which needs no network.

A file a section of the page, in the order of `_run`; `frame.py` is what they stand in, `data.py`
what they are of. Sections read what other modules compute (`shares`, `comparison`, `profile`,
`loggp`, `timeline`), and a run's directory is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chasqui.errors import InputError
from chasqui.report import data, experiments, figures, sweeps
from chasqui.report.frame import BEGINNING, Page

FILE = "report.html"

__all__ = ["BEGINNING", "FILE", "html"]


def html(places: Sequence[Path]) -> str:
    """The page of these directories. Raises InputError where one is none of which there is one."""
    for place in places:
        if not place.is_dir():
            what = "not a directory" if place.exists() else "no such directory"
            raise InputError(
                f"{place}: {what}; a run's, logp's, an experiment's or a sweep's is expected"
            )
    whole = [place.resolve() for place in places]
    for place, at in zip(places, whole, strict=True):
        if whole.count(at) > 1:
            raise InputError(f"{place}: named more than once")
    if any(experiments.is_experiment(place) for place in places):
        if len(places) > 1:
            raise InputError("an experiment has a page of its own: name its directory alone")
        page = Page("")
        experiments.add(page, places[0])
        return page.html()
    if any(sweeps.is_sweep(place) for place in places):
        if len(places) > 1:
            raise InputError("a sweep has a page of its own: name its directory alone")
        page = Page("")
        sweeps.add(page, places[0])
        return page.html()
    measured = [figures.read(each) for each in places if figures.is_measurement(each)]
    names = data.titles([each.machine for each in measured], [each.directory for each in measured])
    measured = [each._replace(machine=name) for each, name in zip(measured, names, strict=True)]
    runs = [data.read(each) for each in places if not figures.is_measurement(each)]
    return _page(runs, measured).html()


def _page(runs: Sequence[data.Run], measured: Sequence[figures.Measured]) -> Page:
    from chasqui.report import machines
    from chasqui.report.frame import join, tag

    if len(runs) == 1:
        page = Page(f"{runs[0].summary['program']} on {runs[0].machine}")
        _run(page, runs[0], measured)
        return page
    if runs:
        page = Page(" and ".join(machines.titles(runs)))
        machines.add(page, runs)
    else:
        names = ", ".join(each.machine for each in measured)
        page = Page(f"LogGP figures of {names}")
        page.header = join(
            [tag("p", "Chasqui: measurements", class_="kind"), tag("h1", page.title)]
        )
    if measured:
        figures.add(page, measured)
    return page


def _run(page: Page, run: data.Run, measured: Sequence[figures.Measured]) -> None:
    from chasqui.report import (
        lives,
        load,
        overview,
        pairs,
        parameters,
        profiles,
        ranks,
        traffic,
    )

    overview.add(page, run)
    for section in (ranks, lives, pairs, load, traffic):
        section.add(page, run)
    figures.add(page, measured)
    profiles.add(page, run)
    parameters.add(page, run)
