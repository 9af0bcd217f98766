//! What a card needs of its way to the host, whatever that is: a bus that all share ([`Pci`](super::Pci)), or a link of packets
//! ([`Pcie`](super::Pcie)). The processors' stores and loads go one way, and a block at a time of the card's DMA the one or the
//! other; all memory is in the card's hands, and in the memory system's.
//!
//! It schedules nothing itself: after each call the card asks what follows ([`IoPath::step`]) until there is nothing more.

use chasqui_counters::Visitor;
use chasqui_engine::Time;

use super::{HostBlock, HostLoad};
use crate::SramPace;

/// Kinds of events of the way. The card passes them back at their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEvent {
    /// A bus: the address of a tenure is over.
    Granted,
    /// What was under way has crossed. A link: something may have.
    Moved,
    /// A bus: nothing has moved for as long as may be.
    Limit,
}

/// What follows. Offsets are in the block that the DMA moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IoStep {
    /// [`IoPath::event`] follows then.
    At(Time, IoEvent),
    /// Processors' stores come to the card.
    Store {
        /// Where to in the card's memory.
        address: u64,
        /// What.
        data: Vec<u8>,
        /// They come word by word.
        pace: Option<SramPace>,
    },
    /// A processor's load comes to the card: [`IoPath::answer`] follows.
    Load {
        /// From where in the card's memory.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// The host's memory is read: [`IoPath::memory_read`] follows.
    ReadMemory {
        /// Which line of the block.
        line: usize,
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// The host's memory is written: [`IoPath::memory_written`] follows.
    WriteMemory {
        /// Number of the block, of all that were begun, from 0 on. It need not be the one that is under way.
        block: u64,
        /// Physical address.
        address: u64,
        /// What, a line or less.
        data: Vec<u8>,
    },
    /// The card's memory is read: [`IoPath::local_read`] follows.
    ReadLocal {
        /// Where in the block.
        offset: u32,
        /// Length [bytes].
        bytes: u32,
    },
    /// The card's memory is written: [`IoPath::local_written`] follows.
    WriteLocal {
        /// Where in the block.
        offset: u32,
        /// What.
        data: Vec<u8>,
        /// It comes word by word.
        pace: Option<SramPace>,
    },
    /// The block is done. What goes to the host may still be on its way; nothing of the card's comes to memory before it.
    Done,
}

/// The way between a card and its host.
pub trait IoPath: Send {
    /// There is room for a store of `bytes` at `now`.
    fn has_room(&self, bytes: u32, now: Time) -> bool;
    /// A processor stores `value`, for which there is room. `place`: address in the card's memory, and length [bytes].
    fn store(&mut self, place: (u64, u32), value: u64, now: Time);
    /// A processor loads, or tries it again.
    fn load(&mut self, place: (u64, u32), now: Time) -> HostLoad;
    /// The answer to a load can be taken.
    fn is_answered(&self, place: (u64, u32)) -> bool;
    /// The card's memory has what a processor's load asked for. If a [`IoEvent::Moved`] follows at once: when.
    fn answer(&mut self, value: u64, now: Time) -> Option<Time>;
    /// The DMA begins with a block.
    ///
    /// # Panics
    /// Another is under way.
    fn begin(&mut self, block: HostBlock, now: Time);
    /// A block is under way.
    fn is_busy(&self) -> bool;
    /// The host's memory has read a line.
    fn memory_read(&mut self, line: usize, data: Vec<u8>, now: Time);
    /// The host's memory has written the oldest line that it was asked to.
    fn memory_written(&mut self, now: Time);
    /// The card's memory has read the oldest part that it was asked for.
    fn local_read(&mut self, data: Vec<u8>, now: Time);
    /// The card's memory has written the oldest part that it was asked to.
    fn local_written(&mut self, now: Time);
    /// An event is due.
    fn event(&mut self, event: IoEvent, now: Time);
    /// What follows from the calls so far, one after the other.
    fn step(&mut self, now: Time) -> Option<IoStep>;
    /// Visits its counters.
    fn statistics(&self, visit: &mut Visitor<'_>);
}
