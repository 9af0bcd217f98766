//! What is read of a process's memory for records and reports.

use std::mem::offset_of;

use chasqui_abi::Envelope;

/// Reads the process's memory at an address; false when nothing is mapped there.
pub(crate) type Memory<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> bool;

/// `N` bytes at `address`.
pub(crate) fn bytes<const N: usize>(address: u64, memory: Memory<'_>) -> Option<[u8; N]> {
    let mut raw = [0; N];
    memory(address, &mut raw).then_some(raw)
}

/// A word of 64 bits at `address`.
pub(crate) fn word(address: u64, memory: Memory<'_>) -> Option<u64> {
    bytes(address, memory).map(u64::from_le_bytes)
}

/// The fields of the envelope at `address` that the records need.
pub(crate) fn envelope(address: u64, memory: Memory<'_>) -> Option<Envelope> {
    let raw: [u8; size_of::<Envelope>()] = bytes(address, memory)?;
    macro_rules! field {
        ($field:ident: $type:ty) => {
            <$type>::from_le_bytes(
                *raw[offset_of!(Envelope, $field)..]
                    .first_chunk()
                    .expect("the field lies within the envelope"),
            )
        };
    }
    Some(Envelope {
        kind: field!(kind: u8),
        flags: field!(flags: u8),
        context: field!(context: u16),
        source: field!(source: u16),
        destination: field!(destination: u16),
        tag: field!(tag: i32),
        sequence: field!(sequence: u32),
        bytes: field!(bytes: u64),
        ..Envelope::default()
    })
}

/// The NUL-terminated text at `address`, of at most so many bytes, with control characters made visible; `None`: there is
/// none, or it is empty.
pub(crate) fn text(address: u64, bytes_max: u64, memory: Memory<'_>) -> Option<String> {
    if address == 0 {
        return None;
    }
    let mut found = Vec::new();
    for at in (address..address.saturating_add(bytes_max)).take_while(|at| *at != u64::MAX) {
        // Byte by byte, since the text may end just before a page that isn't mapped.
        match bytes::<1>(at, memory) {
            None | Some([0]) => break,
            Some([byte]) => found.push(byte),
        }
    }
    let text: String = String::from_utf8_lossy(&found)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    (!text.is_empty()).then_some(text)
}
