//! Sv39 page tables in simulated memory (RISC-V privileged ISA, "Sv39: Page-Based 39-bit
//! Virtual-Memory System"). Only 4-KiB leaves are made.

use chasqui_memory::FlatMemory;

use super::banks::Banks;
use super::page::{PAGE_BYTES, Protection};

/// Bits of a page-table entry.
pub mod bits {
    /// Valid.
    pub const V: u64 = 1;
    /// Readable.
    pub const R: u64 = 1 << 1;
    /// Writable.
    pub const W: u64 = 1 << 2;
    /// Executable.
    pub const X: u64 = 1 << 3;
    /// User mode may use it.
    pub const U: u64 = 1 << 4;
    /// Was accessed; set from the start, so that no hart needs to write the table.
    pub const A: u64 = 1 << 6;
    /// Was written; set from the start where writing is allowed.
    pub const D: u64 = 1 << 7;
    /// For software (RSW): an invalid entry that keeps its frame, for `PROT_NONE`.
    pub const KEPT: u64 = 1 << 8;
    /// For software (RSW): a device was told where the page is.
    pub const EXPOSED: u64 = 1 << 9;
}

const LEVELS: u32 = 3;
const INDEX_BITS: u32 = 9;
/// A page-table entry's page number begins here.
const PPN_SHIFT: u32 = 10;
const PPN_BITS: u32 = 44;

/// The part of an entry that names the page at `physical`.
fn page_number(physical: u64) -> u64 {
    (physical / PAGE_BYTES) << PPN_SHIFT
}

/// Physical address that an entry names.
pub fn physical(entry: u64) -> u64 {
    (entry >> PPN_SHIFT & ((1 << PPN_BITS) - 1)) * PAGE_BYTES
}

/// The leaf entry for the page at `physical`.
pub fn leaf(physical: u64, protection: Protection) -> u64 {
    let page = page_number(physical);
    if protection == Protection::NONE {
        return page | bits::KEPT;
    }
    let mut entry = page | bits::V | bits::U | bits::A;
    // Linux `protection_map` (arch/riscv/mm/init.c): what is writable is readable; W without R is
    // reserved in the architecture.
    if protection.allows(Protection::READ) || protection.allows(Protection::WRITE) {
        entry |= bits::R;
    }
    if protection.allows(Protection::WRITE) {
        entry |= bits::W | bits::D;
    }
    if protection.allows(Protection::EXECUTE) {
        entry |= bits::X;
    }
    entry
}

/// The tree of tables under one root.
pub struct PageTable {
    /// Physical address of the root table.
    pub root: u64,
}

fn shift(level: u32) -> u32 {
    12 + INDEX_BITS * level
}

fn slot(table: u64, address: u64, level: u32) -> u64 {
    table + (address >> shift(level) & ((1 << INDEX_BITS) - 1)) * 8
}

/// The entry at physical address `at`.
pub fn load(memory: &FlatMemory, at: u64) -> u64 {
    memory.read(at, 8).expect("page tables lie inside the node's memory")
}

/// Sets the entry at physical address `at`.
pub fn store(memory: &mut FlatMemory, at: u64, entry: u64) {
    memory.write(at, 8, entry).expect("page tables lie inside the node's memory");
}

impl PageTable {
    /// Where the leaf entry of `address` is; none when its table does not exist.
    pub fn find(&self, memory: &FlatMemory, address: u64) -> Option<u64> {
        let mut table = self.root;
        for level in (1..LEVELS).rev() {
            let entry = load(memory, slot(table, address, level));
            if entry & bits::V == 0 {
                return None;
            }
            table = physical(entry);
        }
        Some(slot(table, address, 0))
    }

    /// Where the leaf entry of `address` is; makes the tables that lead to it. None: no frames.
    pub fn make(&self, memory: &mut FlatMemory, frames: &mut Banks, address: u64) -> Option<u64> {
        let mut table = self.root;
        for level in (1..LEVELS).rev() {
            let at = slot(table, address, level);
            let entry = load(memory, at);
            table = if entry & bits::V == 0 {
                let frame = frames.take_for_table(memory)?;
                store(memory, at, page_number(frame) | bits::V);
                frame
            } else {
                physical(entry)
            };
        }
        Some(slot(table, address, 0))
    }

    /// The first page in `from..end` whose entry is not zero: its address, where its entry is, and
    /// the entry. Skips what has no tables, so that huge empty areas cost nothing.
    pub fn next(&self, memory: &FlatMemory, from: u64, end: u64) -> Option<(u64, u64, u64)> {
        let mut address = from;
        'next: while address < end {
            let mut table = self.root;
            for level in (0..LEVELS).rev() {
                let at = slot(table, address, level);
                let entry = load(memory, at);
                if entry == 0 {
                    let bytes = 1 << shift(level);
                    address = (address / bytes + 1) * bytes;
                    continue 'next;
                }
                if level == 0 {
                    return Some((address, at, entry));
                }
                table = physical(entry);
            }
        }
        None
    }
}
