"""Netcache's experiments and the programs that they run: identities that the results must obey.

Use this when an experiment of netcache, a program of many short messages, or injection changes.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pages
import pytest
from conftest import Run
from quick_experiments import Quick, in_turn, turn_of
from simulated import WORKLOADS, command, machines, organisations
from test_determinism import VARIATIONS, check

from chasqui import toolchain
from chasqui.errors import InputError
from chasqui.experiment import running

pytestmark = [pytest.mark.core, pytest.mark.xdist_group("netcache-experiments")]

EXPERIMENTS = running.choose(["netcache"])  # all, --quick
# What they vary is what others assume.
VARYING = ("netcache/message-sizes", "netcache/spread", "netcache/first-access")
ON = sorted({*organisations(), *(m for m in machines() if m.startswith("netcache"))})


@pytest.mark.parametrize("machine", ON)
def test_programs_of_short_messages(examples: Path, tmp_path: Path, machine: str) -> None:
    """One of them on each machine, in turn."""
    name = list(WORKLOADS)[ON.index(machine) % len(WORKLOADS)]
    ranks, arguments = WORKLOADS[name]
    done = command(
        "run", "-q", "-np", str(ranks), "--machine", machine, "--set", "check.coherence=true", "--",
        examples / name, *arguments, directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{name}: PASSED\n")


@pytest.mark.parametrize(("name", "ranks"), [("adi", 1), ("spectral", 6), ("lattice", 2)])
def test_they_are_right_on_other_numbers_of_ranks(
    chasqui: Run, examples: Path, name: str, ranks: int
) -> None:
    arguments = WORKLOADS[name][1]
    done = chasqui("run", "-q", "-np", str(ranks), "--", examples / name, *arguments)
    assert done.stdout.endswith(f"{name}: PASSED\n")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("adi", [], "adi: 3 ranks; a square is needed"),
        ("lattice", ["-n", "4"], "lattice: -n 4: a multiple of 6 is needed"),
        ("spectral", ["-m", "1"], "spectral: -m 1 gives 2 latitudes"),
    ],
)
def test_what_does_not_fit_is_said(
    chasqui: Run, examples: Path, name: str, arguments: list[str], said: str
) -> None:
    done = chasqui("run", "-q", "-np", "3", "--", examples / name, *arguments)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quick]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CHASQUI_NPB", raising=False)
        yield Quick(tmp_path_factory.mktemp("experiments"))


def rows(results: Quick, name: str, table: str = "results") -> list[dict[str, str]]:
    with (results(name) / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", in_turn(EXPERIMENTS))
def test_an_experiment_leaves_its_files(results: Quick, name: str) -> None:
    files = {path.name for path in results(name).iterdir()}
    assert {"results.csv", "picture.svg", "picture.png", "report.txt"} <= files
    # Lengths of messages are the same whatever is assumed; two vary what is assumed themselves.
    assert ("sensitivity.csv" in files) == (name not in VARYING)
    if "sensitivity.csv" in files:
        assert rows(results, name, "sensitivity")[0]["parameter"] == "as assumed"


@pytest.mark.parametrize("name", in_turn(n for n in EXPERIMENTS if n in pages.stamps()))
def test_tables_in_docs_have_todays_columns_and_points(results: Quick, name: str) -> None:
    pages.check_kept(name, results(name))


@turn_of("netcache/policies")
def test_policies_receive_the_same_messages(results: Quick) -> None:
    found = rows(results, "netcache/policies")
    assert list(found[0])[:12] == [
        "program", "ranks", "policy", "run_time_ns", "speedup_over_via", "dl1_accesses",
        "dl1_misses", "dl1_replacements", "dl1_writebacks", "dl1_invalidations",
        "first_access_ns", "last_access_ns",
    ]  # fmt: skip
    assert len({row["policy"] for row in found}) == len(found) >= 5
    for row in found:
        assert row["messages"] == found[0]["messages"]
        assert row["accessed_messages"] == found[0]["accessed_messages"]
        assert 0 < float(row["first_access_ns"]) <= float(row["last_access_ns"])
        # A line that is replaced or lost has come before, but for those that were there at first.
        assert int(row["dl1_replacements"]) <= int(row["dl1_misses"])
        for name in ("misses", "writebacks"):
            each = int(row[f"dl1_{name}"]) / int(row["messages"])
            assert float(row[f"dl1_{name}_per_message"]) == pytest.approx(each, abs=1e-3)


@turn_of("netcache/one-rank")
def test_a_difference_below_nothing_is_no_share(results: Quick) -> None:
    one_rank = importlib.import_module("chasqui.machines.netcache.experiments.one_rank")
    assert one_rank.share_percent(Fraction(-1, 50), Fraction(134)) is None
    assert one_rank.share_percent(Fraction(0), Fraction(4)) == 0
    assert one_rank.share_percent(Fraction(1), Fraction(4)) == 25
    for row in rows(results, "netcache/one-rank", "payloads"):
        for what in ("receive", "read"):
            assert (row[f"{what}_miss_percent"] == "") == (float(row[f"{what}_misses"]) < 0)
    said = (results("netcache/one-rank") / "report.txt").read_text()
    assert "where it has fewer no share is given" in " ".join(said.split())


def test_accesses_of_the_data_cache_leave_out_those_past_it(tmp_path: Path) -> None:
    """The processor copies from network memory by uncached loads."""
    workloads = importlib.import_module("chasqui.machines.netcache.experiments._workloads")
    run = workloads.run("run", workloads.Program("ring", "examples/ring"), 2, "netcache/processver")
    output = running.run_all("netcache/policies", [run], tmp_path, 1, lambda *_: None)["run"]
    loads, stores, uncached, posted = (
        sum(output.counters(name))
        for name in (
            "hart.loads", "hart.stores", "memory.uncached_loads", "memory.uncached_stores",
        )
    )  # fmt: skip
    assert uncached > 0
    assert posted > 0
    expected = loads + stores - uncached - posted
    assert workloads.figures(output).counters["dl1_accesses"] == expected


@turn_of("netcache/double-cache")
def test_more_data_cache_replaces_less(results: Quick) -> None:
    found = rows(results, "netcache/double-cache")
    once, double = (row for row in found if row["policy"] not in ("dtct", "ldtct"))
    assert int(double["dl1_kib"]) == 2 * int(once["dl1_kib"])
    assert int(double["dl1_replacements"]) < int(once["dl1_replacements"])
    assert double["speedup_over_double"] == "1"


@turn_of("netcache/inject")
def test_what_is_injected_is_used_or_lost(results: Quick) -> None:
    by = {(r["place"], r["working_set_kib"]): r for r in rows(results, "netcache/inject")}
    for (place, working_set), row in by.items():
        injected = int(row["injected"])
        if not place.startswith("L2"):
            assert injected == 0
            continue
        # The rest is still there, unused.
        assert 0 <= injected - int(row["used"]) - int(row["lost"]) <= 64
        if working_set == "16":
            # All fits: nothing is lost, and nothing waits for memory.
            assert row["lost"] == "0"
            memory = by["memory", working_set]
            assert float(row["receive_ns"]) < float(memory["receive_ns"])
            assert int(row["l2_misses"]) < int(memory["l2_misses"])
        else:
            assert int(row["lost"]) > injected / 2


@turn_of("netcache/inject")
def test_messages_are_not_waited_for_where_receiving_is_timed(results: Quick) -> None:
    """A small working set is gone over before the first message has come."""
    by = {(r["place"], r["working_set_kib"]): r for r in rows(results, "netcache/inject")}
    for (place, working_set), row in by.items():
        if working_set == "16":
            assert float(row["receive_ns"]) < float(by[place, "2048"]["receive_ns"])


@turn_of("netcache/spread")
def test_small_delays_move_run_times_a_little(results: Quick) -> None:
    found = rows(results, "netcache/spread")
    assert {row["policy"] for row in found} >= {"via", "ldtct"}
    for row in found:
        least, greatest = (float(row[f"{end}_run_time_ns"]) for end in ("least", "greatest"))
        assert 0 < least < greatest < 1.2 * least
        assert float(row["spread_percent"]) == pytest.approx(100 * (greatest / least - 1), abs=1e-3)
    by = {
        (r["program"], r["policy"], r["other"]): r
        for r in rows(results, "netcache/spread", "ratios")
    }
    assert len(by) == len(found) * (len({row["policy"] for row in found}) - 1)
    times = {
        (row["program"], row["policy"]): [
            float(row[f"{end}_run_time_ns"]) for end in ("least", "greatest")
        ]
        for row in found
    }
    for (program, policy, other), ratio in by.items():
        least, greatest = float(ratio["least_ratio"]), float(ratio["greatest_ratio"])
        # With the same change: within what any two changes would have.
        assert times[program, other][0] / times[program, policy][1] <= least * 1.001
        assert least <= greatest <= 1.001 * times[program, other][1] / times[program, policy][0]
        back = by[program, other, policy]
        assert least * float(back["greatest_ratio"]) == pytest.approx(1, abs=2e-3)


@turn_of("netcache/first-access")
def test_first_accesses_move_with_small_delays(results: Quick) -> None:
    found = {row["policy"]: row for row in rows(results, "netcache/first-access")}
    assert len(found) == 4
    reach = {
        policy: [float(row[f"{end}_ns"]) for end in ("least", "greatest")]
        for policy, row in found.items()
    }
    own, copies = reach.pop("ldtct"), reach.values()
    (ratio,) = rows(results, "netcache/first-access", "ratios")
    least, greatest = (float(ratio[f"{end}_ratio"]) for end in ("least", "greatest"))
    # With the same change: within what any two changes would have.
    assert own[0] / min(each[1] for each in copies) <= 1.001 * least <= 1.002 * greatest
    assert greatest <= 1.001 * own[1] / min(each[0] for each in copies)


def test_the_same_bits_with_injection(examples: Path, tmp_path: Path) -> None:
    ranks, arguments = WORKLOADS["spectral"]
    run = [
        "-np",
        str(ranks),
        "--machine",
        "netcache-modern/stash",
        "--",
        str(examples / "spectral"),
    ]
    names = ("loops executed", "by the reference", "translated", "2 threads")
    check(tmp_path, [*run, *arguments], {name: VARIATIONS[name] for name in names}, 0)


def test_injection_asks_for_an_l2(examples: Path, tmp_path: Path) -> None:
    done = command(
        "run", "-np", "2", "--machine", "netcache-modern/stash", "--set", "node.l2.present=false",
        "--", examples / "ring", directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "netcache.nic.inject: the node has no L2 (node.l2.present)" in done.stderr


# --- NPB's folder --------------------------------------------------------------------------------

npb = importlib.import_module("chasqui.machines.netcache.experiments._npb")


def test_npb_is_left_out_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHASQUI_NPB", raising=False)
    assert npb.programs(4) == []


@pytest.mark.parametrize("name", ["message-sizes", "policies", "one-rank"])
def test_npb_is_built_only_to_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its sources are not even looked at where experiments are listed, or checked."""
    without = running.fingerprints(f"netcache/{name}", quick=False)
    monkeypatch.setenv("CHASQUI_NPB", str(tmp_path / "nowhere"))
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path / "cache"))
    runs = running.load(f"netcache/{name}").runs(False)
    assert any("npb-" in run.name for run in runs)
    assert running.fingerprints(f"netcache/{name}", quick=False) == without
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"CHASQUI_NPB: .*nowhere has no config/make.def.template"):
        running.build(f"netcache/{name}", [run for run in runs if "npb-" in run.name])


