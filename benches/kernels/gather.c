/* Sparse rows with columns at random: WIDTH entries a row of a matrix that exceeds the first-level cache, as the vector does.
 * The argument is the number of times. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4096, WIDTH = 13 };

static double value[ROWS * WIDTH], x[ROWS], y[ROWS];
static int column[ROWS * WIDTH];

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t state = 1;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        column[i] = (state >> 33) % ROWS;
        value[i] = 1.0 / WIDTH;
    }
    for (int i = 0; i < ROWS; i++)
        x[i] = 1;
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++)
                sum += value[j] * x[column[j]];
            y[i] = sum;
        }
        x[t % ROWS] = y[t % ROWS];
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += y[i];
    int wrong = sum < ROWS - 1e-6 || sum > ROWS + 1e-6;
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
