//! Block transfers: what they take, what they move beside a reference, in which order, and what is refused.

use chasqui_coherence::CacheState;
use chasqui_directory::registers::{TRANSFER_ADD, TRANSFER_RECEIVE, TRANSFER_SEND};
use chasqui_directory::{Command, Counts, DirectoryParameters, Protocol, Times, Want};
use chasqui_engine::Time;
use chasqui_random::{Random, share};

use crate::rig::{World, parameters};

/// Each node's memory [bytes].
const EACH: u64 = 1 << 14;
const CYCLE: u64 = 10_000;

fn world(nodes: usize, line: u64) -> World {
    let mut world = World::new(nodes);
    (world.stripe, world.line) = (EACH, line);
    world.memory = (0..EACH * nodes as u64).map(|at| (at ^ at >> 7 ^ at >> 13) as u8).collect();
    world
}

fn system(nodes: usize, line: u64, parameters: &DirectoryParameters) -> (World, Protocol, Times) {
    let times = Times::new(parameters, nodes, line);
    let room = parameters.controller.buffer as usize;
    (world(nodes, line), Protocol::new(times, nodes, room), times)
}

fn sends(source: u64, destination: u64, bytes: u64) -> Command {
    Command { source, destination, bytes, start: TRANSFER_SEND, ..Command::default() }
}

/// Everything happens; when it was over.
fn rest(world: &mut World, protocol: &mut Protocol) -> Time {
    while world.step(protocol) {}
    assert_eq!(world.wrong, None);
    world.now
}

fn time(world: &mut World, protocol: &mut Protocol, node: usize, command: Command) -> u64 {
    let start = rest(world, protocol);
    protocol.transfer(world, (node, 0), command, start);
    while protocol.transfers() > 0 {
        assert!(world.step(protocol), "it does not end");
    }
    (world.now - start).0
}

#[test]
fn a_contiguous_transfer_takes_start_up_and_stages() {
    for line in [32, 64, 128] {
        for (source, destination) in [(5, 6), (0, 15), (9, 1)] {
            for lines in [1, 2, 3, 16, 64] {
                let (mut world, mut protocol, times) = system(16, line, &parameters(16));
                let command = sends(source * EACH, destination * EACH + 2 * line, lines * line);
                let took = time(&mut world, &mut protocol, source as usize, command);
                let expected = times.transfer(source as usize, destination as usize, lines);
                let stage = 25.max((line + 32) / 4);
                println!("{lines} lines of {line} B, {source} to {destination}: {} cycles", took / CYCLE);
                assert_eq!(took, expected.0);
                let hops = times.between_with(source as usize, destination as usize, line).0 / CYCLE;
                assert_eq!(took / CYCLE, 100 + 25 + (lines - 1) * stage + hops + 15 + 25);
                let asked = Command { start: TRANSFER_RECEIVE, ..command };
                let took = time(&mut world, &mut protocol, destination as usize, asked);
                let request = times.construct + times.between(destination as usize, source as usize, false);
                assert_eq!(took, expected.0 + request.0);
            }
        }
    }
}

/// A line that the source's cache has modified takes 5 cycles more, in each stage; one that the destination's has, too.
#[test]
fn cached_lines_take_what_the_table_says() {
    let (mut world, mut protocol, times) = system(4, 64, &parameters(16));
    let lines = 8;
    for line in 0..lines {
        world.access(&mut protocol, 0, 64 * line, Want::Store);
        rest(&mut world, &mut protocol);
    }
    world.now = Time(world.now.0 + 100 * CYCLE);
    let took = time(&mut world, &mut protocol, 0, sends(0, EACH, 64 * lines));
    let stage = 30;
    let last = times.between_with(0, 1, 64).0 / CYCLE + 15 + 25;
    assert_eq!(took / CYCLE, 100 + 30 + (lines - 1) * stage + last);
    assert_eq!(protocol.transfer_statistics(0).retrieved, lines);
    assert_eq!(protocol.state(0, 0), CacheState::Shared, "it is kept, to read");
    for line in 0..lines {
        world.access(&mut protocol, 1, EACH + 64 * line, Want::Load);
        rest(&mut world, &mut protocol);
    }
    world.now = Time(world.now.0 + 100 * CYCLE);
    let took = time(&mut world, &mut protocol, 0, sends(0, EACH, 64 * lines));
    assert_eq!(took, times.transfer(0, 1, lines).0 + 5 * CYCLE);
    assert_eq!(protocol.transfer_statistics(1).invalidated, lines);
    assert!(!world.has_line(1, EACH));
}

