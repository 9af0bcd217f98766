//! From an address to a line of the source, by the section `.debug_line` alone (DWARF 5, section 6.2).

use std::collections::HashMap;

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian};
use object::elf::{self, SHF_EXECINSTR};
use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, Relocation, RelocationFlags,
    RelocationTarget, Section, SectionFlags, SectionIndex,
};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Whether a section holds instructions.
pub fn has_code(section: &Section) -> bool {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags.0 & SHF_EXECINSTR.0 != 0
}

/// Where sections lie. In an object every one begins at 0: those with code get addresses of their own.
pub struct Layout {
    bases: HashMap<SectionIndex, u64>,
}

impl Layout {
    /// That of `file`.
    pub fn new(file: &object::File) -> Layout {
        let mut bases = HashMap::new();
        if file.kind() == ObjectKind::Relocatable {
            let mut next = 0x1000;
            for section in file.sections().filter(has_code) {
                bases.insert(section.index(), next);
                // Sections of a damaged file may be of any size; where they lie then does not matter.
                next = (section.size() | 0xfff).wrapping_add(next).wrapping_add(0x1001);
            }
        }
        Layout { bases }
    }

    /// The address of a place in a section of an object.
    pub fn address(&self, section: SectionIndex, offset: u64) -> u64 {
        self.bases.get(&section).map_or(u64::MAX, |base| base.wrapping_add(offset))
    }

    /// The value of a symbol: its address in code, its distance from the section's beginning elsewhere.
    fn value(&self, file: &object::File, relocation: &Relocation) -> Option<u64> {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        let symbol = file.symbol_by_index(index).ok()?;
        let base = symbol.section_index().and_then(|section| self.bases.get(&section));
        Some(symbol.address().wrapping_add(*base.unwrap_or(&0)))
    }
}

/// The line table of a file; empty without debugging information.
#[derive(Default)]
pub struct Lines {
    /// (address, file, line), by address. Line 0 ends a sequence.
    rows: Vec<(u64, u32, u32)>,
    files: Vec<String>,
    /// Length of all files' names.
    names_bytes: usize,
}

impl Lines {
    /// That of `file`, whose sections lie as `layout` says.
    pub fn read(file: &object::File, layout: &Layout) -> Lines {
        let section = |name| contents(file, layout, name);
        let (program, line_strings, strings) =
            (section(".debug_line"), section(".debug_line_str"), section(".debug_str"));
        let texts = Texts { line_strings: &line_strings, strings: &strings };
        let table = DebugLine::new(&program, LittleEndian);
        let mut lines = Lines::default();
        let mut offset = 0;
        while offset < program.len() {
            // What is damaged ends the table: places are shown as functions then.
            let Ok(unit) = table.program(DebugLineOffset(offset), 8, None, None) else { break };
            let length_field = if unit.header().encoding().format == gimli::Format::Dwarf64 { 12 } else { 4 };
            offset += unit.header().unit_length() + length_field;
            lines.add(unit, &texts);
        }
        lines.rows.sort_by_key(|&(address, _, line)| (address, line));
        lines
    }

    fn add(&mut self, unit: gimli::IncompleteLineProgram<Slice>, texts: &Texts) {
        let mut numbers = HashMap::new();
        let mut rows = unit.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            let number = *numbers
                .entry(row.file_index())
                .or_insert_with(|| self.file(texts.path(header, row.file_index())));
            let line = if row.end_sequence() { 0 } else { row.line().map_or(0, |line| line.get() as u32) };
            self.rows.push((row.address(), number, line));
        }
    }

    /// The number of a file with this name.
    fn file(&mut self, name: Option<String>) -> u32 {
        let name = name.filter(|name| name.len() <= NAMES_BYTES_MAX - self.names_bytes);
        let name = name.unwrap_or("?".into());
        // A damaged table may use one name as often as it has bytes.
        self.names_bytes = (self.names_bytes + name.len()).min(NAMES_BYTES_MAX);
        self.files.push(name);
        self.files.len() as u32 - 1
    }

    /// `file:line` of the instruction at `address`.
    pub fn at(&self, address: u64) -> Option<String> {
        let after = self.rows.partition_point(|row| row.0 <= address);
        let (_, file, line) = *self.rows[..after].last()?;
        (line != 0).then(|| format!("{}:{line}", self.files[file as usize]))
    }
}

/// More than a path of Linux has (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 4097;

/// Files beyond have no name. The C library, MPI and a program of 100 files have some 100 kB of names.
const NAMES_BYTES_MAX: usize = 16 << 20;

struct Texts<'a> {
    line_strings: &'a [u8],
    strings: &'a [u8],
}

