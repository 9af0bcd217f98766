/* Complex 1-D FFT of n = m x m points by the six-step algorithm (radix sqrt n).
 *
 * fft pull|push|line|tile|copy|part POINTS THREADS whole|rest. [dump]
 *
 * Data, results and roots of unity are matrices of m rows. Each thread has m /
 * THREADS of them, at its node; the first row of roots is at every node.
 * Threads communicate in the three transposes alone, by loads of others' rows
 * (pull) or by stores to them (push); patches are moved in blocks. A row has
 * room behind it, so that rows do not share sets of the cache. */
#include "parallel.h"

#if defined(__riscv)
#include "chasqui/block_transfer.h"
#endif

static const double PI = 3.14159265358979323846;
enum { PART_ROWS = 4, PAD = LINE / 16, BLOCK = 16, M_MAX = 256 };

/* By loads, by stores; or by block transfers of a row's column at a time, of
 * patches that the controllers transpose, of patches that their receivers
 * transpose, of parts of patches while the other parts are computed. */
enum way { PULL, PUSH, LINE_BY_LINE, TILE, COPY, PART, WAYS };
struct number {
    double re, im;
};
/* A matrix: the rows of each thread. */
struct matrix {
    struct number *of[THREADS_MAX];
};
/* What a thread reads often is at its node. */
struct fft {
    unsigned m, threads, rows;
    size_t stride;
    enum way way;
    int is_whole;
    struct matrix data, other, roots, buffers;
    uint64_t expected; /* how often `arrived` is increased until all is here */
    volatile uint64_t *flags[THREADS_MAX]; /* each thread's `arrived` */
    _Alignas(LINE) volatile uint64_t arrived;
    struct number first[M_MAX]; /* exp(-2 pi i k / m) */
};
struct sums {
    _Alignas(LINE) struct number in, in_signed, out, out_signed;
    double energy_in, energy_out;
    uint64_t checksum;
};

static struct fft *ffts[THREADS_MAX];
static struct sums sums[THREADS_MAX];
static struct number coarse[M_MAX], fine[M_MAX]; /* exp(-2 pi i k / m), exp(-2 pi i k / n) */

