"""Where the parts of a program lie: what isn't executed moves no simulated time.

`pytest tests/test_layout.py --update-layout` writes guest/mpi/layout.txt: the library's functions
that the examples execute, on whatever machine. New ones move those behind them: make the golden
files anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import elf
import pytest
from conftest import ROOT, Compiler, Run, shared_place
from simulated import EXAMPLES, SLOW, SWEEP, WORKLOADS, command, machines, two_at_a_time
from test_golden import PROGRAMS, in_words

from chasqui import compiler, layout, toolchain
from chasqui.cache import MACHINES

pytestmark = pytest.mark.core

LAYOUT = ROOT / "guest" / "mpi" / layout.ORDER
# One with each device.
DEVICES = {
    "loggp": "loggp",
    "voyager": "voyager",
    "netcache": "netcache/ldtct",
    "via": "netcache/via",
    "tcp": "netcache/tcp",
}
# Some devices have long messages sent in segments (host/rendezvous.c), but none of those above, nor
# any variant of the catalogue where an example has one.
SEGMENTS = ("mpinp/bip", "mpinp.control.dma=false", "pingpong", 2, ["-n", "1", "-m", "1024"])


def executed(
    directory: Path, machine: str, sets: str, program: Path, ranks: int, *arguments: str
) -> set[str]:
    """The functions that a run executes."""
    out = directory / f"{machine.replace('/', '-')}-{program.name}-{sets}"
    words = ["run", "-q", "--profile", "--out", str(out), "-np", str(ranks), "--machine", machine]
    words += ["--set", sets] if sets else []
    done = command(*words, "--", program, *arguments, directory=directory)
    assert done.returncode == 0, done.stderr
    profile = json.loads((out / "profile.json").read_text())
    return {each["name"] for each in profile["functions"]}


def parts() -> dict[str, set[str]]:
    """The names that each device defines, and ("") the library without them."""
    found: dict[str, set[str]] = {}
    archive = toolchain.libmpi_directory() / "libmpi.a"
    for member, data in elf.members(archive):
        kind, folder, _ = member.split("-", 2)
        names = found.setdefault(folder if kind == "device" else "", set())
        names |= elf.symbols_of(data) or set()
    return found


def test_what_is_executed_lies_together(
    pytestconfig: pytest.Config, examples: Path, tmp_path: Path
) -> None:
    """Else it might be moved by what isn't."""
    runs: list[tuple[str, str, str, int, list[str]]] = [
        (machine, "", name, *how) for machine in DEVICES.values() for name, how in PROGRAMS.items()
    ]
    if pytestconfig.getoption("--update-layout"):
        programs = EXAMPLES | WORKLOADS
        # On `mpinp` that one takes minutes, and calls nothing that the others do not.
        runs = [
            (each, "", name, *how)
            for each in machines()
            for name, how in programs.items()
            if name != "lattice" or each.partition("/")[0] not in SLOW
        ]
    found = set[str]().union(
        *two_at_a_time(
            lambda run: executed(tmp_path, *run[:2], examples / run[2], run[3], *run[4]),
            [*runs, SEGMENTS],
        )
    )
    functions = {part: names & found for part, names in parts().items()}
    if pytestconfig.getoption("--update-layout"):
        before = layout.read(LAYOUT)
        layout.write(LAYOUT, {part: sorted(functions[part]) for part in before | functions})
    laid_out = layout.read(LAYOUT)
    missing = {
        part: sorted(names - set(laid_out.get(part, []))) for part, names in functions.items()
    }
    assert not any(missing.values()), f"not in {LAYOUT}: {missing}; run with --update-layout"


# A function that all programs have and none here executes.
COLD = "chq_error_text"

DUMMY = r"""
#include "mpi/device.h"

static volatile char zeros[64 << 10], data[8 << 10] = { 1 };

static bool dummy_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    __asm__ volatile(".zero 20 << 10");
    data[ni->device] = zeros[ni_fd];
    return true;
}

static void dummy_poll(void) {}

struct mpi_device mpi_device_dummy = {
    .name = "a dummy, with a text that no other has",
    .id = 12345,
    .open = dummy_open,
    .poll = dummy_poll,
};
"""


# At the end of each file of the library.
MORE = """
extern const int chq_more_{n}[9];
const int chq_more_{n}[9] = {{ {n} }};
const char *chq_more_text_{n}(void);
const char *chq_more_text_{n}(void)
{{
    return "a text that {file} did not have";
}}
"""