impl Texts<'_> {
    /// A file's path from where it was compiled.
    fn path(&self, header: &LineProgramHeader<Slice>, index: u64) -> Option<String> {
        let file = header.file(index)?;
        let name = self.text(file.path_name())?;
        // Directory 0 is that of the compilation.
        let directory = if file.directory_index() == 0 { None } else { file.directory(header) };
        Some(match directory.and_then(|directory| self.text(directory)) {
            Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
            _ => name,
        })
    }

    /// A part of a path; none that is longer than a path may be. Control characters are made visible: it comes to a
    /// terminal.
    fn text(&self, value: AttributeValue<Slice>) -> Option<String> {
        let text = match value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugLineStrRef(offset) => self.line_strings.get(offset.0..)?,
            AttributeValue::DebugStrRef(offset) => self.strings.get(offset.0..)?,
            _ => return None,
        };
        let text = &text[..text.len().min(PATH_BYTES_MAX)];
        let is_inline = matches!(value, AttributeValue::String(_));
        let end = text
            .iter()
            .position(|&byte| byte == 0)
            .or((is_inline && text.len() < PATH_BYTES_MAX).then_some(text.len()))?;
        Some(visible(&text[..end]))
    }
}

/// `text`, for a terminal.
pub(crate) fn visible(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(char::is_control, "\u{fffd}")
}

/// A section with its relocations applied; empty where it is missing or compressed.
fn contents(file: &object::File, layout: &Layout, name: &str) -> Vec<u8> {
    let Some(section) = file.section_by_name(name) else { return Vec::new() };
    let Ok(data) = section.uncompressed_data() else { return Vec::new() };
    let mut data = data.into_owned();
    for (offset, relocation) in section.relocations() {
        let Some(value) = layout.value(file, &relocation) else { continue };
        let value = value.wrapping_add_signed(relocation.addend());
        let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
        match file.architecture() {
            Architecture::Riscv64 => relocate_riscv(&mut data, offset as usize, r_type, value),
            Architecture::X86_64 => relocate_x86(&mut data, offset as usize, r_type, value),
            _ => None,
        };
    }
    data
}

fn field<const N: usize>(data: &mut [u8], offset: usize) -> Option<&mut [u8; N]> {
    data.get_mut(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn relocate_x86(data: &mut [u8], offset: usize, kind: elf::RelocationType, value: u64) -> Option<()> {
    match kind {
        elf::R_X86_64_64 => *field(data, offset)? = value.to_le_bytes(),
        elf::R_X86_64_32 => *field(data, offset)? = (value as u32).to_le_bytes(),
        _ => (),
    }
    Some(())
}

/// Distances in code are differences of relocations, since the linker may shorten calls (RISC-V psABI,
/// chapter "Relocations").
fn relocate_riscv(data: &mut [u8], offset: usize, kind: elf::RelocationType, value: u64) -> Option<()> {
    macro_rules! change {
        ($integer:ty, $change:expr) => {{
            let field = field(data, offset)?;
            let change: fn($integer, $integer) -> $integer = $change;
            *field = change(<$integer>::from_le_bytes(*field), value as $integer).to_le_bytes();
        }};
    }
    match kind {
        elf::R_RISCV_64 => change!(u64, |_, value| value),
        elf::R_RISCV_32 | elf::R_RISCV_SET32 => change!(u32, |_, value| value),
        elf::R_RISCV_SET16 => change!(u16, |_, value| value),
        elf::R_RISCV_SET8 => change!(u8, |_, value| value),
        elf::R_RISCV_ADD64 => change!(u64, u64::wrapping_add),
        elf::R_RISCV_ADD32 => change!(u32, u32::wrapping_add),
        elf::R_RISCV_ADD16 => change!(u16, u16::wrapping_add),
        elf::R_RISCV_ADD8 => change!(u8, u8::wrapping_add),
        elf::R_RISCV_SUB64 => change!(u64, u64::wrapping_sub),
        elf::R_RISCV_SUB32 => change!(u32, u32::wrapping_sub),
        elf::R_RISCV_SUB16 => change!(u16, u16::wrapping_sub),
        elf::R_RISCV_SUB8 => change!(u8, u8::wrapping_sub),
        _ => (),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_have_no_names() {
        let mut lines = Lines::default();
        let long = "x".repeat(NAMES_BYTES_MAX / 4);
        let numbers: Vec<u32> = (0..8).map(|_| lines.file(Some(long.clone()))).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!(lines.files[3], long);
        assert!(lines.files[4..].iter().all(|name| name == "?"));
        assert!(lines.names_bytes <= NAMES_BYTES_MAX);
    }
}
