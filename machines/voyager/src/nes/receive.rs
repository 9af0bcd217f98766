//! Receiving: Basic messages into the receive rings, Express messages into their queues, blocks into memory ([`super::blocks`]);
//! what has no place there into the miss queue.

use std::collections::VecDeque;

use chasqui_engine::{Packet, Time};
use chasqui_ni::{BusOperation, BusRequest, Context, MessageKey, Ring, SlotQueue};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use super::aside::Awaits;
use super::blocks::{BlockReceiver, is_piece, of_block};
use super::inbox::{Inbox, OwnQueue, came, composed};
use super::missed::MissQueue;
use super::queues::{Homes, QueueName, SP};
use super::refusal;
use super::senders::{Flow, FromSender};
use super::tags::TagSlots;
use super::transmit::HEADER;
use super::{NesEvent, NesPlan, Owner, Rings, SLOT, Shared};
use crate::PRIORITIES;
use crate::registers::{EXPRESS_BYTES, VoyagerSlot};
use crate::service_registers::{
    PACKET_ABSENT, PACKET_DMA, PACKET_ENDED, PACKET_EXPRESS, PACKET_GO_ON, PACKET_NOTICE, PACKET_REFUSAL,
    PACKET_WAIT, PACKET_WIDE, VoyagerPacket,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The packet crosses the I-bus.
    Crossing,
    /// It has crossed, and waits for what is being written.
    Waiting,
}

/// What is known of the oldest packet of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Oldest {
    /// It has not crossed the I-bus.
    #[default]
    New,
    /// It has crossed and waits for room in its ring or queue, in the miss queue, or aside, since then.
    Full(Time),
    /// There may be room from then on.
    Again(Time),
}

/// What has come with one priority.
#[derive(Default)]
struct Lane {
    /// Packets that have landed, oldest first.
    landed: VecDeque<Box<Packet>>,
    oldest: Oldest,
}

impl Lane {
    fn has_work(&self) -> bool {
        !self.landed.is_empty() && !matches!(self.oldest, Oldest::Full(_))
    }
}

/// The unit that takes packets from the network.
pub(super) struct Receiver {
    rings: Rings,
    /// The hardware's sides of the resident Basic queues.
    slots: Vec<SlotQueue>,
    pub inbox: Inbox,
    /// What came tagged on, by process.
    pub tags: Vec<TagSlots>,
    /// What came for the sP itself.
    pub own: OwnQueue,
    /// By priority.
    lanes: [Lane; PRIORITIES],
    /// Packets that the firmware deals with.
    pub missed: MissQueue,
    state: State,
    blocks: BlockReceiver,
    /// Priority of the packet that is dealt with.
    current: usize,
    /// The packet has been dealt with before, and found no room.
    is_again: bool,
}

/// The slot as which a Basic message, packet or copy of one, lies in a ring.
pub(super) fn basic_slot(packet: &[u8]) -> Vec<u8> {
    let header = VoyagerPacket::from_bytes(packet);
    let slot = VoyagerSlot { node: header.source, bytes: header.bytes, flags: u32::from(header.flags) };
    let mut bytes = slot.to_bytes();
    bytes.extend_from_slice(&packet[HEADER..HEADER + usize::from(header.bytes)]);
    if u64::from(header.kind) == PACKET_NOTICE {
        refusal::hide_sender(&mut bytes[HEADER..]);
    }
    bytes
}

impl Receiver {
    /// `tags`: each process's ring of tagged data. `slots`: resident queues of Basic and of Express. Without a service
    /// processor nobody serves a miss queue, nor the sP's own.
    pub fn new(
        rings: Rings,
        tags: &[Ring],
        [basic_slots, express_slots]: [usize; 2],
        jobs: usize,
        plan: &NesPlan,
    ) -> Receiver {
        let of_service = |places: u64| if plan.processor.is_some() { places as usize } else { 0 };
        Receiver {
            rings,
            slots: vec![SlotQueue::new(rings.ring(0)); basic_slots],
            inbox: Inbox::new(tags.len(), &plan.express, express_slots),
            tags: tags.iter().map(|&ring| TagSlots::new(ring)).collect(),
            own: OwnQueue::new(of_service(plan.express.slots)),
            lanes: Default::default(),
            missed: MissQueue::new(jobs, of_service(plan.service.miss_slots)),
            state: State::Idle,
            blocks: BlockReceiver::new(jobs, plan),
            current: 0,
            is_again: false,
        }
    }

