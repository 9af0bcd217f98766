/* The kernel's beginning. */
#include "kernel.h"

struct chasqui_kernel_boot boot;

/* On the node's first hart: `first` describes the first process. Of several harts each process has
 * `harts_each`, and the next process's follows. */
_Noreturn void kernel_main(const struct chasqui_kernel_boot *first, uint64_t processes, uint64_t harts_each)
{
    kernel_lock();
    memory_copy(&boot, first, sizeof boot);
    check(boot.ni.version == CHASQUI_ABI_VERSION, "it is for another simulator");
#if HARTS > 1
    boots = first;
    memory_copy(&placement, first + processes, sizeof placement);
#endif
    memory_begin(boot.memory, boot.memory_bytes);
    threads_begin();
    csr_write(STIMECMP, ~0ull);
    drivers_begin();
    csr_write(sie, INTERRUPTS | (driver ? 1u << INTERRUPT_EXTERNAL : 0));
#if HARTS > 1
    harts_begin(processes, harts_each);
#else
    (void)processes, (void)harts_each;
#endif
    process_begin(&boot);
}
