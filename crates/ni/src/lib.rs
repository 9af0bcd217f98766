//! What a network interface is to its node.
//!
//! A node calls its NI when the processor's accesses reach it ([`NetworkInterface::read`],
//! [`NetworkInterface::write`]), when its own events are due, when the network brings something,
//! and when a bus transaction that it asked for takes effect or ends. The NI acts through a
//! [`Context`]. Machines are built from NIs; the node knows none of them.
//!
//! NIs are built from parts, one a file: `pipeline.rs` has what an NI promises, by what its events lead to; `names.rs`
//! declares events and units. `link.rs` is an NI's end of its link. `dma.rs` reads and writes memory, of which `block.rs`
//! says where it is. `doorbell.rs` finds and answers doorbells, `ring.rs` has rings of slots, `descriptors.rs` those of descriptors that are
//! fetched ahead, `mailbox.rs` mailboxes. `firmware/` has a processor that runs the firmware of an NI, with memory of its
//! own or on an SRAM that several masters share, `sram.rs`.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod block;
mod descriptors;
mod dma;
mod doorbell;
mod firmware;
mod io_bus;
mod link;
mod mailbox;
mod names;
mod pipeline;
mod ring;
mod sram;
pub mod testing;
mod worm;

use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::Visitor;
use chasqui_engine::{Event, Outbox, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, FlatMemory, Incoherence, Incoming, Port};
use chasqui_placement::ProcessId;
use chasqui_record::{Profile, Recorder};

pub use block::{Piece, line_parts};
pub use descriptors::DescriptorRing;
pub use dma::{DmaReader, DmaWriter, Portions, TagOf, Written};
pub use doorbell::Doorbells;
pub use firmware::{
    DeviceAccess, Ended, FIRMWARE_DEVICE, FIRMWARE_MEMORY, FirmwareMark, FirmwareProcessor, FirmwareSpec,
    LocalMemory, PrivateMemory, ProcessorSpec, RankMark, SharedSram, SpecWith, Taken, Trap, table_bytes,
};
pub use io_bus::{
    Bridge, BridgeSpec, CardDma, CardDmaSpec, CardStep, FromHost, HostBlock, HostLoad, IoBus, IoBusSpec,
    IoBusStatistics, IoEvent, IoPath, IoStep, Pci, Pcie, PcieOverhead, PcieSpec,
};
pub use link::{LinkEnd, MessageKey};
pub use mailbox::{Mailbox, MailboxStatistics, Turns};
pub use pipeline::{Flow, Outlet, Pipeline, Promises, Step};
pub use ring::{Ring, SlotQueue};
pub use sram::{Sram, SramBlock, SramData, SramDone, SramPace, SramSpec, SramStatistics};
pub use worm::{Filled, Flit, ReceiveDma, ReceiveStep, SendBlock, SendDma, SendDmaSpec};

/// A window of the NI that processes map through `/dev/ni0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Physical address; registers are at [`DEVICE_BASE`] and above.
    pub physical: u64,
    /// Length [bytes], a multiple of the page.
    pub bytes: u64,
}

impl Region {
    /// Accesses are uncached transactions, answered by the NI.
    pub fn uncached(&self) -> bool {
        self.physical >= DEVICE_BASE
    }
}

/// Answer to an uncached load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The value.
    pub value: u64,
    /// From the end of the address tenure to the data.
    pub latency: Time,
    /// Reading had no effect, and reads the same again until one of the NI's visible events:
    /// a loop that polls this may be skipped over.
    pub repeatable: bool,
}

/// A quantum is over on a node whose NI the running process has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Bit p: the node has a process p, which has not ended.
    pub live: u64,
    /// The hart did nothing but wait until the quantum's end.
    pub idle: bool,
}

/// The turn of the processes of one number, on a node whose NI the running process has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The process.
    pub process: ProcessId,
    /// From now until it can run.
    pub after: Time,
    /// No other turn comes.
    pub last: bool,
}

/// The answer to a 64-byte store: the NI has taken it.
pub const ACCEPTED: u64 = 0;
/// The answer to a 64-byte store: the NI has no room, and nothing has happened.
pub const RETRY: u64 = 1;

/// An uncached access of the processor, at its grant or, through a link, at the NI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncached {
    /// A load.
    Load,
    /// A store.
    Store,
}

/// What an NI asks of the memory bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusOperation {
    /// Reads a line or less; a cache that holds it modified gives it and keeps it shared.
    Read,
    /// Writes a line or less; caches drop their copies.
    Write,
    /// Reads; caches drop their copies.
    ReadInvalidate,
    /// No data: caches drop their copies; a modified one is written back first.
    Invalidate,
    /// Writes a line or less, into the L2 of the process's first hart if it can take it (`Port::stash`); else as `Write`.
    Stash(ProcessId),
    /// Writes a message to the process, or a line or less of it, to its buffer in network memory: the network cache of the
    /// process's hart takes it, if there is one.
    Deposit(ProcessId, Incoming),
}

