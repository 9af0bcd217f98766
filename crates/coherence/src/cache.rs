//! A cache's side: the state of a line in it, and what its processor or a message leads to.

use crate::message::{Kind, Message, Node};

/// State of a line at a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheState {
    /// It is not here; its place is free.
    Invalid,
    /// A copy, as memory has it.
    Shared,
    /// The only copy, which may be written.
    Modified,
    /// It has been asked for, to read.
    Reading,
    /// The same, and what comes has been invalidated already: it is read once.
    ReadingOnce,
    /// It has been asked for, to write.
    Writing,
    /// The right to write the copy that is here has been asked for.
    Upgrading,
    /// It is on its way to memory; until that has it the data are here.
    WritingBack,
    /// The same, and another has got the data from here.
    GivenAway,
}

/// What happens to a line at a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheEvent {
    /// The processor loads, and it is no hit.
    Load,
    /// The processor stores, and has no right to.
    Store,
    /// Its place is needed.
    Evict,
    /// A message comes.
    Message(Kind),
}

/// What a cache does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheAction {
    /// A message to the home.
    Send(Kind),
    /// What was refused is asked for again when there is room for the message: until then it waits where what asks does, and holds
    /// no other message up.
    SendAgain(Kind),
    /// The line's data to who has asked.
    Give(Kind),
    /// The load or store that waits is done.
    Done,
}

/// In `state` `event` leads to `next` by `actions`, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRule {
    /// State before.
    pub state: CacheState,
    /// What happens.
    pub event: CacheEvent,
    /// State after.
    pub next: CacheState,
    /// What is done.
    pub actions: &'static [CacheAction],
}

const fn on(
    state: CacheState,
    message: Kind,
    next: CacheState,
    actions: &'static [CacheAction],
) -> CacheRule {
    CacheRule { state, event: CacheEvent::Message(message), next, actions }
}

const fn asks(
    state: CacheState,
    event: CacheEvent,
    next: CacheState,
    actions: &'static [CacheAction],
) -> CacheRule {
    CacheRule { state, event, next, actions }
}

/// The rules. Hits have none: loads in `Shared` and `Modified`, stores in `Modified`. A message for which there is none is an
/// error of the protocol; the processor waits where there is none for what it does.
pub const CACHE: &[CacheRule] = {
    use CacheAction::*;
    use CacheEvent::{Evict, Load, Store};
    use CacheState::*;
    use Kind::{
        Data, ExclusiveData, ForwardRead, ForwardReadExclusive, ForwardRefused, Invalidate, InvalidationDone,
        Ownership, OwnershipTransfer, Read, ReadExclusive, Refused, SharingWriteBack, Upgrade, WriteBack,
        WriteBackDone,
    };
    &[
        asks(Invalid, Load, Reading, &[Send(Read)]),
        asks(Invalid, Store, Writing, &[Send(ReadExclusive)]),
        asks(Shared, Store, Upgrading, &[Send(Upgrade)]),
        // The home does not hear of it.
        asks(Shared, Evict, Invalid, &[]),
        asks(Modified, Evict, WritingBack, &[Send(WriteBack)]),
        on(Reading, Data, Shared, &[Done]),
        on(Reading, Refused, Reading, &[SendAgain(Read)]),
        // It may be of a copy that was here before, or overtake the data.
        on(Reading, Invalidate, ReadingOnce, &[Send(InvalidationDone)]),
        on(ReadingOnce, Data, Invalid, &[Done]),
        on(ReadingOnce, Refused, Reading, &[SendAgain(Read)]),
        on(ReadingOnce, Invalidate, ReadingOnce, &[Send(InvalidationDone)]),
        on(Writing, ExclusiveData, Modified, &[Done]),
        on(Writing, Refused, Writing, &[SendAgain(ReadExclusive)]),
        on(Writing, Invalidate, Writing, &[Send(InvalidationDone)]),
        // The home gives it away before it has come.
        on(Writing, ForwardRead, Writing, &[Send(ForwardRefused)]),
        on(Writing, ForwardReadExclusive, Writing, &[Send(ForwardRefused)]),
        on(Upgrading, Ownership, Modified, &[Done]),
        on(Upgrading, Refused, Upgrading, &[SendAgain(Upgrade)]),
        on(Upgrading, Invalidate, Writing, &[Send(InvalidationDone)]),
        on(Upgrading, ForwardRead, Upgrading, &[Send(ForwardRefused)]),
        on(Upgrading, ForwardReadExclusive, Upgrading, &[Send(ForwardRefused)]),
        on(Invalid, Invalidate, Invalid, &[Send(InvalidationDone)]),
        on(Shared, Invalidate, Invalid, &[Send(InvalidationDone)]),
        on(Modified, ForwardRead, Shared, &[Give(Data), Send(SharingWriteBack)]),
        on(Modified, ForwardReadExclusive, Invalid, &[Give(ExclusiveData), Send(OwnershipTransfer)]),
        on(WritingBack, WriteBackDone, Invalid, &[]),
        on(WritingBack, Refused, WritingBack, &[SendAgain(WriteBack)]),
        on(WritingBack, ForwardRead, GivenAway, &[Give(Data), Send(SharingWriteBack)]),
        on(WritingBack, ForwardReadExclusive, GivenAway, &[Give(ExclusiveData), Send(OwnershipTransfer)]),
        on(GivenAway, WriteBackDone, Invalid, &[]),
        on(GivenAway, Refused, Invalid, &[]),
        // The home counts it among those that may have a copy.
        on(GivenAway, Invalidate, GivenAway, &[Send(InvalidationDone)]),
    ]
};

/// The rule of `rules` for what happens to a line in a state.
pub fn cache_rule(rules: &[CacheRule], state: CacheState, event: CacheEvent) -> Option<&CacheRule> {
    rules.iter().find(|rule| rule.state == state && rule.event == event)
}

impl CacheRule {
    /// The messages that leave cache `here` for `home`, or for who has asked by `cause`.
    pub fn sends(
        &self,
        here: Node,
        home: Node,
        cause: Option<&Message>,
    ) -> impl Iterator<Item = Message> + use<> {
        let requester = cause.map_or(here, |message| message.requester);
        let message = move |(kind, to)| Message { kind, from: here, to, requester };
        let kinds = self.actions.iter().filter_map(move |action| match *action {
            CacheAction::Send(kind) => Some((kind, home)),
            CacheAction::Give(kind) => Some((kind, requester)),
            CacheAction::SendAgain(_) | CacheAction::Done => None,
        });
        kinds.map(message)
    }

    /// The message with which cache `here` asks `home` again.
    pub fn again(&self, here: Node, home: Node) -> Option<Message> {
        self.actions.iter().find_map(|action| match *action {
            CacheAction::SendAgain(kind) => Some(Message { kind, from: here, to: home, requester: here }),
            _ => None,
        })
    }

    /// Whether the load or store that waits is done.
    pub fn is_done(&self) -> bool {
        self.actions.contains(&CacheAction::Done)
    }
}
