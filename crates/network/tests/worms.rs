//! Worms: packets that follow each other, and hold links until the last has passed.

use crate::common::{Outcome, Plan, Setup, arctic, check_delivery, counters, random_worms, run};
use chasqui_config::{Duration, Ratio};
use chasqui_network::{
    FaultKind, FaultParameters, NetworkParameters, Switching, TopologyKind, VirtualNetworks,
};

/// Length of a piece [bytes].
const BYTES: u32 = 16;

fn wormhole(topology: TopologyKind) -> NetworkParameters {
    NetworkParameters { topology, switching: Switching::Wormhole, ..arctic() }
}

/// A worm of so many pieces, which are all there at `at`.
fn worm(at: u64, destination: u32, priority: u8, pieces: u32) -> Vec<Plan> {
    let piece = |left| Plan { at, destination, priority, bytes: BYTES, more: left > 0 };
    (0..pieces).rev().map(piece).collect()
}

fn sources(outcome: &Outcome, node: usize) -> Vec<(u32, u8)> {
    outcome.arrivals[node].iter().map(|a| (a.source, a.priority)).collect()
}

/// Alone, between all pairs, with buffers that have room for what is on its way.
///
/// The head takes what a packet's takes: (s+1)L + sR through s routers. Behind it k pieces follow each other without a gap,
/// each for S: the last tail comes kS after the head, whatever s is.
#[test]
fn unloaded_latency_of_a_worm() {
    for &topology in TopologyKind::ALL {
        for (nodes, pieces) in [(2, 1), (5, 7), (16, 40)] {
            // A piece takes 100 ns, 2L + R + S = 120 + 90 + 100.
            let parameters = NetworkParameters {
                link_latency: Duration::from_ps(60_000),
                routing_delay: Duration::from_ps(90_000),
                ..wormhole(topology)
            };
            let mut turn = 0;
            let mut plan = |destination| {
                turn += 100_000_000;
                worm(turn, destination, 0, pieces)
            };
            let plans = (0..nodes).map(|_| (0..nodes).flat_map(&mut plan).collect()).collect();
            let setup = Setup::new(parameters.clone(), plans);
            let outcome = run(&setup);
            check_delivery(&setup, &outcome);
            for (destination, arrivals) in outcome.arrivals.iter().enumerate() {
                for worm in arrivals.chunks(pieces as usize) {
                    let s = outcome.fabric.topology().switches(worm[0].source, destination as u32);
                    let (routing, serialization) =
                        if topology == TopologyKind::Ideal { (0, 0) } else { (90_000, 100_000) };
                    let head = u64::from(s + 1) * 60_000 + u64::from(s) * routing;
                    assert_eq!(worm[0].head - worm[0].sent, head, "{topology} {s}");
                    let tail = worm.last().expect("a piece").tail - worm[0].sent;
                    assert_eq!(tail, head + u64::from(pieces) * serialization, "{topology} {s}");
                }
            }
        }
    }
}

/// The slack that keeps a link busy: B buffers carry B pieces in 2L + R + S, so a worm goes at full rate with so many that
/// BS is no less. Here 2L + R + S = 200 + 100 + 100 = 4S.
#[test]
fn a_worm_runs_at_full_rate_if_the_slack_covers_the_cable() {
    for (input_buffer, period) in [(1, 400_000), (2, 200_000), (3, 400_000 / 3), (4, 100_000), (5, 100_000)] {
        let parameters = NetworkParameters {
            link_latency: Duration::from_ps(100_000),
            routing_delay: Duration::from_ps(100_000),
            input_buffer,
            receive_buffer: 8,
            ..wormhole(TopologyKind::Crossbar)
        };
        let outcome = run(&Setup::new(parameters, vec![worm(0, 1, 0, 100), vec![]]));
        let heads: Vec<u64> = outcome.arrivals[1].iter().map(|a| a.head).collect();
        assert_eq!((heads[84] - heads[24]) / 60, period, "{input_buffer} buffers");
    }
}

