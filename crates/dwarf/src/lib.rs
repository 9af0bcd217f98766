//! What the debugging information of a compiled file says of an address (DWARF 5): which line of the source it is of, in
//! which functions, and where the registers are of the function that has called its function.
//!
//! Invariant: whatever is in a file, it is read in time that its length bounds, and what is damaged is as if it were not
//! there.

mod frames;
mod inlined;
mod lines;

pub use frames::{Frames, REGISTERS, RETURN_ADDRESS, STACK_POINTER};
pub use inlined::{Inlined, SourceFunction};
pub use lines::{Layout, Lines, has_code};
