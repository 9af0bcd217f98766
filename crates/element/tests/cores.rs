//! Cores with addresses: local stores and registers as others reach them.
//!
//! Use this when the map of addresses, or what moves at a grant, changes.

use chasqui_element::{
    Area, AtomicStatus, ChannelRead, Command, CoreMap, Cores, Element, ElementParameters, Granted,
    MfcParameters, MfcStep, Place, Reason, Refusal, Source, TableSearch, channel, event, opcode, privileged,
    problem,
};
use chasqui_engine::Time;
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES, Translation, pte};

const STORE: u64 = 256 << 10;

/// Three cores whose transfers are made at once; effective addresses are physical ones.
struct Rig {
    cores: Cores,
    stores: Vec<Vec<u8>>,
    memory: FlatMemory,
    now: Time,
    faults: Vec<(usize, Reason)>,
}

impl Rig {
    fn new() -> Rig {
        let mfc = MfcParameters { translation: TableSearch::Kernel, ..MfcParameters::default() };
        let parameters = ElementParameters { mfc, ..ElementParameters::default() };
        let map = CoreMap::new(DEVICE_BASE, STORE, 3);
        let cores = Cores { map, elements: (0..3).map(|_| Element::new(&parameters)).collect() };
        let stores = (0..3).map(|core| vec![core as u8 + 1; STORE as usize]).collect();
        Rig { cores, stores, memory: FlatMemory::new(1 << 20).unwrap(), now: Time::ZERO, faults: vec![] }
    }

    /// The address as an effective one of Sv39: the devices' part of physical addresses is at 64 GiB.
    fn effective(physical: u64) -> u64 {
        if physical < DEVICE_BASE { physical } else { physical - DEVICE_BASE + (1 << 36) }
    }

    fn follow(&mut self, core: usize) {
        while let Some(step) = self.cores.elements[core].step(self.now, &self.stores[core]) {
            match step {
                MfcStep::At(at) => self.now = at,
                MfcStep::Fault(fault) if fault.reason == Reason::Miss => {
                    let virtual_page = fault.address / PAGE_BYTES * PAGE_BYTES;
                    let is_device = virtual_page >= 1 << 36;
                    let physical_page =
                        if is_device { virtual_page - (1 << 36) + DEVICE_BASE } else { virtual_page };
                    let permissions = pte::R | pte::W | pte::U;
                    let mfc = &mut self.cores.elements[core].mfc;
                    mfc.load_translation(Translation { virtual_page, physical_page, permissions });
                    assert!(mfc.restart());
                }
                MfcStep::Fault(fault) => self.faults.push((core, fault.reason)),
                MfcStep::Transfer(transfer) => {
                    match self.cores.granted(core, transfer, &mut self.stores, &mut self.memory, self.now) {
                        Granted::Refused => {
                            self.cores.elements[core].mfc.refuse(transfer.slot, self.now);
                            continue;
                        }
                        Granted::Moves(Some(other)) if other != core => self.follow(other),
                        _ => {}
                    }
                    self.cores.elements[core].mfc.done(transfer.slot, &mut self.stores[core], self.now);
                }
            }
        }
    }

    fn dma(&mut self, core: usize, opcode: u32, local: u32, physical: u64, bytes: u32) {
        let command = Command { opcode, local, effective: Rig::effective(physical), bytes, tag: 0 };
        assert!(self.cores.elements[core].mfc.enter(command, Source::Core, self.now));
        self.follow(core);
    }

    fn register(&self, core: usize, offset: u64) -> u64 {
        self.cores.map.area(core, Area::Problem) + offset
    }

    fn host_write(&mut self, place: (u64, u32), value: u64, kernel: bool) -> Result<usize, Refusal> {
        self.cores.host_write(place, value, kernel, &mut self.stores, self.now)
    }

    fn host_read(&mut self, place: (u64, u32), kernel: bool) -> Result<u64, Refusal> {
        self.cores.host_read(place, kernel, &mut self.stores, self.now)
    }
}