/// A bus transaction that an NI asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusRequest {
    /// What.
    pub operation: BusOperation,
    /// Physical address.
    pub address: u64,
    /// Length [bytes]; within one line.
    pub bytes: u32,
    /// The NI's own name for it.
    pub tag: u64,
}

/// The operating system's part in DMA: it knows the processes' pages, and brings them in, whether a hart executes the
/// process at the moment or not.
pub trait Pager {
    /// The first hart of `process`, if that is here.
    fn hart(&self, process: ProcessId) -> Option<usize>;
    /// Physical address of `address` of `process`, if its page is there and may be read, or written if `write`.
    fn physical(&self, memory: &FlatMemory, process: ProcessId, address: u64, write: bool) -> Option<u64>;
    /// Makes the page at virtual address `address` of `process` present, for writing if `write`. False: the process
    /// has no such page.
    fn page_in(&mut self, memory: &mut FlatMemory, process: ProcessId, address: u64, write: bool) -> bool;
}

/// What an NI may do while its node calls it.
pub struct Context<'a, 'b> {
    /// The present.
    pub now: Time,
    /// Nothing else happens on the node before then, but for what the NI asks for in this call.
    pub alone: Time,
    /// Functional memory of the coherence domain.
    pub memory: &'a mut FlatMemory,
    /// The harts' ports, for the coherence checker and for processes' address spaces.
    pub ports: &'a mut [&'a mut Port],
    /// The hart whose access this is about, else the first.
    pub hart: usize,
    /// The operating system, for pages that are not there.
    pub pager: &'a mut dyn Pager,
    /// Life-of-a-message records, by process.
    pub recorders: &'a mut [Recorder],
    /// Other partitions.
    pub out: &'a mut Outbox<'b>,
    /// What the NI asks for; the node takes it after the call.
    pub outputs: &'a mut Outputs,
}

/// What an NI asked for during a call.
#[derive(Default)]
pub struct Outputs {
    /// Its own events to come: when, and what.
    pub events: Vec<(Time, Payload)>,
    /// Bus transactions.
    pub bus: Vec<BusRequest>,
    /// Time to be charged to the processor [ps] (an idealised NI's overhead).
    pub charge: Time,
    /// A violation that the coherence checker saw, and in whose work.
    pub incoherence: Option<(ProcessId, Incoherence)>,
    /// Whose turn is next.
    pub turn: Option<Turn>,
    /// Interrupt lines that are asserted from now on, or not.
    pub interrupts: Vec<(u32, bool)>,
    /// Violations of protection: who did it, and what it was.
    pub faults: Vec<(ProcessId, String)>,
    /// Marks that a program of a process's has executed on a processor of the NI's, each process's in their order.
    pub marks: Vec<(ProcessId, RankMark)>,
    /// The machine is broken, which ends all jobs: when that is found, and what it is.
    pub broken: Option<(Time, String)>,
}

impl Outputs {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.has_only_events()
    }

    /// Nothing but events is asked for.
    fn has_only_events(&self) -> bool {
        let Outputs { events: _, bus, charge, incoherence, turn, interrupts, faults, marks, broken } = self;
        bus.is_empty()
            && *charge == Time::ZERO
            && incoherence.is_none()
            && turn.is_none()
            && interrupts.is_empty()
            && faults.is_empty()
            && marks.is_empty()
            && broken.is_none()
    }
}

impl Context<'_, '_> {
    /// An event of the NI's own at `time`.
    #[inline]
    pub fn at(&mut self, time: Time, payload: Payload) {
        debug_assert!(time >= self.now);
        self.outputs.events.push((time, payload));
    }

    /// Nothing happens on the node before then, and nothing comes from others: what the NI alone would do in an event until
    /// then it may do at once.
    pub fn alone_until(&self) -> Time {
        let Outputs { events, .. } = &*self.outputs;
        if !self.outputs.has_only_events() {
            return self.now;
        }
        let until = self.alone.min(self.out.limit());
        events.iter().fold(until, |until, &(time, _)| until.min(time))
    }

    /// Asks for a bus transaction.
    pub fn bus(&mut self, request: BusRequest) {
        self.outputs.bus.push(request);
    }

