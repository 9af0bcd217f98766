/* explorer [large] [programs] [cache] [program=NAME] [mutation=N] [generated=LENGTH]
 *          [random=COUNT] [seed=N] [verbose]
 *
 * cache: of rules those of a cache of channels alone.
 * programs: these alone, with all rules and nothing generated. wasteful: economies are not checked, so that rules which
 * serve nothing else are not missed. */
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "explorer.h"

#define STATES_MAX 20000000
#define CACHE_STATES_MAX 8000 /* likewise, of programs where rules of a cache of channels alone are taken away */
#define RANDOM_STATES_MAX 200000 /* random programs that have more are cut off there */

static bool is_verbose;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of the processor's time: then the program ends. 0: there is no limit. */
static void limit_seconds(long limit)
{
    struct itimerval timer = {.it_value.tv_sec = limit};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

static void print_path(const struct program *program, const struct result *result)
{
    static struct world world;
    printf("%s", program->name);
    for (unsigned process = 0; process < program->process_count; process++)
        printf("%s%s", process ? " | " : ": ", program->texts[process]);
    printf(" (%u slots): %s, after\n", program->slots, result->wrong);
    running = program;
    begin_world(&world);
    story = stdout;
    for (unsigned i = 0; i < result->path_length; i++) {
        describe(&world, result->path[i], stdout);
        if (!take(&world, result->path[i]))
            break;
    }
    story = NULL;
}

static bool run_one(const struct program *text, uint64_t states_max, uint64_t *states)
{
    static struct result result;
    struct program program = *text;
    double begin = seconds();
    parse(&program);
    search(&program, states_max, &result);
    *states += result.states;
    if (is_verbose)
        printf("%-32s %9llu states, %5llu ends, %6.2f s\n", program.name, (unsigned long long)result.states,
               (unsigned long long)result.ends, seconds() - begin);
    if (result.wrong)
        print_path(&program, &result);
    else if (result.is_cut && states_max == STATES_MAX)
        printf("%s: more than %u states\n", program.name, STATES_MAX);
    return !result.wrong && !(result.is_cut && states_max == STATES_MAX);
}

static unsigned run_generated(unsigned length, uint64_t *states, unsigned *failed)
{
    static struct program program;
    unsigned count = 0;
    for (; generate(count, length, &program); count++)
        *failed += !run_one(&program, STATES_MAX, states);
    return count;
}

static void run_random(uint64_t seed, unsigned count, uint64_t *states, unsigned *failed)
{
    static struct program program;
    for (unsigned i = 0; i < count; i++) {
        draw_program(seed + i, &program);
        *failed += !run_one(&program, RANDOM_STATES_MAX, states);
    }
}

/* Which programs reach a mutation at all: bits by program. */
static uint64_t reaching[RULE_COUNT + ROW_COUNT * PART_COUNT][2];
static uint64_t states_of[128];
static unsigned by_states[128]; /* programs, the smallest first */

/* What the host has drained is in no probe here. */
static bool runs_here(const struct program *text)
{
#ifdef PROTOCOL_CACHE
    struct program program = *text;
    parse(&program);
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (program.operations[i].kind == OP_PROBE || program.operations[i].kind == OP_CLAIM ||
            program.operations[i].kind == OP_CLAIM_IF)
            return false;
#endif
    return text->name != NULL;
}

static unsigned run_programs(unsigned count, unsigned mutation_count, const char *only, uint64_t states_max,
                             uint64_t *states)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < count; i++) {
        if ((only && strcmp(only, programs[i].name) != 0) || !runs_here(&programs[i]))
            continue;
        memset(reached_rules, 0, sizeof reached_rules);
        memset(reached_parts, 0, sizeof reached_parts);
        failed += !run_one(&programs[i], states_max, &states_of[i]);
        *states += states_of[i];
        for (unsigned j = 0; j < mutation_count; j++)
            if (is_reached(mutation_at(j)))
                reaching[j][i / 64] |= (uint64_t)1 << i % 64;
    }
    return failed;
}

static void order_programs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;
        for (; at > 0 && states_of[by_states[at - 1]] > states_of[i]; at--)
            by_states[at] = by_states[at - 1];
        by_states[at] = i;
    }
}

