//! The element interconnect bus of Cell: a bus for commands, which all units snoop, and rings for data, half of them each
//! way round. It says when, and schedules nothing itself: whoever has it asks for a command's place ([`Eib::command`]), has
//! data moved when they are there ([`Eib::ask`]), and comes back when the arbiter can begin with something
//! ([`Eib::next_grant`], [`Eib::grant`]).
//!
//! Units stand around the rings, one at each stop; a segment lies between two. Data go at most half way round, the shorter
//! way, in a train of beats of a fixed length: it enters its first segment a beat a clock and is a hop further each
//! [`EibParameters::hop`] clocks. Trains move at once where they don't meet: no two are on a segment of a ring in one clock,
//! a unit sends one at a time and takes one at a time. What a unit sends to itself uses no segment.
//!
//! The arbiter looks at the oldest train of each unit, in turn, memory before all others. None begins that would have the one
//! begin later that has waited longest, so that none waits for ever (ours: the arbiter's rule is not documented).

use std::collections::VecDeque;

use chasqui_config::{Bytes, Count, Cycles, Frequency};
use chasqui_counters::counters;
use chasqui_engine::{Clock, Time};

chasqui_config::parameters! {
    /// The element interconnect bus. Cycles are its own clocks.
    pub struct EibParameters {
        /// Its clock.
        clock: Frequency = "1.6 GHz", range "1 MHz" ..= "100 GHz", source "Khunjush, 8.2: eight bytes a cycle of 3.2 GHz a unit; Krolak, The Element Interconnect Bus, Fall Processor Forum 2005: 16 bytes at half of the cores' clock";
        /// Rings each way round.
        rings: Count = 2, range 1 ..= 8, source "Khunjush, 8.2: four rings; Krolak (2005): two each way";
        /// Bytes of a beat.
        width: Bytes = "16 B", range "1 B" ..= "128 B", source "Krolak (2005)";
        /// Beats of a train, whatever it carries.
        beats: Count = 8, range 1 ..= 64, source "Krolak (2005): each transfer takes eight beats";
        /// From one train's begin on a ring to the next one's there.
        start: Cycles = 3, range 1 ..= 64, source "Krolak (2005): a ring starts an operation every three cycles";
        /// From one stop to the next.
        hop: Cycles = 1, range 1 ..= 64, source "assumption: a stop has a register";
        /// From a train's request to its begin, at least.
        arbitration: Cycles = 2, range 0 ..= 64, source "assumption";
        /// From one command's place in the order to the next one's.
        command: Cycles = 1, range 1 ..= 64, source "Kahle et al., IBM J. Res. Dev. 49(4/5), 2005: one address is snooped each bus cycle (as remembered: we could not look at it)";
        /// From a command's place in the order to the snoops' combined answer.
        snoop: Cycles = 50, range 1 ..= 10000, source "assumption, after Kistler, Perrone, Petrini, IEEE Micro 26(3), 2006, table 1: coherence protocol, 100 cycles of 3.2 GHz (as remembered: we could not look at it)";
    }
}

impl EibParameters {
    /// The bus clock.
    pub fn clock(&self) -> Clock {
        Clock::new(self.clock.hz())
    }

    /// Most bytes of a train.
    pub fn train_bytes(&self) -> u32 {
        (self.width.bytes() * self.beats) as u32
    }
}

/// The units of Cell in their order around the rings (Krolak 2005, figure; as remembered: we could not look at it). Memory is
/// the last.
pub const CELL_UNITS: [&str; 12] =
    ["ppe", "spe1", "spe3", "spe5", "spe7", "io1", "io0", "spe6", "spe4", "spe2", "spe0", "memory"];

/// The place in the order of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// All units see it from then on, in this order: caches are snooped, data move.
    pub grant: Time,
    /// The combined answer is with whoever asked; data may be asked for.
    pub answered: Time,
}

/// Data that are to go from one unit to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// The unit that sends.
    pub from: usize,
    /// The unit that takes.
    pub to: usize,
    /// Length [bytes], 1 to [`EibParameters::train_bytes`].
    pub bytes: u32,
    /// Its owner's name for it.
    pub name: u64,
}

/// A train that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// Which.
    pub train: Train,
    /// The ring that it uses, those that go up first; none for a unit's own.
    pub ring: Option<usize>,
    /// Its first beat begins.
    pub begin: Time,
    /// Its first beat has come.
    pub first: Time,
    /// Its last beat with data has come.
    pub end: Time,
}

