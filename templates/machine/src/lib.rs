//! The template machine: a network interface to which the processor stores messages word by word, and which writes those
//! that arrive into a ring in memory.
//!
//! Reading order: `registers.rs`, `ni.rs`, then `device.c`.

mod ni;
pub mod registers;

use chasqui_config::{Bytes, Count, Cycles, Resolved, Schema};
use chasqui_machine::{Built, Machine, OnNetwork, Workload, build_on_network};
use chasqui_network::{NetworkParameters, VirtualNetworks};
use chasqui_node::NodeConfiguration;

use ni::{NiPlan, TemplateNi};

chasqui_config::parameters! {
    /// The network interface, on the memory bus. Cycles are bus clocks.
    pub struct NiUnit {
        /// Nodes.
        nodes: Count = 1024, range 1 ..= 65536, source "ours";
        /// Load of a register: from the end of the address tenure to the data.
        access: Cycles = 4, range 0 ..= 1000, source "assumption";
        /// Control of a message on its way out.
        send: Cycles = 5, range 1 ..= 1000, source "assumption";
        /// Control of a message on its way in.
        receive: Cycles = 5, range 1 ..= 1000, source "assumption";
        /// Messages that wait in the network interface until control takes them.
        fifo: Count = 8, range 1 ..= 1024, source "assumption";
        /// Slots of the ring of arrivals, a power of two.
        slots: Count = 64, range 2 ..= 4096, source "assumption";
        /// Bytes of a packet on the wire beside envelope and data.
        packet_overhead: Bytes = "8 B", range "4 B" ..= "256 B", source "assumption: route and check";
    }
}

impl NiUnit {
    /// Packets on the wire [bytes]: the shortest and the longest.
    fn packet_bytes(&self) -> (u64, u64) {
        let shortest = ni::ENVELOPE as u64 + self.packet_overhead.bytes();
        (shortest, shortest + registers::DATA_BYTES)
    }
}

/// The machine.
pub struct TemplateMachine;

impl Machine for TemplateMachine {
    fn name(&self) -> &'static str {
        "template"
    }

    fn file(&self) -> &'static str {
        include_str!("../machine.toml")
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<NiUnit>("template")
            .with::<NetworkParameters>("network")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let unit: NiUnit = resolved.read("template");
        let network: NetworkParameters = resolved.read("network");
        let mut found = NodeConfiguration::read(resolved).mistakes();
        found.extend(network.mistakes(resolved, self.copes_with(resolved)));
        if !unit.slots.is_power_of_two() {
            found.push(format!("template.slots: {} is not a power of two", unit.slots));
        }
        let (_, longest) = unit.packet_bytes();
        if network.packet_max.bytes() < longest {
            found.push(format!("network.packet_max: at least {longest} B are needed"));
        }
        found
    }

    fn nodes_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<NiUnit>("template").nodes as u32
    }

    /// Each message takes a place of the FIFO and a slot of the ring.
    fn warm_up(&self, resolved: &Resolved, _: u64) -> u64 {
        let unit: NiUnit = resolved.read("template");
        unit.fifo.max(unit.slots)
    }

    fn build(&self, resolved: &Resolved, work: &Workload, threads: usize) -> Result<Built, String> {
        let unit: NiUnit = resolved.read("template");
        let on = OnNetwork {
            networks: VirtualNetworks::ONE,
            packet_bytes_min: unit.packet_bytes().0 as u32,
            copes_with: self.copes_with(resolved),
        };
        build_on_network(resolved, work, on, threads, |configuration, port| {
            let ni = TemplateNi::new(NiPlan {
                unit: resolved.read("template"),
                clock: configuration.bus.clock(),
                line_bytes: configuration.longest_line().bytes(),
                network: resolved.read("network"),
                port,
            });
            Ok((0, Box::new(ni)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(TemplateMachine.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
    }
}
