//! PCI Express as a card's way to the host (PCI Express Base Specification 5.0; sections by their numbers): a link of packets
//! each way at the same time, between the card and the host's root complex.
//!
//! Whatever moves is a packet (2.2): a *write*, which is posted, a *read*, which its *completions* answer. It leaves when the
//! link is free and, if it is a write, the other side has announced room for its data (2.6, credit), in the order in which it
//! was ready; so an answer comes behind the writes before it (2.4.1). It takes its length on the link, its header and framing
//! with it, and is at the other side a latency later. Each has a packet of the link's own go the other way (3.6, 2.6: the
//! acknowledgement, or room), which takes its length there.
//!
//! *From processors*: the root complex posts stores; those that lie one behind the other and have to wait go in one packet. A
//! load goes behind them, one at a time; the memory system tries it again until its answer is here, and what the card wrote
//! before the answer is in memory.
//!
//! *The card's DMA*: a block to the host is writes of up to the largest payload, for which the card reads its memory ahead. A
//! block from the host is reads of up to the largest request, several at a time; the root complex reads their lines and answers
//! each request in the order of its addresses, by completions of up to so many bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::Time;
use chasqui_network::Link;

use super::path::{IoEvent, IoPath, IoStep};
use super::{HostBlock, HostLoad};
use crate::line_parts;

/// What a link is made from.
#[derive(Clone, Debug)]
pub struct PcieSpec {
    /// Bytes that move in a second each way, and the time from a packet's last byte at one side until the other side deals with
    /// it.
    pub link: Link,
    /// Bytes of a packet beside its data: of a write, of a read, and of a completion.
    pub overhead: PcieOverhead,
    /// Most data of a write [bytes], a power of two.
    pub payload: u32,
    /// Most data that a read asks for [bytes], a power of two.
    pub request: u32,
    /// Most data of a completion [bytes], a power of two, a line at least.
    pub completion: u32,
    /// Reads of the card's that may be under way.
    pub reads: usize,
    /// Data of writes that may be under way, to the card and to the host [bytes].
    pub credit: (u32, u32),
    /// Stores that the root complex keeps [bytes].
    pub posted: u32,
    /// Longest packet of stores [bytes].
    pub combined: u32,
    /// Payloads that the card reads ahead of its memory.
    pub ahead: usize,
    /// Length of the host's lines [bytes].
    pub line_bytes: u32,
}

/// Bytes of packets beside their data.
#[derive(Clone, Copy, Debug)]
pub struct PcieOverhead {
    /// Of a write, and of a read.
    pub request: u32,
    /// Of a completion.
    pub completion: u32,
    /// Of what the link sends the other way for each packet.
    pub link: u32,
}

counters! {
    /// Counters of a direction.
    struct PcieStatistics {
        /// Packets that left, but for the link's own.
        packets: "packets";
        /// Their bytes, headers and framing with them.
        bytes: "bytes";
        /// Time for which the link carried something.
        busy_ps: "ps";
    }
}

/// A packet, and to which part of the DMA's block it belongs.
#[derive(Clone, Debug)]
enum Packet {
    /// Stores, or what the DMA writes: where to, and what; and of which block.
    Write(u64, Vec<u8>, u64),
    /// A processor's load: from where, and how many bytes.
    Load(u64, u32),
    /// Its answer.
    Answer(u64, u32),
    /// A read of the DMA's: its lines.
    Read(usize, usize),
    /// Lines that answer it: the first, how many lines, and their data.
    Completion(usize, usize, Vec<u8>),
}

/// One direction.
struct Direction {
    /// Packets that are ready, in their order.
    waiting: VecDeque<Packet>,
    /// The link is free from then on.
    free: Time,
    /// Packets on their way, with their arrival.
    under_way: VecDeque<(Time, Packet)>,
    /// Room for data of writes at the other side, and what comes back when.
    credit: u32,
    returns: VecDeque<(Time, u32)>,
    statistics: PcieStatistics,
}

