/* Block transfers by the controllers, by programs of threads on all nodes.
 *
 * transfers random NODES SEED ROUNDS   transfers between random nodes beside a reference, while processors load and store nearby
 * transfers cast NODES                  each node broadcasts to its row and column, all at the same time
 * transfers time BYTES                 "send CYCLES" and "receive CYCLES" from the command's end to the flag's
 * transfers bad WHAT                   a transfer that is refused, by its name below
 * transfers third WHAT                 data that a third node has cached: "load" or "store", at the "source" or the "destination"
 *
 * Prints PASSED where all is as it should be. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chasqui/block_transfer.h"

enum { PAGE = 4096, NODES_MAX = 64, MPOL_BIND = 2, AREA = 4 * PAGE, PLACES = 6, PLACE = 2048, LINE_MAX = 128 };

static unsigned nodes;
static pthread_barrier_t barrier;

static uint64_t cycles(void)
{
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now)::"memory");
    return now;
}

/* Memory of a node, present. */
static unsigned char *area_at(unsigned node, size_t bytes)
{
    uint64_t mask = 1ull << node;
    unsigned char *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || syscall(SYS_mbind, area, bytes, MPOL_BIND, &mask, 65, 0)) {
        perror("mbind");
        exit(1);
    }
    return area;
}

static void touch(unsigned char *area, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at < bytes; at++)
        area[at] = (unsigned char)(at * 7 + at / 251 + seed);
}

static void on_all(void *(*work)(void *))
{
    pthread_t all[NODES_MAX];
    pthread_barrier_init(&barrier, 0, nodes);
    for (unsigned i = 1; i < nodes; i++)
        if (pthread_create(&all[i], 0, work, (void *)(uintptr_t)i))
            exit(1);
    work(0);
    for (unsigned i = 1; i < nodes; i++)
        pthread_join(all[i], 0);
}

/* --- random -------------------------------------------------------------------------------------- */

/* What a round does: each place of each node may be filled from another node. */
struct job {
    unsigned from, to, source, destination, bytes, count, columns, source_stride, destination_stride;
    bool by_receiver;
};

static unsigned char *sources[NODES_MAX], *targets[NODES_MAX], *expected;
static struct {
    _Alignas(LINE_MAX) volatile uint64_t word[PLACES];
} *flags[NODES_MAX];
static struct job jobs[NODES_MAX][PLACES];
static unsigned rounds, seed;
static atomic_uint wrong;

static unsigned next(unsigned *state, unsigned below)
{
    *state = *state * 1103515245 + 12345;
    return (*state >> 8) % below;
}

static void plan(unsigned round)
{
    unsigned state = seed * 7919 + round;
    for (unsigned to = 0; to < nodes; to++)
        for (unsigned place = 0; place < PLACES; place++) {
            struct job *job = &jobs[to][place];
            *job = (struct job){.to = to, .count = 1, .bytes = 1 + next(&state, 1500)};
            job->from = (to + 1 + next(&state, nodes - 1)) % nodes;
            job->by_receiver = next(&state, 2);
            if (next(&state, 2)) {
                job->bytes = 1 + next(&state, 40);
                job->count = 1 + next(&state, 16);
                job->destination_stride = job->bytes + next(&state, 30);
                job->source_stride = next(&state, 160);
            }
            if (next(&state, 4) == 0) {
                job->bytes = 1u << next(&state, 6);
                job->count = 1 + next(&state, 8);
                job->columns = 1 + next(&state, 5);
                job->source_stride = job->columns * job->bytes + next(&state, 300);
                job->destination_stride = job->count * job->bytes + next(&state, 30);
            }
            job->source = next(&state, AREA - 4096);
            job->destination = place * PLACE + LINE_MAX + next(&state, 200);
        }
}

static void begin(const struct job *job, unsigned place)
{
    chasqui_transfer_start(&(struct chasqui_transfer){
        .source = sources[job->from] + job->source,
        .destination = targets[job->to] + job->destination,
        .bytes = job->bytes,
        .count = job->count,
        .source_stride = job->source_stride,
        .destination_stride = job->destination_stride,
        .columns = job->columns,
        .flag = &flags[job->to]->word[place],
        .flag_value = 7,
        .initiator = job->by_receiver ? CHASQUI_TRANSFER_BY_RECEIVER : CHASQUI_TRANSFER_BY_SENDER,
    });
}

static void check(const struct job *job, unsigned place, unsigned round)
{
    unsigned elements = job->columns ? job->columns : 1;
    for (unsigned point = 0; point < job->count * elements; point++)
        for (unsigned at = 0; at < job->bytes; at++) {
            unsigned row = point / elements, column = point % elements;
            unsigned place_of =
                job->columns ? column * job->destination_stride + row * job->bytes : row * job->destination_stride;
            unsigned char found = targets[job->to][job->destination + place_of + at];
            unsigned char right = sources[job->from][job->source + row * job->source_stride + column * job->bytes + at];
            if (found != right && wrong++ < 5)
                printf("round %u, node %u, place %u, point %u, byte %u: %u, not %u\n", round, job->to, place, point, at,
                       found, right);
        }
}

