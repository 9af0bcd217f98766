/* See vipl.h. */
#include "vipl.h"

#include "mpi/runtime/public.h"
#include "mpi/runtime/platform.h"

/* Earlier stores, and loads of what is given back, come before the store to the NIC that follows. */
static inline void fence_before_doorbell(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* What was seen of the NIC's doings comes before the loads that follow. */
static inline void fence_after_completion(void) { __asm__ volatile("fence r, r" : : : "memory"); }

/* What a system call's result says. */
static inline VIP_RETURN outcome(long result)
{
    enum { ENOMEM = 12 };
    return result == 0 ? VIP_SUCCESS : result == -ENOMEM ? VIP_ERROR_RESOURCE : VIP_INVALID_PARAMETER;
}

static VIP_RETURN control(const struct vip_nic *nic, uint64_t request, uint64_t argument)
{
    return outcome(chq_platform_control(nic->fd, request, argument));
}

/* --- what the kernel does ------------------------------------------------------------------------------- */

static VIP_RETURN open_nic(struct vip_nic *nic, uint64_t invalidations)
{
    struct chasqui_via_open open = {.invalidations = invalidations};
    VIP_RETURN done = control(nic, CHASQUI_VIA_CONTROL_OPEN, (uintptr_t)&open);
    nic->tag = open.tag;
    return done;
}

VIP_RETURN VipOpenNic(struct vip_nic *nic, const struct chasqui_ni_identification *ni, int fd, struct vip_vi **vis)
{
    *nic = (struct vip_nic){
        .fd = fd,
        .depth = (uint32_t)ni->settings[CHASQUI_VIA_SETTING_DEPTH],
        .vis_max = (uint32_t)ni->settings[CHASQUI_VIA_SETTING_VIS],
        .vis = vis,
    };
    if (ni->settings[CHASQUI_VIA_SETTING_WINDOW])
        return open_nic(nic, 0);
    uint64_t region = CHASQUI_VIA_REGION_DOORBELLS;
    nic->doorbells = chq_platform_map(fd, (region + 1) * CHASQUI_NI_REGION_STRIDE, ni->regions[region].bytes);
    return nic->doorbells ? open_nic(nic, 0) : VIP_ERROR_RESOURCE;
}

VIP_RETURN VipWatchMem(struct vip_nic *nic, volatile uint64_t *counter)
{
    nic->invalidations = counter;
    return open_nic(nic, (uintptr_t)counter);
}

VIP_RETURN VipRegisterMem(struct vip_nic *nic, const void *address, size_t bytes, bool rdma_write,
                          VIP_MEM_HANDLE *handle)
{
    struct chasqui_via_memory memory = {
        .address = (uintptr_t)address,
        .bytes = bytes,
        .tag = nic->tag,
        .access = rdma_write ? CHASQUI_VIA_TABLE_RDMA_WRITE : 0,
    };
    VIP_RETURN done = control(nic, CHASQUI_VIA_CONTROL_REGISTER, (uintptr_t)&memory);
    *handle = memory.handle;
    return done;
}

VIP_RETURN VipDeregisterMem(struct vip_nic *nic, const void *address, VIP_MEM_HANDLE handle)
{
    struct chasqui_via_memory memory = {.address = (uintptr_t)address, .handle = handle};
    return control(nic, CHASQUI_VIA_CONTROL_DEREGISTER, (uintptr_t)&memory);
}

VIP_RETURN VipCreateCQ(struct vip_nic *nic, struct chasqui_via_entry *memory, uint32_t entries, VIP_MEM_HANDLE handle,
                       struct vip_cq *cq)
{
    struct chasqui_via_queue queue = {
        .address = (uintptr_t)memory,
        .handle = handle,
        .entries = entries,
        .tag = nic->tag,
    };
    VIP_RETURN done = control(nic, CHASQUI_VIA_CONTROL_CREATE_QUEUE, (uintptr_t)&queue);
    if (done != VIP_SUCCESS)
        return done;
    *cq = (struct vip_cq){.nic = nic, .entries = memory, .number = queue.number, .mask = entries - 1};
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyCQ(struct vip_cq *cq) { return control(cq->nic, CHASQUI_VIA_CONTROL_DESTROY_QUEUE, cq->number); }

VIP_RETURN VipCreateVi(struct vip_nic *nic, uint32_t number, struct vip_cq *send, struct vip_cq *receive,
                       struct vip_vi *vi)
{
    struct chasqui_via_endpoint endpoint = {
        .number = number,
        .tag = nic->tag,
        .send_queue = send ? send->number : (uint32_t)CHASQUI_VIA_NO_QUEUE,
        .receive_queue = receive ? receive->number : (uint32_t)CHASQUI_VIA_NO_QUEUE,
    };
    VIP_RETURN done = control(nic, CHASQUI_VIA_CONTROL_CREATE_VI, (uintptr_t)&endpoint);
    if (done != VIP_SUCCESS)
        return done;
    *vi = (struct vip_vi){.number = number, .nic = nic};
    vi->send.depth = vi->receive.depth = nic->depth;
    vi->send.trap = 2 * number;
    vi->receive.trap = 2 * number + 1;
    if (nic->doorbells) {
        volatile char *doorbells = nic->doorbells + number * CHASQUI_VIA_DOORBELL_BYTES;
        vi->send.doorbell = (volatile uint64_t *)(doorbells + CHASQUI_VIA_DOORBELL_SEND);
        vi->receive.doorbell = (volatile uint64_t *)(doorbells + CHASQUI_VIA_DOORBELL_RECEIVE);
    }
    nic->vis[number] = vi;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyVi(struct vip_vi *vi)
{
    VIP_RETURN done = control(vi->nic, CHASQUI_VIA_CONTROL_DESTROY_VI, vi->number);
    if (done == VIP_SUCCESS)
        vi->nic->vis[vi->number] = NULL;
    return done;
}

VIP_RETURN VipConnectPeer(struct vip_vi *vi, uint32_t rank, uint32_t remote)
{
    struct chasqui_via_connection connection = {.number = vi->number, .rank = rank, .remote = remote};
    return control(vi->nic, CHASQUI_VIA_CONTROL_CONNECT, (uintptr_t)&connection);
}

VIP_RETURN VipCQWait(struct vip_cq *cq)
{
    struct chasqui_via_wait wait = {.queue = cq->number, .consumed = cq->consumed};
    return control(cq->nic, CHASQUI_VIA_CONTROL_WAIT, (uintptr_t)&wait);
}

/* --- what the process does by itself ---------------------------------------------------------------------- */

/* As a function: what a caller saves is lost. */
static VIP_RETURN ring_by_trap(uint32_t queue, uint64_t value)
{
    register uint64_t a0 __asm__("a0") = queue, a1 __asm__("a1") = value, a7 __asm__("a7") = CHASQUI_VIA_TRAP;
    __asm__ volatile("ecall"
                     : "+r"(a0), "+r"(a1), "+r"(a7)
                     :
                     : "memory", "a2", "a3", "a4", "a5", "a6", "t0", "t1", "t2", "t3", "t4", "t5", "t6");
    return outcome((long)a0);
}

/* The descriptor is the queue's last. */
static inline void enter(struct vip_queue *queue, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    if (queue->length++ > 0) {
        queue->last->next = (uintptr_t)descriptor;
        queue->last->next_handle = handle;
    } else {
        queue->first = descriptor;
    }
    queue->last = descriptor;
}

/* The kernel may refuse the descriptor, which is then in no queue. */
static VIP_RETURN post_by_trap(struct vip_queue *queue, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle,
                               uint64_t value)
{
    VIP_RETURN rung = ring_by_trap(queue->trap, value);
    if (rung == VIP_SUCCESS)
        enter(queue, descriptor, handle);
    return rung;
}

static inline VIP_RETURN post(struct vip_queue *queue, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    if (unlikely(queue->length == queue->depth))
        return VIP_ERROR_RESOURCE;
    descriptor->next = 0;
    descriptor->status = 0;
    uint64_t value =
        (uint64_t)handle << CHASQUI_VIA_DOORBELL_HANDLE_SHIFT | (uintptr_t)descriptor >> CHASQUI_VIA_DESCRIPTOR_SHIFT;
    if (unlikely(!queue->doorbell))
        return post_by_trap(queue, descriptor, handle, value);
    enter(queue, descriptor, handle);
    fence_before_doorbell();
    *queue->doorbell = value;
    return VIP_SUCCESS;
}

static inline VIP_RETURN done(struct vip_queue *queue, VIP_DESCRIPTOR **descriptor)
{
    VIP_DESCRIPTOR *first = queue->first;
    if (queue->length == 0)
        return VIP_NOT_DONE;
    uint32_t status = *(volatile uint32_t *)&first->status;
    if (!(status & CHASQUI_VIA_STATUS_DONE))
        return VIP_NOT_DONE;
    fence_after_completion();
    queue->first = (VIP_DESCRIPTOR *)(uintptr_t)first->next;
    queue->length--;
    *descriptor = first;
    return unlikely(status & CHASQUI_VIA_STATUS_ERRORS) ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}

VIP_RETURN VipPostSend(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    return post(&vi->send, descriptor, handle);
}

VIP_RETURN VipPostRecv(struct vip_vi *vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    return post(&vi->receive, descriptor, handle);
}

VIP_RETURN VipSendDone(struct vip_vi *vi, VIP_DESCRIPTOR **descriptor) { return done(&vi->send, descriptor); }

VIP_RETURN VipRecvDone(struct vip_vi *vi, VIP_DESCRIPTOR **descriptor) { return done(&vi->receive, descriptor); }

VIP_RETURN VipCQDone(struct vip_cq *cq, struct vip_vi **vi, bool *is_receive)
{
    const struct chasqui_via_entry *entry = &cq->entries[cq->consumed & cq->mask];
    if (*(volatile const uint32_t *)&entry->number != cq->consumed + 1)
        return VIP_NOT_DONE;
    fence_after_completion();
    cq->consumed++;
    *is_receive = entry->vi & CHASQUI_VIA_ENTRY_RECEIVE;
    *vi = cq->nic->vis[entry->vi & ~CHASQUI_VIA_ENTRY_RECEIVE];
    return VIP_SUCCESS;
}
