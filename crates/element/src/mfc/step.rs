//! How transfers are made of commands.

use chasqui_engine::Time;

use super::command::{ELEMENT_BYTES, LINE_BYTES, Operation, Source, check_transfer};
use super::queue::{Entry, Phase, Piece};
use super::reason::Reason;
use super::translate::Translated;
use super::{AtomicStatus, Mfc, MfcStep, Transfer, TransferKind, UnderWay};

/// What came of a try to go on with a queue.
enum Progress {
    /// A transfer.
    Made(Transfer),
    /// It has gone on, and is to be tried again.
    Again,
    /// It waits, or the MFC has stopped.
    Waits,
}

impl Operation {
    fn kind(self) -> TransferKind {
        match self {
            Operation::Get => TransferKind::Get,
            Operation::GetReserved => TransferKind::GetReserved,
            Operation::PutConditional => TransferKind::PutConditional,
            Operation::Put | Operation::Signal | Operation::PutLine => TransferKind::Put,
            Operation::Order { .. } => unreachable!("it moves nothing"),
        }
    }
}

impl Mfc {
    /// What follows at `now` from the calls so far, one after the other; `local` is the local store, in which lists are.
    pub fn step(&mut self, now: Time, local: &[u8]) -> Option<MfcStep> {
        self.scheduled.take_if(|at| *at <= now);
        self.retire(now);
        let transfer = self.make(now, local);
        let transfer = transfer.or_else(|| self.read_table(now)).map(MfcStep::Transfer);
        if let Some(step) = transfer.or_else(|| self.report.take().map(MfcStep::Fault)) {
            return Some(step);
        }
        let at = self.next_time(now)?;
        if self.scheduled.is_some_and(|scheduled| scheduled <= at) {
            return None;
        }
        self.scheduled = Some(at);
        Some(MfcStep::At(at))
    }

    /// Commands that are over leave their queues.
    fn retire(&mut self, now: Time) {
        for source in Source::ALL {
            while let Some(entry) = self.queues[source as usize].retire(now) {
                let statistics = &mut self.statistics;
                match source {
                    Source::Core => statistics.commands += 1,
                    Source::Proxy => statistics.proxy_commands += 1,
                    Source::Atomic => {
                        statistics.atomic_commands += 1;
                        statistics.atomic_lost += u64::from(entry.is_lost);
                        self.atomic = Some(match entry.operation {
                            Some(Operation::GetReserved) => AtomicStatus::Reserved,
                            Some(Operation::PutConditional) => AtomicStatus::Conditional(!entry.is_lost),
                            _ => AtomicStatus::Written,
                        });
                    }
                }
            }
        }
    }

    /// When something goes on that waits for nothing but time.
    fn next_time(&self, now: Time) -> Option<Time> {
        let ends = self.queues.iter().flat_map(|queue| queue.iter()).filter_map(|entry| match entry.phase {
            Phase::Ends(at) => Some(at),
            _ => None,
        });
        let has_slot = self.slots.iter().any(Option::is_none);
        let table = self.translator.asks().filter(|_| has_slot);
        let goes_on = |entry: &Entry| match entry.phase {
            Phase::Begun if has_slot && entry.piece.left > 0 => entry.ready.max(self.next),
            _ => entry.ready,
        };
        let commands = self.queues.iter().filter_map(|queue| {
            let begun = queue.iter().find(|entry| entry.phase == Phase::Begun);
            begun.or_else(|| queue.next()).map(goes_on)
        });
        let works = table.into_iter().chain(commands).filter(|_| self.stopped.is_none());
        ends.chain(works).filter(|&at| at > now).min()
    }

    /// A walk's next entry is read.
    fn read_table(&mut self, now: Time) -> Option<Transfer> {
        self.translator.asks().filter(|&at| at <= now && self.stopped.is_none())?;
        let slot = self.slots.iter().position(Option::is_none)?;
        let physical = self.translator.ask(slot);
        self.statistics.walk_reads += 1;
        let transfer = Transfer { slot, kind: TransferKind::Table, physical, bytes: 8, local: 0 };
        let data = [0; LINE_BYTES as usize];
        let under_way = UnderWay { transfer, source: Source::Core, number: u64::MAX, effective: 0, data };
        self.slots[slot] = Some(under_way);
        Some(transfer)
    }

    /// The next transfer of data.
    fn make(&mut self, now: Time, local: &[u8]) -> Option<Transfer> {
        let (first, second) = match self.turn {
            Source::Proxy => (Source::Proxy, Source::Core),
            _ => (Source::Core, Source::Proxy),
        };
        for source in [Source::Atomic, first, second] {
            while self.stopped.is_none() {
                match self.advance(source, now, local) {
                    Progress::Again => {}
                    Progress::Waits => break,
                    Progress::Made(transfer) => {
                        if source != Source::Atomic {
                            self.turn = if source == Source::Core { Source::Proxy } else { Source::Core };
                        }
                        return Some(transfer);
                    }
                }
            }
        }
        None
    }

