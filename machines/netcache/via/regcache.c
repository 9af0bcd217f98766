/* See regcache.h. A small open hash table by the first page, of what is registered; and a list of what finds all places in
 * use, which is registered no longer than it is used. */
#include "regcache.h"

#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"

enum { ENTRIES = 64, PAGE_SHIFT = 12 };

struct registration {
    uintptr_t first, pages; /* of memory; no pages: free */
    VIP_MEM_HANDLE handle;
    uint32_t users;
    struct registration *next; /* in the list */
};

static struct registration table[ENTRIES], *further;
static struct vip_nic *nic;
static uint64_t seen; /* of what the kernel counts */

bool regcache_begin(struct vip_nic *of, volatile uint64_t *counter)
{
    nic = of;
    *counter = 0;
    return VipWatchMem(nic, counter) == VIP_SUCCESS;
}

static void forget(struct registration *entry)
{
    /* An error says that the kernel has done so before. */
    VipDeregisterMem(nic, (const void *)(entry->first << PAGE_SHIFT), entry->handle);
    entry->pages = 0;
}

/* True: something was not in use. */
static bool forget_all(void)
{
    bool any = false;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (table[i].pages > 0 && table[i].users == 0) {
            forget(&table[i]);
            any = true;
        }
    }
    return any;
}

static inline unsigned slot_of(uintptr_t page) { return (unsigned)(page ^ page >> 6) % ENTRIES; }

static inline uintptr_t pages_of(const void *address, size_t bytes)
{
    uintptr_t at = (uintptr_t)address;
    return ((at + bytes - 1) >> PAGE_SHIFT) - (at >> PAGE_SHIFT) + 1;
}

/* The program has no such memory: the fault that a load of its own would have. */
static _Noreturn void refuse(const char *from, uintptr_t pages)
{
    for (uintptr_t page = 0; page < pages; page++)
        (void)*(const volatile char *)(from + (page << PAGE_SHIFT));
    chq_die("VIA: a message's memory can't be registered");
}

static bool register_pages(uintptr_t first, uintptr_t pages, VIP_MEM_HANDLE *handle)
{
    const void *address = (const void *)(first << PAGE_SHIFT);
    VIP_RETURN done = VipRegisterMem(nic, address, pages << PAGE_SHIFT, true, handle);
    if (done == VIP_ERROR_RESOURCE && forget_all())
        done = VipRegisterMem(nic, address, pages << PAGE_SHIFT, true, handle);
    if (unlikely(done == VIP_INVALID_PARAMETER))
        refuse(address, pages);
    return done == VIP_SUCCESS;
}

/* Registers, in the first place from `slot` on that nobody uses. */
static bool add(unsigned slot, uintptr_t first, uintptr_t pages, VIP_MEM_HANDLE *handle)
{
    struct registration *entry = NULL;
    for (unsigned i = 0; i < ENTRIES; i++) {
        entry = &table[(slot + i) % ENTRIES];
        if (entry->users == 0)
            break;
    }
    if (entry->users == 0 && entry->pages > 0)
        forget(entry);
    if (!register_pages(first, pages, handle))
        return false;
    struct registration *next = NULL;
    if (entry->users > 0) {
        entry = chq_malloc(sizeof *entry);
        next = further;
        further = entry;
    }
    *entry = (struct registration){.first = first, .pages = pages, .handle = *handle, .users = 1, .next = next};
    return true;
}

/* The one of just these pages, so that what is released is what was acquired. */
static inline struct registration *find(uintptr_t first, uintptr_t pages)
{
    unsigned slot = slot_of(first);
    struct registration *entry = &table[slot];
    for (unsigned i = 1; i < ENTRIES && (entry->first != first || entry->pages != pages); i++)
        entry = &table[(slot + i) % ENTRIES];
    if (entry->first == first && entry->pages == pages)
        return entry;
    for (entry = further; entry && (entry->first != first || entry->pages != pages); entry = entry->next)
        ;
    return entry;
}

bool regcache_acquire(const void *address, size_t bytes, VIP_MEM_HANDLE *handle)
{
    uintptr_t first = (uintptr_t)address >> PAGE_SHIFT, pages = pages_of(address, bytes);
    if (unlikely(*nic->invalidations != seen)) {
        seen = *nic->invalidations;
        forget_all();
    }
    struct registration *entry = find(first, pages);
    if (unlikely(!entry))
        return add(slot_of(first), first, pages, handle);
    entry->users++;
    *handle = entry->handle;
    return true;
}

void regcache_release(const void *address, size_t bytes)
{
    struct registration *entry = find((uintptr_t)address >> PAGE_SHIFT, pages_of(address, bytes));
    if (--entry->users > 0 || !further)
        return;
    for (struct registration **link = &further; *link; link = &(*link)->next) {
        if (*link == entry) {
            *link = entry->next;
            forget(entry);
            free(entry); // NOLINT(clang-analyzer-unix.Malloc): `further` has no entry of the table
            return;
        }
    }
}
