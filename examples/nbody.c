/* n bodies under gravity. Every rank owns some; copies of all positions travel round the ring of
 * ranks (MPI_Isend, MPI_Irecv, while the rank computes with those at hand). Leapfrog in time.
 *
 * Checked: total momentum stays what it was, energy nearly so, and rank 0's first force equals
 * the sum over all bodies in plain order. */
#include "example.h"

#include <math.h>

static const char usage[] =
    "nbody [-n BODIES] [-t STEPS]\n"
    "  -n BODIES  bodies of each rank (default 32)\n"
    "  -t STEPS   time steps (default 10)\n";

struct body {
    double x[3], mass;
};

static const double softening2 = 0.01, dt = 1e-3;

/* A number in [0, 1) that depends on nothing but `n` (splitmix64). */
static double random_at(unsigned long long n)
{
    n = (n + 1) * 0x9e3779b97f4a7c15ull;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
    n = (n ^ n >> 27) * 0x94d049bb133111ebull;
    return (double)((n ^ n >> 31) >> 11) * 0x1p-53;
}

static struct body body_at(long index)
{
    struct body body = {.mass = 0.5 + random_at((unsigned long long)index * 4)};
    for (int d = 0; d < 3; d++)
        body.x[d] = random_at((unsigned long long)index * 4 + 1 + (unsigned)d);
    return body;
}

/* Adds to `force` and `potential` what `others` do to `mine`. */
static void interact(const struct body *mine, long count, const struct body *others, long other_count,
                     double (*force)[3], double *potential)
{
    for (long i = 0; i < count; i++)
        for (long j = 0; j < other_count; j++) {
            double d[3], square = softening2;
            for (int k = 0; k < 3; k++) {
                d[k] = others[j].x[k] - mine[i].x[k];
                square += d[k] * d[k];
            }
            if (square == softening2)
                continue; /* the body itself */
            double inverse = 1 / sqrt(square), strength = mine[i].mass * others[j].mass * inverse;
            *potential -= strength / 2; /* every pair is met twice */
            strength *= inverse * inverse;
            for (int k = 0; k < 3; k++)
                force[i][k] += strength * d[k];
        }
}

/* All forces on this rank's bodies, and its half of every pair's potential energy. */
static double forces(const struct body *mine, long count, double (*force)[3], struct body *travelling[2])
{
    int rank, ranks;
    double potential = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, numbers = (int)count * 4;
    memset(force, 0, (size_t)count * sizeof *force);
    memcpy(travelling[0], mine, (size_t)count * sizeof *mine);
    for (int step = 0; step < ranks; step++) {
        struct body *here = travelling[step % 2], *next = travelling[(step + 1) % 2];
        MPI_Request request[2];
        bool more = step + 1 < ranks;
        if (more) {
            MPI_Irecv(next, numbers, MPI_DOUBLE, left, step, MPI_COMM_WORLD, &request[0]);
            MPI_Isend(here, numbers, MPI_DOUBLE, right, step, MPI_COMM_WORLD, &request[1]);
        }
        interact(mine, count, here, count, force, &potential);
        if (more)
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    return potential;
}

/* Momentum (3 numbers) and energy of all ranks. */
static void totals(const struct body *mine, long count, double (*velocity)[3], double potential, double total[4])
{
    double part[4] = {0, 0, 0, potential};
    for (long i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            part[k] += mine[i].mass * velocity[i][k];
            part[3] += mine[i].mass * velocity[i][k] * velocity[i][k] / 2;
        }
    MPI_Allreduce(part, total, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Whether the force on body 0 is what a plain sum over all bodies gives. */
static bool first_force_right(const double force[3], long bodies)
{
    struct body first = body_at(0);
    double sum[1][3] = {{0, 0, 0}}, potential = 0, error = 0, size = 0;
    for (long i = 1; i < bodies; i++) {
        struct body other = body_at(i);
        interact(&first, 1, &other, 1, sum, &potential);
    }
    for (int k = 0; k < 3; k++) {
        error += fabs(sum[0][k] - force[k]);
        size += fabs(sum[0][k]);
    }
    return error <= 1e-10 * (1 + size);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long count = option(argc, argv, "-n", 1, 32), steps = option(argc, argv, "-t", 0, 10);
    size_t length = (size_t)count;
    struct body *mine = room(length, sizeof *mine);
    struct body *travelling[2] = {room(length, sizeof *mine), room(length, sizeof *mine)};
    double (*velocity)[3] = room(length, sizeof *velocity), (*force)[3] = room(length, sizeof *force);
    for (long i = 0; i < count; i++)
        mine[i] = body_at(rank * count + i);

    double before[4], after[4];
    double start = MPI_Wtime(), potential = forces(mine, count, force, travelling);
    bool right = rank != 0 || first_force_right(force[0], count * ranks);
    totals(mine, count, velocity, potential, before);
    for (long step = 0; step < steps; step++) {
        for (long i = 0; i < count; i++)
            for (int k = 0; k < 3; k++) {
                velocity[i][k] += force[i][k] / mine[i].mass * dt / 2;
                mine[i].x[k] += velocity[i][k] * dt;
            }
        potential = forces(mine, count, force, travelling);
        for (long i = 0; i < count; i++)
            for (int k = 0; k < 3; k++)
                velocity[i][k] += force[i][k] / mine[i].mass * dt / 2;
    }
    totals(mine, count, velocity, potential, after);
    double seconds = MPI_Wtime() - start, drift = fabs((after[3] - before[3]) / before[3]);
    double push = fabs(after[0]) + fabs(after[1]) + fabs(after[2]);
    bool alone = count * ranks == 1; /* no forces, no energy */
    right = right && push < 1e-9 * (double)(count * ranks * ranks) && (alone || drift < 1e-3);
    if (rank == 0)
        printf("%ld bodies, %ld steps on %d ranks: %.3f ms, energy %.6f, drift %.1e, momentum %.1e\n", count * ranks,
               steps, ranks, seconds * 1e3, after[3], drift, push);
    free(mine);
    free(travelling[0]);
    free(travelling[1]);
    free(velocity);
    free(force);
    return verdict("nbody", right);
}
