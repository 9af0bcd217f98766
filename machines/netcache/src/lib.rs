//! A network cache in the processor (Khunjush, dissertation, University of Victoria, 2008, chapters
//! 3 to 7), and the ways of receiving a message that it is compared with.
//!
//! The network cache is a part of the node (`crates/memory/src/network_cache`). Here is the network interface: a NIC
//! with DMA that receives by one of the policies; or, for policy `tcp`, an Ethernet controller.
//!
//! Reading order: `registers.rs`, `parameters.rs`, `nic/mod.rs`, `nic/transmit.rs`, `nic/receive.rs`, `nic/deliver.rs`,
//! then `device.c`. Of `tcp`: `ethernet/registers.rs`, `ethernet/mod.rs`, `ethernet/transmit.rs`, `ethernet/receive.rs`,
//! `kernel/ethernet.c`, then `tcp/device.c`.

pub mod ethernet;
mod nic;
pub mod parameters;
pub mod registers;

use chasqui_config::{Resolved, Schema};
use chasqui_machine::{
    Built, FaultUnit, Job, Machine, NetworkUnit, build_on_network, network_parameters, ni_memory_base,
};
use chasqui_ni::NetworkInterface;
use chasqui_node::NodeConfiguration;

use ethernet::parameters::{EthernetUnit, TcpUnit};
use ethernet::{Ethernet, EthernetPlan};
use nic::{Nic, NicPlan};
use parameters::{MpiUnit, NicUnit, Policy};

/// The machine.
pub struct NetcacheMachine;

impl Machine for NetcacheMachine {
    fn name(&self) -> &'static str {
        "netcache"
    }

    fn file(&self) -> &'static str {
        include_str!("../machine.toml")
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<NicUnit>("netcache.nic")
            .with::<MpiUnit>("netcache.mpi")
            .with::<EthernetUnit>("netcache.ethernet")
            .with::<TcpUnit>("netcache.tcp")
            .with::<NetworkUnit>("network")
            .with::<FaultUnit>("network.fault")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let node = NodeConfiguration::read(resolved);
        let nic: NicUnit = resolved.read("netcache.nic");
        let mpi: MpiUnit = resolved.read("netcache.mpi");
        let network: NetworkUnit = resolved.read("network");
        let mut found = node.mistakes();
        found.extend(nic.mistakes(&mpi));
        found.extend(network.parameters().errors());
        found.extend(resolved.read::<FaultUnit>("network.fault").mistakes());
        let ethernet: EthernetUnit = resolved.read("netcache.ethernet");
        found.extend(ethernet.mistakes());
        let longest = match nic.policy {
            Policy::Tcp => ethernet::packet_bytes_max(&ethernet),
            _ => nic::packet_bytes_max(&nic, &mpi),
        };
        if network.packet_max.bytes() < longest {
            found.push(format!("network.packet_max: a packet of {longest} bytes must fit"));
        }
        if nic.policy == Policy::NetworkCache && !node.network_cache.present {
            found.push(
                "netcache.nic.policy: the node has no network cache (node.network_cache.present)".into(),
            );
        }
        if nic.policy == Policy::Tcp && !node.software.kernel {
            found.push("netcache.nic.policy: tcp is a kernel's (node.software.kernel)".into());
        }
        found
    }

    fn mechanisms(&self) -> &'static [&'static str] {
        nic::MECHANISMS
    }

    fn ranks_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<NicUnit>("netcache.nic").nodes as u32
    }

    fn build(&self, resolved: &Resolved, jobs: &[Job]) -> Result<Built, String> {
        let unit: NicUnit = resolved.read("netcache.nic");
        if unit.policy == Policy::Tcp {
            return build_on_network(resolved, jobs, |configuration, port| {
                let ethernet = Ethernet::new(EthernetPlan {
                    unit: resolved.read("netcache.ethernet"),
                    tcp: resolved.read("netcache.tcp"),
                    clock: configuration.bus().clock,
                    line_bytes: configuration.longest_line().bytes(),
                    network: network_parameters(resolved),
                    port,
                });
                Ok((0, Box::new(ethernet) as Box<dyn NetworkInterface>))
            });
        }
        build_on_network(resolved, jobs, |configuration, port| {
            let nic = Nic::new(NicPlan {
                unit: resolved.read("netcache.nic"),
                mpi: resolved.read("netcache.mpi"),
                clock: configuration.bus().clock,
                line_bytes: configuration.longest_line().bytes(),
                memory_base: ni_memory_base(configuration),
                network: network_parameters(resolved),
                port,
            });
            Ok((nic.memory_bytes(), Box::new(nic) as Box<dyn NetworkInterface>))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(NetcacheMachine.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tcp/ethernet.h");
        chasqui_abi::header::check(path, &ethernet::registers::HEADER.text());
    }
}
