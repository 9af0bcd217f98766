"""The LogGP arithmetic, on records made from LogGP's formulas: what goes in must come out, exactly.

Use this when chasqui.loggp changes; the same property of the simulated machine `loggp` is in
test_machines.py.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fake_core import BETWEEN_PS, PARAMETERS, stream_and_pings, write_messages

from chasqui import loggp, messages
from chasqui.errors import InputError
from chasqui.loggp import Figure, Figures, Sample, SizeFigures
from chasqui.messages import Message

SIZES = [1, 8, 64, 512, 4096, 65536]


def records(size: int, count: int = 32, trips: int = 6, **changed: int) -> list[dict[str, Any]]:
    return stream_and_pings(size, count=count, trips=trips, **{**PARAMETERS, **changed})


def measured(size: int, rows: list[dict[str, Any]]) -> SizeFigures:
    return loggp.measure_size(size, [Message(**row) for row in rows])


def figures(sizes: list[int] | None = None, **changed: int) -> Figures:
    return loggp.summarise([measured(k, records(k, **changed)) for k in sizes or SIZES])


def exactly(value: int | Fraction) -> Figure:
    return Figure(Fraction(value))


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
    found = figures(None, **changed)
    assert found.l == exactly(expected["L"])
    assert found.o_send.mean == expected["o_send"]
    assert found.o_recv.mean == expected["o_recv"]
    assert found.g_per_byte == exactly(expected["G"])
    assert found.g.value is not None
    assert found.g.is_bound or found.g == exactly(expected["g"])
    assert found.g.value >= expected["g"]


def test_each_size_follows_the_formulas() -> None:
    for size in figures().sizes:
        flight = PARAMETERS["L"] + (size.bytes - 1) * PARAMETERS["G"]
        assert size.l.mean == flight
        assert size.latency.mean == PARAMETERS["o_send"] + flight + PARAMETERS["o_recv"]
        assert size.gap.mean == PARAMETERS["g"] + (size.bytes - 1) * PARAMETERS["G"]
        assert size.bandwidth == Fraction(10**12 * size.bytes) / size.gap.mean
        assert not size.unsteady


def test_g_below_o_is_a_bound_where_no_size_shows_it() -> None:
    found = figures([1, 2, 4], g=1, G=0)
    # An upper bound: what the processor needs.
    assert found.g.is_bound
    assert found.g.value == PARAMETERS["o_send"] + BETWEEN_PS
    assert (
        found.reasons["g"]
        == "the sender limits the stream of 1 B; the network interface limits no stream"
    )
    assert {size.limited_by for size in found.sizes} == {"sender"}


def test_g_of_long_messages_is_not_that_of_short_ones() -> None:
    """Short messages are limited by the processor, and long ones travel in another way."""
    rows = {k: records(k, g=1) for k in SIZES}
    for k in SIZES:
        for row in rows[k]:
            if k >= 512:
                row["send_return_ps"] += 5_000  # more overhead, less L
    found = loggp.summarise([measured(k, rows[k]) for k in SIZES])
    assert found.sizes[0].limited_by == "sender"
    assert found.sizes[-1].limited_by == "ni"
    assert (found.g.value, found.g.is_bound) == (found.sizes[0].gap.mean, True)
    assert found.reasons["g"].endswith("G does not explain what 512 B take longer")


def test_latencies_that_overlap_give_no_g_per_byte() -> None:
    """Of long messages the first part is received before the last is sent."""
    sizes = [8, 4096]
    rows = {k: records(k, g=1, G=1) for k in sizes}
    for row in rows[4096]:
        row["send_return_ps"] = row["land_ps"] + 7
    found = loggp.summarise([measured(k, rows[k]) for k in sizes])
    short, long = found.sizes
    assert long.l.mean == -7
    assert (found.g_per_byte.value, found.g_per_byte.is_bound) == (long.gap.mean / 4095, True)
    assert (found.g.value, found.g.is_bound) == (short.gap.mean, True)
    assert (found.l.value, found.l.is_bound) == (short.l.mean, True)
    found = loggp.summarise([measured(4096, rows[4096])])
    assert found.l == Figure(None, "o_send and o_recv of 4,096 B overlap")


def test_a_gap_that_gets_shorter_gives_no_g_per_byte() -> None:
    """Two sizes, of which the longer has the shorter gap: they don't travel alike."""
    rows = [measured(8, records(8, g=9_000_000)), measured(64, records(64, g=4_000_000))]
    assert {each.limited_by for each in rows} == {"ni"}
    found = loggp.summarise(rows)
    assert (found.g_per_byte.value, found.g_per_byte.is_bound) == (rows[1].gap.mean / 63, True)
    # With a third it is to be had by the latencies.
    rows.append(measured(512, records(512, g=1)))
    assert loggp.summarise(rows).g_per_byte == exactly(PARAMETERS["G"])


