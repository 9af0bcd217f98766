//! The memory bus and the DRAM behind it: when transactions start and end.
//!
//! A transaction has an address tenure and, mostly, a data tenure. Address tenures are granted in
//! the order of requests; the snoop, and with it the coherence order, is at the grant. A pipelined
//! bus starts the next address tenure while earlier data are outstanding; data come in order.

use chasqui_config::{Bytes, Count, Cycles, Duration, Flag, Frequency};
use chasqui_counters::counters;
use chasqui_engine::{Clock, Time};

chasqui_config::parameters! {
    /// The memory bus.
    pub struct BusParameters {
        /// Clock frequency.
        clock: Frequency = "500 MHz", range "1 MHz" ..= "100 GHz", source "assumption";
        /// Width of a data beat.
        width: Bytes = "16 B", range "1 B" ..= "128 B", source "assumption";
        /// Bus clocks of an address tenure, with arbitration and snoop response.
        address: Cycles = 2, range 1 ..= 100, source "assumption";
        /// Address tenures overlap earlier data tenures.
        pipelined: Flag = true, source "assumption";
        /// Bus clocks from the snoop response to the first beat of a line that another cache gives.
        intervention: Cycles = 4, range 0 ..= 1000, source "assumption";
    }
}

chasqui_config::parameters! {
    /// Main memory.
    pub struct DramParameters {
        /// Capacity.
        size: Bytes = "1 GiB", range "1 MiB" ..= "64 GiB", source "assumption";
        /// From the end of the address tenure to the first chunk of a read.
        first_chunk: Duration = "60 ns", range "0 ns" ..= "10 us", source "assumption";
        /// Each next chunk of the bus's width.
        next_chunk: Duration = "2 ns", range "0 ns" ..= "10 us", source "assumption";
        /// Accesses that it serves at once, one a bank; they go to the banks in turn.
        banks: Count = 1, range 1 ..= 1024, source "assumption: the plainest";
        /// How long a write keeps it busy after its last beat.
        write: Duration = "20 ns", range "0 ns" ..= "10 us", source "assumption";
    }
}

impl BusParameters {
    /// The bus clock.
    pub fn clock(&self) -> Clock {
        Clock::new(self.clock.hz())
    }
}

/// Who answers on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responder {
    /// Main memory.
    Dram,
    /// A cache that holds the line modified.
    Cache,
    /// A device, with the time that it takes from the end of the address tenure to its first beat.
    Device(Time),
    /// An address-only transaction.
    None,
}

/// Times of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// The address tenure begins: the transaction takes its place in the order.
    pub grant: Time,
    /// The address tenure ends.
    pub address_end: Time,
    /// The last beat is over.
    pub end: Time,
}

/// The bus's state.
pub struct Bus {
    parameters: BusParameters,
    dram: DramParameters,
    clock: Clock,
    address_free: Time,
    data_free: Time,
    /// By bank of the DRAM.
    dram_free: Vec<Time>,
    /// The bank that is next.
    bank: usize,
    /// What happened so far.
    pub statistics: BusStatistics,
}

counters! {
    /// Counters of a bus.
    pub struct BusStatistics {
        /// Transactions.
        transactions: "count";
        /// Bytes moved.
        bytes: "bytes";
        /// Time in which a data beat was on the bus.
        data_busy_ps: "ps";
        /// Time in which the address tenure was taken.
        address_busy_ps: "ps";
    }
}

impl Bus {
    /// An idle bus.
    pub fn new(parameters: BusParameters, dram: DramParameters) -> Bus {
        let zero = Time::ZERO;
        Bus {
            clock: parameters.clock(),
            address_free: zero,
            data_free: zero,
            dram_free: vec![zero; dram.banks as usize],
            bank: 0,
            statistics: BusStatistics::default(),
            parameters,
            dram,
        }
    }

    /// The bus clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// When a request made at `at` is granted if there is no other.
    #[inline]
    pub fn grant_at(&self, at: Time) -> Time {
        self.clock.align(at.max(self.address_free))
    }

    /// Nothing is under way at `now`.
    pub fn is_idle(&self, now: Time) -> bool {
        self.address_free.max(self.data_free) <= now && self.dram_free.iter().all(|&free| free <= now)
    }

    /// A transaction granted at `grant` finds no earlier one's data on the bus.
    #[inline]
    pub fn is_free(&self, grant: Time) -> bool {
        self.data_free <= grant
    }

    /// Moves what is under way on by `length`: a repetition was skipped.
    pub fn shift(&mut self, length: Time) {
        self.address_free += length;
        self.data_free += length;
        self.dram_free.iter_mut().for_each(|free| *free += length);
    }

    /// Places a transaction whose grant is `grant` (from [`Bus::grant_at`]).
    pub fn place(&mut self, grant: Time, bytes: u32, write: bool, responder: Responder) -> Tenure {
        let address_end = self.clock.after(grant, self.parameters.address.cycles());
        let end = match responder {
            Responder::None => address_end,
            // Nothing is moved: there is no data tenure.
            _ if bytes == 0 => address_end,
            _ => self.data_tenure(address_end, bytes, write, responder),
        };
        self.address_free = if self.parameters.pipelined { address_end } else { end };
        self.statistics.transactions += 1;
        self.statistics.bytes += u64::from(bytes);
        self.statistics.address_busy_ps += (address_end - grant).0;
        Tenure { grant, address_end, end }
    }

