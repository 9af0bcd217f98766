/* The SPE's side of overlap.c: sums blocks of main memory, with the next on its way, or one after the other. */
#include "spu_io.h"
#include "spu_mfcio.h"

enum { BYTES = 16384 };

static volatile unsigned char buffers[2][BYTES] __attribute__((aligned(128)));
static volatile struct {
    uint64_t address;
    uint32_t bytes, blocks, work, is_double, unused[2];
} plan __attribute__((aligned(128)));

/* Each word `work` times. */
static uint64_t compute(const volatile unsigned char *block)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)block;
    uint64_t sum = 0;
    for (uint32_t turn = 0; turn < plan.work; turn++)
        for (uint32_t i = 0; i < plan.bytes / 8; i++)
            sum += words[i] ^ turn;
    __asm__ volatile("" : : : "memory");
    return sum;
}

static void fetch(uint32_t block)
{
    mfc_get(buffers[block % 2], plan.address + (uint64_t)block * plan.bytes, plan.bytes, block % 2);
}

int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)unused;
    uint64_t sum = 0;
    spu_write_decrementer(~0u);
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    uint32_t begun = ~spu_read_decrementer();
    if (plan.is_double)
        fetch(0);
    for (uint32_t block = 0; block < plan.blocks; block++) {
        if (!plan.is_double)
            fetch(block);
        mfc_wait(block % 2);
        if (plan.is_double && block + 1 < plan.blocks)
            fetch(block + 1);
        sum += compute(buffers[block % 2]);
    }
    uint32_t time = ~spu_read_decrementer() - begun;
    spu_write_out_mbox(time);
    spu_write_out_mbox((uint32_t)sum);
    return 0;
}
