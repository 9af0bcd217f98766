//! The network cache beside the data cache: `nload`, `nstore`, `remap`, `prebind`, `withdraw`, and what messages that
//! come, ordinary accesses, evictions and other masters' transactions do to bound messages.
//!
//! A bound message is a sector of 16 bytes, of which its first bytes are valid, that memory and the data caches know
//! nothing of, as if it were modified. It is in no line of the L1 data cache: binding drops the line; a fetch of the
//! line merges the message into it. The L2 does not include the network cache; it may hold the line, out of date.
//!
//! Of several harts none has a copy of a line with a sector that another's message is bound to: it is owned when the
//! message is bound (`claim`), and what another hart asks of it takes the message. A line that is reserved is owned when it
//! is; another hart that asks for it has the reservation miss its message, which then waits as any other.

use std::ops::Range;

use super::addresses::Addresses;
use super::{Access, DEVICE_BASE, Fault, Port, Request, Slot, Stall, Stop};
use crate::cache::State;
use crate::network_cache::{
    Binding, Bound, Early, Evicted, Found, Incoming, LINE_BYTES, Name, NetworkCache, NetworkCacheStatistics,
    Place, Reservation, Stored,
};

/// What came of a `remap`: the value of its destination register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Remapped {
    /// The message is where it was asked for.
    Bound = 0,
    /// Neither the message section nor the LTB has it: software copies it from network memory.
    Unknown = 1,
}

/// A `remap` under way: of a message of several parts each may have to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remapping {
    id: u64,
    /// Whether it was asked for by this name.
    name: Option<Name>,
    /// Virtual address of the destination.
    va: u64,
    message: Stored,
    /// Bytes that are bound.
    done: u64,
}

impl Remapping {
    /// The message's lines are sectors of the destination: they may stay where they are.
    fn is_aligned(&self) -> bool {
        self.va.is_multiple_of(LINE_BYTES)
    }

    /// The line of network memory that is next.
    fn line(&self) -> u64 {
        (self.message.buffer + self.done) & !(LINE_BYTES - 1)
    }

    /// What is bound next: of one line of network memory, to one line of the data cache, which has `line_bytes`.
    fn part(&self, line_bytes: u64) -> Stored {
        let (buffer, to) = (self.message.buffer + self.done, self.va + self.done);
        let ends = [
            u64::from(self.message.bytes) - self.done,
            LINE_BYTES - buffer % LINE_BYTES,
            line_bytes - to % line_bytes,
        ];
        Stored { buffer, bytes: ends.into_iter().min().expect("three ends") as u32 }
    }

    /// `part` is the last of its line of network memory.
    fn ends_line(&self, part: Stored) -> bool {
        let end = self.done + u64::from(part.bytes);
        end == u64::from(self.message.bytes) || end.is_multiple_of(LINE_BYTES)
    }
}

/// What a port has for the network cache.
pub(super) struct NetworkSide {
    /// Its tags, if there is one.
    pub cache: Option<NetworkCache>,
    /// Physical addresses of the NI's network memory.
    memory: Addresses,
    /// The `remap` that waits.
    remapping: Option<Remapping>,
    /// The last message that landed where its receive had reserved a place.
    landed: Option<u64>,
    changes: u64,
}

impl NetworkSide {
    pub fn new(cache: Option<NetworkCache>) -> NetworkSide {
        NetworkSide { cache, memory: Addresses::default(), remapping: None, landed: None, changes: 0 }
    }

    /// Moves with every message that comes, is bound or leaves.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

impl Port {
    /// The hart has a network cache.
    #[inline]
    pub fn has_network_cache(&self) -> bool {
        self.network.cache.is_some()
    }

    /// Tells of physical addresses of an NI's network memory, which `nload` and `nstore` reach.
    pub fn add_network_memory(&mut self, addresses: Range<u64>) {
        self.network.memory.add(addresses);
    }

    /// Counters of the network cache.
    pub fn network_statistics(&self) -> Option<&NetworkCacheStatistics> {
        self.network.cache.as_ref().map(|network| &network.statistics)
    }

    /// Buffers of messages that have been bound since this was last asked: the NI may use them again.
    pub fn take_bound_buffers(&mut self) -> Vec<u64> {
        self.network.cache.as_mut().map(NetworkCache::take_free_buffers).unwrap_or_default()
    }

