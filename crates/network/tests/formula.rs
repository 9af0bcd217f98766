//! Times and rates against formulas whose derivation is beside them.

use crate::common::{Plan, Setup, arctic, run, saturating};
use chasqui_config::{Bandwidth, Duration};
use chasqui_network::topology::UpRoute;
use chasqui_network::{NetworkParameters, Switching, TopologyKind, VirtualNetworks};
use chasqui_random::Random;

const BYTES: u32 = 96;

fn one(at: u64, destination: u32, bytes: u32) -> Plan {
    Plan { at, destination, priority: 0, bytes, more: false }
}

/// Share of its link that each node received, from the first head to the last tail of all.
fn throughput(setup: &Setup) -> f64 {
    let outcome = run(setup);
    let busy = setup.parameters.link().serialization(BYTES).0;
    // Beginning and end are left out: full load is the middle half of the packets of each node.
    let shares = outcome.arrivals.iter().filter(|list| list.len() >= 8).map(|list| {
        let (from, to) = (list.len() / 4, list.len() * 3 / 4);
        ((to - from) as u64 * busy) as f64 / (list[to].head - list[from].head) as f64
    });
    let shares: Vec<f64> = shares.collect();
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// Many at a time from all nodes to one, which takes none out of its buffer: each arrives two links' latency after it
/// left, in its source's order, whatever buffers the parameters name.
#[test]
fn an_ideal_network_has_latency_alone() {
    const PACKETS: usize = 300;
    let parameters = NetworkParameters {
        topology: TopologyKind::Ideal,
        link_latency: Duration::from_ps(1_003),
        input_buffer: 1,
        receive_buffer: 1,
        ..arctic()
    };
    let plan = |_| (0..PACKETS).map(|_| one(5_000, 0, BYTES)).collect();
    let mut setup = Setup::new(parameters, (0..9).map(plan).collect());
    setup.stalled_until[0] = 1_000_000_000;
    let outcome = run(&setup);
    assert_eq!(outcome.all().count(), 9 * PACKETS);
    for (_, a) in outcome.all() {
        assert_eq!((a.head, a.tail), (a.sent + 2 * 1_003, a.sent + 2 * 1_003), "{a:?}");
    }
    for source in 0..9 {
        let sequences = outcome.all().filter(|(_, a)| a.source == source).map(|(_, a)| a.sequence);
        assert!(sequences.eq(0..PACKETS as u64), "from {source}");
    }
}

/// Packets of different lengths, one at a time, between all pairs on several sizes.
///
/// The head leaves at t. Each of the s routers sees it one link latency L later and sends it on after
/// its routing delay R; the last link adds L: the head arrives at t + (s+1)L + sR. Cut-through pipelines
/// the bytes, so the tail comes one serialization S after it, once, not once for each link: (s+1)L + sR + S.
/// With store-and-forward each router waits for the tail before it routes: the tail comes after (s+1)(L + S) + sR.
#[test]
fn unloaded_latency() {
    for (&topology, &switching) in
        TopologyKind::ALL.iter().flat_map(|t| Switching::ALL.iter().map(move |s| (t, s)))
    {
        for nodes in [1, 2, 4, 5, 16, 17, 40] {
            let parameters = NetworkParameters {
                topology,
                switching,
                link_latency: Duration::from_ps(1_003),
                routing_delay: Duration::from_ps(20_011),
                link_bandwidth: Bandwidth::from_bytes_per_s(3_000_000_007),
                ..arctic()
            };
            // Gaps so long that a packet is alone.
            let mut turn = 0;
            let mut plan = |source: u32, destination: u32| {
                turn += 1_000_000;
                one(turn, destination, 1 + (source * 7 + destination) % BYTES)
            };
            let plans = (0..nodes).map(|a| (0..nodes).map(|b| plan(a, b)).collect()).collect();
            let outcome = run(&Setup::new(parameters.clone(), plans));
            let network = outcome.fabric.topology();
            let mut hops = 0;
            for (destination, a) in outcome.all() {
                let s = u64::from(network.switches(a.source, destination as u32));
                hops += s;
                // ceil(bytes * 10^12 / bandwidth)
                let of_bytes = (u64::from(a.bytes) * 1_000_000_000_000).div_ceil(3_000_000_007);
                let (serialization, routing) =
                    if topology == TopologyKind::Ideal { (0, 0) } else { (of_bytes, 20_011) };
                let expected = match switching {
                    Switching::CutThrough | Switching::Wormhole => {
                        (s + 1) * 1_003 + s * routing + serialization
                    }
                    Switching::StoreAndForward => (s + 1) * (1_003 + serialization) + s * routing,
                };
                assert_eq!(a.tail - a.sent, expected, "{topology:?} {switching:?} {a:?}");
                assert_eq!(a.tail - a.head, serialization);
                assert_eq!(a.head - a.sent, parameters.unloaded_head_latency(s as u32, a.bytes).0);
            }
            assert_eq!(outcome.all().count() as u32, nodes * nodes);
            let statistics = outcome.fabric.statistics();
            assert_eq!((statistics.hops, statistics.delivered), (hops, u64::from(nodes * nodes)));
            // Unloaded forwarding costs one event a hop and one for the credit from the destination.
            assert_eq!(outcome.fabric.events(), hops + u64::from(nodes * nodes));
        }
    }
}

/// Peak bandwidth: with buffers enough, n packets leave back to back, so that the last tail arrives
/// n serializations after the first head.
#[test]
fn peak_bandwidth_of_a_link() {
    let n = 1000;
    let parameters = arctic();
    let ser = parameters.link().serialization(BYTES).0;
    let mut plans = vec![vec![]; 16];
    plans[0] = vec![one(0, 15, BYTES); n];
    let outcome = run(&Setup::new(parameters.clone(), plans));
    assert_eq!(outcome.end(), parameters.unloaded_head_latency(3, BYTES).0 + n as u64 * ser);
    // 96 bytes in 600 ns: 160 MB/s.
    assert_eq!(ser, 600_000);
    let link = outcome.node_links[0];
    assert_eq!((link.packets, link.bytes, link.busy_ps), (n as u64, n as u64 * 96, n as u64 * ser));
    assert_eq!(link.blocked_ps, 0);
}

/// A credit loop limits the rate. A packet that starts at t frees its place in the next router's buffer
/// at t + L + R + S (latency, routing, serialization), which is known to the sender L later: B places
/// carry B packets in 2L + R + S. At the destination there is no routing: 2L + S.
#[test]
fn few_buffers_limit_the_rate_to_the_credit_loop() {
    let (latency, routing, n) = (400_000, 900_000, 100);
    let ser = 600_000;
    for (input, receive) in [(1, 8), (2, 8), (3, 8), (4, 8), (8, 1), (8, 2), (8, 3), (1, 1)] {
        let parameters = NetworkParameters {
            link_latency: Duration::from_ps(latency),
            routing_delay: Duration::from_ps(routing),
            input_buffer: input,
            receive_buffer: receive,
            ..arctic()
        };
        let outcome = run(&Setup::new(parameters, vec![vec![one(0, 1, BYTES); n], vec![]]));
        let heads: Vec<u64> = outcome.arrivals[1].iter().map(|a| a.head).collect();
        // Twelve is a multiple of all buffer sizes: in the steady state whole loops pass.
        let measured = heads[84] - heads[60];
        let input_loop = 24 / input * (2 * latency + routing + ser);
        let receive_loop = 24 / receive * (2 * latency + ser);
        let expected = (24 * ser).max(input_loop).max(receive_loop);
        assert_eq!(measured, expected, "buffers of {input} and {receive}");
        let blocked = outcome.node_links[0].blocked_ps > 0;
        assert_eq!(blocked, expected > 24 * ser, "buffers of {input} and {receive}");
    }
}

/// The same loop between two routers: two nodes of one leaf router send to one destination, so that neither
/// of their own links is the limit, and share the link up, with D-Mod-K, all the way.
#[test]
fn few_buffers_limit_the_rate_between_routers() {
    let (latency, routing, ser) = (400_000, 900_000, 600_000);
    for input in [1, 2, 3, 4, 6] {
        let parameters = NetworkParameters {
            link_latency: Duration::from_ps(latency),
            routing_delay: Duration::from_ps(routing),
            input_buffer: input,
            receive_buffer: 8,
            ..arctic()
        };
        let mut plans = vec![vec![]; 16];
        plans[..2].fill(vec![one(0, 15, BYTES); 100]);
        let outcome = run(&Setup::new(parameters, plans));
        let heads: Vec<u64> = outcome.arrivals[15].iter().map(|a| a.head).collect();
        let expected = (24 * ser).max(24 / input * (2 * latency + routing + ser));
        assert_eq!(heads[84] - heads[60], expected, "buffers of {input}");
    }
}

/// Two nodes send on a virtual network each to a third, whose link is the limit. If the networks take turns each gets half
/// of it; by priority the higher gets all, but for what had begun when its first packet came.
#[test]
fn virtual_networks_share_a_link_as_their_arbitration_says() {
    let n = 50;
    for (networks, shares) in
        [(VirtualNetworks::round_robin(3), [n / 2, n / 2]), (VirtualNetworks::by_priority(3), [1, n - 1])]
    {
        let parameters = NetworkParameters { topology: TopologyKind::Crossbar, ..arctic() };
        let plan = |priority| vec![Plan { at: 0, destination: 2, priority, bytes: BYTES, more: false }; n];
        let mut setup = Setup::new(parameters, vec![plan(0), plan(2), vec![]]);
        // The lower begins, so that a packet of it is on the link when the higher comes.
        setup.plans[1][0].at = 1;
        setup.networks = networks;
        let arrivals = &run(&setup).arrivals[2];
        let of = |network| arrivals[..n].iter().filter(|arrival| arrival.priority == network).count();
        assert_eq!([of(0), of(2)], shares, "{networks:?}");
        let ser = setup.parameters.link().serialization(BYTES).0;
        assert_eq!(arrivals[2 * n - 1].head - arrivals[0].head, (2 * n as u64 - 1) * ser, "{networks:?}");
    }
}

/// A shift permutation uses every link of a crossbar, and of a full fat tree, at most once
/// (Zahavi 2012): each node receives at the full rate of its link.
#[test]
fn permutations_without_contention_run_at_full_rate() {
    for (topology, nodes, shift) in
        [(TopologyKind::Crossbar, 16, 5), (TopologyKind::FatTree, 16, 5), (TopologyKind::FatTree, 64, 21)]
    {
        let parameters = NetworkParameters { topology, ..arctic() };
        let plans = saturating(nodes, 200, BYTES, 0, |node, _| (node + shift) % nodes);
        assert_eq!(throughput(&Setup::new(parameters, plans)), 1.0, "{topology:?} {nodes}");
    }
}

/// The transposition (a, b) -> (b, a) of two base-4 digits: the four nodes of a leaf router send to
/// nodes of equal last digit, so with D-Mod-K three of them share a link up (the fourth stays), and
/// with the source's digits the three that go to one leaf router share its link down. Each of these
/// gets a third; the nodes (a, a) send to themselves at the full rate.
#[test]
fn a_bad_permutation_gets_the_share_of_its_worst_link() {
    for up_route in [UpRoute::Destination, UpRoute::Source] {
        let parameters = NetworkParameters { up_route, ..arctic() };
        let ser = parameters.link().serialization(BYTES).0;
        let plans = saturating(16, 300, BYTES, 0, |node, _| node % 4 * 4 + node / 4);
        let outcome = run(&Setup::new(parameters, plans));
        for (node, list) in outcome.arrivals.iter().enumerate() {
            let period = if node / 4 == node % 4 { ser } else { 3 * ser };
            assert_eq!(list[200].head - list[100].head, 100 * period, "node {node}");
        }
    }
}

/// Uniform traffic on a crossbar with FIFO inputs saturates at a share of the links that head-of-line
/// blocking sets: 2 - sqrt(2) = 0.586 for many ports, 0.75 for two (M. Karol, M. Hluchyj and S. Morgan,
/// "Input versus output queueing on a space-division packet switch", IEEE Trans. Communications 35(12),
/// 1987, table I, which for 8 ports gives 0.6184). Oldest first and equal lengths keep packets in step as
/// their slots do.
#[test]
fn uniform_traffic_on_a_crossbar_saturates_where_theory_says() {
    for (nodes, theory) in [(2, 0.75), (4, 0.6553), (8, 0.6184), (32, 0.595)] {
        let parameters = NetworkParameters { topology: TopologyKind::Crossbar, ..arctic() };
        let plans = saturating(nodes, 4000, BYTES, 17, |_, random| random.below(nodes.into()) as u32);
        let measured = throughput(&Setup::new(parameters, plans));
        println!("{nodes} ports: {measured:.4}, theory {theory}");
        assert!((measured - theory).abs() < 0.02, "{nodes} ports: {measured}, theory {theory}");
    }
}

/// Throughput of the leaf routers of a fat tree under uniform load if nothing but their own FIFO inputs
/// held packets up: a slotted model after Karol et al., independent of the simulator. Four inputs; a head
/// wants a port down for 4 of `nodes` destinations and else a port up, each of four with equal chance;
/// of each slot a random head for each output goes.
fn leaf_stage_bound(nodes: u64) -> f64 {
    let mut random = Random::new(5);
    let mut head = |_| if random.below(nodes) < 4 { random.below(4) } else { 4 + random.below(4) };
    let mut heads: [u64; 4] = std::array::from_fn(&mut head);
    let (slots, mut served) = (200_000, 0);
    let mut order = Random::new(6);
    for _ in 0..slots {
        let (mut taken, first) = ([false; 8], order.below(4) as usize);
        for input in (0..4).map(|i| (i + first) % 4) {
            let output = heads[input] as usize;
            if !taken[output] {
                taken[output] = true;
                heads[input] = head(input);
                served += 1;
            }
        }
    }
    f64::from(served) / (4 * slots) as f64
}

/// A fat tree has full bisection, so head-of-line blocking alone limits uniform traffic. With D-Mod-K the
/// packets that contend on the way down go to one node only, so the leaf routers on the way up do most of
/// it: their throughput is an upper bound, which one level of routers (4 nodes) attains. Each further
/// level adds some; the lower bound, 80 % of the upper for up to 256 nodes, is where a changed arbitration
/// or buffer would show. (Petrini and Vanneschi, TR-95-18, find 35 to 75 % for 256 nodes and wormhole
/// routing, by the number of virtual channels.)
#[test]
fn uniform_traffic_on_a_fat_tree_saturates_below_its_leaf_routers() {
    for nodes in [4, 16, 64, 256] {
        let plans = saturating(nodes, 2000, BYTES, 23, |_, random| random.below(nodes.into()) as u32);
        let measured = throughput(&Setup::new(arctic(), plans));
        let bound = leaf_stage_bound(nodes.into());
        println!("{nodes} nodes: {measured:.4}, leaf routers alone {bound:.4}");
        let attained = if nodes == 4 { 0.99 } else { 0.8 };
        assert!(measured < bound + 0.01 && measured > attained * bound, "{nodes} nodes: {measured}, {bound}");
    }
}