counters! {
    /// Counters of an element interconnect bus.
    pub struct EibStatistics {
        /// Commands that have got their place.
        commands: "count";
        /// Time that commands waited for it.
        command_waited_ps: "ps";
        /// Trains that have begun.
        trains: "count";
        /// Bytes of data in them.
        bytes: "bytes";
        /// Segments that they passed, all together.
        segments: "count";
        /// Time from a train's request to its begin, what the arbiter takes at least not included.
        waited_ps: "ps";
    }
}

/// A train that waits, with the first clock in which it could begin.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    train: Train,
    ready: u64,
}

/// A unit's stop. Clocks are edges.
#[derive(Default)]
struct Stop {
    waiting: VecDeque<Waiting>,
    /// It can begin to send.
    sends: u64,
    /// The first beat of the next train can come in.
    takes: u64,
}

struct Ring {
    /// Units' numbers grow on the way.
    up: bool,
    /// The next train begins no sooner.
    begins: u64,
    /// By segment, numbered by the unit at its lower end: free from then on.
    segments: Vec<u64>,
}

/// A way that a train can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    train: Train,
    /// None: it stays with its unit.
    ring: Option<usize>,
    up: bool,
    hops: u64,
    /// The clock in which it begins.
    begin: u64,
}

/// The bus.
pub struct Eib {
    parameters: EibParameters,
    clock: Clock,
    /// The unit that goes before all others.
    memory: Option<usize>,
    stops: Vec<Stop>,
    rings: Vec<Ring>,
    /// The unit that is looked at first.
    turn: usize,
    /// The next command's place comes no sooner.
    commands: u64,
    /// What happened so far.
    pub statistics: EibStatistics,
}

impl Eib {
    /// An idle bus of so many `units`, at least two, of which `memory` goes before all others.
    pub fn new(parameters: EibParameters, units: usize, memory: Option<usize>) -> Eib {
        assert!(units >= 2 && memory.is_none_or(|memory| memory < units), "{units} units");
        let ring = |up| Ring { up, begins: 0, segments: vec![0; units] };
        let each = parameters.rings as usize;
        Eib {
            clock: parameters.clock(),
            memory,
            stops: (0..units).map(|_| Stop::default()).collect(),
            rings: (0..2 * each).map(|number| ring(number < each)).collect(),
            turn: 0,
            commands: 0,
            statistics: EibStatistics::default(),
            parameters,
        }
    }

    /// The bus clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Units.
    pub fn units(&self) -> usize {
        self.stops.len()
    }

    /// When a command asked for at `at` gets its place if there is no other.
    pub fn command_at(&self, at: Time) -> Time {
        self.clock.edge(self.clock.edge_at_or_after(at).max(self.commands))
    }

    /// A command is asked for at `at`, behind those that were asked for before.
    pub fn command(&mut self, at: Time) -> Command {
        let asked = self.clock.edge_at_or_after(at);
        let place = asked.max(self.commands);
        self.commands = place + self.parameters.command.cycles();
        self.statistics.commands += 1;
        let grant = self.clock.edge(place);
        self.statistics.command_waited_ps += (grant - self.clock.edge(asked)).0;
        Command { grant, answered: self.clock.edge(place + self.parameters.snoop.cycles()) }
    }

    /// The data of `train` are with the unit that sends them at `now`, behind those that it was to send before.
    pub fn ask(&mut self, train: Train, now: Time) {
        assert!(train.from < self.units() && train.to < self.units(), "{train:?} of {} units", self.units());
        assert!((1..=self.parameters.train_bytes()).contains(&train.bytes), "{train:?}");
        let ready = self.clock.edge_at_or_after(now) + self.parameters.arbitration.cycles();
        self.stops[train.from].waiting.push_back(Waiting { train, ready });
    }

    /// The arbiter can begin with some train then, and not before. `None`: nothing waits.
    pub fn next_grant(&self) -> Option<Time> {
        let oldest = self.oldest()?;
        let routes = self.heads().flat_map(|(_, head)| self.routes(head));
        let next = routes.filter(|&route| !self.delays(route, oldest)).map(|route| route.begin).min();
        Some(self.clock.edge(next.expect("the oldest does not delay itself")))
    }

