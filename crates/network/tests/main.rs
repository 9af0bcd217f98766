//! The crate's tests outside of its modules: one executable, so that what they share is compiled and linked once.

mod behaviour;
mod common;
mod faults;
mod formula;
mod worms;
