"""The fields and columns of a run directory's files, and the units of machine files: from the
sources that write and read them."""

from __future__ import annotations

import re

from chasqui import messages as record
from chasqui.manual import rust
from chasqui.manual.markdown import code, escaped, table

OPTIONAL = "skip_serializing_if"
UNITS = rust.ROOT / "crates" / "config" / "src" / "units.rs"


def summary() -> str:
    return _fields("Summary")


def host() -> str:
    return _fields("Host")


def _fields(struct: str) -> str:
    rows = [
        [code(field.name), _what(field.doc, field.attributes)] for field in rust.flattened(struct)
    ]
    return table(["field", "what"], rows)


def _what(doc: str, attributes: str) -> str:
    mark = " *Left out where there is none.*" if OPTIONAL in attributes else ""
    return escaped(doc) + mark


def outcomes() -> str:
    """How a run may end, as `outcome` says it."""
    rows = [[code(each.name), escaped(each.doc)] for each in rust.variants("summary.rs", "Outcome")]
    return table(["outcome", "when"], rows)


def messages() -> str:
    """The columns of messages.parquet: what names a message, then its stages."""
    named = {
        each.name: each for name in ("MessageId", "Description") for each in rust.structs()[name]
    }
    mechanism = next(each for each in rust.structs()["Message"] if each.name == "protocol")
    named["mechanism"] = rust.Field(
        "mechanism", "", mechanism.doc.replace(", a number that the machine names", "")
    )
    stages = {
        each.type.split(",")[0].strip('"'): each for each in rust.declared("stage.rs", "stages")
    }
    rows = [[code(name), "", escaped(named[name].doc)] for name in record.NAMES]
    for name in record.STAGES:
        keeps = stages[name].type.split()[-1]
        rows.append([code(name), f"the {keeps}", escaped(stages[name].doc)])
    return table(["column", "of several times", "what"], rows)


def differences() -> str:
    """Parts of messages' lives, `stages` of summary.json."""
    found = rust.declared("differences.rs", "differences")
    rows = [[code(each.name), code(each.type.split('"')[1]), escaped(each.doc)] for each in found]
    return table(["part", "from the stages", "what"], rows)


def units() -> str:
    """Units of quantities, by kind."""
    text = UNITS.read_text()
    kinds = re.findall(
        r'name: "(\w+)",\s*example: "([^\n]*)",\s*base: "[^"]*",\s*units: &\[(.*?)\n?\s*\],?\n',
        text,
        re.DOTALL,
    )
    assert kinds, f"{UNITS} declares its units otherwise"
    rows = [
        [
            kind,
            ", ".join(
                code(word)
                for word in re.findall(r'unit\("([^"]+)"|word: "([^"]+)"', units_of)
                for word in word
                if word
            ),
            code(example.replace('\\"', '"')),
        ]
        for kind, example, units_of in kinds
    ]
    return table(["quantity", "units", "example"], rows)