/// A part of a line is merged: the memory reads it, too. All between are whole.
#[test]
fn parts_of_lines_are_merged() {
    let (mut world, mut protocol, _) = system(2, 64, &parameters(16));
    let before = world.memory.clone();
    time(&mut world, &mut protocol, 0, sends(100, EACH + 1000, 300));
    let statistics = protocol.transfer_statistics(1);
    // 1000 is 40 in its line; 1300 is 20 in its own.
    assert_eq!((statistics.lines_written, statistics.lines_merged), (6, 2));
    assert_eq!(protocol.transfer_statistics(0).lines_read, (100 + 300_u64).div_ceil(64) - 1);
    let mut expected = before.clone();
    expected.copy_within(100..400, EACH as usize + 1000);
    assert_eq!(world.memory, expected);
}

/// Misses go first: while they come, all that a transfer has is what they leave.
#[test]
fn misses_suspend_a_transfer() {
    let (mut world, mut protocol, times) = system(2, 64, &parameters(16));
    let alone = times.transfer(0, 1, 100).0;
    let start = world.now;
    protocol.transfer(&mut world, (0, 0), sends(0, EACH, 6400), start);
    let mut line = 128 * 64;
    let mut misses = 0;
    while protocol.transfers() > 0 {
        if world.processors[0].waits.is_none() {
            world.access(&mut protocol, 0, line % EACH, Want::Load);
            world.evict(&mut protocol, 0, line % EACH);
            line = 128 * 64 + (line + 64) % (64 * 64);
            misses += 1;
        }
        assert!(world.step(&mut protocol));
    }
    let took = (world.now - start).0;
    println!("{misses} misses: {} cycles, {} alone", took / CYCLE, alone / CYCLE);
    assert!(took > alone * 5 / 4);
    // A miss waits for a line's look-up and access at most.
    assert!(world.now.0 / misses < (41 + 25 + 15) * CYCLE);
    assert!(protocol.transfer_statistics(0).suspended_ps > 0);
}

/// What is wrong is said with its address, and nothing moves.
#[test]
fn what_is_wrong_is_refused_with_its_address() {
    let flag = |flag| Command { flag, ..sends(0, EACH, 64) };
    let receive = |command| Command { start: TRANSFER_RECEIVE, ..command };
    let cases = [
        (
            sends(0x40, 0x80, 64),
            "0x80 is in memory of node 0, as the other end is: a transfer goes to another node",
        ),
        (sends(EACH, 0, 64), "0x4000 is in memory of node 1: what node 0 sends has to be in its own"),
        (
            receive(sends(EACH, 2 * EACH, 8)),
            "0x8000 is in memory of node 2: what node 0 receives has to be in its own",
        ),
        (sends(0x2fff, EACH, 8), "there is no page at 0x3000 that the process may read"),
        (sends(0, EACH + 0x2ff8, 16), "there is no page at 0x7000 that the process may write"),
        (sends(0, 2 * EACH - 8, 16), "0x8000 is in memory of node 2, and 0x7ff8 in that of node 1"),
        (sends(0, EACH, 0), "0 bytes at 1 stride points"),
        (flag(0x4004), "the flag at 0x4004 is not aligned to 8"),
        (flag(0x3000), "there is no page at 0x3000, of the flag, that the process may write"),
        (sends(u64::MAX - 6, EACH, 32), "the piece at 0xfffffffffffffff9 goes past the end of addresses"),
        (Command { start: 5, ..sends(0, EACH, 8) }, "0x5 is no command of this controller"),
        (
            Command { count: 2, destination_stride: 8, ..sends(0, EACH, 16) },
            "16 bytes at every 8 from 0x4000 on lie over each other",
        ),
    ];
    for (command, expected) in cases {
        let (mut world, mut protocol, _) = system(4, 64, &parameters(16));
        world.absent = vec![0x3000..0x4000, 0x7000..0x7ff0];
        let before = world.memory.clone();
        protocol.transfer(&mut world, (0, 0), command, Time::ZERO);
        rest(&mut world, &mut protocol);
        let [(node, said)] = &world.faults[..] else { panic!("{expected}: {:?}", world.faults) };
        println!("{said}");
        assert!(*node == 0 && said.contains(expected), "{expected}: {said}");
        assert_eq!((protocol.transfers(), world.memory == before), (0, true));
    }
}

