"""Declarations of the sources in Rust: names with their documentation, of structs whose files a run
writes and of the macros that declare what such files hold.

The sources are formatted and every public name has a doc comment (lints see to both), so that a few
patterns read them; what is not found is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chasqui.new_machine import root_of

ROOT = root_of(Path.cwd())  # the manual is built in a clone
RECORD = ROOT / "crates" / "record" / "src"

DOC = r"(?P<doc>(?:[ \t]*///[^\n]*\n)+)"
ATTRIBUTES = r"(?P<attributes>(?:[ \t]*#\[[^\n]*\]\n)*)"
FIELD = re.compile(rf"{DOC}{ATTRIBUTES}    pub (?P<name>\w+): (?P<type>[^\n]+),\n")
STRUCT = re.compile(
    r"^pub(?:\([^)]*\))? struct (?P<name>\w+) \{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL
)
# `[`end_to_end`](Distribution)`: rustdoc's links are the names alone here.
LINK = re.compile(r"\[(`[^`]+`)\](?:\([^)]*\))?")


@dataclass(frozen=True)
class Field:
    """A name that is declared, and what is said of it."""

    name: str
    type: str
    doc: str
    attributes: str = ""


def sentence(doc: str) -> str:
    """A doc comment as one line; one that only names a constant is that constant's."""
    words = " ".join(line.strip().removeprefix("///").strip() for line in doc.splitlines())
    words = LINK.sub(r"\1", words).strip()
    if not (name := re.fullmatch(r"`([A-Z_]+)`\.", words)):
        return words
    declaration = rf"{DOC}pub const {name[1]}: "
    found = re.search(declaration, (RECORD / "summary.rs").read_text())
    assert found, f"summary.rs has no constant {name[1]}"
    return sentence(found["doc"])


@cache
def structs() -> dict[str, list[Field]]:
    """The public fields of the structs of crates/record that are written, by the struct's name."""
    found: dict[str, list[Field]] = {}
    for path in sorted(RECORD.glob("**/*.rs")):
        for each in STRUCT.finditer(path.read_text()):
            found[each["name"]] = [_field(field) for field in FIELD.finditer(each["body"])]
    found["Shares"] = [*declared("summary.rs", "shares"), *found["WaitParts"], *_otherwise()]
    return found


def _field(found: re.Match[str]) -> Field:
    return Field(found["name"], found["type"], sentence(found["doc"]), found["attributes"])


def _otherwise() -> list[Field]:
    """The field of shares that its macro has no line for."""
    pattern = rf"{DOC}\s*pub (?P<name>waiting_otherwise_ps): (?P<type>\w+),"
    found = re.search(pattern, (RECORD / "summary.rs").read_text())
    assert found, "shares! of summary.rs declares waiting_otherwise_ps no more"
    return [Field(found["name"], found["type"], sentence(found["doc"]))]


def declared(file: str, macro: str) -> list[Field]:
    """The lines of `macro! { … }`, `type` being what stands behind the name."""
    block = re.search(
        rf"^{macro}! \{{\n(.*?)^\}}", (RECORD / file).read_text(), re.MULTILINE | re.DOTALL
    )
    assert block, f"{file} has no {macro}!"
    lines = re.finditer(rf"{DOC}    (?P<name>\w+)(?: = (?P<type>.*?))?;\n", block[1], re.DOTALL)
    found = [Field(each["name"], each["type"] or "u64", sentence(each["doc"])) for each in lines]
    assert found, f"{macro}! of {file} declares nothing"
    return found


def variants(file: str, name: str) -> list[Field]:
    """The variants of an enum, as `rename_all = "lowercase"` and `rename` write them."""
    block = re.search(
        rf"^pub enum {name} \{{\n(.*?)^\}}", (RECORD / file).read_text(), re.MULTILINE | re.DOTALL
    )
    assert block, f"{file} has no enum {name}"
    found = []
    for each in re.finditer(rf"{DOC}{ATTRIBUTES}    (?P<name>\w+),\n", block[1]):
        renamed = re.search(r'rename = "([^"]+)"', each["attributes"])
        word = renamed[1] if renamed else each["name"].lower()
        found.append(Field(word, "", sentence(each["doc"])))
    return found


def flattened(struct: str, prefix: str = "") -> Iterator[Field]:
    """The fields of a struct and of those in it, by their paths: `ranks[].shares.computing_ps`."""
    for field in structs()[struct]:
        inner = next((word for word in re.findall(r"\w+", field.type) if word in structs()), None)
        mark = "[]" if "Vec<" in field.type and inner else ""
        path = f"{prefix}{field.name}{mark}"
        if "flatten" in field.attributes and inner:
            yield from flattened(inner, prefix)
            continue
        yield Field(path, field.type, field.doc, field.attributes)
        if inner:
            yield from flattened(inner, f"{path}.")
