/* Runs wrong.spe.c. Usage: wrong WHAT [keep]; with `keep` the program hears of what was wrong, else the process ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "spe.h"

SPE_EMBED(program, SPE_IMAGE)

int main(int argc, char **argv)
{
    if (argc < 2)
        return 3;
    unsigned char *memory = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 3;
    for (int i = 0; i < 4096; i++)
        memory[i] = (unsigned char)i;
    memory[1 << 20] = 1;
    if (mprotect(memory + (1 << 20), 4096, PROT_READ))
        return 3;
    spe_context_ptr_t context = spe_context_create(argc > 2 ? SPE_KEEP_ERRORS : 0, NULL);
    if (!context || spe_program_load(context, &program))
        return 3;
    spe_stop_info_t info = {0};
    spe_context_run(context, NULL, 0, memory, (void *)(uintptr_t)atoi(argv[1]), &info);
    printf("reason %u, code %x\n", info.stop_reason, (unsigned)info.code);
    return 0;
}
