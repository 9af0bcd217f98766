/* Long messages by the thin firmware, a part of main.c: their data are in pages that the kernel has pinned, of which it has told
 * the card by a word, if all lies in one, or by entries of a table in the host's memory (kernel/agent.c).
 *
 * A process posts a receive (SLOT_POSTS), by name, for one other process. That has a message sent there (SLOT_PUTS): the card
 * fetches it in fragments, one from each message that is sent in turn, and each is a worm. While one leaves the next is fetched.
 * The last has the envelope behind it, which goes to the process's ring when all data are in the host's memory, if they are as
 * many as the receive has room for. An entry is fetched when data that it names move next.
 *
 * Its state is here, and no function has a pointer to the card's: so that stays in registers. */
#ifndef LONG_H
#define LONG_H

#define LONG CHASQUI_MPINP_LONG
#define PAGE 4096u
#define NONE UINT32_MAX
#define FRAGMENTS 2 /* that leave: a power of two */

/* Pinned memory of a process, and how much of it has moved. */
struct memory {
    uint32_t first, next; /* numbers in the table: of its first entry, and of the one behind `entry` */
    uint32_t entry; /* which of its entries `pages` are */
    uint32_t offset; /* of its begin in the first page */
    uint32_t bytes, moved;
    uint32_t pages[CHASQUI_MPINP_ENTRY_PAGES_MAX];
};

struct landing {
    struct memory memory;
    uint16_t node, process; /* from which it comes */
    bool is_posted;
};

struct put {
    struct put *next; /* that is sent */
    struct memory memory;
    struct chasqui_mpinp_head head;
    struct chasqui_envelope envelope;
    uint16_t fragment, process, node; /* its process, and the node to which it goes */
    uint8_t name;
    bool is_used;
};
_Static_assert(LONG * (sizeof(struct put) + sizeof(struct landing)) <= CHASQUI_NP_LONG_BYTES,
               "what the machine keeps room for");

/* Of a process. */
struct longs {
    struct put *puts; /* by name */
    struct landing *landings; /* likewise */
    uint64_t done, told; /* HOST_PUTS: as it is, and as the process's software was told */
};

/* What leaves. */
struct fragment {
    struct chasqui_mpinp_head head;
    char data[FRAGMENT];
    struct put *put;
    bool is_last;
};

enum place { HERE, LATER, NOWHERE };

/* What is sent of a fragment: all, a message's last one, of that the envelope. */
enum stage { NO_FRAGMENT, WHOLE, LAST, ITS_END };

static struct longs longs[CHASQUI_NP_PROCESSES_MAX];
static struct fragment fragments[FRAGMENTS];
static uint32_t fetched, left; /* fragments: from the host's memory, and those of them that have left */
static struct put *first_put, *last_put; /* of which fragments are to be fetched */
static struct chasqui_mpinp_entry entry; /* that was fetched last */
static struct memory *entry_for;
static uint32_t entry_owner; /* its process */
static bool entry_is_written; /* the card is to write the pages */
static uint32_t entries, entry_log; /* of all processes, and bytes of what one names, as a power of two */
static uint64_t table; /* physical address */
static volatile uint64_t *pinned; /* what lies in one page, by process and name */
static enum stage stage;
static bool is_first; /* a fragment is sent before a slot is */
static bool has_waited; /* one is fetched before what has come moves on */
static uint32_t untold; /* messages that have left, of which their processes were not told */
static uint32_t
    under_way; /* receives that are posted, and messages of which their processes were not told that they have left */
static uint32_t landed; /* of the fragment that has come first: so much is in the host's memory */
static uint32_t moving; /* and so much is on its way */

static inline char *long_begin(char *heap, uint32_t process)
{
    longs[process].puts = (void *)heap;
    longs[process].landings = (void *)(heap + LONG * sizeof(struct put));
    return heap + CHASQUI_NP_LONG_BYTES;
}

static void long_settings(uint32_t process_count)
{
    table = np_load(CHASQUI_NP_SETTING_PAGE_TABLE);
    entries = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRIES) * process_count;
    if (entries > 0)
        slot_bits = SLOT_BITS;
    pinned = at(np_load(CHASQUI_NP_SETTING_PINNED));
    uint32_t bytes = PAGE * (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRY_PAGES);
    while (bytes >> entry_log != 1)
        entry_log++;
}

/* --- where data are ------------------------------------------------------------------------------------- */

