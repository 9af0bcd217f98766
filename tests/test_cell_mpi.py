"""MPI on the machine cell: ranks on SPEs, whose programs are those of all machines; right answers,
the same bits however they are executed, and what does not fit or is wrong, in words.

Use this when machines/cell (device.c, kernel/rank.c, src/rank.rs) or what of the library ranks
touch changes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT
from simulated import command

from chasqui import compiler

pytestmark = pytest.mark.core

PROGRAMS = ROOT / "tests" / "cell"
PAGE_BYTES = 4096
# Text, data and zeroed data that an empty program may take.
BUDGET_BYTES = 96 << 10
# Programs of examples/, and their ranks.
FIT = [
    ("ring", 2),
    ("ring", 6),
    ("pingpong", 2),
    ("heat", 3),
    ("heat", 6),
    ("nbody", 4),
    ("sort", 2),
    ("spectral", 4),
]
# What must change no bit.
SAME = [
    ["--set", "check.spin_skip=false"],
    ["--set", "check.coherence=true"],
    ["--set", "check.executor=reference"],
    ["--set", "check.window=1 us", "--threads", "2"],
]


def build(directory: Path, source: Path) -> Path:
    program = directory / source.stem
    words = ["-O2", str(source), "-o", str(program), "-lm"]
    assert compiler.run(compiler.plan("cc", words)) == 0
    return program


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The examples, and programs of this test's own."""
    directory = tmp_path_factory.mktemp("cell-mpi")
    names = dict.fromkeys(name for name, _ in [*FIT, ("cg", 2)])
    sources = [ROOT / "examples" / f"{name}.c" for name in names]
    sources += [PROGRAMS / "mpi.c", PROGRAMS / "ranks.c"]
    return {source.stem: build(directory, source) for source in sources}


def start(
    directory: Path, program: Path, *words: str, ranks: int, to: str = "out"
) -> tuple[int, str, str]:
    """Exit status, what it prints, and messages."""
    options = ["run", "-q", "--out", str(directory / to), "--machine", "cell", "-np", str(ranks)]
    done = command(*options, *words, "--", program, directory=directory)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("name", "ranks"), FIT)
def test_examples_have_right_answers(
    programs: dict[str, Path], tmp_path: Path, name: str, ranks: int
) -> None:
    status, out, err = start(tmp_path, programs[name], ranks=ranks)
    assert status == 0, err
    assert f"{name}: PASSED" in out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["messages"] > 0


def case(
    programs: dict[str, Path], directory: Path, what: str, ranks: int, *options: str
) -> tuple[int, str, str]:
    words = ["run", "-q", "--out", str(directory / "out"), "--machine", "cell", "-np", str(ranks)]
    done = command(*words, *options, "--", programs["ranks"], what, directory=directory)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_messages_of_all_lengths_arrive(
    programs: dict[str, Path], tmp_path: Path, ranks: int
) -> None:
    """Lengths and places around lines, quadwords, slots and pages, all pairs at once; more messages
    than slots before anybody receives."""
    spes = ["--set", f"cell.chip.spes={max(ranks, 6)}"]
    status, out, err = case(programs, tmp_path, "lengths", ranks, *spes)
    assert status == 0, err
    assert out == f"lengths: right on {ranks} ranks\n"


