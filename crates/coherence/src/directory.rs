//! The home's side: a directory entry for each line, and the rules by which messages change it.

use crate::message::{Kind, Message, Node};

/// State of a line at its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DirectoryState {
    /// Memory alone has it.
    Uncached,
    /// Caches may have copies, as memory has it.
    Shared,
    /// One cache has it, and may have modified it, or is getting it.
    Dirty,
    /// Copies are being invalidated, for one that wants to write.
    Invalidating,
    /// The cache that had it has been asked to give it to another.
    Forwarding,
}

/// When a rule holds, of those for a state and a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Always.
    Always,
    /// The sender is the owner.
    FromOwner,
    /// The sender is not the owner.
    FromAnother,
    /// The sender may have a copy, and nobody else.
    OnlySharer,
    /// The sender may have a copy, and so may others.
    OneSharer,
    /// The sender has no copy.
    NoSharer,
    /// It may, or may not, have one, and others may.
    OthersShare,
    /// More copies than this one are to be invalidated.
    MoreLeft,
    /// It was the last copy.
    LastLeft,
}

/// What the directory does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryAction {
    /// The sender may have a copy from now on.
    AddSender,
    /// So may who has asked.
    AddRequester,
    /// Nobody has a copy.
    ClearSharers,
    /// The sender is the owner.
    OwnSender,
    /// Who has asked is the owner.
    OwnRequester,
    /// The sender asks, and is answered later.
    Remember(Wanted),
    /// A copy less to be invalidated.
    CountDown,
    /// Memory gets the data.
    WriteMemory,
    /// To each who may have a copy but the sender: it is not valid any more.
    InvalidateOthers,
    /// To the owner.
    Forward(Kind),
    /// To the sender.
    Reply(Kind),
    /// To who has asked, what it wants.
    ReplyWanted,
    /// To who has asked.
    ReplyRequester(Kind),
}

/// What a cache that waits for an answer wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wanted {
    /// A copy.
    #[default]
    Copy,
    /// The line, to write.
    Line,
    /// The right to write its copy.
    Right,
}

/// In `state`, where `guard` holds, `message` leads to `next` by `actions`, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryRule {
    /// State before.
    pub state: DirectoryState,
    /// What comes.
    pub message: Kind,
    /// When else the rule holds.
    pub guard: Guard,
    /// State after.
    pub next: DirectoryState,
    /// What is done.
    pub actions: &'static [DirectoryAction],
}

const fn rule(
    state: DirectoryState,
    message: Kind,
    guard: Guard,
    next: DirectoryState,
    actions: &'static [DirectoryAction],
) -> DirectoryRule {
    DirectoryRule { state, message, guard, next, actions }
}

/// The rules. A message for which there is none is an error of the protocol.
pub const DIRECTORY: &[DirectoryRule] = {
    use DirectoryAction::*;
    use DirectoryState::*;
    use Guard::*;
    use Kind::{
        Data, ExclusiveData, ForwardRead, ForwardReadExclusive, ForwardRefused, InvalidationDone, Ownership,
        OwnershipTransfer, Read, ReadExclusive, Refused, SharingWriteBack, Upgrade, WriteBack, WriteBackDone,
    };
    &[
        rule(Uncached, Read, Always, Shared, &[AddSender, Reply(Data)]),
        rule(Uncached, ReadExclusive, Always, Dirty, &[OwnSender, Reply(ExclusiveData)]),
        // Its copy was invalidated meanwhile.
        rule(Uncached, Upgrade, Always, Dirty, &[OwnSender, Reply(ExclusiveData)]),
        rule(Shared, Read, Always, Shared, &[AddSender, Reply(Data)]),
        rule(Shared, ReadExclusive, OnlySharer, Dirty, &[ClearSharers, OwnSender, Reply(ExclusiveData)]),
        rule(Shared, ReadExclusive, OthersShare, Invalidating, &[Remember(Wanted::Line), InvalidateOthers]),
        rule(Shared, Upgrade, OnlySharer, Dirty, &[ClearSharers, OwnSender, Reply(Ownership)]),
        rule(Shared, Upgrade, OneSharer, Invalidating, &[Remember(Wanted::Right), InvalidateOthers]),
        rule(Shared, Upgrade, NoSharer, Invalidating, &[Remember(Wanted::Line), InvalidateOthers]),
        // The owner has given the line away while its write-back was refused: that of `Forwarding` comes again, too late.
        rule(Shared, WriteBack, Always, Shared, &[Reply(WriteBackDone)]),
        rule(Uncached, WriteBack, Always, Uncached, &[Reply(WriteBackDone)]),
        rule(Dirty, Read, FromAnother, Forwarding, &[Remember(Wanted::Copy), Forward(ForwardRead)]),
        rule(
            Dirty,
            ReadExclusive,
            FromAnother,
            Forwarding,
            &[Remember(Wanted::Line), Forward(ForwardReadExclusive)],
        ),
        rule(
            Dirty,
            Upgrade,
            FromAnother,
            Forwarding,
            &[Remember(Wanted::Line), Forward(ForwardReadExclusive)],
        ),
        rule(Dirty, WriteBack, FromOwner, Uncached, &[WriteMemory, Reply(WriteBackDone)]),
        rule(Dirty, WriteBack, FromAnother, Dirty, &[Reply(WriteBackDone)]),
        rule(Invalidating, Read, Always, Invalidating, &[Reply(Refused)]),
        rule(Invalidating, ReadExclusive, Always, Invalidating, &[Reply(Refused)]),
        rule(Invalidating, Upgrade, Always, Invalidating, &[Reply(Refused)]),
        rule(Invalidating, WriteBack, Always, Invalidating, &[Reply(WriteBackDone)]),
        rule(Invalidating, InvalidationDone, MoreLeft, Invalidating, &[CountDown]),
        rule(Invalidating, InvalidationDone, LastLeft, Dirty, &[ClearSharers, OwnRequester, ReplyWanted]),
        rule(Forwarding, Read, Always, Forwarding, &[Reply(Refused)]),
        rule(Forwarding, ReadExclusive, Always, Forwarding, &[Reply(Refused)]),
        rule(Forwarding, Upgrade, Always, Forwarding, &[Reply(Refused)]),
        // Who has it may have to give it to another first; or it is the requester's, which has got the line already.
        rule(Forwarding, WriteBack, Always, Forwarding, &[Reply(Refused)]),
        rule(Forwarding, SharingWriteBack, FromOwner, Shared, &[WriteMemory, AddSender, AddRequester]),
        rule(Forwarding, OwnershipTransfer, FromOwner, Dirty, &[OwnRequester]),
        rule(Forwarding, ForwardRefused, FromOwner, Dirty, &[ReplyRequester(Refused)]),
    ]
};

