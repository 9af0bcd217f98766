"""What `import chasqui` offers: a function for each command that gives figures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chasqui import core, defaults, simulation, stopping
from chasqui.api import results
from chasqui.api.settings import (
    SANDBOX,
    Settings,
    Word,
    check_names,
    flag,
    job_of,
    optional_text,
    pairs_of,
    path_of,
    sandbox_of,
    sets_of,
    text_of,
    texts_of,
    whole,
    wholes,
)
from chasqui.errors import InputError

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

    from chasqui.sweeping.points import Axes

Name = str | os.PathLike[str]


def run(
    program: Name,
    *arguments: Word,
    machine: Name = defaults.MACHINE,
    ranks: int = 1,
    parameters: Mapping[str, object] | None = None,
    directory: Name | None = None,
    check: bool = True,
    echo: bool = False,
    threads: int = 0,
    profile: bool = False,
    access_times: bool = False,
    fast_forward: bool = False,
    stop_at: str | None = None,
    **settings: Unpack[Settings],
) -> results.Run:
    """Runs a compiled MPI program on a simulated machine, as `chasqui run` does.

    `parameters`: what the machine has otherwise, as {"node.core.clock": "2 GHz"}; those of the MPI
    library are below `mpi.`. `directory`: the run directory, new or empty (default: numbered, below
    runs/). `echo`: the ranks' output appears as it comes; it is kept in any case. `threads`: of the
    host, 0: as many as are of use. `settings`: see Settings.

    Raises InputError if the run can't start, and RunError, where `check` is set, if `chasqui run`
    would end with another exit status than 0.
    """
    job = job_of(
        machine, program, arguments, ranks, parameters, settings,
        directory=path_of(directory), echo=flag(echo, "echo"),
        threads=whole(threads, "threads", 0, defaults.THREADS_MAX),
        profile=flag(profile, "profile"),
        access_times=flag(access_times, "access_times"),
        fast_forward=flag(fast_forward, "fast_forward"),
        stop_at=optional_text({"stop_at": stop_at}, "stop_at"),
    )  # fmt: skip
    found = results.Run.of(simulation.execute(job))
    if found.outcome == "interrupted":
        raise stopping.Interrupted(found.status)
    if check:
        found.check()
    return found


def compare(
    program: Name,
    *arguments: Word,
    machines: Sequence[Name],
    ranks: int = 1,
    parameters: Mapping[str, object] | None = None,
    directory: Name | None = None,
    logp: bool = False,
    threads: int = 0,
    **settings: Unpack[Settings],
) -> results.Comparison:
    """Runs a program on several machines, as `chasqui compare` does; speed-ups are against the
    first. `logp`: the machines' LogGP figures are measured, too. `directory`: where the run
    directories go, one a machine. The other arguments are those of `run`.

    A machine on which the program fails is a row with the reason. Raises InputError, before
    anything has run, if it can't start on one of them.
    """
    from chasqui import comparison

    names = texts_of(machines, "machines")
    if not names or len(set(names)) < len(names):
        raise InputError(f"machines={names}: one or more are expected, each once")
    threads = whole(threads, "threads", 0, defaults.THREADS_MAX)
    place = path_of(directory)
    jobs = [
        job_of(
            name, program, arguments, ranks, parameters, settings, threads=threads,
            directory=place and place / simulation.short_name(name),
        )
        for name in names
    ]  # fmt: skip
    comparison.check(jobs, with_logp=logp)
    rows = []
    for job in jobs:
        rows.append(comparison.run_on(job, with_logp=logp))
        if rows[-1].interrupted:
            raise stopping.Interrupted(rows[-1].interrupted)
    return results.Comparison(rows)


def logp(
    machine: Name = defaults.MACHINE,
    *,
    sizes: Sequence[int] | None = None,
    parameters: Mapping[str, object] | None = None,
    directory: Name | None = None,
    **settings: Unpack[Settings],
) -> results.LogP:
    """Measures a machine's LogGP figures, as `chasqui logp` does, with messages of these `sizes`
    [bytes]. `directory`: where the run directories are kept, one a size. Of `settings` those that
    limit what runs take count."""
    from chasqui import measurement

    check_names(settings, SANDBOX)
    lengths = list(measurement.DEFAULT_SIZES)
    if sizes is not None:
        lengths = measurement.sizes_of(texts_of(sizes, "sizes"), "sizes")
    found = measurement.measure(
        text_of(machine, "machine"),
        lengths,
        sets_of(parameters),
        path_of(directory),
        sandbox=sandbox_of(settings),
    )
    return results.LogP(found)


def sweep(
    program: Name,
    *arguments: Word,
    machines: Sequence[Name] = (defaults.MACHINE,),
    ranks: Sequence[int] = (1,),
    parameters: Mapping[str, Sequence[object]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    repeat: int = 1,
    jitter: str | None = None,
    directory: Name | None = None,
    resume: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    **settings: Unpack[Settings],
) -> results.Sweep:
    """Runs a program at every point of a product, on Dask, as `chasqui sweep` does.

    `parameters`: values of each, as {"node.core.clock": ["1 GHz", "2 GHz"]}. `values`: those that
    {name} takes in the arguments. `repeat`: runs of each point, with other seeds; `jitter`: their
    ranks begin at times from 0 to this. `resume`: goes on with the sweep in `directory`.
    `scheduler`: tcp://host:port of a Dask scheduler, whose workers are taken.

    A point that fails is a row of the table with its message.
    """
    from chasqui.sweeping import points
    from chasqui.sweeping import whole as sweeps

    repeat = whole(repeat, "repeat", 1, defaults.REPEAT_MAX)
    if jitter is not None and repeat == 1:
        raise InputError(f"jitter={jitter!r}: one run has no spread; repeat=2 or more is expected")
    if workers is not None and scheduler is not None:
        raise InputError("workers and scheduler: the scheduler has workers of its own")
    if flag(resume, "resume") and directory is None:
        raise InputError("resume: `directory` names the sweep to go on with")
    job = job_of("", program, arguments, 1, None, settings, threads=1, jitter=jitter)
    axes = axes_of(machines, ranks, parameters, values, repeat)
    place = None if directory is None else text_of(directory, "directory")
    found = points.product(axes, job)
    spec = spec_of(job, axes, settings)
    count = None if workers is None else whole(workers, "workers", 1)
    where = (None, place) if resume else (place, None)
    with sweeps.place_of(job, *where) as at:
        sweeps.carry_out(found, at, spec, workers=count, scheduler=scheduler, quiet=True)
    return results.Sweep(at)


def axes_of(
    machines: Sequence[Name],
    ranks: Sequence[int],
    parameters: Mapping[str, Sequence[object]] | None,
    values: Mapping[str, Sequence[object]] | None,
    repeat: int,
) -> Axes:
    """What is swept over, as the command checks it."""
    from chasqui.sweeping.axes import arguments_of, check_once, parameters_of
    from chasqui.sweeping.points import Axes

    def named(of: Mapping[str, Any] | None, name: str) -> list[tuple[str, tuple[str, ...]]]:
        found = pairs_of(of, name)
        return [(each, tuple(texts_of(values, each))) for each, values in found.items()]

    sets, arguments = named(parameters, "parameters"), named(values, "values")
    axes: list[tuple[str, Sequence[Any]]] = [
        ("machines", texts_of(machines, "machines")), ("ranks", wholes(ranks, "ranks", 1)),
        *sets, *arguments,
    ]  # fmt: skip
    for name, each in axes:
        if not each:
            raise InputError(f"{name}: no value; one or more are expected")
        check_once(name, each)
    return Axes(
        axes[0][1],
        axes[1][1],
        parameters_of(sets, "parameters"),
        arguments_of(arguments, "values"),
        repeat,
    )


def spec_of(job: simulation.Job, axes: Axes, settings: Settings) -> dict[str, Any]:
    """The sweep as `chasqui sweep --resume` reads it, to go on with."""
    for word, after in pairwise([*job.arguments, ""]):
        if word == ":" and after in ("-n", "-np"):
            raise InputError(f"argument ': {after}': `chasqui sweep` has several programs of a job")
    found: dict[str, Any] = {
        "program": [job.program, *job.arguments],
        "machine": axes.machines,
        "np": axes.ranks,
        "set": {name: list(values) for name, values in axes.sets.items()},
        "arg": {name: list(values) for name, values in axes.arguments.items()},
        "repeat": axes.repeat,
        "jitter": job.jitter,
        **plain(settings),
        "env": dict(job.environment),
    }
    left_out: tuple[Any, ...] = (None, [], {})
    return {
        name: value for name, value in found.items() if value not in left_out and value is not False
    }


def plain(settings: Settings) -> dict[str, Any]:
    """Settings that were checked, as JSON has them, by the names of options; without `env`, which
    is the job's."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in ("ranks_per_node", "timeline"):
            found[name] = value if value is None else whole(value, name)
        elif name == "host_files":
            found[name] = flag(value, name)
        elif name == "bind":
            found[name] = texts_of(settings["bind"], name)
        elif name != "env":
            found[name] = value
    return {name.replace("_", "-"): value for name, value in found.items()}


def machines() -> pandas.DataFrame:
    """The machines and their variants, by name: what each is, how many nodes it may have, and how
    many ranks a node."""
    import pandas

    rows = [
        {
            "machine": name,
            "summary": summary,
            "nodes_max": machine["nodes_max"],
            "ranks_per_node_max": machine["ranks_per_node_max"],
        }
        for name, summary, machine in core.variants()
    ]
    return pandas.DataFrame(rows).set_index("machine")


def parameters(
    machine: Name = defaults.MACHINE, *, parameters: Mapping[str, object] | None = None
) -> pandas.DataFrame:
    """The parameters of a machine, by name, as `chasqui info` has them: value, unit, default,
    range, meaning, source. `parameters`: values that are other."""
    import pandas

    found = core.parameters(text_of(machine, "machine"), sets_of(parameters))
    return pandas.DataFrame(found).set_index("name")
