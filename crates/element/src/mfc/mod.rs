//! The memory flow controller: it moves data between its core's local store and memory, by commands that the core and others
//! enter ([`Mfc::enter`]).
//!
//! It says what, and schedules nothing itself: after each call whoever has it asks what follows ([`Mfc::step`]) until there is
//! nothing more. A transfer is a bus transaction for one line or less. When it has its place in the order of memory, data
//! move: a put's are taken ([`Mfc::put`]), a get's are given ([`Mfc::got`]); when it is over ([`Mfc::done`]) a get's are in
//! the local store. So what a core polls changes as lines come.
//!
//! Commands of a queue begin in their order, unless `queue.rs` has one wait for others; then those behind it go past it. Each
//! queue makes the transfers of one command at a time, and the two queues take turns; so several commands are under way.
//! Immediate atomic commands go before both. An order is kept by waiting until the earlier command is over (ours: the
//! original may overlap what it can prove to be in order).
//!
//! What is wrong with a command is found when it begins, or when its element or page comes: the MFC stops, with all its queues
//! (ours), and says why ([`MfcFault`]); what is under way ends. A kernel has it go on ([`Mfc::restart`]) or drops the commands
//! ([`Mfc::purge`]).

mod command;
mod fault;
mod queue;
mod reason;
mod step;
mod translate;

use chasqui_config::{Count, Cycles, Frequency};
use chasqui_counters::counters;
use chasqui_engine::{Clock, Time};
use chasqui_memory::{Access, TlbParameters, Translation};

pub use command::{
    Command, ELEMENT_BYTES, LINE_BYTES, LIST_BYTES_MAX, Source, TAGS, TRANSFER_BYTES_MAX, opcode,
};
pub use fault::MfcFault;
use queue::{Entry, Phase, Queue};
pub use reason::Reason;
pub use translate::TableSearch;
use translate::{Translator, Walked};

chasqui_config::parameters! {
    /// A memory flow controller. Cycles are its own.
    pub struct MfcParameters {
        /// Its clock.
        clock: Frequency = "3.2 GHz", range "1 MHz" ..= "100 GHz", source "Khunjush, 8.3.4: a PS3 of 3.2 GHz";
        /// Commands of the core that wait or are under way.
        core_queue: Count = 16, range 1 ..= 256, source "Linux, arch/powerpc/include/asm/spu.h: spuq[16]";
        /// The same for others' commands, by the problem state.
        proxy_queue: Count = 8, range 1 ..= 256, source "Linux, arch/powerpc/include/asm/spu.h: puq[8]";
        /// Entries of the TLB.
        tlb_entries: Count = 256, range 1 ..= 65536, source "Khunjush, 8.3.3: 256 entries of 4 KB";
        /// Ways of a set of the TLB.
        tlb_ways: Count = 4, range 1 ..= 255, source "Cell BE Programming Handbook 1.12, 4.3.5 (as remembered: we could not look at it)";
        /// What finds a translation that the TLB lacks.
        translation: TableSearch = "hardware", source "Khunjush, 8.2, 8.3.3: the MFC has an MMU with page tables, whose faults are the kernel's";
        /// From a command's entry to its first transfer.
        start: Cycles = 30, range 0 ..= 10000, source "assumption, after Kistler, Perrone, Petrini, IEEE Micro 26(3), 2006, table 1: DMA to EIB, 30 cycles (as remembered: we could not look at it)";
        /// From the end of what was before it until an element of a list has been fetched.
        list_fetch: Cycles = 10, range 0 ..= 10000, source "assumption, after Kistler et al. (2006), table 1: list element fetch (as remembered: we could not look at it)";
        /// From one transfer to the next.
        request: Cycles = 2, range 1 ..= 1000, source "assumption: one a bus clock";
        /// Transfers that may be under way.
        transfers: Count = 16, range 1 ..= 64, source "assumption: as many as the core's commands";
        /// From an entry of a page table to the next, or to the TLB.
        walk: Cycles = 4, range 0 ..= 1000, source "assumption";
        /// From the end of a command's last transfer until its tag group's status says so.
        finish: Cycles = 4, range 0 ..= 1000, source "assumption";
    }
}

impl MfcParameters {
    /// What does not fit, in words.
    pub fn mistake(&self) -> Option<String> {
        TlbParameters::new(self.tlb_entries, self.tlb_ways).mistake()
    }
}

