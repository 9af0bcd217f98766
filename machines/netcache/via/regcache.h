/* Registrations that outlive their use: the program's buffers are likely to be used again, and registering is a system
 * call with stores to the NIC for each page (as MVICH's dreg, and those of MPI libraries since: Tezuka et al.,
 * Pin-down Cache, IPPS 1998). Memory that the program unmaps meanwhile is not registered any more: the kernel ends the
 * registration and counts that in a word that is looked at first. */
#ifndef CHASQUI_REGCACHE_H
#define CHASQUI_REGCACHE_H

#include "vipl.h"

/* `counter`: a word in registered memory for the kernel's count. */
bool regcache_begin(struct vip_nic *nic, volatile uint64_t *counter);

/* The handle of memory that may be read and written, by others too, until regcache_release; false: too much is
 * registered. Where the program has no such memory it has the fault that a load of its own would have. */
bool regcache_acquire(const void *address, size_t bytes, VIP_MEM_HANDLE *handle);
void regcache_release(const void *address, size_t bytes);

#endif
