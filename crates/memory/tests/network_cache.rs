//! The network cache beside the data cache: what each rule of it costs and does, in a rig with a bus.

mod rig;

use chasqui_memory::{
    Binding, Geometry, NETWORK_LINE_BYTES, NetworkCacheParameters, Port, PortParameters, Remapped, Request,
    SectionGeometry, Snoop, State, Stop, Stored,
};
use rig::service::{Foreign, Happened};
use rig::{LOW, MEMORY, Rig, parameters};

/// Where messages go.
const A: u64 = LOW + 0x1000;
/// Network memory.
const BUFFERS: u64 = MEMORY - 4096;
/// Cycles of a hit in the process section, of one in the network section, of a remap.
const PROCESS: u64 = 3;
const NETWORK: u64 = 2;
const REMAP: u64 = 5;

fn network(binding: Binding) -> NetworkCacheParameters {
    let section = SectionGeometry { sets: 2, ways: 2 };
    NetworkCacheParameters {
        network: section,
        message: SectionGeometry { sets: 64, ways: 8 },
        process: section,
        ltb: SectionGeometry { sets: 64, ways: 8 },
        binding,
        network_cycles: NETWORK,
        process_cycles: PROCESS,
        remap_cycles: REMAP,
    }
}

/// Lines of the data cache of `line_bytes`, no L2; the pages of A and of the buffers have their translations.
fn rig(binding: Binding, line_bytes: u32) -> Rig {
    let l1d = Geometry { bytes: 4096, ways: 2, line_bytes };
    let mut rig =
        Rig::new(PortParameters { l1d, network_cache: Some(network(binding)), ..parameters() }, rig::bus());
    rig.port.set_network_memory(BUFFERS..MEMORY);
    rig.warm(A);
    rig.perform(|port, at| port.network_load(BUFFERS + 0xff0, at));
    rig.port.release_buffer(BUFFERS + 0xff0);
    rig.settle();
    rig.service.log.clear();
    rig
}

/// The message `id` comes into the buffer of that number.
fn deposit(rig: &mut Rig, id: u64, bytes: u32) {
    let buffer = BUFFERS + id * NETWORK_LINE_BYTES;
    rig.memory.write(buffer, 8, 100 + id).unwrap();
    rig.memory.write(buffer + 8, 8, 200 + id).unwrap();
    let cycle = rig.cycle;
    rig.port.deposit(id, Stored { buffer, bytes }, cycle);
    rig.settle();
}

fn remap(rig: &mut Rig, id: u64, to: u64) -> Remapped {
    let done = rig.perform(|port, at| port.remap(id, to, at));
    rig.port.check_invariants().unwrap();
    done
}

fn statistics(rig: &Rig) -> chasqui_memory::NetworkCacheStatistics {
    *rig.port.network_statistics().unwrap()
}

#[test]
fn a_bound_message_is_used_where_it_is_for_process_and_network_section() {
    let mut rig = rig(Binding::NetworkCache, 16);
    deposit(&mut rig, 1, 16);
    assert_eq!(rig.took(|rig| assert_eq!(remap(rig, 1, A), Remapped::Bound)), REMAP);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), PROCESS);
    assert_eq!(rig.took(|rig| rig.store(A + 8, 7)), PROCESS);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A + 8), 7)), PROCESS, "again: there is no fast path to it");
    assert_eq!((rig.port.statistics.bound_hits, rig.granted()), (3, vec![]), "nothing is asked of the bus");
    assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
}

#[test]
fn a_direct_transfer_puts_it_into_the_data_cache() {
    let mut rig = rig(Binding::DataCache, 16);
    deposit(&mut rig, 1, 16);
    assert_eq!(rig.took(|rig| assert_eq!(remap(rig, 1, A), Remapped::Bound)), REMAP);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), 0);
    assert_eq!(rig.took(|rig| rig.store(A, 9)), 0, "the line is modified");
    assert_eq!((rig.port.statistics.bound_hits, rig.granted()), (0, vec![]));
}

