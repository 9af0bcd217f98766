/* Inside one local store: DMA against a copy. Prints, in ticks of 12.5 ns, `local BYTES DMA COPY`. Usage: local BYTES */
#include "measure.h"

SPE_EMBED(program, SPE_IMAGE)

static struct {
    uint64_t store;
    uint32_t bytes, unused;
} plan __attribute__((aligned(16)));

int main(int argc, char **argv)
{
    need(argc == 2, "usage: local BYTES");
    spe_context_ptr_t context = prepare(&program, SPE_MAP_PS);
    plan.store = (uintptr_t)spe_ls_area_get(context);
    plan.bytes = (uint32_t)atoi(argv[1]);
    volatile void *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    begin(context, &plan);
    long values[2];
    for (int i = 0; i < 2; i++)
        values[i] = (long)_spe_out_mbox_read(control);
    end(&context, 1);
    print("local", (int)plan.bytes, values, 2);
    return 0;
}
