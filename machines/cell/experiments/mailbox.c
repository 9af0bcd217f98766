/* Mailboxes, by the library, which goes through the kernel, and by direct access to problem state. Prints, in ticks of 12.5 ns,
 * `WAY 0 WRITE READ TRIP`: the least time of a write to an empty mailbox, of a read of a full one, and of a word there and back.
 * Usage: mailbox WAY TRIES; library or direct */
#include "measure.h"

SPE_EMBED(program, SPE_IMAGE)

static long writes[TRIES_MAX], reads[TRIES_MAX], trips[TRIES_MAX];

static void settle(spe_context_ptr_t context)
{
    while (!spe_out_mbox_status(context)) {}
}

int main(int argc, char **argv)
{
    need(argc == 3, "usage: mailbox WAY TRIES");
    int is_direct = !strcmp(argv[1], "direct"), tries = atoi(argv[2]);
    need(tries > 0 && tries <= TRIES_MAX, "TRIES");
    spe_context_ptr_t context = prepare(&program, 0);
    volatile void *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    begin(context, NULL);
    for (int i = 0; i < tries; i++) {
        unsigned value = (unsigned)i + 1;
        for (int apart = 0; apart < 2; apart++) {
            long begun = (long)spe_timebase();
            if (is_direct)
                _spe_in_mbox_write(control, value);
            else
                spe_in_mbox_write(context, &value, 1);
            /* A store is on its way when the next instruction begins: what it is, a load tells. */
            if (is_direct && apart)
                (void)*spe_register(control, CHASQUI_CELL_PROBLEM_MBOX_STAT);
            long written = (long)spe_timebase();
            if (apart) {
                settle(context);
                written -= begun;
                begun = (long)spe_timebase();
            }
            if (is_direct)
                value = _spe_out_mbox_read(control);
            else
                while (spe_out_mbox_read(context, &value, 1) == 0) {}
            long over = (long)spe_timebase() - begun;
            if (apart) {
                writes[i] = written;
                reads[i] = over;
            } else {
                trips[i] = over;
            }
            need(value == (unsigned)i + 1, "the word that came back");
        }
    }
    _spe_in_mbox_write(control, 0);
    end(&context, 1);
    long values[] = {k_best(writes, tries), k_best(reads, tries), k_best(trips, tries)};
    print(argv[1], 0, values, 3);
    return 0;
}