#[test]
fn a_direct_transfer_of_a_part_of_a_line_fetches_the_line() {
    for (line_bytes, bytes) in [(32, 16), (16, 8)] {
        let mut rig = rig(Binding::DataCache, line_bytes);
        deposit(&mut rig, 1, bytes);
        remap(&mut rig, 1, A);
        assert_eq!(rig.granted(), [Request::Fill { line: A, data: true, exclusive: true }]);
        assert_eq!(rig.load(A), 101);
        assert!(rig.port.lines().any(|line| line == (A, State::Modified)));
    }
}

#[test]
fn binding_writes_the_overlapping_line_back_and_drops_it() {
    let mut rig = rig(Binding::NetworkCache, 32);
    rig.store(A + 16, 5);
    rig.settle();
    rig.service.log.clear();
    deposit(&mut rig, 1, 16);
    remap(&mut rig, 1, A);
    rig.settle();
    assert_eq!(rig.granted(), [Request::WriteBack { line: A, bytes: 32, flush: false }]);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), PROCESS);
}

#[test]
fn a_load_of_the_other_sector_merges_and_unbinds() {
    let mut rig = rig(Binding::NetworkCache, 32);
    deposit(&mut rig, 1, 16);
    remap(&mut rig, 1, A);
    assert_eq!(rig.load(A + 16), 0);
    rig.port.check_invariants().unwrap();
    assert_eq!(rig.granted(), [Request::Fill { line: A, data: true, exclusive: false }]);
    assert_eq!((statistics(&rig).merged, rig.load(A)), (1, 101));
    assert!(rig.port.lines().any(|line| line == (A, State::Modified)), "memory lacks the message");
}

#[test]
fn bytes_behind_a_short_message_are_not_its() {
    let mut rig = rig(Binding::NetworkCache, 16);
    rig.store(A + 8, 5);
    rig.settle();
    deposit(&mut rig, 1, 8);
    remap(&mut rig, 1, A);
    rig.settle();
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), PROCESS);
    assert_eq!(rig.load(A + 8), 5);
    assert_eq!((statistics(&rig).merged, rig.load(A)), (1, 101));
}

#[test]
fn an_evicted_message_goes_to_its_buffer_and_comes_back_for_its_remap() {
    let mut rig = rig(Binding::NetworkCache, 16);
    // Four messages of one set of two ways.
    for id in [1, 3, 5, 7] {
        deposit(&mut rig, id, 16);
    }
    let written = |id: u64| Request::WriteBack { line: BUFFERS + id * 16, bytes: 16, flush: false };
    assert_eq!(rig.granted(), [written(1), written(3)]);
    rig.service.log.clear();
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    rig.settle();
    assert_eq!(rig.granted(), [Request::NetworkFill { line: BUFFERS + 16 }, written(5)]);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), 0, "it went to the data cache");
}

#[test]
fn what_the_process_section_replaces_goes_to_memory_or_to_the_line_that_the_l2_has() {
    for l2 in [None, Some(Geometry { bytes: 16384, ways: 2, line_bytes: 64 })] {
        let l1d = Geometry { bytes: 4096, ways: 2, line_bytes: 32 };
        let network_cache = Some(network(Binding::NetworkCache));
        let mut rig = Rig::new(PortParameters { l1d, l2, network_cache, ..parameters() }, rig::bus());
        rig.port.set_network_memory(BUFFERS..MEMORY);
        rig.load(A);
        rig.settle();
        rig.service.log.clear();
        // Three sectors of one set of two ways; their lines in the network section are of both sets.
        for (id, to) in [(0, A), (1, A + 32), (2, A + 64)] {
            deposit(&mut rig, id, 16);
            remap(&mut rig, id, to);
            rig.settle();
        }
        let written = Request::WriteBack { line: A, bytes: 16, flush: false };
        assert_eq!(rig.granted(), if l2.is_none() { vec![written] } else { vec![] });
        assert_eq!(
            (statistics(&rig).moved, statistics(&rig).written),
            if l2.is_none() { (0, 1) } else { (1, 0) }
        );
        assert_eq!(rig.load(A), 100);
    }
}

