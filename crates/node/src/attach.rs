//! Accesses of harts to the NI, and the way there, if the NI is not on the bus but behind a link
//! ([`NetworkInterface::attach`](chasqui_ni::NetworkInterface::attach)).
//!
//! The link keeps accesses in order. A store is over for its hart when it leaves the bus; a load takes the bus for
//! its address alone, and its answer comes back past it, as on an interconnect with a channel for answers. What
//! the NI has tried again waits at the NI, and all behind it.

use chasqui_engine::{Class, Outbox, Time};
use chasqui_memory::{DEVICE_BASE, Request, Slot};
use chasqui_ni::Uncached;

use crate::bus::{BusEvent, Client};
use crate::node::{Node, Target};

/// What a hart asks of the NI. Addresses are relative to [`DEVICE_BASE`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// A load.
    Load { address: u64, bytes: u32 },
    /// A store.
    Store { address: u64, bytes: u32, value: u64 },
    /// A store of 64 bytes; `answered`: the hart waits for what the NI says.
    Store64 { address: u64, words: [u64; 8], answered: bool },
}

/// An access on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    hart: usize,
    slot: Slot,
    access: Access,
    /// It reaches the NI then.
    at: Time,
}

impl Access {
    /// The hart waits for an answer.
    pub fn is_answered(&self) -> bool {
        matches!(self, Access::Load { .. } | Access::Store64 { answered: true, .. })
    }

    /// What the NI is asked before it gets the access; none: it answers for itself whether it accepts it.
    fn uncached(&self) -> Option<(u64, Uncached)> {
        match *self {
            Access::Load { address, .. } => Some((address, Uncached::Load)),
            Access::Store { address, .. } => Some((address, Uncached::Store)),
            Access::Store64 { address, answered, .. } => (!answered).then_some((address, Uncached::Store)),
        }
    }
}

impl Node {
    /// The access to the NI that the request in `slot` of hart `index` is, if it is one.
    pub(crate) fn access(&self, index: usize, slot: Slot) -> Option<Access> {
        let port = &self.processor.threads[index].hart.port;
        let to_ni = |address| address - DEVICE_BASE;
        match port.current(slot)? {
            Request::UncachedLoad { address, bytes } => Some(Access::Load { address: to_ni(address), bytes }),
            Request::UncachedStore { address, bytes, value } => {
                Some(Access::Store { address: to_ni(address), bytes, value })
            }
            Request::Store64 { address, answered } => {
                Some(Access::Store64 { address: to_ni(address), words: port.burst(slot), answered })
            }
            _ => None,
        }
    }

    /// The instruction of hart `index` that waits is a store to the NI.
    pub(crate) fn is_store(&self, index: u8) -> bool {
        let port = &self.processor.threads[usize::from(index)].hart.port;
        matches!(port.current(Slot::Blocking), Some(Request::Store64 { .. }))
    }

    /// The NI can't serve the access of hart `index` now: it is to be tried again after that time.
    pub(crate) fn refused(
        &mut self,
        index: usize,
        access: &Access,
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Option<Time> {
        let (address, uncached) = access.uncached()?;
        if !self.ni.may_retry(address) {
            return None;
        }
        self.with_ni(index, now, out, |ni, c| ni.retry(c, address, uncached))
    }

    /// An access of hart `hart` leaves the bus for the NI.
    pub(crate) fn leave_bus(
        &mut self,
        hart: usize,
        slot: Slot,
        access: Access,
        now: Time,
        out: &mut Outbox<'_>,
    ) {
        let at = now + self.attach;
        let crossing = Crossing { hart, slot, access, at };
        if self.attach == Time::ZERO {
            return self.reach_ni(crossing, now, out);
        }
        self.crossing.push_back(crossing);
        if self.crossing.len() == 1 {
            self.schedule(at, Class::Bus, Target::Bus, BusEvent::Arrive.into());
        }
    }

    /// The oldest access on the link is at the NI.
    pub(crate) fn arrive(&mut self, now: Time, out: &mut Outbox<'_>) {
        let crossing = *self.crossing.front().expect("an access is on its way");
        if let Some(after) = self.refused(crossing.hart, &crossing.access, now, out) {
            return self.schedule(now + after, Class::Bus, Target::Bus, BusEvent::Arrive.into());
        }
        self.crossing.pop_front();
        if let Some(next) = self.crossing.front() {
            self.schedule(next.at.max(now), Class::Bus, Target::Bus, BusEvent::Arrive.into());
        }
        self.reach_ni(crossing, now, out);
    }

    /// What arrives at the NI next may change what others see there.
    pub(crate) fn stores_arrive(&self) -> bool {
        self.crossing.front().is_some_and(|crossing| !matches!(crossing.access, Access::Load { .. }))
    }

    /// The NI gets the access; its answer, if the hart waits for one, takes a bus clock at the end.
    fn reach_ni(&mut self, crossing: Crossing, now: Time, out: &mut Outbox<'_>) {
        let (hart, access) = (crossing.hart, crossing.access);
        let reply = match access {
            Access::Load { address, bytes } => {
                self.with_ni(hart, now, out, |ni, c| ni.read(c, address, bytes))
            }
            Access::Store { address, bytes, value } => {
                return self.with_ni(hart, now, out, |ni, c| ni.write(c, address, bytes, value));
            }
            Access::Store64 { address, words, answered } => {
                self.with_ni(hart, now, out, |ni, c| ni.store_64(c, address, &words, answered))
            }
        };
        if !access.is_answered() {
            return;
        }
        if !reply.repeatable {
            self.processor.threads[hart].hart.port.disturb();
        }
        let clock = self.bus.clock();
        let at = clock.after(clock.align(now + reply.latency + self.attach), 1);
        let answer = BusEvent::Answer(Client::Hart(hart as u8, crossing.slot), reply.value);
        self.schedule(at, Class::Bus, Target::Bus, answer.into());
    }
}