    /// Length [bytes] of the message `id`, if `remap` would bind it.
    pub fn message_bytes(&self, id: u64) -> Option<u32> {
        match self.network.cache.as_ref()?.place(id) {
            Place::Here(message) | Place::Memory(message) => Some(message.bytes),
            Place::Unknown => None,
        }
    }

    fn network(&mut self) -> &mut NetworkCache {
        self.network.cache.as_mut().expect("a hart with a network cache")
    }

    // --- the instructions --------------------------------------------------------------------------

    /// `nload`: the doubleword at `va` in network memory, by its network tag.
    pub fn network_load(&mut self, va: u64, cycles: &mut u64) -> Result<u64, Stop> {
        let pa = self.network_line(va, Access::Read, cycles)?;
        Ok(self.memory.read(pa, 8))
    }

    /// `nstore`: stores a doubleword at `va` in network memory.
    pub fn network_store(&mut self, va: u64, value: u64, cycles: &mut u64) -> Result<(), Stop> {
        let pa = self.network_line(va, Access::Write, cycles)?;
        self.disturb();
        self.memory.write(pa, 8, value);
        Ok(())
    }

    /// Physical address of a doubleword of network memory, its line in the network section.
    fn network_line(&mut self, va: u64, access: Access, cycles: &mut u64) -> Result<u64, Stop> {
        let (pa, _) = self.translate(va, access, cycles)?;
        if !va.is_multiple_of(8) || !self.network.memory.contains(pa) {
            return Err(Stop::Fault(Fault::NotNetwork { address: va }));
        }
        if !self.is_timed() {
            return Ok(pa);
        }
        // A line takes its place at the grant; its data come later.
        if self.transactions.is_under_way(Slot::Blocking) {
            return Err(Stop::Wait(Stall::Data));
        }
        let line = pa & !(LINE_BYTES - 1);
        if !self.network().access(line, access == Access::Write) {
            return Err(self.fetch_network(line, *cycles));
        }
        let cost = self.network().costs().network;
        self.charge(cost, cycles);
        Ok(pa)
    }

    fn charge(&mut self, cost: u64, cycles: &mut u64) {
        *cycles += cost;
        self.waits.add(Stall::Data, cost);
    }

    /// Asks for a line of network memory.
    fn fetch_network(&mut self, line: u64, cycle: u64) -> Stop {
        self.transactions.ask(cycle, Slot::Blocking, Request::NetworkFill { line });
        Stop::Wait(Stall::Data)
    }

    /// `remap`: binds the message `id` to the address `va`, part by part. What waits is tried again and goes on where
    /// it was.
    pub fn remap(&mut self, id: u64, va: u64, cycles: &mut u64) -> Result<Remapped, Stop> {
        self.remap_named(id, None, va, cycles)
    }

    /// The same of a message that was asked for by its name, if it was.
    fn remap_named(
        &mut self,
        id: u64,
        name: Option<Name>,
        va: u64,
        cycles: &mut u64,
    ) -> Result<Remapped, Stop> {
        self.disturb();
        let begun = self.network.remapping.filter(|r| (r.id, r.va) == (id, va));
        let mut to = self.destination(va + begun.map_or(0, |r| r.done), cycles)?;
        let mut r = match (begun, self.network().place(id)) {
            (Some(begun), _) => begun,
            (None, Place::Here(message) | Place::Memory(message)) => {
                Remapping { id, name, va, message, done: 0 }
            }
            (None, Place::Unknown) => {
                self.network().statistics.unknown += 1;
                return Ok(Remapped::Unknown);
            }
        };
        loop {
            self.network.remapping = Some(r);
            let part = r.part(self.l1d.line_bytes());
            if self.is_timed() {
                self.bind(&r, part, to, cycles)?;
            }
            self.copy_message(part, to);
            r.done += u64::from(part.bytes);
            if r.done == u64::from(r.message.bytes) {
                break;
            }
            self.network.remapping = Some(r);
            to = self.destination(va + r.done, cycles)?;
        }
        self.network.remapping = None;
        self.network().consume(id, r.message.buffer, va);
        self.network().statistics.bound += 1;
        self.network().statistics.unaligned += u64::from(!r.is_aligned());
        self.network.changes += 1;
        Ok(Remapped::Bound)
    }

