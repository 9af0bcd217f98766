//! Firmware for tests of NIs that have a processor.

use std::sync::Arc;

use chasqui_hart::Insn;
use chasqui_hart::testing::encode::encode;
use chasqui_linux::Elf;
use chasqui_linux::testing::executable;

use crate::FIRMWARE_MEMORY;

/// An image of these instructions, at the beginning of the firmware's memory.
///
/// # Panics
/// An instruction has no encoding.
pub fn image(code: &[Insn]) -> Arc<Elf> {
    let code: Vec<u8> = code.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect();
    Arc::new(Elf::parse("firmware", executable(FIRMWARE_MEMORY, &code)).expect("an executable"))
}
