"""Names of MPI in C, C++ and Fortran sources: by their text, outside comments and strings.

Nothing is preprocessed: what `#ifdef` leaves out is seen too, but not what stands after `#if 0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

C = frozenset(".c .h .cc .cpp .cxx .c++ .C .hh .hpp .hxx .h++ .H .inl .ipp .tpp .cu .m".split())
FIXED = frozenset(".f .for .ftn .f77 .F .FOR .FTN .F77".split())
FREE = frozenset(".f90 .f95 .f03 .f08 .F90 .F95 .F03 .F08".split())
ENDINGS = C | FIXED | FREE

# In each pattern a name is a group; what only keeps names from being found is none.
C_TOKEN = re.compile(
    r"""
    //(?:[^\\\n]|\\.)*                              # comments
    | /\*.*?(?:\*/|\Z)
    | \bR"([^()\\\s]{0,16})\(.*?\)\1"               # strings and characters
    | "(?:[^"\\\n]|\\.)*"
    | '(?:[^'\\\n]|\\.){1,10}'
    | ^[ \t]*\#[ \t]*(?:el)?if(?:n?def)?\b(?:(?!/[*/])[^\\\n]|\\.)*   # conditions
    | \b(?P<name>P?MPIX?_[A-Z]\w*)
    | (?<![\w:])MPI\s*::\s*(?P<cxx>[A-Z]\w*)
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
FORTRAN = r"""
    ![^\n]*
    | '(?:[^'\n]|'')*'
    | "(?:[^"\n]|"")*"
    | ^[ \t]*\#[^\n]*
    | \b(?P<name>P?MPI_[A-Z]\w*)
    """
FREE_TOKEN = re.compile(FORTRAN, re.IGNORECASE | re.MULTILINE | re.VERBOSE)
FIXED_TOKEN = re.compile(rf"^[c*][^\n]* | {FORTRAN}", re.IGNORECASE | re.MULTILINE | re.VERBOSE)

CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(0\b)?", re.MULTILINE)
OWN_NAMESPACE = re.compile(r"\b(?:namespace|class|struct)\s+MPI\b")
WORD_BEFORE = re.compile(r"(\w+)[\s*&]*\Z")
# Words after which a name is used, not declared.
USED_AFTER = frozenset("return else do case throw co_return co_await co_yield and or not".split())
TYPES = frozenset("void int double char".split())
DEFINED_AFTER = frozenset("subroutine function interface module entry procedure".split())


@dataclass
class Found:
    """What a file says of MPI."""

    uses: dict[str, list[int]] = field(default_factory=dict)  # name -> lines
    calls: set[str] = field(default_factory=set)  # of these the ones with a parenthesis
    declared: set[str] = field(default_factory=set)
    fortran: bool = False


def scan(path: Path) -> Found:
    """Reads one file."""
    data = path.read_bytes()
    suffix = path.suffix
    found = Found(fortran=suffix not in C)
    # Most files of most programs say nothing of MPI.
    if b"MPI" not in (data.upper() if found.fortran else data):
        return found
    text = data.decode("utf-8", "replace")
    if found.fortran:
        _fortran(found, text, FIXED_TOKEN if suffix in FIXED else FREE_TOKEN)
    else:
        _c(found, _without_if_0(text))
    return found


def _c(found: Found, text: str) -> None:
    lines = _Lines(text)
    own_namespace = OWN_NAMESPACE.search(text) is not None
    for match in C_TOKEN.finditer(text):
        name, cxx = match["name"], match["cxx"]
        if cxx and not own_namespace:
            _add(found, f"MPI::{cxx}", lines.of(match.start()))
        if not name:
            continue
        after = text[match.end() : match.end() + 80].lstrip()
        if _is_declared(text, match, after):
            found.declared.add(name)
            continue
        _add(found, name, lines.of(match.start()))
        if after.startswith("("):
            found.calls.add(name)


def _is_declared(text: str, match: re.Match[str], after: str) -> bool:
    """Whether the name is declared or defined, not used: `int MPI_Send(…`, `#define MPI_Send`."""
    before = text[max(0, match.start() - 200) : match.start()]
    word = WORD_BEFORE.search(before)
    if word is None:
        return False
    if word[1] in ("define", "undef"):
        return True
    if after.startswith("("):
        # `a * MPI_Wtime()` is an expression; `void *MPI_f(` and `int MPI_f(` are declarations.
        operator = ("*" in word[0] or "&" in word[0]) and word[1] not in TYPES
        return word[1] not in USED_AFTER and not word[1].isdigit() and not operator
    return after.startswith(";") and "typedef" in before[before.rfind(";") + 1 :]


def _without_if_0(text: str) -> str:
    """Empties what stands between `#if 0` and its `#else` or `#endif`."""
    if not re.search(r"#[ \t]*if[ \t]+0\b", text):
        return text
    kept, start, depth = [], 0, 0
    for match in CONDITION.finditer(text):
        word = match[1]
        if depth == 0:
            if word == "if" and match[2]:
                kept.append(text[start : match.start()])
                start, depth = match.start(), 1
        elif word.startswith("if"):
            depth += 1
        elif word == "endif" or depth == 1:
            depth -= 1
            if depth == 0:
                kept.append("\n" * text.count("\n", start, match.start()))
                start = match.start()
    rest = text[start:] if depth == 0 else "\n" * text.count("\n", start)
    return "".join([*kept, rest])


def _fortran(found: Found, text: str, token: re.Pattern[str]) -> None:
    lines = _Lines(text)
    for match in token.finditer(text):
        if not match["name"]:
            continue
        name = match["name"].upper()
        word = WORD_BEFORE.search(text[max(0, match.start() - 80) : match.start()])
        if word is not None and word[1].lower() in DEFINED_AFTER:
            found.declared.add(name)
        else:
            _add(found, name, lines.of(match.start()))


def _add(found: Found, name: str, line: int) -> None:
    lines = found.uses.setdefault(name, [])
    if not lines or lines[-1] != line:
        lines.append(line)


class _Lines:
    """From a place in a text to its line, for places that come in order."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1

    def of(self, place: int) -> int:
        self.line += self.text.count("\n", self.at, place)
        self.at = place
        return self.line
