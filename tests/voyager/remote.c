/* Rank 0 reads the memory of rank 1, which does nothing about it: it asks the service processor of rank 1's site, whose
 * firmware brings the lines into the NES's SRAM and sends them by Tag-On. The data are in rank 1's cache.
 *
 * Usage: remote QUESTIONS (needs the registers of system software)
 */
#include <stdio.h>
#include <stdlib.h>

#include "express.h"

enum { ASK, ANSWER }; /* Express queues */
enum { SERVICE = 9, ASKER = 3, ME = 5 }; /* destinations: rank 1's sP here, rank 0 for that; and rank 0's source id */
enum { WORDS = 2048, UNDER_WAY = 6 };

static _Alignas(64) uint32_t memory[WORDS];

static uint32_t word_of(uint32_t index) { return index * 2654435761u + 7; }

static void fail(const char *what, uint32_t which)
{
    printf("rank %u: wrong: %s of question %u\n", nes.rank, what, which);
    exit(1);
}

/* Question i: every other one is long. They begin anywhere in a line. */
static bool is_long(uint32_t i) { return i % 2; }
static uint32_t first_of(uint32_t i) { return i * 37 % (WORDS - CHASQUI_VOYAGER_TAG_LONG_BYTES / 4); }

static void ask(uint32_t i)
{
    send(ASK, SERVICE, is_long(i) ? CHASQUI_VOYAGER_SP_READ_LONG : CHASQUI_VOYAGER_SP_READ_SHORT,
         (uint32_t)(uintptr_t)&memory[first_of(i)]);
}

static void take(uint32_t i)
{
    uint64_t message = await(ANSWER);
    size_t bytes = is_long(i) ? CHASQUI_VOYAGER_TAG_LONG_BYTES : CHASQUI_VOYAGER_TAG_SHORT_BYTES;
    if (nes_source(message) != ME || nes_value(message) != (uint32_t)(uintptr_t)&memory[first_of(i)])
        fail("header", i);
    if (nes_tagged(message) != bytes)
        fail("length", i);
    const uint32_t *data = nes_tag_data(&nes, message);
    for (uint32_t k = 0; k < bytes / 4; k++)
        if (data[k] != word_of(first_of(i) + k))
            fail("data", i);
    nes_tag_release(&nes, message, bytes);
}

static int read_all(uint32_t questions)
{
    nes_system_connect(&nes, ASK, SERVICE, 1, CHASQUI_VOYAGER_SP_QUEUE, ASKER);
    await(ANSWER); /* the other side is ready */
    for (uint32_t i = 0; i < questions + UNDER_WAY; i++) {
        if (i < questions)
            ask(i);
        if (i >= UNDER_WAY)
            take(i - UNDER_WAY);
    }
    send(ASK, SERVICE, CHASQUI_VOYAGER_SP_READ_SHORT, 16); /* nothing is mapped there */
    uint64_t message = await(ANSWER);
    if (nes_extra(message) != CHASQUI_VOYAGER_SP_REFUSED || nes_tagged(message) != 0)
        fail("refusal", questions);
    send(ASK, 1, 0, 0);
    puts("remote: PASSED");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes) || !nes.system || nes.ranks != 2)
        return 2;
    if (nes.rank == 0)
        return read_all((uint32_t)atoi(argv[1]));
    for (uint32_t i = 0; i < WORDS; i++)
        memory[i] = word_of(i);
    nes_fence();
    nes_system_connect(&nes, CHASQUI_VOYAGER_SP_QUEUE, ASKER, 0, ANSWER, ME);
    send(ANSWER, 0, 0, 0);
    await(ASK);
    return 0;
}