static inline struct number times(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* sin and cos of up to pi / 4 by their series. A library's may round otherwise
 * on another machine. */
static double sine(double x)
{
    double sum = 0;
    for (int k = 21; k > 1; k -= 2)
        sum = (1 - sum) * x * x / (k * (k - 1));
    return x - sum * x;
}

static double cosine(double x)
{
    double sum = 0;
    for (int k = 22; k > 0; k -= 2)
        sum = (1 - sum) * x * x / (k * (k - 1));
    return 1 - sum;
}

/* exp(-2 pi i k / n), by the distance to the nearest axis. */
static struct number root(unsigned k, unsigned n)
{
    unsigned quarter = 4 * k / n, rest = 4 * k % n;
    double angle = PI / 2 * (2 * rest > n ? n - rest : rest) / n;
    double across = cosine(angle), along = sine(angle);
    struct number at = 2 * rest > n ? (struct number){along, across} : (struct number){across, along};
    for (; quarter > 0; quarter--)
        at = (struct number){-at.im, at.re};
    return (struct number){at.re, -at.im};
}

static inline struct number *row_of(const struct fft *fft, const struct matrix *matrix, unsigned row)
{
    return matrix->of[row / fft->rows] + row % fft->rows * fft->stride;
}

static inline struct number input(unsigned place)
{
    return (struct number){random_of(2 * place), random_of(2 * place + 1)};
}

/* --- the steps
 * -----------------------------------------------------------------------------
 */

/* to[column][row] = from[row][column] for a patch: rows of thread `source`,
 * columns that are rows of thread `target`. */
static void move_patch(const struct fft *fft, const struct matrix *from, const struct matrix *to, unsigned source,
                       unsigned target)
{
    unsigned rows = fft->rows, size = rows < BLOCK ? rows : BLOCK;
    size_t stride = fft->stride;
    const struct number *read = from->of[source] + target * rows;
    struct number *written = to->of[target] + source * rows;
    for (unsigned i = 0; i < rows; i += size)
        for (unsigned j = 0; j < rows; j += size)
            for (unsigned column = j; column < j + size; column++)
                for (unsigned row = i; row < i + size; row++)
                    written[column * stride + row] = read[row * stride + column];
}

#if defined(__riscv)
/* Rows of this thread from `first` on, to where they belong at `target`, or to
 * its buffer. */
static void send_rows(struct thread *own, struct fft *fft, const struct matrix *from, const struct matrix *to,
                      unsigned target, unsigned first, unsigned count)
{
    unsigned rows = fft->rows, me = own->me;
    size_t stride = fft->stride * sizeof(struct number);
    struct chasqui_transfer transfer = {
        .source = from->of[me] + first * fft->stride + target * rows,
        .destination = to->of[target] + me * rows + first,
        .bytes = sizeof(struct number),
        .count = count,
        .source_stride = stride,
        .destination_stride = stride,
        .columns = rows,
        .flag = fft->flags[target],
        .flag_adds = true,
    };
    if (fft->way == COPY) {
        transfer.destination = fft->buffers.of[target] + (me * rows + first) * rows;
        transfer.bytes *= rows;
        transfer.destination_stride = transfer.bytes;
        transfer.columns = 0;
    }
    for (unsigned column = 0; fft->way == LINE_BY_LINE && column < rows; column++) {
        transfer.columns = 0;
        transfer.destination_stride = sizeof(struct number);
        chasqui_transfer_start(&transfer);
        transfer.source = (const struct number *)transfer.source + 1;
        transfer.destination = (struct number *)transfer.destination + fft->stride;
    }
    if (fft->way != LINE_BY_LINE)
        chasqui_transfer_start(&transfer);
}

static void wait_for_transfers(const struct fft *fft) { chasqui_transfer_wait(&fft->arrived, fft->expected); }
static int can_transfer(void) { return chasqui_transfer_open(); }
#else
static void send_rows(struct thread *own, struct fft *fft, const struct matrix *from, const struct matrix *to,
                      unsigned target, unsigned first, unsigned count)
{
    (void)own, (void)fft, (void)from, (void)to, (void)target, (void)first, (void)count;
}
static void wait_for_transfers(const struct fft *fft) { (void)fft; }
static int can_transfer(void) { return 0; }
#endif

/* To all others; as many as these they send. */
static void send_to_all(struct thread *own, struct fft *fft, const struct matrix *from, const struct matrix *to,
                        unsigned first, unsigned count)
{
    enter(own, COMMUNICATE);
    for (unsigned i = 1; i < fft->threads; i++)
        send_rows(own, fft, from, to, in_turn(own, i), first, count);
    fft->expected += (fft->threads - 1) * (fft->way == LINE_BY_LINE ? fft->rows : 1);
    enter(own, COMPUTE);
}

/* What others have sent is here. What the wait executes is no computation: it
 * counts as a wait for memory. */
static void await(struct thread *own, struct fft *fft, const struct matrix *to)
{
    unsigned rows = fft->rows;
    enter(own, COMMUNICATE);
    uint64_t before = instret();
    wait_for_transfers(fft);
    own->instructions_before += instret() - before;
    enter(own, COMPUTE);
    for (unsigned i = 1; fft->way == COPY && i < fft->threads; i++) {
        unsigned source = in_turn(own, i);
        const struct number *read = fft->buffers.of[own->me] + source * rows * rows;
        struct number *written = to->of[own->me] + source * rows;
        for (unsigned column = 0; column < rows; column++)
            for (unsigned row = 0; row < rows; row++)
                written[column * fft->stride + row] = read[row * rows + column];
    }
}

/* The threads begin with different others. */
static void transpose(struct thread *own, struct fft *fft, const struct matrix *from, const struct matrix *to)
{
    enter(own, COMMUNICATE);
    for (unsigned i = 1; fft->way <= PUSH && i < fft->threads; i++) {
        unsigned other = in_turn(own, i);
        if (fft->way == PULL)
            move_patch(fft, from, to, other, own->me);
        else
            move_patch(fft, from, to, own->me, other);
    }
    enter(own, COMPUTE);
    move_patch(fft, from, to, own->me, own->me);
    if (fft->way > PUSH)
        await(own, fft, to);
    meet(own);
}

static void reverse(unsigned m, struct number *row)
{
    for (unsigned i = 0, j = 0; i < m; i++) {
        if (i < j) {
            struct number kept = row[i];
            row[i] = row[j];
            row[j] = kept;
        }
        unsigned bit = m >> 1;
        for (; bit && j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
    }
}

/* An FFT of a row, in place. */
static void transform(const struct fft *fft, struct number *row)
{
    unsigned m = fft->m;
    reverse(m, row);
    for (unsigned half = 1; half < m; half *= 2)
        for (unsigned begin = 0; begin < m; begin += 2 * half) {
            const struct number *factor = fft->first;
            for (unsigned i = begin; i < begin + half; i++, factor += m / 2 / half) {
                struct number low = row[i], high = times(*factor, row[i + half]);
                row[i] = (struct number){low.re + high.re, low.im + high.im};
                row[i + half] = (struct number){low.re - high.re, low.im - high.im};
            }
        }
}

/* The FFTs of this thread's rows of a matrix, multiplied by roots if there are
 * any. Those that are transferred in blocks are on their way then; in parts
 * while others are computed. */
static void transform_rows(struct thread *own, struct fft *fft, const struct matrix *matrix, const struct matrix *roots,
                           const struct matrix *to)
{
    unsigned rows = fft->rows, part = fft->way == PART && rows >= 2 * PART_ROWS ? PART_ROWS : rows;
    for (unsigned first = 0; first < rows; first += part) {
        for (unsigned row = first; row < first + part; row++) {
            struct number *mine = matrix->of[own->me] + row * fft->stride;
            transform(fft, mine);
            const struct number *by = roots ? roots->of[own->me] + row * fft->stride : 0;
            for (unsigned i = 0; by && i < fft->m; i++)
                mine[i] = times(mine[i], by[i]);
        }
        if (fft->way > PUSH)
            send_to_all(own, fft, matrix, to, first, part);
    }
    if (fft->way <= PUSH)
        meet(own);
}

static void section(struct thread *own, struct fft *fft)
{
    if (fft->way > PUSH)
        send_to_all(own, fft, &fft->data, &fft->other, 0, fft->rows);
    transpose(own, fft, &fft->data, &fft->other);
    transform_rows(own, fft, &fft->other, &fft->roots, &fft->data);
    transpose(own, fft, &fft->other, &fft->data);
    transform_rows(own, fft, &fft->data, 0, &fft->other);
    transpose(own, fft, &fft->data, &fft->other);
}

/* --- before and after
 * ---------------------------------------------------------------------- */

/* All know all pages; then each fills its rows in, so that no other has a copy
 * of them. */
static void prepare(struct thread *own, const struct fft *fft)
{
    size_t bytes = fft->rows * fft->stride * sizeof(struct number);
    for (unsigned i = 0; i < fft->threads; i++) {
        touch(fft->data.of[in_turn(own, i)], bytes);
        touch(fft->other.of[in_turn(own, i)], bytes);
    }
    memset(fft->buffers.of[own->me], 0, fft->m * fft->rows * sizeof(struct number));
    gather(own);
    for (unsigned row = own->me * fft->rows; row < (own->me + 1) * fft->rows; row++) {
        struct number *data = row_of(fft, &fft->data, row), *other = row_of(fft, &fft->other, row);
        struct number *roots = row_of(fft, &fft->roots, row);
        for (unsigned i = 0; i < fft->m; i++) {
            data[i] = input(row * fft->m + i);
            other[i] = (struct number){0, 0};
            unsigned exponent = row * i;
            roots[i] = times(coarse[exponent / fft->m], fine[exponent % fft->m]);
        }
    }
}

static void add(struct number *sum, struct number value, double sign)
{
    sum->re += sign * value.re;
    sum->im += sign * value.im;
}

static void sum_up(struct thread *own, const struct fft *fft)
{
    struct sums found = {0};
    for (unsigned row = own->me * fft->rows; row < (own->me + 1) * fft->rows; row++)
        for (unsigned i = 0; i < fft->m; i++) {
            unsigned place = row * fft->m + i;
            struct number in = input(place), out = row_of(fft, &fft->other, row)[i];
            add(&found.in, in, 1);
            add(&found.in_signed, in, place % 2 ? -1 : 1);
            add(&found.out, out, 1);
            add(&found.out_signed, out, place % 2 ? -1 : 1);
            found.energy_in += in.re * in.re + in.im * in.im;
            found.energy_out += out.re * out.re + out.im * out.im;
            found.checksum += summand(2 * place, bits_of(out.re)) + summand(2 * place + 1, bits_of(out.im));
        }
    sums[own->me] = found;
}

static void body(struct thread *own)
{
    struct fft *fft = ffts[own->me];
    memcpy(fft->first, coarse, sizeof coarse);
    prepare(own, fft);
    section_begin(own);
    if (fft->is_whole)
        section(own, fft);
    section_end(own);
    sum_up(own, fft);
}

static int is_near(struct number a, struct number b, double scale)
{
    return distance(a.re, b.re) < 1e-10 * scale && distance(a.im, b.im) < 1e-10 * scale;
}

/* Values of the transform, and of its inverse, that are plain sums; the energy;
 * then the checksum of all bits. */
static void check(const struct fft *fft)
{
    struct sums all = {0};
    unsigned n = fft->m * fft->m;
    for (unsigned i = 0; i < fft->threads; i++) {
        add(&all.in, sums[i].in, 1);
        add(&all.in_signed, sums[i].in_signed, 1);
        add(&all.out, sums[i].out, 1);
        add(&all.out_signed, sums[i].out_signed, 1);
        all.energy_in += sums[i].energy_in;
        all.energy_out += sums[i].energy_out;
        all.checksum += sums[i].checksum;
    }
    struct number first = input(0), middle = input(n / 2);
    struct number scaled = {first.re * n, first.im * n}, scaled_middle = {middle.re * n, middle.im * n};
    int is_right = is_near(*row_of(fft, &fft->other, 0), all.in, n) &&
                   is_near(*row_of(fft, &fft->other, fft->m / 2), all.in_signed, n) && is_near(all.out, scaled, n) &&
                   is_near(all.out_signed, scaled_middle, n) &&
                   distance(all.energy_out, n * all.energy_in) < 1e-10 * n * all.energy_in;
    if (!is_right)
        fail("fft: wrong result");
    printf("checksum %u %lu\n", n, (unsigned long)all.checksum);
}

static enum way way_of(const char *word)
{
    static const char *const words[WAYS] = {"pull", "push", "line", "tile", "copy", "part"};
    for (enum way way = 0; way < WAYS; way++)
        if (!strcmp(word, words[way])) {
            if (way > PUSH && !can_transfer())
                fail("fft: the machine has no block transfers");
            return way;
        }
    fail("fft: pull, push, line, tile, copy or part?");
    return WAYS;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        fail("fft pull|push POINTS THREADS whole|rest. [dump]");
    unsigned n = (unsigned)atoi(argv[2]), threads = (unsigned)atoi(argv[3]), m = 1;
    while (m * m < n)
        m *= 2;
    if (m * m != n || m > M_MAX || threads < 1 || threads > THREADS_MAX || m % threads)
        fail("fft: 4 to 65536 points, a power of 4; threads divide its root");
    for (unsigned i = 0; i < m; i++) {
        coarse[i] = root(i, m);
        fine[i] = root(i, n);
    }
    static struct fft made;
    made.m = m;
    made.threads = threads;
    made.rows = m / threads;
    made.stride = m + PAD;
    made.way = way_of(argv[1]);
    made.is_whole = is_whole(argv[4]);
    size_t bytes = made.rows * made.stride * sizeof(struct number);
    for (unsigned i = 0; i < threads; i++) {
        made.data.of[i] = place(bytes, i);
        made.other.of[i] = place(bytes, i);
        made.roots.of[i] = place(bytes, i);
    }
    for (unsigned i = 0; i < threads; i++) {
        ffts[i] = place(sizeof made, i);
        made.flags[i] = &ffts[i]->arrived;
        made.buffers.of[i] = place(m * made.rows * sizeof(struct number), i);
    }
    for (unsigned i = 0; i < threads; i++)
        memcpy(ffts[i], &made, sizeof made);
    run_threads(threads, body);
    if (!made.is_whole)
        return 0;
    print_times(threads);
    check(ffts[0]);
    for (unsigned i = 0; argc > 5 && i < n; i++) {
        struct number value = row_of(ffts[0], &made.other, i / m)[i % m];
        printf("value %u %.17g %.17g\n", i, value.re, value.im);
    }
    return 0;
}
