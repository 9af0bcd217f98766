//! Tests of the crate from outside.

mod atomic;
mod bytes;
mod cores;
mod dma;
mod errors;
mod program;
mod registers;
mod rings;
mod support;
mod translation;
