/* Conjugate gradients, with the diagonal as preconditioner, for A x = b where A is sparse,
 * symmetric and positive definite: read from a Matrix Market file, or a Laplacian.
 *
 * Rows are divided among ranks so that all have about the same number of non-zeros. Before each
 * product a rank gets the elements of the vector that its rows need and others own; who needs what
 * is worked out once. b is A times a vector of ones.
 *
 * Checked: the residual b - A x computed afresh at the end equals the one that the iteration kept,
 * and is below the tolerance unless the iterations were limited with -i. */
#include "example.h"

#include <ctype.h>
#include <math.h>

static const char usage[] =
    "cg [-i ITERATIONS] [-g SIDE | FILE]\n"
    "  FILE           matrix in Matrix Market format: coordinate, real, symmetric or general\n"
    "  -g SIDE        the 5-point Laplacian of SIDE x SIDE points instead (default 32)\n"
    "  -i ITERATIONS  stop after so many; the residual need not be small then\n";

static const double tolerance = 1e-8;

/* Rows in compressed form; columns are global numbers until find_neighbours. */
struct matrix {
    long size;  /* of the whole matrix */
    long rows;  /* here */
    int *start; /* rows + 1 */
    int *column;
    double *value;
};

/* One rank's part of the problem. */
struct problem {
    struct matrix a;
    int *first;  /* first row of each rank, ranks + 1 */
    long others; /* elements of other ranks' vectors that our rows need */
    int *give_count, *give_at, *take_count, *take_at;
    int *give_index; /* which of our elements the others need, one neighbour after the other */
    double *give;
    MPI_Request *request;
};

/* --- rank 0: the whole matrix ------------------------------------------------------------- */

struct entry {
    int row, column;
    double value;
};

/* Entries in any order become rows. */
static struct matrix compress(const struct entry *entry, long count, long size)
{
    struct matrix a = {.size = size, .rows = size};
    a.start = room((size_t)size + 2, sizeof *a.start);
    a.column = room((size_t)count, sizeof *a.column);
    a.value = room((size_t)count, sizeof *a.value);
    for (long i = 0; i < count; i++)
        a.start[entry[i].row + 2]++;
    for (long row = 0; row < size; row++)
        a.start[row + 2] += a.start[row + 1];
    for (long i = 0; i < count; i++) {
        int at = a.start[entry[i].row + 1]++;
        a.column[at] = entry[i].column;
        a.value[at] = entry[i].value;
    }
    return a;
}

static struct matrix laplacian(long side)
{
    struct entry *entry = room((size_t)(5 * side * side), sizeof *entry);
    long count = 0;
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++) {
            int row = (int)(y * side + x);
            entry[count++] = (struct entry){row, row, 4};
            if (x > 0)
                entry[count++] = (struct entry){row, row - 1, -1};
            if (x + 1 < side)
                entry[count++] = (struct entry){row, row + 1, -1};
            if (y > 0)
                entry[count++] = (struct entry){row, row - (int)side, -1};
            if (y + 1 < side)
                entry[count++] = (struct entry){row, row + (int)side, -1};
        }
    struct matrix a = compress(entry, count, side * side);
    free(entry);
    return a;
}

/* The file's text, ended by a NUL. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        stop("cg: can't open %s", path);
    size_t length = 0, space = 1 << 16;
    char *text = malloc(space + 1);
    while (text) {
        size_t got = fread(text + length, 1, space - length, file);
        length += got;
        if (got == 0)
            break;
        if (length == space)
            text = realloc(text, (space *= 2) + 1);
    }
    if (!text)
        stop("cg: no memory for %s", path);
    fclose(file);
    text[length] = '\0';
    return text;
}

static long read_long(char **at, const char *path)
{
    char *end;
    long value = strtol(*at, &end, 10);
    if (end == *at)
        stop("cg: %s: a number is missing at \"%.20s\"", path, *at);
    *at = end;
    return value;
}

/* A decimal number, to within a few units in its last place. strtod would be exact, and take most of
 * the program's time where long double is done in software. */