    /// Physical address that a message is bound to.
    fn destination(&mut self, va: u64, cycles: &mut u64) -> Result<u64, Stop> {
        let (sector, _) = self.translate(va, Access::Write, cycles)?;
        if sector >= DEVICE_BASE {
            return Err(Stop::Fault(Fault::NotNetwork { address: va }));
        }
        Ok(sector)
    }

    /// A message's data, or a part of them, are at their destination `to` from now on.
    fn copy_message(&mut self, part: Stored, to: u64) {
        if self.reserved.holds(self.line(to)) {
            self.reserved.drop_line();
        }
        for at in 0..u64::from(part.bytes) {
            let byte = self.memory.read(part.buffer + at, 1);
            self.memory.write(to + at, 1, byte);
        }
    }

    /// Nothing stands in the way of changes to `line` by the instruction that is executed.
    fn awaits_line(&self, line: u64) -> Result<(), Stop> {
        if self.transactions.is_under_way(Slot::Blocking) {
            return Err(Stop::Wait(Stall::Data));
        }
        if self.write_buffer.has_line(line) || self.write_buffer.arriving() == Some(line) {
            return Err(Stop::Wait(Stall::WriteBuffer));
        }
        Ok(())
    }

    /// A part of a message becomes what is at `to`. A line that has migrated is fetched first, and goes to the data
    /// cache under either policy (3.3.2); so does one that is no sector of the destination.
    fn bind(&mut self, r: &Remapping, part: Stored, to: u64, cycles: &mut u64) -> Result<(), Stop> {
        self.awaits_line(self.line(to))?;
        self.claim(self.line(to), cycles)?;
        let line = r.line();
        let is_here = self.network().is_waiting(r.id, line);
        let may_stay = r.is_aligned() && self.network().may_stay(r.id);
        if !is_here && !self.network().has_line(line) {
            if !may_stay {
                // What its destination lacks comes first: it could take the line's place, which takes its place again.
                if u64::from(part.bytes) < self.l1d.line_bytes() {
                    self.bring(self.line(to), Stall::Data, cycles)?;
                }
                return Err(self.fetch_network(line, *cycles));
            }
            self.make_way(part.bytes, to, *cycles);
            self.network().stay(r.id, part, to);
            self.transactions.issue(*cycles);
        } else if is_here && r.is_aligned() && self.network().parameters().binding == Binding::NetworkCache {
            self.bind_in_place(r.id, part, to, *cycles);
        } else {
            self.bind_in_data_cache(part, to, cycles)?;
            if r.ends_line(part) {
                self.network().drop_line(line);
            }
        }
        let costs = self.network().costs();
        let cost = if r.done == 0 { costs.remap } else { costs.line };
        self.charge(cost, cycles);
        Ok(())
    }

    /// Nobody else has a copy of `line`: of several harts, this one fetches it with the right to write unless it has it.
    fn claim(&mut self, line: u64, cycles: &mut u64) -> Result<(), Stop> {
        let is_owned = self.l1d.state(line).max(self.l2.state(line)) >= State::Exclusive
            || self.has_bound(line, self.l1d.line_bytes());
        if self.peers.exist && !is_owned {
            self.obtain(line, true, Stall::Data, cycles)?;
        }
        Ok(())
    }

    /// The line stays in the network section: what the data cache has of its sector leaves.
    fn bind_in_place(&mut self, id: u64, message: Stored, sector: u64, cycle: u64) {
        self.make_way(message.bytes, sector, cycle);
        if let Some(replaced) = self.network().bind(id, message.buffer, sector) {
            self.evict_bound(replaced, cycle);
        }
        self.transactions.issue(cycle);
    }

    /// Nothing else is bound to `sector`, and its line is not in the data cache: `bytes` are about to be bound there.
    fn make_way(&mut self, bytes: u32, sector: u64, cycle: u64) {
        if let Some(old) = self.network().unbind(sector).filter(|old| old.bytes > bytes) {
            // Its rest is in the network cache alone.
            self.evict_bound(old, cycle);
        }
        self.evict_data(self.line(sector));
    }