def test_a_system_call_changes_nothing_beside_what_it_writes(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    """A row of a file is read while a peer's MFC puts to the same quadword."""
    status, out, err = case(programs, tmp_path, "beside", 2)
    assert status == 0, err
    assert out == "beside: 0 wrong\n"


def test_system_calls_about_files(programs: dict[str, Path], tmp_path: Path) -> None:
    """Those that are served, and one that is not: that is said."""
    status, out, err = case(programs, tmp_path, "calls", 2)
    assert status == 0, err
    assert out.splitlines() == [
        "ends: 0 wrong",
        "dup 4 fsync 0 truncate 0 mkdir 0 rename 0 chdir 0 umask 22",
        "entries 1 length 2",
        "poll -1",
    ]
    assert err.count("system call 73 (ppoll) is not served: it returns ENOSYS") == 1
    assert err.count("is not served") == 1


def test_the_ppe_may_have_two_harts(programs: dict[str, Path], tmp_path: Path) -> None:
    for name, ranks in (("mpi", 2), ("ring", 4)):
        options = ["--set", "node.harts=2", "--set", "check.coherence=true"]
        status, out, err = start(tmp_path, programs[name], *options, ranks=ranks, to=name)
        assert status == 0, err
        assert name == "mpi" or "ring: PASSED" in out


@pytest.mark.parametrize("options", SAME)
def test_results_have_the_same_bits(
    programs: dict[str, Path], tmp_path: Path, options: list[str]
) -> None:
    for to, more in (("plain", []), ("other", options)):
        status, _, err = start(tmp_path, programs["heat"], *more, ranks=4, to=to)
        assert status == 0, err
    for file in ("messages.parquet", "summary.json", "stats.json"):
        plain, other = ((tmp_path / to / file).read_bytes() for to in ("plain", "other"))
        assert plain == other, file


def test_translations_may_be_the_kernels(programs: dict[str, Path], tmp_path: Path) -> None:
    """Two ranks of any program: an MFC's miss and its program's stop come together."""
    options = ["--set", "cell.element.mfc.translation=kernel"]
    for name, ranks in (("ring", 4), ("ring", 2), ("mpi", 2)):
        to = f"{name}-{ranks}"
        status, out, err = start(tmp_path, programs[name], *options, ranks=ranks, to=to)
        assert status == 0, err
        assert name == "mpi" or "ring: PASSED" in out


def test_an_empty_program_is_within_its_budget(programs: dict[str, Path], tmp_path: Path) -> None:
    """The pages of text, data and zeroed data that a program touches from MPI_Init to its end."""
    status, _, err = start(tmp_path, programs["mpi"], ranks=6)
    assert status == 0, err
    statistics = json.loads((tmp_path / "out" / "stats.json").read_text())
    for spe in range(6):
        rank = statistics["node00000"]["ni"][f"spe{spe}"]["rank"]
        pages = rank["pages_text"]["value"] + rank["pages_data"]["value"]
        assert 0 < pages * PAGE_BYTES <= BUDGET_BYTES


def test_a_program_that_does_not_fit_is_refused_with_its_sizes(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    status, _, err = start(tmp_path, programs["cg"], ranks=2)
    assert status > 128
    found = re.search(
        r"does not fit into the local store of spe\d, (\d+) bytes: .* text and constants (\d+), "
        r"data (\d+), heap (\d+), stack (\d+) bytes",
        err,
    )
    assert found, err
    store, *parts = map(int, found.groups())
    assert sum(parts) == store
    assert all(part > 0 for part in parts)


def test_mechanisms_are_in_the_record(programs: dict[str, Path], tmp_path: Path) -> None:
    status, _, err = start(tmp_path, programs["pingpong"], ranks=2)
    assert status == 0, err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    used = {each["name"]: each["messages"] for each in summary["mechanisms"]}
    assert used["slot"] > 0
    assert used["put"] > 0
    assert used["slot"] + used["put"] == summary["messages"]


def test_profiles_see_ranks_and_change_nothing(programs: dict[str, Path], tmp_path: Path) -> None:
    """Functions of the program and the library on each SPE, and what the kernel is waited for."""
    for to, more in (("plain", []), ("profiled", ["--profile"])):
        status, _, err = start(tmp_path, programs["heat"], *more, ranks=3, to=to)
        assert status == 0, err
    for file in ("messages.parquet", "stats.json"):
        plain, profiled = ((tmp_path / to / file).read_bytes() for to in ("plain", "profiled"))
        assert plain == profiled, file
    lines = (tmp_path / "profiled" / "profile.folded").read_text().splitlines()
    for spe in range(3):
        of_it = [line for line in lines if f"spe{spe}" in line]
        for function in ("main", "PMPI_", "cell_send", "[software]"):
            assert any(function in line for line in of_it), (spe, function)
        cycles = sum(int(line.rsplit(" ", 1)[1]) for line in of_it)
        statistics = json.loads((tmp_path / "profiled" / "stats.json").read_text())
        core = statistics["node00000"]["ni"][f"spe{spe}"]["core"]
        # All that it executes, and waits for.
        assert cycles > core["instructions"]["value"] > 0


@pytest.mark.parametrize(
    ("what", "status", "text"),
    [
        ("deadlock", 125, r"deadlock at .*: 2 of 2 ranks wait\n.*rank 0 in MPI_Recv waits for"),
        ("null", 139, r"fault: rank 1 .* write to 0x10: null pointer.*ranks\.c:\d+"),
        ("abort", 134, r"fault: rank 1 .* SIGABRT"),
        ("leave", 3, r"aborted: rank 1 .* exited with status 3 without MPI_Finalize"),
        ("threads", 4, r"aborted: rank 0 .* exited with status 4 without MPI_Finalize"),
        ("job-abort", 7, r"aborted: rank 1 at .* by MPI_Abort, called at .*\(main\+.*ranks\.c:\d+"),
        (
            "job-error",
            6,
            r"aborted: rank 1 at .* by an error in MPI_Send, called at .*ranks\.c:\d+",
        ),
        ("channel", 139, r"fault: rank 1 .* among its channels, where there is none"),
    ],
)
def test_what_is_wrong_is_said(
    programs: dict[str, Path], tmp_path: Path, what: str, status: int, text: str
) -> None:
    ended, _, err = case(programs, tmp_path, what, 2)
    assert ended == status, err
    assert re.search(text, err), err


def test_more_ranks_than_spes_and_shared_memory_are_refused(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    status, _, err = start(tmp_path, programs["ring"], ranks=7)
    assert status == 2
    assert "1 to 6 are allowed" in err
    status, _, err = start(tmp_path, programs["ring"], "--mpi", "local.channel=memory", ranks=4)
    assert status == 2
    assert "ranks on SPEs share no memory" in err


def test_a_store_of_more_pages_than_the_list_has_is_refused(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    options = ["--set", "cell.element.store=1 MiB"]
    status, _, err = start(tmp_path, programs["mpi"], *options, ranks=2, to="most")
    assert status == 0, err
    options = ["--set", "cell.element.store=1028 KiB"]
    status, _, err = start(tmp_path, programs["mpi"], *options, ranks=2)
    assert status == 1
    assert "cell.element.store: a rank's SPE has 1 MiB at most" in err


@pytest.mark.parametrize("ranks", [1, 2])
def test_nothing_is_fast_forwarded(programs: dict[str, Path], tmp_path: Path, ranks: int) -> None:
    status, _, err = start(tmp_path, programs["mpi"], "--fast-forward", ranks=ranks)
    assert status == 2
    assert err.startswith("chasqui: --fast-forward: programs of SPEs")
    assert len(err.splitlines()) == 1
