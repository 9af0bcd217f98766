//! What the host's side of the card is made of: the I/O bus, the bridge, the card's DMA (`io.rs` has what they do).

use std::collections::BTreeMap;

use chasqui_ni::{Bridge, CardDma, IoBus, MessageKey};

/// Masters of the I/O bus.
pub(super) const BRIDGE: usize = 0;
pub(super) const CARD: usize = 1;
pub(super) const MASTERS: &[&str] = &["bridge", "card"];

/// What the bridge does on the host's memory bus.
pub(super) enum Memory {
    Reads(usize, Vec<u8>),
    /// Of a message.
    Writes(Vec<u8>, MessageKey),
}

/// The host's side of the card.
pub(super) struct HostSide {
    pub bus: IoBus,
    pub bridge: Bridge,
    pub dma: CardDma,
    /// Who the address is of that is under way.
    pub granted: Option<usize>,
    /// Transactions of the bridge, by number.
    pub memory: BTreeMap<usize, Memory>,
    pub number: usize,
    /// Physical address and place in the card's memory of the next block.
    pub address: u64,
    pub local: u64,
}

impl HostSide {
    pub fn new(bus: IoBus, bridge: Bridge, dma: CardDma) -> HostSide {
        HostSide { bus, bridge, dma, granted: None, memory: BTreeMap::new(), number: 0, address: 0, local: 0 }
    }
}
