//! A home: the state of a line is looked up, the directory's rule carried out.
//!
//! *Turns.* While a transaction of a line is under way the table has others refused. They ask again; of several the one that
//! happens to ask at the right moment is served, and the same may always come too early or too late. So the home writes down
//! who was refused, and as long as somebody waits for a turn only the first is served: others are refused, though the table
//! would serve them, and written down in turn. A refusal changes nothing in the directory, and caches ask again after it in
//! every state in which they have asked: so it is as if the request had come later. Between a node's first refusal and its turn
//! each other node is served once at most for what it waits for. Write-backs have no turns: they are never refused but while
//! the line is being fetched from who writes it back.

use chasqui_coherence::{DIRECTORY, DirectoryState, Kind, Message, Network, Node, Wanted, directory_rule};
use chasqui_engine::Time;

use super::links::way_of;
use super::{HomeLine, Host, Protocol, Step, Travelling};

impl HomeLine {
    /// `node` waits for its turn: behind those that do, or, if it `was_taken`, before them.
    fn note(&mut self, node: Node, was_taken: bool) {
        if self.turns.contains(&node) {
            return;
        }
        if was_taken {
            self.turns.push_front(node);
        } else {
            self.turns.push_back(node);
        }
    }

    /// Whether a request of `node` is to be refused. If not, and it waited for its turn, it does no longer.
    fn refuses(&mut self, node: Node) -> bool {
        let is_busy = matches!(self.entry.state, DirectoryState::Invalidating | DirectoryState::Forwarding);
        if is_busy || self.turns.front().is_some_and(|&first| first != node) {
            self.note(node, false);
            return true;
        }
        self.turns.pop_front();
        false
    }
}

impl Protocol {
    /// The home of `node` takes a message: the state is looked up, and the memory perhaps read meanwhile.
    pub(super) fn look_up<H: Host>(&mut self, host: &mut H, node: usize, id: u32, now: Time) {
        let kind = self.messages.get(id).message.kind;
        self.statistics[node].requests += u64::from(kind.network() == Network::Request);
        if self.times.speculative && matches!(kind, Kind::Read | Kind::ReadExclusive) {
            let data_at = self.memory(node, now);
            self.messages.places[id as usize].data_at = data_at;
        }
        self.occupy(host, node, Step::LookedUp(id), (now, now + self.times.lookup));
    }

    /// The state has been looked up.
    pub(super) fn looked_up<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let Travelling { line, message, mut data_at } = self.messages.remove(id);
        let node = usize::from(message.to.0);
        self.controllers[node].taken -= 1;
        let home = self.lines.entry(line).or_default();
        let is_asked = message.kind.network() == Network::Request && message.kind != Kind::WriteBack;
        let was_read = data_at > Time::ZERO;
        if is_asked && home.refuses(message.from) {
            if was_read {
                self.read_in_vain(node, data_at, now);
            }
            let refusal =
                Message { kind: Kind::Refused, from: message.to, to: message.from, requester: message.from };
            self.reply(host, line, refusal, now);
            return self.serve(host, node, now);
        }
        let rule = directory_rule(DIRECTORY, &home.entry, &message);
        let rule = rule.unwrap_or_else(|| panic!("no rule for {message:?} with {:?}", home.entry));
        let was_asked_by = home.entry.requester;
        let mut sent = std::mem::take(&mut self.sent);
        let writes = home.entry.apply(rule, &message, message.to, &mut |message| sent.push(message));
        if message.kind == Kind::ForwardRefused {
            home.note(was_asked_by, true);
        }
        let remembers = is_asked && home.entry.state == DirectoryState::Invalidating;
        let needs_data = sent.iter().any(|message| message.kind.has_data())
            || remembers && home.entry.wanted == Wanted::Line;
        if message.kind == Kind::InvalidationDone {
            // What was read for who waits.
            data_at = home.data_at;
        }
        if was_read && !needs_data {
            self.read_in_vain(node, data_at, now);
        }
        let statistics = &mut self.statistics[node];
        statistics.memory_reads += u64::from(was_read && needs_data);
        statistics.memory_writes += u64::from(writes);
        if writes {
            self.memory(node, now);
        }
        if needs_data && data_at == Time::ZERO {
            self.statistics[node].memory_reads += 1;
            data_at = self.memory(node, now);
        }
        if remembers {
            self.lines.get_mut(&line).expect("it is here").data_at = data_at;
        }
        let mut made_at = now;
        for message in sent.drain(..) {
            if message.kind.network() == Network::Reply {
                let from = if message.kind.has_data() { now.max(data_at) } else { now };
                self.reply(host, line, message, from);
                continue;
            }
            let id = self.messages.add(Travelling { line, message, data_at: Time::ZERO });
            if message.to == message.from {
                self.leave(host, id, now);
            } else {
                let made = made_at + self.times.construct;
                self.occupy(host, node, Step::Leave(id), (made_at, made));
                made_at = made;
            }
        }
        self.sent = sent;
        self.serve(host, node, now);
    }

    /// A reply leaves at `at`.
    pub(super) fn reply<H: Host>(&mut self, host: &mut H, line: u64, message: Message, at: Time) {
        let (from, to) = (usize::from(message.from.0), usize::from(message.to.0));
        let way = way_of(self, (from, to), message.kind.has_data(), at);
        let way = match message.kind {
            // The controller sees to it.
            Kind::Refused => way + self.times.retry,
            _ => way + self.times.queue,
        };
        let id = self.messages.add(Travelling { line, message, data_at: Time::ZERO });
        host.schedule(at + way, Step::AtCache(id));
    }
}
