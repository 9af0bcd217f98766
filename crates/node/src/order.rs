//! The order of things: how a node's events and its harts' instructions follow each other, and what other partitions may
//! count on.
//!
//! A hart runs until the next event, the engine's limit, or another hart's turn. Before an event that a polling loop may
//! see, harts that repeat themselves are moved on to it. What comes from outside is noticed only after the devices' input
//! latency: a hart that is alone runs on so long.

use std::any::Any;

use chasqui_engine::{Class, Event, Outbox, Packet, Partition, Time, WORK_OF_EVENT};
use chasqui_hart::Halt;
use chasqui_ni::Cause;
use chasqui_placement::JobId;

use crate::events::{Target, Urgency};
use crate::harts::Next;
use crate::io::IoEvent;
use crate::memory_system::{Client, Effect};
use crate::node::NodePartition;
use crate::os::Timer;
use crate::parts::Parts;

/// Instructions of the hart in one go, or a few more: then the engine is asked again, so that progress is
/// shown and Ctrl-C is seen. A matter of a millisecond.
const RUN_MAX: u64 = 1 << 17;

/// Of more events than these only the earliest is looked at: messages may come by the thousand.
const CAUSES_MAX: usize = 16;

/// The hart that devices name which do not say which they mean.
const HART: usize = 0;

/// `earliest` may be as early as `latencies` after `time`.
fn lower(earliest: &mut [Time], time: Time, latencies: &[Time]) {
    for (earliest, &latency) in earliest.iter_mut().zip(latencies) {
        *earliest = (*earliest).min(time + latency);
    }
}

impl Parts {
    /// An access to some device at `time` may lead to this.
    fn lower_by_access(&self, earliest: &mut [Time], time: Time) {
        for device in &self.io.devices {
            lower(earliest, time, device.ni.output_latency(Cause::Access));
        }
    }

    /// A transaction of a device's at `time` may lead to this.
    fn lower_by_transaction(&self, earliest: &mut [Time], name: u32, time: Time) {
        let (device, request) = self.io.request(name);
        lower(earliest, time, self.io.devices[device].ni.output_latency(Cause::Bus(request)));
    }
}

impl NodePartition {
    /// `event` may lead to this.
    fn lower_by_event(&self, earliest: &mut [Time], event: &Event) {
        let effect = match Target::from(event.target) {
            Target::Network(device) => {
                let ni = &self.parts.io.devices[device].ni;
                return lower(earliest, event.time, ni.output_latency(Cause::Network(event)));
            }
            Target::Device(device) => {
                let ni = &self.parts.io.devices[device].ni;
                return lower(earliest, event.time, ni.output_latency(Cause::Event(event.payload)));
            }
            // The scheduler may tell a device of a turn's end.
            Target::Scheduler => Effect::Access(Time::ZERO),
            Target::Io => match event.payload.into() {
                IoEvent::Arrive(_) => Effect::Access(Time::ZERO),
                IoEvent::Answer { .. } | IoEvent::Register { .. } => {
                    Effect::Access(self.parts.io.store_latency)
                }
            },
            Target::Request => match event.payload.into() {
                Client::Device(name) => Effect::Device(name),
                Client::Hart(..) => Effect::Access(self.parts.io.store_latency),
            },
            Target::MemorySystem => self.system.effect(&self.parts, event.payload),
        };
        match effect {
            Effect::Device(name) => self.parts.lower_by_transaction(earliest, name, event.time),
            Effect::Access(after) => self.parts.lower_by_access(earliest, event.time + after),
        }
    }

    /// What comes from outside is to be dealt with. True: what the node may do before may be different.
    fn take_in(&mut self, mut event: Event, packet: Option<Box<Packet>>) -> (Event, bool) {
        let rested = std::mem::take(&mut self.parts.resting);
        let device = event.target as usize;
        event.target = Target::Network(device).into();
        let changes = self.parts.io.devices[device].ni.announce(&event);
        self.parts.io.packets.keep(&mut event, packet);
        self.parts.events.take_in(event);
        (event, changes || rested)
    }

