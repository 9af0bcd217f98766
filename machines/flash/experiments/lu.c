/* LU factorization without pivoting of a dense matrix of N x N in blocks of 16 x 16.
 *
 * lu 0|1|n N THREADS whole|rest.
 *
 * Blocks are scattered over a grid of threads, each contiguous at its owner's node (a 4-D array). Who updates a block reads the
 * blocks that it needs of others: where they are (0 copies), the one that it uses again from a copy of its own (1), all that a step
 * needs from copies (n). */
#include "parallel.h"

enum { SIDE = 16, ELEMENTS = SIDE * SIDE, BLOCKS_MAX = 32, N_MAX = BLOCKS_MAX * SIDE };
enum replication { NONE, ONE, ALL };

/* What a thread reads often is at its node. */
struct lu {
    unsigned n, blocks, rows, columns; /* of the threads' grid */
    enum replication replication;
    int is_whole;
    double *block[BLOCKS_MAX][BLOCKS_MAX];
    _Alignas(LINE) double copy[ELEMENTS];
    _Alignas(LINE) double below[BLOCKS_MAX][ELEMENTS], beside[BLOCKS_MAX][ELEMENTS];
};

static struct lu *lus[THREADS_MAX];
static double product[N_MAX];
static struct {
    _Alignas(LINE) uint64_t checksum;
    double error;
} found[THREADS_MAX];

static inline unsigned owner(const struct lu *lu, unsigned i, unsigned j)
{
    return i % lu->rows * lu->columns + j % lu->columns;
}

static inline double input(unsigned n, unsigned i, unsigned j) { return random_of(i * n + j) + (i == j ? n : 0); }

/* --- blocks -------------------------------------------------------------------------------- */

static void factor(double *a)
{
    for (unsigned k = 0; k < SIDE; k++)
        for (unsigned i = k + 1; i < SIDE; i++) {
            double by = a[i * SIDE + k] /= a[k * SIDE + k];
            for (unsigned j = k + 1; j < SIDE; j++)
                a[i * SIDE + j] -= by * a[k * SIDE + j];
        }
}

/* a := a U^-1, of the block on the diagonal. */
static void divide_below(double *restrict a, const double *restrict diagonal)
{
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned k = 0; k < SIDE; k++) {
            double by = a[i * SIDE + k] /= diagonal[k * SIDE + k];
            for (unsigned j = k + 1; j < SIDE; j++)
                a[i * SIDE + j] -= by * diagonal[k * SIDE + j];
        }
}

/* a := L^-1 a. */
static void divide_beside(double *restrict a, const double *restrict diagonal)
{
    for (unsigned k = 0; k < SIDE; k++)
        for (unsigned i = k + 1; i < SIDE; i++) {
            double by = diagonal[i * SIDE + k];
            for (unsigned j = 0; j < SIDE; j++)
                a[i * SIDE + j] -= by * a[k * SIDE + j];
        }
}

/* a -= below beside, a row of four elements at a time. */
static void multiply(double *restrict a, const double *restrict below, const double *restrict beside)
{
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j += 4) {
            double *at = a + i * SIDE + j, s0 = at[0], s1 = at[1], s2 = at[2], s3 = at[3];
            for (unsigned k = 0; k < SIDE; k++) {
                double by = below[i * SIDE + k];
                const double *with = beside + k * SIDE + j;
                s0 -= by * with[0];
                s1 -= by * with[1];
                s2 -= by * with[2];
                s3 -= by * with[3];
            }
            at[0] = s0;
            at[1] = s1;
            at[2] = s2;
            at[3] = s3;
        }
}

/* --- steps --------------------------------------------------------------------------------- */

static const double *copied(struct thread *own, double *copy, const double *block)
{
    enter(own, COMMUNICATE);
    memcpy(copy, block, ELEMENTS * sizeof *copy);
    return copy;
}

static int is_own(const struct thread *own, const struct lu *lu, unsigned i, unsigned j)
{
    return owner(lu, i, j) == own->me;
}

/* The first block from `begin` on whose number is `mine` in a grid of `of`. */
static unsigned next(unsigned begin, unsigned mine, unsigned of) { return begin + (mine + of - begin % of) % of; }

static void perimeter(struct thread *own, struct lu *lu, unsigned k)
{
    unsigned row = own->me / lu->columns, column = own->me % lu->columns;
    if (row != k % lu->rows && column != k % lu->columns)
        return;
    const double *diagonal = lu->block[k][k];
    enum phase phase = is_own(own, lu, k, k) ? COMPUTE : COMMUNICATE;
    if (phase == COMMUNICATE && lu->replication != NONE) {
        diagonal = copied(own, lu->copy, diagonal);
        phase = COMPUTE;
    }
    enter(own, phase);
    for (unsigned i = next(k + 1, row, lu->rows); column == k % lu->columns && i < lu->blocks; i += lu->rows)
        divide_below(lu->block[i][k], diagonal);
    for (unsigned j = next(k + 1, column, lu->columns); row == k % lu->rows && j < lu->blocks; j += lu->columns)
        divide_beside(lu->block[k][j], diagonal);
    enter(own, COMPUTE);
}

