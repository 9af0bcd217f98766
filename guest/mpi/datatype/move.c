/* See move.h. Blocks of one to four words have loops of their own, without a loop over the words and
 * without a call; what is longer goes by words, and what is long or not aligned by memcpy. */
#include "mpi/datatype/move.h"

#include <stdint.h>

#include "mpi/runtime/memory.h"

typedef uint64_t __attribute__((may_alias)) word64;
typedef uint32_t __attribute__((may_alias)) word32;
typedef uint16_t __attribute__((may_alias)) word16;
typedef uint8_t __attribute__((may_alias)) word8;

/* From here on a call of memcpy costs less than a loop. */
enum { CALL_BYTES = 128 };

/* `n` words between both sides, which then stand behind them. */
#define MOVE_WORDS(word, n)                                                                        \
    do {                                                                                           \
        word *restrict in_packed = (word *)(void *)packed, *restrict in_user = (word *)(void *)at; \
        for (size_t k = 0; k < (n); k++)                                                           \
            if (direction == PACK)                                                                 \
                in_packed[k] = in_user[k];                                                         \
            else                                                                                   \
                in_user[k] = in_packed[k];                                                         \
        packed += (n) * sizeof(word);                                                              \
    } while (0)

static inline void move_call(enum direction direction, char *packed, char *at, size_t bytes)
{
    if (direction == PACK)
        memcpy(packed, at, bytes);
    else
        memcpy(at, packed, bytes);
}

void chq_move_block(enum direction direction, char *packed, char *at, size_t bytes)
{
    uintptr_t low_bits = (uintptr_t)packed | (uintptr_t)at | bytes;
    if (bytes < CALL_BYTES && (low_bits & 7) == 0)
        MOVE_WORDS(word64, bytes / 8);
    else if (bytes < CALL_BYTES && (low_bits & 3) == 0)
        MOVE_WORDS(word32, bytes / 4);
    else if (bytes < 8)
        MOVE_WORDS(word8, bytes);
    else
        move_call(direction, packed, at, bytes);
}

/* The visits of a grid and of a list: STEP moves the block at `at`. */
#define OVER_GRID(STEP)                                                  \
    do {                                                                 \
        for (size_t o = grid->outer; o > 0; o--, user += outer_stride) { \
            char *at = user;                                             \
            for (size_t i = inner; i > 0; i--, at += inner_stride)       \
                STEP;                                                    \
        }                                                                \
        return;                                                          \
    } while (0)

#define OVER_LIST(STEP)                        \
    do {                                       \
        for (size_t i = 0; i < blocks; i++) {  \
            char *at = user + displacement[i]; \
            STEP;                              \
        }                                      \
        return;                                \
    } while (0)

/* The loop for blocks of `bytes` bytes, by their alignment. */
#define CHOOSE(OVER)                                                      \
    do {                                                                  \
        if ((low_bits & 7) == 0)                                          \
            switch (bytes) {                                              \
            case 8: OVER(MOVE_WORDS(word64, 1));                          \
            case 16: OVER(MOVE_WORDS(word64, 2));                         \
            case 24: OVER(MOVE_WORDS(word64, 3));                         \
            case 32: OVER(MOVE_WORDS(word64, 4));                         \
            default:                                                      \
                if (bytes < CALL_BYTES)                                   \
                    OVER(MOVE_WORDS(word64, bytes / 8));                  \
            }                                                             \
        else if ((low_bits & 3) == 0)                                     \
            switch (bytes) {                                              \
            case 4: OVER(MOVE_WORDS(word32, 1));                          \
            case 8: OVER(MOVE_WORDS(word32, 2));                          \
            case 12: OVER(MOVE_WORDS(word32, 3));                         \
            default:                                                      \
                if (bytes < CALL_BYTES)                                   \
                    OVER(MOVE_WORDS(word32, bytes / 4));                  \
            }                                                             \
        else if (bytes == 2 && (low_bits & 1) == 0)                       \
            OVER(MOVE_WORDS(word16, 1));                                  \
        else if (bytes == 1)                                              \
            OVER(MOVE_WORDS(word8, 1));                                   \
        OVER((move_call(direction, packed, at, bytes), packed += bytes)); \
    } while (0)

static inline __attribute__((always_inline)) void move_grid(enum direction direction, char *packed, char *user,
                                                            const struct grid *grid)
{
    size_t bytes = grid->bytes, inner = grid->inner;
    MPI_Aint inner_stride = grid->inner_stride, outer_stride = grid->outer_stride;
    uintptr_t low_bits =
        (uintptr_t)packed | (uintptr_t)user | bytes | (uintptr_t)inner_stride | (uintptr_t)outer_stride;
    CHOOSE(OVER_GRID);
}

static inline __attribute__((always_inline)) void move_list(enum direction direction, char *packed, char *user,
                                                            const struct list *list)
{
    size_t bytes = list->bytes, blocks = list->blocks;
    const MPI_Aint *displacement = list->at;
    uintptr_t low_bits = (uintptr_t)packed | (uintptr_t)user | (uintptr_t)list->low_bits;
    CHOOSE(OVER_LIST);
}

static void move_unequal(enum direction direction, char *packed, char *user, const struct list *list)
{
    for (size_t i = 0; i < list->blocks; i++) {
        chq_move_block(direction, packed, user + list->at[i], list->lengths[i]);
        packed += list->lengths[i];
    }
}

void chq_move_grid(enum direction direction, char *packed, char *user, const struct grid *grid)
{
    if (direction == PACK)
        move_grid(PACK, packed, user, grid);
    else
        move_grid(UNPACK, packed, user, grid);
}

void chq_move_list(enum direction direction, char *packed, char *user, const struct list *list)
{
    if (!list->bytes)
        move_unequal(direction, packed, user, list);
    else if (direction == PACK)
        move_list(PACK, packed, user, list);
    else
        move_list(UNPACK, packed, user, list);
}
