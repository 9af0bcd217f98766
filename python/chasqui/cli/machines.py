"""`chasqui machines`: what there is to run on."""

from __future__ import annotations

import click

from chasqui.cli import options

HELP = """Lists the simulated machines and their variants, and the most nodes, and ranks on a node,
that each may have.

\b
Examples:
  chasqui machines
  chasqui run --machine voyager/reclaim -- ./ring      (machine/variant)
"""


def commands() -> dict[str, click.Command]:
    return {"machines": machines}


@click.command("machines", help=HELP, context_settings=options.SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def machines(as_json: bool) -> int:
    from chasqui import core
    from chasqui.text import number, stdout_columns, table

    found = core.machines()
    if as_json:
        import json

        print(json.dumps(found, indent=2))
        return 0
    rows = [
        [
            machine["name"],
            ", ".join(each["name"] for each in machine["variants"]) or "-",
            number(machine["nodes_max"]),
            number(machine["ranks_per_node_max"]),
            machine["summary"],
        ]
        for machine in found
    ]
    heads = ["machine", "variants", "nodes at most", "ranks a node", "what it is"]
    print(table(heads, rows, left=(0, 1, 4), columns=stdout_columns()))
    return 0
