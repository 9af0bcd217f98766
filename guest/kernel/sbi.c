/* Calls of the simulator, which is machine level (RISC-V SBI 2.0, chapter 3). */
#include "kernel.h"

struct answer machine_call(uint64_t extension, uint64_t function, const uint64_t arguments[6])
{
    register uint64_t a0 __asm__("a0") = arguments[0], a1 __asm__("a1") = arguments[1];
    register uint64_t a2 __asm__("a2") = arguments[2], a3 __asm__("a3") = arguments[3];
    register uint64_t a4 __asm__("a4") = arguments[4], a5 __asm__("a5") = arguments[5];
    register uint64_t a6 __asm__("a6") = function, a7 __asm__("a7") = extension;
#if HARTS > 1
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5), "r"(a6), "r"(a7) : "memory");
    return (struct answer){.error = a0, .value = a1, .more = a2, .woken = a3};
#else
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1), "+r"(a2) : "r"(a3), "r"(a4), "r"(a5), "r"(a6), "r"(a7) : "memory");
    return (struct answer){.error = a0, .value = a1, .more = a2};
#endif
}

void panic(const char *text)
{
    size_t bytes = 0;
    while (text[bytes])
        bytes++;
    for (;;)
        machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_PANIC, (uint64_t[6]){(uint64_t)text, bytes});
}