counters! {
    /// Counters of a memory flow controller.
    pub struct MfcStatistics {
        /// Commands of the core's that are over.
        commands: "count";
        /// The same of others'.
        proxy_commands: "count";
        /// Immediate atomic commands that are over.
        atomic_commands: "count";
        /// Of these, conditional writes that came too late.
        atomic_lost: "count";
        /// Elements of lists.
        elements: "count";
        /// Transfers of data.
        transfers: "count";
        /// Bytes that came to the local store.
        bytes_in: "bytes";
        /// Bytes that went from the local store.
        bytes_out: "bytes";
        /// Transfers whose page the TLB lacked at first.
        tlb_misses: "count";
        /// Entries of page tables that were read.
        walk_reads: "count";
        /// Times that it stopped.
        faults: "count";
        /// Commands for which there was no room in their queue when they came.
        full: "count";
    }
}

/// What a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// An entry of a page table is read.
    Table,
    /// Memory is read.
    Get,
    /// The same, and the line is reserved.
    GetReserved,
    /// Memory is written.
    Put,
    /// The same, if the line is still reserved when it has its place.
    PutConditional,
}

impl TransferKind {
    /// Memory is read.
    pub fn is_read(self) -> bool {
        matches!(self, TransferKind::Table | TransferKind::Get | TransferKind::GetReserved)
    }
}

/// A transaction with memory, or whatever else has a physical address; within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The MFC's name for it while it is under way, below [`MfcParameters::transfers`].
    pub slot: usize,
    /// What.
    pub kind: TransferKind,
    /// Physical address.
    pub physical: u64,
    /// Length [bytes].
    pub bytes: u32,
    /// Address in the local store; of an entry of a page table 0.
    pub local: u32,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MfcStep {
    /// [`Mfc::step`] is to be called again then.
    At(Time),
    /// A transfer is asked for.
    Transfer(Transfer),
    /// It has stopped.
    Fault(MfcFault),
}

/// How a core's atomic command has ended: what its status register has (Linux, GCC `spu_mfcio.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicStatus {
    /// The line is here and reserved.
    Reserved,
    /// The line has been written without a condition.
    Written,
    /// The conditional write has taken place, or not.
    Conditional(bool),
}

impl AtomicStatus {
    /// The register's value.
    pub fn value(self) -> u32 {
        match self {
            AtomicStatus::Reserved => 4,
            AtomicStatus::Written => 2,
            AtomicStatus::Conditional(done) => u32::from(!done),
        }
    }
}

/// A transfer under way.
struct UnderWay {
    transfer: Transfer,
    source: Source,
    /// The command's.
    number: u64,
    effective: u64,
    data: [u8; LINE_BYTES as usize],
}

/// The memory flow controller.
pub struct Mfc {
    parameters: MfcParameters,
    clock: Clock,
    /// Bytes of the local store.
    store_bytes: u32,
    /// In the order of [`Source::ALL`].
    queues: [Queue; 3],
    translator: Translator,
    slots: Vec<Option<UnderWay>>,
    /// The queue that goes first next time.
    turn: Source,
    /// Number of the next command.
    number: u64,
    /// The next transfer is made no sooner.
    next: Time,
    /// Why it has stopped.
    stopped: Option<MfcFault>,
    /// That is to be said.
    report: Option<MfcFault>,
    /// The step that was announced.
    scheduled: Option<Time>,
    /// Physical address of the line that is reserved.
    reserved: Option<u64>,
    /// A reservation was lost to somebody else.
    lost: bool,
    /// How the last atomic command ended, until it is asked.
    atomic: Option<AtomicStatus>,
    /// Bit t: the list of a command of tag group t waits for the core.
    stalled: u32,
    /// What happened so far.
    pub statistics: MfcStatistics,
}

impl Mfc {
    /// An idle one of a local store of so many bytes.
    ///
    /// # Panics
    /// The parameters don't fit ([`MfcParameters::mistake`]).
    pub fn new(parameters: MfcParameters, store_bytes: u32) -> Mfc {
        let (entries, ways) = (parameters.tlb_entries as u32, parameters.tlb_ways as u32);
        Mfc {
            clock: Clock::new(parameters.clock.hz()),
            store_bytes,
            queues: [1, parameters.core_queue, parameters.proxy_queue].map(|room| Queue::new(room as usize)),
            translator: Translator::new(entries, ways, parameters.translation),
            slots: (0..parameters.transfers).map(|_| None).collect(),
            turn: Source::Core,
            number: 0,
            next: Time::ZERO,
            stopped: None,
            report: None,
            scheduled: None,
            reserved: None,
            lost: false,
            atomic: None,
            stalled: 0,
            statistics: MfcStatistics::default(),
            parameters,
        }
    }

    // --- commands ---------------------------------------------------------------------------------

    /// A command of `source` ([`Source::Core`] or [`Source::Proxy`]) is entered. False: there is no room, and nothing has
    /// happened.
    pub fn enter(&mut self, command: Command, source: Source, now: Time) -> bool {
        let source = Mfc::queue_of(command, source);
        if self.room(source) == 0 {
            self.statistics.full += 1;
            return false;
        }
        if source == Source::Atomic {
            self.atomic = None;
        }
        let ready = self.clock.after(now, self.parameters.start.cycles());
        let entry = Entry::new(self.number, command, ready);
        self.number += 1;
        self.queues[source as usize].push(entry);
        true
    }

