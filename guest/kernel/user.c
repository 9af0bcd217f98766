/* The process's memory: its pages, and copies from and to it. */
#include "kernel.h"

extern int user_copy(void *to, const void *from, size_t bytes);

/* Half of Sv39's addresses. */
#define USER_END (1ull << 38)

bool user_page_fault(uint64_t address, uint64_t cause)
{
    struct answer answer =
        machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_PAGE_FAULT, (uint64_t[6]){address, cause});
#if HARTS > 1
    if (answer.error == CHASQUI_KERNEL_ENDED)
        thread_end();
#endif
    if (answer.error)
        return false;
    if (answer.value)
        memory_clear(of_physical(answer.value), PAGE_BYTES);
    return true;
}

static bool is_users(uint64_t address, size_t bytes) { return address < USER_END && bytes <= USER_END - address; }

int copy_from_user(void *to, uint64_t from, size_t bytes)
{
    return is_users(from, bytes) ? user_copy(to, (const void *)from, bytes) : -EFAULT;
}

int copy_to_user(uint64_t to, const void *from, size_t bytes)
{
    return is_users(to, bytes) ? user_copy((void *)to, from, bytes) : -EFAULT;
}

/* Bits of a page-table entry (Sv39). */
enum { VALID = 1, READ = 2, WRITE = 4 };

/* Of a number of a page in 44 bits. */
static uint64_t page_address(uint64_t number) { return (number & ((1ull << 44) - 1)) * PAGE_BYTES; }

/* The process's pages are small, in tables of three levels. */
static uint64_t entry_of(uint64_t address)
{
    uint64_t table = page_address(csr_read(satp)), entry = 0;
    for (int shift = 30; shift >= 12; shift -= 9) {
        const volatile uint64_t *entries = of_physical(table);
        entry = entries[address >> shift & 511];
        if (!(entry & VALID))
            return 0;
        table = page_address(entry >> 10);
    }
    return entry;
}

/* The simulator never takes a page from a process, so none need be pinned. It gives none to the process's page tables of which a
 * device was told. A device's registers are no memory. */
uint64_t user_physical(uint64_t address, bool write)
{
    uint64_t wanted = VALID | (write ? WRITE : READ);
    if (!is_users(address, 1))
        return 0;
    uint64_t entry = entry_of(address);
    if ((entry & wanted) != wanted) {
        if (!user_page_fault(address, write ? CAUSE_STORE_PAGE : CAUSE_LOAD_PAGE))
            return 0;
        entry = entry_of(address);
    }
    uint64_t physical = page_address(entry >> 10) + address % PAGE_BYTES;
    if (physical >= CHASQUI_KERNEL_DEVICE_PHYSICAL)
        return 0;
    if (!(entry & CHASQUI_KERNEL_PAGE_EXPOSED))
        machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_EXPOSE, (uint64_t[6]){address});
    return physical;
}
