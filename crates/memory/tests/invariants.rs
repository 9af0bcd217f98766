//! Random accesses, flushes, fences and snoops on random caches: after each the port's invariants hold, and
//! every load gets what a plain memory would have given. Several ports on one memory: see `coherence.rs`.

use std::collections::HashMap;

use crate::random::parameters;
use crate::rig::service::{Brought, Foreign, Happened};
use crate::rig::{LOW, MEMORY, Rig};
use chasqui_engine::Time;
use chasqui_memory::{
    Binding, BlockOperation, Early, Found, Incoming, Long, Name, NetworkCacheCosts, NetworkCacheParameters,
    PAGE_BYTES, Remapped, Replacement, SectionGeometry, Snoop, Stashed, Stored,
};
use chasqui_random::Random;

/// Pages that are accessed.
const PAGES: u64 = 4;
/// The lines' first eight bytes of every 64 are another master's to write, the rest the hart's.
const FOREIGN: u64 = 8;
/// Network memory.
const BUFFERS: u64 = MEMORY - PAGE_BYTES;
/// Buffers that messages wait in, of 64 bytes.
const MESSAGES: u64 = 48;
const BUFFER: u64 = 64;
/// What messages and receives ask for.
const KEYS: u64 = 3;

struct Model {
    rig: Rig,
    bytes: HashMap<u64, u8>,
    seen: usize,
    /// Messages that wait, by buffer.
    messages: HashMap<u64, Message>,
    /// Buffers of messages that are on their way.
    awaited: Vec<u64>,
    /// Messages so far, those on their way among them.
    sent: u32,
    /// Of each key.
    ordinals: [u32; KEYS as usize],
    came: u32,
    /// Receives that wait: name, sector, room.
    reserved: Vec<(Name, u64, u32)>,
    /// Those that have been met, and do not know it: sector, and what is there.
    met: Vec<(Name, u64, Found)>,
    landed: u32,
    /// Buffers that are free for the NI, and not yet in the model.
    freed: Vec<u64>,
    /// Buffers of bound messages of which some is still there.
    held: Vec<u64>,
    /// Lines of these, all in all.
    stayed: u64,
    /// The cycle at which the last message asks for the bus.
    last_asked: u64,
}

#[derive(Clone, Copy)]
struct Message {
    id: u64,
    name: Name,
    bytes: u64,
}

fn network_cache(random: &mut Random) -> (NetworkCacheParameters, NetworkCacheCosts) {
    let mut section = || SectionGeometry { sets: 1 << random.below(5), ways: 1 + random.below(4) as u32 };
    let sections = [(); 5].map(|()| section());
    let p = NetworkCacheParameters {
        binding: random.pick(Binding::ALL),
        long: random.pick(Long::ALL),
        early: random.pick(Early::ALL),
        early_entries: 1 + random.below(6),
        replacement: random.pick(Replacement::ALL),
        predictor_entries: 2 + random.below(8),
        ..Default::default()
    };
    (p.with_sections(sections), NetworkCacheCosts { network: 1, process: 2, remap: 3, line: 2 })
}

impl Model {
    fn put(&mut self, address: u64, bytes: u64, value: u64) {
        for i in 0..bytes {
            self.bytes.insert(address + i, (value >> (8 * i)) as u8);
        }
    }

    fn get(&self, address: u64, bytes: u64) -> u64 {
        (0..bytes).map(|i| u64::from(*self.bytes.get(&(address + i)).unwrap_or(&0)) << (8 * i)).sum()
    }

    /// What others have done in the meantime.
    fn catch_up(&mut self) {
        for at in self.seen..self.rig.service.log.len() {
            match self.rig.service.log[at].1 {
                Happened::Snooped(Foreign { address, value: Some(value), .. }, _) => {
                    self.put(address, 8, value);
                }
                Happened::Came(brought, landed) => self.arrived(brought, landed),
                _ => {}
            }
        }
        self.seen = self.rig.service.log.len();
    }

