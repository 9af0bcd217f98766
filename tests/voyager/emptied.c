/* Active messages whose poll tests nothing: rank 1's system software makes Empty a message whose handler does nothing.
 * Rank 0's queues still return the other one. */
#include <chasqui/nes.h>
#include <stdio.h>

enum handler { NOTHING = 7, ADD = 9, END = 11 }; /* in the five bits */
enum { MESSAGES = 50 };

static struct nes nes;
static uint32_t sum, nothing, ended;

static void handle(uint64_t message)
{
    switch (nes_extra(message)) {
    case NOTHING: nothing++; break;
    case ADD: sum += nes_value(message); break;
    case END: ended++; break;
    }
}

int main(void)
{
    const uint64_t empty = (uint64_t)NOTHING << 32 | 0x12345678;
    if (!nes_open(&nes) || !nes.system || nes.ranks != 2)
        return 2;
    nes_one_poll_order(&nes, 0, (const uint16_t[]){0, 1}, 2);
    if (nes.rank == 0) {
        for (uint32_t i = 1; i <= MESSAGES + 2; i++)
            while (!nes_express_send(&nes, i % 2, 1, i > MESSAGES ? END : ADD, i))
                nes_pause();
        return nes_express_receive(&nes, 0) == NES_EMPTY && nes_one_poll(&nes, 0) == NES_EMPTY ? 0 : 1;
    }
    nes_system_set_empty(&nes, empty);
    while (ended < 2) {
        handle(nes_one_poll(&nes, 0));
        handle(nes_express_receive(&nes, 1));
    }
    const volatile uint32_t *halves = (const volatile uint32_t *)nes.express_receive;
    if (sum != MESSAGES * (MESSAGES + 1) / 2 || nothing == 0 || nes_express_receive(&nes, 0) != empty ||
        nes_one_poll(&nes, 0) != empty || nes_one_poll(&nes, 1) != empty || halves[0] != (uint32_t)empty ||
        halves[1] != NOTHING)
        return 1;
    nes_system_set_empty(&nes, NES_EMPTY);
    if (nes_express_receive(&nes, 0) != NES_EMPTY)
        return 1;
    puts("emptied: PASSED");
    return 0;
}
