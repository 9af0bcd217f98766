//! Faulty links: they flip bits of packets, lose them, or have them come twice, late, or out of order. What happens to a
//! packet depends on the seed, the link, and which packet on the link it is, and so on nothing that the simulator is free
//! to choose.

use chasqui_config::{Count, Duration, Ratio, Text};
use chasqui_engine::Time;
use chasqui_random::Random;

use crate::topology::{Neighbour, RouterPort, Topology};

/// Parts in one, of [`Ratio::parts`].
const ONE: u64 = 1_000_000_000_000;

/// Which links are faulty. A link has the name of where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultyLinks {
    /// All.
    All,
    /// The one that begins at a node or a router's port.
    From(Neighbour),
}

impl FaultyLinks {
    /// Reads `all`, `node 3` or `router 0 port 2`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse(text: &str) -> Result<FaultyLinks, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let found = match words[..] {
            ["all"] => Some(FaultyLinks::All),
            ["node", node] => node.parse().ok().map(|node| FaultyLinks::From(Neighbour::Node(node))),
            ["router", router, "port", port] => router
                .parse()
                .ok()
                .zip(port.parse().ok())
                .map(|(router, port)| FaultyLinks::From(Neighbour::Router(RouterPort { router, port }))),
            _ => None,
        };
        found.ok_or_else(|| {
            format!("\"{text}\" names no link; allowed: \"all\", \"node 3\", \"router 0 port 2\" (where it begins)")
        })
    }
}

chasqui_config::choice! {
    /// What happens to a packet that is hit.
    pub enum FaultKind {
        /// Bits are flipped. Its CRC is found to be wrong, by routers and at the node.
        Corrupt = "corrupt",
        /// It is lost.
        Drop = "drop",
        /// It is sent twice, by the router at which the link begins, or ends if that is a node.
        Duplicate = "duplicate",
        /// It comes late, and so do those behind it.
        Delay = "delay",
        /// It comes late, and those behind it pass it.
        Reorder = "reorder",
        /// One of these, by chance.
        Any = "any",
    }
}

/// All that may happen to a packet.
pub const FAULTS: &[FaultKind] = &[
    FaultKind::Corrupt,
    FaultKind::Drop,
    FaultKind::Duplicate,
    FaultKind::Delay,
    FaultKind::Reorder,
    FaultKind::Any,
];

chasqui_config::parameters! {
    /// Faulty links. A machine whose protocol does not cope with what they do refuses it, but for wrong bits, which are
    /// found and end the run.
    pub struct FaultParameters {
        /// What happens to a packet that is hit.
        kind: FaultKind = "corrupt", source "ours";
        /// How late a packet comes that is delayed or reordered.
        late: Duration = "20 us", range "1 ps" ..= "1 s", source "ours: some packets' time";
        /// Which links, by where they begin: "all", "node 3", "router 0 port 2".
        link: Text = "all", source "ours";
        /// Number of the packet on a faulty link, from 1 on, that is hit; 0: off.
        packet: Count = 0, range 0 ..= 1000000000000_i64, source "ours: links are sound";
        /// Share of the packets on a faulty link that are hit by chance.
        rate: Ratio = "0 %", range "0 %" ..= "100 %", source "ours: links are sound";
        /// Length [bits] of a corrupted burst; its first and last bit are flipped, and half of those between.
        burst: Count = 1, range 1 ..= 65536, source "ours";
        /// Seed of what is left to chance: which packets are hit, and where.
        seed: Count = 1, range 0 ..= 1000000000000_i64, source "ours";
    }
}

impl FaultParameters {
    /// Some packet may be hit. Else no CRC can be wrong, and none is made or checked; its length counts all the same, in
    /// [`chasqui_engine::Packet::wire_bytes`].
    pub fn is_on(&self) -> bool {
        self.packet > 0 || self.rate.parts() > 0
    }
}

/// What happens to packets on the links of a network.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    links: FaultyLinks,
    parameters: FaultParameters,
}

