//! Every order of everything, for few nodes and operations.

use std::collections::HashMap;

use crate::world::{OPERATIONS, Rules, World, Wrong};

/// Whether there is time for all that can be looked at (`make nightly`).
pub fn is_sweep() -> bool {
    std::env::var_os("CHASQUI_SWEEP").is_some()
}

/// What was found so far: states by number, from which each can be reached, and those that are still to be looked at.
#[derive(Default)]
struct Found {
    numbers: HashMap<(World, Vec<u8>), u32>,
    before: Vec<Vec<u32>>,
    open: Vec<(World, Vec<u8>)>,
    rests: Vec<u32>,
}

impl Found {
    /// A state that follows number `from`.
    fn add(&mut self, mut world: World, left: Vec<u8>, from: Option<u32>) -> Result<(), Wrong> {
        world.check()?;
        world.network.append(&mut world.again);
        world.network.sort_unstable();
        let number = self.before.len() as u32;
        let state = (world, left);
        let known = *self.numbers.entry(state.clone()).or_insert(number);
        if known == number {
            self.before.push(vec![]);
            if state.0.network.is_empty() {
                state.0.check_rest()?;
                self.rests.push(number);
            }
            self.open.push(state);
        }
        self.before[known as usize].extend(from);
        Ok(())
    }

    /// From every state there is a way to rest.
    fn check_progress(&self) -> Result<(), Wrong> {
        let mut reached = vec![false; self.before.len()];
        let mut open = self.rests.clone();
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut reached[number as usize], true) {
                open.extend(&self.before[number as usize]);
            }
        }
        match reached.iter().filter(|&&is_reached| !is_reached).count() {
            0 => Ok(()),
            count => Err(format!("{count} states from which it never comes to rest")),
        }
    }
}

/// The states that can be reached by so many operations of each processor with one line, or what is wrong in one.
pub fn search(rules: &Rules, operations: &[u8]) -> Result<usize, Wrong> {
    let nodes = operations.len();
    let mut found = Found::default();
    found.add(World::new(nodes, 1), operations.to_vec(), None)?;
    while let Some((world, left)) = found.open.pop() {
        let from = Some(found.numbers[&(world.clone(), left.clone())]);
        for number in 0..world.network.len() {
            // Two that are alike are one.
            if number > 0 && world.network[number] == world.network[number - 1] {
                continue;
            }
            let mut next = world.clone();
            next.deliver(rules, number)?;
            found.add(next, left.clone(), from)?;
        }
        for node in (0..nodes).filter(|&node| left[node] > 0 && world.is_free(node)) {
            for operation in OPERATIONS {
                let mut next = world.clone();
                if next.operate(rules, node, 0, operation)? {
                    let mut left = left.clone();
                    left[node] -= 1;
                    found.add(next, left, from)?;
                }
            }
        }
    }
    found.check_progress()?;
    Ok(found.before.len())
}

#[test]
fn few_processors_do_few_things_each() {
    let all: &[&[u8]] = &[&[4, 3], &[2, 1, 1], &[4, 4], &[2, 2, 2], &[3, 2, 1]];
    for operations in &all[..if is_sweep() { all.len() } else { 2 }] {
        let states = search(&Rules::default(), operations).unwrap();
        println!("{operations:?}: {states} states");
        assert!(states > 10_000);
    }
}
