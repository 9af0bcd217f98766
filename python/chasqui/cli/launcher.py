"""`mpiexec`, which is `chasqui run`: what other launchers take and this one doesn't."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from chasqui.errors import InputError

ATTACHED_RANKS = re.compile(r"-n\d+")


def check(words: Sequence[str]) -> None:
    """Raises InputError for what would be taken for something else, as click reads `-machinefile f`
    as `-m achinefile f`, and all behind the first program is that one's arguments; and for what
    other launchers have, of which click would say little."""
    from chasqui.cli.run import run

    options = [each for each in run.params if isinstance(each, click.Option)]
    known = {name for option in options for name in [*option.opts, *option.secondary_opts]}
    known |= {"--help", "-h"}
    # One with a value that may be left out (--histogram) takes it behind `=` only.
    needy = [option for option in options if not option.is_flag and not option._flag_needs_value]
    valued = {name for option in needy for name in option.opts}
    position = 0
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        position += 2 if word in valued else 1
        if word == "--":
            break
        name = word.partition("=")[0]
        if name not in known and not ATTACHED_RANKS.fullmatch(word):
            raise InputError(
                f"mpiexec: there is no option {name}; the number of ranks is -n or -np, and all "
                "others are those of `chasqui run`: every rank has a simulated node of its own, "
                "unless --ranks-per-node says otherwise"
            )
    if ":" in words[position:]:
        raise InputError(
            "mpiexec: ':' between programs: several programs in one job (MPMD) are not supported; "
            "all ranks run the same program"
        )
