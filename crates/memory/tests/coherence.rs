//! Several ports on one memory with random traffic. After every transaction a line has one owner at most (MESI:
//! modified or exclusive in one cache, and then in no other); a hart sees its own stores at once, and
//! those of each other hart in their order.

use std::collections::VecDeque;

use crate::random::parameters;
use crate::rig::{LOW, ROOT, Rig};
use chasqui_engine::Time;
use chasqui_memory::{
    BlockOperation, Bus, FlatMemory, Port, Request, Responder, Slot, Snoop, Snooped, State, Stop, order,
};
use chasqui_random::Random;

/// Lines of 64 bytes that are accessed; word `i` of a line is port `i`'s to write.
const LINES: u64 = 48;

struct Harts {
    memory: FlatMemory,
    ports: Vec<Port>,
    bus: Bus,
    now: Time,
    waiting: VecDeque<(usize, Slot)>,
    /// Transactions that were granted, with their ends.
    granted: Vec<(Time, usize, Slot)>,
    /// What each port has stored last, by line.
    stored: Vec<[u64; LINES as usize]>,
    /// What each port has seen last of each other's words.
    seen: Vec<Vec<[u64; LINES as usize]>>,
    upgrades: u64,
    interventions: u64,
    /// Cache-block operations that asked other caches: those that found nothing modified, the others.
    blocks: [u64; 2],
}

impl Harts {
    fn new(count: usize, random: &mut Random) -> Harts {
        // The rig makes the page tables.
        let mut memory = Rig::usual().memory;
        let parameters = parameters(random);
        let mut ports: Vec<Port> = (0..count).map(|_| Port::new(parameters.clone(), &mut memory)).collect();
        ports.iter_mut().for_each(|port| {
            port.set_root(ROOT);
            port.join_peers();
        });
        let mut bus = crate::rig::bus();
        bus.0.pipelined = random.below(2) == 0;
        Harts {
            memory,
            bus: Bus::new(bus.0, bus.1),
            now: Time::ZERO,
            waiting: VecDeque::new(),
            granted: vec![],
            stored: vec![[0; LINES as usize]; count],
            seen: vec![vec![[0; LINES as usize]; count]; count],
            upgrades: 0,
            interventions: 0,
            blocks: [0; 2],
            ports,
        }
    }

    /// A cycle is a nanosecond.
    fn cycle(&self) -> u64 {
        self.now.0 / 1000
    }

    /// The L2 of port `index` is to give its write buffer a line.
    fn is_given(&self, index: usize) -> bool {
        self.ports[index].given_at() != u64::MAX
    }

    fn collect(&mut self, index: usize) {
        while let Some((_, slot, _)) = self.ports[index].take_request() {
            self.waiting.push_back((index, slot));
        }
        let of_l2 = |&(_, of, slot): &(Time, usize, Slot)| of == index && slot == Slot::WriteBuffer;
        if self.is_given(index) && !self.granted.iter().any(of_l2) {
            self.granted.push((self.now, index, Slot::WriteBuffer));
        }
    }

    /// Grants the bus to the first in line, or ends the transaction that is over first.
    fn advance(&mut self, random: &mut Random) {
        let over = (0..self.granted.len()).min_by_key(|&i| self.granted[i].0);
        if let Some(over) = over.filter(|_| self.waiting.is_empty() || random.below(2) == 0) {
            let (end, index, slot) = self.granted.remove(over);
            self.now = self.now.max(end);
            let cycle = self.cycle();
            if slot == Slot::WriteBuffer && self.is_given(index) {
                self.ports[index].take_given();
            } else {
                self.ports[index].completed(slot, 0, cycle);
            }
            self.collect(index);
        } else if let Some((index, slot)) = self.waiting.pop_front() {
            self.grant(index, slot);
        } else {
            self.now += Time(1000);
        }
        self.check();
    }

    fn grant(&mut self, index: usize, slot: Slot) {
        self.now = self.bus.grant_at(self.now);
        let asked = self.ports[index].current(slot).expect("a request is for something");
        let mut found = Snooped::default();
        if let Some((snoop, address, bytes)) = self.ports[index].asks(asked) {
            for other in (0..self.ports.len()).filter(|&other| other != index) {
                let held = self.ports[other].holds(address, bytes);
                let here = self.ports[other].snoop(snoop, address, bytes);
                assert_eq!(held, here.present, "a snoop finds what is there");
                found = found.or(here);
            }
        }
        self.check_block(index, asked, found);
        let request = asked.answered(found);
        let is_upgrade = matches!(request, Request::Own { upgrade: true, .. });
        assert!(!(is_upgrade && found.dirty), "a shared line is up to date");
        self.upgrades += u64::from(is_upgrade);
        self.interventions += u64::from(found.dirty);
        let responder = match request {
            _ if is_upgrade => Responder::None,
            Request::Block { .. } | Request::WriteBack { bytes: 0, .. } => Responder::None,
            Request::WriteBack { .. } => Responder::Dram,
            _ if found.dirty => Responder::Cache,
            _ => Responder::Dram,
        };
        let (bytes, write) = self.ports[index].transfer(request);
        let tenure = self.bus.place(self.now, bytes, write, responder);
        let cycle = self.cycle();
        self.ports[index].granted(slot, found, cycle);
        self.granted.push((tenure.end, index, slot));
        self.collect(index);
    }

