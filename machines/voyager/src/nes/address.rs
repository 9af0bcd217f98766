//! Where the processor finds the NES: registers by their addresses.

use chasqui_memory::PAGE_BYTES;

use super::queues::{Name, Names};
use crate::{JOBS_MAX, registers};

/// Where the registers are, from [`DEVICE_BASE`]: the pages of pointers first, then the page of Express
/// receive queues, the windows of Express and of Tag-On messages, and the registers of system software.
pub(super) const EXPRESS_RECEIVE: u64 = 1 << 31;
pub(super) const EXPRESS_WINDOW: u64 = 1 << 41;
pub(super) const TAG_WINDOW: u64 = 2 << 41;
pub(super) const SYSTEM: u64 = 3 << 41;
/// From one job's registers of system software to the next one's.
pub(super) const SYSTEM_STRIDE: u64 = 1 << 30;
// There is room whatever is set: logical destinations have 16 bits at most, entries of the table eight bytes.
const _: () = assert!(registers::SYSTEM_TABLE + (registers::QUEUES << (16 + 3)) <= SYSTEM_STRIDE);
const TAG_BITS: u64 = registers::EXPRESS_DESTINATION_SHIFT + 16 + registers::TAG_PLACE_SHIFT;
const _: () = assert!((JOBS_MAX * registers::TAGS_MAX) << TAG_BITS <= SYSTEM - TAG_WINDOW);

/// What an address of the processor's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// A pointer of a Basic queue.
    Pointer(Name, u64),
    /// A pointer of a job's process: DMA, tagged data.
    Process(usize, u64),
    /// Count of messages sent through an Express queue.
    Sent(Name),
    /// A job's page of Express receive queues: offset.
    Receive(usize, u64),
    /// The window of Express messages: offset.
    Express(u64),
    /// The window of Tag-On messages: offset.
    Tag(u64),
    /// System software's, of a job: offset.
    System(usize, u64),
}

impl Register {
    pub fn at(names: Names, address: u64) -> Register {
        const SENT_END: u64 = registers::EXPRESS_SENT + 8 * registers::EXPRESS_QUEUES;
        match address {
            0..EXPRESS_RECEIVE => {
                let index = (address / PAGE_BYTES) as usize;
                let job = index / names.basic;
                match address % PAGE_BYTES {
                    offset @ 0..=registers::RECEIVE_CONSUMER => Register::Pointer(names.basic(index), offset),
                    offset @ registers::EXPRESS_SENT..SENT_END if index.is_multiple_of(names.basic) => {
                        Register::Sent(names.express(job, (offset - registers::EXPRESS_SENT) / 8))
                    }
                    offset => Register::Process(job, offset),
                }
            }
            EXPRESS_RECEIVE..EXPRESS_WINDOW => {
                let offset = address - EXPRESS_RECEIVE;
                Register::Receive((offset / PAGE_BYTES) as usize, offset % PAGE_BYTES)
            }
            EXPRESS_WINDOW..TAG_WINDOW => Register::Express(address - EXPRESS_WINDOW),
            TAG_WINDOW..SYSTEM => Register::Tag(address - TAG_WINDOW),
            SYSTEM.. => {
                let offset = address - SYSTEM;
                Register::System((offset / SYSTEM_STRIDE) as usize, offset % SYSTEM_STRIDE)
            }
        }
    }
}
