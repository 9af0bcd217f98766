/* Stores to a pointer that the firmware serves, and a load: how long that waits does not depend on how many they were.
 *
 * Usage: pile STORES
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

static struct nes nes;

static uint64_t cycles(void)
{
    uint64_t count;
    __asm__ volatile("fence\n rdcycle %0" : "=r"(count) : : "memory");
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes))
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++)
        *nes_pointer(&nes, CHASQUI_VOYAGER_RECEIVE_CONSUMER) = 0;
    uint64_t begin = cycles();
    (void)*nes_pointer(&nes, CHASQUI_VOYAGER_TRANSMIT_CONSUMER);
    printf("%lu\n", (unsigned long)(cycles() - begin));
    return 0;
}