static double read_real(char **at, const char *path)
{
    char *c = *at + strspn(*at, " \t\r\n");
    bool negative = *c == '-', point = false, digits = false;
    unsigned long long mantissa = 0;
    int exponent = 0;
    c += *c == '-' || *c == '+';
    for (; isdigit((unsigned char)*c) || (*c == '.' && !point); c++) {
        if (*c == '.') {
            point = true;
        } else if (mantissa < 100000000000000000ull) {
            digits = true;
            mantissa = 10 * mantissa + (unsigned)(*c - '0');
            exponent -= point;
        } else {
            exponent += !point; /* more digits than a double holds */
        }
    }
    if (!digits)
        stop("cg: %s: a number is missing at \"%.20s\"", path, *at);
    *at = c;
    if (strchr("eEdD", *c) && *c) {
        (*at)++;
        exponent += (int)read_long(at, path);
    }
    double value = (double)mantissa, power = 10;
    for (int n = exponent < 0 ? -exponent : exponent; n; n >>= 1, power *= power)
        if (n & 1)
            value = exponent < 0 ? value / power : value * power;
    return negative ? -value : value;
}

/* The header line; whether only one triangle is stored. Moves `at` past the comments. */
static bool read_header(char **at, const char *path)
{
    char line[128] = "", object[32] = "", format[32] = "", field[32] = "", symmetry[32] = "";
    snprintf(line, sizeof line, "%.*s", (int)strcspn(*at, "\n"), *at);
    for (char *c = line; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    sscanf(line, "%%%%matrixmarket %31s %31s %31s %31s", object, format, field, symmetry);
    if (strcmp(object, "matrix") || strcmp(format, "coordinate"))
        stop("cg: %s: not a Matrix Market coordinate matrix: \"%s\"", path, line);
    if (strcmp(field, "real") && strcmp(field, "integer"))
        stop("cg: %s: field \"%s\"; real and integer can be read", path, field);
    if (strcmp(symmetry, "symmetric") && strcmp(symmetry, "general"))
        stop("cg: %s: symmetry \"%s\"; symmetric and general can be read", path, symmetry);
    while (**at == '%') {
        *at += strcspn(*at, "\n");
        *at += **at == '\n';
    }
    return !strcmp(symmetry, "symmetric");
}

static struct matrix read_matrix(const char *path)
{
    char *text = read_whole(path), *at = text;
    bool half = read_header(&at, path);
    long rows = read_long(&at, path), columns = read_long(&at, path), stored = read_long(&at, path);
    if (rows != columns || rows < 1 || stored < 1)
        stop("cg: %s: %ld x %ld with %ld entries; a square matrix is needed", path, rows, columns, stored);
    struct entry *entry = room((size_t)stored * 2, sizeof *entry);
    long count = 0;
    for (long i = 0; i < stored; i++) {
        int row = (int)read_long(&at, path) - 1, column = (int)read_long(&at, path) - 1;
        double value = read_real(&at, path);
        if (row < 0 || row >= rows || column < 0 || column >= rows)
            stop("cg: %s: entry %ld is outside the matrix", path, i + 1);
        entry[count++] = (struct entry){row, column, value};
        if (half && row != column)
            entry[count++] = (struct entry){column, row, value};
    }
    struct matrix a = compress(entry, count, rows);
    free(entry);
    free(text);
    return a;
}

/* --- division among ranks ------------------------------------------------------------------ */

/* Rank 0 sends every rank its rows. */
static void scatter(struct problem *p, struct matrix *whole, int rank, int ranks)
{
    int *entries = room((size_t)ranks, sizeof *entries), *entries_at = room((size_t)ranks + 1, sizeof *entries_at);
    int *rows = room((size_t)ranks, sizeof *rows), here;
    MPI_Bcast(&whole->size, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    p->first = room((size_t)ranks + 1, sizeof *p->first);
    if (rank == 0) {
        long all = whole->start[whole->size];
        for (int to = 0, row = 0; to <= ranks; to++) {
            while (row < whole->size && whole->start[row] < all * to / ranks)
                row++;
            p->first[to] = to == ranks ? (int)whole->size : row;
        }
        for (int to = 0; to < ranks; to++) {
            rows[to] = p->first[to + 1] - p->first[to];
            entries_at[to] = whole->start[p->first[to]];
            entries[to] = whole->start[p->first[to + 1]] - entries_at[to];
        }
    }
    MPI_Bcast(p->first, ranks + 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(entries, 1, MPI_INT, &here, 1, MPI_INT, 0, MPI_COMM_WORLD);
    struct matrix *a = &p->a;
    a->size = whole->size;
    a->rows = p->first[rank + 1] - p->first[rank];
    a->start = room((size_t)a->rows + 1, sizeof *a->start);
    a->column = room((size_t)here, sizeof *a->column);
    a->value = room((size_t)here, sizeof *a->value);
    MPI_Scatterv(whole->start, rows, p->first, MPI_INT, a->start, (int)a->rows, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(whole->column, entries, entries_at, MPI_INT, a->column, here, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(whole->value, entries, entries_at, MPI_DOUBLE, a->value, here, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (long row = a->rows; row-- > 0;)
        a->start[row] -= a->start[0];
    a->start[a->rows] = here;
    free(entries);
    free(entries_at);
    free(rows);
}

/* Which elements we need from whom, and who needs which of ours. Columns get their place in the
 * vector: own elements first, then those of others in the order of their numbers. */
static void find_neighbours(struct problem *p, int rank, int ranks)
{
    struct matrix *a = &p->a;
    int low = p->first[rank], high = p->first[rank + 1];
    int *place = room((size_t)a->size, sizeof *place);
    for (int i = 0; i < a->start[a->rows]; i++)
        place[a->column[i]] = 1;
    p->take_count = room((size_t)ranks, sizeof(int));
    p->take_at = room((size_t)ranks + 1, sizeof(int));
    p->give_count = room((size_t)ranks, sizeof(int));
    p->give_at = room((size_t)ranks + 1, sizeof(int));
    p->request = room(2 * (size_t)ranks, sizeof *p->request);
    int *take_index = room((size_t)a->size, sizeof *take_index);
    for (int from = 0; from < ranks; from++)
        for (int i = p->first[from]; i < p->first[from + 1]; i++)
            if (from == rank) {
                place[i] = i - low;
            } else if (place[i]) {
                place[i] = high - low + (int)p->others;
                take_index[p->others++] = i - p->first[from];
                p->take_count[from]++;
            }
    for (int i = 0; i < a->start[a->rows]; i++)
        a->column[i] = place[a->column[i]];
    MPI_Alltoall(p->take_count, 1, MPI_INT, p->give_count, 1, MPI_INT, MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++) {
        p->take_at[other + 1] = p->take_at[other] + p->take_count[other];
        p->give_at[other + 1] = p->give_at[other] + p->give_count[other];
    }
    p->give_index = room((size_t)p->give_at[ranks], sizeof *p->give_index);
    p->give = room((size_t)p->give_at[ranks], sizeof *p->give);
    MPI_Alltoallv(take_index, p->take_count, p->take_at, MPI_INT, p->give_index, p->give_count, p->give_at, MPI_INT,
                  MPI_COMM_WORLD);
    free(place);
    free(take_index);
}

/* --- the iteration -------------------------------------------------------------------------- */

/* result = A x; x has room for the others' elements behind our own. */
static void multiply(struct problem *p, double *x, double *result)
{
    int ranks, requests = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int other = 0; other < ranks; other++)
        if (p->take_count[other])
            MPI_Irecv(x + p->a.rows + p->take_at[other], p->take_count[other], MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                      &p->request[requests++]);
    for (int i = 0; i < p->give_at[ranks]; i++)
        p->give[i] = x[p->give_index[i]];
    for (int other = 0; other < ranks; other++)
        if (p->give_count[other])
            MPI_Isend(p->give + p->give_at[other], p->give_count[other], MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                      &p->request[requests++]);
    MPI_Waitall(requests, p->request, MPI_STATUSES_IGNORE);
    for (long row = 0; row < p->a.rows; row++) {
        double sum = 0;
        for (int i = p->a.start[row]; i < p->a.start[row + 1]; i++)
            sum += p->a.value[i] * x[p->a.column[i]];
        result[row] = sum;
    }
}

static double dot(const double *a, const double *b, long count)
{
    double mine = 0, all = 0;
    for (long i = 0; i < count; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The inverse of our part of the diagonal. */
static double *preconditioner(const struct problem *p)
{
    double *inverse = room((size_t)p->a.rows, sizeof *inverse);
    for (long row = 0; row < p->a.rows; row++)
        for (int i = p->a.start[row]; i < p->a.start[row + 1]; i++)
            if (p->a.column[i] == row && p->a.value[i] > 0)
                inverse[row] = 1 / p->a.value[i];
    for (long row = 0; row < p->a.rows; row++)
        if (inverse[row] == 0)
            stop("cg: the diagonal has an element that isn't positive");
    return inverse;
}

/* Solves A x = b from x = 0. Returns the iterations; `*residual` is |b - A x| / |b| as kept. */
static long solve(struct problem *p, const double *b, double *x, long limit, double *residual)
{
    size_t rows = (size_t)p->a.rows, with_others = rows + (size_t)p->others;
    double *r = room(rows, sizeof *r), *z = room(rows, sizeof *z), *q = room(rows, sizeof *q);
    double *direction = room(with_others, sizeof *direction), *inverse = preconditioner(p);
    for (size_t i = 0; i < rows; i++) {
        x[i] = 0;
        r[i] = b[i];
        direction[i] = z[i] = inverse[i] * r[i];
    }
    double b_norm = sqrt(dot(b, b, p->a.rows)), rho = dot(r, z, p->a.rows);
    long iterations = 0;
    *residual = 1;
    while (*residual > tolerance && iterations < limit) {
        multiply(p, direction, q);
        double alpha = rho / dot(direction, q, p->a.rows);
        for (size_t i = 0; i < rows; i++) {
            x[i] += alpha * direction[i];
            r[i] -= alpha * q[i];
            z[i] = inverse[i] * r[i];
        }
        double rho_before = rho;
        rho = dot(r, z, p->a.rows);
        *residual = sqrt(dot(r, r, p->a.rows)) / b_norm;
        for (size_t i = 0; i < rows; i++)
            direction[i] = z[i] + rho / rho_before * direction[i];
        iterations++;
    }
    free(r);
    free(z);
    free(q);
    free(direction);
    free(inverse);
    return iterations;
}

/* |b - A x| / |b|, from x itself. */
static double true_residual(struct problem *p, const double *b, double *x)
{
    double *product = room((size_t)p->a.rows, sizeof *product);
    multiply(p, x, product);
    for (long i = 0; i < p->a.rows; i++)
        product[i] -= b[i];
    double result = sqrt(dot(product, product, p->a.rows) / dot(b, b, p->a.rows));
    free(product);
    return result;
}

static void release(struct problem *p)
{
    void *parts[] = {p->a.start,    p->a.column, p->a.value,    p->first, p->give_count, p->give_at,
                     p->take_count, p->take_at,  p->give_index, p->give,  p->request};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

/* The argument that is no option, or null. */
static const char *file_name(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-')
        i += 2; /* every option has a value */
    return i < argc ? argv[i] : NULL;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    const char *path = file_name(argc, argv);
    long side = option(argc, argv, "-g", 1, 32), limit = option(argc, argv, "-i", 1, 0);
    struct matrix whole = {0};
    struct problem p = {0};
    if (rank == 0)
        whole = path ? read_matrix(path) : laplacian(side);
    scatter(&p, &whole, rank, ranks);
    free(whole.start);
    free(whole.column);
    free(whole.value);
    find_neighbours(&p, rank, ranks);

    size_t length = (size_t)(p.a.rows + p.others);
    double *x = room(length, sizeof *x), *b = room((size_t)p.a.rows, sizeof *b), kept;
    for (size_t i = 0; i < length; i++)
        x[i] = 1;
    multiply(&p, x, b);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    long iterations = solve(&p, b, x, limit ? limit : 10 * p.a.size, &kept);
    double seconds = MPI_Wtime() - start, fresh = true_residual(&p, b, x);
    bool right = fabs(fresh - kept) <= 1e-6 * fmax(1, kept) && (limit || fresh <= 10 * tolerance);
    if (rank == 0)
        printf("%ld rows on %d ranks, %ld iterations: %.3f ms, residual %.2e (kept: %.2e)\n", p.a.size, ranks,
               iterations, seconds * 1e3, fresh, kept);
    free(x);
    free(b);
    release(&p);
    return verdict("cg", right);
}
