/* The kernel's beginning. */
#include "kernel.h"

struct chasqui_kernel_boot boot;

_Noreturn void kernel_main(const struct chasqui_kernel_boot *told)
{
    memory_copy(&boot, told, sizeof boot);
    check(boot.ni.version == CHASQUI_ABI_VERSION, "it is for another simulator");
    memory_begin(boot.memory, boot.memory_bytes);
    threads_begin();
    csr_write(STIMECMP, ~0ull);
    drivers_begin();
    csr_write(sie, 1u << INTERRUPT_TIMER | (driver ? 1u << INTERRUPT_EXTERNAL : 0));
    process_begin(boot.entry, boot.stack_pointer);
}
