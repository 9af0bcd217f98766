//! Where the processor finds the NES: registers by their addresses, rings in memory.

use chasqui_memory::PAGE_BYTES;
use chasqui_ni::Region;

use super::queues::{self, Name};
use crate::registers;

/// Where the registers are, from [`DEVICE_BASE`]: the pages of pointers first, then the page of Express
/// receive queues and OnePoll, the windows of Express and of Tag-On messages, and the registers of system software.
pub(super) const EXPRESS_RECEIVE: u64 = 1 << 31;
pub(super) const EXPRESS_WINDOW: u64 = 1 << 32;
pub(super) const TAG_WINDOW: u64 = 2 << 32;
pub(super) const SYSTEM: u64 = 3 << 32;

/// What an address of the processor's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// A pointer of a Basic queue.
    Pointer(Name, u64),
    /// A pointer of the process's: DMA, tagged data.
    Process(u64),
    /// Count of messages sent through an Express queue.
    Sent(Name),
    /// An Express receive queue.
    Receive(Name),
    /// A phantom queue of OnePoll.
    OnePoll(usize),
    /// The upper half of a message of which the lower was loaded before: where it is kept.
    Upper(usize),
    /// Four names of a phantom queue's order.
    Order(usize),
    /// The window of Express messages: offset.
    Express(u64),
    /// The window of Tag-On messages: offset.
    Tag(u64),
    /// System software's: offset.
    System(u64),
    /// None.
    Nothing,
}

/// Places where upper halves are kept.
pub(super) const HALVES: u64 = registers::EXPRESS_QUEUES + registers::ONEPOLLS;

impl Register {
    pub fn at(address: u64) -> Register {
        const SENT_END: u64 = registers::EXPRESS_SENT + 8 * registers::EXPRESS_QUEUES;
        match address {
            0..EXPRESS_RECEIVE => match (address / PAGE_BYTES, address % PAGE_BYTES) {
                (page, offset @ 0..=registers::RECEIVE_CONSUMER) => {
                    Register::Pointer(queues::basic(page as usize), offset)
                }
                (0, offset @ registers::EXPRESS_SENT..SENT_END) => {
                    Register::Sent(((offset - registers::EXPRESS_SENT) / 8) as Name)
                }
                (_, offset) => Register::Process(offset),
            },
            EXPRESS_RECEIVE..EXPRESS_WINDOW => Register::of_receive_page(address - EXPRESS_RECEIVE),
            EXPRESS_WINDOW..TAG_WINDOW => Register::Express(address - EXPRESS_WINDOW),
            TAG_WINDOW..SYSTEM => Register::Tag(address - TAG_WINDOW),
            SYSTEM.. => Register::System(address - SYSTEM),
        }
    }

    fn of_receive_page(offset: u64) -> Register {
        const QUEUES_END: u64 = 8 * registers::EXPRESS_QUEUES;
        const ONEPOLLS_END: u64 = registers::ONEPOLL + 8 * registers::ONEPOLLS;
        const ORDERS_END: u64 = registers::ONEPOLL_ORDER + registers::ONEPOLLS * registers::ONEPOLL_STRIDE;
        let register = match offset {
            0..QUEUES_END => Register::Receive((offset / 8) as Name),
            registers::ONEPOLL..ONEPOLLS_END => {
                Register::OnePoll(((offset - registers::ONEPOLL) / 8) as usize)
            }
            registers::ONEPOLL_ORDER..ORDERS_END => {
                Register::Order(((offset - registers::ONEPOLL_ORDER) / 8) as usize)
            }
            _ => Register::Nothing,
        };
        register.half().filter(|_| offset & 4 != 0).map_or(register, Register::Upper)
    }

    /// Where the upper half of a message that a load from here takes is kept.
    pub fn half(self) -> Option<usize> {
        match self {
            Register::Receive(queue) => Some(usize::from(queue)),
            Register::OnePoll(phantom) => Some(registers::EXPRESS_QUEUES as usize + phantom),
            _ => None,
        }
    }
}

/// A ring of slots in SRAM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub base: u64,
    pub slots: u32,
    pub slot_bytes: u64,
}

impl Ring {
    pub fn slot(&self, pointer: u32) -> u64 {
        self.base + u64::from(pointer % self.slots) * self.slot_bytes
    }

    /// Whole pages that it takes.
    pub fn bytes(&self) -> u64 {
        (u64::from(self.slots) * self.slot_bytes).next_multiple_of(PAGE_BYTES)
    }
}

/// The like rings of all Basic queues, one after the other. A ring has one address, wherever the queue is at
/// home: the NES answers for those of resident queues from its SRAM, the others are in the DRAM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rings {
    pub first: Ring,
    pub count: usize,
}

impl Rings {
    /// That of Basic queue `index`.
    pub fn ring(&self, index: usize) -> Ring {
        Ring { base: self.first.base + index as u64 * self.first.bytes(), ..self.first }
    }

    pub fn bytes(&self) -> u64 {
        self.count as u64 * self.first.bytes()
    }

    /// The queue whose ring holds `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.first.base).filter(|&offset| offset < self.bytes())?;
        Some((offset / self.first.bytes()) as usize)
    }

    pub fn region(&self) -> Region {
        Region { physical: self.first.base, bytes: self.bytes() }
    }
}
