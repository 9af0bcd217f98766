/* An Express queue takes no more messages than it holds, be it the hardware's or served by the firmware, and whatever waits
 * for the firmware finds room when the queue moves. Rank 0 sends by 64-byte stores, each until it is refused, and moves the
 * queue in between; rank 1 checks the order. With OVERRUN rank 0 does not ask in the end, which is a fault.
 *
 * Usage: full [OVERRUN]
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 12

static struct nes nes;

static void check(bool right, const char *what, uint32_t index)
{
    if (right)
        return;
    printf("rank %u: wrong: %s at message %u\n", nes.rank, what, index);
    exit(1);
}

/* Sends from message `next` on until the NES refuses one, or four times as many as the queue holds. One has left it that is
 * not counted yet. */
static uint32_t fill(uint32_t next)
{
    uint32_t end = next + 4 * nes.express_slots;
    while (next != end && nes_wide_try(&nes, 0, 1, 0, next, 0, 0))
        next++;
    uint32_t sent = *nes_pointer(&nes, CHASQUI_VOYAGER_EXPRESS_SENT);
    check(next - sent <= nes.express_slots + 1, "more than the queue holds", next);
    return next;
}

static void send(bool overruns)
{
    uint32_t next = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        nes_system_migrate(&nes, 0, round % 3 == 1);
        next = fill(next);
    }
    while (overruns)
        nes_express_store(&nes, nes.express, 0, 1, 0, next++);
    while (!nes_wide_try(&nes, 0, 1, 1, next, 0, 0))
        nes_pause();
}

static void take(void)
{
    uint64_t message;
    uint32_t next = 0;
    do {
        while ((message = nes_express_receive(&nes, 0)) == NES_EMPTY)
            nes_pause();
        check(nes_value(message) == next, "order", next);
        next++;
    } while (nes_extra(message) == 0);
}

int main(int argc, char **argv)
{
    if (!nes_open(&nes) || !nes.system)
        return 2;
    if (nes.rank == 0)
        send(argc > 1);
    else
        take();
    printf("rank %u: PASSED\n", nes.rank);
    return 0;
}
