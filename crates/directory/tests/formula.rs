//! Misses without contention take what the parameters say.

use chasqui_directory::{Times, Want};
use chasqui_engine::Time;

use crate::rig::{LINE, World, parameters, protocol};

/// How long an access takes when nothing else happens.
fn time(
    world: &mut World,
    protocol: &mut chasqui_directory::Protocol,
    node: usize,
    line: u64,
    want: Want,
) -> Time {
    while world.step(protocol) {}
    // The line is not kept any longer.
    world.now += Time(1_000_000);
    let start = world.now;
    world.access(protocol, node, line, want);
    while world.processors[node].waits.is_some() {
        assert!(world.step(protocol));
    }
    world.now - start
}

/// Into the controller (8), memory beside the look-up (25), out (8).
#[test]
fn a_local_miss_takes_41_cycles_and_a_remote_one_125() {
    let (mut world, mut protocol) = (World::new(16), protocol(16, 16));
    let cycle = 10_000;
    let local = time(&mut world, &mut protocol, 5, 5 * LINE, Want::Load);
    println!("local: 8 + max(15, 25) + 8 = 41");
    assert_eq!(local.0, 41 * cycle);
    let remote = time(&mut world, &mut protocol, 5, 6 * LINE, Want::Load);
    println!("one hop: 8 + 10 + (8 + 5 + 8 + 8) + 25 + (8 + 5 + 24 + 8) + 8 = 125");
    assert_eq!(remote.0, 125 * cycle);
    let far = time(&mut world, &mut protocol, 0, 15 * LINE, Want::Load);
    println!("six hops: 2 x 5 x 5 more");
    assert_eq!(far.0, 175 * cycle);
}

#[test]
fn misses_take_what_the_formulas_say() {
    let times = Times::new(&parameters(16), 16, LINE);
    for (node, home, owner) in [(0, 0, 1), (0, 5, 5), (3, 12, 7), (15, 0, 15), (1, 2, 3)] {
        let (mut world, mut protocol) = (World::new(16), protocol(16, 16));
        let line = home as u64 * LINE;
        let clean = time(&mut world, &mut protocol, node, line, Want::Load);
        assert_eq!(clean, times.clean_miss(node, home), "node {node}, home {home}");
        if owner == node {
            continue;
        }
        time(&mut world, &mut protocol, owner, line + 16 * LINE, Want::Store);
        let dirty = time(&mut world, &mut protocol, node, line + 16 * LINE, Want::Load);
        assert_eq!(dirty, times.dirty_miss(node, home, owner), "node {node}, home {home}, owner {owner}");
    }
}

/// Two requests that come to one memory at once: the second waits for the first's access. (The look-up is shorter.)
#[test]
fn a_memory_serves_one_access_at_a_time() {
    let (mut world, mut protocol) = (World::new(4), protocol(4, 16));
    world.access(&mut protocol, 1, 0, Want::Load);
    world.access(&mut protocol, 2, 4 * LINE, Want::Load);
    let mut ends = vec![];
    while world.step(&mut protocol) {
        if world.log.len() > ends.len() {
            ends.push(world.now.0 / 10_000);
        }
    }
    assert_eq!(ends, [125, 125 + 25]);
    let home = protocol.statistics(0);
    // The second came when the first was looked up: it was looked up 15 cycles later, and waited 10 more for the memory.
    assert_eq!((home.controller_waits_ps, home.memory_waits_ps), (150_000, 100_000));
}
