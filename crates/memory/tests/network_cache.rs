//! The network cache beside the data cache: what each rule of it costs and does, in a rig with a bus.

use crate::rig::service::{Foreign, Happened};
use crate::rig::{LOW, MEMORY, Rig, parameters};
use chasqui_memory::{
    Binding, CacheParameters, Early, Incoming, L2Parameters, Long, NETWORK_LINE_BYTES, Name,
    NetworkCacheCosts, NetworkCacheParameters, Port, PortParameters, Remapped, Request, SectionGeometry,
    Snoop, State, Stop, Stored,
};

/// Where messages go.
const A: u64 = LOW + 0x1000;
/// Network memory.
const BUFFERS: u64 = MEMORY - 4096;
/// Cycles of a hit in the process section, of one in the network section, of a remap.
const PROCESS: u64 = 3;
const NETWORK: u64 = 2;
const REMAP: u64 = 5;
/// Of each further line of a message.
const LINE: u64 = 4;

fn network(binding: Binding) -> NetworkCacheParameters {
    let (small, large) = (SectionGeometry { sets: 2, ways: 2 }, SectionGeometry { sets: 64, ways: 8 });
    let p = NetworkCacheParameters {
        binding,
        early: Early::Off,
        early_entries: 4,
        predictor_entries: 8,
        ..Default::default()
    };
    p.with_sections([small, large, small, large, large])
}

fn with_costs(p: NetworkCacheParameters) -> Option<(NetworkCacheParameters, NetworkCacheCosts)> {
    Some((p, NetworkCacheCosts { network: NETWORK, process: PROCESS, remap: REMAP, line: LINE }))
}

/// Lines of the data cache of `line_bytes`, no L2; the pages of A and of the buffers have their translations.
fn rig(binding: Binding, line_bytes: u32) -> Rig {
    rig_of(network(binding), line_bytes)
}

fn rig_of(network: NetworkCacheParameters, line_bytes: u32) -> Rig {
    let l1d = CacheParameters::new(4096, 2, line_bytes.into());
    let network_cache = with_costs(network);
    let mut rig = Rig::new(PortParameters { l1d, network_cache, ..parameters() }, crate::rig::bus());
    rig.port.add_network_memory(BUFFERS..MEMORY);
    rig.warm(A);
    rig.perform(|port, at| port.network_load(BUFFERS + 0xff0, at));
    rig.port.release_buffer(Stored { buffer: BUFFERS + 0xff0, bytes: 16 });
    rig.run_to_idle();
    rig.service.log.clear();
    rig
}

/// The message `id` comes into the buffer of that number, or lands. Its key and its number are its name.
fn deposit(rig: &mut Rig, id: u64, bytes: u32) {
    let buffer = BUFFERS + id * NETWORK_LINE_BYTES;
    for at in 0..u64::from(bytes.div_ceil(16)) {
        rig.memory.write(buffer + 16 * at, 8, 100 + id + 10 * at).unwrap();
        rig.memory.write(buffer + 16 * at + 8, 8, 200 + id + 10 * at).unwrap();
    }
    let cycle = rig.cycle;
    let incoming = incoming(id, bytes);
    rig.port.deposit(incoming, Stored { buffer, bytes }, cycle);
    rig.run_to_idle();
}

/// Of the envelope of that number the first.
fn incoming(id: u64, length: u32) -> Incoming {
    Incoming { id, key: id, ordinal: 1, is_kept: false, offset: 0, length }
}

/// Length of the first message of the envelope, if it is there.
fn prebind(rig: &mut Rig, key: u64, to: u64, bytes: u32) -> Option<u32> {
    let name = Name { key, ordinal: 1 };
    let found = rig.perform(|port, at| port.prebind(name, to, bytes, at));
    rig.port.check_invariants().unwrap();
    found.map(|found| found.bytes)
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
    rig.run_to_idle();
    rig.service.log.clear();
    deposit(&mut rig, 1, 16);
    remap(&mut rig, 1, A);
    rig.run_to_idle();
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
    rig.run_to_idle();
    deposit(&mut rig, 1, 8);
    remap(&mut rig, 1, A);
    rig.run_to_idle();
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
    rig.run_to_idle();
    assert_eq!(rig.granted(), [Request::NetworkFill { line: BUFFERS + 16 }, written(5)]);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), 0, "it went to the data cache");
}

