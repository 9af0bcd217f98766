"""What a shell's completion offers: names of machines, parameters, experiments.

`chasqui` completes itself once the shell has been told to ask it (the manual, "Commands").
What can't be known, because a machine file is wrong, is offered as nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from chasqui.errors import InputError

Items = list[CompletionItem]


def _of(names: Iterable[tuple[str, str]], incomplete: str) -> Items:
    """Those names that begin so, with what they are."""
    return [CompletionItem(name, help=doc) for name, doc in names if name.startswith(incomplete)]


def machines(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Machines and their variants, or a file of one."""
    from chasqui import core

    found = _of(((name, summary) for name, summary, _ in core.variants()), incomplete)
    return found or [CompletionItem(incomplete, type="file")]


def _parameters(machine: str) -> list[tuple[str, str]]:
    from chasqui import core

    with contextlib.suppress(InputError):
        return [(each["name"], each["doc"]) for each in core.parameters(machine)]
    return []


def _machine_of(ctx: click.Context) -> str:
    """The machine that is named already."""
    from chasqui import defaults

    named = ctx.params.get("machine") or ctx.params.get("machines") or defaults.MACHINE
    return named if isinstance(named, str) else str(named[0])


def sets(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """`KEY=`; the value is the user's."""
    names = ((f"{name}=", doc) for name, doc in _parameters(_machine_of(ctx)))
    return _of(names, incomplete)


def mpi(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """The same of what is below `mpi.`."""
    named = _parameters(_machine_of(ctx))
    return _of(
        ((f"{name.removeprefix('mpi.')}=", doc) for name, doc in named if name.startswith("mpi.")),
        incomplete,
    )


def parameters(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Names of parameters."""
    return _of(_parameters(_machine_of(ctx)), incomplete)


def experiments(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Machines that have experiments, and these."""
    from chasqui.experiment import running

    names = running.names()
    whole = dict.fromkeys(name.partition("/")[0] for name in names)
    return _of([("list", ""), *((name, "") for name in [*whole, *names])], incomplete)
