//! A hart's port to memory: translation, L1 caches, L2, write buffer and posted transactions.
//!
//! Most accesses are answered from the [`fast`] table. The rest come here and either end with a
//! value (perhaps some cycles later), or with a [`Stop`]: the hart must wait for the bus, and then
//! executes the same instruction again. With retries the hart has no hidden state; what must
//! survive a retry (the walker's place, the reply of an uncached load) is kept in the port.
//!
//! [`Port`] puts its parts together: here, what it is made of and how it is set; `data.rs`, what instructions do;
//! `lines.rs`, how lines come and leave; `bus_side.rs`, what the bus does to it; `network.rs`, the network cache's rules.
//! A part has a file and a type of its own and knows nothing of the port: it is lent what it needs.

mod addresses;
mod ahead;
mod bus_side;
mod cacheless;
mod check;
mod checker;
mod data;
mod data_cache;
mod device;
mod fast;
mod instruction_cache;
pub mod layout;
mod lent;
mod lines;
mod memory_view;
mod mmu;
mod network;
mod notes;
mod observation;
mod parameters;
mod request;
mod reservation;
mod second_level;
mod statistics;
mod stop;
mod transactions;
mod write_buffer;

use std::ops::Range;

use chasqui_engine::Cycles;

use crate::cache::{Cache, State};
use crate::network_cache::NetworkCache;
use crate::tlb::{Access, Privilege};
use crate::{FlatMemory, PAGE_BYTES, SharedAccesses};
use ahead::Ahead;
use cacheless::DirectLoad;
use checker::Checker;
use data_cache::DataCache;
use device::Devices;
use instruction_cache::InstructionCache;
use lent::Lent;
pub use memory_view::DEVICE_BASE;
use memory_view::MemoryView;
use mmu::Mmu;
use network::NetworkSide;
use notes::Notes;
use reservation::Reserved;
use second_level::SecondLevel;
use transactions::Transactions;
use write_buffer::WriteBuffer;

pub use data::{BlockOperation, order};
pub use device::BURST_BYTES;
pub use fast::{FastView, FetchView, Geometry};
pub use lent::{Agenda, Due, LentBus, Outwaited, Stage};
pub use network::Remapped;
pub use observation::Observation;
pub use parameters::{L2Parameters, OrderParameters, PortKind, PortParameters, WriteBufferParameters};
pub use request::{Request, Slot, Snoop, Snooped};
pub use second_level::{StashStatistics, Stashed};
pub use statistics::PortStatistics;
pub use stop::{Fault, Incoherence, Stall, Stalls, Stop, Waits};

/// How accesses to memory are served at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serves {
    /// In no time: timing is off.
    Untimed,
    /// In the time of the instruction, by a scratchpad.
    AtOnce,
    /// Through caches, TLBs and write buffer.
    ByCaches,
    /// By a transaction each.
    ByTransactions,
}

impl Serves {
    /// With timing, by a port of this kind.
    fn timed(kind: PortKind) -> Serves {
        match kind {
            PortKind::Caches => Serves::ByCaches,
            PortKind::Scratchpad => Serves::AtOnce,
            PortKind::Cacheless => Serves::ByTransactions,
        }
    }
}

/// What the other harts of a node are to a port.
struct Peers {
    /// They may have lines in their caches.
    exist: bool,
    /// Clean lines that may be written are written back, too.
    are_told: bool,
    ahead: Ahead,
    /// Where they exist: the cycle at which the L2 gives the line that the oldest buffered store waits for; all ones: none.
    given: u64,
}

/// A hart's port.
pub struct Port {
    l1i: InstructionCache,
    l1d: DataCache,
    serves: Serves,
    l2: SecondLevel,
    mmu: Mmu,
    memory: MemoryView,
    write_buffer: WriteBuffer,
    transactions: Transactions,
    /// The node's bus, while nobody else can want it.
    lent: Option<Lent>,
    devices: Devices,
    direct: DirectLoad,
    network: NetworkSide,
    reserved: Reserved,
    observation: Observation,
    notes: Notes,
    checker: Checker,
    peers: Peers,
    waits: Waits,
    parameters: PortParameters,
    /// What happened so far.
    pub statistics: PortStatistics,
}

