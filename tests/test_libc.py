"""What stands before zig's C library: guest/libc."""

from __future__ import annotations

import pytest
from conftest import Compiler, Run

pytestmark = pytest.mark.core

# Every alignment of both ends, every length around a block of words, overlaps either way; bytes
# around the target must stay.
COPIES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ROOM = 400 };
static unsigned char is[ROOM], want[ROOM], from[ROOM];
static int differ(const char *what, int to, int source, int bytes)
{
    for (int i = 0; i < ROOM; i++)
        if (is[i] != want[i]) {
            printf("%s to %d from %d, %d bytes: byte %d\\n", what, to, source, bytes, i);
            return 1;
        }
    return 0;
}
static int copies(int to, int source, int bytes)
{
    unsigned char *target = is + 100 + to;
    for (int i = 0; i < ROOM; i++)
        is[i] = want[i] = rand(), from[i] = rand();
    if (memcpy(target, from + 100 + source, bytes) != target)
        return 1;
    for (int i = 0; i < bytes; i++)
        want[100 + to + i] = from[100 + source + i];
    if (differ("memcpy", to, source, bytes))
        return 1;
    for (int offset = -20; offset < 20; offset += 1 + abs(offset) / 4) {
        if (memmove(target + offset, target, bytes) != target + offset)
            return 1;
        for (int i = 0; i < bytes; i++)
            from[i] = want[100 + to + i];
        for (int i = 0; i < bytes; i++)
            want[100 + to + offset + i] = from[i];
        if (differ("memmove", to, offset, bytes))
            return 1;
    }
    if (memset(target, bytes + 256, bytes) != target)
        return 1;
    for (int i = 0; i < bytes; i++)
        want[100 + to + i] = bytes;
    return differ("memset", to, 0, bytes);
}
int main(void)
{
    for (int to = 0; to < 9; to++)
        for (int source = 0; source < 9; source++)
            for (int bytes = 0; bytes < 150; bytes++)
                if (copies(to, source, bytes))
                    return 1;
    puts("PASSED");
    return 0;
}
"""


def test_copies(compile_c: Compiler, chasqui: Run) -> None:
    program = compile_c("copies", COPIES, "-fno-builtin")
    done = chasqui("run", "-q", program)
    assert (done.returncode, done.stdout) == (0, "PASSED\n")


# Memory that was used before must come back clear; a product that does not fit is refused.
CLEARED = """
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    for (size_t bytes = 1; bytes < 300000; bytes += 1 + bytes / 3) {
        char *used = malloc(bytes);
        memset(used, 'x', bytes);
        free(used);
        char *clear = calloc(bytes, 1);
        for (size_t i = 0; i < bytes; i++)
            if (clear[i])
                return 1;
        free(clear);
    }
    volatile size_t most = SIZE_MAX;
    if (calloc(most / 2, 3) || errno != ENOMEM)
        return 2;
    puts("PASSED");
    return 0;
}
"""


def test_calloc(compile_c: Compiler, chasqui: Run) -> None:
    done = chasqui("run", "-q", compile_c("cleared", CLEARED, "-fno-builtin"))
    assert (done.returncode, done.stdout) == (0, "PASSED\n")
