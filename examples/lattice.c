/* A gauge field of SU(2) on a four-dimensional periodic lattice, the communication of QCDMPI: every update of a link
 * needs its neighbours' links, and what was updated goes to the neighbours at once.
 *
 * The update is microcanonical overrelaxation (Creutz 1987): a link U with staples V becomes V+ U+ V+ / |V|^2, which
 * leaves the action as it is and moves the link as far as that allows. Links of one direction on sites of one parity
 * are updated together, then their copies in the halo are brought up to date; a face of these goes in one message for
 * each line of sites, so that messages are short.
 *
 * Checked: the plaquettes' sum of a cold start is their number, that of a random start is the same after all sweeps
 * (it would not be, were a single link of a halo out of date), the links have moved, and a random gauge transformation
 * changes nothing. */
#include "example.h"

#include <math.h>

static const char usage[] =
    "lattice [-n SITES] [-t SWEEPS]\n"
    "  -n SITES   along each of the four edges; even, and each rank has an even number of them (default 4)\n"
    "  -t SWEEPS  over all links (default 2)\n";

enum { DIMENSIONS = 4, HALO = 1 };

/* An element of SU(2), a[0] + i (a[1..3], sigma); of sums of such it is a multiple. */
struct link {
    double a[4];
};

/* A rank's part of the lattice, with a halo of one site all round. */
struct part {
    MPI_Comm grid;
    int down[DIMENSIONS], up[DIMENSIONS];
    int first[DIMENSIONS], sites[DIMENSIONS], all;
    long stride[DIMENSIONS], volume; /* with halo */
    struct link *links[DIMENSIONS];
    struct link *turns; /* the gauge transformation, one at each site */
    struct link *out, *in;
    MPI_Request *request;
};

/* --- SU(2) ------------------------------------------------------------------------------------- */

static struct link times(struct link x, struct link y)
{
    const double *a = x.a, *b = y.a;
    return (struct link){{
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] - a[3] * b[1] + a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] - a[1] * b[2] + a[2] * b[1],
    }};
}

static struct link dagger(struct link x) { return (struct link){{x.a[0], -x.a[1], -x.a[2], -x.a[3]}}; }

static double norm2(struct link x) { return x.a[0] * x.a[0] + x.a[1] * x.a[1] + x.a[2] * x.a[2] + x.a[3] * x.a[3]; }

static struct link scaled(struct link x, double by)
{
    return (struct link){{by * x.a[0], by * x.a[1], by * x.a[2], by * x.a[3]}};
}

static void add(struct link *sum, struct link x)
{
    for (int i = 0; i < 4; i++)
        sum->a[i] += x.a[i];
}

/* A number from 0 to 1 that depends on `seed` alone (splitmix64: Steele, Lea, Flood 2014). */
static double uniform(unsigned long long seed)
{
    seed *= 0x9e3779b97f4a7c15ull;
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
    return (double)((seed ^ seed >> 31) >> 11) * 0x1p-53;
}

static struct link random_link(unsigned long long seed)
{
    for (;; seed += 0x100000000ull) {
        struct link x;
        for (unsigned i = 0; i < 4; i++)
            x.a[i] = 2 * uniform(4 * seed + i + 1) - 1;
        double n = norm2(x);
        if (n > 0.01 && n <= 1)
            return scaled(x, 1 / sqrt(n));
    }
}

/* --- the lattice ------------------------------------------------------------------------------- */

/* The element at a site; -1 is the halo. */
static long at(const struct part *part, const int *site)
{
    long index = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        index += (site[d] + HALO) * part->stride[d];
    return index;
}

/* The next site of the box from `low` to `high`, the last direction first; false behind the last one. */
static bool next(int *site, const int *low, const int *high)
{
    for (int d = DIMENSIONS - 1; d >= 0; d--) {
        if (++site[d] < high[d])
            return true;
        site[d] = low[d];
    }
    return false;
}

static const int origin[DIMENSIONS];

static int parity(const struct part *part, const int *site)
{
    int sum = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        sum += part->first[d] + site[d];
    return sum & 1;
}

