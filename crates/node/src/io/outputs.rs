//! What devices ask of their node.

use chasqui_abi::mark;
use chasqui_engine::{Class, Time};

use crate::events::{Target, Urgency};
use crate::memory_system::Client;
use crate::os::{SIGBUS, SIGSEGV};
use crate::parts::Parts;

impl Parts {
    /// Does what `device` has asked for in a call at `now`, charging hart `hart`.
    pub(super) fn apply_outputs(&mut self, device: usize, hart: usize, now: Time) {
        if self.io.outputs.is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.io.outputs.events);
        for (time, payload) in events.drain(..) {
            self.events.schedule(time, Class::Internal, Target::Device(device), Urgency::Prompt, payload);
        }
        // The room is used again by the next call.
        self.io.outputs.events = events;
        if !self.io.outputs.is_empty() {
            self.apply_rare_outputs(device, hart, now);
        }
    }

    /// Devices that do something by themselves begin at time 0.
    pub(crate) fn begin_devices(&mut self) {
        for (number, device) in self.io.devices.iter().enumerate() {
            if let Some(payload) = device.ni.first_event() {
                let target = Target::Device(number);
                self.events.schedule(Time::ZERO, Class::Internal, target, Urgency::Prompt, payload);
            }
        }
    }

    /// The interrupt controller's interrupts go to the harts as they are from `now` on.
    pub(crate) fn show_interrupts(&mut self, now: Time) {
        for (hart, level, asserted) in self.io.controller.changes() {
            self.harts.settle(hart, now);
            self.harts[hart].set_interrupt(level, asserted, now);
        }
    }

    /// Beside events few calls output anything.
    #[inline(never)]
    fn apply_rare_outputs(&mut self, device: usize, hart: usize, now: Time) {
        for request in std::mem::take(&mut self.io.outputs.bus) {
            let client = Client::Device(self.io.name((device, request)));
            let at = now + self.io.devices[device].attach;
            self.events.schedule(at, Class::Request, Target::Request, Urgency::Prompt, client.into());
        }
        let outputs = &mut self.io.outputs;
        let charge = std::mem::take(&mut outputs.charge);
        let (turn, interrupts) = (outputs.turn.take(), std::mem::take(&mut outputs.interrupts));
        let (incoherence, broken) = (outputs.incoherence.take(), outputs.broken.take());
        let faults = std::mem::take(&mut outputs.faults);
        for (process, mark) in std::mem::take(&mut outputs.marks) {
            if mark.code == mark::ABORT {
                self.os.abort_of(&mut self.harts, &mut self.events, process, now, mark.value as i32);
                self.announce_ends(now);
            } else {
                self.os.mark_elsewhere(process, &mark, &mut self.recorders);
            }
        }
        if charge > Time::ZERO {
            self.harts.settle(hart, now);
            let core = &mut self.harts[hart];
            let start = core.hart.now().max(now);
            core.start_at(start + charge);
        }
        if let Some(turn) = turn {
            self.os.take_turn(&mut self.harts, &mut self.events, turn, now);
        }
        if !interrupts.is_empty() {
            self.check_noticed(now);
            for (line, asserted) in interrupts {
                self.io.controller.set_line(device, line, asserted);
            }
            self.show_interrupts(now);
        }
        let incoherence = incoherence.map(|(process, seen)| (process, SIGBUS, seen.to_string()));
        let faults = faults.into_iter().map(|(process, text)| (process, SIGSEGV, text));
        for (process, signal, text) in incoherence.into_iter().chain(faults) {
            self.os.fault_of(&mut self.harts, &mut self.events, (process, hart), now, (signal, &text));
            self.announce_ends(now);
        }
        if let Some(broken) = broken {
            self.io.broken_machine.get_or_insert(broken);
        }
    }
}
