//! What must hold under any traffic: nothing lost, order kept, buffers never overrun (the models
//! assert that), no deadlock, and the same times whatever the windows of the engine.

use std::collections::HashMap;

use crate::common::{
    Plan, Setup, arctic, check_delivery, counters, random_traffic, random_worms, run, saturating,
};
use chasqui_config::Duration;
use chasqui_network::topology::UpRoute;
use chasqui_network::{NetworkParameters, Switching, TopologyKind};
use chasqui_random::Random;

fn networks() -> Vec<(NetworkParameters, u32)> {
    let mut networks = vec![];
    for &topology in TopologyKind::ALL {
        for nodes in [1, 2, 7, 16, 23] {
            for input_buffer in [1, 3] {
                let receive_buffer = u64::from(1 + nodes % 3);
                networks.push((
                    NetworkParameters {
                        topology,
                        up_route: if nodes == 7 { UpRoute::Source } else { UpRoute::Destination },
                        input_buffer,
                        receive_buffer,
                        link_latency: Duration::from_ps(12_345),
                        ..arctic()
                    },
                    nodes,
                ));
            }
        }
    }
    networks
}

#[test]
fn random_traffic_arrives_once_and_in_order() {
    for (seed, (parameters, nodes)) in (100..).zip(networks()) {
        // About half of what the nodes' links carry, and then far more than the network carries.
        for span in [200 * 600_000, 1000] {
            let setup = Setup::new(parameters.clone(), random_traffic(nodes, 200, 96, span, seed));
            check_delivery(&setup, &run(&setup));
        }
    }
}

/// One place in every buffer, two priorities, all nodes sending as fast as they can to few destinations
/// that are slow to start: if links could wait for each other in a cycle, it would happen here.
#[test]
fn heavy_load_does_not_deadlock() {
    for &topology in TopologyKind::ALL {
        for nodes in [16, 50] {
            let parameters = NetworkParameters { topology, input_buffer: 1, receive_buffer: 1, ..arctic() };
            let mut plans = saturating(nodes, 300, 96, 31, |_, r| (r.below(9) * r.below(9)) as u32 % nodes);
            for (index, plan) in plans.iter_mut().flatten().enumerate() {
                plan.priority = u8::from(index % 3 == 0);
            }
            let mut setup = Setup::new(parameters, plans);
            setup.stalled_until = (0..u64::from(nodes)).map(|n| n % 5 * 20_000_000).collect();
            check_delivery(&setup, &run(&setup));
        }
    }
}

/// A receiver that takes nothing until T: its buffer, the router's and then the sender fill up and stop;
/// nothing is lost; at T all drains.
#[test]
fn a_stalled_receiver_stops_the_sender() {
    let stall = 1_000_000_000;
    let parameters = NetworkParameters {
        topology: TopologyKind::Crossbar,
        input_buffer: 3,
        receive_buffer: 2,
        ..arctic()
    };
    let plans = vec![vec![Plan { at: 0, destination: 1, priority: 0, bytes: 96, more: false }; 20], vec![]];
    let mut setup = Setup::new(parameters.clone(), plans);
    setup.stalled_until[1] = stall;
    let outcome = run(&setup);
    check_delivery(&setup, &outcome);
    let before: Vec<_> = outcome.arrivals[1].iter().filter(|a| a.head < stall).collect();
    assert_eq!(before.len(), 2, "the receive buffer");
    let sent = outcome.arrivals[1].iter().filter(|a| a.sent < stall).count();
    assert_eq!(sent, 2 + 3, "the receive buffer and the router's");
    // The release is known to the router L later, where the third waits: probe of the exact time.
    assert_eq!(outcome.arrivals[1][2].head, stall + 2 * parameters.link_latency.ps());
    // Its tail leaves S later; the sender knows after another L, and the sixth starts.
    let (latency, ser) = (parameters.link_latency.ps(), 600_000);
    assert_eq!(outcome.arrivals[1][5].sent, stall + 2 * latency + ser);
    // The sender's link was free from the fifth's tail until then.
    assert!(outcome.node_links[0].blocked_ps >= stall + 2 * latency + ser - 10 * ser);
    let port = chasqui_network::topology::RouterPort { router: 0, port: 1 };
    // The router's link was free from the second's tail until the third started.
    let second_tail = 25_000 + 75_000 + 2 * ser;
    let blocked = stall + latency - second_tail;
    assert_eq!(outcome.fabric.link_statistics(port).blocked_ps, blocked);
}

