/* String handling: words of a text are cut out, hashed, looked up, counted, and printed into a buffer. The
 * argument is the number of times. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 20000, SLOTS = 1024, WORD = 16 };

static char text[TEXT + 1];
static struct {
    char word[WORD];
    int count;
} table[SLOTS];

static int words;

static void count(const char *word)
{
    uint32_t hash = 2166136261u;
    for (const char *c = word; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    uint32_t slot = hash % SLOTS;
    while (table[slot].count && strcmp(table[slot].word, word) != 0)
        slot = (slot + 1) % SLOTS;
    if (!table[slot].count++)
        strcpy(table[slot].word, word);
    words++;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t state = 1;
    size_t length = 0;
    while (length + WORD < TEXT) {
        state = state * 6364136223846793005 + 1442695040888963407;
        length += (size_t)sprintf(text + length, "%s%u ", state >> 63 ? "Word" : "item", (unsigned)(state >> 40) % 300);
    }
    for (int t = 0; t < times; t++) {
        char word[WORD];
        size_t used = 0;
        for (const char *c = text; *c; c++) {
            if (isalnum((unsigned char)*c)) {
                word[used++] = (char)tolower((unsigned char)*c);
            } else if (used) {
                word[used] = 0;
                count(word);
                used = 0;
            }
        }
    }
    int sum = 0;
    for (int i = 0; i < SLOTS; i++)
        sum += table[i].count;
    printf("%s\n", sum == words ? "right" : "WRONG");
    return sum != words;
}
