"""The LogGP arithmetic, on records made from LogGP's formulas: what goes in must come out, exactly.

Use this when chasqui.loggp changes; the same property of the simulated machine `loggp` is in
test_machines.py.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from fake_core import BETWEEN_PS, PARAMETERS, stream_and_pings, write_messages

from chasqui import loggp, messages
from chasqui.errors import InputError
from chasqui.messages import Message

SIZES = [1, 8, 64, 512, 4096, 65536]


def records(sizes: list[int] | None = None, **changed: int) -> list[Message]:
    rows = stream_and_pings(sizes or SIZES, count=32, trips=6, **{**PARAMETERS, **changed})
    return [Message(**row) for row in rows]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"L": 0},
        {"G": 1},
        {"g": 1},  # below o: hidden at short sizes, seen at long ones
        {"o_send": 7, "o_recv": 3},
        {"o_recv": 40_000_000},  # the receiver is the slowest
        {"L": 123_456_789_123, "g": 987_654_321, "G": 10_007},
    ],
)
def test_parameters_come_back_exactly(changed: dict[str, int]) -> None:
    expected = {**PARAMETERS, **changed}
    found = loggp.figures(records(None, **changed), SIZES)
    assert found.l_ps == expected["L"]
    assert found.o_send_ps == expected["o_send"]
    assert found.o_recv_ps == expected["o_recv"]
    assert found.g_per_byte_ps == expected["G"]
    assert not found.g_per_byte_hidden
    assert found.g_hidden or found.g_ps == expected["g"]
    assert not found.g_hidden or found.g_ps >= expected["g"]


def test_each_size_follows_the_formulas() -> None:
    for size in loggp.figures(records(), SIZES).sizes:
        flight = PARAMETERS["L"] + (size.bytes - 1) * PARAMETERS["G"]
        assert size.l_ps == flight
        assert size.latency_ps == PARAMETERS["o_send"] + flight + PARAMETERS["o_recv"]
        assert size.gap_ps == PARAMETERS["g"] + (size.bytes - 1) * PARAMETERS["G"]
        assert size.bandwidth == Fraction(10**12 * size.bytes) / size.gap_ps


def test_g_below_o_is_reported_as_hidden_where_no_size_shows_it() -> None:
    found = loggp.figures(records([1, 2, 4], g=1, G=0), [1, 2, 4])
    assert found.g_hidden
    assert (
        found.g_ps == PARAMETERS["o_send"] + BETWEEN_PS
    )  # an upper bound: what the processor needs
    assert {size.limited_by for size in found.sizes} == {"processor"}


def test_g_of_long_messages_is_not_that_of_short_ones() -> None:
    """Short messages are limited by the processor, and long ones travel in another way."""
    rows = stream_and_pings(SIZES, count=32, trips=6, **{**PARAMETERS, "g": 1})
    for row in rows:
        if row["bytes"] >= 512:
            row["send_return_ps"] += 5_000  # more overhead, less L
    found = loggp.figures([Message(**row) for row in rows], SIZES)
    assert found.sizes[0].limited_by == "processor"
    assert found.sizes[-1].limited_by == "ni"
    assert found.g_hidden
    assert found.g_ps == found.sizes[0].gap_ps


def test_overheads_that_overlap_give_g_per_byte_no_more_than_a_bound() -> None:
    """Of long messages the first part is received before the last is sent."""
    sizes = [8, 4096]
    rows = stream_and_pings(sizes, count=32, trips=6, **{**PARAMETERS, "g": 1, "G": 1})
    for row in rows:
        if row["bytes"] == 4096:
            row["send_return_ps"] = row["land_ps"] + 7
    found = loggp.figures([Message(**row) for row in rows], sizes)
    short, long = found.sizes
    assert long.l_ps == -7
    assert found.g_per_byte_hidden
    assert found.g_hidden
    assert found.g_per_byte_ps == long.gap_ps / 4095
    assert found.g_ps == short.gap_ps
    assert found.l_ps == short.l_ps


def test_a_receiver_that_falls_behind_limits() -> None:
    """Its work between messages is in no overhead, but messages wait for it."""
    rows = stream_and_pings(SIZES, count=32, trips=6, **PARAMETERS)
    delivered = 0
    for row in rows:
        if row["tag"] % 8 == 3:
            delivered = max(row["land_ps"], delivered + 3 * PARAMETERS["g"])
            row["deliver_ps"] = delivered
    found = loggp.figures([Message(**row) for row in rows], SIZES)
    assert found.sizes[0].limited_by == "processor"
    assert found.sizes[-1].limited_by == "ni"
    assert found.g_ps == PARAMETERS["g"]  # from the long ones


def test_a_message_of_no_bytes_counts_as_one_byte() -> None:
    sizes = [0, 4096, 65536]
    found = loggp.figures(records(sizes), sizes)
    assert found.l_ps == PARAMETERS["L"]
    assert found.g_ps == PARAMETERS["g"]


def test_one_slow_message_moves_no_median() -> None:
    rows = stream_and_pings(SIZES, count=32, trips=6, **PARAMETERS)
    pings = [row for row in rows if row["tag"] == 1]
    pings[0]["done_ps"] += 10**9
    assert loggp.figures([Message(**row) for row in rows], SIZES).o_recv_ps == PARAMETERS["o_recv"]


def test_the_interval_is_that_of_the_second_half() -> None:
    # The first four come at once (buffers fill); then one every 100 ps.
    assert loggp.interval([0, 0, 0, 0, 100, 200, 300, 400]) == 100
    # Not the median: credits come back two at a time.
    assert loggp.interval([0, 0, 0, 0, 0, 200, 200, 400]) == Fraction(400, 3)


def test_a_missing_stage_is_named() -> None:
    rows = stream_and_pings([8], count=8, trips=2, **PARAMETERS)
    rows[0]["land_ps"] = None
    with pytest.raises(InputError, match=r"message 0 of rank 0 has no land stage"):
        loggp.figures([Message(**row) for row in rows], [8])


def test_an_unfinished_measurement_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no records of messages of 16 bytes"):
        loggp.figures(records([8]), [8, 16])


def test_records_survive_the_file(tmp_path: Path) -> None:
    rows = stream_and_pings([8, 64], count=8, trips=2, **PARAMETERS)
    write_messages(tmp_path / "messages.parquet", rows)
    assert messages.read(tmp_path / "messages.parquet") == [Message(**row) for row in rows]
