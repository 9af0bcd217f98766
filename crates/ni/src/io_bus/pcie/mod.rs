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

#[cfg(test)]
mod tests;

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
