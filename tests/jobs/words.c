/* What is left to a job that is held up: all ranks but 0 send words to rank 0 for so long. It prints how many came, and the
 * longest time between two of a rank [us].
 *
 * Usage: words MICROSECONDS
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RANKS_MAX 64

static struct nes nes;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void send_until(double end)
{
    while (now_us() < end) {
        for (int i = 0; i < 16; i++)
            nes_express_send(&nes, 0, 0, 0, 1);
    }
}

static void take_until(double end)
{
    double last[RANKS_MAX] = {0}, longest = 0;
    unsigned count = 0;
    for (double now = now_us(); now < end; now = now_us()) {
        for (int i = 0; i < 32; i++) {
            uint64_t message = nes_express_receive(&nes, 0);
            if (message == NES_EMPTY)
                continue;
            uint32_t source = nes_source(message);
            if (last[source] > 0 && now - last[source] > longest)
                longest = now - last[source];
            last[source] = now;
            count++;
        }
    }
    /* Those that it still waits for. */
    for (uint32_t source = 1; source < nes.ranks; source++)
        if (end - last[source] > longest)
            longest = end - last[source];
    printf("%u %.2f\n", count, longest);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes) || nes.ranks > RANKS_MAX)
        return 2;
    double end = now_us() + atoi(argv[1]);
    if (nes.rank == 0)
        take_until(end);
    else
        send_until(end);
    return 0;
}
