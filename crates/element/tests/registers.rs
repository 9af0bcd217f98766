//! What the core's program and the host see of each other.
//!
//! Use this when channels or registers change.

use chasqui_element::{
    Area, ChannelRead, ChannelWrite, Element, ElementParameters, MfcParameters, MfcStep, Refusal,
    TableSearch, TransferKind, Window, channel, event, hypervisor, opcode, privileged, problem,
};
use chasqui_engine::Time;
use chasqui_memory::{PAGE_BYTES, pte};

/// An element whose transfers the test makes: memory is its own line of numbers.
struct Rig {
    element: Element,
    local: Vec<u8>,
    now: Time,
    /// Physical addresses of transfers, and what was written there.
    asked: Vec<(TransferKind, u64)>,
    stopped: bool,
}

impl Rig {
    fn new() -> Rig {
        // The kernel gives translations, so that there is no page table.
        let mfc = MfcParameters { translation: TableSearch::Kernel, ..MfcParameters::default() };
        Rig::with(&ElementParameters { mfc, ..ElementParameters::default() })
    }

    fn with(parameters: &ElementParameters) -> Rig {
        let local = vec![0; parameters.store.bytes() as usize];
        let element = Element::new(parameters);
        Rig { element, local, now: Time::ZERO, asked: vec![], stopped: false }
    }

    /// Does all that follows, each transfer at once.
    fn settle(&mut self) {
        while let Some(step) = self.element.step(self.now, &self.local) {
            match step {
                MfcStep::At(at) => self.now = at,
                MfcStep::Fault(_) => self.stopped = true,
                MfcStep::Transfer(transfer) => {
                    self.asked.push((transfer.kind, transfer.physical));
                    if transfer.kind.is_read() {
                        let data: Vec<u8> =
                            (0..transfer.bytes).map(|n| (transfer.physical / 128) as u8 + n as u8).collect();
                        self.element.mfc.got(transfer.slot, &data);
                    } else {
                        self.element.mfc.put(transfer.slot, &self.local);
                    }
                    self.element.mfc.done(transfer.slot, &mut self.local, self.now);
                }
            }
        }
    }

    fn read(&mut self, number: u64) -> ChannelRead {
        self.element.read_channel(number, self.now)
    }

    fn write(&mut self, number: u64, value: u64) -> ChannelWrite {
        self.element.write_channel(number, value as u32, self.now)
    }

    fn count(&mut self, number: u64) -> u32 {
        self.element.channel_count(number, self.now).expect("a channel")
    }

    fn host_read(&mut self, area: Area, offset: u64) -> u64 {
        let bytes = if area == Area::Problem { 4 } else { 8 };
        self.element.read((area, offset, bytes), true, self.now).expect("a register")
    }

    fn host_write(&mut self, area: Area, offset: u64, value: u64) {
        let bytes = if area == Area::Problem { 4 } else { 8 };
        self.element.write((area, offset, bytes), value, true, self.now).expect("a register");
    }

    /// The kernel gives the page at `virtual_page` to `physical_page`.
    fn map(&mut self, virtual_page: u64, physical_page: u64) {
        self.host_write(Area::Hypervisor, hypervisor::TLB_VPN, virtual_page);
        self.host_write(
            Area::Hypervisor,
            hypervisor::TLB_RPN,
            physical_page >> 2 | pte::V | pte::R | pte::W | pte::U,
        );
    }

    /// The core enters a command.
    fn command(&mut self, what: u32, local: u64, effective: u64, bytes: u64, tag: u64) -> ChannelWrite {
        for (number, value) in [
            (channel::MFC_LSA, local),
            (channel::MFC_EAH, effective >> 32),
            (channel::MFC_EAL, effective & 0xffff_ffff),
            (channel::MFC_SIZE, bytes),
            (channel::MFC_TAG_ID, tag),
        ] {
            assert_eq!(self.write(number, value), ChannelWrite::Done);
        }
        self.write(channel::MFC_CMD, what.into())
    }
}

const PROBLEM: Area = Area::Problem;

