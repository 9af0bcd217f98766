/* Double-buffered DMA against computation. Prints, in ticks of 12.5 ns, `single WORK TICKS` or `double WORK TICKS`: blocks are
 * fetched and each word of them is used WORK times, one after the other, or with the next block on its way.
 * Usage: overlap KIND BYTES BLOCKS WORK */
#include "measure.h"

SPE_EMBED(program, SPE_IMAGE)

enum { BLOCKS_MAX = 64 };

static uint64_t memory[BLOCKS_MAX * BYTES_MAX / 8] __attribute__((aligned(4096)));
static struct {
    uint64_t address;
    uint32_t bytes, blocks, work, is_double, unused[2];
} plan __attribute__((aligned(128)));

int main(int argc, char **argv)
{
    need(argc == 5, "usage: overlap KIND BYTES BLOCKS WORK");
    plan.address = (uintptr_t)memory;
    plan.bytes = (uint32_t)atoi(argv[2]);
    plan.blocks = (uint32_t)atoi(argv[3]);
    plan.work = (uint32_t)atoi(argv[4]);
    plan.is_double = !strcmp(argv[1], "double");
    need(plan.blocks <= BLOCKS_MAX && plan.bytes <= BYTES_MAX, "BYTES or BLOCKS");
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan.blocks * plan.bytes / 8; i++)
        memory[i] = i * 0x9e3779b97f4a7c15ull;
    for (unsigned turn = 0; turn < plan.work; turn++)
        for (unsigned i = 0; i < plan.blocks * plan.bytes / 8; i++)
            sum += memory[i] ^ turn;
    need(!spe_pin(memory, sizeof memory, 0), "spe_pin");
    spe_context_ptr_t context = prepare(&program, SPE_MAP_PS);
    volatile void *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    begin(context, &plan);
    long time = (long)_spe_out_mbox_read(control);
    need(_spe_out_mbox_read(control) == (uint32_t)sum, "the sum");
    end(&context, 1);
    print(argv[1], (int)plan.work, &time, 1);
    return 0;
}
