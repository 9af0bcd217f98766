"""Runs the points of a sweep, on Dask's workers: of this machine, or of a scheduler elsewhere.

A worker runs a point in this package, with one host thread, and writes its row. So what a worker
has done is done, whatever becomes of the worker, of the scheduler and of the command.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import dask.config
from distributed import Client, Future, LocalCluster, WorkerPlugin
from distributed.scheduler import KilledWorker

import chasqui
from chasqui import comparison, simulation, stopping
from chasqui.errors import STATUS_LOST, InputError, LostError
from chasqui.sweeping import store
from chasqui.sweeping.points import Point
from chasqui.sweeping.store import Row
from chasqui.text import broken_pipe

CONNECT_S = 20
PATIENCE_S = 300
STOP_S = 10  # that runs have to stop, before their workers are ended
BATCH = 1000  # points that the scheduler gets at a time
LOOK_S = 1.0  # how often the command looks whether something else is to be done

# Gets how many points are done, how many there are, how many of them did not end well.
Progress = Callable[[int, int, int], None]
LIMITS_OF_HOST = ("host-time", "memory", "output")


@dataclass(frozen=True)
class Task:
    """A point as a worker gets it."""

    point: Point
    place: Path  # of the sweep
    folder: Path  # in which the command was called
    version: str


@contextlib.contextmanager
def workers(count: int, scheduler: str | None) -> Iterator[Client]:
    """Dask's client, of as many processes here or of the scheduler at an address. Raises
    InputError."""
    quiet()
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = str(error).partition("\n")[0] or "nothing answers"
            raise InputError(f"--scheduler {scheduler}: no scheduler of Dask's: {why}") from None
        with client:
            yield client
        return
    with (
        # A host that is busy lets processes wait for long before they come to answer.
        _main_left_alone(),
        dask.config.set({"distributed.comm.timeouts.connect": f"{PATIENCE_S}s"}),
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, memory_limit=None,
            dashboard_address=None, silence_logs=logging.CRITICAL,
            # It answers by HTTP even without a dashboard: to all hosts, unless something is said.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        client.register_plugin(Apart())
        yield client


@contextlib.contextmanager
def _main_left_alone() -> Iterator[None]:
    """Worker processes begin by loading the file that the main module is of, where it has one. That
    is the command itself, or a user's script: all would begin again in each of them."""
    main = vars(sys.modules["__main__"])
    name = main.pop("__file__", None)
    try:
        yield
    finally:
        if name is not None:
            main["__file__"] = name


class Apart(WorkerPlugin):  # type: ignore[misc]
    """Workers of this host hear no signal of the terminal's: the command does, and ends them."""

    def setup(self, worker: Any) -> None:
        os.setpgid(0, 0)


def quiet() -> None:
    """What Dask has to say is in the rows, or is nobody's concern: workers that end with us."""
    for name in ("distributed", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def run_all(
    client: Client, todo: Sequence[Point], place: Path, at_work: Path, progress: Progress
) -> dict[str, Row]:
    """Rows by the points' keys. A signal is raised here when what runs has stopped; rows that were
    written stay."""
    tasks = [Task(each, place.absolute(), Path.cwd(), chasqui.__version__) for each in todo]
    token = uuid.uuid4().hex[:8]  # a scheduler may still have the results of a command before
    keys = [f"{each.name}-{token}" for each in todo]
    at = dict(zip(keys, todo, strict=True))
    found: dict[str, Row] = {}
    signals: list[int] = []
    ready: SimpleQueue[Future] = SimpleQueue()
    failed = 0
    with stopping.told(signals.append):
        futures = client.map(run_point, tasks, key=keys, pure=False, batch_size=BATCH)
        for future in futures:
            future.add_done_callback(ready.put)
        while len(found) < len(todo) and not signals:
            progress(len(found), len(todo), failed)
            if (done := _next(ready)) is not None:
                row = found[at[done.key].key] = _row_of(done)
                failed += bool(row.figures["message"])
            if stop := simulation.unread():
                signals.append(stop)
        if signals:
            at_work.unlink(missing_ok=True)
            _stop(client, futures, ready)
    if signals:
        is_unread = signals[0] == stopping.UNREAD
        raise broken_pipe() if is_unread else stopping.Interrupted(stopping.status(signals[0]))
    return found


def _next(ready: SimpleQueue[Future]) -> Future | None:
    """The next that is done, if one is soon."""
    try:
        return ready.get(timeout=LOOK_S)
    except Empty:
        return None


def _row_of(future: Future) -> Row:
    """What became of a point, which may be that no worker lived to say it."""
    if future.status == "finished":
        row: Row = future.result()
        return row
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        why = "each worker process that was to run it ended: they were killed, or ran out of memory"
    else:
        why = f"it was given up: {error or future.status}".partition("\n")[0]
    return store.failed(why, STATUS_LOST)


def _stop(client: Client, futures: Sequence[Future], ready: SimpleQueue[Future]) -> None:
    """Runs see that the command is no longer at work, and are waited for, for a while; those that
    wait are not begun."""
    with contextlib.suppress(OSError, TimeoutError):
        busy = {key for keys in client.processing().values() for key in keys}
        client.cancel([each for each in futures if not each.done() and each.key not in busy])
        late = time.monotonic() + STOP_S
        while busy.intersection(each.key for each in futures) and time.monotonic() < late:
            if (done := _next(ready)) is not None:
                busy.discard(done.key)


def run_point(task: Task) -> Row:
    """In a worker: runs the point and writes its row; whatever goes wrong is one, too."""
    try:
        return _run_point(task)
    except (KeyboardInterrupt, SystemExit):
        raise
    except (InputError, LostError) as error:
        return store.failed(str(error), STATUS_LOST)
    except BaseException as error:  # of the core, too, whose assertions are no Exception
        return store.failed(f"{type(error).__name__}: {error}", STATUS_LOST)


def _run_point(task: Task) -> Row:
    point = task.point
    if chasqui.__version__ != task.version:
        raise InputError(
            f"the worker has version {chasqui.__version__} of Chasqui, the command {task.version}"
        )
    if Path.cwd() != task.folder:  # programs see it; a scheduler's workers may begin anywhere
        os.chdir(task.folder)
    row_path = store.row_path(task.place, point)
    if there := store.read_row(row_path, point.key):  # by a worker that was taken for lost
        return there
    directory = store.begin_run(row_path.with_suffix(""))
    job = replace(point.job, directory=directory)

    def stop() -> int | None:
        return None if (task.place / store.AT_WORK).exists() else signal.SIGTERM

    result = simulation.execute_quietly(job, directory, stop)
    row = Row(figures(job, result), f"{store.RUNS}/{directory.name}")
    if _programs(result.summary) != point.inputs["program_sha256"]:
        raise InputError("the program's file was changed while the sweep ran")
    if is_of_the_point(result.summary):
        store.write_row(row_path, point.key, row)
    return row


def _programs(summary: dict[str, Any]) -> str:
    return " ".join(each["sha256"] for each in summary["inputs"]["programs"])


def is_of_the_point(summary: dict[str, Any]) -> bool:
    """Not of the host, which stopped it."""
    return summary["outcome"] != "interrupted" and summary.get("limit") not in LIMITS_OF_HOST


def figures(job: simulation.Job, result: simulation.Result) -> store.Figures:
    """The figures of `chasqui compare`, of one run."""
    row = comparison.Row(job.machine, result, comparison.reason_of(result))
    (entry,) = comparison.as_json([row])
    found = comparison.flat(entry)
    found["message"] = found.pop("reason")
    for name in ("machine", "speed_up", "directory"):
        del found[name]
    return found
