/* Every rank reads the memory of the processes with its number on all other sites, through their service processors, with many
 * requests under way: the sPs have more of them at a time than they have places and slots, from several processes of each
 * site. Each word says whose it is.
 *
 * Usage: requests RANKS_PER_NODE REQUESTS FIRST [UNDER_WAY] (needs the registers of system software; ranks are mapped by slot;
 * FIRST is what this job's words begin with; UNDER_WAY: requests at a time, 16 by default)
 */
#include <stdio.h>
#include <stdlib.h>

#include "express.h"

enum { ASK, ANSWER }; /* Express queues */
enum { SERVICE = 20, SITES_MAX = 8, ME = 5 }; /* destinations from SERVICE on: the sPs, by site */
enum { WORDS = 1024, READY = 31, DONE = 30 };

static uint32_t each, sites, site, process, first_word, under_way_max = 16;
static _Alignas(64) uint32_t memory[WORDS];

static uint32_t word_of(uint32_t of_site, uint32_t index)
{
    return (first_word + of_site * each + process) << 16 | index;
}

static void fail(const char *what, uint32_t of_site, uint32_t which)
{
    printf("rank %u: wrong: %s of request %u to site %u\n", nes.rank, what, which, of_site);
    exit(1);
}

static void send_all(unsigned queue, unsigned extra)
{
    for (uint32_t s = 0; s < sites; s++)
        if (s != site)
            send(queue, s * each + process, extra, 0);
}

static void await_all(unsigned queue, unsigned extra)
{
    for (uint32_t s = 1; s < sites; s++)
        if (nes_extra(await(queue)) != extra)
            fail("order", site, extra);
}

/* Every third request is long. They begin anywhere in a line. */
static bool is_long(uint32_t i) { return i % 3 == 0; }
static uint32_t first_of(uint32_t i) { return (i * 37 + nes.rank) % (WORDS - CHASQUI_VOYAGER_TAG_LONG_BYTES / 4); }
static uint32_t address_of(uint32_t i) { return (uint32_t)(uintptr_t)&memory[first_of(i)]; }

/* The oldest answer of a site. */
static void take(uint32_t answered[SITES_MAX])
{
    uint64_t message = await(ANSWER);
    uint32_t from = nes_source(message) - ME;
    if (from >= sites || from == site)
        fail("source", from, 0);
    uint32_t i = answered[from]++;
    size_t bytes = is_long(i) ? CHASQUI_VOYAGER_TAG_LONG_BYTES : CHASQUI_VOYAGER_TAG_SHORT_BYTES;
    if (nes_value(message) != address_of(i) || nes_tagged(message) != bytes)
        fail("header", from, i);
    const uint32_t *data = nes_tag_data(&nes, message);
    for (uint32_t k = 0; k < bytes / 4; k++)
        if (data[k] != word_of(from, first_of(i) + k))
            fail("data", from, i);
    nes_tag_release(&nes, message, bytes);
}

static void read_all(uint32_t requests)
{
    uint32_t answered[SITES_MAX] = {0}, under_way = 0;
    for (uint32_t i = 0; i < requests; i++) {
        for (uint32_t s = 0; s < sites; s++) {
            if (s == site)
                continue;
            if (under_way == under_way_max)
                take(answered);
            else
                under_way++;
            send(ASK, SERVICE + s, is_long(i) ? CHASQUI_VOYAGER_SP_READ_LONG : CHASQUI_VOYAGER_SP_READ_SHORT,
                 address_of(i));
        }
    }
    while (under_way-- > 0)
        take(answered);
    for (uint32_t s = 0; s < sites; s++)
        if (answered[s] != (s == site ? 0 : requests))
            fail("number", s, answered[s]);
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5 || !nes_open(&nes) || !nes.system)
        return 2;
    each = (uint32_t)atoi(argv[1]);
    first_word = (uint32_t)atoi(argv[3]);
    if (argc == 5)
        under_way_max = (uint32_t)atoi(argv[4]);
    sites = nes.ranks / each;
    site = nes.rank / each;
    process = nes.rank % each;
    if (sites > SITES_MAX)
        return 2;
    for (uint32_t i = 0; i < WORDS; i++)
        memory[i] = word_of(site, i);
    nes_fence();
    for (uint32_t s = 0; s < sites; s++) {
        if (s == site)
            continue;
        /* Requests of this site bear source id `sites + site` at the others, where that leads back. */
        nes_system_connect(&nes, ASK, SERVICE + s, s, CHASQUI_VOYAGER_SP_QUEUE, sites + site);
        nes_system_connect(&nes, CHASQUI_VOYAGER_SP_QUEUE, sites + s, s, ANSWER, ME + site);
    }
    send_all(ANSWER, READY);
    await_all(ANSWER, READY);
    read_all((uint32_t)atoi(argv[2]));
    send_all(ASK, DONE);
    await_all(ASK, DONE);
    if (nes.rank == 0)
        puts("requests: PASSED");
    return 0;
}
