//! The protocol's engine: the tables carried out, with times, queues and turns.
//!
//! A processor's access that is no hit ([`Protocol::access`]) has its cache's rule carried out at once. Its message goes into the
//! controller, where those to other nodes are made, and to the home's controller (`controller.rs`). There the state is looked
//! up, and the directory's rule is carried out (`home.rs`). Interventions and replies come to caches, whose rules are carried
//! out there (`cache.rs`); then an access is done ([`Host::done`]). Messages wait for room at a controller where they are, by
//! virtual network, except for replies: whoever asked has a place for these.
//!
//! What a home refuses it gives a turn (`home.rs`), so that nothing is refused for ever.
//!
//! Block transfers go beside these (`transfer/`).
//!
//! What these need stands below them: accesses (`access.rs`), the lines at a cache (`copies.rs`), a controller's queues
//! (`queues.rs`), the virtual networks (`networks.rs`), the mesh where messages wait for each other on it (`links.rs`).

mod access;
mod cache;
mod controller;
mod copies;
mod home;
mod links;
mod networks;
mod queues;
mod statistics;
mod transfer;

use std::collections::VecDeque;

use chasqui_coherence::{CACHE, CacheEvent, CacheState, Entry, Kind, Message, Node, cache_rule};
use chasqui_engine::{Payload, Time};

use crate::map::LineMap;
use crate::times::Times;
pub use access::{Access, Ticket, Want};
use copies::Copies;
use links::Links;
use queues::Controller;
pub use statistics::NodeStatistics;
use transfer::Transfers;
pub use transfer::{Command, Counts, Run, TransferStatistics, TransferStep};

/// What has the caches, knows the homes, and brings events back when they are due.
pub trait Host {
    /// The home of a line.
    fn home(&self, line: u64) -> usize;
    /// `step` comes back at `at`.
    fn schedule(&mut self, at: Time, step: Step);
    /// Whether the cache of `node` has the line: to write it, if `writable`.
    fn has(&self, node: usize, line: u64, writable: bool) -> bool;
    /// Until when the processor of `node` keeps the line at `now`, which it fetched for what it is about to do, or, if it may
    /// write it, has reserved.
    fn held_until(&self, node: usize, line: u64, writable: bool, now: Time) -> Option<Time>;
    /// The cache of `node` is not to write the line any more, and if it `leaves` has it no longer.
    fn take(&mut self, node: usize, line: u64, leaves: bool, now: Time);
    /// An access is over: the line, or the right, is there from now on.
    fn done(&mut self, access: Access, now: Time);
    /// Physical address of the virtual address `address` of `owner`, if its page is there, is memory, and may be read, or written
    /// if it `writes`.
    fn physical(&self, owner: u32, address: u64, writes: bool) -> Option<u64>;
    /// Two processes are of the same job.
    fn is_of_one_job(&self, a: u32, b: u32) -> bool;
    /// Memory from the physical address `address` on, within a line.
    fn read(&self, address: u64, bytes: &mut [u8]);
    /// The same is written. No cache has the line.
    fn write(&mut self, address: u64, bytes: &[u8]);
    /// A transfer that the processor of `node` had begin for `owner` can't be right: `what` is wrong with it.
    fn fault(&mut self, who: (usize, u32), what: String, now: Time);
}

/// An event of the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message of a processor's comes into its controller.
    Own(u32),
    /// A message was made, and leaves for another node.
    Leave(u32),
    /// A message comes into a controller.
    Arrive(u32),
    /// A controller may go on.
    Serve(usize),
    /// A home has looked the state up.
    LookedUp(u32),
    /// A message comes to a cache.
    AtCache(u32),
    /// What was refused is asked for again.
    Again(u32),
    /// Of block transfers.
    Transfer(TransferStep),
}

