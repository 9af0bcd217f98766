//! The coherence checker's own state: see the crate's README.

use super::addresses::Addresses;
use super::request::Request;
use super::stop::{Fault, Incoherence, Stop};
use super::transactions::Transactions;

/// What the checker looks at.
#[derive(Default)]
pub(super) struct Checker {
    is_on: bool,
    /// Device addresses at which a store needs no fence before it.
    pub self_contained: Addresses,
}

impl Checker {
    pub fn new(is_on: bool) -> Checker {
        Checker { is_on, self_contained: Addresses::default() }
    }

    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// A store to a device at `pa` must not pass an older buffered store, the oldest of which is at `buffered`, or a
    /// flush, unless it refers to nothing in memory.
    pub fn check_passing(
        &self,
        pa: u64,
        buffered: Option<u64>,
        transactions: &Transactions,
    ) -> Result<(), Stop> {
        if !self.is_on || self.self_contained.contains(pa) {
            return Ok(());
        }
        let flush = || {
            transactions.posted().find_map(|r| match r {
                Request::WriteBack { line, flush: true, .. } | Request::Block { line, .. } => Some(*line),
                _ => None,
            })
        };
        match buffered.or_else(flush) {
            None => Ok(()),
            Some(older) => {
                Err(Stop::Fault(Fault::Incoherent(Incoherence::DevicePassesStore { address: pa, older })))
            }
        }
    }
}
