/* Sparse matrix times vector, again and again: the 7-point Laplacian of SIDE^3 points in compressed rows.
 *
 *   spmv [ROUNDS [SIDE]]
 *
 * Needs no MPI: peers that know only plain programs run it too. Prints a number that must not change. */
#include <stdio.h>
#include <stdlib.h>

struct matrix {
    long rows;
    int *start, *column;
    double *value;
};

static long put(struct matrix *m, long at, long column, double value)
{
    m->column[at] = (int)column;
    m->value[at] = value;
    return at + 1;
}

static struct matrix laplacian(long side)
{
    long rows = side * side * side, at = 0, plane = side * side;
    struct matrix m = {rows, malloc((rows + 1) * sizeof(int)), malloc(7 * rows * sizeof(int)),
                       malloc(7 * rows * sizeof(double))};
    for (long i = 0; i < rows; i++) {
        long x = i % side, y = i / side % side, z = i / plane;
        m.start[i] = (int)at;
        if (z > 0)
            at = put(&m, at, i - plane, -1);
        if (y > 0)
            at = put(&m, at, i - side, -1);
        if (x > 0)
            at = put(&m, at, i - 1, -1);
        at = put(&m, at, i, 6.1);
        if (x < side - 1)
            at = put(&m, at, i + 1, -1);
        if (y < side - 1)
            at = put(&m, at, i + side, -1);
        if (z < side - 1)
            at = put(&m, at, i + plane, -1);
    }
    m.start[rows] = (int)at;
    return m;
}

static void multiply(const struct matrix *m, const double *x, double *y)
{
    for (long i = 0; i < m->rows; i++) {
        double sum = 0;
        for (int j = m->start[i]; j < m->start[i + 1]; j++)
            sum += m->value[j] * x[m->column[j]];
        y[i] = sum;
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    struct matrix m = laplacian(argc > 2 ? atoi(argv[2]) : 60);
    double *x = malloc(m.rows * sizeof *x), *y = malloc(m.rows * sizeof *y);
    for (long i = 0; i < m.rows; i++)
        x[i] = 1.0 / (double)(i + 1);
    for (int round = 0; round < rounds; round++) {
        multiply(&m, x, y);
        double largest = 0;
        for (long i = 0; i < m.rows; i++)
            largest = y[i] > largest ? y[i] : largest;
        for (long i = 0; i < m.rows; i++)
            x[i] = y[i] / largest;
    }
    printf("%.15g\n", x[m.rows / 2]);
    return 0;
}
