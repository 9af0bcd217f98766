"""What voyager/mechanisms makes of its figures.

Use this when machines/voyager/experiments/mechanisms.py changes.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Compiler
from simulated import command

from chasqui.experiment import mean_interval, running

EXPERIMENTS = ROOT / "machines" / "voyager" / "experiments"


@pytest.mark.core
def test_cross_overs_are_first_and_always_and_beyond_chance() -> None:
    """At 8 bytes the second is better by less than chance makes, at 12 it is, at 16 it is not.
    Tag-On is its shorter form as long as that takes a message."""
    module = running.module_of("voyager/mechanisms")

    def of(case: tuple[str, str], latencies: dict[int, int]) -> dict[Any, Any]:
        return {
            (*case, 1, size): module.Figures(
                Fraction(1), Fraction(1), Fraction(ns), Fraction(1), None
            )
            for size, ns in latencies.items()
        }

    found = {
        **of(("express", "-"), dict.fromkeys((4, 8, 12, 16, 20, 56), 1000)),
        **of(("tag-on-48", "flush"), {4: 1100, 8: 995, 12: 900, 16: 1000, 20: 900, 56: 2000}),
        **of(("tag-on-80", "flush"), {4: 900, 8: 900, 12: 1100, 16: 900, 20: 1200, 56: 900}),
    }
    pairs = [(("express", "-"), ("tag-on", "flush"))]
    table = module.crossovers(found, pairs)
    (row,) = table.rows
    values = dict(zip(table.columns, row, strict=True))
    assert (values["latency_first_bytes"], values["latency_always_bytes"]) == (12, 20)
    assert values["overhead_first_bytes"] is None
    assert values["overhead_always_bytes"] is None
    assert values["compared_up_to_bytes"] == 56


@pytest.mark.core
def test_two_threads_are_timed_while_both_work() -> None:
    """One begins later and ends later: what each does alone does not count."""
    timing = running.module_of("voyager/mechanisms").Timing.__new__(
        running.module_of("voyager/mechanisms").Timing
    )
    timing.cycle = Fraction(1)
    one, other = [0, 100, 200, 210, 220, 230], [205, 215, 225, 235, 900, 1800]
    timing.ranks = [{}, {("a", 4): one, ("b", 4): other}]
    # From 205 to 230: 205, 210, 215, 220, 225, 230, of which the first quarter is left out.
    assert timing.interval_of_both(1, "a", "b", 4) == 5
    assert timing.interval_of_both(1, "a", "c", 4) is None


@pytest.mark.core
def test_a_gap_says_nothing_of_how_long_the_stream_was(compile_c: Compiler, tmp_path: Path) -> None:
    """Without credits Tag-On's overran the receive queue in reclaim: 1.1 us with 64 messages, 1.5
    with 128. Served Basic queues have bursts."""
    source = (EXPERIMENTS / "nonresident.c").read_text()
    program = compile_c("nonresident", source, "-O2", f"-I{EXPERIMENTS}")
    gaps: dict[str, list[float]] = {}
    for stream in (683, 1366):
        out = tmp_path / str(stream)
        options = ["-q", "-m", "voyager/reclaim", "--set", "voyager.sp.system=true", "-np", "2"]
        words = [*options, "--out", str(out), "--", str(program), "4", str(stream)]
        done = command("run", *words, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in (out / "stdout.1").read_text().splitlines()]
        for name, key, *moments in lines:
            if name.endswith("/stream"):
                gap = float(mean_interval([int(moment) for moment in moments]))
                gaps.setdefault(f"{name} {key}", []).append(gap)
    assert len(gaps) == 16
    for case, (short, long) in gaps.items():
        assert long == pytest.approx(short, rel=0.02), case
