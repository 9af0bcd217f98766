//! RV64GC harts.
//!
//! Reading order: [`insn`] (every operation and its encoding in one table), [`decode()`], [`alu`] and [`fp`]
//! (what the operations compute), [`for_each_op!`] (which function is which operation's; dispatchers are
//! generated from it), [`csr`], [`supervisor`], [`handlers`], [`class`] and [`predictor`] (how long they take), [`Hart`], `step.rs` (the reference), `block.rs` and
//! `run.rs` (the fast loop), `translate/` (hot blocks as code of the host).

#![cfg_attr(
    not(all(target_arch = "x86_64", unix)),
    allow(dead_code, unused_imports, reason = "what translation alone uses")
)]

pub mod alu;
mod block;
mod blocks;
pub mod class;
mod compressed;
pub mod csr;
mod debug;
pub mod decode;
pub mod disasm;
mod executor;
pub mod fp;
pub mod handlers;
mod hart;
mod host_code;
pub mod insn;
mod observe;
pub mod operands;
mod parameters;
pub mod predictor;
mod run;
mod semantics;
pub mod state;
pub mod supervisor;

mod step;
mod threaded;
mod timing;
#[cfg(all(target_arch = "x86_64", unix))]
mod translate;
#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "translate/none.rs"]
mod translate;

pub mod testing;

pub use blocks::Text;
pub use class::{CLASSES, Class, class};
pub use debug::{Accesses, Stopped, Stops, Watchpoint};
pub use decode::decode;
pub use executor::{Execution, Executor, Translations};
pub use handlers::Handlers;
pub use hart::{Halt, Hart, HartStatistics};
pub use insn::{Insn, Op};
pub use observe::{Decoder, Observer};
pub use parameters::CoreParameters;
pub use run::{Before, CodeReads, HaltAtMarks, Marks};
pub use state::State;
pub use supervisor::Supervisor;
pub use timing::Timing;
