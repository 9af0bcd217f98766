/* A move of a queue right behind a store that the firmware serves: the count of moves that is loaded then has it. */
#include <chasqui/nes.h>
#include <stdio.h>

static struct nes nes;

int main(void)
{
    if (!nes_open(&nes) || !nes.system)
        return 2;
    unsigned wrong = 0;
    for (unsigned moves = 1; moves <= 20; moves++) {
        *nes_pointer(&nes, CHASQUI_VOYAGER_RECEIVE_CONSUMER) = 0;
        wrong += nes_system_migrate(&nes, 0, moves % 2 == 0) != moves;
        for (volatile int i = 0; i < 20000; i++)
            ;
    }
    printf("moved: %s\n", wrong == 0 ? "PASSED" : "FAILED");
    return wrong != 0;
}
