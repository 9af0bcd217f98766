/* The kernel agent of the VIA NIC (Virtual Interface Architecture Specification 1.0, 2.1 and 2.4): registers memory,
 * makes queues and VIs, connects them, and lets the process sleep until a completion queue has an entry. Data go past it.
 *
 * Each process has a part of the NIC's table, of its queues and VIs, and numbers them from 0 on; the NIC numbers those of
 * all processes, one process after the other. A process has a protection tag of its own.
 *
 * Connecting exchanges nothing: both sides name each other's VI, and what comes before one of them has done so is
 * refused by the NIC and sent again. */
#include "kernel.h"
#include "via/registers.h"

/* The process's protection tag. */
#define TAG ((uint32_t)process_here + 1u)

/* Entries of the translation table in a row that belong together; kept for the first of them. */
struct run {
    uint64_t address; /* of the first page; unused: 0 */
    uint32_t pages;
    bool is_used;
};

/* Of the process. */
static struct run *runs_of[PROCESSES];
static uint32_t run_end_of[PROCESSES];        /* entries below have been used */
static uint64_t count_at_of[PROCESSES];       /* physical address of the word that counts them; 0: not in use */
#define runs (runs_of[process_here])
#define run_end (run_end_of[process_here])
#define count_at (count_at_of[process_here])

static struct queue waiters; /* of all processes: each looks whether the event was its own */

static uint64_t setting(unsigned number) { return boot.ni.settings[number]; }

/* The NIC's number of what is number `own` of the process's; each has as many as the setting says. */
static uint64_t of_all(uint64_t own, unsigned each) { return process_here * setting(each) + own; }

/* --- the translation and protection table --------------------------------------------------------------- */

static void store_entry(uint32_t entry, uint64_t page, uint64_t tag)
{
    uint64_t at = CHASQUI_VIA_TABLE + of_all(entry, CHASQUI_VIA_SETTING_PAGES) * CHASQUI_VIA_TABLE_BYTES;
    ni_store(at + CHASQUI_VIA_TABLE_TAG, tag);
    ni_store(at + CHASQUI_VIA_TABLE_PAGE, page);
}

/* A run that is free takes in those behind it that are, too. */
static void join(struct run *run)
{
    while (run + run->pages < runs + run_end && !run[run->pages].is_used)
        run->pages += run[run->pages].pages;
}

/* The first run of so many entries; ~0: there is none. */
static uint32_t take_run(uint32_t pages, uint64_t address)
{
    uint32_t entry = 0;
    for (; entry < run_end; entry += runs[entry].pages) {
        if (runs[entry].is_used)
            continue;
        join(&runs[entry]);
        if (runs[entry].pages >= pages)
            break;
    }
    if (entry == run_end) {
        if (pages > setting(CHASQUI_VIA_SETTING_PAGES) - run_end)
            return ~0u;
        run_end += pages;
    } else if (runs[entry].pages > pages) {
        runs[entry + pages] = (struct run){.pages = runs[entry].pages - pages};
    }
    runs[entry] = (struct run){.address = address, .pages = pages, .is_used = true};
    return entry;
}

static void free_run(uint32_t entry)
{
    struct run *run = &runs[entry];
    for (uint32_t page = 0; page < run->pages; page++)
        store_entry(entry + page, 0, 0);
    run->is_used = false;
}

/* The entry of a page: physical address and rights. 0: there is no such page. Pages stay where they are. */
static uint64_t page_word(uint64_t address, uint32_t access)
{
    uint64_t physical = user_physical(address, true);
    if (physical)
        return physical | CHASQUI_VIA_TABLE_VALID | CHASQUI_VIA_TABLE_WRITE | access;
    physical = user_physical(address, false);
    return physical ? physical | CHASQUI_VIA_TABLE_VALID : 0;
}

static int64_t register_memory(uint64_t argument)
{
    struct chasqui_via_memory memory;
    if (copy_from_user(&memory, argument, sizeof memory))
        return -EFAULT;
    if (memory.tag != TAG || memory.bytes == 0 || memory.address + memory.bytes < memory.address)
        return -EINVAL;
    uint64_t first = memory.address / PAGE_BYTES, last = (memory.address + memory.bytes - 1) / PAGE_BYTES;
    if (last - first >= setting(CHASQUI_VIA_SETTING_PAGES))
        return -ENOMEM;
    uint32_t entry = take_run((uint32_t)(last - first + 1), first * PAGE_BYTES);
    if (entry == ~0u)
        return -ENOMEM;
    for (uint64_t page = first; page <= last; page++) {
        uint64_t word = page_word(page * PAGE_BYTES, memory.access & CHASQUI_VIA_TABLE_RDMA_WRITE);
        if (!word) {
            free_run(entry);
            return -EFAULT;
        }
        store_entry(entry + (uint32_t)(page - first), word, TAG | page << 32);
    }
    memory.handle = (uint32_t)of_all(entry, CHASQUI_VIA_SETTING_PAGES) - (uint32_t)first;
    return copy_to_user(argument, &memory, sizeof memory) ? -EFAULT : 0;
}

