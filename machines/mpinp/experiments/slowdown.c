/* Has the firmware of this name measure, and prints what it found: `clocks LOADS` of each time, `ends 0` of each engine's
 * block, `start 0` of starting them, `idle 0`, zero if all were busy throughout. Usage: slowdown ENGINES, a sum of SLOWDOWN_ of slowdown.h */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../registers.h"
#include "../firmware/slowdown/slowdown.h"

static void *map(int device, int rights, unsigned place, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, rights, MAP_SHARED, device, place * CHASQUI_NI_REGION_STRIDE);
    if (at == MAP_FAILED)
        exit(3);
    return at;
}

static void print(const char *name, int key, const volatile uint32_t *numbers, int count)
{
    printf("%s %d", name, key);
    for (int i = 0; i < count; i++)
        printf(" %u", numbers[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    int device = open("/dev/ni0", O_RDWR);
    if (argc < 2 || device < 0)
        return 3;
    const struct chasqui_ni_identification *ni = map(device, PROT_READ, 0, 4096);
    const int both = PROT_READ | PROT_WRITE;
    volatile char *window =
        map(device, both, 1 + CHASQUI_MPINP_REGION_WINDOW, ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES]);
    const volatile struct slowdown_results *found =
        map(device, both, 1 + CHASQUI_MPINP_REGION_HOST, ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES]);
    *(volatile uint32_t *)window = (uint32_t)atoi(argv[1]);
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = 1;
    if (ni->rank == 1)
        return 0;
    while (!found->is_there)
        ;
    for (int loads = 0; loads <= SLOWDOWN_LOADS_MAX; loads++)
        print("clocks", loads, found->clocks[loads], SLOWDOWN_TIMES);
    print("ends", 0, found->ends, SLOWDOWN_ENGINES);
    print("start", 0, &found->start, 1);
    print("idle", 0, &found->idle, 1);
    return 0;
}
