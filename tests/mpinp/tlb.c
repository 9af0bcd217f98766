/* The TLB of mpinp's card by itself: its firmware's file, with a kernel that changes entries at each point. Usage: tlb */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

#include "mcp.h"

enum { SLOTS = 4, STAMPS = 64, HEAP = 4096 };

static int wrong;

static void expect(bool is_right, const char *what)
{
    wrong += !is_right;
    if (!is_right)
        printf("%s\n", what);
}

/* Where the firmware has its registers and its memory. */
static bool map(uintptr_t at, size_t bytes)
{
    void *place = (void *)at; /* NOLINT(performance-no-int-to-ptr) */
    return mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
           place;
}

static bool is_there(uint32_t number)
{
    const struct chasqui_mpinp_entry *entry = tlb_find(number);
    return entry && entry->next == number + 100;
}

static void fill(uint32_t number, uint16_t flags)
{
    struct chasqui_mpinp_entry entry = {.owner = 1, .flags = flags, .next = number + 100};
    tlb_fill(number, &entry);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (!map(DEVICE, 4096) || !map(MEMORY, 8192))
        return 3;
    volatile uint64_t *stamps = at(STAMPS);
    char *heap = at(HEAP);
    expect(!tlb_begin(&heap) && heap == at(HEAP), "a TLB of no slots takes no memory");
    np_store(CHASQUI_NP_SETTING_TLB, SLOTS);
    np_store(CHASQUI_NP_SETTING_STAMPS, STAMPS);
    expect(tlb_begin(&heap) && heap == (char *)at(HEAP) + SLOTS * CHASQUI_NP_TLB_BYTES, "it takes what it says");
    expect(!tlb_find(0) && !tlb_find(5), "nothing is there at first");
    fill(5, CHASQUI_MPINP_ENTRY_KEPT);
    expect(is_there(5) && !tlb_find(1) && is_there(5), "what was fetched is, for itself alone");
    stamps[1]++;
    expect(!tlb_find(5), "the kernel has changed it since");
    stamps[1]++;
    fill(5, CHASQUI_MPINP_ENTRY_KEPT);
    expect(!tlb_find(5), "... while it was fetched");
    fill(5, CHASQUI_MPINP_ENTRY_KEPT);
    expect(is_there(5), "it was fetched again");
    stamps[2]++;
    expect(is_there(5), "the kernel has changed another slot's");
    expect(!tlb_find(9), "another entry of its slot");
    fill(9, CHASQUI_MPINP_ENTRY_KEPT);
    expect(is_there(9) && !tlb_find(5), "... takes its place");
    fill(5, 0);
    expect(is_there(9) && !tlb_find(5), "an entry that the kernel changes without a word is not kept");
    printf("tlb: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong != 0;
}
