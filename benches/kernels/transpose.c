/* A square matrix is transposed out of place, row by row: the stores stride by a row. The argument is the number of times. */
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 360 };

static double from[SIDE][SIDE], to[SIDE][SIDE];

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            from[i][j] = i * SIDE + j;
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                to[j][i] = from[i][j] + t;
    }
    int wrong = times && to[3][7] != 7 * SIDE + 3 + times - 1;
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
