//! Rights to send into another process's memory, and commands that are tried.

use chasqui_directory::registers::{
    TRANSFER_GRANT, TRANSFER_GRANTS, TRANSFER_RECEIVE, TRANSFER_REVOKE, TRANSFER_SEND, TRANSFER_TRY,
};
use chasqui_directory::{Command, Protocol};

use crate::rig::{World, parameters};
use crate::transfers::{EACH, rest, sends, system};

/// Processes of one job, and one of another.
const A: u32 = 0;
const B: u32 = 1;
const OTHER: u32 = 2;

fn begin(protocol: &mut Protocol, world: &mut World, who: (usize, u32), command: Command) -> u64 {
    let now = world.now;
    protocol.transfer(world, who, command, now)
}

fn give(protocol: &mut Protocol, world: &mut World, node: usize, owner: u32, place: (u64, u64)) -> u64 {
    let command =
        Command { destination: place.0, bytes: place.1, start: TRANSFER_GRANT, ..Command::default() };
    begin(protocol, world, (node, owner), command)
}

fn tried(right: u64, destination: u64, bytes: u64) -> Command {
    Command { right, start: TRANSFER_SEND | TRANSFER_TRY, ..sends(0, destination, bytes) }
}

#[test]
fn a_right_lets_other_processes_of_the_job_send_into_what_it_is_for() {
    let (mut world, mut protocol, _) = system(2, 64, &parameters(16));
    world.private.push((EACH..EACH + 4096, B));
    let own = begin(&mut protocol, &mut world, (0, A), tried(0, EACH + 128, 512));
    assert_eq!(own, 0, "there is no such page of its own");
    let right = give(&mut protocol, &mut world, 1, B, (EACH + 128, 512));
    assert_ne!(right, 0);
    for (who, right, destination, bytes, answer) in [
        (A, right, EACH + 64, 512, 0),
        (A, right, EACH + 192, 512, 0),
        (A, right + 1, EACH + 128, 512, 0),
        (OTHER, right, EACH + 128, 512, 0),
        (A, right, EACH + 128, 512, 1),
        (A, right, EACH + 160, 32, 1),
    ] {
        let before = world.memory.clone();
        let command = tried(right, destination, bytes);
        let found = begin(&mut protocol, &mut world, (0, who), command);
        assert_eq!(found, answer, "process {who}, right {right}, {bytes} bytes to {destination:#x}");
        rest(&mut world, &mut protocol);
        let at = destination as usize..(destination + bytes) as usize;
        if answer == 0 {
            assert_eq!(world.memory, before);
        } else {
            assert_eq!(world.memory[at], before[..bytes as usize]);
        }
    }
    assert_eq!(world.faults, []);
    let receives = Command { start: TRANSFER_RECEIVE, ..tried(right, EACH + 128, 512) };
    begin(&mut protocol, &mut world, (1, A), receives);
    let (node, what) = world.faults.pop().expect("it is a fault");
    assert_eq!(
        (node, what),
        (1, format!("block transfer: right {right} is one to send to a process, and nothing else"))
    );
}

#[test]
fn who_has_given_a_right_takes_it_back() {
    let (mut world, mut protocol, _) = system(2, 64, &parameters(16));
    let right = give(&mut protocol, &mut world, 1, B, (EACH, 512));
    let revoke = Command { right, start: TRANSFER_REVOKE, ..Command::default() };
    begin(&mut protocol, &mut world, (0, A), revoke);
    let wrong = format!("block transfer: right {right} is not this process's to take back");
    assert_eq!(world.faults.pop(), Some((0, wrong.clone())));
    assert_eq!(begin(&mut protocol, &mut world, (0, A), tried(right, EACH, 512)), 1);
    begin(&mut protocol, &mut world, (1, B), revoke);
    assert_eq!(world.faults, []);
    assert_eq!(begin(&mut protocol, &mut world, (0, A), tried(right, EACH, 512)), 0);
    // What had begun ends.
    let sent = world.memory[..512].to_vec();
    rest(&mut world, &mut protocol);
    assert_eq!(world.memory[EACH as usize..][..512], sent);
    begin(&mut protocol, &mut world, (1, B), revoke);
    assert_eq!(world.faults.pop(), Some((1, wrong)));
}

#[test]
fn a_controller_has_room_for_so_many_rights() {
    let (mut world, mut protocol, _) = system(2, 64, &parameters(16));
    let all: Vec<_> =
        (0..TRANSFER_GRANTS).map(|_| give(&mut protocol, &mut world, 1, B, (EACH, 64))).collect();
    let mut different = all.clone();
    different.sort_unstable();
    different.dedup();
    assert!(different.len() == all.len() && !all.contains(&0));
    assert_eq!(give(&mut protocol, &mut world, 1, B, (EACH, 64)), 0);
    assert_ne!(give(&mut protocol, &mut world, 0, A, (0, 64)), 0, "another's has its own");
    let revoke = Command { right: all[5], start: TRANSFER_REVOKE, ..Command::default() };
    begin(&mut protocol, &mut world, (1, B), revoke);
    assert_ne!(give(&mut protocol, &mut world, 1, B, (EACH, 64)), 0);
    assert_eq!(world.faults, []);
}