    /// Has harts catch up that repeat themselves and may see `event`, which is next. True: there are some.
    #[inline(always)]
    fn announce<const SEVERAL: bool>(&mut self, event: &Event, target: Target, urgency: Urgency) -> bool {
        let NodePartition { system, parts, .. } = self;
        let now = event.time;
        match target {
            // What a device's transaction does may be seen; a hart's own are part of what it repeats.
            Target::MemorySystem | Target::Request if urgency == Urgency::Prompt => {
                parts.before_visible_event(system.bus_mut(), now, now)
            }
            Target::MemorySystem => SEVERAL && system.announce(parts, event.payload, now),
            Target::Request => false,
            Target::Scheduler => parts.before_timer(system.bus_mut(), event.payload.into(), now),
            _ if !parts.io.is_observable(target, event) => false,
            // A hart may have run past what comes from outside, as far as it can't have noticed.
            Target::Network(_) => {
                parts.before_visible_event(system.bus_mut(), now, now + parts.io.input_latency)
            }
            Target::Device(_) | Target::Io => parts.before_visible_event(system.bus_mut(), now, now),
        }
    }

    #[inline(always)]
    fn dispatch(&mut self, event: Event, target: Target, out: &mut Outbox<'_>) {
        let NodePartition { system, parts, .. } = self;
        let now = event.time;
        let of_device = matches!(target, Target::Network(_) | Target::Device(_));
        let is_unnoticed = cfg!(debug_assertions) && of_device && !parts.io.is_observable(target, &event);
        let is_seen = match target {
            Target::MemorySystem | Target::Request => false,
            // When what comes from outside is known of depends on how far the engine has come.
            Target::Scheduler | Target::Network(_) => true,
            Target::Device(_) | Target::Io => parts.io.is_observable(target, &event),
        };
        if is_seen {
            parts.rest.end();
        }
        // On a bus that is a hart's for a while, transactions have no events: how many have depends on the turns.
        let is_counted = match target {
            Target::Network(device) => {
                let packet = parts.io.packets.take(&event);
                parts.with_device((device, HART), now, out, |ni, c| ni.network(c, event, packet));
                true
            }
            Target::Device(device) => {
                parts.io.alone = parts.events.next_time().min(parts.harts.ready_at());
                parts.with_device((device, HART), now, out, |ni, c| ni.event(c, event.payload));
                true
            }
            Target::Scheduler => {
                parts.timer(event.payload.into(), now, out);
                true
            }
            Target::MemorySystem => {
                system.event(parts, event.payload, now, out);
                false
            }
            Target::Request => {
                system.request(parts, event.payload.into(), now, out);
                false
            }
            Target::Io => {
                match event.payload.into() {
                    IoEvent::Arrive(device) => parts.arrive(device, now, out),
                    IoEvent::Answer { hart, slot, value } => {
                        parts.completed(hart, slot, value, now);
                        self.collect(hart, out);
                    }
                    IoEvent::Register { address, value } => {
                        parts.io.controller.write(address, value);
                        parts.show_interrupts(now);
                    }
                }
                false
            }
        };
        if is_unnoticed {
            self.parts.check_unnoticed(now, out);
        }
        self.events += u64::from(is_counted);
    }

    /// The port of hart `index` may have made requests.
    #[inline(always)]
    fn collect(&mut self, index: usize, out: &mut Outbox<'_>) {
        if self.parts.harts[index].hart.port.wants_bus() {
            self.system.take_requests(&mut self.parts, index, out);
        }
    }

