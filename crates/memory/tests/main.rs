//! The crate's tests outside of its modules: one executable, so that what they share is compiled and linked once.

mod ahead;
mod coherence;
mod invariants;
mod latency;
mod network_cache;
mod random;
mod rig;
mod stash;