/* False: the process names what is not its own, or the card may not write it. */
static bool take_memory(uint32_t process, struct memory *memory, const struct chasqui_mpinp_long *from, bool is_written)
{
    memory->first = from->entry;
    memory->entry = NONE;
    memory->bytes = from->bytes;
    memory->moved = 0;
    if (from->bytes == 0 || from->bytes > INT32_MAX)
        return false;
    memory->offset = from->offset % PAGE;
    if (!from->is_in_page)
        return from->entry < entries;
    if (entries == 0)
        return false;
    uint64_t known = pinned[kernel_number(process) * CHASQUI_MPINP_NAMES + from->name];
    memory->entry = 0;
    memory->offset = known % PAGE;
    memory->pages[0] = (uint32_t)((known & ~CHASQUI_MPINP_PINNED_WRITE) / PAGE);
    return known && (!is_written || known & CHASQUI_MPINP_PINNED_WRITE) && from->bytes <= PAGE - memory->offset;
}

/* Where the next data are, up to `bytes` of them. LATER: an entry is being fetched. */
static enum place find(uint32_t process, struct memory *memory, bool is_written, uint64_t *address, uint32_t *bytes)
{
    uint32_t from = memory->offset + memory->moved, number = from >> entry_log;
    if (memory->first == NONE)
        return NOWHERE;
    if (number != memory->entry) {
        entry_for = memory;
        entry_owner = kernel_number(process) + 1;
        entry_is_written = is_written;
        np_store(CHASQUI_NP_HOST_ADDRESS,
                 table + (memory->entry == NONE ? memory->first : memory->next) * sizeof entry);
        np_store(CHASQUI_NP_HOST_LOCAL, local(&entry));
        np_store(CHASQUI_NP_HOST_START, sizeof entry);
        return LATER;
    }
    uint32_t page = memory->pages[from / PAGE & ((1u << entry_log) / PAGE - 1)];
    if (!page)
        return NOWHERE;
    uint32_t rest = PAGE - from % PAGE;
    *address = (uint64_t)page * PAGE | from % PAGE;
    *bytes = *bytes < rest ? *bytes : rest;
    return HERE;
}

static void entry_came(void)
{
    struct memory *memory = entry_for;
    if (entry.owner != entry_owner || entry.next >= entries ||
        (entry_is_written && !(entry.flags & CHASQUI_MPINP_ENTRY_WRITE))) {
        memory->first = NONE;
        return;
    }
    memory->entry = memory->entry == NONE ? 0 : memory->entry + 1;
    memory->next = entry.next;
    for (uint32_t i = 0; i < CHASQUI_MPINP_ENTRY_PAGES_MAX; i++)
        memory->pages[i] = entry.pages[i];
}

/* --- slots ---------------------------------------------------------------------------------------------- */

/* What the slot's data say of memory; the process may change them meanwhile. */
static struct chasqui_mpinp_long long_of(const volatile char *from)
{
    const uint64_t words[] = {word(from), word(from + 8), word(from + 16)};
    struct chasqui_mpinp_long found;
    _Static_assert(sizeof found == sizeof words, "all of it");
    __builtin_memcpy(&found, words, sizeof found);
    return found;
}

/* The slot posts a receive, with a message to the other process. */
static ALWAYS bool long_post(uint32_t sender, uint16_t node, uint16_t other)
{
    struct chasqui_mpinp_long room =
        long_of(processes[sender].slot + sizeof head + offsetof(struct chasqui_mpinp_post, room));
    if (room.name < LONG || room.name >= 2 * LONG)
        return false;
    struct landing *landing = &longs[sender].landings[room.name - LONG];
    if (landing->is_posted || !take_memory(sender, &landing->memory, &room, true))
        return false;
    landing->node = node;
    landing->process = other;
    landing->is_posted = true;
    under_way++;
    return true;
}

