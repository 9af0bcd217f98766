"""`--stub-missing`: programs whose missing functions are never called. Each that the linker does
not find gets a body that ends the job and names it (guest/mpi/bindings/missing.c).

The linker says what it lacks; it names so many functions at a time, so it is asked again until it
lacks nothing. Functions of C++ with a signature, which linkers show without their linker's names,
stay missing. So does what nothing calls by its name, which may be a variable: the caller sees to
that.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from chasqui import toolchain

LIBRARY = "chasqui-stubs"
UNDEFINED = re.compile(r"undefined (?:symbol: |reference to [`'])([A-Za-z_]\w*)'?\s*$")

# Links with these options; the linker's lines go to the function, which says that they are its own.
Link = Callable[[Sequence[str], Callable[[str], bool]], int]


def link(link_with: Link) -> tuple[int, list[str]]:
    """Links with bodies for what is missing; the exit status, and the functions."""
    names: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as place:
        options: list[str] = []
        while True:
            lacking: dict[str, None] = {}

            def read(line: str, lacking: dict[str, None] = lacking) -> bool:
                # What has no `main` is no program.
                lacking.update(dict.fromkeys(set(UNDEFINED.findall(line)) - {"main"}))
                return True

            status = link_with(options, read)
            if status == 0 or not lacking.keys() - names.keys():
                break
            names |= lacking
            _compile(list(names), Path(place))
            options = [f"-L{place}", f"-l{LIBRARY}"]
        # What went wrong otherwise has not been shown.
        return status and link_with(options, lambda _: False), list(names)


def _compile(names: Sequence[str], place: Path) -> None:
    source = place / "stubs.c"
    # A stack names where it comes from, not a file that is gone.
    lines = ['#line 1 "--stub-missing"', "_Noreturn void chq_missing(const char *name);"]
    for number, name in enumerate(names):
        lines += [
            f'_Noreturn void stub_{number}(void) __asm__("{name}");',
            f'void stub_{number}(void) {{ chq_missing("{name}"); }}',
        ]
    source.write_text("\n".join(lines) + "\n")
    toolchain.archive(place / f"lib{LIBRARY}.a", [source])
