//! Sending from the Basic transmit rings.

use std::cmp::Reverse;

use chasqui_abi::Envelope;
use chasqui_abi::header::Bytes;
use chasqui_engine::Packet;
use chasqui_ni::{BusRequest, Context, DmaReader, MessageKey, Piece, SlotQueue};
use chasqui_placement::JobId;

use super::queues::{QueueName, QueueNames};
use super::table::Destination;
use super::turns::JobTurns;
use super::{Mechanism, NesEvent, Owner, Rings, SLOT, Shared, accept};
use crate::registers::{self, VoyagerSlot};
use crate::service_registers::{PACKET_BASIC, VoyagerPacket};

/// Bytes of a slot's header.
pub(super) const HEADER: usize = size_of::<VoyagerSlot>();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The slot is read over the bus.
    Reading,
    /// The slot is ready; the TxU must have room.
    Ready,
    /// The message crosses the I-bus.
    Crossing,
}

/// The hardware's side of a transmit queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransmitSlot {
    /// The queue that is resident here.
    queue: Option<QueueName>,
    pub ring: SlotQueue,
    /// The MPI message that the latest slots belong to, for the records.
    message: MessageKey,
}

impl TransmitSlot {
    fn has_work(&self) -> bool {
        self.queue.is_some() && !self.ring.is_empty()
    }
}

/// The unit that empties the transmit rings, in turn.
pub(super) struct Transmitter {
    names: QueueNames,
    rings: Rings,
    /// The resident queues', and the sP's, through which it sends for others.
    slots: Vec<TransmitSlot>,
    /// The slot that is dealt with, or was last.
    current: usize,
    turns: JobTurns,
    /// Slots may have changed since it last looked for one that has work.
    must_look: bool,
    state: State,
    reader: DmaReader,
    /// The slot, if it was read over the bus.
    fetched: Vec<u8>,
    /// The message that crosses the I-bus, and its queue, which may leave its slot meanwhile.
    crossing: Option<(QueueName, VoyagerSlot, Vec<u8>)>,
}

impl Transmitter {
    pub fn new(names: QueueNames, rings: Rings, slots: usize, jobs: usize, line_bytes: u64) -> Transmitter {
        let empty = TransmitSlot { queue: None, ring: SlotQueue::new(rings.ring(0)), message: None };
        Transmitter {
            names,
            rings,
            slots: vec![empty; slots + 1],
            current: 0,
            turns: JobTurns::new(slots + 1, jobs),
            must_look: true,
            state: State::Idle,
            reader: DmaReader::new(|number| Owner::Transmit.tag(number), line_bytes),
            fetched: vec![],
            crossing: None,
        }
    }

    /// The sP's slot.
    fn served(&self) -> usize {
        self.slots.len() - 1
    }

    /// The hardware's side of the resident queue in `slot`.
    pub fn slot_mut(&mut self, slot: usize) -> &mut TransmitSlot {
        self.must_look = true;
        &mut self.slots[slot]
    }

    /// The process has composed the slots before `producer` of the queue in `slot`.
    ///
    /// # Errors
    /// Its ring has not so many: what is wrong, in words.
    pub fn post(&mut self, slot: usize, producer: u32) -> Result<(), String> {
        self.slot_mut(slot).ring.post("transmit producer", producer)
    }

    /// `queue` comes to `slot`, or the queue there leaves it. What has not begun to cross does not.
    pub fn map(&mut self, slot: usize, queue: Option<QueueName>) {
        self.must_look = true;
        self.slots[slot].queue = queue;
        if let Some(index) = queue.and_then(|queue| self.names.basic_index(queue)) {
            self.slots[slot].ring.ring = self.rings.ring(index);
        }
        if self.current == slot && self.state == State::Ready {
            self.state = State::Idle;
        }
    }

    /// What may go may have changed.
    pub fn look_again(&mut self) {
        self.must_look = true;
    }

