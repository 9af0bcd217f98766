//! What the tests share. Nothing here uses the crate's own tables or the `object` crate: it is the
//! other opinion.

use chasqui_memory::FlatMemory;

pub mod machine;

/// A leaf found by walking the tables as the privileged ISA's section "Virtual Address
/// Translation Process" says: its physical page and the entry's low ten bits.
pub fn walk(memory: &FlatMemory, root: u64, va: u64) -> Option<(u64, u64)> {
    assert!(va < 1 << 38);
    let mut a = root;
    for i in [2, 1, 0] {
        let vpn = (va >> (12 + 9 * i)) & 0x1ff;
        let pte = memory.read(a + vpn * 8, 8).unwrap();
        if pte & 1 == 0 {
            return None;
        }
        assert_eq!(pte >> 54, 0, "reserved bits of the entry {pte:#x} for {va:#x}");
        let (r, w, x) = (pte >> 1 & 1, pte >> 2 & 1, pte >> 3 & 1);
        let physical = (pte >> 10) << 12;
        if r == 0 && x == 0 {
            assert_eq!(w, 0, "reserved encoding {pte:#x} for {va:#x}");
            assert_eq!(pte & 0xf0, 0, "U, G, A, D in the pointer {pte:#x} for {va:#x}");
            a = physical;
            continue;
        }
        assert!(w == 0 || r == 1, "reserved encoding {pte:#x} for {va:#x}");
        assert_eq!(i, 0, "superpage for {va:#x}");
        return Some((physical, pte & 0x3ff));
    }
    panic!("no leaf at the last level for {va:#x}");
}

pub const TEXT: u64 = 0x10000;
pub const ENTRY: u64 = 0x10100;
pub const DATA: u64 = 0x11e00;
pub const DATA_FILE_BYTES: u64 = 0x300;
pub const DATA_MEMORY_BYTES: u64 = 0x3000;

fn put(bytes: &mut Vec<u8>, at: usize, values: &[(u64, usize)]) {
    let mut part = Vec::new();
    for &(value, size) in values {
        part.extend(&value.to_le_bytes()[..size]);
    }
    if bytes.len() < at + part.len() {
        bytes.resize(at + part.len(), 0);
    }
    bytes[at..at + part.len()].copy_from_slice(&part);
}

/// A small static RISC-V executable: headers and code at [`TEXT`], data and bss at [`DATA`]
/// (data byte `i` is `i * 7`), symbols, and attributes that name `arch`.
pub fn elf(arch: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let load = |flags, offset, address, file, memory| {
        [(1, 4), (flags, 4), (offset, 8), (address, 8), (address, 8), (file, 8), (memory, 8), (4096, 8)]
    };
    put(&mut out, 64, &load(5, 0, TEXT, 0x140, 0x140));
    put(&mut out, 120, &load(6, 0xe00, DATA, DATA_FILE_BYTES, DATA_MEMORY_BYTES));
    put(&mut out, 176, &[(0x6474_e551, 4), (6, 4), (0, 40), (16, 8)].map(|(v, n)| (v, n.min(8))));
    out.resize(232, 0);
    put(&mut out, 0x100, &[(0x05d0_0893, 4), (0x0000_0073, 4)]); // li a7, 93; ecall
    out.resize(0xe00, 0);
    out.extend((0..DATA_FILE_BYTES).map(|i| (i * 7) as u8));

    let names = b"\0_start\0inner\0label\0counter\0$x\0";
    let symbols = out.len();
    // st_name, st_info (bind << 4 | type), st_other, st_shndx, st_value, st_size
    let section_of = |value| match value {
        0 => 0,
        1..DATA => 4,
        _ => 5,
    };
    for (name, info, value, size) in [
        (0, 0, 0, 0),
        (30, 0, ENTRY, 0),         // $x
        (1, 0x12, ENTRY, 0x20),    // _start: global function
        (8, 0x02, ENTRY + 8, 4),   // inner: local function within
        (14, 0x00, ENTRY + 48, 0), // label
        (20, 0x11, DATA, 8),       // counter: global object
    ] {
        let at = out.len();
        put(&mut out, at, &[(name, 4), (info, 1), (0, 1), (section_of(value), 2), (value, 8), (size, 8)]);
    }
    let strings = out.len();
    out.extend(names);
    let attributes = out.len();
    // Format 'A'; a subsection "riscv" with one file sub-subsection: stack_align (4) 16, arch (5).
    let body: Vec<u8> = [&[4, 16, 5], arch.as_bytes(), &[0]].concat();
    let file = 5 + body.len();
    out.push(b'A');
    out.extend((4 + 6 + file as u32).to_le_bytes());
    out.extend(b"riscv\0\x01");
    out.extend((file as u32).to_le_bytes());
    out.extend(body);
    let attributes_end = out.len();

    let sections = out.len();
    // sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, align, entry size
    let mut section = |kind: u64, address: u64, offset: usize, size: usize, link: u64, entry: u64| {
        let at = out.len();
        let (offset, size) = (offset as u64, size as u64);
        let all = [
            (0, 4),
            (kind, 4),
            (0, 8),
            (address, 8),
            (offset, 8),
            (size, 8),
            (link, 4),
            (1, 4),
            (1, 8),
            (entry, 8),
        ];
        put(&mut out, at, &all);
    };
    section(0, 0, 0, 0, 0, 0);
    section(2, 0, symbols, strings - symbols, 2, 24); // SHT_SYMTAB
    section(3, 0, strings, names.len(), 0, 0); // SHT_STRTAB
    section(0x7000_0003, 0, attributes, attributes_end - attributes, 0, 0); // SHT_RISCV_ATTRIBUTES
    section(1, ENTRY, 0x100, 0x38, 0, 0); // SHT_PROGBITS
    section(1, DATA, 0xe00, DATA_FILE_BYTES as usize, 0, 0);

    out[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    let header = [
        (2, 2), // ET_EXEC
        (243, 2),
        (1, 4),
        (ENTRY, 8),
        (64, 8),
        (sections as u64, 8),
        (5, 4), // RVC, double-float ABI
        (64, 2),
        (56, 2),
        (3, 2),
        (64, 2),
        (6, 2),
        (2, 2),
    ];
    put(&mut out, 16, &header);
    out
}