#[test]
fn what_the_process_section_replaces_goes_to_memory_or_to_the_line_that_the_l2_has() {
    for l2 in [L2Parameters::default(), L2Parameters::new(16384, 2, 64)] {
        let l1d = CacheParameters::new(4096, 2, 32);
        let network_cache = with_costs(network(Binding::NetworkCache));
        let mut rig = Rig::new(
            PortParameters { l1d, l2: l2.clone(), network_cache, ..parameters() },
            crate::rig::bus(),
        );
        rig.port.add_network_memory(BUFFERS..MEMORY);
        rig.load(A);
        rig.run_to_idle();
        rig.service.log.clear();
        // Three sectors of one set of two ways; their lines in the network section are of both sets.
        for (id, to) in [(0, A), (1, A + 32), (2, A + 64)] {
            deposit(&mut rig, id, 16);
            remap(&mut rig, id, to);
            rig.run_to_idle();
        }
        let written = Request::WriteBack { line: A, bytes: 16, flush: false };
        assert_eq!(rig.granted(), if !l2.present { vec![written] } else { vec![] });
        assert_eq!(
            (statistics(&rig).moved, statistics(&rig).written),
            if !l2.present { (0, 1) } else { (1, 0) }
        );
        assert_eq!(rig.load(A), 100);
    }
}

#[test]
fn software_hears_what_it_must_do_itself() {
    let mut rig = rig(Binding::NetworkCache, 16);
    deposit(&mut rig, 1, 16);
    assert_eq!(remap(&mut rig, 2, A), Remapped::Unknown);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Unknown, "binding happens once");
    let s = statistics(&rig);
    assert_eq!((s.bound, s.unaligned, s.unknown), (1, 0, 2));
    assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
}

#[test]
fn at_any_other_address_than_a_sector_a_message_goes_to_the_data_cache() {
    for (binding, line_bytes) in
        [(Binding::NetworkCache, 16), (Binding::DataCache, 16), (Binding::NetworkCache, 32)]
    {
        let mut rig = rig(binding, line_bytes);
        // Of 32 bytes to 8 bytes before the end of a line: parts of 8 bytes, of 8 or more, and the rest.
        let to = A + u64::from(line_bytes) - 8;
        rig.store(to - 8, 7);
        rig.store(to + 32, 9);
        rig.run_to_idle();
        deposit(&mut rig, 2, 32);
        assert_eq!(remap(&mut rig, 2, to), Remapped::Bound);
        assert_eq!([0, 8, 16, 24].map(|at| rig.load(to + at)), [102, 202, 112, 212]);
        assert_eq!((rig.load(to - 8), rig.load(to + 32)), (7, 9), "what lies beside it stays");
        let s = statistics(&rig);
        assert_eq!((s.bound, s.unaligned, rig.port.statistics.bound_hits), (1, 1, 0));
        assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 32]);
        rig.port.check_invariants().unwrap();
    }
}

#[test]
fn at_another_address_each_part_takes_its_cycles() {
    let mut rig = rig(Binding::DataCache, 16);
    for line in [A, A + 16, A + 32] {
        rig.store(line, 1);
    }
    rig.run_to_idle();
    deposit(&mut rig, 2, 32);
    // 8 bytes, 8, 8 and 8: the lines are here.
    assert_eq!(rig.took(|rig| assert_eq!(remap(rig, 2, A + 8), Remapped::Bound)), REMAP + 3 * LINE);
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
        rig.run_to_idle();
        let foreign = Foreign { snoop, address: A, bytes: 32, value: None };
        let now = chasqui_engine::Time(rig.cycle * 1000);
        rig.service.ask_foreign(now, foreign);
        rig.run_to_idle();
        let found = rig.service.log.iter().find_map(|(_, happened)| match happened {
            Happened::Snooped(_, found) => Some(*found),
            _ => None,
        });
        assert!(found.is_some_and(|f| f.present && f.dirty), "{snoop:?}: {found:?}");
        assert_eq!((statistics(&rig).taken, rig.port.statistics.bound_hits, rig.load(A)), (1, 0, 101));
        assert_eq!(rig.port.statistics.bound_hits, 0, "it is not bound any more");
    }
}

