//! An I/O bus behind the memory system's bridge: PCI and its kind (PCI Local Bus Specification 2.1, 1995; sections by their
//! numbers). Masters share it: the bridge, for the processors ([`Bridge`]), and cards, for their DMA ([`CardDma`]).
//!
//! Whoever wants the bus asks ([`IoBus::ask`]); the arbiter gives it to one after the other ([`IoBus::grant`]), in turn, so
//! that nobody waits for ever (3.4: arbitration must be fair). A tenure begins with the address; then each clock moves a word,
//! unless a side is not ready, for which the other waits some clocks; then the master leaves, and tries again. Arbitration is hidden behind the tenure before (3.4.1). A master whose time is up leaves once
//! another one wants the bus (3.5.3.1: the latency timer).
//!
//! What is here says when, and what moves; it schedules nothing itself. Each call returns what follows, and the card's NI has
//! the events and the bus transactions.
//!
//! A card asks for no more than [`IoPath`], behind which is such a bus ([`Pci`]) or a link of packets ([`Pcie`]).

mod bridge;
mod card;
mod path;
mod pci;
mod pcie;

use chasqui_counters::{Counters, Visitor, below, counters};
use chasqui_engine::{Clock, Time};

pub use bridge::{Bridge, BridgeSpec, FromHost, HostLoad};
pub use card::{CardDma, CardDmaSpec, CardStep, HostBlock};
pub use path::{IoEvent, IoPath, IoStep};
pub use pci::Pci;
pub use pcie::{Pcie, PcieOverhead, PcieSpec};

/// What an I/O bus is made from.
#[derive(Clone, Debug)]
pub struct IoBusSpec {
    /// Its clock.
    pub clock: Clock,
    /// Bytes that move in a clock.
    pub width: u32,
    /// Names of its masters, for counters; a master is its index here.
    pub masters: &'static [&'static str],
    /// From a request on an idle bus to the address [clocks].
    pub arbitration: u64,
    /// What the address takes [clocks].
    pub address: u64,
    /// From the end of a tenure to the next address, if that was asked for before [clocks].
    pub turnaround: u64,
    /// What a master may use before it leaves the bus to others [clocks].
    pub latency_timer: u64,
    /// From the beginning of the address: if nothing moves by then, the target has the master try again (3.5.1.1) [clocks].
    pub initial_latency: u64,
    /// From one line to the next: if nothing moves by then, the target ends the tenure (3.5.1.2) [clocks].
    pub subsequent_latency: u64,
}

counters! {
    /// Counters of a master.
    pub struct IoBusStatistics {
        /// Tenures that it had.
        tenures: "count";
        /// Words that it moved.
        words: "count";
        /// Time from asking for the bus to the address.
        waited_ps: "ps";
        /// Time for which it had the bus.
        held_ps: "ps";
    }
}

#[derive(Clone, Copy, Default)]
struct Master {
    /// It wants the bus, since then.
    wants: Option<Time>,
    statistics: IoBusStatistics,
}

/// Who has the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tenure {
    master: usize,
    /// Its address begins.
    begin: Time,
}

/// The bus and its arbiter.
pub struct IoBus {
    spec: IoBusSpec,
    masters: Vec<Master>,
    tenure: Option<Tenure>,
    /// Who had the bus last.
    latest: usize,
    /// The next address comes no sooner.
    free: Time,
}

impl IoBus {
    /// One that nobody wants.
    pub fn new(spec: IoBusSpec) -> IoBus {
        assert!(spec.width.is_power_of_two() && spec.width <= 8);
        let count = spec.masters.len();
        IoBus {
            masters: vec![Master::default(); count],
            tenure: None,
            latest: count - 1,
            free: Time::ZERO,
            spec,
        }
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.spec.clock
    }

    /// Bytes that move in a clock.
    pub fn width(&self) -> u32 {
        self.spec.width
    }

    /// `master` wants the bus, if it does not have it or want it already.
    pub fn ask(&mut self, master: usize, now: Time) {
        if self.owner() != Some(master) {
            self.masters[master].wants.get_or_insert(now);
        }
    }

    /// Who has the bus.
    pub fn owner(&self) -> Option<usize> {
        self.tenure.map(|tenure| tenure.master)
    }

    /// If nobody has the bus and somebody wants it: who has it from now on, and when his address is over, at the end of which
    /// the target knows what is wanted.
    pub fn grant(&mut self, now: Time) -> Option<(usize, Time)> {
        if self.tenure.is_some() {
            return None;
        }
        let count = self.masters.len();
        let mut in_turn = (self.latest + 1..count).chain(0..=self.latest);
        let (master, since) = in_turn.find_map(|master| Some((master, self.masters[master].wants?)))?;
        let clock = self.spec.clock;
        let begin = clock.after(since, self.spec.arbitration).max(clock.align(now)).max(self.free);
        let Master { wants, statistics } = &mut self.masters[master];
        *wants = None;
        statistics.tenures += 1;
        statistics.waited_ps += (begin - since).0;
        self.latest = master;
        self.tenure = Some(Tenure { master, begin });
        Some((master, clock.after(begin, self.spec.address)))
    }