impl Faults {
    /// # Errors
    /// As [`FaultyLinks::parse`].
    pub fn new(parameters: &FaultParameters) -> Result<Faults, String> {
        let links =
            FaultyLinks::parse(&parameters.link).map_err(|text| format!("network.fault.link: {text}"))?;
        Ok(Faults { links, parameters: parameters.clone() })
    }

    /// As [`FaultParameters::is_on`].
    pub fn are_on(&self) -> bool {
        self.parameters.is_on()
    }

    /// The faulty link is one of the network's.
    ///
    /// # Errors
    /// What there is instead.
    pub fn check_links(&self, topology: &dyn Topology) -> Result<(), String> {
        let FaultyLinks::From(from) = self.links else { return Ok(()) };
        let (nodes, routers) = (topology.nodes(), topology.routers());
        let is_there = match from {
            Neighbour::Node(node) => node < nodes,
            Neighbour::Router(at) => {
                at.router < routers
                    && at.port < topology.ports(at.router)
                    && topology.neighbour(at) != Neighbour::Unconnected
            }
            Neighbour::Unconnected => false,
        };
        let problem = || {
            format!(
                "network.fault.link: no link begins at {from}: there are {} and {}, whose ports may lead nowhere",
                counted(nodes, "node"),
                counted(routers, "router")
            )
        };
        if is_there { Ok(()) } else { Err(problem()) }
    }

    /// How late a packet comes that is delayed or reordered.
    pub fn late(&self) -> Time {
        Time(self.parameters.late.ps())
    }

    /// What happens to packet `number`, from 1 on, on the link that begins at `from`, if anything; never
    /// [`FaultKind::Any`].
    pub fn fate(&self, from: Neighbour, number: u64) -> Option<FaultKind> {
        self.chance(from, number).map(|(kind, _)| kind)
    }

    /// The same, and what more is left to chance.
    fn chance(&self, from: Neighbour, number: u64) -> Option<(FaultKind, Random)> {
        if self.links != FaultyLinks::All && self.links != FaultyLinks::From(from) {
            return None;
        }
        let mut random = self.random(from, number);
        if number != self.parameters.packet && random.below(ONE) >= self.parameters.rate.parts() {
            return None;
        }
        let kind = match self.parameters.kind {
            FaultKind::Any => FAULTS[random.below(FAULTS.len() as u64 - 1) as usize],
            kind => kind,
        };
        Some((kind, random))
    }

    /// Packet `number`, from 1 on, passes the link that begins at `from`: bits may be flipped, in the header and data that
    /// `bytes` are or in their CRC. Returns what else happens to it, if anything.
    pub fn pass(&self, from: Neighbour, number: u64, bytes: &mut [u8]) -> Option<FaultKind> {
        let (kind, mut random) = self.chance(from, number)?;
        if kind == FaultKind::Corrupt {
            self.hit(&mut random, bytes);
            return None;
        }
        Some(kind)
    }

    /// Chance for a packet on a link.
    fn random(&self, from: Neighbour, number: u64) -> Random {
        let link = match from {
            Neighbour::Node(node) => u64::from(node) << 1,
            Neighbour::Router(RouterPort { router, port }) => {
                u64::from(router) << 17 | u64::from(port) << 1 | 1
            }
            Neighbour::Unconnected => unreachable!("no packet is on a link that is not there"),
        };
        // Each of the three starts a sequence of its own.
        [link, number]
            .iter()
            .fold(Random::new(self.parameters.seed), |mut random, of| Random::new(random.bits() ^ of))
    }

