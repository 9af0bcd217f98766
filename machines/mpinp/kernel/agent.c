/* The kernel agent of MPI-NP (section 3.5): pins pages of a process and writes where they are to what the card reads and no
 * process maps, entries of the node's page table, or, where all lies in one page, a word of the card's memory. Requests name
 * entries, and the card checks whose they are.
 *
 * Each process has a share of the entries. Those of a name are a ring: what is longer than they reach goes on when the first
 * of them are done with. The simulator never takes a page from a process, and gives none of one process to another, or to the
 * process's page tables: a process that gives up memory while the card moves its data harms itself alone. What pinning costs
 * here is the walk through page tables, pages that are brought in, and entries. */
#include "agent.h"

#define NONE UINT32_MAX

/* What is pinned for a name. */
struct pin {
    uint64_t address, bytes;
    uint32_t first, last, count; /* of the ring; no entries: all is in one page */
    uint32_t valid; /* entries that have named pages, of all until now */
    uint32_t next; /* of the ring: the entry that names others next */
    bool is_used, is_written;
};

/* Of the process. */
static struct pin *pins_of[PROCESSES];
static struct entries {
    uint32_t free; /* the first of entries that came back; each names the next */
    uint32_t count, fresh; /* those that are free, and those that never were in use, as far as that */
} stocks[PROCESSES];
#define pins (pins_of[process_here])
#define stock (stocks[process_here])

/* --- entries --------------------------------------------------------------------------------------------- */

static uint32_t entry_take(void)
{
    stock.count--;
    if (stock.free == NONE)
        return entries_begin() + stock.fresh++;
    uint32_t number = stock.free;
    stock.free = entry_at(number)->next;
    return number;
}

static void entry_give(uint32_t number)
{
    volatile struct chasqui_mpinp_entry *entry = entry_at(number);
    entry->owner = 0;
    entry->next = stock.free;
    stock.free = number;
    stock.count++;
}

/* Entries that all of it takes. */
static uint64_t entries_for(const struct pin *pin)
{
    return (pin->address % PAGE_BYTES + pin->bytes + bytes_of_entry() - 1) / bytes_of_entry();
}

/* Entries that a part of a message may lie in: the card needs so many at a time. */
static uint32_t entries_of_part(void)
{
    uint32_t pages = CHASQUI_MPINP_PART_BYTES / PAGE_BYTES + 1;
    return setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES) == 1 ? pages : 2;
}

/* The entry names the next pages of what is pinned, unless some of them are not there, or not to be written. */
static bool entry_fill(struct pin *pin, uint32_t number)
{
    volatile struct chasqui_mpinp_entry *entry = entry_at(number);
    uint64_t page = pin->address / PAGE_BYTES * PAGE_BYTES + pin->valid * bytes_of_entry();
    uint64_t end = pin->address + pin->bytes;
    for (unsigned i = 0; i < setting(CHASQUI_MPINP_SETTING_ENTRY_PAGES); i++, page += PAGE_BYTES) {
        uint64_t physical = page < end ? user_physical(page, pin->is_written) : 0;
        if (page < end && !physical)
            return false;
        entry->pages[i] = (uint32_t)(physical / PAGE_BYTES); /* 0: none */
    }
    entry->flags = pin->is_written ? CHASQUI_MPINP_ENTRY_WRITE : 0;
    entry->owner = (uint16_t)(process_here + 1);
    pin->valid++;
    return true;
}

/* --- what lies in one page --------------------------------------------------------------------------------- */

static void card_knows(const struct pin *pin, uint64_t word)
{
    uint64_t name = (uint64_t)(pin - pins) + process_here * CHASQUI_MPINP_NAMES;
    ni_store(setting(CHASQUI_MPINP_SETTING_PINNED) + name * sizeof word, word);
}

static int64_t pin_page(struct pin *pin)
{
    uint64_t physical = user_physical(pin->address, pin->is_written);
    if (!physical)
        return -EFAULT;
    card_knows(pin, physical | (pin->is_written ? CHASQUI_MPINP_PINNED_WRITE : 0));
    return 0;
}

/* --- pinning --------------------------------------------------------------------------------------------- */

static void give_ring(struct pin *pin)
{
    for (uint32_t number = pin->first; pin->count > 0; pin->count--) {
        uint32_t next = entry_at(number)->next;
        entry_give(number);
        number = next;
    }
}

/* As far as there are entries, and pages: the first part of a message at least. */
static int64_t pin_pages(struct pin *pin, uint32_t left)
{
    uint64_t needed = entries_for(pin), room = stock.count > left ? stock.count - left : 0;
    uint64_t least = needed < entries_of_part() ? needed : entries_of_part();
    if (room < least)
        return -ENOMEM;
    for (; pin->count < needed && pin->count < room; pin->count++) {
        uint32_t number = entry_take();
        if (!entry_fill(pin, number)) {
            entry_give(number);
            break;
        }
        if (pin->count > 0)
            entry_at(pin->last)->next = number;
        else
            pin->first = pin->next = number;
        pin->last = number;
    }
    if (pin->count > 0)
        entry_at(pin->last)->next = pin->first;
    if (pin->count < needed)
        pager_clear((uint32_t)(pin - pins));
    if (pin->count >= least)
        return 0;
    give_ring(pin);
    return -EFAULT;
}

