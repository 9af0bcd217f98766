/* VIA without MPI, over VIPL, on two ranks. `vipl CASE [PAUSE]`:
 *
 *   late     rank 0 sends COUNT messages to a VI at which rank 1 posts its descriptors PAUSE turns later, one after the
 *            other: each comes once, in order
 *   polled, slept   COUNT messages, PAUSE turns apart, for which rank 1 polls, or sleeps in the kernel
 *   errors   descriptors that are refused, with the status that says why
 *   refused  descriptors for a VI that is gone (in the kernel alone, which can say so): they are in no queue
 *   remote   an RDMA write to memory that the other side has not allowed, then with a wrong handle
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "mpi/runtime/platform.h"
#include "via/vipl.h"

enum { COUNT = 12, PAGE = 4096, ROOM = 16 * PAGE };

struct slot {
    VIP_DESCRIPTOR descriptor;
    uint64_t data[8];
};

static const struct chasqui_ni_identification *ni;
static struct vip_nic nic;
static struct vip_vi vi, *vis[4096];
static struct vip_cq cq;
static char memory[ROOM] __attribute__((aligned(PAGE)));
static struct slot *slots = (struct slot *)memory;
static struct chasqui_via_entry *entries = (struct chasqui_via_entry *)(memory + 8 * PAGE);
static VIP_MEM_HANDLE handle;

static void delay(uint64_t turns)
{
    while (turns-- > 0)
        __asm__ volatile("");
}

static VIP_DESCRIPTOR *fill(struct slot *slot, uint32_t bytes)
{
    VIP_DESCRIPTOR *descriptor = &slot->descriptor;
    memset(descriptor, 0, sizeof *descriptor);
    descriptor->segments = 1;
    descriptor->length = bytes;
    descriptor->segment[0] =
        (struct chasqui_via_segment){.address = (uintptr_t)slot->data, .handle = handle, .bytes = bytes};
    return descriptor;
}

static VIP_RETURN await(VIP_RETURN (*done)(struct vip_vi *, VIP_DESCRIPTOR **), VIP_DESCRIPTOR **descriptor)
{
    VIP_RETURN result;
    do
        chq_pause();
    while ((result = done(&vi, descriptor)) == VIP_NOT_DONE);
    return result;
}

static void begin(void)
{
    int fd;
    ni = chq_platform_open_ni(&fd);
    if (!ni || ni->device != CHASQUI_VIA_DEVICE || ni->ranks != 2)
        exit(2);
    check(VipOpenNic(&nic, ni, fd, vis) == VIP_SUCCESS);
    check(VipRegisterMem(&nic, memory, sizeof memory, false, &handle) == VIP_SUCCESS);
    check(VipCreateCQ(&nic, entries, 64, handle, &cq) == VIP_SUCCESS);
    check(VipCreateVi(&nic, 5, NULL, &cq, &vi) == VIP_SUCCESS);
    check(VipConnectPeer(&vi, 1 - ni->rank, 5) == VIP_SUCCESS);
}

static void send_all(uint64_t pause)
{
    VIP_DESCRIPTOR *descriptor;
    for (uint64_t i = 0; i < COUNT; i++) {
        delay(pause);
        slots[i].data[0] = 1000 + i;
        check(VipPostSend(&vi, fill(&slots[i], sizeof slots[i].data), handle) == VIP_SUCCESS);
    }
    for (int i = 0; i < COUNT; i++) {
        check(await(VipSendDone, &descriptor) == VIP_SUCCESS);
        check(descriptor == &slots[i].descriptor);
    }
    check(VipSendDone(&vi, &descriptor) == VIP_NOT_DONE);
}

static void is_message(int i)
{
    VIP_DESCRIPTOR *descriptor;
    check(VipRecvDone(&vi, &descriptor) == VIP_SUCCESS);
    check(descriptor == &slots[i].descriptor && descriptor->length == sizeof slots[i].data);
    check(slots[i].data[0] == 1000 + (uint64_t)i);
}

static void receive_all(bool sleeps, uint64_t pause)
{
    struct vip_vi *which;
    bool is_receive;
    for (int i = 0; i < COUNT; i++) {
        delay(pause);
        if (pause > 0 || i == 0)
            for (int next = i; next < (pause > 0 ? i + 1 : COUNT); next++)
                check(VipPostRecv(&vi, fill(&slots[next], sizeof slots[next].data), handle) == VIP_SUCCESS);
        while (VipCQDone(&cq, &which, &is_receive) == VIP_NOT_DONE) {
            if (sleeps)
                check(VipCQWait(&cq) == VIP_SUCCESS);
            else
                chq_pause();
        }
        check(which == &vi && is_receive);
        is_message(i);
    }
}

/* Begins again after an error. */
static void again(void)
{
    check(VipDestroyVi(&vi) == VIP_SUCCESS);
    check(VipCreateVi(&nic, 5, NULL, NULL, &vi) == VIP_SUCCESS);
    check(VipConnectPeer(&vi, 1 - ni->rank, 5) == VIP_SUCCESS);
}