    /// Interrupt line `line` of the NI is asserted from now on, or not: level-triggered, to the node's interrupt controller,
    /// and, unless software says otherwise there, to its first hart, where a kernel may listen. Like a register's value it is something that the processor notices: an event that changes it is
    /// visible, and comes no sooner than [`NetworkInterface::input_latency`] after what causes it.
    pub fn interrupt(&mut self, line: u32, asserted: bool) {
        self.outputs.interrupts.push((line, asserted));
    }

    /// The port of the hart whose access this is about.
    pub fn port(&mut self) -> &mut Port {
        self.ports[self.hart]
    }

    /// The port of the first hart of `process`.
    ///
    /// # Panics
    /// The node has no such process.
    pub fn port_of(&mut self, process: ProcessId) -> &mut Port {
        let hart = self.pager.hart(process).expect("a process of this node");
        self.ports[hart]
    }

    /// Physical address of the virtual address `address` of `process`, if its page is there, is memory, and may be read, or
    /// written if `write`.
    pub fn physical(&self, process: ProcessId, address: u64, write: bool) -> Option<u64> {
        let physical = self.pager.physical(self.memory, process, address, write);
        physical.filter(|&physical| physical < DEVICE_BASE)
    }

    /// Has the operating system bring in the page at virtual address `address` of `process`. False: it has no such page in memory;
    /// registers are none.
    pub fn page_in(&mut self, process: ProcessId, address: u64, write: bool) -> bool {
        self.pager.page_in(self.memory, process, address, write)
            && self.physical(process, address, write).is_some()
    }

    /// `process` has violated protection.
    pub fn fault(&mut self, process: ProcessId, what: String) {
        self.outputs.faults.push((process, what));
    }

    /// The NI reads `bytes` at `address` for `process` through its own port, past the caches.
    pub fn read_unsnooped(&mut self, process: ProcessId, address: u64, bytes: &mut [u8]) {
        for port in self.ports.iter() {
            let seen = port.check_device_read(address, bytes.len() as u64);
            self.outputs.incoherence = self.outputs.incoherence.or(seen.map(|seen| (process, seen)));
        }
        let source = self.memory.slice(address, bytes.len()).expect("the NI's own memory");
        bytes.copy_from_slice(source);
    }

    /// The NI writes `bytes` at `address` through its own port, past the caches.
    pub fn write_unsnooped(&mut self, address: u64, bytes: &[u8]) {
        self.memory.slice_mut(address, bytes.len()).expect("the NI's own memory").copy_from_slice(bytes);
        for port in self.ports.iter_mut() {
            port.note_device_write(address, bytes.len() as u64);
        }
    }
}

/// What may make an NI send.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// An access of the processor, or a bus transaction of its, reaches the NI.
    Access,
    /// An event of the NI's own.
    Event(Payload),
    /// An event from another partition.
    Network(&'a Event),
    /// A bus transaction of the NI's is granted, or over.
    Bus(BusRequest),
}

