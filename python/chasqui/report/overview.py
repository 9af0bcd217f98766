"""The head of a run's page: what was run, how it ended, what to know before reading on."""

from __future__ import annotations

import shlex

from chasqui import shares, simulation
from chasqui.report.data import Run
from chasqui.report.frame import Page, Raw, join, tag
from chasqui.text import number, simulated_time

LONG = 30  # letters of a figure that has more room


def add(page: Page, run: Run) -> None:
    summary = run.summary
    page.header = join(
        [
            tag("p", "Chasqui: a run", class_="kind"),
            tag("h1", f"{summary['program']} on {run.machine}"),
            tag("p", tag("code", shlex.join(run.command)), class_="command"),
            warnings(run),
            _figures(run),
        ]
    )


def warnings(run: Run) -> Raw:
    """How the run ended, if not well; then what limits what the page can say."""
    summary = run.summary
    found: list[Raw] = []
    if summary["outcome"] == "stopped" and not summary["exit_status"]:
        text = f"It ended where it was to end: {simulation.ending(summary)}"
        found.append(tag("div", text, class_="warning", role="note"))
    elif not simulation.went_well(summary) or summary["exit_status"]:
        ending = simulation.ending(summary)
        if simulation.went_well(summary):
            ending = "The program says that something went wrong."
        status = f"{summary['outcome']}, exit status {summary['exit_status']}"
        head = tag("strong", f"The run did not end well: {status}.")
        found.append(tag("div", head, tag("pre", ending), role="alert", class_="failed"))
    found += [tag("div", each, class_="warning", role="note") for each in _warnings(run)]
    return join(found)


def _warnings(run: Run) -> list[str]:
    found = []
    if "others_until_ps" in run.summary:
        until = simulated_time(run.summary["others_until_ps"])
        found.append(f"The other ranks ran on until {until}; what they did is in the figures.")
    if run.summary.get("replay"):
        found.append(f"One rank alone: {simulation.replayed(run.summary['replay'])}.")
    assumed = sum(each.is_assumed for each in run.parameters)
    if assumed:
        found.append(
            f"{assumed} of {len(run.parameters)} parameters are assumptions: "
            "they are marked in the last table."
        )
    return found


def _figures(run: Run) -> Raw:
    """The figures that one looks for first."""
    summary = run.summary
    share = simulation.mpi_share(summary)
    rows: list[tuple[str, str]] = [
        ("simulated time", simulated_time(summary["time_ps"])),
        (simulation.main_part_words(summary), simulated_time(simulation.main_part_ps(summary))),
        ("of it in MPI calls", "-" if share is None else f"{share:.1%}"),
        ("ranks", number(run.ranks)),
        ("messages", number(summary["messages"])),
        ("instructions", number(summary["instructions"])),
        ("limited by", str(summary.get("limited_by") or "-")),
    ]
    wait = shares.longest_wait(summary)
    if wait is not None and summary["outcome"] == "finished":
        rows.append(
            (
                "longest wait",
                f"rank {wait.rank} for rank {wait.peer}: {simulated_time(wait.time_ps)}, "
                f"{wait.share:.0%} of it {shares.WAITS[wait.part]}",
            )
        )
    rows += _host(run)
    return tag(
        "dl",
        *(
            tag(
                "div",
                tag("dt", name),
                tag("dd", value),
                class_="long" if len(value) > LONG else None,
            )
            for name, value in rows
        ),
        class_="figures",
    )


def _host(run: Run) -> list[tuple[str, str]]:
    found = run.host
    if not isinstance(found.get("simulation_s"), int | float):
        return []
    return [
        ("host time", f"{found['simulation_s']:.2f} s on {found.get('threads', 1)} threads"),
        ("version", str(found.get("version", "-"))),
    ]
