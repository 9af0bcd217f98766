/* A field on a rotating sphere, by the spectral transform method: each step goes from the grid to spherical harmonics
 * and back, as PSTSWM does with the shallow water equations. Here the field turns with the sphere and diffuses, which
 * is linear, so that the answer is known: each harmonic of degree l decays with l (l + 1) and turns with its order m.
 *
 * Ranks form a grid: its rows divide the latitudes, its columns the longitudes. Fourier sums are distributed over a
 * row, Legendre sums over a column (Foster and Worley 1997): a rank adds up its own share of a sum and sends it to the
 * rank that owns the sum; results go back likewise. Every share is one number, so the messages are of 8 bytes, and
 * there are many. */
#include "example.h"

#include <math.h>

static const char usage[] =
    "spectral [-m ORDER] [-t STEPS]\n"
    "  -m ORDER  highest degree and order of the harmonics (default 5)\n"
    "  -t STEPS  time steps (default 4)\n";

static const double pi = 3.14159265358979323846;
static const double turn = 0.3, diffusion = 0.01; /* angle, and viscosity times time, of a step */

enum { COSINE, SINE, PARTS };

struct part {
    long order; /* M: orders 0..M, of each the degrees from itself to M */
    long longitudes, latitudes;
    MPI_Comm row, column; /* ranks with the same latitudes; ranks with the same longitudes */
    int row_rank, row_ranks, column_rank, column_ranks;
    long first_longitude, longitudes_here, first_latitude, latitudes_here;
    double *sine_of;   /* of a latitude: x, the Gaussian points in (-1, 1) */
    double *weight;    /* Gaussian weights */
    double *legendre;  /* normalised P(m, l) at our latitudes */
    double *wave;      /* cosine and sine by order and longitude of ours */
    double *field;     /* on our part of the grid */
    double *fourier;   /* by latitude, order, part */
    double *harmonic;  /* by order, degree, part: all orders that this column owns */
    double *incoming;  /* shares of others */
    MPI_Request *request;
};

static void block(long count, int blocks, int index, long *first, long *length)
{
    *first = count * index / blocks;
    *length = count * (index + 1) / blocks - *first;
}

/* --- Legendre functions ---------------------------------------------------------------------- */

