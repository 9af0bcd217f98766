"""The picture of a report, docs/report.png, which README and the manual show: the first screen of
the tutorial's run. `make picture` draws it (`python tests/report_picture.py`), in Chromium.

docs/report.json says what is on it: the words, and the values of the chart. Tests make the run
again and compare.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browser
from conftest import ROOT

from chasqui import report, shares
from chasqui.text import simulated_time

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURE, STAMP = ROOT / "docs" / "report.png", ROOT / "docs" / "report.json"
SOURCE = ROOT / "docs" / "manual" / "files" / "stencil.c"
MACHINE, RANKS = "voyager", 4
RUN = Path("runs") / f"{SOURCE.stem}-{MACHINE}-1"
WIDTH, HEIGHT = 1100, 850  # [px]
COLOURS = 64  # of a palette: the chart has a dozen, letters have shades
CHART = "#chart-ranks"
# What differs from host to host.
HOST = "host time"
# Of the chart: each part's name and values [us].
VALUES = f"""document.querySelector('{CHART}')._fullData.map(
  (trace) => [trace.name, Array.from(trace.x, (value) => Math.round(value * 1000) / 1000)])"""


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stamp() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STAMP.read_text())
    return found


def run(place: Path) -> dict[str, Any]:
    """The tutorial's commands, in a folder; the run's summary."""
    (place / SOURCE.name).write_bytes(SOURCE.read_bytes())
    chasqui = Path(sys.executable).parent / "chasqui"  # by that name it stands in the report
    for words in (
        ["cc", "-O2", "-o", "stencil", SOURCE.name],
        ["run", "-np", str(RANKS), "--machine", MACHINE, "--", "./stencil"],
    ):
        subprocess.run([chasqui, *words], cwd=place, check=True, capture_output=True)
    found: dict[str, Any] = json.loads((place / RUN / "summary.json").read_text())
    return found


def figures(summary: dict[str, Any]) -> list[str]:
    """What the head of the report must say of a run."""
    return [
        simulated_time(summary["time_ps"]),
        f"{summary['instructions']:,}",
        f"{summary['messages']:,}",
        summary["limited_by"],
        *[name for name, share in shares.of(summary).items() if share >= shares.LEAST],
    ]


def draw(chromium: Browser, place: Path, picture: Path | None) -> dict[str, Any]:
    """What the report of the run in `place` shows at first; `picture`: the file to write."""
    page = place / "report.html"
    page.write_text(report.html([place / RUN]))
    with browser.shown(chromium, page, WIDTH) as shown:
        shown.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        shown.mark_ms("all charts")
        values = shown.page.evaluate(VALUES)
        words = shown.page.inner_text("body").partition("\nFigures")[0]
        if picture is not None:
            picture.write_bytes(_small(shown.page.screenshot()))
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    if HOST in lines:
        del lines[lines.index(HOST) + 1]
    return {"text": "\n".join(lines), "chart": values}


def _small(png: bytes) -> bytes:
    """The same in few colours."""
    from PIL import Image

    out = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
        with browser.opened() as opened:
            drawn = draw(opened, Path(folder), PICTURE)
    STAMP.write_text(json.dumps({**drawn, "picture_sha256": sha256(PICTURE)}, indent=1) + "\n")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
