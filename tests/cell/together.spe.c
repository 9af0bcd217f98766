#include "spu_io.h"
#include "spu_mfcio.h"
/* Each SPE: adds to a shared counter by atomics, passes a token by signals round the ring through DMA, mails the PPE. */
struct plan {
    uint64_t counter;   /* effective address of a line */
    uint64_t data;      /* of this SPE's 16 KB */
    uint64_t next_sig;  /* of the next SPE's first signal register */
    uint64_t next_store;/* of the next SPE's local store */
    uint32_t turns, number, count, pad;
};
static volatile struct plan plan __attribute__((aligned(128)));
static volatile uint32_t line[32] __attribute__((aligned(128)));
static volatile uint32_t token[4] __attribute__((aligned(16)));
static volatile unsigned char data[16384] __attribute__((aligned(128)));
static volatile unsigned char inbox[256] __attribute__((aligned(128)));
int main(unsigned long long spe, unsigned long long argument, unsigned long long environment)
{
    (void)environment;
    (void)spe;
    mfc_get(&plan, argument, sizeof plan, 0);
    mfc_wait(0);
    spu_write_out_mbox(spu_address(inbox));
    for (uint32_t i = 0; i < plan.turns; i++) {
        uint32_t status;
        do {
            mfc_getllar(line, plan.counter);
            (void)mfc_read_atomic_status();
            line[0]++;
            spu_dsync();
            mfc_putllc(line, plan.counter);
            status = mfc_read_atomic_status();
        } while (status & 1);
    }
    mfc_get(data, plan.data, sizeof data, 1);
    mfc_wait(1);
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(data[i] * 3 + plan.number);
    mfc_put(data, plan.data, sizeof data, 2);
    mfc_wait(2);
    /* a token goes round: SPE 0 begins */
    uint32_t where = spu_read_in_mbox(); /* of the next one's inbox */
    for (unsigned round = 0; round < 3; round++) {
        uint32_t value = 0;
        if (plan.number != 0 || round > 0)
            value = spu_read_signal1();
        token[3] = value + plan.number + 1;
        data[0] = (unsigned char)round;
        mfc_put(data, plan.next_store + where, 128, 4);
        mfc_wait(4);
        mfc_sndsig(&token[3], plan.next_sig, 4);
        mfc_wait(4);
    }
    if (plan.number == 0) {
        uint32_t last = spu_read_signal1();
        spu_write_out_intr_mbox(last);
    }
    spu_writech(CHASQUI_CELL_CHANNEL_WR_DEC, 100);
    spu_write_event_mask(CHASQUI_CELL_EVENT_DECREMENTER);
    (void)spu_read_event_status();
    spu_printf("spe %d of %d: inbox %d\n", (int)plan.number, (int)plan.count, inbox[0]);
    return (int)plan.number;
}
