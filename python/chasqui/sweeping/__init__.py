"""Sweeps: the product of machines, parameters, ranks and arguments, a run for each point.

`points.py`: the points and what each is known by; `store.py`: rows, run directories and the table;
`running.py`: who runs them, which is Dask. Nothing here is loaded before a sweep is asked for.
"""
