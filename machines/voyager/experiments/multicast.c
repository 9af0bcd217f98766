/* The same data from rank 0 to ranks 1 to d: by Tag-On they cross the bus once, and each further destination
 * costs a store; by Basic they go into a slot for each.
 *
 * Usage: multicast TRIPS DESTINATIONS...
 */
#include "measure.h"

enum { BASIC_52, BASIC_84, TAG_48, TAG_80, CASES };

static const char *const names[CASES] = {"basic-52", "basic-84", "tag-48", "tag-80"};
static const size_t bytes[CASES] = {52, 84, 52, 84};
/* Of Tag-On the first word goes in the header; the others lie like a slot's data, by eights. */
static _Alignas(8) uint32_t source[24], target[24];
static struct {
    uint64_t spent[COUNT_MAX], left[COUNT_MAX], came[COUNT_MAX];
} result;

static inline bool is_basic(int by) { return by == BASIC_52 || by == BASIC_84; }

/* The place is free: all receivers have said that they are ready for the next. */
ALWAYS_INLINE void send_all(int by, uint32_t destinations)
{
    if (!is_basic(by)) {
        nes_copy(nes_tag_place(&nes, 0), source + 2, bytes[by] - 4);
        nes_tag_composed(&nes, 0, bytes[by] - 4);
    }
    for (uint32_t to = 1; to <= destinations; to++)
        while (is_basic(by) ? !post_basic(to, source, bytes[by])
                            : !nes_tag_send(&nes, WORK, to, 0, source[1], 0, bytes[by] - 4, to > 1))
            nes_pause();
}

ALWAYS_INLINE void receive(int by)
{
    if (is_basic(by)) {
        while (!take_basic(target, bytes[by]))
            nes_pause();
        return;
    }
    uint64_t message;
    while ((message = nes_express_receive(&nes, WORK)) == NES_EMPTY)
        nes_pause();
    target[1] = nes_value(message);
    nes_copy(target + 2, nes_tag_data(&nes, message), bytes[by] - 4);
    nes_tag_release(&nes, message, bytes[by] - 4);
}

ALWAYS_INLINE void measure(int by, uint32_t destinations, bool shown)
{
    for (unsigned i = 0; i < trips && nes.rank <= destinations; i++) {
        if (nes.rank == 0) {
            for (uint32_t from = 0; from < destinations; from++)
                await_token();
            delay(SETTLE);
            vary(i);
            uint64_t from = now();
            send_all(by, destinations);
            result.spent[i] = now() - from;
            result.left[i] = from;
        } else {
            memset(target, 0, sizeof target);
            tell(0);
            receive(by);
            result.came[i] = now();
            unsigned from = is_basic(by) ? 0 : 1;
            if (memcmp(source + from, target + from, bytes[by]) != 0)
                fail("the data came wrong");
        }
    }
    uint32_t count = nes.rank <= destinations ? trips : 0;
    if (!shown)
        return;
    print_samples(names[by], "spent", destinations, result.spent, count);
    print_samples(names[by], "left", destinations, result.left, count);
    print_samples(names[by], "came", destinations, result.came, count);
}

int main(int argc, char **argv)
{
    open_nes();
    trips = read_count(argc, argv, 1);
    for (unsigned i = 0; i < 24; i++)
        source[i] = 0x1000 + i;
    print_clock();
    for (int i = 1; i < argc; i++) { /* first to the most, unseen: rings wrap */
        uint32_t destinations = (uint32_t)atoi(argv[i > 1 ? i : argc - 1]);
        if (destinations < 1 || destinations >= nes.ranks)
            fail("destinations are ranks 1 and up");
        measure(BASIC_52, destinations, i > 1);
        measure(BASIC_84, destinations, i > 1);
        measure(TAG_48, destinations, i > 1);
        measure(TAG_80, destinations, i > 1);
    }
    return 0;
}
