//! Sending Express and Tag-On messages (sections 5.1 and 5.2). One uncached store is a message: its address
//! says which queue, to whom and five bits of data, for Tag-On also which place of the SRAM goes along. A store of 64
//! bytes (ours) brings all its data itself.

use std::cmp::Reverse;
use std::collections::VecDeque;

use chasqui_ni::{BusRequest, Context, DmaReader, MessageKey, Piece, Ring};
use chasqui_placement::{JobId, ProcessId};

use super::queues::{QueueName, QueueNames, SP};
use super::transmit::{packet_bytes, push_packet};
use super::turns::JobTurns;
use super::{Mechanism, NesEvent, Owner, Shared, accept};
use crate::parameters::Express;
use crate::registers as r;
use crate::service_registers::{self as sp, PACKET_EXPRESS, PACKET_OWN, PACKET_WIDE};

// `network.packet_max` is checked against a Basic slot's data: no Tag-On packet is longer.
const _: () = assert!(r::EXPRESS_BYTES + r::TAG_LONG_BYTES <= r::SLOT_DATA_BYTES);

// Tag-On's addresses name the queue by the bits below the others above the destination.
const _: () = assert!(r::EXPRESS_QUEUES == r::TAG_LONG && r::TAG_LONG.is_power_of_two());

/// Words of data that a 64-byte store brings.
const WIDE_WORDS: usize = r::WIDE_WORDS as usize;
// As a mask it is that of the three bits that count them.
const _: () = assert!(WIDE_WORDS == 7);

/// Data that a Tag-On message takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    place: u32,
    bytes: u64,
    /// The SRAM is up to date: no lines are read from the cache (Reclaim).
    resident: bool,
}

/// A message as the queue holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub queue: QueueName,
    destination: u16,
    /// 37 bits: what was stored, and above it those of the address.
    word: u64,
    data: Data,
    name: MessageKey,
}

/// What goes along with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    None,
    /// A place of the SRAM.
    Tag(Tag),
    /// So many words that came with the store.
    Wide(usize, [u64; WIDE_WORDS]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The tagged data are read from the cache (Reclaim).
    Reading,
    /// The message is complete; the TxU must have room.
    Ready,
    /// It crosses the I-bus.
    Crossing,
}

/// How the address of a store into the windows is made up, from the least bit: two zeros, five bits of data,
/// the destination, and above it the queue, or what is tagged on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Bits of a logical destination.
    pub destination_bits: u32,
}

impl Window {
    /// Destinations are at least a page of addresses.
    pub fn new(sites: u32) -> Window {
        let page = chasqui_memory::PAGE_BYTES >> r::EXPRESS_DESTINATION_SHIFT;
        Window { destination_bits: u64::from(sites).next_power_of_two().max(page).ilog2() }
    }

    fn destination(self, offset: u64) -> u16 {
        (offset >> r::EXPRESS_DESTINATION_SHIFT & ((1 << self.destination_bits) - 1)) as u16
    }

    /// What lies above the destination.
    pub fn above(self, offset: u64) -> u64 {
        offset >> (r::EXPRESS_DESTINATION_SHIFT + u64::from(self.destination_bits))
    }

    /// Length of a window with `count` values above the destination.
    pub fn bytes(self, count: u64) -> u64 {
        count << (r::EXPRESS_DESTINATION_SHIFT + u64::from(self.destination_bits))
    }
}

fn word(offset: u64, value: u64) -> u64 {
    let extra = offset >> r::EXPRESS_EXTRA_SHIFT & ((1 << r::EXPRESS_EXTRA_BITS) - 1);
    value & u64::from(u32::MAX) | extra << 32
}

/// The fault of a store that finds no room.
pub(super) fn full(queue: QueueName) -> String {
    format!("a store into Express transmit queue {queue}, which is full")
}

/// The hardware's side of an Express transmit queue.
#[derive(Clone, Default)]
struct TransmitSlot {
    messages: VecDeque<Entry>,
    /// Messages that have left the queue.
    sent: u32,
}

