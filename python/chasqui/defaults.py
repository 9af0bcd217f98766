"""What commands, and functions of the same names, take if nothing else is said."""

MACHINE = "loggp"
TIMELINE_CALLS = 1000  # MPI calls of each rank that timeline.json holds