/* The slot has a message sent, whose end is the slot's. */
static ALWAYS bool long_put(uint32_t sender, uint16_t node, struct chasqui_mpinp_head slot)
{
    const volatile char *from = processes[sender].slot + sizeof slot;
    struct chasqui_mpinp_long what = long_of(from);
    struct put *put = &longs[sender].puts[what.name % LONG];
    if (what.name >= LONG || put->is_used || what.fragment < CHASQUI_MPINP_FRAGMENT_MIN || what.fragment > FRAGMENT ||
        !take_memory(sender, &put->memory, &what, false))
        return false;
    put->is_used = true;
    under_way++;
    put->process = (uint16_t)sender;
    put->name = (uint8_t)what.name;
    put->fragment = what.fragment;
    put->head = slot;
    put->head.to = slot.process;
    put->head.process = put->process;
    put->head.node = node;
    put->head.counts = slot.counts | CHASQUI_MPINP_SLOT_FRAGMENT | (uint32_t)what.to << CHASQUI_MPINP_SLOT_NAME_SHIFT;
    put->node = slot.node;
    uint64_t *envelope = (void *)&put->envelope;
    from += slot.bytes + 7u & ~7u;
    for (uint32_t i = 0; i < ENVELOPE / 8; i++)
        envelope[i] = word(from + i * 8);
    put->next = NULL;
    *(first_put ? &last_put->next : &first_put) = put;
    last_put = put;
    return true;
}

/* --- out ------------------------------------------------------------------------------------------------ */

/* The next fragment of the message whose turn it is. What the host's DMA does then. */
static enum moved fetch_fragment(struct put *put)
{
    uint64_t address;
    uint32_t rest = put->memory.bytes - put->memory.moved, bytes = put->fragment < rest ? put->fragment : rest;
    enum place place = find(put->process, &put->memory, false, &address, &bytes);
    if (place == LATER)
        return ENTRY;
    first_put = put->next;
    if (place == NOWHERE) {
        under_way--;
        refuse(put->process, CHASQUI_NP_FAULT_ENTRY);
        return NOTHING;
    }
    struct fragment *fragment = &fragments[fetched % FRAGMENTS];
    put->memory.moved += bytes;
    fragment->put = put;
    fragment->is_last = bytes == rest;
    fragment->head = put->head;
    fragment->head.bytes = (uint16_t)bytes;
    has_waited = false;
    if (!fragment->is_last) {
        fragment->head.counts &= ~CHASQUI_MPINP_ARRIVED_MESSAGE;
        put->next = NULL;
        *(first_put ? &last_put->next : &first_put) = put;
        last_put = put;
    }
    np_store(CHASQUI_NP_HOST_ADDRESS, address);
    np_store(CHASQUI_NP_HOST_LOCAL, local(fragment->data));
    np_store(CHASQUI_NP_HOST_START, bytes);
    return FETCH;
}

/* The same, if there is one and a place for it. It is asked before and behind what has come: that may move on once before each
 * fragment for which there is a place. */
static ALWAYS enum moved long_fetch(bool is_before)
{
    struct put *put = first_put;
    if (!put || fetched - left == FRAGMENTS)
        return NOTHING;
    bool goes = has_waited || !is_before;
    has_waited = true;
    return goes ? fetch_fragment(put) : NOTHING;
}

/* A fragment leaves, if one was fetched. */
static ALWAYS bool long_sends(void)
{
    if (fetched == left)
        return false;
    const struct fragment *fragment = &fragments[left % FRAGMENTS];
    uint32_t bytes = (uint32_t)sizeof fragment->head + (fragment->head.bytes + 7u & ~7u);
    carry(&fragment->put->envelope);
    np_store(CHASQUI_NP_SEND_TO, fragment->put->node);
    np_store(CHASQUI_NP_SEND_LOCAL, local(&fragment->head));
    np_store(CHASQUI_NP_SEND_START, fragment->is_last ? bytes : bytes | CHASQUI_NP_SEND_LAST);
    stage = fragment->is_last ? LAST : WHOLE;
    is_first = false;
    return true;
}

/* The same, before a slot, every other time. */
static inline bool long_sends_first(void)
{
    bool was_first = is_first;
    is_first = true;
    return was_first && long_sends();
}

/* What is sent is a fragment. */
static inline bool long_is_sent(void) { return stage != NO_FRAGMENT; }

/* A block of it has left. False: that was all. */
static ALWAYS bool long_sent(void)
{
    const struct fragment *fragment = &fragments[left % FRAGMENTS];
    struct put *put = fragment->put;
    if (stage == LAST) {
        np_store(CHASQUI_NP_SEND_LOCAL, local(&put->envelope));
        np_store(CHASQUI_NP_SEND_START, ENVELOPE | CHASQUI_NP_SEND_LAST);
        stage = ITS_END;
        return true;
    }
    left++;
    if (stage == ITS_END) {
        put->is_used = false;
        longs[put->process].done ^= (uint64_t)1 << put->name;
        untold++;
    }
    stage = NO_FRAGMENT;
    return false;
}