/// Every address has one place, and what crosses an end of a place has none.
#[test]
fn places_do_not_overlap() {
    for store in [16 << 10, 256 << 10, 1 << 20] {
        let map = CoreMap::new(DEVICE_BASE, store, 5);
        let areas = [Area::Problem, Area::Privileged, Area::Hypervisor];
        for core in 0..5 {
            assert_eq!(map.place(map.store(core), store), Place::Store(core, 0));
            assert_eq!(map.place(map.store(core) + store - 8, 8), Place::Store(core, store - 8));
            assert_eq!(map.place(map.store(core) + store - 8, 16), Place::Nothing);
            for area in areas {
                let first = map.area(core, area);
                assert!(first.is_multiple_of(PAGE_BYTES) && first >= map.store(core) + store);
                assert_eq!(map.place(first, 8), Place::Register(core, area, 0));
                assert_eq!(
                    map.place(first + area.bytes() - 4, 4),
                    Place::Register(core, area, area.bytes() - 4)
                );
                assert_ne!(
                    map.place(first + area.bytes() - 4, 8),
                    Place::Register(core, area, area.bytes() - 4)
                );
            }
        }
        let end = map.store(4) + (map.store(4) - map.store(3));
        assert_eq!([map.place(end - 8, 8), map.place(end, 8)], [Place::Nothing, Place::Elsewhere]);
        assert_eq!(map.place(DEVICE_BASE - 8, 8), Place::Elsewhere);
    }
}

#[test]
fn local_stores_exchange_lines() {
    let mut rig = Rig::new();
    let other = rig.cores.map.store(1);
    rig.dma(0, opcode::PUT, 0x100, other + 0x200, 256);
    rig.dma(0, opcode::GET, 0x1000, other + 0x300 - 64, 128);
    assert_eq!(
        (rig.stores[1][0x1ff..0x201].to_vec(), rig.stores[1][0x2ff], rig.stores[1][0x300]),
        (vec![2, 1], 1, 2)
    );
    assert_eq!((rig.stores[0][0x103f], rig.stores[0][0x1040], rig.stores[0][0x107f]), (1, 2, 2));
    rig.dma(2, opcode::PUT, 0, 0x8000, 16);
    assert_eq!(rig.memory.read(0x8000, 8), Ok(0x0303_0303_0303_0303));
    assert!(rig.faults.is_empty());
}

/// Cores signal each other, and put into each other's mailboxes, as programs of the host do.
#[test]
fn registers_are_reached_by_dma() {
    let mut rig = Rig::new();
    rig.stores[0][0x1c..0x20].copy_from_slice(&0x8000_0001_u32.to_le_bytes());
    let signal = rig.register(2, problem::SIG_NOTIFY_1);
    rig.dma(0, opcode::SNDSIG, 0x1c, signal, 4);
    let element = &mut rig.cores.elements[2];
    assert_eq!(element.read_channel(channel::RD_SIG_NOTIFY_1, rig.now), ChannelRead::Value(0x8000_0001));
    let mailbox = rig.register(1, problem::IN_MBOX);
    rig.dma(0, opcode::PUT, 0x1c, mailbox, 4);
    let now = rig.now;
    let element = &mut rig.cores.elements[1];
    element.write_channel(channel::WR_EVENT_MASK, event::IN_MBOX as u32, now);
    assert_eq!(element.read_channel(channel::RD_EVENT_STAT, now), ChannelRead::Value(event::IN_MBOX as u32));
    assert_eq!(element.read_channel(channel::RD_IN_MBOX, now), ChannelRead::Value(0x8000_0001));
    let status = rig.register(1, problem::MBOX_STAT);
    rig.dma(0, opcode::GET, 0x404, status, 4);
    assert_eq!(rig.stores[0][0x404..0x408], [0, 4, 0, 0]);
    assert!(rig.faults.is_empty());
}

