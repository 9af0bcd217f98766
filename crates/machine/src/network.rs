//! The network's parameters as machines declare them.

use chasqui_config::{Bandwidth, Bytes, Count, Duration, Ratio, Resolved, Text};
use chasqui_network::{FaultParameters, FaultyLinks, NetworkParameters, TopologyKind};

chasqui_config::choice! {
    /// How routers are joined.
    pub enum Topology {
        /// One router that all nodes share.
        Crossbar = "crossbar",
        /// A k-ary n-tree.
        FatTree = "fat-tree",
        /// A two-dimensional mesh, dimension-ordered.
        Mesh = "mesh",
    }
}

chasqui_config::parameters! {
    /// The interconnect: virtual cut-through routers with finite buffers and credits.
    pub struct NetworkUnit {
        /// How routers are joined.
        topology: Topology = "fat-tree", source "assumption";
        /// Down-links of a fat tree's router.
        arity: Count = 4, range 2 ..= 64, source "assumption";
        /// Columns of a mesh; 0: the least square.
        columns: Count = 0, range 0 ..= 65536, source "assumption";
        /// Bandwidth of a link, each way.
        link_bandwidth: Bandwidth = "1 GB/s", source "assumption";
        /// Latency of a link.
        link_latency: Duration = "25 ns", range "1 ps" ..= "1 s", source "assumption: a few metres of cable and its drivers";
        /// From the arrival of a packet's head at a router to its departure, unloaded.
        routing_delay: Duration = "75 ns", range "0 ns" ..= "1 s", source "assumption";
        /// Packets that an input buffer of a router holds, for each priority.
        input_buffer: Count = 4, range 1 ..= 65536, source "assumption";
        /// Packets that the receive buffer of a node's interface holds, for each priority.
        receive_buffer: Count = 4, range 1 ..= 65536, source "assumption";
        /// Longest packet, header and check included.
        packet_max: Bytes = "96 B", range "8 B" ..= "64 KiB", source "assumption";
    }
}

chasqui_config::parameters! {
    /// Faulty links, which flip bits of packets. A packet whose CRC is found to be wrong ends the run.
    pub struct FaultUnit {
        /// Which links, by where they begin: "all", "node 3", "router 0 port 2".
        link: Text = "all", source "ours";
        /// Number of the packet on a faulty link, from 1 on, that is hit; 0: none is by its number.
        packet: Count = 0, range 0 ..= 1000000000000_i64, source "ours: links are sound";
        /// Share of the packets on a faulty link that are hit by chance.
        rate: Ratio = "0 %", range "0 %" ..= "100 %", source "ours: links are sound";
        /// Bits from the first that is flipped to the last; of those between, half are.
        burst: Count = 1, range 1 ..= 65536, source "ours";
        /// Seed of what is left to chance: who is hit, and where.
        seed: Count = 1, range 0 ..= 1000000000000_i64, source "ours";
    }
}

impl FaultUnit {
    /// What does not fit, in words.
    pub fn mistakes(&self) -> Vec<String> {
        let link = FaultyLinks::parse(&self.link);
        link.err().map(|text| format!("network.fault.link: {text}")).into_iter().collect()
    }

    /// The parameters as the network takes them, if they are without mistakes.
    fn parameters(&self) -> FaultParameters {
        FaultParameters {
            links: FaultyLinks::parse(&self.link).unwrap_or(FaultyLinks::All),
            packet: self.packet,
            rate_parts: self.rate.parts(),
            burst_bits: self.burst as u32,
            seed: self.seed,
        }
    }
}

/// The network that `network` and `network.fault` describe.
pub fn network_parameters(resolved: &Resolved) -> NetworkParameters {
    let fault = resolved.read::<FaultUnit>("network.fault").parameters();
    NetworkParameters { fault, ..resolved.read::<NetworkUnit>("network").parameters() }
}

impl NetworkUnit {
    /// The parameters as the network takes them, its links being sound.
    pub fn parameters(&self) -> NetworkParameters {
        NetworkParameters {
            topology: match self.topology {
                Topology::Crossbar => TopologyKind::Crossbar,
                Topology::FatTree => TopologyKind::FatTree,
                Topology::Mesh => TopologyKind::Mesh,
            },
            fat_tree_arity: self.arity as u32,
            mesh_columns: self.columns as u32,
            link_bandwidth_bytes_per_s: self.link_bandwidth.bytes_per_s(),
            link_latency_ps: self.link_latency.ps(),
            routing_delay_ps: self.routing_delay.ps(),
            input_buffer_packets: self.input_buffer as u32,
            receive_buffer_packets: self.receive_buffer as u32,
            packet_bytes_max: self.packet_max.bytes() as u32,
            ..NetworkParameters::default()
        }
    }
}
