"""Circles: modules of a Rust crate that need each other. Each that there is has its reason here,
and the list only shrinks.

Use this when a module is added or cut: what two modules need of each other stands below both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

# The modules of a circle, and why it stays.
CIRCLES: dict[str, str] = {
    "crates/config: declaration, resolved": (
        "a declaration reads its values from what was resolved, which is by declarations"
    ),
    "crates/directory: protocol, protocol::links, protocol::transfer, protocol::transfer::cast, "
    "protocol::transfer::check, protocol::transfer::flag, protocol::transfer::grant, "
    "protocol::transfer::line, "
    "protocol::transfer::receiver, protocol::transfer::sender": (
        "ends of a transfer are lent the protocol, at whose controllers they take turns with "
        "misses; so are links, whose waits it counts"
    ),
    "crates/hart: hart, run, step, supervisor, threaded, translate": (
        "the loops of one hart: each falls back on the next slower one"
    ),
    "crates/memory: port, port::network": "the network cache's side of the port's accesses",
    "crates/network: fabric, faulty": "faulty links act where a fabric's packets leave and enter",
    "crates/node: io, io::access, parts": "an access is made by what holds the devices",
    "machines/netcache: ethernet, ethernet::receive, ethernet::transmit": (
        "units are lent what they share; the controller puts them together"
    ),
    "machines/netcache: nic, nic::deliver, nic::receive, nic::transmit": "the same",
    "machines/netcache: via, via::complete, via::receive, via::transmit": "the same",
    "machines/voyager: nes, nes::accesses, nes::blocks, nes::command, nes::control, nes::delays, "
    "nes::dma, nes::drain, nes::express, nes::onepoll, nes::receive, nes::refusal, nes::rings, "
    "nes::senders, nes::service, nes::transmit": ("the same, of the NES"),
}

# What a module brings into scope. What it gives on (`pub use`) does not make it need that.
USE = re.compile(r"^\s*use\s+([^;]+);", re.MULTILINE)
GIVEN_ON = re.compile(r"^\s*pub(?:\([^)]*\))? use\s+[^;]+;", re.MULTILINE)
# What it names where it needs it.
NAMED = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
COMMENT = re.compile(r"//[^\n]*")
TESTS = re.compile(r"#\[cfg\(test\)\]\nmod \w+ \{.*", re.DOTALL)
Module = tuple[str, ...]


def paths(tree: str) -> Iterator[str]:
    """The paths of a use tree: `a::{b, c::d}` are `a::b` and `a::c::d`."""
    tree = " ".join(tree.split())
    if not (group := re.fullmatch(r"(.*?)\{(.*)\}", tree)):
        yield tree.split(" as ")[0].strip()
        return
    depth, item = 0, ""
    for letter in group[2] + ",":
        if letter == "," and depth == 0:
            if item.strip():
                yield from paths(group[1] + item.strip())
            item = ""
            continue
        depth += (letter == "{") - (letter == "}")
        item += letter


def modules(source: Path) -> dict[Module, Path]:
    found = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        found[parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts] = path
    return found


def target(path: str, module: Module, known: dict[Module, Path]) -> Module | None:
    """The module that `path`, as written in `module`, leads to; none: it leads out of the crate."""
    first, *rest = path.split("::")
    if first == "crate":
        base: Module = ()
    elif first == "self":
        base = module
    elif first == "super":
        base = module[:-1]
        while rest and rest[0] == "super":
            base, rest = base[:-1], rest[1:]
    elif (*module, first) in known:
        base, rest = module, [first, *rest]
    else:
        return None
    whole = (*base, *rest)
    return next((whole[:n] for n in range(len(whole), 0, -1) if whole[:n] in known), None)


def needs(source: Path) -> dict[Module, set[Module]]:
    """Which modules each module of a crate needs, but for its root, which names all."""
    known = modules(source)
    graph: dict[Module, set[Module]] = {}
    for module, path in known.items():
        text = GIVEN_ON.sub("", COMMENT.sub("", TESTS.sub("", path.read_text())))
        used = [each for use in USE.findall(text) for each in paths(use)]
        used += NAMED.findall(USE.sub("", text))
        found = {target(each, module, known) for each in used}
        graph[module] = {each for each in found if each and each != module}
    return graph


def circles(graph: dict[Module, set[Module]]) -> set[frozenset[Module]]:
    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        ahead = [start]
        while ahead:
            new = graph.get(ahead.pop(), set()) - seen
            seen |= new
            ahead += new
        return seen

    everything = {module: reached(module) for module in graph}
    return {
        frozenset(each for each in everything[module] if module in everything[each])
        for module in graph
        if module in everything[module]
    }


def test_what_counts_as_a_circle() -> None:
    assert list(paths("a::{b, c::{d, e as f}}")) == ["a::b", "a::c::d", "a::c::e"]
    graph: dict[Module, set[Module]] = {("a",): {("b",)}, ("b",): {("a",), ("c",)}, ("c",): set()}
    assert circles(graph) == {frozenset([("a",), ("b",)])}


def test_every_circle_has_a_reason() -> None:
    if not (ROOT / "crates").is_dir():
        pytest.skip("not a clone")
    found = set()
    for source in sorted([*ROOT.glob("crates/*/src"), *ROOT.glob("machines/*/src")]):
        for circle in circles(needs(source)):
            names = sorted("::".join(module) for module in circle)
            found.add(f"{source.parent.relative_to(ROOT)}: {', '.join(names)}")
    assert found == set(CIRCLES)
