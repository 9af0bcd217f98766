/* The kernel's beginning. */
#include "kernel.h"

struct chasqui_kernel_boot boot;

/* On the node's first hart: `first` describes the first process. What follows counts in the image for
 * several harts or processes: each process has `harts_each` of the `harts`, and the next process's follow. */
_Noreturn void kernel_main(const struct chasqui_kernel_boot *first, uint64_t processes, uint64_t harts_each,
                           uint64_t node_harts, uint64_t quantum, uint64_t phase)
{
    kernel_lock();
    memory_copy(&boot, first, sizeof boot);
    check(boot.ni.version == CHASQUI_ABI_VERSION, "it is for another simulator");
#if HARTS > 1
    boots = first;
    process_count = processes;
    memory_copy(&placement, first + processes, sizeof placement);
#endif
    memory_begin(boot.memory, boot.memory_bytes);
#if HARTS == 1
    threads_begin();
#endif
    csr_write(STIMECMP, ~0ull);
    drivers_begin();
    csr_write(sie, INTERRUPTS | (driver ? 1u << INTERRUPT_EXTERNAL : 0));
#if HARTS > 1
    harts_begin(&(struct machine){processes, harts_each, node_harts, quantum, phase});
#else
    (void)processes, (void)harts_each, (void)node_harts, (void)quantum, (void)phase;
    process_begin(&boot);
#endif
}
