//! By what messages travel.

/// By what a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Deposit = 1,
    Put,
    Slot,
    RdmaWrite,
    Vi,
    Stream,
}

/// Names of the [`Mechanism`]s, in their order.
pub(crate) const MECHANISMS: &[&str] = &["network-cache", "put", "slot", "rdma-write", "vi", "stream"];
const _: () = assert!(MECHANISMS.len() == Mechanism::Stream as usize, "a name for each");
