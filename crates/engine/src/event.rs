//! Events and their order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;

/// The order among events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Credits and other returns of resources, before events that need them.
    Credit = 0,
    /// Packets that arrive.
    Packet = 1,
    /// A bus transaction takes effect or ends.
    Bus = 2,
    /// A component's own timers and pipeline stages.
    Internal = 3,
    /// Requests that a processor makes at this instant.
    Request = 4,
}

/// A sender of events: one output of one component. Its number is part of the order of events, so the
/// machine's builder assigns it, and it depends on the machine alone.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    id: u32,
    sent: u64,
}

impl Port {
    /// Ports of a machine, at most.
    pub const MAX: u32 = 1 << 24;

    /// The port with number `id`.
    ///
    /// # Panics
    /// When `id` is not below [`Port::MAX`].
    pub fn new(id: u32) -> Port {
        assert!(id < Port::MAX, "port {id}");
        Port { id, sent: 0 }
    }

    /// The order of the next event from this port.
    #[inline]
    pub fn next(&mut self, class: Class) -> Order {
        self.sent += 1;
        // 36 bits of sequence: a port may send 6.9e10 events before two of one instant could swap.
        Order((class as u64) << 60 | u64::from(self.id) << 36 | (self.sent & ((1 << 36) - 1)))
    }
}

/// Order of an event among those of its instant: class, port, sequence on the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

/// Sixteen opaque bytes: each kind of component has an enum of its own that converts both ways.
pub type Payload = [u64; 2];

/// Something that happens to a component at a time.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Which first, of one instant.
    pub order: Order,
    /// The component, numbered within its partition.
    pub target: u32,
    /// What, in the component's own terms.
    pub payload: Payload,
}

const _: () = assert!(size_of::<Event>() == 40);

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// Reversed, so that the heap gives the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.order).cmp(&(self.time, self.order))
    }
}

/// Pending events of a partition, earliest first.
#[derive(Default)]
pub struct EventQueue {
    heap: BinaryHeap<Event>,
}

impl EventQueue {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.heap.push(event);
    }

    /// Time of the earliest event; [`Time::NEVER`] when there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |e| e.time)
    }

    /// Takes the earliest event if its time is before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.next_time() < limit { self.heap.pop() } else { None }
    }

    /// Takes the events that `takes` accepts, in no order.
    pub fn take_those(&mut self, mut takes: impl FnMut(&Event) -> bool) {
        self.heap.retain(|event| !takes(event));
    }

    /// All events, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.heap.iter()
    }

    /// The earliest event.
    pub fn peek(&self) -> Option<&Event> {
        self.heap.peek()
    }

    /// Pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// No event is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_time_then_class_then_port_then_sequence() {
        let (mut a, mut b) = (Port::new(1), Port::new(2));
        let make = |time, order, tag| Event { time: Time(time), order, target: 0, payload: [tag, 0] };
        let first_b = b.next(Class::Packet);
        let events = [
            make(5, first_b, 3),
            make(5, a.next(Class::Packet), 1),
            make(5, a.next(Class::Packet), 2),
            make(4, b.next(Class::Request), 0),
            make(5, b.next(Class::Internal), 5),
            make(5, b.next(Class::Packet), 4),
        ];
        let mut queue = EventQueue::default();
        events.iter().for_each(|&e| queue.push(e));
        assert!(queue.pop_before(Time(4)).is_none(), "blocked at t");
        let tags: Vec<u64> = std::iter::from_fn(|| queue.pop_before(Time(6))).map(|e| e.payload[0]).collect();
        assert_eq!(tags, [0, 1, 2, 3, 4, 5]);
    }
}
