//! Processors and caches without a simulator: what a test lets them do, and what must hold after every step.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use chasqui_coherence::{CacheState, DirectoryState};
use chasqui_directory::{
    Access, ControllerUnit, DirectoryParameters, Host, MeshUnit, Protocol, Step, Ticket, Times, TransferUnit,
    Want,
};
use chasqui_engine::Time;

pub const LINE: u64 = 64;

/// What a cache has of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    Shared,
    /// It may be written.
    Owned,
    /// It has been replaced, and waits to be written back.
    Leaving,
}

/// A processor: one access at a time, write-backs beside.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    pub cache: BTreeMap<u64, Copy>,
    /// The access under way: line, what it wants, what was the latest when it was asked for.
    pub waits: Option<(u64, Want, u64)>,
    /// Lines that wait to be written back.
    pub leaving: Vec<u64>,
    /// The first of these has been asked for.
    pub is_writing_back: bool,
    /// The byte that it stores next, and where.
    pub stores: Option<(u64, u8)>,
    /// It keeps the line until then, to use it.
    pub keeps: Option<(u64, Time)>,
}

/// All of them, with the values that memory has: how often each line was stored to.
pub struct World {
    pub processors: Vec<Processor>,
    pub values: BTreeMap<u64, u64>,
    pub events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    steps: Vec<Step>,
    pub now: Time,
    /// What is over, in its order.
    pub log: Vec<Access>,
    /// How long a processor keeps what it has fetched.
    pub keeps: Time,
    pub wrong: Option<String>,
    /// Of transfers: what memory has, from address 0 on; so many bytes each node has of it in turn; what is no page.
    pub memory: Vec<u8>,
    pub stripe: u64,
    pub absent: Vec<Range<u64>>,
    /// What one process alone has.
    pub private: Vec<(Range<u64>, u32)>,
    /// Flags, each with where the data have to be when it is set.
    pub flags: BTreeMap<u64, (u64, Vec<u8>)>,
    pub line: u64,
    /// The node of a transfer's fault, and what it says.
    pub faults: Vec<(usize, String)>,
}

impl World {
    pub fn new(nodes: usize) -> World {
        World {
            processors: vec![Processor::default(); nodes],
            values: BTreeMap::new(),
            events: BinaryHeap::new(),
            steps: vec![],
            now: Time::ZERO,
            log: vec![],
            keeps: Time(10_000),
            wrong: None,
            memory: vec![],
            stripe: LINE,
            absent: vec![],
            private: vec![],
            flags: BTreeMap::new(),
            line: LINE,
            faults: vec![],
        }
    }

    /// The cache of `node` has the line, or is about to give it up.
    pub fn has_line(&self, node: usize, line: u64) -> bool {
        self.processors[node].cache.contains_key(&line)
    }

    fn value(&self, line: u64) -> u64 {
        self.values.get(&line).copied().unwrap_or(0)
    }

    /// Does a processor's load or store.
    pub fn access(&mut self, protocol: &mut Protocol, node: usize, line: u64, want: Want) {
        let now = self.now;
        let is_hit = match self.processors[node].cache.get(&line) {
            Some(Copy::Owned) => true,
            Some(Copy::Shared) => want == Want::Load,
            _ => false,
        };
        if is_hit {
            return self.execute(node, line, want);
        }
        let value = self.value(line);
        self.processors[node].waits = Some((line, want, value));
        protocol.access(self, node, line, Ticket { want, slot: 0 }, now);
    }

    fn execute(&mut self, node: usize, line: u64, want: Want) {
        if want != Want::Store {
            return;
        }
        let others = self.processors.iter().enumerate().filter(|&(other, p)| {
            other != node && matches!(p.cache.get(&line), Some(Copy::Shared | Copy::Owned))
        });
        if let Some((other, _)) = others.into_iter().next() {
            self.wrong = Some(format!("node {node} stores to line {line:#x}, which {other} has"));
        }
        *self.values.entry(line).or_default() += 1;
        if let Some((address, value)) = self.processors[node].stores.take() {
            self.memory[address as usize] = value;
        }
    }

