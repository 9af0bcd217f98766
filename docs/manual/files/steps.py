"""How does a step of stencil.c depend on the machine and on the number of ranks?"""

from collections.abc import Mapping

from matplotlib.figure import Figure

from chasqui.experiment import Experiment, Output, Report, Run, Table
from chasqui.simulation import main_part_ps

QUESTION = "How long does a step of the stencil take on two machines, by the number of ranks?"
STEPS = 50


def runs(quick: bool) -> list[Run]:
    ranks = (2, 4) if quick else (2, 4, 8)
    return [
        Run(f"{machine} {each}", machine, each, "stencil", arguments=["100"])
        for machine in ("voyager", "voyager-modern")
        for each in ranks
    ]


def report(outputs: Mapping[str, Output]) -> Report:
    times: dict[str, list[tuple[int, int]]] = {}
    for name, output in outputs.items():
        machine, ranks = name.split()
        step_ns = main_part_ps(output.summary) // STEPS // 1000
        times.setdefault(machine, []).append((int(ranks), step_ns))
    rows: list[list[str | int]] = [
        [machine, *point] for machine, points in times.items() for point in points
    ]
    table = Table("results", ("machine", "ranks", "step_ns"), rows)
    findings = [
        f"On {machine} a step of the most ranks takes {points[-1][1] / points[0][1]:.2f} times "
        "as long as one of the fewest."
        for machine, points in times.items()
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for machine, points in times.items():
            axes.plot(*zip(*points, strict=True), label=machine)
        axes.set(xlabel="ranks", ylabel="time of a step [ns]")
        axes.legend()

    return Report([table], table.text(left=(0,)), findings, draw)


EXPERIMENT = Experiment(QUESTION, runs, report)