    fn data_tenure(&mut self, address_end: Time, bytes: u32, write: bool, responder: Responder) -> Time {
        let p = &self.parameters;
        let (clock, dram) = (self.clock, &self.dram);
        let dram_ready = address_end.max(self.dram_free[self.bank]);
        let ready = match responder {
            Responder::Dram if write => dram_ready,
            Responder::Dram => dram_ready + Time(dram.first_chunk.ps()),
            Responder::Cache => clock.after(address_end, p.intervention.cycles()),
            Responder::Device(latency) => address_end + latency,
            Responder::None => unreachable!("no data tenure"),
        };
        let from_dram = responder == Responder::Dram && !write;
        // Of 32 bits: a division of 64 takes several times as long on many hosts.
        let beats = u64::from(bytes.div_ceil(p.width.bytes() as u32));
        let last = beats - 1;
        // A beat takes a clock. The DRAM's first chunk is ready at the end of the first beat, all others at
        // its start.
        let start = clock.edge_at_or_after(ready.max(self.data_free));
        let in_time = from_dram && clock.edge(start) > self.data_free;
        let first_end = if in_time { start } else { start + 1 };
        let steady = clock.edge(first_end + last);
        let end = if from_dram {
            let last_chunk = clock.edge(first_end) + Time(dram.next_chunk.ps() * last);
            if last_chunk > steady { clock.align(last_chunk) } else { steady }
        } else {
            steady
        };
        self.statistics.data_busy_ps += clock.edge(beats).0;
        self.data_free = end;
        if responder == Responder::Dram {
            self.dram_free[self.bank] = if write { end + Time(dram.write.ps()) } else { end };
            self.bank = if self.bank + 1 == self.dram_free.len() { 0 } else { self.bank + 1 };
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus(pipelined: bool) -> Bus {
        let bus = BusParameters {
            clock: Frequency::from_hz(50_000_000),
            width: Bytes::from_bytes(8),
            address: Cycles::new(2),
            pipelined,
            intervention: Cycles::new(3),
        };
        let dram = DramParameters {
            first_chunk: Duration::from_ps(200_000),
            next_chunk: Duration::from_ps(20_000),
            write: Duration::from_ps(40_000),
            ..Default::default()
        };
        Bus::new(bus, dram)
    }

    #[test]
    fn a_line_from_dram_takes_address_first_chunk_and_the_rest() {
        let mut bus = bus(false);
        let grant = bus.grant_at(Time(1));
        let t = bus.place(grant, 32, false, Responder::Dram);
        // Granted at the next edge, 20 ns; 2 clocks of address; 200 ns to the first chunk; 3 more at 20 ns.
        assert_eq!(
            t,
            Tenure { grant: Time(20_000), address_end: Time(60_000), end: Time(60_000 + 200_000 + 60_000) }
        );
        assert_eq!(bus.grant_at(Time(30_000)), t.end, "not pipelined: the next waits for the data");
    }

    #[test]
    fn a_pipelined_bus_overlaps_the_next_address() {
        let mut bus = bus(true);
        let first = bus.place(Time::ZERO, 32, false, Responder::Dram);
        let grant = bus.grant_at(Time::ZERO);
        assert_eq!(grant, first.address_end);
        let second = bus.place(grant, 32, false, Responder::Dram);
        assert_eq!(second.end, first.end + Time(200_000 + 60_000), "the DRAM serves one at a time");
    }

    #[test]
    fn banks_work_at_once_and_their_data_come_in_order() {
        let mut bus = bus(true);
        bus.dram_free = vec![Time::ZERO; 2];
        let read = |bus: &mut Bus| {
            let grant = bus.grant_at(Time::ZERO);
            bus.place(grant, 32, false, Responder::Dram)
        };
        let (first, second, third) = (read(&mut bus), read(&mut bus), read(&mut bus));
        // The second's data follow the first's: 4 beats; the third waits for the first's bank.
        assert_eq!(second.end, first.end + Time(80_000));
        assert_eq!(third.end, first.end + Time(200_000 + 60_000));
    }

    #[test]
    fn uncached_and_address_only_transactions() {
        let mut bus = bus(false);
        let read = bus.place(Time::ZERO, 4, false, Responder::Device(Time(40_000)));
        assert_eq!(read.end, Time(40_000 + 40_000 + 20_000), "address, device, one beat");
        let grant = bus.grant_at(read.end);
        let kill = bus.place(grant, 0, false, Responder::None);
        assert_eq!(kill.end, read.end + Time(40_000));
    }

    #[test]
    fn a_write_keeps_the_dram_from_the_next_read() {
        let mut bus = bus(true);
        let write = bus.place(Time::ZERO, 32, true, Responder::Dram);
        assert_eq!(write.end, Time(40_000 + 80_000));
        let grant = bus.grant_at(write.end);
        let read = bus.place(grant, 8, false, Responder::Dram);
        assert_eq!(
            read.end,
            write.end + Time(40_000) + Time(200_000),
            "busy 40 ns, overlapped by the address"
        );
    }
}
