//! A card's DMA: a block at a time between the host's memory and memory on the card.
//!
//! The block goes over the I/O bus line by line, in as few tenures as the timer allows. To the host: the card reads its own
//! memory ahead into a FIFO; the bridge takes lines into its buffer, and writes them to memory. From the host: the bridge
//! reads lines ahead; what it has read and the card has not taken before it left the bus stays there. While a side is not
//! ready the bus waits (3.2.1, wait states), for as long as it may (3.5.1); then the card leaves it, and asks for it again.

use std::collections::{BTreeMap, VecDeque};

use chasqui_engine::Time;

use super::IoBus;
use crate::line_parts;

/// What a card's DMA is made from.
#[derive(Clone, Debug)]
pub struct CardDmaSpec {
    /// Which master of the bus it is.
    pub master: usize,
    /// Length of the host's lines [bytes].
    pub line_bytes: u64,
    /// From the address to the first word: the bridge recognises it [clocks].
    pub target_wait: u64,
    /// Lines that the bridge reads ahead, at least one.
    pub read_ahead: usize,
    /// Lines that the bridge holds until they are written, at least one.
    pub write_buffer: usize,
    /// Lines that the card's FIFO holds, either way, at least one.
    pub fifo: usize,
}

/// What is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostBlock {
    /// Physical address of the host's side.
    pub host: u64,
    /// Length [bytes], at least one.
    pub bytes: u32,
    /// It goes to the host.
    pub to_host: bool,
}

/// What follows. Lines have numbers, from 0 on; offsets are in the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardStep {
    /// The bridge reads memory: [`CardDma::memory_read`] follows.
    ReadMemory {
        /// Which line.
        line: usize,
        /// Physical address.
        address: u64,
        /// Length [bytes].
        bytes: u32,
    },
    /// The bridge writes memory: [`CardDma::memory_written`] follows.
    WriteMemory {
        /// Which line.
        line: usize,
        /// Physical address.
        address: u64,
        /// What.
        data: Vec<u8>,
    },
    /// The card reads its memory: [`CardDma::local_read`] follows.
    ReadLocal {
        /// Where in the block.
        offset: u32,
        /// Length [bytes].
        bytes: u32,
    },
    /// The card writes its memory, a word each clock of the bus: [`CardDma::local_written`] follows.
    WriteLocal {
        /// Where in the block.
        offset: u32,
        /// What.
        data: Vec<u8>,
        /// The first word begins to move on the bus.
        from: Time,
    },
    /// A line is on the bus until then: [`CardDma::moved`] follows.
    Moves(Time),
    /// A side is not ready, and the bus waits: [`CardDma::limit`] follows then.
    Waits(Time),
    /// All has moved. What goes to the host may still be in the bridge; nothing of the card's comes to memory before it.
    Done,
}

/// A line of the block.
#[derive(Clone, Copy, Debug)]
struct Line {
    offset: u32,
    bytes: u32,
}

/// The block that is moved.
struct Moving {
    block: HostBlock,
    lines: Vec<Line>,
    /// Lines that have been asked for at the side they come from, and that have crossed the bus.
    asked: usize,
    crossed: usize,
    /// Lines that have come to the bridge, or the card, from its memory, and wait for the bus, by number.
    ready: BTreeMap<usize, Vec<u8>>,
    /// A line is on the bus.
    on_bus: Option<Vec<u8>>,
    /// Lines that have crossed and are not in memory on the other side.
    under_way: usize,
}

/// A card's DMA.
pub struct CardDma {
    spec: CardDmaSpec,
    moving: Option<Moving>,
    /// It has the bus, and data may move from then on.
    from: Option<Time>,
    /// It leaves the bus then, if nothing moves before.
    limit: Option<Time>,
    /// Lines of blocks that are done, which the bridge has yet to write.
    left_in_bridge: usize,
    steps: VecDeque<CardStep>,
}

impl CardDma {
    /// One that has nothing to do.
    pub fn new(spec: CardDmaSpec) -> CardDma {
        assert!(spec.read_ahead > 0 && spec.write_buffer > 0 && spec.fifo > 0);
        CardDma { spec, moving: None, from: None, limit: None, left_in_bridge: 0, steps: [].into() }
    }

    /// A block is under way.
    pub fn is_busy(&self) -> bool {
        self.moving.is_some()
    }

    /// Lines that the bridge holds, and has yet to write.
    pub fn written(&self) -> usize {
        let of_block =
            self.moving.as_ref().filter(|moving| moving.block.to_host).map_or(0, |moving| moving.under_way);
        self.left_in_bridge + of_block
    }

    /// What follows from the calls so far, one after the other; whoever calls does it.
    pub fn step(&mut self) -> Option<CardStep> {
        self.steps.pop_front()
    }