def test_times_that_npb_prints_may_be_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank alone takes another time than among all, and NPB prints it without a unit behind."""
    monkeypatch.setenv("CHASQUI_NPB", str(tmp_path))
    runs = running.load("netcache/one-rank").runs(False)
    replays = [run.replay for run in runs if "npb-" in run.name and run.replay]
    assert len(replays) > 50
    for replay in replays:
        alone = running.only_rank(tmp_path, replay)
        assert alone.ignored_lines == ("Time in seconds", "Mop/s")


def test_npb_is_built_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a makefile that stands for NPB's."""
    folder = tmp_path / "NPB"
    (folder / "config").mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "libmpi").symlink_to(toolchain.libmpi_directory().parent)
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CHASQUI_NPB", str(folder))
    with pytest.raises(InputError, match=r"CHASQUI_NPB: .*NPB has no config/make.def.template"):
        npb.build("cg.S.4")
    (folder / "config" / "make.def.template").write_text("MPIF77 = f77\nRAND = randi8\n")
    (folder / "Makefile").write_text(
        "cg:\n\tcp config/make.def bin/$@.$(CLASS).$(NPROCS)\nsp:\n"
        "bt:\n\t@echo no compiler; false\n"
    )
    with pytest.raises(InputError, match=r"`make sp CLASS=S NPROCS=4` in .* made no sp.S.4"):
        npb.build("sp.S.4")
    with pytest.raises(InputError, match=r"`make bt CLASS=S NPROCS=4` failed.*\n.*no compiler"):
        npb.build("bt.S.4")
    assert npb.build("cg.S.4").read_text() == "MPIF77 = mpif77\nRAND = randi8\n"
    assert {path.name for path in folder.iterdir()} == {"config", "Makefile"}