impl Port {
    /// A port onto `memory` with empty caches. `memory` must outlive the port and not move its
    /// mapping ([`FlatMemory`] never does).
    pub fn new(parameters: PortParameters, memory: &mut FlatMemory) -> Port {
        let p = &parameters;
        let has_caches = p.kind == PortKind::Caches;
        assert!(has_caches || p.network_cache.is_none(), "a network cache is beside the L1 data cache");
        let is_cacheless = p.kind == PortKind::Cacheless;
        assert!(!is_cacheless || !p.l2.present, "a second level without a first");
        assert!(p.l1d.line.bytes() >= fast::DATA_GRANULE_MIN, "lines of {}", p.l1d.line);
        let l1i = if is_cacheless { Cache::of_instructions(&p.l1i) } else { Cache::new(&p.l1i) };
        let network = p.network_cache.clone();
        let buffer = || WriteBuffer::new(p.write_buffer.entries as usize, p.l1d.line.bytes());
        let peers = Peers { exist: false, are_told: false, ahead: Ahead::new(buffer()), given: u64::MAX };
        Port {
            l1i: InstructionCache::new(l1i),
            l1d: DataCache::new(&p.l1d),
            serves: Serves::timed(p.kind),
            l2: SecondLevel::new(&p.l2),
            mmu: Mmu::new(&p.itlb, &p.dtlb),
            memory: MemoryView::new(memory),
            write_buffer: buffer(),
            transactions: Transactions::new(p.write_buffer.posted as usize),
            lent: None,
            devices: Devices::default(),
            direct: DirectLoad::default(),
            network: NetworkSide::new(
                network.map(|(parameters, costs)| NetworkCache::new(parameters, costs)),
            ),
            reserved: Reserved::default(),
            observation: Observation::default(),
            notes: Notes::default(),
            checker: Checker::new(p.check_coherence),
            peers,
            waits: Waits::default(),
            statistics: PortStatistics::default(),
            parameters,
        }
    }

    /// The port's parameters.
    pub fn parameters(&self) -> &PortParameters {
        &self.parameters
    }

    /// Tells the coherence checker of device addresses at which stores name nothing in memory, so that they may pass older
    /// stores and flushes.
    pub fn add_self_contained(&mut self, addresses: Range<u64>) {
        self.checker.self_contained.add(addresses);
    }

    /// From now on other harts may have lines in their caches: cache-block operations ask them.
    pub fn join_peers(&mut self) {
        self.peers.exist = true;
    }

    /// From now on lines that may be written are written back when they leave the caches, though they are clean: who keeps
    /// account of the caches hears of it so.
    pub fn give_back_clean(&mut self) {
        self.peers.are_told = true;
    }

    /// The hart's next instruction has asked a device for something, or has its answer here already: what it has taken from
    /// the device is lost if another instruction comes first.
    pub fn has_asked_device(&self) -> bool {
        let asked = self.transactions.in_slot(Slot::Blocking);
        let from_device = |r: Request| matches!(r, Request::UncachedLoad { .. } | Request::Store64 { .. });
        self.devices.has_reply() || asked.is_some_and(from_device)
    }

    /// Sets the root page table (physical address) and forgets all translations.
    pub fn set_root(&mut self, root: u64) {
        self.mmu.set_root(root);
        self.flush_translations();
    }

    /// Forgets all translations: the page tables changed.
    pub fn flush_translations(&mut self) {
        self.mmu.flush();
        self.direct = DirectLoad::default();
        self.l1d.drop_all_fast();
        self.l1i.drop_all_fast();
    }

    /// Accesses are made with `privilege` from now on. It is the user's at first.
    pub fn set_privilege(&mut self, privilege: Privilege) {
        self.mmu.set_privilege(privilege);
        self.l1d.select(privilege);
        self.l1i.select(privilege);
    }

    /// Switches the timing of caches on or off. Off, accesses are functional and take no time.
    pub fn set_timed(&mut self, timed: bool) {
        if self.is_timed() == timed {
            return;
        }
        self.serves = if timed { Serves::timed(self.parameters.kind) } else { Serves::Untimed };
        if !timed {
            self.drain_write_buffer();
            self.direct = DirectLoad::default();
        }
    }

    /// Writes what is in the write buffer to functional memory, ahead of its time: for a system call
    /// that the simulator serves, or when caches are switched off.
    pub fn drain_write_buffer(&mut self) {
        self.write_buffer.apply(&mut self.memory);
        self.transactions.apply_stores(&mut self.memory);
    }

    /// The page at `page` was mapped, or mapped anew.
    pub fn forget_page(&mut self, page: u64) {
        self.mmu.forget(page);
        self.l1d.forget_page(page);
        self.l1i.drop_fast_page(page);
    }

