/* The SPE's side of tlb.c (Khunjush, table 8.4). */
#include "spu_io.h"
#include "spu_mfcio.h"

enum { PAGE = 4096 };

static volatile unsigned char buffer[128] __attribute__((aligned(128)));
static volatile struct {
    uint64_t address;
    uint32_t sets, ways, pages, unused[3];
} plan __attribute__((aligned(128)));

static uint32_t ticks(void) { return ~spu_read_decrementer(); }

static uint32_t get(uint64_t address)
{
    uint32_t begun = ticks();
    mfc_get(buffer, address, sizeof buffer, 1);
    mfc_wait(1);
    return ticks() - begun;
}

/* Of pages that no transfer has used yet: the first transfer, and the second. Then pages of one set, one more than it has ways, in
 * turn: each replaces the one that is needed next. */
int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)unused;
    spu_write_decrementer(~0u);
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    (void)get(plan.address);
    uint32_t cold = ~0u, warm = ~0u, replaced = ~0u;
    for (uint32_t page = 1; page < plan.pages; page++) {
        uint32_t first = get(plan.address + (uint64_t)page * PAGE);
        uint32_t second = get(plan.address + (uint64_t)page * PAGE);
        cold = first < cold ? first : cold;
        warm = second < warm ? second : warm;
    }
    for (uint32_t turn = 0; turn < 4 * (plan.ways + 1); turn++) {
        uint32_t page = turn % (plan.ways + 1) * plan.sets;
        uint32_t time = get(plan.address + (uint64_t)page * PAGE);
        if (turn > plan.ways && time < replaced)
            replaced = time;
    }
    spu_write_out_mbox(cold);
    spu_write_out_mbox(warm);
    spu_write_out_mbox(replaced);
    return 0;
}