/// The unit that empties the Express transmit queues, of a priority in turn.
pub(super) struct ExpressTransmitter {
    names: QueueNames,
    pub window: Window,
    /// Places of the SRAM for data to be tagged on, by process; then the sP's.
    pub places: Vec<Ring>,
    /// The resident queues', the sP's for others, and its own.
    slots: Vec<TransmitSlot>,
    messages_max: usize,
    /// Messages that have yet to cross the I-bus.
    pending: usize,
    state: State,
    reader: DmaReader,
    /// The message that is dealt with, with its slot, and its tagged data once they cross.
    current: Option<(usize, Entry)>,
    turns: JobTurns,
    tagged: Vec<u8>,
}

impl ExpressTransmitter {
    pub fn new(
        names: QueueNames,
        places: Vec<Ring>,
        window: Window,
        express: &Express,
        (slots, jobs): (usize, usize),
        line_bytes: u64,
    ) -> ExpressTransmitter {
        // What the sP itself sends has turns like a job's, where there are several.
        let parties = if jobs > 1 { jobs + 1 } else { 1 };
        let mut turns = JobTurns::new(slots + 2, parties);
        turns.begin(slots + 1, JobId(parties as u32 - 1));
        ExpressTransmitter {
            names,
            window,
            places,
            slots: vec![TransmitSlot::default(); slots + 2],
            messages_max: express.slots as usize,
            pending: 0,
            state: State::Idle,
            reader: DmaReader::new(|number| Owner::TagOn.tag(number), line_bytes),
            turns,
            current: None,
            tagged: Vec::new(),
        }
    }

    /// The slot through which the sP sends for others.
    pub fn served(&self) -> usize {
        self.slots.len() - 2
    }

    /// The sP's own slot.
    pub fn own(&self) -> usize {
        self.slots.len() - 1
    }

    /// The sP's message that is stored to OWN_SEND.
    pub fn own_entry(&self, value: u64) -> Entry {
        let long = value & sp::OWN_LONG != 0;
        let bytes = if long { r::TAG_LONG_BYTES } else { r::TAG_SHORT_BYTES };
        // Behind those of all processes. A command has brought the data, past the caches.
        let first = self.names.processes as u32 * self.places[0].slots;
        let place = first + (value >> sp::OWN_PLACE_SHIFT & 0xff) as u32;
        let is_tagged = value & sp::OWN_TAG != 0;
        Entry {
            queue: SP,
            destination: (value >> sp::OWN_DESTINATION_SHIFT) as u16,
            word: value & ((1 << sp::OWN_DESTINATION_SHIFT) - 1),
            data: if is_tagged { Data::Tag(Tag { place, bytes, resident: true }) } else { Data::None },
            name: None,
        }
    }

    /// There is room for that message, and the place that it names.
    pub fn may_own_send(&self, value: u64) -> bool {
        let place = value >> sp::OWN_PLACE_SHIFT & 0xff;
        self.messages(self.own()) < self.messages_max && place < u64::from(self.places[0].slots)
    }

    /// Messages that have left the queue in `slot`.
    pub fn sent_mut(&mut self, slot: usize) -> &mut u32 {
        &mut self.slots[slot].sent
    }

