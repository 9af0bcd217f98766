//! Receiving: Basic messages into the receive ring, Express messages into their queues, DMA data into memory.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{BusOperation, BusRequest, Context};
use chasqui_record::{MessageId, Stage};

use super::inbox::{Found, Inbox, composed};
use super::transmit::{HEADER, KIND_DMA, KIND_EXPRESS};
use super::{NesEvent, Owner, Ring, SLOT, Shared, stamp};
use crate::registers::{EXPRESS_BYTES, TAG_LONG_BYTES, VoyagerSlot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The packet crosses the I-bus.
    Crossing,
    /// It waits for room in its ring or queue since then.
    Full(Time),
    /// Its pages are brought in.
    Paging,
    /// So many lines of it are still to be written.
    Writing(u32),
}

/// The unit that takes packets from the network.
pub(super) struct Receiver {
    pub ring: Ring,
    pub producer: u32,
    consumer: u32,
    pub inbox: Inbox,
    /// Packets in the receive buffer, oldest first; those that have landed are at the front.
    pub arriving: VecDeque<Box<Packet>>,
    landed: usize,
    state: State,
    page_in_cycles: u64,
}

impl Receiver {
    pub fn new(ring: Ring, inbox: Inbox, page_in_cycles: u64) -> Receiver {
        Receiver {
            ring,
            producer: 0,
            consumer: 0,
            inbox,
            arriving: VecDeque::new(),
            landed: 0,
            state: State::Idle,
            page_in_cycles,
        }
    }