/// A transaction of another hart's, which reads the line at `address`.
fn read_by_another(rig: &mut Rig, address: u64) {
    let foreign = Foreign { snoop: Snoop::Read, address, bytes: 32, value: None };
    rig.service.ask_foreign(chasqui_engine::Time(rig.cycle * 1000), foreign);
    rig.run_to_idle();
    rig.service.log.clear();
}

#[test]
fn of_several_harts_one_owns_a_line_before_a_message_is_bound_to_it() {
    let fill = Request::Fill { line: A, data: true, exclusive: true };
    for is_shared in [false, true] {
        let mut rig = rig(Binding::NetworkCache, 32);
        rig.port.join_peers();
        if is_shared {
            rig.load(A);
            read_by_another(&mut rig, A);
        }
        deposit(&mut rig, 1, 16);
        deposit(&mut rig, 2, 16);
        remap(&mut rig, 1, A);
        assert_eq!(rig.granted(), [fill], "shared: {is_shared}");
        remap(&mut rig, 2, A + 16);
        assert_eq!(rig.granted(), [fill], "the line is owned");
        assert_eq!((rig.load(A), rig.load(A + 16), rig.port.statistics.bound_hits), (101, 102, 2));
    }
}

#[test]
fn a_reservation_that_another_hart_asks_for_misses_its_message() {
    for early in [Early::DataCache, Early::NetworkCache] {
        let parameters = NetworkCacheParameters { early, ..network(Binding::NetworkCache) };
        for asks in [false, true] {
            let mut rig = rig_of(parameters.clone(), 32);
            rig.port.join_peers();
            assert_eq!(prebind(&mut rig, 1, A, 16), None);
            if asks {
                read_by_another(&mut rig, A);
            }
            deposit(&mut rig, 1, 16);
            assert_eq!(
                (statistics(&rig).early, statistics(&rig).early_missed),
                (u64::from(!asks), asks.into())
            );
            if asks {
                assert_eq!(remap(&mut rig, 1, A), Remapped::Bound, "it waits as any other");
            }
            assert_eq!(rig.load(A), 101);
        }
    }
}

