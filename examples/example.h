/* What the examples share: the start, options, memory, and the verdict at the end. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the whole job with a message from this rank. */
_Noreturn static inline void stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Starts MPI. False after --help: rank 0 has printed `usage`, and MPI has ended. */
static inline bool begin(int *argc, char ***argv, const char *usage, int *rank, int *ranks)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    for (int i = 1; i < *argc; i++)
        if (!strcmp((*argv)[i], "--help") || !strcmp((*argv)[i], "-h")) {
            if (*rank == 0)
                fputs(usage, stdout);
            MPI_Finalize();
            return false;
        }
    return true;
}

/* Zeroed memory for `count` elements of `bytes` each, or the end of the job. */
static inline void *room(size_t count, size_t bytes)
{
    void *result = calloc(count ? count : 1, bytes);
    if (!result)
        stop("no memory for %zu elements of %zu bytes", count, bytes);
    return result;
}

/* The number after option `name`, at least `least`; `otherwise` where the option is absent. */
static inline long option(int argc, char **argv, const char *name, long least, long otherwise)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) {
            char *end = NULL;
            long value = i + 1 < argc ? strtol(argv[i + 1], &end, 10) : 0;
            if (!end || end == argv[i + 1] || *end || value < least)
                stop("%s: a number of at least %ld must follow", name, least);
            return value;
        }
    return otherwise;
}

/* Whether all ranks agree that the answer is right; rank 0 prints it. The exit status. */
static inline int verdict(const char *program, bool right)
{
    int mine = right, all = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %s\n", program, all ? "PASSED" : "FAILED");
    MPI_Finalize();
    return all ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