    /// Goes on with the queue of `source`.
    fn advance(&mut self, source: Source, now: Time, local: &[u8]) -> Progress {
        let queue = &mut self.queues[source as usize];
        let Some(entry) = queue.begun().copied() else {
            let next = queue.next().filter(|entry| entry.ready <= now).map(|entry| entry.number);
            return next.map_or(Progress::Waits, |number| self.begin(source, number, now));
        };
        if entry.ready > now {
            return Progress::Waits;
        }
        if entry.piece.left == 0 {
            self.next_piece(source, entry, now, local)
        } else {
            self.transfer_of(source, entry, now)
        }
    }

    /// The command of that number begins, or goes on where it has stalled.
    fn begin(&mut self, source: Source, number: u64, now: Time) -> Progress {
        let store_bytes = self.store_bytes;
        let entry = self.queues[source as usize].get(number).expect("it is next");
        entry.phase = Phase::Begun;
        if entry.operation.is_some() {
            return Progress::Again;
        }
        let command = entry.command;
        match command.check(source, store_bytes) {
            Err(reason) => {
                entry.phase = Phase::Waits;
                let fault = entry.fault(source, reason, command.effective, command.access());
                self.stop(fault);
                return Progress::Waits;
            }
            Ok(operation) => entry.operation = Some(operation),
        }
        entry.list.local = command.local;
        let left = match entry.operation {
            Some(Operation::Order { .. }) => 0,
            _ if command.is_list() => 0,
            Some(Operation::Get | Operation::Put | Operation::Signal) => command.bytes,
            _ => LINE_BYTES,
        };
        entry.piece = Piece { effective: command.effective, local: command.local, left };
        entry.ready = now;
        Progress::Again
    }

    /// All transfers of a command, or of an element of its list, have been made.
    fn next_piece(&mut self, source: Source, copy: Entry, now: Time, local: &[u8]) -> Progress {
        let store_bytes = self.store_bytes;
        let entry = self.queues[source as usize].get(copy.number).expect("it has begun");
        let (command, list) = (entry.command, entry.list);
        if list.notifies {
            if entry.under_way > 0 {
                return Progress::Waits;
            }
            entry.phase = Phase::Stalled;
            self.stalled |= 1 << command.tag;
            return Progress::Again;
        }
        let place = list.next * ELEMENT_BYTES;
        if !command.is_list() || place >= command.bytes {
            entry.phase = Phase::Drains;
            self.drained(source, copy.number, now);
            return Progress::Again;
        }
        let at = (command.effective as u32 + place) as usize;
        let word = |at: usize| u32::from_le_bytes(local[at..][..4].try_into().expect("four bytes"));
        let (what, low) = (word(at), word(at + 4));
        let bytes = what & 0x7fff;
        let effective = command.effective >> 32 << 32 | u64::from(low);
        // Each element's data go to the next 16 bytes, at the place in them that its address has (CBEA 1.02, list commands).
        let to = list.local & !15 | low & 15;
        entry.list.next += 1;
        entry.list.local = to.saturating_add(bytes).saturating_add(15) & !15;
        entry.list.notifies = what >> 31 != 0;
        if let Err(reason) = check_transfer(to, effective, bytes, store_bytes) {
            let fault = entry.fault(source, reason, effective, command.access());
            self.stop(fault);
            return Progress::Waits;
        }
        entry.piece = Piece { effective, local: to, left: bytes };
        entry.ready = self.clock.after(now, self.parameters.list_fetch.cycles());
        self.statistics.elements += 1;
        Progress::Again
    }

    /// The next transfer of a command that has something left.
    fn transfer_of(&mut self, source: Source, copy: Entry, now: Time) -> Progress {
        let Piece { effective, local, left } = copy.piece;
        let operation = copy.operation.expect("it has begun");
        let access = copy.command.access();
        let physical = match self.translator.find(effective, access) {
            Translated::To(physical) => physical,
            Translated::Missing if self.translator.is_busy() => return Progress::Waits,
            Translated::Missing => {
                self.statistics.tlb_misses += 1;
                if let Err(reason) = self.translator.miss(source, effective, access, now) {
                    self.stop(copy.fault(source, reason, effective, access));
                }
                return Progress::Waits;
            }
            Translated::Denied => {
                self.stop(copy.fault(source, Reason::Protection, effective, access));
                return Progress::Waits;
            }
        };
        if operation == Operation::PutConditional && self.reserved != Some(physical) {
            let entry = self.queues[source as usize].get(copy.number).expect("it has begun");
            (entry.is_lost, entry.piece.left) = (true, 0);
            return Progress::Again;
        }
        let Some(slot) = self.slots.iter().position(Option::is_none).filter(|_| self.next <= now) else {
            return Progress::Waits;
        };
        let bytes = left.min(LINE_BYTES - (effective % u64::from(LINE_BYTES)) as u32);
        let transfer = Transfer { slot, kind: operation.kind(), physical, bytes, local };
        let data = [0; LINE_BYTES as usize];
        self.slots[slot] = Some(UnderWay { transfer, source, number: copy.number, effective, data });
        self.statistics.transfers += 1;
        self.next = self.clock.after(now, self.parameters.request.cycles());
        let entry = self.queues[source as usize].get(copy.number).expect("it has begun");
        entry.under_way += 1;
        entry.piece = Piece {
            effective: effective.wrapping_add(u64::from(bytes)),
            local: local + bytes,
            left: left - bytes,
        };
        Progress::Made(transfer)
    }
}
