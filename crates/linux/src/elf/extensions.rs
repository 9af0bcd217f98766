//! Which instruction-set extensions a file says it needs.

use object::LittleEndian as LE;
use object::elf::{FileHeader64, SHT_RISCV_ATTRIBUTES};
use object::read::elf::{AttributeReader, FileHeader, SectionHeader};

/// `Tag_RISCV_arch` (RISC-V ELF psABI, "Attributes"); odd tags are strings, even ones numbers.
const TAG_ARCH: u64 = 5;

/// What the hart executes, or may ignore: the base and its parts; extensions made of hints
/// (Zihintpause, Zihintntl, Zicbop); and names that add no instruction (Za*, Zic*, Zkt).
const KNOWN: &[&str] = &[
    "i",
    "m",
    "a",
    "f",
    "d",
    "c",
    "g",
    "zicsr",
    "zifencei",
    "zihintpause",
    "zihintntl",
    "zicbop",
    "zmmul",
    "zaamo",
    "zalrsc",
    "zca",
    "zcd",
    "zicntr",
    "zkt",
    "ziccif",
    "ziccrse",
    "ziccamoa",
    "zicclsm",
    "za64rs",
    "za128rs",
    "zic64b",
];

/// Extensions in the file's attributes that are not [`KNOWN`]; empty when it has no (readable)
/// attributes.
pub fn missing(header: &FileHeader64<LE>, bytes: &[u8]) -> Vec<String> {
    let arch = architecture(header, bytes).unwrap_or_default();
    split(&arch).into_iter().filter(|name| !KNOWN.contains(&name.as_str())).collect()
}

fn architecture(header: &FileHeader64<LE>, bytes: &[u8]) -> Option<String> {
    let sections = header.section_headers(LE, bytes).ok()?;
    let section = sections.iter().find(|s| s.sh_type(LE) == SHT_RISCV_ATTRIBUTES)?;
    let attributes = section.attributes(LE, bytes).ok()?;
    for subsection in attributes.subsections().ok()? {
        let subsection = subsection.ok()?;
        if subsection.vendor() != b"riscv" {
            continue;
        }
        for part in subsection.subsubsections() {
            if let Some(arch) = arch_attribute(part.ok()?.attributes()) {
                return Some(arch);
            }
        }
    }
    None
}

fn arch_attribute(mut reader: AttributeReader<'_>) -> Option<String> {
    while let Some(tag) = reader.read_tag().ok()? {
        match tag {
            TAG_ARCH => return Some(String::from_utf8_lossy(reader.read_string().ok()?).into_owned()),
            tag if tag % 2 == 1 => drop(reader.read_string().ok()?),
            _ => drop(reader.read_integer().ok()?),
        }
    }
    None
}

/// The extensions in an architecture string such as `rv64i2p1_m2p0_zicsr2p0` or `rv64gcv`
/// (unprivileged ISA manual, "ISA Extension Naming Conventions"), without versions.
fn split(arch: &str) -> Vec<String> {
    let rest = arch.strip_prefix("rv64").unwrap_or("");
    let mut names: Vec<String> = Vec::new();
    for part in rest.split('_').filter(|part| !part.is_empty()) {
        let name = without_version(part);
        if name.starts_with(['z', 's', 'x']) {
            names.push(name.to_string());
        } else {
            // Single letters need no separator.
            let letters =
                part.char_indices().filter(|&(at, c)| c.is_ascii_alphabetic() && !is_point(part, at));
            names.extend(letters.map(|(_, c)| c.to_string()));
        }
    }
    names
}

/// Whether the letter at `at` is the `p` between two version numbers.
fn is_point(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    bytes[at] == b'p'
        && at > 0
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

fn without_version(name: &str) -> &str {
    let digits = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let major = digits(name);
    match name[..major].strip_suffix('p') {
        Some(point) if major < name.len() && digits(point) < point.len() => &point[..digits(point)],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architecture_strings_split_into_extensions() {
        assert_eq!(split("rv64i2p1_m2p0_a2p1_zicsr2p0_zve32x1p0"), ["i", "m", "a", "zicsr", "zve32x"]);
        assert_eq!(split("rv64imafdcv1p0_zba"), ["i", "m", "a", "f", "d", "c", "v", "zba"]);
        assert_eq!(split("rv64g_zic64b1p0_zvl128b1p0_p"), ["g", "zic64b", "zvl128b", "p"]);
        assert!(split("rv32i").is_empty() && split("").is_empty() && split("rv64_é").is_empty());
    }
}