static int64_t deregister_memory(uint64_t argument)
{
    struct chasqui_via_memory memory;
    if (copy_from_user(&memory, argument, sizeof memory))
        return -EFAULT;
    uint32_t first = (uint32_t)(memory.address / PAGE_BYTES), entry = 0;
    uint32_t wanted = memory.handle + first - (uint32_t)of_all(0, CHASQUI_VIA_SETTING_PAGES);
    while (entry < run_end && entry != wanted)
        entry += runs[entry].pages;
    if (entry >= run_end || !runs[entry].is_used || runs[entry].address / PAGE_BYTES != memory.address / PAGE_BYTES)
        return -EINVAL;
    free_run(entry);
    return 0;
}

/* The process gives memory back: what is registered of it is so no more, and the process can see that it was so. */
static void unmapped(uint64_t address, uint64_t bytes)
{
    for (uint32_t entry = 0; entry < run_end; entry += runs[entry].pages) {
        const struct run *run = &runs[entry];
        if (!run->is_used || address + bytes <= run->address || run->address + run->pages * PAGE_BYTES <= address)
            continue;
        free_run(entry);
        if (count_at)
            ++*(volatile uint64_t *)of_physical(count_at);
    }
}

/* --- queues and VIs --------------------------------------------------------------------------------------- */

static int64_t open_nic(uint64_t argument)
{
    struct chasqui_via_open open;
    if (copy_from_user(&open, argument, sizeof open))
        return -EFAULT;
    open.tag = TAG;
    count_at = open.invalidations ? user_physical(open.invalidations, true) : 0;
    if ((open.invalidations && !count_at) || open.invalidations % sizeof(uint64_t))
        return -EFAULT;
    return copy_to_user(argument, &open, sizeof open) ? -EFAULT : 0;
}

/* In use, by number. */
enum { QUEUES_MAX = 16 };
static bool queue_is_used_of[PROCESSES][QUEUES_MAX];
#define queue_is_used (queue_is_used_of[process_here])

static bool is_queue(uint64_t number) { return number < QUEUES_MAX && queue_is_used[number]; }

static uint64_t queue_register(uint64_t number, uint64_t offset)
{
    return CHASQUI_VIA_QUEUES + of_all(number, CHASQUI_VIA_SETTING_QUEUES) * CHASQUI_VIA_QUEUE_BYTES + offset;
}

static int64_t create_queue(uint64_t argument)
{
    struct chasqui_via_queue queue;
    if (copy_from_user(&queue, argument, sizeof queue))
        return -EFAULT;
    bool is_aligned = queue.address % sizeof(struct chasqui_via_entry) == 0;
    if (queue.tag != TAG || queue.entries == 0 || (queue.entries & (queue.entries - 1)) || !is_aligned)
        return -EINVAL;
    uint32_t number = 0;
    uint32_t count = (uint32_t)setting(CHASQUI_VIA_SETTING_QUEUES);
    while (number < count && queue_is_used[number])
        number++;
    if (number == count)
        return -ENOMEM;
    queue_is_used[number] = true;
    queue.number = number;
    ni_store(queue_register(number, CHASQUI_VIA_QUEUE_ADDRESS), queue.address);
    ni_store(queue_register(number, CHASQUI_VIA_QUEUE_MEMORY), queue.handle | (uint64_t)queue.entries << 32);
    ni_store(queue_register(number, CHASQUI_VIA_QUEUE_TAG), TAG);
    return copy_to_user(argument, &queue, sizeof queue) ? -EFAULT : 0;
}

static int64_t destroy_queue(uint64_t number)
{
    if (!is_queue(number))
        return -EINVAL;
    queue_is_used[number] = false;
    ni_store(queue_register(number, CHASQUI_VIA_QUEUE_MEMORY), 0);
    return 0;
}

static uint64_t vi_register(uint64_t number, uint64_t offset)
{
    return CHASQUI_VIA_VIS + of_all(number, CHASQUI_VIA_SETTING_VIS) * CHASQUI_VIA_VI_BYTES + offset;
}

static bool is_vi(uint64_t number) { return number < setting(CHASQUI_VIA_SETTING_VIS); }

static bool is_queue_or_none(uint64_t number) { return number == CHASQUI_VIA_NO_QUEUE || is_queue(number); }

