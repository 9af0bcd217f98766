/* The SPE's side of mailbox.c: what comes goes back, until 0 does. */
#include "spu_intrinsics.h"
#include "spu_io.h"

int main(unsigned long long spe, unsigned long long argument, unsigned long long unused)
{
    (void)spe, (void)argument, (void)unused;
    for (;;) {
        uint32_t value = spu_read_in_mbox();
        if (!value)
            return 0;
        spu_write_out_mbox(value);
    }
}
