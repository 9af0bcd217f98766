/* OnePoll over all queues of a process: it takes what is there in the order that was set, each queue's oldest message
 * first, and says when there is nothing. Ranks 0 and 1 draw the same numbers, so that rank 1 knows what was sent.
 *
 * Usage: onepoll SEED ROUNDS    rounds in each of which rank 1 polls other queues in another order
 *        onepoll threads COUNT  two threads of rank 1 poll one phantom queue
 */
#include <chasqui/nes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPRESS = CHASQUI_VOYAGER_EXPRESS_QUEUES, QUEUES_MAX = CHASQUI_VOYAGER_ONEPOLL_QUEUES, BURST = 24 };
/* Turns of a loop in which the slowest, the firmware, has delivered a burst. */
enum { SETTLE = 60000 };

static struct nes nes, basic[QUEUES_MAX];
static unsigned queues;
static uint64_t state;
static uint32_t sent[QUEUES_MAX], received[QUEUES_MAX];

/* SplitMix64 */
static uint32_t below(uint32_t n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static void wrong(const char *what, unsigned round, unsigned queue, uint64_t message)
{
    printf("rank %u: wrong: %s, round %u, queue %u: %#llx\n", nes.rank, what, round, queue,
           (unsigned long long)message);
    exit(1);
}

static void send(unsigned queue)
{
    uint32_t number = sent[queue]++;
    if (nes.rank != 0)
        return;
    while (queue < EXPRESS ? !nes_express_send(&nes, queue, 1, queue, number)
                           : !nes_basic_send(&basic[queue - EXPRESS], 1, &number, sizeof number))
        nes_pause();
}

/* Rank 0 waits until rank 1 is ready for a burst. */
static void begin(void)
{
    while (nes.rank == 1 ? !nes_express_send(&nes, 0, 0, 0, 0) : nes_express_receive(&nes, 0) == NES_EMPTY)
        nes_pause();
}

static void settle(void)
{
    for (volatile unsigned i = 0; i < SETTLE / 4; i++)
        ;
}

/* All names in another order. */
static void shuffle(uint16_t *names)
{
    for (unsigned i = 0; i < queues; i++) {
        unsigned k = below(i + 1);
        names[i] = names[k];
        names[k] = (uint16_t)i;
    }
}

/* By one load or by two. */
static uint64_t poll(unsigned phantom, bool halves)
{
    if (!halves)
        return nes_one_poll(&nes, phantom);
    volatile uint32_t *half = (volatile uint32_t *)(nes.express_receive + CHASQUI_VOYAGER_ONEPOLL + 8 * phantom);
    uint64_t low = half[0];
    return low | (uint64_t)half[1] << 32;
}

static void take(unsigned round, unsigned queue, uint64_t message)
{
    uint32_t number = nes_value(message), source = nes_source(message);
    if (nes_is_basic(message) != (queue >= EXPRESS) || nes_queue(message) != queue)
        wrong("not the first queue that has a message", round, queue, message);
    if (queue >= EXPRESS) {
        struct nes *own = &basic[queue - EXPRESS];
        uint32_t pointers = (sent[queue] & 0xffff) | received[queue] << 16;
        if (number != pointers)
            wrong("pointers", round, queue, message);
        nes_basic_told(own, message);
        if (nes_basic_receive(own, &number, &source) != sizeof number)
            wrong("length", round, queue, message);
    }
    if (source != 0 || number != received[queue]++)
        wrong("order within a queue", round, queue, number);
}

/* Takes all that the first `count` queues named have. */
static void drain(unsigned round, const uint16_t *names, unsigned count)
{
    unsigned phantom = round % CHASQUI_VOYAGER_ONEPOLLS;
    bool halves = round % 3 == 1;
    nes_one_poll_order(&nes, phantom, names, count);
    for (unsigned i = 0; i < count; i++)
        while (received[names[i]] != sent[names[i]])
            take(round, names[i], poll(phantom, halves));
    for (unsigned i = 0; i < 2; i++)
        if (poll(phantom, halves) != NES_EMPTY)
            wrong("a message that nobody sent", round, 0, 0);
}

static void rounds(unsigned count)
{
    for (unsigned round = 0; round < count; round++) {
        uint16_t names[QUEUES_MAX];
        begin();
        for (unsigned i = below(BURST + 1), most = 1 + below(queues); i > 0; i--)
            send(below(most));
        shuffle(names);
        unsigned some = below(queues + 1), moved = below(queues), resident = below(2);
        if (nes.rank == 1) {
            settle();
            drain(round, names, some);
            drain(round + 1, names, queues);
            if (nes.system)
                nes_system_migrate(&nes, moved, resident);
        }
    }
}

/* --- threads --------------------------------------------------------------------------------------- */

static uint32_t total;
static atomic_uint taken;
static atomic_uchar *seen; /* by queue and number */

static void *take_all(void *nothing)
{
    uint32_t next[EXPRESS] = {0};
    while (taken < total) {
        uint64_t message = nes_one_poll(&nes, 0);
        if (message == NES_EMPTY) {
            nes_pause();
            continue;
        }
        unsigned queue = nes_queue(message);
        uint32_t number = nes_value(message);
        if (queue >= EXPRESS || number < next[queue] || number >= total / EXPRESS ||
            atomic_fetch_add(&seen[queue * total + number], 1) > 0)
            wrong("twice, or overtaken", 0, queue, message);
        next[queue] = number + 1;
        taken++;
    }
    return nothing;
}

static void threads(void)
{
    if (nes.rank == 0) {
        for (uint32_t i = 0; i < total; i++)
            send(i % EXPRESS);
        return;
    }
    pthread_t second = 0;
    seen = calloc(EXPRESS * total, 1);
    nes_one_poll_order(&nes, 0, (const uint16_t[]){1, 0}, EXPRESS);
    if (!seen || pthread_create(&second, NULL, take_all, NULL) != 0)
        wrong("no second thread", 0, 0, 0);
    take_all(NULL);
    pthread_join(second, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (!nes_open(&nes) || nes.ranks != 2 || EXPRESS + nes.basic_queues > QUEUES_MAX) {
        fputs("onepoll: no NES, or not 2 ranks, or too many queues\n", stderr);
        return 2;
    }
    queues = EXPRESS + nes.basic_queues;
    for (unsigned index = 0; index < nes.basic_queues; index++)
        basic[index] = nes_basic_queue(&nes, index);
    if (strcmp(argv[1], "threads") == 0) {
        total = (uint32_t)atoi(argv[2]) * EXPRESS;
        threads();
    } else {
        state = strtoull(argv[1], NULL, 0);
        rounds((unsigned)atoi(argv[2]));
    }
    if (nes.rank == 1)
        puts("onepoll: PASSED");
    return 0;
}
