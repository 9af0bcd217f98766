/* The SPE's side of rings.c: gets from another local store, with as many under way as the queue holds. */
#include "spu_io.h"
#include "spu_mfcio.h"

enum { BYTES = 16384, UNDER_WAY = 4 };

static volatile unsigned char buffer[UNDER_WAY * BYTES] __attribute__((aligned(128)));
static volatile struct {
    uint64_t address;
    uint32_t count, unused;
} plan __attribute__((aligned(16)));

int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)unused;
    spu_write_decrementer(~0u);
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    /* The page is known, and all begin together. */
    mfc_get(buffer, plan.address, 128, 0);
    mfc_wait(0);
    spu_write_out_mbox(0);
    (void)spu_read_signal1();
    uint32_t begun = ~spu_read_decrementer();
    for (uint32_t i = 0; i < plan.count; i++) {
        uint32_t slot = i % UNDER_WAY;
        if (i >= UNDER_WAY)
            mfc_wait(slot);
        mfc_get(buffer + slot * BYTES, plan.address, BYTES, slot);
    }
    mfc_write_tag_mask((1 << UNDER_WAY) - 1);
    (void)mfc_read_tag_status_all();
    spu_write_out_mbox(~spu_read_decrementer() - begun);
    return 0;
}
