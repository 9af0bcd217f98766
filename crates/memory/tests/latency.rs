//! How long accesses take: *probes* (waiting in the cycle before, done in this one) and *formulas*, whose
//! derivations stand beside. Cycles are nanoseconds; see `rig` for the machine.

use crate::rig::service::{Foreign, Happened};
use crate::rig::{DEVICE, LOW, Rig, bus, parameters};
use chasqui_config::{Cycles, Duration};
use chasqui_engine::Time;
use chasqui_memory::{
    BlockOperation, Bus, BusParameters, CacheParameters, DramParameters, Fault, L2Parameters,
    OrderParameters, PAGE_BYTES, Port, PortKind, PortParameters, Request, Responder, Snoop, Snooped, Stall,
    State, Stop, TlbParameters, WriteBufferParameters, order,
};

/// A bus clock.
const CLOCK: u64 = 2;
/// An address tenure: 2 bus clocks.
const ADDRESS: u64 = 2 * CLOCK;
/// From the end of the address tenure to the last of a line's four chunks: the first after 60, three more at 2.
const DRAM: u64 = 60 + 3 * 2;
/// A line from memory when nothing else goes on.
const MISS: u64 = ADDRESS + DRAM;
/// A line to memory: address and four beats.
const WRITE_BACK: u64 = ADDRESS + 4 * CLOCK;

/// A line that meets no table in a set.
const A: u64 = LOW + 0x400;
/// The line after it.
const B: u64 = A + 64;
/// A line that meets A in a set of the direct-mapped L1.
const A2: u64 = A + 2 * PAGE_BYTES;

fn direct_mapped() -> PortParameters {
    PortParameters { l1d: CacheParameters::new(4096, 1, 64), ..parameters() }
}

fn with_l2() -> PortParameters {
    PortParameters { l2: L2Parameters::new(16384, 2, 128), ..parameters() }
}

fn with_write_buffer(entries: u64, posted: u64) -> PortParameters {
    PortParameters { write_buffer: WriteBufferParameters { entries, posted }, ..parameters() }
}

fn order_of(change: impl FnOnce(&mut OrderParameters)) -> OrderParameters {
    let mut order = parameters().order;
    change(&mut order);
    order
}

fn serial() -> (BusParameters, DramParameters) {
    let (bus, dram) = bus();
    (BusParameters { pipelined: false, ..bus }, dram)
}

#[test]
fn a_miss_is_address_first_chunk_and_the_rest_and_a_hit_is_nothing() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.memory.write(A, 8, 42).unwrap();
    assert_eq!(rig.probe(MISS, |port, at| port.load(A, 8, at)), 42);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 42)), 0);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A + 56), 0)), 0, "another part of the line");
    assert_eq!(rig.port.statistics.l1d_load_misses, 3 + 2, "three for the walk");
}

/// An interrupt takes the hart away from a fetch that waits. Whether what it does then is found in the fast table or
/// behind it is all the same.
#[test]
fn lines_that_are_here_are_used_while_a_fetch_that_was_left_is_under_way() {
    let mut rig = Rig::usual();
    rig.load(A);
    rig.perform(|port, at| port.fetch_line(A, at));
    rig.run_to_idle();
    let now = rig.cycle;
    let fetch = |rig: &mut Rig, va: u64| rig.port.fetch_line(va, &mut { now });
    assert_eq!(fetch(&mut rig, B), Err(Stop::Wait(Stall::Instruction)));
    assert_eq!(rig.port.load(A, 8, &mut { now }), Ok(0));
    assert_eq!(fetch(&mut rig, A), Ok(()));
    rig.port.forget_page(A & !(PAGE_BYTES - 1));
    // Translations are looked up again, in lines that are here.
    let mut at = now;
    assert_eq!(rig.port.load(A, 8, &mut at), Ok(0));
    assert_eq!(at - now, 3 * 2);
    assert_eq!(fetch(&mut rig, A), Ok(()));
    // What comes is waited for, and so is the place in which it comes.
    assert_eq!(fetch(&mut rig, B), Err(Stop::Wait(Stall::Instruction)));
    assert_eq!(rig.port.load(B, 8, &mut { now }), Err(Stop::Wait(Stall::Data)));
}