    /// Caches are timed.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.serves != Serves::Untimed
    }

    /// Accesses to memory go through caches, TLBs and write buffer.
    #[inline]
    fn is_cached(&self) -> bool {
        self.serves == Serves::ByCaches
    }

    /// Accesses to memory are transactions of their own.
    #[inline]
    fn is_cacheless(&self) -> bool {
        self.serves == Serves::ByTransactions
    }

    /// Some request waits to be taken by the bus: the hart must let the node go on.
    #[inline]
    pub fn wants_bus(&self) -> bool {
        self.transactions.wants_bus()
    }

    /// Takes the oldest request for the bus and the cycle at which it was made.
    #[inline]
    pub fn take_request(&mut self) -> Option<(u64, Slot, Request)> {
        while self.asks_l2_alone() {}
        self.transactions.take()
    }

    /// State that decides what the next accesses do: see [`Port::changes`].
    pub fn is_quiet(&self) -> bool {
        self.write_buffer.is_empty() && self.transactions.is_quiet()
    }

    /// A number that moves with every change of cache, TLB or buffer state: each part counts its own, and none counts
    /// down.
    pub fn changes(&self) -> u64 {
        self.l1i.changes()
            + self.l1d.changes()
            + self.l2.changes()
            + self.mmu.changes()
            + self.write_buffer.changes()
            + self.transactions.changes()
            + self.network.changes()
            + self.notes.changes()
    }

    /// Transactions of the port's are under way, or are to be, that the bus has to do with.
    pub fn uses_bus(&self) -> bool {
        self.transactions.uses_bus()
    }

    /// Transactions that the port has asked of the bus, those of the L2 included.
    pub fn asked(&self) -> u64 {
        self.transactions.asked()
    }

    /// Write-backs, and stores past the caches, that the port has posted: others may read what was stored, and the port does not
    /// see that they do.
    pub fn written(&self) -> u64 {
        self.transactions.written()
    }

    /// What is observed has changed some of memory, which may be again what it was.
    pub fn has_changed_memory(&self) -> bool {
        self.observation.has_changed_memory()
    }

    /// Lines in the caches with their states: instructions, data, L2.
    pub fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        let l2 = self.l2.cache().into_iter().flat_map(Cache::lines);
        self.l1i.cache().lines().chain(self.l1d.cache().lines()).chain(l2)
    }

    /// Physical line address that a load-reserved holds.
    pub fn reservation(&self) -> Option<u64> {
        self.reserved.line()
    }

    /// What accesses have taken so far beside their instructions' own cycles.
    #[inline]
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Lines that snoops find, with their states: those of the outermost cache that keeps data.
    pub fn coherent_lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        self.outermost().lines()
    }

    /// The outermost cache that keeps data.
    fn outermost(&self) -> &Cache {
        self.l2.cache().unwrap_or(self.l1d.cache())
    }

    /// The cycle at which a load-reserved took a line of the `bytes` from `address` on, if it still holds it.
    pub fn reserved_since(&self, address: u64, bytes: u32) -> Option<u64> {
        self.reserved.since(address, address + u64::from(bytes))
    }

    /// A load-reserved holds nothing any more: memory may change in ways that no snoop shows.
    pub fn drop_reservation(&mut self) {
        self.reserved.drop_line();
    }

    fn line(&self, address: u64) -> u64 {
        self.l1d.line_of(address)
    }

    // --- what is watched ------------------------------------------------------------------------

    /// From now on remembers what stores change and whether loads from devices may be repeated (`true`),
    /// or stops remembering.
    pub fn observe(&mut self, on: bool) {
        self.observation.start(on);
    }

    /// Goes on with what was remembered in `other`, which gets what was remembered here: another process comes to
    /// the hart.
    pub fn exchange_observation(&mut self, other: &mut Observation) {
        std::mem::swap(&mut self.observation, other);
    }

    /// Since [`Port::observe`] nothing happened that a repetition would have as its effect again, and the
    /// hart's memory holds what it held then: a place on the stack may have had several values meanwhile.
    pub fn is_silent(&self) -> bool {
        self.observation.is_silent(|address| {
            let mut now = [0];
            self.peek(address, &mut now).then_some(now[0])
        })
    }

    /// What is observed is not silent: an effect outside that a repetition would have again.
    pub fn disturb(&mut self) {
        self.observation.disturb();
    }

    /// From now on accesses to messages' data are noted in `accesses`. `cycles`: the hart's.
    pub fn note_accesses(&mut self, accesses: SharedAccesses, cycles: Cycles) {
        self.notes.start(accesses, cycles);
    }

    /// The hart's clock has been set.
    pub fn set_cycles(&mut self, cycles: Cycles) {
        self.notes.set_cycles(cycles);
    }

    /// The `bytes` from physical address `address` on are tracked from now on: accesses to them take the slow path.
    pub fn track(&mut self, address: u64, bytes: u64) {
        self.l1d.watch(address, bytes);
    }

    /// A page is another's from now on: what was in it is no message's.
    pub fn forget_messages(&mut self, page: u64) {
        self.notes.forget_page(page);
    }

    /// The two bytes of code at `pc`, functionally.
    pub fn code(&mut self, pc: u64) -> Result<u16, Fault> {
        let page = self.code_page(pc).ok_or(Fault::Page { address: pc, access: Access::Execute })?;
        Ok(self.memory.read(page | (pc & (PAGE_BYTES - 1)), 2) as u16)
    }

    /// The physical page of the code at `pc`, if there may be any.
    pub fn code_page(&mut self, pc: u64) -> Option<u64> {
        let page = pc & !(PAGE_BYTES - 1);
        let translation = self.mmu.untimed(page, Access::Execute, &self.memory).ok()?;
        let may = self.mmu.allows(translation.permissions, Access::Execute);
        (may && self.memory.contains(translation.physical_page, PAGE_BYTES))
            .then_some(translation.physical_page)
    }

    /// The physical pages that are read to find the code at `pc`: tables, as far as they are there, and the code's.
    pub fn pages_of_code(&self, pc: u64) -> impl Iterator<Item = u64> + use<> {
        let page = pc & !(PAGE_BYTES - 1);
        self.mmu.pages_of(page, Access::Execute, &self.memory).into_iter().flatten()
    }

    /// Since the hart began to run ahead it may have stored to the physical page `page`.
    pub fn may_have_stored_to_page(&self, page: u64) -> bool {
        self.peers.ahead.may_have_stored_to_page(page)
    }

    /// Looks whether the port's invariants hold: a line is in at most one way; the L2 includes the L1s and
    /// has every right that they have; the fast tables answer only for lines that are present, translated,
    /// in the right state, fresh, and without a buffered store.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check_invariants(&self) -> Result<(), String> {
        check::invariants(self)
    }

    // --- running ahead -----------------------------------------------------------------------------

    fn ahead(&mut self) -> (&mut Ahead, ahead::Parts<'_>) {
        let Port {
            peers, l1d, l1i, l2, write_buffer: buffer, transactions, memory, statistics, waits, ..
        } = self;
        let given = &mut peers.given;
        let parts = ahead::Parts { l1d, l1i, l2, buffer, transactions, memory, given, statistics, waits };
        (&mut peers.ahead, parts)
    }

    /// From here on what happens may be taken back.
    pub fn begin_ahead(&mut self) {
        let (ahead, parts) = self.ahead();
        ahead.begin(parts);
    }

    /// The hart runs ahead of others from now on, or no more.
    pub fn set_ahead(&mut self, runs: bool) {
        self.peers.ahead.set(runs, &mut self.statistics);
    }

    /// The hart may run ahead: nobody watches its accesses.
    pub fn may_run_ahead(&self) -> bool {
        let is_watched = self.observation.is_watched() || self.notes.is_on() || self.checker.is_on();
        self.is_cached() && !is_watched && !self.wants_bus()
    }

    /// Everything is as it was when the hart began to run ahead, but for what others' transactions have taken.
    pub fn take_back(&mut self) {
        let (ahead, parts) = self.ahead();
        ahead.take_back(parts);
    }

    /// What the hart has done since it began to run ahead depends on whether another master's transaction on `bytes` from
    /// `address` on comes before or after it.
    pub fn is_concerned(&self, snoop: Snoop, address: u64, bytes: u32) -> bool {
        // All lines are concerned that are touched, with an L2 its lines.
        let cache = self.l2.cache().unwrap_or(self.l1d.cache());
        let last = cache.line_of(address + u64::from(bytes) - 1);
        let (first, end) = (cache.line_of(address), last + cache.line_bytes());
        let ahead = &self.peers.ahead;
        let depends =
            || ahead.has_used(&self.l1d, &self.l1i, first, end) || ahead.has_neighbour(&self.l1d, first, end);
        ahead.has_changed(first, end) || snoop != Snoop::Read && depends()
    }

    /// Way `way` of the data cache is about to change, for `line`.
    #[inline]
    pub(super) fn keep_way(&mut self, way: usize, line: u64) {
        if self.peers.ahead.runs() {
            self.peers.ahead.keep_way(way, line, &self.l1d);
        }
    }

    /// The way of the L2 with `line` is about to change.
    #[inline]
    pub(super) fn keep_below(&mut self, line: u64) {
        if self.peers.ahead.runs() {
            self.peers.ahead.keep_below(line, &self.l2);
        }
    }

    /// The line at `address` is about to be stored to.
    #[inline]
    pub(super) fn keep_line(&mut self, address: u64) {
        if self.peers.ahead.runs() {
            self.peers.ahead.keep_line(self.l1d.line_of(address), &self.l1d, &self.memory);
        }
    }
}