/* The process is told of its messages that have left, if it does not know. */
static ALWAYS bool long_tell(uint32_t process)
{
    struct longs *of = &longs[process];
    if (untold == 0 || of->done == of->told)
        return false;
    for (uint64_t changed = of->done ^ of->told; changed; changed &= changed - 1)
        untold--, under_way--;
    count = of->told = of->done;
    move(processes[process].host + CHASQUI_MPINP_HOST_PUTS, &count, sizeof count);
    return true;
}

/* No receive is posted, and no message on its way of which its process has not been told that it has left; and no fragment of one
 * that was given up. */
static inline bool long_is_over(void) { return under_way == 0 && fetched == left; }

/* --- in ------------------------------------------------------------------------------------------------- */

/* The receive to which it goes; null: there is none from there, or it has no room for so much. */
static struct landing *landing_of(const struct chasqui_mpinp_head *head)
{
    uint32_t name = (head->counts >> CHASQUI_MPINP_SLOT_NAME_SHIFT) - LONG;
    struct landing *landing = &longs[head->to].landings[name % LONG];
    bool is_right =
        name < LONG && landing->is_posted && landing->node == head->node && landing->process == head->process;
    return is_right && head->bytes - landed <= landing->memory.bytes - landing->memory.moved ? landing : NULL;
}

/* Nothing more comes to it. */
static inline void close(struct landing *landing)
{
    landing->is_posted = false;
    under_way--;
}

/* Nothing more is fetched for processes that were refused, and nothing delivered. */
static __attribute__((noinline)) void long_forget(uint32_t process_count)
{
    has_refused = false;
    for (uint32_t i = 0; i < process_count; i++)
        for (uint32_t name = 0; name < LONG && processes[i].is_refused; name++)
            if (longs[i].landings[name].is_posted)
                close(&longs[i].landings[name]);
    struct put **link = &first_put, *put;
    while ((put = *link)) {
        if (processes[put->process].is_refused) {
            *link = put->next;
            under_way--;
            continue;
        }
        last_put = put;
        link = &put->next;
    }
}

/* It is on the host, and was the message's last: its end follows. */
static void long_end(struct buffer *buffer, struct landing *landing, struct peer *peer)
{
    struct process *process = &processes[buffer->head.to];
    struct chasqui_mpinp_end *end = (void *)envelope_of(buffer);
    /* What was sent after the message may have come before. */
    if ((int32_t)(buffer->head.credit - peer->credited) > 0)
        peer->credited = buffer->head.credit;
    peer->arrived++;
    end->head = buffer->head;
    name_in_job(&end->head);
    end->head.bytes = 0;
    if (!landing || landing->memory.moved != landing->memory.bytes)
        end->head.counts &= UINT16_MAX; /* of no receive */
    else
        close(landing);
    end->number = ++process->arrived;
    end->sent = process->told = process->sent;
    carry(&end->envelope);
    move(process->place + SLOT - END, end, END);
}

/* What has come first is a fragment of the peer's. What the host's DMA does then; NOTHING: with the fragment it is done. */
static ALWAYS enum moved long_arrived(struct buffer *buffer, struct peer *peer)
{
    struct landing *landing = landing_of(&buffer->head);
    bool is_last = buffer->head.counts & CHASQUI_MPINP_ARRIVED_MESSAGE;
    uint64_t address;
    uint32_t bytes = buffer->head.bytes - landed;
    if (landing && bytes > 0) {
        enum place place = find(buffer->head.to, &landing->memory, true, &address, &bytes);
        if (place == LATER)
            return ENTRY;
        if (place == HERE) {
            if (is_last)
                carry(envelope_of(buffer));
            landing->memory.moved += bytes;
            moving = bytes;
            np_store(CHASQUI_NP_HOST_ADDRESS, address);
            np_store(CHASQUI_NP_HOST_LOCAL, local(buffer->data + landed));
            np_store(CHASQUI_NP_HOST_START, bytes | CHASQUI_NP_HOST_TO_HOST);
            return LANDING;
        }
        close(landing);
        refuse(buffer->head.to, CHASQUI_NP_FAULT_ENTRY);
    }
    landed = 0;
    if (!is_last)
        return NOTHING;
    long_end(buffer, landing, peer);
    return MESSAGE;
}

/* The host's DMA is done with an entry, or a part of a fragment. */
static ALWAYS void long_moved(enum moved moved)
{
    if (moved == ENTRY)
        entry_came();
    else if (moved == FETCH)
        fetched++;
    else
        landed += moving;
}

#endif
