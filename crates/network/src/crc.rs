//! The check that a packet carries. StarT-Voyager, section 3: the sender computes and appends a CRC, which is
//! checked at each Arctic stage and at the receiver. Which CRC, the memo does not say; ours (assumption) is that
//! of IEEE 802.3, clause 3.2.9. It finds every error within 32 bits in a row, and every one of two bits in packets
//! as short as a network's.

use chasqui_engine::{Packet, Time};

use crate::topology::Neighbour;

/// Bytes of a CRC, the last of a packet.
pub(crate) const CRC_BYTES: usize = 4;

/// The polynomial of IEEE 802.3, the bit that is sent first at the right.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// By a byte: what it makes of a remainder of zero.
const REMAINDERS: [u32; 256] = {
    let mut remainders = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = remainder >> 1 ^ if remainder & 1 != 0 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        remainders[byte] = remainder;
        byte += 1;
    }
    remainders
};

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| crc >> 8 ^ REMAINDERS[(crc as u8 ^ byte) as usize])
}

/// Appends the CRC of `bytes`.
pub(crate) fn append(bytes: &mut Vec<u8>) {
    let crc = crc(bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
}

/// `bytes` end with their CRC.
pub(crate) fn is_right(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<CRC_BYTES>().is_some_and(|(rest, last)| crc(rest) == u32::from_le_bytes(*last))
}

/// A packet's CRC was wrong where it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrcError {
    /// When: its last byte had come.
    pub time: Time,
    /// Where the link begins by which it came.
    pub from: Neighbour,
    /// Where that link ends.
    pub to: Neighbour,
    /// The node that sent the packet.
    pub source: u32,
    /// The node that it was for.
    pub destination: u32,
    /// Its logical network.
    pub priority: u8,
    /// Its length on the wire [bytes].
    pub wire_bytes: u32,
    /// The message that it was of: source and sequence.
    pub message: Option<(u16, u32)>,
}

impl CrcError {
    /// Which of several is the first.
    pub(crate) fn place_in_order(&self) -> (Time, u32, u16) {
        match self.to {
            Neighbour::Router(at) => (self.time, at.router, at.port),
            Neighbour::Node(_) | Neighbour::Unconnected => (self.time, u32::MAX, u16::MAX),
        }
    }

    /// Checks a packet whose last byte comes by the link between `from` and `to` at `time`.
    ///
    /// # Errors
    /// Its CRC is wrong.
    pub(crate) fn check(
        packet: &Packet,
        time: Time,
        (from, to): (Neighbour, Neighbour),
    ) -> Result<(), CrcError> {
        if is_right(&packet.bytes) {
            return Ok(());
        }
        let &Packet { source, destination, priority, wire_bytes, message, .. } = packet;
        Err(CrcError { time, from, to, source, destination, priority, wire_bytes, message })
    }
}

impl std::fmt::Display for CrcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CrcError { time, from, to, source, destination, priority, wire_bytes, .. } = self;
        write!(
            f,
            "network at {time}: wrong CRC on the link from {from} to {to}, of a packet of {wire_bytes} bytes from \
             node {source} to node {destination} with priority {priority}, "
        )?;
        match self.message {
            Some((rank, sequence)) => write!(f, "of message {sequence} from rank {rank}"),
            None => write!(f, "of no recorded message"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_random::Random;

    fn packet(random: &mut Random, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        random.fill(&mut bytes);
        append(&mut bytes);
        bytes
    }

    fn flip(bytes: &mut [u8], bit: usize) {
        bytes[bit / 8] ^= 1 << (bit % 8);
    }

    #[test]
    fn the_published_value() {
        // The check value of CRC-32 in the catalogues: of the nine digits.
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn every_flip_of_one_bit_or_two_is_found() {
        let mut random = Random::for_test(11);
        for length in [0, 1, 8, 20, 96] {
            let mut bytes = packet(&mut random, length);
            assert!(is_right(&bytes));
            for first in 0..bytes.len() * 8 {
                flip(&mut bytes, first);
                assert!(!is_right(&bytes), "bit {first} of {length} bytes");
                for second in 0..first {
                    flip(&mut bytes, second);
                    assert!(!is_right(&bytes), "bits {first} and {second} of {length} bytes");
                    flip(&mut bytes, second);
                }
                flip(&mut bytes, first);
            }
            assert!(is_right(&bytes));
        }
        assert!(!is_right(&[0; 3]), "too short for one");
    }

    #[test]
    fn every_burst_up_to_32_bits_is_found() {
        let mut random = Random::for_test(12);
        let sound = packet(&mut random, 96);
        for burst in 1..=32 {
            for first in 0..=sound.len() * 8 - burst {
                let mut bytes = sound.clone();
                flip(&mut bytes, first);
                for bit in first + 1..first + burst {
                    if bit + 1 == first + burst || random.once_in(2) {
                        flip(&mut bytes, bit);
                    }
                }
                assert!(!is_right(&bytes), "{burst} bits from {first} on");
            }
        }
    }
}
