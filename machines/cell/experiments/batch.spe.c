/* The SPE's side of batch.c. */
#include "batch.h"
#include "spu_mfcio.h"

static volatile unsigned char buffer[BATCH_MAX * BYTES] __attribute__((aligned(128)));
static volatile struct plan plan __attribute__((aligned(128)));

static uint32_t ticks(void) { return ~spu_read_decrementer(); }

/* Its messages before it waits, each in a tag group; then when each was over. */
static void once(void)
{
    uint32_t bytes = plan.bytes, count = plan.count, over[BATCH_MAX] = {0}, left = (1u << count) - 1;
    mfc_write_tag_mask(left);
    uint32_t begun = ticks();
    for (uint32_t i = 0; i < count; i++)
        mfc_command(spu_address(buffer) + i * BYTES, plan.address + i * BYTES, bytes, i, plan.command);
    uint32_t entered = ticks();
    for (uint32_t rest = left; rest != 0;) {
        mfc_write_tag_mask(rest);
        uint32_t done = mfc_read_tag_status_any();
        uint32_t now = ticks();
        for (uint32_t i = 0; i < count; i++)
            if ((done & rest) >> i & 1)
                over[i] = now;
        rest &= ~done;
    }
    uint32_t end = ticks();
    spu_write_out_mbox(entered - begun);
    spu_write_out_mbox(over[0] - begun);
    spu_write_out_mbox(over[count - 1] - begun);
    spu_write_out_mbox(end - over[count - 1]);
}

int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)unused;
    spu_write_decrementer(~0u);
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    for (uint32_t i = 0; i < plan.tries; i++) {
        (void)spu_read_in_mbox();
        once();
    }
    return 0;
}