def enlarge(place: Path) -> None:
    """Copies the guest's sources, adds a device, 4 KiB to a function that no program here executes,
    and to each file of the library a text and constants that no program here reads."""
    for name, source in (("guest", toolchain.GUEST), ("machines", MACHINES)):
        shutil.copytree(source, place / name)
    (place / "machines" / "dummy").mkdir()
    (place / "machines" / "dummy" / "device.c").write_text(DUMMY)
    devices = place / "guest" / "mpi" / "devices.c"
    text = devices.read_text()
    last = re.findall(r"DEVICE\((\w+)\)\n#endif", text)[0]
    devices.write_text(text.replace(f"DEVICE({last})\n", f"DEVICE({last}) DEVICE(dummy)\n"))
    cold = place / "guest" / "mpi" / "comm" / "error_codes.c"
    text = cold.read_text()
    head = f"const char *{COLD}(int code)\n{{\n"
    assert head in text
    more = '__asm__ volatile(".zero 4096" ::"r"("a text that was not there before"));'
    cold.write_text(text.replace(head, f"{head}    if (code == -1)\n        {more}\n"))
    for n, file in enumerate(sorted((place / "guest" / "mpi").glob("*/*.c"))):
        with file.open("a") as end:
            end.write(MORE.format(n=n, file=file.name))


def build(place: Path, kind: str) -> dict[str, Path]:
    """The golden programs, by one of the toolchains."""
    place.mkdir()
    programs = {}
    for name in PROGRAMS:
        source = str(ROOT / "examples" / f"{name}.c")
        words = [f"--toolchain={kind}", "-O2", "-std=c11", source, "-o", str(place / name), "-lm"]
        assert compiler.run(compiler.plan("cc", words)) == 0
        programs[name] = place / name
    return programs


@pytest.mark.parametrize("kind", ["zig", *[pytest.param("gnu", marks=pytest.mark.gnu)] * SWEEP])
@pytest.mark.turn(0)
def test_what_is_not_executed_moves_no_time(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    kind: str,
) -> None:
    assert COLD not in layout.read(LAYOUT)[""]
    before = build(tmp_path / "before", kind)
    zig_cache = toolchain.zig_environment()  # where musl is built already
    enlarge(tmp_path / "enlarged")
    # Both kinds link the same library: it is built once.
    larger = shared_place(tmp_path_factory, "enlarged")
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(larger))
    monkeypatch.setattr(toolchain, "GUEST", tmp_path / "enlarged" / "guest")
    monkeypatch.setattr(toolchain, "MACHINES", tmp_path / "enlarged" / "machines")
    monkeypatch.setattr(toolchain, "zig_environment", lambda: zig_cache)
    after = build(tmp_path / "after", kind)
    monkeypatch.undo()

    def times(run: tuple[str, str, Path]) -> str:
        machine, name, program = run
        out = tmp_path / f"{machine.replace('/', '-')}-{program.parent.name}-{name}"
        ranks, arguments = PROGRAMS[name]
        words = ["run", "-q", "--out", str(out), "-np", str(ranks), "--machine", machine, "--"]
        done = command(*words, program, *arguments, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return in_words(out)

    for name in PROGRAMS:
        symbols = [elf.symbols(programs[name]) or set() for programs in (before, after)]
        assert COLD in symbols[0]
        assert "mpi_device_dummy" in symbols[1], "it is not linked: nothing is shown"
        sizes = [os.path.getsize(programs[name]) for programs in (before, after)]
        assert sizes[1] > sizes[0] + (20 << 10)
    runs = [
        (machine, name, programs[name])
        for machine in (machines() if SWEEP else DEVICES.values())
        for name in PROGRAMS
        for programs in (before, after)
    ]
    found = two_at_a_time(times, runs)
    different = {
        f"{machine} {name}"
        for (machine, name, _), old, new in zip(runs[::2], found[::2], found[1::2], strict=True)
        if old != new
    }
    assert not different


# Of variables with and without values, of constants, of each thread's own, and of functions; with
# no variable beside it a program has an empty part before the aligned one.
ALIGNED = {
    "zeros": "_Alignas({0}) char all[100000];",
    "values": "_Alignas({0}) char all[100] = {{1}};",
    "constants": "_Alignas({0}) const volatile char all[100] = {{1}};",
    "threads": "_Alignas({0}) _Thread_local char all[100] = {{1}};",
    "functions": "__attribute__((aligned({0}), noinline)) void all(void) {{}}",
    "both": "_Alignas({0}) char all[9]; _Alignas({0}) volatile char other[9] = {{2}}; int w = 3;",
}
ALIGNED_MAIN = """
int main(void)
{{
    unsigned long odd = (unsigned long)all % {0};
    printf("%lu\\n", odd);
    return 0;
}}
"""


@pytest.mark.parametrize(
    "flags", [[], *[pytest.param(["--toolchain", "gnu"], marks=pytest.mark.gnu)] * SWEEP]
)
def test_an_alignment_beyond_a_page_is_kept(
    compile_c: Compiler, chasqui: Run, flags: list[str]
) -> None:
    for bytes_aligned in (8192, 65536, 1 << 24) if SWEEP else (65536,):
        for kind in ALIGNED if SWEEP else ("zeros", "constants"):
            text = ALIGNED[kind]
            source = "#include <stdio.h>\n" + (text + ALIGNED_MAIN).format(bytes_aligned)
            program = compile_c(f"aligned-{kind}-{bytes_aligned}", source, "-O1", *flags)
            done = chasqui("run", "-q", "-np", "1", "--", program)
            assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", ""), (kind, source)
