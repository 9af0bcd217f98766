/* The user library of the VIA NIC, after the VI Provider Library (Intel Virtual Interface Architecture Developer's Guide
 * 1.0, 1998): registered memory, VIs with their work queues, completion queues. What is done for each message needs no
 * system call.
 *
 * Descriptors are in registered memory, aligned to 64 bytes, and the library's from Post to Done. They are complete in the
 * order of their posting. Nothing here waits but VipCQWait.
 */
#ifndef CHASQUI_VIPL_H
#define CHASQUI_VIPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"
#include "registers.h"

typedef struct chasqui_via_descriptor VIP_DESCRIPTOR;
typedef uint32_t VIP_MEM_HANDLE;

typedef enum {
    VIP_SUCCESS = 0,
    VIP_NOT_DONE,
    VIP_INVALID_PARAMETER,
    VIP_ERROR_RESOURCE,
    VIP_DESCRIPTOR_ERROR
} VIP_RETURN;

struct vip_vi;

/* The NIC as this process sees it. */
struct vip_nic {
    int fd;
    volatile char *doorbells; /* null: they are traps, for the kernel is the NIC */
    uint32_t tag, depth;
    uint32_t vis_max;
    struct vip_vi **vis; /* by their numbers */
    volatile uint64_t *invalidations; /* the kernel counts here how often it has ended a registration by itself */
};

struct vip_cq {
    struct vip_nic *nic;
    struct chasqui_via_entry *entries;
    uint32_t number, mask;
    uint32_t consumed;
};

/* A work queue: its descriptors, linked by `next`. */
struct vip_queue {
    VIP_DESCRIPTOR *first, *last;
    uint32_t length, depth;
    volatile uint64_t *doorbell; /* null: it is a trap, of this number */
    uint32_t trap;
};

struct vip_vi {
    uint32_t number;
    struct vip_nic *nic;
    struct vip_queue send, receive;
    void *owner; /* the program's */
};

/* Opens the NIC whose identification page is `ni`. `vis`: room for one pointer for each of its VIs. */
VIP_RETURN VipOpenNic(struct vip_nic *nic, const struct chasqui_ni_identification *ni, int fd, struct vip_vi **vis);
/* Has the kernel count at `counter`, which is registered, how often it ends registrations since memory is unmapped. */
VIP_RETURN VipWatchMem(struct vip_nic *nic, volatile uint64_t *counter);
VIP_RETURN VipRegisterMem(struct vip_nic *nic, const void *address, size_t bytes, bool rdma_write,
                          VIP_MEM_HANDLE *handle);
VIP_RETURN VipDeregisterMem(struct vip_nic *nic, const void *address, VIP_MEM_HANDLE handle);

/* `entries`, registered and a power of two, must hold all that is complete and has not been taken by VipCQDone. */
VIP_RETURN VipCreateCQ(struct vip_nic *nic, struct chasqui_via_entry *memory, uint32_t entries, VIP_MEM_HANDLE handle,
                       struct vip_cq *cq);
VIP_RETURN VipDestroyCQ(struct vip_cq *cq);
/* The VI of that number, which is free. Null: the queue has no completion queue. VIP_ERROR_RESOURCE: what the kernel has of
 * memory for the process is used up. */
VIP_RETURN VipCreateVi(struct vip_nic *nic, uint32_t number, struct vip_cq *send, struct vip_cq *receive,
                       struct vip_vi *vi);
VIP_RETURN VipDestroyVi(struct vip_vi *vi);
/* To VI `remote` of rank `rank`, whose program connects that one to this. */
VIP_RETURN VipConnectPeer(struct vip_vi *vi, uint32_t rank, uint32_t remote);

/* The descriptor is in the queue only if this is VIP_SUCCESS. */
VIP_RETURN VipPostSend(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);
VIP_RETURN VipPostRecv(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);
/* The oldest descriptor, if it is complete: VIP_SUCCESS, or VIP_DESCRIPTOR_ERROR and its status says which. */
VIP_RETURN VipSendDone(struct vip_vi *vi, VIP_DESCRIPTOR **descriptor);
VIP_RETURN VipRecvDone(struct vip_vi *vi, VIP_DESCRIPTOR **descriptor);
/* Which VI has a descriptor that is complete, and on which queue. */
VIP_RETURN VipCQDone(struct vip_cq *cq, struct vip_vi **vi, bool *is_receive);
/* Sleeps until VipCQDone may find one. */
VIP_RETURN VipCQWait(struct vip_cq *cq);

#endif
