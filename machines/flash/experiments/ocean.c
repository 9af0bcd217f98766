/* The solver of the ocean simulation: multigrid with red-black Gauss-Seidel sweeps, on a square of (N - 2) x (N - 2) cells whose
 * value is 0 at the edge.
 *
 * ocean pull N THREADS whole|rest.
 *
 * At every level of the hierarchy a thread has a squarish sub-grid at its node, with a border for the cells of others that lie
 * beside it. Before a thread needs them it copies them from there. Colors are those of the whole grid and the norm is a maximum,
 * so that the result does not depend on the threads. */
#include "parallel.h"

#include <stddef.h>

enum { LEVELS_MAX = 7, COARSEST = 8, CYCLES_MAX = 40, BEFORE = 2, AFTER = 1, COARSE_SWEEPS = 16 };

struct level {
    unsigned cells, height, width; /* of a side; of a sub-grid */
    double area; /* of a cell */
    double *values[THREADS_MAX], *sources[THREADS_MAX];
};
/* At its thread's node. */
struct ocean {
    unsigned rows, columns, levels;
    int is_whole;
    struct level level[LEVELS_MAX];
    struct ocean *others[THREADS_MAX];
    _Alignas(LINE) double norm;
};

static struct ocean *oceans[THREADS_MAX];
static struct {
    _Alignas(LINE) uint64_t checksum;
    double error;
    unsigned cycles;
} found[THREADS_MAX];

static inline double absolute(double value) { return value < 0 ? -value : value; }

static inline size_t stride(const struct level *level) { return level->width + 2; }

/* --- borders ------------------------------------------------------------------------------- */

/* A corner of the border, at the side where the row is `up` and the column is `left`. */
static void copy_corner(const struct thread *own, const struct ocean *ocean, const struct level *level, int up,
                        int left)
{
    unsigned row = own->me / ocean->columns, column = own->me % ocean->columns;
    size_t step = stride(level), h = level->height, w = level->width;
    double *values = level->values[own->me], *corner = values + (up ? 0 : h + 1) * step + (left ? 0 : w + 1);
    if (row == (up ? 0 : ocean->rows - 1))
        *corner = -corner[up ? (ptrdiff_t)step : -(ptrdiff_t)step];
    else if (column == (left ? 0 : ocean->columns - 1))
        *corner = -corner[left ? 1 : -1];
    else {
        unsigned other = (row + (up ? -1u : 1u)) * ocean->columns + column + (left ? -1u : 1u);
        *corner = level->values[other][(up ? h : 1) * step + (left ? w : 1)];
    }
}

/* What lies beside the sub-grid; at the edge of the square the negative of the last cell, so that 0 is between. */
static void copy_border(struct thread *own, const struct ocean *ocean, const struct level *level)
{
    unsigned row = own->me / ocean->columns, column = own->me % ocean->columns;
    size_t step = stride(level), h = level->height, w = level->width;
    double *values = level->values[own->me];
    enter(own, COMMUNICATE);
    const double *north = row ? level->values[own->me - ocean->columns] + h * step : 0;
    const double *south = row + 1 < ocean->rows ? level->values[own->me + ocean->columns] + step : 0;
    const double *west = column ? level->values[own->me - 1] + w : 0;
    const double *east = column + 1 < ocean->columns ? level->values[own->me + 1] + 1 : 0;
    for (size_t j = 1; j <= w; j++) {
        values[j] = north ? north[j] : -values[step + j];
        values[(h + 1) * step + j] = south ? south[j] : -values[h * step + j];
    }
    for (size_t i = 1; i <= h; i++) {
        values[i * step] = west ? west[i * step] : -values[i * step + 1];
        values[i * step + w + 1] = east ? east[i * step] : -values[i * step + w];
    }
    enter(own, COMPUTE);
}

/* --- steps --------------------------------------------------------------------------------- */

static inline double around(const double *at, size_t step)
{
    return (at[-1] + at[1]) + (at[-(ptrdiff_t)step] + at[step]);
}