def test_a_slope_counts_where_another_confirms_it() -> None:
    """Of two rendezvous, whose gaps the processors' work between them still moves."""
    sizes = [768, 1024, 4096]
    found = []
    for size, g in zip(sizes, (9_000_000, 8_000_000, 8_000_000), strict=True):
        rows = records(size, g=g)
        for row in rows:
            row["inject_ps"] -= 1  # the send returns later
        found.append(measured(size, rows))
    assert {each.limited_by for each in found} == {"ni"}
    assert loggp.summarise(found[:2]).g_per_byte.is_bound
    assert loggp.summarise(found[1:]).g_per_byte.is_bound  # with nothing that would confirm it
    found = [measured(size, records(size, g=8_000_000)) for size in sizes[1:]]
    assert loggp.summarise(found).g_per_byte == exactly(PARAMETERS["G"])  # by the latencies


def test_g_per_byte_of_another_mechanism_is_not_taken_off() -> None:
    found = []
    for size in (8, 64, 1024, 4096):
        rows = records(size)
        for row in rows:
            row["mechanism"] = "short" if size == 8 else "long"
        found.append(measured(size, rows))
    result = loggp.summarise(found)
    assert result.g_per_byte == exactly(PARAMETERS["G"])
    assert (result.l.value, result.l.is_bound) == (found[0].l.mean, True)
    assert (result.g.value, result.g.is_bound) == (found[0].gap.mean, True)


def test_two_mechanisms_have_no_slope() -> None:
    sizes = [8, 4096, 65536]
    found = []
    for size in sizes:
        rows = records(size)
        for row in rows:
            row["mechanism"] = f"by {size}"
        found.append(measured(size, rows))
    result = loggp.summarise(found)
    assert "no slope that others confirm" in result.reasons["G"]
    assert result.g.is_bound


def test_gaps_within_their_spreads_have_no_slope() -> None:
    """What two sizes differ by is less than what a stream's gap varies by."""
    sizes = [8, 16]
    found = []
    for size in sizes:
        rows = records(size, count=128, g=4_000_000)
        stream = [row for row in rows if row["tag"] == loggp.STREAM]
        for i, row in enumerate(stream):
            row["land_ps"] += 200_000 * (i * 37 % 11)
            row["deliver_ps"] = row["land_ps"]
        for row in rows:
            row["inject_ps"] -= 1
        found.append(measured(size, rows))
    assert {each.limited_by for each in found} == {"ni"}
    assert loggp.summarise(found).g_per_byte.is_bound


def test_one_size_is_no_slope() -> None:
    assert figures([1]).g_per_byte == Figure(None, "it takes messages of more than a byte")
    found = figures([64])
    assert (found.g_per_byte.value, found.g_per_byte.is_bound) == (
        found.sizes[0].gap.mean / 63,
        True,
    )
    assert found.l.is_bound
    assert found.g.is_bound


def test_a_receiver_that_falls_behind_limits() -> None:
    """Its work between messages is in no overhead, but messages wait for it."""
    found = [measured(k, records(k, o_recv=3 * PARAMETERS["g"])) for k in SIZES]
    result = loggp.summarise(found)
    assert result.sizes[0].limited_by == "receiver"
    assert result.sizes[-1].limited_by == "ni"
    assert result.g == exactly(PARAMETERS["g"])  # from the long ones


