//! A hart's port to memory: translation, L1 caches, L2, write buffer and posted transactions.
//!
//! Most accesses are answered from the [`fast`] table. The rest come here and either end with a
//! value (perhaps some cycles later), or with a [`Stop`]: the hart must wait for the bus, and then
//! executes the same instruction again. Retrying keeps the hart without hidden state; what must
//! survive a retry (the walker's place, the reply of an uncached load) is kept in the port.

mod accesses;
mod bus_side;
mod check;
mod data;
mod device;
mod fast;
mod fetch;
mod lent;
mod network;
mod parameters;
mod stash;
mod statistics;
mod translate;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use chasqui_counters::counters_by;

use accesses::Noting;

use crate::cache::{Cache, FastIndex, State};
use crate::network_cache::NetworkCache;
use crate::tlb::{Access, Privilege, Tlb, Walked};
use crate::{FlatMemory, PAGE_BYTES};
pub use bus_side::{Snoop, Snooped};
pub use data::{BlockOperation, order};
pub use device::BURST_BYTES;
use fast::FastTable;
pub use fast::FastView;
use lent::Lent;
pub use lent::LentBus;
use network::Remapping;
pub use network::{Prebound, Remapped};
pub use parameters::{L2Parameters, OrderParameters, PortKind, PortParameters, WriteBufferParameters};
pub use stash::{StashStatistics, Stashed};
pub use statistics::PortStatistics;
use translate::{Split, Walk};

/// Physical addresses from here on are devices: uncached.
pub const DEVICE_BASE: u64 = 1 << 40;

/// Why an instruction did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The hart waits for something of its port to finish, then tries again.
    Wait(Stall),
    /// The instruction can't complete.
    Fault(Fault),
}

counters_by! {
    /// What a hart waits for.
    pub enum Stall {
        /// Waiting for a data line.
        Data: "stall_data";
        /// Waiting for an instruction line.
        Instruction: "stall_instruction";
        /// Waiting for a line of page-table entries.
        Walk: "stall_walk";
        /// Waiting for an uncached load, or the answer to a 64-byte store.
        Uncached: "stall_uncached";
        /// Waiting for room in the write buffer, or for its draining.
        WriteBuffer: "stall_write_buffer";
        /// Waiting for room among the posted transactions, or for their draining.
        Posted: "stall_posted";
    }
    /// Cycles in which a hart waited, by what it waited for.
    pub struct Stalls: "cycles";
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page tables do not allow it (perhaps not yet).
    Page {
        /// Virtual address.
        address: u64,
        /// What was tried.
        access: Access,
    },
    /// An atomic operation that is not naturally aligned, or not in cacheable memory.
    Atomic {
        /// Virtual address.
        address: u64,
    },
    /// An access to a device that crosses its natural alignment.
    DeviceAlignment {
        /// Virtual address.
        address: u64,
    },
    /// A 64-byte store to what is not a device's.
    NotDevice {
        /// Virtual address.
        address: u64,
    },
    /// `nload` or `nstore` of what is not network memory, or not aligned; `remap` or `prebind` to what is not memory.
    NotNetwork {
        /// Virtual address.
        address: u64,
    },
    /// The coherence checker objects.
    Incoherent(Incoherence),
}

/// What the coherence checker reports. Functional memory is always up to date, so without this a
/// forgotten flush or fence would do no harm here, and only here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoherence {
    /// A device reads a line that is dirty in a cache which it does not snoop.
    DeviceReadsDirty {
        /// Physical address.
        address: u64,
    },
    /// The hart hits a line that a device has overwritten since.
    StaleHit {
        /// Physical address.
        address: u64,
    },
    /// A store to a device passes an older buffered store or flush: a fence is missing.
    DevicePassesStore {
        /// Physical address of the device store.
        address: u64,
        /// Physical address of the older store or flush.
        older: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Page { address, .. } => write!(f, "no access to {address:#x}"),
            Fault::Atomic { address } => {
                write!(f, "atomic operation on {address:#x}, which is not aligned or not memory")
            }
            Fault::DeviceAlignment { address } => {
                write!(f, "access to device register {address:#x} across its alignment")
            }
            Fault::NotDevice { address } => {
                write!(f, "64-byte store to {address:#x}, which is not a device's")
            }
            Fault::NotNetwork { address } => {
                write!(
                    f,
                    "nload, nstore, remap or prebind at {address:#x}, which is not aligned or not of its memory"
                )
            }
            Fault::Incoherent(incoherence) => incoherence.fmt(f),
        }
    }
}

