/* See agent.h. Each process has a part of the NIC's table, of its queues and VIs, and numbers them from 0 on; the NIC
 * numbers those of all processes, one process after the other. A process has a protection tag of its own.
 *
 * Connecting exchanges nothing: both sides name each other's VI, and what comes before one of them has done so is
 * refused by the NIC and sent again. */
#include "agent.h"

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
/* The word that counts registrations which have gone: its physical address (0: not in use), and the process's own. */
static uint64_t count_at_of[PROCESSES], count_address_of[PROCESSES];
#define runs (runs_of[process_here])
#define run_end (run_end_of[process_here])
#define count_at (count_at_of[process_here])
#define count_address (count_address_of[process_here])

static struct queue waiters; /* of all processes: each looks whether the event was its own */
static const struct via_nic *nic;

/* The NIC's number of what is number `own` of the process's; each has as many as the setting says. */
static uint64_t of_all(uint64_t own, unsigned each) { return process_here * via_setting(each) + own; }

/* --- the translation and protection table --------------------------------------------------------------- */

static void store_entry(uint32_t entry, uint64_t page, uint64_t tag)
{
    nic->set_page(of_all(entry, CHASQUI_VIA_SETTING_PAGES), page, tag);
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
        if (pages > via_setting(CHASQUI_VIA_SETTING_PAGES) - run_end)
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
    if (last - first >= via_setting(CHASQUI_VIA_SETTING_PAGES))
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
void via_unmapped(uint64_t address, uint64_t bytes)
{
    uint64_t end = (address + bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    if (count_address >= address && count_address < end)
        count_at = 0; /* Its frame may be anything from now on. */
    for (uint32_t entry = 0; entry < run_end; entry += runs[entry].pages) {
        const struct run *run = &runs[entry];
        if (!run->is_used || end <= run->address || run->address + run->pages * PAGE_BYTES <= address)
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
    uint64_t physical = open.invalidations ? user_physical(open.invalidations, true) : 0;
    /* What is not aligned would reach into the frame behind, which is anybody's. */
    if ((open.invalidations && !physical) || open.invalidations % sizeof(uint64_t))
        return -EFAULT;
    count_at = physical;
    count_address = open.invalidations;
    return copy_to_user(argument, &open, sizeof open) ? -EFAULT : 0;
}

/* In use, by number. */
static bool queue_is_used_of[PROCESSES][QUEUES_MAX];
#define queue_is_used (queue_is_used_of[process_here])

static bool is_queue(uint64_t number) { return number < QUEUES_MAX && queue_is_used[number]; }

static uint64_t queue_of_all(uint64_t number) { return of_all(number, CHASQUI_VIA_SETTING_QUEUES); }

static int64_t create_queue(uint64_t argument)
{
    struct chasqui_via_queue queue;
    if (copy_from_user(&queue, argument, sizeof queue))
        return -EFAULT;
    bool is_aligned = queue.address % sizeof(struct chasqui_via_entry) == 0;
    if (queue.tag != TAG || queue.entries == 0 || (queue.entries & (queue.entries - 1)) || !is_aligned)
        return -EINVAL;
    uint32_t number = 0;
    uint32_t count = (uint32_t)via_setting(CHASQUI_VIA_SETTING_QUEUES);
    while (number < count && queue_is_used[number])
        number++;
    if (number == count)
        return -ENOMEM;
    queue_is_used[number] = true;
    queue.number = number;
    nic->set_queue(queue_of_all(number), &queue);
    return copy_to_user(argument, &queue, sizeof queue) ? -EFAULT : 0;
}

static int64_t destroy_queue(uint64_t number)
{
    if (!is_queue(number))
        return -EINVAL;
    queue_is_used[number] = false;
    nic->set_queue(queue_of_all(number), &(struct chasqui_via_queue){0});
    return 0;
}

static uint64_t vi_of_all(uint64_t number) { return of_all(number, CHASQUI_VIA_SETTING_VIS); }

static bool is_vi(uint64_t number) { return number < via_setting(CHASQUI_VIA_SETTING_VIS); }

static bool is_queue_or_none(uint64_t number) { return number == CHASQUI_VIA_NO_QUEUE || is_queue(number); }

static uint32_t completed_by(uint32_t number)
{
    return number == CHASQUI_VIA_NO_QUEUE ? number : (uint32_t)queue_of_all(number);
}

static int64_t create_vi(uint64_t argument)
{
    struct chasqui_via_endpoint vi;
    if (copy_from_user(&vi, argument, sizeof vi))
        return -EFAULT;
    if (!is_vi(vi.number) || vi.tag != TAG || !is_queue_or_none(vi.send_queue) || !is_queue_or_none(vi.receive_queue))
        return -EINVAL;
    if (!nic->create(vi_of_all(vi.number)))
        return -ENOMEM;
    nic->set_vi(vi_of_all(vi.number), TAG, completed_by(vi.send_queue), completed_by(vi.receive_queue));
    return 0;
}

static int64_t destroy_vi(uint64_t number)
{
    if (!is_vi(number))
        return -EINVAL;
    nic->destroy(vi_of_all(number));
    return 0;
}

static int64_t connect_vi(uint64_t argument)
{
    struct chasqui_via_connection connection;
    if (copy_from_user(&connection, argument, sizeof connection))
        return -EFAULT;
    if (!is_vi(connection.number) || connection.rank >= boot.ni.ranks || (HARTS > 1 && !is_vi(connection.remote)))
        return -EINVAL;
    uint64_t vi = process_of_rank(connection.rank) * via_setting(CHASQUI_VIA_SETTING_VIS) + connection.remote;
    nic->connect(vi_of_all(connection.number), node_of_rank(connection.rank), (uint32_t)vi);
    return 0;
}

/* --- sleeping --------------------------------------------------------------------------------------------- */

static int64_t via_wait(uint64_t argument)
{
    struct chasqui_via_wait wait;
    if (copy_from_user(&wait, argument, sizeof wait))
        return -EFAULT;
    if (!is_queue(wait.queue))
        return -EINVAL;
    if (!nic->arm(queue_of_all(wait.queue), wait.consumed))
        thread_sleep(&waiters, "a completion");
    return 0;
}

void via_wake(void) { thread_wake_all(&waiters); }

int64_t via_control(uint64_t request, uint64_t argument)
{
    if (HARTS > 1 && !runs) {
        runs = memory_take_for(process_here, via_setting(CHASQUI_VIA_SETTING_PAGES) * sizeof *runs);
        if (!runs)
            return -ENOMEM;
    }
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

void via_begin(const struct via_nic *of)
{
    nic = of;
    /* Of several processes each gets its own with its first request: none is on the hart yet. */
    if (HARTS == 1)
        runs = memory_take(via_setting(CHASQUI_VIA_SETTING_PAGES) * sizeof *runs);
}
