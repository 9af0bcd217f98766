//! What a kernel image and the simulator share: the kernel's address space, how it begins, and its calls to the
//! simulator, which is machine level to it. The calls are made as the SBI's are (RISC-V SBI 2.0, chapter 3): extension
//! in a7, function in a6, arguments in a0 to a5; error in a0, value in a1.
//!
//! `guest/kernel/simulator.h` is generated from this.

use crate::{NI_REGIONS, NiIdentification, header};

crate::guest_constants! {
    /// Where kernel images are linked: the upper 2 GiB, as Linux's.
    pub const IMAGE: u64 = 0xffff_ffff_8000_0000;
    /// Where the kernel sees physical memory, from physical address 0 on.
    pub const DIRECT: u64 = 0xffff_ffc0_0000_0000;
    /// Where it sees the NI's registers, uncached.
    pub const DEVICE: u64 = 0xffff_ffe0_0000_0000;
    /// Their physical address. What lies there, or beyond, is no memory.
    pub const DEVICE_PHYSICAL: u64 = 1 << 40;
    /// What is mapped of them [bytes].
    pub const DEVICE_BYTES: u64 = 0x4000_0000;
    /// Where it sees the registers of the interrupt controller, uncached.
    pub const CONTROLLER: u64 = 0xffff_ffe0_4000_0000;

    /// Extension: Linux's system call whose number is the function, with its arguments, of the process. Costs no time but
    /// the ecall's. The error is 0, or `SLEEP`. A kernel of several harts finds in a3 the mask of those whose processes'
    /// threads wait no longer.
    pub const SBI_LINUX: u64 = 0x0a00_0000;
    /// Error of `SBI_LINUX`: the caller must sleep until the time in a2 [ticks of `time`], ~0: for ever; then its call
    /// returns the value.
    pub const SLEEP: u64 = 1;
    /// Error of `SBI_LINUX` to a kernel of several harts: the caller waits for another thread of its process, no longer than
    /// until the time in a2.
    pub const BLOCK: u64 = 2;
    /// Error of `SBI_LINUX`, likewise: a thread of the process is to begin on the hart in a2; its id is the value.
    pub const THREAD: u64 = 3;
    /// Error of `SBI_LINUX`, or of `SBI_PROCESS`, likewise: the thread has ended, or the process.
    pub const ENDED: u64 = 4;
    /// Extension: what only the simulator can do for the process.
    pub const SBI_PROCESS: u64 = 0x0a00_0001;
    /// Function: brings in the page at a0 for an access that failed with `scause` a1. The value is the physical address of
    /// a page that appeared and is to be cleared, or 0. The error is 0, or below 0: the process has no such page.
    pub const PROCESS_PAGE_FAULT: u64 = 0;
    /// Function: ends the process by its exception's signal: `scause` a0, `sepc` a1, `stval` a2, `ra` a3. Does not return.
    pub const PROCESS_EXCEPTION: u64 = 1;
    /// Function: gives the address of the `KernelProcess`, for messages of the simulator's.
    pub const PROCESS_WATCH: u64 = 2;
    /// Function: the kernel is broken: a0 and a1 are address and length of a text. Does not return.
    pub const PROCESS_PANIC: u64 = 3;
    /// Function: the process has ended, with status a0, as by `exit_group`; the kernel lives on.
    pub const PROCESS_EXIT: u64 = 4;
    /// Function: the time is over until which the caller waited for another thread. The value is what its call returns.
    pub const PROCESS_TIME_OUT: u64 = 5;
    /// Function, of several harts or processes of one: process a0 is on this hart from now on; its `KernelProcess` is at a1,
    /// and at a2 a word that is 1 while this hart's timer is set for the end of a turn and nothing else, else 0. The value is
    /// the physical address of the process's root page table.
    pub const PROCESS_SWITCH: u64 = 6;
    /// Function, likewise: 1 if process a0 has ended, whoever ended it, else 0. A hart gets a software interrupt when a
    /// process that it has ends, unless it is in the kernel for it.
    pub const PROCESS_HAS_ENDED: u64 = 7;
    /// Function: the kernel does not serve the process's system call a0, which returns ENOSYS.
    pub const PROCESS_UNSERVED: u64 = 8;
    /// Function: a device is told where the page at a0 is. Its entry has PAGE_EXPOSED from then on, and its memory becomes no
    /// page table.
    pub const PROCESS_EXPOSE: u64 = 9;
    /// Of a page-table entry.
    pub const PAGE_EXPOSED: u64 = 1 << 9;
    /// Extension: software interrupts of other harts (SBI, chapter 7).
    pub const SBI_IPI: u64 = 0x0073_5049;
    /// Function: interrupts the harts in the mask a0.
    pub const IPI_SEND: u64 = 0;
    /// Extension: harts (SBI, chapter 9).
    pub const SBI_HSM: u64 = 0x0048_534d;
    /// Function: hart a0 begins at a1, with its number in a0 and a2 in a1, and the page tables of its process.
    pub const HSM_START: u64 = 0;
    /// Harts of a node, at most, with a kernel.
    pub const HARTS_MAX: u64 = 64;
    /// Processes of a node, at most, with a kernel: of all jobs.
    pub const PROCESSES_MAX: u64 = 256;
    /// Type of the `ioctl` requests that are a driver's in the kernel (`_IOC_TYPE`): 'q'.
    pub const CONTROL_TYPE: u64 = 0x71;
    /// Number of the system call that goes past the kernel's table of calls to its driver: a fast trap. Linux has none so high.
    pub const FAST_CALL: u64 = 0x700;
    /// Data that a socket holds in each direction [bytes], a power of two.
    pub const SOCKET_BUFFER_BYTES: u64 = 65536;
    /// Where [bytes] what a trap saves has the address of the process's instruction.
    pub const FRAME_PC: u64 = 0;
    /// Where it has register x1, and behind it the others up to x31.
    pub const FRAME_X1: u64 = 8;
    /// Error of a function that there is not (`SBI_ERR_NOT_SUPPORTED`).
    pub const NOT_SUPPORTED: i64 = -2;
    /// Error of an argument that can't be (`SBI_ERR_INVALID_PARAM`).
    pub const INVALID_PARAMETER: i64 = -3;
    /// Error of an address that there is not (`SBI_ERR_INVALID_ADDRESS`).
    pub const INVALID_ADDRESS: i64 = -5;
}

