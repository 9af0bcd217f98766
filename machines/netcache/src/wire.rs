//! How the NIC puts the MPI library's packets on the wire: for peers that stand for other nodes.

use std::collections::HashMap;

use chasqui_abi::{Envelope, match_key};
use chasqui_engine::Packet;
use chasqui_machine::replay::Wire;

use crate::nic::{self, PACKET_FLAGS_SHIFT, PACKET_MESSAGE, PACKET_ORDINAL_SHIFT, PACKET_PUT, is_message};
use crate::parameters::{MpiUnit, NicUnit};
use crate::registers::{FLAG_NAMED, ORDINAL_ENTERED, is_counted, ordinal};
use chasqui_ni::MessageKey;

/// The message whose life a packet is part of that brings `envelope`, or data of it: what ends a block carries the
/// message's number, too.
pub(crate) fn belongs_to(envelope: &Envelope) -> MessageKey {
    envelope.message()
}

/// Packets as `nic/transmit.rs` makes them.
pub(crate) struct NicWire {
    nic: NicUnit,
    mpi: MpiUnit,
    /// Messages so far by key: all are for one rank.
    sent: HashMap<u64, u32>,
}

impl NicWire {
    pub fn new(nic: NicUnit, mpi: MpiUnit) -> NicWire {
        NicWire { nic, mpi, sent: HashMap::new() }
    }

    /// Counts a packet, if it is counted: its ordinal.
    fn next_ordinal(&mut self, envelope: &Envelope) -> u32 {
        let (kind, context) = (envelope.kind.into(), envelope.context.into());
        if !is_counted(kind, context) {
            return ORDINAL_ENTERED;
        }
        let key = match_key(envelope.source.into(), envelope.context.into(), envelope.tag as u32);
        let count = self.sent.entry(key).or_default();
        *count = count.wrapping_add(1);
        ordinal(kind, *count)
    }

    fn packet(&self, envelope: &Envelope, bytes: Vec<u8>) -> Packet {
        Packet {
            source: u32::from(envelope.source),
            destination: u32::from(envelope.destination),
            wire_bytes: (bytes.len() as u64 + self.nic.packet_overhead.bytes()) as u32,
            bytes,
            message: belongs_to(envelope),
            ..Packet::default()
        }
    }
}

impl Wire for NicWire {
    fn eager_bytes_max(&self) -> u64 {
        self.mpi.eager.bytes()
    }

    fn puts(&self) -> bool {
        true
    }

    fn message(&mut self, envelope: &Envelope, data: &[u8]) -> Packet {
        let flags = if is_message(envelope) { u64::from(FLAG_NAMED) } else { 0 };
        let ordinal = u64::from(self.next_ordinal(envelope)) << PACKET_ORDINAL_SHIFT;
        let word = (PACKET_MESSAGE | flags << PACKET_FLAGS_SHIFT | ordinal).to_le_bytes();
        self.packet(envelope, [&word, &envelope.to_bytes()[..], data].concat())
    }

    fn put(&self, finished: &Envelope, to: u64, data: &[u8]) -> Vec<Packet> {
        let piece_max = self.nic.packet_data.bytes();
        let (mut packets, mut sent) = (vec![], 0);
        while sent < data.len() as u64 {
            // As the NIC cuts blocks, but for the pages of the sender, who is nowhere.
            let address = to + sent;
            let bytes = (piece_max - address % piece_max).min(data.len() as u64 - sent);
            let piece = &data[sent as usize..][..bytes as usize];
            let bytes = [&PACKET_PUT.to_le_bytes(), &address.to_le_bytes(), piece].concat();
            packets.push(self.packet(finished, bytes));
            sent += piece.len() as u64;
        }
        packets
    }

    fn read<'a>(&self, packet: &'a Packet) -> Option<(Envelope, &'a [u8])> {
        nic::read_message(&packet.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_abi::{context, packet};
    use chasqui_config::Resolved;

    fn wire() -> NicWire {
        let resolved = Resolved::defaults(&chasqui_machine::Machine::schema(&crate::NETCACHE));
        NicWire::new(resolved.read("netcache.nic"), resolved.read("netcache.mpi"))
    }

    #[test]
    fn what_is_read_is_what_was_composed() {
        let envelope =
            Envelope { kind: packet::EAGER, source: 3, sequence: 9, bytes: 5, ..Envelope::default() };
        let packet = wire().message(&envelope, b"hello");
        assert_eq!(wire().read(&packet), Some((envelope, &b"hello"[..])));
        assert_eq!(packet.message, Some((3, 9)));
        let reply = Envelope { kind: packet::CLEAR_TO_SEND, source: 3, ..Envelope::default() };
        assert_eq!(wire().message(&reply, &[]).message, None);
    }

    #[test]
    fn messages_of_an_envelope_are_counted() {
        let mut wire = wire();
        let mut ordinal = |kind, context, tag| {
            let envelope = Envelope { kind, context, tag, source: 3, ..Envelope::default() };
            let word = wire.message(&envelope, &[]).bytes[..8].try_into().expect("a word");
            (u64::from_le_bytes(word) >> PACKET_ORDINAL_SHIFT) as u32
        };
        let nonblocking = context::NONBLOCKING + context::EACH;
        assert_eq!([(); 2].map(|()| ordinal(packet::EAGER, 4, -1)), [1, 2]);
        assert_eq!(ordinal(packet::EAGER, 4, 7), 1, "another tag");
        assert_eq!(
            ordinal(packet::SYNCHRONOUS, 4, -1),
            3 | ORDINAL_ENTERED,
            "its sender waits for an answer"
        );
        assert_eq!(ordinal(packet::EAGER, nonblocking, -1), ORDINAL_ENTERED, "it is not counted");
        assert_eq!(ordinal(packet::SEGMENT, 4, -1), ORDINAL_ENTERED, "it begins no message");
        assert_eq!(ordinal(packet::EAGER, 4, -1), 4);
    }

    #[test]
    fn a_block_is_cut_where_pieces_of_its_destination_end() {
        let finished = Envelope { kind: packet::FINISHED, source: 1, sequence: 2, ..Envelope::default() };
        let data: Vec<u8> = (0..3000).map(|i| i as u8).collect();
        let packets = wire().put(&finished, 1000, &data);
        // 24 bytes to the next multiple of 1 KiB.
        let lengths: Vec<usize> = packets.iter().map(|p| p.bytes.len() - 16).collect();
        assert_eq!(lengths, [24, 1024, 1024, 928]);
        let joined: Vec<u8> = packets.iter().flat_map(|p| p.bytes[16..].to_vec()).collect();
        assert_eq!(joined, data);
        assert!(packets.iter().all(|p| wire().read(p).is_none() && p.message == Some((1, 2))));
    }
}
