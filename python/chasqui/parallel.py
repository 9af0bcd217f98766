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
    a signal, is raised here when what runs has ended, to which `end` is told the signal."""
    signals: list[int] = []
    ready: SimpleQueue[Future[B] | None] = SimpleQueue()

    def hear(number: int) -> None:
        signals.append(number)
        ready.put(None)  # what waits goes on

    def raise_heard() -> None:
        if signals:
            raise stopping.Interrupted(stopping.status(signals[0]))

    with ThreadPoolExecutor(workers) as pool:
        try:
            # An exception where the pool holds a lock would leave it locked, and the command could
            # not end.
            with stopping.told(hear):
                running = {pool.submit(work, item): item for item in items}
                for future in running:
                    future.add_done_callback(ready.put)
                for _ in running:
                    done = ready.get()
                    raise_heard()
                    assert done
                    take(running[done], done.result())
            raise_heard()
        except BaseException as error:
            end(stopping.signal_of(error))
            pool.shutdown(cancel_futures=True)
            raise