    /// The NI takes note that the buffer is free, once.
    fn free(&mut self, buffer: u64) {
        self.collect();
        let at = self.freed.iter().position(|&freed| freed == buffer);
        self.freed.remove(at.expect("the NI has been given it"));
    }

    /// What the NI is given: `held` buffers, or of one whose message has just been bound.
    fn collect(&mut self) {
        for buffer in self.rig.port.take_bound_buffers() {
            match self.held.iter().position(|&held| held == buffer) {
                Some(at) => _ = self.held.swap_remove(at),
                None => self.freed.push(buffer),
            }
        }
    }

    /// A message has come: into its buffer, or where the receive for it waits, if it fits there.
    fn arrived(&mut self, brought: Brought, landed: bool) {
        let Brought { incoming, part, words } = brought;
        self.awaited.retain(|&buffer| buffer != part.buffer);
        self.came += 1;
        assert_eq!(u64::from(self.came), incoming.id);
        let name = incoming.name();
        let expected = self.reserved.iter().position(|r| r.0 == name).map(|at| self.reserved.remove(at));
        let met = expected.filter(|&(_, _, room)| incoming.length <= room);
        assert_eq!(landed, met.is_some(), "{incoming:?}, {expected:?}");
        let at = met.map_or(part.buffer, |(_, sector, _)| sector);
        let bytes = u64::from(part.bytes);
        for (i, word) in (0..bytes).step_by(8).zip(words) {
            // A buffer gets the whole word, a receive's place what belongs to the message.
            let count = if landed { (bytes - i).min(8) } else { 8 };
            self.put(at + i, count, word);
            self.put(part.buffer + i, 8, word);
        }
        if landed {
            self.landed += 1;
            self.met.push((name, at, Found { id: incoming.id, bytes: part.bytes }));
            self.free(part.buffer);
        } else {
            self.messages.insert(part.buffer, Message { id: incoming.id, name, bytes });
        }
    }

    /// A place for `bytes` of the hart's own, aligned if asked for.
    fn place(random: &mut Random, bytes: u64, aligned: bool) -> u64 {
        loop {
            let address = LOW + random.below(PAGES * PAGE_BYTES - 8);
            let address = if aligned { address & !(bytes - 1) } else { address };
            if (address..address + bytes).all(|a| a % 64 >= FOREIGN) {
                return address;
            }
        }
    }

    fn load(&mut self, address: u64, bytes: u64) {
        // The fast path first, as a hart does it.
        // SAFETY: the view is of this port, and used at once.
        let fast = unsafe {
            let view = self.rig.port.view();
            match bytes {
                1 => view.load::<1>(address),
                2 => view.load::<2>(address),
                4 => view.load::<4>(address),
                _ => view.load::<8>(address),
            }
        };
        let value = match fast {
            Some(value) => value,
            None => self.rig.perform(|port, at| port.load(address, bytes as u32, at)),
        };
        self.catch_up();
        assert_eq!(
            value,
            self.get(address, bytes),
            "{bytes} bytes at {address:#x}, fast: {}",
            fast.is_some()
        );
    }

    fn store(&mut self, address: u64, bytes: u64, value: u64) {
        if self.is_reserved(address, bytes) {
            return;
        }
        // SAFETY: as in `load`.
        let done = unsafe {
            let view = self.rig.port.view();
            match bytes {
                1 => view.store::<1>(address, value),
                2 => view.store::<2>(address, value),
                4 => view.store::<4>(address, value),
                _ => view.store::<8>(address, value),
            }
        };
        if !done {
            self.rig.perform(|port, at| port.store(address, bytes as u32, value, at));
        }
        self.catch_up();
        self.put(address, bytes, value);
    }

