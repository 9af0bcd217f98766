//! The crate's tests outside of its modules: one executable, so that what they share is compiled and linked once.

mod ahead;
mod attach;
mod cacheless;
mod coherence;
mod debug;
mod devices;
mod directory;
mod ends;
mod guest;
mod harts;
mod interrupts;
mod kernel;
mod limits;
mod mixed;
mod network_cache;
mod own;
mod promise;
mod protocol;
mod rest;
mod retry;
mod spin;
mod tables;
mod tokens;
