//! Messages of the protocol.

/// A node's place in its coherence domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u8);

/// Virtual networks, in the order in which one leads to the next: consuming a message sends none on its own network or an earlier
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Network {
    /// From caches to homes.
    Request,
    /// From homes to caches.
    Intervention,
    /// From caches to homes: what an intervention has led to.
    Acknowledgement,
    /// To the cache that asked; it has a place for it.
    Reply,
}

impl Network {
    /// All of them.
    pub const ALL: [Network; 4] =
        [Network::Request, Network::Intervention, Network::Acknowledgement, Network::Reply];
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Request: a copy to read.
    Read,
    /// Request: the line, to write.
    ReadExclusive,
    /// Request: the right to write a copy that is here.
    Upgrade,
    /// Request: the line, modified here, back to memory.
    WriteBack,
    /// Intervention: give the requester a copy, and the home the data.
    ForwardRead,
    /// Intervention: give the requester the line.
    ForwardReadExclusive,
    /// Intervention: the copy is no longer valid.
    Invalidate,
    /// To the home: the copy is gone.
    InvalidationDone,
    /// To the home: the requester has got a copy; the data.
    SharingWriteBack,
    /// To the home: the requester has got the line.
    OwnershipTransfer,
    /// To the home: the line is not here yet; the requester is to ask again.
    ForwardRefused,
    /// Reply: a copy.
    Data,
    /// Reply: the line, to write.
    ExclusiveData,
    /// Reply: the copy may be written.
    Ownership,
    /// Reply: another transaction is under way, ask again.
    Refused,
    /// Reply: memory has the data.
    WriteBackDone,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 16] = [
        Kind::Read,
        Kind::ReadExclusive,
        Kind::Upgrade,
        Kind::WriteBack,
        Kind::ForwardRead,
        Kind::ForwardReadExclusive,
        Kind::Invalidate,
        Kind::InvalidationDone,
        Kind::SharingWriteBack,
        Kind::OwnershipTransfer,
        Kind::ForwardRefused,
        Kind::Data,
        Kind::ExclusiveData,
        Kind::Ownership,
        Kind::Refused,
        Kind::WriteBackDone,
    ];

    /// The virtual network that it takes.
    pub fn network(self) -> Network {
        match self {
            Kind::Read | Kind::ReadExclusive | Kind::Upgrade | Kind::WriteBack => Network::Request,
            Kind::ForwardRead | Kind::ForwardReadExclusive | Kind::Invalidate => Network::Intervention,
            Kind::InvalidationDone
            | Kind::SharingWriteBack
            | Kind::OwnershipTransfer
            | Kind::ForwardRefused => Network::Acknowledgement,
            Kind::Data | Kind::ExclusiveData | Kind::Ownership | Kind::Refused | Kind::WriteBackDone => {
                Network::Reply
            }
        }
    }

    /// Whether it brings the line.
    pub fn has_data(self) -> bool {
        matches!(self, Kind::WriteBack | Kind::SharingWriteBack | Kind::Data | Kind::ExclusiveData)
    }

    /// Whether a home receives it; else a cache.
    pub fn is_for_home(self) -> bool {
        matches!(self.network(), Network::Request | Network::Acknowledgement)
    }
}

/// A message about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// What it says.
    pub kind: Kind,
    /// Who has sent it.
    pub from: Node,
    /// Who receives it.
    pub to: Node,
    /// Of an intervention: who has asked.
    pub requester: Node,
}