#[test]
fn a_request_waits_for_the_next_edge_of_the_bus() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.until(rig.cycle + 1);
    // One cycle to the edge.
    rig.probe(1 + MISS, |port, at| port.load(A, 8, at));
}

#[test]
fn a_cold_translation_is_three_walker_loads() {
    let mut rig = Rig::usual();
    // Each level: a line from memory and the walker's two cycles; then the datum.
    assert_eq!(rig.took(|rig| _ = rig.load(A)), 3 * (MISS + 2) + MISS);
    assert_eq!(rig.port.statistics.dtlb_misses, 1);
    rig.run_to_idle();
    // The next page's entry is on a line that is here: two cycles a level.
    assert_eq!(rig.took(|rig| _ = rig.load(A + PAGE_BYTES)), 3 * 2 + MISS);
    rig.run_to_idle();
    // The code's translation is another, its walk finds all lines.
    let fetch = |rig: &mut Rig| rig.perform(|port, at| port.fetch_line(A + 64, at));
    assert_eq!(rig.took(fetch), 3 * 2 + MISS);
    assert_eq!(rig.took(fetch), 0);
    assert_eq!((rig.port.statistics.itlb_misses, rig.port.statistics.l1i_misses), (1, 1));
}

#[test]
fn an_access_across_pages_translates_both_even_with_a_single_entry() {
    let mut rig = Rig::new(PortParameters { dtlb: TlbParameters::new(1, 1), ..direct_mapped() }, bus());
    let across = LOW + PAGE_BYTES - 4;
    rig.memory.write(across, 8, 0x0123_4567_89ab_cdef).unwrap();
    assert_eq!(rig.load(across), 0x0123_4567_89ab_cdef);
    rig.store(across, 0x1122_3344_5566_7788);
    rig.fence();
    assert_eq!(rig.memory.read(across, 8), Ok(0x1122_3344_5566_7788));
}

#[test]
fn a_hit_in_the_l2_takes_its_cycles() {
    let mut rig = Rig::new(with_l2(), bus());
    rig.warm(A);
    // A line of the L2 is eight chunks.
    rig.probe(MISS + 4 * 2, |port, at| port.load(A, 8, at));
    assert_eq!(rig.took(|rig| _ = rig.load(B)), 10, "the other half came with it");
    assert_eq!(rig.took(|rig| _ = rig.load(B)), 0);
    assert_eq!(
        rig.took(|rig| rig.perform(|port, at| port.fetch_line(A, at))),
        3 * 2 + 10,
        "a walk, then code"
    );
    assert_eq!(rig.port.statistics.l2_hits, 2, "B and the code");
}

#[test]
fn stores_that_miss_cost_nothing_until_the_buffer_is_full() {
    let mut rig = Rig::new(with_write_buffer(2, 4), bus());
    rig.warm(A);
    let lines = [A, B, A + 128];
    assert_eq!(rig.took(|rig| lines[..2].iter().for_each(|&line| rig.store(line, 1))), 0);
    // Seen in the order of the bus: the first has its place there, the second not.
    assert_eq!(lines.map(|line| rig.memory.read(line, 8)), [Ok(1), Ok(0), Ok(0)]);
    // The oldest leaves when its line has come.
    rig.probe(MISS, |port, at| port.store(lines[2], 8, 1, at));
    rig.fence();
    assert_eq!(lines.map(|line| rig.memory.read(line, 8)), [Ok(1); 3]);
    assert_eq!(rig.port.statistics.l1d_store_misses, 3);
}

#[test]
fn a_store_that_hits_costs_nothing_and_is_seen_at_once() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.load(A);
    assert_eq!(rig.took(|rig| rig.store(A, 7)), 0);
    assert_eq!(rig.memory.read(A, 8), Ok(7));
    assert_eq!(rig.port.statistics.l1d_store_misses, 0);
}

