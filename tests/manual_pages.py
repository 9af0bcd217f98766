"""Pages of the manual as a reader types them: files are written, commands executed in a shell, and
what a page shows is compared with what they print.

A block of code in `sh` is commands. A block in `text` right behind it is what they print: its lines
in this order, others may stand between them, `…` is any text, and a line `…` lines that are left
out. `# status N` behind a command is its exit status, if not 0; what the comment has between
backquotes is printed. Any other block whose first line is a comment of one name, `# fast.toml`, is
that file; those of docs/manual/files lie there, too. A comment before a block in `sh` says what
keeps it from being executed each time:

    <!-- nightly: REASON -->    `make sweep` and `make nightly` execute it
    <!-- nightly, in a clone: REASON -->    and in a copy of the sources
    <!-- not executed: REASON -->
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conftest import ROOT

MANUAL = ROOT / "docs" / "manual"
PROGRAMS = ("ring", "cg", "heat", "sort")  # of examples, compiled
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>nightly|nightly, in a clone|not executed): (?P<reason>[^>]+) -->\n)?"
    r"^```(?P<language>[\w-]+)\n(?P<body>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"(?://|#) ([\w./-]+\.\w+)\b.*")
STATUS = re.compile(r"^(.*\S) +# status (\d+)$")
TIMEOUT_S = 900
CLONE_TIMEOUT_S = 7200  # it compiles all, twice
IN_A_CLONE = "nightly, in a clone"
MARK = "=== block"


@dataclass(frozen=True)
class Block:
    """Commands, with what the page says that they print."""

    line: int  # of the page
    mark: str  # as above, or nothing
    commands: str
    shown: str


def pages() -> list[Path]:
    return sorted(MANUAL.glob("**/*.md"))


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found: list[Block] = []
    end = -1
    for each in BLOCK.finditer(text):
        if each["language"] == "sh":
            line = text.count("\n", 0, each.start("body"))
            found.append(Block(line, each["mark"] or "", each["body"], ""))
            end = each.end()
        elif each["language"] == "text" and found and not text[end : each.start()].strip():
            last = found.pop()
            found.append(Block(last.line, last.mark, last.commands, each["body"]))
    return found


def files(page: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of the files that a page shows."""
    for each in BLOCK.finditer(page.read_text()):
        name = FILE.fullmatch(each["body"].partition("\n")[0])
        if name and each["language"] not in ("sh", "text"):
            yield name[1], each["body"]


def is_executed(block: Block) -> bool:
    return not block.mark or (block.mark == "nightly" and "CHASQUI_SWEEP" in os.environ)


def execute(page: Path, examples: Path, place: Path) -> list[str]:
    """Executes a page in a folder; what is wrong with it."""
    (place / "examples").symlink_to(ROOT / "examples")
    for program in PROGRAMS:
        (place / program).symlink_to(examples / program)
    for file in (MANUAL / "files").iterdir():
        shutil.copy(file, place)
    for name, text in files(page):
        (place / name).write_text(text)
    todo = [block for block in blocks(page) if is_executed(block)]
    return _execute(page, todo, place, _environment(place), TIMEOUT_S) if todo else []


def execute_in_a_clone(page: Path, place: Path) -> list[str]:
    """The same of what is typed in a clone, here a copy of the sources in which nothing is made."""
    todo = [block for block in blocks(page) if block.mark == IN_A_CLONE]
    environment = _environment(place)
    for name in ("CARGO_TARGET_DIR", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    environment["PATH"] = f"{place / '.venv' / 'bin'}:{environment['PATH']}"
    return _execute(page, todo, place, environment, CLONE_TIMEOUT_S)


def _execute(
    page: Path, todo: list[Block], place: Path, environment: dict[str, str], timeout_s: int
) -> list[str]:
    script = "".join(f"echo '{MARK} {at}'\n{_typed(block)}" for at, block in enumerate(todo))
    done = subprocess.run(
        ["bash", "-e"], input=script, cwd=place, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s, check=False,
    )  # fmt: skip
    if done.returncode:
        return [f"{page.name}: status {done.returncode}\n{done.stdout[-3000:]}"]
    printed = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    return [
        f"{page.name}:{block.line}: not printed: {line!r}\n{text}"
        for block, text in zip(todo, printed, strict=True)
        if (line := missing(block.shown, text) or unsaid(block.commands, text)) is not None
    ]


def _typed(block: Block) -> str:
    """The commands; those that end with another status than 0 must end with that."""
    lines = [STATUS.sub(r"\1 || [ $? -eq \2 ]", line) for line in block.commands.splitlines()]
    return "\n".join(lines) + "\n"


def _environment(place: Path) -> dict[str, str]:
    """With this interpreter's `chasqui` and `python3`, and no settings of the user's."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("CHASQUI_")}
    tools = f"{Path(sys.executable).parent}:{Path(sys.prefix) / 'libexec' / 'chasqui' / 'bin'}"
    return own | {"PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "100", "PWD": str(place)}


def unsaid(commands: str, printed: str) -> str | None:
    """What a command's comment has between backquotes and is not printed."""
    texts = re.findall(r" # [^\n]*?`([^`]+)`", commands)
    return next((text for text in texts if text not in printed), None)


def missing(shown: str, printed: str) -> str | None:
    """The first line of a page that was not printed behind those before it."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() in ("", "…"):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")))
        if not any(pattern.fullmatch(each.rstrip()) for each in rest):
            return line
    return None