static void *random_thread(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number, state = seed + 31 * me, cpu, node;
    syscall(SYS_getcpu, &cpu, &node, 0);
    targets[me] = area_at(node, AREA);
    sources[me] = area_at(node, AREA);
    flags[me] = (void *)area_at(node, PAGE);
    memset(targets[me], 0, AREA);
    memset((void *)flags[me], 0, PAGE);
    for (unsigned round = 0; round < rounds; round++) {
        pthread_barrier_wait(&barrier);
        if (me == 0)
            plan(round);
        touch(sources[me], AREA, round * 3 + me);
        for (unsigned place = 0; place < PLACES; place++)
            flags[me]->word[place] = 0;
        /* What is before the first byte of a place is this processor's. */
        unsigned char edges[PLACES];
        pthread_barrier_wait(&barrier);
        unsigned open = 0;
        for (unsigned to = 0; to < nodes; to++)
            for (unsigned place = 0; place < PLACES; place++)
                if (me == (jobs[to][place].by_receiver ? to : jobs[to][place].from))
                    begin(&jobs[to][place], place);
        for (unsigned place = 0; place < PLACES; place++) {
            open |= 1u << place;
            edges[place] = (unsigned char)round;
            targets[me][jobs[me][place].destination - 1] = edges[place];
        }
        while (open) {
            unsigned place = next(&state, PLACES);
            edges[place] = (unsigned char)next(&state, 256);
            targets[me][jobs[me][place].destination - 1] = edges[place];
            if (next(&state, 3) == 0)
                (void)*(volatile unsigned char *)&targets[me][place * PLACE + next(&state, PLACE)];
            if (open >> place & 1 && chasqui_transfer_done(&flags[me]->word[place], 7)) {
                open &= ~(1u << place);
                check(&jobs[me][place], place, round);
            }
        }
        for (unsigned place = 0; place < PLACES; place++)
            wrong += targets[me][jobs[me][place].destination - 1] != edges[place];
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

/* --- broadcasts ---------------------------------------------------------------------------------- */

enum { CAST = 1000 };

static unsigned columns;

/* The nodes that get what `source` broadcasts. */
static bool gets(unsigned me, unsigned source)
{
    return me != source && (me / columns == source / columns || me % columns == source % columns);
}

static void *cast_thread(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number, expects = 0;
    targets[me] = area_at(me, AREA);
    sources[me] = area_at(me, PAGE);
    memset(targets[me], 0, AREA);
    touch(sources[me], PAGE, me);
    /* A flag counts what has come; another says that all has left. */
    volatile uint64_t *come = (volatile uint64_t *)(targets[me] + AREA - 64), *left = come + 1;
    for (unsigned source = 0; source < nodes; source++)
        if (gets(me, source)) {
            expects++;
            chasqui_transfer_join(&(struct chasqui_transfer){.destination = targets[me] + source * 1024,
                                                             .bytes = CAST / 4,
                                                             .count = 4,
                                                             .destination_stride = CAST / 4 + 2,
                                                             .flag = come,
                                                             .flag_adds = true,
                                                             .group = source});
        }
    /* The stores have arrived. */
    __asm__ volatile("fence o, rw" ::: "memory");
    pthread_barrier_wait(&barrier);
    chasqui_transfer_start(&(struct chasqui_transfer){
        .source = sources[me] + 3, .bytes = CAST, .flag = left, .broadcast = CHASQUI_TRANSFER_TO_BOTH, .group = me});
    chasqui_transfer_wait(come, expects);
    chasqui_transfer_wait(left, 1);
    for (unsigned source = 0; source < nodes; source++)
        for (unsigned at = 0; at < CAST && gets(me, source); at++)
            if (targets[me][source * 1024 + at / (CAST / 4) * (CAST / 4 + 2) + at % (CAST / 4)] !=
                    sources[source][3 + at] &&
                wrong++ < 5)
                printf("node %u: byte %u of what %u has broadcast\n", me, at, source);
    pthread_barrier_wait(&barrier);
    return 0;
}

/* --- times --------------------------------------------------------------------------------------- */

static unsigned long size;
static unsigned char *ends[2];
static volatile uint64_t *flag;

static uint64_t timed(enum chasqui_transfer_initiator initiator)
{
    *flag = 0;
    struct chasqui_transfer transfer = {
        .source = ends[0], .destination = ends[1], .bytes = size, .flag = flag, .initiator = initiator};
    if (initiator == CHASQUI_TRANSFER_BY_RECEIVER)
        transfer.source = ends[1], transfer.destination = ends[0];
    __asm__ volatile("fence rw, rw" ::: "memory");
    chasqui_transfer_start(&transfer);
    /* The store has arrived. */
    __asm__ volatile("fence o, rw" ::: "memory");
    uint64_t start = cycles();
    while (*flag == 0) {}
    return cycles() - start;
}

static void time_all(void)
{
    for (int end = 0; end < 2; end++) {
        ends[end] = area_at((unsigned)end, (size + PAGE) / PAGE * PAGE);
        for (size_t at = 0; at < size + 1; at += PAGE)
            ends[end][at] = 1;
    }
    unsigned char *other = area_at(0, 64 * 1024);
    flag = (void *)area_at(0, PAGE);
    memset(other, 1, 64 * 1024);
    for (int i = 0; i < 64 * 1024; i += 32)
        (void)*(volatile unsigned char *)&other[i];
    printf("send %lu\n", (unsigned long)timed(CHASQUI_TRANSFER_BY_SENDER));
    printf("receive %lu\n", (unsigned long)timed(CHASQUI_TRANSFER_BY_RECEIVER));
}

/* --- what is refused ----------------------------------------------------------------------------- */

static unsigned char *pages[3];

static void bad(const char *what)
{
    unsigned char *absent = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *constant = area_at(1, PAGE);
    constant[0] = 1;
    mprotect(constant, PAGE, PROT_READ);
    struct chasqui_transfer transfer = {.source = pages[0], .destination = pages[1], .bytes = 64};
    if (!strcmp(what, "absent"))
        transfer.source = absent;
    else if (!strcmp(what, "constant"))
        transfer.destination = constant;
    else if (!strcmp(what, "null"))
        transfer.destination = 0;
    else if (!strcmp(what, "itself"))
        transfer.destination = pages[0] + 1024;
    else if (!strcmp(what, "elsewhere"))
        transfer.source = pages[1], transfer.destination = pages[2];
    else if (!strcmp(what, "received"))
        transfer.initiator = CHASQUI_TRANSFER_BY_RECEIVER;
    else if (!strcmp(what, "nothing"))
        transfer.bytes = 0;
    else if (!strcmp(what, "flag"))
        transfer.flag = (void *)(pages[1] + 4);
    else if (!strcmp(what, "register"))
        *(volatile uint32_t *)chasqui_transfer_registers = 1;
    printf("source %p destination %p\n", transfer.source, transfer.destination);
    fflush(stdout);
    chasqui_transfer_start(&transfer);
    for (;;)
        __asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory"); /* pause */
}

static const char *third_does, *third_where;

static void *third_thread(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;
    unsigned char *at = pages[!strcmp(third_where, "source") ? 0 : 1] + 128;
    pthread_barrier_wait(&barrier);
    if (me == 2) {
        if (!strcmp(third_does, "store"))
            *at = 77;
        else
            (void)*(volatile unsigned char *)at;
        __asm__ volatile("fence rw, rw" ::: "memory");
    }
    pthread_barrier_wait(&barrier);
    if (me == 0) {
        static volatile uint64_t done;
        chasqui_transfer_send(pages[1], pages[0], 512, &done);
        chasqui_transfer_wait(&done, 1);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 512; i++)
        wrong += pages[1][i] != (!strcmp(third_does, "store") && !strcmp(third_where, "source") && i == 128 ? 77 : 1);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (!chasqui_transfer_open()) {
        printf("no registers\n");
        return 3;
    }
    if (!strcmp(argv[1], "time")) {
        size = strtoul(argv[2], 0, 0);
        time_all();
        return 0;
    }
    if (!strcmp(argv[1], "cast")) {
        nodes = (unsigned)atoi(argv[2]);
        /* As the machine's mesh is: a square. */
        for (columns = 1; columns * columns < nodes; columns++) {}
        on_all(cast_thread);
        printf("%s\n", wrong ? "FAILED" : "PASSED");
        return wrong != 0;
    }
    for (unsigned i = 0; i < 3 && strcmp(argv[1], "random"); i++) {
        pages[i] = area_at(i, PAGE);
        memset(pages[i], i == 0, PAGE);
    }
    if (!strcmp(argv[1], "bad"))
        bad(argv[2]);
    if (!strcmp(argv[1], "third") && argc > 3) {
        nodes = 3;
        third_does = argv[2];
        third_where = argv[3];
        /* What this processor has modified of the others' leaves its cache. */
        unsigned char *other = area_at(0, 64 * 1024);
        memset(other, 1, 64 * 1024);
        on_all(third_thread);
    } else if (argc > 4) {
        nodes = (unsigned)atoi(argv[2]);
        seed = (unsigned)atoi(argv[3]);
        rounds = (unsigned)atoi(argv[4]);
        on_all(random_thread);
    }
    printf("%s\n", wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
