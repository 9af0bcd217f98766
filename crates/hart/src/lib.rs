//! RV64GC harts.
//!
//! Reading order: [`insn`] (every operation and its encoding in one table), [`decode()`], [`alu`] and [`fp`]
//! (what the operations compute), [`for_each_op!`] (which function is which operation's; dispatchers are
//! generated from it), [`csr`], [`class`] (how long they take).

pub mod alu;
pub mod class;
mod compressed;
pub mod csr;
pub mod decode;
pub mod disasm;
pub mod fp;
pub mod insn;
mod semantics;
pub mod state;
pub mod testing;

pub use class::{CLASSES, Class, class};
pub use decode::decode;
pub use insn::{Insn, Op};
pub use state::State;
