/* Bucket sort: every rank draws integer keys, sends each to the rank whose range it is in
 * (MPI_Alltoallv), and sorts what it gets. The result is checked for order within and across
 * ranks, and for being a permutation of the keys drawn (count, sum, and sum of a hash). */
#include "example.h"

#include <stdint.h>

static const char usage[] =
    "sort [-n KEYS]\n"
    "  -n KEYS  keys drawn by each rank (default 4096)\n";

static const uint32_t key_max = (1u << 20) - 1;

/* Marsaglia's xorshift: the same keys on every machine. */
static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state & key_max;
}

static int owner(uint32_t key, int ranks) { return (int)((uint64_t)key * (uint64_t)ranks / ((uint64_t)key_max + 1)); }

/* What doesn't depend on the order of the keys: their number, sum, and sum of hashes. */
static void digest(const uint32_t *keys, long count, uint64_t result[3])
{
    uint64_t mine[3] = {(uint64_t)count, 0, 0};
    for (long i = 0; i < count; i++) {
        mine[1] += keys[i];
        mine[2] += (keys[i] + 1ull) * 0x9e3779b97f4a7c15ull >> 20;
    }
    MPI_Allreduce(mine, result, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Radix sort, eight bits at a time. */
static void sort(uint32_t *keys, uint32_t *scratch, long count)
{
    for (int shift = 0; shift < 32; shift += 8) {
        long start[257] = {0};
        for (long i = 0; i < count; i++)
            start[(keys[i] >> shift & 255) + 1]++;
        for (int digit = 0; digit < 256; digit++)
            start[digit + 1] += start[digit];
        for (long i = 0; i < count; i++)
            scratch[start[keys[i] >> shift & 255]++] = keys[i];
        memcpy(keys, scratch, (size_t)count * sizeof *keys);
    }
}

/* Sends every key to its owner. Returns what came, `*count` of them. */
static uint32_t *distribute(const uint32_t *keys, long drawn, int ranks, long *count)
{
    int *table = room(5 * (size_t)ranks, sizeof *table);
    uint32_t *bucketed = room((size_t)drawn, sizeof *bucketed);
    int *give = table, *give_at = table + ranks, *take = table + 2 * ranks, *take_at = table + 3 * ranks;
    int *fill = table + 4 * ranks;
    for (long i = 0; i < drawn; i++)
        give[owner(keys[i], ranks)]++;
    MPI_Alltoall(give, 1, MPI_INT, take, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 1; rank < ranks; rank++) {
        give_at[rank] = give_at[rank - 1] + give[rank - 1];
        take_at[rank] = take_at[rank - 1] + take[rank - 1];
    }
    *count = take_at[ranks - 1] + take[ranks - 1];
    for (long i = 0; i < drawn; i++) {
        int to = owner(keys[i], ranks);
        bucketed[give_at[to] + fill[to]++] = keys[i];
    }
    uint32_t *got = room((size_t)*count, sizeof *got);
    MPI_Alltoallv(bucketed, give, give_at, MPI_UINT32_T, got, take, take_at, MPI_UINT32_T, MPI_COMM_WORLD);
    free(table);
    free(bucketed);
    return got;
}

/* Order within this rank, within its range, and of the ranks' largest keys. */
static bool in_order(const uint32_t *keys, long count, int rank, int ranks)
{
    bool right = true;
    for (long i = 0; i < count; i++)
        right = right && owner(keys[i], ranks) == rank && (i == 0 || keys[i - 1] <= keys[i]);
    uint32_t mine = count ? keys[count - 1] : 0, so_far;
    MPI_Scan(&mine, &so_far, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
    return right && (count == 0 || so_far == mine);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (!begin(&argc, &argv, usage, &rank, &ranks))
        return EXIT_SUCCESS;
    long drawn = option(argc, argv, "-n", 1, 4096), count;
    uint32_t *keys = room((size_t)drawn, sizeof *keys), state = 2463534242u + 7919u * (uint32_t)rank;
    for (long i = 0; i < drawn; i++)
        keys[i] = draw(&state);
    uint64_t before[3], after[3];
    digest(keys, drawn, before);

    double start = MPI_Wtime();
    uint32_t *mine = distribute(keys, drawn, ranks, &count);
    uint32_t *scratch = room((size_t)count, sizeof *scratch);
    sort(mine, scratch, count);
    double seconds = MPI_Wtime() - start;

    digest(mine, count, after);
    bool right = in_order(mine, count, rank, ranks) && !memcmp(before, after, sizeof before);
    if (rank == 0)
        printf("%llu keys on %d ranks: %.3f ms\n", (unsigned long long)after[0], ranks, seconds * 1e3);
    free(keys);
    free(mine);
    free(scratch);
    return verdict("sort", right);
}