#[test]
fn the_coherence_checker_sees_that_a_device_reads_what_is_bound() {
    let network_cache = with_costs(network(Binding::NetworkCache));
    let mut rig =
        Rig::new(PortParameters { network_cache, check_coherence: true, ..parameters() }, crate::rig::bus());
    rig.port.add_network_memory(BUFFERS..MEMORY);
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

#[test]
fn a_message_that_is_waited_for_lands_in_its_line_of_the_data_cache() {
    let mut rig =
        rig_of(NetworkCacheParameters { early: Early::DataCache, ..network(Binding::DataCache) }, 16);
    assert_eq!(prebind(&mut rig, 1, A, 16), None);
    rig.run_to_idle();
    assert_eq!(
        rig.granted(),
        [Request::Fill { line: A, data: true, exclusive: true }],
        "the line is reserved"
    );
    rig.service.log.clear();
    deposit(&mut rig, 1, 16);
    assert!(rig.port.has_landed(1));
    assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
    assert_eq!(rig.took(|rig| assert_eq!((rig.load(A), rig.load(A + 8)), (101, 201))), 0);
    assert_eq!((rig.granted(), statistics(&rig).early, statistics(&rig).deposits), (vec![], 1, 0));
    assert!(rig.port.lines().any(|line| line == (A, State::Modified)));
    assert_eq!(remap(&mut rig, 1, A), Remapped::Unknown, "binding happens once");
    // Software learns of it when it asks, once.
    assert_eq!(prebind(&mut rig, 1, A, 16), Some(16));
    assert_eq!((prebind(&mut rig, 1, A + 64, 16), statistics(&rig).named), (None, 1));
}

#[test]
fn what_lands_where_its_line_has_left_goes_to_memory() {
    let mut rig =
        rig_of(NetworkCacheParameters { early: Early::DataCache, ..network(Binding::DataCache) }, 32);
    prebind(&mut rig, 1, A, 16);
    rig.flush(A);
    rig.run_to_idle();
    rig.service.log.clear();
    deposit(&mut rig, 1, 8);
    assert_eq!(rig.granted(), [Request::WriteBack { line: A, bytes: 8, flush: false }]);
    assert_eq!((rig.load(A), rig.load(A + 8)), (101, 0));
}

#[test]
fn a_message_that_is_waited_for_lands_in_the_network_cache() {
    let early = Early::NetworkCache;
    let mut rig = rig_of(NetworkCacheParameters { early, ..network(Binding::NetworkCache) }, 16);
    rig.store(A, 5);
    rig.run_to_idle();
    rig.service.log.clear();
    assert_eq!(rig.took(|rig| assert_eq!(prebind(rig, 1, A, 16), None)), REMAP);
    // One for a sector; a way of each set stays; at a multiple of 16.
    for place in [A, A + 32, A + 8] {
        assert_eq!((prebind(&mut rig, 2, place, 16), statistics(&rig).reserved), (None, 1), "{place:#x}");
    }
    deposit(&mut rig, 1, 8);
    // What the line held beside the message has left for memory, and comes back when it is asked for.
    assert_eq!(rig.granted(), [Request::WriteBack { line: A, bytes: 16, flush: false }]);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 101)), PROCESS);
    assert_eq!((rig.load(A + 8), statistics(&rig).merged), (0, 1));
    assert_eq!((prebind(&mut rig, 1, A, 16), prebind(&mut rig, 2, A, 16)), (Some(8), None));
    assert_eq!(statistics(&rig).reserved, 2);
    assert!(rig.perform(|port, at| port.withdraw(2, A, at)));
    deposit(&mut rig, 2, 16);
    assert!(!rig.port.has_landed(2) && rig.port.message_bytes(2) == Some(16));
}

/// Its second part has yet to come: a place that was reserved now would be waited for in vain.
#[test]
fn nothing_is_reserved_for_a_message_that_has_begun_to_come() {
    for early in [Early::DataCache, Early::NetworkCache] {
        let mut rig = rig_of(NetworkCacheParameters { early, ..network(Binding::DataCache) }, 16);
        let cycle = rig.cycle;
        let part = |offset| Stored { buffer: BUFFERS + 16 + offset, bytes: 16 };
        rig.port.deposit(incoming(1, 32), part(0), cycle);
        assert_eq!((prebind(&mut rig, 1, A, 32), statistics(&rig).reserved), (None, 0));
        rig.port.deposit(Incoming { offset: 16, ..incoming(1, 32) }, part(16), cycle);
        assert_eq!(prebind(&mut rig, 1, A, 32), Some(32));
    }
}

#[test]
fn without_early_binding_nothing_is_reserved() {
    let mut rig = rig(Binding::NetworkCache, 16);
    assert_eq!((prebind(&mut rig, 1, A, 16), statistics(&rig).reserved), (None, 0));
    deposit(&mut rig, 1, 16);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
}

/// Envelope and ordinal are enough: nothing was entered anywhere.
#[test]
fn a_message_that_has_come_is_bound_by_its_name() {
    for to in [A, A + 8] {
        let mut rig = rig(Binding::NetworkCache, 16);
        deposit(&mut rig, 1, 16);
        assert_eq!((prebind(&mut rig, 1, to, 15), rig.load(to)), (Some(16), 0), "there is no room for it");
        assert_eq!((prebind(&mut rig, 1, to, 16), rig.load(to)), (Some(16), 101));
        assert_eq!(prebind(&mut rig, 1, to, 16), None, "binding happens once");
        assert_eq!((statistics(&rig).bound, statistics(&rig).named), (1, 1));
    }
}

#[test]
fn a_message_of_several_lines_is_bound_line_by_line() {
    for long in [Long::Chained, Long::Independent] {
        let mut rig = rig_of(NetworkCacheParameters { long, ..network(Binding::NetworkCache) }, 16);
        deposit(&mut rig, 1, 40);
        assert_eq!(rig.took(|rig| assert_eq!(remap(rig, 1, A), Remapped::Bound)), REMAP + 2 * LINE);
        for (at, expected) in [(0, 101), (8, 201), (16, 111), (32, 121)] {
            assert_eq!(rig.took(|rig| assert_eq!(rig.load(A + at), expected)), PROCESS);
        }
        assert_eq!((rig.granted(), statistics(&rig).bound), (vec![], 1));
        assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
    }
}