    fn atomic(&mut self, random: &mut Random) {
        let (address, add) = (Self::place(random, 8, true), random.bits());
        if self.is_reserved(address, 8) {
            return;
        }
        if random.below(2) == 0 {
            let old = self.rig.perform(|port, at| port.atomic(address, 8, at, |old| old.wrapping_add(add)));
            assert_eq!(old, self.get(address, 8));
            self.put(address, 8, old.wrapping_add(add));
            return;
        }
        let old = self.rig.perform(|port, at| port.load_reserved(address, 8, at));
        assert_eq!(old, self.get(address, 8));
        if self.rig.perform(|port, at| port.store_conditional(address, 8, add, at)) {
            self.put(address, 8, add);
        }
    }

    /// A message comes into a buffer, soon or at once, over what was there.
    fn bring(&mut self, random: &mut Random) {
        let buffer = BUFFERS + random.below(MESSAGES) * BUFFER;
        self.collect();
        if self.awaited.contains(&buffer) || self.held.contains(&buffer) {
            return;
        }
        self.messages.remove(&buffer);
        self.rig.port.release_buffer(Stored { buffer, bytes: BUFFER as u32 });
        self.sent += 1;
        self.awaited.push(buffer);
        let longest = random.pick(&[16, 16, 64]);
        let length = 1 + random.below(longest) as u32;
        let (id, key) = (u64::from(self.sent), random.below(KEYS));
        let ordinal = &mut self.ordinals[key as usize];
        *ordinal += 1;
        let incoming = Incoming { id, key, ordinal: *ordinal, is_kept: false, offset: 0, length };
        let words = [(); 8].map(|()| random.bits());
        let part = Stored { buffer, bytes: length };
        // Messages keep their order: each asks for the bus no sooner than the one before.
        self.last_asked = self.last_asked.max(self.rig.cycle + random.below(60));
        self.rig.service.bring(Time(self.last_asked * 1000), Brought { incoming, part, words });
        if random.once_in(2) {
            self.rig.until(self.last_asked);
        }
    }

    /// The places of waiting receives may not be used until their message is there.
    fn is_reserved(&self, address: u64, bytes: u64) -> bool {
        self.reserved
            .iter()
            .any(|&(_, sector, room)| address < sector + u64::from(room) && sector < address + bytes)
    }

    /// A receive is posted, or one is cancelled.
    fn post(&mut self, random: &mut Random) {
        let key = random.below(KEYS);
        if let Some((name, sector, found)) = self.met.pop() {
            assert!(!self.rig.perform(|port, at| port.withdraw(name.key, sector, at)), "it is there");
            assert_eq!(self.rig.perform(|port, at| port.prebind(name, sector, 16, at)), Some(found));
            return self.catch_up();
        }
        if random.once_in(4) {
            let of_key = |&&(name, ..): &&(Name, u64, u32)| name.key == key;
            let Some(&(name, sector, _)) = self.reserved.iter().rfind(of_key) else { return };
            let withdrawn = self.rig.perform(|port, at| port.withdraw(key, sector, at));
            self.catch_up();
            let at = self.reserved.iter().position(|r| r.0 == name);
            assert_eq!(withdrawn, at.is_some());
            at.map(|at| self.reserved.remove(at));
            return;
        }
        let sector = Self::place(random, 16, true) & !15;
        let bytes = 1 + random.below(20) as u32;
        // Of a message that has not been sent.
        let name = Name { key, ordinal: self.ordinals[key as usize] + 1 + random.below(2) as u32 };
        if self.is_reserved(sector, 16) || self.reserved.iter().any(|r| r.0 == name) {
            return;
        }
        let reserved = |model: &Self| model.rig.port.network_statistics().map_or(0, |s| s.reserved);
        let before = reserved(self);
        assert_eq!(self.rig.perform(|port, at| port.prebind(name, sector, bytes, at)), None);
        if reserved(self) > before {
            self.reserved.push((name, sector, bytes.min(16)));
        }
        self.catch_up();
    }

