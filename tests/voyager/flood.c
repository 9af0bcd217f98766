/* Rank 1 sends rank 0 many more messages of one kind than its queue holds, and then one of another kind. Rank 0
 * takes nothing of the first kind before the other has come; then all must come, in order, and no more.
 *
 * Usage: flood KIND BEHIND MESSAGES (kinds: basic, express, tagged; behind them also block, by DMA, and nothing: then
 * rank 0 does something else for about as long as rank 1 sends)
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = CHASQUI_VOYAGER_TAG_LONG_BYTES, WORDS = 256 };

static struct nes nes;
static _Alignas(64) uint64_t block[WORDS];
static volatile uint64_t *const last = &block[WORDS - 1];

static bool is(const char *kind, const char *name) { return strcmp(kind, name) == 0; }

/* Express queue 0 has the flood, 1 what is behind. */
static bool send(const char *kind, unsigned queue, uint32_t number)
{
    if (is(kind, "basic"))
        return nes_basic_send(&nes, 0, &number, sizeof number);
    if (is(kind, "express"))
        return nes_express_send(&nes, queue, 0, 0, number);
    if (!nes_are_sent(&nes, 0))
        return false;
    memset(nes_tag_place(&nes, 0), (int)number, LONG);
    nes_tag_composed(&nes, 0, LONG);
    return nes_tag_send(&nes, 0, 0, 0, number, 0, LONG, false);
}

static bool take(const char *kind, unsigned queue, uint32_t *number)
{
    uint32_t source;
    if (is(kind, "basic"))
        return nes_basic_receive(&nes, number, &source) >= 0;
    uint64_t message = nes_express_receive(&nes, queue);
    *number = nes_value(message);
    if (message == NES_EMPTY || nes_tagged(message) == 0)
        return message != NES_EMPTY;
    const unsigned char *data = nes_tag_data(&nes, message);
    if (data[0] != (unsigned char)*number || data[LONG - 1] != data[0])
        *number = ~*number;
    nes_tag_release(&nes, message, LONG);
    return true;
}

static bool all_have_left(const char *kind)
{
    if (!is(kind, "basic"))
        return nes_are_sent(&nes, 0);
    return *nes_pointer(&nes, CHASQUI_VOYAGER_TRANSMIT_CONSUMER) == nes.transmit.produced;
}

static void send_all(const char *kind, const char *behind, uint32_t count)
{
    const uint64_t notice[3] = {count};
    for (uint32_t number = 0; number < count; number++)
        while (!send(kind, 0, number))
            nes_pause();
    while (!all_have_left(kind))
        nes_pause();
    memset(block, 1, sizeof block);
    if (is(behind, "block"))
        nes_dma_send(&nes, 0, block, (uintptr_t)block, sizeof block, notice);
    else if (!is(behind, "nothing"))
        send(behind, 1, 0);
    while (is(behind, "block") && !nes_dma_is_done(&nes))
        nes_pause();
}

static void await(const char *behind, uint32_t count)
{
    uint32_t number;
    if (is(behind, "block"))
        while (*last == 0)
            nes_pause();
    else if (is(behind, "nothing"))
        for (volatile uint32_t i = 0; i < 60 * count; i++)
            ;
    else
        while (!take(behind, 1, &number))
            nes_pause();
}

int main(int argc, char **argv)
{
    if (argc != 4 || !nes_open(&nes))
        return 2;
    const char *kind = argv[1], *behind = argv[2];
    uint32_t count = (uint32_t)atoi(argv[3]), number;
    if (nes.rank == 1) {
        send_all(kind, behind, count);
        return 0;
    }
    await(behind, count);
    for (uint32_t i = 0; i < count; i++) {
        while (!take(kind, 0, &number))
            nes_pause();
        if (number != i) {
            printf("flood: %u came for %u\n", number, i);
            return 1;
        }
    }
    /* The block's notice, behind a flood by Basic. */
    if (is(behind, "block"))
        while (!take("basic", 0, &number))
            nes_pause();
    if (take(kind, 0, &number))
        return 1;
    puts("flood: PASSED");
    return 0;
}
