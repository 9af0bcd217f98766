"""Where an export goes: a file or a folder that appears whole, in place of another of its kind."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from chasqui.errors import InputError
from chasqui.files import check_writable


def check_file(path: Path, is_own: Callable[[Path], bool], what: str) -> None:
    """Raises InputError where a file can't be written, or would replace another than such an
    export."""
    check_writable(path)
    if path.exists() and path.stat().st_size > 0 and not is_own(path):
        raise _other(path, what)


def check_folder(path: Path, is_own: Callable[[Path], bool], what: str) -> None:
    """The same of a folder. What is in it must be all of an export's."""
    place = path.resolve()
    if os.path.lexists(place) and not place.is_dir():
        raise InputError(f"--out {path}: a file; --to {what} makes a folder of this name")
    if place.is_dir() and any(place.iterdir()) and not is_own(place):
        raise _other(path, what)
    check_writable(_beside(place))


def _other(path: Path, what: str) -> InputError:
    return InputError(
        f"--out {path}: is there already, and no export to {what}; name another place"
    )


def _beside(place: Path, ending: str = "") -> Path:
    return place.with_name(f".{place.name[:200]}.{os.getpid()}{ending}")


@contextlib.contextmanager
def replaced(path: Path, is_folder: bool) -> Iterator[Path]:
    """What is written to the path that it gives is at `path` when all is done, or nothing is."""
    place = path.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    partial, before = _beside(place), _beside(place, ".before")
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


def begins(path: Path, text: bytes) -> bool:
    """Whether the file begins so."""
    with path.open("rb") as file:
        return file.read(len(text)) == text


def holds(path: Path, texts: Mapping[str, bytes]) -> bool:
    """Whether in a folder are files of these names and nothing else, and each begins so."""
    return all(
        each.name in texts and each.is_file() and begins(each, texts[each.name])
        for each in path.iterdir()
    )