#[test]
fn mailboxes_have_their_depths_and_sides() {
    let mut rig = Rig::new();
    assert_eq!(rig.host_read(PROBLEM, problem::MBOX_STAT), 0x0400);
    assert_eq!(rig.read(channel::RD_IN_MBOX), ChannelRead::Empty);
    for value in 1..=5 {
        rig.host_write(PROBLEM, problem::IN_MBOX, value);
    }
    // The fifth has taken the place of the fourth.
    assert_eq!((rig.host_read(PROBLEM, problem::MBOX_STAT), rig.count(channel::RD_IN_MBOX)), (0, 4));
    let taken: Vec<_> = (0..5).map(|_| rig.read(channel::RD_IN_MBOX)).collect();
    assert_eq!(taken[..4], [1, 2, 3, 5].map(ChannelRead::Value));
    assert_eq!(taken[4], ChannelRead::Empty);
    for (number, offset, area) in [
        (channel::WR_OUT_MBOX, problem::OUT_MBOX, PROBLEM),
        (channel::WR_OUT_INTR_MBOX, privileged::INTR_MBOX, Area::Privileged),
    ] {
        assert_eq!(rig.count(number), 1);
        assert_eq!((rig.write(number, 7), rig.write(number, 8)), (ChannelWrite::Done, ChannelWrite::Full));
        assert_eq!((rig.count(number), rig.host_read(area, offset), rig.host_read(area, offset)), (0, 7, 0));
    }
    rig.write(channel::WR_OUT_MBOX, 9);
    rig.write(channel::WR_OUT_INTR_MBOX, 9);
    assert_eq!(rig.host_read(PROBLEM, problem::MBOX_STAT), 0x01_04_01);
}

#[test]
fn signals_collect_or_replace() {
    let mut rig = Rig::new();
    for (offset, number) in
        [(problem::SIG_NOTIFY_1, channel::RD_SIG_NOTIFY_1), (problem::SIG_NOTIFY_2, channel::RD_SIG_NOTIFY_2)]
    {
        assert_eq!((rig.read(number), rig.count(number)), (ChannelRead::Empty, 0));
        rig.host_write(PROBLEM, offset, 1);
        rig.host_write(PROBLEM, offset, 4);
        assert_eq!((rig.host_read(PROBLEM, offset), rig.count(number)), (4, 1));
        assert_eq!((rig.read(number), rig.read(number)), (ChannelRead::Value(4), ChannelRead::Empty));
    }
    rig.host_write(Area::Privileged, privileged::CONFIGURATION, 2);
    assert_eq!(rig.host_read(Area::Privileged, privileged::CONFIGURATION), 2);
    for offset in [problem::SIG_NOTIFY_1, problem::SIG_NOTIFY_2] {
        rig.host_write(PROBLEM, offset, 1);
        rig.host_write(PROBLEM, offset, 4);
    }
    assert_eq!(rig.read(channel::RD_SIG_NOTIFY_1), ChannelRead::Value(4));
    assert_eq!(rig.read(channel::RD_SIG_NOTIFY_2), ChannelRead::Value(5));
    rig.host_write(PROBLEM, problem::SIG_NOTIFY_2, 0);
    assert_eq!(rig.read(channel::RD_SIG_NOTIFY_2), ChannelRead::Value(0), "a signal of nothing is one");
}

/// A tick each 12.5 ns; the event comes with the tick after zero.
#[test]
fn the_decrementer_ticks_each_12500_ps() {
    let mut rig = Rig::new();
    rig.now = Time(100_000);
    rig.write(channel::WR_DEC, 3);
    for (after, value) in [(0, 3), (12_499, 3), (12_500, 2), (37_500, 0), (49_999, 0), (50_000, u32::MAX)] {
        rig.now = Time(100_000 + after);
        assert_eq!(rig.read(channel::RD_DEC), ChannelRead::Value(value), "{after}");
    }
    rig.now = Time(200_000);
    rig.write(channel::WR_EVENT_ACK, event::DECREMENTER);
    rig.write(channel::WR_DEC, 3);
    assert_eq!(rig.element.next_event(), None, "nobody wants to hear of it");
    rig.write(channel::WR_EVENT_MASK, event::DECREMENTER);
    assert_eq!(rig.element.next_event(), Some(Time(250_000)));
    rig.now = Time(249_999);
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Empty);
    rig.now = Time(250_000);
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Value(event::DECREMENTER as u32));
    assert_eq!(rig.element.next_event(), None);
}