impl fmt::Display for Incoherence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incoherence::DeviceReadsDirty { address } => write!(
                f,
                "coherence: the NI reads {address:#x}, which is modified in a cache that it does not snoop: \
                 a flush is missing"
            ),
            Incoherence::StaleHit { address } => write!(
                f,
                "coherence: a hit on {address:#x}, which the NI has overwritten since: a flush is missing"
            ),
            Incoherence::DevicePassesStore { address, older } => write!(
                f,
                "coherence: the store to device register {address:#x} passes the older store or flush of \
                 {older:#x}: a fence is missing"
            ),
        }
    }
}

/// A transaction that a port asks of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Fetch a line for an instruction that waits.
    Fill {
        /// Physical line address.
        line: u64,
        /// For the data side; else for instructions.
        data: bool,
        /// With the right to write.
        exclusive: bool,
    },
    /// Fetch the line of the oldest buffered store, or the right to write it.
    Own {
        /// Physical line address.
        line: u64,
        /// The line is here, shared: only the right is missing.
        upgrade: bool,
    },
    /// Fetch a line of network memory into the network cache, for an instruction that waits.
    NetworkFill {
        /// Physical line address.
        line: u64,
    },
    /// The L2 has the line of the oldest buffered store: no bus, only its latency.
    OwnFromL2,
    /// Write a dirty line back.
    WriteBack {
        /// Physical line address.
        line: u64,
        /// Length [bytes].
        bytes: u32,
        /// It was flushed by the program, not evicted.
        flush: bool,
    },
    /// A cache-block operation asks the caches of other harts.
    Block {
        /// Physical line address.
        line: u64,
        /// Length [bytes].
        bytes: u32,
        /// What it asks of them.
        snoop: Snoop,
    },
    /// A posted uncached store.
    UncachedStore {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
        /// Value.
        value: u64,
    },
    /// A store of 64 bytes to a device, whose data are [`Port::burst`].
    Store64 {
        /// Physical address.
        address: u64,
        /// An instruction waits for the device's answer; else it is posted.
        answered: bool,
    },
    /// An uncached load, for an instruction that waits.
    UncachedLoad {
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
}

impl Request {
    /// What the transaction is, once other caches have answered: a cache-block operation that found a
    /// modified line writes it back.
    pub fn answered(self, found: Snooped) -> Request {
        match self {
            Request::Block { line, bytes, .. } if found.dirty => {
                Request::WriteBack { line, bytes, flush: true }
            }
            other => other,
        }
    }

    /// A posted store to a device.
    fn is_device_store(&self) -> bool {
        matches!(self, Request::UncachedStore { .. } | Request::Store64 { .. })
    }

    /// It changes nothing in the port but what the instruction that waits gets: a loop may poll with it.
    fn leaves_no_trace(&self) -> bool {
        matches!(self, Request::UncachedLoad { .. } | Request::Store64 { answered: true, .. })
    }
}

/// The three transactions that a port may have under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Slot {
    /// For the instruction that waits.
    Blocking,
    /// For the oldest buffered store.
    WriteBuffer,
    /// The oldest posted transaction.
    Posted,
}

/// What is remembered of a polling loop since [`Port::observe`]. Opaque: it can be taken along with the process
/// ([`Port::exchange_observation`]).
#[derive(Debug, Default)]
pub struct Observation {
    /// `None`: nothing is observed.
    observed: Option<Observed>,
    /// What stores changed, in their order, each place once.
    overwritten: Vec<Overwritten>,
}

#[derive(Clone, Copy, Debug)]
struct Observed {
    silent: bool,
}

/// Bytes of memory that a store changed.
#[derive(Clone, Copy, Debug)]
struct Overwritten {
    address: u64,
    bytes: u32,
    /// What was there before.
    old: [u8; 8],
}

#[derive(Clone, Copy, Debug)]
struct BufferedStore {
    address: u64,
    bytes: u32,
    value: u64,
    /// In memory already: owned, or written ahead of its time.
    applied: bool,
    /// The transaction for its line has its place in the order; the entry stays until it is over.
    owned: bool,
}

/// Cycles that accesses take beside their instructions' own: stalls, hits in the L2, steps of the walker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// By what they were for ([`Stall`]).
    pub cycles: [u64; Stall::ALL.len()],
    /// All together.
    pub total: u64,
}

impl Waits {
    fn add(&mut self, stall: Stall, cycles: u64) {
        self.cycles[stall as usize] += cycles;
        self.total += cycles;
    }
}

