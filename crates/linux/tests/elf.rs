//! Executable files: what is read from a good one, what is said about a bad one, and that no file
//! makes the loader panic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{DATA, DATA_FILE_BYTES, DATA_MEMORY_BYTES, ENTRY, TEXT, elf};
use chasqui_linux::{Elf, Options, Process};
use chasqui_memory::FlatMemory;
use chasqui_random::damage;

/// Memory of a process [bytes].
const MEMORY: u64 = 4 << 20;
/// A small file is loaded within a millisecond, whatever it says.
const LONGEST: Duration = Duration::from_secs(10);

const ARCH: &str = "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zmmul1p0";

fn set(mut bytes: Vec<u8>, at: usize, value: &[u8]) -> Vec<u8> {
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

#[test]
fn a_good_file_is_read() {
    let elf = Elf::parse("some/where/prog", elf(ARCH)).unwrap();
    assert_eq!(elf.name(), "prog");
    assert_eq!(elf.entry(), ENTRY);
    assert_eq!((elf.header_address(), elf.header_count()), (TEXT + 64, 3));
    assert!(!elf.executable_stack());
    assert!(elf.missing_extensions().is_empty(), "{:?}", elf.missing_extensions());
    let [text, data] = elf.segments() else { panic!("{:?}", elf.segments()) };
    assert_eq!((text.address, text.file_offset, text.file_bytes), (TEXT, 0, 0x140));
    assert_eq!((text.read, text.write, text.execute), (true, false, true));
    assert_eq!((data.address, data.file_offset), (DATA, 0xe00));
    assert_eq!((data.file_bytes, data.memory_bytes), (DATA_FILE_BYTES, DATA_MEMORY_BYTES));
    assert_eq!((data.read, data.write, data.execute), (true, true, false));
    assert_eq!(elf.end(), DATA + DATA_MEMORY_BYTES);
}

#[test]
fn addresses_have_names() {
    let elf = Elf::parse("prog", elf(ARCH)).unwrap();
    assert_eq!(elf.symbolize(ENTRY - 2), None);
    assert_eq!(elf.symbolize(ENTRY), Some(("_start", 0)));
    assert_eq!(elf.symbolize(ENTRY + 10), Some(("inner", 2)));
    assert_eq!(elf.symbolize(ENTRY + 12), Some(("_start", 12)), "after the inner function");
    assert_eq!(elf.symbolize(ENTRY + 0x20), None, "after the end");
    assert_eq!(elf.symbolize(ENTRY + 50), Some(("label", 2)));
    assert_eq!(elf.symbolize(ENTRY + 0x38), None, "after the label's section");
    assert_eq!(elf.symbolize(DATA + 4), Some(("counter", 4)));
    assert_eq!(elf.symbolize(DATA + 8), None);
    assert_eq!(elf.symbol("inner"), Some(ENTRY + 8));
    assert_eq!(elf.symbol("nothing"), None);
}

#[test]
fn missing_extensions_are_listed() {
    let elf = Elf::parse("prog", elf("rv64i2p1_m2p0_c2p0_v1p0_zba1p0_zicsr2p0")).unwrap();
    assert_eq!(elf.missing_extensions(), ["v", "zba"]);
}

#[test]
fn a_position_independent_static_program_gets_a_fixed_place() {
    let bytes = set(elf(ARCH), 16, &[3, 0]); // ET_DYN
    let elf = Elf::parse("prog", bytes).unwrap();
    assert_eq!(elf.entry(), 0x2a_aaaa_a000 + ENTRY);
    assert_eq!(elf.header_address(), 0x2a_aaaa_a000 + TEXT + 64);
    assert_eq!(elf.symbolize(0x2a_aaaa_a000 + ENTRY), Some(("_start", 0)));
}

/// The second segment begins in the first one's page, which comes from elsewhere in the file: from the page there.
fn sharing(mut bytes: Vec<u8>) -> (Vec<u8>, usize) {
    let page = bytes.len().next_multiple_of(4096);
    bytes.resize(page + 0xe00 + DATA_FILE_BYTES as usize, 0);
    let bytes = set(bytes, 128, &(page as u64 + 0xe00).to_le_bytes());
    (set(bytes, 136, &(TEXT + 0xe00).to_le_bytes()), page)
}

#[test]
fn segments_may_share_a_page_of_which_the_file_has_the_same_twice() {
    // With a byte of zeros behind what the file has.
    let (mut bytes, page) = sharing(set(elf(ARCH), 104, &0x141u64.to_le_bytes()));
    bytes.copy_within(0..0x140, page);
    assert_eq!(Elf::parse("dir/prog", bytes.clone()).map(|elf| elf.segments().len()), Ok(2));
    for at in [0x13f, 0x140] {
        let mut other = bytes.clone();
        other[page + at] ^= 1;
        let error = Elf::parse("dir/prog", other).err().unwrap().to_string();
        assert!(error.contains("segments 0x10000..0x10141 and 0x10e00..0x13e00 share a page"), "{error}");
    }
}

#[test]
fn a_bad_file_is_refused_with_its_name_and_the_reason() {
    let good = || elf(ARCH);
    let interp = |mut bytes: Vec<u8>| {
        // The stack header becomes PT_INTERP with a path in the padding behind the code.
        bytes[0x120..0x12a].copy_from_slice(b"/lib/ld.so");
        bytes = set(bytes, 176, &3u32.to_le_bytes());
        bytes = set(bytes, 184, &0x120u64.to_le_bytes());
        set(bytes, 208, &11u64.to_le_bytes())
    };
    let needed = |mut bytes: Vec<u8>| {
        bytes[0x120] = 1; // DT_NEEDED
        bytes = set(bytes, 176, &2u32.to_le_bytes());
        bytes = set(bytes, 184, &0x120u64.to_le_bytes());
        set(bytes, 208, &16u64.to_le_bytes())
    };
    let truncated = |n: usize| good()[..n].to_vec();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "is empty"),
        (b"#!/bin/sh\n".to_vec(), "is a script"),
        (b"!<arch>\n".to_vec(), "is a library archive"),
        (b"hello, world".to_vec(), "is not an ELF file"),
        (b"\x7fELF".to_vec(), "truncated"),
        (truncated(30), "truncated"),
        (
            truncated(100),
            "truncated or damaged: the program headers at byte 64 do not lie within its 100 bytes",
        ),
        (truncated(0xf00), "the 768 bytes of a segment at byte 3584 do not lie within its 3840 bytes"),
        (set(good(), 4, &[1]), "is a 32-bit RISC-V ELF file"),
        (set(good(), 18, &62u16.to_le_bytes()), "is a 64-bit x86-64 ELF file"),
        (set(good(), 18, &183u16.to_le_bytes()), "is a 64-bit AArch64 ELF file"),
        (set(set(good(), 5, &[2]), 18, &243u16.to_be_bytes()), "is a 64-bit big-endian RISC-V ELF file"),
        (set(good(), 16, &[1, 0]), "is an object file"),
        (set(good(), 16, &[4, 0]), "is a core dump"),
        (set(good(), 48, &[13]), "RVE"),
        (set(good(), 56, &[0]), "has no program headers"),
        (interp(good()), "is dynamically linked (it asks for /lib/ld.so)"),
        (needed(good()), "needs shared libraries"),
        (set(good(), 24, &(ENTRY + 1).to_le_bytes()), "begins at 0x10101"),
        (set(good(), 24, &DATA.to_le_bytes()), "begins at 0x11e00"),
        (sharing(good()).0, "share a page"),
        (set(set(good(), 136, &TEXT.to_le_bytes()), 128, &0u64.to_le_bytes()), "overlap"),
        (set(good(), 136, &(DATA + 1).to_le_bytes()), "must agree modulo 4096"),
        (set(good(), 160, &8u64.to_le_bytes()), "768 bytes in the file and 8 in memory"),
        (set(good(), 136, &0xffff_ffff_ffff_fe00u64.to_le_bytes()), "wraps around"),
        (set(good(), 136, &0x3f_ffff_fe00u64.to_le_bytes()), "segments lie between"),
        (set(good(), 80, &0u64.to_le_bytes()), "segments lie between"),
    ];
    for (bytes, wanted) in cases {
        let error = Elf::parse("dir/prog", bytes).err().unwrap_or_else(|| panic!("accepted: {wanted}"));
        let text = error.to_string();
        assert!(text.contains(wanted) && text.starts_with("dir/prog: "), "{text}, wanted {wanted}");
        assert!(!error.allowed.is_empty());
    }
}

