//! Which program controls the card (MPI-NP: the MCP), and what it needs.

use chasqui_config::Bytes;
use chasqui_memory::PAGE_BYTES;

use crate::np_registers::PEER_BYTES;
use crate::registers::SLOT_BYTES;

chasqui_config::choice! {
    /// The firmware.
    pub enum Image {
        /// It moves messages; the host matches.
        Bip = "bip",
    }
}

chasqui_config::parameters! {
    /// The network processor's program.
    pub struct Control {
        /// Which it is.
        image: Image = "bip", source "specs/mpinp.md: the thin firmware";
    }
}

/// Of a process's ring on the host, slots that are kept for each other one's credit alone: as many of its messages as are under
/// way are two times half of the credit.
const FOR_CREDIT: u64 = 2;

/// Messages that each of `ranks` processes may have under way to each other one, whose ring on the host lies in `host`.
///
/// # Errors
/// There are none: in words.
pub(crate) fn credit(host: Bytes, ranks: u32) -> Result<u64, String> {
    let slots = (host.bytes() - PAGE_BYTES) / SLOT_BYTES;
    let each = slots / u64::from(ranks);
    if each > FOR_CREDIT {
        return Ok(each - FOR_CREDIT);
    }
    let least = (u64::from(ranks) * (FOR_CREDIT + 1) * SLOT_BYTES + PAGE_BYTES).next_multiple_of(PAGE_BYTES);
    Err(format!(
        "mpinp.shared.host = {host}: a ring of {slots} slots is too short for {ranks} ranks; at least {} are needed",
        Bytes::from_bytes(least)
    ))
}

/// Bytes behind the image for what each of `processes` of a node has with each of `all` of the machine.
pub(crate) fn table_bytes(processes: u32, all: u32) -> u64 {
    u64::from(processes) * u64::from(all) * PEER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_room_for_all_that_may_be_under_way() {
        let host = |kib: u64| Bytes::from_bytes(kib << 10);
        assert_eq!((credit(host(128), 2), credit(host(128), 41)), (Ok(60), Ok(1)));
        let text = credit(host(128), 42).unwrap_err();
        assert!(text.ends_with("124 slots is too short for 42 ranks; at least 132 KiB are needed"), "{text}");
        assert_eq!(credit(host(132), 42), Ok(1));
        assert!(credit(host(4), 1).is_err());
    }
}
