"""Names of MPI in C, C++ and Fortran sources: by their text, outside comments and strings.

Nothing is preprocessed: what `#ifdef` may leave out is seen too, with the condition that it stands
behind, but not what stands after `#if 0`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from pathlib import Path

C = frozenset(".c .h .cc .cpp .cxx .c++ .C .hh .hpp .hxx .h++ .H .inl .ipp .tpp .cu .inc".split())
FIXED = frozenset(".f .for .ftn .f77 .F .FOR .FTN .F77".split())
FREE = frozenset(".f90 .f95 .f03 .f08 .F90 .F95 .F03 .F08".split())
ENDINGS = C | FIXED | FREE

# In each pattern a name of MPI, from behind MPI, is a group; what only keeps names from being found
# is none. Every alternative begins with a letter of its own: only so is the search fast.
C_TOKEN = re.compile(
    r"""
    //(?:[^\\\n]|\\.)*                            # comments
    | /\*.*?(?:\*/|\Z)
    | R(?<!\wR)"([^()\\\s]{0,16})\(.*?\)\1"        # strings and characters
    | "(?:[^"\\\n]|\\.)*"
    | '(?:[^'\\\n]|\\.){1,10}'
    | \#[ \t]*define[ \t]+(?P<defined>\w+)
    | \#[ \t]*(?:(?:el)?if|ifn?def|else|endif|undef|pragma|error)\b(?:(?!/[/*])[^\\\n]|\\.)*
    | \#[ \t]*include[ \t]*[<"](?P<omp>omp\.h)[>"]
    | M(?<!\wM)PI(?P<name>X?_[A-Z]\w*)
    | P(?<!\wP)MPI(?P<profiling>X?_[A-Z]\w*)
    | M(?<![\w:]M)PI\s*::\s*(?P<cxx>[A-Z]\w*)
    """,
    re.DOTALL | re.VERBOSE,
)
# For texts in capitals that begin with a line's end.
FORTRAN = r"""
    ![^\n]*
    | '(?:[^'\n]|'')*'
    | "(?:[^"\n]|"")*"
    | \n[ \t]*\#[^\n]*
    | M(?<!\wM)PI(?P<name>_[A-Z]\w*)
    | P(?<!\wP)MPI(?P<profiling>_[A-Z]\w*)
    """
FREE_TOKEN = re.compile(FORTRAN, re.VERBOSE)
FIXED_TOKEN = re.compile(rf"\n[C*][^\n]* | {FORTRAN}", re.VERBOSE)

# A word that begins so, or with P and then so.
ANY_NAME = re.compile(rb"M(?<![0-9A-OQ-Z_a-z]M)PI\s*[X_:]|omp\.h\b")
FORTRAN_LINE = re.compile(rb"(?im)^[ \t]+(?:integer|parameter|common|external)\b[^;\n]*$")
CONDITION = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(0\b)?", re.MULTILINE
)
DIRECTIVE = re.compile(r"(?:[^\\\n]|\\.)*", re.DOTALL)  # with the lines that continue it
OWN_NAMESPACE = re.compile(r"\b(?:namespace|class|struct)\s+MPI\b")
WORD = string.ascii_letters + string.digits + "_"
# Words after which a name is used, not declared.
USED_AFTER = frozenset("return else do case throw co_return co_await co_yield and or not".split())
TYPES = frozenset("void int double char".split())
DEFINED_AFTER = frozenset("SUBROUTINE FUNCTION INTERFACE MODULE ENTRY PROCEDURE".split())


@dataclass
class Found:
    """What a file says of MPI."""

    uses: dict[str, list[int]] = field(default_factory=dict)  # name -> lines
    calls: set[str] = field(default_factory=set)  # of these the ones with a parenthesis
    declared: set[str] = field(default_factory=set)
    conditions: dict[int, str] = field(default_factory=dict)  # line -> that it stands behind
    openmp: dict[int, bool] = field(default_factory=dict)  # line of an include -> only with OpenMP
    fortran: bool = False


def scan(path: Path) -> Found:
    """Reads one file."""
    data = path.read_bytes()
    suffix = path.suffix
    found = Found(fortran=suffix not in C or _is_fortrans(suffix, data))
    # Most files of most programs say nothing of MPI.
    if not ANY_NAME.search(data.upper() if found.fortran else data):
        return found
    text = data.decode("utf-8", "replace")
    if found.fortran:
        _fortran(found, text, FREE_TOKEN if suffix in FREE else FIXED_TOKEN)
    else:
        _c(found, _without_if_0(text))
    return found


def _is_fortrans(suffix: str, data: bytes) -> bool:
    """Whether a header is Fortran's, as mpif.h is."""
    return suffix in (".h", ".inc") and b"{" not in data and bool(FORTRAN_LINE.search(data))