    /// Runs hart `index` until `until`. Until `alone` nothing happens in the node and nothing comes from outside.
    /// `SEVERAL`: see [`NodePartition::run_to_limit`].
    #[inline(always)]
    fn run_hart<const SEVERAL: bool>(
        &mut self,
        index: usize,
        until: Time,
        alone: Time,
        out: &mut Outbox<'_>,
    ) {
        // Of several harts others may have lines.
        let alone = if SEVERAL { Time::ZERO } else { alone };
        let NodePartition { system, parts, .. } = self;
        if !parts.harts[index].is_ready() {
            parts.os.rise(&mut parts.harts, index, system.bus_mut());
        }
        let mut end = parts.harts[index].hart.cycle_at(until);
        let skip = parts.os.costs.spin_skip;
        let halt = loop {
            let Parts { harts, os, domain, events, recorders, .. } = parts;
            let timed = !SEVERAL || harts[index].hart.port.is_timed();
            let lent = if SEVERAL { None } else { system.lend(events.order(), alone) };
            let halt = os.run(harts, index, recorders, lent, end);
            let t = &mut harts[index];
            t.spin.check(&mut t.hart);
            if SEVERAL && matches!(halt, Halt::Turn) {
                harts.read_code(index);
                end = harts.end_among_others(index, until);
                continue;
            }
            if SEVERAL && !harts.meet(index, halt, system.bus_mut()) {
                break halt;
            }
            os.halted(harts, index, halt, &mut domain.memory, recorders);
            if SEVERAL {
                end = harts.halted(index, timed, until, system.bus_mut());
            }
            // Before the next observation begins. At a mark within a call, or when it has run for long, it goes on.
            let goes_on = match halt {
                Halt::Deadline => true,
                Halt::Mark { .. } => !harts[index].hart.port.is_timed(),
                _ => false,
            };
            let told =
                !goes_on && (!timed || SEVERAL && os.is_in_part_untimed()) && harts.tell_untimed(index);
            if matches!(halt, Halt::Pause) {
                harts.pause(index, system.bus(), skip);
                // Where others meet its transactions it goes on, if they do not repeat themselves, too.
                if SEVERAL && harts[index].is_ready() && harts[index].spin.repeats() {
                    parts.paused(parts.harts[index].hart.now());
                    break halt;
                }
            }
            // After a pause, or a mark that it halted at, the hart mostly goes on.
            let passed = matches!(halt, Halt::Mark { .. } | Halt::Pause);
            let t = &harts[index];
            if told || !passed || !t.is_ready() || t.hart.cycle >= end {
                break halt;
            }
        };
        self.stopped::<SEVERAL>(index, until, halt, out);
    }

    /// Hart `index`, which was to run until `until`, has stopped for `halt`.
    #[inline(always)]
    fn stopped<const SEVERAL: bool>(&mut self, index: usize, until: Time, halt: Halt, out: &mut Outbox<'_>) {
        let NodePartition { system, parts, .. } = self;
        if !SEVERAL {
            system.return_events(parts, index);
        }
        // When the last instruction started is known only where nothing but the time has stopped the hart.
        if !SEVERAL && matches!(halt, Halt::Deadline) && !parts.harts[index].hart.port.wants_bus() {
            // It may have stopped for a transaction of its own.
            let stopped = parts.harts[index].hart.now().min(parts.events.next_time());
            parts.ran_to = parts.ran_to.max(until.min(stopped));
        }
        // At a deadline in a call that takes no time it is this hart's turn still.
        if SEVERAL && !matches!(halt, Halt::Deadline) {
            parts.harts.leave_untimed(index);
        }
        if matches!(halt, Halt::Call | Halt::Mark { .. }) {
            parts.os.after_call(&mut parts.harts, index, system.bus());
        }
        if !matches!(halt, Halt::Deadline | Halt::Pause) {
            parts.announce_ends(parts.harts[index].hart.now());
        }
        self.collect(index, out);
    }

