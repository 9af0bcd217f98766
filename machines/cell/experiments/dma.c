/* One transfer at a time (Khunjush, 8.3.1, 8.4.1): between main memory or another SPE's local store and an SPE's, by the SPE's
 * command or by the host's. Prints, in ticks of 12.5 ns, `NAME BYTES ISSUE FIRST TOTAL`: the least of many from the begin until
 * the command has been entered, until the first byte is there, and until it is known to be over.
 * Usage: dma INITIATOR DIRECTION PEER BYTES TRIES; spe or ppe, get or put, memory or spe */
#include "measure.h"

#include "dma.h"

SPE_EMBED(program, SPE_IMAGE)

static volatile unsigned char memory[BYTES] __attribute__((aligned(128)));
static struct plan plan __attribute__((aligned(128)));
static long issue[TRIES_MAX], first[TRIES_MAX], total[TRIES_MAX];

/* By the SPE. The first byte of a put is seen here, by a timer that is so far apart from its own. */
static void by_spe(volatile void *control, int tries, int to_memory)
{
    long apart = to_memory ? timers_apart(control, 64) : 0;
    for (int i = 0; i < tries; i++) {
        unsigned char before = memory[0];
        _spe_in_mbox_write(control, AGAIN);
        _spe_in_mbox_write(control, (unsigned char)(i + 1));
        long came = 0;
        if (to_memory) {
            while (memory[0] == before) {}
            came = (long)spe_timebase() - apart;
        } else if (plan.direction == GET) {
            /* Each get brings another first byte. */
            memory[0] = (unsigned char)(memory[0] + 1);
        }
        uint32_t times[4];
        for (int word = 0; word < 4; word++)
            times[word] = _spe_out_mbox_read(control);
        issue[i] = times[1] - times[0];
        first[i] = to_memory ? (long)(uint32_t)(came - times[0]) : (long)times[2] - times[0];
        total[i] = times[3] - times[0];
        if (plan.direction == GET)
            memory[0] = (unsigned char)(memory[0] + 1);
    }
}

/* By the host, through problem state. The first byte of a put is seen by the loop that waits. */
static void by_host(spe_context_ptr_t context, volatile void *control, void *address, int tries)
{
    _spe_in_mbox_write(control, WHERE);
    unsigned local = _spe_out_mbox_read(control);
    volatile unsigned char *store = (volatile unsigned char *)spe_ls_area_get(context) + local;
    for (int i = 0; i < tries; i++) {
        unsigned status;
        unsigned char before = memory[0];
        if (plan.direction == GET)
            memory[0] = (unsigned char)(memory[0] + 1);
        else
            store[0] = (unsigned char)(before + 1);
        long begun = (long)spe_timebase();
        if (plan.direction == GET)
            spe_mfcio_get(context, local, address, plan.bytes, 1);
        else
            spe_mfcio_put(context, local, address, plan.bytes, 1);
        long entered = (long)spe_timebase();
        if (plan.direction == PUT && plan.watches)
            while (memory[0] == before) {}
        long came = (long)spe_timebase();
        spe_mfcio_tag_status_read(context, 2, SPE_TAG_ALL, &status);
        long over = (long)spe_timebase();
        issue[i] = entered - begun;
        first[i] = came - begun;
        total[i] = over - begun;
    }
}

int main(int argc, char **argv)
{
    need(argc == 6, "usage: dma INITIATOR DIRECTION PEER BYTES TRIES");
    int is_host = !strcmp(argv[1], "ppe"), is_memory = !strcmp(argv[3], "memory");
    int tries = argument(argc, argv, 5, 8);
    need(tries > 0 && tries <= TRIES_MAX, "TRIES");
    spe_context_ptr_t contexts[2] = {prepare(&program, SPE_MAP_PS), is_memory ? NULL : prepare(&program, SPE_MAP_PS)};
    void *address = (void *)(uintptr_t)memory;
    if (!is_memory)
        address = (char *)(uintptr_t)spe_ls_area_get(contexts[1]) + 0x20000;
    plan = (struct plan){.address = (uintptr_t)address,
                         .bytes = (uint32_t)atoi(argv[4]),
                         .direction = strcmp(argv[2], "get") ? PUT : GET,
                         .watches = (uint32_t)is_memory};
    for (int i = 0; i < BYTES; i++)
        memory[i] = 0;
    need(!spe_pin(memory, BYTES, 1), "spe_pin");
    volatile void *control = spe_ps_area_get(contexts[0], SPE_CONTROL_AREA);
    begin(contexts[0], &plan);
    if (is_host)
        by_host(contexts[0], control, address, tries);
    else
        by_spe(control, tries, is_memory && plan.direction == PUT);
    _spe_in_mbox_write(control, END);
    end(contexts, 1);
    /* Timers that are apart by less than a tick give a time that is a tick less. */
    long values[] = {k_best(issue, tries), k_best(first, tries), k_best(total, tries)};
    char name[64];
    snprintf(name, sizeof name, "%s-%s-%s", argv[1], argv[2], argv[3]);
    print(name, (int)plan.bytes, values, 3);
    return 0;
}