impl Direction {
    fn new(credit: u32) -> Direction {
        Direction {
            waiting: [].into(),
            free: Time::ZERO,
            under_way: [].into(),
            credit,
            returns: [].into(),
            statistics: PcieStatistics::default(),
        }
    }

    /// The link carries `bytes` from `now` on, or when it is free; until when.
    fn carry(&mut self, bytes: u32, link: &Link, now: Time) -> Time {
        let takes = link.serialization(bytes);
        self.statistics.busy_ps += takes.0;
        self.free = self.free.max(now) + takes;
        self.free
    }

    /// The next packet leaves at `now`, if one waits, the link is free and there is room for it. When it has left, and when it
    /// arrives.
    fn send(&mut self, spec: &PcieSpec, now: Time) -> Option<(Time, Time)> {
        while self.returns.front().is_some_and(|&(at, _)| at <= now) {
            self.credit += self.returns.pop_front().expect("it is there").1;
        }
        let packet = self.waiting.front()?;
        let room = packet.room();
        if self.free > now || room > self.credit {
            return None;
        }
        self.credit -= room;
        let bytes = packet.bytes(spec);
        self.statistics.packets += 1;
        self.statistics.bytes += u64::from(bytes);
        let left = self.carry(bytes, &spec.link, now);
        let arrival = left + spec.link.latency();
        let packet = self.waiting.pop_front().expect("it waits");
        self.under_way.push_back((arrival, packet));
        Some((left, arrival))
    }

    /// A packet that has come by `now`.
    fn arrived(&mut self, now: Time) -> Option<Packet> {
        let has_come = self.under_way.front().is_some_and(|&(at, _)| at <= now);
        if has_come { self.under_way.pop_front().map(|(_, packet)| packet) } else { None }
    }

    /// When the packet that waits may leave, if that is known.
    fn next(&self, now: Time) -> Option<Time> {
        let packet = self.waiting.front()?;
        if self.free > now {
            return Some(self.free);
        }
        let mut credit = self.credit;
        let enough = |&&(_, bytes): &&(Time, u32)| {
            credit += bytes;
            credit >= packet.room()
        };
        self.returns.iter().find(enough).map(|&(at, _)| at)
    }
}

impl Packet {
    /// Room that it takes at the other side [bytes].
    fn room(&self) -> u32 {
        if let Packet::Write(_, data, _) = self { data.len() as u32 } else { 0 }
    }

    /// Bytes on the link; data are whole words of four bytes (2.2.2).
    fn bytes(&self, spec: &PcieSpec) -> u32 {
        let words = |bytes: usize| (bytes as u32).next_multiple_of(4);
        match self {
            Packet::Write(_, data, _) => spec.overhead.request + words(data.len()),
            Packet::Load(..) | Packet::Read(..) => spec.overhead.request,
            Packet::Answer(_, bytes) => spec.overhead.completion + words(*bytes as usize),
            Packet::Completion(.., data) => spec.overhead.completion + words(data.len()),
        }
    }
}

/// A processor's load.
#[derive(Clone, Copy, Debug)]
struct Load {
    place: (u64, u32),
    /// Its answer is here, behind so many writes that are not in memory.
    answer: Option<(u64, usize)>,
}

/// A part of a block: of the host's memory by its address, of the card's by the place in the block.
#[derive(Clone, Copy, Debug)]
struct Part {
    offset: u32,
    bytes: u32,
}

/// A read of the DMA's: the line that is to answer it next, the end of its lines, and how many have yet to come.
#[derive(Clone, Copy, Debug)]
struct Read {
    next: usize,
    end: usize,
    left: usize,
}

