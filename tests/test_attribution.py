"""What the difference of two machines is made of: `compare --attribute`.

Use this when its groups, parameters or `compare` change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Compiler
from simulated import command

from chasqui import attribution, core
from chasqui.simulation import main_part_ps

pytestmark = pytest.mark.core

RING = ROOT / "build" / "examples" / "ring"
CLOCK = """schema_version = 1
extends = "voyager"
[node.core]
clock = { value = "75 MHz", source = "half" }
"""


def attribute(directory: Path, *machines: str) -> tuple[dict[str, Any], str]:
    """Its content, and the last line for people."""
    words = ["compare", *machines, "-np", "2", "-q", "--attribute"]
    done = command(*words, "--json", "--", str(RING), directory=directory)
    assert (done.returncode, done.stderr) == (0, "")
    shown = command(*words, "--", str(RING), directory=directory).stdout.splitlines()
    found: dict[str, Any] = json.loads(done.stdout)["attribution"]
    return found, shown[-1]


def main_part(directory: Path, machine: str, *sets: str) -> int:
    """Time between MPI_Init and MPI_Finalize [ps]."""
    words = [
        "run",
        "-q",
        "-np",
        "2",
        "-m",
        machine,
        *(word for each in sets for word in ("--set", each)),
    ]
    done = command(*words, "--json", "--", str(RING), directory=directory)
    assert done.returncode == 0, done.stderr
    return main_part_ps(json.loads(done.stdout))


def factors(found: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    return {each["group"]: (each["on_first"], each["on_second"]) for each in found["factors"]}


def test_one_parameter_is_the_whole_difference(tmp_path: Path) -> None:
    """The control: nothing but the clock differs, so nothing else has a factor."""
    (tmp_path / "slow.toml").write_text(CLOCK)
    found, said = attribute(tmp_path, "voyager", "slow.toml")
    ratio = found["ratio"]
    assert 1.2 < ratio < 2
    assert factors(found) == {
        "processor clock": (ratio, ratio),
        "the NI and the rest": (1.0, 1.0),
    }
    assert found["interaction"] == {"group": "interaction", "on_first": 1.0, "on_second": 1.0}
    assert said == (
        f"slow.toml takes {ratio:.2f} times as long as voyager. Factors of that: processor clock "
        f"{ratio:.2f}."
    )
    changed = found["differences"]["processor clock"]
    assert changed == [{"name": "node.core.clock", "first": "150 MHz", "second": "75 MHz"}]


def test_factors_and_interaction_make_the_ratio(tmp_path: Path) -> None:
    found, said = attribute(tmp_path, "loggp", "voyager")
    by_group = factors(found)
    for place, side in enumerate(("on_first", "on_second")):
        product = found["interaction"][side]
        for each in by_group.values():
            factor = each[place]
            assert factor is not None
            product *= factor
        assert product == pytest.approx(found["ratio"])
    # The same from runs of its own.
    clock = "node.core.clock={}".format
    loggp, slow = main_part(tmp_path, "loggp"), main_part(tmp_path, "loggp", clock("150 MHz"))
    voyager, fast = main_part(tmp_path, "voyager"), main_part(tmp_path, "voyager", clock("1 GHz"))
    assert by_group["processor clock"] == pytest.approx((slow / loggp, voyager / fast))
    assert found["ratio"] == pytest.approx(voyager / loggp)
    assert "processor clock" in said


def test_what_cannot_be_exchanged_is_part_of_the_rest(tmp_path: Path) -> None:
    found, _ = attribute(tmp_path, "voyager", "netcache/tcp")
    assert "tcp needs a kernel" in found["not_exchanged"]["kernel"]
    assert "kernel" not in factors(found)
    assert "network.packet_max" in {
        each["name"] for each in found["differences"]["the NI and the rest"]
    }
    assert None not in factors(found)["the NI and the rest"]


def test_variants_of_a_machine_differ_in_the_nis_parameters(tmp_path: Path) -> None:
    found, _ = attribute(tmp_path, "voyager", "voyager/reclaim")
    ratio = found["ratio"]
    assert factors(found) == {
        "the NI's parameters": (ratio, ratio),
        "the NI and the rest": (1.0, 1.0),
    }
    (changed,) = found["differences"]["the NI's parameters"]
    assert changed["name"] == "voyager.basic.coherence"


def test_run_directories_are_those_of_the_two(tmp_path: Path) -> None:
    words = ["compare", "loggp", "voyager", "-np", "2", "-q", "--attribute", "--out", "both"]
    done = command(*words, "--", str(RING), directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "factor of the time" in done.stdout
    assert sorted(path.name for path in tmp_path.glob("both/*")) == ["loggp", "voyager"]
    assert [path.name for path in tmp_path.iterdir()] == ["both"]


@pytest.mark.parametrize(
    "words", [["loggp"], ["loggp", "voyager", "netcache"], ["loggp", "voyager", "--csv"]]
)
def test_it_is_of_two_machines_as_a_table(tmp_path: Path, words: list[str]) -> None:
    done = command("compare", *words, "--attribute", "--", str(RING), directory=tmp_path)
    assert done.returncode == 2
    assert "--attribute lays two machines side by side" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_fails_on_one_has_no_factors(tmp_path: Path) -> None:
    words = ["compare", "loggp", "voyager", "-np", "2", "-q", "--attribute", "--limit-time", "9 us"]
    done = command(*words, "--", str(RING), directory=tmp_path)
    assert done.returncode == 124
    assert "factor of the time" not in done.stdout


FAR = """schema_version = 1
extends = "voyager"
[node.core]
clock = { value = "75 MHz", source = "half" }
[network]
link_latency = { value = "100 us", source = "long" }
"""
# It fails where the processor is slow and the network is near.
CHOOSY = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, byte = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double start = MPI_Wtime();
    for (volatile int i = 0; i < 1000; i++)
        ;
    double computed = MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    MPI_Sendrecv_replace(&byte, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    int is_near = MPI_Wtime() - start < 100e-6, is_slow = computed > LIMIT;
    MPI_Finalize();
    return is_near && is_slow ? 3 : 0;
}
"""