/// Four nodes in a row. A worm from 0 to 3 lies in routers 3 to 0, for node 3 takes nothing until `STALL`. Node 1 sends a
/// packet to node 2, by one of the links that the worm holds. As one packet that is buffered whole it would leave them.
#[test]
fn a_blocked_worm_stops_what_wants_one_of_its_links() {
    const STALL: u64 = 100_000_000;
    let setup = |switching, plan: Vec<Plan>| {
        let row = NetworkParameters {
            columns: 4,
            input_buffer: 2,
            receive_buffer: 1,
            switching,
            ..wormhole(TopologyKind::Mesh)
        };
        let other = Plan { at: 20_000_000, destination: 2, priority: 0, bytes: BYTES, more: false };
        let mut setup = Setup::new(row, vec![plan, vec![other], vec![], vec![]]);
        setup.stalled_until[3] = STALL;
        setup
    };
    // One piece at node 3, two at each router, one that has not left node 0.
    let held = setup(Switching::Wormhole, worm(0, 3, 0, 10));
    let outcome = run(&held);
    check_delivery(&held, &outcome);
    assert_eq!(outcome.arrivals[3].iter().filter(|a| a.sent < STALL).count(), 9);
    let other = outcome.arrivals[2][0];
    assert_eq!(other.sent, 20_000_000, "it waits in the network");
    // The last piece passes the link before it: two routers and links from node 0, then two links and a router to node 2.
    let (latency, routing) = (held.parameters.link_latency.ps(), held.parameters.routing_delay.ps());
    let serialization = held.parameters.link().serialization(BYTES).0;
    let passed = outcome.arrivals[3][9].sent + 2 * (latency + routing) + serialization;
    assert!(passed > STALL && other.head >= passed + 2 * latency + routing, "{other:?} {passed}");
    // Two packets of the same length in all: one lies at node 3, one in its router.
    let mut whole = worm(0, 3, 0, 1)[0];
    whole.bytes = 5 * BYTES;
    let free = setup(Switching::CutThrough, vec![whole; 2]);
    let other = run(&free).arrivals[2][0];
    assert_eq!(other.head - other.sent, free.parameters.unloaded_head_latency(2, BYTES).0);
}

/// A worm whose source is late with the second piece holds an idle link: what comes from another input goes on when the
/// last piece has left; what comes on another virtual network goes at once.
#[test]
fn an_idle_link_stays_held_for_a_worm() {
    const LATE: u64 = 50_000_000;
    for (priority, held) in [(0, true), (1, false)] {
        let mut first = worm(0, 2, 0, 2);
        first[1].at = LATE;
        let other = Plan { at: 10_000_000, destination: 2, priority, bytes: BYTES, more: false };
        let setup = Setup::new(wormhole(TopologyKind::Crossbar), vec![first, vec![other], vec![]]);
        let outcome = run(&setup);
        check_delivery(&setup, &outcome);
        let other = outcome.all().find(|(_, a)| a.source == 1).expect("arrived").1;
        let alone = setup.parameters.unloaded_head_latency(1, BYTES).0;
        let serialization = setup.parameters.link().serialization(BYTES).0;
        // The last piece leaves the router for a serialization from LATE + alone - L on.
        let expected = if held { LATE + alone + serialization } else { 10_000_000 + alone };
        assert_eq!(other.head, expected, "priority {priority}");
        let port = chasqui_network::topology::RouterPort { router: 0, port: 2 };
        assert_eq!(outcome.fabric.link_statistics(port).blocked_ps, if held { LATE - 10_000_000 } else { 0 });
    }
}

