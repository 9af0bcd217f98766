/* Pairs of SPEs at once: each of the first half gets from one of the other half, or, by the second pattern, each from the next all
 * the way round. Prints, in ticks of 12.5 ns, `PATTERN SPES TICKS…`: of each that gets. Usage: rings PATTERN SPES COUNT; pairs
 * or circle */
#include "measure.h"

SPE_EMBED(program, SPE_IMAGE)

static struct {
    uint64_t address;
    uint32_t count, unused;
} plans[SPES] __attribute__((aligned(16)));

int main(int argc, char **argv)
{
    need(argc == 4, "usage: rings PATTERN SPES COUNT");
    int is_circle = !strcmp(argv[1], "circle"), count = atoi(argv[2]);
    int takers = is_circle ? count : count / 2;
    need(count >= 2 && count <= SPES && takers > 0, "SPES");
    spe_context_ptr_t contexts[SPES];
    volatile void *controls[SPES];
    for (int i = 0; i < count; i++)
        contexts[i] = prepare(&program, SPE_MAP_PS);
    for (int i = 0; i < takers; i++) {
        spe_context_ptr_t peer = contexts[is_circle ? (i + 1) % count : i + takers];
        plans[i].address = (uintptr_t)spe_ls_area_get(peer) + 0x20000;
        plans[i].count = (uint32_t)atoi(argv[3]);
        controls[i] = spe_ps_area_get(contexts[i], SPE_CONTROL_AREA);
        begin(contexts[i], &plans[i]);
    }
    for (int i = 0; i < takers; i++)
        (void)_spe_out_mbox_read(controls[i]);
    for (int i = 0; i < takers; i++)
        spe_signal_write(contexts[i], 1, 1);
    long times[SPES];
    for (int i = 0; i < takers; i++)
        times[i] = (long)_spe_out_mbox_read(controls[i]);
    end(contexts, takers);
    print(argv[1], count, times, takers);
    return 0;
}
