//! What the host's side of the card is made of: the way there, with the card's DMA on it (`io.rs` has what it does).

use std::collections::BTreeMap;

use chasqui_engine::{Clock, Time};
use chasqui_ni::{Bridge, BridgeSpec, CardDma, CardDmaSpec, IoBus, IoBusSpec, IoPath, MessageKey, Pci, Pcie};

use chasqui_placement::ProcessId;

use super::blocks::Blocks;
use super::interrupt::Interrupt;
use crate::parameters::{self, Card, Way, Ways};

/// Masters of the I/O bus.
const BRIDGE: usize = 0;
const CARD: usize = 1;
const MASTERS: &[&str] = &["bridge", "card"];

/// What the bridge does on the host's memory bus.
pub(super) enum Memory {
    Reads(usize, Vec<u8>),
    /// Of a message; to a process's buffer, at that virtual address.
    Writes(Vec<u8>, MessageKey, Option<(ProcessId, u64)>),
}

/// The host's side of the card.
pub(super) struct HostSide {
    pub path: Box<dyn IoPath>,
    /// From a load that is tried in vain to the next try.
    pub retry: Time,
    /// Transactions of the bridge, by number.
    pub memory: BTreeMap<usize, Memory>,
    pub number: usize,
    /// Physical address and place in the card's memory of the next block.
    pub address: u64,
    pub local: u64,
    /// Of a delivery: where in it the block is.
    pub piece: u32,
    /// Blocks of the DMA whose data may still be on their way.
    pub blocks: Blocks,
    /// The interrupt, if the host waits for one.
    pub interrupt: Option<Interrupt>,
}

impl HostSide {
    /// The host's side of a card on a bus, or at the end of a link. Lines of the host have so many bytes.
    pub fn new(ways: &Ways, card: &Card, line_bytes: u64) -> HostSide {
        let (path, retry): (Box<dyn IoPath>, Time) = match ways.kind {
            Way::Pci => (Box::new(pci(&ways.pci, card, line_bytes)), pci_retry(&ways.pci)),
            Way::Pcie => (Box::new(Pcie::new(ways.pcie.spec(line_bytes))), Time(ways.pcie.retry.ps())),
        };
        let blocks = Blocks::default();
        HostSide {
            path,
            retry,
            memory: BTreeMap::new(),
            number: 0,
            address: 0,
            local: 0,
            piece: 0,
            blocks,
            interrupt: None,
        }
    }

    /// The interrupt.
    ///
    /// # Errors
    /// The host does not wait for one: in words.
    pub fn line(&mut self) -> Result<&mut Interrupt, String> {
        self.interrupt.as_mut().ok_or_else(|| "a store to INTERRUPT, for which the host does not wait".into())
    }
}

/// A load that is tried in vain is tried again when the card could have answered it.
fn pci_retry(pci: &parameters::Pci) -> Time {
    clock(pci).edge(pci.address.cycles() + pci.target_wait.cycles() + 1)
}

fn clock(pci: &parameters::Pci) -> Clock {
    Clock::new(pci.clock.hz())
}

fn pci(pci: &parameters::Pci, card: &Card, line_bytes: u64) -> Pci {
    let bus = IoBus::new(IoBusSpec {
        clock: clock(pci),
        width: pci.width.bytes() as u32,
        masters: MASTERS,
        arbitration: pci.arbitration.cycles(),
        address: pci.address.cycles(),
        turnaround: pci.turnaround.cycles(),
        latency_timer: pci.latency_timer.cycles(),
        initial_latency: pci.initial_latency.cycles(),
        subsequent_latency: pci.subsequent_latency.cycles(),
    });
    let bridge = Bridge::new(BridgeSpec {
        master: BRIDGE,
        posted_bytes: pci.posted.bytes() as u32,
        burst_bytes: pci.burst.bytes() as u32,
        target_wait: pci.target_wait.cycles(),
    });
    let dma = CardDma::new(CardDmaSpec {
        master: CARD,
        line_bytes,
        target_wait: pci.target_wait.cycles(),
        read_ahead: pci.read_ahead as usize,
        write_buffer: pci.write_buffer as usize,
        fifo: card.host_fifo as usize,
    });
    Pci::new(bus, bridge, dma, CARD)
}