#[test]
fn loads_look_into_the_write_buffer() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.store(A, 0x1122_3344_5566_7788);
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 0x1122_3344_5566_7788)), 0);
    assert_eq!(rig.at(rig.cycle, |port, at| port.load(A + 4, 2, at)), Ok(0x3344));
    // Part from the buffer, part from the line: when the store is done. So with another part of the line.
    let start = rig.cycle;
    assert_eq!(rig.probe(MISS, |port, at| port.load(A + 4, 8, at)), 0x1122_3344);
    assert_eq!(rig.cycle, start + MISS);
}

#[test]
fn other_bytes_of_a_line_on_its_way_to_a_store_come_with_it() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.store(A, 1);
    rig.probe(MISS, |port, at| port.load(A + 8, 8, at));
}

#[test]
fn the_other_half_of_an_l2_line_on_its_way_to_a_store_comes_with_it() {
    let mut rig = Rig::new(with_l2(), bus());
    rig.warm(A);
    rig.store(A, 1);
    // When it is there, the L2 gives it.
    let ready = MISS + 4 * 2;
    let start = rig.cycle;
    assert!(rig.at(start, |port, at| port.load(B, 8, at)).is_err());
    assert!(rig.at(start + ready - 1, |port, at| port.load(B, 8, at)).is_err());
    assert!(rig.at(start + ready, |port, at| port.load(B, 8, at)).is_ok());
    assert_eq!(rig.cycle, start + ready + 10);
}

#[test]
fn a_load_behind_a_store_waits_for_its_own_line() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.store(A, 1);
    // The load's address tenure follows the store's; the DRAM serves one at a time. That the store is done
    // at MISS does not help the load.
    rig.probe(MISS + DRAM, |port, at| port.load(B, 8, at));
}

#[test]
fn a_store_and_a_load_that_meet_in_a_set_both_get_done() {
    for bus in [bus(), serial()] {
        for parameters in [direct_mapped(), PortParameters { l2: with_l2().l2, ..direct_mapped() }] {
            let mut rig = Rig::new(parameters, bus.clone());
            rig.warm(A);
            rig.warm(A2);
            for round in 0..10 {
                rig.store(A, round);
                assert!(rig.took(|rig| _ = rig.load(A2)) <= 3 * MISS);
            }
            rig.fence();
            assert_eq!(rig.memory.read(A, 8), Ok(9));
        }
    }
}

#[test]
fn a_fence_waits_for_the_write_buffer() {
    let mut rig =
        Rig::new(PortParameters { order: order_of(|o| o.fence = Cycles::new(5)), ..parameters() }, bus());
    rig.warm(A);
    assert_eq!(rig.took(Rig::fence), 5, "nothing to wait for");
    rig.run_to_idle();
    rig.store(A, 1);
    assert_eq!(rig.took(Rig::fence), MISS + 5);
    rig.run_to_idle();
    rig.store(B, 1);
    let order_reads = |rig: &mut Rig| rig.perform(|port, at| port.fence(2, at));
    assert_eq!(rig.took(order_reads), 5, "a fence after reads does not");
}

#[test]
fn a_fence_waits_for_posted_transactions() {
    let mut rig = Rig::usual();
    rig.load(DEVICE);
    rig.run_to_idle();
    rig.store(DEVICE, 1);
    // Address and a beat.
    rig.probe(ADDRESS + CLOCK, |port, at| port.fence(order::O, at));
    assert_eq!(rig.service.device_stores.len(), 1);
    rig.store(DEVICE, 2);
    assert_eq!(rig.took(|rig| rig.perform(|port, at| port.fence(order::W, at))), 0, "memory only");
}

#[test]
fn an_uncached_load_is_address_device_and_a_beat() {
    let mut rig = Rig::usual();
    rig.load(DEVICE);
    rig.run_to_idle();
    rig.service.device_latency = Time(40_000);
    rig.probe(ADDRESS + 40 + CLOCK, |port, at| port.load(DEVICE, 4, at));
}

