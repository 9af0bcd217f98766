//! From an address to the functions whose code is there: one, and those that the compiler has put into it
//! (`DW_TAG_inlined_subroutine`; DWARF 5, section 3.3.8).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use addr2line::{Context, Frame};
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

use crate::lines::visible;

/// Functions that are listed for one address.
const LISTED: usize = 16;

/// Of a name; what a damaged file has is longer.
const TEXT_BYTES_MAX: usize = 4096;

/// A function, and what is executed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFunction {
    /// Its name in the source; in C++ as the linker has it.
    pub name: String,
    /// `file:line` of the instruction, or of the call that the next inner one was put in place of: from where it was
    /// compiled, as [`Lines`](crate::Lines) has files.
    pub line: Option<String>,
}

/// What was found of addresses. Ranks that are to be described are at few places of one program.
#[derive(Default)]
pub struct Inlined {
    known: Mutex<HashMap<u64, Vec<SourceFunction>>>,
}

impl Inlined {
    /// The functions of `file` whose code is at `address`, the innermost first: the last one has the others in it. Empty
    /// without debugging information.
    pub fn at(&self, file: &object::File, address: u64) -> Vec<SourceFunction> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(address).or_insert_with(|| functions(file, address).unwrap_or_default()).clone()
    }
}

/// `None`: what is looked at is damaged.
fn functions(file: &object::File, address: u64) -> Option<Vec<SourceFunction>> {
    let section = |id: SectionId| -> gimli::Result<Option<std::borrow::Cow<'_, [u8]>>> {
        Ok(file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok()))
    };
    let sections = gimli::DwarfSections::load(section).ok()?;
    let dwarf: Dwarf<_> =
        sections.borrow(|data| EndianSlice::new(data.as_ref().map_or(&[][..], |data| data), LittleEndian));
    let context = Context::from_dwarf(dwarf).ok()?;
    let unit = context.find_dwarf_and_unit(address).skip_all_loads();
    let place = unit.and_then(|unit| unit.comp_dir).map_or(String::new(), |place| text(place.slice()));
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut found = vec![];
    while let Some(frame) = frames.next().ok()?.filter(|_| found.len() < LISTED) {
        found.push(function(&frame, &place)?);
    }
    Some(found)
}

/// `None`: it has no name. `compiled_in` is the directory in which its file was compiled.
fn function(frame: &Frame<'_, EndianSlice<'_, LittleEndian>>, compiled_in: &str) -> Option<SourceFunction> {
    let name = text(frame.function.as_ref()?.raw_name().ok()?.as_bytes());
    let line = frame.location.as_ref().and_then(|location| {
        let file = text(location.file?.as_bytes());
        let within = file.strip_prefix(compiled_in).and_then(|file| file.strip_prefix('/'));
        Some(format!("{}:{}", within.unwrap_or(&file), location.line?))
    });
    Some(SourceFunction { name, line })
}

fn text(text: &[u8]) -> String {
    visible(&text[..text.len().min(TEXT_BYTES_MAX)])
}
