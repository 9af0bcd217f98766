//! Sending Express and Tag-On messages (sections 5.1 and 5.2). One uncached store is a message: its address
//! says which queue, to whom and five bits of data, for Tag-On also which place of the SRAM goes along.

use std::collections::VecDeque;

use chasqui_ni::{BusOperation, BusRequest, Context};

use super::table::express_row;
use super::transmit::{KIND_EXPRESS, packet_bytes, push_packet};
use super::{Mechanism, Name, NesEvent, Owner, Ring, Shared, accept, carried};
use crate::parameters::Express;
use crate::registers as r;

const QUEUES: usize = r::EXPRESS_QUEUES as usize;

// `network.packet_max` is checked against a Basic slot's data: no Tag-On packet is longer.
const _: () = assert!(r::EXPRESS_BYTES + r::TAG_LONG_BYTES <= r::SLOT_DATA_BYTES);

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
struct Entry {
    queue: usize,
    destination: u16,
    /// 37 bits: what was stored, and above it those of the address.
    word: u64,
    tag: Option<Tag>,
    name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Lines of the tagged data still to be read from the cache (Reclaim).
    Reading(u32),
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
    fn above(self, offset: u64) -> u64 {
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

/// The unit that empties the Express transmit queues; of several that have messages the first goes first.
pub(super) struct ExpressTransmitter {
    pub window: Window,
    /// Places of the SRAM for data to be tagged on.
    pub places: Ring,
    queues: [VecDeque<Entry>; QUEUES],
    /// Messages that have left each queue.
    pub sent: [u32; QUEUES],
    slots: usize,
    state: State,
    /// The message that is dealt with, and its tagged data once they cross.
    current: Option<Entry>,
    tagged: Vec<u8>,
}

impl ExpressTransmitter {
    pub fn new(places: Ring, window: Window, express: &Express) -> ExpressTransmitter {
        ExpressTransmitter {
            window,
            places,
            queues: Default::default(),
            sent: [0; QUEUES],
            slots: express.slots as usize,
            state: State::Idle,
            current: None,
            tagged: Vec::new(),
        }
    }

    /// A store into the Express window.
    pub fn express(&mut self, offset: u64, value: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        let queue = self.window.above(offset) as usize;
        let destination = self.window.destination(offset);
        let entry = Entry { queue, destination, word: word(offset, value), tag: None, name: carried(c) };
        self.push(entry, s, c);
    }

    /// A store into the Tag-On window.
    pub fn tag_on(&mut self, offset: u64, value: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        let above = self.window.above(offset);
        let bytes = if above & r::TAG_LONG != 0 { r::TAG_LONG_BYTES } else { r::TAG_SHORT_BYTES };
        let resident = above & r::TAG_RESIDENT != 0;
        let tag = Tag { place: (above >> r::TAG_PLACE_SHIFT) as u32, bytes, resident };
        let destination = self.window.destination(offset);
        let word = word(offset, value);
        self.push(Entry { queue: 0, destination, word, tag: Some(tag), name: carried(c) }, s, c);
    }

    fn push(&mut self, entry: Entry, s: &mut Shared, c: &mut Context<'_, '_>) {
        let queue = &mut self.queues[entry.queue];
        if queue.len() == self.slots {
            c.wishes.fault =
                Some(format!("a store into Express transmit queue {}, which is full", entry.queue));
            return;
        }
        queue.push_back(entry);
        self.go_on(s, c);
    }

    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Idle
            && let Some(queue) = self.queues.iter_mut().find(|queue| !queue.is_empty())
        {
            self.current = queue.pop_front();
            self.begin(s, c);
        }
        if self.state == State::Ready && s.txu_has_room() {
            self.cross(s, c);
        }
    }

    /// Turns to the next message. Reclaim: the lines of its tagged data come over the bus.
    fn begin(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.state = State::Ready;
        let Some(tag) = self.current.and_then(|entry| entry.tag) else { return };
        if tag.resident || !s.reclaims() {
            return;
        }
        let place = self.places.slot(tag.place);
        let lines = tag.bytes.div_ceil(s.line_bytes);
        for i in 0..lines {
            c.bus(BusRequest {
                operation: BusOperation::Read,
                address: place + i * s.line_bytes,
                bytes: s.line_bytes as u32,
                tag: Owner::TagOn.tag(),
            });
        }
        self.state = State::Reading(lines as u32);
    }

    pub fn line_read(&mut self) {
        let State::Reading(left) = self.state else { unreachable!("a line for nobody") };
        self.state = if left == 1 { State::Ready } else { State::Reading(left - 1) };
    }

    fn cross(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let entry = self.current.expect("a message is dealt with");
        self.tagged.clear();
        if let Some(tag) = entry.tag {
            let place = self.places.slot(tag.place);
            self.tagged.resize(tag.bytes as usize, 0);
            if s.reclaims() && !tag.resident {
                // The lines came over the bus.
                let bytes = c.memory.slice(place, tag.bytes as usize).expect("the places are in SRAM");
                self.tagged.copy_from_slice(bytes);
            } else {
                c.read_unsnooped(place, &mut self.tagged);
            }
        }
        let mechanism = if entry.tag.is_some() { Mechanism::TagOn } else { Mechanism::Express };
        accept(c, entry.name, mechanism);
        let bytes = r::EXPRESS_BYTES + self.tagged.len() as u64;
        let end = s.cross(c.now, s.nes.transmit.cycles(), bytes);
        self.state = State::Crossing;
        c.at(end, NesEvent::ExpressTransmitted.into());
    }

    /// The message is in the TxU: it becomes a packet.
    pub fn transmitted(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let entry = self.current.take().expect("a message crosses");
        self.state = State::Idle;
        let row = express_row(entry.queue);
        let Some(to) = s.table.find(row, entry.destination) else {
            c.wishes.fault = Some(format!(
                "protection: transmit queue {row} has no destination {} in the NES's table",
                entry.destination
            ));
            return;
        };
        self.sent[entry.queue] = self.sent[entry.queue].wrapping_add(1);
        s.counters.express_sent += 1;
        s.counters.tagged_sent += u64::from(entry.tag.is_some());
        let mut data = entry.word.to_le_bytes().to_vec();
        data.extend_from_slice(&self.tagged);
        let bytes = packet_bytes(KIND_EXPRESS, to.source, u32::from(to.queue), &data);
        push_packet(s, to.site, bytes, data.len() as u64, entry.name);
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