    /// When `bytes` from `address` on, which begin to move at `from`, have moved.
    pub fn moved(&mut self, from: Time, address: u64, bytes: u32) -> Time {
        let words = self.words(address, bytes);
        let owner = self.owner().expect("somebody has the bus");
        self.masters[owner].statistics.words += words;
        self.spec.clock.after(from, words)
    }

    /// Words in which these bytes lie.
    pub fn words(&self, address: u64, bytes: u32) -> u64 {
        let width = u64::from(self.spec.width);
        (address % width + u64::from(bytes)).div_ceil(width)
    }

    /// Of `bytes` from `address` on, which move from `from` on: those that have moved by `now`.
    pub fn crossed(&self, from: Time, address: u64, bytes: u32, now: Time) -> u32 {
        let (clock, width) = (self.spec.clock, u64::from(self.spec.width));
        let begun = clock.edge_at_or_after(from);
        let words = (clock.edge_at_or_after(Time(now.0 + 1)) - 1).saturating_sub(begun);
        (words * width).saturating_sub(if words > 0 { address % width } else { 0 }).min(bytes.into()) as u32
    }

    /// If nothing has moved by then, the owner leaves the bus and tries again.
    ///
    /// # Panics
    /// Nobody has the bus.
    pub fn initial_limit(&self) -> Time {
        let tenure = self.tenure.expect("somebody has the bus");
        self.spec.clock.after(tenure.begin, self.spec.initial_latency)
    }

    /// The same where something has moved in this tenure, up to `now`.
    pub fn subsequent_limit(&self, now: Time) -> Time {
        self.spec.clock.after(now, self.spec.subsequent_latency)
    }

    /// The owner's time is up, and another wants the bus.
    pub fn must_leave(&self, now: Time) -> bool {
        let Some(Tenure { begin, .. }) = self.tenure else { return false };
        let is_wanted = self.masters.iter().any(|master| master.wants.is_some());
        is_wanted && now >= self.spec.clock.after(begin, self.spec.latency_timer)
    }

    /// The owner leaves the bus at `now`.
    ///
    /// # Panics
    /// Nobody has it.
    pub fn leave(&mut self, now: Time) {
        let Tenure { master, begin } = self.tenure.take().expect("somebody has the bus");
        self.masters[master].statistics.held_ps += now.0.saturating_sub(begin.0);
        self.free = self.spec.clock.after(now, self.spec.turnaround);
    }

    /// What has happened to `master`.
    pub fn master(&self, master: usize) -> IoBusStatistics {
        self.masters[master].statistics
    }

    /// Visits the masters' counters, each below its name.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        for (name, master) in self.spec.masters.iter().zip(&self.masters) {
            master.statistics.visit(&mut below(name, visit));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const BRIDGE: usize = 0;
    pub const CARD: usize = 1;

    /// 32 bits in 30 ns: two clocks of arbitration, one of address, one between tenures, 16 on the timer.
    pub fn bus() -> IoBus {
        IoBus::new(IoBusSpec {
            clock: Clock::new(33_333_333),
            width: 4,
            masters: &["bridge", "card"],
            arbitration: 2,
            address: 1,
            turnaround: 1,
            latency_timer: 16,
            initial_latency: 16,
            subsequent_latency: 8,
        })
    }

    /// Edge `n` of its clock.
    pub fn edge(n: u64) -> Time {
        Clock::new(33_333_333).edge(n)
    }

    #[test]
    fn an_idle_bus_is_had_after_arbitration_and_address() {
        let mut bus = bus();
        assert_eq!(bus.grant(Time::ZERO), None);
        bus.ask(CARD, edge(10));
        assert_eq!(bus.grant(edge(10)), Some((CARD, edge(13))));
        assert_eq!((bus.owner(), bus.grant(edge(10))), (Some(CARD), None));
        assert_eq!(bus.moved(edge(13), 2, 8), edge(16), "three words hold what is not aligned");
        bus.leave(edge(16));
        let of_card = bus.master(CARD);
        assert_eq!((of_card.tenures, of_card.words), (1, 3));
        assert_eq!((of_card.waited_ps, of_card.held_ps), ((edge(12) - edge(10)).0, (edge(16) - edge(12)).0));
    }

    #[test]
    fn arbitration_is_hidden_and_masters_take_turns() {
        let mut bus = bus();
        bus.ask(BRIDGE, edge(0));
        bus.grant(edge(0));
        // Both want it again before it is free; the card has not had it yet.
        bus.ask(CARD, edge(3));
        bus.leave(edge(6));
        bus.ask(BRIDGE, edge(6));
        assert_eq!(bus.grant(edge(6)), Some((CARD, edge(8))), "a clock between, and the address");
        bus.leave(edge(9));
        bus.ask(CARD, edge(9));
        assert_eq!(bus.grant(edge(9)), Some((BRIDGE, edge(11))));
    }

    #[test]
    fn whoever_is_alone_keeps_the_bus_and_others_wait_for_the_timer() {
        let mut bus = bus();
        bus.ask(CARD, edge(0));
        bus.grant(edge(0));
        assert!(!bus.must_leave(edge(1000)));
        bus.ask(BRIDGE, edge(4));
        assert!(!bus.must_leave(edge(17)), "its address began at 2");
        assert!(bus.must_leave(edge(18)));
    }
}