    /// A part of a message moves to `to` in a line of the data cache, which is fetched if the part is not all of it, or if
    /// the L2, which includes the data cache, lacks it.
    fn bind_in_data_cache(&mut self, part: Stored, to: u64, cycles: &mut u64) -> Result<(), Stop> {
        let line = self.line(to);
        let is_whole = u64::from(part.bytes) == self.l1d.line_bytes();
        // A line that has been fetched for this is used as one that came at once would have been.
        let is_held = self.l1d.state(line) >= State::Exclusive;
        if is_whole {
            // All of what may be bound there is overwritten.
            self.network().unbind(to);
        }
        if is_whole && !is_held && self.may_place(line) {
            self.place_modified(line);
            self.transactions.issue(*cycles);
            return Ok(());
        }
        let way = self.obtain(line, true, Stall::Data, cycles)?;
        self.l1d.modify(way);
        if is_whole {
            self.l1d.set_stale(way, false);
        }
        self.l1d.touch(way);
        Ok(())
    }

    // --- early binding ------------------------------------------------------------------------------

    /// `prebind`: binds the message `name` to the address `va`, if it is there and has up to `bytes` bytes; if it is not
    /// there, reserves the place for it if that can be. Gives the message if it is there. It is executed again and again by a
    /// program that waits, and changes nothing as long as nothing has come.
    pub fn prebind(
        &mut self,
        name: Name,
        va: u64,
        bytes: u32,
        cycles: &mut u64,
    ) -> Result<Option<Found>, Stop> {
        if let Some(&Reservation { landed, .. }) = self.network().reservation(name) {
            self.charge_remap(cycles);
            if landed.is_some() {
                self.disturb();
                self.network().collect(name);
                self.network().statistics.named += 1;
                self.network.changes += 1;
            }
            return Ok(landed);
        }
        let begun = self.network.remapping.filter(|r| (r.name, r.va) == (Some(name), va));
        let found = match begun {
            Some(r) => Some(Found { id: r.id, bytes: r.message.bytes }),
            None => self.network().find(name),
        };
        match found {
            Some(message) if message.bytes > bytes => self.charge_remap(cycles),
            Some(message) => {
                self.remap_named(message.id, Some(name), va, cycles)?;
                self.network().statistics.named += 1;
            }
            None => self.reserve(name, va, bytes, cycles)?,
        }
        Ok(found)
    }

    fn charge_remap(&mut self, cycles: &mut u64) {
        let cost = self.network().costs().remap;
        if self.is_timed() {
            self.charge(cost, cycles);
        }
    }

    /// The message `name`, of up to `bytes` bytes, is to be bound to the address `va` as it comes, if there is room for that.
    fn reserve(&mut self, name: Name, va: u64, bytes: u32, cycles: &mut u64) -> Result<(), Stop> {
        // Where accesses take no time they leave the caches alone.
        let early = self.network().parameters().early;
        let may_wait = early != Early::Off && self.is_timed() && va.is_multiple_of(LINE_BYTES) && bytes > 0;
        if !may_wait || self.network().has_begun(name) {
            self.charge_remap(cycles);
            return Ok(());
        }
        let sector = self.destination(va, cycles)?;
        if !self.network().may_reserve(sector) {
            self.charge_remap(cycles);
            return Ok(());
        }
        self.disturb();
        let line = self.line(sector);
        self.awaits_line(line)?;
        if early == Early::DataCache {
            let way = self.obtain(line, true, Stall::Data, cycles)?;
            self.l1d.touch(way);
        } else {
            self.claim(line, cycles)?;
        }
        let evicted = self.network().reserve(name, sector, bytes.min(LINE_BYTES as u32));
        self.evict_all(evicted, *cycles);
        self.charge_remap(cycles);
        Ok(())
    }

    /// `withdraw`: what is reserved for a message of `key` at `va` is not wanted any more. False: the message is there.
    pub fn withdraw(&mut self, key: u64, va: u64, cycles: &mut u64) -> Result<bool, Stop> {
        self.disturb();
        let sector = self.destination(va, cycles)?;
        self.charge_remap(cycles);
        self.network.changes += 1;
        Ok(self.network().withdraw(key, sector))
    }

