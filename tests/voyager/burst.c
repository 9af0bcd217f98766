/* More posted 64-byte stores than the NES keeps accesses for the firmware: it takes as many as the queue holds. */
#include <chasqui/nes.h>
#include <stdio.h>

enum { MESSAGES = 60 };

static struct nes nes;

int main(void)
{
    const uint64_t data[] = {1, 2, 3};
    if (!nes_open(&nes))
        return 2;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint64_t message;
        while (nes.rank == 0 && !nes_wide_send(&nes, 0, 1, 0, i, data, 3))
            nes_pause();
        if (nes.rank == 0)
            continue;
        while ((message = nes_express_receive(&nes, 0)) == NES_EMPTY)
            nes_pause();
        if (nes_value(message) != i)
            return 1;
        nes_tag_release(&nes, message, sizeof data);
    }
    printf("burst: PASSED\n");
    return 0;
}