    /// Nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        (0..self.slots.len()).all(|slot| self.is_quiescent(slot))
    }

    /// Nothing of `slot` is left to be sent.
    pub fn is_quiescent(&self, slot: usize) -> bool {
        self.slots[slot].messages.is_empty() && self.current.is_none_or(|(current, _)| current != slot)
    }

    /// The message that a store into the Express window is; `name` is the MPI message's, for the records.
    pub fn express(&self, offset: u64, value: u64, name: MessageKey) -> Entry {
        let (queue, destination) = (self.window.above(offset) as QueueName, self.window.destination(offset));
        Entry { queue, destination, word: word(offset, value), data: Data::None, name }
    }

    /// The message that a 64-byte store into the Express window is; `name` as above. What an Express message has in
    /// data and address comes in the first word, and says how many of the others are its data.
    pub fn wide(&self, offset: u64, words: &[u64; 8], name: MessageKey) -> Entry {
        let (queue, destination) = (self.window.above(offset) as QueueName, self.window.destination(offset));
        let count = (words[0] >> r::WIDE_COUNT_SHIFT) as usize & WIDE_WORDS;
        let mut data = [0; WIDE_WORDS];
        data[..count].copy_from_slice(&words[1..=count]);
        let word = words[0] & ((1 << r::WIDE_COUNT_SHIFT) - 1);
        Entry { queue, destination, word, data: Data::Wide(count, data), name }
    }

    /// Messages in `slot`.
    pub fn messages(&self, slot: usize) -> usize {
        self.slots[slot].messages.len()
    }

    /// The sP may send one more message for others.
    pub fn may_launch(&self) -> bool {
        self.messages(self.served()) < self.messages_max
    }

    /// The message that a store into the Tag-On window is; `name` as above.
    pub fn tag_on(&self, offset: u64, value: u64, name: MessageKey) -> Entry {
        let above = self.window.above(offset);
        let bytes = if above & r::TAG_LONG != 0 { r::TAG_LONG_BYTES } else { r::TAG_SHORT_BYTES };
        let resident = above & r::TAG_RESIDENT != 0;
        let place = (above >> r::TAG_PLACE_SHIFT) as u32;
        let tag = Tag { place, bytes, resident };
        let destination = self.window.destination(offset);
        let queue = self.queue_of_tag(offset);
        Entry { queue, destination, word: word(offset, value), data: Data::Tag(tag), name }
    }

    /// The queue that a store into the Tag-On window names.
    pub fn queue_of_tag(&self, offset: u64) -> QueueName {
        let queue = self.window.above(offset) & (r::EXPRESS_QUEUES - 1);
        self.names.express(self.process_of_tag(offset), queue)
    }

    /// Whose place for data to be tagged on a store into the Tag-On window names.
    pub fn process_of_tag(&self, offset: u64) -> ProcessId {
        self.process_of_place((self.window.above(offset) >> r::TAG_PLACE_SHIFT) as u32)
    }

    /// Whose place for data to be tagged on it is: each process has as many.
    fn process_of_place(&self, place: u32) -> ProcessId {
        ProcessId(place / self.places[0].slots)
    }

    /// Physical address of a place for data to be tagged on.
    fn place(&self, place: u32) -> u64 {
        self.places[self.process_of_place(place).index()].slot(place)
    }

    /// `entry` goes into the queue in `slot`. There is room: who stores has seen to that.
    pub fn push(&mut self, slot: usize, entry: Entry, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.slots[slot].messages.push_back(entry);
        self.pending += 1;
        self.go_on(s, c);
    }

    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.pending > 0 {
            self.send(s, c);
        }
    }

    fn send(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Idle
            && let Some(slot) = self.next(s, |_| true)
        {
            self.begin(slot, s, c);
        }
        // A message that waits for the TxU lets one pass that need not, of the other priority or another job, and begins anew after it.
        if let (State::Ready, Some((slot, entry))) = (self.state, self.current)
            && !s.txu_has_room(entry.queue)
            && let Some(other) = self.next(s, |queue| s.txu_has_room(queue))
        {
            self.slots[slot].messages.push_front(entry);
            self.begin(other, s, c);
        }
        if self.state == State::Ready && self.current.is_some_and(|(_, entry)| s.txu_has_room(entry.queue)) {
            self.cross(s, c);
        }
    }

    /// The slot whose turn it is: in turn, of those of the highest priority whose oldest message is of a queue that `may` go.
    fn next(&self, s: &Shared, may: impl Fn(QueueName) -> bool) -> Option<usize> {
        // What the sP sends goes: it is the firmware that holds jobs up. So does what a queue has that leaves its slot, for
        // which the firmware waits.
        let goes = |slot, queue| {
            let may_be_held = slot < self.served() && s.homes.slot(queue).is_some();
            !may_be_held || !s.homes.sends_nothing(self.names.process(queue))
        };
        let all = 0..self.slots.len();
        let oldest = all.filter_map(|slot| Some((slot, self.slots[slot].messages.front()?.queue)));
        let ready = oldest.filter(|&(slot, queue)| goes(slot, queue) && may(queue));
        let until = |&(slot, queue): &(usize, QueueName)| {
            (Reverse(s.homes.priority(queue)), self.turns.until(slot, self.party(queue, s)))
        };
        ready.min_by_key(until).map(|(slot, _)| slot)
    }

    /// Whose turn it is that a message of `queue` goes in: a job's, or the sP's behind them.
    fn party(&self, queue: QueueName, s: &Shared) -> JobId {
        match queue {
            SP => JobId(self.turns.jobs() as u32 - 1),
            _ => s.homes.job_of_queue(queue),
        }
    }

    /// Turns to the oldest message of `slot`. Reclaim: the lines of its tagged data come over the bus.
    fn begin(&mut self, slot: usize, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.current = self.slots[slot].messages.pop_front().map(|entry| (slot, entry));
        if let Some((_, entry)) = self.current {
            self.turns.begin(slot, self.party(entry.queue, s));
        }
        self.state = State::Ready;
        let Some((_, Entry { data: Data::Tag(tag), .. })) = self.current else { return };
        if tag.resident || !s.reclaims() {
            return;
        }
        let (address, bytes) = (self.place(tag.place), tag.bytes.next_multiple_of(s.line_bytes));
        self.reader.read_physical(&[Piece { address, bytes }], c);
        self.state = State::Reading;
    }

    /// A line of the tagged data takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }

    pub fn line_read(&mut self, c: &mut Context<'_, '_>) {
        if let Some(lines) = self.reader.done(c) {
            self.tagged = lines;
            self.state = State::Ready;
        }
    }

    fn cross(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (_, entry) = self.current.expect("a message is dealt with");
        let mechanism = match entry.data {
            Data::None => {
                self.tagged.clear();
                Mechanism::Express
            }
            Data::Tag(tag) => {
                self.fetch_tag(tag, s, c);
                Mechanism::TagOn
            }
            Data::Wide(count, words) => {
                self.tagged = words[..count].iter().flat_map(|word| word.to_le_bytes()).collect();
                Mechanism::Store64
            }
        };
        accept(c, self.names.process(entry.queue), entry.name, mechanism);
        let bytes = r::EXPRESS_BYTES + self.tagged.len() as u64;
        let end = s.cross(c.now, s.nes.transmit.cycles(), bytes);
        self.state = State::Crossing;
        c.at(end, NesEvent::ExpressTransmitted.into());
    }

    /// Reads what is tagged on.
    fn fetch_tag(&mut self, tag: Tag, s: &Shared, c: &mut Context<'_, '_>) {
        self.tagged.resize(tag.bytes as usize, 0);
        // Else its lines came over the bus.
        if tag.resident || !s.reclaims() {
            c.read_unsnooped(self.process_of_place(tag.place), self.place(tag.place), &mut self.tagged);
        }
    }

    /// The message is in the TxU: it becomes a packet. Its slot.
    pub fn transmitted(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) -> usize {
        let (slot, entry) = self.current.take().expect("a message crosses");
        self.pending -= 1;
        self.state = State::Idle;
        match s.table.find(entry.queue, entry.destination) {
            _ if !s.homes.sends(entry.queue) => {}
            Ok(to) if !s.table.reaches(to) => {
                self.slots[slot].sent = self.slots[slot].sent.wrapping_add(1);
                s.counters.withheld += 1;
            }
            Ok(to) => {
                self.slots[slot].sent = self.slots[slot].sent.wrapping_add(1);
                let wide = matches!(entry.data, Data::Wide(..));
                match entry.queue {
                    SP => s.counters.own_sent += 1,
                    _ => s.counters.express_sent += 1,
                }
                s.counters.tagged_sent += u64::from(matches!(entry.data, Data::Tag(_)));
                s.counters.wide_sent += u64::from(wide);
                let length = r::EXPRESS_BYTES + self.tagged.len() as u64;
                let flag = |is_set: bool, flag: u64| if is_set { flag as u32 } else { 0 };
                let flags = flag(wide, PACKET_WIDE) | flag(entry.queue == SP, PACKET_OWN);
                let bytes =
                    packet_bytes(PACKET_EXPRESS, to, flags, [&entry.word.to_le_bytes(), &self.tagged]);
                push_packet(s, (entry.queue, to.site), bytes, length, entry.name);
            }
            // An answer to somebody whom system software has not connected.
            Err(_) if entry.queue == SP => self.slots[slot].sent = self.slots[slot].sent.wrapping_add(1),
            Err(text) => c.fault(self.names.process(entry.queue), text),
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_queue_destination_and_data() {
        let window = Window::new(100);
        assert_eq!(window.destination_bits, 7);
        let offset = 1 << 14 | 99 << 7 | 0x15 << 2;
        assert_eq!((window.above(offset), window.destination(offset)), (1, 99));
        assert_eq!(word(offset, 0xdead_beef), 0x15_dead_beef);
        assert_eq!(window.bytes(2), 2 << 14);
        // A page of addresses at least: windows are mapped by pages.
        assert_eq!(Window::new(2).bytes(1), chasqui_memory::PAGE_BYTES);
    }
}
