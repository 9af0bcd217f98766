/* Express messages of a program that waits: for one to come, for room to send. */
#include <chasqui/nes.h>

static struct nes nes;

static uint64_t await(unsigned queue)
{
    uint64_t message;
    while ((message = nes_express_receive(&nes, queue)) == NES_EMPTY)
        nes_pause();
    return message;
}

static void send(unsigned queue, uint32_t to, unsigned extra, uint32_t value)
{
    while (!nes_express_send(&nes, queue, to, extra, value))
        nes_pause();
}
