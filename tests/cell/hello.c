#include <stdio.h>
#include <stdlib.h>
#include "spe.h"
SPE_EMBED(program, SPE_IMAGE)
static uint64_t data[16] __attribute__((aligned(128)));
int main(void)
{
    for (int i = 0; i < 16; i++)
        data[i] = i * i;
    spe_context_ptr_t c = spe_context_create(0, 0);
    if (!c) {
        perror("create");
        return 1;
    }
    if (spe_program_load(c, &program)) {
        perror("load");
        return 1;
    }
    spe_stop_info_t info = {0};
    unsigned entry = SPE_DEFAULT_ENTRY;
    int r = spe_context_run(c, &entry, 0, data, 0, &info);
    printf("%d: reason %u code %d, sum %llu\n", r, info.stop_reason, info.code, (unsigned long long)data[0]);
    return spe_context_destroy(c);
}
