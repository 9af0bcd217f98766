"""Debian's Chromium, driven by Playwright, which brings no browser here: pages of reports in it."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
IS_HERE = CHROMIUM is not None and importlib.util.find_spec("playwright") is not None
LIMIT_S = 60


@contextlib.contextmanager
def opened() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root, as CI is, has no sandbox; pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Shown:
    """A report in a browser, and what the browser has to say of it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def wait(self, condition: str) -> Any:
        """What a script says that is not always false. (The page's policy forbids to compile one
        in it, as Playwright would for a wait of its own.)"""
        end = time.monotonic() + LIMIT_S
        while not (found := self.page.evaluate(condition)):
            assert time.monotonic() < end, condition
            time.sleep(0.05)
        return found

    def mark_ms(self, name: str) -> float:
        """When the page had come so far, from the start of its loading."""
        found = self.wait(
            f"performance.getEntriesByName('{name}').map((each) => each.startTime)[0]"
        )
        return float(found)


@contextlib.contextmanager
def shown(
    browser: Browser, path: Path, width: int = 1600, scheme: str = "light"
) -> Iterator[Shown]:
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    found = Shown(page)
    page.on("console", lambda said: found.complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    page.goto(path.as_uri(), wait_until="commit")
    yield found
    page.close()