/// A stalled receiver of a shared network stops traffic that passes the same buffers, and no other.
#[test]
fn the_other_priority_passes_a_stalled_one() {
    // Node 1 holds its low packets for ever so long; the high ones must not wait for them.
    let low = Plan { at: 0, destination: 1, priority: 0, bytes: 96, more: false };
    let high = Plan { at: 50_000_000, destination: 2, priority: 1, bytes: 96, more: false };
    let mut plans = vec![vec![low; 30], vec![], vec![]];
    plans[0].push(high);
    let mut setup = Setup::new(arctic(), plans);
    setup.stalled_until[1] = 1_000_000_000;
    let outcome = run(&setup);
    check_delivery(&setup, &outcome);
    let arrival = outcome.arrivals[2][0];
    assert_eq!(arrival.sent, 50_000_000);
    assert_eq!(arrival.head, 50_000_000 + setup.parameters.unloaded_head_latency(1, 96).0);
}

/// Two packets that reach a router in one instant: the higher priority is served first, whatever the link.
#[test]
fn of_one_instant_the_higher_priority_goes_first() {
    for high in [0, 1] {
        let plan = |priority| vec![Plan { at: 0, destination: 2, priority, bytes: 96, more: false }];
        let plans = vec![plan(u8::from(high == 0)), plan(u8::from(high == 1)), vec![]];
        let outcome = run(&Setup::new(arctic(), plans));
        let sources: Vec<u32> = outcome.arrivals[2].iter().map(|a| a.source).collect();
        assert_eq!(sources, [high, 1 - high]);
    }
}

/// Neither the engine's windows nor the spreading of nodes over partitions has an effect on any time.
#[test]
fn windows_and_partitions_change_nothing() {
    for (seed, (parameters, nodes)) in (500..).zip(networks()) {
        let mut setup = Setup::new(parameters, random_traffic(nodes, 60, 96, 20 * 600_000, seed));
        setup.stalled_until[0] = 15 * 600_000;
        let reference = run(&setup);
        let statistics = reference.fabric.statistics();
        for (divisor, hosts) in [(1, 1), (2, nodes), (7, nodes.div_ceil(3)), (12_345, nodes)] {
            setup.lookahead_divisor = divisor;
            setup.hosts = hosts;
            let other = run(&setup);
            assert_eq!(other.arrivals, reference.arrivals, "look-ahead / {divisor}, {hosts} hosts");
            assert_eq!(other.node_links, reference.node_links);
            assert_eq!(other.fabric.statistics(), statistics);
        }
    }
}

/// A fabric in parts, on one host thread or several, does what the whole does: all arrivals, all counters of all links.
#[test]
fn parts_change_nothing() {
    let mut random = Random::for_test(3);
    for (topology, nodes, zones) in [
        (TopologyKind::FatTree, 16, 2),
        (TopologyKind::FatTree, 16, 4),
        (TopologyKind::FatTree, 48, 3),
        (TopologyKind::FatTree, 64, 2),
        (TopologyKind::Mesh, 16, 2),
        (TopologyKind::Mesh, 12, 3),
        (TopologyKind::Torus, 16, 2),
        (TopologyKind::Dragonfly, 20, 3),
        (TopologyKind::Graph, 24, 2),
        (TopologyKind::Graph, 72, 4),
    ] {
        for round in 0..6 {
            let mut parameters = NetworkParameters { topology, ..arctic() };
            // Links and routers that are slow or fast in comparison, buffers that fill.
            parameters.link_latency = Duration::from_ps(1 + random.below(60_000));
            parameters.routing_delay = Duration::from_ps(random.below(200_000));
            parameters.input_buffer = 1 + random.below(4);
            parameters.switching = Switching::ALL[round / 2 % Switching::ALL.len()];
            // Half of the time so much goes on in one instant that the order within it matters.
            let (bytes_max, span) = if round % 2 == 0 { (96, 36_000_000) } else { (4, 2_000_000) };
            let traffic = match parameters.switching {
                Switching::Wormhole => random_worms,
                Switching::CutThrough | Switching::StoreAndForward => random_traffic,
            };
            let traffic = traffic(nodes, 60, bytes_max, 1 + random.below(span), random.below(1 << 40));
            let mut setup = Setup::new(parameters, traffic);
            setup.stalled_until[0] = 15 * 600_000;
            let whole = run(&setup);
            check_delivery(&setup, &whole);
            for threads in [1, zones] {
                (setup.zones, setup.threads) = (zones, threads as usize);
                let parts = run(&setup);
                let what = format!("{topology:?}, {nodes} nodes, {zones} zones, {threads} threads");
                assert_eq!(parts.arrivals, whole.arrivals, "{what}");
                assert_eq!(parts.node_links, whole.node_links, "{what}");
                assert_eq!(counters(&parts.fabric), counters(&whole.fabric), "{what}");
            }
            (setup.zones, setup.threads) = (1, 1);
        }
    }
}

