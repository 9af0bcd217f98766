"""What there is: machines with their variants, experiments, settings of the MPI library."""

from __future__ import annotations

from chasqui import core
from chasqui.manual.markdown import code, escaped, table


def machines() -> str:
    """A section a machine: what it is, and what each variant sets."""
    return "\n".join(_machine(machine["name"]) for machine in core.machines())


def _machine(name: str) -> str:
    found = next(each for each in core.machines() if each["name"] == name)
    lines = [
        f"## {name}\n",
        f"{escaped(found['summary'])}. At most {found['nodes_max']:,} nodes, "
        f"{found['ranks_per_node_max']:,} ranks on a node.\n",
    ]
    if found["variants"]:
        rows = [
            [code(f"{name}/{each['name']}"), escaped(each["summary"]), _sets(name, each["name"])]
            for each in found["variants"]
        ]
        lines.append(table(["variant", "what it is", "what it sets"], rows))
    return "\n".join(lines)


def _sets(machine: str, variant: str) -> str:
    """Where a variant's values are not the machine's."""
    values = {each["name"]: each["value"] for each in core.parameters(machine)}
    others = core.parameters(f"{machine}/{variant}")
    changed = [each for each in others if each["value"] != values.get(each["name"])]
    return ", ".join(code(f"{each['name']}={each['value']}") for each in changed)


def experiments() -> str:
    """Every experiment of the machines, with its question."""
    from chasqui.experiment import running

    rows = [[code(name), escaped(running.load(name).question)] for name in running.names()]
    return table(["experiment", "question"], rows)


def settings() -> str:
    """What --mpi takes, as `chasqui info loggp mpi.` has it."""
    rows = [
        [code(each["name"].removeprefix("mpi.")), code(str(each["default"])), escaped(each["doc"])]
        for each in core.parameters("loggp")
        if each["name"].startswith("mpi.")
    ]
    return table(["setting", "default", "what it is"], rows)
