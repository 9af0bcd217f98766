"""Where an export goes: a file or a folder that appears whole, in place of another of its kind."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from chasqui.errors import InputError
from chasqui.files import check_writable


def check_file(path: Path, is_own: Callable[[Path], bool], what: str) -> None:
    """Raises InputError where a file can't be written, or another than such an export would be
    replaced."""
    check_writable(path)
    if path.exists() and path.stat().st_size > 0 and not is_own(path):
        raise _other(path, what)


def check_folder(path: Path, is_own: Callable[[Path], bool], what: str) -> None:
    """The same of a folder, all of whose entries must be an export's."""
    place = path.resolve()
    if os.path.lexists(place) and not place.is_dir():
        raise InputError(f"--out {path}: a file; --to {what} makes a folder of this name")
    if place.is_dir() and any(place.iterdir()) and not is_own(place):
        raise _other(path, what)
    check_writable(place.with_name(f".{place.name[:200]}.{os.getpid()}"))


def _other(path: Path, what: str) -> InputError:
    return InputError(
        f"--out {path}: is there already, and no export to {what}; name another place"
    )


@contextlib.contextmanager
def replaced(path: Path, is_folder: bool) -> Iterator[Path]:
    """What is written to the path that it gives is at `path` when all is done, or nothing is."""
    place = path.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f".{place.name[:200]}.{os.getpid()}")
    before = place.with_name(f"{partial.name}.before")
    try:
        if is_folder:
            partial.mkdir()
        yield partial
        if is_folder and place.is_dir():
            place.rename(before)
        partial.replace(place)
    except BaseException:
        if before.exists() and not place.exists():
            before.rename(place)
        raise
    finally:
        for each in (partial, before):
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)


def begins(*texts: tuple[str, bytes]) -> Callable[[Path], bool]:
    """Whether a folder holds these files and no others, each of which begins with its text; or,
    with one text for the name "", a file does."""

    def is_own(path: Path) -> bool:
        if texts[0][0] == "":
            return _begins(path, texts[0][1])
        known = dict(texts)
        return all(
            each.name in known and each.is_file() and _begins(each, known[each.name])
            for each in path.iterdir()
        )

    return is_own


def _begins(path: Path, text: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(text)) == text