/// A message of three lines of which some have left: the first of independent ones, all of chained ones.
fn crowded(long: Long) -> Rig {
    let mut rig = rig_of(NetworkCacheParameters { long, ..network(Binding::NetworkCache) }, 16);
    // Lines 1 to 3 of four; then one in the set of 1 and 3.
    deposit(&mut rig, 1, 48);
    deposit(&mut rig, 5, 16);
    rig.service.log.clear();
    rig
}

fn fetched(rig: &Rig) -> usize {
    rig.granted().iter().filter(|r| matches!(r, Request::NetworkFill { .. })).count()
}

#[test]
fn chained_lines_that_have_migrated_are_fetched_for_the_remap() {
    let mut rig = crowded(Long::Chained);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    assert_eq!((fetched(&rig), rig.port.take_bound_buffers()), (3, vec![BUFFERS + 16]));
    assert_eq!([0, 16, 32].map(|at| rig.load(A + at)), [101, 111, 121]);
    assert_eq!((remap(&mut rig, 5, A + 64), rig.load(A + 64)), (Remapped::Bound, 105));
}

#[test]
fn independent_lines_that_have_left_are_fetched_when_they_are_asked_for() {
    let mut rig = crowded(Long::Independent);
    assert_eq!(rig.took(|rig| assert_eq!(remap(rig, 1, A), Remapped::Bound)), REMAP + 2 * LINE);
    assert_eq!((fetched(&rig), rig.port.take_bound_buffers()), (0, vec![]));
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A + 16), 111)), PROCESS);
    assert_eq!([0, 32].map(|at| rig.load(A + at)), [101, 121]);
    assert_eq!((fetched(&rig), statistics(&rig).stayed, statistics(&rig).asked), (1, 1, 1));
    assert_eq!(rig.port.take_bound_buffers(), [BUFFERS + 16]);
}

#[test]
fn a_store_or_another_message_asks_for_them_or_drops_them() {
    let mut rig = crowded(Long::Independent);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    rig.perform(|port, at| port.store(A, 4, 7, at));
    rig.run_to_idle();
    assert_eq!(([0, 8].map(|at| rig.load(A + at)), fetched(&rig)), ([7, 201], 1));

    let mut rig = crowded(Long::Independent);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    assert_eq!((remap(&mut rig, 5, A), rig.load(A)), (Remapped::Bound, 105));
    assert_eq!((fetched(&rig), rig.port.take_bound_buffers().len()), (0, 2));
}

/// Of a network section of one line. What another message left in network memory has to come for its line of the data cache,
/// and takes the place of what is bound: they must not take it from each other for ever.
#[test]
fn what_is_bound_and_what_its_destination_lacks_may_meet_in_a_set() {
    let one = SectionGeometry { sets: 1, ways: 1 };
    let large = SectionGeometry { sets: 64, ways: 8 };
    let p = NetworkCacheParameters { long: Long::Independent, ..network(Binding::DataCache) };
    let mut rig = rig_of(p.with_sections([one, large, large, large, large]), 64);
    // All lines but the last have left.
    deposit(&mut rig, 1, 48);
    assert_eq!(remap(&mut rig, 1, A), Remapped::Bound);
    assert!(statistics(&rig).stayed >= 2, "{:?}", statistics(&rig));
    deposit(&mut rig, 4, 16);
    deposit(&mut rig, 5, 16);
    assert_eq!(remap(&mut rig, 4, A + 24), Remapped::Bound);
    let expected = [(0, 101), (8, 201), (16, 111), (24, 104), (32, 204), (40, 221)];
    assert_eq!(expected.map(|(at, _)| rig.load(A + at)), expected.map(|(_, value)| value));
    assert_eq!((remap(&mut rig, 5, A + 64), rig.load(A + 64)), (Remapped::Bound, 105));
}
