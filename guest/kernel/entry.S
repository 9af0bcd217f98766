/* Where the kernel begins, traps enter and leave it, threads change places, and the process's memory is copied. */
#include "hart.h"

/* struct frame */
#define FRAME_BYTES 272
#define FRAME_STATUS 256
#define FRAME_HART 264

/* What a fast call saves; the last word as in struct frame. */
#define FAST_BYTES 48
#define FAST_STATUS 24
#define FAST_TP 32
#define FAST_HART 40

/* struct hart */
#define HART_STACK 0

#define EFAULT 14
#define BOOT_STACK_BYTES 16384

    .section .text.first, "ax"
    .globl _start
_start: /* a1: struct chasqui_kernel_boot, which describes a2 to a6 */
    la sp, boot_stack + BOOT_STACK_BYTES
#if HARTS > 1
    la tp, harts
#endif
    csrw sscratch, zero
    la t0, trap_entry
    csrw stvec, t0
    mv a0, a1
#if HARTS > 1
    mv a1, a2
    mv a2, a3
    mv a3, a4
    mv a4, a5
    mv a5, a6
#endif
    tail kernel_main

#if HARTS > 1
/* Where another hart begins. a1: its struct hart. */
    .globl hart_start
hart_start:
    mv tp, a1
    ld sp, HART_STACK(tp)
    csrw sscratch, zero
    la t0, trap_entry
    csrw stvec, t0
    tail hart_main
#endif

    .bss
    .balign 16
boot_stack:
    .skip BOOT_STACK_BYTES

    .text
/* Traps of a kernel whose driver has a fast call (drivers_begin()). That is like a call of a function to the process: what a
 * function may lose is lost, and what it keeps fast_call() keeps. All other traps go on at trap_entry. */
    .balign 4
    .globl fast_entry
    .type fast_entry, @function
fast_entry:
    csrrw sp, sscratch, sp
    beqz sp, .Lfrom_kernel
    sd t0, 8 * 5 - FRAME_BYTES(sp)
    csrr t0, scause
    addi t0, t0, -CAUSE_USER_CALL
    bnez t0, .Lnot_fast
    li t0, FAST_CALL
    bne a7, t0, .Lnot_fast
    addi sp, sp, -FAST_BYTES
    csrrw t0, sscratch, zero
    sd t0, 0(sp)
    csrr t0, sepc
    addi t0, t0, 4
    sd t0, 8(sp)
    sd ra, 16(sp)
    li t0, STATUS_SUM
    csrrc t0, sstatus, t0
    sd t0, FAST_STATUS(sp)
#if HARTS > 1
    sd tp, FAST_TP(sp)
    ld tp, FAST_HART(sp)
#endif
    call fast_call
    ld t0, FAST_STATUS(sp)
    csrw sstatus, t0
    ld t0, 8(sp)
    csrw sepc, t0
    ld ra, 16(sp)
#if HARTS > 1
    ld tp, FAST_TP(sp)
#endif
    addi t0, sp, FAST_BYTES
    csrw sscratch, t0
    ld sp, 0(sp)
    sret
.Lnot_fast:
    ld t0, 8 * 5 - FRAME_BYTES(sp)
    j .Lfrom_process
.Lfrom_kernel:
    csrr sp, sscratch
    j .Lfrom_process
    .size fast_entry, . - fast_entry

/* sscratch is the thread's kernel stack while the process executes, and 0 while the kernel does. */
    .balign 4
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    csrrw sp, sscratch, sp
    bnez sp, .Lfrom_process
    csrr sp, sscratch
.Lfrom_process:
    addi sp, sp, -FRAME_BYTES
    sd x1, 8(sp)
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sd x\n, 8 * \n(sp)
    .endr
    csrrw t0, sscratch, zero
    sd t0, 8 * 2(sp)
    li t1, STATUS_SUM
    csrrc t1, sstatus, t1
    csrr t2, sepc
#if HARTS > 1
    andi t3, t1, STATUS_SPP
    bnez t3, .Lin_kernel
    ld tp, FRAME_HART(sp)
.Lin_kernel:
#endif
    sd t1, FRAME_STATUS(sp)
    sd t2, 0(sp)
    mv a0, sp
    call trap
    mv a0, sp
    .size trap_entry, . - trap_entry

    .globl trap_return
    .type trap_return, @function