#[test]
fn events_stay_until_they_are_acknowledged() {
    let mut rig = Rig::new();
    let all = [event::IN_MBOX, event::SIGNAL_1, event::SIGNAL_2, event::OUT_MBOX, event::OUT_INTR_MBOX];
    rig.write(channel::WR_OUT_MBOX, 1);
    rig.write(channel::WR_OUT_INTR_MBOX, 1);
    rig.host_write(PROBLEM, problem::IN_MBOX, 1);
    rig.host_write(PROBLEM, problem::SIG_NOTIFY_1, 1);
    rig.host_write(PROBLEM, problem::SIG_NOTIFY_2, 1);
    rig.host_read(PROBLEM, problem::OUT_MBOX);
    rig.host_read(Area::Privileged, privileged::INTR_MBOX);
    assert_eq!(
        (rig.read(channel::RD_EVENT_STAT), rig.count(channel::RD_EVENT_STAT)),
        (ChannelRead::Empty, 0)
    );
    for one in all {
        rig.write(channel::WR_EVENT_MASK, one);
        assert_eq!(rig.read(channel::RD_EVENT_MASK), ChannelRead::Value(one as u32));
        assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Value(one as u32), "{one:#x}");
        assert_eq!(rig.count(channel::RD_EVENT_STAT), 1);
        rig.write(channel::WR_EVENT_ACK, one);
        assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Empty, "{one:#x}");
    }
}

/// The core gets a line, is told when it is there, and that the queue has room.
#[test]
fn the_core_gets_and_asks() {
    let mut rig = Rig::new();
    rig.map(0x1_0000_0000, 0x8000);
    rig.write(channel::WR_EVENT_MASK, event::TAG_STATUS | event::QUEUE_AVAILABLE);
    rig.write(channel::WR_TAG_MASK, 1 << 3 | 1 << 4);
    assert_eq!(rig.read(channel::RD_TAG_MASK), ChannelRead::Value(24));
    for nth in 0..16 {
        assert_eq!(rig.count(channel::MFC_CMD), 16 - nth);
        let tag = 3 + u64::from(nth == 15);
        assert_eq!(rig.command(opcode::GET, 0x400, 0x1_0000_0080, 128, tag), ChannelWrite::Done);
    }
    assert_eq!(rig.command(opcode::GET, 0, 0, 16, 0), ChannelWrite::Full);
    assert_eq!(
        (rig.write(channel::WR_TAG_UPDATE, 0), rig.read(channel::RD_TAG_STAT)),
        (ChannelWrite::Done, ChannelRead::Value(0))
    );
    rig.write(channel::WR_EVENT_ACK, event::TAG_STATUS);
    rig.write(channel::WR_TAG_UPDATE, channel::TAG_UPDATE_ALL);
    assert_eq!((rig.read(channel::RD_TAG_STAT), rig.count(channel::WR_TAG_UPDATE)), (ChannelRead::Empty, 0));
    rig.settle();
    assert_eq!(rig.local[0x400..0x403], [0x01, 0x02, 0x03].map(|n| n + 0x100_u16 as u8));
    assert_eq!(rig.asked.len(), 16);
    assert!(rig.asked.iter().all(|&(kind, at)| (kind, at) == (TransferKind::Get, 0x8080)));
    let come = (event::TAG_STATUS | event::QUEUE_AVAILABLE) as u32;
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Value(come));
    assert_eq!(
        (rig.count(channel::RD_TAG_STAT), rig.read(channel::RD_TAG_STAT)),
        (1, ChannelRead::Value(24))
    );
    assert_eq!(rig.read(channel::RD_TAG_STAT), ChannelRead::Empty);
}

