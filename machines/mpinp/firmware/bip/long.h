/* Long messages by the thin firmware, a part of main.c: their data are in pages that the kernel has pinned, of which it has told
 * the card by a word, if all lies in one, or by entries of a table in the host's memory (kernel/agent.c).
 *
 * A process posts a receive (SLOT_POSTS), by name, for one other process. That has a message sent there (SLOT_PUTS): the card
 * fetches it in fragments, one from each message that is sent in turn, and each is a worm. While one leaves the next is fetched.
 * The last has the envelope behind it, which goes to the process's ring when all data are in the host's memory, if they are as
 * many as the receive has room for. An entry is fetched when data that it names move next. */
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
_Static_assert(LONG * (sizeof(struct put) + sizeof(struct landing)) <= CHASQUI_NP_LONG_BYTES, "what the machine keeps room for");

/* What leaves. */
struct fragment {
    struct chasqui_mpinp_head head;
    char data[FRAGMENT];
    struct put *put;
    bool is_last;
};

enum place { HERE, LATER, NOWHERE };

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
static uint32_t landed; /* of the fragment that has come first: so much is in the host's memory */
static uint32_t moving; /* and so much is on its way */

static inline char *long_begin(char *heap, struct process *process)
{
    process->puts = (void *)heap;
    process->landings = (void *)(heap + LONG * sizeof(struct put));
    return heap + CHASQUI_NP_LONG_BYTES;
}

static void long_settings(const struct card *card)
{
    table = np_load(CHASQUI_NP_SETTING_PAGE_TABLE);
    entries = (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRIES) * card->process_count;
    pinned = at(np_load(CHASQUI_NP_SETTING_PINNED));
    uint32_t bytes = PAGE * (uint32_t)np_load(CHASQUI_NP_SETTING_ENTRY_PAGES);
    while (bytes >> entry_log != 1)
        entry_log++;
}

/* --- where data are ------------------------------------------------------------------------------------- */

/* False: the process names what is not its own, or the card may not write it. */
static bool take_memory(uint32_t process, struct memory *memory, const struct chasqui_mpinp_long *from, bool is_written)
{
    *memory = (struct memory){.bytes = from->bytes, .entry = NONE, .first = from->entry};
    if (from->bytes == 0 || from->bytes > INT32_MAX)
        return false;
    memory->offset = from->offset % PAGE;
    if (!from->is_in_page)
        return from->entry < entries;
    if (entries == 0)
        return false;
    uint64_t known = pinned[process * CHASQUI_MPINP_NAMES + from->name];
    memory->entry = 0;
    memory->offset = known % PAGE;
    memory->pages[0] = (uint32_t)((known & ~CHASQUI_MPINP_PINNED_WRITE) / PAGE);
    return known && (!is_written || known & CHASQUI_MPINP_PINNED_WRITE) && from->bytes <= PAGE - memory->offset;
}

