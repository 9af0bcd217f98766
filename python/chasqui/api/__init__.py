"""Chasqui from Python: what `import chasqui` offers.

`commands.py`: the functions, each for a command of that name. `settings.py`: what they have in
common. `results.py`: what they return, with data frames of pandas.

All may be called from any thread. In the main one Ctrl-C ends a simulation in order: results so far
are kept, and KeyboardInterrupt is raised.
"""

from chasqui.api.commands import compare, logp, machines, parameters, run, sweep
from chasqui.api.errors import RunError
from chasqui.api.results import Comparison, LogP, Run, Sweep
from chasqui.api.settings import Settings
from chasqui.errors import InputError

__all__ = [
    "Comparison",
    "InputError",
    "LogP",
    "Run",
    "RunError",
    "Settings",
    "Sweep",
    "compare",
    "logp",
    "machines",
    "parameters",
    "run",
    "sweep",
]
