//! Registers of a node's interrupt controller, of 32 bits each: the memory map of the PLIC (RISC-V Platform-Level Interrupt
//! Controller Specification 1.0.0, "Memory Map"), relative to the controller's first address. Sources are numbered from 1 on,
//! devices' lines in the order of devices. Context 2h is supervisor level of hart h, context 2h + 1 its user level.
//!
//! `guest/include/chasqui/interrupts.h` is generated from this.

use crate::header;

crate::guest_constants! {
    /// Priority of source n at n times 4: 0 to 7, and 0 never interrupts.
    pub const PRIORITY: u64 = 0;
    /// Bits of the sources that are pending.
    pub const PENDING: u64 = 0x1000;
    /// Bits of the sources that are enabled in context 0; read only is what there is no source for.
    pub const ENABLE: u64 = 0x2000;
    /// From those of a context to those of the next [bytes].
    pub const ENABLE_STRIDE: u64 = 0x80;
    /// Threshold of context 0: sources of at most this priority do not interrupt it.
    pub const THRESHOLD: u64 = 0x20_0000;
    /// A load claims a source for context 0: its id, or 0. A store of the id completes it.
    pub const CLAIM: u64 = 0x20_0004;
    /// From threshold and claim of a context to those of the next [bytes].
    pub const CONTEXT_STRIDE: u64 = 0x1000;
    /// Addresses that the controller has [bytes].
    pub const BYTES: u64 = 0x40_0000;
}

/// Text of `guest/include/chasqui/interrupts.h`.
pub fn header() -> String {
    let body = header::defines("INTERRUPTS_", CONSTANTS);
    header::file("CHASQUI_INTERRUPTS_H", "crates/abi/src/interrupts.rs", &body)
}

#[cfg(test)]
mod tests {
    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/include/chasqui/interrupts.h");
        crate::header::check(path, &super::header());
    }
}