/// A hart's port.
pub struct Port {
    parameters: PortParameters,
    /// Host address of physical address 0, and bytes of functional memory there.
    base: *mut u8,
    memory_bytes: u64,
    /// Physical address of the root page table.
    root: u64,
    l1i: Cache,
    l1d: Cache,
    l2: Option<Cache>,
    network: Option<NetworkCache>,
    /// Physical addresses of the NI's network memory.
    network_memory: Range<u64>,
    /// The `remap` that waits.
    remapping: Option<Remapping>,
    /// The last message that landed where its receive had reserved a place.
    landed: Option<u64>,
    itlb: Tlb,
    dtlb: Tlb,
    walked: Walked,
    /// Fast tables: data by line, instructions by line, data by page (caches off).
    data: FastTable,
    instructions: FastTable,
    untimed: FastTable,
    timed: bool,
    privilege: Privilege,
    tick: u64,
    walk: Option<Walk>,
    split: Option<Split>,
    write_buffer: VecDeque<BufferedStore>,
    posted: VecDeque<Request>,
    /// Data of the 64-byte stores among them, in their order.
    bursts: VecDeque<[u64; 8]>,
    /// Data of the 64-byte store that is not posted.
    awaited: [u64; 8],
    under_way: [Option<Request>; 3],
    /// The line that the oldest buffered store fetches, from the grant until its data are here.
    arriving: Option<u64>,
    /// Requests not yet taken by the bus, with the cycle at which each was made.
    requests: Vec<(u64, Slot, Request)>,
    /// The node's bus, while nobody else can want it.
    lent: Option<Lent>,
    reply: Option<(u64, u64)>,
    reservation: Option<u64>,
    /// The cycle at which it was made.
    reserved_at: u64,
    observation: Observation,
    /// Counts changes of cache, TLB and buffer state: equal values mean that nothing changed.
    changes: u64,
    waits: Waits,
    /// Transactions that were asked for.
    asked: u64,
    /// Device addresses at which a store needs no fence before it.
    self_contained: Range<u64>,
    /// Other harts may have lines in their caches.
    has_peers: bool,
    /// Where accesses to messages' data are noted, if they are.
    noting: Option<Noting>,
    /// What came of other masters' writes into the L2.
    stash: StashStatistics,
    /// What happened so far.
    pub statistics: PortStatistics,
}

// SAFETY: `base` points into the `FlatMemory` of the port's own coherence domain, which one host
// thread runs at a time.
unsafe impl Send for Port {}

impl Port {
    /// A port onto `memory` with empty caches. `memory` must outlive the port and not move its
    /// mapping ([`FlatMemory`] never does).
    pub fn new(parameters: PortParameters, memory: &mut FlatMemory) -> Port {
        let p = &parameters;
        let has_caches = p.kind == PortKind::Caches;
        assert!(has_caches || p.network_cache.is_none(), "a network cache is beside the L1 data cache");
        assert!(p.l1d.line.bytes() >= 16, "{} in a data line", p.l1d.line.bytes());
        Port {
            base: memory.base(),
            memory_bytes: memory.bytes(),
            root: 0,
            l1i: Cache::new(&p.l1i),
            l1d: Cache::new(&p.l1d),
            l2: p.l2.cache().as_ref().map(Cache::new),
            network: p.network_cache.clone().map(|(parameters, costs)| NetworkCache::new(parameters, costs)),
            network_memory: 0..0,
            remapping: None,
            landed: None,
            itlb: Tlb::new(p.itlb.entries as u32, p.itlb.ways as u32),
            dtlb: Tlb::new(p.dtlb.entries as u32, p.dtlb.ways as u32),
            walked: Walked::new(),
            data: FastTable::new(1024, p.l1d.line.bytes()),
            instructions: FastTable::new(1024, p.l1i.line.bytes()),
            untimed: FastTable::new(256, PAGE_BYTES),
            timed: true,
            privilege: Privilege::User,
            tick: 0,
            walk: None,
            split: None,
            write_buffer: VecDeque::with_capacity(p.write_buffer.entries as usize),
            posted: VecDeque::new(),
            bursts: VecDeque::new(),
            awaited: [0; 8],
            under_way: [None; 3],
            arriving: None,
            requests: Vec::with_capacity(4),
            lent: None,
            reply: None,
            reservation: None,
            reserved_at: 0,
            observation: Observation::default(),
            changes: 0,
            waits: Waits::default(),
            asked: 0,
            self_contained: 0..0,
            has_peers: false,
            noting: None,
            stash: StashStatistics::default(),
            statistics: PortStatistics::default(),
            parameters,
        }
    }

    /// The port's parameters.
    pub fn parameters(&self) -> &PortParameters {
        &self.parameters
    }

