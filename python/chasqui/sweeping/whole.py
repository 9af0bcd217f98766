"""A sweep from its directory to its table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chasqui import simulation, stopping
from chasqui.errors import InputError
from chasqui.sweeping import store
from chasqui.sweeping.points import Point
from chasqui.sweeping.store import Row
from chasqui.text import Counter, say, terminal_width

# Of a table's inputs those that tell no two points apart that others do not.
TOLD = ("program", "arguments", "program_sha256", "version")


@contextlib.contextmanager
def place_of(job: simulation.Job, directory: str | None, resume: str | None) -> Iterator[Path]:
    """The sweep's directory. Raises InputError where it can't be."""
    if resume is not None:
        store.read_spec(Path(resume))
        yield Path(resume)
    elif directory is not None:
        place = Path(directory)
        simulation.provide_empty(place)
        with simulation.gone_if_empty(place):
            yield place
    else:
        program = simulation.short_name(Path(job.program).name)[: simulation.NAME_MAX]
        with simulation.numbered(f"sweep-{program}") as place:
            yield place


def carry_out(
    points: Sequence[Point],
    place: Path,
    spec: Mapping[str, Any],
    *,
    workers: int | None,
    scheduler: str | None,
    quiet: bool,
) -> dict[str, Row]:
    """Runs what has no row yet, and writes the table. The rows, by the points' keys."""
    with store.at_work(place) as marker:
        rows = store.read_rows(place, points)
        todo = [each for each in points if each.key not in rows]
        if todo:
            if len(rows) and not quiet:
                say(f"chasqui: {len(rows)} of {len(points)} points have run before")
            rows |= _run(todo, place, marker, spec, workers, scheduler, quiet)
            store.remove_unfinished(place, rows.values())  # of workers that were lost
        else:
            store.write_spec(place, spec)
        store.write_table(place / store.RESULTS, store.table(points, rows))
    return rows


def _run(
    todo: Sequence[Point],
    place: Path,
    marker: Path,
    spec: Mapping[str, Any],
    workers: int | None,
    scheduler: str | None,
    quiet: bool,
) -> dict[str, Row]:
    from chasqui.sweeping import running

    count = min(workers or simulation.host_processors(), len(todo))
    with running.workers(count, scheduler) as client:
        store.write_spec(place, spec)
        store.remove_unfinished(place)
        (place / store.RUNS).mkdir(exist_ok=True)
        try:
            with Counter("points") as counter:
                counter.shown = counter.shown and not quiet
                return running.run_all(client, todo, place, marker, counter)
        except stopping.Interrupted:
            left = sum(store.read_row(store.row_path(place, p), p.key) is None for p in todo)
            start = "\n" if terminal_width() else ""  # the terminal has echoed ^C
            what = f"{left} points are" if left > 1 else f"{left} point is"
            say(f"{start}chasqui: {what} left; go on: chasqui sweep --resume {place}")
            raise


def varied(points: Sequence[Point]) -> list[str]:
    """The inputs in which points differ."""
    return varied_of([each.inputs for each in points])


def varied_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [name for name in rows[0] if name not in TOLD]
    return [name for name in names if len({row[name] for row in rows}) > 1]


def check_plots(points: Sequence[Point], plots: Sequence[Mapping[str, str]]) -> None:
    """Raises InputError where a plot names what no table of this sweep has."""
    inputs = list(points[0].inputs)
    numbers = [name for name in store.FIGURES if name not in store.TEXTS]
    for plot in plots:
        for part, name in plot.items():
            if part == "y" and name not in numbers and not store.FURTHER.fullmatch(name):
                allowed = ", ".join(numbers)
                raise InputError(f"--plot y={name}: {allowed}, share_… or …_ns is allowed")
            if part != "y" and name not in inputs:
                raise InputError(f"--plot {part}={name}: allowed are {', '.join(inputs)}")


def draw(place: Path) -> Path:
    """The page of a sweep, in its directory."""
    from chasqui import files, report

    path = place / report.FILE
    files.check_replaced(path, report.BEGINNING.encode(), "report of chasqui")
    files.write_text(path, report.html([place]))
    return path
