"""Chasqui from Python: what `import chasqui` offers.

`chasqui/__init__.py` has the list. `commands.py`: the functions, each for a command of that name.
`settings.py`: what they have in common. `results.py`: what they return, with data frames of pandas.

All may be called from any thread. In the main one Ctrl-C ends a simulation in order: results so far
are kept, and KeyboardInterrupt is raised.
"""