#[test]
fn lists_stall_and_atomic_commands_end_by_channels() {
    let mut rig = Rig::new();
    rig.map(0, 0x8000);
    rig.local[..4].copy_from_slice(&(1_u32 << 31 | 16).to_le_bytes());
    rig.write(channel::WR_EVENT_MASK, event::LIST_STALL | event::RESERVATION_LOST);
    rig.command(opcode::GET | opcode::LIST_FLAG, 0x100, 0, 8, 6);
    assert_eq!(
        (rig.read(channel::RD_LIST_STALL_STAT), rig.read(channel::RD_ATOMIC_STAT)),
        (ChannelRead::Empty, ChannelRead::Empty)
    );
    rig.settle();
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Value(event::LIST_STALL as u32));
    rig.write(channel::WR_EVENT_ACK, event::LIST_STALL);
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Empty, "it has been said");
    assert_eq!(
        (rig.count(channel::RD_LIST_STALL_STAT), rig.read(channel::RD_LIST_STALL_STAT)),
        (1, ChannelRead::Value(1 << 6))
    );
    rig.write(channel::WR_LIST_STALL_ACK, 6);
    rig.settle();
    assert!(rig.element.mfc.is_idle());
    rig.command(opcode::GETLLAR, 0x200, 0x80, 128, 0);
    rig.settle();
    assert_eq!(
        (rig.count(channel::RD_ATOMIC_STAT), rig.read(channel::RD_ATOMIC_STAT)),
        (1, ChannelRead::Value(4))
    );
    rig.element.mfc.snoop_write(0x80ff, 1);
    rig.settle();
    assert_eq!(rig.read(channel::RD_EVENT_STAT), ChannelRead::Value(event::RESERVATION_LOST as u32));
    rig.command(opcode::PUTLLC, 0x200, 0x80, 128, 0);
    rig.settle();
    assert_eq!(rig.read(channel::RD_ATOMIC_STAT), ChannelRead::Value(1), "it came too late");
}

/// The host enters commands as Linux's spufs does, is told when there is no room, and interrupted when they are over.
#[test]
fn the_host_enters_proxy_commands() {
    let mut rig = Rig::new();
    rig.map(0x7_0000_0000, 0x8000);
    assert_eq!(rig.host_read(PROBLEM, problem::MFC_QSTATUS), 1 << 31 | 8);
    let enter = |rig: &mut Rig| {
        rig.host_write(PROBLEM, problem::MFC_LSA, 0x100);
        rig.host_write(PROBLEM, problem::MFC_EAH, 7);
        rig.host_write(PROBLEM, problem::MFC_EAL, 0x100);
        rig.host_write(PROBLEM, problem::MFC_SIZE_TAG, 64 << 16 | 5);
        rig.host_write(PROBLEM, problem::MFC_CLASS_CMD, 0x7f << 16 | u64::from(opcode::PUT));
        rig.host_read(PROBLEM, problem::MFC_CLASS_CMD)
    };
    for nth in 0..8 {
        assert_eq!(enter(&mut rig), problem::CMD_ENTERED);
        assert_eq!(rig.host_read(PROBLEM, problem::MFC_QSTATUS), 7 - nth);
    }
    assert_eq!(enter(&mut rig), problem::CMD_NO_ROOM);
    rig.host_write(Area::Hypervisor, hypervisor::INT_MASK + 16, hypervisor::TAG_GROUPS);
    rig.host_write(PROBLEM, problem::PRXY_QUERY_MASK, 1 << 5);
    rig.host_write(PROBLEM, problem::PRXY_QUERY_TYPE, 2);
    assert_eq!(
        (rig.host_read(PROBLEM, problem::PRXY_TAG_STATUS), rig.element.interrupt_lines()),
        (0, [false; 3])
    );
    assert_eq!(rig.host_read(PROBLEM, problem::PRXY_QUERY_TYPE), 2);
    rig.settle();
    assert_eq!(
        (rig.host_read(PROBLEM, problem::PRXY_TAG_STATUS), rig.element.interrupt_lines()),
        (1 << 5, [false, false, true])
    );
    assert_eq!(rig.host_read(PROBLEM, problem::PRXY_QUERY_TYPE), 0);
    assert_eq!(rig.asked, [(TransferKind::Put, 0x8100); 8]);
    // The effective address at once.
    rig.asked.clear();
    rig.element.write((PROBLEM, problem::MFC_EAH, 8), 0x7_0000_0400, false, rig.now).unwrap();
    rig.host_write(PROBLEM, problem::MFC_CLASS_CMD, opcode::PUT.into());
    rig.settle();
    assert_eq!(rig.asked, [(TransferKind::Put, 0x8400)]);
}

