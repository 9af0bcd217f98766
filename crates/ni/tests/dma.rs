//! DMA through a process's pages: rights are checked when a block is asked for, and again at each grant. The rig is the NI,
//! the operating system and the bus.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use chasqui_engine::{Engine, Event, Lookahead, Outbox, Packet, Partition, Threads, Time};
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES};
use chasqui_ni::{BusOperation, BusRequest, Context, DmaReader, DmaWriter, Outputs, Pager, Piece};
use chasqui_placement::ProcessId;

const PROCESS: ProcessId = ProcessId(0);
/// Pages of the process, by what they allow.
const BOTH: u64 = 0x1_0000;
const READ_ONLY: u64 = BOTH + PAGE_BYTES;
const NONE: u64 = BOTH + 2 * PAGE_BYTES;
const UNMAPPED: u64 = BOTH + 3 * PAGE_BYTES;
const DEVICE: u64 = BOTH + 4 * PAGE_BYTES;
const LATER: u64 = BOTH + 5 * PAGE_BYTES;

/// A page: where, whether it may be read and written, and whether it is there.
#[derive(Clone, Copy)]
struct Page {
    physical: u64,
    read: bool,
    write: bool,
    is_there: bool,
}

struct Pages(BTreeMap<u64, Page>);

impl Pager for Pages {
    fn hart(&self, _: ProcessId) -> Option<usize> {
        None
    }

    fn physical(&self, _: &FlatMemory, _: ProcessId, address: u64, write: bool) -> Option<u64> {
        let page = self.0.get(&(address & !(PAGE_BYTES - 1)))?;
        let right = if write { page.write } else { page.read };
        (page.is_there && right).then_some(page.physical + address % PAGE_BYTES)
    }

    fn page_in(&mut self, _: &mut FlatMemory, _: ProcessId, address: u64, write: bool) -> bool {
        let Some(page) = self.0.get_mut(&(address & !(PAGE_BYTES - 1))) else { return false };
        let right = if write { page.write } else { page.read };
        page.is_there |= right;
        right
    }
}

fn pages() -> Pages {
    let page = |physical, read, write| Page { physical, read, write, is_there: true };
    Pages(
        [
            (BOTH, page(0x1000, true, true)),
            (READ_ONLY, page(0x2000, true, false)),
            (NONE, page(0x3000, false, false)),
            (DEVICE, page(DEVICE_BASE, true, true)),
            (LATER, Page { is_there: false, ..page(0x4000, true, true) }),
        ]
        .into(),
    )
}

type Script = dyn FnOnce(&mut Context<'_, '_>) + Send;

/// A partition that does one thing.
struct Once(Option<Box<Script>>);

impl Partition for Once {
    fn next(&self) -> Time {
        if self.0.is_some() { Time::ZERO } else { Time::NEVER }
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let Some(script) = self.0.take() else { return 0 };
        let mut memory = FlatMemory::new(0x10_000).unwrap();
        memory.slice_mut(0, 0x10_000).unwrap().fill(7);
        script(&mut Context {
            now: Time::ZERO,
            alone: Time::ZERO,
            memory: &mut memory,
            ports: &mut [],
            hart: 0,
            pager: &mut pages(),
            recorders: &mut [],
            out,
            outputs: &mut Outputs::default(),
        });
        1
    }

