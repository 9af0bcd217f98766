//! The lines at a cache: their states, and the accesses that wait.

use chasqui_coherence::CacheState;

use super::access::Ticket;
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
    pub fn advance(&mut self, line: u64, state: CacheState) -> Option<Ticket> {
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
    pub fn take_waiting(&mut self, line: u64) -> Vec<Ticket> {
        if self.waiting.is_empty() {
            return vec![];
        }
        let found = self.waiting.iter().filter(|(of, _)| *of == line).map(|&(_, ticket)| ticket).collect();
        self.waiting.retain(|(of, _)| *of != line);
        found
    }
}
