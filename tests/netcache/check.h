/* Ends a rank, which `ni` names, of which something does not hold. */
#include <stdio.h>
#include <stdlib.h>

#define check(right)                                                          \
    do {                                                                      \
        if (!(right)) {                                                       \
            printf("rank %u, line %d: not " #right "\n", ni->rank, __LINE__); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)
