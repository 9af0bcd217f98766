"""What documents refer to is there: paths, links, `Type::member` of the Rust sources."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT
from test_style import sources

# A file of the project, by its name or path; nothing that stands for several.
PATH = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*\.(rs|py|c|h|S|toml|md|ld|txt|csv|svg|f90|cjs)")
MEMBER = re.compile(r"([A-Z]\w+)::([A-Za-z_]\w*)(\(\))?")
DEFINED = re.compile(r"\b(?:struct|enum|trait|type|union)\s+([A-Z]\w*)")
IMPLEMENTED = re.compile(r"\bimpl\b[^{;]*?\b([A-Z]\w*)(?:<[^{]*>)?\s*(?:where[^{]*)?\{")
# What a user has, a run writes or another project has.
FOREIGN = ("runs/", "build/", "results/", "target/")
FOREIGN_FILES = {
    "resolved.toml", "histogram.csv", "results.csv", "picture.svg", "report.txt",
    "calls.csv", "messages.csv", "trace.txt",
    "mpif.h", "omp.h", "dtpoolsconf.h", "mpitestconf.h", "IMB_reduce_scatter.c",
}  # fmt: skip
# A function, constant or type; a field or a macro's parameter; a variant of an enum.
DECLARED = re.compile(
    r"\bfn (\w+)|\b(?:const|static|type) (?!fn\b)(\w+)|"
    r"^\s*(?:pub(?:\([^)]*\))? )?(\w+):|^\s*([A-Z]\w*)[,({ ]",
    re.MULTILINE,
)
# Members that macros make.
MADE = {"ALL"}


def documents() -> list[Path]:
    return [path for path in sources(".md") if path.name != "CHANGELOG.md"]


def quoted(path: Path) -> list[str]:
    """What stands between backticks outside of blocks of code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


@cache
def ends() -> set[str]:
    """All files of the project, by all that their paths may end with."""
    paths = [path.relative_to(ROOT).parts for path in sources("")]
    return {"/".join(parts[at:]) for parts in paths for at in range(len(parts))}


ARCHITECTURE_BYTES = 22_000


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_lead_somewhere(document: Path) -> None:
    named = {text for text in quoted(document) if PATH.fullmatch(text)}
    ours = {name for name in named if not name.startswith(FOREIGN)} - FOREIGN_FILES
    missing = {name for name in ours if name not in ends()}
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text())
    missing |= {link for link in links if not (document.parent / link).exists()}
    assert not missing


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_sections_that_are_named_are_there(document: Path) -> None:
    """`[…](file.md#section)`: the section's heading, as GitHub makes it an address."""
    links = re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", document.read_text())
    missing = []
    for path, section in links:
        text = ((document.parent / path) if path else document).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        if section not in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}:
            missing.append(f"{path}#{section}")
    assert not missing


def test_the_code_map_says_what_crates_depend_on() -> None:
    """The column *on* of ARCHITECTURE's table, that of all machines in one row; tests may also use
    `random`."""
    rows = re.findall(
        r"^\| `(?:crates/(?=\w))?([\w/<>]+)` \| [^|]* \| ([^|]*) \|",
        (ROOT / "ARCHITECTURE.md").read_text(),
        re.MULTILINE,
    )
    said = {name: set(re.findall(r"\w+", on)) - {"nothing"} for name, on in rows}
    found: dict[str, set[str]] = {"machines/<name>": set()}
    for manifest in sources("Cargo.toml"):
        folder = manifest.parent.parent.name
        text = manifest.read_text().partition("[dependencies]")[2].partition("\n[")[0]
        ours = set(re.findall(r"^chasqui-(\w+)", text, re.MULTILINE))
        machines = {"every", "machine"} if "\nmachine-" in text else set()
        if folder == "crates":
            found[manifest.parent.name] = ours | machines
        elif folder == "machines":
            found["machines/<name>"] |= ours
    assert {name: on for name, on in said.items() if name in found} == found


def test_what_a_newcomer_reads_first_stays_short() -> None:
    """Picture, map, invariants, the life of a run and of a message; the rest is the crates'."""
    assert (ROOT / "ARCHITECTURE.md").stat().st_size <= ARCHITECTURE_BYTES


@cache
def members() -> dict[str, set[str]]:
    """By type: every name that is declared in the files that define it or have an `impl` for it."""
    found: dict[str, set[str]] = {}
    for path in sources(".rs"):
        text = path.read_text()
        words = {name for names in DECLARED.findall(text) for name in names if name}
        for name in {*DEFINED.findall(text), *IMPLEMENTED.findall(text)}:
            found.setdefault(name, set()).update(words)
    return found


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_members_of_types_exist(document: Path) -> None:
    named = [match for text in quoted(document) if (match := MEMBER.fullmatch(text))]
    stale = {match[0] for match in named if match[2] not in members().get(match[1], set()) | MADE}
    assert not stale
