//! Random accesses through queues of few messages: one writer, right states after every step, and everything comes to an end.

use chasqui_directory::{Protocol, Want};
use chasqui_random::{Random, share};

use crate::rig::{LINE, World, protocol_with};

/// Each node does `operations` accesses; returns how often each line was stored to.
fn run(nodes: usize, lines: &[u64], operations: u32, buffer: u64, random: &mut Random) -> Result<(), String> {
    let contention = random.once_in(3);
    let mut world = World::new(nodes);
    let mut protocol: Protocol = protocol_with(nodes, buffer, contention);
    world.keeps = chasqui_engine::Time(random.below(3) * 15_000);
    let mut left = vec![operations; nodes];
    let mut stores = 0;
    loop {
        for (node, left) in left.iter_mut().enumerate() {
            if world.processors[node].waits.is_some() || random.once_in(2) {
                continue;
            }
            let line = random.pick(lines);
            if random.once_in(4) {
                world.evict(&mut protocol, node, line);
            } else if *left > 0 {
                *left -= 1;
                let want = if random.once_in(2) { Want::Store } else { Want::Load };
                stores += u64::from(want == Want::Store);
                world.access(&mut protocol, node, line, want);
            }
            world.check(&protocol, lines)?;
        }
        for _ in 0..random.below(4) {
            world.step(&mut protocol);
            world.check(&protocol, lines)?;
        }
        if left.iter().all(|&left| left == 0) {
            break;
        }
        // Nobody is free, and nothing is to come.
        if world.events.is_empty() && world.processors.iter().all(|p| p.waits.is_some()) {
            return Err(format!("nothing can happen any more: {:?}", world.processors));
        }
    }
    while world.step(&mut protocol) {
        world.check(&protocol, lines)?;
    }
    world.check_rest(&protocol, lines)?;
    let stored: u64 = world.values.values().sum();
    if stored != stores {
        return Err(format!("{stored} stores of {stores} were made"));
    }
    Ok(())
}

#[test]
fn random_accesses_have_one_writer_lose_nothing_and_come_to_an_end() {
    let mut random = Random::for_test(0xf1a5_0001);
    for round in 0..share(600) {
        let nodes = 2 + random.below(3) as usize;
        let lines: Vec<_> = (0..1 + random.below(3)).map(|line| line * LINE).collect();
        let buffer = random.pick(&[1, 1, 2, 16]);
        if let Err(wrong) = run(nodes, &lines, 300, buffer, &mut random) {
            panic!("round {round}: {nodes} nodes, {} lines, room for {buffer}: {wrong}", lines.len());
        }
    }
}

/// As many nodes as a directory entry has bits, and controllers that have room for one message.
#[test]
fn many_nodes_come_to_an_end_with_room_for_one_message() {
    let mut random = Random::for_test(0xf1a5_0002);
    for round in 0..share(6) {
        let lines = [0, 5 * LINE, 63 * LINE];
        if let Err(wrong) = run(64, &lines, 30, 1, &mut random) {
            panic!("round {round}: {wrong}");
        }
    }
}