/// A network interface.
pub trait NetworkInterface: Send {
    /// Fills in what the identification page says of this NI.
    fn identify(&self, page: &mut NiIdentification);
    /// Windows that `process` may map, in the order of the identification page.
    fn regions(&self, process: ProcessId) -> Vec<Region>;
    /// The running process has the NI to itself: the processes of one number run on all nodes in the same turns, which
    /// the NIs agree upon.
    fn is_exclusive(&self) -> bool {
        false
    }
    /// An exclusive NI: the quantum is over, and nobody is on the hart. The NI says when whose turn it is
    /// ([`Outputs::turn`]).
    fn leave(&mut self, context: &mut Context<'_, '_>, leave: Leave) {
        let _ = (context, leave);
        unreachable!("the NI is not exclusive")
    }
    /// `process` is over: it takes no messages any more. `sends`: it has exited, and what it has sent goes on its way; else it
    /// has ended before its time.
    fn close(&mut self, context: &mut Context<'_, '_>, process: ProcessId, sends: bool) {
        let _ = (context, process, sends);
    }
    /// [`NetworkInterface::retry`] may have something to say of an access to `address`; else it need not be asked.
    fn may_retry(&self, address: u64) -> bool {
        let _ = address;
        false
    }
    /// An uncached access is granted the bus. `Some`: the NI can't serve it now; only its address tenure takes
    /// place, and it asks for the bus again so long after that. Where accesses take no time stores are not asked for. `place`:
    /// address, relative to [`DEVICE_BASE`], and length [bytes].
    fn retry(&mut self, context: &mut Context<'_, '_>, place: (u64, u32), access: Uncached) -> Option<Time> {
        let _ = (context, place, access);
        None
    }
    /// An uncached load reaches the NI. `address` is relative to [`DEVICE_BASE`].
    fn read(&mut self, context: &mut Context<'_, '_>, address: u64, bytes: u32) -> Reply;
    /// An uncached store reaches the NI.
    fn write(&mut self, context: &mut Context<'_, '_>, address: u64, bytes: u32, value: u64);
    /// A store of 64 bytes reaches the NI, whole, eight words from the lowest address on. `answered`: the processor
    /// waits for the reply, [`ACCEPTED`] or [`RETRY`]. Without this method such a store is a fault.
    fn store_64(
        &mut self,
        context: &mut Context<'_, '_>,
        address: u64,
        words: &[u64; 8],
        answered: bool,
    ) -> Reply {
        let _ = (words, answered);
        // NIs that several processes share have a method of their own.
        context.fault(ProcessId(0), format!("the NI takes no 64-byte stores (device address {address:#x})"));
        Reply { value: ACCEPTED, latency: Time::ZERO, repeatable: false }
    }
    /// Its own event at time 0, if there is one: its processors begin then.
    fn first_event(&self) -> Option<Payload> {
        None
    }
    /// An event of the NI's own is due.
    fn event(&mut self, context: &mut Context<'_, '_>, payload: Payload);
    /// Something comes from another partition.
    fn network(&mut self, context: &mut Context<'_, '_>, event: Event, packet: Option<Box<Packet>>);
    /// A bus transaction has its place in the order of the bus: data move now.
    fn bus_granted(&mut self, context: &mut Context<'_, '_>, request: BusRequest);
    /// A bus transaction is over.
    fn bus_done(&mut self, context: &mut Context<'_, '_>, request: BusRequest);
    /// How far the NI is from the bus, one way: what each access, answer, and transaction of its own takes beside all
    /// else. Zero: it is on the bus.
    fn attach(&self) -> Time {
        Time::ZERO
    }
    /// Latency of the NI's memory when the processor fetches a line of it, from the end of the address
    /// tenure to the first beat; `None`: `address` is not the NI's.
    fn memory_latency(&self, address: u64) -> Option<Time>;
    /// Physical addresses at which a store of `process` is all that the NI needs: it refers to nothing in memory, so that
    /// the coherence checker asks for no fence before it.
    fn self_contained_stores(&self, process: ProcessId) -> Range<u64> {
        let _ = process;
        0..0
    }
    /// Physical addresses of network memory: where messages wait that `remap` binds, and what `nload` and `nstore`
    /// reach (`chasqui_memory::NetworkCache`).
    fn network_memory(&self) -> Range<u64> {
        0..0
    }
    /// What follows from its declaration ([`Pipeline`]), if there is one. Without one, and where an NI can say something more
    /// exactly, it has methods of its own in the place of those that ask this.
    fn promises(&self) -> Option<&dyn Promises> {
        None
    }
    /// Whether the event `payload` can change what a read of the NI returns, or its interrupt line, or move data in memory.
    /// An event for which this is false does not end the skipping of a polling loop.
    fn is_visible(&self, payload: Payload) -> bool {
        self.promises().is_none_or(|promises| promises.is_visible(payload))
    }
    /// The same for what comes from another partition.
    fn network_is_visible(&self, event: &Event) -> bool {
        self.promises().is_none_or(|promises| promises.network_is_visible(event))
    }
    /// From `cause`: the least times to the first effects of the NI on other partitions, by their group,
    /// directly or through others, if nothing comes from outside before. What the processor may do when it
    /// sees what the cause has changed counts too. The longer, the faster the simulation; too long is a
    /// bug that the engine finds in every run: it holds each message against what was said before it.
    fn output_latency(&self, cause: Cause<'_>) -> &[Time] {
        self.promises().expect("an NI without a pipeline has a method of its own").output_latency(cause)
    }
    /// Interrupt lines that it has, numbered from 0.
    fn interrupt_lines(&self) -> u32 {
        1
    }
    /// An event from another partition is on its way, for [`NetworkInterface::network`]. True: output latencies of
    /// others may be different from now on.
    fn announce(&mut self, event: &Event) -> bool {
        let _ = event;
        false
    }
    /// From an event that another partition sends: the least time to anything that the processor can
    /// notice of it: another value in a register, a bus transaction, an interrupt. Too long is a bug that the node finds,
    /// where a hart has run so far.
    fn input_latency(&self) -> Time {
        self.promises().expect("an NI without a pipeline has a method of its own").input_latency()
    }
    /// Takes where the cycles of its firmware processors went, if that was counted, when all is over.
    fn take_profiles(&mut self) -> Vec<Profile> {
        vec![]
    }
    /// Visits the NI's counters.
    fn statistics(&self, visit: &mut Visitor<'_>);
}