/// The block that is moved.
struct Moving {
    block: HostBlock,
    /// To the host: the writes. From it: the lines.
    parts: Vec<Part>,
    /// Parts that were asked for: at the card's memory, or by reads.
    asked: usize,
    /// Writes that have left; lines that are in the card's memory.
    done: usize,
    /// From the host: reads that are under way, and lines that the root complex has.
    reads: VecDeque<Read>,
    lines: BTreeMap<usize, Vec<u8>>,
    /// Parts that the card's memory writes, oldest first: how many lines each has.
    written: VecDeque<usize>,
}

/// A link to the host's root complex, and the card's DMA on it.
pub struct Pcie {
    spec: PcieSpec,
    to_card: Direction,
    to_host: Direction,
    /// Stores that wait in the root complex [bytes].
    stored: u32,
    load: Option<Load>,
    moving: Option<Moving>,
    /// Blocks that were begun.
    blocks: u64,
    /// The block's last write leaves the link then.
    ends: Option<Time>,
    /// Lines that the host's memory has yet to write, oldest first [bytes].
    writes: VecDeque<u32>,
    steps: VecDeque<IoStep>,
    /// Events to come.
    scheduled: BTreeSet<Time>,
}

impl Pcie {
    /// One on which nothing is under way.
    pub fn new(spec: PcieSpec) -> Pcie {
        assert!(spec.ahead > 0 && spec.reads > 0 && spec.posted >= 8);
        assert!(spec.credit.0 >= spec.combined && spec.credit.1 >= spec.payload, "a packet never had room");
        Pcie {
            to_card: Direction::new(spec.credit.0),
            to_host: Direction::new(spec.credit.1),
            spec,
            stored: 0,
            load: None,
            moving: None,
            blocks: 0,
            ends: None,
            writes: [].into(),
            steps: [].into(),
            scheduled: BTreeSet::new(),
        }
    }

    /// There is an event then.
    fn at(&mut self, time: Time) {
        if self.scheduled.insert(time) {
            self.steps.push_back(IoStep::At(time, IoEvent::Moved));
        }
    }

    /// The block's next parts are asked for, as far as it may be.
    fn ask(&mut self) {
        let Some(moving) = &mut self.moving else { return };
        if moving.block.to_host {
            while moving.asked < moving.parts.len().min(moving.done + self.spec.ahead) {
                let Part { offset, bytes } = moving.parts[moving.asked];
                self.steps.push_back(IoStep::ReadLocal { offset, bytes });
                moving.asked += 1;
            }
            return;
        }
        let host = moving.block.host;
        let request = |line: &Part| (host + u64::from(line.offset)) / u64::from(self.spec.request);
        while moving.asked < moving.parts.len() && moving.reads.len() < self.spec.reads {
            let first = moving.asked;
            let of = request(&moving.parts[first]);
            let count = moving.parts[first..].iter().take_while(|line| request(line) == of).count();
            moving.asked += count;
            moving.reads.push_back(Read { next: first, end: first + count, left: count });
            self.to_host.waiting.push_back(Packet::Read(first, count));
        }
    }

    /// What is ready leaves.
    fn go_on(&mut self, now: Time) {
        self.ask();
        while let Some((left, arrival)) = self.to_card.send(&self.spec, now) {
            if let Some((_, Packet::Write(_, data, _))) = self.to_card.under_way.back() {
                self.stored -= data.len() as u32;
            }
            self.at(arrival);
            self.at(left);
        }
        while let Some((left, arrival)) = self.to_host.send(&self.spec, now) {
            self.at(arrival);
            if let Some((_, Packet::Write(..))) = self.to_host.under_way.back() {
                self.write_leaves(left);
            }
        }
        for next in [self.to_card.next(now), self.to_host.next(now)].into_iter().flatten() {
            self.at(next);
        }
    }

    /// A write of the DMA's has the link, until `left`.
    fn write_leaves(&mut self, left: Time) {
        let moving = self.moving.as_mut().expect("a block is under way");
        moving.done += 1;
        if moving.done == moving.parts.len() {
            self.ends = Some(left);
            self.at(left);
        }
        self.ask();
    }

