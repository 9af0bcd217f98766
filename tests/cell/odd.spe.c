/* Does what is odd, by the number that it is started with; see odd.c. */
#include "spu_io.h"
#include "spu_mfcio.h"

enum { LUI_STOP = 0x401002b7, LOAD = 0x0002a303 }; /* lui t0, STOP; lw t1, 0(t0) */

/* So long that the PPE is asleep. */
static void sleep_well(void)
{
    spu_write_decrementer(4000);
    spu_write_event_mask(CHASQUI_CELL_EVENT_DECREMENTER);
    (void)spu_read_event_status();
    spu_write_event_ack(CHASQUI_CELL_EVENT_DECREMENTER);
    spu_write_event_mask(0);
}

static volatile unsigned char data[16384] __attribute__((aligned(128)));

/* Ticks of eight gets of a line, one after the other. */
static unsigned ticks_of(uint64_t from)
{
    spu_write_decrementer(~0u);
    for (unsigned i = 0; i < 8; i++) {
        mfc_get(data, from + i * 128, 128, 0);
        mfc_wait(0);
    }
    return ~0u - spu_read_decrementer();
}

static unsigned lines(uint64_t memory)
{
    (void)ticks_of(memory + 3072); /* the TLB has their page */
    unsigned changed = ticks_of(memory), again = ticks_of(memory);
    mfc_put(data, memory + 8192, 128, 0);
    mfc_wait(0);
    /* A read of memory is 50 ns, 4 ticks. */
    return changed + 8 * 3 <= again;
}

/* Two lists wait behind their first elements, whose data have come by then: each goes on when it is told. */
static int lists(uint64_t memory)
{
    static volatile mfc_list_element_t list[2] __attribute__((aligned(8)));
    for (unsigned i = 0; i < 2; i++) {
        list[i].notify_and_size = 16 | (i == 0 ? 1u << 31 : 0);
        list[i].eal = (uint32_t)memory + 16 * i;
    }
    spu_dsync();
    for (uint32_t tag = 1; tag <= 2; tag++)
        mfc_getl(data + 128 * tag, memory, list, sizeof list, tag);
    unsigned waits = 0, wrong = 0;
    while (waits != 6)
        waits |= spu_readch(CHASQUI_CELL_CHANNEL_RD_LIST_STALL_STAT);
    for (uint32_t tag = 1; tag <= 2; tag++)
        wrong += data[128 * tag] != 5 || data[128 * tag + 16] != 0;
    spu_writech(CHASQUI_CELL_CHANNEL_WR_LIST_STALL_ACK, 2);
    mfc_wait(2);
    wrong += data[256 + 16] != 6 || data[128 + 16] != 0;
    mfc_write_tag_mask(6);
    wrong += mfc_read_tag_status_immediate() != 4;
    spu_writech(CHASQUI_CELL_CHANNEL_WR_LIST_STALL_ACK, 1);
    mfc_wait(1);
    return (int)(wrong + (data[128 + 16] != 6));
}

int main(unsigned long long spe, unsigned long long argument, unsigned long long what)
{
    (void)spe;
    (void)argument;
    switch (what) {
    case 0: { /* stops by code that it has put behind its local store, where its page table is */
        volatile uint32_t *code = (volatile uint32_t *)(uintptr_t)(CHASQUI_CELL_STORE_ADDRESS + 0x40800);
        code[0] = LUI_STOP;
        code[1] = LOAD;
        __asm__ volatile("fence.i" : : : "memory");
        ((void (*)(void))(uintptr_t)code)();
        return 1;
    }
    case 1: { /* makes an error of its own while the PPE sleeps */
        sleep_well();
        for (volatile int i = 0; i < 300; i++)
            ;
        return *(volatile int *)16;
    }
    case 2: /* between two channels */
        return (int)*(volatile uint32_t *)(CHASQUI_CELL_CHANNELS + 8 * CHASQUI_CELL_CHANNEL_RD_DEC + 4);
    case 3: /* leaves words behind */
        spu_write_out_mbox(5);
        spu_write_out_intr_mbox(6);
        return 0;
    case 4: { /* speaks first, and takes what it is sent when it has been answered */
        unsigned sum = 0;
        sleep_well();
        spu_write_out_intr_mbox(9);
        sum = spu_read_signal1();
        for (int i = 0; i < 5; i++)
            sum += spu_read_in_mbox();
        return (int)sum;
    }
    case 5: { /* new code comes by DMA, and is executed behind a fence */
        static volatile uint32_t code[32] __attribute__((aligned(128)));
        int (*function)(void) = (int (*)(void))(uintptr_t)code;
        int sum = 0;
        for (unsigned i = 0; i < 2; i++) {
            mfc_get(code, argument + i * 128, 128, 0);
            mfc_wait(0);
            __asm__ volatile("fence.i" : : : "memory");
            sum = sum * 16 + function();
        }
        return sum;
    }
    case 6: /* stops, and goes on behind that */ spu_stop(0x11); return 7;
    case 7: /* gets lines that the PPE has changed, and the same again, and puts to one that it has read */
        return (int)lines(argument);
    case 8: /* a list that waits behind an element, beside another of another group */ return lists(argument);
    default: return 99;
    }
}
