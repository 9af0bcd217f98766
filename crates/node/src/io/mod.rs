//! What lies between a node's memory system and its devices, and the devices.
//!
//! A device is on the memory system itself, or behind a link that takes its time
//! ([`NetworkInterface::attach`]): `access.rs` has the harts' accesses on their way. What devices ask for in return is in
//! `outputs.rs`; packets that events bring wait in `packets.rs`. Their interrupt lines go to the harts by way of the
//! interrupt controller (`controller.rs`), whose registers lie behind the devices'.

mod access;
mod controller;
mod outputs;
mod packets;

use std::collections::VecDeque;

use chasqui_engine::{Clock, Event, Outbox, Payload, Time};
use chasqui_memory::{DEVICE_BASE, Slot};
use chasqui_ni::{BusRequest, Context, NetworkInterface, Outputs};

pub(crate) use access::Access;
use access::Crossing;
pub use controller::controller_address;
pub(crate) use controller::{InterruptController, Level};
use packets::Packets;

use crate::events::Target;
use crate::os::Pages;
use crate::parts::Parts;

/// Physical addresses that a node's devices have, each: device n's begin at [`DEVICE_BASE`] and n times this [bytes].
pub const DEVICE_SPAN: u64 = 1 << 48;

/// What happens between the memory system and the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoEvent {
    /// What a device answers to an access of a hart is back.
    Answer { hart: usize, slot: Slot, value: u64 },
    /// The oldest access on the way to this device is there.
    Arrive(usize),
    /// A store to a register of the interrupt controller takes effect.
    Register { address: u64, value: u32 },
}

impl From<IoEvent> for Payload {
    fn from(event: IoEvent) -> Payload {
        match event {
            IoEvent::Answer { hart, slot, value } => [(slot as u64) << 8 | (hart as u64) << 16, value],
            IoEvent::Arrive(device) => [1 | (device as u64) << 16, 0],
            IoEvent::Register { address, value } => [2 | address << 16, u64::from(value)],
        }
    }
}

impl From<Payload> for IoEvent {
    fn from([a, value]: Payload) -> IoEvent {
        let number = (a >> 16) as usize;
        match a & 0xff {
            0 => IoEvent::Answer { hart: number, slot: Slot::ALL[(a >> 8 & 3) as usize], value },
            1 => IoEvent::Arrive(number),
            _ => IoEvent::Register { address: a >> 16, value: value as u32 },
        }
    }
}

/// A device of a node.
pub(crate) struct Device {
    pub ni: Box<dyn NetworkInterface>,
    /// How far it is from the memory system, one way.
    pub attach: Time,
    /// Accesses of harts that are on their way, oldest first.
    crossing: VecDeque<Crossing>,
}

/// The devices of a node and the way to them.
pub(crate) struct Io {
    pub devices: Vec<Device>,
    /// Transactions that devices have asked for, each with its device's number; by their names among clients.
    pub requests: Vec<(usize, BusRequest)>,
    free_requests: Vec<u32>,
    outputs: Outputs,
    /// Nothing else happens on the node before then: for the next call of a device, and that alone.
    pub alone: Time,
    pub controller: InterruptController,
    pub packets: Packets,
    /// The clock of the memory system, at which answers come back.
    clock: Clock,
    /// From what comes from outside to anything that a hart can notice of it.
    pub input_latency: Time,
    /// The shortest way from the memory system to a device.
    pub attach: Time,
    /// From a store's start to its arrival at a device.
    pub store_latency: Time,
    /// What a device found broken in the machine first, which ends all jobs: when, and what.
    pub broken_machine: Option<(Time, String)>,
}

impl Io {
    /// `clock`: of the memory system, where a transaction's address takes `tenure`; `untimed`: accesses take no time. The
    /// interrupt controller has so many `harts`, and this latency.
    pub fn new(
        devices: Vec<Box<dyn NetworkInterface>>,
        (clock, tenure, untimed): (Clock, Time, bool),
        (harts, controller_latency): (usize, Time),
    ) -> Io {
        let input_latency = devices.iter().map(|ni| ni.input_latency()).min();
        let attach = devices.iter().map(|ni| ni.attach()).min().unwrap_or(Time::ZERO);
        let device =
            |ni: Box<dyn NetworkInterface>| Device { attach: ni.attach(), ni, crossing: VecDeque::new() };
        Io {
            requests: vec![],
            free_requests: vec![],
            outputs: Outputs::default(),
            alone: Time::ZERO,
            controller: InterruptController::new(
                devices.iter().map(|ni| ni.interrupt_lines()),
                harts,
                controller_latency,
            ),
            packets: Packets::default(),
            clock,
            input_latency: input_latency.unwrap_or(Time::NEVER),
            // An access that takes no time is at the device at once.
            store_latency: if untimed { Time::ZERO } else { tenure + attach },
            attach,
            broken_machine: None,
            devices: devices.into_iter().map(device).collect(),
        }
    }

