//! What a program's file says of the library in it.

use object::LittleEndian as LE;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

/// The section in which the linker notes the library: its hash in hexadecimal digits. `link.ld` has the same name.
const LIBRARY: &[u8] = b".chasqui.libmpi";
/// Digits of such a hash.
const DIGITS: usize = 64;

/// The hash of the library that is noted in the file, if one is that can be one.
pub(super) fn noted(file: &[u8]) -> Option<String> {
    let header = FileHeader64::<LE>::parse(file).ok()?;
    let sections = header.sections(LE, file).ok()?;
    let (_, section) = sections.section_by_name(LE, LIBRARY)?;
    let text = std::str::from_utf8(section.data(LE, file).ok()?).ok()?;
    let is_hash =
        text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_hash.then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_sections_has_nothing_noted() {
        assert_eq!(noted(b""), None);
        assert_eq!(noted(&crate::testing::executable(0x1_0000, &[0x13, 0, 0, 0])), None);
    }
}