    /// The message `id` of `message.bytes` bytes comes, for which a receive has reserved a place.
    fn land(&mut self, id: u64, reservation: Reservation, message: Stored, cycle: u64) {
        let Reservation { sector, .. } = reservation;
        self.network().statistics.early += 1;
        if self.network().parameters().early == Early::NetworkCache {
            self.make_way(message.bytes, sector, cycle);
            if let Some(replaced) = self.network().land(reservation, message.bytes) {
                self.evict_bound(replaced, cycle);
            }
        } else if self.l1d.find(self.line(sector)).is_some() {
            self.place_modified(self.line(sector));
        } else {
            // Its line has left since it was reserved, or something has been bound in its place.
            if let Some(old) = self.network().unbind(sector).filter(|old| old.bytes > message.bytes) {
                self.evict_bound(old, cycle);
            }
            self.evict_bound(Bound { sector, bytes: message.bytes }, cycle);
        }
        self.copy_message(message, sector);
        let found = Found { id, bytes: message.bytes };
        self.network().landed(reservation, found, message.buffer);
        self.transactions.issue(cycle);
        self.network.changes += 1;
    }

    /// The message `id` came where its receive had reserved a place, as the last that did.
    pub fn has_landed(&self, id: u64) -> bool {
        self.network.landed == Some(id)
    }

    // --- ordinary accesses --------------------------------------------------------------------------

    /// The program asks for `line` of the data cache: what is bound there and still in network memory comes first, a
    /// sector at a time. False: there is nothing.
    #[inline]
    pub(super) fn bring(&mut self, line: u64, stall: Stall, cycles: &mut u64) -> Result<bool, Stop> {
        if self.has_network_cache() { self.bring_bound(line, stall, cycles) } else { Ok(false) }
    }

    #[inline(never)]
    fn bring_bound(&mut self, line: u64, stall: Stall, cycles: &mut u64) -> Result<bool, Stop> {
        let bytes = self.l1d.line_bytes();
        let mut has_come = false;
        while let Some((sector, message)) = self.network.cache.as_ref().and_then(|n| n.away_in(line, bytes)) {
            if self.transactions.is_under_way(Slot::Blocking) {
                return Err(Stop::Wait(stall));
            }
            if !self.network().has_line(message.buffer) {
                return Err(self.fetch_network(message.buffer, *cycles));
            }
            self.network().leave(sector);
            self.network().drop_line(message.buffer);
            self.network().statistics.asked += 1;
            self.evict_bound(Bound { sector, bytes: message.bytes }, *cycles);
            has_come = true;
        }
        Ok(has_come)
    }

    /// A load of `bytes` at `pa` finds them in a bound message.
    #[inline]
    pub(super) fn hits_bound(&mut self, pa: u64, bytes: u32, cycles: &mut u64) -> bool {
        let Some(network) = &mut self.network.cache else { return false };
        if !network.hit(pa, bytes) {
            return false;
        }
        let cost = network.costs().process;
        self.statistics.bound_hits += 1;
        self.charge(cost, cycles);
        true
    }

    /// A store of `bytes` at `pa` is made in a bound message, if they are all there and no older store to its line
    /// waits.
    #[inline]
    pub(super) fn stores_bound(&mut self, pa: u64, bytes: u32, value: u64, cycles: &mut u64) -> bool {
        if !self.has_network_cache() {
            return false;
        }
        let line = self.line(pa);
        if self.write_buffer.has_line(line) || !self.hits_bound(pa, bytes, cycles) {
            return false;
        }
        self.memory.write(pa, bytes, value);
        true
    }

    /// Bound messages in `line`, which comes into the data cache, are merged into it; true if there are some.
    #[inline]
    pub(super) fn merge_bound(&mut self, line: u64) -> bool {
        let bytes = self.l1d.line_bytes();
        let merged = self.drop_bound(line, bytes);
        if merged > 0 {
            self.network().statistics.merged += merged;
            self.l2.own(line);
        }
        merged > 0
    }

    // --- what leaves --------------------------------------------------------------------------------

    /// The line may come into the data cache without being fetched.
    fn may_place(&self, line: u64) -> bool {
        let is_away =
            self.network.cache.as_ref().is_some_and(|n| n.away_in(line, self.l1d.line_bytes()).is_some());
        !is_away && (!self.l2.is_present() || self.l2.find(line).is_some())
    }

