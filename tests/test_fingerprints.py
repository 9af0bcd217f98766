"""What tables of experiments were measured of: software beside programs, readings of the runs.

Use this when `running.fingerprints` changes, or where software of the guest lies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chasqui import cache, core, firmware, layout, toolchain
from chasqui.experiment import running

LIBRARY = toolchain.GUEST / "mpi"


def test_software_is_what_programs_execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The MPI library, the kernel, and the machine's device, drivers and firmware; not comments,
    nor programs."""
    guest, machines = tmp_path / "guest", tmp_path / "machines"
    places = [guest / "mpi", guest / "kernel", guest / "new", machines / "toy" / "firmware"]
    programs = [guest / name for name in ("tests", "bench", "play")]
    programs.append(machines / "toy" / "experiments")
    for place in places + programs:
        place.mkdir(parents=True)
        (place / "part.c").write_text("int x; /* A comment. */\n")
    monkeypatch.setattr(toolchain, "GUEST", guest)
    monkeypatch.setattr(cache, "MACHINES", machines)

    def software() -> str:
        return running.digest(running.software(["toy"]))

    before = software()
    (guest / "kernel" / "part.c").write_text("int x;   /* Another. */\n")
    for place in programs:
        (place / "part.c").write_text("int main;")
    assert software() == before
    for place in places:
        before = software()
        (place / "part.c").write_text("int y;\n")
        assert software() != before, place


def test_a_new_machine_makes_no_tables_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line in the list of devices is no software of others."""
    devices = tmp_path / "guest" / "mpi" / "devices.c"
    devices.parent.mkdir(parents=True)
    monkeypatch.setattr(toolchain, "GUEST", tmp_path / "guest")

    def software(old: str, new: str) -> str:
        devices.write_text((LIBRARY / "devices.c").read_text().replace(old, new))
        return running.digest(running.software([]))

    last = "DEVICE(cell)"
    before = software("", "")
    assert software(last, f"{last} \\\n    DEVICE(new)") == before
    assert software("0}", "1}") != before


def test_a_header_with_a_machines_registers_is_that_machines() -> None:
    def counted(*machines: str) -> set[str]:
        return {path.name for _, path in running.software_files(machines)}

    assert "nes.h" in counted("voyager", "netcache")
    assert "nes.h" not in counted("netcache")
    assert "store64.h" in counted("netcache")


def test_software_is_all_that_is_compiled() -> None:
    """Whatever libraries, kernel, drivers and firmware are made of, and what decides where it
    lies. What a machine has that is not in the catalogue is linked into no program."""
    every = {each["name"] for each in core.machines()}
    counted = {path for _, path in running.software_files(every)}
    parts = ("*/kernel/*.c", "*/firmware/**/*.c")
    made_of = {
        *toolchain.libmpi_sources(), *toolchain.libc_sources(), *firmware.KERNEL.rglob("*.[chS]"),
        *toolchain.FORTRAN_SOURCES.glob("*.c"), *toolchain.INCLUDE.rglob("*.h"),
        *(path for part in parts for path in cache.MACHINES.glob(part)),
        *(toolchain.GUEST / "mpi" / name for name in (layout.TEMPLATE, layout.ORDER)),
    }  # fmt: skip
    beyond = {
        path
        for path in made_of
        if path.is_relative_to(cache.MACHINES)
        and path.relative_to(cache.MACHINES).parts[0] not in every
    }
    assert len(made_of) > 100
    assert made_of - beyond <= counted


@pytest.mark.core
def test_readings_are_of_all_that_makes_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment's module, neighbours that it uses and what these use; comments are nothing."""
    names = {path.name for path in running.readers("voyager/modern")}
    assert {"modern.py", "mechanisms.py", "_timing.py", "sensitivity.py"} <= names
    assert "am.py" not in names
    before = running.fingerprints("voyager/modern", quick=True)["readings"]
    text = Path.read_text
    added = {"comment": "# A note.\n", "code": "more = 1\n"}
    for what, line in added.items():
        monkeypatch.setattr(
            Path, "read_text",
            lambda path, line=line: text(path) + (line if path.name == "mechanisms.py" else ""),
        )  # fmt: skip
        now = running.fingerprints("voyager/modern", quick=True)["readings"]
        assert (now == before) == (what == "comment")
