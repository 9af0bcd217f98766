//! The service processor's own queue (section 3): it sends and receives as processes do, but by registers of its own. What
//! it tags on lies in places of the SRAM, where a command brings it from a process's memory (section 5.2).

use std::collections::VecDeque;

use chasqui_ni::{BusRequest, Context, DmaReader, Ring};
use chasqui_placement::ProcessId;

use super::inbox::composed;
use super::queues::QueueName;
use super::{Nes, NesEvent, Owner};
use crate::registers as r;
use crate::service_registers as sp;

/// The queue's name at every site.
pub(super) const SP: QueueName = r::SP_QUEUE as QueueName;

/// What has come for it.
pub(super) struct OwnQueue {
    messages: VecDeque<u64>,
    /// 0: there is no sP.
    messages_max: usize,
}

impl OwnQueue {
    pub fn new(messages_max: usize) -> OwnQueue {
        OwnQueue { messages: VecDeque::new(), messages_max }
    }

    /// A message of 37 bits `word` from `source`. False: there is no room.
    pub fn push(&mut self, word: u64, source: u16) -> bool {
        let has_room = self.messages.len() < self.messages_max;
        if has_room {
            self.messages.push_back(composed(word, source, 0, r::CAME_ALONE, 0));
        }
        // Without an sP nobody ever takes it.
        has_room || self.messages_max == 0
    }

    pub fn has_message(&self) -> bool {
        !self.messages.is_empty()
    }

    pub fn pop(&mut self) -> u64 {
        self.messages.pop_front().unwrap_or(r::EXPRESS_EMPTY)
    }
}

/// What is fetched from a process's memory.
pub(super) struct Fetch {
    place: u64,
    from: (ProcessId, u64),
    bytes: u64,
    /// It has been read.
    data: Option<Vec<u8>>,
}

/// The unit that fetches.
pub(super) struct Fetcher {
    pub places: Ring,
    reader: DmaReader,
    fetch: Option<Fetch>,
}

impl Fetcher {
    pub fn new(places: Ring, line_bytes: u64) -> Fetcher {
        Fetcher { places, reader: DmaReader::new(|number| Owner::Fetch.tag(number), line_bytes), fetch: None }
    }

    /// A line takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }
}

impl Nes {
    /// `value`, a COMMAND_FETCH, names a place, and a destination that leads to a process.
    pub(super) fn may_fetch(&self, value: u64) -> bool {
        (value >> sp::FETCH_PLACE_SHIFT & 0xff) < u64::from(self.fetcher.places.slots)
    }

    /// The firmware has lines fetched: control.
    pub(super) fn fetch(&mut self, c: &mut Context<'_, '_>, value: u64) {
        let address = self.service_mut().address;
        let cycles = self.service_mut().parameters.command.cycles();
        let names = self.shared.homes.names;
        let to = self.shared.table.find(SP, (value >> 32) as u16);
        let process = to.ok().map(|to| names.process(to.queue)).filter(|p| p.index() < names.processes);
        let Some(process) = process else {
            self.service_mut().result = Some(0);
            return;
        };
        let place = self.fetcher.places.slot((value >> sp::FETCH_PLACE_SHIFT & 0xff) as u32);
        let bytes = if value & sp::FETCH_LONG != 0 { r::TAG_LONG_BYTES } else { r::TAG_SHORT_BYTES };
        self.fetcher.fetch = Some(Fetch { place, from: (process, address), bytes, data: None });
        c.at(self.shared.clock.after(c.now, cycles), NesEvent::Fetched.into());
    }

    /// Control is over: lines are read over the bus. Or they have crossed the I-bus into the SRAM.
    pub(super) fn fetched(&mut self, c: &mut Context<'_, '_>) {
        let fetch = self.fetcher.fetch.as_mut().expect("something is fetched");
        let result = match &fetch.data {
            Some(data) => {
                c.write_unsnooped(fetch.place, data);
                1
            }
            None if self.fetcher.reader.read(fetch.from, fetch.bytes, c) == Ok(true) => return,
            None => 0,
        };
        self.fetcher.fetch = None;
        self.service_mut().result = Some(result);
    }

    /// A line has been read.
    pub(super) fn fetched_line(&mut self, c: &mut Context<'_, '_>) {
        let Some(data) = self.fetcher.reader.done() else { return };
        let end = self.shared.cross(c.now, 0, data.len() as u64);
        self.fetcher.fetch.as_mut().expect("something is fetched").data = Some(data);
        c.at(end, NesEvent::Fetched.into());
    }

    /// The firmware's message `value` has room, and a place if something is tagged on.
    pub(super) fn may_own_send(&self, value: u64) -> bool {
        let place = value >> sp::OWN_PLACE_SHIFT & 0xff;
        self.express.has_room(self.express.own())
            && (value & sp::OWN_TAG == 0 || place < u64::from(self.fetcher.places.slots))
    }

    /// The firmware sends a message by its own queue.
    pub(super) fn own_send(&mut self, c: &mut Context<'_, '_>, value: u64) {
        let word = value & ((1 << sp::OWN_DESTINATION_SHIFT) - 1);
        let destination = (value >> sp::OWN_DESTINATION_SHIFT) as u16;
        let long = value & sp::OWN_LONG != 0;
        let place = (value & sp::OWN_TAG != 0).then_some((value >> sp::OWN_PLACE_SHIFT & 0xff) as u32);
        let entry = self.express.own_entry(word, destination, place.map(|place| (place, long)));
        self.express.push(self.express.own(), entry, &mut self.shared, c);
    }

    /// The firmware takes a message of its own queue.
    pub(super) fn own_take(&mut self, c: &mut Context<'_, '_>) -> u64 {
        let message = self.receiver.own.pop();
        self.receiver.taken(0, &mut self.shared, c);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_while_there_is_room() {
        let mut own = OwnQueue::new(2);
        assert!(own.push(5, 3) && own.push(6, 3) && !own.push(7, 3));
        assert_eq!(own.pop(), composed(5, 3, 0, r::CAME_ALONE, 0));
        assert!(own.has_message() && own.push(7, 3));
        assert_eq!([own.pop(), own.pop(), own.pop()].map(|m| m & 0xff), [6, 7, 0]);
        assert!(OwnQueue::new(0).push(1, 0), "nobody is there");
    }
}