    /// The hardware's side of the resident queue in `slot`.
    pub fn slot_mut(&mut self, slot: usize) -> &mut SlotQueue {
        &mut self.slots[slot]
    }

    /// Basic queue `index` comes to `slot`.
    pub fn map(&mut self, slot: usize, index: usize) {
        self.slots[slot].ring = self.rings.ring(index);
    }

    pub fn landed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = s.link.landed();
        self.lanes[usize::from(packet.priority)].landed.push_back(packet);
        self.next(s, c);
    }

    /// Turns to the next packet that has landed: the oldest of the highest priority that does not wait for room.
    fn next(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state != State::Idle {
            return;
        }
        let Some(priority) = (0..PRIORITIES).rev().find(|&p| self.lanes[p].has_work()) else { return };
        self.current = priority;
        let control = s.nes.receive.cycles();
        let lane = &mut self.lanes[priority];
        self.is_again = matches!(lane.oldest, Oldest::Again(_));
        let end = match std::mem::take(&mut lane.oldest) {
            Oldest::Again(at) => s.clock.after(c.now.max(at), control),
            _ => {
                let packet = &lane.landed[0].bytes;
                // The RxU makes an Express message's header and data one word (section 3).
                let header = if is_express(packet) { HEADER } else { 0 };
                s.cross(c.now, control, (packet.len() - header) as u64)
            }
        };
        self.state = State::Crossing;
        c.at(end, NesEvent::Received.into());
    }

    /// The packet that is dealt with.
    fn packet(&self) -> &Packet {
        self.lanes[self.current].landed.front().expect("a packet is dealt with")
    }

    /// The packet that is dealt with leaves its lane.
    fn pop(&mut self) -> Box<Packet> {
        self.lanes[self.current].landed.pop_front().expect("a packet is dealt with")
    }

    /// The packet has crossed the I-bus: it goes to its queue, or to the miss queue (section 4.2).
    pub fn received(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.state = State::Waiting;
        self.go_on(s, c);
    }

    /// What has crossed goes on, and else what waits aside.
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Waiting && self.blocks.may_go(self.packet()) {
            self.take(s, c);
        }
        if self.state != State::Waiting {
            self.go_on_aside(s, c);
        }
    }

    /// The packet goes where it belongs.
    fn take(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let packet = self.packet();
        let queue = VoyagerPacket::from_bytes(&packet.bytes).queue;
        let (kind, source, process) =
            (u64::from(packet.bytes[0]), packet.source, s.homes.names.process(queue));
        if self.take_control(kind, source, queue, s) {
            self.pop();
            return self.finish(s, c);
        }
        // The table may lead to a queue that nobody has: then the memory is nobody's either, nor a message.
        let has_process = s.homes.all().contains(&queue);
        s.counters.dropped += u64::from(!has_process && queue != SP);
        let job = s.homes.job_of_queue(queue);
        let of_block = of_block(self.packet()).filter(|_| has_process);
        if let Some(what) = of_block
            && !self.is_again
        {
            self.blocks.came(job, source, what, s);
        }
        let packet = self.pop();
        let waits = of_block.is_some() && self.blocks.wait_aside(job);
        if kind == PACKET_REFUSAL {
            c.fault(process, refusal::text(&packet, &packet.bytes[HEADER..]));
        } else if waits {
            if let Err(packet) = self.blocks.put_aside(job, packet, s) {
                return self.hold(packet, s, c);
            }
        } else if !self.blocks.drops(&packet, s) && (has_process || queue == SP) {
            match kind {
                PACKET_DMA => self.blocks.place(job, packet, s, c),
                _ => {
                    if let Err(packet) = self.put(packet, s, c) {
                        return self.hold(packet, s, c);
                    }
                }
            }
        }
        self.finish(s, c);
    }

    /// A message goes into its queue, or the miss queue.
    ///
    /// # Errors
    /// There is no room: the packet.
    fn put(
        &mut self,
        packet: Box<Packet>,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Result<(), Box<Packet>> {
        let (queue, message) = (VoyagerPacket::from_bytes(&packet.bytes).queue, packet.message);
        if queue == SP {
            let (word, _) = express_parts(&packet.bytes);
            let source = VoyagerPacket::from_bytes(&packet.bytes).source;
            return self.own.push(word, source).then_some(()).ok_or(packet);
        }
        let is_delivered = s
            .homes
            .accepts(queue)
            .is_some_and(|slot| self.deliver((queue, slot), &packet.bytes, message, s, c));
        if !is_delivered {
            if !self.missed.has_room(usize::from(packet.priority)) {
                return Err(packet);
            }
            self.missed.put(packet, &s.homes);
            s.homes.divert(queue, message);
            s.counters.missed += 1;
        }
        c.stamp(s.homes.names.process(queue), message, Stage::Land, c.now);
        Ok(())
    }

    /// What the NES of site `source` tells this one, if the packet is that. The process, or job, that it names by its `queue` is
    /// the other site's: here there may be none of that number.
    fn take_control(&mut self, kind: u64, source: u32, queue: QueueName, s: &mut Shared) -> bool {
        let job = s.homes.job_of_queue(queue);
        match kind {
            PACKET_ABSENT => s.table.lose(source, s.homes.names.process(queue)),
            PACKET_WAIT => s.flow.set(source, job, Flow::Stop),
            PACKET_GO_ON => s.flow.set(source, job, Flow::Go),
            PACKET_ENDED => self.blocks.came(job, source, FromSender::Ended, s),
            _ => return false,
        }
        true
    }

    /// There is no room for the packet: it waits, and lets the other priority pass.
    fn hold(&mut self, packet: Box<Packet>, s: &mut Shared, c: &mut Context<'_, '_>) {
        let lane = &mut self.lanes[self.current];
        lane.landed.push_front(packet);
        lane.oldest = Oldest::Full(c.now);
        self.state = State::Idle;
        self.next(s, c);
    }

    /// Puts a message into the resident `queue` in `slot`; `name` is the MPI message's, for the records. False: there
    /// is no room.
    pub fn deliver(
        &mut self,
        (queue, slot): (QueueName, usize),
        packet: &[u8],
        name: MessageKey,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> bool {
        if is_express(packet) {
            return self.deliver_express((queue, slot), packet, name, s, c);
        }
        let slot = &mut self.slots[slot];
        if !slot.has_room() {
            return false;
        }
        c.write_unsnooped(slot.next(), &basic_slot(packet));
        slot.push();
        s.counters.received += 1;
        true
    }

    fn deliver_express(
        &mut self,
        (queue, slot): (QueueName, usize),
        packet: &[u8],
        name: MessageKey,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> bool {
        if !self.inbox.has_room(slot) {
            return false;
        }
        let Some(place) = self.deliver_tag(queue, packet, s, c) else { return false };
        let header = VoyagerPacket::from_bytes(packet);
        let (word, tagged) = express_parts(packet);
        let came = came(u64::from(header.flags) & PACKET_WIDE != 0, tagged.len() as u64);
        let message = composed(word, header.source, s.homes.names.own(queue), came, place);
        self.inbox.push(slot, message, name);
        s.counters.express_received += 1;
        true
    }

    /// Puts what was tagged on to a message of Express queue `queue`, if anything, into a slot of the queue: which. None:
    /// all are taken.
    pub fn deliver_tag(
        &mut self,
        queue: QueueName,
        packet: &[u8],
        s: &Shared,
        c: &mut Context<'_, '_>,
    ) -> Option<u32> {
        let (_, tagged) = express_parts(packet);
        if tagged.is_empty() {
            return Some(0);
        }
        let names = s.homes.names;
        let tags = &mut self.tags[names.process(queue).index()];
        let slot = tags.free(names.own(queue).into())?;
        c.write_unsnooped(tags.ring.slot(slot), tagged);
        tags.hold(slot);
        Some(slot)
    }

    /// A packet has been dealt with: its place in the receive buffer is free.
    fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        s.link.release(self.current as u8, c);
        self.state = State::Idle;
        self.next(s, c);
    }

    /// The processor is done with the slots of the Basic queue in `slot` before `consumer`.
    ///
    /// # Errors
    /// They have not been filled: what is wrong, in words.
    pub fn release(
        &mut self,
        slot: usize,
        consumer: u32,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Result<(), String> {
        let queue = &mut self.slots[slot];
        let before = *queue;
        queue.release("receive consumer", consumer)?;
        for pointer in 0..consumer.wrapping_sub(before.consumer) {
            reclaim(before.ring.slot(before.consumer.wrapping_add(pointer)), s, c);
        }
        self.retry(0, s, c);
        Ok(())
    }

    /// Process `process` is done with `slot` of its tagged data: the Express queue whose that was.
    ///
    /// # Errors
    /// Nothing is there: what is wrong, in words.
    pub fn release_tag(
        &mut self,
        process: ProcessId,
        slot: u32,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Result<QueueName, String> {
        let tags = &mut self.tags[process.index()];
        tags.release(slot)?;
        let (address, queue) = (tags.ring.slot(slot), tags.queue(slot));
        reclaim(address, s, c);
        self.retry(0, s, c);
        Ok(s.homes.names.express(process, queue))
    }

    /// The resident queue in `slot` has a message.
    pub fn has_message(&self, name: QueueName, slot: usize, homes: &Homes) -> bool {
        let is_basic = homes.names.is_basic(name);
        if is_basic { !self.slots[slot].is_empty() } else { self.inbox.has_message(slot) }
    }

    /// A load takes an Express message. Its place is free when the load's transaction is over, `cycles` from now.
    pub fn taken(&mut self, cycles: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.retry(cycles, s, c);
    }

    /// The firmware is done with the packet of the miss queue that it sees.
    pub fn pop_missed(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.missed.pop();
        self.retry(0, s, c);
    }

    /// A process is over: nobody need wait for room in its queues.
    pub fn close(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.retry(0, s, c);
    }

    /// There may be room for the packets that wait: in `cycles` they are tried again.
    fn retry(&mut self, cycles: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        let at = s.clock.after(c.now, cycles);
        self.retry_lanes(at, s, c);
        let looked_at = s.clock.after(at, s.nes.receive.cycles());
        self.blocks.retry(looked_at, s, c);
        self.next(s, c);
    }

    /// The same, of packets that have not left the receive buffer, from `at` on.
    fn retry_lanes(&mut self, at: Time, s: &mut Shared, c: &Context<'_, '_>) {
        for lane in &mut self.lanes {
            if let Oldest::Full(since) = lane.oldest {
                s.counters.ring_full_ps += (c.now - since).0;
                lane.oldest = Oldest::Again(at);
            }
        }
    }

    /// A packet waits for room in its ring or queue.
    pub fn is_full(&self) -> bool {
        self.lanes.iter().any(|lane| matches!(lane.oldest, Oldest::Full(_))) || self.blocks.is_full()
    }

    // --- blocks ---------------------------------------------------------------------------------

    /// Line `number` of a piece takes its place in the order of the bus.
    pub fn granted(&self, number: usize, c: &mut Context<'_, '_>) {
        self.blocks.granted(number, c);
    }

    /// Line `number` of a piece is in memory.
    pub fn line_written(&mut self, number: usize, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.blocks.line_written(number, c) {
            self.go_on(s, c);
        }
    }

    /// What waits aside goes on, as far as pages, writers and room are there.
    fn go_on_aside(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        while let Some((job, packet)) = self.blocks.next_aside(c.now) {
            let done = if self.blocks.drops(&packet, s) {
                Ok(())
            } else if is_piece(&packet) {
                self.blocks.go_on(packet, s, c)
            } else {
                self.put(packet, s, c).map_err(|packet| (packet, Awaits::Room(c.now)))
            };
            match done {
                Ok(()) => {
                    self.blocks.has_left(job, s);
                    self.retry_lanes(c.now, s, c);
                }
                Err((packet, awaits)) => self.blocks.put_back(job, packet, awaits),
            }
        }
        self.next(s, c);
    }
}

fn is_express(packet: &[u8]) -> bool {
    u64::from(packet[0]) == PACKET_EXPRESS
}

/// An Express message's 37 bits, and what was tagged on to it.
fn express_parts(packet: &[u8]) -> (u64, &[u8]) {
    let length = usize::from(VoyagerPacket::from_bytes(packet).bytes);
    let (word, tagged) = packet[HEADER..HEADER + length].split_at(EXPRESS_BYTES as usize);
    (u64::from_le_bytes(word.try_into().expect("eight bytes")), tagged)
}

/// Software is done with the slot at `address`. Reclaim: its lines are dropped from the cache.
fn reclaim(address: u64, s: &Shared, c: &mut Context<'_, '_>) {
    if !s.reclaims() {
        return;
    }
    for address in (address..address + SLOT).step_by(s.line_bytes as usize) {
        let (bytes, tag) = (s.line_bytes as u32, Owner::Reclaim.tag(0));
        c.bus(BusRequest { operation: BusOperation::Invalidate, address, bytes, tag });
    }
}