    /// Begins with `block` at `now`.
    ///
    /// # Panics
    /// Another is under way.
    pub fn begin(&mut self, block: HostBlock, bus: &mut IoBus, now: Time) {
        assert!(self.moving.is_none() && block.bytes > 0, "a block at a time");
        let parts = line_parts(block.host, block.bytes.into(), self.spec.line_bytes);
        let lines = parts.map(|(offset, bytes)| Line { offset: offset as u32, bytes }).collect();
        self.moving = Some(Moving {
            block,
            lines,
            asked: 0,
            crossed: 0,
            ready: BTreeMap::new(),
            on_bus: None,
            under_way: 0,
        });
        match block.to_host {
            true => self.read_ahead(),
            false => bus.ask(self.spec.master, now),
        }
    }

    /// It has the bus, and its address is over at `now`.
    pub fn has_bus(&mut self, bus: &mut IoBus, now: Time) {
        self.read_ahead();
        self.from = Some(bus.clock().after(now, self.spec.target_wait));
        self.go_on(bus, now);
        self.wait_until(bus.initial_limit().max(now));
    }

    /// The line on the bus has crossed it.
    ///
    /// # Panics
    /// None was.
    pub fn moved(&mut self, bus: &mut IoBus, now: Time) {
        let moving = self.current();
        let data = moving.on_bus.take().expect("a line is on the bus");
        let line = moving.crossed;
        moving.crossed += 1;
        if moving.block.to_host {
            moving.under_way += 1;
            let address = moving.block.host + u64::from(moving.lines[line].offset);
            self.steps.push_back(CardStep::WriteMemory { line, address, data });
        }
        let moving = self.current();
        let is_last = moving.crossed == moving.lines.len();
        if is_last || bus.must_leave(now) {
            self.leave(bus, now);
        } else {
            self.read_ahead();
            self.go_on(bus, now);
            self.wait_until(bus.subsequent_limit(now));
        }
        self.end();
    }

    /// A side was not ready for as long as the bus waits, until `now`: the card leaves it.
    pub fn limit(&mut self, bus: &mut IoBus, now: Time) {
        if self.limit == Some(now) {
            self.leave(bus, now);
        }
    }

    /// It leaves the bus, and asks for it again if it has something to move.
    fn leave(&mut self, bus: &mut IoBus, now: Time) {
        (self.from, self.limit) = (None, None);
        bus.leave(now);
        self.ask(bus, now);
    }

    /// It wants the bus, if there is a line for it, or room for one, on its own side.
    fn ask(&mut self, bus: &mut IoBus, now: Time) {
        let (fifo, moving) = (self.spec.fifo, self.current());
        let is_ready = match moving.block.to_host {
            true => moving.ready.contains_key(&moving.crossed),
            false => moving.under_way < fifo,
        };
        if is_ready && moving.crossed < moving.lines.len() {
            bus.ask(self.spec.master, now);
        }
    }

    /// Nothing moves: that has a limit.
    fn wait_until(&mut self, limit: Time) {
        if self.from.is_some() && self.current().on_bus.is_none() {
            self.limit = Some(limit);
            self.steps.push_back(CardStep::Waits(limit));
        }
    }

    /// The bridge has a line of memory.
    pub fn memory_read(&mut self, line: usize, data: Vec<u8>, bus: &mut IoBus, now: Time) {
        self.current().ready.insert(line, data);
        self.go_on(bus, now);
    }

    /// A line is in memory.
    pub fn memory_written(&mut self, bus: &mut IoBus, now: Time) {
        // Of a block before this one, if there is such.
        if self.left_in_bridge > 0 {
            self.left_in_bridge -= 1;
        } else {
            self.current().under_way -= 1;
        }
        if self.moving.is_some() {
            self.go_on(bus, now);
        }
    }

    /// The card has the oldest line that it asked its memory for.
    pub fn local_read(&mut self, data: Vec<u8>, bus: &mut IoBus, now: Time) {
        let moving = self.current();
        let line = moving.crossed + usize::from(moving.on_bus.is_some()) + moving.ready.len();
        moving.ready.insert(line, data);
        self.ask(bus, now);
        self.go_on(bus, now);
    }

    /// A line is in the card's memory.
    pub fn local_written(&mut self, bus: &mut IoBus, now: Time) {
        self.current().under_way -= 1;
        self.ask(bus, now);
        self.go_on(bus, now);
        self.end();
    }

    fn current(&mut self) -> &mut Moving {
        self.moving.as_mut().expect("a block is under way")
    }