#[test]
fn uncached_accesses_stay_in_order() {
    let mut rig = Rig::usual();
    rig.load(DEVICE);
    rig.run_to_idle();
    rig.store(DEVICE, 1);
    // The store, then the load.
    rig.probe((ADDRESS + CLOCK) + (ADDRESS + CLOCK), |port, at| port.load(DEVICE + 8, 8, at));
}

/// A store of 64 bytes: address and four beats.
const BURST: u64 = ADDRESS + 4 * CLOCK;
const WORDS: [u64; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

#[test]
fn a_64_byte_store_is_one_transaction_in_order_with_others() {
    let mut rig = Rig::usual();
    rig.load(DEVICE);
    rig.run_to_idle();
    assert_eq!(rig.took(|rig| rig.perform(|port, at| port.store_64(DEVICE + 64, WORDS, at))), 0, "posted");
    rig.store(DEVICE, 1);
    rig.perform(|port, at| port.store_64(DEVICE + 128, WORDS.map(|word| word + 10), at));
    // All three, then the load.
    rig.probe(2 * BURST + 2 * (ADDRESS + CLOCK), |port, at| port.load(DEVICE + 8, 8, at));
    let burst = |from: u64, add| (from..).step_by(8).zip(WORDS.map(|word| word + add));
    let base = chasqui_memory::DEVICE_BASE;
    let expected: Vec<_> =
        burst(base + 64, 0).take(8).chain([(base, 1)]).chain(burst(base + 128, 10).take(8)).collect();
    assert_eq!(rig.service.device_stores, expected);
    assert_eq!(rig.port.statistics.uncached_stores, 3);
}

#[test]
fn an_answered_64_byte_store_waits_for_posted_ones_and_its_answer() {
    let mut rig = Rig::usual();
    rig.load(DEVICE);
    rig.run_to_idle();
    rig.store(DEVICE, 1);
    let answered = |port: &mut Port, at: &mut u64| port.store_64_answered(DEVICE, WORDS, at);
    let answer = rig.probe(ADDRESS + CLOCK + BURST, answered);
    assert_eq!(answer, rig.service.device_value);
    assert_eq!(rig.service.device_stores.len(), 1 + 8, "once, though it was tried again");
    // Another to the same place is another store.
    rig.run_to_idle();
    assert_ne!(rig.perform(answered), answer);
}

#[test]
fn a_fence_of_device_output_waits_for_64_byte_stores() {
    let mut rig = Rig::new(with_write_buffer(4, 1), bus());
    rig.load(DEVICE);
    rig.run_to_idle();
    rig.perform(|port, at| port.store_64(DEVICE, WORDS, at));
    rig.probe(BURST, |port, at| port.fence(order::O, at));
    rig.run_to_idle();
    rig.perform(|port, at| port.store_64(DEVICE, WORDS, at));
    rig.probe(BURST, |port, at| port.store_64(DEVICE, WORDS, at));
    rig.run_to_idle();
    assert_eq!(rig.service.device_stores.len(), 3 * 8, "the one that waited was posted once");
}

#[test]
fn a_64_byte_store_may_not_be_misaligned_go_to_memory_or_pass_a_store() {
    let mut rig = Rig::new(PortParameters { check_coherence: true, ..parameters() }, bus());
    rig.warm(A);
    rig.load(DEVICE);
    for offset in [1, 8, 32, 63] {
        let address = DEVICE + offset;
        let fault = Stop::Fault(Fault::DeviceAlignment { address });
        assert_eq!(rig.at(rig.cycle, |port, at| port.store_64(address, WORDS, at)), Err(fault));
        assert_eq!(rig.at(rig.cycle, |port, at| port.store_64_answered(address, WORDS, at)), Err(fault));
    }
    let fault = Stop::Fault(Fault::NotDevice { address: A });
    assert_eq!(rig.at(rig.cycle, |port, at| port.store_64(A, WORDS, at)), Err(fault));
    assert_eq!(rig.at(rig.cycle, |port, at| port.store_64_answered(A, WORDS, at)), Err(fault));
    rig.store(A, 1);
    let passes = |stop| matches!(stop, Err(Stop::Fault(Fault::Incoherent(_))));
    assert!(passes(rig.at(rig.cycle, |port, at| port.store_64(DEVICE, WORDS, at))));
    assert!(passes(rig.at(rig.cycle, |port, at| port.store_64_answered(DEVICE, WORDS, at).map(drop))));
    rig.run_to_idle();
    assert!(rig.service.device_stores.is_empty());
}

#[test]
fn posted_stores_cost_nothing_until_there_are_too_many() {
    let mut rig = Rig::new(with_write_buffer(4, 2), serial());
    rig.load(DEVICE);
    rig.run_to_idle();
    assert_eq!(rig.took(|rig| (0..2).for_each(|i| rig.store(DEVICE, i))), 0);
    rig.probe(ADDRESS + CLOCK, |port, at| port.store(DEVICE, 8, 2, at));
    rig.run_to_idle();
    let values: Vec<u64> = rig.service.device_stores.iter().map(|&(_, value)| value).collect();
    assert_eq!(values, [0, 1, 2]);
}

#[test]
fn a_flush_of_a_dirty_line_posts_a_write_back() {
    for l2 in [L2Parameters::default(), with_l2().l2] {
        let mut rig = Rig::new(
            PortParameters { l2: l2.clone(), order: order_of(|o| o.flush = Cycles::new(3)), ..parameters() },
            bus(),
        );
        rig.warm(A);
        rig.load(B);
        // With an L2 the store is to one half of its line, the flush of the other.
        rig.load(A);
        rig.store(if l2.present { B } else { A }, 1);
        rig.run_to_idle();
        rig.service.log.clear();
        let start = rig.cycle;
        assert_eq!(rig.took(|rig| rig.flush(A)), 3);
        let length = if l2.present { WRITE_BACK + 4 * CLOCK } else { WRITE_BACK };
        rig.fence();
        assert_eq!(rig.cycle, start + length);
        let bytes = if l2.present { 128 } else { 64 };
        assert_eq!(rig.granted(), [Request::WriteBack { line: A, bytes, flush: true }]);
        assert!(!rig.port.lines().any(|(line, _)| line == A), "it is gone");
        rig.flush(A);
        rig.run_to_idle();
        assert_eq!(rig.granted().len(), 1, "nothing is left to be written");
    }
}

#[test]
fn a_clean_keeps_the_line() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.store(A, 1);
    rig.fence();
    rig.perform(|port, at| port.block(BlockOperation::Clean, A, at));
    rig.run_to_idle();
    assert_eq!(rig.granted().last(), Some(&Request::WriteBack { line: A, bytes: 64, flush: true }));
    assert_eq!(rig.took(|rig| assert_eq!(rig.load(A), 1)), 0);
}

