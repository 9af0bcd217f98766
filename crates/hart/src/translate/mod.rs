//! Translation of hot blocks to the host's code, by Cranelift.
//!
//! A *region* is a hot block with those that follow it, as far as their links are known (`region.rs`). It becomes one
//! function of the host with an entry for each of its blocks. What it does for an instruction is what threaded code does
//! for it as long as nothing is out of the ordinary: accesses hit the fast table, results of floating point need no look
//! at flags (`emit.rs`). At whatever else, it leaves to threaded code at that instruction, with all registers in their
//! places: nothing that is rare is written twice.
//!
//! Registers of the guest are written to [`State`](crate::State) as soon as something could leave, and read once in a
//! block. What every block changes, time, uses of caches, counts, is kept in registers of the host.

mod emit;
mod operations;
mod region;
mod registers;
mod semantics;

use std::cell::RefCell;
use std::sync::OnceLock;

use chasqui_memory::Geometry;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;

use crate::block::{Block, Entry};
use crate::fp::Flags;
use crate::hart::Hart;
use crate::host_code::Code;
use region::Region;

/// What a region's function depends on besides its blocks.
#[derive(Clone, Copy)]
struct Target {
    timed: bool,
    data: Geometry,
    fetch: Geometry,
    /// Further cycles of a branch or jump that the predictor is asked for, at most.
    branch_extra_max: u64,
    /// The host multiplies and adds with one rounding.
    has_fma: bool,
    /// The inexact flag is not set: results are likely to have no errors further on.
    exact: bool,
}

/// The host, as Cranelift knows it; none if it does not.
fn host() -> Option<&'static OwnedTargetIsa> {
    static HOST: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    HOST.get_or_init(|| {
        let mut flags = settings::builder();
        for (name, value) in [
            // What is optimised above that takes as long again to compile, and gains nothing that could be measured.
            ("opt_level", "none"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
            ("unwind_info", "false"),
            ("enable_probestack", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
    })
    .as_ref()
}

thread_local! {
    /// What translating allocates, used again.
    static WORKSPACE: RefCell<(Context, FunctionBuilderContext)> =
        RefCell::new((Context::new(), FunctionBuilderContext::new()));
}

/// Translates `head` and what follows it, and puts the entries into the blocks. `same_store`: whether the block at an
/// address lives as long as `head`. `None`: it can't be translated.
pub(crate) fn translate(
    hart: &Hart,
    timed: bool,
    data: Geometry,
    head: &Block,
    same_store: impl Fn(u64) -> bool,
) -> Option<Code> {
    let isa = host()?;
    let has_fma = std::arch::is_x86_feature_detected!("fma");
    let fetch = hart.port.fetch_geometry();
    let branch_extra_max = hart.timing.branch_extra_max();
    let exact = hart.state.flags.0 & Flags::NX == 0;
    let target = Target { timed, data, fetch, branch_extra_max, has_fma, exact };
    let region = Region::new(head, same_store);
    let code = WORKSPACE.with_borrow_mut(|(context, builder)| {
        context.clear();
        context.func.signature = emit::signature(&**isa);
        emit::region(&region, &target, &mut context.func, builder, &**isa);
        let compiled = context.compile(&**isa, &mut ControlPlane::default());
        let compiled =
            compiled.unwrap_or_else(|e| panic!("a region at {:#x} can't be compiled: {e:?}", head.pc));
        // Everything outside is called by its address.
        assert!(compiled.buffer.relocs().is_empty());
        Code::new(compiled.code_buffer())
    })?;
    for (number, part) in region.parts.iter().enumerate() {
        part.block
            .enter_translated(timed, Entry { function: code.start(), number: number as u32, geometry: data });
    }
    Some(code)
}
