//! Accesses of harts to devices, and the way there, if a device is behind a link.
//!
//! The link keeps each hart's accesses in order. A store is over for its hart when it leaves the memory system; a load takes that for
//! its address alone, and its answer comes back past it, as on an interconnect with a channel for answers. What
//! the device has tried again waits there, and all of its hart behind it; those of other harts go past it. No store of the hart
//! leaves the memory system meanwhile, as where the device gives back no credits: on the way are no more than come within its time.

use std::collections::VecDeque;

use chasqui_engine::{Class, Outbox, Time};
use chasqui_memory::{Request, Slot};
use chasqui_ni::{Reply, Uncached};

use super::{Io, IoEvent};
use crate::events::{Target, Urgency};
use crate::harts::{Core, Harts, Poll};
use crate::parts::Parts;

/// What a hart asks of a device. Addresses are relative to the device's.
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
pub(super) struct Crossing {
    hart: usize,
    slot: Slot,
    access: Access,
    /// It reaches the device then.
    at: Time,
    /// It has been there, and is tried again.
    is_refused: bool,
}

impl Access {
    /// The hart waits for an answer.
    pub fn is_answered(&self) -> bool {
        matches!(self, Access::Load { .. } | Access::Store64 { answered: true, .. })
    }

    /// What the device is asked before it gets the access, with address and length; none: it answers for itself whether it
    /// accepts it.
    fn uncached(&self) -> Option<((u64, u32), Uncached)> {
        match *self {
            Access::Load { address, bytes } => Some(((address, bytes), Uncached::Load)),
            Access::Store { address, bytes, .. } => Some(((address, bytes), Uncached::Store)),
            Access::Store64 { address, ref words, answered } => {
                (!answered).then_some(((address, size_of_val(words) as u32), Uncached::Store))
            }
        }
    }
}

impl Io {
    /// The device and the access to it that the request in `slot` of hart `index` is, if it is one.
    #[inline]
    pub fn access(&self, harts: &Harts, index: usize, slot: Slot) -> Option<(usize, Access)> {
        let core = &harts[index];
        self.access_of(core, slot, core.hart.port.current(slot)?)
    }

    /// The same of `request`, whose data, if it has 64 bytes, are those of `slot`.
    #[inline]
    pub fn access_of(&self, core: &Core, slot: Slot, request: Request) -> Option<(usize, Access)> {
        match request {
            Request::UncachedLoad { address, bytes } => {
                let (device, address) = self.place(address);
                Some((device, Access::Load { address, bytes }))
            }
            Request::UncachedStore { address, bytes, value } => {
                let (device, address) = self.place(address);
                Some((device, Access::Store { address, bytes, value }))
            }
            Request::Store64 { address, answered } => {
                let (device, address) = self.place(address);
                Some((device, Access::Store64 { address, words: core.hart.port.burst(slot), answered }))
            }
            _ => None,
        }
    }

    /// A store is on its way to a device.
    pub(crate) fn stores_cross(&self) -> bool {
        let mut crossing = self.devices.iter().flat_map(|device| &device.crossing);
        crossing.any(|crossing| !matches!(crossing.access, Access::Load { .. }))
    }

    /// When a store of hart `hart` may leave for `device`, if the device has refused one that came before.
    pub(crate) fn held_back(&self, (device, hart): (usize, usize)) -> Option<Time> {
        let mut crossing = self.devices.get(device)?.crossing.iter();
        crossing.find(|crossing| crossing.hart == hart && crossing.is_refused).map(|crossing| crossing.at)
    }

    /// Something is on its way to `device`.
    pub(crate) fn is_crossed(&self, device: usize) -> bool {
        self.devices.get(device).is_some_and(|device| !device.crossing.is_empty())
    }

    /// What arrives at `device` next may change what others see there.
    pub(super) fn stores_arrive(&self, device: usize) -> bool {
        let next = self.devices[device].crossing.front();
        next.is_some_and(|crossing| !matches!(crossing.access, Access::Load { .. }))
    }
}