    /// Tells the coherence checker at which device addresses stores name nothing in memory, so that they may pass
    /// older stores and flushes.
    pub fn set_self_contained(&mut self, addresses: Range<u64>) {
        self.self_contained = addresses;
    }

    /// From now on other harts may have lines in their caches: cache-block operations ask them.
    pub fn join_peers(&mut self) {
        self.has_peers = true;
    }

    /// The hart's next instruction has asked a device for something, or has its answer here already: what it has taken from
    /// the device is lost if another instruction comes first.
    pub fn has_asked_device(&self) -> bool {
        let asked = self.under_way[Slot::Blocking as usize];
        let from_device = |r: Request| matches!(r, Request::UncachedLoad { .. } | Request::Store64 { .. });
        self.reply.is_some() || asked.is_some_and(from_device)
    }

    /// Sets the root page table (physical address) and forgets all translations.
    pub fn set_root(&mut self, root: u64) {
        self.root = root;
        self.flush_translations();
    }

    /// Forgets all translations: the page tables changed.
    pub fn flush_translations(&mut self) {
        self.itlb.flush();
        self.dtlb.flush();
        self.walked.flush();
        (self.walk, self.split) = (None, None);
        self.drop_fast_lines();
        self.changes += 1;
    }

    /// Empties the fast tables, keeping the recency that they hold.
    fn drop_fast_lines(&mut self) {
        for index in self.data.entries() {
            if self.data.owner(index).is_some() {
                self.drop_fast_data(index);
            }
        }
        for index in self.instructions.entries() {
            self.save_fetch_stamp(index);
        }
        self.instructions.clear();
        self.untimed.clear();
    }

    /// Switches the timing of caches on or off. Off, accesses are functional and take no time.
    pub fn set_timed(&mut self, timed: bool) {
        if self.timed == timed {
            return;
        }
        self.timed = timed;
        if !timed {
            self.drain_write_buffer();
        }
    }

    /// Writes what is in the write buffer to functional memory, ahead of its time: for a system call
    /// that the simulator serves, or when caches are switched off.
    pub fn drain_write_buffer(&mut self) {
        for i in 0..self.write_buffer.len() {
            let store = self.write_buffer[i];
            if !store.applied {
                self.write_memory(store.address, store.bytes, store.value);
                self.write_buffer[i].applied = true;
            }
        }
    }

    /// The page at `page` was mapped, or mapped anew.
    pub fn forget_page(&mut self, page: u64) {
        self.itlb.forget(page);
        self.dtlb.forget(page);
        self.walked.flush();
        (self.walk, self.split) = (None, None);
        self.drop_fast_page(page);
        self.drop_fast_fetch(page, PAGE_BYTES);
        for index in self.untimed.indices(page) {
            self.untimed.remove(index);
        }
        self.changes += 1;
    }

    /// Caches are timed.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Accesses to memory go through caches, TLBs and write buffer.
    #[inline]
    fn is_cached(&self) -> bool {
        self.timed && self.parameters.kind == PortKind::Caches
    }

    /// The physical address `pa` is reached by uncached transactions.
    #[inline]
    fn is_uncached(&self, pa: u64) -> bool {
        pa >= DEVICE_BASE || self.timed && self.parameters.kind == PortKind::Uncached
    }

    /// Some request waits to be taken by the bus: the hart must let the node go on.
    #[inline]
    pub fn wants_bus(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Takes the oldest request for the bus and the cycle at which it was made.
    #[inline]
    pub fn take_request(&mut self) -> Option<(u64, Slot, Request)> {
        // There is hardly ever more than one.
        if self.requests.len() < 2 { self.requests.pop() } else { Some(self.requests.remove(0)) }
    }

    /// State that decides what the next accesses do: see [`Port::changes`].
    pub fn is_quiet(&self) -> bool {
        self.write_buffer.is_empty() && self.posted.is_empty() && self.under_way.iter().all(Option::is_none)
    }

    /// A number that moves with every change of cache, TLB or buffer state.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Transactions that the port has asked of the bus, those of the L2 included.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Lines in the caches with their states: instructions, data, L2.
    pub fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        let l2 = self.l2.iter().flat_map(Cache::lines);
        self.l1i.lines().chain(self.l1d.lines()).chain(l2)
    }

    /// Physical line address that a load-reserved holds.
    pub fn reservation(&self) -> Option<u64> {
        self.reservation
    }