static void sweep(const struct thread *own, const struct ocean *ocean, const struct level *level, unsigned color)
{
    size_t step = stride(level);
    double *values = level->values[own->me];
    const double *sources = level->sources[own->me];
    unsigned first_row = own->me / ocean->columns * level->height,
             first_column = own->me % ocean->columns * level->width;
    for (unsigned i = 1; i <= level->height; i++)
        for (unsigned j = 1 + (first_row + i + first_column + 1 + color) % 2; j <= level->width; j += 2) {
            double *at = values + i * step + j;
            *at = 0.25 * (around(at, step) + level->area * sources[i * step + j]);
        }
}

static void smooth(struct thread *own, const struct ocean *ocean, const struct level *level, unsigned sweeps)
{
    for (unsigned half = 0; half < 2 * sweeps; half++) {
        copy_border(own, ocean, level);
        sweep(own, ocean, level, half % 2);
        meet(own);
    }
}

static inline double residual(const struct level *level, const double *values, const double *sources, size_t at)
{
    return sources[at] - (4 * values[at] - around(values + at, stride(level))) / level->area;
}

/* The next level's sources are means of this one's residuals, of which the largest is returned; its values begin at 0. */
static double restrict_to_next(struct thread *own, const struct ocean *ocean, const struct level *level)
{
    const struct level *next = level + 1;
    size_t step = stride(level), next_step = stride(next);
    const double *values = level->values[own->me], *sources = level->sources[own->me];
    double largest = 0;
    copy_border(own, ocean, level);
    for (size_t i = 1; i <= next->height; i++)
        for (size_t j = 1; j <= next->width; j++) {
            size_t at = (2 * i - 1) * step + 2 * j - 1;
            double a = residual(level, values, sources, at), b = residual(level, values, sources, at + 1);
            double c = residual(level, values, sources, at + step), d = residual(level, values, sources, at + step + 1);
            largest = larger(larger(largest, absolute(a)), larger(absolute(b), larger(absolute(c), absolute(d))));
            next->sources[own->me][i * next_step + j] = 0.25 * ((a + b) + (c + d));
            next->values[own->me][i * next_step + j] = 0;
        }
    return largest;
}

/* Adds the next level's values, bilinearly. */
static void correct(struct thread *own, const struct ocean *ocean, const struct level *level)
{
    const struct level *next = level + 1;
    size_t step = stride(level);
    ptrdiff_t next_step = (ptrdiff_t)stride(next);
    copy_border(own, ocean, next);
    enter(own, COMMUNICATE);
    for (int corner = 0; corner < 4; corner++)
        copy_corner(own, ocean, next, corner / 2, corner % 2);
    enter(own, COMPUTE);
    for (size_t i = 1; i <= level->height; i++)
        for (size_t j = 1; j <= level->width; j++) {
            const double *near = next->values[own->me] + (ptrdiff_t)((i + 1) / 2) * next_step + (j + 1) / 2;
            ptrdiff_t down = i % 2 ? -next_step : next_step, right = j % 2 ? -1 : 1;
            double sum = 0.5625 * near[0] + 0.1875 * (near[down] + near[right]) + 0.0625 * near[down + right];
            level->values[own->me][i * step + j] += sum;
        }
}

/* Whether the largest residual of all is small enough. */
static int is_done(const struct ocean *ocean, unsigned threads)
{
    double norm = 0;
    for (unsigned i = 0; i < threads; i++)
        norm = larger(norm, ocean->others[i]->norm);
    return norm < 1e-11;
}

static void section(struct thread *own, struct ocean *ocean)
{
    struct level *level = ocean->level;
    unsigned last = ocean->levels - 1;
    for (unsigned cycle = 0; cycle < CYCLES_MAX; cycle++) {
        for (unsigned l = 0; l < last; l++) {
            smooth(own, ocean, &level[l], BEFORE);
            double largest = restrict_to_next(own, ocean, &level[l]);
            if (l == 0)
                ocean->norm = largest;
            meet(own);
            if (l == 0 && is_done(ocean, own->threads)) {
                found[own->me].cycles = cycle;
                return;
            }
        }
        smooth(own, ocean, &level[last], COARSE_SWEEPS);
        for (unsigned l = last; l-- > 0;) {
            correct(own, ocean, &level[l]);
            meet(own);
            smooth(own, ocean, &level[l], AFTER);
        }
    }
}

/* --- before and after ---------------------------------------------------------------------- */