/// What a third node has is refused where it would be wrong, or made right.
#[test]
fn copies_at_third_nodes_are_refused_or_fetched() {
    let cases = [
        (64, Want::Store, Some("node 2 has modified the line at 0x40, which it sends from node 0")),
        (64, Want::Load, None),
        (EACH + 64, Want::Load, Some("node 2 has a copy of the line at 0x4040, which it writes at node 1")),
        (EACH + 64, Want::Store, Some("node 2 has a copy of the line at 0x4040")),
    ];
    for (line, want, expected) in cases {
        for coherent in [false, true] {
            let mut parameters = parameters(1);
            parameters.transfer.coherent = coherent;
            let (mut world, mut protocol, _) = system(4, 64, &parameters);
            world.processors[2].stores = Some((line + 7, 0xee));
            world.access(&mut protocol, 2, line, want);
            rest(&mut world, &mut protocol);
            let mut expected_memory = world.memory.clone();
            expected_memory.copy_within(0..256, EACH as usize);
            world.now = Time(world.now.0 + CYCLE);
            let now = world.now;
            protocol.transfer(&mut world, (0, 0), sends(0, EACH, 256), now);
            rest(&mut world, &mut protocol);
            match expected.filter(|_| !coherent) {
                Some(expected) => {
                    println!("{:?}", world.faults);
                    assert!(world.faults.len() == 1 && world.faults[0].1.contains(expected));
                    assert!(world.faults[0].1.contains("flash.transfer.coherent=true"));
                }
                None => {
                    assert_eq!((&world.faults[..], world.memory == expected_memory), (&[][..], true));
                    let fetched: u64 =
                        [0, 1].map(|node| protocol.transfer_statistics(node).fetched).iter().sum();
                    assert_eq!(fetched, u64::from(expected.is_some()));
                }
            }
            assert_eq!(protocol.transfers(), 0);
        }
    }
}