    /// What accesses have taken so far beside their instructions' own cycles.
    #[inline]
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Lines that snoops find, with their states: those of the outermost cache that keeps data.
    pub fn coherent_lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        self.l2.as_ref().unwrap_or(&self.l1d).lines()
    }

    /// The cycle at which a load-reserved took a line of the `bytes` from `address` on, if it still holds it.
    pub fn reserved_since(&self, address: u64, bytes: u32) -> Option<u64> {
        let range = address..address + u64::from(bytes);
        self.reservation.filter(|line| range.contains(line)).map(|_| self.reserved_at)
    }

    /// A load-reserved holds nothing any more: memory may change in ways that no snoop shows.
    pub fn drop_reservation(&mut self) {
        self.reservation = None;
    }

    fn request(&mut self, cycle: u64, slot: Slot, request: Request) {
        debug_assert!(self.under_way[slot as usize].is_none());
        self.asked += 1;
        self.under_way[slot as usize] = Some(request);
        self.requests.push((cycle, slot, request));
        self.changes += u64::from(!request.leaves_no_trace());
    }

    fn line(&self, address: u64) -> u64 {
        self.l1d.line_of(address)
    }

    /// The transaction that the hart waits for may change what is known of `line`, or brings it. A fill of another line
    /// does not: if an interrupt takes the hart away from the fetch or walk that needs it, lines that are here are used.
    fn is_awaited(&self, line: u64) -> bool {
        match self.under_way[Slot::Blocking as usize] {
            Some(Request::Fill { line: awaited, .. }) => awaited == line,
            other => other.is_some(),
        }
    }

    /// The line at `line` has its place in a cache, but its data are still on their way.
    fn is_arriving(&self, line: u64) -> bool {
        self.arriving.is_some_and(|arriving| match &self.l2 {
            Some(l2) => l2.line_of(arriving) == l2.line_of(line),
            None => arriving == line,
        })
    }

    /// Value of `bytes` of functional memory.
    fn read_memory(&self, address: u64, bytes: u32) -> u64 {
        debug_assert!(address + u64::from(bytes) <= self.memory_bytes);
        // SAFETY: the translation was checked against `memory_bytes`, the mapping outlives the port.
        unsafe {
            let at = self.base.add(address as usize);
            match bytes {
                8 => u64::from_le(at.cast::<u64>().read_unaligned()),
                4 => u64::from(u32::from_le(at.cast::<u32>().read_unaligned())),
                _ => {
                    let mut value = [0u8; 8];
                    std::ptr::copy_nonoverlapping(at, value.as_mut_ptr(), bytes as usize);
                    u64::from_le_bytes(value)
                }
            }
        }
    }

    fn write_memory(&mut self, address: u64, bytes: u32, value: u64) {
        debug_assert!(address + u64::from(bytes) <= self.memory_bytes);
        // SAFETY: as in `read_memory`.
        unsafe {
            let at = self.base.add(address as usize);
            match bytes {
                8 => at.cast::<u64>().write_unaligned(value.to_le()),
                4 => at.cast::<u32>().write_unaligned((value as u32).to_le()),
                _ => std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), at, bytes as usize),
            }
        }
    }

    // --- the fast table and the caches' recency -------------------------------------------------

    fn drop_fast_data(&mut self, index: u32) {
        let way = self.data.owner(index).expect("an entry in use") as usize;
        let stamp = self.data.at(index).stamp;
        let way = self.l1d.way_mut(way);
        way.stamp = way.stamp.max(stamp);
        way.fast = FastIndex::NONE;
        self.data.remove(index);
    }

    /// Lets accesses to the line of `va`, in way `way` of the data cache, take the fast path.
    fn make_fast(&mut self, way: usize, va: u64, pa: u64, permissions: u64) {
        if self.is_tracked(self.line(pa), self.l1d.line_bytes()) {
            // It is used as it would be by the fast path.
            return self.touch(way);
        }
        let index = self.data.index(va) as u32;
        if self.data.owner(index).is_some() {
            self.drop_fast_data(index);
        }
        if let Some(old) = self.l1d.way(way).fast.get() {
            self.drop_fast_data(old);
        }
        self.tick += 1;
        let granule = va & self.data.granule_mask;
        let state = self.l1d.way(way).state;
        let writable = state == State::Modified && permissions & Access::Write.bit() != 0;
        let line = fast::FastLine {
            load: granule,
            store: if writable { granule } else { fast::NOTHING },
            delta: (self.base as u64).wrapping_add(pa).wrapping_sub(va),
            stamp: self.tick,
        };
        self.data.set(index, line, way as u32);
        self.dtlb.mark(va);
        let way = self.l1d.way_mut(way);
        way.fast = FastIndex::of(index);
        way.stamp = self.tick;
    }

    fn touch(&mut self, way: usize) {
        self.tick += 1;
        self.l1d.way_mut(way).stamp = self.tick;
    }
}
