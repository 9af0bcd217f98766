/* What packing by datatypes costs beside packing by hand: cycles of MPI_Pack and of C loops over the
 * same layout, both from warm caches. MPI_Pack is no marked call, so that its time counts on every
 * machine. `benches/run.py` runs it; a line is: name, bytes, cycles of MPI_Pack, cycles by hand.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, BLOCKS = 1000, REPEATS = 5 };

struct particle {
    double position[3], velocity[3];
    int kind;
    char flag;
};

/* What the layouts are laid over. */
static double source[N * N * N];
static struct particle particles[BLOCKS];
static char packed[sizeof source], by_hand[sizeof source];
static int lengths[BLOCKS], displacements[BLOCKS];

static unsigned long cycles(void)
{
    unsigned long now;
    __asm__ volatile("rdcycle %0" : "=r"(now) : : "memory");
    return now;
}

/* Functions that pack by hand; each returns the bytes. Not inlined: their loops must not be fitted to
 * the numbers of this program. */
#define BY_HAND static __attribute__((noinline)) size_t

BY_HAND column(double *to, const double *from, int rows, int stride)
{
    for (int i = 0; i < rows; i++)
        to[i] = from[i * stride];
    return (size_t)rows * sizeof *to;
}

BY_HAND pairs(double *to, const double *from, int rows, int stride)
{
    for (int i = 0; i < rows; i++) {
        *to++ = from[i * stride];
        *to++ = from[i * stride + 1];
    }
    return 2 * (size_t)rows * sizeof *to;
}

BY_HAND blocks(double *to, const double *from, int rows, int length, int stride)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < length; j++)
            *to++ = from[i * stride + j];
    return (size_t)rows * (size_t)length * sizeof *to;
}

BY_HAND gather(double *to, const double *from, int count, const int *index)
{
    for (int i = 0; i < count; i++)
        to[i] = from[index[i]];
    return (size_t)count * sizeof *to;
}

BY_HAND gather_blocks(double *to, const double *from, int count, const int *length, const int *index)
{
    double *at = to;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < length[i]; j++)
            *at++ = from[index[i] + j];
    return (size_t)(at - to) * sizeof *to;
}

BY_HAND cube(double *to, const double *from, int edge, int row, int plane)
{
    double *at = to;
    for (int i = 0; i < edge; i++)
        for (int j = 0; j < edge; j++)
            for (int k = 0; k < edge; k++)
                *at++ = from[i * plane + j * row + k];
    return (size_t)(at - to) * sizeof *to;
}

BY_HAND records(char *to, const struct particle *from, int count)
{
    char *at = to;
    for (int i = 0; i < count; i++) {
        memcpy(at, from[i].position, sizeof from[i].position);
        at += sizeof from[i].position;
        memcpy(at, &from[i].kind, sizeof from[i].kind);
        at += sizeof from[i].kind;
    }
    return (size_t)(at - to);
}

enum layout { COLUMN, PAIRS, BLOCKS_5, BLOCKS_40, FACE, INDEXED_1, INDEXED, CUBE, STRUCT, LAYOUTS };
static const char *const names[] = {"vector-8B",  "vector-16B",     "vector-40B",     "vector-320B", "nested-8B",
                                    "indexed-8B", "indexed-8..24B", "subarray-8x8x8", "struct"};
_Static_assert(sizeof names / sizeof *names == LAYOUTS, "a name each");

static size_t pack_by_hand(enum layout layout)
{
    double *to = (double *)by_hand;
    switch (layout) {
    case COLUMN: return column(to, source, BLOCKS, N);
    case PAIRS: return pairs(to, source, BLOCKS, N);
    case BLOCKS_5: return blocks(to, source, BLOCKS, 5, N);
    case BLOCKS_40: return blocks(to, source, BLOCKS, 40, N);
    case FACE: {
        size_t bytes = 0;
        for (int i = 0; i < N / 2; i++)
            bytes += column(to + i * (N / 2), source + i * N * N, N / 2, N);
        return bytes;
    }
    case INDEXED_1: return gather(to, source, BLOCKS, displacements);
    case INDEXED: return gather_blocks(to, source, BLOCKS, lengths, displacements);
    case CUBE: return cube(to, source + N * N + N + 1, 8, N, N * N);
    case STRUCT: return records(by_hand, particles, BLOCKS);
    default: return 0;
    }
}