static void divide(struct part *part, int all)
{
    int rank, ranks, shape[DIMENSIONS] = {0}, periods[DIMENSIONS] = {1, 1, 1, 1}, place[DIMENSIONS];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, DIMENSIONS, shape);
    MPI_Cart_create(MPI_COMM_WORLD, DIMENSIONS, shape, periods, 0, &part->grid);
    MPI_Comm_rank(part->grid, &rank);
    MPI_Cart_coords(part->grid, rank, DIMENSIONS, place);
    part->all = all;
    part->volume = 1;
    for (int d = DIMENSIONS - 1; d >= 0; d--) {
        if (all % (2 * shape[d]))
            stop("lattice: -n %d: a multiple of %d is needed for %d ranks along an edge", all, 2 * shape[d], shape[d]);
        part->sites[d] = all / shape[d];
        part->first[d] = place[d] * part->sites[d];
        part->stride[d] = part->volume;
        part->volume *= part->sites[d] + 2 * HALO;
        MPI_Cart_shift(part->grid, d, 1, &part->down[d], &part->up[d]);
    }
    for (int d = 0; d < DIMENSIONS; d++)
        part->links[d] = room((size_t)part->volume, sizeof(struct link));
    part->turns = room((size_t)part->volume, sizeof(struct link));
    part->out = room((size_t)part->volume, sizeof(struct link));
    part->in = room((size_t)part->volume, sizeof(struct link));
    part->request = room(2 * (size_t)part->volume, sizeof(MPI_Request));
}

static void release(struct part *part)
{
    for (int d = 0; d < DIMENSIONS; d++)
        free(part->links[d]);
    free(part->turns);
    free(part->out);
    free(part->in);
    free(part->request);
    MPI_Comm_free(&part->grid);
}

/* --- the halo ------------------------------------------------------------------------------------ */

/* The layer of thickness one at `layer` along d; of directions before d with their halo, which has been brought up to
 * date already, so that edges and corners come along. */
static void layer_box(const struct part *part, int d, int layer, int *low, int *high)
{
    for (int other = 0; other < DIMENSIONS; other++) {
        low[other] = other < d ? -HALO : 0;
        high[other] = part->sites[other] + (other < d ? HALO : 0);
    }
    low[d] = layer;
    high[d] = layer + 1;
}

/* Elements of a layer's sites of one parity (-1: all), between `field` and `buffer`. A line of sites is a message:
 * `ends` gets where each ends in the buffer. The number of messages. */
static int move_layer(const struct part *part, struct link *field, int d, int layer, int which, struct link *buffer,
                      bool into_field, int *ends)
{
    int low[DIMENSIONS], high[DIMENSIONS], site[DIMENSIONS], count = 0, messages = 0;
    layer_box(part, d, layer, low, high);
    int along = d == DIMENSIONS - 1 ? DIMENSIONS - 2 : DIMENSIONS - 1;
    memcpy(site, low, sizeof site);
    do {
        if (which < 0 || parity(part, site) == which) {
            if (into_field)
                field[at(part, site)] = buffer[count];
            else
                buffer[count] = field[at(part, site)];
            count++;
        }
        /* Sites are visited along the last direction that is not d. */
        bool line_ends = site[along] == high[along] - 1;
        if (line_ends && count > (messages ? ends[messages - 1] : 0))
            ends[messages++] = count;
    } while (next(site, low, high));
    return messages;
}

/* Brings the halo of `field` up to date along d, on sites of one parity or (-1) all: the layer at one end goes to the
 * neighbour's halo at the other. */
static void exchange_way(struct part *part, struct link *field, int d, bool upwards, int which, int *ends)
{
    int from_layer = upwards ? part->sites[d] - 1 : 0, to_layer = upwards ? -1 : part->sites[d];
    int to = upwards ? part->up[d] : part->down[d], from = upwards ? part->down[d] : part->up[d];
    /* Along d a rank has an even number of sites, so the layer that comes has the parity of our own halo's sites. */
    int messages = move_layer(part, field, d, from_layer, which, part->out, false, ends);
    for (int i = 0; i < messages; i++) {
        int begin = i ? ends[i - 1] : 0, doubles = 4 * (ends[i] - begin);
        MPI_Irecv(&part->in[begin], doubles, MPI_DOUBLE, from, i, part->grid, &part->request[i]);
        MPI_Isend(&part->out[begin], doubles, MPI_DOUBLE, to, i, part->grid, &part->request[messages + i]);
    }
    MPI_Waitall(2 * messages, part->request, MPI_STATUSES_IGNORE);
    move_layer(part, field, d, to_layer, which, part->in, true, ends);
}

static void exchange(struct part *part, struct link *field, int which)
{
    int *ends = room((size_t)part->volume, sizeof *ends);
    for (int d = 0; d < DIMENSIONS; d++) {
        exchange_way(part, field, d, true, which, ends);
        exchange_way(part, field, d, false, which, ends);
    }
    free(ends);
}

/* --- plaquettes and staples ------------------------------------------------------------------------ */