/* Where the next data are, up to `bytes` of them. LATER: an entry is being fetched. */
static enum place find(struct card *card, uint32_t process, struct memory *memory, bool is_written, uint64_t *address,
                       uint32_t *bytes)
{
    uint32_t from = memory->offset + memory->moved, number = from >> entry_log;
    if (memory->first == NONE)
        return NOWHERE;
    if (number != memory->entry) {
        entry_for = memory;
        entry_owner = process + 1;
        entry_is_written = is_written;
        card->moves = ENTRY;
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
static bool long_post(const struct card *card, const struct process *process, const struct chasqui_mpinp_head *slot)
{
    struct chasqui_mpinp_long room = long_of(process->slot + sizeof *slot + offsetof(struct chasqui_mpinp_post, room));
    if (room.name < LONG || room.name >= 2 * LONG)
        return false;
    struct landing *landing = &process->landings[room.name - LONG];
    landing->node = slot->node;
    landing->process = slot->process;
    landing->is_posted = take_memory(card->sender, &landing->memory, &room, true);
    return landing->is_posted;
}

/* The slot has a message sent, whose end is the slot's. */
static bool long_put(const struct card *card, const struct process *process, const struct chasqui_mpinp_head *slot)
{
    const volatile char *from = process->slot + sizeof *slot;
    struct chasqui_mpinp_long what = long_of(from);
    struct put *put = &process->puts[what.name % LONG];
    if (what.name >= LONG || put->is_used || what.fragment == 0 || what.fragment > FRAGMENT ||
        !take_memory(card->sender, &put->memory, &what, false))
        return false;
    put->is_used = true;
    put->process = (uint16_t)card->sender;
    put->name = (uint8_t)what.name;
    put->fragment = what.fragment;
    put->head = *slot;
    put->head.to = slot->process;
    put->head.process = put->process;
    put->head.node = card->node;
    put->head.counts = slot->counts | CHASQUI_MPINP_SLOT_FRAGMENT | (uint32_t)what.to << CHASQUI_MPINP_SLOT_NAME_SHIFT;
    put->node = slot->node;
    uint64_t *envelope = (void *)&put->envelope;
    from += slot->bytes + 7u & ~7u;
    for (uint32_t i = 0; i < ENVELOPE / 8; i++)
        envelope[i] = word(from + i * 8);
    put->next = NULL;
    *(first_put ? &last_put->next : &first_put) = put;
    last_put = put;
    return true;
}

/* --- out ------------------------------------------------------------------------------------------------ */

/* The next fragment of the message whose turn it is, if there is one and a place for it. */
static void long_fetch(struct card *card)
{
    struct put *put = first_put;
    if (!put || fetched - left == FRAGMENTS)
        return;
    uint64_t address;
    uint32_t rest = put->memory.bytes - put->memory.moved, bytes = put->fragment < rest ? put->fragment : rest;
    enum place place = find(card, put->process, &put->memory, false, &address, &bytes);
    if (place == LATER)
        return;
    first_put = put->next;
    if (place == NOWHERE)
        return refuse(put->process, CHASQUI_NP_FAULT_ENTRY);
    struct fragment *fragment = &fragments[fetched % FRAGMENTS];
    put->memory.moved += bytes;
    fragment->put = put;
    fragment->is_last = bytes == rest;
    fragment->head = put->head;
    fragment->head.bytes = (uint16_t)bytes;
    if (!fragment->is_last) {
        fragment->head.counts &= ~CHASQUI_MPINP_ARRIVED_MESSAGE;
        put->next = NULL;
        *(first_put ? &last_put->next : &first_put) = put;
        last_put = put;
    }
    card->moves = FETCH;
    card->fetches = false;
    np_store(CHASQUI_NP_HOST_ADDRESS, address);
    np_store(CHASQUI_NP_HOST_LOCAL, local(fragment->data));
    np_store(CHASQUI_NP_HOST_START, bytes);
}

/* A fragment that was fetched leaves. */
static void long_send(struct card *card)
{
    const struct fragment *fragment = &fragments[left % FRAGMENTS];
    uint32_t bytes = (uint32_t)sizeof fragment->head + (fragment->head.bytes + 7u & ~7u);
    carry(&fragment->put->envelope);
    np_store(CHASQUI_NP_SEND_TO, fragment->put->node);
    np_store(CHASQUI_NP_SEND_LOCAL, local(&fragment->head));
    np_store(CHASQUI_NP_SEND_START, fragment->is_last ? bytes : bytes | CHASQUI_NP_SEND_LAST);
    card->sends = card->sends_fragment = true;
    card->is_headed = !fragment->is_last;
}

/* A block of it has left. */
static void long_sent(struct card *card)
{
    const struct fragment *fragment = &fragments[left % FRAGMENTS];
    struct put *put = fragment->put;
    if (!card->is_headed) {
        card->is_headed = true;
        np_store(CHASQUI_NP_SEND_LOCAL, local(&put->envelope));
        np_store(CHASQUI_NP_SEND_START, ENVELOPE | CHASQUI_NP_SEND_LAST);
        return;
    }
    card->sends = card->sends_fragment = false;
    left++;
    if (!fragment->is_last)
        return;
    put->is_used = false;
    processes[put->process].puts_done ^= (uint64_t)1 << put->name;
    card->tells = true;
}

/* --- in ------------------------------------------------------------------------------------------------- */

/* The receive to which it goes; null: there is none from there, or it has no room for so much. */
static struct landing *landing_of(const struct chasqui_mpinp_head *head)
{
    uint32_t name = (head->counts >> CHASQUI_MPINP_SLOT_NAME_SHIFT) - LONG;
    struct landing *landing = &processes[head->to].landings[name % LONG];
    bool is_right = name < LONG && landing->is_posted && landing->node == head->node && landing->process == head->process;
    return is_right && head->bytes - landed <= landing->memory.bytes - landing->memory.moved ? landing : NULL;
}

/* The fragment that has come first: its data move on. True: they have. */
static bool long_land(struct card *card, struct buffer *buffer, struct landing *landing)
{
    uint64_t address;
    uint32_t bytes = buffer->head.bytes - landed;
    if (!landing || bytes == 0)
        return true;
    enum place place = find(card, buffer->head.to, &landing->memory, true, &address, &bytes);
    if (place == LATER)
        return false;
    if (place == NOWHERE) {
        landing->is_posted = false;
        refuse(buffer->head.to, CHASQUI_NP_FAULT_ENTRY);
        return true;
    }
    if (buffer->head.counts & CHASQUI_MPINP_ARRIVED_MESSAGE)
        carry(envelope_of(buffer));
    landing->memory.moved += bytes;
    card->moves = LANDING;
    moving = bytes;
    np_store(CHASQUI_NP_HOST_ADDRESS, address);
    np_store(CHASQUI_NP_HOST_LOCAL, local(buffer->data + landed));
    np_store(CHASQUI_NP_HOST_START, bytes | CHASQUI_NP_HOST_TO_HOST);
    return false;
}

/* It is on the host, and was the message's last: its end follows. */
static void long_end(struct card *card, struct buffer *buffer, struct landing *landing)
{
    struct process *process = &processes[buffer->head.to];
    struct peer *peer = &process->peers[buffer->head.node * card->per_node + buffer->head.process];
    struct chasqui_mpinp_end *end = (void *)envelope_of(buffer);
    /* What was sent after the message may have come before. */
    if ((int32_t)(buffer->head.credit - peer->credited) > 0)
        peer->credited = buffer->head.credit;
    peer->arrived++;
    end->head = buffer->head;
    end->head.bytes = 0;
    if (!landing || landing->memory.moved != landing->memory.bytes)
        end->head.counts &= UINT16_MAX; /* of no receive */
    else
        landing->is_posted = false;
    end->number = ++process->arrived;
    end->sent = process->told = process->sent;
    carry(&end->envelope);
    card->moves = MESSAGE;
    move(process->place + SLOT - END, end, END);
    next_place(card, process);
}

/* What has come first is a fragment. */
static void long_arrived(struct card *card, struct buffer *buffer)
{
    struct landing *landing = landing_of(&buffer->head);
    if (!long_land(card, buffer, landing))
        return;
    landed = 0;
    if (buffer->head.counts & CHASQUI_MPINP_ARRIVED_MESSAGE)
        return long_end(card, buffer, landing);
    card->moved++;
    give_place(card);
}

/* The host's DMA is done with an entry, or a part of a fragment. True: it was that. */
static bool long_moved(struct card *card)
{
    switch (card->moves) {
    case ENTRY: entry_came(); break;
    case FETCH: fetched++; break;
    case LANDING: landed += moving; break;
    default: return false;
    }
    card->moves = NOTHING;
    return true;
}

#endif