static uint32_t status_of(VIP_DESCRIPTOR *wanted, VIP_MEM_HANDLE of)
{
    VIP_DESCRIPTOR *descriptor;
    check(VipPostSend(&vi, wanted, of) == VIP_SUCCESS);
    check(await(VipSendDone, &descriptor) == VIP_DESCRIPTOR_ERROR);
    check(descriptor == wanted);
    uint32_t status = descriptor->status;
    again();
    return status & CHASQUI_VIA_STATUS_ERRORS;
}

static void errors(void)
{
    VIP_DESCRIPTOR *descriptor = fill(&slots[0], 8), *second = fill(&slots[1], 8), *done;
    descriptor->segment[0].handle = handle + 1;
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_PROTECTION_ERROR);
    fill(&slots[0], 8)->segment[0].address = (uintptr_t)&vi; /* not registered */
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_PROTECTION_ERROR);
    fill(&slots[0], 8)->length = 9;
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_FORMAT_ERROR);
    fill(&slots[0], 8)->segments = 3;
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_FORMAT_ERROR);
    fill(&slots[0], 8)->control = 2; /* an RDMA read */
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_FORMAT_ERROR);
    fill(&slots[0], 4 * PAGE);
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_LENGTH_ERROR);
    /* What is behind one in error is flushed, also what is posted later. */
    fill(&slots[0], 8)->segments = 3;
    check(VipPostSend(&vi, descriptor, handle) == VIP_SUCCESS && VipPostSend(&vi, second, handle) == VIP_SUCCESS);
    check(await(VipSendDone, &done) == VIP_DESCRIPTOR_ERROR && done == descriptor);
    check(await(VipSendDone, &done) == VIP_DESCRIPTOR_ERROR && done == second);
    check(second->status & CHASQUI_VIA_STATUS_FLUSHED);
    check(VipPostRecv(&vi, second, handle) == VIP_SUCCESS);
    check(await(VipRecvDone, &done) == VIP_DESCRIPTOR_ERROR && (done->status & CHASQUI_VIA_STATUS_FLUSHED));
    /* Memory that is not there, or not registered any more. */
    VIP_MEM_HANDLE other;
    check(VipRegisterMem(&nic, (void *)64, 8, false, &other) != VIP_SUCCESS);
    check(VipRegisterMem(&nic, memory, 0, false, &other) != VIP_SUCCESS);
    check(VipDeregisterMem(&nic, memory + PAGE, handle) != VIP_SUCCESS);
    check(VipRegisterMem(&nic, memory, 1ull << 40, false, &other) == VIP_ERROR_RESOURCE);
    check(VipRegisterMem(&nic, memory, PAGE, false, &other) == VIP_SUCCESS && other != handle);
    check(VipDeregisterMem(&nic, memory, other) == VIP_SUCCESS);
    again();
    fill(&slots[0], 8)->segment[0].handle = other;
    check(status_of(descriptor, handle) == CHASQUI_VIA_STATUS_PROTECTION_ERROR);
    check(VipCreateVi(&nic, 1 << 20, NULL, NULL, &(struct vip_vi){0}) == VIP_INVALID_PARAMETER);
    check(VipConnectPeer(&vi, 2, 0) == VIP_INVALID_PARAMETER);
}