    /// Some message is bound in the hart's own part of a line; one that the LTB has lost is copied.
    fn remap(&mut self, random: &mut Random) {
        let buffer = BUFFERS + random.below(MESSAGES) * BUFFER;
        let Some(message) = self.messages.remove(&buffer) else { return };
        let Message { id, name, bytes } = message;
        let granule = random.pick(&[1, 8, 16]);
        let to = LOW + random.below((PAGES * PAGE_BYTES - 128) / granule) * granule;
        // Not where the other master writes, nor where a message is waited for.
        let (first, end) = (to & !15, (to + bytes).next_multiple_of(16));
        let is_foreign = (first..end).any(|a| a % 64 < FOREIGN);
        if is_foreign && bytes <= 48 || self.is_reserved(first, end - first) {
            self.messages.insert(buffer, message);
            return;
        }
        let to = if is_foreign { BUFFERS - BUFFER } else { to };
        let place = self.rig.port.message_bytes(id);
        let status = if random.once_in(2) {
            self.rig.perform(|port, at| port.remap(id, to, at))
        } else if self.rig.perform(|port, at| port.prebind(name, to, bytes as u32, at)).is_some() {
            Remapped::Bound
        } else {
            // It may have been lost, and is not to come again.
            self.rig.perform(|port, at| port.withdraw(name.key, to, at));
            Remapped::Unknown
        };
        self.catch_up();
        // Its own fetch may make the LTB lose it.
        assert!(status == Remapped::Unknown || place.is_some(), "message {id}");
        if status == Remapped::Bound {
            assert_eq!(place.map(u64::from), Some(bytes));
            let data: Vec<u64> = (0..bytes).map(|i| self.get(buffer + i, 1)).collect();
            data.into_iter().zip(to..).for_each(|(value, at)| self.put(at, 1, value));
            self.collect();
            match self.freed.iter().position(|&freed| freed == buffer) {
                Some(at) => _ = self.freed.remove(at),
                None => {
                    let stayed = self.rig.port.network_statistics().map_or(0, |s| s.stayed);
                    assert!(stayed > self.stayed, "nothing of it is in network memory");
                    self.stayed = stayed;
                    self.held.push(buffer);
                }
            }
        } else {
            let value = self.rig.perform(|port, at| port.network_load(buffer, at));
            assert_eq!(value, self.get(buffer, 8));
            self.rig.port.release_buffer(Stored { buffer, bytes: bytes as u32 });
        }
    }

    fn network(&mut self, random: &mut Random) {
        if !self.rig.port.has_network_cache() {
            return;
        }
        let at = BUFFERS + random.below(MESSAGES * BUFFER / 8) * 8;
        match random.below(10) {
            0..3 => self.bring(random),
            3..6 => self.remap(random),
            6 | 7 => self.post(random),
            8 if self.awaited.contains(&(at & !(BUFFER - 1))) => {}
            8 => {
                let value = self.rig.perform(|port, cycles| port.network_load(at, cycles));
                assert_eq!(value, self.get(at, 8));
            }
            _ if self.awaited.contains(&(at & !(BUFFER - 1))) => {}
            _ => {
                let value = random.bits();
                self.rig.perform(|port, cycles| port.network_store(at, value, cycles));
                self.put(at, 8, value);
            }
        }
    }

    fn foreign(&mut self, random: &mut Random) {
        let snoop = [Snoop::Read, Snoop::Invalidate][random.below(2) as usize];
        let address = LOW + random.below(PAGES * PAGE_BYTES / 64) * 64;
        let bytes = [8, 16, 32, 64][random.below(4) as usize];
        let value = (snoop == Snoop::Invalidate && random.below(2) == 0).then(|| random.bits());
        let time = Time((self.rig.cycle + random.below(300)) * 1000);
        self.rig.service.ask_foreign(time, Foreign { snoop, address, bytes, value });
    }

