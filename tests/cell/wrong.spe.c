/* Does what it may not, by the number that it is started with; see wrong.c. */
#include "spu_io.h"
#include "spu_mfcio.h"

static volatile unsigned char buffer[4096] __attribute__((aligned(128)));

static void command(uint64_t address, uint32_t local, uint32_t bytes, uint32_t number)
{
    mfc_command(local, address, bytes, 1, number);
    mfc_wait(1);
}

int main(unsigned long long what, unsigned long long argument, unsigned long long environment)
{
    uint32_t here = spu_address(buffer);
    what = environment;
    switch (what) {
    case 0: command(argument + 8, here, 16, CHASQUI_CELL_MFC_GET); break;  /* low four bits differ */
    case 1: command(argument, here, 24, CHASQUI_CELL_MFC_GET); break;      /* no such length */
    case 2: command(argument, 0x40000 - 128, 256, CHASQUI_CELL_MFC_GET); break; /* beyond the local store */
    case 3: command(0x10, here, 16, CHASQUI_CELL_MFC_GET); break;          /* no page */
    case 4: return *(volatile int *)8;                                     /* no memory */
    case 5:
        spu_writech(5, 1);
        spu_dsync();
        break;                         /* no such channel */
    case 6: command(argument, here, 16, 0x77); break;                      /* no such command */
    case 7: command(argument + (1 << 20), here, 16, CHASQUI_CELL_MFC_PUT); break; /* not to be written */
    case 8: __asm__ volatile(".word 0"); break;                            /* no instruction */
    case 9: /* more commands than the queue has room for: the program waits */
        for (int i = 0; i < 40; i++)
            mfc_get(buffer, argument, 4096, 1);
        mfc_wait(1);
        return buffer[5] == 5 ? 0 : 1;
    default: return 99;
    }
    return 98;
}
