/* What the steps of a world and the environment of the protocol share. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "explorer.h"

/* Numbers begin where they wrap around soon. */
#define NUMBER_FIRST 0xffffffff

extern struct world *world;
extern uint8_t arriving; /* body that follows the header, or NOBODY */
extern struct item arrived; /* what the running step is about, or an empty one */
extern unsigned room; /* headers of the running step for which the queue to the wire has room */
extern const char *const kind_names[];

_Noreturn void fail(const char *reason);

/* --- places (world.c) --- */

struct protocol *nic_of(unsigned process);
unsigned end_of(unsigned process, unsigned peer);
unsigned other_end(unsigned end);
unsigned find_end(const struct protocol *p, unsigned channel);

/* --- environment.c --- */

void match(uint8_t send, uint8_t receive);
void go(unsigned node); /* what its NIC put off first */

#endif
