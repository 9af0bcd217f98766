/* Pointer chasing: one cycle through all nodes in a random order, 2 MiB. The argument is the number of times
 * round. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 32768 };

struct node {
    struct node *next;
    uint64_t value, unused[6];
};

static struct node nodes[NODES];
static uint32_t order[NODES];

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t state = 1, sum = 0;
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; i > 0; i--) {
        state = state * 6364136223846793005 + 1442695040888963407;
        uint32_t other = (state >> 33) % (i + 1), swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
        nodes[i].value = i;
    }
    const struct node *at = nodes;
    for (int t = 0; t < times; t++)
        for (int i = 0; i < NODES; i++) {
            sum += at->value;
            at = at->next;
        }
    int wrong = sum != (uint64_t)times * NODES * (NODES - 1) / 2;
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
