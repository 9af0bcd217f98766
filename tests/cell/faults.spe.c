/* Puts to pages that nobody has touched, and gets from others; then ends. */
#include "spu_io.h"
#include "spu_mfcio.h"

static volatile unsigned char buffer[128] __attribute__((aligned(128)));

int main(unsigned long long spe, unsigned long long argument, unsigned long long pages)
{
    (void)spe;
    unsigned sum = 0;
    for (unsigned page = 0; page < pages; page++) {
        buffer[0] = (unsigned char)(page + 1);
        mfc_put(buffer, argument + page * 4096ull, 128, 1);
        mfc_wait(1);
    }
    for (unsigned page = 0; page < pages; page++) {
        mfc_get(buffer, argument + page * 4096ull, 128, 1);
        mfc_wait(1);
        sum += buffer[0];
    }
    spu_write_out_mbox(sum);
    return 0;
}
