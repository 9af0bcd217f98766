/* Generated from crates/abi/src/kernel.rs; change that and run `make headers`. */
#ifndef CHASQUI_KERNEL_SIMULATOR_H
#define CHASQUI_KERNEL_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#include <chasqui/abi.h>

#define CHASQUI_KERNEL_IMAGE 0xffffffff80000000ull /* Where kernel images are linked: the upper 2 GiB, as Linux's. */
#define CHASQUI_KERNEL_DIRECT 0xffffffc000000000ull /* Where the kernel sees physical memory, from physical address 0 on. */
#define CHASQUI_KERNEL_DEVICE 0xffffffe000000000ull /* Where it sees the NI's registers, uncached. */
#define CHASQUI_KERNEL_DEVICE_PHYSICAL 0x10000000000ull /* Their physical address. What lies there, or beyond, is no memory. */
#define CHASQUI_KERNEL_DEVICE_BYTES 0x40000000ull /* What is mapped of them [bytes]. */
#define CHASQUI_KERNEL_CONTROLLER 0xffffffe040000000ull /* Where it sees the registers of the interrupt controller, uncached. */
#define CHASQUI_KERNEL_SBI_LINUX 0xa000000ull /* Extension: Linux's system call whose number is the function, with its arguments, of the process. Costs no time but */
#define CHASQUI_KERNEL_SLEEP 0x1ull /* Error of `SBI_LINUX`: the caller must sleep until the time in a2 [ticks of `time`], ~0: for ever; then its call */
#define CHASQUI_KERNEL_BLOCK 0x2ull /* Error of `SBI_LINUX` to a kernel of several harts: the caller waits for another thread of its process, no longer than */
#define CHASQUI_KERNEL_THREAD 0x3ull /* Error of `SBI_LINUX`, likewise: a thread of the process is to begin on the hart in a2; its id is the value. */
#define CHASQUI_KERNEL_ENDED 0x4ull /* Error of `SBI_LINUX`, or of `SBI_PROCESS`, likewise: the thread has ended, or the process. */
#define CHASQUI_KERNEL_SBI_PROCESS 0xa000001ull /* Extension: what only the simulator can do for the process. */
#define CHASQUI_KERNEL_PROCESS_PAGE_FAULT 0x0ull /* Function: brings in the page at a0 for an access that failed with `scause` a1. The value is the physical address of */
#define CHASQUI_KERNEL_PROCESS_EXCEPTION 0x1ull /* Function: ends the process by its exception's signal: `scause` a0, `sepc` a1, `stval` a2, `ra` a3. Does not return. */
#define CHASQUI_KERNEL_PROCESS_WATCH 0x2ull /* Function: gives the address of the `KernelProcess`, for messages of the simulator's. */
#define CHASQUI_KERNEL_PROCESS_PANIC 0x3ull /* Function: the kernel is broken: a0 and a1 are address and length of a text. Does not return. */
#define CHASQUI_KERNEL_PROCESS_EXIT 0x4ull /* Function: the process has ended, with status a0, as by `exit_group`; the kernel lives on. */
#define CHASQUI_KERNEL_PROCESS_TIME_OUT 0x5ull /* Function: the time is over until which the caller waited for another thread. The value is what its call returns. */
#define CHASQUI_KERNEL_PROCESS_SWITCH 0x6ull /* Function, of several harts or processes of one: process a0 is on this hart from now on; its `KernelProcess` is at a1, */
#define CHASQUI_KERNEL_PROCESS_HAS_ENDED 0x7ull /* Function, likewise: 1 if process a0 has ended, whoever ended it, else 0. A hart gets a software interrupt when a */
#define CHASQUI_KERNEL_PROCESS_UNSERVED 0x8ull /* Function: the kernel does not serve the process's system call a0, which returns ENOSYS. */
#define CHASQUI_KERNEL_PROCESS_EXPOSE 0x9ull /* Function: a device is told where the page at a0 is. Its entry has PAGE_EXPOSED from then on, and its memory becomes no */
#define CHASQUI_KERNEL_PAGE_EXPOSED 0x200ull /* Of a page-table entry. */
#define CHASQUI_KERNEL_SBI_IPI 0x735049ull /* Extension: software interrupts of other harts (SBI, chapter 7). */
#define CHASQUI_KERNEL_IPI_SEND 0x0ull /* Function: interrupts the harts in the mask a0. */
#define CHASQUI_KERNEL_SBI_HSM 0x48534dull /* Extension: harts (SBI, chapter 9). */
#define CHASQUI_KERNEL_HSM_START 0x0ull /* Function: hart a0 begins at a1, with its number in a0 and a2 in a1, and the page tables of its process. */
#define CHASQUI_KERNEL_HARTS_MAX 0x40ull /* Harts of a node, at most, with a kernel. */
#define CHASQUI_KERNEL_PROCESSES_MAX 0x100ull /* Processes of a node, at most, with a kernel: of all jobs. */
#define CHASQUI_KERNEL_CONTROL_TYPE 0x71ull /* Type of the `ioctl` requests that are a driver's in the kernel (`_IOC_TYPE`): 'q'. */
#define CHASQUI_KERNEL_FAST_CALL 0x700ull /* Number of the system call that goes past the kernel's table of calls to its driver: a fast trap. Linux has none so high. */
#define CHASQUI_KERNEL_SOCKET_BUFFER_BYTES 0x10000ull /* Data that a socket holds in each direction [bytes], a power of two. */
#define CHASQUI_KERNEL_FRAME_PC 0x0ull /* Where [bytes] what a trap saves has the address of the process's instruction. */
#define CHASQUI_KERNEL_FRAME_X1 0x8ull /* Where it has register x1, and behind it the others up to x31. */
#define CHASQUI_KERNEL_NOT_SUPPORTED 0xfffffffffffffffeull /* Error of a function that there is not (`SBI_ERR_NOT_SUPPORTED`). */
#define CHASQUI_KERNEL_INVALID_PARAMETER 0xfffffffffffffffdull /* Error of an argument that can't be (`SBI_ERR_INVALID_PARAM`). */
#define CHASQUI_KERNEL_INVALID_ADDRESS 0xfffffffffffffffbull /* Error of an address that there is not (`SBI_ERR_INVALID_ADDRESS`). */

