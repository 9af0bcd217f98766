"""The manual (docs/manual): its commands are executed, what it shows is what they print, its
reference has all that is declared, and the built site holds together.

Use this when a page of the manual, a command, a parameter or a file of a run changes. `make manual`
builds the site; CHASQUI_SWEEP=1 executes the long commands, too.
"""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browser
import command_line
import manual_pages
import pytest
import report_picture
import test_new_machine
from conftest import ROOT, shared_place
from simulated import SWEEP

from chasqui import core, manual, toolchain
from chasqui.cli import COMMANDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.core, pytest.mark.xdist_group("manual")]

TASKS = (
    "tutorial", "run", "compare", "sweep", "profile", "deadlock", "debug", "change-a-machine",
    "another-node", "write-an-ni", "write-an-experiment",
)  # fmt: skip
PICTURE_BYTES_MAX = 100_000
# Blocks of commands that no test of these pages executes. It may only go down.
NOT_EXECUTED = 5


# --- what is typed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.gdb] if page.stem == "debug" else [])
        for page in manual_pages.pages()
        if manual_pages.blocks(page)
    ],
    ids=lambda page: str(page.relative_to(manual_pages.MANUAL)),
)
def test_a_page_can_be_typed_and_prints_what_it_shows(
    page: Path, examples: Path, tmp_path: Path
) -> None:
    wrong = manual_pages.execute(page, examples, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.cargo
@pytest.mark.parametrize(
    "page",
    [
        page
        for page in manual_pages.pages() * SWEEP
        if any(block.mark == manual_pages.IN_A_CLONE for block in manual_pages.blocks(page))
    ],
    ids=lambda page: str(page.relative_to(manual_pages.MANUAL)),
)
def test_a_page_can_be_typed_in_a_clone(page: Path, tmp_path: Path) -> None:
    place = test_new_machine.copy_sources(tmp_path / "clone")
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    subprocess.run(["git", "add", "-A"], cwd=place, check=True)
    # What is compiled already need not be compiled again.
    shutil.copytree(test_new_machine.TARGET, place / "target", symlinks=True)
    try:
        wrong = manual_pages.execute_in_a_clone(page, place)
    finally:
        shutil.rmtree(place)  # gigabytes
    assert not wrong, "\n".join(wrong)


def test_every_task_has_a_page_with_commands() -> None:
    for name in TASKS:
        assert manual_pages.blocks(manual_pages.MANUAL / f"{name}.md"), name


def test_few_blocks_are_never_executed() -> None:
    found = [block for page in manual_pages.pages() for block in manual_pages.blocks(page)]
    assert len([block for block in found if block.mark == "not executed"]) == NOT_EXECUTED


@pytest.mark.parametrize(
    ("shown", "printed", "lacking"),
    [
        ("one\nthree\n", "one\ntwo\nthree\n", None),
        ("one\n…\nthree\n", "one\nthree\n", None),
        ("host … s\n", "host 3.2 s\n", None),
        ("host … s\n", "host 3.2 us!\n", "host … s"),
        ("two\none\n", "one\ntwo\n", "one"),
        ("1.0\n", "1.01\n", "1.0"),
    ],
)
def test_what_was_not_printed_is_found(shown: str, printed: str, lacking: str | None) -> None:
    assert manual_pages.missing(shown, printed) == lacking


# --- the reference -------------------------------------------------------------------------------


def test_every_command_and_option_is_in_the_reference() -> None:
    page = manual.part("commands")
    for name in COMMANDS:
        section = page.partition(f"## chasqui {name}\n")[2].partition("\n## ")[0]
        said = command_line.run(name, "--help", directory=ROOT).stdout
        options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", said, re.MULTILINE))
        if name not in ("cc", "c++", "fc"):  # whose text says what they do themselves
            assert {each for each in options if each not in section} == set(), name


@pytest.mark.turn(2)
def test_every_parameter_is_in_the_reference_with_its_sources() -> None:
    pages = manual.part("parameters-shared") + manual.part("parameters-of-machines")
    for machine in core.machines():
        for each in core.parameters(machine["name"]):
            section = pages.partition(f"\n### {each['name']}\n")[2].partition("\n### ")[0]
            assert section, each["name"]
            assert re.search(rf"^\| [^|]*\b{machine['name']}\b", section, re.MULTILINE), each[
                "name"
            ]


def keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a JSON value's fields, as the reference names them."""
    if isinstance(value, list):
        for each in value:
            yield from keys(each, f"{path}[]" if isinstance(each, dict) else path)
    elif isinstance(value, dict) and not path.endswith(("environment", "environment[]")):
        for name, each in value.items():
            inner = f"{path}.{name}" if path else name
            yield (
                f"{inner}[]"
                if isinstance(each, list) and each and isinstance(each[0], dict)
                else inner
            )
            yield from keys(each, inner)
    return


def test_every_field_that_a_run_writes_is_in_the_reference(examples: Path, tmp_path: Path) -> None:
    options = ["-np", "4", "--machine", "voyager", "--out", "run", "--env", "A=1"]
    done = command_line.run("run", *options, "--", examples / "ring", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    for part, file in (("summary", "summary.json"), ("host", "host.json")):
        written = set(keys(json.loads((run / file).read_text())))
        said = set(re.findall(r"^\| `([^`]+)` \|", manual.part(part), re.MULTILINE))
        assert written - said == set(), file
    import pyarrow.parquet

    columns = pyarrow.parquet.read_schema(run / "messages.parquet").names
    assert columns == re.findall(r"^\| `(\w+)` \|", manual.part("messages"), re.MULTILINE)
    stages = [each["name"] for each in json.loads((run / "summary.json").read_text())["stages"]]
    said = set(re.findall(r"^\| `(\w+)` \|", manual.part("differences"), re.MULTILINE))
    assert set(stages) - said == {"send_gap", "receive_gap"}


# --- the site ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make manual` builds it: a warning, such as a link that leads nowhere, is an error."""
    place = shared_place(tmp_path_factory, "manual")
    with toolchain.locked(place.with_suffix(".lock")):
        if not place.exists():
            options = (manual_pages.MANUAL / "options").read_text().split()
            command = [sys.executable, "-m", "sphinx", *options, ".", str(place)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return place


class Links(html.parser.HTMLParser):
    """What a page links to, and its own anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


@pytest.mark.turn(3)
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) > 30
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            )
            anchor = urllib.parse.unquote(parts.fragment)
            is_there = target.exists() and (
                not anchor or target not in pages or anchor in pages[target].anchors
            )
            if not is_there:
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong, "\n".join(sorted(wrong))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.opened() as found:
        yield found


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1400, "dark")])
@pytest.mark.turn(3)
def test_pages_are_shown_without_a_network_and_no_wider_than_the_screen(
    chromium: Browser, site: Path, width: int, scheme: str
) -> None:
    for name in ("index", "tutorial", "compare", "reference/parameters", "reference/commands"):
        page = site / "docs" / "manual" / f"{name}.html"
        with browser.shown(chromium, page, width, scheme) as shown:
            shown.page.wait_for_load_state("load")
            assert not [each for each in shown.requests if not each.startswith(("file:", "data:"))]
            assert not shown.complaints, name
            assert shown.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (
                name
            )
            assert shown.page.locator("h1").first.is_visible()


# --- the picture of the report -------------------------------------------------------------------


def test_the_picture_is_small_and_its_figures_are_those_of_the_run(tmp_path: Path) -> None:
    """Without a browser: what is known of the run stands in the text that was pictured."""
    assert report_picture.PICTURE.stat().st_size <= PICTURE_BYTES_MAX
    shown = report_picture.stamp()
    assert shown["picture_sha256"] == report_picture.sha256(report_picture.PICTURE), "make picture"
    summary = report_picture.run(tmp_path)
    for figure in report_picture.figures(summary):
        assert figure in shown["text"], f"{figure}: make picture"


@pytest.mark.browser
def test_the_picture_shows_the_report_as_it_is_today(chromium: Browser, tmp_path: Path) -> None:
    """Its words and the values of its chart; `make picture` draws it anew."""
    report_picture.run(tmp_path)
    assert report_picture.draw(chromium, tmp_path, None) == {
        name: value for name, value in report_picture.stamp().items() if name != "picture_sha256"
    }, "make picture"
