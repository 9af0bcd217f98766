"""`chasqui new-machine`: a small machine that builds and runs, to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui.cli import options

HELP = """Makes a small machine to begin with, inside a clone of chasqui's repository. It builds,
runs MPI programs, and the tests include it: a network interface with registers and a ring in
memory, on a network, with its MPI device.

It writes machines/NAME and adds NAME to the project's lists of machines; CONTRIBUTING, "A machine",
describes each file. NAME consists of small letters and digits, and is used in C, Rust and machine
files.

\b
Examples:
  chasqui new-machine pigeon
  make install examples
  chasqui run -np 4 --machine pigeon -- build/examples/ring
"""


def commands() -> dict[str, click.Command]:
    return {"new-machine": command}


@click.command("new-machine", help=HELP, context_settings=options.SETTINGS_AFTER)
@click.argument("name", metavar="NAME")
def command(name: str) -> int:
    from chasqui import new_machine

    made = new_machine.create(new_machine.root_of(Path.cwd()), name)
    print(
        f"made     machines/{name} (device {made.device}): README.md, machine.toml, src/, device.c"
    )
    print(f"changed  {', '.join(made.changed)}")
    print("next     make install examples")
    print(f"         chasqui run -np 4 --machine {name} -- build/examples/ring")
    print("         pytest tests/test_golden.py --update-golden      (its golden times)")
    print("         CONTRIBUTING.md, A machine; make headers, after a change of registers.rs")
    return 0
