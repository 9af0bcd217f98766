//! A request to stop, which does not wait for the end of a round: where many host threads share few processors that may
//! take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interrupts the run of an engine, until that is withdrawn.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// No partition has a further turn.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The engine may run on. Who may have asked for another reason, asks again.
    pub fn withdraw(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