/// A core may have another's MFC work for it: what was written to its registers is followed.
#[test]
fn a_core_enters_proxy_commands_of_another() {
    let mut rig = Rig::new();
    let words = [
        (problem::MFC_LSA, 0x40_u32),
        (problem::MFC_EAH, 0),
        (problem::MFC_EAL, 0x9000),
        (problem::MFC_SIZE_TAG, 64 << 16),
        (problem::MFC_CLASS_CMD, opcode::PUT),
    ];
    for (offset, word) in words {
        let local = (offset % 16) as usize;
        rig.stores[0][local..local + 4].copy_from_slice(&word.to_le_bytes());
        let register = rig.register(1, offset);
        rig.dma(0, opcode::PUT, local as u32, register, 4);
    }
    assert_eq!(rig.memory.read(0x9038, 8), Ok(0x0202_0202_0202_0202));
    assert_eq!(rig.cores.elements[1].mfc.statistics.proxy_commands, 1);
}

#[test]
fn what_no_program_may_have_no_transfer_has() {
    let rig = Rig::new();
    let (map, register) = (rig.cores.map, rig.register(1, problem::SIG_NOTIFY_1));
    for (opcode, physical, bytes) in [
        (opcode::PUT, map.area(1, Area::Privileged) + privileged::CONFIGURATION, 8),
        (opcode::GET, map.area(1, Area::Hypervisor) + 0x400, 8),
        (opcode::PUT, register & !15, 16),
        (opcode::PUT, register, 2),
        (opcode::GET, rig.register(1, problem::IN_MBOX), 4),
        (opcode::GET, map.store(1) + STORE - 128 + Area::Problem.bytes() * 3, 128),
        (opcode::PUT, 1 << 20, 16),
    ] {
        let mut rig = Rig::new();
        rig.dma(0, opcode, (physical % 16) as u32, physical, bytes);
        assert_eq!(rig.faults, [(0, Reason::NoMemory)], "{opcode:#x} of {bytes} at {physical:#x}");
        let collects = rig.host_read((map.area(1, Area::Privileged) + privileged::CONFIGURATION, 8), true);
        assert_eq!(collects, Ok(0));
    }
}

#[test]
fn reservations_end_by_whoever_writes() {
    let place = 0x8000;
    for writer in 0..3 {
        let mut rig = Rig::new();
        rig.dma(0, opcode::GETLLAR, 0, place, 128);
        assert_eq!(rig.cores.elements[0].mfc.take_atomic_status(), Some(AtomicStatus::Reserved));
        match writer {
            0 => rig.cores.written(None, place + 8, 8),
            1 => rig.dma(1, opcode::PUT, 0, place + 112, 16),
            _ => rig.dma(1, opcode::GET, 0, place, 128),
        }
        rig.stores[0][0] = 9;
        rig.dma(0, opcode::PUTLLC, 0, place, 128);
        let done = AtomicStatus::Conditional(writer == 2);
        assert_eq!(rig.cores.elements[0].mfc.take_atomic_status(), Some(done));
        assert_eq!(rig.memory.read(place, 1), Ok(if writer == 2 { 9 } else { 0 }));
    }
}

#[test]
fn the_host_has_local_stores_and_what_it_may_of_registers() {
    let mut rig = Rig::new();
    let (store, control) =
        (rig.cores.map.store(2), rig.cores.map.area(2, Area::Privileged) + privileged::CONFIGURATION);
    assert_eq!(rig.host_write((store + 8, 8), 0x0102_0304_0506_0708, false), Ok(2));
    assert_eq!(rig.host_read((store + 12, 2), false), Ok(0x0304));
    assert_eq!(rig.host_read((control, 8), false), Err(Refusal::Privileged));
    assert_eq!(rig.host_write((control, 8), 1, false), Err(Refusal::Privileged));
    assert_eq!((rig.host_write((control, 8), 1, true), rig.host_read((control, 8), true)), (Ok(2), Ok(1)));
    let status = rig.register(2, problem::STATUS);
    assert_eq!(rig.host_read((status, 4), false), Ok(0));
    assert_eq!(rig.host_read((store + STORE - 4, 8), true), Err(Refusal::NoRegister));
    assert_eq!(rig.host_write((0x1000, 8), 0, true), Err(Refusal::NoRegister));
}
