//! The engine: formulas, block transfers, and random accesses of a few nodes to a few lines beside a reference that has no protocol.

mod contention;
mod fairness;
mod formula;
mod random;
mod rig;
mod rights;
mod transfers;
