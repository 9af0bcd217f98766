#include "spu_io.h"
#include "spu_mfcio.h"
static volatile uint64_t words[16] __attribute__((aligned(128)));
int main(unsigned long long spe, unsigned long long argument, unsigned long long environment)
{
    (void)environment;
    spu_printf("hello from spe %llu, argument %llx\n", spe, argument);
    mfc_get(words, argument, sizeof words, 3);
    mfc_wait(3);
    uint64_t sum = 0;
    for (int i = 0; i < 16; i++)
        sum += words[i];
    words[0] = sum;
    mfc_put(words, argument, 16, 3);
    mfc_wait(3);
    spu_printf("sum %llu\n", (unsigned long long)sum);
    return 42;
}