    /// The device that the physical `address` belongs to, and the address there. Behind the last is the interrupt
    /// controller.
    #[inline]
    pub fn place(&self, address: u64) -> (usize, u64) {
        let at = address - DEVICE_BASE;
        ((at / DEVICE_SPAN) as usize, at % DEVICE_SPAN)
    }

    /// How far `device`, or the interrupt controller behind the last, is from the memory system, one way.
    #[inline]
    pub fn way(&self, device: usize) -> Time {
        self.devices.get(device).map_or(Time::ZERO, |device| device.attach)
    }

    /// The device that a running process has to itself, if there is one.
    pub fn exclusive(&self) -> Option<usize> {
        self.devices.iter().position(|device| device.ni.is_exclusive())
    }

    /// Latency of the memory at `address` if it is a device's, with the way there and back unless `write`.
    pub fn memory_latency(&self, address: u64, write: bool) -> Option<Time> {
        self.devices.iter().find_map(|device| {
            // A write is over when it leaves the memory system.
            let way = if write { Time::ZERO } else { device.attach + device.attach };
            Some(device.ni.memory_latency(address)? + way)
        })
    }

    /// Whether a polling loop may see the event.
    #[inline]
    pub fn is_observable(&self, target: Target, event: &Event) -> bool {
        match target {
            Target::Network(device) => self.devices[device].ni.network_is_visible(event),
            Target::Device(device) => self.devices[device].ni.is_visible(event.payload),
            Target::Io => match event.payload.into() {
                IoEvent::Arrive(device) => self.stores_arrive(device),
                // The hart's own transactions are part of what it repeats.
                IoEvent::Answer { .. } => false,
                IoEvent::Register { .. } => true,
            },
            _ => false,
        }
    }

    /// The transaction of a device that has this name.
    #[inline]
    pub fn request(&self, name: u32) -> (usize, BusRequest) {
        self.requests[name as usize]
    }

    /// Gives a device's transaction a name among clients.
    fn name(&mut self, request: (usize, BusRequest)) -> u32 {
        match self.free_requests.pop() {
            Some(name) => {
                self.requests[name as usize] = request;
                name
            }
            None => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
        }
    }

    /// The transaction is over: its name may be another's.
    pub fn release(&mut self, name: u32) {
        self.free_requests.push(name);
    }
}

impl Parts {
    /// Calls `device` and does what it outputs. What it charges is charged to hart `hart`.
    #[inline]
    pub(crate) fn with_device<T>(
        &mut self,
        (device, hart): (usize, usize),
        now: Time,
        out: &mut Outbox<'_>,
        call: impl FnOnce(&mut dyn NetworkInterface, &mut Context<'_, '_>) -> T,
    ) -> T {
        let (mut one, mut several);
        let ports: &mut [&mut chasqui_memory::Port] = if self.harts.count() == 1 {
            one = [&mut self.harts[0].hart.port];
            &mut one
        } else {
            several = self.harts.iter_mut().map(|t| &mut t.hart.port).collect::<Vec<_>>();
            &mut several
        };
        let mut context = Context {
            now,
            alone: std::mem::replace(&mut self.io.alone, Time::ZERO).max(now),
            memory: &mut self.domain.memory,
            ports,
            hart,
            pager: &mut Pages(&mut self.os.processes),
            recorders: &mut self.recorders,
            out,
            outputs: &mut self.io.outputs,
        };
        let result = call(&mut *self.io.devices[device].ni, &mut context);
        self.apply_outputs(device, hart, now);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        let answers = [(0, Slot::Blocking, 0), (1, Slot::WriteBuffer, 1), (63, Slot::Posted, u64::MAX)];
        let answers = answers.map(|(hart, slot, value)| IoEvent::Answer { hart, slot, value });
        let register = IoEvent::Register { address: chasqui_abi::interrupts::BYTES - 4, value: u32::MAX };
        for event in answers.into_iter().chain([IoEvent::Arrive(0), IoEvent::Arrive(7), register]) {
            assert_eq!(IoEvent::from(Payload::from(event)), event);
        }
    }
}
