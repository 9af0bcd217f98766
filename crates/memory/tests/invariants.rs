//! Random accesses, flushes, fences and snoops on random caches: after each the port's invariants hold, and
//! every load gets what a plain memory would have given. Several ports on one memory: see `coherence.rs`.

mod random;
mod rig;

use std::collections::HashMap;

use chasqui_engine::Time;
use chasqui_memory::{
    Binding, BlockOperation, NetworkCacheParameters, PAGE_BYTES, Remapped, SectionGeometry, Snoop, Stashed,
    Stored,
};
use chasqui_random::Random;
use random::parameters;
use rig::service::{Foreign, Happened};
use rig::{LOW, MEMORY, Rig};

/// Pages that are accessed.
const PAGES: u64 = 4;
/// The lines' first eight bytes of every 64 are another master's to write, the rest the hart's.
const FOREIGN: u64 = 8;
/// Network memory.
const BUFFERS: u64 = MEMORY - PAGE_BYTES;
/// Buffers that messages wait in.
const MESSAGES: u64 = 48;

struct Model {
    rig: Rig,
    bytes: HashMap<u64, u8>,
    seen: usize,
    /// Messages that wait, by buffer: their names.
    messages: HashMap<u64, u64>,
    /// Messages so far.
    deposited: u64,
}

fn network_cache(random: &mut Random) -> NetworkCacheParameters {
    let mut section = || SectionGeometry { sets: 1 << random.below(5), ways: 1 + random.below(4) as u32 };
    let (network, message, process, ltb) = (section(), section(), section(), section());
    let binding = random.pick(&[Binding::DataCache, Binding::NetworkCache]);
    let (network_cycles, process_cycles, remap_cycles) = (1, 2, 3);
    NetworkCacheParameters {
        network,
        message,
        process,
        ltb,
        binding,
        network_cycles,
        process_cycles,
        remap_cycles,
    }
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

    /// What the other master has written in the meantime.
    fn catch_up(&mut self) {
        for at in self.seen..self.rig.service.log.len() {
            if let (_, Happened::Snooped(Foreign { address, value: Some(value), .. }, _)) =
                self.rig.service.log[at]
            {
                self.put(address, 8, value);
            }
        }
        self.seen = self.rig.service.log.len();
    }

    /// A place for `bytes` of the hart's own, aligned if so wished.
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

    /// A message comes into a buffer, over what was there.
    fn deposit(&mut self, random: &mut Random) {
        let buffer = BUFFERS + random.below(MESSAGES) * 16;
        self.deposited += 1;
        self.messages.insert(buffer, self.deposited);
        self.rig.port.release_buffer(buffer);
        for at in [buffer, buffer + 8] {
            let value = random.bits();
            self.rig.memory.write(at, 8, value).unwrap();
            self.put(at, 8, value);
        }
        let message = Stored { buffer, bytes: 1 + random.below(16) as u32 };
        let cycle = self.rig.cycle;
        self.rig.port.deposit(self.deposited, message, cycle);
        self.rig.until(cycle);
    }

    /// Some message is bound in the hart's own part of a line; one that the LTB has lost is copied.
    fn remap(&mut self, random: &mut Random) {
        let buffer = BUFFERS + random.below(MESSAGES) * 16;
        let Some(id) = self.messages.remove(&buffer) else { return };
        let sector = Self::place(random, 16, true) & !15;
        let place = self.rig.port.message_bytes(id);
        let status = self.rig.perform(|port, at| port.remap(id, sector, at));
        self.catch_up();
        // Its own fetch may make the LTB lose it.
        assert!(status == Remapped::Unknown || place.is_some(), "message {id}");
        match place.filter(|_| status == Remapped::Bound) {
            Some(bytes) => {
                let data: Vec<u64> = (0..u64::from(bytes)).map(|i| self.get(buffer + i, 1)).collect();
                data.into_iter().zip(sector..).for_each(|(value, at)| self.put(at, 1, value));
                assert_eq!(self.rig.port.take_bound_buffers(), [buffer]);
            }
            None => {
                let value = self.rig.perform(|port, at| port.network_load(buffer, at));
                assert_eq!(value, self.get(buffer, 8));
                self.rig.port.release_buffer(buffer);
            }
        }
    }

    fn network(&mut self, random: &mut Random) {
        if !self.rig.port.has_network_cache() {
            return;
        }
        let at = BUFFERS + random.below(MESSAGES * 2) * 8;
        match random.below(8) {
            0..3 => self.deposit(random),
            3..6 => self.remap(random),
            6 => {
                let value = self.rig.perform(|port, cycles| port.network_load(at, cycles));
                assert_eq!(value, self.get(at, 8));
            }
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
        match random.below(48) {
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
            37 if random.below(2) == 0 => self.rig.port.settle(),
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
    for round in 0..200 {
        let mut random = Random::new(seeds.bits());
        let mut parameters = parameters(&mut random);
        parameters.network_cache = random.once_in(2).then(|| network_cache(&mut random));
        let mut bus = rig::bus();
        bus.pipelined = random.below(2) == 0;
        let mut model = Model {
            rig: Rig::new(parameters, bus),
            bytes: HashMap::new(),
            seen: 0,
            messages: HashMap::new(),
            deposited: 0,
        };
        model.rig.port.set_network_memory(BUFFERS..MEMORY);
        model.rig.service.sharing = random.below(4);
        for action in 0..500 {
            model.act(&mut random);
            if let Err(what) = model.rig.port.check_invariants() {
                panic!("{what} after action {action} of round {round}, {:?}", model.rig.port.parameters());
            }
        }
        model.rig.settle();
        model.catch_up();
        assert!(model.rig.port.is_quiet(), "something is left in round {round}");
        for (&address, &byte) in &model.bytes {
            assert_eq!(model.rig.memory.read(address, 1), Ok(u64::from(byte)), "{address:#x} in {round}");
        }
    }
}
