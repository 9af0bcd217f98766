//! A network cache in the processor (Khunjush, dissertation, University of Victoria, 2008, chapters
//! 3 to 7), and the ways of receiving a message that it is compared with.
//!
//! The network cache is a part of the node (`crates/memory/src/network_cache`). Here is the network interface: a NIC
//! with DMA that receives by one of the policies; for policies `via` and `via-zero-copy` a VIA NIC; for policies
//! `tcp` and `mvia` an Ethernet controller.
//!
//! Reading order: `registers.rs`, `parameters.rs`, `link.rs`, `nic/mod.rs`, `nic/transmit.rs`, `nic/receive.rs`,
//! `nic/deliver.rs`, then `device.c`. Of `via`: `via/registers.rs`, `via/mod.rs`, `via/sequence.rs`, `via/vi.rs`,
//! `via/transmit.rs`, `via/receive.rs`, `kernel/via.c`, then `via/device.c` beside `src`. Of `tcp`:
//! `ethernet/registers.rs`, `ethernet/mod.rs`, `ethernet/transmit.rs`, `ethernet/receive.rs`, `kernel/ethernet.c`,
//! then `tcp/device.c`. The peers of a rank that is simulated alone: `wire.rs`, `via/peers.rs`,
//! `ethernet/peers/mod.rs`.

pub mod ethernet;
mod mechanism;
mod nic;
pub mod parameters;
pub mod registers;
pub mod via;
mod wire;

use chasqui_config::{Resolved, Schema};
use chasqui_machine::replay::{Datagrams, Transport, build_alone_on_network, check_alone_on_network};
use chasqui_machine::{Built, Job, Machine, OnNetwork, Workload, build_on_network, ni_memory_base};
use chasqui_network::{FAULTS, FaultKind, NetworkParameters, VirtualNetworks};
use chasqui_ni::NetworkInterface;
use chasqui_node::NodeConfiguration;
use chasqui_placement::JobId;

use ethernet::parameters::{EthernetUnit, TcpUnit};
use ethernet::{Above, Ethernet, EthernetPlan, TcpPeers};
use nic::{Nic, NicPlan};
use parameters::{MpiUnit, NicUnit, Policy};
use via::parameters::{MviaUnit, ViaUnit};
use via::{Line, ViaNic, ViaPeers, ViaPlan};
use wire::NicWire;

/// Processes of a node, at most: each pair of them takes a virtual network, of which links number 255 channels.
const PROCESSES_MAX: u32 = 8;

/// A machine with such a NIC at each node.
pub struct NetcacheMachine {
    name: &'static str,
    file: &'static str,
}

/// The paper's.
pub const NETCACHE: NetcacheMachine =
    NetcacheMachine { name: "netcache", file: include_str!("../machine.toml") };

/// A node of today, whose NIC may inject into the L2.
pub const NETCACHE_MODERN: NetcacheMachine =
    NetcacheMachine { name: "netcache-modern", file: include_str!("../modern.toml") };