/* True: a program fails without the rule. */
static bool run_mutation(unsigned index, unsigned count, const char *only)
{
    static struct result result;
    char text[160];
    describe_mutation(mutation_at(index), text, sizeof text);
    for (unsigned nth = 0; nth < count; nth++) {
        unsigned i = by_states[nth];
        if (!(reaching[index][i / 64] >> i % 64 & 1) || (only && strcmp(only, programs[i].name) != 0))
            continue;
        struct program program = programs[i];
        parse(&program);
        limit_seconds(30); /* Without a rule a list may become a circle. */
        mutation = mutation_at(index);
        search(&program, 4 * states_of[i] + 20000, &result);
        if (result.wrong) {
            printf("%3u %-80s %s: %s\n", index, text, program.name, result.wrong);
            if (is_verbose)
                print_path(&program, &result);
        }
        mutation.kind = MUTATION_NONE;
        limit_seconds(0);
        if (result.wrong)
            return true;
    }
    printf("%3u %-80s NOT MISSED%s\n", index, text,
           reaching[index][0] | reaching[index][1] ? "" : ": no program reaches it");
    return false;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool is_large = false, is_cache = false;
    int only_mutation = -1; /* -1: all, -2: none */
    unsigned generated = 2, random_count = 60;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "large") == 0)
            is_large = true;
        else if (strcmp(argv[i], "verbose") == 0)
            is_verbose = true;
        else if (strcmp(argv[i], "wasteful") == 0)
            checks_economy = false;
        else if (strcmp(argv[i], "cache") == 0)
            is_cache = true;
        else if (strcmp(argv[i], "programs") == 0)
            only_mutation = -2, generated = random_count = 0;
        else if (strncmp(argv[i], "program=", 8) == 0)
            only = argv[i] + 8;
        else if (strncmp(argv[i], "mutation=", 9) == 0)
            only_mutation = (int)strtol(argv[i] + 9, NULL, 10);
        else if (strncmp(argv[i], "random=", 7) == 0)
            random_count = (unsigned)strtoul(argv[i] + 7, NULL, 10);
        else if (strncmp(argv[i], "seed=", 5) == 0)
            seed = strtoull(argv[i] + 5, NULL, 10);
        else if (strncmp(argv[i], "generated=", 10) == 0)
            generated = (unsigned)strtoul(argv[i] + 10, NULL, 10);
        else
            return fprintf(stderr, "explorer: unknown argument %s\n", argv[i]), 2;
    }
    double begin = seconds();
    uint64_t states = 0;
    unsigned count = is_large || only ? program_count : program_large_first, mutation_count = mutations_begin();
    bool verbose = is_verbose;
    if (only_mutation >= 0)
        is_verbose = false;
    unsigned failed = run_programs(count, mutation_count, only, is_cache ? CACHE_STATES_MAX : STATES_MAX, &states),
             missed = 0, generated_count = 0;
    double explored = seconds();
    order_programs(count);
    unsigned taken = 0, left_out = 0; /* mutations */
    is_verbose = verbose;
    for (unsigned i = 0; failed == 0 && i < mutation_count; i++) {
        struct mutation each = mutation_at(i);
        if ((only_mutation != -1 && only_mutation != (int)i) || (is_cache && !is_of_cache(each)))
            continue;
        bool is_missed = run_mutation(i, only ? count : program_large_first, only);
        taken += !needs_probe(each);
        missed += !needs_probe(each) && is_missed;
        left_out += needs_probe(each) && !is_missed;
        failed += needs_probe(each) && is_missed; /* Then it is no reason to leave it out. */
    }
    double mutated = seconds();
    is_verbose = false;
    if (!only && only_mutation < 0 && generated > 0)
        generated_count = run_generated(generated, &states, &failed);
    if (!only && only_mutation < 0)
        run_random(seed, random_count, &states, &failed);
    else
        random_count = 0;
    printf(
        "explorer: %u programs, %u generated and %u random ones (seed %llu), %llu states, %u failed; %u of %u rules "
        "are missed when taken away, %u that only a probe reaches or misses are not; "
        "%.0f + %.0f + %.0f s\n",
        only ? 1 : count, generated_count, random_count, (unsigned long long)seed, (unsigned long long)states, failed,
        missed, taken, left_out, explored - begin, mutated - explored, seconds() - mutated);
    return failed > 0 || (missed < taken && only_mutation == -1 && !only);
}
