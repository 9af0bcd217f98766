//! Faulty links: each packet that is hit is found at the next stage and at its destination, and no other is.

use crate::common::{Arrival, Outcome, Plan, Setup, arctic, random_traffic, run};
use chasqui_config::{Duration, Ratio};
use chasqui_engine::Time;
use chasqui_network::topology::{Neighbour, RouterPort};
use chasqui_network::{FaultKind, FaultParameters, NetworkParameters, TopologyKind, VirtualNetworks};

const BYTES: u32 = 96;

/// One packet from node 0 to node 5, through three routers of a binary tree, hit on the link that begins at `from`.
fn hit_on(from: Neighbour) -> (Outcome, NetworkParameters) {
    let fault = FaultParameters { link: from.to_string(), packet: 1, ..FaultParameters::default() };
    let parameters = NetworkParameters { arity: 2, fault, ..arctic() };
    let mut plans = vec![vec![]; 6];
    plans[0] = vec![Plan { at: 0, destination: 5, priority: 0, bytes: BYTES, more: false }];
    (run(&Setup::new(parameters.clone(), plans)), parameters)
}

/// The links that a packet from node 0 to node 5 takes, by where they begin.
fn way(parameters: &NetworkParameters) -> Vec<Neighbour> {
    let topology = parameters.build_topology(6).unwrap();
    let header = chasqui_network::Header { source: 0, destination: 5, priority: 0 };
    let (mut at, mut links) = (topology.attachment(0), vec![Neighbour::Node(0)]);
    loop {
        let from = RouterPort { port: topology.route(at.router, at.port, &header).port, ..at };
        links.push(Neighbour::Router(from));
        match topology.neighbour(from) {
            Neighbour::Router(next) => at = next,
            _ => return links,
        }
    }
}

/// The check is where the link ends, when the tail has come: after a hit on link i, counted from the node's 0,
/// at i routing delays, i + 1 latencies and one serialization.
#[test]
fn every_stage_checks_when_the_tail_has_come() {
    let links = way(&hit_on(Neighbour::Node(0)).1);
    assert!(links.len() > 3, "{links:?}");
    for (i, &from) in (0..).zip(&links) {
        let (outcome, p) = hit_on(from);
        let tail = i * p.routing_delay.ps() + (i + 1) * p.link_latency.ps() + p.link().serialization(BYTES).0;
        // Each router behind finds it, too, and so does the destination.
        assert_eq!(outcome.fabric.statistics().crc_errors, links.len() as u64 - 1 - i);
        let [at_node] = &outcome.errors[5][..] else { panic!("{:?}", outcome.errors) };
        let first = outcome.fabric.broken().unwrap_or(at_node);
        assert_eq!((first.time, first.from), (Time(tail), from));
        assert_eq!((first.source, first.destination, first.wire_bytes), (0, 5, BYTES));
        assert!(outcome.arrivals[5].is_empty());
        let text = first.to_string();
        assert!(
            text.starts_with(&format!("network at {}: wrong CRC on the link from {from} to ", Time(tail)))
        );
        assert!(text.ends_with("from node 0 to node 5 with priority 0, of no recorded message"), "{text}");
    }
}

/// Under traffic that overloads the network: what arrives is what was sent, and what is missing has been reported.
#[test]
fn what_is_hit_is_found_and_nothing_else() {
    for &topology in TopologyKind::ALL {
        for burst in [1, 32] {
            let fault =
                FaultParameters { rate: Ratio::from_parts(20_000_000_000), burst, ..Default::default() };
            let parameters = NetworkParameters { topology, fault, ..arctic() };
            let plans = random_traffic(16, 200, BYTES, 1000, 77);
            let sound = NetworkParameters { fault: FaultParameters::default(), ..parameters.clone() };
            let mut setup = Setup::new(parameters, plans.clone());
            let outcome = run(&setup);
            let errors: usize = outcome.errors.iter().map(Vec::len).sum();
            // Two of a hundred on each of three links or more.
            assert!(errors > 3200 * 2 / 100, "{errors}");
            let expected = run(&Setup::new(sound, plans));
            let found: Vec<_> = outcome.all().collect();
            let kept: Vec<_> = expected.all().filter(|a| found.contains(a)).collect();
            assert_eq!((found.len(), found.len() + errors), (kept.len(), expected.all().count()));
            assert!(found.into_iter().eq(kept), "the times of the others are what they were");
            setup.lookahead_divisor = 7;
            setup.hosts = 4;
            let again = run(&setup);
            assert_eq!((&again.arrivals, &again.errors), (&outcome.arrivals, &outcome.errors));
        }
    }
}

#[test]
fn a_link_that_is_not_there_is_refused() {
    let parameters = |text: &str| {
        let fault = FaultParameters { link: text.into(), packet: 1, ..Default::default() };
        NetworkParameters { fault, ..arctic() }
    };
    let attachments = vec![chasqui_network::Attachment { partition: 0, target: 0 }; 2];
    for wrong in ["node 2", "router 9 port 0", "router 0 port 8", "router 0 port 3"] {
        let found =
            chasqui_network::Fabric::new(&parameters(wrong), VirtualNetworks::ONE, attachments.clone(), 0);
        let error = found.err().unwrap_or_default();
        assert!(error.starts_with(&format!("network.fault.link: no link begins at {wrong}: there are 2")));
    }
    assert!(
        chasqui_network::Fabric::new(&parameters("node 1"), VirtualNetworks::ONE, attachments, 0).is_ok()
    );
}