    /// Asks for lines at the side that they come from, as far ahead as it may.
    fn read_ahead(&mut self) {
        let (fifo, ahead) = (self.spec.fifo, self.spec.read_ahead);
        let moving = self.moving.as_mut().expect("a block is under way");
        let HostBlock { host, to_host, .. } = moving.block;
        let most = moving.crossed + if to_host { fifo } else { ahead };
        while moving.asked < most.min(moving.lines.len()) {
            let Line { offset, bytes } = moving.lines[moving.asked];
            self.steps.push_back(match to_host {
                true => CardStep::ReadLocal { offset, bytes },
                false => {
                    CardStep::ReadMemory { line: moving.asked, address: host + u64::from(offset), bytes }
                }
            });
            moving.asked += 1;
        }
    }

    /// The next line goes on the bus, if it is there, the other side has room, and the card has the bus.
    fn go_on(&mut self, bus: &mut IoBus, now: Time) {
        let (spec, left) = (&self.spec, self.left_in_bridge);
        let (Some(moving), Some(from)) = (&mut self.moving, self.from) else { return };
        let to_host = moving.block.to_host;
        let (waits, most) = if to_host {
            (moving.under_way + left, spec.write_buffer)
        } else {
            (moving.under_way, spec.fifo)
        };
        if moving.on_bus.is_some() || waits >= most {
            return;
        }
        let Some(data) = moving.ready.remove(&moving.crossed) else { return };
        let Line { offset, bytes } = moving.lines[moving.crossed];
        let from = now.max(from);
        let end = bus.moved(from, moving.block.host + u64::from(offset), bytes);
        if !to_host {
            moving.under_way += 1;
            self.steps.push_back(CardStep::WriteLocal { offset, data: data.clone(), from });
        }
        moving.on_bus = Some(data);
        self.limit = None;
        self.steps.push_back(CardStep::Moves(end));
    }

