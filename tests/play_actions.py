"""Reads what `chasqui play` makes of a trace, as guest/play/trace.h declares it."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from chasqui import playing
from chasqui.playing.form import ACTION, HEADER, NUMBERS, PART, Kind, Order

LISTS = {
    Kind.SENDRECV, Kind.SENDRECV_REPLACE, Kind.STARTALL, Kind.WAITALL, Kind.TESTALL, Kind.TESTANY,
    Kind.TESTSOME, Kind.REDUCE_SCATTER, Kind.GATHERV, Kind.ALLGATHERV, Kind.SCATTERV,
    Kind.ALLTOALLV, Kind.COMM_CREATE, Kind.CART_CREATE, Kind.CART_SUB,
}  # fmt: skip


class Action(NamedTuple):
    """One, without what is 0 in most."""

    kind: Kind
    size: int = 0
    peer: int = 0
    tag: int = 0
    request: int = 0
    more: int = 0
    comm: int = 0
    list: tuple[int, ...] = ()


class Part(NamedTuple):
    """A rank's."""

    send_bytes: int
    receive_bytes: int
    requests: int
    actions: list[Action]
    successors: list[int]  # of a graph


def read(path: Path, scale: str = "1", flops: str | None = None) -> list[Part]:
    """A trace as the program finds it."""
    rate = playing.flops_of(flops) if flops else None
    with playing.reading(path, None, Fraction(scale), rate) as played:
        text = played.actions.path.read_bytes()
    _, ranks, order, _ = HEADER.unpack_from(text)
    return [
        _part(text, PART.unpack_from(text, HEADER.size + rank * PART.size), Order(order))
        for rank in range(ranks)
    ]


def _part(text: bytes, fields: tuple[int, ...], order: Order) -> Part:
    at, count, numbers, send_bytes, receive_bytes, requests, *_ = fields
    end = at + count * ACTION.size
    found: list[Action] = []
    while at < end:
        kind, comm, peer, tag, request, size, more = ACTION.unpack_from(text, at)
        at += ACTION.size
        listed: tuple[int, ...] = ()
        if order is Order.SEQUENCE and kind in LISTS:
            records = -(-more // NUMBERS)
            listed = struct.unpack_from(f"<{more}Q", text, at)
            at += records * ACTION.size
        found.append(Action(Kind(kind), size, peer, tag, request, more, comm, listed))
    graph = order is Order.GRAPH
    successors = list(struct.unpack_from(f"<{numbers}I", text, end)) if graph else []
    return Part(send_bytes, receive_bytes, requests, found, successors)