    /// Nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.state == State::Idle && !self.slots.iter().any(TransmitSlot::has_work)
    }

    /// Nothing of `slot` is under way.
    pub fn is_quiescent(&self, slot: usize) -> bool {
        self.current != slot || self.state == State::Idle
    }

    /// The sP sends the message in slot `index` of `queue`.
    pub fn launch(&mut self, queue: QueueName, index: u32) {
        self.must_look = true;
        let served = self.served();
        let basic = self.names.basic_index(queue).unwrap_or(0);
        self.slots[served] = TransmitSlot {
            queue: Some(queue),
            ring: SlotQueue {
                ring: self.rings.ring(basic),
                producer: index.wrapping_add(1),
                consumer: index,
            },
            message: None,
        };
    }

    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.must_look || self.state != State::Idle {
            self.send(s, c);
        }
    }

    fn send(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if self.state == State::Idle {
            match self.next(s, |_| true) {
                Some(slot) => self.begin(slot, s, c),
                None => self.must_look = false,
            }
        }
        // A slot that waits for the TxU lets one pass that need not, of the other priority or another job, and begins anew after it.
        if self.state == State::Ready
            && !self.has_room(self.current, s)
            && let Some(slot) = self.next(s, |slot| self.has_room(slot, s))
        {
            self.begin(slot, s, c);
        }
        if self.state == State::Ready && self.has_room(self.current, s) {
            self.cross(s, c);
        }
    }

    /// The TxU has room for what `slot` sends.
    fn has_room(&self, slot: usize, s: &Shared) -> bool {
        self.slots[slot].queue.is_some_and(|queue| s.txu_has_room(queue))
    }

    /// The next slot that has a message and that `may` go: in turn, of those of the highest priority.
    fn next(&self, s: &Shared, may: impl Fn(usize) -> bool) -> Option<usize> {
        let ready = (0..self.slots.len())
            .filter(|&slot| self.slots[slot].has_work() && !self.is_held(slot, s) && may(slot));
        ready.min_by_key(|&slot| {
            let priority = self.slots[slot].queue.map(|queue| s.homes.priority(queue));
            (Reverse(priority), self.turns.until(slot, self.job(slot, s)))
        })
    }

    /// Whose queue is in `slot`.
    fn job(&self, slot: usize, s: &Shared) -> JobId {
        self.slots[slot].queue.map_or(JobId(0), |queue| s.homes.job_of_queue(queue))
    }

    /// The job of the queue in `slot` is held up. What the sP launches goes: it is the firmware that holds jobs up.
    fn is_held(&self, slot: usize, s: &Shared) -> bool {
        let queue = self.slots[slot].queue.filter(|_| slot != self.served());
        queue.is_some_and(|queue| s.homes.sends_nothing(self.names.process(queue)))
    }

    /// The lines of the current slot come over the bus: from the cache (Reclaim), or from the DRAM.
    fn is_snooped(&self, s: &Shared) -> bool {
        s.reclaims() || self.current == self.served()
    }

    /// The NES turns to `slot`.
    fn begin(&mut self, slot: usize, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.turns.begin(slot, self.job(slot, s));
        self.current = slot;
        self.state = State::Ready;
        if self.is_snooped(s) {
            // The length is in the first line, but lines may be fetched before it is read (section 2.2).
            let address = self.slots[self.current].ring.oldest();
            self.reader.read_physical(&[Piece { address, bytes: SLOT.next_multiple_of(s.line_bytes) }], c);
            self.state = State::Reading;
        }
    }

    /// A line of the slot takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }

    pub fn line_read(&mut self, c: &mut Context<'_, '_>) {
        let Some(slot) = self.reader.done(c) else { return };
        self.fetched = slot;
        // The queue may have left its slot meanwhile.
        let is_there = self.slots[self.current].queue.is_some();
        self.state = if is_there { State::Ready } else { State::Idle };
    }

    fn slot(&self, s: &Shared, c: &mut Context<'_, '_>) -> (VoyagerSlot, Vec<u8>) {
        let mut bytes = [0; SLOT as usize];
        let address = self.slots[self.current].ring.oldest();
        if self.is_snooped(s) {
            bytes.copy_from_slice(&self.fetched[..SLOT as usize]);
        } else {
            // Only what the message needs is read from SRAM.
            let queue = self.slots[self.current].queue.expect("a message has a queue");
            let process = self.names.process(queue);
            c.read_unsnooped(process, address, &mut bytes[..HEADER]);
            let length = usize::from(VoyagerSlot::from_bytes(&bytes).bytes).min(SLOT as usize - HEADER);
            c.read_unsnooped(process, address + HEADER as u64, &mut bytes[HEADER..HEADER + length]);
        }
        let header = VoyagerSlot::from_bytes(&bytes);
        let length = usize::from(header.bytes).min(SLOT as usize - HEADER);
        (header, bytes[HEADER..HEADER + length].to_vec())
    }

    fn cross(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (header, data) = self.slot(s, c);
        let bytes = HEADER as u64 + data.len() as u64;
        let slot = &mut self.slots[self.current];
        if u64::from(header.flags) & registers::FLAG_MORE == 0 {
            slot.message = message_of(header.flags, &data);
        }
        let queue = slot.queue.expect("a message has a queue");
        accept(c, self.names.process(queue), slot.message, Mechanism::Basic);
        let end = s.cross(c.now, s.nes.transmit.cycles(), bytes);
        self.state = State::Crossing;
        self.crossing = Some((queue, header, data));
        c.at(end, NesEvent::Transmitted.into());
    }

    /// The message is in the TxU: it becomes a packet, and its slot is free. True: it was the sP's.
    pub fn transmitted(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) -> bool {
        let (queue, header, data) = self.crossing.take().expect("a message crosses");
        let is_served = self.current == self.served();
        let slot = &mut self.slots[self.current];
        slot.ring.pop();
        self.state = State::Idle;
        match s.table.find(queue, header.node) {
            _ if !s.homes.sends(queue) => {}
            Ok(to) if !s.table.reaches(to) => s.counters.withheld += 1,
            Ok(to) => {
                s.counters.transmitted += 1;
                let bytes = packet_bytes(PACKET_BASIC, to, header.flags, [&data, &[]]);
                push_packet(s, (queue, to.site), bytes, data.len() as u64, slot.message);
            }
            Err(text) => c.fault(self.names.process(queue), text),
        }
        is_served
    }
}