    pub fn landed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.landed += 1;
        self.next(s, c);
    }

    /// Turns to the next packet that has landed.
    fn next(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle || self.landed == 0 {
            return;
        }
        let packet = self.arriving.front().expect("a packet has landed");
        // The RxU makes an Express message's header and data one word (section 3).
        let header = if packet.bytes[0] == KIND_EXPRESS { HEADER } else { 0 };
        let end = s.cross(c.now, s.nes.receive.cycles(), (packet.bytes.len() - header) as u64);
        self.state = State::Crossing;
        c.at(end, NesEvent::Received.into());
    }

    /// The oldest packet has crossed the I-bus.
    pub fn received(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.arriving.front().expect("a packet crosses");
        let (kind, queue) = (packet.bytes[0], usize::from(packet.bytes[1]));
        let tagged = packet.bytes.len() > HEADER + EXPRESS_BYTES as usize;
        let express = kind == KIND_EXPRESS;
        let full = if express {
            !self.inbox.has_room(queue, tagged)
        } else {
            self.producer.wrapping_sub(self.consumer) == self.ring.slots
        };
        if kind == KIND_DMA {
            self.place(s, c);
        } else if full {
            self.state = State::Full(c.now);
        } else if express {
            self.deliver(queue, s, c);
        } else {
            self.enqueue(s, c);
        }
    }

    /// Writes the oldest packet into the next slot.
    fn enqueue(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.arriving.front().expect("a packet to enqueue");
        let data = &packet.bytes[HEADER..];
        let header = VoyagerSlot {
            node: u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]),
            bytes: data.len() as u16,
            flags: u32::from(packet.bytes[1]),
        };
        let mut slot = header.to_bytes();
        slot.extend_from_slice(data);
        c.write_unsnooped(self.ring.slot(self.producer), &slot);
        self.producer = self.producer.wrapping_add(1);
        s.counters.received += 1;
        self.finish(s, c);
    }

    /// Puts the oldest packet, an Express message, into its queue, and what was tagged on into the ring.
    fn deliver(&mut self, queue: usize, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.arriving.front().expect("a packet to deliver");
        let (word, tagged) = packet.bytes[HEADER..].split_at(EXPRESS_BYTES as usize);
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let source = u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]);
        let inbox = &mut self.inbox;
        if !tagged.is_empty() {
            c.write_unsnooped(inbox.tags.slot(inbox.tag_producer), tagged);
            inbox.tag_producer = inbox.tag_producer.wrapping_add(1);
        }
        let tag = match tagged.len() as u64 {
            0 => 0,
            TAG_LONG_BYTES => 2,
            _ => 1,
        };
        inbox.push(queue, composed(word, source, queue as u64, tag), packet.message);
        s.counters.express_received += 1;
        self.finish(s, c);
    }

    /// The oldest packet is dealt with: its place in the receive buffer is free.
    fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.arriving.pop_front().expect("a packet to finish");
        stamp(c, packet.message, Stage::Land, c.now);
        self.landed -= 1;
        s.port.release(c.now, packet.priority, c.out);
        self.state = State::Idle;
        self.next(s, c);
    }

    /// The processor is done with the slots before `consumer`.
    pub fn release(&mut self, consumer: u32, s: &mut Shared, c: &mut Context<'_, '_>) {
        if s.reclaims() {
            reclaim(&self.ring, self.consumer, consumer, s, c);
        }
        self.consumer = consumer;
        self.retry(0, s, c);
    }

    /// The processor is done with the tagged data before `consumer`.
    pub fn release_tags(&mut self, consumer: u32, s: &mut Shared, c: &mut Context<'_, '_>) {
        if s.reclaims() {
            reclaim(&self.inbox.tags, self.inbox.tag_consumer, consumer, s, c);
        }
        self.inbox.tag_consumer = consumer;
        self.retry(0, s, c);
    }

    /// The processor reads the page of Express queues. The place of a message is free when the load's
    /// transaction is over, `cycles` from now.
    pub fn read(
        &mut self,
        offset: u64,
        bytes: u32,
        cycles: u64,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Found {
        let found = self.inbox.read(offset, bytes, (self.producer, self.consumer));
        if found.took {
            c.recorder.take(found.name.map(|(source, sequence)| MessageId { source, sequence }));
            self.retry(cycles, s, c);
        }
        found
    }

    /// There may be room for the packet that waits: in `cycles` it is tried again.
    fn retry(&mut self, cycles: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        if let State::Full(since) = self.state {
            s.counters.ring_full_ps += (c.now - since).0;
            self.state = State::Crossing;
            c.at(s.clock.after(c.now, cycles + s.nes.receive.cycles()), NesEvent::Received.into());
        }
    }

    /// `event` may be the one after which a packet leaves the receive buffer.
    pub fn may_finish(&self, event: NesEvent) -> bool {
        matches!(event, NesEvent::Received | NesEvent::PagesIn)
    }

    /// A packet waits for room in its ring or queue.
    pub fn is_full(&self) -> bool {
        matches!(self.state, State::Full(_))
    }

    // --- DMA data -------------------------------------------------------------------------------

    /// Destination of the oldest packet, a piece of a block: virtual address and data.
    fn piece(&self) -> (u64, &[u8]) {
        let data = &self.arriving.front().expect("a piece").bytes[HEADER..];
        let address = u64::from_le_bytes(data[..8].try_into().expect("eight bytes"));
        (address, &data[8..])
    }

    /// Writes the oldest packet to memory, once its pages are there.
    fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (address, data) = self.piece();
        let end = address + data.len() as u64;
        let mut missing = 0;
        let mut page = address & !(PAGE_BYTES - 1);
        while page < end {
            if c.physical(page.max(address)).is_none() {
                missing += 1;
                if !c.page_in(page.max(address), true) {
                    c.wishes.fault =
                        Some(format!("the NES was told to write to {address:#x}, which is not mapped"));
                }
            }
            page += PAGE_BYTES;
        }
        if missing > 0 {
            s.counters.pages_in += missing;
            self.state = State::Paging;
            let end = s.clock.after(c.now, missing * self.page_in_cycles);
            c.at(end, NesEvent::PagesIn.into());
        } else {
            self.write(s, c);
        }
    }

    pub fn pages_in(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.write(s, c);
    }

    fn write(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (address, data) = self.piece();
        let mut lines = 0;
        let mut done = 0;
        while done < data.len() as u64 {
            let at = address + done;
            let room = (s.line_bytes - at % s.line_bytes).min(data.len() as u64 - done);
            if let Some(physical) = c.physical(at) {
                c.bus(BusRequest {
                    operation: BusOperation::Write,
                    address: physical,
                    bytes: room as u32,
                    tag: Owner::DmaWrite.tag(),
                });
                lines += 1;
            }
            done += room;
        }
        self.state = State::Writing(lines);
        if lines == 0 {
            self.finish(s, c);
        }
    }

    /// A line of the oldest packet takes its place in memory.
    pub fn write_granted(&mut self, request: BusRequest, c: &mut Context<'_, '_>) {
        let (address, data) = self.piece();
        let data = data.to_vec();
        let mut done = 0;
        while done < data.len() {
            let at = address + done as u64;
            let room = (request.bytes as usize).min(data.len() - done);
            if c.physical(at) == Some(request.address) {
                let part = &data[done..done + room];
                c.memory.slice_mut(request.address, room).expect("a mapped page").copy_from_slice(part);
                return;
            }
            done += 1;
        }
    }

    pub fn line_written(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let State::Writing(left) = self.state else { unreachable!("a line for nobody") };
        self.state = State::Writing(left - 1);
        if left == 1 {
            self.finish(s, c);
        }
    }
}

/// Drops the lines of freed slots, from `consumed` to `consumer`, from the processor's cache (Reclaim).
fn reclaim(ring: &Ring, consumed: u32, consumer: u32, s: &Shared, c: &mut Context<'_, '_>) {
    let freed = consumer.wrapping_sub(consumed).min(ring.slots);
    for i in 0..freed {
        let slot = ring.slot(consumed.wrapping_add(i));
        for line in (slot..slot + SLOT).step_by(s.line_bytes as usize) {
            c.bus(BusRequest {
                operation: BusOperation::Invalidate,
                address: line,
                bytes: s.line_bytes as u32,
                tag: Owner::Reclaim.tag(),
            });
        }
    }
}
