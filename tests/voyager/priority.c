/* Rank 1 sends rank 0 messages of low priority, more than queues and network hold, and behind the first of them some
 * of high priority. Rank 0 takes none of the low ones before all of the high ones have come; then all must come. Each
 * priority has its order.
 *
 * Usage: priority KIND (express, basic, tagged: low by queue 0, high by queue 1)
 */
#include <chasqui/nes.h>
#include <stdio.h>

enum {
    LONG = CHASQUI_VOYAGER_TAG_LONG_BYTES,
    HIGH = 50,
    LOW = 300,
    FIRST = 40, /* low ones: more than a receive queue holds, and no more than can leave the sender */
};

static struct nes nes, basic[2];

static bool is(const char *kind, const char *name) { return strcmp(kind, name) == 0; }

static bool send(const char *kind, unsigned queue, uint32_t number)
{
    if (is(kind, "basic"))
        return nes_basic_send(&basic[queue], 0, &number, sizeof number);
    if (is(kind, "express"))
        return nes_express_send(&nes, queue, 0, 0, number);
    return nes_tag_send(&nes, queue, 0, 0, number, 0, LONG, false);
}

static bool take(const char *kind, unsigned queue, uint32_t *number)
{
    uint32_t source;
    if (is(kind, "basic"))
        return nes_basic_receive(&basic[queue], number, &source) >= 0;
    uint64_t message = nes_express_receive(&nes, queue);
    *number = nes_value(message);
    if (nes_tagged(message))
        nes_tag_release(&nes, message, LONG);
    return message != NES_EMPTY;
}

static void send_all(const char *kind)
{
    memset(nes_tag_place(&nes, 0), 1, LONG);
    nes_tag_composed(&nes, 0, LONG);
    for (uint32_t low = 0, high = 0; low < LOW || high < HIGH; nes_pause()) {
        low += low < LOW && send(kind, 0, low);
        high += low >= FIRST && high < HIGH && send(kind, 1, high);
    }
}

static bool take_all(const char *kind, unsigned queue, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        while (!take(kind, queue, &number))
            nes_pause();
        if (number != i) {
            printf("priority: %u came for %u by queue %u\n", number, i, queue);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes))
        return 2;
    for (unsigned index = 0; index < nes.basic_queues && index < 2; index++)
        basic[index] = nes_basic_queue(&nes, index);
    if (nes.rank == 1) {
        send_all(argv[1]);
        return 0;
    }
    unsigned high = is(argv[1], "basic") ? NES_BASIC_NAME(1) : 1;
    printf("priority: %s\n", nes_is_high(&nes, high) && !nes_is_high(&nes, high - 1) ? "two" : "one");
    if (!take_all(argv[1], 1, HIGH) || !take_all(argv[1], 0, LOW))
        return 1;
    puts("priority: PASSED");
    return 0;
}