    /// The other master writes its part of a line, or says that it writes all of it, for the L2 to take.
    fn inject(&mut self, random: &mut Random) {
        let whole = self.rig.port.bus_line_bytes(true);
        let address = LOW + random.below(PAGES * PAGE_BYTES / 128) * 128;
        let (bytes, value) = (random.pick(&[8, whole]), random.bits());
        let cycle = self.rig.cycle;
        if self.rig.port.stash(address, bytes, cycle) == Stashed::Refused {
            self.rig.port.snoop(Snoop::Invalidate, address, bytes);
        }
        self.rig.memory.write(address, 8, value).unwrap();
        self.put(address, 8, value);
        self.rig.until(cycle);
    }

    fn act(&mut self, random: &mut Random) {
        let bytes = 1 << random.below(4);
        let anywhere = LOW + random.below(PAGES * PAGE_BYTES - 8);
        match random.below(52) {
            40.. => self.network(random),
            // Where aligned accesses hit again and again.
            0..8 => self.load(LOW + 0x7f0 + random.below(0x800) / bytes * bytes, bytes),
            8..14 => self.load(anywhere, bytes),
            14..20 => self.store(Self::place(random, bytes, true), bytes, random.bits() >> (64 - 8 * bytes)),
            20..26 => self.store(Self::place(random, bytes, false), bytes, random.bits() >> (64 - 8 * bytes)),
            26 | 27 => self.atomic(random),
            28 | 29 => {
                let operations = [BlockOperation::Clean, BlockOperation::Flush, BlockOperation::Invalidate];
                let operation = operations[random.below(3) as usize];
                self.rig.perform(|port, at| port.block(operation, anywhere, at));
            }
            30 => self.rig.fence(),
            31 | 32 => {
                let line = anywhere & !(self.rig.port.fetch_line_bytes() - 1);
                self.rig.perform(|port, at| port.fetch_line(line, at));
            }
            33 | 34 => self.foreign(random),
            35 => self.inject(random),
            36 => self.rig.port.forget_page(anywhere & !(PAGE_BYTES - 1)),
            37 if random.below(4) == 0 => self.rig.port.flush_translations(),
            37 if random.below(2) == 0 => self.rig.port.drain_write_buffer(),
            38 if random.below(2) == 0 => {
                let timed = self.rig.port.is_timed();
                self.rig.port.set_timed(!timed);
            }
            _ => self.rig.until(self.rig.cycle + random.below(200)),
        }
        self.catch_up();
    }
}

#[test]
fn invariants_hold_and_loads_see_what_was_stored() {
    let mut seeds = Random::for_test(0x1e57);
    let mut landed = 0;
    for round in 0..200 {
        let mut random = Random::new(seeds.bits());
        let mut parameters = parameters(&mut random);
        parameters.network_cache = random.once_in(2).then(|| network_cache(&mut random));
        let mut bus = crate::rig::bus();
        bus.0.pipelined = random.below(2) == 0;
        let mut model = Model {
            rig: Rig::new(parameters, bus),
            bytes: HashMap::new(),
            seen: 0,
            messages: HashMap::new(),
            awaited: vec![],
            sent: 0,
            ordinals: [0; KEYS as usize],
            came: 0,
            met: vec![],
            reserved: vec![],
            landed: 0,
            freed: vec![],
            held: vec![],
            stayed: 0,
            last_asked: 0,
        };
        model.rig.port.add_network_memory(BUFFERS..MEMORY);
        model.rig.service.sharing = random.below(4);
        for action in 0..500 {
            model.act(&mut random);
            if let Err(what) = model.rig.port.check_invariants() {
                panic!("{what} after action {action} of round {round}, {:?}", model.rig.port.parameters());
            }
        }
        model.rig.run_to_idle();
        model.catch_up();
        landed += model.landed;
        assert!(model.rig.port.is_quiet(), "something is left in round {round}");
        for (&address, &byte) in &model.bytes {
            assert_eq!(model.rig.memory.read(address, 1), Ok(u64::from(byte)), "{address:#x} in {round}");
        }
    }
    assert!(landed > 100, "{landed} messages landed early: hardly tested");
}
