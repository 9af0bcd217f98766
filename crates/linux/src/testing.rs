//! Executables for tests.

use crate::space::PAGE_BYTES;

/// A static RISC-V executable: one segment at `address`, readable and executable, with the file's headers and
/// `code`, where it begins.
pub fn executable(address: u64, code: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |value: u64, size: usize| bytes.extend(&value.to_le_bytes()[..size]);
    let headers = 64 + 56;
    let length = headers + code.len() as u64;
    put(u64::from_le_bytes(*b"\x7fELF\x02\x01\x01\x00"), 8);
    put(0, 8);
    // ET_EXEC, RISC-V, version, entry, program headers, no sections, RVC and double ABI.
    for (value, size) in [(2, 2), (243, 2), (1, 4), (address + headers, 8), (64, 8), (0, 8), (5, 4)] {
        put(value, size);
    }
    for value in [64, 56, 1, 64, 0, 0] {
        put(value, 2);
    }
    // PT_LOAD, readable and executable.
    for (value, size) in
        [(1, 4), (5, 4), (0, 8), (address, 8), (address, 8), (length, 8), (length, 8), (PAGE_BYTES, 8)]
    {
        put(value, size);
    }
    bytes.extend(code);
    bytes
}
