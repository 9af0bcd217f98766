/* What a miss of the MFC's TLB costs, and a replacement. All pages are there. Prints, in ticks of 12.5 ns,
 * `tlb WAYS COLD WARM REPLACED`: the least time of a transfer of a line whose page the TLB never had, had, and has lost to another
 * page of its set. Usage: tlb ENTRIES WAYS PAGES */
#include "measure.h"

SPE_EMBED(program, SPE_IMAGE)

static struct {
    uint64_t address;
    uint32_t sets, ways, pages, unused[3];
} plan __attribute__((aligned(128)));

int main(int argc, char **argv)
{
    need(argc == 4, "usage: tlb ENTRIES WAYS PAGES");
    plan.ways = (uint32_t)atoi(argv[2]);
    plan.sets = (uint32_t)atoi(argv[1]) / plan.ways;
    plan.pages = (uint32_t)atoi(argv[3]);
    size_t pages = (size_t)plan.sets * (plan.ways + 1), bytes = 4096 * (pages > plan.pages ? pages : plan.pages);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    need(!spe_pin(memory, bytes, 1), "spe_pin");
    plan.address = (uintptr_t)memory;
    spe_context_ptr_t context = prepare(&program, SPE_MAP_PS);
    volatile void *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    begin(context, &plan);
    long values[3];
    for (int i = 0; i < 3; i++)
        values[i] = (long)_spe_out_mbox_read(control);
    end(&context, 1);
    print("tlb", (int)plan.ways, values, 3);
    return 0;
}
