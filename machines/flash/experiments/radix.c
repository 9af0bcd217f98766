/* Radix sort of integer keys of 20 bits, from the least digit on.
 *
 * radix BITS KEYS THREADS whole|rest.
 *
 * BITS: of a digit. Each thread has KEYS / THREADS of the keys at its node. In a pass it counts its keys by their digits; all
 * threads together find where each thread's keys of each digit begin; then each stores its keys there, wherever that is. */
#include "parallel.h"

enum { KEY_BITS = 20, DIGITS_MAX = 1 << 11 };

/* What a thread reads often is at its node. */
struct sort {
    unsigned keys, bits, digits, slice, passes, shift; /* keys of a thread: 1 << shift */
    int is_whole;
    uint32_t *from[THREADS_MAX], *to[THREADS_MAX];
    struct sort *others[THREADS_MAX];
    _Alignas(LINE) uint32_t counts[DIGITS_MAX];
    _Alignas(LINE) uint32_t begins[DIGITS_MAX]; /* among the digits of a slice; others write it */
    _Alignas(LINE) uint32_t total;              /* of the slice of this thread */
};

static struct sort *sorts[THREADS_MAX];
static struct {
    _Alignas(LINE) uint64_t checksum, in, out;
    int is_wrong;
} found[THREADS_MAX];

static inline uint32_t input(unsigned place) { return (uint32_t)(mixed(place + 1) >> 40) & ((1u << KEY_BITS) - 1); }

static void count(struct sort *sort, const uint32_t *keys, unsigned low)
{
    unsigned mask = sort->digits - 1;
    memset(sort->counts, 0, sort->digits * sizeof *sort->counts);
    for (unsigned i = 0; i < 1u << sort->shift; i++)
        sort->counts[keys[i] >> low & mask]++;
}

/* Of the digits of this thread's slice: where each thread's keys begin, by digits, then threads. */
static void accumulate(struct thread *own, struct sort *sort)
{
    uint32_t sum = 0;
    for (unsigned digit = own->me * sort->slice; digit < (own->me + 1) * sort->slice && digit < sort->digits; digit++)
        for (unsigned i = 0; i < own->threads; i++) {
            struct sort *other = sort->others[i];
            other->begins[digit] = sum;
            sum += other->counts[digit];
        }
    sort->total = sum;
}

/* With the slices before. */
static void finish(struct thread *own, struct sort *sort)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < own->threads && i * sort->slice < sort->digits; i++) {
        for (unsigned digit = i * sort->slice; digit < (i + 1) * sort->slice; digit++)
            sort->begins[digit] += sum;
        sum += sort->others[i]->total;
    }
}

static void permute(struct sort *sort, const uint32_t *keys, uint32_t *const *to, unsigned low)
{
    unsigned mask = sort->digits - 1, shift = sort->shift, within = (1u << shift) - 1;
    for (unsigned i = 0; i < 1u << shift; i++) {
        uint32_t key = keys[i], place = sort->begins[key >> low & mask]++;
        to[place >> shift][place & within] = key;
    }
}

static void section(struct thread *own, struct sort *sort)
{
    for (unsigned pass = 0; pass < sort->passes; pass++) {
        uint32_t *const *from = pass % 2 ? sort->to : sort->from, *const *to = pass % 2 ? sort->from : sort->to;
        count(sort, from[own->me], pass * sort->bits);
        meet(own);
        enter(own, COMMUNICATE);
        accumulate(own, sort);
        meet(own);
        finish(own, sort);
        permute(sort, from[own->me], to, pass * sort->bits);
        enter(own, COMPUTE);
        if (pass + 1 < sort->passes)
            meet(own);
    }
}

static void prepare(struct thread *own, struct sort *sort)
{
    size_t bytes = sizeof(uint32_t) << sort->shift;
    for (unsigned i = 0; i < own->threads; i++) {
        unsigned other = in_turn(own, i);
        touch(sort->from[other], bytes);
        touch(sort->to[other], bytes);
        touch(sort->others[other], sizeof *sort);
    }
    gather(own);
    for (unsigned i = 0; i < 1u << sort->shift; i++) {
        sort->from[own->me][i] = input((own->me << sort->shift) + i);
        sort->to[own->me][i] = 0;
    }
    memset(sort->begins, 0, sizeof sort->begins);
    memset(sort->counts, 0, sizeof sort->counts);
}

static uint32_t *result(const struct sort *sort, unsigned thread)
{
    return sort->passes % 2 ? sort->to[thread] : sort->from[thread];
}

/* In order, also behind the thread before; the same keys as before. */
static void check(struct thread *own, const struct sort *sort)
{
    const uint32_t *keys = result(sort, own->me);
    uint32_t before = own->me ? result(sort, own->me - 1)[(1u << sort->shift) - 1] : 0;
    for (unsigned i = 0; i < 1u << sort->shift; i++) {
        unsigned place = (own->me << sort->shift) + i;
        found[own->me].is_wrong |= keys[i] < before;
        before = keys[i];
        found[own->me].in += mixed(input(place));
        found[own->me].out += mixed(keys[i]);
        found[own->me].checksum += summand(place, keys[i]);
    }
}

static void body(struct thread *own)
{
    struct sort *sort = sorts[own->me];
    prepare(own, sort);
    section_begin(own);
    if (sort->is_whole)
        section(own, sort);
    section_end(own);
    check(own, sort);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        fail("radix BITS KEYS THREADS whole|rest.");
    static struct sort made;
    unsigned threads = (unsigned)atoi(argv[3]);
    made.bits = (unsigned)atoi(argv[1]);
    made.keys = (unsigned)atoi(argv[2]);
    made.is_whole = is_whole(argv[4]);
    made.digits = 1u << made.bits;
    while (threads << (made.shift + 1) <= made.keys)
        made.shift++;
    if (made.bits < 1 || made.digits > DIGITS_MAX || threads < 1 || threads > THREADS_MAX ||
        threads << made.shift != made.keys)
        fail("radix: 1 to 11 bits; threads times a power of 2 keys");
    made.slice = made.digits > threads ? (made.digits + threads - 1) / threads : 1;
    made.passes = (KEY_BITS + made.bits - 1) / made.bits;
    for (unsigned i = 0; i < threads; i++) {
        made.from[i] = place(sizeof(uint32_t) << made.shift, i);
        made.to[i] = place(sizeof(uint32_t) << made.shift, i);
        sorts[i] = place(sizeof made, i);
    }
    memcpy(made.others, sorts, sizeof sorts);
    for (unsigned i = 0; i < threads; i++)
        memcpy(sorts[i], &made, sizeof made);
    run_threads(threads, body);
    if (!made.is_whole)
        return 0;
    print_times(threads);
    uint64_t checksum = 0, in = 0, out = 0;
    for (unsigned i = 0; i < threads; i++) {
        checksum += found[i].checksum;
        in += found[i].in;
        out += found[i].out;
        if (found[i].is_wrong)
            fail("radix: not in order");
    }
    if (in != out)
        fail("radix: other keys");
    printf("checksum %u %lu\n", made.keys, (unsigned long)checksum);
    return 0;
}