    /// After a cache-block operation no other cache has what it was to give up, nor is any of it on its way.
    fn check_block(&mut self, index: usize, request: Request, found: Snooped) {
        let Request::Block { line, bytes, snoop } = request else { return };
        self.blocks[usize::from(found.dirty)] += 1;
        for (_, port) in self.ports.iter().enumerate().filter(|&(other, _)| other != index) {
            let line_here = port.coherent_lines().find(|&(l, _)| l == line);
            assert!(line_here.is_none_or(|(_, state)| snoop == Snoop::Clean && state != State::Modified));
            let leaves = |slot| matches!(port.current(slot), Some(Request::WriteBack { line: l, bytes, .. }) if l == line && bytes > 0);
            assert!(!leaves(Slot::Posted), "{bytes} bytes at {line:#x} are still to be written");
        }
    }

    fn check(&self) {
        let mut lines: Vec<(u64, State)> = self.ports.iter().flat_map(Port::coherent_lines).collect();
        lines.sort_unstable();
        for pair in lines.windows(2) {
            let alone = pair[0].0 != pair[1].0 || pair[1].1 == State::Shared;
            assert!(
                alone,
                "line {:#x} is {:?} in one cache and {:?} in another",
                pair[0].0, pair[0].1, pair[1].1
            );
        }
    }

    fn perform<T>(
        &mut self,
        index: usize,
        random: &mut Random,
        mut access: impl FnMut(&mut Port, &mut u64) -> Result<T, Stop>,
    ) -> T {
        for _ in 0..100_000 {
            let mut cycle = self.cycle();
            let done = access(&mut self.ports[index], &mut cycle);
            self.now = self.now.max(Time(cycle * 1000));
            self.collect(index);
            match done {
                Ok(value) => return value,
                Err(Stop::Wait(_)) => self.advance(random),
                Err(stop) => panic!("{stop:?}"),
            }
        }
        panic!("an access that makes no progress");
    }

    /// Port `index` looks at the word of port `writer` in `line`: never an older one than before.
    fn look(&mut self, index: usize, writer: usize, line: u64, random: &mut Random) {
        let address = LOW + line * 64 + writer as u64 * 8;
        let value = self.perform(index, random, |port, at| port.load(address, 8, at));
        let last = std::mem::replace(&mut self.seen[index][writer][line as usize], value);
        assert!(value >= last, "port {index} saw {last} of port {writer}, then {value}");
        let stored = self.stored[writer][line as usize];
        assert!(if index == writer { value == stored } else { value <= stored }, "{value} and {stored}");
    }

    fn act(&mut self, random: &mut Random) {
        let index = random.below(self.ports.len() as u64) as usize;
        // Mostly few lines, which the ports take from each other.
        let line = if random.below(4) == 0 { random.below(LINES) } else { random.below(4) };
        let own = LOW + line * 64 + index as u64 * 8;
        match random.below(20) {
            0..8 => {
                let writer = random.below(self.ports.len() as u64) as usize;
                self.look(index, writer, line, random);
            }
            8..15 => {
                self.stored[index][line as usize] += 1;
                let value = self.stored[index][line as usize];
                self.perform(index, random, |port, at| port.store(own, 8, value, at));
            }
            15 => {
                let old = self.perform(index, random, |port, at| port.atomic(own, 8, at, |old| old + 1));
                assert_eq!(old, self.stored[index][line as usize]);
                self.stored[index][line as usize] += 1;
            }
            16 => {
                let operation = random.pick(&[BlockOperation::Clean, BlockOperation::Flush]);
                self.perform(index, random, |port, at| port.block(operation, own, at));
            }
            17 => self.perform(index, random, |port, at| port.fence(order::W | order::O, at)),
            18 => self.perform(index, random, |port, at| port.fetch_line(own & !127, at)),
            _ => self.advance(random),
        }
        self.ports.iter().for_each(|port| port.check_invariants().expect("a port's invariants"));
    }
}

#[test]
fn a_line_has_one_owner_and_stores_are_seen_in_order() {
    let mut seeds = Random::for_test(0x3e51);
    let (mut upgrades, mut interventions, mut blocks) = (0, 0, [0; 2]);
    for round in 0..120 {
        let mut random = Random::new(seeds.bits());
        let count = 2 + random.below(3) as usize;
        let mut harts = Harts::new(count, &mut random);
        for _ in 0..600 {
            harts.act(&mut random);
        }
        while !harts.ports.iter().all(Port::is_quiet) {
            harts.advance(&mut random);
        }
        for (writer, lines) in harts.stored.iter().enumerate() {
            for (line, &value) in (0..).zip(lines) {
                let address = LOW + line * 64 + writer as u64 * 8;
                assert_eq!(harts.memory.read(address, 8), Ok(value), "{address:#x} in round {round}");
            }
        }
        upgrades += harts.upgrades;
        interventions += harts.interventions;
        (0..2).for_each(|i| blocks[i] += harts.blocks[i]);
    }
    println!(
        "{upgrades} upgrades, {interventions} lines from other caches, {blocks:?} cache-block operations"
    );
    assert!(upgrades > 1000 && interventions > 1000 && blocks.iter().all(|&n| n > 300));
}