impl From<Step> for Payload {
    fn from(step: Step) -> Payload {
        let (kind, number) = match step {
            Step::Own(id) => (0, id),
            Step::Leave(id) => (1, id),
            Step::Arrive(id) => (2, id),
            Step::Serve(node) => (3, node as u32),
            Step::LookedUp(id) => (4, id),
            Step::AtCache(id) => (5, id),
            Step::Again(id) => (6, id),
            Step::Transfer(step) => return step.into(),
        };
        [kind, u64::from(number)]
    }
}

impl TryFrom<Payload> for Step {
    type Error = Payload;

    fn try_from(payload: Payload) -> Result<Step, Payload> {
        let [kind, number] = payload;
        let id = number as u32;
        Ok(match kind {
            0 => Step::Own(id),
            1 => Step::Leave(id),
            2 => Step::Arrive(id),
            3 => Step::Serve(number as usize),
            4 => Step::LookedUp(id),
            5 => Step::AtCache(id),
            6 => Step::Again(id),
            _ => Step::Transfer(payload.try_into()?),
        })
    }
}

/// A message about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Travelling {
    line: u64,
    message: Message,
    /// A home has read the line by then, if it has begun to.
    data_at: Time,
}

impl Travelling {
    fn from(&self) -> usize {
        usize::from(self.message.from.0)
    }

    fn to(&self) -> usize {
        usize::from(self.message.to.0)
    }
}

/// Messages on their way, by number.
#[derive(Default)]
struct Messages {
    places: Vec<Travelling>,
    free: Vec<u32>,
}

impl Messages {
    fn add(&mut self, travelling: Travelling) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.places[id as usize] = travelling;
                id
            }
            None => {
                self.places.push(travelling);
                self.places.len() as u32 - 1
            }
        }
    }

    fn get(&self, id: u32) -> &Travelling {
        &self.places[id as usize]
    }

    fn remove(&mut self, id: u32) -> Travelling {
        self.free.push(id);
        self.places[id as usize]
    }

    fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }
}

/// What a home knows of a line.
#[derive(Default)]
struct HomeLine {
    entry: Entry,
    /// Who was refused and has not been served yet, in their order.
    turns: VecDeque<Node>,
    /// The line has been read for who waits by then.
    data_at: Time,
}

/// The engine.
pub struct Protocol {
    times: Times,
    controllers: Vec<Controller>,
    copies: Vec<Copies>,
    lines: LineMap<HomeLine>,
    messages: Messages,
    statistics: Vec<NodeStatistics>,
    /// What a rule sends.
    sent: Vec<Message>,
    transfers: Transfers,
    /// Where messages wait for each other on the mesh.
    links: Option<Links>,
}

impl Protocol {
    /// Of `nodes` nodes, nothing cached; controllers have room for `buffer` messages of each virtual network.
    ///
    /// # Panics
    /// More nodes than a directory entry has bits.
    pub fn new(times: Times, nodes: usize, buffer: usize) -> Protocol {
        assert!((1..=64).contains(&nodes) && buffer > 0, "{nodes} nodes, room for {buffer} messages");
        Protocol {
            times,
            controllers: (0..nodes).map(|_| Controller::new(nodes, buffer)).collect(),
            copies: (0..nodes).map(|_| Copies::default()).collect(),
            lines: LineMap::default(),
            messages: Messages::default(),
            statistics: vec![NodeStatistics::default(); nodes],
            sent: vec![],
            transfers: Transfers::new(nodes, buffer),
            links: times.contention.then(|| Links::new(nodes)),
        }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.controllers.len()
    }

    /// Counters of a node.
    pub fn statistics(&self, node: usize) -> &NodeStatistics {
        &self.statistics[node]
    }

    /// The state of a line at the cache of `node`.
    pub fn state(&self, node: usize, line: u64) -> CacheState {
        self.copies[node].state(line)
    }

    /// What the home knows of a line.
    pub fn entry(&self, line: u64) -> Entry {
        self.lines.get(&line).map_or_else(Entry::default, |home| home.entry)
    }

    /// Who was refused the line and waits for its turn, in their order.
    pub fn turns(&self, line: u64) -> Vec<usize> {
        let turns = self.lines.get(&line).map(|home| &home.turns);
        turns.into_iter().flatten().map(|node| usize::from(node.0)).collect()
    }

