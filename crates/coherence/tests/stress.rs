//! Random requests of several nodes to few lines, through queues that hold one message each.

use chasqui_random::{Random, share};

use crate::world::{OPERATIONS, Rules, World, Wrong};

/// One message for each virtual network and node is on its way or waits there.
fn fits(world: &World) -> bool {
    let places =
        world.network.iter().map(|travelling| (travelling.message.kind.network(), travelling.message.to));
    let mut places: Vec<_> = places.collect();
    places.sort_unstable();
    places.windows(2).all(|two| two[0] != two[1])
}

/// Something that may happen, by its number; true: it did.
fn step(
    rules: &Rules,
    world: &mut World,
    number: usize,
    left: &mut [u32],
    random: &mut Random,
) -> Result<bool, Wrong> {
    let mut next = world.clone();
    let (on_their_way, refused) = (world.network.len(), world.again.len());
    if number < on_their_way {
        next.deliver(rules, number)?;
    } else if number < on_their_way + refused {
        let again = next.again.swap_remove(number - on_their_way);
        next.network.push(again);
    } else {
        let node = number - on_their_way - refused;
        if left[node] == 0 || !world.is_free(node) {
            return Ok(false);
        }
        let line = random.below(world.lines() as u64) as u8;
        if !next.operate(rules, node, line, random.pick(&OPERATIONS))? {
            // It tries another at another time.
            return Ok(true);
        }
        left[node] -= u32::from(fits(&next));
    }
    if !fits(&next) {
        return Ok(false);
    }
    next.check()?;
    *world = next;
    Ok(true)
}

fn run(rules: &Rules, nodes: usize, lines: usize, operations: u32, random: &mut Random) -> Result<(), Wrong> {
    let mut world = World::new(nodes, lines);
    let mut left = vec![operations; nodes];
    loop {
        let choices = world.network.len() + world.again.len() + nodes;
        let first = random.below(choices as u64) as usize;
        let mut some = false;
        for number in (first..choices).chain(0..first) {
            some = step(rules, &mut world, number, &mut left, random)?;
            if some {
                break;
            }
        }
        if world.network.is_empty() && world.again.is_empty() && left.iter().all(|&left| left == 0) {
            return world.check_rest();
        }
        if !some {
            return Err(format!("nothing can happen any more: {world:?}"));
        }
    }
}

#[test]
fn random_requests_find_what_was_stored_last_and_come_to_an_end() {
    let mut random = Random::for_test(0xf1a5);
    for round in 0..share(200) {
        let (nodes, lines) = (2 + random.below(3) as usize, 1 + random.below(3) as usize);
        if let Err(wrong) = run(&Rules::default(), nodes, lines, 300, &mut random) {
            panic!("round {round}, {nodes} nodes, {lines} lines: {wrong}");
        }
    }
}