#[test]
fn files_are_checked_before_they_are_read() {
    let folder = std::env::temp_dir().join(format!("chasqui-linux-elf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("prog");
    let message = |path: &std::path::Path| Elf::load(path).err().unwrap().to_string();
    assert!(message(&path).contains("no such file"));
    assert!(message(&folder).contains("is a directory"));
    std::fs::write(&path, elf(ARCH)).unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(&path, mode(0o644)).unwrap();
    assert!(message(&path).contains("is not marked executable"));
    std::fs::set_permissions(&path, mode(0o755)).unwrap();
    assert_eq!(Elf::load(&path).map(|elf| elf.entry()), Ok(ENTRY));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What is asked of a program that was accepted, for its symbols and its memory.
fn use_of(elf: Elf) {
    for address in [0, ENTRY, ENTRY + 9, DATA, elf.entry(), elf.end(), u64::MAX] {
        elf.symbolize(address);
        if let Some(extent) = elf.extent(address) {
            assert!(extent.contains(&address) || address == u64::MAX, "{address:#x} is not in {extent:x?}");
        }
    }
    elf.symbol("label");
    let length = elf.bytes().len() as u64;
    assert!(elf.segments().iter().all(|s| s.file_offset + s.file_bytes <= length));
    let mut memory = FlatMemory::new(MEMORY).expect("a small memory");
    for begin in [0, TEXT] {
        let _ = elf.place(&mut memory, begin, 0..MEMORY);
    }
    let options = Options::new(0..MEMORY);
    let _ = Process::new(&mut memory, Arc::new(elf), &["prog".into()], &[], options);
}

#[test]
fn damaged_files_are_loaded_or_refused() {
    let good = elf(ARCH);
    for length in 0..good.len() {
        let _ = Elf::parse("prog", good[..length].to_vec());
    }
    // The ELF header and the program headers; symbols, attributes and the sections' table.
    let places = [0..64, 64..232, 0x1100..good.len(), good.len() - 4 * 64..good.len()];
    let (mut accepted, mut refused) = (0, 0);
    let all = damage::repeat(1, 10_000, |random| {
        let bytes = damage::bytes(random, &good, &places);
        let begin = Instant::now();
        match Elf::parse("prog", bytes) {
            Ok(elf) => {
                use_of(elf);
                accepted += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("prog: ") && !error.allowed.is_empty(), "{error}");
                refused += 1;
            }
        }
        assert!(begin.elapsed() < LONGEST, "it took {:?}", begin.elapsed());
    });
    // Both sides of the loader were reached.
    assert!(!all || (accepted > 1000 && refused > 1000), "{accepted} accepted, {refused} refused");
}
