/* Credits of a stream from rank 0 to rank 1: no more packets are under way than the receive queue holds. Rank 1 sends a
 * token for each batch of packets that it has taken; tokens go through an Express queue of their own.
 */
#ifndef CREDITS_H
#define CREDITS_H

#include "measure.h"

/* Packets that rank 0 may send, or rank 1 take, before the next token; packets that a token stands for; tokens that
 * are to come, of which rank 0 does not need the last ones. */
static struct {
    uint32_t left, batch, tokens;
} credits;

/* The queue is empty and holds so many batches; so many packets will come. */
static void open_credits(uint32_t batches, uint32_t batch, uint32_t packets)
{
    credits.batch = batch;
    credits.left = nes.rank == 0 ? batches * batch : batch;
    credits.tokens = packets / batch;
}

/* Rank 0 takes the tokens that it has not needed. */
static void close_credits(void)
{
    for (; nes.rank == 0 && credits.tokens > 0; credits.tokens--)
        await_token();
}

ALWAYS_INLINE void await_credits(void)
{
    await_token();
    credits.tokens--;
    credits.left = credits.batch;
}

ALWAYS_INLINE void return_credits(void)
{
    tell(0);
    credits.left = credits.batch;
}

/* The same by calls, where packets are many and written out: they would stand behind each of them, and the program with
 * its data would not fit into the second-level cache. */
static __attribute__((noinline)) void call_await_credits(void) { await_credits(); }
static __attribute__((noinline)) void call_return_credits(void) { return_credits(); }

ALWAYS_INLINE void use_credit(bool many)
{
    if (credits.left == 0)
        many ? call_await_credits() : await_credits();
    credits.left--;
}

ALWAYS_INLINE void return_credit(bool many)
{
    if (--credits.left == 0)
        many ? call_return_credits() : return_credits();
}

#endif
