//! Support for tests: reproducible random numbers, operands and programs.

pub mod encode;
pub mod operands;
pub mod program;
pub mod random;

pub use random::Random;
