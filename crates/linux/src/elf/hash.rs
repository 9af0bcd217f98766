//! What tells a program's file, and the library in it, from all others.

use object::LittleEndian as LE;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use sha2::{Digest, Sha256};

/// The section in which the linker notes the library: its hash in hexadecimal digits. `link.ld` has the same name.
const LIBRARY: &[u8] = b".chasqui.libmpi";
/// Digits of such a hash.
const DIGITS: usize = 64;

/// SHA-256 (FIPS 180-4) in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of the library that is noted in the file, if one is that can be one.
pub(super) fn noted(file: &[u8]) -> Option<String> {
    let header = FileHeader64::<LE>::parse(file).ok()?;
    let sections = header.sections(LE, file).ok()?;
    let (_, section) = sections.section_by_name(LE, LIBRARY)?;
    let text = std::str::from_utf8(section.data(LE, file).ok()?).ok()?;
    let is_hash = text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_hash.then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, and the example of three bytes that NIST publishes with it.
    #[test]
    fn a_hash_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
    }

    #[test]
    fn a_file_without_sections_has_nothing_noted() {
        assert_eq!(noted(b""), None);
        assert_eq!(noted(&crate::testing::executable(0x1_0000, &[0x13, 0, 0, 0])), None);
    }
}
