//! The network cache (Khunjush, dissertation, University of Victoria, 2008, chapter 3): tags of
//! messages that have arrived, beside the L1 data cache.
//!
//! Three set-associative sections of independent size (its 3.2). The *network* section holds payload, a line of 16
//! bytes each, by the address of the message's buffer in network memory. The *message* section leads from a
//! message's name to its line while it is unbound; the *process* section from the address that it was bound to.
//! What has to leave before it is bound migrates to its buffer, and the *link translation buffer* (LTB) keeps where
//! that is.
//!
//! A message longer than a line has several, one for each 16 bytes of its buffer, by either of two designs (3.1.4).
//! *Chained*: each line points at its neighbours; a message is in the message section while all that have come of
//! its lines are here, and leaves as a whole. *Independent*: lines leave one by one; a *network TLB* leads from the
//! name to the buffer, from the first line's arrival until all are bound. Those that have left stay in network memory
//! when they are bound, and come when the program asks for them ([`away`]); the entry stays until the last has.
//!
//! A receive that is posted before its message reserves a line for it ([`early`]). Which unbound message makes room
//! for another may be left to a predictor of their consumption ([`predict`]).
//!
//! As every cache here it has tags and no data: those are in functional memory, in the buffer until a line is
//! bound and at its destination from then on. What becomes of lines that leave, the port decides (`port/network.rs`).
//!
//! Invariants ([`NetworkCache::check`]): a name is in one of message section, network TLB and LTB; an entry counts its
//! lines, and every line is counted or bound; to a sector one line is bound, here or in network memory; every entry of
//! the process section points at a line that says so, and the other way round; a buffer has one line at most for each
//! 16 bytes; a reservation has its line. Of the port: what is bound here is in no line of the data cache.

mod away;
mod early;
mod lines;
mod message;
mod parameters;
mod predict;
mod section;
mod statistics;

use away::{Away, AwayLine};
pub use early::Reservation;
use early::Reservations;
use lines::{Lines, Use};
pub use message::{Found, Incoming, LINE_BYTES, Name, SectionGeometry, Stored};
pub use parameters::{Binding, Early, Long, NetworkCacheCosts, NetworkCacheParameters, Replacement};
use predict::Predictor;
use section::Section;
pub use statistics::NetworkCacheStatistics;

/// What had to leave the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicted {
    /// A line that its buffer lacks.
    Unbound {
        /// Physical address of the buffer.
        buffer: u64,
    },
    /// A bound message, which memory and the other caches do not have.
    Bound(Bound),
}

/// A bound message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Physical address of its sector.
    pub sector: u64,
    /// Length [bytes]: it begins with the sector.
    pub bytes: u32,
}

/// A message that has not been bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    message: Stored,
    name: Name,
    /// Its name is kept until it is bound.
    is_kept: bool,
    /// How many messages had come here before it.
    arrival: u64,
    /// Bytes of it that have come.
    came: u32,
    /// Lines of it that are here.
    lines: u32,
    /// Lines of it that are bound and in network memory.
    away: u32,
    /// All of it is bound: only those are left.
    is_bound: bool,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the network section, of independent lines perhaps only some.
    Here(Stored),
    /// In network memory, according to the LTB.
    Memory(Stored),
    /// Not found.
    Unknown,
}

/// The network cache of a hart.
#[derive(Debug)]
pub struct NetworkCache {
    parameters: NetworkCacheParameters,
    costs: NetworkCacheCosts,
    lines: Lines,
    message: Section<Waiting>,
    process: Section<usize>,
    ltb: Section<Waiting>,
    tlb: Section<Waiting>,
    away: Away,
    /// Buffers of messages that have been bound, until the NI takes them back.
    free_buffers: Vec<u64>,
    reservations: Reservations,
    /// Messages that have come: the order in which software deals with those of one key.
    arrivals: u64,
    predictor: Predictor,
    /// What happened so far.
    pub statistics: NetworkCacheStatistics,
}