/// Random traffic on every topology with links that do `kind` to two packets of a hundred; the network has come to rest,
/// its credits are back ([`run`] looks), and parts and the engine's windows change nothing.
fn suffered(kind: FaultKind, check: impl Fn(&Outcome, &Outcome)) {
    for &topology in TopologyKind::ALL {
        let fault = FaultParameters {
            kind,
            rate: Ratio::from_parts(20_000_000_000),
            late: Duration::from_ps(3_000_000),
            ..Default::default()
        };
        let parameters = NetworkParameters { topology, fault, ..arctic() };
        let plans = random_traffic(16, 200, BYTES, 1000, 78);
        let sound = NetworkParameters { fault: FaultParameters::default(), ..parameters.clone() };
        let mut setup = Setup::new(parameters, plans.clone());
        let outcome = run(&setup);
        assert!(outcome.errors.iter().all(Vec::is_empty), "{topology} {kind}");
        check(&outcome, &run(&Setup::new(sound, plans)));
        setup.lookahead_divisor = 7;
        setup.hosts = 4;
        assert!(run(&setup).arrivals == outcome.arrivals, "{topology} {kind}");
        if matches!(topology, TopologyKind::FatTree | TopologyKind::Mesh | TopologyKind::Torus) {
            (setup.zones, setup.hosts, setup.lookahead_divisor) = (2, 16, 1);
            assert!(run(&setup).arrivals == outcome.arrivals, "{topology} {kind} in zones");
        }
    }
}

/// Source, virtual network and sequence, which name a packet, of all that came to each node.
fn names(outcome: &Outcome) -> Vec<Vec<(u32, u8, u64)>> {
    let of =
        |arrivals: &Vec<_>| arrivals.iter().map(|a: &Arrival| (a.source, a.priority, a.sequence)).collect();
    outcome.arrivals.iter().map(of).collect()
}

fn sorted(mut names: Vec<(u32, u8, u64)>) -> Vec<(u32, u8, u64)> {
    names.sort_unstable();
    names
}

/// By source and virtual network the sequences rise.
fn is_in_order(names: &[(u32, u8, u64)]) -> bool {
    let mut last = std::collections::HashMap::new();
    names.iter().all(|&(source, network, sequence)| {
        last.insert((source, network), sequence).is_none_or(|before| before <= sequence)
    })
}

#[test]
fn what_is_lost_does_not_come_and_all_else_does() {
    suffered(FaultKind::Drop, |found, sound| {
        let lost = found.fabric.statistics().dropped;
        assert!(lost > 3200 * 2 / 100, "{lost}");
        let (came, all) = (names(found), names(sound));
        let count = |names: &[Vec<_>]| names.iter().map(Vec::len).sum::<usize>() as u64;
        assert_eq!(count(&came) + lost, count(&all));
        assert!(came.iter().all(|names| is_in_order(names)));
    });
}

#[test]
fn what_comes_twice_comes_behind_itself() {
    suffered(FaultKind::Duplicate, |found, sound| {
        let copies = found.fabric.statistics().duplicated;
        assert!(copies > 3200 * 2 / 100, "{copies}");
        let mut more = 0;
        for (came, all) in names(found).into_iter().zip(names(sound)) {
            assert!(is_in_order(&came));
            more += (came.len() - all.len()) as u64;
            let mut once = sorted(came);
            once.dedup();
            assert_eq!(once, sorted(all));
        }
        assert!((1..=copies).contains(&more), "{more} of {copies}: some are copied again on their way");
    });
}

#[test]
fn what_is_delayed_stays_in_order_and_what_is_reordered_does_not() {
    for kind in [FaultKind::Delay, FaultKind::Reorder] {
        suffered(kind, |found, sound| {
            assert!(found.fabric.statistics().late > 3200 * 2 / 100);
            let (came, all) = (names(found), names(sound));
            assert_eq!(came.iter().all(|names| is_in_order(names)), kind == FaultKind::Delay);
            assert!(came.into_iter().map(sorted).eq(all.into_iter().map(sorted)), "once each");
        });
    }
}

/// To the picosecond: one packet, alone, on each link of its way.
#[test]
fn one_packet_is_late_by_what_the_parameter_says() {
    let plans = || {
        let mut plans = vec![vec![]; 6];
        plans[0] = vec![Plan { at: 0, destination: 5, priority: 0, bytes: BYTES, more: false }];
        plans
    };
    let sound = NetworkParameters { arity: 2, ..arctic() };
    let on_time = run(&Setup::new(sound.clone(), plans())).arrivals[5][0].tail;
    for from in way(&sound) {
        let fault = FaultParameters {
            kind: FaultKind::Delay,
            link: from.to_string(),
            packet: 1,
            late: Duration::from_ps(777),
            ..Default::default()
        };
        let outcome = run(&Setup::new(NetworkParameters { fault, ..sound.clone() }, plans()));
        assert_eq!(outcome.arrivals[5][0].tail, on_time + 777, "on the link from {from}");
    }
}
