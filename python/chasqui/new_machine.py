"""A machine to begin with: a copy of templates/machine under another name, and the lines by which
the rest of the project lists it.

All that will be written is worked out first; a mistake leaves the sources as they were.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chasqui.errors import InputError

TEMPLATE = Path("templates/machine")
DEVICES = Path("guest/mpi/devices.c")
ABI = Path("guest/include/chasqui/abi.h")
CATALOGUE = Path("crates/sim/src/catalogue.rs")
LOCK = Path("dependencies.lock")
NAME_LENGTH_MAX = 20
DEVICES_WIDTH = 99  # where the lines of the list are continued

# Words with a meaning in the languages that the name is written in.
KEYWORDS = frozenset(
    """
    auto bool break case char const constexpr continue default do double else enum extern false
    float for goto if inline int long nullptr register restrict return short signed sizeof static
    struct switch thread true typedef typeof union unsigned void volatile while asm linux unix

    abstract as async await become box crate dyn final fn gen impl in let loop macro match mod move
    mut override priv pub ref self static super trait try type unsafe unsized use virtual where
    yield core std alloc proc test main lib src

    class def del from import is lambda pass raise with yield

    inf nan
    """.split()
)
# What the project calls otherwise: groups of parameters of every machine, folders, prefixes.
TAKEN = frozenset("about check mpi network node parts variant machine template chasqui chq".split())

Texts = dict[Path, str]


@dataclass(frozen=True)
class Written:
    """What there is now."""

    root: Path
    name: str
    device: int
    changed: list[str]


def root_of(place: Path) -> Path:
    """The sources that `place` is in."""
    for folder in (place, *place.parents):
        if (folder / TEMPLATE / "machine.toml").is_file() and (folder / CATALOGUE).is_file():
            return folder
    raise InputError(
        f"{place} is not inside the sources of chasqui, where new machines are made: "
        "clone the repository, and call new-machine there"
    )


def create(root: Path, name: str) -> Written:
    """Makes the machine `name`."""
    device = _free_device(root)
    _check_name(root, name)
    files = _machine(root, name, device)
    changed = {path: change(_read(root, path), name) for path, change in CHANGES.items()}
    # Beside where they will be: they appear by renaming.
    with tempfile.TemporaryDirectory(prefix=".new-machine-", dir=root) as scratch:
        place = Path(scratch)
        for path, text in {**files, **changed}.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        _format(root, place / "machines" / name / "src" / "lib.rs")
        os.rename(place / "machines" / name, root / "machines" / name)
        for path in changed:
            shutil.copymode(root / path, place / path)
            os.replace(place / path, root / path)
    return Written(root, name, device, sorted(map(str, changed)))


def _read(root: Path, path: Path) -> str:
    try:
        return (root / path).read_text()
    except OSError as error:
        raise InputError(f"{root / path}: {error.strerror}") from error


def _check_name(root: Path, name: str) -> None:
    if not re.fullmatch(rf"[a-z][a-z0-9]{{1,{NAME_LENGTH_MAX - 1}}}", name):
        raise InputError(
            f"{name!r} can't be a machine's name: 2 to {NAME_LENGTH_MAX} small letters and digits "
            "are allowed, a letter first"
        )
    if name in KEYWORDS:
        raise InputError(f"{name!r} can't be a machine's name: a word of C, Rust, Python or TOML")
    is_crate = (root / "crates" / name).exists()
    devices = re.findall(r"\bDEVICE\((\w+)\)", _read(root, DEVICES))
    if name in TAKEN or is_crate or name in devices or (root / "machines" / name).exists():
        raise InputError(f"{name!r} can't be a machine's name: something here is called so already")


def _free_device(root: Path) -> int:
    """A number that no device has."""
    pattern = re.compile(r"pub const (?:\w+_)?DEVICE: u64 = (\d+);")
    found = [
        int(number)
        for path in (root / "machines").glob("*/src/**/*.rs")
        for number in pattern.findall(path.read_text())
    ]
    return max(found, default=0) + 1


# --- the machine ----------------------------------------------------------------------------------


def _machine(root: Path, name: str, device: int) -> Texts:
    """The template's files under the machine's name."""
    files = {}
    for path in sorted((root / TEMPLATE).rglob("*")):
        if path.is_file():
            inside = path.relative_to(root / TEMPLATE)
            files[Path("machines") / name / inside] = _renamed(path.read_text(), name)
    registers = Path("machines") / name / "src" / "registers.rs"
    header = Path("machines") / name / "registers.h"
    files[registers] = _replaced(
        files[registers], "pub const DEVICE: u64 = 0;", f"pub const DEVICE: u64 = {device};"
    )
    prefix = f"#define CHASQUI_{name.upper()}_"
    files[header] = _with_interface(
        _replaced(files[header], f"{prefix}DEVICE 0x0ull", f"{prefix}DEVICE {device:#x}ull"),
        f"{prefix}INTERFACE ",
        _read(root, ABI),
    )
    return files


def _renamed(text: str, name: str) -> str:
    text = text.replace(str(TEMPLATE), f"machines/{name}")
    text = text.replace("TEMPLATE", name.upper()).replace("Template", name.capitalize())
    return text.replace("template", name)


def _with_interface(header: str, define: str, abi: str) -> str:
    """The header with the number that names its definitions (`DeviceHeader::interface` in
    crates/abi/src/header.rs, which the crate's test compares)."""
    before, found, rest = header.partition(define)
    line, _, body = rest.partition("\n\n")
    body, end, after = body.rpartition("\n#endif\n")
    if not found or not end:
        raise InputError(f"{TEMPLATE}/registers.h is not as it is generated: make headers")
    _, _, comment = line.partition(" ")
    interface = 0x811C9DC5
    for byte in (abi + body).encode():
        interface = ((interface ^ byte) * 0x01000193) & 0xFFFFFFFF
    return f"{before}{define}{interface:#x}u {comment}\n\n{body}{end}{after}"


def _format(root: Path, crate: Path) -> None:
    """Lines are as long as names are. Where rustfmt is missing `make format` does it later."""
    rustfmt = shutil.which("rustfmt")
    if rustfmt:
        options = ["--edition", "2024", "--config-path", str(root)]
        subprocess.run([rustfmt, *options, str(crate)], capture_output=True, check=False)


# --- what else names it ---------------------------------------------------------------------------


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise InputError(
            f"the sources have {old!r} {text.count(old)} times, where once is expected"
        )
    return text.replace(old, new)


def _line_among(text: str, pattern: str, line: str) -> str:
    """`line` goes among the lines that match, which are sorted."""
    found = list(re.finditer(rf"^{pattern}.*\n", text, re.MULTILINE))
    if not found:
        raise InputError(f"the sources have no line like {pattern!r}, where {line!r} would go")
    at = next((each.start() for each in found if each[0] > line), found[-1].end())
    return f"{text[:at]}{line}\n{text[at:]}"


def _workspace(text: str, name: str) -> str:
    line = f'machine-{name} = {{ path = "machines/{name}" }}'
    return _line_among(text, r"machine-\w+ = ", line)


def _simulator(text: str, name: str) -> str:
    return _line_among(text, r"machine-\w+\.workspace", f"machine-{name}.workspace = true")


def _catalogue(text: str, name: str) -> str:
    machine = f"{name.capitalize()}Machine"
    text = _line_among(text, r"use machine_\w+::", f"use machine_{name}::{machine};")
    listed = re.search(
        r"^pub const CATALOGUE: .* = Catalogue\(&\[\n(?:    .*\n)+", text, re.MULTILINE
    )
    if not listed:
        raise InputError(f"{CATALOGUE}: the list of machines was not found")
    return f"{text[: listed.end()]}    &{machine},\n{text[listed.end() :]}"


def _devices(text: str, name: str) -> str:
    last = re.search(r"^    DEVICE\(\w+\)$", text, re.MULTILINE)
    if not last:
        raise InputError(f"{DEVICES}: the list of devices has no end")
    continued = last[0].ljust(DEVICES_WIDTH) + "\\"
    return text.replace(last[0] + "\n", f"{continued}\n    DEVICE({name})\n")


def _lock(text: str, name: str) -> str:
    """What cargo would write (`make lock`): the machine depends on what the template does."""
    block = re.search(r'^\[\[package\]\]\nname = "machine-template"\n(?:.+\n)+', text, re.MULTILINE)
    if not block:
        raise InputError(f"{LOCK} does not name the template: make lock")
    entry = block[0].replace("machine-template", f"machine-{name}")
    packages = re.finditer(r'^\[\[package\]\]\nname = "([^"]*)"', text, re.MULTILINE)
    at = next((each.start() for each in packages if each[1] > f"machine-{name}"), len(text))
    text = f"{text[:at]}{entry}\n{text[at:]}"
    before, found, after = text.partition('[[package]]\nname = "chasqui-sim"\n')
    return before + found + _line_among(after, r' "machine-\w+', f' "machine-{name}",')


CHANGES: dict[Path, Callable[[str, str], str]] = {
    Path("Cargo.toml"): _workspace,
    Path("crates/sim/Cargo.toml"): _simulator,
    CATALOGUE: _catalogue,
    DEVICES: _devices,
    LOCK: _lock,
}
