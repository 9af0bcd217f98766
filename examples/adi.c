/* Heat conduction in a cube, implicit in time, by alternating directions: each step solves a penta-diagonal system
 * along every line of x, then y, then z, as SP of the NAS Parallel Benchmarks does (and BT, with blocks).
 *
 * The cube is divided by multi-partition (Naik 1995), as theirs: q x q ranks own q cells each, which lie on a
 * diagonal, so that every rank has one cell in every slab of every direction and none waits in a sweep. A step
 * exchanges the faces of all cells, then passes what elimination and back-substitution need from cell to cell.
 *
 * The operator of a direction is r D2 - e D4, second and fourth differences, of which sines are eigenvectors. So the
 * factor by which a step multiplies each mode is known, and the answer is checked against it. */
#include "example.h"

#include <math.h>

static const char usage[] =
    "adi [-n POINTS] [-t STEPS]; the number of ranks must be a square\n"
    "  -n POINTS  inner points along a side of the cube, a multiple of the square's side, and of it at least 2\n"
    "             a cell (default 12)\n"
    "  -t STEPS   time steps (default 3)\n";

static const double pi = 3.14159265358979323846;
static const double r = 0.4, e = 0.02; /* weights of the second and the fourth difference */

enum { HALO = 2, STATE = 6 }; /* rows of a neighbour that a row needs; values that elimination hands on */

/* The modes of the initial field, by direction, and their amplitudes. */
enum { MODES = 2 };
static const int wave[MODES][3] = {{1, 2, 3}, {2, 1, 1}};
static const double amplitude[MODES] = {1.0, -0.5};

/* Values at the points of a cell, with halo. Of an eliminated row p, q and g say u = g - p u[+1] - q u[+2]. */
struct cell {
    int place[3]; /* which cell of the cube */
    double *u, *right, *p, *q;
};

struct cube {
    int side;   /* cells along an edge: q */
    int points; /* along an edge of a cell */
    long stride[3];
    struct cell *cells; /* one in each slab */
    int after[3], before[3]; /* the ranks that own the neighbours of our cells */
    double *out, *in;
};

/* --- division among ranks ------------------------------------------------------------------ */

static int modulo(int a, int q) { return (a % q + q) % q; }

static long points_with_halo(const struct cube *cube) { return cube->points + 2 * HALO; }

/* The element at a place of a cell; -HALO is the halo's first. */
static long at(const struct cube *cube, int x, int y, int z)
{
    return (x + HALO) * cube->stride[0] + (y + HALO) * cube->stride[1] + (z + HALO) * cube->stride[2];
}

/* Cell c of rank (a, b) is (a + c, b + c, c): so its neighbours along a direction are all of one rank. */
static void divide(struct cube *cube, long points, int rank, int ranks)
{
    int q = 1;
    while ((q + 1) * (q + 1) <= ranks)
        q++;
    if (q * q != ranks)
        stop("adi: %d ranks; a square is needed", ranks);
    if (points % q || points / q < HALO)
        stop("adi: -n %ld: a multiple of %d is needed, at least %d", points, q, HALO * q);
    int a = rank / q, b = rank % q;
    cube->side = q;
    cube->points = (int)(points / q);
    long length = points_with_halo(cube);
    for (int d = 2, stride = 1; d >= 0; d--, stride *= (int)length)
        cube->stride[d] = stride;
    const int step[3][2] = {{1, 0}, {0, 1}, {-1, -1}};
    for (int d = 0; d < 3; d++) {
        cube->after[d] = modulo(a + step[d][0], q) * q + modulo(b + step[d][1], q);
        cube->before[d] = modulo(a - step[d][0], q) * q + modulo(b - step[d][1], q);
    }
    cube->cells = room((size_t)q, sizeof *cube->cells);
    size_t elements = (size_t)(length * length * length);
    for (int c = 0; c < q; c++)
        cube->cells[c] = (struct cell){
            .place = {(a + c) % q, (b + c) % q, c},
            .u = room(elements, sizeof(double)),
            .right = room(elements, sizeof(double)),
            .p = room(elements, sizeof(double)),
            .q = room(elements, sizeof(double)),
        };
    size_t face = (size_t)cube->points * (size_t)cube->points;
    cube->out = room((size_t)q * face * STATE, sizeof(double));
    cube->in = room((size_t)q * face * STATE, sizeof(double));
}

static void release(struct cube *cube)
{
    for (int c = 0; c < cube->side; c++) {
        free(cube->cells[c].u);
        free(cube->cells[c].right);
        free(cube->cells[c].p);
        free(cube->cells[c].q);
    }
    free(cube->cells);
    free(cube->out);
    free(cube->in);
}

/* --- faces ----------------------------------------------------------------------------------- */

/* The lines of a cell along direction d: where line k begins, at the cell's first inner point. */
static long line(const struct cube *cube, int d, int k)
{
    int place[3] = {0};
    place[d == 0 ? 1 : 0] = k / cube->points;
    place[d == 2 ? 1 : 2] = k % cube->points;
    return at(cube, place[0], place[1], place[2]);
}

