/* The hart's control and status registers, as far as the kernel uses them (RISC-V Privileged ISA 20240411). For C and
 * assembly. */
#ifndef HART_H
#define HART_H

/* Harts that the image can have: 1, or CHASQUI_KERNEL_HARTS_MAX. */
#ifndef HARTS
#define HARTS 1
#endif

#define STATUS_SIE 0x2     /* interrupts are enabled */
#define STATUS_SPIE 0x20   /* they are after sret */
#define STATUS_SPP 0x100   /* the trap came from supervisor level */
#define STATUS_SUM 0x40000 /* the process's pages may be used */

#define INTERRUPT_SOFTWARE 1
#define INTERRUPT_TIMER 5
#define INTERRUPT_EXTERNAL 9

#if HARTS > 1
#define INTERRUPTS (1u << INTERRUPT_SOFTWARE | 1u << INTERRUPT_TIMER)
#else
#define INTERRUPTS (1u << INTERRUPT_TIMER)
#endif

#define CAUSE_INTERRUPT (1ull << 63)
#define CAUSE_USER_CALL 8
#define CAUSE_FETCH_PAGE 12
#define CAUSE_LOAD_PAGE 13
#define CAUSE_STORE_PAGE 15

/* The system call that goes to the driver at once, as CHASQUI_KERNEL_FAST_CALL. */
#define FAST_CALL 0x700

#define STIMECMP 0x14d /* assemblers do not know the name yet */

#ifndef __ASSEMBLER__
#define CSR_NAME(csr) CSR_TEXT(csr)
#define CSR_TEXT(csr) #csr
#define csr_read(csr)                                               \
    ({                                                              \
        uint64_t value_;                                            \
        __asm__ volatile("csrr %0, " CSR_NAME(csr) : "=r"(value_)); \
        value_;                                                     \
    })
#define csr_write(csr, value) __asm__ volatile("csrw " CSR_NAME(csr) ", %0" ::"rK"((uint64_t)(value)) : "memory")
#define csr_set(csr, bits) __asm__ volatile("csrs " CSR_NAME(csr) ", %0" ::"rK"((uint64_t)(bits)) : "memory")
#define csr_clear(csr, bits) __asm__ volatile("csrc " CSR_NAME(csr) ", %0" ::"rK"((uint64_t)(bits)) : "memory")
#endif

#endif