/// Brings to the front, of the oldest accesses of each hart, the one that reaches the device first; returns its time.
fn bring_next(crossings: &mut VecDeque<Crossing>) -> Option<Time> {
    let is_oldest =
        |&index: &usize| crossings.iter().take(index).all(|before| before.hart != crossings[index].hart);
    let next = (0..crossings.len()).filter(is_oldest).min_by_key(|&index| crossings[index].at)?;
    let crossing = crossings.remove(next)?;
    crossings.push_front(crossing);
    Some(crossing.at)
}

impl Parts {
    /// `device` can't serve the access of hart `index` now: it is to be tried again after that time.
    pub(crate) fn refused(
        &mut self,
        (device, index): (usize, usize),
        access: &Access,
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Option<Time> {
        let (place, uncached) = access.uncached()?;
        if !self.io.devices.get(device)?.ni.may_retry(place.0) {
            return None;
        }
        self.with_device((device, index), now, out, |ni, c| ni.retry(c, place, uncached))
    }

    /// An access of hart `hart` leaves the memory system for `device`.
    pub(crate) fn leave_for_device(
        &mut self,
        (device, hart): (usize, usize),
        slot: Slot,
        access: Access,
        now: Time,
        out: &mut Outbox<'_>,
    ) {
        let attach = self.io.way(device);
        let crossing = Crossing { hart, slot, access, at: now + attach, is_refused: false };
        if attach == Time::ZERO {
            return self.reach_device(device, crossing, now, out);
        }
        let way = &mut self.io.devices[device].crossing;
        way.push_back(crossing);
        if way.len() == 1 {
            self.arrive_at(device, now + attach);
        }
    }

    fn arrive_at(&mut self, device: usize, time: Time) {
        let payload = IoEvent::Arrive(device).into();
        self.events.schedule(time, Class::Bus, Target::Io, Urgency::Slow, payload);
    }

    /// The oldest access on the way to `device` is there.
    pub(crate) fn arrive(&mut self, device: usize, now: Time, out: &mut Outbox<'_>) {
        let crossing = *self.io.devices[device].crossing.front().expect("an access is on its way");
        let refused = self.refused((device, crossing.hart), &crossing.access, now, out);
        let crossings = &mut self.io.devices[device].crossing;
        match refused {
            Some(after) => (crossings[0].at, crossings[0].is_refused) = (now + after, true),
            None => drop(crossings.pop_front()),
        }
        if let Some(next) = bring_next(crossings) {
            self.arrive_at(device, next.max(now));
        }
        if refused.is_none() {
            self.reach_device(device, crossing, now, out);
        }
    }

    /// The access of hart `hart` is made at `device`. `None`: there is no reply to it.
    pub(crate) fn make_access(
        &mut self,
        here: (usize, usize),
        access: Access,
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Option<Reply> {
        if here.0 == self.io.devices.len() {
            return Some(self.access_controller(access, now));
        }
        if !matches!(access, Access::Load { .. }) {
            // What the device does may be about memory.
            self.harts.settle_others(here.1, now);
        }
        match access {
            Access::Load { address, bytes } => {
                let reply = self.with_device(here, now, out, |ni, c| ni.read(c, address, bytes));
                if cfg!(debug_assertions) {
                    self.note_poll(here, (address, bytes), reply);
                }
                Some(reply)
            }
            Access::Store { address, bytes, value } => {
                self.with_device(here, now, out, |ni, c| ni.write(c, address, bytes, value));
                None
            }
            Access::Store64 { address, words, answered } => {
                Some(self.with_device(here, now, out, |ni, c| ni.store_64(c, address, &words, answered)))
            }
        }
    }

    /// Keeps what hart `hart` has loaded from `device`, if it may load it again at any time.
    fn note_poll(&mut self, (device, hart): (usize, usize), (address, bytes): (u64, u32), reply: Reply) {
        let may_repeat = reply.repeatable && !self.io.devices[device].ni.may_retry(address);
        let poll = Poll { device, address, bytes, value: reply.value };
        self.harts[hart].spin.latest_poll = may_repeat.then_some(poll);
    }

    /// A device's event has happened at `now` that no hart could notice, as its device says.
    ///
    /// # Panics
    /// When what a hart that repeats itself has loaded last from a device would be another value now.
    pub(crate) fn check_unnoticed(&mut self, now: Time, out: &mut Outbox<'_>) {
        for hart in 0..self.harts.started() {
            let core = &self.harts[hart];
            let Some(poll) = core.spin.latest_poll.filter(|_| core.is_idle()) else { continue };
            let here = (poll.device, hart);
            let reply = self.with_device(here, now, out, |ni, c| ni.read(c, poll.address, poll.bytes));
            assert!(
                reply.repeatable && reply.value == poll.value,
                "an event at {now} changes what hart {hart} polls at device address {:#x}, and is not visible",
                poll.address
            );
        }
    }

    /// The same of the interrupt controller.
    fn access_controller(&mut self, access: Access, now: Time) -> Reply {
        let (mut value, mut repeatable) = (0, true);
        match access {
            Access::Load { address, .. } => {
                (value, repeatable) = self.io.controller.read(address);
                // The line of who has claimed falls.
                self.show_interrupts(now);
            }
            // It takes effect in an event of its own, since harts may notice it.
            Access::Store { address, value, .. } => {
                let payload = IoEvent::Register { address, value: value as u32 }.into();
                self.events.schedule(now, Class::Bus, Target::Io, Urgency::Prompt, payload);
            }
            // No register has 64 bytes.
            Access::Store64 { .. } => {}
        }
        Reply { value: value.into(), latency: self.io.controller.latency, repeatable }
    }

    /// `device` gets the access; its answer, if the hart waits for one, takes a clock of the memory system at the end.
    fn reach_device(&mut self, device: usize, crossing: Crossing, now: Time, out: &mut Outbox<'_>) {
        let Crossing { hart, slot, access, .. } = crossing;
        let reply = self.make_access((device, hart), access, now, out);
        let Some(reply) = reply.filter(|_| access.is_answered()) else { return };
        if !reply.repeatable {
            self.harts[hart].hart.port.disturb();
        }
        let clock = self.io.clock;
        let back = now + reply.latency + self.io.way(device);
        let answer = IoEvent::Answer { hart, slot, value: reply.value };
        let at = clock.after(clock.align(back), 1);
        self.events.schedule(at, Class::Bus, Target::Io, Urgency::Slow, answer.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Harts and times of accesses, in the order in which they reach a device that refuses none.
    fn order(accesses: &[(usize, u64)]) -> Vec<(usize, u64)> {
        let access = Access::Load { address: 0, bytes: 8 };
        let crossing =
            |&(hart, at)| Crossing { hart, slot: Slot::Blocking, access, at: Time(at), is_refused: false };
        let mut way: VecDeque<_> = accesses.iter().map(crossing).collect();
        let mut order = vec![];
        while let Some(at) = bring_next(&mut way) {
            order.push((way.pop_front().expect("it is the first").hart, at.0));
        }
        order
    }

    #[test]
    fn accesses_arrive_as_they_left_and_other_harts_pass_what_is_tried_again() {
        assert_eq!(order(&[(0, 10), (1, 10), (0, 20)]), [(0, 10), (1, 10), (0, 20)]);
        // Hart 0 was refused, and tries again at 50: its own wait, those of hart 1 do not.
        assert_eq!(order(&[(0, 50), (0, 20), (1, 30), (1, 60)]), [(1, 30), (0, 50), (0, 20), (1, 60)]);
    }
}
