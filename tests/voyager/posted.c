/* Rank 0 composes a ring of empty DMA requests to rank 1, posts so many by one store to the pointer, and waits until as
 * many are done. Rank 1 reads none of the notices before all have been sent, then `READ` of them.
 *
 * Usage: posted POINTER STORED READ (pointers: dma, transmit, receive, tags)
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

static struct nes nes;

static uint64_t pointer_of(const char *name)
{
    if (strcmp(name, "dma") == 0)
        return CHASQUI_VOYAGER_DMA_PRODUCER;
    if (strcmp(name, "transmit") == 0)
        return CHASQUI_VOYAGER_TRANSMIT_PRODUCER;
    return strcmp(name, "receive") == 0 ? CHASQUI_VOYAGER_RECEIVE_CONSUMER : CHASQUI_VOYAGER_TAG_RELEASE;
}

static void post(const char *name, uint32_t stored)
{
    struct chasqui_voyager_dma *requests = (struct chasqui_voyager_dma *)nes.dma.slots;
    for (uint32_t i = 0; i < nes.dma.count; i++)
        requests[i] = (struct chasqui_voyager_dma){.node = 1, .notice = {i}};
    nes_flush(&nes, requests, nes.dma.count * sizeof *requests);
    nes_fence();
    *nes_pointer(&nes, pointer_of(name)) = stored;
    if (strcmp(name, "dma") == 0)
        while (*nes_pointer(&nes, CHASQUI_VOYAGER_DMA_CONSUMER) != stored)
            nes_pause();
}

int main(int argc, char **argv)
{
    if (argc < 4 || !nes_open(&nes))
        return 2;
    if (nes.rank == 0)
        post(argv[1], (uint32_t)strtoul(argv[2], NULL, 0));
    for (int left = nes.rank == 1 ? atoi(argv[3]) : 0; left > 0; left--) {
        uint64_t notice[5];
        uint32_t source;
        while (nes_basic_receive(&nes, notice, &source) < 0)
            nes_pause();
    }
    if (nes.rank == 0)
        puts("posted: PASSED");
    return 0;
}