#[test]
fn a_kernel_serves_what_stops_the_mfc() {
    let mut rig = Rig::new();
    for class in 0..3 {
        rig.host_write(Area::Hypervisor, hypervisor::INT_MASK + 8 * class, !0);
    }
    rig.command(opcode::PUT, 0, 0x5000, 16, 1);
    rig.settle();
    assert_eq!((rig.stopped, rig.element.interrupt_lines()), (true, [false, true, false]));
    let hyper = |rig: &mut Rig, offset| rig.host_read(Area::Hypervisor, offset);
    assert_eq!(hyper(&mut rig, hypervisor::INT_STATUS + 8), hypervisor::TRANSLATION);
    assert_eq!(hyper(&mut rig, hypervisor::DAR), 0x5000);
    assert_eq!(hyper(&mut rig, hypervisor::DSISR), hypervisor::DSISR_NOT_FOUND | hypervisor::DSISR_PUT);
    assert_eq!(hyper(&mut rig, hypervisor::COMMAND_ERROR), 1 << 31 | 9);
    assert_eq!(rig.host_read(Area::Privileged, privileged::MFC_CONTROL), privileged::CONTROL_RESTART);
    rig.host_write(Area::Hypervisor, hypervisor::INT_STATUS + 8, hypervisor::TRANSLATION);
    assert_eq!(rig.element.interrupt_lines(), [false; 3]);
    rig.map(0x5000, 0x9000);
    rig.host_write(Area::Privileged, privileged::MFC_CONTROL, privileged::CONTROL_RESTART);
    rig.settle();
    assert_eq!(rig.asked, [(TransferKind::Put, 0x9000)]);
    assert_eq!(rig.host_read(Area::Privileged, privileged::MFC_CONTROL), privileged::CONTROL_EMPTY);
    // What can't be helped is dropped.
    for (command, bit) in
        [((opcode::PUT, 1), hypervisor::ALIGNMENT), ((0x77, 0), hypervisor::INVALID_COMMAND)]
    {
        rig.command(command.0, command.1, 0x5000, 16, 1);
        rig.settle();
        assert_eq!(hyper(&mut rig, hypervisor::INT_STATUS), bit);
        rig.host_write(Area::Hypervisor, hypervisor::INT_STATUS, bit);
        rig.host_write(Area::Privileged, privileged::MFC_CONTROL, privileged::CONTROL_RESTART);
        assert_eq!(rig.host_read(Area::Privileged, privileged::MFC_CONTROL), privileged::CONTROL_RESTART);
        rig.host_write(Area::Privileged, privileged::MFC_CONTROL, privileged::CONTROL_PURGE);
        assert_eq!(rig.host_read(Area::Privileged, privileged::MFC_CONTROL), privileged::CONTROL_EMPTY);
    }
    rig.host_write(Area::Hypervisor, hypervisor::TLB_FORGET, 0x5000);
    rig.command(opcode::PUT, 0, 0x5000, 16, 1);
    rig.settle();
    assert_eq!(hyper(&mut rig, hypervisor::DAR), 0x5000, "it was forgotten");
    rig.host_write(Area::Hypervisor, hypervisor::PAGE_TABLE, 0x3000);
    rig.host_write(Area::Hypervisor, hypervisor::TLB_FLUSH, 0);
    assert_eq!(hyper(&mut rig, hypervisor::PAGE_TABLE), 0x3000);
}