/* As the VI's register has it. */
static uint64_t completed_by(uint32_t number)
{
    return number == CHASQUI_VIA_NO_QUEUE ? number : of_all(number, CHASQUI_VIA_SETTING_QUEUES);
}

static int64_t create_vi(uint64_t argument)
{
    struct chasqui_via_endpoint vi;
    if (copy_from_user(&vi, argument, sizeof vi))
        return -EFAULT;
    if (!is_vi(vi.number) || vi.tag != TAG || !is_queue_or_none(vi.send_queue) || !is_queue_or_none(vi.receive_queue))
        return -EINVAL;
    ni_store(vi_register(vi.number, CHASQUI_VIA_VI_STATE), CHASQUI_VIA_VI_IDLE);
    ni_store(vi_register(vi.number, CHASQUI_VIA_VI_TAG), TAG);
    uint64_t queues = completed_by(vi.send_queue) | completed_by(vi.receive_queue) << 32;
    ni_store(vi_register(vi.number, CHASQUI_VIA_VI_QUEUES), queues);
    return 0;
}

static int64_t destroy_vi(uint64_t number)
{
    if (!is_vi(number))
        return -EINVAL;
    ni_store(vi_register(number, CHASQUI_VIA_VI_STATE), CHASQUI_VIA_VI_IDLE);
    return 0;
}

static int64_t connect_vi(uint64_t argument)
{
    struct chasqui_via_connection connection;
    if (copy_from_user(&connection, argument, sizeof connection))
        return -EFAULT;
    if (!is_vi(connection.number) || connection.rank >= boot.ni.ranks || (HARTS > 1 && !is_vi(connection.remote)))
        return -EINVAL;
    uint64_t vi = process_of_rank(connection.rank) * setting(CHASQUI_VIA_SETTING_VIS) + connection.remote;
    uint64_t remote = node_of_rank(connection.rank) | vi << 32;
    ni_store(vi_register(connection.number, CHASQUI_VIA_VI_REMOTE), remote);
    ni_store(vi_register(connection.number, CHASQUI_VIA_VI_STATE), CHASQUI_VIA_VI_CONNECTED);
    return 0;
}

/* --- sleeping --------------------------------------------------------------------------------------------- */

/* The NIC compares: an entry that came before the queue was armed interrupts, too. */
static int64_t via_wait(uint64_t argument)
{
    struct chasqui_via_wait wait;
    if (copy_from_user(&wait, argument, sizeof wait))
        return -EFAULT;
    if (!is_queue(wait.queue))
        return -EINVAL;
    ni_store(queue_register(wait.queue, CHASQUI_VIA_QUEUE_ARM), wait.consumed);
    thread_sleep(&waiters, "a completion");
    return 0;
}

/* The second load waits until the store has been seen, so that the line is down. */
static void via_interrupt(void)
{
    ni_store(CHASQUI_VIA_CAUSE, ni_load(CHASQUI_VIA_CAUSE));
    ni_load(CHASQUI_VIA_CAUSE);
    thread_wake_all(&waiters);
}

static int64_t via_control(uint64_t request, uint64_t argument)
{
    if (HARTS > 1 && !runs)
        runs = memory_take(setting(CHASQUI_VIA_SETTING_PAGES) * sizeof *runs);
    switch (request) {
    case CHASQUI_VIA_CONTROL_OPEN: return open_nic(argument);
    case CHASQUI_VIA_CONTROL_REGISTER: return register_memory(argument);
    case CHASQUI_VIA_CONTROL_DEREGISTER: return deregister_memory(argument);
    case CHASQUI_VIA_CONTROL_CREATE_QUEUE: return create_queue(argument);
    case CHASQUI_VIA_CONTROL_DESTROY_QUEUE: return destroy_queue(argument);
    case CHASQUI_VIA_CONTROL_CREATE_VI: return create_vi(argument);
    case CHASQUI_VIA_CONTROL_DESTROY_VI: return destroy_vi(argument);
    case CHASQUI_VIA_CONTROL_CONNECT: return connect_vi(argument);
    case CHASQUI_VIA_CONTROL_WAIT: return via_wait(argument);
    default: return -ENOTTY;
    }
}

static bool start(void)
{
    if (boot.ni.device != CHASQUI_VIA_DEVICE)
        return false;
    /* Of several processes each gets its own with its first request: none is on the hart yet. */
    if (HARTS == 1)
        runs = memory_take(setting(CHASQUI_VIA_SETTING_PAGES) * sizeof *runs);
    return true;
}

static const struct driver via = {
    .start = start, .interrupt = via_interrupt, .control = via_control, .unmapped = unmapped};
DRIVER driver_via = &via;