    /// Replaces a line of a cache.
    pub fn evict(&mut self, protocol: &mut Protocol, node: usize, line: u64) {
        let processor = &mut self.processors[node];
        match processor.cache.get(&line) {
            Some(Copy::Shared) => {
                processor.cache.remove(&line);
            }
            Some(Copy::Owned) => {
                processor.cache.insert(line, Copy::Leaving);
                processor.leaving.push(line);
                self.write_back(protocol, node);
            }
            _ => {}
        }
    }

    /// One after the other: others may ask meanwhile for those that wait.
    fn write_back(&mut self, protocol: &mut Protocol, node: usize) {
        let processor = &mut self.processors[node];
        let Some(&line) = processor.leaving.first().filter(|_| !processor.is_writing_back) else { return };
        processor.is_writing_back = true;
        let now = self.now;
        protocol.access(self, node, line, Ticket { want: Want::WriteBack, slot: 2 }, now);
    }

    /// The next event. False: there is none.
    pub fn step(&mut self, protocol: &mut Protocol) -> bool {
        let Some(Reverse((time, _, number))) = self.events.pop() else { return false };
        assert!(time >= self.now);
        self.now = time;
        let step = self.steps[number];
        protocol.step(self, step, time);
        // Write-backs follow each other.
        (0..self.processors.len()).for_each(|node| self.write_back(protocol, node));
        true
    }

