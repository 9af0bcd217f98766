"""Fixtures: the command line as a user calls it, programs compiled for the simulated machines."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import browser
import built_wheel
import command_line
import pytest
import trace_processor
from fake_core import FakeCore

from chasqui import toolchain

ROOT = Path(__file__).resolve().parent.parent

# marker -> what it needs, whether that is here
NEEDS = {
    "cargo": ("no cargo", shutil.which("cargo") is not None),
    "core": ("no chasqui._core", importlib.util.find_spec("chasqui._core") is not None),
    "gnu": (
        "no riscv64-linux-gnu-gcc or -gfortran",
        all(shutil.which(f"riscv64-linux-gnu-{name}") for name in ("gcc", "gfortran")),
    ),
    "browser": ("no Chromium or no playwright", browser.IS_HERE),
    "perfetto": ("no trace processor of Perfetto: make perfetto", trace_processor.IS_HERE),
    "wheel": ("no wheel of what is installed: make test-wheel", built_wheel.IS_HERE),
    "long": (
        "long, and others like them are run: make sweep",
        bool(os.environ.get("CHASQUI_SWEEP")),
    ),
    # Programs from elsewhere: docs/programs.md says how to get them.
    "npb": ("CHASQUI_NPB names no folder NPB3.3-MPI", bool(os.environ.get("CHASQUI_NPB"))),
    "osu": ("CHASQUI_OSU names no folder of OSU's", bool(os.environ.get("CHASQUI_OSU"))),
    "gdb": ("no gdb-multiarch", shutil.which("gdb-multiarch") is not None),
    # What reads exported traces.
    "otf2_print": ("no otf2-print", shutil.which("otf2-print") is not None),
    "smpirun": ("no smpirun", shutil.which("smpirun") is not None),
    "sst": ("no SST", shutil.which("sst") is not None),
    "tcpdump": ("no tcpdump", shutil.which("tcpdump") is not None),
    "loggopsim": ("no LogGOPSim", shutil.which("txt2bin") is not None),
}
_left_out: dict[str, int] = {}

# `make test` says whose turn it is, by the number of commits. Of a test that runs the simulator in
# several cases it carries out every sixth, with the next commit others, and dear tests when it is
# the turn that they are marked with. Alone, and in a sweep (`make sweep`), all are carried out, and
# always those of what is marked as whole.
TURN = os.environ.get("CHASQUI_TURN")
TURNS = 6
CASES_MIN = 3  # of a test whose cases take turns


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")
    parser.addoption("--update-layout", action="store_true", help="write guest/mpi/layout.txt anew")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what can't run here, and counts it: one line, not a page of skips."""
    for marker, (reason, here) in NEEDS.items():
        if here:
            continue
        out = [item for item in items if item.get_closest_marker(marker)]
        if out:
            _left_out[reason] = len(out)
            config.hook.pytest_deselected(items=out)
            items[:] = [item for item in items if item not in out]
    if TURN:
        numbers = [*numbered(items), *dear(items)]
        others = [item for item, at in numbers if at % TURNS != int(TURN) % TURNS]
        if others:
            _left_out["of other turns, which commits have in turn: make sweep"] = len(others)
            config.hook.pytest_deselected(items=others)
            left = set(others)
            items[:] = [item for item in items if item not in left]


def numbered(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, int]]:
    """Cases that take turns, each with its number. Tests begin at different numbers, so that a
    turn has not the first machine of every list."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        is_apart = item.get_closest_marker("whole") or item.get_closest_marker("turn")
        if item.get_closest_marker("core") and not is_apart:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, cases in tests.items():
        if len(cases) >= CASES_MIN:
            yield from zip(cases, itertools.count(zlib.crc32(name.encode())), strict=False)


def dear(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, int]]:
    """Tests of several seconds, each with the turn that its mark says: those of one fixture with
    one turn, and turns take as long as each other."""
    for item in items:
        if (mark := item.get_closest_marker("turn")) is not None:
            (turn,) = mark.args
            yield item, turn


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes, those that run tests tell the one that shows the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = _left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, count in _left_out.items():
        terminalreporter.write_line(f"SKIPPED {count} tests ({reason})")
    terminalreporter.write_line(
        f"SEED={os.environ.get('SEED', '1')} (guest library's random tests)"
    )


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def chasqui(tmp_path: Path) -> Run:
    """`chasqui ARGUMENTS` in an empty directory."""

    def run(
        *arguments: str | Path, cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return command_line.run(*arguments, directory=cwd, environment=env)

    return run


@pytest.fixture(scope="session")
def shim_directory() -> Path:
    """Where the installed package has mpicc and the others."""
    return Path(sys.prefix) / "bin"


def shared_place(factory: pytest.TempPathFactory, name: str) -> Path:
    """A place of the session that all processes share which run its tests; it need not exist."""
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name


class Compiler:
    """Compiles C text once a session; other texts and flags may have the same name."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, name: str, text: str, *flags: str) -> Path:
        place = self.place / hashlib.sha256(repr((name, text, flags)).encode()).hexdigest()[:12]
        with toolchain.locked(place.with_suffix(".lock")):
            if not place.exists():
                with toolchain.appearing(place) as building:
                    self.compile(building / name, text, flags)
        return place / name

    def compile(self, program: Path, text: str, flags: tuple[str, ...]) -> None:
        source = program.with_suffix(".c")
        source.write_text(text)
        ends = (source, "-o", program, "-lm")
        done = command_line.run("cc", "-O1", *flags, *ends, directory=program.parent)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(shared_place(tmp_path_factory, "programs"))


@pytest.fixture(scope="session")
def examples() -> Path:
    """build/examples, which the Makefile compiled; compiled here where it did not."""
    place = ROOT / "build" / "examples"
    place.mkdir(parents=True, exist_ok=True)
    for source in sorted((ROOT / "examples").glob("*.c")):
        if not (place / source.stem).exists():
            command = [sys.executable, "-m", "chasqui", "cc", "-O2", "-std=c11"]
            subprocess.run([*command, source, "-o", place / source.stem, "-lm"], check=True)
    return place


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCore:
    """The commands run in this process, in an empty directory, on a stand-in for the simulator."""
    import chasqui
    from chasqui import measurement

    fake = FakeCore()
    monkeypatch.setitem(sys.modules, "chasqui._core", fake)
    monkeypatch.setattr(chasqui, "_core", fake, raising=False)
    # The stand-in executes nothing: nothing need be compiled.
    monkeypatch.setattr(measurement, "program", lambda: Path("logp-fake"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHASQUI_MACHINE", raising=False)
    return fake