static MPI_Datatype make_record(void)
{
    MPI_Datatype part, record, types[2] = {MPI_DOUBLE, MPI_INT};
    int counts[2] = {3, 1};
    MPI_Aint at[2] = {offsetof(struct particle, position), offsetof(struct particle, kind)};
    MPI_Type_create_struct(2, counts, at, types, &part);
    MPI_Type_create_resized(part, 0, sizeof(struct particle), &record);
    MPI_Type_free(&part);
    return record;
}

static MPI_Datatype make_type(enum layout layout)
{
    MPI_Datatype part, type = MPI_DATATYPE_NULL;
    int sizes[3] = {N, N, N}, edges[3] = {8, 8, 8}, starts[3] = {1, 1, 1};
    switch (layout) {
    case COLUMN: MPI_Type_vector(BLOCKS, 1, N, MPI_DOUBLE, &type); break;
    case PAIRS: MPI_Type_vector(BLOCKS, 2, N, MPI_DOUBLE, &type); break;
    case BLOCKS_5: MPI_Type_vector(BLOCKS, 5, N, MPI_DOUBLE, &type); break;
    case BLOCKS_40: MPI_Type_vector(BLOCKS, 40, N, MPI_DOUBLE, &type); break;
    case FACE:
        MPI_Type_vector(N / 2, 1, N, MPI_DOUBLE, &part);
        MPI_Type_create_hvector(N / 2, 1, N * N * sizeof(double), part, &type);
        MPI_Type_free(&part);
        break;
    case INDEXED_1: MPI_Type_create_indexed_block(BLOCKS, 1, displacements, MPI_DOUBLE, &type); break;
    case INDEXED: MPI_Type_indexed(BLOCKS, lengths, displacements, MPI_DOUBLE, &type); break;
    case CUBE: MPI_Type_create_subarray(3, sizes, edges, starts, MPI_ORDER_C, MPI_DOUBLE, &type); break;
    case STRUCT: type = make_record(); break;
    default: break;
    }
    MPI_Type_commit(&type);
    return type;
}

/* The least of some repeats: the first fills the caches. */
static int measure(enum layout layout)
{
    MPI_Datatype type = make_type(layout);
    const void *from = layout == STRUCT ? (const void *)particles : source;
    int count = layout == STRUCT ? BLOCKS : 1, position = 0;
    unsigned long of_pack = -1ul, of_hand = -1ul;
    size_t bytes = 0;
    for (int i = 0; i < REPEATS; i++) {
        unsigned long begin = cycles();
        position = 0;
        MPI_Pack(from, count, type, packed, sizeof packed, &position, MPI_COMM_SELF);
        unsigned long middle = cycles();
        bytes = pack_by_hand(layout);
        unsigned long end = cycles();
        of_pack = middle - begin < of_pack ? middle - begin : of_pack;
        of_hand = end - middle < of_hand ? end - middle : of_hand;
    }
    MPI_Type_free(&type);
    printf("%s %zu %lu %lu\n", names[layout], bytes, of_pack, of_hand);
    return bytes != (size_t)position || memcmp(packed, by_hand, bytes) != 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < N * N * N; i++)
        source[i] = i;
    for (int i = 0; i < BLOCKS; i++) {
        particles[i] = (struct particle){{i, i + 1, i + 2}, {0}, i, 'x'};
        lengths[i] = 1 + i % 3;
        displacements[i] = i * 7 + i % 3; /* No even steps. */
    }
    int wrong = 0;
    for (enum layout layout = 0; layout < LAYOUTS; layout++)
        wrong |= measure(layout);
    MPI_Finalize();
    return wrong;
}