    fn place_modified(&mut self, line: u64) {
        self.l2.own(line);
        let way = self.place_data_line(line, State::Modified);
        self.l1d.set_stale(way, false);
    }

    /// A bound message leaves the network cache for the data cache (3.3.2), or for memory where its line would have to
    /// be fetched.
    fn evict_bound(&mut self, bound: Bound, cycle: u64) {
        let line = self.line(bound.sector);
        let is_whole = u64::from(bound.bytes) == self.l1d.line_bytes();
        if self.may_place(line) && (self.l2.is_present() || is_whole) {
            self.network().statistics.moved += 1;
            self.place_modified(line);
            self.transactions.issue(cycle);
        } else {
            self.network().statistics.written += 1;
            self.transactions
                .post_at(Request::WriteBack { line: bound.sector, bytes: bound.bytes, flush: false }, cycle);
        }
        self.network.changes += 1;
    }

    fn evict_all(&mut self, evicted: Vec<Evicted>, cycle: u64) {
        for one in evicted {
            match one {
                Evicted::Unbound { buffer } => {
                    let bytes = LINE_BYTES as u32;
                    self.transactions
                        .post_at(Request::WriteBack { line: buffer, bytes, flush: false }, cycle);
                }
                Evicted::Bound(bound) => self.evict_bound(bound, cycle),
            }
        }
        self.network.changes += 1;
    }

    /// A line of network memory is here, for the instruction that waits.
    pub(super) fn fill_network(&mut self, line: u64, cycle: u64) {
        let evicted = self.network().fill(line);
        self.evict_all(evicted, cycle);
    }

    /// A message, or a part of one, has come into its buffer: `part`. The network cache takes it, if there is one.
    pub fn deposit(&mut self, incoming: Incoming, part: Stored, cycle: u64) {
        let Some(network) = &mut self.network.cache else { return };
        if incoming.offset == 0
            && let Some(reservation) = network.arrive(incoming, part.bytes == incoming.length)
        {
            self.network.landed = Some(incoming.id);
            return self.land(incoming.id, reservation, part, cycle);
        }
        let evicted = network.deposit(incoming, part);
        self.evict_all(evicted, cycle);
    }

    /// The name of the message `id` can be kept until it is bound.
    pub fn keeps(&self, id: u64) -> bool {
        self.network.cache.as_ref().is_some_and(|network| network.keeps(id))
    }

    /// The NI uses the buffer for something else from now on.
    pub fn release_buffer(&mut self, buffer: Stored) {
        if let Some(network) = &mut self.network.cache {
            network.release(buffer);
            self.network.changes += 1;
        }
    }

    // --- other masters ------------------------------------------------------------------------------

    /// Another master asks for the lines from `line` to `end`: of several harts, this one does not own them any more for
    /// what is to land there.
    pub(super) fn lose_reserved(&mut self, line: u64, end: u64) {
        if self.peers.exist
            && let Some(network) = &mut self.network.cache
        {
            network.lose_reserved(line, end);
        }
    }

    /// Something is bound in the `bytes` from `address` on.
    #[inline]
    pub(super) fn has_bound(&self, address: u64, bytes: u64) -> bool {
        self.network.cache.as_ref().is_some_and(|network| network.bound_in(address, bytes).next().is_some())
    }

    /// What is bound in the `bytes` from `address` on leaves; how many messages that were.
    #[inline]
    pub(super) fn drop_bound(&mut self, address: u64, bytes: u64) -> u64 {
        if self.has_network_cache() { self.unbind(address, bytes) } else { 0 }
    }

    #[inline(never)]
    fn unbind(&mut self, address: u64, bytes: u64) -> u64 {
        let network = self.network();
        let sectors: Vec<u64> = network.bound_in(address, bytes).collect();
        for &sector in &sectors {
            network.unbind(sector);
        }
        self.network.changes += sectors.len() as u64;
        sectors.len() as u64
    }

    /// Another master's transaction takes what is bound in the `bytes` from `address` on; true if there is something.
    #[inline]
    pub(super) fn take_bound(&mut self, address: u64, bytes: u64) -> bool {
        let taken = self.drop_bound(address, bytes);
        if taken > 0 {
            self.network().statistics.taken += taken;
        }
        taken > 0
    }
}