    /// The block is done, if it is.
    fn end(&mut self) {
        let is_done = |m: &mut Moving| m.crossed == m.lines.len() && (m.block.to_host || m.under_way == 0);
        if let Some(moving) = self.moving.take_if(is_done) {
            self.left_in_bridge += moving.under_way;
            self.steps.push_back(CardStep::Done);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{BRIDGE, CARD, bus, edge};
    use super::*;

    const LINE: u32 = 32;
    const BASE: u64 = 0x1000;

    /// The host's memory takes so long for a line [clocks], the card's for one; what happens when.
    struct Rig {
        bus: IoBus,
        dma: CardDma,
        memory: (u64, Vec<u8>),
        local: Vec<u8>,
        /// What is to come, in the order of time.
        events: BTreeMap<(Time, u64), CardStep>,
        granted: Option<Time>,
        count: u64,
        bridge_wants: Vec<u64>,
    }

    impl Rig {
        fn new(spec: impl Fn(&mut CardDmaSpec), memory: u64) -> Rig {
            let mut plain = CardDmaSpec {
                master: CARD,
                line_bytes: LINE.into(),
                target_wait: 1,
                read_ahead: 2,
                write_buffer: 2,
                fifo: 2,
            };
            spec(&mut plain);
            let pattern =
                |add: u8| (0..1024u32).map(|i| (i as u8).wrapping_mul(7).wrapping_add(add)).collect();
            Rig {
                bus: bus(),
                dma: CardDma::new(plain),
                memory: (memory, pattern(1)),
                local: pattern(100),
                events: BTreeMap::new(),
                granted: None,
                count: 0,
                bridge_wants: vec![],
            }
        }

        fn at(&mut self, time: Time, step: CardStep) {
            self.count += 1;
            self.events.insert((time, self.count), step);
        }

        /// Moves a block; when it was done, and the tenures that it took.
        fn run(&mut self, block: HostBlock) -> (Time, u64) {
            self.dma.begin(block, &mut self.bus, Time::ZERO);
            let mut now = Time::ZERO;
            let mut done = None;
            loop {
                while let Some(step) = self.dma.step() {
                    let clock = self.bus.clock();
                    match step {
                        CardStep::Done => done = Some(now),
                        CardStep::Moves(time) | CardStep::Waits(time) => self.at(time, step),
                        CardStep::ReadMemory { .. } | CardStep::WriteMemory { .. } => {
                            self.at(clock.after(now, self.memory.0), step);
                        }
                        CardStep::ReadLocal { .. } | CardStep::WriteLocal { .. } => {
                            self.at(clock.after(now, 1), step);
                        }
                    }
                }
                if let Some((owner, at)) = self.bus.grant(now) {
                    match owner {
                        CARD => self.granted = Some(at),
                        // The bridge moves a word.
                        _ => self.bus.leave(self.bus.clock().after(at, 1)),
                    }
                    continue;
                }
                let event = self.events.keys().next().copied();
                if let Some(at) = self.granted.filter(|&at| event.is_none_or(|(time, _)| at <= time)) {
                    self.granted = None;
                    now = at;
                    self.dma.has_bus(&mut self.bus, now);
                    continue;
                }
                let Some(((time, _), step)) = self.events.pop_first() else { break };
                now = time;
                if self.bridge_wants.first().is_some_and(|&clocks| edge(clocks) <= now) {
                    self.bridge_wants.remove(0);
                    self.bus.ask(BRIDGE, now);
                }
                self.happens(step, now);
            }
            (done.expect("it ends"), self.bus.master(CARD).tenures)
        }

        fn happens(&mut self, step: CardStep, now: Time) {
            let Rig { bus, dma, memory: (_, memory), local, .. } = self;
            let of_host = |address: u64| (address - BASE) as usize;
            match step {
                CardStep::ReadMemory { line, address, bytes } => {
                    let data = memory[of_host(address)..][..bytes as usize].to_vec();
                    dma.memory_read(line, data, bus, now);
                }
                CardStep::WriteMemory { address, data, .. } => {
                    memory[of_host(address)..][..data.len()].copy_from_slice(&data);
                    dma.memory_written(bus, now);
                }
                CardStep::ReadLocal { offset, bytes } => {
                    let data = local[offset as usize..][..bytes as usize].to_vec();
                    dma.local_read(data, bus, now);
                }
                CardStep::WriteLocal { offset, data, .. } => {
                    local[offset as usize..][..data.len()].copy_from_slice(&data);
                    dma.local_written(bus, now);
                }
                CardStep::Moves(_) => dma.moved(bus, now),
                CardStep::Waits(_) => dma.limit(bus, now),
                CardStep::Done => unreachable!("it is no event"),
            }
        }
    }

    fn block(host: u64, bytes: u32, to_host: bool) -> HostBlock {
        HostBlock { host: BASE + host, bytes, to_host }
    }

    #[test]
    fn what_is_moved_is_there_whatever_it_lies_across() {
        for (host, bytes) in [(0, 1), (0, 32), (5, 200), (31, 2), (28, 512)] {
            for to_host in [false, true] {
                let mut rig = Rig::new(|_| {}, 5);
                let (from, to) = (rig.memory.1.clone(), rig.local.clone());
                rig.run(block(host, bytes, to_host));
                let here = &rig.memory.1[host as usize..][..bytes as usize];
                let there = &rig.local[..bytes as usize];
                assert_eq!(here, there, "{host} {bytes} {to_host}");
                let same = if to_host { (&rig.local, &to) } else { (&rig.memory.1, &from) };
                assert_eq!(same.0, same.1, "the other side is as it was");
            }
        }
    }

    /// Ten lines of eight words. Two clocks of arbitration and one of address; the first line's way; then a word a clock.
    #[test]
    fn lines_follow_each_other_where_nobody_is_slow() {
        let (end, tenures) = Rig::new(|_| {}, 6).run(block(0, 320, false));
        assert_eq!((end, tenures), (edge(3 + 6 + 80), 1), "the host's memory takes six clocks for the first");
        let (end, tenures) = Rig::new(|_| {}, 6).run(block(0, 320, true));
        assert_eq!(
            (end, tenures),
            (edge(1 + 3 + 1 + 80), 1),
            "the card reads for one, the bridge waits for one"
        );
    }

    /// A memory that takes 20 clocks for a line of eight: read one ahead, the bus waits; four ahead it does not.
    #[test]
    fn reading_ahead_hides_what_memory_takes() {
        let time = |read_ahead| Rig::new(|spec| spec.read_ahead = read_ahead, 20).run(block(0, 320, false));
        // The first is tried again after 16 clocks; the tenure ends 8 clocks after each line, since the next is not there.
        assert_eq!(time(1), (edge(3 + 10 * 28), 2 + 9));
        assert_eq!(time(4), (edge(3 + 20 + 80), 2));
    }

    #[test]
    fn a_full_bridge_holds_the_card_up() {
        let time =
            |write_buffer| Rig::new(|spec| spec.write_buffer = write_buffer, 20).run(block(0, 320, true)).0;
        assert_eq!(time(8), edge(5 + 80));
        // Of one line at a time the next goes on the bus when the one before is in memory, 20 clocks later. After 8 the bridge
        // has ended the tenure; the card has the bus again when there is room.
        assert_eq!(time(1), edge(5 + 8 + 9 * 28));
    }

    #[test]
    fn the_bridge_gets_the_bus_when_the_timer_is_over() {
        let mut rig = Rig::new(|_| {}, 6);
        rig.bridge_wants = vec![10];
        let (end, tenures) = rig.run(block(0, 320, false));
        assert_eq!(tenures, 2, "it asks for the bus again");
        assert_eq!(rig.bus.master(BRIDGE).tenures, 1);
        // Two lines until 25, a clock between, the bridge's address and word until 28, a clock, an address; the bridge, which
        // has the next line, recognises it as before.
        assert_eq!(end, edge(25 + 1 + 2 + 1 + 1 + 1 + 64));
        assert_eq!(&rig.memory.1[..320], &rig.local[..320]);
    }
}