    /// The queue of a command that `source` enters.
    fn queue_of(command: Command, source: Source) -> Source {
        if source == Source::Core && command.is_immediate() { Source::Atomic } else { source }
    }

    /// There is room for a command of `source`.
    pub fn takes(&self, command: Command, source: Source) -> bool {
        self.room(Mfc::queue_of(command, source)) > 0
    }

    /// Commands for which the queue of `source` has room.
    pub fn room(&self, source: Source) -> usize {
        self.queues[source as usize].room()
    }

    /// The queue of `source` has no commands.
    pub fn is_empty(&self, source: Source) -> bool {
        self.queues[source as usize].is_empty()
    }

    /// Nothing is to be done.
    pub fn is_idle(&self) -> bool {
        self.queues.iter().all(Queue::is_empty)
    }

    /// Bit t: no command of `source` in tag group t is left.
    pub fn tag_status(&self, source: Source) -> u32 {
        !self.queues[source as usize].tags()
    }

    /// Takes how the last atomic command ended, if that is not known yet.
    pub fn take_atomic_status(&mut self) -> Option<AtomicStatus> {
        self.atomic.take()
    }

    /// The same, left there.
    pub fn atomic_status(&self) -> Option<AtomicStatus> {
        self.atomic
    }

    /// Takes the tag groups, a bit each, whose lists have come to an element that has the core say that they go on.
    pub fn take_stalled(&mut self) -> u32 {
        std::mem::take(&mut self.stalled)
    }

    /// The same, left there.
    pub fn stalled(&self) -> u32 {
        self.stalled
    }

    /// The core says that the lists of tag group `tag` go on.
    pub fn resume(&mut self, tag: u32, now: Time) {
        for entry in self.queues[Source::Core as usize].iter_mut() {
            if entry.phase == Phase::Stalled && entry.command.tag == tag {
                (entry.phase, entry.ready, entry.list.notifies) = (Phase::Waits, now, false);
            }
        }
    }

    // --- what the kernel does ---------------------------------------------------------------------

    /// Why it has stopped, if it has.
    pub fn stopped(&self) -> Option<&MfcFault> {
        self.stopped.as_ref()
    }

    /// It tries again what it has stopped at. False: that can't be helped ([`Reason::is_restartable`]), and it stays as it is.
    pub fn restart(&mut self) -> bool {
        self.stopped.take_if(|fault| fault.reason.is_restartable());
        self.stopped.is_none()
    }

    /// Drops the commands of `source`, with the core's the immediate ones, and goes on if it has stopped at one of them. Of
    /// those that have transfers under way these end.
    pub fn purge(&mut self, source: Source) {
        let with: &[Source] = if source == Source::Core { &[Source::Atomic] } else { &[] };
        for &source in [source].iter().chain(with) {
            self.queues[source as usize].purge();
            self.translator.give_up(source);
            self.stopped.take_if(|fault| fault.source == source);
        }
        if source == Source::Core {
            self.stalled = 0;
        }
    }

    /// Sets the physical address of the root page table. The TLB is emptied.
    pub fn set_root(&mut self, root: u64) {
        self.translator.set_root(root);
    }

    /// Physical address of the root page table.
    pub fn root(&self) -> u64 {
        self.translator.root()
    }

    /// The TLB takes a translation from the kernel.
    pub fn load_translation(&mut self, translation: Translation) {
        self.translator.insert(translation);
    }

    /// The TLB forgets the page at virtual address `page`.
    pub fn forget(&mut self, page: u64) {
        self.translator.forget(page);
    }

    /// The TLB forgets everything.
    pub fn flush(&mut self) {
        self.translator.flush();
    }

    // --- reservation ------------------------------------------------------------------------------

    /// Physical address of the line that is reserved.
    pub fn reserved(&self) -> Option<u64> {
        self.reserved
    }

    /// Somebody else writes `bytes` at physical address `address`: a reservation there is lost.
    pub fn snoop_write(&mut self, address: u64, bytes: u64) {
        let overlaps = |line: &mut u64| *line < address + bytes && address < *line + u64::from(LINE_BYTES);
        if self.reserved.take_if(overlaps).is_some() {
            self.lost = true;
        }
    }

    /// Nothing is reserved, and no atomic command has ended.
    pub fn forget_atomics(&mut self) {
        (self.reserved, self.lost, self.atomic) = (None, false, None);
    }

    /// Takes whether a reservation was lost to somebody else.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    // --- transfers --------------------------------------------------------------------------------

    fn transfer(&mut self, slot: usize) -> &mut UnderWay {
        self.slots[slot].as_mut().expect("the transfer is under way")
    }