    /// The next train that begins at `now`, which [`Eib::next_grant`] gave: to be asked again until there is none.
    pub fn grant(&mut self, now: Time) -> Option<Moving> {
        let clock = self.clock.edge_at_or_after(Time(now.0 + 1)).checked_sub(1)?;
        let route = self.choose(clock)?;
        let unit = route.train.from;
        let Waiting { train, ready } = self.stops[unit].waiting.pop_front().expect("it was chosen");
        if Some(unit) != self.memory {
            self.turn = (unit + 1) % self.units();
        }
        self.occupy(route);
        let statistics = &mut self.statistics;
        statistics.trains += 1;
        statistics.bytes += u64::from(train.bytes);
        statistics.segments += route.hops;
        statistics.waited_ps += (self.clock.edge(clock) - self.clock.edge(ready)).0;
        let arrives = clock + route.hops * self.parameters.hop.cycles();
        let beats = u64::from(train.bytes).div_ceil(self.parameters.width.bytes());
        let [begin, first, end] = [clock, arrives + 1, arrives + beats].map(|edge| self.clock.edge(edge));
        Some(Moving { train, ring: route.ring, begin, first, end })
    }

    /// The oldest train of each unit that has one.
    fn heads(&self) -> impl Iterator<Item = (usize, Waiting)> {
        let head = |(unit, stop): (usize, &Stop)| Some((unit, *stop.waiting.front()?));
        self.stops.iter().enumerate().filter_map(head)
    }

    /// The train that has waited longest since its unit could send it; of several memory's.
    fn oldest(&self) -> Option<Waiting> {
        let since = |unit: usize, head: Waiting| head.ready.max(self.stops[unit].sends);
        let key = |&(unit, head): &(usize, Waiting)| (since(unit, head), Some(unit) != self.memory);
        self.heads().min_by_key(key).map(|(_, head)| head)
    }

    /// What begins in that clock.
    fn choose(&self, clock: u64) -> Option<Route> {
        let oldest = self.oldest()?;
        let units = self.units();
        let in_turn = (self.turn..self.turn + units).map(|unit| unit % units);
        let order = self.memory.into_iter().chain(in_turn.filter(|&unit| Some(unit) != self.memory));
        let heads = order.filter_map(|unit| self.stops[unit].waiting.front());
        let routes = heads.flat_map(|&head| {
            let mut routes: Vec<Route> = self.routes(head).filter(|route| route.begin <= clock).collect();
            routes.sort_by_key(|route| (route.begin, route.ring));
            routes
        });
        routes.map(|route| Route { begin: clock, ..route }).find(|&route| !self.delays(route, oldest))
    }

    /// `oldest`, if that is another train, would begin later if `route` were taken.
    fn delays(&self, route: Route, oldest: Waiting) -> bool {
        if route.train == oldest.train {
            return false;
        }
        let begin = |beside| self.ways(oldest, beside).map(|way| way.begin).min();
        begin(Some(route)) > begin(None)
    }

    /// The ways that `waiting` can go, each with the first clock in which it can begin.
    fn routes(&self, waiting: Waiting) -> impl Iterator<Item = Route> {
        self.ways(waiting, None)
    }

    /// The same when `beside` has been taken, too, by another unit's.
    fn ways(&self, waiting: Waiting, beside: Option<Route>) -> impl Iterator<Item = Route> {
        let train @ Train { from, to, .. } = waiting.train;
        let (units, hop, beats) = (self.units(), self.parameters.hop.cycles(), self.parameters.beats);
        let sends = waiting.ready.max(self.stops[from].sends);
        let taken = beside.filter(|beside| beside.train.to == to);
        let taken = taken.map_or(0, |beside| beside.begin + beside.hops * hop + beats);
        let takes = self.stops[to].takes.max(taken);
        let own = Route { train, ring: None, up: true, hops: 0, begin: sends.max(takes) };
        let around = self.rings.iter().enumerate().filter_map(move |(number, ring)| {
            let hops = if ring.up { to + units - from } else { from + units - to } % units;
            if hops == 0 || hops > units / 2 {
                return None;
            }
            let beside = beside.filter(|beside| beside.ring == Some(number));
            let begins = beside.map_or(0, |beside| beside.begin + self.parameters.start.cycles());
            let free = segments(ring.up, from, hops, units).enumerate().map(|(nth, segment)| {
                let beside = beside.and_then(|beside| self.leaves(beside, segment)).unwrap_or(0);
                ring.segments[segment].max(beside).saturating_sub(nth as u64 * hop)
            });
            let hops = hops as u64;
            let earliest = sends.max(ring.begins).max(begins).max(takes.saturating_sub(hops * hop));
            Some(Route { train, ring: Some(number), up: ring.up, hops, begin: free.fold(earliest, u64::max) })
        });
        (from == to).then_some(own).into_iter().chain(around)
    }

