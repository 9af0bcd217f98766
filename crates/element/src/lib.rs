//! Hardware of a core with a local store instead of caches, as Cell's synergistic processing elements are.

mod cores;
mod eib;
mod mfc;
mod parts;
mod registers;
mod store;

pub use cores::{CoreMap, Cores, Granted, Place, Stores};
pub use eib::{CELL_UNITS, Command as EibCommand, Eib, EibParameters, EibStatistics, Moving, Train};
pub use mfc::{
    AtomicStatus, Command, ELEMENT_BYTES, LINE_BYTES, LIST_BYTES_MAX, Mfc, MfcFault, MfcParameters,
    MfcStatistics, MfcStep, Reason, Source, TAGS, TRANSFER_BYTES_MAX, TableSearch, Transfer, TransferKind,
    opcode,
};
pub use parts::{
    Area, ChannelRead, ChannelWrite, Decrementer, Element, ElementParameters, Refusal, Signal, SignalMode,
    Window,
};
pub use registers::{channel, event, hypervisor, privileged, problem};
pub use store::LocalStore;