def test_what_limits_is_what_makes_it_slower() -> None:
    gap = Fraction(1000)
    more = gap * loggp.SLOW
    assert loggp.limit(gap, gap, gap) == "ni"
    assert loggp.limit(gap, gap + more / 2, gap + more / 2) == "ni"
    assert loggp.limit(gap, gap + more, gap) == "sender"
    assert loggp.limit(gap, gap + more, gap + 2 * more) == "receiver"
    assert loggp.limit(gap, gap - more, gap - more) == "ni"  # more messages come together


def test_a_handshake_limits_like_any_work() -> None:
    """Messages wait from `ready` to `land` for a processor: before, that was the interface's."""
    rows = records(4096, o_send=60_000_000, count=64)
    for row in rows:
        row["ready_ps"] = row["call_ps"] + 1  # the request goes first, and the send returns last
        row["inject_ps"] = row["ready_ps"]
    assert measured(4096, rows).limited_by == "sender"


def test_a_send_that_holds_a_part_of_the_transfer_gives_no_latency() -> None:
    """Before: 26.58 ns on netcache-modern/stash, whose wire alone takes 180."""
    sizes = [4096, 8192, 16384]
    found = []
    for size in sizes:
        rows = records(size)
        for row in rows:
            if row["tag"] == loggp.PING:
                row["send_return_ps"] = row["land_ps"] - 26_000  # rendezvous
        found.append(measured(size, rows))
    result = loggp.summarise(found)
    assert result.g_per_byte == exactly(PARAMETERS["G"])
    assert result.l == Figure(None, "o_send of 4,096 B holds a part of it")


def test_a_send_that_returns_on_the_way_gives_a_bound() -> None:
    found = []
    for size in (8, 4096, 65536):
        rows = records(size)
        for row in rows:
            row["inject_ps"] -= 1
        found.append(measured(size, rows))
    result = loggp.summarise(found)
    assert result.g_per_byte == exactly(PARAMETERS["G"])
    assert result.l == Figure(found[0].l.mean, "it includes the transfer of 8 B")


def test_g_is_known_as_well_as_what_is_taken_off() -> None:
    """Slopes that differ by 8 % say little of what 16,383 bytes before the first add."""
    found = []
    for size, more in ((16384, 0), (32768, 0), (65536, 16_000_000)):
        rows = records(size, g=40_000_000)
        for i, row in enumerate(row for row in rows if row["tag"] != loggp.PING):
            row["land_ps"] += i * more
            row["deliver_ps"] = row["land_ps"]
            row["inject_ps"] = row["call_ps"]
        found.append(measured(size, rows))
    result = loggp.summarise(found)
    assert not result.g_per_byte.is_bound
    assert result.g_per_byte.value != PARAMETERS["G"]
    assert result.g == Figure(found[0].gap.mean, "it includes the transfer of 16,384 B")


def test_the_longest_gaps_are_not_passed_over() -> None:
    """Three sizes that agree, and a longest that contradicts them."""
    sizes = [512, 1024, 4096, 65536]
    found = []
    for size in sizes:
        rows = records(size, g=8_000_000, **({"G": 3 * PARAMETERS["G"]} if size == 65536 else {}))
        for row in rows:
            row["inject_ps"] -= 1
        found.append(measured(size, rows))
    assert {each.limited_by for each in found} == {"ni"}
    assert loggp.summarise(found).g_per_byte.is_bound


def test_latencies_confirm_by_what_they_do_not_share() -> None:
    """The slope from 8 B to the longest agrees with that from 1 B however much 8 B take."""
    sizes = [1, 4096, 65536]
    found = []
    for size in sizes:
        more = 20_000_000 if size == 4096 else 0
        found.append(measured(size, records(size, g=1, o_recv=900_000_000, L=5_000_000 + more)))
    assert {each.limited_by for each in found} == {"receiver"}
    assert loggp.summarise(found).g_per_byte.is_bound
    found[1] = measured(4096, records(4096, g=1, o_recv=900_000_000))
    assert loggp.summarise(found).g_per_byte == exactly(PARAMETERS["G"])


