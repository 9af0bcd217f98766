/* What the host's sides of measurements share: timers of 12.5 ns, contexts, synchronisation of the timers by mailbox, and the
 * least of many. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../library/spe.c"

enum { BYTES_MAX = 16384, TRIES_MAX = 4096, SPES = 8 };

static void need(int is_so, const char *what)
{
    if (!is_so) {
        perror(what);
        exit(3);
    }
}

static int argument(int argc, char **argv, int number, int otherwise)
{
    return argc > number ? atoi(argv[number]) : otherwise;
}

/* A context with the program loaded, which uses problem state. */
static spe_context_ptr_t prepare(const spe_program_handle_t *program, unsigned flags)
{
    spe_context_ptr_t context = spe_context_create(flags, NULL);
    need(context != NULL, "spe_context_create");
    need(!spe_program_load(context, program), "spe_program_load");
    return context;
}

static void begin(spe_context_ptr_t context, void *words)
{
    need(!spe_context_start(context, SPE_DEFAULT_ENTRY, words, NULL), "spe_context_start");
}

/* All of them exit. */
static void end(spe_context_ptr_t *contexts, int count)
{
    for (int left = count; left > 0; left--) {
        spe_stop_info_t info;
        int which = spe_context_wait(contexts, count, NULL, &info);
        need(which >= 0 && info.stop_reason == SPE_EXIT && info.code == 0, "an SPE's program");
        spe_context_destroy(contexts[which]);
        contexts[which] = NULL;
    }
}

/* The k-best algorithm (Khunjush, 8.3.4): the least of many, once K of them are within a tick of it. */
static long k_best(const long *times, int count)
{
    enum { K = 3 };
    long least = times[0];
    for (int i = 1; i < count; i++)
        least = times[i] < least ? times[i] : least;
    int near = 0;
    for (int i = 0; i < count; i++)
        near += times[i] <= least + 1;
    if (near < K)
        fprintf(stderr, "only %d of %d times are within a tick of the least\n", near, count);
    return least;
}

/* Ticks by which the SPE's timer, which counts up from when it was told, is behind ours: table 8.3. */
static long timers_apart(volatile void *control, int tries)
{
    long best = -1, apart = 0;
    for (int i = 0; i < tries; i++) {
        long first = (long)spe_timebase();
        _spe_in_mbox_write(control, 1);
        long theirs = (long)_spe_out_mbox_read(control);
        long trip = (long)spe_timebase() - first;
        if (best < 0 || trip < best) {
            best = trip;
            apart = first + trip / 2 - theirs;
        }
    }
    return apart;
}

static void print(const char *name, int key, const long *values, int count)
{
    printf("%s %d", name, key);
    for (int i = 0; i < count; i++)
        printf(" %ld", values[i]);
    printf("\n");
}

#endif
