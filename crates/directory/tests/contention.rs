//! Messages that wait for each other on the mesh.

use chasqui_directory::{DirectoryParameters, Protocol, Times};
use chasqui_engine::Time;

use crate::rig::{World, parameters};
use crate::transfers::{CYCLE, EACH, sends, system, time};

fn contended() -> DirectoryParameters {
    let mut parameters = parameters(16);
    (parameters.mesh.contention, parameters.mesh.columns) = (true, 4);
    parameters
}

/// A message that is alone waits for none.
#[test]
fn one_transfer_alone_takes_what_it_takes_without_contention() {
    for (source, destination) in [(0, 1), (0, 3), (1, 7), (6, 0)] {
        let (mut world, mut protocol, times) = system(8, 64, &contended());
        let command = sends(source * EACH, destination * EACH, 4096);
        let took = time(&mut world, &mut protocol, source as usize, command);
        assert_eq!(took, times.transfer(source as usize, destination as usize, 64).0);
    }
}

/// When the last of these is over, each from node to node [cycles].
fn together(transfers: &[(u64, u64)], line: u64, parameters: &DirectoryParameters) -> (u64, Protocol) {
    let (mut world, mut protocol, _): (World, Protocol, Times) = system(8, line, parameters);
    for &(source, destination) in transfers {
        let command = sends(source * EACH, destination * EACH, 64 * line);
        protocol.transfer(&mut world, (source as usize, 0), command, Time::ZERO);
    }
    while protocol.transfers() > 0 {
        assert!(world.step(&mut protocol), "they do not end");
    }
    (world.now.0 / CYCLE, protocol)
}

/// Two streams of lines over one link go as fast as that carries both; over different links as fast as one.
#[test]
fn a_link_carries_one_message_at_a_time() {
    for line in [64, 128] {
        let wire = (line + 32) / 4;
        let waits = |protocol: &Protocol| -> u64 {
            (0..8).map(|node| protocol.statistics(node).network_waits_ps).sum()
        };
        let (alone, protocol) = together(&[(0, 2)], line, &contended());
        assert_eq!(waits(&protocol), 0);
        let mut free = contended();
        free.mesh.contention = false;
        let (without, protocol) = together(&[(0, 2), (1, 3)], line, &free);
        assert_eq!(waits(&protocol), 0);
        let (with, protocol) = together(&[(0, 2), (1, 3)], line, &contended());
        println!("lines of {line} B: {alone} alone, {without} without contention, {with} with it");
        assert!(waits(&protocol) > 0);
        assert!(without <= alone);
        // The link from node 1 to node 2 carries 128 packets; nothing is faster.
        assert!(with >= 100 + 25 + 128 * wire);
        assert!(with <= alone + 64 * wire + 2 * wire);
        // The other way round, and in another row.
        for apart in [[(0, 2), (3, 1)], [(0, 2), (5, 7)]] {
            let (apart, protocol) = together(&apart, line, &contended());
            assert_eq!(waits(&protocol), 0);
            assert!(apart <= alone);
        }
    }
}
