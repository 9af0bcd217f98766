//! Damaged files: whatever is in one, what is said of it is a report or a sentence, soon.

use std::path::Path;
use std::time::{Duration, Instant};

use chasqui_random::damage;

use crate::report;

/// Where the code of the linked program lies.
const TEXT: u64 = 0x1_0000;
const DATA: u64 = 0x2_0000;
/// A file of a few kilobytes takes less than a millisecond.
const LONGEST: Duration = Duration::from_secs(10);

fn words(values: &[(u64, usize)]) -> Vec<u8> {
    values.iter().flat_map(|&(value, bytes)| value.to_le_bytes()[..bytes].to_vec()).collect()
}

/// _start calls main; that calls MPI_Send and syscall, which makes the system call whose number it is given.
fn code() -> Vec<u8> {
    words(
        &[
            0x0080_00ef, // _start: jal ra, main
            0x0000_006f, //         j .
            0x0580_0893, // main:   li a7, 88
            0x0000_0073, //         ecall
            0x05d0_0513, //         li a0, 93
            0x00c0_00ef, //         jal ra, syscall
            0x0140_00ef, //         jal ra, MPI_Send
            0x0000_8067, //         ret
            0x0005_0893, // syscall: mv a7, a0
            0x0000_0073, //         ecall
            0x0000_8067, //         ret
            0x0000_8067, // MPI_Send: ret
        ]
        .map(|word| (word, 4)),
    )
}

/// Names with their offsets in the code, 0 bytes of length where there is nothing else.
const FUNCTIONS: [(&str, u64, u64); 4] =
    [("_start", 0, 8), ("main", 8, 24), ("syscall", 32, 12), ("MPI_Send", 44, 0)];

