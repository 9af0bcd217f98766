//! Mailboxes as those of Cell's local-store cores: inbound four words deep, outbound one; a processor that reads an empty one,
//! or writes to a full one, waits. The rig is the NI.

mod support;

use chasqui_engine::Time;
use chasqui_hart::{Insn, Op};
use chasqui_ni::{DeviceAccess, FIRMWARE_MEMORY, FirmwareProcessor, Mailbox};

use support::{DEVICE, NOTHING, VALUE, processor};

const INBOUND: u64 = 0;
const INBOUND_COUNT: u64 = 8;
const OUTBOUND: u64 = 16;

/// What a register takes to answer.
const LATENCY: Time = Time(5_000);

struct Unit {
    processor: FirmwareProcessor,
    inbound: Mailbox<u64>,
    outbound: Mailbox<u64>,
}

impl Unit {
    fn new(code: &[Insn]) -> Unit {
        let processor = processor(FIRMWARE_MEMORY, code).unwrap();
        Unit { processor, inbound: Mailbox::new(4), outbound: Mailbox::new(1) }
    }

    /// Runs to the next access that is held, and says from when on.
    fn run(&mut self, mut now: Time) -> Time {
        loop {
            let Some(at) = self.processor.run(now).unwrap() else { return now };
            now = now.max(at);
            self.processor.takes_place(now).expect("an access");
            if !self.look(now) {
                return now;
            }
        }
    }

    /// Does the access that is held, if that can be done.
    fn look(&mut self, now: Time) -> bool {
        match self.processor.held().expect("an access") {
            DeviceAccess::Load { address: INBOUND, .. } => match self.inbound.take() {
                Some(word) => self.processor.loaded(now, word, LATENCY),
                None => return false,
            },
            DeviceAccess::Load { address: INBOUND_COUNT, .. } => {
                self.processor.loaded(now, self.inbound.count() as u64, LATENCY);
            }
            DeviceAccess::Store { address: OUTBOUND, value, .. } => match self.outbound.put(value) {
                Ok(()) => self.processor.stored(now),
                Err(_) => return false,
            },
            other => panic!("{other:?}"),
        }
        true
    }
}

fn load(address: u64) -> Insn {
    Insn { op: Op::Ld, rd: VALUE, rs1: DEVICE, imm: address as i64, ..NOTHING }
}

fn store(address: u64) -> Insn {
    Insn { op: Op::Sd, rs1: DEVICE, rs2: VALUE, imm: address as i64, ..NOTHING }
}

fn again(instructions: i64) -> Insn {
    Insn { op: Op::Jal, imm: -4 * instructions, ..NOTHING }
}

/// A reader is blocked until the word comes; its answer is a word out, an address tenure of two bus clocks of 2 ns, the
/// latency and a beat later, and a store's tenure and beat from the next bus clock after the load's cycle.
#[test]
fn a_read_waits_for_a_word() {
    let mut unit = Unit::new(&[load(INBOUND), store(OUTBOUND), again(2)]);
    let blocked = unit.run(Time::ZERO);
    assert_eq!(unit.processor.run(blocked), Ok(None), "blocked, and no event is needed");
    for (round, word) in [(0, 17), (1, 18)] {
        let put = Time((round + 1) * 10_000_000);
        unit.inbound.put(word).unwrap();
        assert!(unit.look(put));
        let answered = unit.run(put);
        assert_eq!(unit.outbound.take(), Some(word));
        if round > 0 {
            let loaded = put + Time(4_000) + LATENCY + Time(2_000);
            let edge = Time((loaded.0 + 1_000).next_multiple_of(2_000));
            // Behind the store comes the next read, which is held.
            assert!(answered >= edge + Time(6_000), "{answered} {edge}");
        }
    }
}

#[test]
fn a_write_waits_for_room() {
    let mut unit = Unit::new(&[
        Insn { op: Op::Addi, rd: VALUE, imm: 1, ..NOTHING },
        store(OUTBOUND),
        store(OUTBOUND),
        load(INBOUND),
    ]);
    let blocked = unit.run(Time::ZERO);
    assert_eq!(unit.processor.held(), Some(DeviceAccess::Store { address: OUTBOUND, bytes: 8, value: 1 }));
    assert_eq!(unit.outbound.room(), 0);
    let taken = blocked + Time(1_000_000);
    assert_eq!(unit.outbound.take(), Some(1));
    assert!(unit.look(taken), "ready as soon as there is room");
    unit.run(taken);
    assert_eq!(unit.processor.held(), Some(DeviceAccess::Load { address: INBOUND, bytes: 8 }));
    assert_eq!(unit.outbound.take(), Some(1));
    // It could not go on to the load before: uncached accesses keep their order.
    let mut held = 0;
    unit.processor.statistics(&mut |name, _, _, value| held += if name == "held_ps" { value } else { 0 });
    assert_eq!(held, 1_000_000);
}

#[test]
fn the_count_register_tells_without_waiting() {
    let mut unit = Unit::new(&[load(INBOUND_COUNT), store(OUTBOUND), load(INBOUND), again(1)]);
    for word in 0..4 {
        unit.inbound.put(word).unwrap();
    }
    assert_eq!(unit.inbound.put(4), Err(4), "four deep");
    unit.run(Time::ZERO);
    assert_eq!((unit.outbound.take(), unit.inbound.count()), (Some(4), 0));
}