#[test]
fn the_host_runs_and_hears_of_the_end() {
    let mut rig = Rig::new();
    rig.host_write(
        Area::Hypervisor,
        hypervisor::INT_MASK + 16,
        hypervisor::STOPPED | hypervisor::HALTED | hypervisor::MAILBOX,
    );
    rig.host_write(PROBLEM, problem::NPC, 0x1000);
    assert_eq!(rig.element.take_start(), None);
    rig.host_write(PROBLEM, problem::RUN_CONTROL, 1);
    assert_eq!((rig.element.take_start(), rig.element.take_start()), (Some(0x1000), None));
    rig.host_write(PROBLEM, problem::RUN_CONTROL, 1);
    assert_eq!(rig.element.take_start(), None, "it runs");
    rig.host_write(PROBLEM, problem::NPC, 0x2000);
    rig.element.waits(true);
    assert_eq!(rig.host_read(PROBLEM, problem::STATUS), problem::STATUS_RUNNING | problem::STATUS_WAITING);
    rig.element.waits(false);
    rig.write(channel::WR_OUT_INTR_MBOX, 1);
    assert_eq!(rig.element.interrupt_lines(), [false, false, true]);
    rig.host_write(Area::Hypervisor, hypervisor::INT_STATUS + 16, hypervisor::MAILBOX);
    rig.element.stop_and_signal(0x2100, 0x1234);
    assert_eq!(rig.element.interrupt_lines(), [false, false, true]);
    let (status, npc) = (rig.host_read(PROBLEM, problem::STATUS), rig.host_read(PROBLEM, problem::NPC));
    assert_eq!((status, npc), (0x2100 << 16 | problem::STATUS_STOPPED, 0x1234));
    assert_eq!(rig.host_read(PROBLEM, problem::RUN_CONTROL), 0);
    rig.host_write(PROBLEM, problem::RUN_CONTROL, 1);
    assert_eq!(rig.element.take_start(), Some(0x1234), "it goes on");
    rig.element.halt(0x20);
    assert_eq!(rig.host_read(PROBLEM, problem::STATUS), problem::STATUS_HALTED);
    rig.element.err(0x24, true);
    assert_eq!(rig.host_read(PROBLEM, problem::STATUS), problem::STATUS_CHANNEL);
    assert_eq!(rig.host_read(Area::Hypervisor, hypervisor::INT_STATUS), hypervisor::CORE_ERROR);
    rig.host_write(PROBLEM, problem::RUN_CONTROL, 1);
    rig.host_write(PROBLEM, problem::RUN_CONTROL, 0);
    assert_eq!((rig.element.take_start(), rig.element.is_running()), (None, false));
}

/// Of every offset, length and right: a register is read or written, or the access is refused without an effect; and a
/// program has no register but those of problem state.
#[test]
fn what_is_a_kernels_is_no_programs() {
    let refused = |area: Area, kernel: bool| {
        let (mut rig, mut found) = (Rig::new(), [0; 2]);
        for offset in (0..area.bytes()).step_by(2) {
            for bytes in [1, 2, 4, 8] {
                if let Err(refusal) = rig.element.read((area, offset, bytes), kernel, Time::ZERO) {
                    found[refusal as usize] += 1;
                }
            }
        }
        found
    };
    for area in [Area::Privileged, Area::Hypervisor] {
        let all = area.bytes() / 2 * 4;
        // Refused are registers of 8 bytes, and all else with them.
        assert_eq!(refused(area, false), [all, 0]);
        assert_eq!(refused(area, true)[Refusal::Privileged as usize], 0);
    }
    assert_eq!(refused(Area::Problem, false), refused(Area::Problem, true));
    let readable =
        Area::Problem.bytes() / 2 * 4 - refused(Area::Problem, false)[Refusal::NoRegister as usize];
    assert_eq!(readable, 12, "registers that can be read");
    let mut rig = Rig::new();
    for (offset, value) in
        [(problem::MBOX_STAT, 1), (problem::OUT_MBOX, 1), (problem::STATUS, 1), (problem::PRXY_QUERY_TYPE, 3)]
    {
        let written = rig.element.write((PROBLEM, offset, 4), value, true, Time::ZERO);
        assert_eq!(written, Err(Refusal::NoRegister), "{offset:#x}");
    }
    assert_eq!(
        rig.element.write((Area::Privileged, privileged::CONFIGURATION, 8), 1, false, Time::ZERO),
        Err(Refusal::Privileged)
    );
    assert_eq!(rig.host_read(Area::Privileged, privileged::CONFIGURATION), 0);
    assert_eq!(Refusal::Privileged.to_string(), "the register is a kernel's");
}