    /// A packet has come to the card.
    fn comes_to_card(&mut self, packet: Packet, now: Time) {
        self.to_host.carry(self.spec.overhead.link, &self.spec.link, now);
        match packet {
            Packet::Write(address, data, _) => {
                let room = (now + self.spec.link.latency(), data.len() as u32);
                self.to_card.returns.push_back(room);
                self.steps.push_back(IoStep::Store { address, data, pace: None });
            }
            Packet::Load(address, bytes) => self.steps.push_back(IoStep::Load { address, bytes }),
            Packet::Completion(first, count, data) => {
                let moving = self.moving.as_mut().expect("a block is under way");
                moving.written.push_back(count);
                let read = moving.reads.iter_mut().find(|read| first + read.left == read.end);
                read.expect("it answers a read").left -= count;
                moving.reads.retain(|read| read.left > 0);
                let offset = moving.parts[first].offset;
                self.steps.push_back(IoStep::WriteLocal { offset, data, pace: None });
            }
            Packet::Read(..) | Packet::Answer(..) => unreachable!("{packet:?} goes to the host"),
        }
    }

    /// A packet has come to the root complex.
    fn comes_to_host(&mut self, packet: Packet, now: Time) {
        self.to_card.carry(self.spec.overhead.link, &self.spec.link, now);
        match packet {
            Packet::Write(address, data, block) => {
                for (offset, bytes) in line_parts(address, data.len() as u64, self.spec.line_bytes.into()) {
                    let data = data[offset as usize..][..bytes as usize].to_vec();
                    self.writes.push_back(bytes);
                    self.steps.push_back(IoStep::WriteMemory { block, address: address + offset, data });
                }
            }
            Packet::Answer(value, _) => {
                let load = self.load.as_mut().expect("a load is under way");
                load.answer = Some((value, self.writes.len()));
            }
            Packet::Read(first, count) => {
                let moving = self.moving.as_ref().expect("a block is under way");
                for line in first..first + count {
                    let Part { offset, bytes } = moving.parts[line];
                    let address = moving.block.host + u64::from(offset);
                    self.steps.push_back(IoStep::ReadMemory { line, address, bytes });
                }
            }
            Packet::Load(..) | Packet::Completion(..) => unreachable!("{packet:?} goes to the card"),
        }
    }

    /// Lines that are there answer their reads, each in its order.
    fn complete(&mut self) {
        let Some(moving) = &mut self.moving else { return };
        let Moving { block, parts, reads, lines, .. } = moving;
        for read in reads.iter_mut() {
            while read.next < read.end {
                let next = read.next;
                let of = |line: usize| {
                    (block.host + u64::from(parts[line].offset)) / u64::from(self.spec.completion)
                };
                let end = (next..read.end).find(|&line| of(line) != of(next)).unwrap_or(read.end);
                if !(next..end).all(|line| lines.contains_key(&line)) {
                    break;
                }
                let data = (next..end).flat_map(|line| lines.remove(&line).expect("it is there")).collect();
                self.to_card.waiting.push_back(Packet::Completion(next, end - next, data));
                read.next = end;
            }
        }
    }
}

impl IoPath for Pcie {
    fn has_room(&self, bytes: u32, _: Time) -> bool {
        self.stored + bytes <= self.spec.posted
    }

    fn store(&mut self, (address, bytes): (u64, u32), value: u64, now: Time) {
        let data = &value.to_le_bytes()[..bytes as usize];
        self.stored += bytes;
        match self.to_card.waiting.back_mut() {
            Some(Packet::Write(first, before, _))
                if *first + before.len() as u64 == address
                    && before.len() as u32 + bytes <= self.spec.combined =>
            {
                before.extend_from_slice(data);
            }
            _ => self.to_card.waiting.push_back(Packet::Write(address, data.to_vec(), 0)),
        }
        self.go_on(now);
    }