    /// Does everything that is earlier than the engine's limit, or a good part of it; returns how many
    /// instructions that were. `SEVERAL`: more than one hart has had a thread. A single one pays nothing for
    /// what others would need.
    fn run_to_limit<const SEVERAL: bool>(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut executed = 0;
        loop {
            if self.parts.rests() || self.halts() {
                return executed;
            }
            let limit = out.limit();
            let next = self.parts.harts.next::<SEVERAL>();
            let (ready, index) = (next.ready, next.index);
            // Its own transactions do not end the run of a hart that is alone.
            let own = !SEVERAL
                && ready < limit.min(self.parts.events.prompt().next_time())
                && self.parts.harts[index].is_ready();
            if own {
                self.system.take_events(&mut self.parts, index);
            }
            let event = self.parts.events.next_time();
            // A hart that has caught up with an event may have an instruction to come before it. In a call that takes no time it
            // has had its turn.
            let may_be_late = SEVERAL && self.parts.harts[index].hart.port.is_timed();
            let end = if may_be_late { self.parts.harts.end_before(index, event) } else { event };
            let soft = end.min(limit);
            if ready >= soft && own {
                self.system.return_events(&mut self.parts, index);
            }
            if ready < soft {
                if SEVERAL && self.parts.harts.take_given(index) {
                    self.collect(index, out);
                    continue;
                }
                let before = self.parts.harts[index].hart.statistics.instructions;
                if SEVERAL {
                    let is_alone = self.parts.harts.is_alone(next, soft);
                    let ahead = if is_alone { Time::ZERO } else { self.ahead_limit(index, limit) };
                    if !self.parts.harts.run_ahead(next, ahead) {
                        self.run_among_others(next, soft, out);
                    }
                } else {
                    // What comes from outside is noticed only later: the hart runs on so long.
                    let noticed = event.min(out.horizon()).min(limit + self.parts.io.input_latency);
                    let until = if self.parts.os.is_over() { ready + Time(1) } else { noticed };
                    self.run_hart::<false>(index, until, soft, out);
                    let Parts { os, harts, events, .. } = &mut self.parts;
                    os.after_run(harts, events);
                }
                executed += self.parts.harts[index].hart.statistics.instructions - before;
                if SEVERAL && self.parts.resting {
                    return executed;
                }
                // A call that takes no time, or a suspended hart that catches up, may take long.
                if executed >= RUN_MAX || SEVERAL != self.parts.harts.is_several() {
                    return executed;
                }
                continue;
            }
            if self.parts.events.next_time() >= limit {
                return executed;
            }
            let (&next, urgency) = self.parts.events.earliest().expect("an event is due");
            let target = Target::from(next.target);
            if self.announce::<SEVERAL>(&next, target, urgency) {
                // Harts catch up before the event happens.
                continue;
            }
            let event = self.parts.events.take(urgency, limit);
            self.dispatch(event, target, out);
        }
    }

    /// The node halts for a debugger.
    #[inline]
    fn halts(&mut self) -> bool {
        let Parts { debug, harts, os, .. } = &mut self.parts;
        debug.as_mut().is_some_and(|debug| debug.look(harts, os))
    }

    /// Hart `index` may run ahead as far as this: past other harts' transactions, but not past what happens to its own, or what
    /// devices or the scheduler do, nor past the engine's `limit`.
    fn ahead_limit(&self, index: usize, limit: Time) -> Time {
        let NodePartition { system, parts, .. } = self;
        let events = &parts.events;
        let mut end = limit.min(events.prompt().next_time());
        if parts.harts[index].hart.port.uses_bus() {
            end = end.min(system.undisturbed(parts, index));
        }
        let is_others =
            |event: &&Event| matches!(Target::from(event.target), Target::MemorySystem | Target::Request);
        let own = events.slow().iter().filter(|event| !is_others(event));
        own.map(|event| event.time).fold(end, Time::min)
    }

