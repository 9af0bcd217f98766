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
    default: return 99;
    }
}