static void interior(struct thread *own, struct lu *lu, unsigned k)
{
    unsigned row = own->me / lu->columns, column = own->me % lu->columns;
    unsigned first_row = next(k + 1, row, lu->rows), first_column = next(k + 1, column, lu->columns);
    int is_below_own = column == k % lu->columns, is_beside_own = row == k % lu->rows;
    if (first_row >= lu->blocks || first_column >= lu->blocks)
        return;
    for (unsigned j = first_column; lu->replication == ALL && !is_beside_own && j < lu->blocks; j += lu->columns)
        copied(own, lu->beside[j], lu->block[k][j]);
    for (unsigned i = first_row; i < lu->blocks; i += lu->rows) {
        const double *below = lu->block[i][k];
        int is_near = is_below_own;
        if (!is_near && lu->replication != NONE) {
            below = copied(own, lu->replication == ONE ? lu->copy : lu->below[i], below);
            is_near = 1;
        }
        for (unsigned j = first_column; j < lu->blocks; j += lu->columns) {
            int is_copied = lu->replication == ALL && !is_beside_own;
            enter(own, is_near && (is_beside_own || is_copied) ? COMPUTE : COMMUNICATE);
            multiply(lu->block[i][j], below, is_copied ? lu->beside[j] : lu->block[k][j]);
        }
    }
    enter(own, COMPUTE);
}

static void section(struct thread *own, struct lu *lu)
{
    for (unsigned k = 0; k < lu->blocks; k++) {
        if (is_own(own, lu, k, k))
            factor(lu->block[k][k]);
        meet(own);
        if (k + 1 == lu->blocks)
            break;
        perimeter(own, lu, k);
        meet(own);
        interior(own, lu, k);
    }
}

/* --- before and after ---------------------------------------------------------------------- */

static void prepare(struct thread *own, struct lu *lu)
{
    for (unsigned i = 0; i < lu->blocks; i++)
        for (unsigned j = 0; j < lu->blocks; j++)
            touch(lu->block[(own->me + i) % lu->blocks][j], 1);
    touch(lu, sizeof *lu);
    gather(own);
    for (unsigned i = 0; i < lu->n; i++)
        for (unsigned j = 0; j < lu->blocks; j++)
            for (unsigned at = 0; is_own(own, lu, i / SIDE, j) && at < SIDE; at++)
                lu->block[i / SIDE][j][i % SIDE * SIDE + at] = input(lu->n, i, j * SIDE + at);
}

static inline double element(const struct lu *lu, unsigned i, unsigned j)
{
    return lu->block[i / SIDE][j / SIDE][i % SIDE * SIDE + j % SIDE];
}

/* L (U v) is A v, for a random v; each thread has some rows. */
static void check(struct thread *own, const struct lu *lu)
{
    unsigned n = lu->n;
    uint64_t checksum = 0;
    for (unsigned i = own->me; i < n; i += own->threads) {
        double sum = 0;
        for (unsigned j = i; j < n; j++)
            sum += element(lu, i, j) * random_of(~j);
        product[i] = sum;
        for (unsigned j = 0; j < n; j++)
            checksum += summand(i * n + j, bits_of(element(lu, i, j)));
    }
    gather(own);
    double error = 0;
    for (unsigned i = own->me; i < n; i += own->threads) {
        double sum = product[i], expected = 0;
        for (unsigned j = 0; j < i; j++)
            sum += element(lu, i, j) * product[j];
        for (unsigned j = 0; j < n; j++)
            expected += input(n, i, j) * random_of(~j);
        error = larger(error, distance(sum, expected) / n);
    }
    found[own->me].checksum = checksum;
    found[own->me].error = error;
}

static void body(struct thread *own)
{
    struct lu *lu = lus[own->me];
    prepare(own, lu);
    section_begin(own);
    if (lu->is_whole)
        section(own, lu);
    section_end(own);
    check(own, lu);
}

static void arrange(struct lu *lu, unsigned threads)
{
    for (lu->rows = 1; (lu->rows + 1) * (lu->rows + 1) <= threads;)
        lu->rows++;
    while (threads % lu->rows)
        lu->rows--;
    lu->columns = threads / lu->rows;
    double *at[THREADS_MAX];
    unsigned most = ((lu->blocks + lu->rows - 1) / lu->rows) * ((lu->blocks + lu->columns - 1) / lu->columns);
    for (unsigned i = 0; i < threads; i++)
        at[i] = place(most * ELEMENTS * sizeof(double), i);
    for (unsigned i = 0; i < lu->blocks; i++)
        for (unsigned j = 0; j < lu->blocks; j++) {
            unsigned whose = owner(lu, i, j);
            lu->block[i][j] = at[whose];
            at[whose] += ELEMENTS;
        }
}

static enum replication replication_of(const char *word)
{
    static const char *const words[] = {"0", "1", "n"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(word, words[i]))
            return i;
    fail("lu: 0, 1 or n copies?");
    return NONE;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        fail("lu 0|1|n N THREADS whole|rest.");
    static struct lu made;
    unsigned threads = (unsigned)atoi(argv[3]);
    made.n = (unsigned)atoi(argv[2]);
    made.blocks = made.n / SIDE;
    made.replication = replication_of(argv[1]);
    made.is_whole = is_whole(argv[4]);
    if (made.n % SIDE || made.n < SIDE || made.n > N_MAX || threads < 1 || threads > THREADS_MAX)
        fail("lu: 16 to 512 rows, a multiple of 16; 1 to 64 threads");
    arrange(&made, threads);
    for (unsigned i = 0; i < threads; i++) {
        lus[i] = place(sizeof made, i);
        memcpy(lus[i], &made, sizeof made);
    }
    run_threads(threads, body);
    if (!made.is_whole)
        return 0;
    print_times(threads);
    uint64_t checksum = 0;
    for (unsigned i = 0; i < threads; i++) {
        checksum += found[i].checksum;
        if (!(found[i].error < 1e-10))
            fail("lu: wrong result");
    }
    printf("checksum %u %lu\n", made.n, (unsigned long)checksum);
    return 0;
}
