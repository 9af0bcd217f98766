/* A process that asks the kernel for VIs without end, over VIPL. Rank 0 creates them until it is refused, gives them back, and
 * begins again, until all others have told it that they are done: each creates further VIs meanwhile, by which it exchanges
 * messages with each other. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "mpi/runtime/platform.h"
#include "via/vipl.h"

enum { RANKS_MAX = 8, VIS_MAX = 4096, PAGE = 4096, TURNS = 20, ROUNDS_MIN = 3 };

struct slot {
    VIP_DESCRIPTOR descriptor;
    uint64_t data[8];
};

static const struct chasqui_ni_identification *ni;
static struct vip_nic nic;
static struct vip_vi to_all[2][RANKS_MAX], many[VIS_MAX], *vis[VIS_MAX];
static struct slot slots[4][RANKS_MAX] __attribute__((aligned(PAGE)));
static VIP_MEM_HANDLE handle;

static VIP_DESCRIPTOR *fill(struct slot *slot)
{
    VIP_DESCRIPTOR *descriptor = &slot->descriptor;
    memset(descriptor, 0, sizeof *descriptor);
    descriptor->segments = 1;
    descriptor->length = sizeof slot->data;
    descriptor->segment[0] =
        (struct chasqui_via_segment){.address = (uintptr_t)slot->data, .handle = handle, .bytes = sizeof slot->data};
    return descriptor;
}

/* VIs of set `set`: each rank's number `set * RANKS_MAX + r` is connected to rank r. */
static void connect(unsigned set)
{
    for (uint32_t r = set; r < ni->ranks; r++) {
        struct vip_vi *vi = &to_all[set][r];
        if (r == ni->rank)
            continue;
        check(VipCreateVi(&nic, set * RANKS_MAX + r, NULL, NULL, vi) == VIP_SUCCESS);
        check(VipPostRecv(vi, fill(&slots[2 * set][r]), handle) == VIP_SUCCESS);
        check(VipConnectPeer(vi, r, set * RANKS_MAX + ni->rank) == VIP_SUCCESS);
    }
}

static void send(unsigned set, uint32_t r, uint64_t word)
{
    VIP_DESCRIPTOR *done;
    struct slot *slot = &slots[2 * set + 1][r];
    for (int i = 0; i < 8; i++)
        slot->data[i] = word + (uint64_t)i;
    check(VipPostSend(&to_all[set][r], fill(slot), handle) == VIP_SUCCESS);
    while (VipSendDone(&to_all[set][r], &done) == VIP_NOT_DONE)
        chq_pause();
}

static bool has_come(unsigned set, uint32_t r)
{
    VIP_DESCRIPTOR *done;
    VIP_RETURN result = VipRecvDone(&to_all[set][r], &done);
    check(result == VIP_SUCCESS || result == VIP_NOT_DONE);
    return result == VIP_SUCCESS;
}

static void receive(unsigned set, uint32_t r, uint64_t word)
{
    struct slot *slot = &slots[2 * set][r];
    while (!has_come(set, r))
        chq_pause();
    for (int i = 0; i < 8; i++)
        check(slot->data[i] == word + (uint64_t)i);
    check(VipPostRecv(&to_all[set][r], fill(slot), handle) == VIP_SUCCESS);
}

/* As many VIs as the kernel has memory for. */
static uint32_t create_all(void)
{
    for (uint32_t n = 0; n < nic.vis_max - 2 * RANKS_MAX; n++) {
        VIP_RETURN done = VipCreateVi(&nic, 2 * RANKS_MAX + n, NULL, NULL, &many[n]);
        if (done != VIP_SUCCESS) {
            check(done == VIP_ERROR_RESOURCE);
            return n;
        }
    }
    check(!"refused");
    return 0;
}

static void ask_for_all(void)
{
    uint32_t first = create_all(), left = ni->ranks - 1;
    check(first > 0);
    for (uint32_t r = 1; r < ni->ranks; r++)
        send(0, r, 1);
    for (int round = 0; round < ROUNDS_MIN || left > 0; round++) {
        /* Not in their order, so that what comes back is used anew. */
        for (uint32_t n = 0; n < first; n++)
            check(VipDestroyVi(&many[(n ^ 1) < first ? n ^ 1 : n]) == VIP_SUCCESS);
        check(create_all() == first);
        for (uint32_t r = 1; r < ni->ranks; r++)
            left -= left > 0 && has_come(0, r);
    }
    printf("many_vis: %u\n", first);
}

static void exchange(void)
{
    receive(0, 0, 1);
    connect(1);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t r = 1; r < ni->ranks; r++)
            if (r != ni->rank)
                send(1, r, 1000 * turn + ni->rank);
        for (uint32_t r = 1; r < ni->ranks; r++)
            if (r != ni->rank)
                receive(1, r, 1000 * turn + r);
    }
    send(0, 0, 2);
}

int main(void)
{
    int fd;
    ni = chq_platform_open_ni(&fd);
    check(VipOpenNic(&nic, ni, fd, vis) == VIP_SUCCESS);
    check(VipRegisterMem(&nic, slots, sizeof slots, false, &handle) == VIP_SUCCESS);
    connect(0);
    if (ni->rank == 0)
        ask_for_all();
    else
        exchange();
    printf("many_vis: PASSED\n");
    return 0;
}
