//! What stands where other machines have a network interface: a page that says which machine this is, and where processes find
//! the registers of their processors' controllers. The controllers are in the memory system, which takes the accesses to these.

use std::ops::Range;

use chasqui_abi::NiIdentification;
use chasqui_counters::Visitor;
use chasqui_directory::registers::TRANSFER_START;
use chasqui_engine::{Event, Packet, Payload, Time};
use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::{BusRequest, Cause, Context, NetworkInterface, Region, Reply};
use chasqui_placement::ProcessId;

use crate::registers;

/// The identification page, and the place of the registers.
pub(crate) struct FlashNi {
    /// The number by which MPI_Init picks its device.
    pub device: u64,
}

impl NetworkInterface for FlashNi {
    fn identify(&self, page: &mut NiIdentification) {
        page.device = self.device as u32;
        page.interface = registers::HEADER.interface();
    }

    /// One for all: an access goes to the controller of the processor that makes it.
    fn regions(&self, _: ProcessId) -> Vec<Region> {
        vec![Region { physical: DEVICE_BASE, bytes: PAGE_BYTES }]
    }

    fn read(&mut self, _: &mut Context<'_, '_>, address: u64, _: u32) -> Reply {
        unreachable!("the memory system has the registers, and {address:#x} was loaded from");
    }

    fn write(&mut self, _: &mut Context<'_, '_>, address: u64, _: u32, _: u64) {
        unreachable!("the memory system has the registers, and {address:#x} was stored to");
    }

    fn event(&mut self, _: &mut Context<'_, '_>, payload: Payload) {
        unreachable!("it has asked for no event, and {payload:?} came");
    }

    fn network(&mut self, _: &mut Context<'_, '_>, event: Event, _: Option<Box<Packet>>) {
        unreachable!("there is no network, and {event:?} came");
    }

    fn bus_granted(&mut self, _: &mut Context<'_, '_>, request: BusRequest) {
        unreachable!("it asks for no transaction, and {request:?} was granted");
    }

    fn bus_done(&mut self, _: &mut Context<'_, '_>, request: BusRequest) {
        unreachable!("it asks for no transaction, and {request:?} is over");
    }

    /// All but the command: the controller looks at nothing in memory before that comes.
    fn self_contained_stores(&self, _: ProcessId) -> Range<u64> {
        DEVICE_BASE..DEVICE_BASE + TRANSFER_START
    }

    fn memory_latency(&self, _: u64) -> Option<Time> {
        None
    }

    /// There are no other partitions.
    fn output_latency(&self, _: Cause<'_>) -> &[Time] {
        &[Time::NEVER]
    }

    fn input_latency(&self) -> Time {
        Time::NEVER
    }

    fn interrupt_lines(&self) -> u32 {
        0
    }

    fn statistics(&self, _: &mut Visitor<'_>) {}
}
