"""An experiment of one's own: chasqui experiment examples/own/ring.py

Its machine file lies beside it. An experiment's own C programs would, too.
"""

from collections.abc import Mapping

from matplotlib.figure import Figure

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.simulation import main_part_ps

QUESTION = """\
How long do ten laps of the ring take, from MPI_Init to MPI_Finalize: by Express messages on the \
node of netcache-modern, whose network cache they do not use; on voyager-modern; and by the \
network cache."""

MACHINES = {
    "express": "express.toml",
    "voyager": "voyager-modern",
    "cache": "netcache-modern/ldtct",
}
RANKS = 4
LAPS = 10


def runs(quick: bool) -> list[Run]:
    laps = 2 if quick else LAPS
    return [
        Run(name, machine, RANKS, "examples/ring", arguments=["-l", str(laps)])
        for name, machine in MACHINES.items()
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    times = {name: main_part_ps(output.summary) for name, output in outputs.items()}
    rows = [
        [name, output.summary["messages"], times[name] // 1000] for name, output in outputs.items()
    ]
    table = Table("results", ("machine", "messages", "time_ns"), rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh([row[0] for row in rows], [row[2] for row in rows])
        axes.set_xlabel("simulated time [ns]")

    return Report(
        [table],
        table.text(left=(0,)),
        [f"{min(times, key=times.__getitem__)} is the fastest."],
        draw,
    )


EXPERIMENT = Experiment(QUESTION, runs, report)
