"""What commands, and functions of the same names, take if nothing else is said, and at most."""

MACHINE = "loggp"
TIMELINE_CALLS = 1000  # MPI calls of each rank that timeline.json holds
TIMELINE_MAX = 1 << 40
THREADS_MAX = 256  # host threads
REPEAT_MAX = 1_000_000  # repetitions of a sweep's point
