//! A port with a bus and page tables, driven access by access. The port's clock runs at 1 GHz: a cycle is a
//! nanosecond.

#[path = "../service/mod.rs"]
pub mod service;

use chasqui_config::{Bytes, Cycles, Duration, Frequency};
use chasqui_engine::{Clock, Time};
use chasqui_memory::{
    BlockOperation, BusParameters, CacheParameters, DEVICE_BASE, DramParameters, FlatMemory, L2Parameters,
    OrderParameters, PAGE_BYTES, Port, PortKind, PortParameters, Request, Stop, TlbParameters,
    WriteBufferParameters, order, pte,
};
use service::{Client, Happened, Service};

/// Bytes of physical memory.
pub const MEMORY: u64 = 1 << 20;
/// First of the pages that are mapped onto themselves; below are the tables.
pub const LOW: u64 = 0x1_0000;
/// Virtual page of the device.
pub const DEVICE: u64 = 0x3000_0000;
pub const ROOT: u64 = 0x1000;

pub struct Rig {
    pub memory: FlatMemory,
    pub port: Port,
    pub service: Service,
    /// The present [cycles], which are nanoseconds.
    pub cycle: u64,
}

/// 4 KiB of two-way caches with 64-byte lines, no L2, no costs but those of the bus.
pub fn parameters() -> PortParameters {
    let l1 = CacheParameters::new(4096, 2, 64);
    PortParameters {
        kind: PortKind::Caches,
        l1i: l1.clone(),
        l1d: l1,
        l2: L2Parameters { latency: Cycles::new(10), ..Default::default() },
        itlb: TlbParameters::new(16, 16),
        dtlb: TlbParameters::new(16, 16),
        write_buffer: WriteBufferParameters { entries: 4, posted: 4 },
        order: OrderParameters {
            walk: Cycles::new(2),
            fence: Cycles::new(0),
            flush: Cycles::new(0),
            atomic: Cycles::new(0),
            ..Default::default()
        },
        network_cache: None,
        check_coherence: false,
    }
}

/// 500 MHz and 16 bytes wide: a beat is 2 ns, an address tenure 4 ns. DRAM: 60 ns and 2 ns a chunk, 20 ns
/// after a write.
pub fn bus() -> (BusParameters, DramParameters) {
    (
        BusParameters {
            clock: Frequency::from_hz(500_000_000),
            width: Bytes::from_bytes(16),
            address: Cycles::new(2),
            pipelined: true,
            intervention: Cycles::new(4),
        },
        DramParameters {
            first_chunk: Duration::from_ps(60_000),
            next_chunk: Duration::from_ps(2_000),
            write: Duration::from_ps(20_000),
            banks: 1,
            ..Default::default()
        },
    )
}

fn clock() -> Clock {
    Clock::new(1_000_000_000)
}

impl Rig {
    pub fn new(parameters: PortParameters, bus: (BusParameters, DramParameters)) -> Rig {
        let mut memory = FlatMemory::new(MEMORY).unwrap();
        let table =
            |at: u64, index: u64, physical: u64, bits: u64| (at + index * 8, physical >> 12 << 10 | bits);
        let rights = pte::V | pte::R | pte::W | pte::X | pte::U;
        let mut entries = vec![
            table(ROOT, 0, ROOT + 0x1000, pte::V),
            table(ROOT + 0x1000, 0, ROOT + 0x2000, pte::V),
            table(ROOT + 0x1000, DEVICE >> 21 & 511, ROOT + 0x3000, pte::V),
            table(ROOT + 0x3000, 0, DEVICE_BASE, rights),
        ];
        entries.extend((LOW..MEMORY).step_by(4096).map(|p| table(ROOT + 0x2000, p >> 12, p, rights)));
        for (address, entry) in entries {
            memory.write(address, 8, entry).unwrap();
        }
        let mut port = Port::new(parameters, &mut memory);
        port.set_root(ROOT);
        Rig { memory, port, service: Service::new(bus), cycle: 0 }
    }

