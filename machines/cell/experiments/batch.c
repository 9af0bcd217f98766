/* Batches (Khunjush, 8.4.1): an SPE enters so many commands before it waits. Prints, in ticks of 12.5 ns,
 * `DIRECTION COUNT ISSUE FIRST LAST KNOWN`: until all are entered, until the first is over, until the last is, and from then until
 * the program goes on. Usage: batch DIRECTION COUNT BYTES TRIES */
#include "measure.h"

#include "batch.h"

SPE_EMBED(program, SPE_IMAGE)

static volatile unsigned char memory[BATCH_MAX * BYTES] __attribute__((aligned(4096)));
static struct plan plan __attribute__((aligned(128)));
static long times[4][TRIES_MAX];

int main(int argc, char **argv)
{
    need(argc == 5, "usage: batch DIRECTION COUNT BYTES TRIES");
    int count = atoi(argv[2]), tries = atoi(argv[4]);
    need(count >= 1 && count <= BATCH_MAX && tries > 0 && tries <= TRIES_MAX, "COUNT or TRIES");
    spe_context_ptr_t context = prepare(&program, SPE_MAP_PS);
    plan = (struct plan){.address = (uintptr_t)memory,
                         .bytes = (uint32_t)atoi(argv[3]),
                         .count = (uint32_t)count,
                         .command = strcmp(argv[1], "get") ? CHASQUI_CELL_MFC_PUT : CHASQUI_CELL_MFC_GET,
                         .tries = (uint32_t)tries};
    for (unsigned i = 0; i < sizeof memory; i++)
        memory[i] = (unsigned char)i;
    need(!spe_pin(memory, sizeof memory, 1), "spe_pin");
    volatile void *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    begin(context, &plan);
    for (int i = 0; i < tries; i++) {
        _spe_in_mbox_write(control, 1);
        for (int word = 0; word < 4; word++)
            times[word][i] = (long)_spe_out_mbox_read(control);
    }
    end(&context, 1);
    long values[4];
    for (int word = 0; word < 4; word++)
        values[word] = k_best(times[word], tries);
    print(argv[1], count, values, 4);
    return 0;
}
