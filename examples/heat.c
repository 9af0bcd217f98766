/* The heat equation on a square, explicit in time, with a halo exchange over a Cartesian grid of
 * ranks.
 *
 * The answer is known exactly: u = sin(pi x) sin(pi y) is an eigenvector of the five-point
 * Laplacian, so every step multiplies it by 1 - 8 r sin^2(pi h / 2), where h is the spacing and
 * r = dt / h^2. */
#include "example.h"

#include <math.h>

static const char usage[] =
    "heat [-n POINTS] [-t STEPS]\n"
    "  -n POINTS  inner points along a side of the square (default 64)\n"
    "  -t STEPS   time steps (default 50)\n";

static const double pi = 3.14159265358979323846;
static const double r = 0.2; /* dt / h^2; stable below 0.25 */

/* A rank's part of the square: `rows` x `columns` points and a halo of one all round. */
struct part {
    MPI_Comm grid;
    int up, down, left, right; /* neighbours, or MPI_PROC_NULL */
    long first_row, first_column, rows, columns;
    MPI_Datatype column;
    double *now, *next;
};

static double *at(const struct part *part, double *field, long row, long column)
{
    return &field[(row + 1) * (part->columns + 2) + column + 1];
}

/* Points [first, first + count) of `points` belong to block `index` of `blocks`. */
static void block(long points, int blocks, int index, long *first, long *count)
{
    *first = points * index / blocks;
    *count = points * (index + 1) / blocks - *first;
}

static double exact(long points, long row, long column)
{
    double h = 1.0 / (double)(points + 1);
    return sin(pi * h * (double)(row + 1)) * sin(pi * h * (double)(column + 1));
}

static void divide(struct part *part, long points)
{
    int ranks, rank, shape[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape);
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 1, &part->grid);
    MPI_Comm_rank(part->grid, &rank);
    MPI_Cart_coords(part->grid, rank, 2, place);
    MPI_Cart_shift(part->grid, 0, 1, &part->up, &part->down);
    MPI_Cart_shift(part->grid, 1, 1, &part->left, &part->right);
    if (points < shape[0])
        stop("heat: -n %ld: at least %d points for %d x %d ranks", points, shape[0], shape[0], shape[1]);
    block(points, shape[0], place[0], &part->first_row, &part->rows);
    block(points, shape[1], place[1], &part->first_column, &part->columns);
    MPI_Type_vector((int)part->rows, 1, (int)part->columns + 2, MPI_DOUBLE, &part->column);
    MPI_Type_commit(&part->column);

    size_t cells = (size_t)((part->rows + 2) * (part->columns + 2));
    part->now = room(cells, sizeof(double)); /* the halo at the edge of the square stays 0 */
    part->next = room(cells, sizeof(double));
    for (long row = 0; row < part->rows; row++)
        for (long column = 0; column < part->columns; column++)
            *at(part, part->now, row, column) = exact(points, part->first_row + row, part->first_column + column);
}

static void exchange_halo(struct part *part)
{
    MPI_Request request[8];
    double *u = part->now;
    int columns = (int)part->columns;
    long last_row = part->rows - 1, last_column = part->columns - 1;
    MPI_Irecv(at(part, u, -1, 0), columns, MPI_DOUBLE, part->up, 0, part->grid, &request[0]);
    MPI_Irecv(at(part, u, last_row + 1, 0), columns, MPI_DOUBLE, part->down, 1, part->grid, &request[1]);
    MPI_Irecv(at(part, u, 0, -1), 1, part->column, part->left, 2, part->grid, &request[2]);
    MPI_Irecv(at(part, u, 0, last_column + 1), 1, part->column, part->right, 3, part->grid, &request[3]);
    MPI_Isend(at(part, u, last_row, 0), columns, MPI_DOUBLE, part->down, 0, part->grid, &request[4]);
    MPI_Isend(at(part, u, 0, 0), columns, MPI_DOUBLE, part->up, 1, part->grid, &request[5]);
    MPI_Isend(at(part, u, 0, last_column), 1, part->column, part->right, 2, part->grid, &request[6]);
    MPI_Isend(at(part, u, 0, 0), 1, part->column, part->left, 3, part->grid, &request[7]);
    MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
}

static void step(struct part *part)
{
    for (long row = 0; row < part->rows; row++)
        for (long column = 0; column < part->columns; column++) {
            double *u = at(part, part->now, row, column);
            double around = u[-1] + u[1] + u[-(part->columns + 2)] + u[part->columns + 2];
            *at(part, part->next, row, column) = *u + r * (around - 4 * *u);
        }
    double *swap = part->now;
    part->now = part->next;
    part->next = swap;
}

/* The largest difference from the exact answer on any rank. */
static double error_of(struct part *part, long points, long steps)
{
    double half = sin(pi / (double)(points + 1) / 2), factor = pow(1 - 8 * r * half * half, (double)steps);
    double worst = 0, worst_of_all = 0;
    for (long row = 0; row < part->rows; row++)
        for (long column = 0; column < part->columns; column++) {
            double right = factor * exact(points, part->first_row + row, part->first_column + column);
            worst = fmax(worst, fabs(*at(part, part->now, row, column) - right));
        }
    MPI_Allreduce(&worst, &worst_of_all, 1, MPI_DOUBLE, MPI_MAX, part->grid);
    return worst_of_all;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long points = option(argc, argv, "-n", 1, 64), steps = option(argc, argv, "-t", 0, 50);
    struct part part;
    divide(&part, points);
    double start = MPI_Wtime();
    for (long i = 0; i < steps; i++) {
        exchange_halo(&part);
        step(&part);
    }
    double seconds = MPI_Wtime() - start;
    double error = error_of(&part, points, steps);
    if (rank == 0)
        printf("%ld x %ld points, %ld steps on %d ranks: %.3f ms, largest error %.1e\n", points, points, steps, ranks,
               seconds * 1e3, error);
    free(part.now);
    free(part.next);
    MPI_Type_free(&part.column);
    MPI_Comm_free(&part.grid);
    return verdict("heat", error < 1e-12);
}