trap_return: /* a0: the frame; interrupts are off */
    mv sp, a0
    ld t0, FRAME_STATUS(sp)
    ld t1, 0(sp)
    csrw sstatus, t0
    csrw sepc, t1
    andi t0, t0, STATUS_SPP
    bnez t0, .Lto_kernel
    addi t0, sp, FRAME_BYTES
    csrw sscratch, t0
#if HARTS > 1
    sd tp, FRAME_HART(sp)
#endif
.Lto_kernel:
    ld x1, 8(sp)
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ld x\n, 8 * \n(sp)
    .endr
    ld sp, 8 * 2(sp)
    sret
    .size trap_return, . - trap_return

/* void thread_switch(uint64_t *from, uint64_t to): saves what a function must keep, on the stack, whose pointer goes to
 * *from; and goes on with the thread whose pointer is `to`. */
    .globl thread_switch
    .type thread_switch, @function
thread_switch:
    addi sp, sp, -112
    sd ra, 0(sp)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    sd s\n, 8 + 8 * \n(sp)
    .endr
    sd sp, 0(a0)
    mv sp, a1
    ld ra, 0(sp)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    ld s\n, 8 + 8 * \n(sp)
    .endr
    addi sp, sp, 112
    ret
    .size thread_switch, . - thread_switch

#if HARTS > 1
/* Floating-point registers of the process that leaves the hart, and of the one that comes, of whose reservation nothing
 * is left either: a store-conditional ends it (RISC-V Unprivileged ISA 20240411, 13.2). The kernel uses none itself. */
    .option push
    .option arch, +f, +d
    .globl floating_save, floating_restore
    .type floating_save, @function
floating_save:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    fsd f\n, 8 * \n(a0)
    .endr
    frcsr t0
    sd t0, 8 * 32(a0)
    ld t0, 0(a0)
    sc.d zero, t0, (a0)
    ret
    .size floating_save, . - floating_save
    .type floating_restore, @function
floating_restore:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    fld f\n, 8 * \n(a0)
    .endr
    ld t0, 8 * 32(a0)
    fscsr t0
    ret
    .size floating_restore, . - floating_restore
    .option pop
#endif

/* Where a thread begins: s0 is its function, s1 the argument. */
    .globl thread_start
    .type thread_start, @function
thread_start:
    mv a0, s1
    jr s0
    .size thread_start, . - thread_start

/* int user_copy(void *to, const void *from, size_t bytes): one of the two is the process's. 0, or -EFAULT: trap.c goes on
 * at user_copy_fault where a page is not there. */
    .globl user_copy, user_copy_end, user_copy_fault
    .type user_copy, @function
user_copy:
    li t0, STATUS_SUM
    csrs sstatus, t0
    xor t1, a0, a1
    andi t1, t1, 7
    add a3, a1, a2 /* the end */
    bnez t1, .Lbytes
.Lfirst: /* up to a word */
    andi t1, a1, 7
    beqz t1, .Laligned
    beq a1, a3, .Lcopied
    lb t3, 0(a1)
    sb t3, 0(a0)
    addi a1, a1, 1
    addi a0, a0, 1
    j .Lfirst
.Laligned:
    sub t2, a3, a1
    andi t2, t2, -32
    add t2, a1, t2
    beq a1, t2, .Lwords
.Lblocks:
    ld t3, 0(a1)
    ld t4, 8(a1)
    ld t5, 16(a1)
    ld t6, 24(a1)
    sd t3, 0(a0)
    sd t4, 8(a0)
    sd t5, 16(a0)
    sd t6, 24(a0)
    addi a1, a1, 32
    addi a0, a0, 32
    bne a1, t2, .Lblocks
.Lwords:
    andi t2, a3, -8
    beq a1, t2, .Lbytes
.Lword:
    ld t3, 0(a1)
    sd t3, 0(a0)
    addi a1, a1, 8
    addi a0, a0, 8
    bne a1, t2, .Lword
.Lbytes:
    beq a1, a3, .Lcopied
.Lbyte:
    lb t3, 0(a1)
    sb t3, 0(a0)
    addi a1, a1, 1
    addi a0, a0, 1
    bne a1, a3, .Lbyte
.Lcopied:
    csrc sstatus, t0
    li a0, 0
    ret
user_copy_end:
user_copy_fault:
    li t0, STATUS_SUM
    csrc sstatus, t0
    li a0, -EFAULT
    ret
    .size user_copy, . - user_copy
