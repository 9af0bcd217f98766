/* Pages that the SPE touches first: the kernel brings them in. The process gives them up, and the SPE's next ones are others.
 * Usage: faults PAGES */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "spe.h"

SPE_EMBED(program, SPE_IMAGE)

int main(int argc, char **argv)
{
    unsigned pages = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
    spe_context_ptr_t context = spe_context_create(SPE_MAP_PS, NULL);
    if (!context || spe_program_load(context, &program))
        return 3;
    for (int turn = 0; turn < 2; turn++) {
        void *memory = mmap((void *)0x10000000, pages * 4096ul, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (memory == MAP_FAILED)
            return 3;
        spe_stop_info_t info = {0};
        unsigned sum = 0, wrong = 0;
        if (spe_context_run(context, NULL, 0, memory, (void *)(uintptr_t)pages, &info))
            return 4;
        spe_out_mbox_read(context, &sum, 1);
        for (unsigned page = 0; page < pages; page++)
            wrong += ((unsigned char *)memory)[page * 4096ul] != (unsigned char)(page + 1);
        printf("turn %d: sum %u, wrong %u\n", turn, sum, wrong);
    }
    return spe_context_destroy(context);
}