    fn receive(&mut self, _: Event, _: Option<Box<Packet>>) {}

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// Does something as an NI would.
fn with_context(script: impl FnOnce(&mut Context<'_, '_>) + Send + 'static) {
    let done = Arc::new(Mutex::new(false));
    let seen = done.clone();
    let mut engine = Engine::new(Lookahead::new(vec![vec![Time(1)]]));
    let script: Box<Script> = Box::new(move |c| {
        script(c);
        *seen.lock().unwrap() = true;
    });
    engine.add(0, Box::new(Once(Some(script))));
    engine.run(Threads::Exactly(1), &mut |_| true);
    assert!(*done.lock().unwrap());
}

/// The transactions that were asked for.
fn asked(c: &mut Context<'_, '_>) -> Vec<BusRequest> {
    std::mem::take(&mut c.outputs.bus)
}

#[test]
fn blocks_need_the_right_to_what_is_done() {
    with_context(|c| {
        let mut refused = |address, write| c.bring_in(PROCESS, address, 8, write).err();
        for (address, write, expected) in [
            (BOTH, false, None),
            (BOTH, true, None),
            (READ_ONLY, false, None),
            (READ_ONLY, true, Some(READ_ONLY)),
            (NONE, false, Some(NONE)),
            (NONE, true, Some(NONE)),
            (UNMAPPED, false, Some(UNMAPPED)),
            (DEVICE, false, Some(DEVICE)),
            (DEVICE, true, Some(DEVICE)),
            (READ_ONLY - 4, true, Some(READ_ONLY)),
        ] {
            assert_eq!(refused(address, write), expected, "{address:#x} write {write}");
        }
        assert_eq!(c.bring_in(PROCESS, LATER, 8, true), Ok(1), "it was brought in");
        assert_eq!(c.bring_in(PROCESS, LATER, 8, true), Ok(0), "it is there");
    });
}

#[test]
fn nothing_is_asked_for_without_the_right() {
    with_context(|c| {
        let mut reader = DmaReader::new(|number| number as u64, 32);
        for address in [NONE, UNMAPPED, DEVICE, LATER] {
            assert_eq!(reader.read((PROCESS, address), 8, c), Err(address));
        }
        let mut writer = DmaWriter::<()>::new(|number| number as u64, 32);
        for address in [READ_ONLY, NONE, UNMAPPED, DEVICE, LATER] {
            let added = writer.add(BusOperation::Write, (PROCESS, address), &[1; 8], c);
            assert_eq!(added, Err(address));
        }
        assert!(!writer.start(c) && asked(c).is_empty());
    });
}

/// So many lines are asked for at a time, the next when one is over; the block is the same.
#[test]
fn lines_are_asked_for_in_portions() {
    with_context(|c| {
        for at_once in [1, 2, 3, 4, 100] {
            let mut reader = DmaReader::new(|number| number as u64, 32).at_once(at_once);
            // One block after the other.
            for value in [3, 100] {
                let block = (value..value + 128).collect::<Vec<u8>>();
                c.memory.slice_mut(0x1000, 128).unwrap().copy_from_slice(&block);
                assert!(reader.read_physical(&[Piece { address: 0x1000, bytes: 128 }], c));
                let mut read = None;
                let most = in_turn(c, |request, c| {
                    reader.granted(request.tag as usize, request, c);
                    read = reader.done(c);
                });
                assert_eq!((most, read.as_ref()), (at_once.min(4), Some(&block)));
            }
        }
    });
}

/// Deals with what is asked for, in that order: how many transactions were before the bus at most.
fn in_turn(c: &mut Context<'_, '_>, mut deal: impl FnMut(BusRequest, &mut Context<'_, '_>)) -> usize {
    let mut before = VecDeque::from(asked(c));
    let mut most = before.len();
    while let Some(request) = before.pop_front() {
        deal(request, c);
        before.extend(asked(c));
        most = most.max(before.len());
    }
    most
}

/// The process changes its pages between what is asked for and its grant.
#[test]
fn a_right_that_is_gone_at_the_grant_is_missed() {
    with_context(|c| {
        let mut pages = pages();
        let memory = &mut *c.memory;
        let mut c = Context {
            now: c.now,
            alone: Time::ZERO,
            memory,
            ports: &mut [],
            hart: 0,
            pager: &mut pages,
            recorders: &mut [],
            out: c.out,
            outputs: c.outputs,
        };
        let mut reader = DmaReader::new(|number| number as u64, 32);
        assert_eq!(reader.read((PROCESS, BOTH), 64, &mut c), Ok(true));
        let mut writer = DmaWriter::<()>::new(|number| number as u64, 32);
        writer.add(BusOperation::Write, (PROCESS, BOTH + 64), &[1; 64], &c).unwrap();
        assert!(writer.start(&mut c));
        let requests = asked(&mut c);
        reader.granted(0, requests[0], &c);
        writer.granted(0, &mut c);
        // mprotect(PROT_READ): what is left is not written, but read.
        let mut page =
            Pages([(BOTH, Page { physical: 0x1000, read: true, write: false, is_there: true })].into());
        let (out, outputs) = (&mut *c.out, &mut *c.outputs);
        let mut c = Context {
            now: c.now,
            alone: Time::ZERO,
            memory: c.memory,
            ports: &mut [],
            hart: 0,
            pager: &mut page,
            recorders: &mut [],
            out,
            outputs,
        };
        writer.granted(1, &mut c);
        reader.granted(1, requests[1], &c);
        assert_eq!((reader.done(&mut c), reader.done(&mut c)), (None, Some(vec![7; 64])));
        assert_eq!(c.memory.slice(0x1040, 64).unwrap(), [[1; 32], [7; 32]].concat());
        // munmap: what is left is read as zeros.
        let mut c = Context { pager: &mut Pages(BTreeMap::new()), ..c };
        let reads = requests[0];
        let mut reader = reader_of(&mut c);
        reader.granted(0, reads, &c);
        assert_eq!(reader.done(&mut c), Some(vec![0; 32]));
    });
}

/// One that was asked to read a line while the page was there.
fn reader_of(c: &mut Context<'_, '_>) -> DmaReader {
    let mut reader = DmaReader::new(|number| number as u64, 32);
    let mut pages = pages();
    let mut before = Context {
        now: c.now,
        alone: Time::ZERO,
        memory: c.memory,
        ports: &mut [],
        hart: 0,
        pager: &mut pages,
        recorders: &mut [],
        out: c.out,
        outputs: c.outputs,
    };
    reader.read((PROCESS, BOTH), 32, &mut before).unwrap();
    reader
}