def test_why_a_group_has_no_factor_is_said(tmp_path: Path, compile_c: Compiler) -> None:
    (tmp_path / "far.toml").write_text(FAR)
    program = compile_c("choosy", CHOOSY.replace("LIMIT", "50e-6"))
    words = ["compare", "voyager", "far.toml", "-np", "2", "-q", "--attribute"]
    done = command(*words, "--json", "--", str(program), directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["attribution"]
    assert found["unfinished"] == [
        "voyager with the other's processor clock: finished, with exit status 3",
        "far.toml with the other's network latency: finished, with exit status 3",
    ]
    shown = command(*words, "--", str(program), directory=tmp_path).stdout
    assert "no time (-): voyager with the other's processor clock: finished, with exit" in shown
    assert shown.rstrip().endswith("; not known: processor clock, network latency.")


def test_what_every_machine_has_is_no_ni_s_own() -> None:
    """The last group takes what no other has. A parameter of nodes or networks that came there
    would be said to be the NI's."""
    for name, *_ in core.variants():
        every = [each["name"] for each in core.parameters(name)]
        theirs = {each for each in every if attribution._group(each) == attribution.OWN}
        assert not [each for each in theirs if each.startswith(("node.", "network.", "mpi."))], name


def test_small_factors_keep_two_digits() -> None:
    found = attribution.Factor("processor clock", 0.0876, 0.184)
    assert attribution._range(found) == "0.088 to 0.18"


def test_groups_that_act_on_each_other_are_said_to() -> None:
    def sentence(on_first: float) -> str:
        clock = attribution.Factor("processor clock", on_first, 4.0)
        found = attribution.Attribution(("a", "b"), 4.0, [clock], {}, {}, [])
        return found.sentence()

    assert "act on each other" in sentence(2.0)
    assert "act on each other" not in sentence(3.0)


def test_what_checks_the_simulator_is_not_exchanged() -> None:
    """It changes no simulated time (tests/test_determinism.py)."""
    for each in core.parameters("voyager"):
        is_check = each["name"].startswith("check.")
        assert (attribution._group(each["name"]) is None) == is_check, each["name"]