/* Half the trace of the sum of our sites' plaquettes, of all ranks. */
static double plaquettes(const struct part *part)
{
    double mine = 0, sum = 0;
    int site[DIMENSIONS] = {0};
    do {
        long x = at(part, site);
        for (int mu = 0; mu < DIMENSIONS; mu++)
            for (int nu = mu + 1; nu < DIMENSIONS; nu++) {
                struct link one = times(part->links[mu][x], part->links[nu][x + part->stride[mu]]);
                struct link other = times(part->links[nu][x], part->links[mu][x + part->stride[nu]]);
                mine += times(one, dagger(other)).a[0];
            }
    } while (next(site, origin, part->sites));
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, part->grid);
    return sum;
}

/* The sum of what closes the plaquettes around link mu of the site at x: their traces are those of U times it. */
static struct link staples(const struct part *part, long x, int mu)
{
    struct link sum = {{0, 0, 0, 0}}, *const *u = part->links;
    long ahead = x + part->stride[mu];
    for (int nu = 0; nu < DIMENSIONS; nu++) {
        if (nu == mu)
            continue;
        long above = x + part->stride[nu], below = x - part->stride[nu];
        add(&sum, times(u[nu][ahead], dagger(times(u[nu][x], u[mu][above]))));
        add(&sum, times(dagger(times(u[mu][below], u[nu][ahead - part->stride[nu]])), u[nu][below]));
    }
    return sum;
}

/* Updates all links, by direction and parity; how far they moved, all together. */
static double sweep(struct part *part)
{
    double moved = 0;
    for (int mu = 0; mu < DIMENSIONS; mu++)
        for (int which = 0; which < 2; which++) {
            int site[DIMENSIONS] = {0};
            do {
                if (parity(part, site) != which)
                    continue;
                struct link *u = &part->links[mu][at(part, site)], v = staples(part, at(part, site), mu);
                struct link after = scaled(dagger(times(times(v, *u), v)), 1 / norm2(v)), change = scaled(*u, -1);
                add(&change, after);
                moved += norm2(change);
                *u = after;
            } while (next(site, origin, part->sites));
            exchange(part, part->links[mu], which);
        }
    return moved;
}

/* --- the answer -------------------------------------------------------------------------------------- */

/* A number for each site of the whole lattice. */
static unsigned long long number(const struct part *part, const int *site)
{
    unsigned long long index = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        index = index * (unsigned)part->all + (unsigned)(part->first[d] + site[d]);
    return index;
}

static void set_links(struct part *part, bool cold)
{
    for (int d = 0; d < DIMENSIONS; d++) {
        int site[DIMENSIONS] = {0};
        do {
            unsigned long long seed = number(part, site) * DIMENSIONS + (unsigned)d;
            part->links[d][at(part, site)] = cold ? (struct link){{1, 0, 0, 0}} : random_link(seed + 1);
        } while (next(site, origin, part->sites));
        exchange(part, part->links[d], -1);
    }
}

/* Turns the field at each site by a random element: U becomes g(x) U g(x + mu)+. */
static void transform(struct part *part)
{
    int site[DIMENSIONS] = {0};
    do
        part->turns[at(part, site)] = random_link(number(part, site) + 0x40000000ull);
    while (next(site, origin, part->sites));
    exchange(part, part->turns, -1);
    for (int d = 0; d < DIMENSIONS; d++) {
        do {
            long x = at(part, site);
            struct link *u = &part->links[d][x];
            *u = times(times(part->turns[x], *u), dagger(part->turns[x + part->stride[d]]));
        } while (next(site, origin, part->sites));
        exchange(part, part->links[d], -1);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long sites = option(argc, argv, "-n", 2, 4), sweeps = option(argc, argv, "-t", 1, 2);
    struct part part = {0};
    divide(&part, (int)sites);
    double count = 6.0 * (double)sites * (double)sites * (double)sites * (double)sites;
    set_links(&part, true);
    double cold = plaquettes(&part);
    set_links(&part, false);
    double before = plaquettes(&part), start = MPI_Wtime(), mine = 0, moved = 0;
    for (long t = 0; t < sweeps; t++)
        mine += sweep(&part);
    double seconds = MPI_Wtime() - start, after = plaquettes(&part);
    MPI_Allreduce(&mine, &moved, 1, MPI_DOUBLE, MPI_SUM, part.grid);
    transform(&part);
    double transformed = plaquettes(&part), tolerance = 1e-10 * count;
    bool right = fabs(cold - count) < tolerance && fabs(after - before) < tolerance &&
                 fabs(transformed - after) < tolerance && moved > count / 100;
    if (rank == 0)
        printf("%ld^4 sites on %d ranks, %ld sweeps: %.3f ms, plaquette %.6f, changed by %.1e and %.1e\n", sites, ranks,
               sweeps, seconds * 1e3, after / count, (after - before) / count, (transformed - after) / count);
    release(&part);
    return verdict("lattice", right);
}