/// A ring of four routers in two zones, 0 and 1, 2 and 3, with slow routers. A packet from node 0 leaves router 1 for router 2
/// at T; its place, the only one, is known to be free at router 0 at T + S + L. There a packet from node 3 has waited for it,
/// whose place is known to be free at router 3, in the other zone, at T + 2(S + L): long before the first comes there, at
/// T + L + R. The engine looks whether the zone had said so. (It does before T, for node 2 might send something until then.)
#[test]
fn room_that_is_made_nearby_is_felt_in_another_zone() {
    let parameters = NetworkParameters {
        topology: TopologyKind::Torus,
        dimensions: 1,
        link_latency: Duration::from_ps(12_000),
        routing_delay: Duration::from_ps(200_000),
        input_buffer: 1,
        ..arctic()
    };
    let one = |at, destination| vec![Plan { at, destination, priority: 0, bytes: 1, more: false }];
    let mut setup = Setup::new(parameters, vec![one(100_000, 2), vec![], one(450_000, 2), one(0, 1)]);
    let whole = run(&setup);
    // It waited at router 0 until T + S + L, where T = 100 ns + 2(L + R).
    let starts = 100_000 + 2 * 212_000 + 6_250 + 12_000;
    assert_eq!(whole.arrivals[1][0].head, starts + 2 * 12_000 + 200_000);
    setup.zones = 2;
    assert_eq!(run(&setup).arrivals, whole.arrivals);
}

/// All-to-all on every size: every pair arrives, in theory's number of hops.
#[test]
fn all_to_all_on_every_size() {
    for &topology in TopologyKind::ALL {
        for nodes in 1..=64u32 {
            let parameters = NetworkParameters { topology, ..arctic() };
            let plan = |destination| Plan { at: 0, destination, priority: 0, bytes: 16, more: false };
            let plans = (0..nodes).map(|a| (0..nodes).map(|b| plan((a + b) % nodes)).collect()).collect();
            let setup = Setup::new(parameters, plans);
            let outcome = run(&setup);
            check_delivery(&setup, &outcome);
            let network = outcome.fabric.topology();
            let hops: u32 = (0..nodes * nodes).map(|pair| network.switches(pair / nodes, pair % nodes)).sum();
            assert_eq!(outcome.fabric.statistics().hops, hops.into());
        }
    }
}

#[test]
fn counters_add_up() {
    let setup = Setup::new(arctic(), random_traffic(16, 100, 96, 1_000_000, 9));
    let outcome = run(&setup);
    let mut counters = HashMap::new();
    outcome.fabric.visit(&mut |name, unit, doc, value| {
        assert!(!unit.is_empty() && !doc.is_empty());
        assert!(counters.insert(name.to_string(), value).is_none(), "{name} twice");
    });
    assert_eq!(counters["delivered"], 1600);
    assert_eq!(counters["links.packets"], counters["hops"]);
    let mut links = 0;
    outcome.fabric.visit_links(&mut |_, link| {
        links += 1;
        // A byte takes 6250 ps.
        assert_eq!(link.busy_ps, link.bytes * 6250);
    });
    // 16 down to nodes, 16 up, 16 down between the levels.
    assert_eq!(links, 48);
}