    fn load(&mut self, place: (u64, u32), now: Time) -> HostLoad {
        match self.load {
            Some(Load { place: at, answer: Some((value, 0)) }) if at == place => {
                self.load = None;
                return HostLoad::Is(value);
            }
            // Another one's, or this is under way.
            Some(_) => {}
            None => {
                self.load = Some(Load { place, answer: None });
                self.to_card.waiting.push_back(Packet::Load(place.0, place.1));
                self.go_on(now);
            }
        }
        HostLoad::Later
    }

    fn is_answered(&self, place: (u64, u32)) -> bool {
        self.load.is_some_and(|load| load.place == place && matches!(load.answer, Some((_, 0))))
    }

    fn answer(&mut self, value: u64, now: Time) -> Option<Time> {
        let load = self.load.expect("there is a load");
        self.to_host.waiting.push_back(Packet::Answer(value, load.place.1));
        self.go_on(now);
        None
    }

    fn begin(&mut self, block: HostBlock, now: Time) {
        assert!(self.moving.is_none() && block.bytes > 0, "a block at a time");
        self.blocks += 1;
        let most = if block.to_host { self.spec.payload } else { self.spec.line_bytes };
        let parts = line_parts(block.host, block.bytes.into(), most.into());
        self.moving = Some(Moving {
            block,
            parts: parts.map(|(offset, bytes)| Part { offset: offset as u32, bytes }).collect(),
            asked: 0,
            done: 0,
            reads: [].into(),
            lines: BTreeMap::new(),
            written: [].into(),
        });
        self.go_on(now);
    }

    fn is_busy(&self) -> bool {
        self.moving.is_some()
    }

    fn memory_read(&mut self, line: usize, data: Vec<u8>, now: Time) {
        self.moving.as_mut().expect("a block is under way").lines.insert(line, data);
        self.complete();
        self.go_on(now);
    }

    fn memory_written(&mut self, now: Time) {
        let bytes = self.writes.pop_front().expect("it was asked to");
        self.to_host.returns.push_back((now + self.spec.link.latency(), bytes));
        if let Some(Load { answer: Some((_, behind)), .. }) = &mut self.load {
            *behind = behind.saturating_sub(1);
        }
        self.go_on(now);
    }

    fn local_read(&mut self, data: Vec<u8>, now: Time) {
        let moving = self.moving.as_ref().expect("a block is under way");
        let waiting = |packet: &&Packet| matches!(packet, Packet::Write(..));
        let part = moving.done + self.to_host.waiting.iter().filter(waiting).count();
        let address = moving.block.host + u64::from(moving.parts[part].offset);
        self.to_host.waiting.push_back(Packet::Write(address, data, self.blocks - 1));
        self.go_on(now);
    }

    fn local_written(&mut self, now: Time) {
        let moving = self.moving.as_mut().expect("a block is under way");
        moving.done += moving.written.pop_front().expect("it was asked to");
        if moving.done == moving.parts.len() {
            self.moving = None;
            self.steps.push_back(IoStep::Done);
        }
        self.go_on(now);
    }

    fn event(&mut self, _: IoEvent, now: Time) {
        self.scheduled = self.scheduled.split_off(&Time(now.0 + 1));
        if self.ends.take_if(|ends| *ends <= now).is_some() {
            self.moving = None;
            self.steps.push_back(IoStep::Done);
        }
        while let Some(packet) = self.to_card.arrived(now) {
            self.comes_to_card(packet, now);
        }
        while let Some(packet) = self.to_host.arrived(now) {
            self.comes_to_host(packet, now);
        }
        self.go_on(now);
    }

    fn step(&mut self, _: Time) -> Option<IoStep> {
        self.steps.pop_front()
    }