/* Points and weights of Gaussian quadrature on (-1, 1): exact to degree 2 n - 1. By Newton's iteration. */
static void gauss(long n, double *x, double *w)
{
    for (long i = 0; i < n; i++) {
        double at = cos(pi * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;
        for (int turns = 0; turns < 20; turns++) {
            double p0 = 1, p1 = at;
            for (long k = 2; k <= n; k++) {
                double p2 = ((double)(2 * k - 1) * at * p1 - (double)(k - 1) * p0) / (double)k;
                p0 = p1, p1 = p2;
            }
            slope = (double)n * (p0 - at * p1) / (1 - at * at);
            at -= p1 / slope;
        }
        x[i] = at;
        w[i] = 2 / ((1 - at * at) * slope * slope);
    }
}

/* Cosine and sine of m times our i-th longitude. */
static double *wave_at(const struct part *part, long m, long i)
{
    return &part->wave[(m * part->longitudes_here + i) * PARTS];
}

static void waves(const struct part *part)
{
    for (long m = 0; m <= part->order; m++)
        for (long i = 0; i < part->longitudes_here; i++) {
            double angle = 2 * pi * (double)(m * (part->first_longitude + i)) / (double)part->longitudes;
            wave_at(part, m, i)[COSINE] = cos(angle);
            wave_at(part, m, i)[SINE] = sin(angle);
        }
}

/* The place of degree l among those of order m. */
static long place(const struct part *part, long m, long l) { return m * (part->order + 1) + l; }

static long places(const struct part *part) { return (part->order + 1) * (part->order + 1); }

/* P(m, l) for all orders and degrees at x, normalised: the integral of its square is 1. */
static void legendre(const struct part *part, double x, double *p)
{
    double across = sqrt(1 - x * x), sectoral = sqrt(0.5);
    for (long m = 0; m <= part->order; m++) {
        if (m > 0)
            sectoral *= -sqrt((2 * (double)m + 1) / (2 * (double)m)) * across;
        double before = 0, now = sectoral, scale_before = 0;
        for (long l = m; l <= part->order; l++) {
            p[place(part, m, l)] = now;
            double up = (double)(l + 1), order = (double)m;
            double scale = sqrt((up * up - order * order) / (4 * up * up - 1));
            double next = (x * now - scale_before * before) / scale;
            before = now, now = next, scale_before = scale;
        }
    }
}

/* --- division among ranks ---------------------------------------------------------------------- */

/* Which rank of a row owns the Fourier coefficients of order m, and which of a column the harmonic of degree l. */
static int owner_of_order(const struct part *part, long m) { return (int)(m % part->row_ranks); }

static int owner_of_degree(const struct part *part, long l) { return (int)(l % part->column_ranks); }

static void divide(struct part *part)
{
    int rank, ranks, shape[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape);
    if (part->latitudes < shape[0] || part->longitudes < shape[1])
        stop("spectral: -m %ld gives %ld latitudes and %ld longitudes, too few for %d x %d ranks", part->order,
             part->latitudes, part->longitudes, shape[0], shape[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / shape[1], rank % shape[1], &part->row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % shape[1], rank / shape[1], &part->column);
    MPI_Comm_rank(part->row, &part->row_rank);
    MPI_Comm_size(part->row, &part->row_ranks);
    MPI_Comm_rank(part->column, &part->column_rank);
    MPI_Comm_size(part->column, &part->column_ranks);
    block(part->latitudes, part->column_ranks, part->column_rank, &part->first_latitude, &part->latitudes_here);
    block(part->longitudes, part->row_ranks, part->row_rank, &part->first_longitude, &part->longitudes_here);

    size_t all = (size_t)places(part), orders = (size_t)part->order + 1, here = (size_t)part->latitudes_here;
    size_t largest = PARTS * (here * orders > all ? here * orders : all);
    size_t others = (size_t)(part->row_ranks > part->column_ranks ? part->row_ranks : part->column_ranks);
    part->sine_of = room((size_t)part->latitudes, sizeof(double));
    part->weight = room((size_t)part->latitudes, sizeof(double));
    part->legendre = room(here * all, sizeof(double));
    part->field = room(here * (size_t)part->longitudes_here, sizeof(double));
    part->fourier = room(here * orders * PARTS, sizeof(double));
    part->harmonic = room(all * PARTS, sizeof(double));
    part->incoming = room(largest * others, sizeof(double));
    part->request = room(2 * largest * others, sizeof(MPI_Request));
    part->wave = room(orders * (size_t)part->longitudes_here * PARTS, sizeof(double));
    waves(part);
    gauss(part->latitudes, part->sine_of, part->weight);
    for (long j = 0; j < part->latitudes_here; j++)
        legendre(part, part->sine_of[part->first_latitude + j], &part->legendre[j * places(part)]);
}

static void release(struct part *part)
{
    MPI_Comm_free(&part->row);
    MPI_Comm_free(&part->column);
    void *parts[] = {part->sine_of, part->weight,   part->legendre, part->wave,   part->field,
                     part->fourier, part->harmonic, part->incoming, part->request};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

/* --- sums over ranks ----------------------------------------------------------------------------- */

/* Numbers that all ranks of `comm` have a share in: where the k-th lies, and who owns its sum. */
struct shares {
    MPI_Comm comm;
    int rank, ranks;
    double *values;
    long first, count; /* the first one's number */
    int (*owner)(const struct part *part, long number);
};

static int owner_of(const struct part *part, const struct shares *s, long k) { return s->owner(part, s->first + k); }

/* The owner of each number gets the sum of all shares, added in the order of ranks. */
static void add_up(struct part *part, const struct shares *s)
{
    int requests = 0;
    for (long k = 0; k < s->count; k++)
        for (int other = 0; other < s->ranks; other++)
            if (owner_of(part, s, k) == s->rank && other != s->rank)
                MPI_Irecv(&part->incoming[k * s->ranks + other], 1, MPI_DOUBLE, other, (int)k, s->comm,
                          &part->request[requests++]);
    for (long k = 0; k < s->count; k++)
        if (owner_of(part, s, k) != s->rank)
            MPI_Isend(&s->values[k], 1, MPI_DOUBLE, owner_of(part, s, k), (int)k, s->comm, &part->request[requests++]);
    MPI_Waitall(requests, part->request, MPI_STATUSES_IGNORE);
    for (long k = 0; k < s->count; k++) {
        if (owner_of(part, s, k) != s->rank)
            continue;
        double sum = 0;
        for (int other = 0; other < s->ranks; other++)
            sum += other == s->rank ? s->values[k] : part->incoming[k * s->ranks + other];
        s->values[k] = sum;
    }
}

/* All ranks get what the owner of each number has. */
static void hand_out(struct part *part, const struct shares *s)
{
    int requests = 0;
    for (long k = 0; k < s->count; k++)
        if (owner_of(part, s, k) != s->rank)
            MPI_Irecv(&s->values[k], 1, MPI_DOUBLE, owner_of(part, s, k), (int)k, s->comm, &part->request[requests++]);
    for (long k = 0; k < s->count; k++)
        for (int other = 0; other < s->ranks; other++)
            if (owner_of(part, s, k) == s->rank && other != s->rank)
                MPI_Isend(&s->values[k], 1, MPI_DOUBLE, other, (int)k, s->comm, &part->request[requests++]);
    MPI_Waitall(requests, part->request, MPI_STATUSES_IGNORE);
}

/* Numbers of `fourier`: by latitude, order, part. */
static int owner_of_fourier(const struct part *part, long number)
{
    return owner_of_order(part, number / PARTS % (part->order + 1));
}

/* Numbers of an order's harmonics: by degree, part. */
static int owner_of_harmonic(const struct part *part, long number) { return owner_of_degree(part, number / PARTS); }

static struct shares fourier_shares(struct part *part)
{
    return (struct shares){part->row,
                           part->row_rank,
                           part->row_ranks,
                           part->fourier,
                           0,
                           part->latitudes_here * (part->order + 1) * PARTS,
                           owner_of_fourier};
}

static struct shares harmonic_shares(struct part *part, long m)
{
    return (struct shares){part->column,       part->column_rank,
                           part->column_ranks, &part->harmonic[place(part, m, m) * PARTS],
                           m * PARTS,          (part->order + 1 - m) * PARTS,
                           owner_of_harmonic};
}

/* --- a step ------------------------------------------------------------------------------------------ */

/* Our longitudes' share of the Fourier coefficients of our latitudes. */
static void to_fourier(struct part *part)
{
    for (long j = 0; j < part->latitudes_here; j++)
        for (long m = 0; m <= part->order; m++) {
            double sums[PARTS] = {0, 0}, scale = (m ? 2.0 : 1.0) / (double)part->longitudes;
            for (long i = 0; i < part->longitudes_here; i++) {
                const double *wave = wave_at(part, m, i);
                double value = part->field[j * part->longitudes_here + i];
                sums[COSINE] += value * wave[COSINE];
                sums[SINE] += value * wave[SINE];
            }
            double *to = &part->fourier[(j * (part->order + 1) + m) * PARTS];
            to[COSINE] = sums[COSINE] * scale;
            to[SINE] = sums[SINE] * scale;
        }
}

/* Our latitudes' share of the harmonics of order m; with `back` the Fourier coefficients that the harmonics make. */
static void legendre_sums(struct part *part, long m, bool back)
{
    for (long l = m; l <= part->order; l++)
        for (int c = 0; c < PARTS; c++) {
            double *harmonic = &part->harmonic[place(part, m, l) * PARTS + c];
            if (!back)
                *harmonic = 0;
            for (long j = 0; j < part->latitudes_here; j++) {
                double p = part->legendre[j * places(part) + place(part, m, l)];
                double *fourier = &part->fourier[(j * (part->order + 1) + m) * PARTS + c];
                if (!back)
                    *harmonic += part->weight[part->first_latitude + j] * p * *fourier;
                else
                    *fourier = (l == m ? 0 : *fourier) + p * *harmonic;
            }
        }
}

/* Diffusion, and the sphere's turn. */
static void advance(double *harmonic, long m, long l, double steps)
{
    double decay = exp(-diffusion * steps * (double)(l * (l + 1))), angle = turn * steps * (double)m;
    double cosine = harmonic[COSINE], sine = harmonic[SINE];
    harmonic[COSINE] = decay * (cosine * cos(angle) - sine * sin(angle));
    harmonic[SINE] = decay * (cosine * sin(angle) + sine * cos(angle));
}

static void to_grid(struct part *part)
{
    for (long j = 0; j < part->latitudes_here; j++)
        for (long i = 0; i < part->longitudes_here; i++) {
            double value = 0;
            for (long m = 0; m <= part->order; m++) {
                const double *from = &part->fourier[(j * (part->order + 1) + m) * PARTS];
                const double *wave = wave_at(part, m, i);
                value += from[COSINE] * wave[COSINE] + from[SINE] * wave[SINE];
            }
            part->field[j * part->longitudes_here + i] = value;
        }
}

static void step(struct part *part)
{
    struct shares fourier = fourier_shares(part);
    to_fourier(part);
    add_up(part, &fourier);
    for (long m = 0; m <= part->order; m++) {
        if (owner_of_order(part, m) != part->row_rank)
            continue;
        struct shares harmonics = harmonic_shares(part, m);
        legendre_sums(part, m, false);
        add_up(part, &harmonics);
        for (long l = m; l <= part->order; l++)
            if (owner_of_degree(part, l) == part->column_rank)
                advance(&part->harmonic[place(part, m, l) * PARTS], m, l, 1);
        hand_out(part, &harmonics);
        legendre_sums(part, m, true);
    }
    hand_out(part, &fourier);
    to_grid(part);
}

/* --- the answer -------------------------------------------------------------------------------------- */

/* Amplitude of a harmonic at the beginning: all are there, none like another. */
static void begin_with(double *harmonic, long m, long l)
{
    harmonic[COSINE] = 1 / (double)(1 + l + 2 * m);
    harmonic[SINE] = m ? -1 / (double)(2 + 3 * l + m) : 0;
}

/* The grid as the harmonics make it after so many steps: into the field, or the largest difference from it. */
static double compare(struct part *part, double steps, bool set)
{
    double worst = 0;
    for (long j = 0; j < part->latitudes_here; j++)
        for (long i = 0; i < part->longitudes_here; i++) {
            double value = 0;
            for (long m = 0; m <= part->order; m++)
                for (long l = m; l <= part->order; l++) {
                    const double *wave = wave_at(part, m, i);
                    double harmonic[PARTS];
                    begin_with(harmonic, m, l);
                    advance(harmonic, m, l, steps);
                    value += part->legendre[j * places(part) + place(part, m, l)] *
                             (harmonic[COSINE] * wave[COSINE] + harmonic[SINE] * wave[SINE]);
                }
            double *field = &part->field[j * part->longitudes_here + i];
            if (set)
                *field = value;
            worst = fmax(worst, fabs(*field - value));
        }
    return worst;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    struct part part = {.order = option(argc, argv, "-m", 1, 5)};
    long steps = option(argc, argv, "-t", 1, 4);
    /* As few as the quadratures need to be exact. */
    part.longitudes = 2 * part.order + 2;
    part.latitudes = part.order + 1;
    divide(&part);
    compare(&part, 0, true);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long t = 0; t < steps; t++)
        step(&part);
    double seconds = MPI_Wtime() - start, mine = compare(&part, (double)steps, false), worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("degrees to %ld, %ld x %ld points on %d x %d ranks, %ld steps: %.3f ms, error %.2e\n", part.order,
               part.latitudes, part.longitudes, part.column_ranks, part.row_ranks, steps, seconds * 1e3, worst);
    release(&part);
    return verdict("spectral", worst < 1e-10);
}