    /// The clock from which `route` leaves a segment free, if it passes it.
    fn leaves(&self, route: Route, segment: usize) -> Option<u64> {
        let (units, from) = (self.units(), route.train.from);
        let nth = if route.up { segment + units - from } else { from + 2 * units - 1 - segment } % units;
        let passes = (nth as u64) < route.hops;
        passes.then(|| route.begin + nth as u64 * self.parameters.hop.cycles() + self.parameters.beats)
    }

    fn occupy(&mut self, route: Route) {
        let Route { train, ring, up, hops, begin } = route;
        let (units, hop, beats) = (self.units(), self.parameters.hop.cycles(), self.parameters.beats);
        self.stops[train.from].sends = begin + beats;
        self.stops[train.to].takes = begin + hops * hop + beats;
        let Some(ring) = ring.map(|number| &mut self.rings[number]) else { return };
        ring.begins = begin + self.parameters.start.cycles();
        for (nth, segment) in segments(up, train.from, hops as usize, units).enumerate() {
            ring.segments[segment] = begin + nth as u64 * hop + beats;
        }
    }
}

/// The segments on the way of so many `hops` from a unit.
fn segments(up: bool, from: usize, hops: usize, units: usize) -> impl Iterator<Item = usize> {
    (0..hops).map(move |nth| (if up { from + nth } else { from + units - 1 - nth }) % units)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve units, none before the others.
    fn bus() -> Eib {
        Eib::new(EibParameters::default(), 12, None)
    }

    /// Edge `n` of its clock.
    fn edge(n: u64) -> Time {
        EibParameters::default().clock().edge(n)
    }

    fn train(from: usize, to: usize, name: u64) -> Train {
        Train { from, to, bytes: 128, name }
    }

    /// All trains that wait, in the order in which they begin.
    fn run(bus: &mut Eib) -> Vec<Moving> {
        let mut moving = vec![];
        while let Some(now) = bus.next_grant() {
            assert_eq!(bus.grant(Time(now.0 - 1)), None, "blocked before");
            moving.push(bus.grant(now).expect("ready then"));
        }
        moving
    }

    #[test]
    fn a_command_has_a_clock_and_its_answer_comes_later() {
        let mut bus = bus();
        assert_eq!(bus.command(Time(1)), Command { grant: edge(1), answered: edge(51) });
        assert_eq!(bus.command_at(Time(1)), edge(2));
        assert_eq!(bus.command(Time(1)), Command { grant: edge(2), answered: edge(52) });
        assert_eq!(bus.command(edge(9)).grant, edge(9));
        assert_eq!((bus.statistics.commands, bus.statistics.command_waited_ps), (3, (edge(2) - edge(1)).0));
    }

    /// Arbitration of two clocks, a clock a hop, a beat of 16 bytes a clock.
    #[test]
    fn a_train_takes_arbitration_hops_and_beats() {
        for (to, hops) in [(1, 1), (6, 6), (7, 5), (11, 1)] {
            for (bytes, beats) in [(1, 1), (16, 1), (17, 2), (128, 8)] {
                let mut bus = bus();
                bus.ask(Train { bytes, ..train(0, to, 0) }, edge(4));
                let [moving] = run(&mut bus)[..] else { panic!("one train") };
                let expected = [6, 6 + hops + 1, 6 + hops + beats].map(edge);
                assert_eq!([moving.begin, moving.first, moving.end], expected, "{bytes} bytes to {to}");
                assert_eq!(moving.ring, Some(if to <= 6 { 0 } else { 2 }));
            }
        }
    }

    #[test]
    fn a_unit_sends_and_takes_a_train_at_a_time() {
        let begins = |trains: &[Train]| {
            let mut bus = bus();
            trains.iter().for_each(|&train| bus.ask(train, edge(0)));
            run(&mut bus).iter().map(|moving| moving.begin).collect::<Vec<_>>()
        };
        assert_eq!(begins(&[train(0, 1, 0), train(0, 11, 1)]), [2, 10].map(edge), "one sends two");
        assert_eq!(begins(&[train(0, 1, 0), train(2, 1, 1)]), [2, 10].map(edge), "one takes two");
        assert_eq!(begins(&[train(0, 1, 0), train(1, 0, 1)]), [2, 2].map(edge), "both ways at once");
        assert_eq!(begins(&[train(3, 3, 0), train(3, 3, 1)]), [2, 10].map(edge), "its own");
    }

    #[test]
    fn trains_that_do_not_meet_move_at_once_on_one_ring() {
        let parameters = EibParameters { rings: 1, ..EibParameters::default() };
        let mut bus = Eib::new(parameters, 12, None);
        // Three of a third of the ring each, and a fourth across the first.
        for (from, name) in [(0, 0), (4, 1), (8, 2), (2, 3)] {
            bus.ask(train(from, (from + 4) % 12, name), edge(0));
        }
        let moving = run(&mut bus);
        let of = |name| moving.iter().find(|moving| moving.train.name == name).unwrap().begin;
        // A ring begins with one each three clocks; the fourth comes in turn between, where the first two have not gone by yet.
        assert_eq!([of(0), of(1), of(2)], [2, 5, 8].map(edge));
        // The first has passed segment 2 (entered at 4) at 12, the second holds segments 4 and 5 from 5 and 6 to 13 and 14.
        assert_eq!(of(3), edge(12));
    }

    #[test]
    fn the_second_ring_of_a_direction_takes_what_the_first_can_not() {
        let mut bus = bus();
        bus.ask(train(0, 3, 0), edge(0));
        bus.ask(train(1, 4, 1), edge(0));
        bus.ask(train(2, 5, 2), edge(0));
        let moving = run(&mut bus);
        assert_eq!([moving[0].ring, moving[1].ring], [Some(0), Some(1)]);
        assert_eq!([moving[0].begin, moving[1].begin], [edge(2), edge(2)]);
        // Behind the first: its last beat leaves segment 2 when clock 12 begins.
        assert_eq!((moving[2].ring, moving[2].begin), (Some(1), edge(11)));
    }

    #[test]
    fn half_way_round_either_direction_serves() {
        let mut bus = bus();
        bus.ask(train(0, 6, 0), edge(0));
        bus.ask(train(1, 7, 1), edge(0));
        bus.ask(train(2, 8, 2), edge(0));
        let rings: Vec<_> = run(&mut bus).iter().map(|moving| (moving.ring, moving.begin)).collect();
        assert_eq!(rings, [(Some(0), edge(2)), (Some(1), edge(2)), (Some(2), edge(2))]);
    }

    #[test]
    fn memory_goes_first_and_the_others_take_turns() {
        let mut bus = Eib::new(EibParameters::default(), 12, Some(11));
        for unit in [3, 1, 11, 1, 11] {
            bus.ask(train(unit, 2, unit as u64), edge(0));
        }
        let order: Vec<_> = run(&mut bus).iter().map(|moving| moving.train.from).collect();
        // Its second waits for those that were there before it could be sent.
        assert_eq!(order, [11, 1, 3, 11, 1]);
    }

    /// A unit's port moves 16 bytes a bus clock, 25.6 GB/s at 1.6 GHz, however many trains it sends.
    #[test]
    fn a_port_is_busy_all_the_time() {
        let mut bus = bus();
        (0..100).for_each(|name| bus.ask(train(0, 3, name), edge(0)));
        let moving = run(&mut bus);
        assert_eq!(moving[99].end - moving[0].begin, edge(100 * 8 + 3));
        assert_eq!(bus.statistics.bytes, 12_800);
    }

    /// Each unit sends to its neighbour all the time; one goes half way round past them. When it is the oldest it begins as soon
    /// as what is on the way has passed: the beats of a train, and the hops of one begun before.
    #[test]
    fn none_waits_for_ever() {
        let parameters = EibParameters { rings: 1, ..EibParameters::default() };
        let mut bus = Eib::new(parameters, 12, None);
        for unit in 0..11 {
            (0..200).for_each(|name| bus.ask(train(unit, unit + 1, name), edge(0)));
        }
        bus.ask(train(11, 5, 9_999), edge(0));
        let moving = run(&mut bus);
        let long = moving.iter().find(|moving| moving.train.name == 9_999).expect("it has begun");
        // Those of its age may go first; a ring begins with one each three clocks.
        let waited = EibParameters::default().clock().edge_at_or_after(long.begin) - 2;
        assert!(waited <= 12 * 3 + 8 + 6, "{waited} clocks");
    }
}