    /// The transfer in `slot`, which writes, has its place in the order of memory: its data, from the local store `local`.
    /// None: it does not take place.
    pub fn put(&mut self, slot: usize, local: &[u8]) -> Option<&[u8]> {
        let Transfer { kind, physical, bytes, local: at, .. } = self.transfer(slot).transfer;
        assert!(!kind.is_read(), "{kind:?} writes nothing");
        if kind == TransferKind::PutConditional {
            if self.reserved.take() != Some(physical) {
                self.lose(slot);
                return None;
            }
        } else {
            let line = u64::from(LINE_BYTES);
            self.reserved.take_if(|reserved| *reserved == physical / line * line);
        }
        self.statistics.bytes_out += u64::from(bytes);
        let data = &mut self.transfer(slot).data[..bytes as usize];
        data.copy_from_slice(&local[at as usize..][..bytes as usize]);
        Some(data)
    }

    fn lose(&mut self, slot: usize) {
        let UnderWay { source, number, .. } = *self.transfer(slot);
        if let Some(entry) = self.queues[source as usize].get(number) {
            entry.is_lost = true;
        }
    }

    /// The transfer in `slot`, which reads, has its place in the order of memory, which has `data`.
    pub fn got(&mut self, slot: usize, data: &[u8]) {
        let under_way = self.transfer(slot);
        let Transfer { kind, physical, bytes, .. } = under_way.transfer;
        assert!(kind.is_read() && data.len() == bytes as usize, "{kind:?} of {bytes} bytes");
        under_way.data[..data.len()].copy_from_slice(data);
        if kind == TransferKind::GetReserved {
            (self.reserved, self.lost) = (Some(physical), false);
        }
    }

    /// The transfer in `slot` is over: what it read is in the local store `local` from now on.
    pub fn done(&mut self, slot: usize, local: &mut [u8], now: Time) {
        let UnderWay { transfer, source, number, data, .. } =
            self.slots[slot].take().expect("the transfer is under way");
        if transfer.kind == TransferKind::Table {
            let entry = u64::from_le_bytes(data[..8].try_into().expect("eight bytes"));
            return self.walked(slot, Some(entry), now);
        }
        if transfer.kind.is_read() {
            let bytes = transfer.bytes as usize;
            local[transfer.local as usize..][..bytes].copy_from_slice(&data[..bytes]);
            self.statistics.bytes_in += u64::from(transfer.bytes);
        }
        if let Some(entry) = self.queues[source as usize].get(number) {
            entry.under_way -= 1;
        }
        self.drained(source, number, now);
    }

    /// The transfer in `slot` leads to nothing that takes it, and is over.
    pub fn refuse(&mut self, slot: usize, now: Time) {
        let UnderWay { transfer, source, number, effective, .. } =
            self.slots[slot].take().expect("the transfer is under way");
        if transfer.kind == TransferKind::Table {
            return self.walked(slot, None, now);
        }
        let access = if transfer.kind.is_read() { Access::Read } else { Access::Write };
        if let Some(entry) = self.queues[source as usize].get(number) {
            entry.under_way -= 1;
            if entry.is_dropped {
                return self.drained(source, number, now);
            }
            // It is not over before it is dropped.
            entry.phase = Phase::Begun;
            let fault = entry.fault(source, Reason::NoMemory, effective, access);
            self.stop(fault);
        }
    }

    /// A walk has read an entry, or found no memory there.
    fn walked(&mut self, slot: usize, entry: Option<u64>, now: Time) {
        let next = self.clock.after(now, self.parameters.walk.cycles());
        match self.translator.read(slot, entry, next) {
            None | Some(Walked::On) => {}
            Some(Walked::Found(source)) => {
                if let Some(entry) = self.queues[source as usize].begun() {
                    entry.ready = entry.ready.max(next);
                }
            }
            Some(Walked::Lacking(source, page, access)) => {
                if let Some(entry) = self.queues[source as usize].begun() {
                    let address = entry.piece.effective.max(page);
                    let fault = entry.fault(source, Reason::NoTranslation, address, access);
                    self.stop(fault);
                }
            }
        }
    }

    fn stop(&mut self, fault: MfcFault) {
        if self.stopped.is_none() {
            (self.stopped, self.report) = (Some(fault), Some(fault));
            self.statistics.faults += 1;
        }
    }

    /// If the command has nothing left and nothing under way, it is over soon.
    fn drained(&mut self, source: Source, number: u64, now: Time) {
        let end = self.clock.after(now, self.parameters.finish.cycles());
        if let Some(entry) = self.queues[source as usize].get(number)
            && entry.phase == Phase::Drains
            && entry.under_way == 0
        {
            entry.phase = Phase::Ends(end);
        }
    }
}
