/* Active messages without MPI: rank 0 keeps a counter, the others add to it by Express messages, fetch it,
 * and get a line of text by Tag-On, multicast; then blocks by DMA and sums by Basic.
 *
 * Usage: counter ADDITIONS
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

/* The handler is named by the five bits of the address. */
enum handler { ADD, FETCH, VALUE, TEXT, ADDRESS };
enum { WORK, REPLY, BLOCK = 1000 };
/* Phantom queues of OnePoll. */
enum { WORK_FIRST, BASIC_ALONE };

static struct nes nes;

static void check(bool right, const char *what)
{
    if (right)
        return;
    printf("rank %u: wrong: %s\n", nes.rank, what);
    exit(1);
}

static uint64_t await(unsigned queue)
{
    uint64_t message;
    while ((message = nes_express_receive(&nes, queue)) == NES_EMPTY)
        nes_pause();
    check(nes_queue(message) == queue, "queue");
    return message;
}

static void express(unsigned queue, uint32_t destination, enum handler handler, uint32_t value)
{
    while (!nes_express_send(&nes, queue, destination, handler, value))
        nes_pause();
}

/* Rank 0: adds until every other rank has fetched the counter once. The last fetch sees everything. */
static void serve(uint32_t additions)
{
    uint64_t sum = 0;
    uint32_t *added = calloc(nes.ranks, sizeof *added);
    for (uint32_t fetched = 0; fetched < nes.ranks - 1;) {
        uint64_t message = nes_one_poll(&nes, WORK_FIRST);
        if (message == NES_EMPTY) {
            nes_pause();
            continue;
        }
        uint32_t source = nes_source(message);
        if (nes_extra(message) == ADD) {
            check(nes_value(message) == ++added[source], "order of additions");
            sum += nes_value(message);
        } else {
            check(added[source] == additions, "a fetch overtook additions");
            express(REPLY, source, VALUE, (uint32_t)sum);
            fetched++;
        }
    }
    check(sum == (uint64_t)(nes.ranks - 1) * additions * (additions + 1) / 2, "sum");
    free(added);
}

static void ask(uint32_t additions)
{
    for (uint32_t i = 1; i <= additions; i++)
        express(WORK, 0, ADD, i);
    express(WORK, 0, FETCH, 0);
    uint64_t reply = await(REPLY);
    check(nes_extra(reply) == VALUE && nes_source(reply) == 0, "reply");
    check(nes_value(reply) >= additions * (additions + 1) / 2, "value");
}

/* One text of each length to all: the data cross the bus once. */
static void multicast(void)
{
    const size_t lengths[] = {CHASQUI_VOYAGER_TAG_SHORT_BYTES, CHASQUI_VOYAGER_TAG_LONG_BYTES};
    for (unsigned i = 0; i < 40; i++) {
        size_t bytes = lengths[i % 2];
        unsigned place = i % nes.tags;
        while (place == 0 && !nes_are_sent(&nes, WORK))
            nes_pause();
        memset(nes_tag_place(&nes, place), 'a' + (int)i, bytes);
        nes_tag_composed(&nes, place, bytes);
        for (uint32_t to = 1; to < nes.ranks; to++)
            while (!nes_tag_send(&nes, WORK, to, TEXT, i, place, bytes, to > 1))
                nes_pause();
    }
}

static void read_texts(void)
{
    for (unsigned i = 0; i < 40; i++) {
        uint64_t message = await(WORK);
        size_t bytes = nes_tagged(message);
        check(nes_extra(message) == TEXT && nes_value(message) == i, "header of a text");
        check(bytes == (i % 2 ? CHASQUI_VOYAGER_TAG_LONG_BYTES : CHASQUI_VOYAGER_TAG_SHORT_BYTES), "length");
        const char *text = nes_tag_data(&nes, message);
        for (size_t k = 0; k < bytes; k++)
            check(text[k] == (char)('a' + (int)i), "text");
        nes_tag_release(&nes, message, bytes);
    }
}

/* Every rank > 0 sends a block to where rank 0 says; the notice is a Basic message. */
static void blocks(void)
{
    static uint32_t block[BLOCK], notice[22];
    uint64_t words[3] = {0, 0, nes.rank};
    uint32_t source;
    if (nes.rank > 0) {
        uint32_t where = nes_value(await(REPLY));
        for (uint32_t i = 0; i < BLOCK; i++)
            block[i] = i * nes.rank;
        while (!nes_dma_send(&nes, 0, block, where, sizeof block, words))
            nes_pause();
        while (!nes_dma_is_done(&nes))
            nes_pause();
        while (!nes_basic_send(&nes, 0, &block[1], sizeof block[1]))
            nes_pause();
        return;
    }
    for (uint32_t from = 1; from < nes.ranks; from++) {
        express(REPLY, from, ADDRESS, (uint32_t)(uintptr_t)block);
        for (int expected = 40; expected > 0; expected -= 36) {
            while (!nes_is_basic(nes_one_poll(&nes, BASIC_ALONE)))
                nes_pause();
            check(nes_basic_receive(&nes, notice, &source) == expected && source == from, "Basic");
            check(expected == 40 ? notice[4] == from : notice[0] == from, "words of Basic");
        }
        check(nes_basic_receive(&nes, notice, &source) == -1, "nothing more");
        for (uint32_t i = 0; i < BLOCK; i++)
            check(block[i] == i * from, "block");
    }
}

int main(int argc, char **argv)
{
    uint32_t additions = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    if (!nes_open(&nes)) {
        fputs("counter: there is no NES here\n", stderr);
        return 2;
    }
    nes_one_poll_order(&nes, WORK_FIRST, (const uint16_t[]){WORK}, 1);
    nes_one_poll_order(&nes, BASIC_ALONE, (const uint16_t[]){NES_BASIC_NAME(0)}, 1);
    if (nes.rank == 0) {
        serve(additions);
        multicast();
    } else {
        ask(additions);
        read_texts();
    }
    blocks();
    if (nes.rank == 0)
        puts("counter: PASSED");
    return 0;
}