#[test]
fn software_hears_what_it_must_do_itself() {
    let mut rig = rig(Binding::NetworkCache, 16);
    deposit(&mut rig, 1, 16);
    assert_eq!(remap(&mut rig, 1, A + 8), Remapped::Unaligned);
    assert_eq!(remap(&mut rig, 2, A), Remapped::Unknown);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Unknown, "binding happens once");
    let s = statistics(&rig);
    assert_eq!((s.bound, s.unaligned, s.unknown), (1, 1, 2));
    assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
}

#[test]
fn nload_searches_the_network_section_alone() {
    let mut rig = rig(Binding::NetworkCache, 16);
    deposit(&mut rig, 1, 16);
    let nload = |rig: &mut Rig, at: u64| rig.perform(|port, cycles| port.network_load(at, cycles));
    assert_eq!(rig.took(|rig| assert_eq!(nload(rig, BUFFERS + 24), 201)), NETWORK);
    assert_eq!(rig.granted(), []);
    nload(&mut rig, BUFFERS + 32);
    assert_eq!(rig.granted(), [Request::NetworkFill { line: BUFFERS + 32 }]);
    rig.perform(|port, cycles| port.network_store(BUFFERS + 32, 6, cycles));
    assert_eq!(rig.took(|rig| assert_eq!(nload(rig, BUFFERS + 32), 6)), NETWORK);
    let wrong = |port: &mut Port, at| matches!(port.network_load(at, &mut 0), Err(Stop::Fault(_)));
    assert!(wrong(&mut rig.port, A) && wrong(&mut rig.port, BUFFERS + 4), "not network memory, not aligned");
}

#[test]
fn other_masters_take_what_is_bound() {
    for snoop in [Snoop::Read, Snoop::Invalidate] {
        let mut rig = rig(Binding::NetworkCache, 32);
        deposit(&mut rig, 1, 16);
        remap(&mut rig, 1, A);
        rig.settle();
        let foreign = Foreign { snoop, address: A, bytes: 32, value: None };
        let now = chasqui_engine::Time(rig.cycle * 1000);
        rig.service.ask_foreign(now, foreign);
        rig.settle();
        let found = rig.service.log.iter().find_map(|(_, happened)| match happened {
            Happened::Snooped(_, found) => Some(*found),
            _ => None,
        });
        assert!(found.is_some_and(|f| f.present && f.dirty), "{snoop:?}: {found:?}");
        assert_eq!((statistics(&rig).taken, rig.port.statistics.bound_hits, rig.load(A)), (1, 0, 101));
        assert_eq!(rig.port.statistics.bound_hits, 0, "it is not bound any more");
    }
}

#[test]
fn the_coherence_checker_sees_that_a_device_reads_what_is_bound() {
    let network_cache = Some(network(Binding::NetworkCache));
    let mut rig =
        Rig::new(PortParameters { network_cache, check_coherence: true, ..parameters() }, rig::bus());
    rig.port.set_network_memory(BUFFERS..MEMORY);
    deposit(&mut rig, 1, 16);
    remap(&mut rig, 1, A);
    assert!(rig.port.check_device_read(A + 16, 16).is_none());
    assert!(rig.port.check_device_read(A + 8, 16).is_some());
}

#[test]
fn a_remap_waits_for_older_stores_to_its_line() {
    let mut rig = rig(Binding::NetworkCache, 16);
    deposit(&mut rig, 1, 8);
    let cycle = rig.cycle;
    rig.at(cycle, |port, at| port.store(A, 8, 77, at)).unwrap();
    assert!(matches!(rig.at(cycle, |port, at| port.remap(1, A, at)), Err(Stop::Wait(_))));
    assert_eq!((remap(&mut rig, 1, A), rig.load(A)), (Remapped::Bound, 101));
}
