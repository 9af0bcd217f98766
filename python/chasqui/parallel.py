"""Simulations side by side, which a signal ends in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from chasqui import stopping

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(
    work: Callable[[A], B],
    items: Sequence[A],
    workers: int,
    take: Callable[[A, B], None],
    end: Callable[[int], None] = lambda _: None,
) -> None:
    """`take` gets each item with what `work` made of it, as they become ready. The first error, or
    a signal, is raised here when what runs has ended, to which `end` is told the signal (that of
    Ctrl-C, if it is an error). Further signals change nothing: what runs ends soon."""
    signals: list[int] = []
    ready: SimpleQueue[Future[B] | None] = SimpleQueue()

    def hear(number: int) -> None:
        signals.append(number)
        ready.put(None)  # what waits goes on

    def raise_heard(error: BaseException | None = None) -> None:
        if signals:
            raise stopping.Interrupted(stopping.status(signals[0])) from error

    # An exception where the pool holds a lock would leave it locked, or would leave what runs
    # behind: until all has ended, signals are heard only.
    with stopping.told(hear), ThreadPoolExecutor(workers) as pool:
        try:
            running = {pool.submit(work, item): item for item in items}
            for future in running:
                future.add_done_callback(ready.put)
            for _ in running:
                done = ready.get()
                raise_heard()
                assert done
                take(running[done], done.result())
        except BaseException as error:
            end(stopping.signal_of(error))
            pool.shutdown(cancel_futures=True)
            raise_heard(error)
            raise
    raise_heard()
