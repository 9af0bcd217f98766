/* McCalpin's triad on vectors that exceed the caches: a[i] = b[i] + s * c[i]. The argument is the number of times. */
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1 << 17 };

static double a[LENGTH], b[LENGTH], c[LENGTH];

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < LENGTH; i++) {
        b[i] = i;
        c[i] = 1;
    }
    for (int t = 0; t < times; t++) {
        double scale = t;
        for (int i = 0; i < LENGTH; i++)
            a[i] = b[i] + scale * c[i];
    }
    int wrong = times && a[LENGTH - 1] != LENGTH - 1 + (double)(times - 1);
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
