"""Several jobs on the nodes of mpinp: each gets its own messages, reaches no other, and ends alone.

Use this when machines/mpinp/firmware/*/jobs changes. tests/test_jobs.py has voyager's, and
test_kernel_jobs.py the kernel's turns.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from simulated import SWEEP, in_turn
from test_determinism import differences
from test_jobs import TRAFFIC, counter, run, summary
from test_mpinp_mcp import INCLUDE, PLACE

pytestmark = pytest.mark.core

# Those whose firmware is another one for several jobs, or other software of the host's.
VARIANTS = ["mpinp/mcp", "mpinp/bip", "mpinp/nic-tlb", "mpinp-modern/dpu"]
if SWEEP:
    VARIANTS += ["mpinp/one-page", "mpinp/pin-cache", "mpinp/cached", "mpinp-modern/host"]
# Harts of a node, and ranks of each job on one: in turns, on two harts, and each on its own.
PLACES = {"hart": (1, 1), "harts": (2, 2), "own": (2, 1)}
SHORT = ["--set", "node.scheduler.quantum=50 us"]


def place(name: str) -> list[str]:
    harts, per_node = PLACES[name]
    return ["--set", f"node.harts={harts}", "--ranks-per-node", str(per_node), *SHORT]


@pytest.fixture
def traffic(compile_c: Compiler) -> Path:
    return compile_c("traffic", TRAFFIC)


@pytest.mark.parametrize(("where", "machine"), in_turn(PLACES, VARIANTS))
def test_two_jobs_get_their_own_messages(
    traffic: Path, tmp_path: Path, machine: str, where: str
) -> None:
    """With as many ranks and with fewer: as each of them alone."""
    jobs = [(4, [str(traffic), "1", "6", "2000"]), (3, [str(traffic), "2", "4", "5000"])]
    alone = []
    for number, (ranks, words) in enumerate(jobs):
        done = run(tmp_path, f"alone{number}", "-np", ranks, "--machine", machine, "--", *words)
        assert done.returncode == 0, done.stderr
        alone.append(done.stdout)
    options = ["--machine", machine, *place(where), "--set", "check.coherence=true"]
    other = f"--job=-np {jobs[1][0]} {' '.join(jobs[1][1])}"
    done = run(tmp_path, "both", "-np", jobs[0][0], *options, other, "--", *jobs[0][1])
    assert done.returncode == 0, done.stderr
    both = tmp_path / "both"
    assert [(both / f"job{number}" / "stdout.0").read_text() for number in range(2)] == alone
    for number in range(2):
        found, one = summary(both / f"job{number}"), summary(tmp_path / f"alone{number}")
        assert found["messages"] == one["messages"]
    if where == "hart":
        assert counter(both / "job0", "node00000.kernel.switches") > 10


@pytest.mark.parametrize(("machine", "map_by"), [("mpinp", "node"), ("mpinp/bip", "slot")])
def test_collectives_and_examples_of_three_jobs(
    examples: Path, tmp_path: Path, machine: str, map_by: str
) -> None:
    words = ["--machine", machine, "--ranks-per-node", "2", "--map-by", map_by, *SHORT]
    words += ["--set", "node.harts=2"]
    heat, ring = f"{examples / 'heat'} -n 12 -t 2", f"{examples / 'ring'} -l 1"
    others = [f"--job=-np 5 {heat}", f"--job=-np 2 {ring}"]
    done = run(tmp_path, "out", "-np", 3, *words, *others, "--", examples / "cg", "-g", "6")
    assert done.returncode == 0, done.stderr
    for number, name in enumerate(("cg", "heat", "ring")):
        text = (tmp_path / "out" / f"job{number}" / "stdout.0").read_text()
        assert f"{name}: PASSED" in text


# What rank 1 of the second job does, which has fewer ranks than the first: it names a rank, or a
# process of its node, that it has not, but the other job has.
WRONG = {
    "mpinp": ("forged", [*INCLUDE], "3", "rank", "a request names what is not its process's"),
    "mpinp/bip": (
        *("hostile", [f"-I{ROOT}"], "2", "process"),
        "a slot that its doorbell counts has no message that can be sent",
    ),
}


@pytest.mark.parametrize("machine", WRONG)
def test_no_job_reaches_another(
    compile_c: Compiler, traffic: Path, tmp_path: Path, machine: str
) -> None:
    name, flags, ranks, what, text = WRONG[machine]
    program = compile_c(name, (PLACE / f"{name}.c").read_text(), *flags)
    options = ["--machine", machine, *SHORT, "--job", f"-np {ranks} {program} {what}"]
    done = run(tmp_path, "out", "-np", 4, *options, "--", traffic, 1, 6, 1000)
    assert "job 1: fault: rank 1 at " in done.stderr
    assert text in done.stderr
    assert summary(tmp_path / "out" / "job0")["outcome"] == "finished"
    assert "job 1, 4 ranks" in (tmp_path / "out" / "job0" / "stdout.0").read_text()


@pytest.mark.parametrize("machine", ["mpinp", "mpinp/bip"] if SWEEP else ["mpinp"])
def test_jobs_have_the_same_bits(traffic: Path, tmp_path: Path, machine: str) -> None:
    job = f"--job=-np 3 {traffic} 2 2 3000"
    common = ["-np", 2, "--machine", machine, *SHORT, job, "--", traffic, 1, 2, 1000]
    variations = {
        "reference": ["--threads", "1"],
        "threads": ["--threads", "2"],
        **({"spinning": ["--set", "check.spin_skip=false"]} if SWEEP else {}),
    }
    for name, options in variations.items():
        assert run(tmp_path, name, *options, *common).returncode == 0
    for name, options in variations.items():
        for each in ("job0", "job1"):
            found = differences(
                tmp_path / "reference" / each, tmp_path / name / each, [*options, "--threads"]
            )
            assert found in ([], ["resolved.toml"]), (name, each)


def test_what_serves_one_job_says_so(traffic: Path, tmp_path: Path) -> None:
    for machine in ("mpinp/interrupt", "mpinp/channel-cache", "mpinp-modern/tags"):
        words = ["--machine", machine, "--job", f"-np 2 {traffic} 1 1 1", "-np", 2]
        done = run(tmp_path, "out", *words, "--", traffic, 1, 1, 1)
        assert (done.returncode, done.stdout) == (2, "")
        assert "2 jobs: mpinp's firmware" in done.stderr
    many = [f"--job=-np 16 {traffic} 1 1 1"] * 4
    done = run(tmp_path, "out", "--machine", "mpinp", *many, "-np", 2, "--", traffic, 1, 1, 1)
    assert done.returncode == 2
    assert "with 5 on a node, up to 12 ranks can run" in done.stderr
