/* Rank 0 has the NES move a block that it or rank 1 may not touch; of rank 1 by the address that the same thing has
 * here. Rank 1 waits for the notice for some time, and has then what it had.
 *
 * Usage: reach SIDE WHAT (sides: from, to; what: pointers, code, constants, nothing, memory)
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

static struct nes nes;
static _Alignas(64) uint64_t memory[64];
static const uint64_t constants[64] = {1};

int main(int argc, char **argv);

static uintptr_t address_of(const char *what)
{
    if (strcmp(what, "pointers") == 0)
        return (uintptr_t)nes.pointers;
    if (strcmp(what, "code") == 0)
        return (uintptr_t)main & ~(uintptr_t)63;
    if (strcmp(what, "constants") == 0)
        return (uintptr_t)constants;
    return strcmp(what, "memory") == 0 ? (uintptr_t)memory : 16;
}

/* Rank 1's part. */
static int stay(bool comes)
{
    uint64_t notice[5];
    uint32_t source;
    bool has_come = false;
    for (int i = 0; i < 300 && !has_come; i++)
        has_come = nes_basic_receive(&nes, notice, &source) >= 0;
    if (has_come != comes || memory[0] != comes || *(const volatile uint64_t *)constants != 1)
        return 1;
    puts("rank 1: PASSED");
    return 0;
}

static void compute(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}

int main(int argc, char **argv)
{
    if (argc != 3 || !nes_open(&nes))
        return 2;
    uintptr_t there = address_of(argv[2]), here = (uintptr_t)memory;
    bool from = strcmp(argv[1], "from") == 0;
    const uint64_t notice[3] = {0};
    if (nes.rank == 1)
        return stay(strcmp(argv[2], "memory") == 0);
    memory[0] = 1;
    nes_dma_send(&nes, 1, (void *)(from ? there : here), from ? here : there, sizeof memory, notice);
    compute();
    puts("rank 0: after it");
    return 0;
}
