/* Rank 0 fills rank 1's Express queue, so that its job is held up; with a second argument that is not 0 it also sends as many
 * messages to a Basic queue that nobody has.
 *
 * Usage: nameless MESSAGES WITH
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

static struct nes nes;

static void send(unsigned messages, bool to_nobody)
{
    if (to_nobody)
        nes_system_connect(&nes, NES_BASIC_NAME(0), 1, 1, 50, 0);
    nes_fence();
    for (uint32_t i = 0; i < messages; i++) {
        while (!nes_express_send(&nes, 0, 1, 0, i))
            nes_pause();
        while (to_nobody && !nes_basic_send(&nes, 1, &i, sizeof i))
            nes_pause();
    }
}

static void take(unsigned messages)
{
    for (volatile int i = 0; i < 60000; i++)
        ;
    while (messages > 0)
        messages -= nes_express_receive(&nes, 0) != NES_EMPTY;
}

int main(int argc, char **argv)
{
    if (argc != 3 || !nes_open(&nes) || !nes.system)
        return 2;
    unsigned messages = (unsigned)atoi(argv[1]);
    if (nes.rank == 0)
        send(messages, atoi(argv[2]) != 0);
    else
        take(messages);
    printf("rank %u: PASSED\n", nes.rank);
    return 0;
}