static void refused(void)
{
    VIP_DESCRIPTOR *done;
    check(VipDestroyVi(&vi) == VIP_SUCCESS);
    for (uint32_t i = 0; i < nic.depth + 2; i++) {
        check(VipPostSend(&vi, fill(&slots[0], 8), handle) == VIP_INVALID_PARAMETER);
        check(VipPostRecv(&vi, fill(&slots[1], 8), handle) == VIP_INVALID_PARAMETER);
    }
    /* They are the process's, which may write there what it likes. */
    slots[0].descriptor.status = slots[1].descriptor.status = CHASQUI_VIA_STATUS_DONE;
    check(VipSendDone(&vi, &done) == VIP_NOT_DONE && VipRecvDone(&vi, &done) == VIP_NOT_DONE);
}

/* Rank 0 writes to rank 1, which says by a message where it may. */
static void remote(void)
{
    VIP_DESCRIPTOR *descriptor;
    static char target[PAGE] __attribute__((aligned(PAGE)));
    uint64_t *told = slots[0].data;
    for (int wrong = 0; wrong < 3; wrong++) {
        if (ni->rank == 1) {
            VIP_MEM_HANDLE of;
            check(VipRegisterMem(&nic, target, PAGE, wrong != 1, &of) == VIP_SUCCESS);
            told[0] = (uintptr_t)target;
            told[1] = wrong == 2 ? of + 77 : of;
            check(VipPostSend(&vi, fill(&slots[0], 16), handle) == VIP_SUCCESS);
            check(await(VipSendDone, &descriptor) == VIP_SUCCESS);
            if (wrong == 0)
                while (((volatile char *)target)[99] != 7)
                    chq_pause();
            else /* its connection ends, too */
                check(VipPostRecv(&vi, fill(&slots[1], 8), handle) == VIP_SUCCESS &&
                      await(VipRecvDone, &descriptor) == VIP_DESCRIPTOR_ERROR);
            check(VipDeregisterMem(&nic, target, of) == VIP_SUCCESS);
        } else {
            check(VipPostRecv(&vi, fill(&slots[0], 16), handle) == VIP_SUCCESS);
            check(await(VipRecvDone, &descriptor) == VIP_SUCCESS);
            memset(slots[1].data, 7, 64);
            fill(&slots[1], 64);
            slots[1].descriptor.segment[1] = slots[1].descriptor.segment[0];
            slots[1].descriptor.segment[0] =
                (struct chasqui_via_segment){.address = told[0] + 36, .handle = (uint32_t)told[1]};
            slots[1].descriptor.segments = 2;
            slots[1].descriptor.control = CHASQUI_VIA_CONTROL_RDMA_WRITE;
            check(VipPostSend(&vi, &slots[1].descriptor, handle) == VIP_SUCCESS);
            VIP_RETURN done = await(VipSendDone, &descriptor);
            check(done == (wrong ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS));
            check(!wrong || (descriptor->status & CHASQUI_VIA_STATUS_RDMA_PROTECTION_ERROR));
        }
        if (wrong) {
            again();
            if (ni->rank == 1)
                delay(50000); /* until the other has, too */
        }
    }
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    uint64_t pause = count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
    bool is_late = strcmp(name, "late") == 0;
    begin();
    if (strcmp(name, "errors") == 0)
        ni->rank == 0 ? errors() : (void)0;
    else if (strcmp(name, "refused") == 0)
        refused();
    else if (strcmp(name, "remote") == 0)
        remote();
    else if (ni->rank == 0)
        send_all(is_late ? 0 : pause);
    else
        receive_all(strcmp(name, "slept") == 0, is_late ? pause : 0);
    printf("vipl %s: PASSED\n", name);
    return 0;
}
