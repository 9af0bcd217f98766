//! Translation of hot blocks to the host's code, by Cranelift.
//!
//! A *region* is a hot block with those that follow it, as far as their links are known (`region.rs`). It becomes one
//! function of the host with an entry for each of its blocks. What it does for an instruction is what threaded code does
//! for it as long as nothing is out of the ordinary: results of floating point need no look at flags (`emit.rs`), and
//! accesses hit the fast table, or a function of threaded code makes them and the block goes on. At whatever else, it leaves
//! to threaded code at that instruction, with all registers in their places: nothing that is rare is written twice.
//!
//! Registers of the guest are written to [`State`](crate::State) as soon as something could leave, and read once in a
//! block. What every block changes, time and uses of caches, is kept in registers of the host, counts in the frame.

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

use crate::block::Entry;
use crate::fp::Flags;
use crate::hart::Hart;
use crate::host_code::{Code, Room};
pub(crate) use region::Region;

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

/// Translates `region`, and puts the entries into its blocks. `None`: it can't be translated.
pub(crate) fn translate(
    hart: &Hart,
    timed: bool,
    data: Geometry,
    region: &Region<'_>,
    room: Room,
) -> Option<Code> {
    let isa = host()?;
    let has_fma = isa.isa_flags().iter().any(|flag| flag.name == "has_fma" && flag.as_bool() == Some(true));
    let fetch = hart.port.fetch_geometry();
    let branch_extra_max = hart.timing.branch_extra_max();
    let exact = hart.state.flags.0 & Flags::NX == 0;
    let target = Target { timed, data, fetch, branch_extra_max, has_fma, exact };
    let code = WORKSPACE.with_borrow_mut(|(context, builder)| {
        context.clear();
        context.func.signature = emit::signature(&**isa);
        emit::region(region, &target, &mut context.func, builder, &**isa);
        let compiled = context.compile(&**isa, &mut ControlPlane::default());
        debug_assert!(compiled.is_ok(), "{:?}", compiled.err());
        let compiled = compiled.ok()?;
        // Everything outside is called by its address.
        let is_whole = compiled.buffer.relocs().is_empty();
        debug_assert!(is_whole);
        if is_whole { Code::new(room, compiled.code_buffer()) } else { None }
    })?;
    for (number, part) in region.parts.iter().enumerate() {
        part.block
            .enter_translated(timed, Entry { function: code.start(), number: number as u32, geometry: data });
    }
    Some(code)
}
