//! A chip: local stores with their MFCs, memory, and the bus between them. How its parts are put together here is how a
//! machine does it, but that memory answers after a fixed time.

use std::collections::BTreeMap;

use chasqui_element::{
    Command, Eib, EibParameters, Mfc, MfcFault, MfcParameters, MfcStep, Source, Train, Transfer, TransferKind,
};
use chasqui_engine::Time;
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES, pte};

/// Bytes of a local store.
pub const STORE: u32 = 256 << 10;
/// Physical address of the first local store; the others follow.
pub const STORES: u64 = DEVICE_BASE;
/// Physical address of a device: a register of four bytes for each core.
pub const REGISTERS: u64 = DEVICE_BASE + (1 << 30);
/// Bytes of memory.
pub const MEMORY: u64 = 4 << 20;
/// The root page table; the other tables follow.
pub const ROOT: u64 = 0x10_0000;
/// From a command's answer to memory's data.
pub const LATENCY: Time = Time(50_000);

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Step(usize),
    Bus,
    Granted(usize, Transfer),
    Answered(usize, Transfer),
    Ready(usize, Transfer),
    Done(usize, usize),
}

/// A transfer that has been asked for, or is over.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    pub time: Time,
    pub core: usize,
    pub transfer: Transfer,
    pub is_over: bool,
}

pub struct Chip {
    pub eib: Eib,
    pub mfcs: Vec<Mfc>,
    pub stores: Vec<Vec<u8>>,
    pub memory: FlatMemory,
    pub registers: Vec<u32>,
    pub faults: Vec<(usize, MfcFault)>,
    pub notes: Vec<Noted>,
    pub now: Time,
    tables: u64,
    due: BTreeMap<(Time, u64), Due>,
    count: u64,
    bus_at: Option<Time>,
    /// By core and slot.
    transfers: BTreeMap<(usize, usize), Transfer>,
}

impl Chip {
    pub fn new(cores: usize, mfc: &MfcParameters) -> Chip {
        let mut chip = Chip {
            eib: Eib::new(EibParameters::default(), 12, Some(11)),
            mfcs: (0..cores).map(|_| Mfc::new(mfc.clone(), STORE)).collect(),
            stores: vec![vec![0; STORE as usize]; cores],
            memory: FlatMemory::new(MEMORY).unwrap(),
            registers: vec![0; cores],
            faults: vec![],
            notes: vec![],
            now: Time::ZERO,
            tables: ROOT,
            due: BTreeMap::new(),
            count: 0,
            bus_at: None,
            transfers: BTreeMap::new(),
        };
        chip.mfcs.iter_mut().for_each(|mfc| mfc.set_root(ROOT));
        chip.tables += PAGE_BYTES;
        chip
    }

    /// The unit at which memory, a local store or a register stands.
    fn unit(&self, physical: u64) -> Option<usize> {
        match physical {
            _ if physical < MEMORY => Some(11),
            REGISTERS.. => {
                Some((physical - REGISTERS) as usize / 4).filter(|core| *core < self.registers.len())
            }
            STORES.. => {
                Some((physical - STORES) as usize / STORE as usize).filter(|core| *core < self.stores.len())
            }
            _ => None,
        }
    }

    /// Maps the page at virtual address `page` to `physical` by real tables.
    pub fn map(&mut self, page: u64, physical: u64, rights: u64) {
        let mut table = ROOT;
        for level in [2, 1] {
            let at = table + (page >> (12 + 9 * level) & 511) * 8;
            let mut entry = self.memory.read(at, 8).unwrap();
            if entry & pte::V == 0 {
                entry = self.tables >> 2 | pte::V;
                self.memory.write(at, 8, entry).unwrap();
                self.tables += PAGE_BYTES;
            }
            table = pte::address(entry);
        }
        self.memory.write(table + (page >> 12 & 511) * 8, 8, physical >> 2 | rights).unwrap();
    }

    fn at(&mut self, time: Time, due: Due) {
        self.count += 1;
        self.due.insert((time, self.count), due);
    }

    /// Enters a command now; false: there was no room.
    pub fn enter(&mut self, core: usize, command: Command, source: Source) -> bool {
        let entered = self.mfcs[core].enter(command, source, self.now);
        self.follow(core);
        entered
    }

    /// Does what follows at an MFC.
    pub fn follow(&mut self, core: usize) {
        while let Some(step) = self.mfcs[core].step(self.now, &self.stores[core]) {
            match step {
                MfcStep::At(time) => self.at(time, Due::Step(core)),
                MfcStep::Fault(fault) => self.faults.push((core, fault)),
                MfcStep::Transfer(transfer) => {
                    self.note(core, transfer, false);
                    assert!(self.transfers.insert((core, transfer.slot), transfer).is_none());
                    let place = self.eib.command(self.now);
                    self.at(place.grant, Due::Granted(core, transfer));
                    self.at(place.answered, Due::Answered(core, transfer));
                }
            }
        }
    }