impl Machine for NetcacheMachine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn folder(&self) -> &'static str {
        NETCACHE.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<NicUnit>("netcache.nic")
            .with::<MpiUnit>("netcache.mpi")
            .with::<ViaUnit>("netcache.via")
            .with::<MviaUnit>("netcache.mvia")
            .with::<EthernetUnit>("netcache.ethernet")
            .with::<TcpUnit>("netcache.tcp")
            .with::<NetworkParameters>("network")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let node = NodeConfiguration::read(resolved);
        let nic: NicUnit = resolved.read("netcache.nic");
        let mpi: MpiUnit = resolved.read("netcache.mpi");
        let network: NetworkParameters = resolved.read("network");
        let mut found = node.mistakes();
        found.extend(nic.mistakes(&mpi));
        found.extend(network.mistakes(resolved, self.copes_with(resolved)));
        let longest = match nic.policy {
            Policy::Via => via::packet_bytes_max(&nic, &resolved.read("netcache.via")),
            Policy::Tcp | Policy::Mvia => ethernet::packet_bytes_max(&resolved.read("netcache.ethernet")),
            _ => nic::packet_bytes_max(&nic, &mpi),
        };
        let via: ViaUnit = resolved.read("netcache.via");
        if matches!(nic.policy, Policy::Via | Policy::Mvia) {
            found.extend(via.mistakes(&nic, &mpi));
        }
        if nic.policy == Policy::Mvia {
            found.extend(via.mistakes_in_software());
        }
        if matches!(nic.policy, Policy::Tcp | Policy::Mvia) {
            found.extend(resolved.read::<EthernetUnit>("netcache.ethernet").mistakes());
        }
        if nic.policy.needs_kernel() && !node.software.kernel {
            found.push(format!(
                "netcache.nic.policy: {} needs a kernel, node.software.kernel = true",
                nic.policy
            ));
        }
        if network.packet_max.bytes() < longest {
            found.push(format!("network.packet_max: at least {longest} B are needed"));
        }
        if nic.inject && !node.l2.present {
            found.push("netcache.nic.inject: the node has no L2 (node.l2.present)".into());
        }
        if nic.policy == Policy::NetworkCache && !node.network_cache.present {
            found.push(
                "netcache.nic.policy: the node has no network cache (node.network_cache.present)".into(),
            );
        }
        if nic.policy == Policy::NetworkCache && node.network_cache.longest > mpi.eager {
            found.push(format!(
                "node.network_cache.longest: {} go by rendezvous (netcache.mpi.eager is {})",
                node.network_cache.longest, mpi.eager
            ));
        }
        if nic.policy == Policy::NetworkCache && !node.network_cache.leaves_a_pool(nic.pools()) {
            // Else the NIC could wait for ever for room that bound messages take, of which the program asks for none.
            found.push(format!(
                "node.network_cache.tlb_entries: {} bound messages may stay in network memory, which has {} pools \
                 (netcache.nic.memory, netcache.nic.pool): more of these are needed",
                node.network_cache.tlb_entries,
                nic.pools()
            ));
        }
        found
    }

    fn mechanisms(&self) -> &'static [&'static str] {
        mechanism::Mechanism::NAMES
    }

    fn copes_with(&self, resolved: &Resolved) -> &'static [FaultKind] {
        // The kernel finds out and sends again.
        match resolved.read::<NicUnit>("netcache.nic").policy {
            Policy::Tcp | Policy::Mvia => FAULTS,
            _ => &[],
        }
    }

    fn nodes_max(&self, resolved: &Resolved) -> u32 {
        let nic: NicUnit = resolved.read("netcache.nic");
        let via: ViaUnit = resolved.read("netcache.via");
        let has_vis = matches!(nic.policy, Policy::Via | Policy::Mvia);
        (if has_vis { nic.nodes.min(via.ranks_max()) } else { nic.nodes }) as u32
    }

    /// Each message takes an element at least of the rings of its policy; by `tcp` also its bytes of the socket's buffers.
    fn warm_up(&self, resolved: &Resolved, bytes: u64) -> u64 {
        let nic: NicUnit = resolved.read("netcache.nic");
        let mpi: MpiUnit = resolved.read("netcache.mpi");
        let rings = mpi.slots.max(mpi.arrivals);
        match nic.policy {
            Policy::Tcp => resolved.read::<EthernetUnit>("netcache.ethernet").warm_up(bytes),
            Policy::Via => rings.max(resolved.read::<ViaUnit>("netcache.via").depth),
            Policy::Mvia => rings
                .max(resolved.read::<ViaUnit>("netcache.via").depth)
                .max(resolved.read::<EthernetUnit>("netcache.ethernet").descriptors()),
            Policy::NetworkCache => rings.max(NodeConfiguration::read(resolved).network_cache.warm_up()),
            Policy::Processor | Policy::Buffer | Policy::Direct => rings,
        }
    }

    /// Who waits for a socket sleeps, and who blocks in a VI.
    fn waits_by_polling(&self, resolved: &Resolved, _: usize) -> bool {
        match resolved.read::<NicUnit>("netcache.nic").policy {
            Policy::Tcp => false,
            Policy::Via | Policy::Mvia => !via::blocks(&resolved.read("netcache.via")),
            _ => true,
        }
    }

    fn ranks_per_node_max(&self, _: &Resolved) -> u32 {
        PROCESSES_MAX
    }

    fn replays(&self, resolved: &Resolved) -> Result<(), String> {
        check_alone_on_network(resolved)
    }

    fn build(&self, resolved: &Resolved, work: &Workload, threads: usize) -> Result<Built, String> {
        let unit: NicUnit = resolved.read("netcache.nic");
        let ranks = work.placement.ranks(JobId(0));
        if matches!(unit.policy, Policy::Via | Policy::Mvia) {
            resolved.read::<ViaUnit>("netcache.via").check_ranks(ranks)?;
        }
        let ni = |configuration: &NodeConfiguration, port| {
            let unit: NicUnit = resolved.read("netcache.nic");
            if matches!(unit.policy, Policy::Tcp | Policy::Mvia) {
                let above = match unit.policy {
                    Policy::Mvia => Above::Via(resolved.read("netcache.mpi"), resolved.read("netcache.mvia")),
                    _ => Above::Sockets(resolved.read("netcache.tcp")),
                };
                let ethernet = Ethernet::new(EthernetPlan {
                    placement: work.placement.clone(),
                    unit: resolved.read("netcache.ethernet"),
                    above,
                    via: resolved.read("netcache.via"),
                    clock: configuration.bus.clock(),
                    line_bytes: configuration.longest_line().bytes(),
                    network: resolved.read("network"),
                    port,
                });
                return Ok((0, Box::new(ethernet) as Box<dyn NetworkInterface>));
            }
            if unit.policy == Policy::Via {
                let nic = ViaNic::new(ViaPlan {
                    processes: work.placement.processes(),
                    unit,
                    via: resolved.read("netcache.via"),
                    mpi: resolved.read("netcache.mpi"),
                    clock: configuration.bus.clock(),
                    line_bytes: configuration.longest_line().bytes(),
                    network: resolved.read("network"),
                    port,
                });
                return Ok((0, Box::new(nic) as Box<dyn NetworkInterface>));
            }
            let nic = Nic::new(NicPlan {
                unit,
                mpi: resolved.read("netcache.mpi"),
                clock: configuration.bus.clock(),
                line_bytes: configuration.longest_line().bytes(),
                memory_base: ni_memory_base(configuration),
                placement: work.placement.clone(),
                longest: configuration.network_cache.longest.bytes(),
                network: resolved.read("network"),
                port,
            });
            Ok((nic.memory_bytes(), Box::new(nic) as Box<dyn NetworkInterface>))
        };
        if let Some(Job { replay: Some(replay), .. }) = work.alone() {
            let peers = between_peers_and_line(resolved, (replay.rank, ranks));
            return build_alone_on_network(resolved, work, replay, VirtualNetworks::ONE, peers, ni);
        }
        let shortest = match unit.policy {
            Policy::Tcp | Policy::Mvia => resolved.read::<EthernetUnit>("netcache.ethernet").shortest(),
            _ => unit.packet_overhead.bytes(),
        };
        let on = OnNetwork {
            networks: nic::networks(work.placement.processes()),
            packet_bytes_min: shortest as u32,
            copes_with: self.copes_with(resolved),
        };
        build_on_network(resolved, work, on, threads, ni)
    }
}