#[test]
fn after_a_clean_a_store_needs_no_bus_and_the_next_clean_writes_it() {
    for l2 in [L2Parameters::default(), with_l2().l2] {
        let mut rig = Rig::new(PortParameters { l2: l2.clone(), ..parameters() }, bus());
        rig.warm(A);
        rig.store(A, 1);
        rig.fence();
        let clean = |rig: &mut Rig| {
            rig.perform(|port, at| port.block(BlockOperation::Clean, A, at));
            rig.run_to_idle();
        };
        clean(&mut rig);
        rig.service.log.clear();
        assert_eq!(rig.took(|rig| rig.store(A, 2)), 0);
        rig.fence();
        assert_eq!(rig.granted(), [], "the line is still this hart's own");
        clean(&mut rig);
        assert_eq!(rig.granted().len(), 1, "it was modified again");
        clean(&mut rig);
        assert_eq!(rig.granted().len(), 1, "nothing is left to be written");
    }
}

#[test]
fn a_flush_waits_for_the_line_s_stores() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.store(A, 1);
    rig.probe(MISS, |port, at| port.block(BlockOperation::Flush, A, at));
}

#[test]
fn a_dirty_line_that_is_replaced_is_written_back_at_once() {
    let mut rig = Rig::new(direct_mapped(), serial());
    rig.warm(A);
    rig.warm(A2);
    rig.store(A, 1);
    rig.run_to_idle();
    rig.service.log.clear();
    let start = rig.cycle;
    rig.load(A2);
    rig.run_to_idle();
    let write_back = Request::WriteBack { line: A, bytes: 64, flush: false };
    assert_eq!(rig.granted(), [Request::Fill { line: A2, data: true, exclusive: false }, write_back]);
    let ends = rig.service.log.iter().filter_map(|(_, h)| match h {
        Happened::Granted(_, _, tenure) => Some(tenure.end.0 / 1000 - start),
        _ => None,
    });
    // It asks when the new line is granted, and has the bus after it.
    assert!(ends.eq([MISS, MISS + WRITE_BACK]));
    let asked = rig.service.log.iter().filter(|(_, h)| matches!(h, Happened::Requested(..)));
    assert!(asked.map(|(time, _)| time.0 / 1000 - start).eq([0, 0]));
}

