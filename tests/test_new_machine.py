"""`chasqui new-machine` in a copy of the sources: what it refuses, and that what it makes builds,
runs MPI programs with right answers, and is a machine like the others.

Use this when what a machine consists of changes: the recipe "A machine" of CONTRIBUTING, the
trait, the MPI device's interface, the places that list machines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import command_line
import pytest
from conftest import ROOT
from simulated import EXAMPLES, two_at_a_time

from chasqui import cache, firmware

# One process builds, and all that it needs.
pytestmark = [pytest.mark.core, pytest.mark.xdist_group("new-machine")]

NAME = "pigeon"
# Crates that one machine more has compiled; pyo3 since only maturin tells it which Python is meant.
AFFECTED = (f"machine-{NAME}", "chasqui-sim", "chasqui-core", "pyo3", "pyo3-ffi")
NI_PAGE = ROOT / "docs" / "manual" / "write-an-ni.md"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def copy_sources(place: Path) -> Path:
    """The sources as they are, those that git doesn't know yet included. Times are kept: what cargo
    has compiled of them is current in the copy as well."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if os.path.lexists(ROOT / name):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    return place


def contents(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which nothing is made."""
    return copy_sources(tmp_path_factory.mktemp("sources"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pigeon", "small letters and digits"),
        ("homing-pigeon", "small letters and digits"),
        ("../pigeon", "small letters and digits"),
        ("7up", "a letter first"),
        ("p", "2 to 20"),
        ("p" * 21, "2 to 20"),
        ("", "2 to 20"),
        ("pigeön", "small letters and digits"),
        ("int", "a word of C, Rust, Python or TOML"),
        ("match", "a word of C, Rust, Python or TOML"),
        ("class", "a word of C, Rust, Python or TOML"),
        ("main", "a word of C, Rust, Python or TOML"),
        ("nan", "a word of C, Rust, Python or TOML"),
        ("loggp", "called so already"),
        ("parts", "called so already"),
        ("via", "called so already"),  # a device
        ("node", "called so already"),  # a group of parameters
    ],
)
def test_a_name_that_cannot_be_changes_nothing(sources: Path, name: str, message: str) -> None:
    before = contents(sources)
    done = command_line.run("new-machine", name, directory=sources)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"chasqui: {name!r} can't be a machine's name: ")
    assert message in done.stderr
    assert contents(sources) == before


def test_outside_of_the_sources_there_is_one_clear_line(tmp_path: Path) -> None:
    done = command_line.run("new-machine", NAME, directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"chasqui: {tmp_path} is not inside the sources of chasqui")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "path",
    ["Cargo.toml", "crates/sim/src/catalogue.rs", "guest/mpi/devices.c", "dependencies.lock"],
)
def test_sources_that_are_not_as_expected_stay_as_they_are(sources: Path, path: str) -> None:
    text = (sources / path).read_text()
    (sources / path).write_text("// nothing\n")
    before = contents(sources)
    done = command_line.run("new-machine", NAME, directory=sources / "crates")
    after = contents(sources)
    (sources / path).write_text(text)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("chasqui: ")
    assert after == before


class Made:
    """A copy of the sources with a new machine, and the package with its simulator."""

    def __init__(self, place: Path) -> None:
        self.sources = copy_sources(place / "sources")
        self.target = place / "target"
        done = command_line.run("new-machine", NAME, directory=self.sources)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"made     machines/{NAME} \(device \d+\)", done.stdout), done.stdout
        self._check_devices()
        # What is compiled already: the crates below the catalogue don't differ.
        if (TARGET / "release").is_dir():
            shutil.copytree(TARGET / "release", self.target / "release", symlinks=True)
        (self.sources / "Cargo.lock").write_text(self._lock())
        # The guest's C library and the firmware too; only libmpi.a has one device more.
        images = firmware.directory()
        (place / "cache" / "firmware").mkdir(parents=True)
        (place / "cache" / "firmware" / images.name).symlink_to(images)
        (place / "cache" / "zig").symlink_to(cache.cache_directory() / "zig")
        self.environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.target),
            "CHASQUI_CACHE_DIR": str(place / "cache"),
            "PYTHONPATH": str(self.sources / "python"),
        }

    def _check_devices(self) -> None:
        """Every device has a number of its own."""
        headers = sorted((self.sources / "machines").glob("**/*.h"))
        numbers = [
            int(number, 16)
            for path in headers
            for number in re.findall(r"#define \w*DEVICE (0x[0-9a-f]+)ull", path.read_text())
        ]
        assert len(numbers) > 8
        assert len(set(numbers)) == len(numbers), numbers

    def _lock(self) -> str:
        """As the Makefile makes it from dependencies.lock."""
        lines = (ROOT / "Cargo.lock").read_text().splitlines()
        source = next(line for line in lines if line.startswith("source = "))
        listed = (self.sources / "dependencies.lock").read_text().splitlines()
        return "\n".join(source if line == "source" else line for line in listed) + "\n"

    def run(self, *words: str | Path) -> str:
        done = subprocess.run(
            words,
            cwd=self.sources,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def cargo(self, *words: str) -> str:
        return self.run("cargo", *words)

    def chasqui(self, *words: str | Path) -> str:
        return self.run(sys.executable, "-m", "chasqui", *words)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    found = Made(tmp_path_factory.mktemp("new-machine"))
    yield found
    shutil.rmtree(found.target)  # hundreds of megabytes


@pytest.mark.cargo
def test_a_new_machine_is_formatted_and_its_own_tests_pass(made: Made) -> None:
    """`--locked`: the command has written into dependencies.lock what cargo would."""
    made.cargo("fmt", "--all", "--check")
    # With the extension module, so that others' crates have the features that they have there.
    own = ["-p", f"machine-{NAME}", "-p", "chasqui-core"]
    tested = made.cargo("test", "--release", "--locked", "--offline", "--tests", *own)
    assert "guest_header_is_current ... ok" in tested
    assert "warning" not in tested


@pytest.mark.cargo
@pytest.mark.turn(1)
def test_a_new_machine_runs_programs_with_right_answers(made: Made) -> None:
    # What is built for these runs alone takes longer to optimise than to run.
    quickly = [f"--config=profile.release.package.{name}.opt-level=0" for name in AFFECTED]
    made.cargo("build", "--release", "--locked", "--offline", *quickly, "-p", "chasqui-core")
    package = made.sources / "python" / "chasqui"
    shutil.copy2(made.target / "release" / "lib_core.so", package / "_core.abi3.so")
    machines = json.loads(made.chasqui("machines", "--json"))
    assert machines[-1]["name"] == NAME
    explained = json.loads(made.chasqui("info", NAME, "--json"))
    assert [each["name"] for each in explained if not each["source"]] == []

    def carry_out(name: str) -> str:
        ranks, arguments = EXAMPLES[name]
        said = made.chasqui("cc", "-O2", "-o", name, f"examples/{name}.c", "-lm")
        options = ["-np", str(ranks), "--machine", NAME, "--set", "check.coherence=true"]
        return said + made.chasqui("run", "-q", *options, "--", f"./{name}", *arguments)

    # Messages that fit a packet, and those that go in segments.
    said = two_at_a_time(carry_out, ["ring", "pingpong", "sort"])
    assert [each.splitlines()[-1] for each in said] == [
        f"{name}: PASSED" for name in ("ring", "pingpong", "sort")
    ]
    assert "warning" not in "".join(said)
    # As the manual's page ends.
    (typed,) = [line for line in NI_PAGE.read_text().splitlines() if line.startswith("chasqui com")]
    words = typed.replace("build/examples/", "./").split()[1:]
    assert {"voyager", NAME} <= set(words)
    compared = made.chasqui(*words)
    rows = re.findall(rf"^(voyager|{NAME}) +\d", compared, re.MULTILINE)
    assert rows == ["voyager", NAME], compared