def _c(found: Found, text: str) -> None:
    lines, code = _Lines(text), 0  # where the code before a name begins
    conditions = _Conditions(text)
    for match in C_TOKEN.finditer(text):
        if match["defined"]:
            found.declared.add(match["defined"])
        if match["omp"]:
            found.openmp[lines.of(match.start())] = _is_for_openmp(text[: match.start()])
        if match["cxx"] and not OWN_NAMESPACE.search(text):
            _add(
                found, f"MPI::{match['cxx']}", lines.of(match.start()), conditions.of(match.start())
            )
        name = _name(match)
        if not name:
            code = match.end()
            continue
        after = text[match.end() : match.end() + 80].lstrip()
        if _is_declared(text[max(code, match.start() - 200) : match.start()], after):
            found.declared.add(name)
            continue
        _add(found, name, lines.of(match.start()), conditions.of(match.start()))
        if after.startswith("("):
            found.calls.add(name)


def _is_for_openmp(before: str) -> bool:
    """Whether what follows stands behind an `#ifdef _OPENMP`, and so is left out without OpenMP."""
    conditions: list[bool] = []
    for match in CONDITION.finditer(before):
        if match[1].startswith("if"):
            conditions.append(False)
        if not conditions:
            continue
        if match[1] == "endif":
            conditions.pop()
        else:
            condition = before[match.end() :].partition("\n")[0]
            conditions[-1] = "_OPENMP" in condition and match[1] not in ("ifndef", "else")
    return any(conditions)


def _name(match: re.Match[str]) -> str | None:
    if match["name"]:
        return f"MPI{match['name']}"
    return f"PMPI{match['profiling']}" if match["profiling"] else None


def _word_before(text: str) -> tuple[str, str]:
    """The last word of the text, and the blanks and operators of pointers behind it."""
    stripped = text.rstrip(" \t\r\n*&")
    word = stripped[len(stripped.rstrip(WORD)) :]
    return word, text[len(stripped) :]


def _is_declared(before: str, after: str) -> bool:
    """Whether a name is declared or defined, not used: `int MPI_Send(…`, `typedef … MPI_Comm;`."""
    word, between = _word_before(before)
    if not word:
        return False
    if after.startswith("("):
        # `a * MPI_Wtime()` is an expression; `void *MPI_f(` and `int MPI_f(` are declarations.
        operator = between.strip() != "" and word not in TYPES
        # What stands alone on the line before is a type, or a macro: then the line is indented.
        indented = "\n" in between and between[-1] in " \t"
        return not (word in USED_AFTER or word.isdigit() or operator or indented)
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
    text = "\n" + text.upper()
    lines = _Lines(text, line=0)
    for match in token.finditer(text):
        name = _name(match)
        if not name:
            continue
        word, _ = _word_before(text[max(0, match.start() - 80) : match.start()])
        if word in DEFINED_AFTER:
            found.declared.add(name)
        else:
            _add(found, name, lines.of(match.start()))


def _add(found: Found, name: str, line: int, condition: str = "") -> None:
    if condition:
        found.conditions[line] = condition
    lines = found.uses.setdefault(name, [])
    if not lines or lines[-1] != line:
        lines.append(line)


class _Conditions:
    """The directive that decides whether a place in a C text is compiled, the innermost; for places
    that come in order. Not those that say nothing of a program: guards of headers, C++, `#if 1`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.directives = CONDITION.finditer(text)
        self.next = next(self.directives, None)
        self.open: list[str] = []

    def of(self, place: int) -> str:
        while self.next and self.next.start() < place:
            self._pass(self.next)
            self.next = next(self.directives, None)
        return next((each for each in reversed(self.open) if each), "")

    def _pass(self, match: re.Match[str]) -> None:
        word = match[1]
        if word.startswith("if"):
            self.open.append(self._shown(match))
        elif self.open and word == "endif":
            self.open.pop()
        elif self.open and word == "elif":
            self.open[-1] = self._shown(match)
        elif self.open and self.open[-1]:
            self.open[-1] = f"#else of {self.open[-1].removeprefix('#else of ')}"

    def _shown(self, match: re.Match[str]) -> str:
        line = DIRECTIVE.match(self.text, match.start())
        directive = " ".join(re.sub(r"//.*|/\*.*?\*/|\\\n", " ", line[0] if line else "").split())
        _, _, condition = directive.replace("# ", "#").partition(" ")
        behind = self.text[line.end() if line else match.end() :]
        is_guard = re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(condition)}\b", behind) is not None
        if is_guard or "__cplusplus" in condition or condition == "1":
            return ""
        return (
            f"#{match[1]} {condition}" if len(condition) < 40 else f"#{match[1]} {condition[:36]} …"
        )


class _Lines:
    """From a place in a text to its line, for places that come in order."""

    def __init__(self, text: str, line: int = 1) -> None:
        self.text, self.at, self.line = text, 0, line

    def of(self, place: int) -> int:
        self.line += self.text.count("\n", self.at, place)
        self.at = place
        return self.line
