/* Messages of one 64-byte store: rank 0 sends all lengths, posted and answered, mixed with Express messages of the
 * same queue, faster than rank 1 takes them; rank 1 checks their order and every word.
 *
 * Usage: wide MESSAGES
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

static struct nes nes;

static void check(bool right, const char *what, uint32_t index)
{
    if (right)
        return;
    printf("rank %u: wrong: %s of message %u\n", nes.rank, what, index);
    exit(1);
}

/* Message i brings so many words; 8: it is an Express message. */
static unsigned words_of(uint32_t i) { return i * 7 % 9; }
static uint64_t word_of(uint32_t i, unsigned k) { return 0x0123456789abcdefull * (i + 1) + k; }

static bool try_to_send(uint32_t i)
{
    unsigned words = words_of(i);
    uint64_t data[CHASQUI_VOYAGER_WIDE_WORDS];
    if (words > CHASQUI_VOYAGER_WIDE_WORDS)
        return nes_express_send(&nes, 0, 1, i & 31, i);
    for (unsigned k = 0; k < words; k++)
        data[k] = word_of(i, k);
    return i % 3 ? nes_wide_send(&nes, 0, 1, i & 31, i, data, words) : nes_wide_try(&nes, 0, 1, i & 31, i, data, words);
}

static void take(uint32_t i)
{
    uint64_t message;
    while ((message = nes_express_receive(&nes, 0)) == NES_EMPTY)
        nes_pause();
    unsigned words = words_of(i) % 8;
    check(nes_value(message) == i, "value", i);
    check(nes_extra(message) == (i & 31), "five bits", i);
    check(nes_source(message) == 0, "source", i);
    check(nes_tagged(message) == 8 * words, "length", i);
    if (words == 0)
        return;
    const uint64_t *data = nes_tag_data(&nes, message);
    for (unsigned k = 0; k < words; k++)
        check(data[k] == word_of(i, k), "data", i);
    nes_tag_release(&nes, message, 8 * words);
}

int main(int argc, char **argv)
{
    if (!nes_open(&nes))
        return 2;
    uint32_t messages = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    for (uint32_t i = 0; i < messages; i++) {
        if (nes.rank == 1)
            take(i);
        else
            while (!try_to_send(i))
                nes_pause();
    }
    if (nes.rank == 1)
        printf("wide: PASSED\n");
    return 0;
}
