#include "words.h"

/* `from` is not aligned: reads the aligned words that hold its bytes, no others. */
static void copy_shifted(word *to, const char *from, size_t words)
{
    unsigned right = 8 * misalignment(from), left = 64 - right;
    const word *next = (const word *)(from - misalignment(from));
    word low = *next++;
    for (; words >= 4; words -= 4, to += 4, next += 4) {
        word a = next[0], b = next[1], c = next[2], d = next[3];
        to[0] = low >> right | a << left;
        to[1] = a >> right | b << left;
        to[2] = b >> right | c << left;
        to[3] = c >> right | d << left;
        low = d;
    }
    for (; words; words--) {
        word high = *next++;
        *to++ = low >> right | high << left;
        low = high;
    }
}

void *chq_copy_unaligned(char *to, const char *from, size_t bytes)
{
    void *place = to;
    if (bytes >= 2 * WORD) {
        for (; misalignment(to); bytes--)
            *to++ = *from++;
        size_t words = bytes / WORD;
        if (misalignment(from) == 0)
            copy_words((word *)to, (const word *)from, words);
        else
            copy_shifted((word *)to, from, words);
        to += words * WORD;
        from += words * WORD;
        bytes %= WORD;
    }
    copy_tail(to, from, bytes);
    return place;
}
