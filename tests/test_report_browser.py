"""Reports in a real browser: charts, clicks, widths, colours, how soon the first chart is there.

Use this when the page's script, style or frame changes.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import browser
import pytest
import report_runs
from simulated import SWEEP

from chasqui import messages, report
from chasqui.report.frame import library

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FIRST_CHART_MS = 2000  # of 100,000 messages, median of five
TIMES = 5
DARK_LIGHT: tuple[Literal["dark", "light"], ...] = ("dark", "light")
# Of a page to the library alone, where others take the host's processors.
LIBRARY_PARTS = 2.0
MARKS = {
    "ranks": ".bars .point", "parts": ".bars .point", "lives": ".boxes .box",
    "bytes": ".heatmaplayer image", "places": ".scatterlayer .js-fill",
    "traffic": ".scatterlayer .point",
}  # fmt: skip
LUMINANCE = """(() => {
  const [r, g, b] = getComputedStyle(document.body).%s.match(/\\d+/g).map(Number);
  return 0.3 * r + 0.6 * g + 0.1 * b;
})()"""
# Where on the page the first end of a message is that the timeline shows, and of which message.
FIRST_END = """(() => {
  const chart = document.getElementById("chart-traffic"), layout = chart._fullLayout;
  const line = chart._fullData.find((trace) => trace.type === "scatter");
  const place = chart.getBoundingClientRect();
  return [place.left + layout.xaxis._offset + layout.xaxis.d2p(line.x[0]),
    place.top + layout.yaxis._offset + layout.yaxis.d2p(line.y[0]), line.customdata[0]];
})()"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.opened() as found:
        yield found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with few messages, beside the run's files."""
    run = report_runs.write(tmp_path_factory.mktemp("small") / "run", report_runs.messages(60, 4))
    (run / "report.html").write_text(report.html([run]))
    return run / "report.html"


@pytest.fixture(scope="module")
def large(chromium: Browser, small: Path) -> Iterator[browser.Shown]:
    """It on a large screen, in light colours; who changes what is in view, changes it back."""
    with browser.shown(chromium, small) as shown:
        shown.mark_ms("all charts")
        yield shown


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (400, "dark"), (1600, "dark")])
def test_charts_have_marks_at_any_width_and_in_any_colours(
    chromium: Browser, small: Path, width: int, scheme: str
) -> None:
    with browser.shown(chromium, small, width, scheme) as shown:
        shown.mark_ms("all charts")
        for name, marks in MARKS.items():
            assert shown.page.locator(f"#chart-{name} {marks}").count() > 0, name
        assert shown.complaints == []
        # The page, and what it made itself of its own parts.
        assert [
            each for each in shown.requests if not each.startswith(("file:", "blob:", "data:"))
        ] == []
        assert len([each for each in shown.requests if each.startswith("file:")]) == 1
        assert shown.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        text, ground = (
            shown.page.evaluate(LUMINANCE % name) for name in ("color", "backgroundColor")
        )
        dark, light = (ground, text) if scheme == "dark" else (text, ground)
        assert dark < 60
        assert light > 180


def test_a_click_on_a_message_shows_its_life(large: browser.Shown, small: Path) -> None:
    rows = messages.read(small.parent / "messages.parquet")
    page = large.page
    page.locator("#chart-traffic").scroll_into_view_if_needed()
    x, y, row = page.evaluate(FIRST_END)
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    large.wait("document.querySelectorAll('#life tbody tr').length")
    life = page.inner_text("#life")
    message = rows[row]
    assert f"of rank {message.source} to rank {message.destination}" in life
    assert f"tag {message.tag}, {message.bytes:,} bytes, {message.mechanism}" in life
    times = {
        stage.removesuffix("_ps").replace("_", " "): getattr(message, stage)
        for stage in messages.STAGES
    }
    cells = [line.split("\t") for line in life.splitlines() if line.count("\t") == 4][1:]
    assert {stage: float(time.replace(",", "")) for stage, _, time, *_ in cells} == {
        stage: pytest.approx(time / 1000) for stage, time in times.items() if time is not None
    }
    in_order = [float(time.replace(",", "")) for _, _, time, *_ in cells]
    assert in_order == sorted(in_order)
    steps = [float(each[3].replace(",", "")) for each in cells[1:]]
    assert sum(steps) == pytest.approx(in_order[-1] - in_order[0])
    assert large.complaints == []


