/* Rank 0 sends words with data tagged on through both Express queues; two threads of rank 1 take them without a lock,
 * keep some of the data for a while, and give each slot back when they are done with it: none is lost, taken twice, or
 * written over before.
 *
 * Usage: shared MESSAGES (of each queue)
 */
#include <chasqui/nes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPRESS = CHASQUI_VOYAGER_EXPRESS_QUEUES, BYTES = CHASQUI_VOYAGER_TAG_LONG_BYTES, WORDS = BYTES / 8, KEPT = 3 };

static struct nes nes;
static uint32_t total;
static atomic_uint taken;
static atomic_uchar *seen; /* by queue and number */

static void wrong(const char *what, uint64_t message)
{
    printf("rank %u: wrong: %s, queue %u, message %u\n", nes.rank, what, nes_queue(message), nes_value(message));
    exit(1);
}

static uint64_t word_of(unsigned queue, uint32_t number, unsigned i)
{
    return (number * 2 + queue + 1) * 0x0101010101010101ull + i;
}

static void send(unsigned queue, uint32_t number)
{
    unsigned place = (number * EXPRESS + queue) % nes.tags;
    while (place < EXPRESS && !nes_are_sent(&nes, queue))
        nes_pause();
    /* The other queue's messages before may still need their places: those of the half before. */
    while (place < EXPRESS && !nes_are_sent(&nes, 1 - queue))
        nes_pause();
    uint64_t *data = nes_tag_place(&nes, place);
    for (unsigned i = 0; i < WORDS; i++)
        data[i] = word_of(queue, number, i);
    nes_tag_composed(&nes, place, BYTES);
    while (!nes_tag_send(&nes, queue, 1, 0, number, place, BYTES, false))
        nes_pause();
}

static void check(uint64_t message)
{
    const uint64_t *data = nes_tag_data(&nes, message);
    for (unsigned i = 0; i < WORDS; i++)
        if (data[i] != word_of(nes_queue(message), nes_value(message), i))
            wrong("data", message);
}

/* The latest messages are kept, and given back in another order. */
static void *take_all(void *first)
{
    uint64_t kept[KEPT] = {0};
    unsigned queue = first != NULL, turn = 0;
    while (taken < total * EXPRESS) {
        uint64_t message = nes_express_receive(&nes, queue);
        queue = (queue + 1) % EXPRESS;
        if (message == NES_EMPTY) {
            nes_pause();
            continue;
        }
        if (nes_tagged(message) != BYTES || nes_value(message) >= total ||
            atomic_fetch_add(&seen[nes_queue(message) * total + nes_value(message)], 1) > 0)
            wrong("twice, or of another length", message);
        unsigned place = turn++ * 5 % KEPT;
        if (kept[place]) {
            check(kept[place]);
            nes_tag_release(&nes, kept[place], BYTES);
        }
        check(kept[place] = message);
        taken++;
    }
    for (unsigned place = 0; place < KEPT; place++)
        if (kept[place])
            check(kept[place]);
    return first;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes) || nes.ranks != 2)
        return 2;
    total = (uint32_t)atoi(argv[1]);
    if (nes.rank == 0) {
        for (uint32_t i = 0; i < total * EXPRESS; i++)
            send(i % EXPRESS, i / EXPRESS);
        return 0;
    }
    pthread_t second = 0;
    seen = calloc(EXPRESS * total, 1);
    if (!seen || pthread_create(&second, NULL, take_all, &total) != 0)
        return 2;
    take_all(NULL);
    pthread_join(second, NULL);
    puts("shared: PASSED");
    return 0;
}
