/* The switch from one stack to another (coroutine.h), by hand, since C has no words for it: the
 * registers that a call must keep are stored on the one stack and loaded from the other.
 * Conway: Design of a Separable Transition-Diagram Compiler. Comm. of the ACM 6(7), 1963. */
#include "mpi/request/coroutine.h"
#include "mpi/runtime/platform.h"

#if defined(__riscv)

/* RISC-V ELF psABI, register convention: ra, s0 to s11, fs0 to fs11. 26 slots, ra first. */
enum { FRAME_BYTES = 26 * 8, ENTRY_BYTES = 0 };
#define EACH_SAVED(OPERATION, FLOAT_OPERATION)                                                                         \
    OPERATION " ra, 0(sp)\n" OPERATION " s0, 8(sp)\n" OPERATION " s1, 16(sp)\n" OPERATION " s2, 24(sp)\n" OPERATION    \
              " s3, 32(sp)\n" OPERATION " s4, 40(sp)\n" OPERATION " s5, 48(sp)\n" OPERATION " s6, 56(sp)\n" OPERATION  \
              " s7, 64(sp)\n" OPERATION " s8, 72(sp)\n" OPERATION " s9, 80(sp)\n" OPERATION " s10, 88(sp)\n" OPERATION \
              " s11, 96(sp)\n" FLOAT_OPERATION " fs0, 104(sp)\n" FLOAT_OPERATION " fs1, 112(sp)\n" FLOAT_OPERATION     \
              " fs2, 120(sp)\n" FLOAT_OPERATION " fs3, 128(sp)\n" FLOAT_OPERATION " fs4, 136(sp)\n" FLOAT_OPERATION    \
              " fs5, 144(sp)\n" FLOAT_OPERATION " fs6, 152(sp)\n" FLOAT_OPERATION " fs7, 160(sp)\n" FLOAT_OPERATION    \
              " fs8, 168(sp)\n" FLOAT_OPERATION " fs9, 176(sp)\n" FLOAT_OPERATION " fs10, 184(sp)\n" FLOAT_OPERATION   \
              " fs11, 192(sp)\n"
#define SWITCH \
    "addi sp, sp, -208\n" EACH_SAVED("sd", "fsd") "sd sp, 0(a0)\n" \
                                                  "mv sp, a1\n" EACH_SAVED("ld", "fld") "addi sp, sp, 208\nret\n"
enum { RETURN_SLOT = 0 };

#elif defined(__x86_64__)

/* System V ABI, AMD64 supplement: rbx, rbp, r12 to r15; the return address lies above them. At a
 * function's entry the stack pointer is 8 below a multiple of 16. */
enum { FRAME_BYTES = 7 * 8, ENTRY_BYTES = 8, RETURN_SLOT = 6 };
#define SWITCH                                                           \
    "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n" \
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"                                 \
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"

#elif defined(__aarch64__)

/* AAPCS64: x19 to x30, d8 to d15. */
enum { FRAME_BYTES = 20 * 8, ENTRY_BYTES = 0, RETURN_SLOT = 11 };
#define EACH_SAVED(OPERATION)                                                                                       \
    OPERATION " x19, x20, [sp, 0]\n" OPERATION " x21, x22, [sp, 16]\n" OPERATION " x23, x24, [sp, 32]\n" OPERATION  \
              " x25, x26, [sp, 48]\n" OPERATION " x27, x28, [sp, 64]\n" OPERATION " x29, x30, [sp, 80]\n" OPERATION \
              " d8, d9, [sp, 96]\n" OPERATION " d10, d11, [sp, 112]\n" OPERATION " d12, d13, [sp, 128]\n" OPERATION \
              " d14, d15, [sp, 144]\n"
#define SWITCH \
    "sub sp, sp, 160\n" EACH_SAVED("stp") "mov x9, sp\nstr x9, [x0]\n" \
                                          "mov sp, x1\n" EACH_SAVED("ldp") "add sp, sp, 160\nret\n"

#else
#error "chq_switch is missing for this processor"
#endif

__asm__(
    ".section .text.chq_switch, \"ax\", @progbits\n"
    ".globl chq_switch\n"
    ".hidden chq_switch\n"
    ".type chq_switch, @function\n"
    ".balign 16\n"
    "chq_switch:\n" SWITCH
    ".size chq_switch, . - chq_switch\n"
    ".text\n");

void *chq_switch_prepare(void *top, void (*entry)(void))
{
    uintptr_t *frame = (uintptr_t *)((char *)top - ENTRY_BYTES - FRAME_BYTES);
    frame[RETURN_SLOT] = (uintptr_t)entry;
    return frame;
}