#[test]
fn a_flush_of_a_line_that_was_just_replaced_is_awaited_by_a_fence() {
    let mut rig = Rig::new(direct_mapped(), serial());
    rig.warm(A);
    rig.warm(A2);
    rig.store(A, 1);
    rig.run_to_idle();
    let start = rig.cycle;
    rig.load(A2);
    assert_eq!(rig.cycle, start + MISS);
    rig.flush(A);
    rig.fence();
    assert_eq!(rig.cycle, start + MISS + WRITE_BACK);
}

#[test]
fn a_store_to_a_shared_line_asks_for_the_right_alone() {
    for l2 in [L2Parameters::default(), with_l2().l2] {
        let mut rig = Rig::new(PortParameters { l2: l2.clone(), ..parameters() }, bus());
        rig.service.sharing = 1;
        rig.warm(A);
        rig.load(A);
        rig.run_to_idle();
        rig.service.log.clear();
        assert_eq!(rig.took(|rig| rig.store(A, 1)), 0);
        assert_eq!(rig.took(|rig| _ = rig.load(A + 8)), 0, "the rest of the line is here");
        // An address tenure.
        rig.probe(ADDRESS, |port, at| port.fence(order::W, at));
        assert_eq!(rig.granted(), [Request::Own { line: A, upgrade: true }]);
    }
}

#[test]
fn an_atomic_operation_fetches_its_line_for_writing() {
    let mut rig =
        Rig::new(PortParameters { order: order_of(|o| o.atomic = Cycles::new(4)), ..parameters() }, bus());
    rig.service.sharing = 1;
    rig.warm(A);
    rig.store(B, 1);
    // It waits for the buffer, then for its line.
    let took = rig.took(|rig| assert_eq!(rig.perform(|port, at| port.atomic(A, 8, at, |old| old + 1)), 0));
    assert_eq!(took, MISS + MISS + 4);
    let took = rig.took(|rig| assert_eq!(rig.perform(|port, at| port.atomic(A, 8, at, |old| old + 1)), 1));
    assert_eq!(took, 4);
}

// --- other masters ------------------------------------------------------------------------------

fn snoop(rig: &mut Rig, snoop: Snoop, address: u64) -> u64 {
    let now = rig.cycle;
    rig.service.ask_foreign(Time(now * 1000), Foreign { snoop, address, bytes: 64, value: None });
    rig.service.log.clear();
    rig.run_to_idle();
    let end = rig.service.log.iter().find_map(|(_, h)| match h {
        Happened::Granted(_, _, tenure) => Some(tenure.end.0 / 1000),
        _ => None,
    });
    end.unwrap() - now
}

fn state(rig: &Rig, line: u64) -> State {
    rig.port.lines().filter(|(l, _)| *l == line).map(|(_, s)| s).max().unwrap_or(State::Invalid)
}

