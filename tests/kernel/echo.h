/* What the driver echo.c and its user share. */
#include <stdint.h>

#define ECHO_REQUEST 0x7101 /* type 'q' (CONTROL_TYPE of crates/abi/src/kernel.rs), number 1 */

/* Has `bytes` at `from` copied to `to` in the kernel, `delay_ns` later. The sum of the bytes comes back. */
struct echo {
    uint64_t from, to, bytes, delay_ns;
};