def test_messages_are_found_and_tables_sorted_by_keyboard(
    large: browser.Shown, small: Path
) -> None:
    rows = messages.read(small.parent / "messages.parquet")
    page = large.page
    page.fill("#search [name=source]", "2")
    count = sum(each.source == 2 for each in rows)
    assert re.match(rf"{count} found", page.inner_text("#found"))
    page.focus("#found tbody tr:first-child button")
    page.keyboard.press("Enter")
    assert "of rank 2 to rank" in page.inner_text("#life h3")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    table = page.locator("#pairs table")
    table.locator("thead th").nth(2).locator("button").focus()
    page.keyboard.press("Enter")
    sizes = [
        int(each.replace(",", ""))
        for each in table.locator("tbody td:nth-child(3)").all_inner_texts()
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    page.keyboard.press("Enter")
    assert table.locator("tbody td:nth-child(3)").first.inner_text() == f"{sizes[-1]:,}"


def test_a_closer_look_draws_what_is_in_view(large: browser.Shown) -> None:
    page = large.page
    assert "all 60 messages" in page.inner_text("#shown")
    for _ in range(3):
        page.click("button[aria-label=Closer]")
    large.wait("!document.getElementById('shown').textContent.includes('all 60 messages')")
    page.click("#timeline .tools button:text-is('All')")
    large.wait("document.getElementById('shown').textContent.includes('all 60 messages')")
    page.select_option("#load select", "places/rank 1")
    large.wait("document.getElementById('chart-places').data.length > 0")
    for scheme in DARK_LIGHT:
        page.emulate_media(color_scheme=scheme)
        large.wait(
            f"matchMedia('(prefers-color-scheme: {scheme})').matches && "
            "document.getElementById('chart-ranks').layout.font.color === "
            "getComputedStyle(document.documentElement).getPropertyValue('--text').trim()"
        )
    assert large.complaints == []


@pytest.mark.turn(0)
def test_other_pages_have_no_complaint(chromium: Browser, tmp_path: Path) -> None:
    runs = [
        report_runs.write(tmp_path / name, report_runs.messages(count, 2), 2)
        for name, count in (("one", 30), ("two", 40), ("none", 0))
    ]
    experiment = tmp_path / "experiment"
    experiment.mkdir()
    (experiment / "measured.json").write_text('{"experiment": "mine.py", "version": "1"}')
    (experiment / "results.csv").write_text("size,time\n8,1\n16,2\n")
    for places, done in (
        (runs[:2], "performance.getEntriesByName('all charts').length"),
        (runs[2:], "performance.getEntriesByName('all charts').length"),
        ([experiment], "document.querySelector('table.sortable th button') !== null"),
    ):
        path = tmp_path / "report.html"
        path.write_text(report.html(places))
        with browser.shown(chromium, path) as shown:
            shown.wait(done)
            assert shown.complaints == []


@pytest.mark.turn(3)
def test_a_sweeps_page_has_marks_for_its_points(chromium: Browser, tmp_path: Path) -> None:
    rows = report_runs.sweep(tmp_path, machines=("a", "b"), ranks=(2, 4, 16))
    (tmp_path / "sweep.html").write_text(report.html([tmp_path]))
    for width in (400, 1600):
        with browser.shown(chromium, tmp_path / "sweep.html", width, "dark") as shown:
            shown.mark_ms("all charts")
            assert shown.page.locator("#chart-sweep0 .scatterlayer .point").count() == rows
            assert shown.page.locator("#points tbody tr").count() == rows
            assert shown.complaints == []
            assert shown.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_first_chart_is_there_in_two_seconds(chromium: Browser, tmp_path: Path) -> None:
    """Of 100,000 messages. In a sweep, where the host has a processor for the browser, in so many
    seconds; in any case in not much longer than the plotting library takes by itself, of which
    one look in several is enough: something else may take the processors from the others."""
    run = report_runs.write(tmp_path / "run", report_runs.messages(100_000, 16), 16)
    page, alone = tmp_path / "report.html", tmp_path / "library.html"
    page.write_text(report.html([run]))
    end = "<script>performance.mark('first chart')</script>"
    alone.write_text(f"<script>{library().decode()}</script>{end}")
    times: dict[Path, list[float]] = {page: [], alone: []}
    was_busy = False
    middle = statistics.median if SWEEP else min
    for time in range(TIMES):
        for path, found in times.items():
            if path is alone and time % 2:  # three will do
                continue
            was_busy |= os.getloadavg()[0] > len(os.sched_getaffinity(0))
            with browser.shown(chromium, path) as shown:
                found.append(shown.mark_ms("first chart"))
        ours, librarys = (middle(found) for found in times.values())
        if not SWEEP and ours <= LIBRARY_PARTS * librarys:
            break
    said = f"first chart after {ours:.0f} ms, the library alone {librarys:.0f} ms: {times}"
    print(said)
    assert was_busy or not SWEEP or ours <= FIRST_CHART_MS, said
    assert ours <= LIBRARY_PARTS * librarys, said
