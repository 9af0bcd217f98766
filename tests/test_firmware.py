"""Firmware images: which files make which.

Use this when python/chasqui/firmware.py or how machines lay out their firmware changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chasqui import firmware


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of machines of its own: one with an image, one with two."""
    texts = {
        "plain/firmware/main.c": "void _start(void) { for (;;) ; }",
        "several/registers.h": "#define WORD 7",
        "several/firmware/common.h": "int answer(void);",
        "several/firmware/shared.c": '#include "common.h"\nvoid _start(void) { answer(); }',
        "several/firmware/thin/main.c": '#include "common.h"\nint answer(void) { return 1; }',
        "several/firmware/thin/own/image.h": "#define OWN 2",
        "several/firmware/thin/own/more.c": "int more(void);\nint more(void) { return OWN - 1; }",
        "several/firmware/whole/main.c": (
            '#include "common.h"\n#include "registers.h"\nint answer(void) { return WORD; }'
        ),
    }
    folder = tmp_path / "machines"
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(firmware, "MACHINES", folder)
    monkeypatch.setenv("CHASQUI_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_folders_are_images_with_the_files_beside_them(machines: Path) -> None:
    found = {
        name: [str(path.relative_to(machines)) for path in image.sources]
        for name, image in firmware._images().items()
    }
    assert found == {
        "plain": ["plain/firmware/main.c"],
        "several/thin": ["several/firmware/shared.c", "several/firmware/thin/main.c"],
        "several/thin-own": [
            "several/firmware/shared.c",
            "several/firmware/thin/main.c",
            "several/firmware/thin/own/more.c",
        ],
        "several/whole": ["several/firmware/shared.c", "several/firmware/whole/main.c"],
    }


def test_a_folder_of_drivers_is_a_further_kernel(machines: Path) -> None:
    for name in ("agent.c", "other.c", "quiet/image.h", "quiet/more.c"):
        path = machines / "several" / "kernel" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    place = machines / "several" / "kernel"
    found = {
        name: [str(path.relative_to(place)) for path in image.sources]
        for name, image in firmware._drivers().items()
    }
    assert found == {
        "several": ["agent.c", "other.c"],
        "several.quiet": ["agent.c", "other.c", "quiet/more.c"],
    }
    assert firmware._drivers()["several.quiet"].header == place / "quiet" / "image.h"


def test_a_change_of_any_image_has_them_built_again(
    machines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    monkeypatch.setattr(firmware, "_build", built.append)
    firmware.directory()
    changed = ("several/firmware/thin/main.c", "several/firmware/common.h", "several/registers.h")
    for count, name in enumerate(changed, 2):
        source = machines / name
        source.write_text(source.read_text() + "/* changed */\n")
        firmware.directory()
        assert len(set(built)) == count, name


def test_a_machine_without_an_image_has_none_built_again(
    machines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    monkeypatch.setattr(firmware, "_build", built.append)
    firmware.directory()
    (machines / "without").mkdir()
    (machines / "without" / "registers.h").write_text("#define WORD 8\n")
    firmware.directory()
    assert len(set(built)) == 1


@pytest.mark.core
def test_images_are_linked(machines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware, "link_kernel", lambda *_: None)
    images = firmware.directory()
    found = sorted(str(path.relative_to(images)) for path in images.glob("**/*.elf"))
    assert found == [
        "plain.elf",
        *(f"several/{name}.elf" for name in ("thin-own", "thin", "whole")),
    ]
    assert (images / "several/thin.elf").read_bytes() != (images / "several/whole.elf").read_bytes()