    /// Runs hart `index`, which is ready first, until `soft` or until another hart may be next.
    fn run_among_others(&mut self, next: Next, soft: Time, out: &mut Outbox<'_>) {
        let index = next.index;
        let NodePartition { system, parts, .. } = self;
        let core = &parts.harts[index];
        // What it is about to do may be seen by others, though they have the lines that they need: it wakes by itself, or
        // stores in no time, past the caches. Those that repeat themselves have to catch up first; then it is asked again.
        let is_seen = !core.is_ready() || !core.hart.port.is_timed();
        let now = core.ready_at();
        if is_seen && parts.harts.announce(index, system.bus_mut(), now) {
            return;
        }
        // Others may have been taken back.
        let others = if is_seen { parts.harts.others_ready(index) } else { next.others };
        let until = soft.min(others);
        self.run_hart::<true>(index, until, until, out);
    }
}

impl Partition for NodePartition {
    fn next(&self) -> Time {
        if self.parts.rests() {
            return Time::NEVER;
        }
        let next = self.parts.events.next_time().min(self.parts.harts.ready_at());
        // A turn also settles what harts did that ran ahead, which bounds its effects.
        if next == Time::NEVER { next } else { next.min(self.parts.settled) }
    }

    fn earliest_outputs(&self, least: &[Time], earliest: &mut [Time]) {
        earliest.fill(Time::NEVER);
        if self.next() == Time::NEVER {
            return;
        }
        // A hart that runs ahead may be taken back.
        let ready = self.parts.harts.ready_at().min(self.parts.settled);
        self.parts.lower_by_access(earliest, ready + self.parts.io.store_latency);
        for event in self.parts.events.slow().iter() {
            self.lower_by_event(earliest, event);
        }
        self.system.waiting(&self.parts, &mut |name, grant| {
            self.parts.lower_by_transaction(earliest, name, grant);
        });
        let prompt = self.parts.events.prompt();
        if prompt.len() > CAUSES_MAX {
            return lower(earliest, prompt.next_time(), least);
        }
        for event in prompt.iter() {
            self.lower_by_event(earliest, event);
        }
    }

    /// Returns how many instructions were executed and events dealt with, these by what they cost.
    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let events = self.events;
        let executed = match self.parts.harts.is_several() {
            false => self.run_to_limit::<false>(out),
            true => self.run_to_limit::<true>(out),
        };
        self.parts.settled = self.parts.settled_until(out.limit());
        self.parts.os.report_progress(executed);
        executed + (self.events - events) * WORK_OF_EVENT
    }

    fn receive(&mut self, event: Event, packet: Option<Box<Packet>>) {
        self.take_in(event, packet);
    }

    fn receive_within(
        &mut self,
        event: Event,
        packet: Option<Box<Packet>>,
        _: &[Time],
        earliest: &mut [Time],
    ) -> bool {
        let device = event.target as usize;
        let (event, changes) = self.take_in(event, packet);
        if changes || self.parts.events.prompt().len() > CAUSES_MAX || self.parts.rests() {
            return false;
        }
        let ni = &self.parts.io.devices[device].ni;
        lower(earliest, event.time, ni.output_latency(Cause::Network(&event)));
        true
    }

    fn stop(&self) -> Option<Time> {
        let broken = self.broken_machine().map(|&(time, _)| time);
        broken.into_iter().chain(self.parts.os.stop).min()
    }

    /// The jobs that broke here.
    fn take_stop_reasons(&mut self) -> Vec<u64> {
        self.parts.os.stop = None;
        std::mem::take(&mut self.parts.os.broken).into_iter().map(|job| u64::from(job.0)).collect()
    }

    /// The jobs numbered so are over.
    fn go_on(&mut self, reasons: &[u64], at: Time) {
        let Parts { os, harts, events, resting, .. } = &mut self.parts;
        *resting = false;
        os.unshare_texts(harts);
        for &job in reasons {
            let timer = Timer::Close(JobId(job as u32)).into();
            events.schedule(at, Class::Internal, Target::Scheduler, Urgency::Slow, timer);
        }
    }

    fn hosted_by(&mut self, thread: usize) {
        self.parts.harts.iter_mut().for_each(|t| t.hart.hosted_by(thread));
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
