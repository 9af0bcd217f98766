#include "words.h"

/* From the highest address on. Words only where both are aligned alike: what overlaps mostly is. */
static void copy_backward(char *to, const char *from, size_t bytes)
{
    to += bytes;
    from += bytes;
    if (misalignment(to) == misalignment(from)) {
        for (; bytes && misalignment(to); bytes--)
            *--to = *--from;
        for (; bytes >= WORD; bytes -= WORD) {
            to -= WORD;
            from -= WORD;
            *(word *)to = *(const word *)from;
        }
    }
    for (; bytes; bytes--)
        *--to = *--from;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    /* One comparison for "`to` before `from`, or behind its end". */
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        return copy_forward(to, from, bytes);
    copy_backward(to, from, bytes);
    return to;
}
