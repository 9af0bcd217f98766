//! Prints how many hops a host-second the fabric simulates: `cargo run --release --example hops`.

#[path = "../tests/common/mod.rs"]
mod common;

use chasqui_random::Random;
use common::{Plan, Setup, arctic, run};

fn main() {
    println!("64 nodes on a fat tree; hops (passages through a router) a host-second");
    println!("{:>24} {:>10} {:>12} {:>12} {:>12}", "traffic", "hops", "events/hop", "fabric", "with nodes");
    for (name, gap, hosts) in
        [("alone", u64::MAX, 64), ("10 % load", 6_000_000, 1), ("10 % load, 64 parts", 6_000_000, 64)]
            .into_iter()
            .chain([("30 % load", 2_000_000, 1), ("saturated", 0, 1), ("saturated, 64 parts", 0, 64)])
    {
        let packets = if gap == u64::MAX { 2000 } else { 6000 };
        let mut random = Random::new(1);
        // Alone: one sender, a packet every 3 us, which is longer than it takes.
        let mut plan = |node: u64, i: u64| Plan {
            at: if gap == u64::MAX {
                (i * 64 + node) * 3_000_000
            } else {
                i * gap + random.below(gap / 2 + 1)
            },
            destination: random.below(64) as u32,
            priority: 0,
            bytes: 96,
            more: false,
        };
        let plans = (0..64).map(|node| (0..packets).map(|i| plan(node, i)).collect()).collect();
        let mut setup = Setup::new(arctic(), plans);
        setup.hosts = hosts;
        setup.log = false;
        let outcome = run(&setup);
        let statistics = outcome.fabric.statistics();
        println!(
            "{name:>24} {:>10} {:>12.2} {:>10.2} M {:>10.2} M",
            statistics.hops,
            outcome.fabric.events() as f64 / statistics.hops as f64,
            statistics.hops as f64 / outcome.fabric_time.as_secs_f64() / 1e6,
            statistics.hops as f64 / outcome.host_time.as_secs_f64() / 1e6,
        );
    }
}