/// `.debug_line` of one unit (DWARF 5, section 6.2.4) whose code begins at `address`.
fn line_table(address: u64) -> Vec<u8> {
    let mut tail = words(&[(1, 1), (1, 1), (1, 1), (0xfb, 1), (14, 1), (13, 1)]);
    tail.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
    // A directory, then a file: their names are in .debug_line_str.
    tail.extend([1, 1, 0x1f, 1, 0, 0, 0, 0]);
    tail.extend([2, 1, 0x1f, 2, 0x0b, 2, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    let mut program = vec![0, 9, 2];
    program.extend(address.to_le_bytes());
    program.extend([0x4b, 0x83, 3, 10, 2, 20, 1, 0, 1, 1]);
    let mut unit = words(&[(5, 2), (8, 1), (0, 1), (tail.len() as u64, 4)]);
    unit.extend(tail);
    unit.extend(program);
    [words(&[(unit.len() as u64, 4)]), unit].concat()
}

struct Section {
    name: &'static str,
    /// Type, flags, link, info, entry size.
    head: [u64; 5],
    address: u64,
    data: Vec<u8>,
}

fn symbols(is_object: bool) -> (Vec<u8>, Vec<u8>) {
    let (mut table, mut names) = (vec![0; 24], vec![0]);
    for (name, offset, bytes) in FUNCTIONS {
        let is_missing = is_object && name == "MPI_Send";
        let value = if is_object { offset } else { TEXT + offset };
        let section = if is_missing { 0 } else { 1 };
        let (value, info) = if is_missing { (0, 0x10) } else { (value, 0x12) };
        table.extend(words(&[
            (names.len() as u64, 4),
            (info, 1),
            (0, 1),
            (section, 2),
            (value, 8),
            (bytes, 8),
        ]));
        names.extend(name.as_bytes());
        names.push(0);
    }
    (table, names)
}

/// A RISC-V file with code, symbols and a line table: an object or a linked program.
fn elf(is_object: bool) -> Vec<u8> {
    let (table, names) = symbols(is_object);
    let (text, data) = if is_object { (0, 0) } else { (TEXT, DATA) };
    // R_RISCV_CALL_PLT of MPI_Send at its call; R_RISCV_64 of main for data and for the line table.
    let call = words(&[(24, 8), (4 << 32 | 19, 8), (0, 8)]);
    let address = |offset| words(&[(offset, 8), (2 << 32 | 2, 8), (0, 8)]);
    let section = |name, head, address, data| Section { name, head, address, data };
    let mut sections = vec![
        section("", [0; 5], 0, vec![]),
        section(".text", [1, 6, 0, 0, 0], text, code()),
        section(".data", [1, 3, 0, 0, 0], data, words(&[(TEXT + 8, 8), (TEXT + 44, 8)])),
        section(".symtab", [2, 0, 4, 1, 24], 0, table),
        section(".strtab", [3, 0, 0, 0, 0], 0, names),
        section(".debug_line", [1, 0, 0, 0, 0], 0, line_table(text)),
        section(".debug_line_str", [1, 0x30, 0, 0, 1], 0, b"src\0a.c\0".to_vec()),
    ];
    if is_object {
        sections.push(section(".rela.text", [4, 0x40, 3, 1, 24], 0, call));
        sections.push(section(".rela.debug_line", [4, 0x40, 3, 5, 24], 0, address(57)));
    }
    file(if is_object { 1 } else { 2 }, sections)
}

fn file(kind: u64, mut sections: Vec<Section>) -> Vec<u8> {
    let names: Vec<u8> = sections.iter().flat_map(|s| [s.name.as_bytes(), b"\0"].concat()).collect();
    let last = Section { name: "", head: [3, 0, 0, 0, 0], address: 0, data: names };
    sections.push(last);
    let (mut body, mut headers, mut name) = (vec![0; 64], vec![], 0);
    for Section { name: text, head: [kind, flags, link, info, entry], address, data } in &sections {
        let (offset, bytes) = (body.len() as u64, data.len() as u64);
        headers.extend(words(&[(name, 4), (*kind, 4), (*flags, 8), (*address, 8), (offset, 8), (bytes, 8)]));
        headers.extend(words(&[(*link, 4), (*info, 4), (8, 8), (*entry, 8)]));
        body.extend(data);
        body.resize(body.len().next_multiple_of(8), 0);
        name += text.len() as u64 + 1;
    }
    let (entry, at, count) = (if kind == 2 { TEXT } else { 0 }, body.len() as u64, sections.len() as u64);
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    header.extend(words(&[(kind, 2), (243, 2), (1, 4), (entry, 8), (0, 8), (at, 8), (0, 4)]));
    header.extend(words(&[(64, 2), (56, 2), (0, 2), (64, 2), (count, 2), (count - 1, 2)]));
    body[..64].copy_from_slice(&header);
    [body, headers].concat()
}

fn archive(member: &[u8]) -> Vec<u8> {
    let head = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a.o/", 0, 0, 0, 644, member.len());
    [b"!<arch>\n", head.as_bytes(), member].concat()
}

/// Programs and objects of the folder that `CHASQUI_ELFS` names, beside those made here.
fn originals() -> Vec<Vec<u8>> {
    let mut found = vec![elf(false), elf(true), archive(&elf(true))];
    if let Ok(folder) = std::env::var("CHASQUI_ELFS") {
        let mut paths: Vec<_> = Path::new(&folder).read_dir().expect("a folder").flatten().collect();
        paths.sort_by_key(std::fs::DirEntry::path);
        found.extend(paths.iter().map(|each| std::fs::read(each.path()).expect("a file")));
    }
    found
}

#[test]
fn what_is_whole_is_reported() {
    let program = report(&elf(false)).expect("a program");
    let part = &program.parts[0];
    let [mpi] = &part.uses[..] else { panic!("{:?}", part.uses) };
    let places: Vec<_> =
        mpi.places.iter().map(|p| (p.function.as_str(), p.offset, p.line.as_deref())).collect();
    assert_eq!(places, [("main", 16, Some("a.c:3")), ("data", 0, None)]);
    let numbers: Vec<_> = part.system_calls.iter().flatten().map(|call| call.number).collect();
    assert_eq!(numbers, [Some(88), Some(93)]);
    for bytes in [elf(true), archive(&elf(true))] {
        let object = report(&bytes).expect("an object");
        let place = &object.parts[0].uses[0].places[0];
        assert_eq!((place.function.as_str(), place.offset, place.line.is_some()), ("main", 16, true));
    }
}

#[test]
fn damaged_files_are_reported_or_refused() {
    let originals = originals();
    let (mut reported, mut refused) = (0, 0);
    let all = damage::repeat(1, 6_000, |random| {
        let original = &originals[random.below(originals.len() as u64) as usize];
        // Headers, and the sections' table at the end.
        let places = [0..64, original.len().saturating_sub(700)..original.len()];
        let bytes = damage::bytes(random, original, &places);
        let begin = Instant::now();
        match report(&bytes) {
            Ok(_) => reported += 1,
            Err(text) => {
                assert!(!text.is_empty());
                refused += 1;
            }
        }
        assert!(begin.elapsed() < LONGEST, "it took {:?}", begin.elapsed());
    });
    println!("{reported} reported, {refused} refused");
    assert!(!all || (reported > 1000 && refused > 300), "{reported} reported, {refused} refused");
}
