/* Stores and loads, drawn from a seed, to all that a process may map of its NI: registers, windows, queues and rings in
 * the NI's memory. Values are zeros, small counts, addresses that are right, wrong or at the end of the address space,
 * and any bits at all. Each register has a habit, so that some seeds come far before they do wrong: it is left as it
 * is, it counts, it is given an aligned address, or anything. Whatever comes of it, it is no error of the simulator's.
 *
 * Usage: wild SEED ACCESSES [RANK]
 * (of that rank alone: the others do nothing; else of all)
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chasqui/abi.h"
#include "draw.h"

enum { PAGE = 4096, MEMORY = 16 * PAGE, WORDS = MEMORY / 8, REGION_MAX = 1 << 24, REGISTERS = 16 };
enum habit { STAYS, COUNTS, POINTS, WILD };

struct region {
    char *at;
    uint64_t bytes;
    bool uncached;
    unsigned likely; /* Out of 16: how often it is chosen. */
    enum habit habits[REGISTERS];
    uint64_t counts[REGISTERS];
};

static unsigned wildness; /* out of 1024 */
static uint64_t memory[WORDS] __attribute__((aligned(PAGE)));
static struct region regions[CHASQUI_NI_REGIONS];
static unsigned count;
static const struct chasqui_ni_identification *ni;

static uint64_t address(void)
{
    switch (below(6)) {
    case 0: return (uintptr_t)memory + (below(MEMORY) & ~2047ull);
    case 1: return (uintptr_t)regions[below(count)].at + below(PAGE);
    case 2: return 0ull - below(256);
    case 3: return (uintptr_t)below; /* may not be written */
    default: return (uintptr_t)memory + below(MEMORY);
    }
}

static bool is_wild(void) { return below(1024) < wildness; }

static uint64_t wild_value(void)
{
    switch (below(5)) {
    case 0: return draw();
    case 1: return 1ull << below(64);
    case 2: return below(ni->ranks + 1) | below(256) << 16 | below(64) << 32;
    default: return address();
    }
}

/* What may be right: the beginning of a slot, an address of memory, a length or a count. */
static uint64_t tame_value(void)
{
    switch (below(4)) {
    case 0: return below(ni->ranks) | below(88) << 16 | below(32) << 32;
    case 1: return (uintptr_t)memory + (below(MEMORY) & ~7ull);
    default: return below(3) ? below(80) : 0;
    }
}

static uint64_t value(void) { return is_wild() ? wild_value() : tame_value(); }

/* Registers are at the beginnings of regions, and of a window's places the first are those that are right. */
static uint64_t offset(const struct region *region)
{
    if (is_wild())
        return below(region->bytes);
    if (!region->uncached)
        return below(region->bytes / 8) * 8;
    if (region->bytes > PAGE && below(2))
        return below(ni->ranks) << 7 | below(32) << 2;
    return below(REGISTERS) * 8;
}

static uint64_t stored_at(struct region *region, uint64_t at)
{
    uint64_t place = at % PAGE / 8;
    if (!region->uncached || place >= REGISTERS || region->habits[place] == WILD)
        return value();
    if (region->habits[place] == POINTS)
        return (uintptr_t)memory + (draw() & (MEMORY - 1) & ~2047ull);
    return region->habits[place] == STAYS ? 0 : (region->counts[place] += below(3));
}

static void access_at(char *at, unsigned bytes, bool store, uint64_t stored)
{
    switch (bytes) {
    case 1:
        if (store)
            *(volatile uint8_t *)at = (uint8_t)stored;
        else
            (void)*(volatile uint8_t *)at;
        break;
    case 4:
        if (store)
            *(volatile uint32_t *)at = (uint32_t)stored;
        else
            (void)*(volatile uint32_t *)at;
        break;
    default:
        if (store)
            *(volatile uint64_t *)at = stored;
        else
            (void)*(volatile uint64_t *)at;
    }
}

static void act(void)
{
    struct region *region = &regions[below(count)];
    if (below(16) >= region->likely)
        return;
    unsigned bytes = (unsigned[]){8, 8, 8, 4, 4, 1}[below(6)];
    uint64_t place = offset(region) & ~(uint64_t)(bytes - 1);
    char *at = region->at + place;
    access_at(at, bytes, below(4) != 0, stored_at(region, place));
    if (!region->uncached)
        __asm__ volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(at) : "memory"); /* cbo.flush */
    if (below(4) == 0)
        __asm__ volatile("fence rw, o" : : : "memory");
    if (below(8) == 0)
        memory[below(WORDS)] = value();
}

static bool open_ni(void)
{
    int fd = open("/dev/ni0", O_RDWR);
    ni = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || ni == MAP_FAILED)
        return false;
    for (unsigned i = 0; i < CHASQUI_NI_REGIONS; i++) {
        uint64_t bytes = ni->regions[i].bytes;
        bytes = bytes < REGION_MAX ? bytes : REGION_MAX;
        off_t at = (off_t)((i + 1) * CHASQUI_NI_REGION_STRIDE);
        void *mapped = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at) : MAP_FAILED;
        if (mapped == MAP_FAILED)
            continue;
        struct region *region = &regions[count++];
        *region = (struct region){mapped, bytes, ni->regions[i].flags & CHASQUI_NI_REGION_UNCACHED, 0, {0}, {0}};
    }
    return count > 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !open_ni())
        return 2;
    if (argc > 3 && atoi(argv[3]) != ni->rank)
        return 0;
    state = strtoull(argv[1], NULL, 0) * 64 + ni->rank;
    wildness = 4u << below(8);
    for (unsigned i = 0; i < count; i++) {
        regions[i].likely = below(17);
        for (unsigned k = 0; k < REGISTERS; k++)
            regions[i].habits[k] = below(2) ? STAYS : below(WILD) + 1;
    }
    for (unsigned i = 0; i < WORDS; i++)
        memory[i] = value();
    for (long left = atol(argv[2]); left > 0; left--)
        act();
    return 0;
}
