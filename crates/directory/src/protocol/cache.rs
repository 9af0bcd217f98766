//! A cache's side: messages that come to it, and the caches' rules.

use chasqui_coherence::{CACHE, CacheEvent, CacheState, Kind, Network, Node, cache_rule};
use chasqui_engine::Time;

use super::access::{Access, Want};
use super::{Host, Protocol, Step, Travelling};

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
            self.done(host, Access { node, line, ticket, once }, now);
        }
        // Accesses wait for the end of a transaction; or for a write-back that is not needed any more.
        for ticket in self.copies[node].take_waiting(line) {
            self.access(host, node, line, ticket, now);
        }
    }
}