struct chasqui_kernel_boot {
    uint64_t entry; /* The process's first instruction. */
    uint64_t stack_pointer; /* Its stack pointer there; all its other registers are 0. */
    uint64_t memory; /* First physical address of the kernel's free memory, at a page. */
    uint64_t memory_bytes; /* Length of that [bytes], whole pages. */
    uint64_t regions[9]; /* Physical addresses of the NI's regions. */
    struct chasqui_ni_identification ni; /* The NI's identification page. */
};
_Static_assert(sizeof(struct chasqui_kernel_boot) == 416, "chasqui_kernel_boot");
_Static_assert(offsetof(struct chasqui_kernel_boot, entry) == 0, "chasqui_kernel_boot.entry");
_Static_assert(offsetof(struct chasqui_kernel_boot, stack_pointer) == 8, "chasqui_kernel_boot.stack_pointer");
_Static_assert(offsetof(struct chasqui_kernel_boot, memory) == 16, "chasqui_kernel_boot.memory");
_Static_assert(offsetof(struct chasqui_kernel_boot, memory_bytes) == 24, "chasqui_kernel_boot.memory_bytes");
_Static_assert(offsetof(struct chasqui_kernel_boot, regions) == 32, "chasqui_kernel_boot.regions");
_Static_assert(offsetof(struct chasqui_kernel_boot, ni) == 104, "chasqui_kernel_boot.ni");

struct chasqui_kernel_process {
    uint64_t pc; /* Where the process is that has trapped. */
    uint64_t waits_for; /* What it sleeps for: address of a NUL-terminated text, 0: it does not. */
};
_Static_assert(sizeof(struct chasqui_kernel_process) == 16, "chasqui_kernel_process");
_Static_assert(offsetof(struct chasqui_kernel_process, pc) == 0, "chasqui_kernel_process.pc");
_Static_assert(offsetof(struct chasqui_kernel_process, waits_for) == 8, "chasqui_kernel_process.waits_for");

#endif
