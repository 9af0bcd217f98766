/* OnePoll after several slots of a Basic queue, which the firmware serves, have been given back one by one: it announces
 * none that has been taken.
 */
#include <chasqui/nes.h>
#include <stdio.h>

static struct nes nes;

static void send_three(void)
{
    uint32_t value = 7;
    while (nes_express_receive(&nes, 0) == NES_EMPTY)
        nes_pause();
    for (int i = 0; i < 3; i++) {
        while (!nes_basic_send(&nes, 1, &value, sizeof value))
            nes_pause();
    }
}

/* Messages that were announced and are there. */
static unsigned take(uint64_t announced)
{
    uint32_t value, source;
    unsigned taken = 0;
    nes_basic_told(&nes, announced);
    while (nes.receive.produced != nes.receive.consumed && nes_basic_receive(&nes, &value, &source) >= 0)
        taken++;
    return taken;
}

int main(void)
{
    if (!nes_open(&nes))
        return 2;
    unsigned stale = 0;
    nes_one_poll_order(&nes, 0, (const uint16_t[]){NES_BASIC_NAME(0)}, 1);
    for (int round = 0; round < 20; round++) {
        if (nes.rank == 0) {
            send_three();
            continue;
        }
        while (!nes_express_send(&nes, 0, 0, 0, 0))
            nes_pause();
        for (volatile int i = 0; i < 20000; i++) /* all three come */
            ;
        for (unsigned taken = 0; taken < 3;) {
            uint64_t announced = nes_one_poll(&nes, 0);
            if (announced != NES_EMPTY)
                taken += take(announced);
        }
        stale += nes_one_poll(&nes, 0) != NES_EMPTY;
    }
    if (nes.rank == 1)
        printf("told: %s\n", stale == 0 ? "PASSED" : "FAILED");
    return stale != 0;
}