#[test]
fn a_snooped_read_leaves_the_line_shared() {
    for l2 in [L2Parameters::default(), with_l2().l2] {
        let mut rig = Rig::new(PortParameters { l2: l2.clone(), ..parameters() }, bus());
        rig.warm(A);
        rig.load(A);
        rig.run_to_idle();
        assert_eq!(state(&rig, A), State::Exclusive);
        assert_eq!(snoop(&mut rig, Snoop::Read, A), MISS, "memory answers: it is clean");
        assert_eq!(state(&rig, A), State::Shared);
        assert_eq!(rig.took(|rig| _ = rig.load(A)), 0);
        rig.store(A, 1);
        rig.fence();
        rig.run_to_idle();
        assert_eq!(state(&rig, A), State::Modified);
        // The cache gives it: address, four bus clocks, four beats.
        assert_eq!(snoop(&mut rig, Snoop::Read, A), ADDRESS + 4 * CLOCK + 4 * CLOCK);
        assert_eq!(state(&rig, A), State::Shared);
    }
}

#[test]
fn a_snooped_write_takes_the_line_away() {
    for l2 in [L2Parameters::default(), with_l2().l2] {
        let mut rig = Rig::new(PortParameters { l2: l2.clone(), ..parameters() }, bus());
        rig.warm(A);
        rig.store(A, 1);
        rig.load(B);
        rig.run_to_idle();
        snoop(&mut rig, Snoop::Invalidate, A);
        assert_eq!(state(&rig, A), State::Invalid);
        // With an L2 its whole line goes, and both of the L1's that it includes.
        assert_eq!(state(&rig, B), if l2.present { State::Invalid } else { State::Exclusive });
        assert_eq!(rig.port.statistics.l1d_invalidations, if l2.present { 2 } else { 1 });
        let length = if l2.present { MISS + 4 * 2 } else { MISS };
        rig.probe(length, |port, at| port.load(A, 8, at));
    }
}

fn conditional(rig: &mut Rig) -> bool {
    rig.perform(|port, at| port.store_conditional(A, 8, 5, at))
}

#[test]
fn a_reservation_outlives_its_line() {
    let mut rig = Rig::new(direct_mapped(), bus());
    rig.perform(|port, at| port.load_reserved(A, 8, at));
    rig.load(A2);
    assert!(conditional(&mut rig), "another line took its place, but there was no write");
    rig.perform(|port, at| port.load_reserved(A, 8, at));
    rig.load(A2);
    assert!(rig.port.snoop(Snoop::Read, A, 64).present, "a reader needs a transaction before it writes");
    assert!(rig.port.holds(A, 64));
    snoop(&mut rig, Snoop::Invalidate, A);
    assert!(!conditional(&mut rig));
    assert!(!rig.port.holds(A2 + 64, 64));
}

#[test]
fn a_reservation_holds_until_somebody_writes() {
    let mut rig = Rig::usual();
    rig.warm(A);
    rig.perform(|port, at| port.load_reserved(A, 8, at));
    assert!(conditional(&mut rig));
    assert!(!conditional(&mut rig), "a second one finds none");
    rig.perform(|port, at| port.load_reserved(A, 8, at));
    snoop(&mut rig, Snoop::Invalidate, A);
    assert!(!conditional(&mut rig));
}

// --- the bus ------------------------------------------------------------------------------------

/// Bytes and time of many transactions, each asked for as soon as the bus takes it.
fn stream(
    (bus, dram): (BusParameters, DramParameters),
    bytes: u32,
    write: bool,
    responder: Responder,
) -> (u64, Time) {
    let mut bus = Bus::new(bus, dram);
    let mut end = Time::ZERO;
    for _ in 0..1000 {
        let grant = bus.grant_at(Time::ZERO);
        end = bus.place(grant, bytes, write, responder).end;
    }
    assert_eq!(bus.statistics.bytes, 1000 * u64::from(bytes));
    (bus.statistics.bytes, end)
}

#[test]
fn a_pipelined_bus_streams_at_its_peak() {
    // 16 bytes a clock of 2 ns are 8 GB/s; before the first beat comes an address tenure.
    let (bytes, time) = stream(bus(), 64, false, Responder::Device(Time::ZERO));
    assert_eq!(time, Time((ADDRESS + bytes / 16 * CLOCK) * 1000));
}