/// Each register of problem state lies in one of the windows that a kernel may map, and each window in pages of its own.
#[test]
fn windows_hold_the_registers() {
    let registers = problem::CONSTANTS.iter().filter(|c| (0x1000..problem::BYTES).contains(&c.value));
    for register in registers {
        let within = |w: &&Window| (w.offset..w.offset + w.bytes).contains(&register.value);
        assert_eq!(Window::ALL.iter().filter(within).count(), 1, "{}", register.name);
    }
    let [first, second, third, fourth] = Window::ALL;
    for (one, next) in [(first, second), (second, third), (third, fourth)] {
        assert!(
            one.offset.is_multiple_of(PAGE_BYTES) && one.offset + one.bytes <= next.offset,
            "{}",
            one.name
        );
    }
}

#[test]
fn there_are_no_other_channels() {
    let mut rig = Rig::new();
    let mut kinds = [0; 3];
    for number in 0..128 {
        let reads = rig.read(number) != ChannelRead::Invalid;
        let writes = rig.write(number, 0) != ChannelWrite::Invalid;
        assert!(!(reads && writes), "channel {number}");
        assert_eq!(
            rig.element.channel_count(number, Time::ZERO).is_some(),
            reads || writes,
            "channel {number}"
        );
        kinds[if reads {
            0
        } else if writes {
            1
        } else {
            2
        }] += 1;
    }
    assert_eq!(kinds, [10, 14, 104]);
    assert_eq!(rig.write(channel::WR_TAG_UPDATE, 3), ChannelWrite::Invalid);
}

#[test]
fn counters_are_shown_below_their_parts() {
    let mut rig = Rig::new();
    rig.host_write(PROBLEM, problem::IN_MBOX, 1);
    let mut seen = vec![];
    rig.element.statistics(&mut |name, _, _, value| seen.push((name.to_string(), value)));
    assert!(
        seen.contains(&("inbound.put".into(), 1)) && seen.contains(&("mfc.faults".into(), 0)),
        "{seen:?}"
    );
}

/// The next program finds neither words, nor signals, events, questions or a status of the last one's.
#[test]
fn a_reset_leaves_nothing_of_the_last_program() {
    let mut rig = Rig::new();
    for (number, value) in [
        (channel::WR_OUT_MBOX, 1),
        (channel::WR_OUT_INTR_MBOX, 2),
        (channel::WR_DEC, 77),
        (channel::WR_EVENT_MASK, u64::from(u32::MAX)),
        (channel::WR_TAG_MASK, 6),
        (channel::WR_TAG_UPDATE, channel::TAG_UPDATE_IMMEDIATE),
    ] {
        assert_eq!(rig.write(number, value), ChannelWrite::Done, "{number}");
    }
    for (register, value) in [(problem::IN_MBOX, 3), (problem::SIG_NOTIFY_1, 4), (problem::NPC, 0x80)] {
        rig.host_write(PROBLEM, register, value);
    }
    rig.host_write(Area::Privileged, privileged::CONFIGURATION, 3);
    rig.element.stop_and_signal(0x2001, 0x100);
    rig.host_write(Area::Privileged, privileged::RESET, 1);
    let mut fresh = Rig::new();
    for number in 0..32 {
        let counts = [&mut rig, &mut fresh].map(|rig| rig.element.channel_count(number, Time::ZERO));
        assert_eq!(counts[0], counts[1], "channel {number}");
    }
    for number in [channel::RD_DEC, channel::RD_EVENT_MASK, channel::RD_TAG_MASK, channel::RD_IN_MBOX] {
        assert_eq!(rig.read(number), fresh.read(number), "channel {number}");
    }
    for register in
        [problem::MBOX_STAT, problem::STATUS, problem::NPC, problem::SIG_NOTIFY_1, problem::OUT_MBOX]
    {
        let both =
            [&mut rig, &mut fresh].map(|rig| rig.element.read((PROBLEM, register, 4), false, Time::ZERO));
        assert_eq!(both[0], both[1], "{register:#x}");
    }
    let configuration = (Area::Privileged, privileged::CONFIGURATION, 8);
    assert_eq!(rig.element.read(configuration, true, Time::ZERO), Ok(0));
}