/// What the peers of a rank that is simulated alone have: their NICs, and for `tcp` and `mvia` their kernels.
fn between_peers_and_line(resolved: &Resolved, here: (u32, u32)) -> Box<dyn Transport> {
    let nic: NicUnit = resolved.read("netcache.nic");
    let mpi = resolved.read("netcache.mpi");
    match nic.policy {
        Policy::Tcp => {
            let (unit, tcp) = (resolved.read("netcache.ethernet"), resolved.read("netcache.tcp"));
            Box::new(TcpPeers::new(unit, tcp, here))
        }
        Policy::Via => {
            let line = Line::nics(&nic);
            Box::new(ViaPeers::new(line, resolved.read("netcache.via"), mpi, here))
        }
        Policy::Mvia => {
            let mvia: MviaUnit = resolved.read("netcache.mvia");
            let line = Line::kernels(&resolved.read("netcache.ethernet"), &mvia);
            Box::new(ViaPeers::new(line, resolved.read("netcache.via"), mpi, here))
        }
        _ => Box::new(Datagrams::new(NicWire::new(nic, mpi))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_right() {
        assert_eq!(NETCACHE.schema().mistakes(), Vec::<String>::new());
    }

    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registers.h");
        chasqui_abi::header::check(path, &registers::HEADER.text());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/via/registers.h");
        chasqui_abi::header::check(path, &via::registers::HEADER.text());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tcp/ethernet.h");
        chasqui_abi::header::check(path, &ethernet::registers::HEADER.text());
    }
}