static int64_t pin_memory(uint64_t argument)
{
    struct chasqui_mpinp_pin asked;
    if (copy_from_user(&asked, argument, sizeof asked))
        return -EFAULT;
    if (asked.name >= CHASQUI_MPINP_NAMES || pins[asked.name].is_used || asked.bytes == 0 ||
        asked.address + asked.bytes < asked.address)
        return -EINVAL;
    struct pin *pin = &pins[asked.name];
    *pin = (struct pin){
        .address = asked.address, .bytes = asked.bytes, .is_written = asked.flags & CHASQUI_MPINP_PIN_WRITE};
    bool is_in_page = asked.address % PAGE_BYTES + asked.bytes <= PAGE_BYTES;
    int64_t result = is_in_page ? pin_page(pin) : pin_pages(pin, asked.left);
    if (result)
        return result;
    pin->is_used = true;
    asked.first = pin->first;
    asked.valid = pin->valid;
    return copy_to_user(argument, &asked, sizeof asked) ? -EFAULT : 0;
}

/* Entries that are done with name what comes behind those that the ring has named. */
static inline int64_t pin_next(struct chasqui_mpinp_pin *asked)
{
    if (asked->name >= CHASQUI_MPINP_NAMES || !pins[asked->name].is_used || asked->left > pins[asked->name].valid)
        return -EINVAL;
    struct pin *pin = &pins[asked->name];
    uint32_t before = pin->valid;
    while (pin->valid < asked->left + pin->count && pin->valid < entries_for(pin)) {
        if (!entry_fill(pin, pin->next)) {
            if (pin->valid == before)
                return -EFAULT;
            break;
        }
        pin->next = entry_at(pin->next)->next;
    }
    asked->valid = pin->valid;
    return 0;
}

static int64_t pin_more(uint64_t argument)
{
    struct chasqui_mpinp_pin asked;
    if (copy_from_user(&asked, argument, sizeof asked))
        return -EFAULT;
    int64_t result = pin_next(&asked);
    if (result)
        return result;
    return copy_to_user(argument, &asked, sizeof asked) ? -EFAULT : 0;
}

static void release(struct pin *pin)
{
    if (pin->count > 0)
        give_ring(pin);
    else
        card_knows(pin, 0);
    pin->is_used = false;
}

static int64_t unpin(uint64_t name)
{
    if (name >= CHASQUI_MPINP_NAMES || !pins[name].is_used)
        return -EINVAL;
    release(&pins[name]);
    return 0;
}

/* The process's part, with its first call. Without entries the card has no words for what is pinned either: its firmware lies
 * where they would be. */
SELDOM static bool begin_process(void)
{
    if (setting(CHASQUI_MPINP_SETTING_ENTRIES) == 0)
        return false;
    pins = memory_take_for(process_here, CHASQUI_MPINP_NAMES * sizeof *pins);
    if (!pins)
        return false;
    memory_clear(pins, CHASQUI_MPINP_NAMES * sizeof *pins);
    uint32_t kept = (uint32_t)setting(CHASQUI_MPINP_SETTING_KEPT); /* cache.c */
    stock =
        (struct entries){.free = NONE, .count = (uint32_t)setting(CHASQUI_MPINP_SETTING_ENTRIES) - kept, .fresh = kept};
    pager_begin();
    return true;
}

static int64_t agent_control(uint64_t request, uint64_t argument)
{
    if (!pins && !begin_process())
        return -ENOMEM;
    switch (request) {
    case CHASQUI_MPINP_CONTROL_PIN: return pin_memory(argument);
    case CHASQUI_MPINP_CONTROL_PIN_MORE: return pin_more(argument);
    case CHASQUI_MPINP_CONTROL_UNPIN: return unpin(argument);
    case CHASQUI_MPINP_CONTROL_KEEP_OPEN: return cache_open(argument);
    case CHASQUI_MPINP_CONTROL_KEEP: return cache_keep(argument);
    default: return wait_control(request, argument);
    }
}

#ifdef BY_THREAD

bool agent_has_more(uint64_t process, uint32_t name)
{
    const struct pin *pin = &pins_of[process][name];
    return pin->is_used && pin->count > 0 && pin->valid < entries_for(pin);
}

uint32_t agent_pin_more(uint32_t name, uint32_t done)
{
    struct chasqui_mpinp_pin asked = {.name = name, .left = done};
    uint32_t before = pins[name].valid;
    if (pin_next(&asked))
        return CHASQUI_MPINP_PAGED_REFUSED;
    return asked.valid > before ? asked.valid : 0;
}

#endif

/* --- memory that the process gives up ----------------------------------------------------------------------- */

/* What is pinned of it names nothing any more: the card that finds so stops the process. */
static void make_void(struct pin *pin)
{
    if (pin->count == 0)
        card_knows(pin, 0);
    uint32_t number = pin->first;
    for (uint32_t i = 0; i < pin->count; i++) {
        entry_at(number)->owner = 0;
        number = entry_at(number)->next;
    }
}

static void agent_unmapped(uint64_t address, uint64_t bytes)
{
    uint64_t end = (address + bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    for (unsigned name = 0; pins && name < CHASQUI_MPINP_NAMES; name++)
        if (pins[name].is_used && pins[name].address < end && pins[name].address + pins[name].bytes > address)
            make_void(&pins[name]);
    cache_unmapped(address, bytes);
}

/* The process ends: nothing of it is pinned any more. */
static bool agent_outlives(void)
{
    for (unsigned name = 0; pins && name < CHASQUI_MPINP_NAMES; name++)
        if (pins[name].is_used)
            release(&pins[name]);
    cache_end();
    return false;
}

static bool agent_start(void) { return agent_serves(boot.ni.device); }

static const struct driver agent = {.start = agent_start,
                                    .interrupt = AGENT_INTERRUPT,
                                    .control = agent_control,
                                    .unmapped = agent_unmapped,
                                    .outlives = agent_outlives};
DRIVER driver_mpinp = &agent;
