#include "words.h"

void *memset(void *place, int byte, size_t bytes)
{
    char *to = place;
    if (bytes >= 2 * WORD) {
        word filling = (unsigned char)byte * 0x0101010101010101u;
        for (; misalignment(to); bytes--)
            *to++ = (char)byte;
        for (; bytes >= BLOCK * WORD; bytes -= BLOCK * WORD, to += BLOCK * WORD)
            for (int i = 0; i < BLOCK; i++)
                ((word *)to)[i] = filling;
        for (; bytes >= WORD; bytes -= WORD, to += WORD)
            *(word *)to = filling;
    }
    for (; bytes; bytes--)
        *to++ = (char)byte;
    return place;
}