/// The message whose envelope `data` begin with, if it is one's.
pub(super) fn message_of(flags: u32, data: &[u8]) -> MessageKey {
    if u64::from(flags) & registers::FLAG_ENVELOPE == 0 || data.len() < 24 {
        return None;
    }
    let mut whole = [0; size_of::<Envelope>()];
    whole[..24].copy_from_slice(&data[..24]);
    Envelope::from_bytes(&whole).message()
}

/// A packet's bytes: header, data, which come in two parts.
pub(super) fn packet_bytes(kind: u64, to: Destination, flags: u32, data: [&[u8]; 2]) -> Vec<u8> {
    let length = data[0].len() + data[1].len();
    let header = VoyagerPacket {
        kind: kind as u8,
        flags: flags as u8,
        source: to.source,
        queue: to.queue,
        bytes: length as u16,
    };
    let mut bytes = Vec::with_capacity(HEADER + length);
    header.put(&mut bytes);
    data.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// Puts a packet with `data_bytes` of data, which `queue` sends to `site`, into the TxU.
pub(super) fn push_packet(
    s: &mut Shared,
    (queue, site): (QueueName, u32),
    bytes: Vec<u8>,
    data_bytes: u64,
    message: MessageKey,
) {
    let priority = s.homes.priority(queue);
    s.txu[usize::from(priority)].push_back(Box::new(Packet {
        source: s.link.port().node(),
        destination: site,
        priority,
        wire_bytes: (data_bytes + s.nes.packet_overhead.bytes()) as u32,
        more: false,
        bytes,
        message,
    }));
}