static size_t bytes_of(const struct level *level) { return stride(level) * (level->height + 2) * sizeof(double); }

static void prepare(struct thread *own, struct ocean *ocean)
{
    for (unsigned l = 0; l < ocean->levels; l++)
        for (unsigned i = 0; i < own->threads; i++) {
            unsigned other = in_turn(own, i);
            touch(ocean->level[l].values[other], bytes_of(&ocean->level[l]));
            touch(ocean->others[other], sizeof *ocean);
        }
    gather(own);
    for (unsigned l = 0; l < ocean->levels; l++) {
        memset(ocean->level[l].values[own->me], 0, bytes_of(&ocean->level[l]));
        memset(ocean->level[l].sources[own->me], 0, bytes_of(&ocean->level[l]));
    }
    const struct level *level = ocean->level;
    unsigned row = own->me / ocean->columns * level->height, column = own->me % ocean->columns * level->width;
    for (unsigned i = 0; i < level->height; i++)
        for (unsigned j = 0; j < level->width; j++)
            level->sources[own->me][(i + 1) * stride(level) + j + 1] = random_of((row + i) * level->cells + column + j);
}

static void check(struct thread *own, const struct ocean *ocean)
{
    const struct level *level = ocean->level;
    unsigned row = own->me / ocean->columns * level->height, column = own->me % ocean->columns * level->width;
    copy_border(own, ocean, level);
    for (unsigned i = 0; i < level->height; i++)
        for (unsigned j = 0; j < level->width; j++) {
            size_t at = (i + 1) * stride(level) + j + 1;
            double error = residual(level, level->values[own->me], level->sources[own->me], at);
            found[own->me].error = larger(found[own->me].error, absolute(error));
            found[own->me].checksum +=
                summand((row + i) * level->cells + column + j, bits_of(level->values[own->me][at]));
        }
}

static void body(struct thread *own)
{
    struct ocean *ocean = oceans[own->me];
    prepare(own, ocean);
    section_begin(own);
    if (ocean->is_whole)
        section(own, ocean);
    section_end(own);
    check(own, ocean);
}

static void arrange(struct ocean *ocean, unsigned cells, unsigned threads)
{
    for (ocean->rows = 1; ocean->rows * ocean->rows < threads;)
        ocean->rows *= 2;
    ocean->columns = threads / ocean->rows;
    if (ocean->rows * ocean->columns != threads || ocean->rows > COARSEST)
        fail("ocean: 1 to 64 threads, a power of 2");
    for (; cells >= COARSEST; cells /= 2) {
        struct level *level = &ocean->level[ocean->levels++];
        level->cells = cells;
        level->height = cells / ocean->rows;
        level->width = cells / ocean->columns;
        level->area = 1.0 / cells / cells;
        for (unsigned i = 0; i < threads; i++) {
            level->values[i] = place(bytes_of(level), i);
            level->sources[i] = place(bytes_of(level), i);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 5 || strcmp(argv[1], "pull"))
        fail("ocean pull N THREADS whole|rest.");
    static struct ocean made;
    unsigned cells = (unsigned)atoi(argv[2]) - 2, threads = (unsigned)atoi(argv[3]);
    made.is_whole = is_whole(argv[4]);
    if (cells < 2 * COARSEST || cells > COARSEST << (LEVELS_MAX - 1) || (cells & (cells - 1)) || threads < 1)
        fail("ocean: N is 18 to 514, 2 more than a power of 2");
    arrange(&made, cells, threads);
    for (unsigned i = 0; i < threads; i++)
        oceans[i] = place(sizeof made, i);
    memcpy(made.others, oceans, sizeof oceans);
    for (unsigned i = 0; i < threads; i++)
        memcpy(oceans[i], &made, sizeof made);
    run_threads(threads, body);
    if (!made.is_whole)
        return 0;
    print_times(threads);
    uint64_t checksum = 0;
    for (unsigned i = 0; i < threads; i++) {
        checksum += found[i].checksum;
        if (!(found[i].error < 1e-10))
            fail("ocean: no solution");
    }
    printf("cycles %u %u\n", cells + 2, found[0].cycles);
    printf("checksum %u %lu\n", cells + 2, (unsigned long)checksum);
    return 0;
}
