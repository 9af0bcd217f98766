//! Frames with segments of TCP between ranks, as the kernel makes them (`guest/kernel/net`): IEEE 802.3, IP (RFC 791), TCP
//! (RFC 9293), without options but the segment size.

use super::registers::{HEADER_BYTES, TYPE_IP};

/// Bytes of an IP header and, at least, of TCP's.
const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
/// Bytes of a segment beside its data, as far as a frame's longest packet counts them.
pub(super) const SEGMENT_HEADERS: u64 = (IP_BYTES + TCP_BYTES) as u64;
/// Version 4, and a header of five words.
const VERSION: u8 = 0x45;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;
const TCP: u8 = 6;
/// Rank 0's IP address, which the others' follow.
const NETWORK: u32 = 0x0a00_0001;
/// Kind and length of the option that says how long the segments are which the sender takes.
const OPTION_SEGMENT: [u8; 2] = [2, 4];

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const PSH: u8 = 8;
pub(super) const ACK: u8 = 16;

/// A segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Ranks and ports.
    pub source: u32,
    pub destination: u32,
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    pub window: u16,
    /// The longest data that its sender takes [bytes], if it says so.
    pub longest: Option<u16>,
    pub data: &'a [u8],
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// The one's complement sum of 16-bit words (RFC 1071), an odd byte being followed by zero.
fn sum(parts: &[&[u8]]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = parts.iter().flat_map(|part| part.chunks(2)).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What is summed with a segment beside itself (RFC 9293, section 3.1).
fn pseudo_header(ip: &[u8], bytes: usize) -> [u8; 12] {
    let mut header = [0; 12];
    header[..8].copy_from_slice(&ip[12..20]);
    header[9] = TCP;
    header[10..].copy_from_slice(&(bytes as u16).to_be_bytes());
    header
}

/// The controller's address of a rank (IEEE 802, 8.4).
pub(super) fn address(rank: u32) -> [u8; 6] {
    let [high, low] = (rank as u16).to_be_bytes();
    [2, 0, 0, 0, high, low]
}

impl<'a> Segment<'a> {
    /// The segment in a frame, if there is one; its checksums are not looked at.
    pub fn parse(frame: &'a [u8]) -> Option<Segment<'a>> {
        let (ip, tcp) = layers(frame)?;
        let (options, data) = tcp
            .get(TCP_BYTES..)?
            .split_at_checked(usize::from(tcp[12] >> 4).checked_mul(4)?.checked_sub(TCP_BYTES)?)?;
        Some(Segment {
            source: be32(ip, 12).wrapping_sub(NETWORK),
            destination: be32(ip, 16).wrapping_sub(NETWORK),
            source_port: be16(tcp, 0),
            destination_port: be16(tcp, 2),
            sequence: be32(tcp, 4),
            acknowledgement: be32(tcp, 8),
            flags: tcp[13],
            window: be16(tcp, 14),
            longest: longest(options),
            data,
        })
    }

    /// The frame, with its checksums.
    pub fn frame(&self, identification: u16) -> Vec<u8> {
        let options =
            self.longest.map(|bytes| [OPTION_SEGMENT, bytes.to_be_bytes()].concat()).unwrap_or_default();
        let head = TCP_BYTES + options.len();
        let [source, destination] =
            [self.source, self.destination].map(|rank| NETWORK.wrapping_add(rank).to_be_bytes());
        let mut ip = vec![VERSION, 0];
        ip.extend(((IP_BYTES + head + self.data.len()) as u16).to_be_bytes());
        ip.extend(identification.to_be_bytes());
        ip.extend(DO_NOT_FRAGMENT.to_be_bytes());
        ip.extend([TTL, TCP, 0, 0]);
        ip.extend([source, destination].concat());
        let check = !sum(&[&ip]);
        ip[10..12].copy_from_slice(&check.to_be_bytes());
        let mut tcp = [self.source_port, self.destination_port].map(u16::to_be_bytes).concat();
        tcp.extend([self.sequence, self.acknowledgement].map(u32::to_be_bytes).concat());
        tcp.extend([(head * 4) as u8, self.flags]);
        tcp.extend([self.window, 0, 0].map(u16::to_be_bytes).concat());
        tcp.extend(options);
        tcp.extend_from_slice(self.data);
        let check = !sum(&[&pseudo_header(&ip, tcp.len()), &tcp]);
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        let mut frame = [address(self.destination), address(self.source)].concat();
        frame.extend(TYPE_IP.to_be_bytes());
        frame.extend(ip);
        frame.extend(tcp);
        frame
    }
}

/// IP's packet and TCP's segment in a frame.
fn layers(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let ip = frame.get(HEADER_BYTES as usize..).filter(|ip| ip.len() >= IP_BYTES + TCP_BYTES)?;
    let tcp = ip.get(IP_BYTES..usize::from(be16(ip, 2)))?;
    (ip[9] == TCP && tcp.len() >= TCP_BYTES).then_some((ip, tcp))
}

/// Whether the checksums of a frame with a segment are right.
pub(super) fn is_right(frame: &[u8]) -> bool {
    layers(frame).is_some_and(|(ip, tcp)| {
        sum(&[&ip[..IP_BYTES]]) == 0xffff && sum(&[&pseudo_header(ip, tcp.len()), tcp]) == 0xffff
    })
}

/// What the option says of the longest segment.
fn longest(mut options: &[u8]) -> Option<u16> {
    loop {
        match options {
            [2, 4, high, low, ..] => return Some(u16::from_be_bytes([*high, *low])),
            [1, rest @ ..] => options = rest,
            [0, ..] => return None,
            [_, length, ..] if *length >= 2 => options = options.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}

/// How far sequence number `to` is behind `from`, below 0 if it is before it (RFC 9293, section 3.4).
pub(super) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_rfc_1071() {
        // Its example, section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&[&bytes]), 0xddf2);
        assert_eq!(sum(&[&bytes[..3]]), 0xf201);
    }

    #[test]
    fn what_is_read_is_what_was_made_and_one_wrong_bit_is_found() {
        let syn = Segment {
            source: 3,
            destination: 260,
            source_port: 4000,
            destination_port: 49_152,
            sequence: 0xffff_fff0,
            acknowledgement: 7,
            flags: SYN | ACK,
            window: 65_535,
            longest: Some(1460),
            data: &[],
        };
        let plain = Segment { longest: None, flags: ACK | PSH, data: b"an odd number", ..syn };
        for segment in [syn, plain] {
            let frame = segment.frame(77);
            assert_eq!(Segment::parse(&frame), Some(segment));
            assert_eq!(super::super::node_of(&frame), Some(260));
            assert!(is_right(&frame));
            // Padding does not count; of the rest every bit does that a checksum covers.
            assert!(is_right(&[&frame[..], &[1; 6]].concat()));
            for bit in HEADER_BYTES as usize * 8..frame.len() * 8 {
                let mut wrong = frame.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(!is_right(&wrong), "bit {bit}");
            }
        }
        assert_eq!(Segment::parse(&[0; 60]), None);
    }
}
