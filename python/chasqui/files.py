"""Files that commands read. What is missing, no file or damaged is one message that names it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from chasqui.errors import InputError

# What a part of a JSON file must be: a whole number that is not negative (`int`), a text (`str`),
# true or false (`bool`), a list of parts, an object with these names among others, or one of any
# names (`{str: part}`).
Shape: TypeAlias = "type | list[Shape] | dict[Any, Shape]"

NUMBER_MAX = (1 << 64) - 1
WORDS: dict[type, str] = {
    int: f"a number from 0 to {NUMBER_MAX}", str: "a text", bool: "true or false",
}  # fmt: skip
SIZE_MAX = 1 << 30  # bytes of a file that is read at once: what is longer is none of a run's
TEXT_MAX = 1 << 26  # of one that is read, or shown, by people


def check_regular(path: Path) -> None:
    """Raises InputError if something is there that is no file: a pipe or a device may never end."""
    if path.exists() and not path.is_file():
        what = "a directory; a file is allowed" if path.is_dir() else "not a regular file"
        raise InputError(f"{path}: {what}")


def missing(path: Path, written_by: str) -> InputError:
    """That there is no such file, which is in a run directory, or in one of its jobs'."""
    jobs = sorted(job.parent.name for job in path.parent.glob(f"job*/{path.name}"))
    if jobs:
        return InputError(f"{path.parent} is of several jobs: name one, {path.parent / jobs[0]}")
    return InputError(f"{path}: no such file; {written_by} writes it")


def read_bytes(path: Path, written_by: str, most: int = SIZE_MAX) -> bytes:
    """What a regular file of up to `most` bytes holds. Raises InputError."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            # What is known to be longer is not read first.
            if os.fstat(file.fileno()).st_size <= most:
                found = file.read(most + 1)
                if len(found) <= most:
                    return found
    except FileNotFoundError:
        raise missing(path, written_by) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    raise InputError(f"{path}: longer than {most >> 20} MiB, which is the most that is read")


def read_text(path: Path, written_by: str, most: int = SIZE_MAX, *, errors: str = "strict") -> str:
    """The same as text. Raises InputError, also where it is none."""
    content = read_bytes(path, written_by, most)
    try:
        return content.decode(errors=errors)
    except UnicodeDecodeError as error:
        raise damaged(str(path), str(error)) from None


def read_json(path: Path, written_by: str, parse_float: Callable[[str], Any] | None = None) -> Any:
    """What a JSON file holds, its fractions by `parse_float`. Raises InputError."""
    content = read_bytes(path, written_by)
    try:
        return json.loads(content.decode(), parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file, or raises InputError and leaves what was there as it was. What is no file of
    one name, as a device, a pipe or a link, is written to where it is; nothing waits for a pipe's
    reader."""
    with _named(path):
        if _is_plain(path):
            _replace(path, text)
        else:
            _write_through(path, text)


def write_together(texts: Mapping[Path, str]) -> None:
    """Writes regular files, whose folders are made, or raises InputError and leaves all as they
    were. The last of them is the last to appear."""
    for path in texts:
        check_writable(path)
    partials: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            with _named(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                partials[path] = _partial(path)
                with partials[path].open("x") as file:
                    file.write(text)
                if path.exists():
                    shutil.copymode(path, partials[path])
        for path, partial in partials.items():
            with _named(path):
                partial.replace(path.resolve())
    finally:
        for partial in partials.values():
            partial.unlink(missing_ok=True)


def check_replaced(path: Path, begins: bytes, what: str) -> None:
    """Raises InputError where a file would be replaced that does not begin with `begins` as `what`
    does: a program or a source, by a slip of the hand. What can't be looked at is left to who
    writes it."""
    with contextlib.suppress(PermissionError):
        if path.is_file() and path.stat().st_size > 0:
            with path.open("rb") as file:
                if file.read(len(begins)) != begins:
                    other = f"is there already, and no {what}; name another file"
                    raise InputError(f"-o {path}: {other}")


def check_writable(path: Path) -> None:
    """Raises InputError if a regular file can't be written: tries to make one beside it, or where
    its folder would be."""
    check_regular(path)
    with _named(path):
        place = next(each for each in path.resolve().parents if each.exists())
        if path.exists():
            path.open("a").close()
    try:
        with tempfile.NamedTemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(f"{place}: no file can be made there: {error.strerror}") from None


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """What the system says of a file that is written names it."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) == errno.ENXIO:
            reason = "nobody reads this pipe"
        raise InputError(f"{path}: {reason}") from None


def _is_plain(path: Path) -> bool:
    """A file that has one name, or none yet."""
    if not os.path.lexists(path):
        return True
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _replace(path: Path, text: str) -> None:
    """Writes beside a file, which must allow it, then puts the new one in its place."""
    exists = path.exists()
    if exists:
        path.open("a").close()
    partial = _partial(path)
    try:
        with partial.open("x") as file:
            file.write(text)
        if exists:
            shutil.copymode(path, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Beside a file, or beside what a link leads to: what it will be."""
    path = path.resolve()
    return path.with_name(f".{path.name[:200]}.{os.getpid()}")


def _write_through(path: Path, text: str) -> None:
    # What a program's output goes to, by whatever name, is not begun anew.
    is_stream = str(path).startswith(("/dev/", "/proc/"))
    more = os.O_APPEND if is_stream else os.O_TRUNC
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | more)
    os.set_blocking(descriptor, True)
    with open(descriptor, "w") as file:
        file.write(text)


def check_shape(value: Any, shape: Shape, place: str) -> None:
    """Raises InputError, with the place in the file, where a value has another shape."""
    if isinstance(shape, list):
        for number, each in enumerate(_of_type(value, list, "a list", place)):
            check_shape(each, shape[0], f"{place}[{number}]")
    elif isinstance(shape, dict):
        found = _of_type(value, dict, "an object", place)
        expected = dict.fromkeys(found, shape[str]) if str in shape else shape
        for name, each in expected.items():
            if name not in found:
                raise damaged(place, f"it lacks {name!r}")
            check_shape(found[name], each, f"{place}: {name}")
    else:
        _of_type(value, shape, WORDS[shape], place)
        if shape is int and not 0 <= value <= NUMBER_MAX:
            raise damaged(place, f"{WORDS[int]} is expected")


def _of_type(value: Any, kind: type, words: str, place: str) -> Any:
    if type(value) is not kind:  # not isinstance: True is an int
        raise damaged(place, f"{words} is expected")
    return value


def damaged(place: str, what: str) -> InputError:
    """For the message about a file at whose place something is wrong."""
    return InputError(f"{place}: damaged: {what}")