    fn statistics(&self, visit: &mut Visitor<'_>) {
        self.to_card.statistics.visit(&mut below("to_card", visit));
        self.to_host.statistics.visit(&mut below("to_host", visit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte a nanosecond, and 100 ns from one side to the other.
    const LATENCY: u64 = 100;
    const LINE: u32 = 64;
    const HOST: u64 = 0x10000;

    fn ns(n: u64) -> Time {
        Time(n * 1000)
    }

    fn spec() -> PcieSpec {
        PcieSpec {
            link: Link::new(1_000_000_000, ns(LATENCY)),
            overhead: PcieOverhead { request: 24, completion: 20, link: 0 },
            payload: 256,
            request: 512,
            completion: 128,
            reads: 4,
            credit: (1024, 1024),
            posted: 128,
            combined: 64,
            ahead: 2,
            line_bytes: LINE,
        }
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Seen {
        Stored(u64, usize),
        Loads(u64),
        Written(u64, usize),
        Done,
    }

    /// The host's memory takes so long for a line, the card's none.
    struct Rig {
        link: Pcie,
        memory_ns: u64,
        memory: Vec<u8>,
        local: Vec<u8>,
        queue: BTreeMap<(Time, u64), IoStep>,
        count: u64,
        seen: Vec<(Time, Seen)>,
    }

    impl Rig {
        fn new(spec: PcieSpec, memory_ns: u64) -> Rig {
            let pattern =
                |add: u8| (0..8192u32).map(|i| (i as u8).wrapping_mul(7).wrapping_add(add)).collect();
            Rig {
                link: Pcie::new(spec),
                memory_ns,
                memory: pattern(1),
                local: pattern(100),
                queue: BTreeMap::new(),
                count: 0,
                seen: vec![],
            }
        }

        /// Takes what follows at `now`.
        fn take(&mut self, now: Time) {
            while let Some(step) = self.link.step(now) {
                let at = match &step {
                    IoStep::At(at, _) => *at,
                    IoStep::ReadMemory { .. } | IoStep::WriteMemory { .. } => now + ns(self.memory_ns),
                    IoStep::Done => {
                        self.seen.push((now, Seen::Done));
                        continue;
                    }
                    _ => now,
                };
                self.count += 1;
                self.queue.insert((at, self.count), step);
            }
        }

        fn happens(&mut self, step: IoStep, now: Time) {
            match step {
                IoStep::At(_, event) => self.link.event(event, now),
                IoStep::Store { address, data, .. } => {
                    self.seen.push((now, Seen::Stored(address, data.len())))
                }
                IoStep::Load { address, .. } => {
                    self.seen.push((now, Seen::Loads(address)));
                    self.link.answer(77, now);
                }
                IoStep::ReadMemory { line, address, bytes } => {
                    let data = self.memory[(address - HOST) as usize..][..bytes as usize].to_vec();
                    self.link.memory_read(line, data, now);
                }
                IoStep::WriteMemory { address, data, .. } => {
                    self.memory[(address - HOST) as usize..][..data.len()].copy_from_slice(&data);
                    self.seen.push((now, Seen::Written(address - HOST, data.len())));
                    self.link.memory_written(now);
                }
                IoStep::ReadLocal { offset, bytes } => {
                    let data = self.local[offset as usize..][..bytes as usize].to_vec();
                    self.link.local_read(data, now);
                }
                IoStep::WriteLocal { offset, data, .. } => {
                    self.local[offset as usize..][..data.len()].copy_from_slice(&data);
                    self.link.local_written(now);
                }
                IoStep::Done => unreachable!("it is no event"),
            }
            self.take(now);
        }

        /// What is there by `until`.
        fn run_until(&mut self, until: Time) {
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
                let ((now, _), step) = entry.remove_entry();
                self.happens(step, now);
            }
        }

        fn begin(&mut self, host: u64, bytes: u32, to_host: bool) {
            self.link.begin(HostBlock { host: HOST + host, bytes, to_host }, Time::ZERO);
            self.take(Time::ZERO);
        }

        /// Moves a block: when it was done.
        fn run(&mut self, host: u64, bytes: u32, to_host: bool) -> Time {
            self.begin(host, bytes, to_host);
            self.run_until(Time::END);
            self.seen.iter().find(|(_, seen)| *seen == Seen::Done).expect("it ends").0
        }

        fn store(&mut self, address: u64, bytes: u32, now: Time) {
            assert!(self.link.has_room(bytes, now));
            self.link.store((address, bytes), 7, now);
            self.take(now);
        }
    }

    #[test]
    fn a_store_takes_its_length_and_the_latency() {
        let mut rig = Rig::new(spec(), 50);
        rig.store(0x40, 8, Time::ZERO);
        rig.run_until(Time::END);
        assert_eq!(rig.seen, [(ns(24 + 8 + LATENCY), Seen::Stored(0x40, 8))]);
    }

    #[test]
    fn stores_that_wait_go_together_and_are_as_many_as_there_is_room_for() {
        let mut rig = Rig::new(spec(), 50);
        for word in 0..13 {
            rig.store(8 * word, 8, Time::ZERO);
        }
        assert!(!rig.link.has_room(33, Time::ZERO) && rig.link.has_room(32, Time::ZERO), "96 of 128 wait");
        rig.run_until(Time::END);
        // The first leaves at once; those behind it wait until it has left, then those behind these.
        let first = 24 + 8;
        let second = first + 24 + 64;
        assert_eq!(
            rig.seen,
            [
                (ns(first + LATENCY), Seen::Stored(0, 8)),
                (ns(second + LATENCY), Seen::Stored(8, 64)),
                (ns(second + 24 + 32 + LATENCY), Seen::Stored(72, 32)),
            ]
        );
    }

    /// Writes to the card are under way up to their credit, which comes back after a round trip.
    #[test]
    fn without_room_at_the_card_stores_wait() {
        let mut rig = Rig::new(PcieSpec { credit: (64, 1024), ..spec() }, 50);
        for store in 0..9 {
            rig.store(0x100 * store, 8, Time::ZERO);
        }
        rig.run_until(Time::END);
        let eighth = 8 * 32 + LATENCY;
        assert_eq!(rig.seen[7].0, ns(eighth));
        // The first's room is back when the eighth has left.
        assert_eq!(rig.seen[8].0, ns(8 * 32 + 32 + LATENCY));
        let mut rig = Rig::new(PcieSpec { credit: (64, 1024), ..spec() }, 50);
        for store in 0..2 {
            (0..8).for_each(|word| rig.store(0x100 * store + 8 * word, 8, Time::ZERO));
        }
        rig.run_until(Time::END);
        assert_eq!(rig.seen[1], (ns(32 + 24 + 56 + LATENCY), Seen::Stored(8, 56)));
        // All room is taken: the next, of 64, leaves when that of the second is back.
        assert_eq!(rig.seen[2], (ns(32 + 80 + 2 * LATENCY + 24 + 64 + LATENCY), Seen::Stored(0x100, 64)));
    }

    #[test]
    fn a_load_is_answered_after_a_round_trip_behind_the_stores_before_it() {
        let mut rig = Rig::new(spec(), 50);
        rig.store(0x40, 8, Time::ZERO);
        assert_eq!(rig.link.load((0x80, 8), Time::ZERO), HostLoad::Later);
        rig.take(Time::ZERO);
        let there = 32 + 24 + LATENCY;
        let back = there + 20 + 8 + LATENCY;
        rig.run_until(Time(ns(back).0 - 1));
        assert_eq!(rig.link.load((0x80, 8), Time(ns(back).0 - 1)), HostLoad::Later);
        rig.run_until(ns(back));
        assert_eq!(rig.link.load((0x88, 8), ns(back)), HostLoad::Later, "one at a time");
        assert!(rig.link.is_answered((0x80, 8)));
        assert_eq!(rig.link.load((0x80, 8), ns(back)), HostLoad::Is(77));
        assert_eq!(rig.seen[1], (ns(there), Seen::Loads(0x80)));
    }

    /// 2.4.1: a completion does not pass writes.
    #[test]
    fn an_answer_comes_behind_what_the_card_wrote_before() {
        let mut rig = Rig::new(spec(), 500);
        rig.begin(0, 64, true);
        assert_eq!(rig.link.load((0x80, 8), Time::ZERO), HostLoad::Later);
        rig.take(Time::ZERO);
        let written = ns(24 + 64 + LATENCY + 500);
        rig.run_until(Time(written.0 - 1));
        assert!(!rig.link.is_answered((0x80, 8)));
        rig.run_until(written);
        assert!(rig.link.is_answered((0x80, 8)));
    }

    #[test]
    fn what_is_moved_is_there_whatever_it_lies_across() {
        for (host, bytes) in [(0, 1), (0, 64), (5, 200), (63, 2), (60, 4000), (500, 1030)] {
            for to_host in [false, true] {
                let mut rig = Rig::new(spec(), 50);
                let (from, to) = (rig.memory.clone(), rig.local.clone());
                rig.run(host, bytes, to_host);
                let here = &rig.memory[host as usize..][..bytes as usize];
                assert_eq!(here, &rig.local[..bytes as usize], "{host} {bytes} {to_host}");
                let same = if to_host { (&rig.local, &to) } else { (&rig.memory, &from) };
                assert_eq!(same.0, same.1, "the other side is as it was");
                assert!(!rig.link.is_busy());
            }
        }
    }

    /// A block to the host has left when its packets have; each is written a latency and a memory later.
    #[test]
    fn writes_follow_each_other() {
        let mut rig = Rig::new(spec(), 50);
        assert_eq!(rig.run(0, 1024, true), ns(4 * (24 + 256)));
        let written: Vec<_> = rig.seen.iter().filter(|(_, seen)| matches!(seen, Seen::Written(..))).collect();
        assert_eq!(written.len(), 16, "lines");
        assert_eq!(written[0].0, ns(24 + 256 + LATENCY + 50));
        assert_eq!(written[15].0, ns(4 * (24 + 256) + LATENCY + 50));
    }

    /// A read of 512 bytes: the request, memory, four completions of 128 bytes behind each other.
    #[test]
    fn a_read_takes_a_round_trip() {
        let first = 24 + LATENCY + 50;
        assert_eq!(Rig::new(spec(), 50).run(0, 512, false), ns(first + 4 * (20 + 128) + LATENCY));
        // Further ones follow meanwhile: the link is never idle in between.
        assert_eq!(Rig::new(spec(), 50).run(0, 2048, false), ns(first + 16 * (20 + 128) + LATENCY));
        // One at a time has each of them take as long.
        let one = PcieSpec { reads: 1, ..spec() };
        let each = first + 4 * (20 + 128) + LATENCY;
        assert_eq!(Rig::new(one, 50).run(0, 2048, false), ns(4 * each));
    }

    /// The host's memory holds writes up: room for four payloads.
    #[test]
    fn without_room_at_the_host_writes_wait() {
        let done = Rig::new(spec(), 5000).run(0, 2048, true);
        // Four leave. The first's room is back after its way, memory, and the way back; then another leaves, and so on.
        let fifth = 24 + 256 + LATENCY + 5000 + LATENCY;
        assert_eq!(done, ns(fifth + 4 * (24 + 256)));
    }

    /// Acknowledgements take their length on the other direction.
    #[test]
    fn packets_are_answered_by_the_links_own() {
        let answered = PcieSpec { overhead: PcieOverhead { link: 8, ..spec().overhead }, ..spec() };
        let mut rig = Rig::new(answered, 50);
        rig.store(0x40, 8, Time::ZERO);
        rig.run_until(Time::END);
        assert_eq!(rig.link.to_host.statistics.busy_ps, ns(8).0);
        assert_eq!((rig.link.to_card.statistics.packets, rig.link.to_card.statistics.bytes), (1, 32));
    }
}
