//! What the peers of a rank that is simulated alone put on the line: packets as VIA NICs make them, or frames as kernels do.

use chasqui_engine::{Packet, Time};

use super::packet::{ASKS, HEADER, ViaHeader};
use super::parameters::MviaUnit;
use super::transmit::{piece_of_block, pieces_of_block};
use crate::ethernet::parameters::EthernetUnit;
use crate::ethernet::via as frames;
use crate::parameters::NicUnit;

/// A part of a message or of a block: its offset and length, and what is to come of a message [bytes].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub from: usize,
    pub bytes: usize,
    pub left: u32,
}

/// A longer time-out ends the connection: `TIMEOUT_MAX_NS` of `kernel/mvia.c`.
pub(super) const TIMEOUT_MAX: Time = Time(60_000_000_000_000);

/// What is at the other end of the rank's link.
pub(crate) enum Line {
    /// VIA NICs (`via/transmit.rs`): lengths of pieces and of what a packet takes beside them [bytes].
    Nics { piece: u64, overhead: u64 },
    /// Kernels (`kernel/mvia.c`): longest data of a frame, its least length, what it takes beside that [bytes]. Frames may be
    /// lost, and are sent again after so long without an answer, a quarter longer each time.
    Kernels { longest: usize, least: usize, overhead: u64, timeout: Time },
}

impl Line {
    pub fn nics(nic: &NicUnit) -> Line {
        Line::Nics { piece: nic.packet_data.bytes(), overhead: nic.packet_overhead.bytes() }
    }

    pub fn kernels(unit: &EthernetUnit, mvia: &MviaUnit) -> Line {
        Line::Kernels {
            longest: frames::data_max(unit.mtu.bytes()) as usize,
            least: unit.frame_min.bytes() as usize,
            overhead: unit.overhead.bytes(),
            timeout: Time(mvia.timeout.ps()),
        }
    }

    /// How long packets are under way without an answer before they count as lost, behind so many `timeouts` in a row.
    pub(super) fn timeout(&self, timeouts: u32) -> Option<Time> {
        match self {
            Line::Nics { .. } => None,
            Line::Kernels { timeout, .. } => {
                Some((0..timeouts).fold(*timeout, |time, _| Time(time.0 + time.0 / 4)))
            }
        }
    }

    /// How long what was refused so often in a row waits until it is sent again: `retry`, and between kernels twice as long
    /// each time, up to their timeout. A kernel executes what it refuses: others would keep it from all else.
    pub(super) fn pause(&self, retry: Time, refusals: u64) -> Time {
        match self {
            Line::Nics { .. } => retry,
            Line::Kernels { timeout, .. } => {
                let doubled = retry.0.saturating_mul(1 << refusals.saturating_sub(1).min(32));
                Time(doubled.min(timeout.0.max(retry.0)))
            }
        }
    }

    /// A frame asks for a reply: it is the last that may be under way.
    pub(super) fn ask(&self, packet: &mut Packet) {
        let Some((mut header, data, left)) = self.parse(&packet.bytes) else { return };
        header.flags |= ASKS;
        (packet.bytes, _) = self.packet((packet.source, packet.destination), &header, data, left);
    }

    /// A packet between nodes, and its bytes on the wire.
    pub(super) fn packet(
        &self,
        nodes: (u32, u32),
        header: &ViaHeader,
        data: &[u8],
        left: u32,
    ) -> (Vec<u8>, u32) {
        let (bytes, overhead) = match self {
            Line::Nics { overhead, .. } => ([&header.to_bytes()[..], data].concat(), *overhead),
            Line::Kernels { least, overhead, .. } => {
                let mut bytes = frames::frame(nodes, header, data, left);
                bytes.resize(bytes.len().max(*least), 0);
                (bytes, *overhead)
            }
        };
        let wire_bytes = (bytes.len() as u64 + overhead) as u32;
        (bytes, wire_bytes)
    }

    /// What is in a packet: header, data, and how much of its message is to come. `None`: it is no packet of VIA's.
    pub(super) fn parse<'a>(&self, bytes: &'a [u8]) -> Option<(ViaHeader, &'a [u8], u32)> {
        match self {
            Line::Nics { .. } => Some((ViaHeader::from_bytes(bytes), &bytes[HEADER..], 0)),
            Line::Kernels { .. } => frames::parse(bytes).map(|(head, data)| (head.header, data, head.left)),
        }
    }

    /// The parts of a message of so many bytes.
    pub(super) fn parts_of_message(&self, bytes: usize) -> Vec<Part> {
        match self {
            Line::Nics { .. } => vec![Part { from: 0, bytes, left: 0 }],
            Line::Kernels { longest, .. } => in_parts(bytes, *longest),
        }
    }

    /// The parts of a block of so many bytes that goes to `address`.
    pub(super) fn parts_of_block(&self, address: u64, bytes: usize) -> Vec<Part> {
        match self {
            Line::Nics { piece, .. } => (0..pieces_of_block(address, bytes as u64, *piece) as u32)
                .map(|number| piece_of_block(address, bytes as u64, number, *piece))
                .map(|(from, bytes)| Part { from: from as usize, bytes: bytes as usize, left: 0 })
                .collect(),
            Line::Kernels { longest, .. } => in_parts(bytes, *longest),
        }
    }
}

fn in_parts(bytes: usize, longest: usize) -> Vec<Part> {
    (0..bytes.max(1))
        .step_by(longest)
        .map(|from| (from, longest.min(bytes - from)))
        .map(|(from, part)| Part { from, bytes: part, left: (bytes - from - part) as u32 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_grow_as_the_kernels() {
        let kernel = include_str!("../../kernel/mvia.c");
        assert!(kernel.contains(&format!("#define TIMEOUT_MAX_NS {}ull", TIMEOUT_MAX.0 / 1000)));
        assert!(kernel.contains("ticks += ticks / 4;"));
        let line = Line::Kernels { longest: 1, least: 1, overhead: 0, timeout: Time(64) };
        assert_eq!(
            [0, 1, 2].map(|timeouts| line.timeout(timeouts)),
            [64, 80, 100].map(|time| Some(Time(time)))
        );
    }
}