    fn hit(&self, random: &mut Random, bytes: &mut [u8]) {
        let bits = bytes.len() as u64 * 8;
        let burst = self.parameters.burst.min(bits);
        let first = random.below(bits - burst + 1);
        for bit in first..first + burst {
            if bit == first || bit + 1 == first + burst || random.once_in(2) {
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
        }
    }
}

/// `1 router`, `2 routers`.
fn counted(count: u32, what: &str) -> String {
    let several = if count == 1 { "" } else { "s" };
    format!("{count} {what}{several}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Neighbour = Neighbour::Node(3);
    const PORT: Neighbour = Neighbour::Router(RouterPort { router: 1, port: 2 });

    /// Numbers of the packets of a link that are hit, of the first thousand.
    fn hits(fault: &FaultParameters, from: Neighbour) -> Vec<u64> {
        let fault = Faults::new(fault).unwrap();
        let is_hit = |number: &u64| {
            let mut bytes = [0; 20];
            fault.pass(from, *number, &mut bytes);
            bytes != [0; 20]
        };
        (1..=1000).filter(is_hit).collect()
    }

    #[test]
    fn links_have_the_names_of_where_they_begin() {
        assert_eq!(FaultyLinks::parse("all"), Ok(FaultyLinks::All));
        for from in [NODE, PORT] {
            assert_eq!(FaultyLinks::parse(&from.to_string()), Ok(FaultyLinks::From(from)));
        }
        for wrong in ["", "node", "node x", "router 1", "router 1 port -1", "all nodes"] {
            let text = FaultyLinks::parse(wrong).unwrap_err();
            assert!(text.starts_with(&format!("\"{wrong}\" names no link; allowed: ")), "{text}");
        }
    }

    #[test]
    fn the_packet_with_the_number_is_hit_and_no_other() {
        let fault = FaultParameters { link: PORT.to_string(), packet: 17, ..FaultParameters::default() };
        assert!(fault.is_on() && !FaultParameters::default().is_on());
        assert_eq!((hits(&fault, PORT), hits(&fault, NODE)), (vec![17], vec![]));
        let all = FaultParameters { link: "all".into(), ..fault };
        assert_eq!((hits(&all, PORT), hits(&all, NODE)), (vec![17], vec![17]));
    }

    #[test]
    fn the_rate_hits_as_many_and_the_seed_says_whom() {
        let fault = FaultParameters { rate: Ratio::from_parts(ONE / 10), ..FaultParameters::default() };
        let found = hits(&fault, NODE);
        // 100 of 1000, and five standard deviations of 9.5.
        assert!((52..=148).contains(&found.len()), "{}", found.len());
        assert_eq!(hits(&fault, NODE), found);
        assert_ne!(hits(&fault, PORT), found);
        assert_ne!(hits(&FaultParameters { seed: 2, ..fault.clone() }, NODE), found);
        assert_eq!(hits(&FaultParameters { rate: Ratio::from_parts(ONE), ..fault }, NODE).len(), 1000);
    }

    #[test]
    fn each_kind_comes_to_its_share() {
        let rate = Ratio::from_parts(ONE);
        let any = FaultParameters { kind: FaultKind::Any, rate, ..FaultParameters::default() };
        let fault = Faults::new(&any).unwrap();
        let fates: Vec<_> = (1..=1000).filter_map(|number| fault.fate(NODE, number)).collect();
        assert_eq!(fates.len(), 1000);
        for &kind in &FAULTS[..FAULTS.len() - 1] {
            // 200 of 1000, and five standard deviations of 12.6.
            let count = fates.iter().filter(|&&fate| fate == kind).count();
            assert!((137..=263).contains(&count), "{kind}: {count}");
        }
        // The bits of no other are touched.
        let drop = Faults::new(&FaultParameters { kind: FaultKind::Drop, ..any }).unwrap();
        let mut bytes = [0; 4];
        assert_eq!((drop.pass(NODE, 1, &mut bytes), bytes), (Some(FaultKind::Drop), [0; 4]));
    }

    #[test]
    fn a_burst_has_its_length_and_stays_in_the_packet() {
        for burst in 1..=40 {
            let rate = Ratio::from_parts(ONE);
            let fault = Faults::new(&FaultParameters { burst, rate, ..FaultParameters::default() }).unwrap();
            for number in 1..200 {
                let mut bytes = [0; 4];
                fault.pass(NODE, number, &mut bytes);
                let flipped = u32::from_le_bytes(bytes);
                let length = 32 - flipped.leading_zeros() - flipped.trailing_zeros();
                assert_eq!(u64::from(length), burst.min(32), "packet {number}");
            }
        }
    }
}
