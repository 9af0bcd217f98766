/* The SPE's side of dma.c: transfers of its own, and an answer to the host's. Its timer is the decrementer, counted up. */
#include "dma.h"
#include "spu_mfcio.h"

static volatile unsigned char buffer[BYTES] __attribute__((aligned(128)));
static volatile struct plan plan __attribute__((aligned(128)));

static uint32_t ticks(void) { return ~spu_read_decrementer(); }

static void wait_for_change(const volatile unsigned char *byte, unsigned char before)
{
    while (*byte == before) {}
}

static void transfer(uint64_t address, uint32_t bytes)
{
    if (plan.direction == GET)
        mfc_get(buffer, address, bytes, 1);
    else
        mfc_put(buffer, address, bytes, 1);
}

/* Four times: begin, entered, the first byte here (of a get), over. */
static void once(uint32_t turn)
{
    uint32_t bytes = plan.bytes;
    unsigned char before = buffer[0];
    if (plan.direction == PUT)
        for (uint32_t i = 0; i < bytes; i++)
            buffer[i] = (unsigned char)turn;
    mfc_write_tag_mask(2);
    uint32_t times[4];
    times[0] = ticks();
    transfer(plan.address, bytes);
    times[1] = ticks();
    if (plan.direction == GET && plan.watches)
        wait_for_change(&buffer[0], before);
    times[2] = ticks();
    (void)mfc_read_tag_status_all();
    times[3] = ticks();
    for (int i = 0; i < 4; i++)
        spu_write_out_mbox(times[i]);
}

int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)unused;
    spu_write_decrementer(~0u);
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    for (;;) {
        switch (spu_read_in_mbox()) {
        case CLOCK: spu_write_out_mbox(ticks()); break;
        case AGAIN: once(spu_read_in_mbox()); break;
        case WHERE: spu_write_out_mbox(spu_address(buffer)); break;
        case WATCH: { /* the host's transfer comes: when its first byte is here */
            unsigned char before = buffer[0];
            spu_write_out_mbox(0);
            wait_for_change(&buffer[0], before);
            spu_write_out_mbox(ticks());
            break;
        }
        default: return 0;
        }
    }
}
