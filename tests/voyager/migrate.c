/* Messages over all queues to random ranks while each rank moves its own queues in and out of the hardware: none
 * is lost, duplicated, changed, or overtaken by a later one of its queue.
 *
 * Usage: migrate SEED MESSAGES MIGRATIONS (of each rank; 0: none)
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPRESS = CHASQUI_VOYAGER_EXPRESS_QUEUES, RANKS_MAX = 16, QUEUES_MAX = 32 };
/* Five bits of an Express message say what it is. */
enum what { NUMBER, TAGGED, LAST };

static struct nes nes, basic[QUEUES_MAX];
static unsigned queues;
static uint64_t state;
static uint32_t sent[RANKS_MAX][QUEUES_MAX], received[RANKS_MAX][QUEUES_MAX];
static unsigned lasts;

/* SplitMix64 */
static uint32_t below(uint32_t n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static void wrong(const char *what, uint32_t source, unsigned queue, uint32_t number)
{
    printf("rank %u: wrong: %s, from %u, queue %u: %u, %u have come\n", nes.rank, what, source, queue, number,
           received[source][queue]);
    exit(1);
}

/* Message `number` has come; of the last kind it says how many came before. */
static void note(uint32_t source, unsigned queue, enum what what, uint32_t number)
{
    if (number != received[source][queue])
        wrong("order", source, queue, number);
    received[source][queue]++;
    lasts += what == LAST;
}

/* What goes along with message `number`. */
static void fill(uint32_t *words, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = number * 31 + (uint32_t)i;
}

static bool is_filled(const uint32_t *words, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        if (words[i] != number * 31 + (uint32_t)i)
            return false;
    return true;
}

static bool receive_express(uint64_t message)
{
    if (message == NES_EMPTY)
        return false;
    uint32_t source = nes_source(message), number = nes_value(message);
    unsigned queue = nes_queue(message);
    size_t bytes = nes_tagged(message);
    if (bytes != (nes_extra(message) == TAGGED ? CHASQUI_VOYAGER_TAG_SHORT_BYTES : 0))
        wrong("length", source, queue, number);
    note(source, queue, nes_extra(message), number);
    if (bytes > 0) {
        if (!is_filled(nes_tag_data(&nes, message), bytes, number))
            wrong("tagged data", source, queue, number);
        nes_tag_release(&nes, message, bytes);
    }
    return true;
}

static bool receive_basic(unsigned queue)
{
    uint32_t words[CHASQUI_VOYAGER_SLOT_DATA_BYTES / sizeof(uint32_t)], source;
    int bytes = nes_basic_receive(&basic[queue - EXPRESS], words, &source);
    if (bytes < 0)
        return false;
    if (!is_filled(words + 2, (size_t)bytes - 8, words[1]))
        wrong("data", source, queue, words[1]);
    note(source, queue, words[0], words[1]);
    return true;
}

/* By OnePoll over all queues, the next ones first each time. */
static bool receive_any(void)
{
    uint16_t names[QUEUES_MAX];
    unsigned first = below(queues);
    for (unsigned i = 0; i < queues; i++)
        names[i] = (uint16_t)((first + i) % queues);
    nes_one_poll_order(&nes, 0, names, queues);
    uint64_t message = nes_one_poll(&nes, 0);
    if (message == NES_EMPTY || !nes_is_basic(message))
        return receive_express(message);
    unsigned queue = nes_queue(message);
    nes_basic_told(&basic[queue - EXPRESS], message);
    if (!receive_basic(queue))
        wrong("OnePoll's message is not there", 0, queue, 0);
    return true;
}

static bool receive(unsigned queue)
{
    if (below(2))
        return receive_any();
    return queue < EXPRESS ? receive_express(nes_express_receive(&nes, queue)) : receive_basic(queue);
}

static bool send_express(unsigned queue, uint32_t to, enum what what, uint32_t number)
{
    if (what != TAGGED)
        return nes_express_send(&nes, queue, to, what, number);
    /* A place may be written again when it has been sent; each queue uses its own. */
    if (!nes_are_sent(&nes, queue))
        return false;
    unsigned each = nes.tags / EXPRESS, place = queue * each + number % each;
    fill(nes_tag_place(&nes, place), CHASQUI_VOYAGER_TAG_SHORT_BYTES, number);
    nes_tag_composed(&nes, place, CHASQUI_VOYAGER_TAG_SHORT_BYTES);
    return nes_tag_send(&nes, queue, to, what, number, place, CHASQUI_VOYAGER_TAG_SHORT_BYTES, false);
}

static bool try_send(unsigned queue, uint32_t to, enum what what)
{
    uint32_t number = sent[to][queue];
    if (queue < EXPRESS)
        return send_express(queue, to, what, number);
    uint32_t words[CHASQUI_VOYAGER_SLOT_DATA_BYTES / sizeof(uint32_t)] = {what, number};
    size_t bytes = 8 + number * 8 % 88;
    fill(words + 2, bytes - 8, number);
    return nes_basic_send(&basic[queue - EXPRESS], to, words, bytes);
}

static void send(unsigned queue, uint32_t to, enum what what)
{
    while (!try_send(queue, to, what)) {
        receive(below(queues));
        nes_pause();
    }
    sent[to][queue]++;
}

static void migrate(void) { nes_system_migrate(&nes, below(queues), below(2)); }

static void open_all(uint64_t seed)
{
    if (!nes_open(&nes) || nes.ranks > RANKS_MAX || EXPRESS + nes.basic_queues > QUEUES_MAX) {
        fputs("migrate: no NES, or too many ranks or queues\n", stderr);
        exit(2);
    }
    queues = EXPRESS + nes.basic_queues;
    for (unsigned index = 0; index < nes.basic_queues; index++)
        basic[index] = nes_basic_queue(&nes, index);
    state = seed * 0x10001 + nes.rank;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    uint32_t messages = (uint32_t)atoi(argv[2]), migrations = (uint32_t)atoi(argv[3]);
    open_all(strtoull(argv[1], NULL, 0));
    for (uint32_t i = 0; i < messages; i++) {
        unsigned queue = below(queues);
        send(queue, below(nes.ranks), queue < EXPRESS && below(2) ? TAGGED : NUMBER);
        /* Sometimes little is received for long, so that queues are full. */
        for (uint32_t k = below(i / 64 % 2 ? 8 : 2); k > 0; k--)
            receive(below(queues));
        if (migrations > 0 && below(messages) < migrations)
            migrate();
    }
    for (unsigned queue = 0; queue < queues; queue++)
        for (uint32_t to = 0; to < nes.ranks; to++)
            send(queue, to, LAST);
    for (unsigned queue = 0; lasts < queues * nes.ranks; queue = (queue + 1) % queues) {
        receive(queue);
        nes_pause();
        if (migrations > 0 && below(messages) < migrations)
            migrate();
    }
    /* What the others have sent to the last, and no more. */
    for (unsigned queue = 0; queue < queues; queue++)
        if (receive(queue))
            wrong("a message after the last", 0, queue, 0);
    printf("rank %u: PASSED, %lu moves\n", nes.rank,
           (unsigned long)(nes.system ? nes_system_migrate(&nes, queues, false) : 0));
    return 0;
}