#[test]
fn worms_for_one_output_follow_each_other() {
    let plans = |more| {
        let mut plans = vec![worm(0, 2, 0, 5), worm(0, 2, 0, 5), vec![]];
        plans.iter_mut().flatten().for_each(|plan| plan.more &= more);
        plans
    };
    let setup = Setup::new(wormhole(TopologyKind::Crossbar), plans(true));
    assert_eq!(sources(&run(&setup), 2), [[(0, 0); 5], [(1, 0); 5]].concat());
    let singly = Setup::new(wormhole(TopologyKind::Crossbar), plans(false));
    assert_eq!(sources(&run(&singly), 2), [(0, 0), (1, 0)].repeat(5), "what are no worms take turns");
}

/// Those of different virtual networks share a link piece by piece: from two nodes, and from one.
#[test]
fn worms_of_different_networks_take_turns() {
    let first = || worm(0, 2, 0, 5);
    // The node sends the higher first, and what it has of the lower while there is none.
    let second = || {
        let mut worm = worm(0, 2, 1, 5);
        (0..).zip(&mut worm).for_each(|(piece, plan)| plan.at = piece * 300_000);
        worm
    };
    for plans in [vec![first(), second(), vec![]], vec![[first(), second()].concat(), vec![], vec![]]] {
        let mut setup = Setup::new(wormhole(TopologyKind::Crossbar), plans);
        setup.networks = VirtualNetworks::round_robin(2);
        let outcome = run(&setup);
        check_delivery(&setup, &outcome);
        let networks: Vec<u8> = sources(&outcome, 2).into_iter().map(|(_, network)| network).collect();
        assert!(networks[..9].windows(2).any(|pair| pair == [0, 1]), "{networks:?}");
        assert!(networks[..9].windows(2).any(|pair| pair == [1, 0]), "{networks:?}");
    }
}

/// Buffers of one piece or a few, more worms than the network carries, receivers that are slow to begin: all arrives, in
/// order and whole. If channels could wait for each other in a cycle, it would happen here.
#[test]
fn random_worms_arrive_whole_and_do_not_deadlock() {
    for (seed, &topology) in (100..).zip(TopologyKind::ALL) {
        for (nodes, input_buffer, span) in [(2, 1, 1000), (7, 1, 60_000_000), (16, 2, 1000), (50, 1, 1000)] {
            let parameters = NetworkParameters { input_buffer, receive_buffer: 1, ..wormhole(topology) };
            let mut setup = Setup::new(parameters, random_worms(nodes, 200, 96, span, seed));
            setup.stalled_until = (0..u64::from(nodes)).map(|n| n % 5 * 20_000_000).collect();
            check_delivery(&setup, &run(&setup));
        }
    }
}

/// Each node of a ring sends a long worm half way round, at once: with one virtual channel each would hold the link that the
/// one before it waits for.
#[test]
fn worms_around_a_ring_do_not_deadlock() {
    let parameters = NetworkParameters {
        dimensions: 1,
        input_buffer: 1,
        receive_buffer: 1,
        ..wormhole(TopologyKind::Torus)
    };
    let plan = |node: u32| (0..20).flat_map(|_| worm(0, (node + 4) % 8, 0, 30)).collect();
    let setup = Setup::new(parameters, (0..8).map(plan).collect());
    check_delivery(&setup, &run(&setup));
}

/// Neither the engine's windows nor the spreading of nodes over partitions has an effect on any time. (Of routers:
/// `parts_change_nothing`.) Short pieces on long cables: a tail that leaves lets others go long before its packet arrives.
#[test]
fn windows_and_partitions_change_nothing_for_worms() {
    for (seed, &topology) in (300..).zip(TopologyKind::ALL) {
        for (bytes_max, latency) in [(96, 12_345), (2, 400_000)] {
            let parameters = NetworkParameters {
                link_latency: Duration::from_ps(latency),
                input_buffer: 2,
                ..wormhole(topology)
            };
            let mut setup = Setup::new(parameters, random_worms(16, 100, bytes_max, 20_000_000, seed));
            setup.stalled_until[0] = 9_000_000;
            let reference = run(&setup);
            check_delivery(&setup, &reference);
            for (divisor, hosts) in [(1, 1), (2, 16), (7, 6), (12_345, 16)] {
                setup.lookahead_divisor = divisor;
                setup.hosts = hosts;
                let other = run(&setup);
                let what = format!("{topology}: look-ahead / {divisor}, {hosts} hosts");
                assert_eq!(other.arrivals, reference.arrivals, "{what}");
                assert_eq!(counters(&other.fabric), counters(&reference.fabric), "{what}");
            }
        }
    }
}