def test_a_message_of_no_bytes_counts_as_one_byte() -> None:
    found = figures([0, 4096, 65536])
    assert found.l == exactly(PARAMETERS["L"])
    assert found.g == exactly(PARAMETERS["g"])


def test_what_few_messages_pay_for_is_in_the_mean_and_shows_in_the_spread() -> None:
    """Every eighth receive gives back half a ring."""
    rows = records(8, trips=40)
    pings = [row for row in rows if row["tag"] == loggp.PING]
    for row in pings[::8]:
        row["done_ps"] += 800_000
    found = measured(8, rows).o_recv
    assert found.mean == PARAMETERS["o_recv"] + 100_000
    assert found.low == PARAMETERS["o_recv"]
    assert found.high == PARAMETERS["o_recv"] + 800_000
    assert found.is_steady


def test_what_still_changes_is_not_steady() -> None:
    """As with rings of which only the first half has been used."""
    rows = records(8, trips=40)
    pings = [row for row in rows if row["tag"] == loggp.PING]
    for row in pings[40:]:
        row["done_ps"] += PARAMETERS["o_recv"] // 4
    found = measured(8, rows)
    assert found.unsteady == ["o_recv"]
    assert loggp.summarise([found]).l.is_bound


def test_bounds_of_what_is_not_steady_are_the_greatest_seen() -> None:
    rows = records(1, count=64, trips=40)
    late = 0
    for row in rows:
        if row["tag"] != loggp.PING:
            late = late + 2_000_000 if row["sequence"] % 64 >= 32 else 0
            row["land_ps"] += late
            row["deliver_ps"] = row["land_ps"]
    for row in [row for row in rows if row["tag"] == loggp.PING][40:]:
        row["done_ps"] += 2 * PARAMETERS["o_recv"]
    found = measured(1, rows)
    assert set(found.unsteady) == {"o_recv", "latency", "gap"}
    result = loggp.summarise([found])
    assert result.g == Figure(found.gap.high, "the stream of 1 B is not steady")
    assert result.l == Figure(found.l.high, "the latency of 1 B is not steady")


def test_the_gap_of_a_stream() -> None:
    found = Sample.of_gaps([0, 100, 200, 300, 400, 500, 600, 700, 800])
    assert found.mean == found.low == found.high == 100
    # Credits come back two at a time.
    found = Sample.of_gaps([0, 0, 200, 200, 400, 400, 600, 600, 800])
    assert [found.mean, found.low, found.high] == [100, 0, 200]
    with pytest.raises(InputError, match="a stream of 1 messages is too short"):
        Sample.of_gaps([5])


def test_messages_that_come_together_have_the_gap_of_their_deliveries() -> None:
    """Of those that TCP brings in one segment the first alone lands."""
    rows = records(8)
    stream = [row for row in rows if row["tag"] == loggp.STREAM]
    for row in stream[1::2]:
        row["land_ps"] = None
    assert measured(8, rows).gap.mean == PARAMETERS["g"] + 7 * PARAMETERS["G"]


def test_a_missing_stage_is_named() -> None:
    rows = records(8, count=8, trips=2)
    next(row for row in rows if row["tag"] == loggp.PING)["land_ps"] = None
    with pytest.raises(InputError, match=r"message 25 of rank 0 has no land stage"):
        measured(8, rows)


def test_an_unfinished_measurement_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no records of messages of 16 bytes"):
        measured(16, records(8))


def test_records_survive_the_file(tmp_path: Path) -> None:
    rows = records(8, count=8, trips=2)
    write_messages(tmp_path / "messages.parquet", rows)
    assert messages.read(tmp_path / "messages.parquet") == [Message(**row) for row in rows]