    /// No message is on its way, and nothing waits.
    pub fn is_quiet(&self) -> bool {
        self.messages.is_empty() && self.copies.iter().all(Copies::is_quiet)
    }

    /// Of an event that may take a copy from a cache: the cache, the line, and whether it leaves.
    pub fn takes(&self, step: Step) -> Option<(usize, u64, bool)> {
        let id = match step {
            Step::AtCache(id) => id,
            Step::Transfer(step) => return self.transfer_takes(step),
            _ => return None,
        };
        let travelling = self.messages.get(id);
        let leaves = match travelling.message.kind {
            Kind::ForwardRead => false,
            Kind::ForwardReadExclusive | Kind::Invalidate => true,
            _ => return None,
        };
        Some((travelling.to(), travelling.line, leaves))
    }

    /// The processor of `node` asks for something at `now`.
    pub fn access<H: Host>(&mut self, host: &mut H, node: usize, line: u64, ticket: Ticket, now: Time) {
        let copies = &mut self.copies[node];
        let state = copies.state(line);
        let is_stable = matches!(state, CacheState::Invalid | CacheState::Shared | CacheState::Modified);
        let event = match ticket.want {
            Want::WriteBack => {
                // Whoever asked for the line meanwhile has got it, or has given the right to write it back.
                if state != CacheState::Modified {
                    return self.done(host, Access { node, line, ticket, once: false }, now);
                }
                // What has been kept of it clean leaves, too, and so does a reservation.
                host.take(node, line, true, now);
                CacheEvent::Evict
            }
            _ if !is_stable => return copies.wait(line, ticket),
            want => {
                let writes = want == Want::Store;
                if state != CacheState::Invalid && host.has(node, line, writes) {
                    return self.done(host, Access { node, line, ticket, once: false }, now);
                }
                // It is on its way to the controller.
                if state == CacheState::Modified {
                    return copies.wait(line, ticket);
                }
                if state == CacheState::Shared && !host.has(node, line, false) {
                    // The copy has been replaced, and the home does not know.
                    copies.set(line, CacheState::Invalid);
                }
                if writes { CacheEvent::Store } else { CacheEvent::Load }
            }
        };
        let state = copies.state(line);
        let rule =
            cache_rule(CACHE, state, event).unwrap_or_else(|| panic!("no rule for {event:?} in {state:?}"));
        copies.begin(line, rule.next, ticket);
        let home = host.home(line);
        if !ticket.is_transfers() {
            self.statistics[node].count_request(ticket.want, home == node);
        }
        let message = rule.sends(Node(node as u8), Node(home as u8), None).next().expect("a request");
        let id = self.messages.add(Travelling { line, message, data_at: Time::ZERO });
        host.schedule(now + self.times.queue, Step::Own(id));
    }

    /// An event is due.
    pub fn step<H: Host>(&mut self, host: &mut H, step: Step, now: Time) {
        match step {
            Step::Own(id) | Step::Again(id) => {
                let node = self.messages.get(id).from();
                self.controllers[node].take_own(id);
                self.serve(host, node, now);
            }
            Step::Leave(id) => self.made(host, id, now),
            Step::Arrive(id) => self.arrive(host, id, now),
            Step::Serve(node) => {
                self.controllers[node].has_event = false;
                self.serve(host, node, now);
            }
            Step::LookedUp(id) => self.looked_up(host, id, now),
            Step::AtCache(id) => self.at_cache(host, id, now),
            Step::Transfer(step) => self.transfer_step(host, step, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_the_round_trip() {
        for step in [
            Step::Own(1),
            Step::Leave(u32::MAX),
            Step::Arrive(0),
            Step::Serve(63),
            Step::LookedUp(7),
            Step::AtCache(8),
            Step::Again(9),
        ] {
            assert_eq!(Step::try_from(Payload::from(step)), Ok(step));
        }
        assert_eq!(Step::try_from([7, 0]), Err([7, 0]));
    }
}