/// What a home knows of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// Its state.
    pub state: DirectoryState,
    /// Bit i: node i may have a copy. (In `Invalidating` those that had.)
    pub sharers: u64,
    /// Who has the line, in `Dirty` and `Forwarding`.
    pub owner: Node,
    /// Who is to be answered, in `Invalidating` and `Forwarding`, and what it wants.
    pub requester: Node,
    /// What that wants.
    pub wanted: Wanted,
    /// Copies that are to be invalidated, in `Invalidating`.
    pub left: u8,
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            state: DirectoryState::Uncached,
            sharers: 0,
            owner: Node(0),
            requester: Node(0),
            wanted: Wanted::Copy,
            left: 0,
        }
    }
}

/// The rule of `rules` for a message that comes to a line with this entry.
pub fn directory_rule<'a>(
    rules: &'a [DirectoryRule],
    entry: &Entry,
    message: &Message,
) -> Option<&'a DirectoryRule> {
    rules.iter().find(|rule| {
        rule.state == entry.state && rule.message == message.kind && entry.meets(rule.guard, message.from)
    })
}

impl Entry {
    /// Whether a guard holds for a message from `sender`.
    pub fn meets(&self, guard: Guard, sender: Node) -> bool {
        let (own, all) = (1 << sender.0, self.sharers);
        match guard {
            Guard::Always => true,
            Guard::FromOwner => self.owner == sender,
            Guard::FromAnother => self.owner != sender,
            Guard::OnlySharer => all == own,
            Guard::OneSharer => all & own != 0 && all & !own != 0,
            Guard::NoSharer => all & own == 0,
            Guard::OthersShare => all & !own != 0,
            Guard::MoreLeft => self.left > 1,
            Guard::LastLeft => self.left == 1,
        }
    }

    /// Carries out `rule` for `message`, at `home`: calls `send` for each message that leaves. Whether memory gets the data of the message.
    pub fn apply(
        &mut self,
        rule: &DirectoryRule,
        message: &Message,
        home: Node,
        send: &mut dyn FnMut(Message),
    ) -> bool {
        let sender = message.from;
        let mut writes = false;
        self.state = rule.next;
        for action in rule.actions {
            let requester = self.requester;
            let mut say = |kind, to| send(Message { kind, from: home, to, requester });
            match *action {
                DirectoryAction::AddSender => self.sharers |= 1 << sender.0,
                DirectoryAction::AddRequester => self.sharers |= 1 << requester.0,
                DirectoryAction::ClearSharers => self.sharers = 0,
                DirectoryAction::OwnSender => self.owner = sender,
                DirectoryAction::OwnRequester => self.owner = requester,
                DirectoryAction::Remember(wanted) => (self.requester, self.wanted) = (sender, wanted),
                DirectoryAction::CountDown => self.left -= 1,
                DirectoryAction::WriteMemory => writes = true,
                DirectoryAction::InvalidateOthers => {
                    let others = self.sharers & !(1 << sender.0);
                    self.left = others.count_ones() as u8;
                    (0..64).filter(|i| others >> i & 1 != 0).for_each(|i| say(Kind::Invalidate, Node(i)));
                }
                DirectoryAction::Forward(kind) => say(kind, self.owner),
                DirectoryAction::Reply(kind) => say(kind, sender),
                DirectoryAction::ReplyRequester(kind) => say(kind, requester),
                DirectoryAction::ReplyWanted => say(self.wanted.reply(), requester),
            }
        }
        writes
    }
}

impl Wanted {
    /// What the home replies.
    pub fn reply(self) -> Kind {
        match self {
            Wanted::Copy => Kind::Data,
            Wanted::Line => Kind::ExclusiveData,
            Wanted::Right => Kind::Ownership,
        }
    }
}
