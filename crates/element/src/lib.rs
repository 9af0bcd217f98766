//! Hardware of a core with a local store instead of caches, as Cell's synergistic processing elements are.

mod eib;

pub use eib::{CELL_UNITS, Command as EibCommand, Eib, EibParameters, EibStatistics, Moving, Train};
