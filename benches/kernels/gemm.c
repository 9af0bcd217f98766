/* Dense matrix multiply, C += A B, in the order i, k, j. The argument is the number of times. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 96 };

static double a[N][N], b[N][N], c[N][N];

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i == j ? 2 : 0;
            b[i][j] = i + j;
        }
    for (int t = 0; t < times; t++)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                for (int j = 0; j < N; j++)
                    c[i][j] += a[i][k] * b[k][j];
    int wrong = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            wrong += c[i][j] != 2.0 * times * (i + j);
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong != 0;
}
