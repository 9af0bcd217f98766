//! The events of a node: what they are for, and the two queues that they wait in.

use chasqui_engine::{Class, Event, EventQueue, Order, Payload, Port, Time};

/// Components of a node, as targets of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The memory system: its own events.
    MemorySystem,
    /// The memory system: a client asks for a transaction.
    Request,
    /// The way between the memory system and the devices.
    Io,
    /// A device: its own events.
    Device(usize),
    /// A device: what comes from other partitions.
    Network(usize),
    /// The scheduler.
    Scheduler,
}

const MEMORY_SYSTEM: u32 = 0;
const IO: u32 = 1;
const SCHEDULER: u32 = 2;
const DEVICE: u32 = 3;
const NETWORK: u32 = 4;
const REQUEST: u32 = 5;
/// Bits of a target below the device's number.
const KIND_BITS: u32 = 8;

impl From<Target> for u32 {
    #[inline]
    fn from(target: Target) -> u32 {
        match target {
            Target::MemorySystem => MEMORY_SYSTEM,
            Target::Io => IO,
            Target::Request => REQUEST,
            Target::Scheduler => SCHEDULER,
            Target::Device(number) => DEVICE | (number as u32) << KIND_BITS,
            Target::Network(number) => NETWORK | (number as u32) << KIND_BITS,
        }
    }
}

impl From<u32> for Target {
    #[inline]
    fn from(target: u32) -> Target {
        let number = (target >> KIND_BITS) as usize;
        match target & ((1 << KIND_BITS) - 1) {
            MEMORY_SYSTEM => Target::MemorySystem,
            IO => Target::Io,
            REQUEST => Target::Request,
            SCHEDULER => Target::Scheduler,
            DEVICE => Target::Device(number),
            _ => Target::Network(number),
        }
    }
}

/// What an event may lead to, and how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It may have a device send to other partitions at once.
    Prompt,
    /// It is about the harts alone: what it causes has to reach a device first.
    Slow,
}

/// Events to come.
pub(crate) struct Events {
    prompt: EventQueue,
    slow: EventQueue,
    /// Orders events of memory system, io and scheduler.
    node_port: Port,
    /// Orders devices' events.
    device_port: Port,
}

impl Events {
    /// `first_port`: number of the first of the node's event ports.
    pub fn new(first_port: u32) -> Events {
        Events {
            prompt: EventQueue::default(),
            slow: EventQueue::default(),
            node_port: Port::new(first_port),
            device_port: Port::new(first_port + 1),
        }
    }

    /// An event of the node's own is to come.
    #[inline]
    pub fn schedule(&mut self, time: Time, class: Class, target: Target, urgency: Urgency, payload: Payload) {
        let port =
            if matches!(target, Target::Device(_)) { &mut self.device_port } else { &mut self.node_port };
        let event = Event { time, order: port.next(class), target: target.into(), payload };
        match urgency {
            Urgency::Prompt => self.prompt.push(event),
            Urgency::Slow => self.slow.push(event),
        }
    }

    /// Numbers the events of the memory system.
    pub fn order(&mut self) -> &mut Port {
        &mut self.node_port
    }

    /// Takes all slow events of the memory system, its own and requests, in no order.
    pub fn take_slow_of_memory(&mut self, mut take: impl FnMut(Target, Event)) {
        self.slow.take_those(|event| {
            let target = Target::from(event.target);
            let takes = matches!(target, Target::MemorySystem | Target::Request);
            if takes {
                take(target, *event);
            }
            takes
        });
    }

    /// A slow event is to come after all, at its place in the order.
    pub fn put_back(&mut self, time: Time, order: Order, target: Target, payload: Payload) {
        self.slow.push(Event { time, order, target: target.into(), payload });
    }

    /// An event from another partition is to come.
    pub fn take_in(&mut self, event: Event) {
        self.prompt.push(event);
    }

    /// Time of the earliest.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.prompt.next_time().min(self.slow.next_time())
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.prompt.len() + self.slow.len()
    }

    /// The earliest event, and what it may lead to.
    #[inline]
    pub fn earliest(&self) -> Option<(&Event, Urgency)> {
        match (self.prompt.peek(), self.slow.peek()) {
            (Some(a), Some(b)) if (a.time, a.order) < (b.time, b.order) => Some((a, Urgency::Prompt)),
            (Some(a), None) => Some((a, Urgency::Prompt)),
            (_, slow) => Some((slow?, Urgency::Slow)),
        }
    }

    /// Takes the earliest event, which may lead to this.
    #[inline]
    pub fn take(&mut self, urgency: Urgency, limit: Time) -> Event {
        let queue = match urgency {
            Urgency::Prompt => &mut self.prompt,
            Urgency::Slow => &mut self.slow,
        };
        queue.pop_before(limit).expect("an event is due")
    }

    /// Those that may have a device send at once.
    pub fn prompt(&self) -> &EventQueue {
        &self.prompt
    }

    /// The others.
    pub fn slow(&self) -> &EventQueue {
        &self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_survive_the_round_trip() {
        let targets = [
            Target::MemorySystem,
            Target::Io,
            Target::Request,
            Target::Scheduler,
            Target::Device(0),
            Target::Device(3),
            Target::Network(0),
            Target::Network(70_000),
        ];
        for target in targets {
            assert_eq!(Target::from(u32::from(target)), target);
        }
    }
}
