/* A server and clients that can't reach each other: each site's system software gives its process the
 * destinations that it may have. Clients ask, the server replies to the source id that it sees, which is no rank.
 * Then client 1 does what its argument says; the others and the server go on.
 *
 * Usage: server none | client | unmapped | forged | disconnected | table
 */
#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ASK, REPLY, SERVER = 7, ROUNDS = 20 };

static struct nes nes;

/* What the server calls client `rank`. */
static uint32_t client(uint32_t rank) { return nes.ranks - rank; }

static void connect(void)
{
    for (uint32_t to = 0; to < nes.ranks; to++)
        for (unsigned queue = 0; queue <= CHASQUI_VOYAGER_EXPRESS_QUEUES; queue++)
            nes_system_disconnect(&nes, queue, to);
    if (nes.rank > 0)
        nes_system_connect(&nes, ASK, SERVER, 0, ASK, client(nes.rank));
    for (uint32_t rank = 1; rank < nes.ranks && nes.rank == 0; rank++)
        nes_system_connect(&nes, REPLY, client(rank), rank, REPLY, SERVER);
}

static uint64_t await(unsigned queue)
{
    uint64_t message;
    while ((message = nes_express_receive(&nes, queue)) == NES_EMPTY)
        nes_pause();
    return message;
}

static void send(unsigned queue, uint32_t to, uint32_t value)
{
    while (!nes_express_send(&nes, queue, to, 0, value))
        nes_pause();
}

static int serve(uint32_t clients)
{
    for (uint32_t i = 0; i < clients * ROUNDS; i++) {
        uint64_t message = await(ASK);
        if (nes_source(message) == 0 || nes_source(message) >= nes.ranks)
            return 1;
        send(REPLY, nes_source(message), nes_value(message) + nes_source(message));
    }
    return 0;
}

static int ask(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        send(ASK, SERVER, 100 * i);
        uint64_t reply = await(REPLY);
        if (nes_source(reply) != SERVER || nes_value(reply) != 100 * i + client(nes.rank))
            return 1;
    }
    return 0;
}

static void misbehave(const char *how)
{
    if (strcmp(how, "client") == 0)
        send(ASK, client(2), 0);
    if (strcmp(how, "unmapped") == 0)
        *(volatile uint32_t *)(nes.pointers - (1 << 20)) = 1;
    if (strcmp(how, "forged") == 0)
        *(volatile uint32_t *)(nes.express - (1 << 28)) = 0;
    if (strcmp(how, "disconnected") == 0) {
        nes_system_disconnect(&nes, ASK, SERVER);
        send(ASK, SERVER, 0);
    }
    if (strcmp(how, "table") == 0)
        nes_system_connect(&nes, ASK, SERVER, nes.ranks, ASK, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !nes_open(&nes) || !nes.system || nes.ranks < 3 || nes.ranks > SERVER) {
        fputs("server: no NES, or its system registers are closed\n", stderr);
        return 2;
    }
    connect();
    /* Nobody asks before the server can reply: its table is written by then. */
    if (nes.rank == 0) {
        int status = serve(nes.ranks - 1);
        if (status == 0 && nes_express_receive(&nes, ASK) == NES_EMPTY)
            puts("server: PASSED");
        return status;
    }
    int status = ask();
    if (nes.rank == 1 && status == 0)
        misbehave(argv[1]);
    /* Whatever client 1 did, nothing has come from it. */
    if (nes.rank == 2 && status == 0) {
        for (volatile int i = 0; i < 20000; i++)
            ;
        if (nes_express_receive(&nes, ASK) == NES_EMPTY && nes_express_receive(&nes, REPLY) == NES_EMPTY)
            puts("client 2: PASSED");
    }
    return status;
}
