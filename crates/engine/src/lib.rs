//! The discrete-event engine: integer-picosecond [`Time`] and [`Clock`]s, [`Event`]s in an order
//! that does not depend on where they are run, [`Partition`]s and the [`Engine`] that advances them
//! as a conservative parallel discrete-event simulation does (README, *Sources*).
//!
//! Invariants: the engine depends on no machine; time is an integer; the order of events depends on
//! nothing but the model (never on a global counter, the host, or how partitions are scheduled).

mod engine;
mod event;
mod exchange;
mod interrupt;
mod layout;
mod lookahead;
mod pace;
mod partition;
mod rota;
mod share;
mod team;
mod time;
mod tournament;

pub use engine::{Ended, Engine};
pub use event::{Class, Event, EventQueue, Order, Payload, Port};
pub use interrupt::Interrupt;
pub use lookahead::Lookahead;
pub use pace::Threads;
pub use partition::{Group, Message, Outbox, Packet, Partition, PartitionId, WORK_OF_EVENT};
pub use time::{Clock, Cycles, Time};
