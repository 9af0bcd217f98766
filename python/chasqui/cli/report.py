"""`chasqui report`: one HTML file of a run, of several, of an experiment or of a sweep."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui.cli import options
from chasqui.errors import InputError

HELP = """Makes one HTML file that shows a run: how it ended, time by rank, lives of messages, who
sent to whom and waited for whom, queues, links and NIs over time, a timeline of calls and
messages, LogGP figures, profile, parameters with their sources. It needs no network and no
program but a browser.

Each PLACE is a directory: of a run, of `chasqui logp --out` (LogGP figures with their spread), of
an experiment, or of a sweep. Several runs are laid side by side, with what they differ in. An
experiment, or a sweep, has a page of its own.

What a run does not hold is left out, and the page says which option of `chasqui run` keeps it:
--profile, --timeline, --access-times.

\b
Examples:
  chasqui report runs/ring-voyager-1
  chasqui report runs/cg-voyager-1 runs/cg-loggp-1 -o compared.html
  chasqui report runs/cg-voyager-1 voyager-logp -o cg.html
  chasqui report runs/voyager-mechanisms-1
  chasqui report runs/sweep-ring-1
"""

SUFFIXES = (".html", ".htm")


def commands() -> dict[str, click.Command]:
    return {"report": report}


@click.command("report", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument(
    "places", metavar="PLACE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--output", "-o", metavar="FILE", type=click.Path(path_type=Path),
    help="Write FILE, whose name ends in .html (default: report.html in PLACE; of several, here). "
    "Another such report there is overwritten.",
)  # fmt: skip
def report(places: tuple[Path, ...], output: Path | None) -> None:
    from chasqui import report as reports
    from chasqui.files import check_replaced, write_text

    if output is None:
        output = places[0] / reports.FILE if len(places) == 1 else Path(reports.FILE)
    elif output.suffix.lower() not in SUFFIXES:
        raise InputError(f"-o {output}: a name that ends in .html is expected")
    check_replaced(output, reports.BEGINNING.encode(), "report of chasqui")
    page = reports.html(places)
    write_text(output, page)
    print(f"{output}: {len(page.encode()) / 10**6:.1f} MB")
