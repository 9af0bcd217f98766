//! The memory bus and the DRAM behind it: when transactions start and end.
//!
//! A transaction has an address tenure and, mostly, a data tenure. Address tenures are granted in
//! the order of requests; the snoop, and with it the coherence order, is at the grant. A pipelined
//! bus starts the next address tenure while earlier data are outstanding; data come in order.

use chasqui_engine::{Clock, Time};

/// Timing of the bus and the DRAM.
#[derive(Clone, Copy, Debug)]
pub struct BusParameters {
    /// The bus clock.
    pub clock: Clock,
    /// Bytes of one data beat.
    pub width_bytes: u32,
    /// Bus clocks of an address tenure, arbitration and snoop response included.
    pub address_cycles: u64,
    /// Address tenures may overlap earlier data tenures.
    pub pipelined: bool,
    /// Bus clocks from the snoop response to the first beat when another cache gives the line.
    pub intervention_cycles: u64,
    /// DRAM: time from the end of the address tenure to the first chunk of a read.
    pub dram_first_chunk: Time,
    /// DRAM: time of each next chunk of `width_bytes`.
    pub dram_next_chunk: Time,
    /// DRAM: time that a write keeps it busy after its last beat.
    pub dram_write: Time,
    /// DRAM: accesses that it serves at once, one a bank; they go to the banks in turn.
    pub dram_banks: usize,
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
    /// Nobody: an address-only transaction.
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
    address_free: Time,
    data_free: Time,
    /// By bank of the DRAM.
    dram_free: Vec<Time>,
    /// The bank that is next.
    bank: usize,
    /// What happened so far.
    pub statistics: BusStatistics,
}

/// Counters of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusStatistics {
    /// Transactions.
    pub transactions: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time in which a data beat was on the bus [ps].
    pub data_busy_ps: u64,
    /// Time in which the address tenure was taken [ps].
    pub address_busy_ps: u64,
}

impl Bus {
    /// An idle bus.
    pub fn new(parameters: BusParameters) -> Bus {
        let zero = Time::ZERO;
        Bus {
            parameters,
            address_free: zero,
            data_free: zero,
            dram_free: vec![zero; parameters.dram_banks],
            bank: 0,
            statistics: BusStatistics::default(),
        }
    }

    /// The bus clock.
    pub fn clock(&self) -> Clock {
        self.parameters.clock
    }

    /// When a request made at `at` is granted if nobody else asks.
    #[inline]
    pub fn grant_at(&self, at: Time) -> Time {
        self.parameters.clock.align(at.max(self.address_free))
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
        let address_end = self.parameters.clock.after(grant, self.parameters.address_cycles);
        let end = match responder {
            Responder::None => address_end,
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
        let clock = p.clock;
        let dram_ready = address_end.max(self.dram_free[self.bank]);
        let ready = match responder {
            Responder::Dram if write => dram_ready,
            Responder::Dram => dram_ready + p.dram_first_chunk,
            Responder::Cache => clock.after(address_end, p.intervention_cycles),
            Responder::Device(latency) => address_end + latency,
            Responder::None => unreachable!("no data tenure"),
        };
        let from_dram = responder == Responder::Dram && !write;
        let beats = u64::from(bytes.div_ceil(p.width_bytes));
        let last = beats - 1;
        // A beat takes a clock. The DRAM's first chunk is ready at the end of the first beat, all others at
        // its start.
        let start = clock.edge_at_or_after(ready.max(self.data_free));
        let in_time = from_dram && clock.edge(start) > self.data_free;
        let first_end = if in_time { start } else { start + 1 };
        let steady = clock.edge(first_end + last);
        let end = if from_dram {
            clock.align(steady.max(clock.edge(first_end) + Time(p.dram_next_chunk.0 * last)))
        } else {
            steady
        };
        self.statistics.data_busy_ps += clock.edge(beats).0;
        self.data_free = end;
        if responder == Responder::Dram {
            self.dram_free[self.bank] = if write { end + p.dram_write } else { end };
            self.bank = if self.bank + 1 == self.dram_free.len() { 0 } else { self.bank + 1 };
        }
        end
    }
}

impl BusStatistics {
    /// These, and `times` what was added from `before` to `after`.
    pub fn repeated(&self, before: &BusStatistics, after: &BusStatistics, times: u64) -> BusStatistics {
        BusStatistics {
            transactions: self.transactions + times * (after.transactions - before.transactions),
            bytes: self.bytes + times * (after.bytes - before.bytes),
            data_busy_ps: self.data_busy_ps + times * (after.data_busy_ps - before.data_busy_ps),
            address_busy_ps: self.address_busy_ps + times * (after.address_busy_ps - before.address_busy_ps),
        }
    }
}

impl BusStatistics {
    /// Visits the counters: name, unit, documentation, value.
    pub fn visit(&self, visit: &mut dyn FnMut(&str, &'static str, &'static str, u64)) {
        visit("transactions", "count", "Transactions.", self.transactions);
        visit("bytes", "bytes", "Bytes moved.", self.bytes);
        visit("data_busy_ps", "ps", "Time in which a data beat was on the bus.", self.data_busy_ps);
        visit("address_busy_ps", "ps", "Time in which the address tenure was taken.", self.address_busy_ps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus(pipelined: bool) -> Bus {
        Bus::new(BusParameters {
            clock: Clock::new(50_000_000),
            width_bytes: 8,
            address_cycles: 2,
            pipelined,
            intervention_cycles: 3,
            dram_first_chunk: Time(200_000),
            dram_next_chunk: Time(20_000),
            dram_write: Time(40_000),
            dram_banks: 1,
        })
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
