//! A cache's side: states of lines, and messages that come to it.

use chasqui_coherence::{CACHE, CacheEvent, CacheState, Kind, Network, Node, cache_rule};
use chasqui_engine::Time;

use super::{Access, Host, Protocol, Step, Ticket, Travelling, Want};
use crate::map::LineMap;

/// A line at a cache.
#[derive(Clone, Copy)]
struct Held {
    state: CacheState,
    /// The access whose transaction is under way.
    ticket: Option<Ticket>,
}

/// The lines at a cache.
#[derive(Default)]
pub(super) struct Copies {
    /// Those that are not invalid.
    lines: LineMap<Held>,
    /// Accesses that wait for the end of another transaction of their line.
    waiting: Vec<(u64, Ticket)>,
}

impl Copies {
    pub fn state(&self, line: u64) -> CacheState {
        self.lines.get(&line).map_or(CacheState::Invalid, |held| held.state)
    }

    /// Without a transaction of the line's.
    pub fn set(&mut self, line: u64, state: CacheState) {
        if state == CacheState::Invalid {
            self.lines.remove(&line);
        } else {
            let ticket = self.lines.get(&line).and_then(|held| held.ticket);
            self.lines.insert(line, Held { state, ticket });
        }
    }

    /// A transaction of the line's begins.
    pub fn begin(&mut self, line: u64, state: CacheState, ticket: Ticket) {
        self.lines.insert(line, Held { state, ticket: Some(ticket) });
    }

    pub fn wait(&mut self, line: u64, ticket: Ticket) {
        self.waiting.push((line, ticket));
    }

    /// Nothing is under way. (Copies may be there that were replaced.)
    pub fn is_quiet(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The line's state is `state` from now on; the access whose transaction was under way, if that is over.
    fn advance(&mut self, line: u64, state: CacheState) -> Option<Ticket> {
        let is_over = matches!(state, CacheState::Invalid | CacheState::Shared | CacheState::Modified);
        let ticket = self.lines.get_mut(&line).and_then(|held| {
            held.state = state;
            held.ticket.take_if(|_| is_over)
        });
        if state == CacheState::Invalid {
            self.lines.remove(&line);
        }
        ticket
    }

    /// The accesses that wait for the line.
    fn take_waiting(&mut self, line: u64) -> Vec<Ticket> {
        if self.waiting.is_empty() {
            return vec![];
        }
        let found = self.waiting.iter().filter(|(of, _)| *of == line).map(|&(_, ticket)| ticket).collect();
        self.waiting.retain(|(of, _)| *of != line);
        found
    }
}

impl Protocol {
    /// A message comes to a cache.
    pub(super) fn at_cache<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let Travelling { line, message, .. } = *self.messages.get(id);
        let node = usize::from(message.to.0);
        let state = self.copies[node].state(line);
        let is_intervention = message.kind.network() == Network::Intervention;
        // What the processor is about to use it uses once; what it has reserved it may store to.
        if is_intervention
            && matches!(state, CacheState::Shared | CacheState::Modified)
            && let Some(later) = host.held_until(node, line, state == CacheState::Modified, now)
        {
            self.statistics[node].held += 1;
            return host.schedule(later, Step::AtCache(id));
        }
        self.messages.remove(id);
        let event = CacheEvent::Message(message.kind);
        let rule = cache_rule(CACHE, state, event);
        let rule = *rule.unwrap_or_else(|| panic!("no rule for {message:?} in {state:?}"));
        match message.kind {
            // A copy that was replaced may have left a reservation.
            Kind::Invalidate => host.take(node, line, true, now),
            Kind::ForwardReadExclusive if rule.next != state => host.take(node, line, true, now),
            Kind::ForwardRead if rule.next != state => host.take(node, line, false, now),
            _ => {}
        }
        let over = self.copies[node].advance(line, rule.next);
        let (here, home) = (Node(node as u8), host.home(line));
        for message in rule.sends(here, Node(home as u8), Some(&message)) {
            if message.kind.network() == Network::Reply {
                self.statistics[node].given += 1;
                self.reply(host, line, message, now);
            } else {
                let id = self.messages.add(Travelling { line, message, data_at: Time::ZERO });
                self.leave(host, id, now);
            }
        }
        if let Some(message) = rule.again(here, Node(home as u8)) {
            self.statistics[node].refused += 1;
            let id = self.messages.add(Travelling { line, message, data_at: Time::ZERO });
            self.step(host, Step::Again(id), now);
        }
        if is_intervention {
            self.controllers[node].is_at_cache = false;
            self.wake(host, node, now);
        }
        if let Some(ticket) = over {
            debug_assert!(rule.is_done() || ticket.want == Want::WriteBack, "{ticket:?} by {rule:?}");
            let once = rule.is_done() && rule.next == CacheState::Invalid;
            host.done(Access { node, line, ticket, once }, now);
        }
        // Accesses wait for the end of a transaction; or for a write-back that is not needed any more.
        for ticket in self.copies[node].take_waiting(line) {
            self.access(host, node, line, ticket, now);
        }
    }
}
