//! A controller: what is next in its queues is done; messages are made, leave and come.

use chasqui_coherence::Kind;
use chasqui_engine::Time;

use super::links::way_of;
use super::networks::{INTERVENTION, channel};
use super::queues::Next;
use super::{Host, Protocol, Step};

impl Protocol {
    /// The controller of `node` does what it can.
    pub(super) fn serve<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        loop {
            let controller = &mut self.controllers[node];
            if controller.taken > 0 {
                return;
            }
            let Some(next) = controller.next() else { return self.go_on(host, node, now) };
            match next {
                Next::Own => {
                    controller.is_own_turn = false;
                    let id = controller.own.pop_front().expect("it was seen");
                    self.make(host, id, now);
                }
                Next::Input(channel) => {
                    controller.is_own_turn = true;
                    let (id, since) = controller.inputs[channel].pop_front().expect("it was seen");
                    self.statistics[node].controller_waits_ps += (now - since).0;
                    self.make_room(host, node, channel, now);
                    if channel == INTERVENTION {
                        self.controllers[node].is_at_cache = true;
                        self.statistics[node].interventions += 1;
                        host.schedule(now + self.times.cached, Step::AtCache(id));
                    } else {
                        self.look_up(host, node, id, now);
                    }
                }
            }
        }
    }

    /// The controller of `node` is taken from `now` until `step`, at `until`.
    pub(super) fn occupy<H: Host>(
        &mut self,
        host: &mut H,
        node: usize,
        step: Step,
        (now, until): (Time, Time),
    ) {
        self.controllers[node].taken += 1;
        self.statistics[node].controller_busy_ps += (until - now).0;
        host.schedule(until, step);
    }

    /// The memory of `node` is taken for an access from `from` on, or from when it is free: the end of that.
    pub(super) fn memory(&mut self, node: usize, from: Time) -> Time {
        let free_at = &mut self.controllers[node].memory_free_at;
        let start = from.max(*free_at);
        *free_at = start + self.times.memory;
        self.statistics[node].memory_waits_ps += (start - from).0;
        start + self.times.memory
    }

    /// The latest read of the memory of `node`, which is over at `data_at`, is of no use: if the memory has not begun with it, it is
    /// not made. (Else reads for requests that are refused would keep the memory from those that are served, for ever.)
    pub(super) fn read_in_vain(&mut self, node: usize, data_at: Time, now: Time) {
        let start = data_at - self.times.memory;
        let statistics = &mut self.statistics[node];
        if start >= now {
            let free_at = &mut self.controllers[node].memory_free_at;
            debug_assert_eq!(*free_at, data_at, "the latest");
            *free_at = start;
            // It has waited since the look-up began.
            statistics.memory_waits_ps -= (start + self.times.lookup - now).0;
        } else {
            statistics.memory_reads += 1;
            statistics.memory_reads_in_vain += 1;
        }
    }

    /// A message of the own processor's is made: it takes time if it is for another node.
    fn make<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let travelling = self.messages.get(id);
        let (node, is_local) = (travelling.from(), travelling.to() == travelling.from());
        if is_local {
            self.leave(host, id, now);
        } else {
            self.occupy(host, node, Step::Leave(id), (now, now + self.times.construct));
        }
    }

    /// A message for another node has been made, and leaves.
    pub(super) fn made<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let node = self.messages.get(id).from();
        self.controllers[node].taken -= 1;
        self.leave(host, id, now);
        self.serve(host, node, now);
    }

    /// A message is to leave its node.
    pub(super) fn leave<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let travelling = self.messages.get(id);
        let (node, kind) = (travelling.from(), travelling.message.kind);
        let channel = channel(kind).expect("replies leave by themselves");
        self.controllers[node].outputs[channel].push_back(id);
        self.pass(host, node, channel, now);
    }

    /// What `node` has in a virtual network leaves as far as there is room.
    fn pass<H: Host>(&mut self, host: &mut H, node: usize, channel: usize, now: Time) {
        while let Some(&id) = self.controllers[node].outputs[channel].front() {
            let travelling = self.messages.get(id);
            let (to, has_data) = (travelling.to(), travelling.message.kind.has_data());
            let there = &mut self.controllers[to];
            let is_first = there.waiting[channel].front().is_none_or(|&first| usize::from(first) == node);
            if there.room[channel] == 0 || !is_first {
                if there.is_waiting[channel] >> node & 1 == 0 {
                    there.is_waiting[channel] |= 1 << node;
                    there.waiting[channel].push_back(node as u8);
                }
                return;
            }
            if !there.waiting[channel].is_empty() {
                there.waiting[channel].pop_front();
                there.is_waiting[channel] &= !(1 << node);
            }
            there.room[channel] -= 1;
            self.controllers[node].outputs[channel].pop_front();
            let way = way_of(self, (node, to), has_data, now);
            host.schedule(now + way, Step::Arrive(id));
        }
        // What waited for the way out to be empty.
        self.wake(host, node, now);
    }

    /// The controller of `node` may have something to do.
    pub(super) fn wake<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let controller = &mut self.controllers[node];
        if controller.taken == 0 && !controller.has_event && controller.next().is_some() {
            controller.has_event = true;
            host.schedule(now, Step::Serve(node));
        }
    }

    /// A message has been taken from what has come to `node`: another may come.
    fn make_room<H: Host>(&mut self, host: &mut H, node: usize, channel: usize, now: Time) {
        let controller = &mut self.controllers[node];
        controller.room[channel] += 1;
        if let Some(&first) = controller.waiting[channel].front() {
            self.pass(host, usize::from(first), channel, now);
        }
    }

    /// A message comes into the controller.
    pub(super) fn arrive<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let travelling = self.messages.get(id);
        let (to, kind): (usize, Kind) = (travelling.to(), travelling.message.kind);
        let channel = channel(kind).expect("replies come to the cache");
        self.controllers[to].inputs[channel].push_back((id, now));
        self.serve(host, to, now);
    }
}