/// The set of a message's name: as names differ in a few low bits and in the source, the high bits of a product,
/// which depend on all of them (Fibonacci hashing; Knuth, TAOCP 3, 6.4). The source leaves it open.
fn by_name(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// The lines of a buffer in network memory.
fn lines_of(message: Stored) -> impl Iterator<Item = u64> {
    (message.buffer..message.buffer + u64::from(message.bytes)).step_by(LINE_BYTES as usize)
}

/// The set of a sector.
fn by_address(sector: u64) -> u64 {
    sector / LINE_BYTES
}

impl NetworkCache {
    /// An empty one.
    pub fn new(parameters: NetworkCacheParameters, costs: NetworkCacheCosts) -> NetworkCache {
        let [network, message, process, ltb, tlb] = parameters.sections();
        NetworkCache {
            lines: Lines::new(network),
            message: Section::new(message, by_name),
            process: Section::new(process, by_address),
            ltb: Section::new(ltb, by_name),
            tlb: Section::new(tlb, by_name),
            away: Away::default(),
            free_buffers: vec![],
            reservations: Reservations::new(parameters.early_entries as usize),
            arrivals: 0,
            predictor: Predictor::new(parameters.replacement, parameters.predictor_entries as usize),
            statistics: NetworkCacheStatistics::default(),
            parameters,
            costs,
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> &NetworkCacheParameters {
        &self.parameters
    }

    /// What accesses to it take.
    pub fn costs(&self) -> NetworkCacheCosts {
        self.costs
    }

    // --- arrival ------------------------------------------------------------------------------------

    /// A message begins to come: the reservation that it takes, if there is one for its name. When it does not fit
    /// there, or is not here as a whole (`is_whole`), it waits as any other.
    pub fn arrive(&mut self, incoming: Incoming, is_whole: bool) -> Option<Reservation> {
        let taken = self.reservations.take_open(incoming.name())?;
        let fits = is_whole && (1..=taken.bytes).contains(&incoming.length);
        if !fits {
            self.statistics.early_missed += 1;
            self.free_reserved(taken);
        }
        fits.then_some(taken)
    }

    /// The name of the message `id` can be kept until it is bound: the LTB has a place for it, whatever else comes.
    pub fn keeps(&self, id: u64) -> bool {
        let all = self.message.iter().chain(self.tlb.iter()).chain(self.ltb.iter());
        let kept = all.filter(|(other, entry)| entry.is_kept && self.ltb.shares_set(*other, id));
        kept.count() < self.ltb.ways()
    }

    /// A part of a message has come into its buffer: `part`. What is here by its name, or in its buffer, is forgotten: only a
    /// program that writes what it likes to a NIC has two messages of a name, or frees a buffer that is in use.
    pub fn deposit(&mut self, incoming: Incoming, part: Stored) -> Vec<Evicted> {
        let mut evicted = vec![];
        let Incoming { id, offset, length, .. } = incoming;
        for at in (0..u64::from(part.bytes)).step_by(LINE_BYTES as usize) {
            let is_first = u64::from(offset) + at == 0;
            // What has left while it came stays in its buffer.
            if !is_first && self.entry(id).is_none() {
                break;
            }
            if is_first {
                self.forget(id);
            }
            self.free_line(part.buffer + at);
            let index = self.take_line(part.buffer + at, &mut evicted);
            if is_first {
                self.statistics.deposits += 1;
                self.name(incoming, Stored { buffer: part.buffer, bytes: length }, &mut evicted);
            }
            if let Some(entry) = self.entry(id) {
                entry.lines += 1;
                let bytes = (u64::from(part.bytes) - at).min(LINE_BYTES) as u32;
                let used = Use::Unbound { id: Some(id), dirty: true };
                self.lines.put(index, part.buffer + at, used, bytes);
            }
        }
        for section in [&mut self.message, &mut self.tlb, &mut self.ltb] {
            if let Some(entry) = section.find_mut(id) {
                entry.came += part.bytes;
            }
        }
        evicted
    }

    /// A message gets its entry, of no line yet.
    fn name(&mut self, incoming: Incoming, message: Stored, evicted: &mut Vec<Evicted>) {
        let Incoming { id, is_kept, .. } = incoming;
        let (name, arrival) = (incoming.name(), self.arrivals);
        self.arrivals += 1;
        let waiting =
            Waiting { message, name, is_kept, arrival, came: 0, lines: 0, away: 0, is_bound: false };
        let is_long = u64::from(message.bytes) > LINE_BYTES;
        if is_long && self.parameters.long == Long::Independent {
            return self.name_independent(id, waiting, evicted);
        }
        let victim = self.expected_last(self.message.set_of(id));
        self.statistics.predicted_victims += u64::from(victim.is_some());
        if let Some((other, entry)) = self.message.insert_for(id, waiting, victim) {
            self.statistics.message_replacements += 1;
            self.migrate(other, entry, evicted);
        }
    }

    /// The same in the network TLB. Entries of messages that are bound to network memory stay there; where all are,
    /// this one waits in its buffer.
    fn name_independent(&mut self, id: u64, waiting: Waiting, evicted: &mut Vec<Evicted>) {
        let full: Vec<u64> = self.tlb.set_of(id).collect();
        let is_waiting = |&id: &u64| self.tlb.find(id).is_some_and(|entry| entry.away == 0);
        let victim = full.iter().copied().filter(is_waiting).min_by_key(|&id| self.tlb.age(id));
        if !full.is_empty() && victim.is_none() {
            self.statistics.tlb_refused += 1;
            return self.migrate(id, waiting, evicted);
        }
        if let Some((other, entry)) = self.tlb.insert_for(id, waiting, victim) {
            self.statistics.tlb_replacements += 1;
            self.migrate(other, entry, evicted);
        }
    }

    /// The entry of the message `id`, some of whose lines are here or were to come.
    fn entry(&mut self, id: u64) -> Option<&mut Waiting> {
        match self.message.find_mut(id) {
            Some(entry) => Some(entry),
            None => self.tlb.find_mut(id),
        }
    }

    /// A line for `buffer`, which has none, or for a sector, for which others may be reserved; what was there is evicted.
    fn take_line(&mut self, buffer: u64, evicted: &mut Vec<Evicted>) -> usize {
        let index = self.victim(buffer);
        match self.lines.at(index).used {
            Use::Free => return index,
            Use::Unbound { id: Some(id), .. } => match self.message.remove(id) {
                Some(entry) => {
                    self.statistics.chained_evictions += u64::from(entry.lines - 1);
                    self.migrate(id, entry, evicted);
                }
                None => {
                    if let Some(entry) = self.entry(id) {
                        entry.lines = entry.lines.saturating_sub(1);
                    }
                    self.write_back(index, evicted);
                }
            },
            Use::Unbound { id: None, .. } => self.write_back(index, evicted),
            Use::Bound { sector } => {
                self.process.remove(sector);
                evicted.push(Evicted::Bound(Bound { sector, bytes: self.lines.at(index).bytes }));
            }
            Use::Reserved => unreachable!("a reserved line stays"),
        }
        self.lines.at_mut(index).used = Use::Free;
        self.statistics.network_replacements += 1;
        index
    }

    /// The line that what is in `buffer` takes. If the least recently used is an unbound message's, the predictor may
    /// choose another of these.
    fn victim(&mut self, buffer: u64) -> usize {
        let oldest = self.lines.victim(buffer);
        if !matches!(self.lines.at(oldest).used, Use::Unbound { id: Some(_), .. }) {
            return oldest;
        }
        let Some(id) = self.expected_last(self.lines.waiting(buffer).map(|(_, id)| id)) else {
            return oldest;
        };
        self.statistics.predicted_victims += 1;
        // Of several lines of one message the first that is found: all of them are wanted at once.
        let line = self.lines.waiting(buffer).find(|&(_, of)| of == id);
        line.map_or(oldest, |(index, _)| index)
    }

    /// Which of these messages the predictor expects to be consumed last. `None`: it expects nothing.
    fn expected_last(&self, names: impl Iterator<Item = u64>) -> Option<u64> {
        if self.parameters.replacement == Replacement::Lru {
            return None;
        }
        let mut last = None;
        for id in names {
            let entry = self.message.find(id).or_else(|| self.tlb.find(id))?;
            let distance = self.predictor.distance(entry.name.key, self.earlier(&entry))?;
            // Of those that it does not expect at all, the last that came.
            let rank = (distance, entry.arrival);
            if last.is_none_or(|(most, _)| rank > most) {
                last = Some((rank, id));
            }
        }
        last.map(|(_, id)| id)
    }

    /// Messages of the same key that wait and came before this one: they are consumed first.
    fn earlier(&self, entry: &Waiting) -> usize {
        let all = self.message.iter().chain(self.tlb.iter()).chain(self.ltb.iter());
        all.filter(|(_, e)| e.name.key == entry.name.key && e.arrival < entry.arrival).count()
    }

    /// The unbound message `id` leaves what lines it has for its buffer; the LTB keeps where that is.
    fn migrate(&mut self, id: u64, entry: Waiting, evicted: &mut Vec<Evicted>) {
        self.statistics.migrations += 1;
        self.statistics.ltb_replacements += u64::from(self.translate(id, Waiting { lines: 0, ..entry }));
        for line in lines_of(entry.message) {
            if let Some(index) = self.waiting_line(id, line) {
                self.write_back(index, evicted);
                self.lines.at_mut(index).used = Use::Free;
            }
        }
    }

    /// The LTB gets an entry, for which it loses the oldest that is not kept; where all are, this one. True: one is lost.
    fn translate(&mut self, id: u64, entry: Waiting) -> bool {
        let is_full = self.ltb.set_of(id).next().is_some();
        let loses = |&id: &u64| self.ltb.find(id).is_some_and(|other| !other.is_kept);
        let victim = self.ltb.set_of(id).filter(loses).min_by_key(|&id| self.ltb.age(id));
        if !is_full || victim.is_some() {
            self.ltb.insert_for(id, entry, victim);
        }
        is_full
    }

    /// The line of the message `id` that is at `line` in network memory, while it is here.
    fn waiting_line(&self, id: u64, line: u64) -> Option<usize> {
        let index = self.lines.find(line)?;
        matches!(self.lines.at(index).used, Use::Unbound { id: Some(of), .. } if of == id).then_some(index)
    }

    fn write_back(&mut self, index: usize, evicted: &mut Vec<Evicted>) {
        let line = self.lines.at(index);
        if let Use::Unbound { dirty: true, .. } = line.used {
            evicted.push(Evicted::Unbound { buffer: line.buffer });
        }
    }

    /// A line of network memory comes back, clean.
    pub fn fill(&mut self, buffer: u64) -> Vec<Evicted> {
        let mut evicted = vec![];
        if self.lines.find(buffer).is_none() {
            self.statistics.fills += 1;
            let index = self.take_line(buffer, &mut evicted);
            self.lines.put(index, buffer, Use::Unbound { id: None, dirty: false }, LINE_BYTES as u32);
        }
        evicted
    }

    // --- before arrival ----------------------------------------------------------------------------

    /// What has been reserved for the message `name`.
    pub fn reservation(&self, name: Name) -> Option<&Reservation> {
        self.reservations.find(name)
    }

    /// Software has learned that the message `name` is where its receive had reserved a line.
    pub fn collect(&mut self, name: Name) {
        self.reservations.remove(name);
    }

    /// The message `name`, if all of it has come and it is not bound.
    pub fn find(&self, name: Name) -> Option<Found> {
        let (id, entry) = self.unbound(name)?;
        (entry.came == entry.message.bytes).then_some(())?;
        Some(Found { id, bytes: entry.message.bytes })
    }

    /// The message `name` has begun to come, and is not bound: it takes no reservation any more.
    pub fn has_begun(&self, name: Name) -> bool {
        self.unbound(name).is_some()
    }

    fn unbound(&self, name: Name) -> Option<(u64, Waiting)> {
        let mut all = self.message.iter().chain(self.tlb.iter()).chain(self.ltb.iter());
        all.find(|(_, entry)| entry.name == name && !entry.is_bound)
    }

    /// Whether a receive that waits for a message may reserve `sector`.
    pub fn may_reserve(&self, sector: u64) -> bool {
        let in_line = self.parameters.early == Early::NetworkCache;
        self.reservations.may_add(sector) && (!in_line || self.lines.may_reserve(sector))
    }

    /// A receive that waits for the message `name`, of up to `bytes` bytes, reserves `sector` ([`Self::may_reserve`]).
    pub fn reserve(&mut self, name: Name, sector: u64, bytes: u32) -> Vec<Evicted> {
        let mut evicted = vec![];
        let line = (self.parameters.early == Early::NetworkCache).then(|| {
            let index = self.take_line(sector, &mut evicted);
            self.lines.put(index, sector, Use::Reserved, 0);
            index
        });
        self.statistics.reserved += 1;
        self.reservations.add(Reservation { name, sector, bytes, landed: None, line });
        evicted
    }

    /// The receive for a message of `key` that has reserved `sector`, if there is one, is not to be met any more. False: it
    /// has been.
    pub fn withdraw(&mut self, key: u64, sector: u64) -> bool {
        let Some(reservation) = self.reservations.at(key, sector) else { return true };
        if reservation.landed.is_some() {
            return false;
        }
        self.reservations.remove(reservation.name);
        self.free_reserved(reservation);
        self.statistics.withdrawn += 1;
        true
    }

    /// What has been reserved from `address` to `end` is no place for a message any more: the one that is waited for waits
    /// as any other.
    pub fn lose_reserved(&mut self, address: u64, end: u64) {
        self.reservations.lose(address, end);
    }

    fn free_reserved(&mut self, reservation: Reservation) {
        if let Some(index) = reservation.line {
            self.lines.at_mut(index).used = Use::Free;
        }
    }

    /// The message of `bytes` bytes that was waited for is bound in the line that was reserved for it, to a sector
    /// where nothing is bound. Returns what the process section had to evict.
    pub fn land(&mut self, reservation: Reservation, bytes: u32) -> Option<Bound> {
        let index = reservation.line.expect("a reservation with a line");
        let Reservation { sector, .. } = reservation;
        self.lines.put(index, sector, Use::Bound { sector }, bytes);
        self.point(sector, index)
    }

    /// `nload` or `nstore` (`writes`) of the line at `buffer`; true if it is here.
    pub fn access(&mut self, buffer: u64, writes: bool) -> bool {
        let Some(index) = self.lines.find(buffer) else { return false };
        self.lines.touch(index);
        if let Use::Unbound { dirty, .. } = &mut self.lines.at_mut(index).used {
            *dirty |= writes;
        }
        true
    }

    /// The line at `buffer` is here.
    pub fn has_line(&self, buffer: u64) -> bool {
        self.lines.find(buffer).is_some()
    }

    // --- binding ------------------------------------------------------------------------------------

    /// Where the message `id` is.
    pub fn place(&self, id: u64) -> Place {
        match self.message.find(id).or_else(|| self.tlb.find(id)) {
            Some(entry) if entry.is_bound => Place::Unknown,
            Some(entry) => Place::Here(entry.message),
            None => self.ltb.find(id).map_or(Place::Unknown, |entry| Place::Memory(entry.message)),
        }
    }

    /// The line of the message `id` that is at `line` in network memory is here.
    pub fn is_waiting(&self, id: u64, line: u64) -> bool {
        self.waiting_line(id, line).is_some()
    }

    /// Binds the line of the message `id` that is at `line`, and is here, to `sector`, where nothing is bound: its
    /// network tag is reset, and the process section leads to it. Returns what that section had to evict.
    pub fn bind(&mut self, id: u64, line: u64, sector: u64) -> Option<Bound> {
        let index = self.waiting_line(id, line).expect("a line that is here");
        self.entry(id).expect("a message that is here").lines -= 1;
        self.lines.at_mut(index).used = Use::Bound { sector };
        self.lines.touch(index);
        self.point(sector, index)
    }

    /// The line of the message `id` may be bound where it is, in network memory.
    pub fn may_stay(&self, id: u64) -> bool {
        self.tlb.find(id).is_some()
    }

    /// Binds a line of the message `id` to `sector`, where nothing is bound, and leaves it in network memory
    /// ([`Self::may_stay`]).
    pub fn stay(&mut self, id: u64, line: Stored, sector: u64) {
        self.tlb.find_mut(id).expect("an entry of the network TLB").away += 1;
        self.away.add(sector, AwayLine { id, line });
        self.statistics.stayed += 1;
    }

    /// The first sector of the `bytes` from `address` on whose line is bound and in network memory, and that line.
    pub fn away_in(&self, address: u64, bytes: u64) -> Option<(u64, Stored)> {
        self.away.within(address & !(LINE_BYTES - 1), address + bytes).next()
    }

    /// The line that was bound to `sector` and in network memory is not there any more. The last of its message frees
    /// the buffer.
    pub fn leave(&mut self, sector: u64) -> Option<Bound> {
        let AwayLine { id, line } = self.away.remove(sector)?;
        let entry = self.tlb.find_mut(id).expect("an entry for what is in network memory");
        entry.away -= 1;
        let Waiting { message, away, is_bound, .. } = *entry;
        if is_bound && away == 0 {
            self.tlb.remove(id);
            lines_of(message).for_each(|line| self.free_line(line));
            self.free_buffers.push(message.buffer);
        }
        Some(Bound { sector, bytes: line.bytes })
    }

    /// The process section leads from `sector` to line `index`; returns what it had to evict.
    fn point(&mut self, sector: u64, index: usize) -> Option<Bound> {
        let (sector, other) = self.process.insert(sector, index)?;
        self.statistics.process_replacements += 1;
        self.lines.at_mut(other).used = Use::Free;
        Some(Bound { sector, bytes: self.lines.at(other).bytes })
    }

    /// The line at `line` of network memory has gone elsewhere: the data cache has it.
    pub fn drop_line(&mut self, line: u64) {
        let Some(index) = self.lines.find(line) else { return };
        if let Use::Unbound { id: Some(id), .. } = self.lines.at(index).used {
            self.entry(id).expect("a message that is here").lines -= 1;
        }
        self.lines.at_mut(index).used = Use::Free;
    }

    /// The message `id` in `buffer` has been bound, all of it, by a receive call that `tag` stands for: its name is
    /// reset, which is how binding happens once. Its buffer is free, unless some of it stays there.
    pub fn consume(&mut self, id: u64, buffer: u64, tag: u64) {
        let stays = self.tlb.find_mut(id).filter(|entry| entry.away > 0);
        let found = if let Some(entry) = stays {
            (entry.is_bound, entry.lines) = (true, 0);
            Some(*entry)
        } else {
            self.free_buffers.push(buffer);
            let found = [self.message.remove(id), self.tlb.remove(id), self.ltb.remove(id)];
            found.into_iter().flatten().next()
        };
        let Some(entry) = found else { return };
        lines_of(entry.message).for_each(|line| self.free_line(line));
        if let Some(right) = self.predictor.consumed(entry.name.key, tag) {
            self.statistics.predictions += 1;
            self.statistics.predicted += u64::from(right);
        }
    }

    fn free_line(&mut self, line: u64) {
        if let Some(index) = self.lines.find(line) {
            self.lines.at_mut(index).used = Use::Free;
        }
    }

    /// The message `found` in `buffer` is where its receive had reserved a line: the buffer is free.
    pub fn landed(&mut self, reservation: Reservation, found: Found, buffer: u64) {
        self.reservations.add(Reservation { landed: Some(found), line: None, ..reservation });
        self.free_buffers.push(buffer);
    }

    /// Buffers of messages that have been bound since this was last asked: the NI may use them again.
    pub fn take_free_buffers(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.free_buffers)
    }

    /// The buffer is free: what is known of the message in it is forgotten.
    pub fn release(&mut self, buffer: Stored) {
        for section in [&mut self.message, &mut self.tlb, &mut self.ltb] {
            let name = section.iter().find(|(_, entry)| entry.message.buffer == buffer.buffer);
            if let Some((id, _)) = name {
                section.remove(id);
            }
        }
        lines_of(buffer).for_each(|line| self.free_line(line));
    }

    /// Whatever is here of the message `id`.
    fn forget(&mut self, id: u64) {
        let known = [self.message.remove(id), self.tlb.remove(id), self.ltb.remove(id)];
        for entry in known.into_iter().flatten() {
            lines_of(entry.message).for_each(|line| self.free_line(line));
        }
    }

    /// What is bound in the sector that holds `address`.
    pub fn bound(&self, address: u64) -> Option<Bound> {
        let sector = address & !(LINE_BYTES - 1);
        let index = self.process.find(sector)?;
        Some(Bound { sector, bytes: self.lines.at(index).bytes })
    }

    /// A load or store of `bytes` at `address` finds them all in a bound message, and uses it.
    pub fn hit(&mut self, address: u64, bytes: u32) -> bool {
        let Some(bound) = self.bound(address) else { return false };
        if address + u64::from(bytes) > bound.sector + u64::from(bound.bytes) {
            return false;
        }
        let index = self.process.find(bound.sector).expect("it is bound");
        self.process.touch(bound.sector);
        self.lines.touch(index);
        true
    }

    /// What is bound in `sector` leaves.
    pub fn unbind(&mut self, sector: u64) -> Option<Bound> {
        let Some(index) = self.process.remove(sector) else { return self.leave(sector) };
        self.lines.at_mut(index).used = Use::Free;
        Some(Bound { sector, bytes: self.lines.at(index).bytes })
    }

    /// Sectors of the `bytes` from `address` on in which something is bound.
    pub fn bound_in(&self, address: u64, bytes: u64) -> impl Iterator<Item = u64> + '_ {
        let (first, end) = (address & !(LINE_BYTES - 1), address + bytes);
        let here = (first..end).step_by(LINE_BYTES as usize).filter(|&s| self.process.find(s).is_some());
        here.chain(self.away.within(first, end).map(|(sector, _)| sector))
    }

    /// Looks whether the invariants hold.
    ///
    /// # Errors
    /// What does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        for (index, line) in self.lines.iter() {
            let is_known = match line.used {
                Use::Unbound { id: Some(id), .. } => {
                    let entry = self.message.find(id).or_else(|| self.tlb.find(id));
                    entry.is_some_and(|e| lines_of(e.message).any(|at| at == line.buffer))
                }
                Use::Unbound { id: None, .. } | Use::Free => true,
                Use::Bound { sector } => self.process.find(sector) == Some(index),
                Use::Reserved => self.reservations.iter().any(|r| r.line == Some(index)),
            };
            if !is_known {
                return Err(format!("nothing leads to line {index}, {line:?}"));
            }
            if matches!(line.used, Use::Unbound { .. }) && self.lines.find(line.buffer) != Some(index) {
                return Err(format!("buffer {:#x} has two lines", line.buffer));
            }
        }
        for (id, entry) in self.message.iter().chain(self.tlb.iter()) {
            let here = lines_of(entry.message).filter(|&line| self.waiting_line(id, line).is_some()).count();
            if here != entry.lines as usize {
                return Err(format!("message {id:#x} has {here} lines and counts {entry:?}"));
            }
            if entry.away as usize != self.away.of(id) || entry.is_bound && entry.away == 0 {
                return Err(format!("message {id:#x} has {} lines away: {entry:?}", self.away.of(id)));
            }
            if self.ltb.find(id).is_some() || self.message.find(id).is_some() && self.tlb.find(id).is_some() {
                return Err(format!("message {id:#x} is known twice"));
            }
        }
        if let Some(id) = self.away.names().find(|&id| self.tlb.find(id).is_none()) {
            return Err(format!("lines of {id:#x} are away, and it has no entry"));
        }
        for (sector, index) in self.process.iter() {
            if self.lines.at(index).used != (Use::Bound { sector }) {
                return Err(format!("sector {sector:#x} leads to {:?}", self.lines.at(index)));
            }
            if self.away_in(sector, LINE_BYTES).is_some() {
                return Err(format!("sector {sector:#x} is bound twice"));
            }
        }
        for reservation in self.reservations.iter() {
            if reservation.line.is_some_and(|index| self.lines.at(index).used != Use::Reserved) {
                return Err(format!("{reservation:?} has lost its line"));
            }
        }
        Ok(())
    }

    /// Sectors in which something is bound.
    pub fn sectors(&self) -> impl Iterator<Item = u64> + '_ {
        let away = self.away.within(0, u64::MAX).map(|(sector, _)| sector);
        self.process.iter().map(|(sector, _)| sector).chain(away)
    }
}

#[cfg(test)]
mod tests;