static int lines(const struct cube *cube) { return cube->points * cube->points; }

/* The rows of all lines of a cell from `row` on, HALO of them, between the cell and `buffer`, which then stands
 * behind them. */
static double *move_rows(const struct cube *cube, double *u, int d, int row, double *buffer, bool into_cell)
{
    for (int k = 0; k < lines(cube); k++)
        for (int i = row; i < row + HALO; i++, buffer++) {
            double *element = &u[line(cube, d, k) + i * cube->stride[d]];
            if (into_cell)
                *element = *buffer;
            else
                *buffer = *element;
        }
    return buffer;
}

/* At the cube's faces u continues as an odd function: that is what makes sines eigenvectors. */
static void reflect(const struct cube *cube, double *u, int d, bool last)
{
    long step = last ? cube->stride[d] : -cube->stride[d];
    for (int k = 0; k < lines(cube); k++) {
        double *edge = &u[line(cube, d, k) + (last ? (cube->points - 1) * cube->stride[d] : 0)];
        edge[step] = 0;
        edge[2 * step] = -edge[0];
    }
}

/* Faces go one way: those of all cells but the ones in the cube's last slab. */
static void exchange(struct cube *cube, int d, bool up)
{
    int q = cube->side, tag = 2 * d + up;
    int to = up ? cube->after[d] : cube->before[d], from = up ? cube->before[d] : cube->after[d];
    int length = (q - 1) * lines(cube) * HALO;
    int no_giving = up ? q - 1 : 0, no_taking = up ? 0 : q - 1;
    MPI_Request request[2];
    double *end = cube->out;
    if (q > 1)
        MPI_Irecv(cube->in, length, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &request[0]);
    /* In the order of the slabs, which both sides know. */
    for (int slab = 0; slab < q; slab++)
        for (int c = 0; c < q; c++)
            if (cube->cells[c].place[d] == slab && slab != no_giving)
                end = move_rows(cube, cube->cells[c].u, d, up ? cube->points - HALO : 0, end, false);
    if (q > 1) {
        MPI_Isend(cube->out, length, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    double *next = cube->in;
    for (int slab = 0; slab < q; slab++)
        for (int c = 0; c < q; c++) {
            if (cube->cells[c].place[d] != slab)
                continue;
            if (slab == no_taking)
                reflect(cube, cube->cells[c].u, d, !up);
            else
                next = move_rows(cube, cube->cells[c].u, d, up ? -HALO : cube->points, next, true);
        }
}

/* --- a step ---------------------------------------------------------------------------------- */

/* The right side: what the operators of all directions make of u. */
static void apply(const struct cube *cube, const struct cell *cell)
{
    for (int x = 0; x < cube->points; x++)
        for (int y = 0; y < cube->points; y++)
            for (int z = 0; z < cube->points; z++) {
                long here = at(cube, x, y, z);
                double sum = 0;
                for (int d = 0; d < 3; d++) {
                    const double *u = &cell->u[here];
                    long s = cube->stride[d];
                    double near = u[-s] + u[s], far = u[-2 * s] + u[2 * s];
                    sum += r * (near - 2 * u[0]) - e * (far - 4 * near + 6 * u[0]);
                }
                cell->right[here] = sum;
            }
}

/* Eliminates the lines of a cell. `state` holds p, q, g of the two rows before each line, and then of its last two. */
static void eliminate(const struct cube *cube, const struct cell *cell, int d, double *state)
{
    long s = cube->stride[d];
    bool first = cell->place[d] == 0, last = cell->place[d] == cube->side - 1;
    for (int k = 0; k < lines(cube); k++, state += STATE) {
        double p2 = state[0], q2 = state[1], g2 = state[2], p1 = state[3], q1 = state[4], g1 = state[5];
        long here = line(cube, d, k);
        for (int i = 0; i < cube->points; i++, here += s) {
            /* The odd continuation changes the first and the last row's own coefficient. */
            bool edge = (first && i == 0) || (last && i == cube->points - 1);
            double a = e, b = -r - 4 * e, c = 1 + 2 * r + (edge ? 5 : 6) * e;
            double b1 = b - a * p2, c1 = c - a * q2, f1 = cell->right[here] - a * g2;
            double pivot = 1 / (c1 - b1 * p1);
            p2 = p1, q2 = q1, g2 = g1;
            g1 = (f1 - b1 * g1) * pivot;
            p1 = (b - b1 * q1) * pivot;
            q1 = a * pivot;
            cell->p[here] = p1, cell->q[here] = q1, cell->right[here] = g1;
        }
        state[0] = p2, state[1] = q2, state[2] = g2, state[3] = p1, state[4] = q1, state[5] = g1;
    }
}

/* Substitutes back. `state` holds the solution in the two rows behind each line, and then in its first two. */
static void substitute(const struct cube *cube, const struct cell *cell, int d, double *state)
{
    long s = cube->stride[d];
    for (int k = 0; k < lines(cube); k++, state += HALO) {
        double next = state[0], second = state[1];
        long here = line(cube, d, k) + (cube->points - 1) * s;
        for (int i = 0; i < cube->points; i++, here -= s) {
            double value = cell->right[here] - cell->p[here] * next - cell->q[here] * second;
            second = next;
            next = cell->right[here] = value;
        }
        state[0] = next, state[1] = second;
    }
}

/* Solves along direction d: elimination from slab to slab upwards, substitution downwards. */
static void sweep(struct cube *cube, int d, bool up)
{
    int q = cube->side, width = up ? STATE : HALO, tag = 6 + 2 * d + up;
    int to = up ? cube->after[d] : cube->before[d], from = up ? cube->before[d] : cube->after[d];
    size_t bytes = (size_t)(lines(cube) * width) * sizeof(double);
    MPI_Request sent = MPI_REQUEST_NULL;
    for (int turn = 0; turn < q; turn++) {
        int slab = up ? turn : q - 1 - turn, c = 0;
        while (cube->cells[c].place[d] != slab)
            c++;
        if (turn == 0)
            memset(cube->in, 0, bytes);
        else
            MPI_Recv(cube->in, lines(cube) * width, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (up)
            eliminate(cube, &cube->cells[c], d, cube->in);
        else
            substitute(cube, &cube->cells[c], d, cube->in);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (turn < q - 1) {
            memcpy(cube->out, cube->in, bytes);
            MPI_Isend(cube->out, lines(cube) * width, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &sent);
        }
    }
}

static void step(struct cube *cube)
{
    for (int d = 0; d < 3; d++) {
        exchange(cube, d, true);
        exchange(cube, d, false);
    }
    for (int c = 0; c < cube->side; c++)
        apply(cube, &cube->cells[c]);
    for (int d = 0; d < 3; d++) {
        sweep(cube, d, true);
        sweep(cube, d, false);
    }
    for (int c = 0; c < cube->side; c++)
        for (int k = 0; k < lines(cube); k++) {
            long here = line(cube, 2, k);
            for (int z = 0; z < cube->points; z++, here += cube->stride[2])
                cube->cells[c].u[here] += cube->cells[c].right[here];
        }
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Eigenvalue of a direction's operator, with its sign turned, for so many half waves on `points` inner points. */
static double eigenvalue(int waves, long points)
{
    double half = sin(pi * waves / (2.0 * (double)(points + 1))), second = 4 * half * half;
    return r * second + e * second * second;
}

/* What a step multiplies a mode by: 1 - sum of eigenvalues / product of (1 + eigenvalue). */
static double factor(int mode, long points)
{
    double sum = 0, product = 1;
    for (int d = 0; d < 3; d++) {
        double value = eigenvalue(wave[mode][d], points);
        sum += value;
        product *= 1 + value;
    }
    return 1 - sum / product;
}

/* The field after so many steps, at inner points of the cube counted from 0. */
static double exact(const double *weight, long points, const int *place)
{
    double value = 0;
    for (int mode = 0; mode < MODES; mode++) {
        double product = weight[mode];
        for (int d = 0; d < 3; d++)
            product *= sin(pi * wave[mode][d] * (place[d] + 1) / (double)(points + 1));
        value += product;
    }
    return value;
}

/* Sets the field to the modes with these weights, or returns the largest difference from them. */
static double compare(struct cube *cube, const double *weight, long points, bool set)
{
    double worst = 0;
    for (int c = 0; c < cube->side; c++) {
        const struct cell *cell = &cube->cells[c];
        for (int x = 0; x < cube->points; x++)
            for (int y = 0; y < cube->points; y++)
                for (int z = 0; z < cube->points; z++) {
                    int place[3] = {cell->place[0] * cube->points + x, cell->place[1] * cube->points + y,
                                    cell->place[2] * cube->points + z};
                    double *u = &cell->u[at(cube, x, y, z)], value = exact(weight, points, place);
                    if (set)
                        *u = value;
                    worst = fmax(worst, fabs(*u - value));
                }
    }
    return worst;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long points = option(argc, argv, "-n", 1, 12), steps = option(argc, argv, "-t", 1, 3);
    struct cube cube = {0};
    divide(&cube, points, rank, ranks);
    double weight[MODES];
    memcpy(weight, amplitude, sizeof weight);
    compare(&cube, weight, points, true);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long t = 0; t < steps; t++)
        step(&cube);
    double seconds = MPI_Wtime() - start;
    for (int mode = 0; mode < MODES; mode++)
        weight[mode] *= pow(factor(mode, points), (double)steps);
    double mine = compare(&cube, weight, points, false), worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld^3 points on %d x %d ranks, %ld steps: %.3f ms, error %.2e\n", points, cube.side, cube.side, steps,
               seconds * 1e3, worst);
    release(&cube);
    return verdict("adi", worst < 1e-10);
}