    pub fn usual() -> Rig {
        Rig::new(parameters(), bus())
    }

    fn collect(&mut self) {
        self.service.collect(&mut self.port, self.cycle, |cycle| clock().edge(cycle));
    }

    /// Lets everything happen that is due until `cycle`, which becomes the present.
    pub fn until(&mut self, cycle: u64) {
        self.collect();
        while self.service.next_time() <= clock().edge(cycle) {
            self.service.act(&mut self.port, &mut self.memory, |time| clock().edge_at_or_after(time));
            self.collect();
        }
        self.cycle = self.cycle.max(cycle);
    }

    /// Lets everything happen that is under way, and a little more, up to a multiple of 100.
    pub fn run_to_idle(&mut self) {
        while self.service.next_time() != Time::NEVER || self.port.wants_bus() {
            self.until(self.cycle + 1);
        }
        self.until((self.cycle / 100 + 1) * 100);
    }

    /// Tries an access once at `cycle`.
    pub fn at<T>(
        &mut self,
        cycle: u64,
        access: impl FnOnce(&mut Port, &mut u64) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.until(cycle);
        let done = access(&mut self.port, &mut self.cycle);
        self.collect();
        done
    }

    /// Performs an access now, as often as it must be tried; each try is a cycle after the one before.
    pub fn perform<T>(&mut self, mut access: impl FnMut(&mut Port, &mut u64) -> Result<T, Stop>) -> T {
        for _ in 0..100_000 {
            match self.at(self.cycle, &mut access) {
                Ok(value) => return value,
                Err(Stop::Wait(_)) => self.until(self.cycle + 1),
                Err(stop) => panic!("{stop:?}"),
            }
        }
        panic!("an access that makes no progress");
    }

    pub fn load(&mut self, va: u64) -> u64 {
        self.perform(|port, at| port.load(va, 8, at))
    }

    pub fn store(&mut self, va: u64, value: u64) {
        self.perform(|port, at| port.store(va, 8, value, at));
    }

    pub fn flush(&mut self, va: u64) {
        self.perform(|port, at| port.block(BlockOperation::Flush, va, at));
    }

    pub fn fence(&mut self) {
        self.perform(|port, at| port.fence(order::W | order::O, at));
    }

    /// Cycles that something takes.
    pub fn took(&mut self, what: impl FnOnce(&mut Rig)) -> u64 {
        let before = self.cycle;
        what(self);
        self.cycle - before
    }

    /// The access waits in every cycle before `ready`, counted from now, and is done at `ready`.
    pub fn probe<T>(&mut self, ready: u64, access: impl Fn(&mut Port, &mut u64) -> Result<T, Stop>) -> T {
        let now = self.cycle;
        // The first try asks for what is missing.
        assert!(matches!(self.at(now, &access), Err(Stop::Wait(_))), "ready at once");
        assert_eq!(self.cycle, now, "a try that waits takes no time");
        for cycle in 1..ready {
            assert!(matches!(self.at(now + cycle, &access), Err(Stop::Wait(_))), "ready at {cycle}");
        }
        self.at(now + ready, &access).unwrap_or_else(|stop| panic!("not ready at {ready}: {stop:?}"))
    }

    /// The port's requests that the bus granted, in their order.
    pub fn granted(&self) -> Vec<Request> {
        let granted = |happened: &Happened| match happened {
            Happened::Granted(Client::Port(_), request, _) => *request,
            _ => None,
        };
        self.service.log.iter().filter_map(|(_, happened)| granted(happened)).collect()
    }

    /// The page of `va` has its translation, and all is quiet.
    pub fn warm(&mut self, va: u64) {
        self.load((va & !(PAGE_BYTES - 1)) | 0xfc0);
        self.run_to_idle();
        self.service.log.clear();
    }
}
