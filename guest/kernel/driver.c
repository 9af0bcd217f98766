/* The driver of the node's network interface, if the image has one for it. */
#include "kernel.h"

/* The linker makes these where there are drivers. */
extern const struct driver *const __start_drivers[] __attribute__((weak));
extern const struct driver *const __stop_drivers[] __attribute__((weak));

const struct driver *driver;

void traps_begin(void)
{
    if (driver && driver->fast_call)
        csr_write(stvec, fast_entry);
}

void drivers_begin(void)
{
    for (const struct driver *const *each = __start_drivers; each != __stop_drivers; each++) {
        if (!driver && (*each)->start())
            driver = *each;
    }
    traps_begin();
}