    fn note(&mut self, core: usize, transfer: Transfer, is_over: bool) {
        self.notes.push(Noted { time: self.now, core, transfer, is_over });
    }

    /// Something of the bus has changed: it is looked at again when it can begin with something.
    fn look(&mut self) {
        if let Some(at) = self.eib.next_grant()
            && self.bus_at.is_none_or(|bus_at| at < bus_at)
        {
            self.bus_at = Some(at);
            self.at(at, Due::Bus);
        }
    }

    fn ask(&mut self, core: usize, transfer: Transfer) {
        let other = self.unit(transfer.physical).expect("it was granted");
        let (from, to) = if transfer.kind.is_read() { (other, core) } else { (core, other) };
        let name = (core * 1000 + transfer.slot) as u64;
        self.eib.ask(Train { from, to, bytes: transfer.bytes, name }, self.now);
        self.look();
    }

    fn granted(&mut self, core: usize, transfer: Transfer) {
        let Transfer { slot, kind, physical, bytes, .. } = transfer;
        let Some(unit) = self.unit(physical) else { return };
        let store = |physical: u64| (physical - STORES) as usize % STORE as usize;
        if kind.is_read() {
            let data = match physical {
                REGISTERS.. => self.registers[unit].to_le_bytes().to_vec(),
                STORES.. => self.stores[unit][store(physical)..][..bytes as usize].to_vec(),
                _ => self.memory.slice(physical, bytes as usize).unwrap().to_vec(),
            };
            return self.mfcs[core].got(slot, &data);
        }
        let Some(data) = self.mfcs[core].put(slot, &self.stores[core]).map(<[u8]>::to_vec) else {
            self.transfers.insert((core, slot), Transfer { bytes: 0, ..transfer });
            return;
        };
        match physical {
            REGISTERS.. => self.registers[unit] |= u32::from_le_bytes(data[..].try_into().unwrap()),
            STORES.. => self.stores[unit][store(physical)..][..data.len()].copy_from_slice(&data),
            _ => self.memory.slice_mut(physical, data.len()).unwrap().copy_from_slice(&data),
        }
        for (other, mfc) in self.mfcs.iter_mut().enumerate() {
            if other != core {
                mfc.snoop_write(physical, u64::from(bytes));
            }
        }
    }

    fn answered(&mut self, core: usize, transfer: Transfer) {
        let key = (core, transfer.slot);
        if self.unit(transfer.physical).is_none() {
            self.transfers.remove(&key);
            self.mfcs[core].refuse(transfer.slot, self.now);
            return self.follow(core);
        }
        if self.transfers[&key].bytes == 0 {
            return self.done(core, transfer.slot);
        }
        let is_memory = transfer.physical < MEMORY && transfer.kind.is_read();
        let ready = self.now + if is_memory { LATENCY } else { Time::ZERO };
        self.at(ready, Due::Ready(core, transfer));
    }

    fn done(&mut self, core: usize, slot: usize) {
        let transfer = self.transfers.remove(&(core, slot)).expect("it is under way");
        self.note(core, transfer, true);
        self.mfcs[core].done(slot, &mut self.stores[core], self.now);
        self.follow(core);
    }

    /// Something happens. False: nothing is left.
    pub fn tick(&mut self) -> bool {
        let Some(((time, _), due)) = self.due.pop_first() else { return false };
        self.now = time;
        match due {
            Due::Step(core) => self.follow(core),
            Due::Granted(core, transfer) => self.granted(core, transfer),
            Due::Answered(core, transfer) => self.answered(core, transfer),
            Due::Ready(core, transfer) => self.ask(core, transfer),
            Due::Done(core, slot) => self.done(core, slot),
            Due::Bus => {
                self.bus_at.take_if(|at| *at <= time);
                while let Some(moving) = self.eib.grant(time) {
                    let name = moving.train.name as usize;
                    self.at(moving.end, Due::Done(name / 1000, name % 1000));
                }
                self.look();
            }
        }
        true
    }

    /// Goes on until nothing is left to do.
    pub fn run(&mut self) {
        while self.tick() {}
    }

    /// Goes on until `is_so`.
    ///
    /// # Panics
    /// It never is.
    pub fn run_until(&mut self, is_so: impl Fn(&Chip) -> bool) {
        while !is_so(self) {
            assert!(self.tick(), "nothing is left to do");
        }
    }

    /// Transfers of data, in the order in which they were asked for.
    pub fn data(&self) -> impl Iterator<Item = &Noted> {
        self.notes.iter().filter(|note| !note.is_over && note.transfer.kind != TransferKind::Table)
    }
}
