//! Support for tests: reproducible random numbers, operands and programs.

pub mod encode;
pub mod operands;
pub mod program;
