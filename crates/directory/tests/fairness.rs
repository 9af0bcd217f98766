//! Who was refused is served in its turn.

use chasqui_directory::Want;
use chasqui_engine::Time;

use crate::rig::{Copy, LINE, World, protocol};

/// All nodes store to one line again and again. From when a node waits for its turn, until it is done, no other is done more than
/// once: with what it had been promised before, or with a turn that came earlier.
#[test]
fn between_a_refusal_and_its_turn_each_other_node_is_served_once() {
    for (nodes, buffer, keeps) in
        [(2, 1, 0), (3, 1, 0), (4, 16, 70_000), (8, 2, 0), (16, 16, 20_000), (64, 1, 0)]
    {
        let (mut world, mut protocol) = (World::new(nodes), protocol(nodes, buffer));
        world.keeps = Time(keeps);
        let line = (nodes as u64 / 2) * LINE;
        // Since a node waits for its turn: how often the others were done.
        let mut since: Vec<Option<Vec<u64>>> = vec![None; nodes];
        let (mut done, mut most) = (vec![0; nodes], 0);
        let mut seen = 0;
        let services = if nodes > 16 { 600 } else { 2_000 };
        while done.iter().sum::<u64>() < services {
            for node in 0..nodes {
                if world.processors[node].waits.is_none() && !world.has_line(node, line) {
                    world.access(&mut protocol, node, line, Want::Store);
                }
            }
            assert!(world.step(&mut protocol), "{nodes} nodes: nothing happens any more");
            world.check(&protocol, &[line]).unwrap();
            for access in &world.log[seen..] {
                done[access.node] += 1;
                since[access.node] = None;
                for counts in since.iter_mut().flatten() {
                    counts[access.node] += 1;
                    most = most.max(counts[access.node]);
                }
            }
            seen = world.log.len();
            for node in protocol.turns(line) {
                since[node].get_or_insert_with(|| vec![0; nodes]);
            }
        }
        println!("{nodes} nodes, room for {buffer}: {done:?}, at most {most} before a turn");
        assert!(most <= 1, "{nodes} nodes, room for {buffer}: another was served {most} times");
        // All others ask once more, and are refused, while the line goes on. (Memory reads that are of no use must not pile up.)
        let cycles = world.now.0 / 10_000 / services;
        println!("{cycles} cycles from one to the next");
        assert!(cycles < 300 + keeps / 10_000 + 3 * 15 * nodes as u64, "{nodes} nodes: {cycles} cycles");
        let (least, greatest) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(greatest - least <= 2 + greatest / 2, "{nodes} nodes: {done:?}");
    }
}

/// Readers that poll do not keep a writer from its turn, nor the writer them.
#[test]
fn a_writer_among_readers_has_its_turn() {
    let nodes = 8;
    let (mut world, mut protocol) = (World::new(nodes), protocol(nodes, 1));
    let line = 3 * LINE;
    let mut stores = 0;
    while stores < 200 {
        for node in 0..nodes {
            let want = if node == 5 { Want::Store } else { Want::Load };
            let is_hit = world.processors[node]
                .cache
                .get(&line)
                .is_some_and(|&copy| want == Want::Load || copy == Copy::Owned);
            if world.processors[node].waits.is_none() && !is_hit {
                world.access(&mut protocol, node, line, want);
            }
        }
        assert!(world.step(&mut protocol), "nothing happens any more");
        world.check(&protocol, &[line]).unwrap();
        stores = world.log.iter().filter(|access| access.ticket.want == Want::Store).count();
        assert!(world.log.len() < 20 * (stores + 20), "{stores} stores of {} accesses", world.log.len());
    }
}
