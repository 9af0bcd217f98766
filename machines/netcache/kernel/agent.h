/* The kernel agent of VIA (Virtual Interface Architecture Specification 1.0, 2.1 and 2.4): registers memory, makes queues and
 * VIs, connects them, and lets a process sleep until a completion queue has an entry. Data go past it.
 *
 * As M-VIA's, whose kernel agent is the same over all its device drivers, it stands over a NIC that may be hardware (via.c) or
 * the kernel itself (mvia.c). */
#ifndef AGENT_H
#define AGENT_H

#include "kernel.h"
#include "via/registers.h"

enum { QUEUES_MAX = 16 }; /* of a process */

/* What a NIC is to the agent. Entries of its table, queues and VIs are numbered through all processes of the node. */
struct via_nic {
    /* Both words of an entry of the translation and protection table, as CHASQUI_VIA_TABLE_PAGE and _TAG have them. */
    void (*set_page)(uint64_t entry, uint64_t page, uint64_t tag);
    void (*set_queue)(uint64_t number, const struct chasqui_via_queue *queue); /* without entries: there is none */
    /* A VI that is not connected and has nothing posted: a new one, or the one that has this number. False: there is no
     * memory for it. */
    bool (*create)(uint64_t vi);
    void (*destroy)(uint64_t vi);
    void (*set_vi)(uint64_t vi, uint32_t tag, uint32_t send_queue, uint32_t receive_queue);
    void (*connect)(uint64_t vi, uint32_t node, uint32_t remote);
    /* False: via_wake() is called once the queue has more than so many entries. True: it has. */
    bool (*arm)(uint64_t queue, uint32_t consumed);
};

void via_begin(const struct via_nic *nic);
void via_wake(void); /* who sleeps looks again */

/* Of the driver. */
int64_t via_control(uint64_t request, uint64_t argument);
/* The process gives memory back: what is registered of it is so no more, and the process can see that it was so. */
void via_unmapped(uint64_t address, uint64_t bytes);

static inline uint64_t via_setting(unsigned number) { return boot.ni.settings[number]; }

#endif
