/* Two VIs that are connected, and what their processes should not do: descriptors of any form, and doorbells with any
 * handle and address, drawn from a seed, of VIs that are there and others. Errors end the connection; it is made anew.
 *
 * Usage: wild SEED DOORBELLS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "mpi/runtime/platform.h"
#include "via/vipl.h"

enum { PAGE = 4096, PAGES = 8, BYTES = PAGES * PAGE, VI = 5, ENTRIES = 256 };

static unsigned wildness; /* out of 1024 */
static const struct chasqui_ni_identification *ni;
static struct vip_nic nic;
static struct vip_vi vi, *vis[4096];
static struct vip_cq cq;
static char memory[BYTES] __attribute__((aligned(PAGE)));
static struct chasqui_via_entry entries[ENTRIES] __attribute__((aligned(PAGE)));
static VIP_MEM_HANDLE handle, of_entries;

static bool is_wild(void) { return below(1024) < wildness; }

static void connect(void)
{
    if (VipCreateVi(&nic, VI, below(2) ? &cq : NULL, below(2) ? &cq : NULL, &vi) != VIP_SUCCESS ||
        VipConnectPeer(&vi, 1 - ni->rank, VI) != VIP_SUCCESS)
        exit(3);
}

static uint64_t address(void) { return is_wild() ? 0ull - below(2 * PAGE) : (uintptr_t)memory + below(BYTES); }

static VIP_DESCRIPTOR *descriptor(void)
{
    VIP_DESCRIPTOR *made = (VIP_DESCRIPTOR *)(memory + below(BYTES / sizeof *made) * sizeof *made);
    uint32_t bytes = is_wild() ? (uint32_t)draw() : (uint32_t)below(3000);
    memset(made, 0, sizeof *made);
    made->segments = (uint16_t)(is_wild() ? below(5) : 1);
    made->control = (uint16_t)(is_wild() ? draw() : below(2) * CHASQUI_VIA_CONTROL_IMMEDIATE);
    made->length = is_wild() ? bytes / 2 : bytes;
    for (unsigned i = 0; i < 2; i++)
        made->segment[i] = (struct chasqui_via_segment){address(), is_wild() ? (uint32_t)draw() : handle, bytes};
    return made;
}

static void ring(void)
{
    uint64_t number = is_wild() ? below(2) ? below(8) : ni->settings[CHASQUI_VIA_SETTING_VIS] - 1 : VI;
    uint64_t doorbell = below(2) ? CHASQUI_VIA_DOORBELL_SEND : CHASQUI_VIA_DOORBELL_RECEIVE;
    uint64_t value =
        (uint64_t)handle << CHASQUI_VIA_DOORBELL_HANDLE_SHIFT | (uintptr_t)descriptor() >> CHASQUI_VIA_DESCRIPTOR_SHIFT;
    __asm__ volatile("fence rw, o" : : : "memory");
    *(volatile uint64_t *)(nic.doorbells + number * CHASQUI_VIA_DOORBELL_BYTES + doorbell) = is_wild() ? draw() : value;
    if (below(32) == 0) {
        VipDestroyVi(&vi);
        connect();
    }
}

int main(int argc, char **argv)
{
    int fd;
    ni = chq_platform_open_ni(&fd);
    if (argc < 3 || !ni || ni->device != CHASQUI_VIA_DEVICE)
        return 2;
    state = strtoull(argv[1], NULL, 0) * 64 + ni->rank;
    wildness = 1u << below(9);
    if (VipOpenNic(&nic, ni, fd, vis) != VIP_SUCCESS ||
        VipRegisterMem(&nic, memory, BYTES, below(2), &handle) != VIP_SUCCESS ||
        VipRegisterMem(&nic, entries, sizeof entries, false, &of_entries) != VIP_SUCCESS ||
        VipCreateCQ(&nic, entries, ENTRIES, of_entries, &cq) != VIP_SUCCESS)
        return 3;
    connect();
    for (long left = atol(argv[2]); left > 0; left--) {
        ring();
        for (uint64_t turns = below(400); turns > 0; turns--)
            __asm__ volatile("");
    }
    return 0;
}
