//! Where the processor finds the NES: registers by their addresses.

use chasqui_memory::PAGE_BYTES;
use chasqui_placement::ProcessId;

use super::queues::{QueueName, QueueNames};
use crate::{PROCESSES_MAX, registers};

/// Where the registers are, from [`DEVICE_BASE`]: the pages of pointers first, then the page of Express
/// receive queues and OnePoll, the windows of Express and of Tag-On messages, and the registers of system software.
pub(super) const EXPRESS_RECEIVE: u64 = 1 << 31;
pub(super) const EXPRESS_WINDOW: u64 = 1 << 41;
pub(super) const TAG_WINDOW: u64 = 2 << 41;
pub(super) const SYSTEM: u64 = 3 << 41;
/// From one process's registers of system software to the next one's.
pub(super) const SYSTEM_STRIDE: u64 = 1 << 30;
// There is room whatever is set: logical destinations have 16 bits at most, entries of the table eight bytes.
const _: () = assert!(registers::SYSTEM_TABLE + ((registers::SP_QUEUE + 1) << (16 + 3)) <= SYSTEM_STRIDE);
const TAG_BITS: u64 = registers::EXPRESS_DESTINATION_SHIFT + 16 + registers::TAG_PLACE_SHIFT;
const _: () = assert!((PROCESSES_MAX * registers::TAGS_MAX) << TAG_BITS <= SYSTEM - TAG_WINDOW);

/// End of the registers by which tagged data are given back.
pub(super) const TAG_RELEASE_END: u64 =
    registers::TAG_RELEASE + registers::EXPRESS_QUEUES * registers::TAGS_MAX / 8;

/// What an address of the processor's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// A pointer of a Basic queue.
    Pointer(QueueName, u64),
    /// A pointer of a process: DMA, tagged data.
    Process(ProcessId, u64),
    /// Count of messages sent through an Express queue.
    Sent(QueueName),
    /// An Express receive queue.
    Receive(QueueName),
    /// A phantom queue of OnePoll: those of all processes are counted.
    OnePoll(usize),
    /// The upper half of a message of which the lower was loaded before: where it is kept.
    Upper(usize),
    /// Four names of a phantom queue's order: those of all processes are counted.
    Order(usize),
    /// The window of Express messages: offset.
    Express(u64),
    /// The window of Tag-On messages: offset.
    Tag(u64),
    /// System software's, of a process: offset.
    System(ProcessId, u64),
    /// None, on a page of a process's.
    Nothing(ProcessId),
}

const QUEUES: usize = registers::EXPRESS_QUEUES as usize;
/// Phantom queues of a process.
pub(super) const ONEPOLLS: usize = registers::ONEPOLLS as usize;
/// Words of a process's orders.
pub(super) const ORDERS: usize = (registers::ONEPOLLS * registers::ONEPOLL_STRIDE / 8) as usize;
/// Places of a process where upper halves are kept.
pub(super) const HALVES: usize = QUEUES + ONEPOLLS;

impl Register {
    /// A store to it is a message.
    pub fn sends(self) -> bool {
        matches!(self, Register::Express(_) | Register::Tag(_))
    }

    pub fn at(names: QueueNames, address: u64) -> Register {
        const SENT_END: u64 = registers::EXPRESS_SENT + 8 * registers::EXPRESS_QUEUES;
        match address {
            0..EXPRESS_RECEIVE => {
                let index = (address / PAGE_BYTES) as usize;
                let process = ProcessId((index / names.basic) as u32);
                match address % PAGE_BYTES {
                    offset @ 0..=registers::RECEIVE_CONSUMER => Register::Pointer(names.basic(index), offset),
                    offset @ registers::EXPRESS_SENT..SENT_END if index.is_multiple_of(names.basic) => {
                        Register::Sent(names.express(process, (offset - registers::EXPRESS_SENT) / 8))
                    }
                    offset => Register::Process(process, offset),
                }
            }
            EXPRESS_RECEIVE..EXPRESS_WINDOW => {
                let offset = address - EXPRESS_RECEIVE;
                Register::of_receive_page(names, ProcessId((offset / PAGE_BYTES) as u32), offset % PAGE_BYTES)
            }
            EXPRESS_WINDOW..TAG_WINDOW => Register::Express(address - EXPRESS_WINDOW),
            TAG_WINDOW..SYSTEM => Register::Tag(address - TAG_WINDOW),
            SYSTEM.. => {
                let offset = address - SYSTEM;
                Register::System(ProcessId((offset / SYSTEM_STRIDE) as u32), offset % SYSTEM_STRIDE)
            }
        }
    }

    fn of_receive_page(names: QueueNames, process: ProcessId, offset: u64) -> Register {
        const QUEUES_END: u64 = 8 * registers::EXPRESS_QUEUES;
        const ONEPOLLS_END: u64 = registers::ONEPOLL + 8 * registers::ONEPOLLS;
        const ORDERS_END: u64 = registers::ONEPOLL_ORDER + 8 * ORDERS as u64;
        let from = |first: u64| ((offset - first) / 8) as usize;
        let register = match offset {
            0..QUEUES_END => Register::Receive(names.express(process, offset / 8)),
            registers::ONEPOLL..ONEPOLLS_END => {
                Register::OnePoll(process.index() * ONEPOLLS + from(registers::ONEPOLL))
            }
            registers::ONEPOLL_ORDER..ORDERS_END => {
                Register::Order(process.index() * ORDERS + from(registers::ONEPOLL_ORDER))
            }
            _ => Register::Nothing(process),
        };
        register.half().filter(|_| offset & 4 != 0).map_or(register, Register::Upper)
    }

    /// Where the upper half of a message that a load from here takes is kept.
    pub fn half(self) -> Option<usize> {
        let place = |index: usize, each: usize| index / each * HALVES + index % each;
        match self {
            Register::Receive(queue) => Some(place(usize::from(queue), QUEUES)),
            Register::OnePoll(phantom) => Some(QUEUES + place(phantom, ONEPOLLS)),
            _ => None,
        }
    }
}