    /// What must hold after every step.
    pub fn check(&self, protocol: &Protocol, lines: &[u64]) -> Result<(), String> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        for &line in lines {
            let with = |copy| self.processors.iter().filter(|p| p.cache.get(&line) == Some(&copy)).count();
            let (owned, shared) = (with(Copy::Owned), with(Copy::Shared));
            if owned > 1 || owned > 0 && shared > 0 {
                return Err(format!("line {line:#x}: {owned} may write, {shared} may read"));
            }
            for (node, processor) in self.processors.iter().enumerate() {
                let state = protocol.state(node, line);
                let is_right = match processor.cache.get(&line) {
                    Some(Copy::Owned) => state == CacheState::Modified,
                    Some(Copy::Shared) => matches!(state, CacheState::Shared | CacheState::Upgrading),
                    // It may have been taken from there.
                    Some(Copy::Leaving) | None => true,
                };
                if !is_right {
                    return Err(format!(
                        "line {line:#x}: {:?} at {node}, in {state:?}",
                        processor.cache.get(&line)
                    ));
                }
            }
        }
        Ok(())
    }

    /// What must hold when nothing is under way.
    pub fn check_rest(&self, protocol: &Protocol, lines: &[u64]) -> Result<(), String> {
        if !protocol.is_quiet() || self.processors.iter().any(|p| p.waits.is_some() || !p.leaving.is_empty())
        {
            return Err(format!("something waits for ever: {:?}", self.processors));
        }
        for &line in lines {
            let entry = protocol.entry(line);
            if matches!(entry.state, DirectoryState::Invalidating | DirectoryState::Forwarding) {
                return Err(format!("line {line:#x} rests with {entry:?}"));
            }
            if !protocol.turns(line).is_empty() {
                return Err(format!("line {line:#x}: {:?} wait for their turns", protocol.turns(line)));
            }
            for (node, processor) in self.processors.iter().enumerate() {
                let is_known = match processor.cache.get(&line) {
                    Some(Copy::Owned) => {
                        entry.state == DirectoryState::Dirty && usize::from(entry.owner.0) == node
                    }
                    Some(Copy::Shared) => entry.sharers >> node & 1 != 0,
                    Some(Copy::Leaving) => false,
                    None => true,
                };
                if !is_known {
                    return Err(format!("line {line:#x} rests at {node} with {entry:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Host for World {
    fn home(&self, line: u64) -> usize {
        (line / self.stripe) as usize % self.processors.len()
    }

    fn schedule(&mut self, at: Time, step: Step) {
        let number = self.steps.len();
        self.steps.push(step);
        self.events.push(Reverse((at, number as u64, number)));
    }

    fn has(&self, node: usize, line: u64, writable: bool) -> bool {
        match self.processors[node].cache.get(&line) {
            Some(Copy::Owned) => true,
            Some(Copy::Shared) => !writable,
            _ => false,
        }
    }

    fn held_until(&self, node: usize, line: u64, _: bool, now: Time) -> Option<Time> {
        let (kept, until) = self.processors[node].keeps?;
        (kept == line && now <= until).then_some(until + Time(1))
    }

    fn take(&mut self, node: usize, line: u64, leaves: bool, _: Time) {
        let cache = &mut self.processors[node].cache;
        match cache.get_mut(&line) {
            Some(Copy::Leaving) | None => {}
            Some(_) if leaves => {
                cache.remove(&line);
            }
            Some(copy) => *copy = Copy::Shared,
        }
    }

    fn physical(&self, owner: u32, address: u64, _: bool) -> Option<u64> {
        let is_others = |(range, whose): &(Range<u64>, u32)| range.contains(&address) && *whose != owner;
        let is_there = address < self.memory.len() as u64
            && !self.absent.iter().any(|range| range.contains(&address))
            && !self.private.iter().any(is_others);
        is_there.then_some(address)
    }

    /// Jobs of two processes.
    fn is_of_one_job(&self, a: u32, b: u32) -> bool {
        a / 2 == b / 2
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        let line = address / self.line * self.line;
        let owned = self.processors.iter().position(|p| p.cache.get(&line) == Some(&Copy::Owned));
        assert_eq!(owned, None, "line {line:#x} is read, which a cache may write");
        bytes.copy_from_slice(&self.memory[address as usize..][..bytes.len()]);
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let line = address / self.line * self.line;
        let has = |p: &Processor| matches!(p.cache.get(&line), Some(Copy::Owned | Copy::Shared));
        if let Some(node) = self.processors.iter().position(has) {
            self.wrong = Some(format!("line {line:#x} is written, which {node} has"));
        }
        self.memory[address as usize..][..bytes.len()].copy_from_slice(bytes);
        if let Some((at, data)) = self.flags.remove(&address)
            && self.memory[at as usize..][..data.len()] != data[..]
        {
            self.wrong = Some(format!("the flag at {address:#x} is set before the data are at {at:#x}"));
        }
    }

    fn fault(&mut self, (node, _): (usize, u32), what: String, _: Time) {
        self.faults.push((node, what));
    }

    fn done(&mut self, access: Access, now: Time) {
        let Access { node, line, ticket, once } = access;
        self.log.push(access);
        let processor = &mut self.processors[node];
        if ticket.want == Want::WriteBack {
            processor.leaving.remove(0);
            processor.is_writing_back = false;
            if processor.cache.get(&line) == Some(&Copy::Leaving) {
                processor.cache.remove(&line);
            }
            return;
        }
        let (awaited, want, since) = processor.waits.take().expect("it waits");
        assert_eq!((awaited, want), (line, ticket.want));
        if !once {
            let copy = if want == Want::Store { Copy::Owned } else { Copy::Shared };
            if processor.cache.get(&line) != Some(&Copy::Owned) {
                processor.cache.insert(line, copy);
            }
            processor.keeps = Some((line, now + self.keeps));
        }
        assert!(self.value(line) >= since);
        self.execute(node, line, want);
    }
}

/// The document's controllers; `buffer` messages of each network have room.
pub fn parameters(buffer: u64) -> DirectoryParameters {
    let controller = ControllerUnit { buffer, ..ControllerUnit::default() };
    DirectoryParameters { controller, mesh: MeshUnit::default(), transfer: TransferUnit::default() }
}

/// Messages wait for each other on the mesh, if there is `contention`.
pub fn protocol_with(nodes: usize, buffer: u64, contention: bool) -> Protocol {
    let mut parameters = parameters(buffer);
    parameters.mesh.contention = contention;
    Protocol::new(Times::new(&parameters, nodes, LINE), nodes, buffer as usize)
}

pub fn protocol(nodes: usize, buffer: u64) -> Protocol {
    protocol_with(nodes, buffer, false)
}
