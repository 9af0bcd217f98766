"""`chasqui run --histogram`: messages by length. Use this when classes or the file change."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command, example

from chasqui import histogram
from chasqui.messages import CONTEXTS, Message


def test_a_class_ends_at_a_power_of_two() -> None:
    assert [histogram.class_of(n) for n in (0, 1, 2, 3, 4, 5, 16, 17)] == [0, 1, 2, 4, 4, 8, 16, 32]
    for size in range(5000):
        key = histogram.Key(histogram.POINT, histogram.class_of(size), None)
        assert key.least <= size <= key.most


def test_a_communicator_has_as_many_contexts_as_in_the_guest() -> None:
    header = (ROOT / "guest" / "include" / "chasqui" / "abi.h").read_text()
    (each,) = re.findall(r"#define CHASQUI_CONTEXT_EACH (0x\w+?)ull", header)
    assert int(each, 16) == CONTEXTS


def test_every_message_is_counted_once() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    rows = [
        Message(
            source=chance.randrange(4), sequence=i, destination=chance.randrange(4), tag=0,
            context=chance.randrange(12), bytes=int(2 ** chance.uniform(0, 20)) - 1,
        )
        for i in range(500)
    ]  # fmt: skip
    for pairs in (False, True):
        found = histogram.count([*rows, Message(source=0, sequence=999)], pairs=pairs)
        assert sum(found.counts.values()) == 500
        assert sum(found.sizes.values()) == sum(row.bytes or 0 for row in rows)
        short, medium, long = (count for _, count, _ in histogram.study(found))
        sizes = [row.bytes or 0 for row in rows]
        assert short == sum(size <= 16 for size in sizes)
        assert long == sum(size > 65536 for size in sizes)
        assert short + medium + long == 500
        points = sum(n for key, n in found.counts.items() if key.kind == histogram.POINT)
        assert points == sum(row.context in (0, 4, 8) for row in rows)


@pytest.mark.core
def test_a_programs_messages(examples: Path, tmp_path: Path) -> None:
    """ring passes a token of 8 bytes laps times from each rank to the next."""
    run = ["run", "--histogram", "pairs", "--out", "run"]
    done = command(*run, *example(examples, "ring", "loggp"), directory=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "run" / "histogram.csv").open() as file:
        rows = list(csv.DictReader(file))
    tokens = [row for row in rows if row["kind"] == "point-to-point" and row["bytes_most"] == "8"]
    pairs = sorted((int(row["source"]), int(row["destination"])) for row in tokens)
    assert pairs == [(rank, (rank + 1) % 5) for rank in range(5)]
    assert {row["messages"] for row in tokens} == {"2"}
    assert "up to 16 B: " in done.stderr
