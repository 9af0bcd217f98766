/* Random messages by all mechanisms among the ranks of a job, on the NES alone. Arguments: a seed; how many; how many receives of
 * a hundred are left out, so that queues fill. */
#include "chasqui/nes.h"

#include <stdlib.h>

static uint64_t state;

static unsigned below(unsigned count)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % count;
}

static struct nes nes;
static char block[65536] __attribute__((aligned(4096)));

static void send_tagged(unsigned queue, unsigned to)
{
    unsigned place = below(nes.tags);
    size_t bytes = below(2) ? 48 : 80;
    memset(nes_tag_place(&nes, place), 1, bytes);
    nes_tag_composed(&nes, place, bytes);
    nes_tag_send(&nes, queue, to, below(32), below(1000), place, bytes, below(2));
}

static void send_basic(unsigned to)
{
    void *place = nes_basic_place(&nes);
    if (!place)
        return;
    struct chasqui_voyager_slot *slot = (struct chasqui_voyager_slot *)place - 1;
    *slot = (struct chasqui_voyager_slot){.node = to, .bytes = below(89)};
    nes_flush(&nes, slot, 96);
    nes_fence();
    *nes_pointer(&nes, CHASQUI_VOYAGER_TRANSMIT_PRODUCER) = ++nes.transmit.produced;
}

static void send_block(unsigned to)
{
    uint64_t notice[3] = {1, 2, 3};
    size_t bytes = below(3) ? below(300) : below(30000);
    nes_dma_send(&nes, to, block + below(30000), (uint64_t)block + below(30000), bytes, notice);
}

static void receive(unsigned queue)
{
    uint64_t message = nes_express_receive(&nes, queue);
    size_t tagged = message == NES_EMPTY || nes_is_basic(message) ? 0 : nes_tagged(message);
    if (tagged)
        nes_tag_release(&nes, message, tagged);
}

int main(int argc, char **argv)
{
    if (argc < 4 || !nes_open(&nes))
        return 3;
    unsigned count = (unsigned)atoi(argv[2]), deaf = (unsigned)atoi(argv[3]);
    state = (uint64_t)atoll(argv[1]) * 2654435761u + nes.rank * 977777u + 77;
    for (unsigned i = 0; i < count; i++) {
        unsigned queue = below(2), to = below(nes.ranks);
        switch (below(6)) {
        case 0: nes_express_send(&nes, queue, to, below(32), below(1000)); break;
        case 1: send_tagged(queue, to); break;
        case 2: send_basic(to); break;
        case 3: send_block(to); break;
        case 4:
            for (int turn = 0; turn < 4 && below(100) >= deaf; turn++)
                receive(queue);
            break;
        case 5:
            if (nes_basic_oldest(&nes) && below(100) >= deaf)
                nes_basic_release(&nes, 88);
            break;
        }
    }
    return 0;
}