/// The last piece of a worm from node 0 is at router 1 at T. When its tail has left, at T + S, node 1's packet goes that has
/// waited there, and at T + 2S + L its node, whose two buffers were full, knows: it sends the third, and only then, when the
/// link is free, one that has come meanwhile on the higher priority. A network that expects an effect on a node no sooner
/// than the piece's own, at T + 2L + R, would let it run ahead.
#[test]
fn a_worms_end_is_felt_before_the_worm_arrives() {
    const LATE: u64 = 10_000_000;
    let (latency, routing, serialization) = (400_000, 10_000, 6_250);
    let parameters = NetworkParameters {
        columns: 3,
        link_latency: Duration::from_ps(latency),
        routing_delay: Duration::from_ps(routing),
        input_buffer: 2,
        ..wormhole(TopologyKind::Mesh)
    };
    let one = |at, destination, priority| Plan { at, destination, priority, bytes: 1, more: false };
    let end = LATE + 2 * (latency + routing);
    let knows = end + 2 * serialization + latency;
    let worm = vec![Plan { more: true, ..one(0, 2, 0) }, one(LATE, 2, 0)];
    let others =
        vec![one(LATE / 2, 2, 0), one(LATE / 2, 2, 0), one(end - latency - 1, 2, 0), one(knows + 1, 0, 1)];
    let setup = Setup::new(parameters, vec![worm, others, vec![]]);
    let outcome = run(&setup);
    check_delivery(&setup, &outcome);
    let mut sent: Vec<_> =
        outcome.all().filter(|(_, a)| a.source == 1).map(|(_, a)| (a.sequence, a.sent)).collect();
    sent.sort_unstable();
    assert_eq!(sent[2..], [(2, knows), (3, knows + serialization)]);
}

/// Links that delay pieces or flip bits of them leave worms whole.
#[test]
fn worms_stay_whole_on_links_that_are_late_or_flip_bits() {
    for &topology in TopologyKind::ALL {
        for kind in [FaultKind::Delay, FaultKind::Corrupt] {
            let (rate, late) = (Ratio::from_parts(20_000_000_000), Duration::from_ps(3_000_000));
            let fault = FaultParameters { kind, rate, late, ..Default::default() };
            let parameters = NetworkParameters { fault, ..wormhole(topology) };
            let setup = Setup::new(parameters, random_worms(16, 100, 96, 1000, 79));
            let outcome = run(&setup);
            if kind == FaultKind::Delay {
                check_delivery(&setup, &outcome);
                assert!(outcome.fabric.statistics().late > 32, "{topology}");
            } else {
                let wrong: usize = outcome.errors.iter().map(Vec::len).sum();
                assert!(wrong > 32, "{topology}");
                assert_eq!(outcome.all().count() + wrong, 1600, "{topology}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "source and destination of a packet within a worm")]
fn another_packet_within_a_worm_is_a_bug() {
    let mut plans = vec![worm(0, 1, 0, 3), vec![]];
    plans[0][1].destination = 0;
    run(&Setup::new(wormhole(TopologyKind::Crossbar), plans));
}

#[test]
#[should_panic(expected = "node 0 sends a worm, but switching is cut-through")]
fn a_worm_needs_routers_that_hold_links() {
    let parameters = NetworkParameters { switching: Switching::CutThrough, ..arctic() };
    run(&Setup::new(parameters, vec![worm(0, 1, 0, 3), vec![]]));
}