crate::guest_struct! {
    /// What a kernel gets at its start: its address is in a1. Of several processes each has one, one behind the other;
    /// their number is in a2, that of the harts that each has in a3, that of the node's in a4: process p begins on hart
    /// p times a3, modulo a4. In a5 and a6 are the quantum of processes that share a hart and when the first begins, in
    /// ticks of `time`. Memory is described in the first.
    pub struct KernelBoot {
        /// The process's first instruction.
        pub entry: u64,
        /// Its stack pointer there; all its other registers are 0.
        pub stack_pointer: u64,
        /// First physical address of the kernel's free memory, at a page.
        pub memory: u64,
        /// Length of that [bytes], whole pages.
        pub memory_bytes: u64,
        /// Physical addresses of the NI's regions.
        pub regions: [u64; NI_REGIONS],
        /// The NI's identification page.
        pub ni: NiIdentification,
    }
}

crate::guest_struct! {
    /// What a kernel publishes about its process, for the simulator's reports.
    pub struct KernelProcess {
        /// Where the process is that has trapped.
        pub pc: u64,
        /// What it sleeps for: address of a NUL-terminated text, 0: it does not.
        pub waits_for: u64,
    }
}

/// Text of `guest/kernel/simulator.h`.
pub fn header() -> String {
    use header::GuestStruct;
    let body = [
        "#include <chasqui/abi.h>\n".to_string(),
        header::defines("KERNEL_", CONSTANTS),
        KernelBoot::definition(),
        KernelProcess::definition(),
    ];
    header::file("CHASQUI_KERNEL_SIMULATOR_H", "crates/abi/src/kernel.rs", &body.join("\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/kernel/simulator.h");
        crate::header::check(path, &super::header());
    }
}