#[test]
fn streams_of_other_sorts() {
    let ns = |time: Time| time.0 / 1000;
    // Not pipelined: each address tenure takes its time.
    let (_, time) = stream(serial(), 64, false, Responder::Device(Time::ZERO));
    assert_eq!(ns(time), 1000 * (ADDRESS + 4 * CLOCK));
    // DRAM serves one at a time; a pipelined bus hides the address tenures.
    let (_, time) = stream(bus(), 64, false, Responder::Dram);
    assert_eq!(ns(time), ADDRESS + 1000 * DRAM);
    // A write keeps the DRAM busy for 20 ns after its last beat.
    let (_, time) = stream(bus(), 64, true, Responder::Dram);
    assert_eq!(ns(time), ADDRESS + 1000 * (4 * CLOCK) + 999 * 20);
    // Chunks of 5 ns: the bus takes each at the next edge after all; the line ends at one.
    let (one_by_one, dram) = serial();
    let slow = DramParameters { next_chunk: Duration::from_ps(5_000), ..dram };
    let (_, time) = stream((one_by_one, slow), 64, false, Responder::Dram);
    assert_eq!(ns(time), 1000 * (ADDRESS + 60 + 15 + 1));
    // Short of a bus width is a beat.
    let (_, time) = stream(serial(), 4, false, Responder::Device(Time::ZERO));
    assert_eq!(ns(time), 1000 * (ADDRESS + CLOCK));
    // Nothing but addresses.
    let (_, time) = stream(bus(), 0, false, Responder::None);
    assert_eq!(ns(time), 1000 * ADDRESS);
}

/// Without a data cache each access is a transaction of its own length, and each fetch of a word that is not in the
/// instruction buffer. Data move at the grant, or whoever serves the transaction moves them.
#[test]
fn a_cacheless_port_asks_for_every_word() {
    let buffer = CacheParameters::new(8, 2, 4);
    let cacheless = PortParameters { kind: PortKind::Cacheless, l1i: buffer, ..parameters() };
    let mut rig = Rig::new(cacheless, bus());
    rig.memory.write(LOW + 4, 4, 17).unwrap();
    let port = &mut rig.port;
    // What was asked for, and served.
    let serve = |port: &mut Port, value: Option<u64>| {
        let (_, slot, request) = port.take_request()?;
        match value {
            Some(value) => port.served(slot, value, 0),
            None => port.granted(slot, Snooped::default(), 0),
        }
        port.completed(slot, 0, 0);
        Some(request)
    };
    let load = Request::DirectLoad { address: LOW + 4, bytes: 4 };
    for (value, got) in [(None, 17), (Some(23), 23)] {
        assert_eq!(port.load(LOW + 4, 4, &mut 0), Err(Stop::Wait(Stall::Data)));
        assert_eq!(serve(port, value), Some(load));
        assert_eq!(port.load(LOW + 4, 4, &mut 0), Ok(got));
    }
    for at in [4, 8, 12, 4] {
        assert_eq!(port.fetch_line(LOW + at, &mut 0), Err(Stop::Wait(Stall::Instruction)));
        let fill = Request::Fill { line: LOW + at, data: false, exclusive: false };
        assert_eq!(serve(port, None), Some(fill), "the buffer holds two words");
        assert_eq!(port.fetch_line(LOW + at, &mut 0), Ok(()));
    }
    assert_eq!(port.fetch_line(LOW + 12, &mut 0), Ok(()));
    let store = |value| Request::DirectStore { address: LOW + 8, bytes: 8, value: Some(value) };
    for (value, served, held) in [(5, None, 5), (6, Some(0), 5)] {
        let port = &mut rig.port;
        assert_eq!(port.store(LOW + 8, 8, value, &mut 0), Ok(()));
        assert_eq!(port.load(LOW + 8, 8, &mut 0), Err(Stop::Wait(Stall::Posted)), "it overlaps the store");
        assert_eq!(serve(port, served), Some(store(value)));
        assert_eq!(rig.memory.read(LOW + 8, 8), Ok(held), "whoever serves the transaction moves the data");
    }
    let atomic = rig.port.atomic(LOW, 8, &mut 0, |old| old);
    assert_eq!(atomic, Err(Stop::Fault(Fault::Atomic { address: LOW })));
}