/// Transfers between all nodes, in random pieces, while processors store beside them, load, poll flags and replace lines. In the end,
/// and whenever a flag is set, the data are where the reference has them.
fn random_transfers(random: &mut Random, counts: Counts) -> Result<(), String> {
    let nodes = 2 + random.below(3);
    let line = random.pick(&[32, 64, 128]);
    let mut parameters = parameters(random.pick(&[1, 2, 16]));
    parameters.transfer.coherent = random.once_in(2);
    parameters.transfer.lines = random.pick(&[1, 2, 16]);
    let others = parameters.transfer.coherent;
    let (mut world, mut protocol, _) = system(nodes as usize, line, &parameters);
    protocol.break_transfers(counts);
    world.keeps = Time(random.below(3) * 15_000);
    // Of each node: sources below 4096, places of 1024 bytes above for what comes, flags and bytes of the processors'.
    let mut reference = world.memory.clone();
    let mut places: Vec<_> =
        (0..nodes).flat_map(|node| (4..15).map(move |at| node * EACH + at * 1024)).collect();
    let flag_lines: Vec<_> = (0..nodes).map(|node| node * EACH + 15 * 1024).collect();
    let mut flags = 0;
    let mut stored = 0_u8;
    for _ in 0..150 {
        if random.once_in(8) && !places.is_empty() {
            let place = places.swap_remove(random.below(places.len() as u64) as usize);
            let to = place / EACH;
            let from = (to + 1 + random.below(nodes - 1)) % nodes;
            let bytes = 1 + random.below(512);
            // The line before and behind is its neighbours'.
            let destination = place + 128 + random.below(256);
            let source = from * EACH + random.below(3000);
            let flag = random.pick(&flag_lines) + 8 * flags;
            flags += 1;
            let is_sender = random.once_in(2);
            let start = if is_sender { TRANSFER_SEND } else { TRANSFER_RECEIVE };
            let command = Command { source, destination, bytes, flag, start, ..Command::default() };
            reference.copy_within(source as usize..(source + bytes) as usize, destination as usize);
            let data = reference[destination as usize..][..bytes as usize].to_vec();
            reference[flag as usize..][..8].copy_from_slice(&1_u64.to_le_bytes());
            world.flags.insert(flag, (destination, data));
            let now = world.now;
            protocol.transfer(&mut world, ((if is_sender { from } else { to }) as usize, 0), command, now);
        }
        for node in 0..nodes {
            if world.processors[node as usize].waits.is_some() || random.once_in(2) {
                continue;
            }
            // The own node's memory, or, where that is right, any.
            let home = if others { random.below(nodes) } else { node };
            let base = home * EACH;
            let (place, want) = match random.below(4) {
                // Beside what comes, in its lines perhaps.
                0 => (base + 4096 + random.below(11) * 1024 + 127 - random.below(100), Want::Store),
                1 => (base + 4096 + random.below(11 * 1024), Want::Load),
                2 => (base + random.below(3500), Want::Load),
                _ => (base + 15 * 1024 + 8 * random.below(flags + 1), Want::Load),
            };
            if random.once_in(4) {
                world.evict(&mut protocol, node as usize, place / line * line);
                continue;
            }
            if want == Want::Store {
                stored = stored.wrapping_add(1);
                world.processors[node as usize].stores = Some((place, stored));
                reference[place as usize] = stored;
            }
            // The byte has one value in the end only if nobody else stores to it meanwhile.
            world.access(&mut protocol, node as usize, place / line * line, want);
            while want == Want::Store && world.processors[node as usize].waits.is_some() && others {
                if !world.step(&mut protocol) {
                    return Err("nothing can happen any more".into());
                }
            }
        }
        for _ in 0..random.below(6) {
            world.step(&mut protocol);
        }
        if let Some(wrong) = world.wrong.take().or(world.faults.pop().map(|(_, fault)| fault)) {
            return Err(wrong);
        }
    }
    while world.step(&mut protocol) {}
    if let Some(wrong) = world.wrong.take().or(world.faults.pop().map(|(_, fault)| fault)) {
        return Err(wrong);
    }
    world.check_rest(&protocol, &[])?;
    if protocol.transfers() > 0 || !world.flags.is_empty() {
        return Err(format!("{} transfers, {} flags are left over", protocol.transfers(), world.flags.len()));
    }
    match world.memory.iter().zip(&reference).position(|(a, b)| a != b) {
        Some(at) => Err(format!("the byte at {at:#x} is {}, not {}", world.memory[at], reference[at])),
        None => Ok(()),
    }
}

#[test]
fn random_transfers_move_what_the_reference_says() {
    let mut random = Random::for_test(0xf1a5_0010);
    for round in 0..share(300) {
        if let Err(wrong) = random_transfers(&mut random, Counts::Written) {
            panic!("round {round}: {wrong}");
        }
    }
}

/// The rule that a flag is set after the data: broken, the test above finds it.
#[test]
fn a_flag_before_the_data_is_found() {
    for counts in [Counts::Sent, Counts::Arrived] {
        let mut random = Random::for_test(0xf1a5_0011);
        let found = (0..200).filter_map(|_| random_transfers(&mut random, counts).err());
        let early = found.filter(|wrong| wrong.contains("is set before the data")).count();
        println!("{counts:?}: found in {early} of 200 runs");
        assert!(early > 0, "{counts:?} is not found");
    }
}

#[test]
fn a_flag_may_count() {
    let (mut world, mut protocol, _) = system(2, 64, &parameters(16));
    world.memory[EACH as usize..][..8].fill(0);
    for part in 0..5 {
        let start = TRANSFER_SEND | TRANSFER_ADD;
        let command =
            Command { flag: EACH, flag_value: 3, start, ..sends(64 * part, EACH + 512 * (part + 1), 500) };
        let now = world.now;
        protocol.transfer(&mut world, (0, 0), command, now);
    }
    rest(&mut world, &mut protocol);
    assert_eq!(world.memory[EACH as usize..][..8], 15_u64.to_le_bytes());
}
